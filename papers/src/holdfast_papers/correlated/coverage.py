"""Does every answer hold when rows depend on each other? The certified holdout and the one for independent rows.

Rows have columns that are independent of each other and fair: whatever is asked about signs has the truth 1/2, so an
answer that claims more is wrong. Along the rows every column is an autoregressive series, a two-state chain, or noisy
copies inside blocks. One analyst claims of each column that it is above 1/2. The other is adaptive: it asks about each
column in such a way that a pass says no more than "above 1/2 on these rows", and then claims to beat chance with the
majority vote of all columns, each turned the way the answers say. That is the question that overfits most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.one_question.means import hoeffding
from holdfast.correlated.holdout.dependent_rows import DependentRows
from holdfast.correlated.holdout.reusable import DependentHoldout
from holdfast.holdout.reusable import ReusableHoldout
from holdfast_papers.binomial import ERROR, exceeds
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

Bits = NDArray[np.bool_]
ROWS, COLUMNS, BLOCK = 4000, 15, 20
CONFIDENCE = 0.95
_PHI, _FLIP, _NOISE = 0.9, 0.05, 0.05
_FALSE = 0.501
_WRONG = "runs with a wrong answer"


@dataclass(frozen=True)
class Rows:
    """One kind of dependence: how rows are drawn, and what is declared about them."""

    name: str
    draw: Callable[[np.random.Generator], Bits]
    declared: DependentRows
    dependent: bool = True


def _autoregressive(rng: np.random.Generator) -> Bits:
    """Signs of independent stationary AR(1) columns."""
    from scipy.signal import lfilter

    noise = rng.standard_normal((COLUMNS, ROWS))
    noise[:, 1:] *= math.sqrt(1 - _PHI**2)
    series: Bits = lfilter([1.0], [1.0, -_PHI], noise, axis=1) > 0
    return series


def _markov(rng: np.random.Generator) -> Bits:
    """Independent stationary two-state chains: a fair start, then flips."""
    flips = rng.random((COLUMNS, ROWS)) < _FLIP
    flips[:, 0] = rng.random(COLUMNS) < 0.5
    walk: Bits = np.bitwise_xor.accumulate(flips, axis=1)
    return walk


def _blocks(rng: np.random.Generator) -> Bits:
    """Noisy copies of one fair bit a block and column."""
    bits = np.repeat(rng.random((COLUMNS, ROWS // BLOCK)) < 0.5, BLOCK, axis=1)
    copies: Bits = bits ^ (rng.random((COLUMNS, ROWS)) < _NOISE)
    return copies


def _independent(rng: np.random.Generator) -> Bits:
    """Independent rows, as a control."""
    return rng.random((COLUMNS, ROWS)) < 0.5


#: The state is the whole row of independent columns; its operator norm is the largest of a column's.
KINDS = (
    Rows("autoregressive, 0.9", _autoregressive, DependentRows.autoregressive(ROWS, _PHI)),
    Rows("Markov, flip 0.05", _markov, DependentRows.stationary(ROWS, 1 - 2 * _FLIP)),
    Rows(f"blocks of {BLOCK}", _blocks, DependentRows.blocks([BLOCK] * (ROWS // BLOCK))),
    Rows("independent (control)", _independent, DependentRows.independent(ROWS), dependent=False),
)


def plain(holdout: ReusableHoldout, columns: Bits) -> bool:
    """Claim of each column that its mean is above 1/2; whether some false claim passed."""
    passed = [holdout.claim(column, at_least=_FALSE, **_exact(holdout)).passed for column in columns]
    return any(passed)


def adaptive(holdout: ReusableHoldout, columns: Bits) -> bool:
    """Learn each column's sign, then claim that the vote of the turned columns beats chance; whether that passed."""
    turned = []
    for column in columns:
        above = holdout.claim(column, at_least=_middle(holdout), **_exact(holdout)).passed
        turned.append(column if above else ~column)
    vote = 2 * np.count_nonzero(turned, axis=0) > len(columns)
    return bool(holdout.claim(vote, at_least=_FALSE, **_exact(holdout)).passed)


ANALYSTS = {"plain": plain, "adaptive": adaptive}


def _middle(holdout: ReusableHoldout) -> float:
    """The claim that passes if and only if the sample mean is at least 1/2; public, and true whenever it passes."""
    share = holdout.log_share
    if isinstance(holdout, DependentHoldout):
        return holdout.rows.narrowest(share).ends(0.5, ROWS, share, 0.0, 1.0, "lower")[0] - 1e-9
    return hoeffding(0.5, ROWS, share, side="lower").low - 1e-9


def _exact(holdout: ReusableHoldout) -> dict[str, Any]:
    """Hoeffding's interval for independent rows: the one that the others take the place of."""
    return {} if isinstance(holdout, DependentHoldout) else {"family": "hoeffding"}


def holdouts(declared: DependentRows) -> dict[str, ReusableHoldout]:
    """Both holdouts, with a plan for all questions."""
    return {
        "certified": DependentHoldout(declared, questions=COLUMNS + 1, confidence=CONFIDENCE),
        "independent rows": ReusableHoldout(ROWS, questions=COLUMNS + 1, confidence=CONFIDENCE),
    }


def coverage(kind: Rows, runs: int, seed: int) -> list[dict[str, Any]]:
    """Run both analysts `runs` times against both holdouts on the same rows."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    wrong: Counter[tuple[str, str]] = Counter()
    for _ in range(runs):
        columns = kind.draw(rng)
        for analyst, ask in ANALYSTS.items():
            for name, holdout in holdouts(kind.declared).items():
                wrong[analyst, name] += ask(holdout, columns)
    worth = {"certified": kind.declared.effective_n, "independent rows": float(ROWS)}
    return [
        {
            "rows": kind.name,
            "analyst": analyst,
            "holdout": name,
            "worth": round(worth[name], 1),
            "runs": runs,
            _WRONG: wrong[analyst, name],
        }
        for analyst in ANALYSTS
        for name in worth
    ]


@experiment(
    "correlated-coverage",
    title="Certified holdouts on autoregressive, Markov and blocked rows, where the holdout for independent rows fails",
    source="Holdfast: docs/correlated-holdout.md, widths for dependent rows",
)
def run(settings: Settings) -> Outcome:
    """Count the runs in which some answer is wrong."""
    runs = 100 if settings.quick else 1000
    rows: list[dict[str, Any]] = []
    for i, kind in enumerate(KINDS):
        settings.progress(i / len(KINDS), kind.name)
        rows += coverage(kind, runs, settings.seed)
    settings.progress(1.0, "done")
    level = 1 - CONFIDENCE
    dependent = {kind.name for kind in KINDS if kind.dependent}
    checks = []
    for row in rows:
        wrong, fails = row[_WRONG], row["holdout"] != "certified" and row["rows"] in dependent
        claim = f"{row['rows']}, {row['analyst']} analyst: {row['holdout']} "
        detail = f"{wrong} of {runs} runs; at most {level:.0%} promised; test error {ERROR:g}"
        claim += "is seen to fail" if fails else "keeps its confidence"
        checks.append(Check(claim, exceeds(wrong, runs, level) == fails, detail))
    worst = max(row[_WRONG] for row in rows if row["holdout"] == "certified")
    least = min(row[_WRONG] for row in rows if row["holdout"] != "certified" and row["rows"] in dependent)
    title = f"at most {COLUMNS + 1} questions, {ROWS} rows, confidence {CONFIDENCE:g}"
    return Outcome(
        (Table("coverage", title, tuple(rows[0]), tuple(rows)),),
        tuple(checks),
        f"On dependent rows the certified holdout gave a wrong answer in at most {worst} of {runs} runs of each kind "
        f"and analyst, the holdout for independent rows in at least {least}.",
        {"quick": settings.quick, "seed": settings.seed, "runs": runs, "confidence": CONFIDENCE},
    )


__all__ = ["ANALYSTS", "KINDS", "Rows", "adaptive", "coverage", "holdouts", "plain", "run"]
