"""Samples that share rows, opened by processes that are killed on the way, or by two processes at the same moment."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.guard.ledger.verify import verify
from holdfast.guard.replay import GuardReplay
from tests.guard.forked import program

pytestmark = pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with program("tests.guard.opening_processes") as asking:
        yield asking


def test_a_guard_is_never_open_while_one_that_it_overlaps_is_not_marked(run: Any, where: str, tmp_path: Path) -> None:
    """Killed at every step of every commit; and opening it again marks nobody twice."""
    found = run("killed", where, tmp_path / "key.pem")
    before, after = found["after_kill"], found["after"]
    for case in found["cases"]:
        assert case["killed"] == signal.SIGKILL, case
        (first, second), third = case["others"], case["third"]
        if third in before:
            assert case["case"] == ["ledger.committed", 3]
            assert before[third] == [sorted([first, second]), 0]
            assert third in before[first][0]
            assert third in before[second][0]
        assert after[third] == [sorted([first, second]), 0]
        assert after[first] == [sorted([second, third]), 2]  # marked by both, once each
        assert after[second] == [sorted([first, third]), 1]
    assert any(case["third"] in before for case in found["cases"])
    assert verify(where, replay=GuardReplay).ok


def test_of_two_processes_that_open_the_same_rows_none_slips_through(run: Any, where: str, tmp_path: Path) -> None:
    found = run("at once", where, tmp_path / "key.pem")
    for case in found["cases"]:
        refused = [said for said in case["said"] if said.startswith("refused: this data set shares rows with other")]
        opened = [said for said in case["said"] if said not in refused]
        if case["reason"] is None:
            assert (len(opened), len(refused)) == (1, 1), case
            assert found["states"][opened[0]][0] == []
        else:
            assert len(opened) == 2
            assert [found["states"][one][0] for one in opened] == [[opened[1]], [opened[0]]], case
    assert verify(where, replay=GuardReplay).ok
