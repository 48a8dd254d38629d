"""A submitted model that ends its process on one rare row: how often its certified interval misses.

    python -m benchmarks.killed_scorer --runs 2000

1,000 independent rows; a feature takes one value with probability 1/1,000, and there the model ends its process; else
it is right with probability 0.9. The guard, its board, what goes into the process and what comes back are those of the
product; the process is a function that stops writing where the process would end, so that thousands of runs take
seconds. `tests/guard/scoring/onnx/test_restarts.py` does the same with real processes, a few times.

For comparison the rule before: a process that ended left no row with a prediction, and the interval was certified.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

import holdfast as hf
from holdfast.core.sandbox import Done
from holdfast.guard.scoring.onnx import model as submitted
from holdfast.guard.scoring.onnx import packing
from holdfast.guard.scoring.onnx.model import Limits, Model

ROWS, CONFIDENCE, RIGHT = 1000, 0.95, 0.9
TRIGGER = 7.0
TRUTH = RIGHT * (1 - 1 / ROWS)
"""The score of the rule in the population: a row that ends the process counts as wrong."""
_SIGFPE = 8
BOARD = hf.guard.Board("b", key="id", label="y", metric="accuracy", models=True)
POLICY = hf.guard.Policy(questions=20, confidence=CONFIDENCE, boards=[BOARD])


def process(module: str, given: bytes, *, seconds: float) -> Done:
    """What the process of the model would write, and how it would end."""
    _, _, columns = packing.unpack(given)
    assert columns is not None
    lines = [packing.READY]
    for kind, said in zip(columns["kind"], columns["said"], strict=True):
        if kind == TRIGGER:
            return Done(-_SIGFPE, b"".join(lines))
        lines.append(packing.line_of(bool(said)))
    return Done(0, b"".join(lines))


def without_restarts(run: submitted.Predicting, columns: Any, rows: int) -> list[Any]:
    """The rule before."""
    done = process("", packing.pack(run._told, run._model, columns), seconds=0.0)
    return packing.read_lines(done.answer) or [] if done.status == 0 else [None] * rows


def one_run(rng: np.random.Generator) -> str:
    """Draw rows, submit the model with a guess of 0.9, and say whether what came back is certified and true."""
    kind = np.where(rng.random(ROWS) < 1 / ROWS, TRIGGER, 0.0)
    label = rng.random(ROWS) < 0.5
    said = np.where(rng.random(ROWS) < RIGHT, label, ~label)
    sample = hf.data.table(
        {"id": np.arange(ROWS), "kind": kind, "said": said.astype(float), "y": label}, engine="numpy"
    )
    guard = hf.Guard.open(None, sample, POLICY)
    model = Model(b"a model", sample.schema, ROWS, POLICY, limits=Limits(seconds=3600.0))
    answer = guard.ask(hf.guard.score("b", model, guess=RIGHT))
    guard.shut()
    if not answer.guarantee.certified:
        return "not certified"
    return "holds" if answer.interval[0] <= TRUTH <= answer.interval[1] else "misses"


def simulate(runs: int, seed: int = 17, *, restarts: bool = True) -> Counter[str]:
    """Count what became of the runs."""
    found: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    quick = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None)
    with ExitStack() as changed:
        changed.enter_context(patch.object(submitted, "sandbox", SimpleNamespace(run=process)))
        changed.enter_context(patch.object(submitted, "time", quick))
        if not restarts:
            changed.enter_context(patch.object(submitted.Predicting, "some", without_restarts))
        for _ in range(runs):
            found[one_run(rng)] += 1
    return found


def main(say: Callable[[str], None] = print) -> None:
    """Print both rules."""
    parser = argparse.ArgumentParser(description="Certified intervals of a model that ends its process.")
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    say(f"{runs} runs, {ROWS} rows, promised: at most {1 - CONFIDENCE:.0%} of the certified intervals miss")
    for name, restarts in (("a fresh process goes on", True), ("every row loses its prediction", False)):
        found = simulate(runs, restarts=restarts)
        words = ", ".join(f"{found[what]} {what}" for what in ("holds", "misses", "not certified"))
        say(f"{name:32} {words}")


if __name__ == "__main__":
    main()
