"""An exact oracle: every sample of a few rows, with its probability as a fraction, through the public door.

Rows are of three kinds with known chances, so every truth is a fraction and every sample can be gone through. An
analyst is a seed: what it asks next is a function of the answers so far, all verbs mixed, and at the end everything is
revealed or a final is asked. Next to the run goes a reference that is written from the specification alone: prior
times spending, and the limits of each procedure.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta as beta_law
from scipy.stats import binom, binomtest

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout import metrics
from holdfast.holdout.error_budget import ErrorBudget

N, KINDS, STEPS = 5, 3, 4
CHANCES = (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))
PLANS = ({"questions": 4}, {}, {"questions": 4, "failures": 1, "expected_failures": 2.0}, {"failures": 0, "final": 0.2})


def coin_limits(mean: float, n: int, tail: float) -> tuple[float, float]:
    """Chernoff's limits by a root finder."""

    def excess(p: float) -> float:
        terms = ((mean, p), (1 - mean, 1 - p))
        return n * sum(a * math.log(a / b) for a, b in terms if a > 0) - math.log(1 / tail)

    low = 0.0 if mean == 0 or excess(1e-300) < 0 else brentq(excess, 1e-300, mean, xtol=1e-14)
    high = 1.0 if mean == 1 or excess(1 - 1e-16) < 0 else brentq(excess, mean, 1 - 1e-16, xtol=1e-14)
    return low, high


def count_limits(k: int, n: int, below: float, above: float | None = None) -> tuple[float, float]:
    """Clopper and Pearson's limits as quantiles of beta distributions."""
    low = 0.0 if k == 0 else float(beta_law.ppf(below, k, n - k + 1))
    return low, 1.0 if k == n else float(beta_law.isf(below if above is None else above, k + 1, n - k))


@cache
def shorter_count_limits(k: int, n: int, share: float) -> tuple[float, float]:
    """Blaker's limits from his definition; for larger shares Clopper and Pearson's.

    A p is left out where the counts whose smaller tail is at most that of k have a probability of at most the share.
    """
    exact = count_limits(k, n, share / 2)
    if share > 0.2:
        return exact

    def left_out(p: np.ndarray) -> np.ndarray:
        counts = np.arange(n + 1)[:, None]
        smaller = np.minimum(binom.cdf(counts, n, p), binom.sf(counts - 1, n, p))
        return np.where(smaller <= smaller[k] * (1 + 1e-9), binom.pmf(counts, n, p), 0.0).sum(axis=0) <= share

    def first(start: float, end: float) -> float:
        for _ in range(4):
            points = np.linspace(start, end, 2001)
            kept = int(np.argmin(left_out(points)))
            start, end = points[max(kept - 1, 0)], points[kept]
        return float(start)

    return (0.0 if k == 0 else first(exact[0], k / n)), (1.0 if k == n else first(exact[1], k / n))


class Reference:
    """Prior times spending, from the specification."""

    def __init__(self, plan: dict[str, Any], beta: float) -> None:
        self.beta, self.questions, self.cap = beta, plan.get("questions"), plan.get("failures")
        self.explore = 1 - plan.get("final", 0.5)
        self.a, self.b = (0.5, 0.5) if self.questions is None else (1.0, 0.0)
        if self.questions is not None:
            self.b = max(self.questions / plan.get("expected_failures", 1.0) - 1, 1.0)
        self.checks = self.failed = self.spent = 0
        self.by_plan = self.by_risk = self.shown = 1.0

    @property
    def prior(self) -> float:
        return (self.by_plan + self.by_risk) / 2 * self.shown

    @property
    def share(self) -> float:
        t = self.spent + 1
        spending = 1 / self.questions if self.questions else 6 / (math.pi * t) ** 2
        if self.questions and t > self.questions:
            return 0.0
        return self.beta * self.explore * spending * self.prior

    @property
    def final_level(self) -> float:
        if self.questions:
            used = self.spent / self.questions
        else:
            used = sum(6 / (math.pi * t) ** 2 for t in range(1, self.spent + 1))
        return self.beta * (1 - self.explore + self.explore * (1 - used)) * self.prior * (1 - 2**-30)

    def tell(self, passed: bool | None, weight: float, risk: float | None, spends: bool) -> None:
        """One message: whether it passed, and what else it showed."""
        self.spent += spends
        if passed is not None:
            fails = (self.failed + self.a) / (self.checks + self.a + self.b)
            plain = 1 - fails if passed else fails
            stated = plain if risk is None else 1 - risk if passed else risk
            self.by_plan, self.by_risk = self.by_plan * plain, self.by_risk * stated
            self.checks, self.failed = self.checks + 1, self.failed + (not passed)
            if self.cap is not None and self.failed > self.cap:
                weight = 1.0  # it shows nothing but that the run is over
        self.shown *= weight * (1 - 2**-30)  # the rest is for a refusal


def cell_weight(mean: float, guess: float, edge: float, length: float) -> float:
    """Of the cell that a mean lies in: numbered outwards, half on each side, and 1/128 for each inner one."""
    beyond = abs(mean - guess) - edge
    if beyond <= 0:
        return 1 / 128
    place = 1 + math.floor(beyond / length)
    return (1 / 2 - 1 / 128) / (place * (place + 1))


def truth_of(levels: list[int], chances: tuple[Fraction, ...] = CHANCES) -> Fraction:
    return sum((c * v for c, v in zip(chances, levels, strict=True)), Fraction(0))


def holds(interval: tuple[float, float] | None, truth: Fraction) -> bool:
    return interval is None or interval[0] <= truth <= interval[1]


def analyse(seed: int, plan: dict[str, Any], confidence: float, rows: np.ndarray) -> bool:
    """One run on one sample: compares it with the reference, and says whether everything that was said is true."""
    holdout = hf.ReusableHoldout(N, confidence=confidence, **plan)
    reference = Reference(plan, 1 - confidence)
    seen, right, truths = str(seed), True, []
    for _ in range(STEPS):
        dice = Random(seen)  # the next question is fixed by the answers so far
        kind = dice.choice(["check", "bit", "claim", "sign", "gap", "metric", "best", "winner", "key"])
        levels = [[dice.randrange(2) for _ in range(KINDS)] for _ in range(3)]
        guess, tolerance = dice.choice([0.1, 0.5, 0.9]), dice.choice([0.2, 0.45, 0.7])
        risk = dice.choice([None, 0.01, 0.6])
        columns = [np.array(one, dtype=bool)[rows] for one in levels]
        values, ones = columns[0], int(columns[0].sum())
        exact = [truth_of(one) for one in levels]
        now, before = reference.share, holdout.asked
        assert math.exp(holdout.log_share) == pytest.approx(now, rel=1e-9, abs=1e-300)
        assert math.exp(holdout.log_prior) == pytest.approx(reference.prior, rel=1e-9)
        try:
            if kind == "claim":
                answer = holdout.claim(values, at_least=guess, risk=risk)
                assert answer.passed is (count_limits(ones, N, now)[0] >= guess)
            elif kind == "sign":
                answer = holdout.compare(values, columns[1], risk=risk)
                won, differ = int((values > columns[1]).sum()), int((values != columns[1]).sum())
                p = binomtest(won, differ, alternative="greater").pvalue if differ else 1.0
                assert answer.passed is bool(p <= now)
                exact[0] -= exact[1]
                right = right and (not answer.passed or exact[0] > 0)
            elif kind == "gap":
                gap = float(values.mean()) - float(columns[1].mean())
                own = tuple(2 * end - 1 for end in coin_limits((gap + 1) / 2, N, now / 2))
                answer = holdout.compare(values, columns[1], guess - 0.5, 2 * tolerance, family="kl", risk=risk)
                exact[0] -= exact[1]
            elif kind == "metric":
                answer = holdout.check_metric(metrics.mean(values, "clopper-pearson"), guess, tolerance, risk=risk)
            elif kind in ("best", "winner"):
                names = dict(zip("abc", columns, strict=True))
                guesses = {"a": guess, "b": 0.3, "c": 0.6}
                answer = holdout.best(names, guesses, show="name" if kind == "best" else "value")
                winner = int(np.argmax([one.sum() for one in columns]))
                exact[0], ones, risk = exact[winner], int(columns[winner].sum()), None
            else:
                how = {"show": "bit"} if kind == "bit" else {"key": seen} if kind == "key" else {}
                answer = holdout.check(values, guess, tolerance, risk=risk, **how)
        except (InvalidParameter, BudgetExhausted) as refusal:
            assert holdout.asked == before  # nothing spent, and the same for every sample: see below
            seen += f"|{refusal}"
            continue
        entry = holdout.state(secrets=True)["transcript"][-1]
        weight = math.exp(entry["log_weight"])
        capped = answer.passed is False and reference.cap is not None and reference.failed >= reference.cap
        assert not capped or (answer.value, answer.interval) == (None, None)
        if kind in ("check", "key", "gap", "metric", "winner", "bit"):
            if kind == "winner":  # one limit pays for the choice among three, the other does not
                own = count_limits(ones, N, now / 6, now / 2)
            elif kind != "gap":
                own = count_limits(ones, N, now / 2)
            shown = tuple(entry["exact"]["interval"])
            assert shown == pytest.approx(own, abs=1e-9)
            if answer.interval is not None:  # what was shown holds what is certified
                assert answer.interval[0] <= shown[0] + 1e-12
                assert shown[1] - 1e-12 <= answer.interval[1]
            if kind in ("check", "key") and not answer.passed and not capped:
                width = max(guess - coin_limits(guess, N, now / 2)[0], coin_limits(guess, N, now / 2)[1] - guess)
                expected = cell_weight(ones / N, guess, max(0.0, tolerance - width), 2 * width)
                assert weight == pytest.approx(expected, rel=1e-9)
        if kind == "best":
            rank = sorted(range(3), key=lambda i: -[guess, 0.3, 0.6][i]).index(winner) + 1
            assert weight == pytest.approx(1 / (rank * (rank + 1)) / (3 / 4))
        right = right and holds(answer.interval, exact[0])
        truths.append(exact[0])
        if kind == "key":
            assert holdout.check(None, guess, tolerance, risk=risk, key=seen) == answer
        reference.tell(answer.passed, weight, risk, kind != "best")
        seen += f"|{answer.passed}{answer.value}{answer.interval}"
    return right and _end(holdout, reference, seen, truths, rows)


def _end(
    holdout: hf.ReusableHoldout, reference: Reference, seen: str, truths: list[Fraction], rows: np.ndarray
) -> bool:
    """Reveal the run, or ask a final that reveals it: everything is true."""
    dice = Random(seen)
    if dice.random() < 0.3:
        revealed, right = holdout.close(), True
    else:
        levels = {name: [dice.randrange(2) for _ in range(KINDS)] for name in "pqr"}
        columns = {name: np.array(one, dtype=bool)[rows] for name, one in levels.items()}
        claims = dice.choice(["intervals", "winner", "ranks", {"intervals": 1, "winner": 1, "loss": 1, "ranks": 1}])
        greater = dice.random() < 0.7
        result = holdout.final(columns, claims, greater_is_better=greater)
        level = reference.final_level
        assert math.exp(result.guarantee.parameters["log_share"]) == pytest.approx(level, rel=1e-5)
        exact = {name: truth_of(one) for name, one in levels.items()}
        best = max(exact.values()) if greater else min(exact.values())
        revealed, right = result.revealed, True
        if result.interval is not None:
            part = level * result.claims["intervals"] / 3
            for name, ends in result.interval.items():
                assert ends == pytest.approx(shorter_count_limits(int(columns[name].sum()), N, part), abs=1e-6)
                right = right and holds(ends, exact[name])
        if result.winner_interval is not None:
            right = right and holds(result.winner_interval, exact[result.winner])
        if result.loss_at_most is not None:
            right = right and abs(best - exact[result.winner]) <= result.loss_at_most
        for one, other in result.better or ():
            right = right and (exact[one] > exact[other] if greater else exact[one] < exact[other])
    for answer, truth in zip(revealed, truths, strict=True):
        if answer.guarantee.parameters["interval"] != "sign-test":
            right = right and holds(answer.interval, truth)
    return right


def samples() -> list[tuple[np.ndarray, Fraction]]:
    """Every sample of rows, up to order, and its probability."""
    found = []
    for rows in itertools.combinations_with_replacement(range(KINDS), N):
        counts = [rows.count(kind) for kind in range(KINDS)]
        ways = math.factorial(N) // math.prod(math.factorial(c) for c in counts)
        found.append((np.array(rows), ways * math.prod(c**k for c, k in zip(CHANCES, counts, strict=True))))
    return found


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("confidence", [0.2, 0.6])
def test_random_analysts_agree_with_the_reference_and_are_covered(plan, confidence):
    """Exact: for each analyst the samples on which something false is said have probability at most beta.

    Everything but the loss of a final depends on counts alone; the loss is looked at in one order of the rows.
    """
    every = samples()
    assert sum(chance for _, chance in every) == 1
    for seed in range(8):
        wrong = sum((chance for rows, chance in every if not analyse(seed, plan, confidence, rows)), Fraction(0))
        assert wrong <= 1 - Fraction(str(confidence))


class WholeBeta(ErrorBudget):
    """Wrong on purpose: every question may use all of beta."""

    def log_share(self, course, spending=None):
        return self.log_beta - 1e-12

    def log_prior(self, course):
        return 0.0

    def spending(self, course):
        return 1.0


def test_a_run_that_charges_nothing_says_false_things_too_often(monkeypatch):
    """Power: one analyst asks every parity of the kinds for its sign; the same sum over samples finds it out."""

    def wrong(kind: type[ErrorBudget]) -> Fraction:
        total = Fraction(0)
        for rows, chance in samples():
            holdout = hf.ReusableHoldout(N, questions=20, confidence=0.6, final=0.0)
            budget = kind(0.6, 20, 0.0)
            monkeypatch.setattr(holdout._run, "budget", budget)
            right = True
            for levels in itertools.product([0, 1], repeat=KINDS):
                values = np.array(levels, dtype=bool)[rows]
                for bound in (float(truth_of(list(levels))) + 1e-6, 0.999):
                    try:
                        answer = holdout.claim(values, at_least=min(bound, 1.0))
                    except InvalidParameter:
                        continue
                    right = right and holds(answer.interval, truth_of(list(levels)))
            total += chance * (not right)
        return total

    assert wrong(ErrorBudget) <= Fraction(4, 10)
    assert wrong(WholeBeta) > Fraction(4, 10)


@pytest.mark.parametrize("seed", range(20))
def test_refusals_say_nothing_about_the_rows(seed):
    """The same question after the same answers is refused for every sample, in the same words, or for none."""
    dice = Random(seed)
    levels, guess = [dice.randrange(2) for _ in range(KINDS)], dice.choice([0.0, 0.3, 1.0])
    tolerance, bound = dice.uniform(0.01, 0.6), dice.uniform(0, 1)
    family = dice.choice(["auto", "hoeffding", "kl", "empirical-bernstein", "betting"])
    asks = (
        lambda holdout, values: holdout.check(values, guess, tolerance, family=family),
        lambda holdout, values: holdout.claim(values, at_least=bound, family=family),
        lambda holdout, values: holdout.claim(values, at_most=bound, family=family),
        lambda holdout, values: holdout.compare(values, ~values, guess - 0.5, tolerance, family=family),
        lambda holdout, values: holdout.check_batch([values, ~values], [guess, guess], tolerance, family=family),
        lambda holdout, values: holdout.check(values, guess, stake=bound),
        lambda holdout, values: holdout.best({"a": values, "b": ~values}, {"a": bound}, show="value"),
    )
    for ask in asks:
        words = set()
        for rows, _ in samples():
            holdout = hf.ReusableHoldout(N, confidence=0.3)
            before = holdout.state()
            try:
                ask(holdout, np.array(levels, dtype=bool)[rows])
                words.add("answered")
            except (InvalidParameter, BudgetExhausted) as refusal:
                words.add(str(refusal))
                assert holdout.state() == before
        assert len(words) == 1
