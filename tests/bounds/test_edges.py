"""Where the range of every theorem's every parameter ends, as data: the last number it takes, the first it refuses.

A row of `edges.json` has a theorem's id, arguments inside its conditions, for its parameters values that must be
refused and values that must be taken while the other arguments stay, and the defaults. A theorem without a row fails;
one with several methods may have several rows.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.bounds.registry import catalogue, lookup
from holdfast.errors import InvalidParameter

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "edges.json").read_text())


def _named(row: dict[str, Any]) -> str:
    chosen = [value for value in row["arguments"].values() if isinstance(value, str)]
    return "-".join([row["theorem"], *chosen])


each = pytest.mark.parametrize("row", ROWS, ids=_named)


@each
def test_numbers_just_outside_are_refused(row: dict[str, Any]) -> None:
    function = lookup(row["theorem"]).function
    for name, values in row["refused"].items():
        for value in values:
            with pytest.raises(InvalidParameter):
                pytest.fail(f"{name} = {value} was taken: {function(**row['arguments'] | {name: value})}")


@each
def test_numbers_at_the_end_are_taken(row: dict[str, Any]) -> None:
    function = lookup(row["theorem"]).function
    changes = [{}, *({name: value} for name, values in row["taken"].items() for value in values)]
    found = [function(**row["arguments"] | change) for change in changes]
    assert not [one for one in found if one is None or one != one], "an answer, and no NaN"


@each
def test_defaults_are_those_on_record(row: dict[str, Any]) -> None:
    parameters = inspect.signature(lookup(row["theorem"]).function).parameters.values()
    found = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    assert {name: list(x) if isinstance(x, tuple) else x for name, x in found.items()} == row["defaults"]


def test_every_theorem_has_its_edges() -> None:
    ours = {id for id, entry in catalogue().items() if entry.function.__module__.startswith("holdfast.")}
    assert ours == {row["theorem"] for row in ROWS}, "add the theorem's row to tests/bounds/edges.json"
