"""What a failure shows has a prior weight, and all weights add up to at most one: all sums of rows are tried.

Later shares are multiplied by the weight of what was shown. If the weights of all that a failure can show added up to
more than one, the run would learn more than it pays for. So for each board every sum that rows can have is settled by
the guard's own question, and everything that is released of it is compared.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from holdfast.data.schema import Kind, Schema
from holdfast.data.statistics import UNIT
from holdfast.guard import Board, Policy, score
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.questions import Situation
from holdfast.guard.questions.base import Hidden
from holdfast.guard.scoring import ladder
from holdfast.guard.state import Progress
from holdfast.holdout.error_budget import Course, Message
from tests.guard.scoring.test_attack import Kept

KINDS: dict[str, Kind] = {"id": "integer", "y": "integer"}
SCHEMA = Schema(KINDS)
ROWS: dict[str, int] = {"accuracy": 400, "brier": 400, "log-loss": 400, "mae": 400, "f1": 16, "auc": 600}
AREA = 10
"""Into how many parts each class is divided between two scores, for the AUC."""


def sums(metric: str) -> list[tuple[int, ...]]:
    """What rows can add up to: all of it, or a fine grid where there is too much."""
    n = ROWS[metric]
    if metric == "accuracy":
        return [(k,) for k in range(n + 1)]
    if metric == "f1":
        counts: Iterator[tuple[int, ...]] = product(range(n + 1), repeat=3)
        return [one for one in counts if one[1] <= one[0] <= n - one[2]][::2]  # predicted, hits, missed
    if metric == "auc":
        sizes = [1, 20, 150, 300, 450]
        return [
            (n - ones - a, a, ones - b, b)
            for ones in sizes
            for a in range(0, n - ones + 1, max(1, (n - ones) // AREA))
            for b in range(0, ones + 1, max(1, ones // AREA))
        ]
    return [(round(k * n * UNIT / 500),) for k in range(501)]


def board(metric: Any, rule: Any, **more: Any) -> Board:
    ends: dict[str, Any] = {"low": 0.0, "high": 3.0} if metric == "mae" else {}
    return Board("b", key="id", label="y", metric=metric, rule=rule, **ends, **more)


def released(asked: Any, found: tuple[int, ...], situation: Any) -> tuple[Message, dict[str, Any]]:
    """How an answer is weighed, and all that it tells, with the public state that it leaves."""
    kept: Any = Kept()
    kept.accounts = dict(situation.hidden.transaction.accounts)
    here = Situation(situation.budget, situation.progress, hidden=Hidden(kept))
    settled = asked.settle(asked.prepare([found], situation.n), here)
    told = {
        "value": settled.value,
        "interval": settled.interval,
        "passed": settled.passed,
        "details": dict(settled.details),
        "guarantee": settled.guarantee.to_dict(),
        "accounts": kept.accounts,
    }
    return settled.message, told


def compare(one: Board, progress: Progress, best: int | None = None, **question: Any) -> tuple[int, float]:
    """How many failures can be told apart, and what their prior weights add up to, given a failure."""
    n = ROWS[one.metric]
    policy = Policy(questions=1000, failures=3, boards=[one])
    asked = score("b", {0: 1}, **question).bind(SCHEMA, n, policy).by("ann")
    kept: Any = Kept()
    if best is not None:
        kept.accounts[ladder.account(one, "ann")] = {"place": best}
    transaction: Transaction = kept
    situation = Situation(GuardBudget(n, policy), progress, hidden=Hidden(transaction))
    passes: set[str] = set()
    failures: dict[str, float] = {}
    for found in sums(one.metric):
        message, told = released(asked, found, situation)
        name = json.dumps(told, sort_keys=True)
        if message.passed:
            passes.add(name)
            assert message.log_weight == 0
        else:
            assert failures.setdefault(name, message.log_weight) == message.log_weight  # by what is shown alone
    assert len(passes) <= 1  # a pass tells nothing but that it is one
    weight = math.fsum(math.exp(one) for one in failures.values())
    assert weight <= 1 + 1e-12  # a course rounds each of them down by as much
    return len(failures), weight


FRESH = Progress(answered=2, course=Course(asked=2, checks=2))
LATER = Progress(answered=7, course=Course(asked=7, checks=7, failed=2, log_shown=-6.0))
LAST = Progress(answered=9, course=Course(asked=9, checks=9, failed=3, log_shown=-9.0))


@pytest.mark.parametrize("metric", ["accuracy", "brier", "mae", "auc"])  # few rows settle no F1: see the ladder
@pytest.mark.parametrize("tolerance", [None, 0.45])
@pytest.mark.parametrize("rule", ["intervals", "ladder"])  # a ladder's first submission is a check too
def test_what_a_failed_guess_could_show(metric: str, tolerance: float | None, rule: str) -> None:
    one = board(metric, rule)
    most = one.range[1]
    width = None if tolerance is None else tolerance * most
    for progress in (FRESH, LATER):
        told, weight = compare(one, progress, guess=0.75 * most, tolerance=width)
        assert told > 1
        assert weight > (0.005 if metric == "auc" else 0.05)  # and not wastefully small
    told, weight = compare(one, LAST, guess=0.75 * most, tolerance=width)
    assert (told, weight) == (1, 1.0)


@pytest.mark.parametrize("metric", list(ROWS))
def test_what_an_improvement_could_show(metric: str) -> None:
    one = board(metric, "ladder", step=board(metric, "intervals").range[1] / 20)
    means = metric not in ("auc", "f1")
    for best in (None, 0, 12, 18, 19):
        told, weight = compare(one, FRESH, best)
        if means:
            assert told == (20 if best is None else 19 - best)
            assert weight == pytest.approx(1.0 if best is None else 1 - 1 / (told + 1))
    assert compare(one, LAST, 12)[0] <= 1


def test_weights_that_are_too_large_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: the same comparison refuses a ladder that counts places from the bar itself, and so one too few."""
    one, plain = board("accuracy", "ladder", step=0.05), ladder.climb

    def near(rungs: Any, best: Any, *given: Any) -> Any:
        outcome, place = plain(rungs, best, *given)
        weight = -math.log((place - best) ** 2) if place is not None else 0.0
        return replace(outcome, log_weight=weight), place

    compare(one, FRESH, 7)
    monkeypatch.setattr(ladder, "climb", near)
    with pytest.raises(AssertionError):
        compare(one, FRESH, 7)


def test_the_interval_of_what_is_shown_holds_that_of_all_sums_that_show_it() -> None:
    """An interval is a function of what is shown; so it must hold the intervals of all rows that show the same."""
    rules: list[tuple[str, dict[str, Any]]] = [("intervals", {"guess": 0.3}), ("ladder", {})]
    for rule, question in rules:
        for metric in ("accuracy", "brier"):
            one = board(metric, rule)
            n = ROWS[metric]
            policy = Policy(questions=1000, boards=[one])
            asked: Any = score("b", {0: 1}, **question).bind(SCHEMA, n, policy).by("ann")
            for best in (None,) if rule == "intervals" else (None, 4, 60):
                kept: Any = Kept()
                if best is not None:
                    kept.accounts[ladder.account(one, "ann")] = {"place": best}
                situation = Situation(GuardBudget(n, policy), FRESH, hidden=Hidden(kept))
                share = asked._metric.share(situation.log_share)
                for found in sums(metric):
                    _, told = released(asked, found, situation)
                    low, high = asked._metric.interval.of(asked.prepare([found], n).sums, share)
                    assert told["interval"][0] <= low
                    assert high <= told["interval"][1]
