"""Two analysts: Ann guesses from last year's customers; Greg tries rules on a few rows until one looks good.

Neither sees a row behind the guard. What they have of their own are other customers of the same population.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import Any

from holdfast.server.demo.sample import HINTS, PLANS, Row, rows

POLICY: dict[str, Any] = {
    "confidence": 0.95,
    "questions": 400,
    "privacy": {"kind": "pure-dp", "epsilon": 0.05},
    "spend": {"kind": "pure-dp", "epsilon": 0.01},
    "analysts": {"ann": 0.75, "greg": 0.06},
}
"""The demo's guard: 400 questions, three quarters for Ann and a few for Greg; five noisy answers in all."""

STORY: dict[str, float] = {"believed": 0.75, "low": 0.45, "high": 0.65}
"""Greg's best idea, for the first page: what he believes, and between what the guard says that the truth is."""

_LAST_YEAR, _FEW = 5_000, 60
_ANNS_SEED, _GREGS_SEED = 2025, 7


@dataclass(frozen=True)
class Step:
    """What an analyst asks, and what they believe before the answer comes."""

    analyst: str
    question: Mapping[str, Any]
    believed: float | None
    about: str


def ann() -> Iterator[Step]:
    """Checks of what last year's customers suggest, and three noisy means where she has no guess."""
    before = ann_saw()
    conditions: list[tuple[str, str, Callable[[Row], bool]]] = [
        ("customers who are gone", "gone", lambda row: row["gone"]),
        ("new ones who are gone", "gone and months < 6", lambda row: row["gone"] and row["months"] < 6),
        ("callers who are gone", "gone and calls > 3", lambda row: row["gone"] and row["calls"] > 3),
        ("the young", "age < 30", lambda row: row["age"] < 30),
        ("old customers who stay", "months >= 24 and not gone", lambda row: row["months"] >= 24 and not row["gone"]),
    ]
    for plan in PLANS:
        conditions.append((f"plan {plan}", f"plan = '{plan}'", partial(_has, plan)))
        conditions.append((f"{plan} who are gone", f"gone and plan = '{plan}'", partial(_gone_from, plan)))
    for about, expression, holds in conditions:
        guess = round(sum(map(holds, before)) / len(before), 3)
        yield Step("ann", {"kind": "check", "expression": expression, "guess": guess}, guess, about)
    yield Step("ann", {"kind": "mean", "expression": "bill", "low": 0, "high": 80}, None, "the bill, with noise")
    yield Step("ann", {"kind": "mean", "expression": "calls", "low": 0, "high": 10}, None, "calls, with noise")
    yield Step("ann", {"kind": "mean", "expression": "age", "low": 18, "high": 78}, None, "the age, with noise")


def greg() -> Iterator[Step]:
    """Single hints first, then votes of those that look best on 60 rows; each guess is what he saw there."""
    few = greg_saw()
    scored = sorted(HINTS, key=lambda hint: -abs(_agreement(few, [hint]) - 0.5))
    for hint in scored[:6]:
        yield _step(few, [hint], f"the rule {hint}")
    for size in range(3, 20, 2):
        yield _step(few, scored[:size], f"a vote of his {size} best hints")
    for i, j, k in islice(combinations(range(len(scored)), 3), 1, None):  # he goes on until he is stopped
        yield _step(few, [scored[i], scored[j], scored[k]], "a vote of three")


def ann_saw() -> list[dict[str, Any]]:
    """Last year's customers."""
    return rows(_LAST_YEAR, _ANNS_SEED)


def greg_saw() -> list[dict[str, Any]]:
    """The few rows that Greg has."""
    return rows(_FEW, _GREGS_SEED)


def _has(plan: str, row: Row) -> bool:
    return bool(row["plan"] == plan)


def _gone_from(plan: str, row: Row) -> bool:
    return bool(row["gone"]) and _has(plan, row)


def _step(few: Sequence[Row], hints: Sequence[str], about: str) -> Step:
    """Ask whether a vote predicts who goes: each hint turned the way that fits the few rows."""
    seen = round(_agreement(few, hints), 3)
    turned = [(hint, _agreement(few, [hint], turn=False) >= 0.5) for hint in hints]
    votes = " + ".join(hint if yes else f"(1 - {hint})" for hint, yes in turned)
    expression = f"({votes} > {len(hints) / 2:g}) = gone"
    return Step("greg", {"kind": "check", "expression": expression, "guess": seen}, seen, about)


def _agreement(few: Sequence[Row], hints: Sequence[str], turn: bool = True) -> float:
    """How often a vote of hints is right on a few rows."""
    signs = [turn and _agreement(few, [hint], turn=False) < 0.5 for hint in hints]
    right = 0
    for row in few:
        votes = sum(row[hint] != int(sign) for hint, sign in zip(hints, signs, strict=True))
        right += (2 * votes > len(hints)) == row["gone"]
    return right / len(few)


__all__ = ["POLICY", "STORY", "Step", "ann", "ann_saw", "greg", "greg_saw"]
