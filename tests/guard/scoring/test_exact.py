"""Boards over a handful of labels, every outcome of them counted: no simulation, so no chance to fail by chance.

Labels are independent, each with a probability of its own that analysts know. An analyst follows a rule that chooses
the next submission from all answers before. All label vectors that gave the same answers so far stand at the same node
of a tree, and at a node the guard's own question is asked once for each sum that the rows can add up to. So the
probability that any interval of the run misses is a finite sum. It may not exceed what the confidence leaves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from holdfast.data.schema import Kind, Schema
from holdfast.data.statistics import UNIT
from holdfast.guard import Board, Policy, score
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions import Situation
from holdfast.guard.questions.base import Hidden
from holdfast.guard.scoring.metrics import MeanMetric
from holdfast.guard.state import Progress
from tests.guard.scoring.test_attack import Kept, forgetting

N = 7
CONFIDENCE = 0.55
"""Low, so that what a wrong share would give away is a large probability."""
KINDS: dict[str, Kind] = {"id": "integer", "y": "integer"}
SCHEMA = Schema(KINDS)
LABELS = np.array(list(product((0, 1), repeat=N)))
Submission = dict[str, Any]
Rule = Callable[[list[Any], float], Submission]
"""From what was shown so far, and the least tolerance of a guess of nothing, to the next submission."""


class Tree:
    """All runs of one rule at once; `forgetful` shares ignore failures."""

    def __init__(
        self, board: Board, chances: Any, questions: int, *, failures: int | None = None, forgetful: bool = False
    ) -> None:
        self.policy = Policy(confidence=CONFIDENCE, questions=questions, failures=failures, final=0.0, boards=[board])
        self.board, self.budget, self.forgetful = board, GuardBudget(N, self.policy), forgetful
        self.chances = np.asarray(chances)
        self.weights = np.where(LABELS == 1, self.chances, 1 - self.chances).prod(axis=1)
        self.questions = questions
        self.courses: dict[int, int] = {}

    def miss(self, rule: Rule) -> float:
        """The probability that some interval of the run misses its truth."""
        return self._from(rule, np.arange(len(LABELS)), [], Progress(), Kept())

    def _from(self, rule: Rule, inside: Any, shown: list[Any], progress: Progress, kept: Kept) -> float:
        self.courses[len(shown)] = self.courses.get(len(shown), 0) + 1
        most = self.policy.failures
        if len(shown) == self.questions or (most is not None and progress.failed > most):
            return 0.0
        counted = forgetting(progress) if self.forgetful else progress
        given = rule(shown, self._least(counted))
        question = score(self.board.name, given.pop("predictions"), **given).bind(SCHEMA, N, self.policy).by("ann")
        parts = self._parts(question)
        sums = np.where(LABELS[inside] == 1, parts[:, 1], parts[:, 0]).sum(axis=1)
        expected = float((1 - self.chances) @ parts[:, 0] + self.chances @ parts[:, 1])
        truth = expected / N / (1 if self.board.metric == "accuracy" else UNIT)  # with the labels drawn anew
        missed = 0.0
        children: dict[str, Any] = {}
        for found in np.unique(sums):
            here = inside[sums == found]
            state = Kept()
            state.accounts = dict(kept.accounts)
            situation = Situation(self.budget, counted, hidden=Hidden(state))  # type: ignore[arg-type]
            settled = question.settle(question.prepare([(int(found),)], N), situation)
            ends = settled.interval
            if ends is not None and not ends[0] <= truth <= ends[1]:
                missed += float(self.weights[here].sum())  # whatever comes after, this run has missed
                continue
            after = progress.admit().settle(self.budget.budget, settled.message, settled.asked, settled.extra)
            told = {
                "value": settled.value,
                "interval": ends,
                "passed": settled.passed,
                "details": dict(settled.details),
                "guarantee": settled.guarantee.to_dict(),
            }
            name = json.dumps(told, sort_keys=True)
            known = children.setdefault(name, (told, after, state, []))
            # All that follows goes by what was shown: the accounts too.
            assert known[1] == after
            assert known[2].accounts == state.accounts
            known[3].append(here)
        for told, after, state, together in children.values():
            missed += self._from(rule, np.concatenate(together), [*shown, told], after, state)
        return missed

    def _least(self, progress: Progress) -> float:
        """What `Guard.estimate` tells anyone: the tolerance that a score of nothing just passes with."""
        if self.board.rule == "ladder":
            return 0.0
        metric = MeanMetric(self.board, N)
        share = metric.share(self.budget.log_share(progress.course))
        return metric.interval.least_tolerance(0.0, share)

    def _parts(self, question: Any) -> Any:
        """What each row adds with label 0 and with label 1; a mean's sums are sums over rows."""
        counted = question._tally
        return np.array(
            [
                [counted.add(counted.start(), (np.array([i]), None), (np.array([y]), None))[0] for y in (0, 1)]
                for i in range(N)
            ]
        )


ACCURACY = Board("b", key="id", label="y", metric="accuracy")
BRIER = Board("b", key="id", label="y", metric="brier")
LADDER = Board("b", key="id", label="y", metric="accuracy", rule="ladder", step=1 / N)
FAIR = np.full(N, 0.5)
UNLIKE = np.array([0.02, 0.98, 0.5, 0.9, 0.3, 0.6, 0.05])


def one_by_one(shown: list[Any], width: float) -> Submission:
    """Ask about one row at a time, so finely that a score tells one label; then say all that was learnt."""
    if len(shown) < N:
        return {"predictions": {len(shown): 1}, "guess": 0.0, "tolerance": width + 1e-9}
    labels = {i: 0 if told["passed"] else 1 for i, told in enumerate(shown[:N])}
    return {"predictions": labels, "guess": 1.0, "tolerance": width + 1e-9}  # as near as can be claimed


def wild(seed: int, board: Board) -> Rule:
    """Anything at all, chosen by what was shown; one submission in two repeats what did best so far with a change."""

    def rule(shown: list[Any], width: float) -> Submission:
        rng = np.random.default_rng([seed, *json.dumps(shown).encode()])
        ones = rng.integers(0, 2, N)
        if shown:
            values = [0.5 if told["value"] is None else told["value"] for told in shown]
            base = np.random.default_rng([seed, *json.dumps(shown[: int(np.argmax(values))]).encode()])
            ones = np.where(rng.random(N) < 0.3, ones, base.integers(0, 2, N))
        rows = rng.permutation(N)[: rng.integers(1, N + 1)]
        given: Submission = {"predictions": {int(i): int(ones[i]) for i in rows}}
        if board.rule == "ladder":
            return given
        return given | {"guess": float(rng.integers(0, 2)), "tolerance": width + 1e-9}

    return rule


def test_a_look_can_tell_a_label() -> None:
    """What a board does not promise: labels are not secret to whoever spends a look on each (docs/leaderboard.md)."""
    tree = Tree(ACCURACY, FAIR, N + 1)
    tree.miss(one_by_one)
    assert tree.courses[N] == 2**N  # as many courses as label vectors: each is known after a look at every row


def test_learning_labels_one_by_one_breaks_no_interval() -> None:
    """Seven looks tell all seven labels. What is then said of the eighth submission holds all the same."""
    for chances in (FAIR, UNLIKE):
        assert Tree(ACCURACY, chances, N + 1).miss(one_by_one) <= 1 - CONFIDENCE


def test_learning_labels_breaks_shares_that_forget() -> None:
    """Power: the same run with shares that do not count failures misses in almost every case."""
    assert Tree(ACCURACY, FAIR, N + 1, forgetful=True).miss(one_by_one) > 0.9


@pytest.mark.parametrize("board", [ACCURACY, LADDER, BRIER], ids=["accuracy", "ladder", "brier"])
@pytest.mark.parametrize("seed", range(6))
def test_wild_rules_break_no_interval(board: Board, seed: int) -> None:
    for chances, failures in ((FAIR, None), (UNLIKE, None), (FAIR, 1)):
        assert Tree(board, chances, 4, failures=failures).miss(wild(seed, board)) <= 1 - CONFIDENCE
