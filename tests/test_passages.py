"""The passages that readers judge are drawn from everything that is read, and the same seed draws the same ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "passages"


def _drawn(*words: str) -> list[dict[str, str]]:
    done = subprocess.run([sys.executable, str(TOOL), "--json", *words], capture_output=True, text=True, check=True)
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_they_are_150_of_every_kind_and_a_seed_repeats_them() -> None:
    drawn = _drawn()
    assert len(drawn) == 150
    counts = {kind: sum(one["kind"] == kind for one in drawn) for kind in {one["kind"] for one in drawn}}
    assert set(counts) == {"docs", "docstrings", "help", "errors", "pages"}
    assert min(counts.values()) >= 10
    assert max(counts, key=lambda kind: counts[kind]) == "docs"
    assert len({(one["from"], one["text"]) for one in drawn}) == 150
    assert _drawn() == drawn
    assert _drawn("--seed", "2") != drawn


@pytest.mark.parametrize("words", [["--number", "0"], ["--number", "x"]])
def test_wrong_usage(words: list[str]) -> None:
    assert subprocess.run([sys.executable, str(TOOL), *words], capture_output=True).returncode != 0
