"""Analysts and monitors: the truth they rest on, what they do to whom, and that broken methods are caught.

Statistical tests use `binomial.exceeds` or Hoeffding's inequality at an error of 1e-6 with fixed seeds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.interval.mutual_information import information_nats, second_moment_factor
from holdfast.noise import Source
from holdfast.simulation.analysts import ANALYSTS, Run, analyst
from holdfast.simulation.analysts.interview import Interview
from holdfast.simulation.analysts.monitor import extended_monitor, monitor, monitored
from holdfast.simulation.analysts.strategies import expected_error
from holdfast.simulation.analysts.world import Ballot, World, above
from holdfast.simulation.answerers import Answerer, Design, Naive, Reply, Values, answerer, answerers
from holdfast.simulation.run import clopper_pearson, one_run, simulate
from holdfast_papers.binomial import ERROR, exceeds

Guesses = Sequence[float] | npt.NDArray[np.float64]
SMALL = Design(n=400, questions=120, failures=6)
RUNS = 30


# The world ----------------------------------------------------------------------------------------------------------


def _enumerated(probabilities: Sequence[float], weights: Sequence[int]) -> float:
    total = 0.0
    for signs in itertools.product((-1, 1), repeat=len(weights)):
        chance = math.prod(p if s > 0 else 1 - p for p, s in zip(probabilities, signs, strict=True))
        score = sum(w * s for w, s in zip(weights, signs, strict=True))
        total += chance * (1.0 if score > 0 else 0.5 if score == 0 else 0.0)
    return total


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from([0.5, 0.5, 0.1, 0.73]), st.integers(-3, 3)), min_size=1, max_size=7))
def test_the_truth_of_a_vote_is_exact(features: list[tuple[float, int]]) -> None:
    probabilities, weights = [p for p, _ in features], [w for _, w in features]
    world = World(np.array(probabilities), 40, np.random.default_rng(1))
    truth = world.truth(np.array(weights))
    assert truth == pytest.approx(_enumerated(probabilities, weights), abs=1e-12)
    ballot = Ballot.empty(world, guess=True)
    for j, weight in enumerate(weights):
        if weight:
            ballot = ballot.joined(j, weight)
    assert ballot.truth == pytest.approx(truth, abs=1e-12)
    scores = world.holdout.scores(np.array(weights))
    assert np.array_equal(ballot.values, world.holdout.settled(scores))
    at_home = world.training.settled(world.training.scores(np.array(weights)))
    assert ballot.guess == pytest.approx(at_home.mean(), abs=1e-12)


def test_a_large_sample_agrees_with_the_truth() -> None:
    """Hoeffding at 1e-6 for 400,000 rows; a truth off by 0.005 would be seen."""
    weights = np.array([3, -2, 1, 1, 0, 2])
    world = World(np.array([0.6, 0.5, 0.3, 0.5, 0.9, 0.55]), 400_000, np.random.default_rng(2))
    room = math.sqrt(math.log(2 / ERROR) / (2 * world.n))
    assert room < 0.005
    for sample in (world.holdout, world.training):
        assert abs(sample.settled(sample.scores(weights)).mean() - world.truth(weights)) < room
        assert np.all(np.abs(sample.means() - world.probabilities) < room)


def test_guarded_rows_do_not_depend_on_who_looks_at_training_rows() -> None:
    one, two = (World(np.full(9, 0.5), 50, np.random.default_rng(3)) for _ in range(2))
    _ = one.training
    assert np.array_equal(one.holdout.bits, two.holdout.bits)
    assert not np.array_equal(one.holdout.bits, one.training.bits)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_half_of_a_symmetric_law_lies_above(size: int) -> None:
    assert above(np.full(size, 1 / size)) == pytest.approx(0.5)


# What analysts do ---------------------------------------------------------------------------------------------------


class Recorder(Answerer):
    """Answers like the naive one, needs guesses, and refuses after a while or shows nothing but a bit."""

    needs_guess = True

    def __init__(self, design: Design, answers: int, *, bits: bool = False) -> None:
        self._naive, self._left, self._bits = Naive(design), answers, bits
        self.asked = 0

    def ask(self, values: Values, guess: float) -> Reply | None:
        assert 0 <= guess <= 1
        assert values.shape == (SMALL.n,)
        self.asked += 1
        if self.asked > self._left:
            return None
        return Reply(np.nan, None, False) if self._bits else self._naive.ask(values, guess)

    @property
    def tolerance(self) -> float:
        return 0.05


@pytest.mark.parametrize("name", ANALYSTS)
@pytest.mark.parametrize("answers", [0, 1, 5, 100, 1000])
def test_every_analyst_keeps_to_the_plan_and_takes_a_refusal(name: str, answers: int) -> None:
    recorder = Recorder(SMALL, answers)
    run = ANALYSTS[name].run(recorder, SMALL, np.random.default_rng(4))
    assert run.asked == recorder.asked <= SMALL.questions
    assert run.answered == min(answers, run.asked)
    assert run.refused == run.asked - run.answered
    assert run.truth.shape == run.sample.shape == run.value.shape == run.low.shape == run.high.shape
    assert np.all((run.truth >= 0) & (run.truth <= 1))
    answered = ~np.isnan(run.value)
    assert np.array_equal(run.value[answered], run.sample[answered])
    if answers == 1000 and name != "adversarial-probe":
        assert run.asked >= SMALL.questions - 2


@pytest.mark.parametrize("name", ANALYSTS)
def test_every_analyst_bears_answers_that_are_only_bits(name: str) -> None:
    run = ANALYSTS[name].run(Recorder(SMALL, 1000, bits=True), SMALL, np.random.default_rng(4))
    assert run.claimed == run.answered == 0
    assert run.covered
    assert run.worst == run.mean_error == 0.0


@pytest.mark.parametrize("name", ANALYSTS)
def test_the_smallest_plans_work(name: str) -> None:
    for questions in (2, 3, 4, 7):
        design = Design(n=3, questions=questions, failures=1)
        assert ANALYSTS[name].run(Naive(design), design, np.random.default_rng(5)).asked <= questions


def test_the_same_seed_gives_the_same_run() -> None:
    runs = [one_run(analyst("greedy").run, answerer("gaussian").make, SMALL, 9, 4) for _ in range(2)]
    assert np.array_equal(runs[0].value, runs[1].value)
    other = one_run(analyst("greedy").run, answerer("gaussian").make, SMALL, 9, 5)
    assert not np.array_equal(runs[0].value[:10], other.value[:10])


def test_an_honest_analyst_leaves_the_naive_answerer_alone() -> None:
    found = simulate(analyst("honest").run, answerer("naive").make, SMALL, runs=300)
    assert not exceeds(found.runs - found.covered, found.runs, 0.05)
    assert found.worst < 0.12


def _last(run: Run) -> dict[str, float]:
    return {"last": float(run.value[-1] - run.truth[-1])}


def test_the_attack_errs_by_its_formula() -> None:
    """0.1725 at n = 1000, d = 299: the mean over 200 runs within five standard errors and room for abstentions."""
    design = Design(n=1000, questions=300)
    found = simulate(analyst("adversarial").run, answerer("naive").make, design, runs=200, look=_last)
    room = 5 / (2 * math.sqrt(1000 * 200)) + 0.003
    assert abs(found.extra["last"] - expected_error(1000, 299)) < room
    assert found.covered == 0
    weighted = simulate(analyst("adversarial-weighted").run, answerer("naive").make, design, runs=50, look=_last)
    assert weighted.extra["last"] > found.extra["last"] + room


def test_the_formula_of_the_specification() -> None:
    """Confidence-and-composition 5.2: 0.0995 at n = 6400, k = 640; 0.494 at n = 2000, k = 20000."""
    assert expected_error(6400, 639) == pytest.approx(0.0995, abs=5e-5)
    assert expected_error(2000, 20_000) == pytest.approx(0.494, abs=5e-4)


def test_greedy_and_freedman_believe_what_is_not_there() -> None:
    design = Design(n=1000, questions=300)
    greedy = simulate(analyst("greedy").run, answerer("naive").make, design, runs=60)
    assert greedy.extra["believed"] > greedy.extra["true"] + 0.08
    assert greedy.extra["true"] > 0.51  # there is some signal, and some of it is found
    freedman = simulate(analyst("freedman").run, answerer("naive").make, design, runs=60)
    assert freedman.extra["believed"] > 0.54
    # Both sides beyond one standard error with the same sign: 2 (1 - Phi(1))^2.
    assert freedman.extra["kept"] == pytest.approx(0.0503, abs=0.02)


def test_bits_are_recovered_from_exact_answers_and_not_from_noisy_ones() -> None:
    design = Design(n=100, questions=250)
    exact = simulate(analyst("bit-recovery").run, answerer("naive").make, design, runs=5)
    assert exact.extra["recovered"] == 1.0
    assert exact.largest == 0.5
    for name in ("gaussian", "reusable-holdout", "filtered"):
        guarded = simulate(analyst("bit-recovery").run, answerer(name).make, design, runs=5)
        assert guarded.extra["recovered"] < 0.75
        assert guarded.covered == guarded.runs


# Certified methods, and impostors ---------------------------------------------------------------------------------

HOSTILE = ("greedy", "adversarial", "adversarial-quarter", "adversarial-feedback", "adversarial-probe", "freedman")
CERTIFIED = [name for name, entry in answerers().items() if entry.certified and name != "thresholdout-certified"]


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_answerers_cover_whoever_asks(name: str) -> None:
    # Planning Laplace noise takes a tenth of a second a run, so it meets fewer analysts.
    for hostile in HOSTILE[:2] if name == "laplace" else HOSTILE:
        found = simulate(analyst(hostile).run, answerer(name).make, SMALL, runs=5 if name == "laplace" else 12)
        assert found.claimed > 0
        assert found.used is not None
        assert (found.used <= 1) == (found.covered == found.runs)
        assert not exceeds(found.runs - found.covered, found.runs, 0.05), hostile


class FreeCorrections(Answerer):
    """Guess and check gone wrong: a failed guess shows the exact mean, and nobody pays for it."""

    needs_guess = True

    def __init__(self, design: Design, source: Source) -> None:
        self._naive = Naive(design)

    def ask(self, values: Values, guess: float) -> Reply | None:
        reply = self._naive.ask(values, guess)
        assert reply is not None
        assert reply.interval is not None
        half = (reply.interval[1] - reply.interval[0]) / 2
        if abs(reply.value - guess) <= half:
            return Reply(guess, (guess - 2 * half, guess + 2 * half), True)
        self.failures += 1
        return reply._replace(passed=False)

    @property
    def tolerance(self) -> float:
        return self._naive._half


class TooNarrow(Answerer):
    """A certified method whose intervals have lost most of their length."""

    def __init__(self, name: str, share: float, design: Design, source: Source) -> None:
        self._inner, self._share = answerer(name).make(design, source), share
        self.needs_guess, self.most_failures = self._inner.needs_guess, self._inner.most_failures

    def ask(self, values: Values, guess: float) -> Reply | None:
        reply = self._inner.ask(values, guess)
        self.failures = self._inner.failures
        if reply is None or reply.interval is None:
            return reply
        half = self._share * (reply.interval[1] - reply.interval[0]) / 2
        return reply._replace(interval=(reply.value - half, reply.value + half))

    @property
    def tolerance(self) -> float | None:
        return self._inner.tolerance


IMPOSTORS: dict[str, tuple[str, Callable[[Design, Source], Answerer]]] = {
    "naive, greedy": ("greedy", lambda design, source: Naive(design)),
    "naive, adversarial": ("adversarial", lambda design, source: Naive(design)),
    "corrections for nothing": ("adversarial-probe", FreeCorrections),
    "reusable holdout, a third of its width": ("greedy", partial(TooNarrow, "reusable-holdout", 0.33)),
    "Gaussian, a third of its width": ("adversarial", partial(TooNarrow, "gaussian", 0.33)),
    "splitting, half its width": ("adversarial", partial(TooNarrow, "splitting", 0.5)),
}


@pytest.mark.parametrize("case", IMPOSTORS)
def test_the_same_test_rejects_answerers_that_are_wrong_on_purpose(case: str) -> None:
    hostile, make = IMPOSTORS[case]
    found = simulate(analyst(hostile).run, make, Design(n=1000, questions=300), runs=RUNS)
    assert exceeds(found.runs - found.covered, found.runs, 0.05)


def test_an_interval_is_used_up_exactly_when_it_misses() -> None:
    truth, value = np.array([0.5, 0.5, 0.5, 0.5]), np.array([0.5, 0.6, 0.4, np.nan])
    low, high = np.array([0.5, 0.4, 0.3, np.nan]), np.array([0.6, 0.7, 0.8, np.nan])
    run = Run(truth, truth, value, low, high, 0, {})
    assert run.used == pytest.approx(0.5)
    assert run.covered
    missed = Run(truth, truth, value, np.array([0.5, 0.55, 0.3, np.nan]), high, 0, {})
    assert missed.used == pytest.approx(2.0)
    assert not missed.covered
    assert Run(truth[:1] + 0.1, truth[:1], value[:1], low[:1], value[:1], 0, {}).used == np.inf


# Monitors -----------------------------------------------------------------------------------------------------------


def _run(truth: list[float], sample: list[float], value: list[float]) -> Run:
    nothing = np.full(len(truth), np.nan)
    return Run(np.array(truth), np.array(sample), np.array(value), nothing, nothing, 0, {})


def test_the_monitor_picks_the_worst_answer_and_its_sign() -> None:
    run = _run([0.5, 0.5, 0.5], [0.52, 0.4, 0.9], [0.6, 0.3, np.nan])
    worst = monitor(run)
    assert (worst.question, worst.sign) == (1, 1)
    assert worst.gap == pytest.approx(0.2)
    assert worst.shift == pytest.approx(0.1)
    high = _run([0.5], [0.7], [0.8])
    both = extended_monitor([run, _run([0.5], [0.5], [np.nan]), high])
    assert (both.copy, both.question, both.sign) == (2, 0, -1)
    assert both.gap == pytest.approx(0.3)
    assert both.shift == pytest.approx(0.2)
    assert extended_monitor([]).gap == 0.0


class Noisy(Answerer):
    """The exact mean and Gaussian noise of a fixed scale, in floating point: quick, for the monitor's inequality."""

    def __init__(self, sigma: float, design: Design, source: Source) -> None:
        self._sigma, self._rng = sigma, np.random.default_rng(source.word())

    def ask(self, values: Values, guess: float) -> Reply | None:
        return self.ask_many(values[np.newaxis], [guess])[0]

    def ask_many(self, values: Values, guesses: Guesses) -> list[Reply | None]:
        noise = self._rng.normal(0, self._sigma, len(values)) if self._sigma else np.zeros(len(values))
        return [Reply(float(v)) for v in values.mean(axis=1) + noise]


def test_the_information_bound_on_the_monitors_shift_holds_and_exact_means_refute_it() -> None:
    """Russo and Zou: the worst question's sample is off by at most sqrt(F(B)/(4n)) in quadratic mean."""
    design = Design(n=50, questions=500)
    attack = analyst("adversarial-weighted").run
    bound = math.sqrt(second_moment_factor(information_nats(50, 500, 1.0)) / (4 * 50))
    noisy = monitored(attack, partial(Noisy, 1.0), design, copies=1, repetitions=400)
    assert noisy.shift_low <= noisy.shift <= bound
    exact = monitored(attack, partial(Noisy, 0.0), design, copies=1, repetitions=400)
    assert exact.shift_low > bound


def test_more_copies_find_a_worse_answer() -> None:
    attack = analyst("adversarial").run
    one, many = (
        monitored(attack, partial(Noisy, 0.05), SMALL, copies=copies, repetitions=20, seed=6) for copies in (1, 8)
    )
    assert many.gap > one.gap


# The simulation -----------------------------------------------------------------------------------------------------


def test_limits_are_those_of_the_binomial() -> None:
    """Clopper and Pearson: at the lower limit the count or more has probability 5%."""
    from scipy.stats import binom

    for count, trials in ((17, 20), (1, 50), (1990, 2000)):
        low, high = clopper_pearson(count, trials)
        assert binom.sf(count - 1, trials, low) == pytest.approx(0.05, rel=1e-6)
        assert binom.cdf(count, trials, high) == pytest.approx(0.05, rel=1e-6)
    assert clopper_pearson(0, 10)[0] == 0.0
    assert clopper_pearson(10, 10)[1] == 1.0


def test_several_processes_give_the_same_numbers() -> None:
    seen: list[float] = []
    given: dict[str, Any] = {"runs": 7, "seed": 3, "look": _last}
    one = simulate(analyst("adversarial").run, answerer("gaussian").make, SMALL, **given, progress=seen.append)
    two = simulate(analyst("adversarial").run, answerer("gaussian").make, SMALL, **given, workers=2)
    assert one == two
    assert seen == [(i + 1) / 7 for i in range(7)]


def test_a_leaderboard_is_held_to_the_best_so_far() -> None:
    class Board(Answerer):
        tells_best = True

        def ask(self, values: Values, guess: float) -> Reply | None:
            return Reply(0.5)

    interview = Interview(Board(), SMALL)
    for truth in (0.3, 0.6, 0.4):
        interview.ask(np.zeros(4, dtype=bool), 0.5, truth)
    assert interview.done().truth.tolist() == [0.3, 0.6, 0.6]
