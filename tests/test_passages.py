"""The passages that readers judge are drawn from everything that is read, and the same seed draws the same ones."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "passages"


def test_they_are_150_of_every_kind_and_a_seed_repeats_them() -> None:
    loader = SourceFileLoader("passages", str(TOOL))
    spec = spec_from_loader("passages", loader)
    assert spec is not None
    passages = module_from_spec(spec)
    loader.exec_module(passages)
    drawn = passages.draw(150, seed=1)
    assert len(drawn) == 150
    counts = {kind: sum(passage["kind"] == kind for passage in drawn) for kind in passages.SHARES}
    assert sum(counts.values()) == 150
    assert min(counts.values()) >= 10
    assert max(counts, key=lambda kind: counts[kind]) == "docs"
    assert len({(passage["from"], passage["text"]) for passage in drawn}) == 150
    assert passages.draw(150, seed=1) == drawn
    assert passages.draw(150, seed=2) != drawn


@pytest.mark.parametrize("words", [["--number", "0"], ["--number", "x"]])
def test_wrong_usage(words: list[str]) -> None:
    assert subprocess.run([sys.executable, str(TOOL), *words], capture_output=True).returncode != 0
