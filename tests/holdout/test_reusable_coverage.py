"""Does every answer hold at once? Exactly against the best analyst on tiny samples; on larger ones against two.

Features and labels are independent fair coins, so whatever is built from rows has accuracy 1/2 exactly: an interval
holds if and only if it has 1/2 inside. A statistical test here errs with probability at most 1e-6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from holdfast.holdout.shares import Shares

import holdfast as hf
from holdfast.bounds.one_question.means import clopper_pearson
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.mechanisms.answer import Answer

RUNS = 400  # `holdfast simulate --against reusable-holdout --runs 2000` runs the same analysts at length


# --- exact: the best analyst of all --------------------------------------------------------------------------------

#: Rows are three fair bits; a question is one of their seven parities, so the seven are pairwise independent coins.
PARITIES = np.array([[(row & mask).bit_count() % 2 for row in range(8)] for mask in range(1, 8)])


def samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """For each possible sample of `n` rows: how many ones each parity has, and its probability, merged."""
    weights: dict[tuple[int, ...], float] = {}
    for rows in itertools.combinations_with_replacement(range(8), n):
        counts = np.bincount(rows, minlength=8)
        ways = math.factorial(n) / math.prod(math.factorial(int(c)) for c in counts)
        ones = tuple(int(x) for x in PARITIES @ counts)
        weights[ones] = weights.get(ones, 0.0) + ways / 8**n
    return np.array(list(weights)), np.array(list(weights.values()))


#: One bit that is wrong when it passes, its mirror image, and guesses whose failures show where the mean lies.
MENU: tuple[Callable[[hf.ReusableHoldout, np.ndarray], Answer], ...] = (
    lambda holdout, values: holdout.claim(values, at_least=0.501),
    lambda holdout, values: holdout.claim(values, at_most=0.499),
    lambda holdout, values: holdout.check(values, 1.0, 0.499),
    lambda holdout, values: holdout.check(values, 0.9, grid=0.25),
    lambda holdout, values: holdout.check(values, 0.2, show="bit"),
)
#: Which parities are worth asking about at each question: any other choice is one of these under another name. The
#: third of the list is the sum of the first two.
WORTH = ((0,), (0, 1), (0, 1, 2, 3))


def outcomes(state: dict, n: int) -> Iterator[list[tuple[dict, bool, list[int]]]]:
    """For each question on the menu: the transcripts that may follow, whether the answer is wrong, for which counts."""
    for question in MENU:
        found: dict[str, tuple[dict, bool, list[int]]] = {}
        for k in range(n + 1):
            holdout = hf.ReusableHoldout.from_state(state)
            try:
                answer = question(holdout, np.arange(n) < k)
            except (InvalidParameter, BudgetExhausted):  # refused, whatever the rows are
                found = {}
                break
            wrong = answer.interval is not None and not answer.interval[0] <= 0.5 <= answer.interval[1]
            found.setdefault(str(answer.to_dict()), (holdout.state(), wrong, []))[2].append(k)
        yield list(found.values())


def worst_miss(holdout: hf.ReusableHoldout, depth: int) -> float:
    """The largest probability with which an analyst makes some answer wrong: a maximum over all decision trees.

    An analyst sees the transcript alone. A node is a transcript with the samples that lead there and have not missed;
    the next question is the one that makes the most of them miss, now or later.
    """
    ones, chance = samples(holdout.n)
    after: dict[str, list] = {}

    def best(state: dict, alive: np.ndarray, asked: int) -> float:
        if asked == depth or not alive.any():
            return 0.0
        seen = str(state)
        if seen not in after:
            after[seen] = list(outcomes(state, holdout.n))
        return max(
            sum(
                float(chance[there].sum()) if wrong else best(follows, there, asked + 1)
                for follows, wrong, counts in found
                for there in [alive & np.isin(ones[:, parity], counts)]
            )
            for found, parity in itertools.product(after[seen], WORTH[asked])
        )

    return best(holdout.state(), np.ones(len(chance), dtype=bool), 0)


def whole_share(plan: Shares, t: int, f: int, log_shown: float) -> float:
    """Wrong on purpose: every question takes the whole failure probability."""
    return math.log(plan.beta)


@pytest.mark.parametrize(("n", "confidence", "failures"), [(5, 0.7, None), (6, 0.8, 1), (7, 0.5, None)])
def test_no_decision_tree_beats_the_confidence(n, confidence, failures):
    """Exact: the best of all trees of three questions on the menu misses with at most the failure probability."""
    worst = worst_miss(hf.ReusableHoldout(n, 3, confidence, failures), 3)
    assert 0 < worst <= 1 - confidence


def test_the_exact_search_finds_shares_that_are_too_large(monkeypatch):
    """Power: with the whole failure probability for each question, some tree of three questions misses more often."""
    monkeypatch.setattr(Shares, "log_share", whole_share)
    assert worst_miss(hf.ReusableHoldout(5, 3, 0.8), 3) > 0.2


def test_a_family_chosen_after_the_data_misses_too_often():
    """Exact: of two intervals that hold at 90% each, the one with the higher limit misses with nearly 20%.

    Each half of 38 fair coins gives a lower limit. A procedure that picks the higher one after seeing both is not an
    interval for a fixed question, and no share makes up for that. Splitting the share does.
    """
    half = 19
    law = np.array([math.comb(half, k) / 2**half for k in range(half + 1)])
    limits = {
        log_share: np.array([clopper_pearson(k, half, log_share, "lower")[0] for k in range(half + 1)])
        for log_share in (math.log(0.1), math.log(0.05))
    }

    def missed(limit: np.ndarray) -> float:
        return float(law @ (np.maximum.outer(limit, limit) > 0.5) @ law)

    assert float(law @ (limits[math.log(0.1)] > 0.5)) <= 0.1
    assert missed(limits[math.log(0.1)]) > 0.1
    assert missed(limits[math.log(0.05)]) <= 0.1


# --- simulated: greedy and adversarial analysts --------------------------------------------------------------------

N, FEATURES, STEPS = 60, 41, 10


def adversarial(rng: np.random.Generator, holdout: Door) -> None:
    """Read off one bit each on which side of 1/2 every score lies, then ask about the vote of all features."""
    agree = rng.random((FEATURES, N)) < 0.5  # whether feature i gets row j right
    above = np.array([holdout.is_above(column) for column in agree])
    vote = np.where(above[:, None], agree, ~agree).sum(axis=0) > FEATURES / 2
    holdout.certify(vote, float(vote.mean()))


def greedy(rng: np.random.Generator, holdout: Door) -> None:
    """Score every feature, then grow a vote from the best scores on, keeping what does not lower the vote's score."""
    train, agree = 2 * (rng.random((2, FEATURES, N)) < 0.5) - 1
    scores = np.array([holdout.check(agree[i] > 0, float((train[i] > 0).mean())) for i in range(FEATURES)])
    vote, best = agree[0] / 2.0, 0.0  # the first feature breaks ties
    for i in np.argsort(-np.abs(scores - 0.5))[:STEPS]:
        grown = vote + (agree[i] if scores[i] >= 0.5 else -agree[i])
        score = holdout.check(grown > 0, max(best, 0.5))
        if score >= best:
            vote, best = grown, score


class Door:
    """What an analyst talks to. Here: the reusable holdout."""

    def __init__(self) -> None:
        self.holdout = hf.ReusableHoldout(N, questions=FEATURES + STEPS)

    def is_above(self, values: np.ndarray) -> bool:
        """The guess is so far above 1/2 that the interval of a mean at 1/2 touches the tolerance: one bit."""
        answer = self.holdout.check(values, 0.8, 0.3 + self.half_width(), family="hoeffding", show="bit")
        return bool(answer.passed)

    def certify(self, values: np.ndarray, guess: float) -> None:
        """As sharply as can be."""
        self.holdout.check(values, guess, self.half_width(), family="hoeffding")

    def check(self, values: np.ndarray, guess: float) -> float:
        value = self.holdout.check(values, guess, family="kl").value
        return 0.5 if value is None else value

    def half_width(self) -> float:
        return math.sqrt((math.log(2) - self.holdout.log_share) / (2 * N)) + 1e-9

    def intervals(self) -> list[tuple[float, float]]:
        return [answer.interval for answer in self.holdout.transcript if answer.interval is not None]


class Naive(Door):
    """The holdout as it is used today: exact scores, each with a 95% interval of its own."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def is_above(self, values: np.ndarray) -> bool:
        return self.check(values, 0.5) >= 0.5

    def certify(self, values: np.ndarray, guess: float) -> None:
        self.check(values, guess)

    def check(self, values: np.ndarray, guess: float) -> float:
        self.seen.append(float(values.mean()))
        return self.seen[-1]

    def intervals(self) -> list[tuple[float, float]]:
        half = 1.96 * math.sqrt(0.25 / N)
        return [(mean - half, mean + half) for mean in self.seen]


def misses(analyst: Callable[[np.random.Generator, Door], None], door: type[Door], runs: int, seed: int) -> int:
    """In how many runs does any interval leave out 1/2?"""
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(runs):
        answers = door()
        analyst(rng, answers)
        count += any(not low <= 0.5 <= high for low, high in answers.intervals())
    return count


def too_many(runs: int, chance: float) -> int:
    """A binomial exceeds this with probability at most 1e-6."""
    from scipy.stats import binom

    return int(binom.isf(1e-6, runs, chance))


@pytest.mark.parametrize("analyst", [greedy, adversarial])
def test_every_answer_holds_at_once_in_hundreds_of_analyses(analyst):
    """Simultaneous coverage is not below nominal; the naive holdout's is below 5%."""
    assert misses(analyst, Door, RUNS, seed=7) <= too_many(RUNS, 0.05)
    assert RUNS - misses(analyst, Naive, RUNS, seed=7) < 0.05 * RUNS


def not_divided(plan: Shares, t: int, f: int, log_shown: float) -> float:
    """Wrong on purpose: the number of transcripts is not counted."""
    return math.log(plan.beta) - math.log(plan.questions or 1)


def test_shares_that_do_not_count_transcripts_are_found_out(monkeypatch):
    """Power: half of the runs suffice to reject them."""
    monkeypatch.setattr(Shares, "log_share", not_divided)
    runs = RUNS // 2
    assert misses(adversarial, Door, runs, seed=8) > too_many(runs, 0.05)
