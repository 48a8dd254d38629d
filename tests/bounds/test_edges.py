"""Where the range of every theorem's every parameter ends, as data: the last number it takes, the first it refuses.

A row of `edges.json` has a theorem's id, arguments inside its conditions, for its parameters values that must be
refused and values that must be taken while the other arguments stay, and the defaults. A theorem without a row fails.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.bounds.registry import catalogue, lookup
from holdfast.errors import InvalidParameter

ROWS: dict[str, dict[str, Any]] = {
    row["theorem"]: row for row in json.loads((Path(__file__).parent / "edges.json").read_text())
}


@pytest.mark.parametrize("id", ROWS)
def test_numbers_just_outside_are_refused(id: str) -> None:
    row = ROWS[id]
    for name, values in row["refused"].items():
        for value in values:
            with pytest.raises(InvalidParameter):
                pytest.fail(f"{name} = {value} was taken: {lookup(id).function(**row['arguments'] | {name: value})}")


@pytest.mark.parametrize("id", ROWS)
def test_numbers_at_the_end_are_taken(id: str) -> None:
    row = ROWS[id]
    lookup(id).function(**row["arguments"])
    for name, values in row["taken"].items():
        for value in values:
            lookup(id).function(**row["arguments"] | {name: value})


@pytest.mark.parametrize("id", ROWS)
def test_defaults_are_those_on_record(id: str) -> None:
    parameters = inspect.signature(lookup(id).function).parameters.values()
    found = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    assert {name: list(x) if isinstance(x, tuple) else x for name, x in found.items()} == ROWS[id]["defaults"]


def test_every_theorem_has_its_edges() -> None:
    ours = {id for id, entry in catalogue().items() if entry.function.__module__.startswith("holdfast.")}
    assert ours == set(ROWS), "add the theorem's row to tests/bounds/edges.json"
