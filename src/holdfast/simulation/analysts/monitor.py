"""Monitors: pick, in hindsight, the question whose answer was furthest from the truth.

A monitor is the device by which a proof about one mean becomes a proof about all of them: it runs the whole analysis
and hands out the single worst question, signed so that the answer is too low. What a bounded-information method leaks
bounds how far that one question can lie from its own sample. Here it is a test harness: it knows the truth, so it
measures both the gap of the answer and the shift of the sample, and a bound that is too small shows at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from holdfast.core import arguments
from holdfast.simulation.analysts.interview import Run
from holdfast.simulation.analysts.strategies import Analyse
from holdfast.simulation.answerers.base import Design
from holdfast.simulation.answerers.registry import Make
from holdfast.simulation.run import one_run


@dataclass(frozen=True)
class Worst:
    """The worst answer of one or several analyses.

    Attributes
    ----------
    copy, question : int
        In which analysis, and which of its questions; from 0.
    sign : int
        1 where the answer was too low, -1 where it was too high: the monitor's question is `sign * q`.
    gap : float
        `sign (q(D) - a)`, the error of the answer, at least 0.
    shift : float
        `sign (q(D) - q(X))` with X the sample of that analysis: what the theorems bound in expectation.
    """

    copy: int
    question: int
    sign: int
    gap: float
    shift: float


def monitor(run: Run) -> Worst:
    """Return the worst answer of one analysis (Rogers' thesis, Algorithm 1). Refused questions are passed over.

    Examples
    --------
    >>> from holdfast.simulation.analysts import analyst
    >>> from holdfast.simulation.answerers import Naive
    >>> design = Design(n=400, questions=100)
    >>> worst = monitor(analyst("adversarial").run(Naive(design), design, np.random.default_rng(1)))
    >>> worst.question, worst.sign, worst.gap == worst.shift
    (99, -1, True)
    """
    return extended_monitor([run])


def extended_monitor(runs: Iterable[Run]) -> Worst:
    """Return the worst answer of several independent analyses (Rogers' thesis, Algorithm 21).

    The sign is that of `q(D) - a`, so that the gap is never negative; the thesis prints the other one.
    """
    best = Worst(0, 0, 1, 0.0, 0.0)
    for copy, run in enumerate(runs):
        if not run.answered:
            continue
        question = int(np.nanargmax(run.errors))
        gap = float(run.truth[question] - run.value[question])
        if abs(gap) > best.gap:
            sign = 1 if gap >= 0 else -1
            shift = sign * float(run.truth[question] - run.sample[question])
            best = Worst(copy, question, sign, abs(gap), shift)
    return best


@dataclass(frozen=True)
class Monitored:
    """Mean gap and mean shift over `repetitions` uses of a monitor with `copies` analyses each.

    `shift_low` is below the expected shift except with probability `error` (Hoeffding; shifts lie in [-1, 1]). A bound
    on the expected shift that is smaller than `shift_low` is refuted.
    """

    copies: int
    repetitions: int
    gap: float
    shift: float
    error: float

    @property
    def shift_low(self) -> float:
        """A lower limit of the expected shift."""
        return self.shift - math.sqrt(-2 * math.log(self.error) / self.repetitions)


def monitored(
    analyse: Analyse,
    make: Make,
    design: Design,
    *,
    copies: int,
    repetitions: int,
    seed: int = 1,
    error: float = 1e-6,
) -> Monitored:
    """Use a monitor again and again, on fresh samples each time.

    Parameters
    ----------
    analyse, make, design
        Analyst, method and what was planned, as for `simulation.simulate`.
    copies : int
        Analyses that one monitor looks at; 1 is the plain monitor.
    repetitions : int
        How often the monitor is used.
    seed : int
        Seed of the simulation.
    error : float
        How often `shift_low` may be above the expected shift.

    Examples
    --------
    >>> from holdfast.simulation.analysts import analyst
    >>> from holdfast.simulation.answerers import answerer
    >>> found = monitored(
    ...     analyst("adversarial").run, answerer("naive").make, Design(n=100, questions=200), copies=2, repetitions=50
    ... )
    >>> found.gap > 0.3
    True
    """
    copies = arguments.whole("copies", copies, at_least=1, at_most=10**6)
    repetitions = arguments.whole("repetitions", repetitions, at_least=1, at_most=10**6)
    error = arguments.probability("error", error)
    gaps, shifts = [], []
    for repetition in range(repetitions):
        numbers = range(repetition * copies, (repetition + 1) * copies)
        worst = extended_monitor(one_run(analyse, make, design, seed, number) for number in numbers)
        gaps.append(worst.gap)
        shifts.append(worst.shift)
    return Monitored(copies, repetitions, float(np.mean(gaps)), float(np.mean(shifts)), error)
