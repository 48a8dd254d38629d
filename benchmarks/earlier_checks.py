"""A check next to the same check of an earlier version, in one run: `python -m benchmarks.earlier_checks OLD/src`.

OLD is the tree of the earlier version, for example of `git archive dc6998e | tar x -C OLD`. Each version has a process
of its own; they take turns, and processor time is compared, so that other work on the machine matters little. The ratio
is the median over turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 30
WORKER = """
import sys, time
import numpy as np
from holdfast.holdout import ReusableHoldout
import holdfast as hf
from holdfast.guard import Guard, Policy, check

n = 10_000
right = np.random.default_rng(4).random(n) < 0.9
passing, open_end = ReusableHoldout(n, questions=10**9), ReusableHoldout(n)
table = hf.data.table({f"c{k}": np.random.default_rng(k).random(n) < 0.9 for k in range(40)})

def fails():
    ReusableHoldout(n, questions=10**9).check(right, guess=0.5)

def makes():
    ReusableHoldout(n, questions=10**9)

def asks():
    guard = Guard.open(None, table, Policy(questions=1000))
    started = time.process_time()
    for k in range(40):
        guard.ask(check(f"c{k}", guess=0.9))
    return time.process_time() - started

def timed(work, number):
    started = time.process_time()
    for _ in range(number):
        work()
    return (time.process_time() - started) / number

MEASURES = {
    "a check that passes": lambda: timed(lambda: passing.check(right, guess=0.9), 100),
    "a check that passes, no planned end": lambda: timed(lambda: open_end.check(right, guess=0.9), 100),
    "a check that passes, Hoeffding": lambda: timed(lambda: passing.check(right, guess=0.9, family="hoeffding"), 200),
    "a check that fails": lambda: timed(fails, 100) - timed(makes, 100),
    "a guard's check": lambda: asks() / 40,
}
for line in sys.stdin:
    print(MEASURES[line.strip()](), flush=True)
"""
NAMES = (
    "a check that passes",
    "a check that passes, no planned end",
    "a check that passes, Hoeffding",
    "a check that fails",
    "a guard's check",
)


def worker(source: Path) -> subprocess.Popen[str]:
    """A process that measures one version."""
    environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def seconds(process: subprocess.Popen[str], name: str) -> float:
    """Processor time of one measure."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(earlier: Path) -> None:
    """Print the time of both versions, and the median ratio."""
    here = Path(__file__).resolve().parent.parent / "src"
    processes = worker(earlier), worker(here)
    try:
        for name in NAMES:
            times = [[seconds(process, name) for process in processes] for _ in range(ROUNDS)]
            old, new = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
            ratio = statistics.median(new / old for old, new in times)
            print(f"{name:36} earlier {old:8.1f} us   now {new:8.1f} us   now/earlier {ratio:.2f}")
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
