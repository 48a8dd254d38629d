"""Figure 2 of Dwork et al. at full size: by exact distribution against with whole data, and the memory of the
latter.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import Row, at_least, best_of
from holdfast_papers.dwork.analyst import Setting
from holdfast_papers.dwork.data import DataSample
from holdfast_papers.dwork.law import LawSample
from holdfast_papers.dwork.runs import Maker, repeat
from holdfast_papers.registry import silent

FASTER = 50.0
"""How many times faster a repetition by exact distribution is claimed to be."""

MOST_MEMORY = 2 * 2**30
"""Bytes that a process with two repetitions with whole data may hold at most."""

_MEMORY = """
import resource
from benchmarks.bench_dwork import repetition
from holdfast_papers.dwork.data import DataSample
for seed in (1, 2):
    repetition(DataSample, seed)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def repetition(make: Maker, seed: int) -> None:
    """One repetition of Figure 2: standard holdout and Thresholdout, 10,000 rows and attributes."""
    repeat(Setting(), 1, seed, make, silent, "")


def rows() -> list[Row]:
    """Seconds a repetition; and gigabytes of a fresh process, where the ratio is the limit over what it held."""
    law = best_of(lambda: repetition(LawSample, 1), repeats=5, number=5)
    data = best_of(lambda: repetition(DataSample, 1), repeats=2)
    used = memory()
    return [
        at_least("Figure 2 by exact distribution, a repetition", FASTER, law, "with whole data", data),
        Row(
            "Figure 2 with whole data: memory",
            used / 1e9,
            "2 GiB (columns in GB)",
            MOST_MEMORY / 1e9,
            "below 2 GiB",
            used < MOST_MEMORY,
            f"{used / 2**30:.2f} GiB",
        ),
    ]


def memory() -> int:
    """The most bytes that a fresh process held during two repetitions with whole data."""
    found = subprocess.run([sys.executable, "-c", _MEMORY], check=True, capture_output=True, text=True)
    unit = 1 if sys.platform == "darwin" else 1024
    return int(found.stdout) * unit
