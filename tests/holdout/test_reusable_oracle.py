"""Random analysts against the public door, next to a reference that is written from the formulas alone.

Rows are three kinds of things with known chances, so every truth is known and every sample can be gone through. An
analyst is a seed: what it asks next is a function of the answers so far, all kinds of questions mixed.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta as beta_law

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import metrics

N, KINDS = 5, 3
CHANCES = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
PLANS = ({"questions": 4}, {}, {"questions": 4, "failures": 1}, {"failures": 0})


def coin_limits(mean: float, n: int, tail: float) -> tuple[float, float]:
    """Chernoff's limits by a root finder."""

    def excess(p: float) -> float:
        terms = ((mean, p), (1 - mean, 1 - p))
        return n * sum(a * math.log(a / b) for a, b in terms if a > 0) - math.log(1 / tail)

    low = 0.0 if mean == 0 or excess(1e-300) < 0 else brentq(excess, 1e-300, mean, xtol=1e-14)
    high = 1.0 if mean == 1 or excess(1 - 1e-16) < 0 else brentq(excess, mean, 1 - 1e-16, xtol=1e-14)
    return low, high


def count_limits(k: int, n: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's limits as quantiles of beta laws."""
    low = 0.0 if k == 0 else float(beta_law.ppf(tail, k, n - k + 1))
    return low, 1.0 if k == n else float(beta_law.isf(tail, k + 1, n - k))


def share(plan: dict[str, int], beta: float, passed: list[bool], shown: list[int]) -> float:
    """The share of the next question, from the proof."""
    t, f = len(passed) + 1, passed.count(False)
    when = 1 / plan["questions"] if "questions" in plan else 6 / (math.pi * t) ** 2
    often = 1 / (plan["failures"] + 1) if "failures" in plan else 6 / (math.pi * (f + 1)) ** 2
    return beta * when * often / math.comb(t - 1, f) / math.prod(shown)


def analyse(
    seed: int, plan: dict[str, int], confidence: float, rows: np.ndarray, chances: tuple[Fraction, ...] = CHANCES
) -> bool:
    """One run on one sample; compares every answer with the reference and says whether all intervals hold."""
    holdout = hf.ReusableHoldout(N, confidence=confidence, **plan)
    passed: list[bool] = []
    shown: list[int] = []
    seen, right = str(seed), True
    for _ in range(4):
        dice = Random(seen)  # the next question is fixed by the answers so far
        kind = dice.choice(["check", "bit", "claim", "compare", "metric", "key"])
        levels = [dice.randrange(2) for _ in range(KINDS)]
        guess, tolerance = dice.choice([0.1, 0.5, 0.9]), dice.choice([0.2, 0.45, 0.7])
        values = np.array(levels, dtype=bool)[rows]
        truth = float(sum(c * v for c, v in zip(chances, levels, strict=True)))
        now = share(plan, 1 - confidence, passed, shown)
        assert math.exp(holdout.log_share) == pytest.approx(now, rel=1e-9)
        own = count_limits(int(values.sum()), N, now / 2)
        before = holdout.asked
        try:
            if kind == "claim":
                answer = holdout.claim(values, at_least=guess)
                own = (count_limits(int(values.sum()), N, now)[0], 1.0)
                target = (guess, 1.0)
            elif kind == "compare":
                other = [dice.randrange(2) for _ in range(KINDS)]
                gap = np.array(levels)[rows] - np.array(other)[rows]
                truth -= float(sum(c * v for c, v in zip(chances, other, strict=True)))
                own = tuple(2 * end - 1 for end in coin_limits((gap.mean() + 1) / 2, N, now / 2))
                answer = holdout.compare(values, np.array(other)[rows], guess - 0.5, 2 * tolerance)
                target = (max(-1.0, guess - 0.5 - 2 * tolerance), min(1.0, guess - 0.5 + 2 * tolerance))
            elif kind == "metric":
                answer = holdout.check_metric(metrics.mean(values, "clopper-pearson"), guess, tolerance)
                target = (max(0.0, guess - tolerance), min(1.0, guess + tolerance))
            else:
                how = {"show": "bit"} if kind == "bit" else {"key": seen} if kind == "key" else {}
                answer = holdout.check(values, guess, tolerance, **how)
                target = (max(0.0, guess - tolerance), min(1.0, guess + tolerance))
        except (InvalidParameter, BudgetExhausted) as refusal:
            assert holdout.asked == before  # nothing spent, and the same for every sample: see below
            seen += f"|{refusal}"
            continue
        inside = target[0] <= own[0] and own[1] <= target[1]
        near = min(abs(target[0] - own[0]), abs(target[1] - own[1])) < 1e-9
        assert answer.passed is inside or near
        if answer.interval is not None:
            assert answer.interval[0] <= own[0] + 1e-9
            assert own[1] - 1e-9 <= answer.interval[1]
            right = right and answer.interval[0] <= truth <= answer.interval[1]
        if kind == "key":
            assert holdout.check(None, guess, tolerance, key=seen) == answer
        passed.append(bool(answer.passed))
        entry = holdout.state()["transcript"][-1]
        if not answer.passed:
            shown.append(entry["shown"])
            assert (answer.value is None) == (entry["shown"] == 1 and answer.interval is None)
        seen += f"|{answer.passed}{answer.value}{answer.interval}"
    return right


def samples() -> list[tuple[np.ndarray, float]]:
    """Every sample of rows, up to order, and its probability."""
    found = []
    for rows in itertools.combinations_with_replacement(range(KINDS), N):
        counts = [rows.count(kind) for kind in range(KINDS)]
        ways = math.factorial(N) // math.prod(math.factorial(c) for c in counts)
        found.append((np.array(rows), float(ways * math.prod(c**k for c, k in zip(CHANCES, counts, strict=True)))))
    return found


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("confidence", [0.2, 0.6])
def test_random_analysts_agree_with_the_reference_and_are_covered(plan, confidence):
    """Exact: for each analyst the chance of the samples on which all intervals hold is at least the confidence."""
    every = samples()
    assert sum(chance for _, chance in every) == pytest.approx(1)
    for seed in range(6):
        held = sum(chance for rows, chance in every if analyse(seed, plan, confidence, rows))
        assert held >= confidence


@pytest.mark.parametrize("seed", range(20))
def test_refusals_say_nothing_about_the_rows(seed):
    """The same question after the same answers is refused for every sample, in the same words, or for none."""
    dice = Random(seed)
    levels, guess = [dice.randrange(2) for _ in range(KINDS)], dice.choice([0.0, 0.3, 1.0])
    tolerance, bound = dice.uniform(0.01, 0.6), dice.uniform(0, 1)
    family = dice.choice(["auto", "hoeffding", "kl", "empirical-bernstein", "betting"])
    said: list[set[str]] = [set(), set(), set()]
    for rows, _ in samples():
        values = np.array(levels, dtype=bool)[rows]
        for words, ask in zip(
            said,
            (
                lambda holdout, values: holdout.check(values, guess, tolerance, family=family),
                lambda holdout, values: holdout.claim(values, at_least=bound, family=family),
                lambda holdout, values: holdout.claim(values, at_most=bound, family=family),
            ),
            strict=True,
        ):
            try:
                ask(hf.ReusableHoldout(N, confidence=0.3), values)
                words.add("answered")
            except InvalidParameter as refusal:
                words.add(str(refusal))
    assert all(len(words) == 1 for words in said)
