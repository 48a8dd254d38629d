"""Rows and policies for the tests of the verbs that explore and finish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import holdfast as hf
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.replay import GuardReplay

N = 4000
_RNG = np.random.default_rng(19)
_SKILL = _RNG.random(N)
ROWS: dict[str, Any] = {
    "id": np.arange(N),
    "family": np.arange(N) // 4,
    "weak": _SKILL < 0.60,
    "good": (_SKILL < 0.70) ^ (_RNG.random(N) < 0.05),
    "best": (_SKILL < 0.80) ^ (_RNG.random(N) < 0.05),
    "amount": _RNG.random(N) * 10,
}
POLICY = Policy(questions=20)
CANDIDATES = {"weak": "weak", "good": "good", "best": "best"}


def mean_of(column: str) -> float:
    """The mean of the rows."""
    return float(np.mean(ROWS[column]))


def opened(policy: Policy = POLICY, where: Any = None, rows: Any = None, **more: Any) -> Guard:
    """A guard over the rows."""
    return Guard.open(where, hf.data.table(ROWS if rows is None else rows, **{"engine": "numpy"} | more), policy)


def adds_up(store: Any) -> bool:
    """Whether `holdfast verify` finds nothing wrong."""
    found = verify_store(store, replay=GuardReplay)
    assert found.ok, found.findings[:3]
    return found.ok


def csv_of(folder: Path) -> Path:
    """The rows as a file."""
    path = folder / "rows.csv"
    names = list(ROWS)
    lines = [",".join(str(ROWS[name][i]).lower() for name in names) for i in range(N)]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path
