"""Sparse-vector mechanisms right and wrong, on whole steps, as one parametrised family.

Every published variant is a choice of: noise on the threshold, noise on the questions, when the threshold is drawn
anew, how many answers above are given, and with what noise a value is released. So one simulator and one exact
distribution serve the correct forms and the broken ones, and the broken ones differ from the correct ones in what is
wrong.

The sensitivity is `STEP` whole steps. Transcripts hold 1 for above, 0 for below, -1 for not answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast import noise

STEP = 4
Scale = Fraction | int


@dataclass(frozen=True)
class Sparse:
    """A member of the family. A scale of 0 means no noise; `release="same"` shows the value that was compared."""

    threshold_scale: Scale
    question_scale: Scale
    cap: int | None
    refresh: Literal["never", "above", "always"] = "never"
    release: Scale | Literal["same"] | None = None

    def simulate(self, values: npt.ArrayLike, runs: int, source: Any) -> npt.NDArray[Any]:
        """Transcripts of independent runs with the threshold at 0; released values where there are any."""
        questions = np.asarray(values, dtype=np.int64)
        above = np.full((runs, len(questions)), -1, dtype=np.int8)
        shown = np.full((runs, len(questions)), np.nan) if self.release is not None else None
        threshold = laplace(self.threshold_scale, runs, source)
        left = np.full(runs, np.iinfo(np.int64).max if self.cap is None else self.cap)
        for i, value in enumerate(questions):
            live = left > 0
            noisy = value + laplace(self.question_scale, runs, source)
            over = noisy > threshold
            above[live, i] = over[live]
            hit = over & live
            left -= hit
            if shown is not None:
                if self.release != "same":
                    noisy = value + laplace(self.release, runs, source)  # type: ignore[arg-type]
                shown[hit, i] = noisy[hit]
                shown[~live, i] = np.inf
            if self.refresh != "never":
                again = hit if self.refresh == "above" else np.ones(runs, dtype=bool)
                threshold[again] = laplace(self.threshold_scale, int(again.sum()), source)
        return above if shown is None else shown

    def law(self, values: npt.ArrayLike) -> dict[tuple[int, ...], float]:
        """The probability of every transcript, exact up to rounding: a sum over the noisy threshold."""
        assert self.release is None
        reach = math.ceil(80 * max(self.threshold_scale, 1))
        steps = np.arange(-reach, reach + 1)
        prior = pmf(self.threshold_scale, steps)
        nodes: dict[tuple[int, ...], npt.NDArray[np.float64]] = {(): prior}
        for value in np.asarray(values, dtype=np.int64):
            chances = {1: above(self.question_scale, steps - value), 0: below(self.question_scale, steps - value)}
            grown: dict[tuple[int, ...], npt.NDArray[np.float64]] = {}
            for transcript, weight in nodes.items():
                if self.cap is not None and transcript.count(1) >= self.cap:
                    grown[(*transcript, -1)] = weight
                    continue
                for answer, chance in chances.items():
                    new = weight * chance
                    if self.refresh == "always" or (self.refresh == "above" and answer == 1):
                        new = new.sum() * prior
                    grown[(*transcript, answer)] = new
            nodes = grown
        return {transcript: float(weight.sum()) for transcript, weight in nodes.items()}


def max_log_ratio(first: dict[Any, float], second: dict[Any, float]) -> float:
    """The epsilon between two exact distributions, in both directions."""
    worst = 0.0
    for outcome in first.keys() | second.keys():
        p, q = first.get(outcome, 0.0), second.get(outcome, 0.0)
        if p > 0 or q > 0:
            worst = max(worst, abs(math.log(p / q)) if p > 0 and q > 0 else math.inf)
    return worst


def pmf(scale: Scale, k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`P(X = k)` of discrete Laplace noise, proportional to `exp(-|k|/scale)`."""
    if scale == 0:
        return (k == 0).astype(float)
    return math.tanh(0.5 / float(scale)) * np.exp(-np.abs(k) / float(scale))


def above(scale: Scale, k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`P(X > k)`."""
    return below(scale, -k - 1)


def below(scale: Scale, k: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`P(X <= k)`."""
    if scale == 0:
        return (k >= 0).astype(float)
    ratio = math.exp(-1 / float(scale))
    tail = np.exp(-np.where(k < 0, -k, k + 1) / float(scale)) / (1 + ratio)
    return np.where(k < 0, tail, 1 - tail)


def laplace(scale: Scale, size: int, source: Any) -> npt.NDArray[np.int64]:
    """Noise on whole steps; none at scale 0."""
    if scale == 0:
        return np.zeros(size, dtype=np.int64)
    return np.asarray(noise.discrete_laplace(Fraction(scale), size, source=source), dtype=np.int64)


@dataclass(frozen=True)
class Specimen:
    """A broken mechanism, what it claims, neighbours on which it breaks, and what is wrong with it."""

    name: str
    claimed: float
    simulate: Callable[[Any, int, Any], Any]
    pair: tuple[Any, Any]
    wrong: str
    runs: int = 200_000
    member: Sparse | None = None


def _sparse(
    name: str, claimed: float, member: Sparse, first: list[int], second: list[int], wrong: str, runs: int = 200_000
) -> Specimen:
    """A broken sparse-vector variant; the neighbours' questions are given in units of the sensitivity."""
    pair = ([STEP * v for v in first], [STEP * v for v in second])
    assert max(abs(a - b) for a, b in zip(*pair, strict=True)) <= STEP
    return Specimen(name, claimed, member.simulate, pair, wrong, runs, member)


SPARSE_ZOO = [
    # Lyu-Su-Li 2017, Algorithms 3 to 6, at claimed epsilon 1
    _sparse(
        "roth-notes", 1, Sparse(2 * STEP, 2 * STEP, 1, release="same"), [0] * 8 + [1], [1] * 8 + [0],
        "releases the value that was compared, with the same noise", runs=400_000,
    ),
    _sparse(
        "lee-clifton", 1, Sparse(4 * STEP, Fraction(4 * STEP, 3), 4), [0] * 8, [-1] * 4 + [1] * 4,
        "question noise is not scaled with the cap",
    ),
    _sparse("stoddard", 1, Sparse(2 * STEP, 0, None), [0, 1], [1, 0], "no noise on the questions, no cap"),
    _sparse("chen", 1, Sparse(2 * STEP, 2 * STEP, None), [0] * 12, [1] * 6 + [-1] * 6, "no cap on answers above"),
    # further ways to get it wrong
    _sparse(
        "no-threshold-noise", 2, Sparse(0, 2 * STEP, 1), [0] * 10 + [1], [-1] * 10 + [2],
        "the threshold is exact, so that every answer below leaks", runs=400_000,
    ),
    _sparse(
        "threshold-drawn-anew-each-time", 2, Sparse(STEP, 2 * STEP, 1, "always"), [0] * 12 + [1], [-1] * 12 + [2],
        "a fresh threshold for every question, so that every answer below leaks", runs=400_000,
    ),
    _sparse(
        "refresh-without-paying", 1, Sparse(2 * STEP, 4 * STEP, 10, "above"), [-1, 0] * 10, [0, -1] * 10,
        "each epoch costs epsilon, and ten of them are claimed to cost epsilon together", runs=400_000,
    ),
    _sparse(
        "single-threshold-without-the-cap", 1, Sparse(2 * STEP, 4 * STEP, 10), [0, 1] * 10, [1, 0] * 10,
        "noise of AboveThreshold, but ten answers above",
    ),
    _sparse(
        "monotone-noise-for-other-questions", 1, Sparse(4 * STEP, Fraction(4 * STEP, 3), 1), [0] * 4, [1] * 3 + [-1],
        "half the question noise, which only monotone questions allow",
    ),
    _sparse(
        "values-without-the-cap", 1, Sparse(18 * STEP, 36 * STEP, 4, "above", release=Fraction(9 * STEP, 4)),
        [9 * 36] * 4, [9 * 36 + 1] * 4,
        "NumericSparse whose values have noise for one release and are released four times",
    ),
]  # fmt: skip


def _experimental_thresholdout(gaps: Any, runs: int, source: Any) -> npt.NDArray[np.int8]:
    """The experiment's Thresholdout: Gaussian noise of one size, no persistent noise, no budget; claims Lemma 23."""
    sigma = 2 * STEP
    threshold = 4 * sigma
    return np.stack(
        [gap > threshold + noise.discrete_gaussian(sigma, runs, source=source) for gap in gaps], axis=1
    ).astype(np.int8)


def _laplace_of_half_scale(value: int, runs: int, source: Any) -> npt.NDArray[np.int64]:
    return value + laplace(Fraction(STEP, 2), runs, source)


def _gaussian_called_pure(value: int, runs: int, source: Any) -> npt.NDArray[np.int64]:
    return value + np.asarray(noise.discrete_gaussian(Fraction(3 * STEP, 2), runs, source=source))


def _largest(scores: Any, scale: Scale, runs: int, source: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    noisy = np.stack([score + laplace(scale, runs, source) for score in scores], axis=1)
    return noisy.argmax(axis=1), noisy.max(axis=1)


def _noisy_max_with_its_value(scores: Any, runs: int, source: Any) -> npt.NDArray[np.int64]:
    return np.stack(_largest(scores, 2 * STEP, runs, source), axis=1)


def _noisy_max_of_half_scale(scores: Any, runs: int, source: Any) -> npt.NDArray[np.int64]:
    return _largest(scores, STEP, runs, source)[0]


def _exponential_without_the_two(scores: Any, runs: int, source: Any) -> npt.NDArray[np.int64]:
    return np.asarray(noise.exponential_choice(scores, Fraction(1, STEP), runs, source=source))


def _response_that_forgets_the_categories(value: int, runs: int, source: Any) -> npt.NDArray[np.int64]:
    """Tells the truth with the probability that two categories would allow, among four."""
    lies = noise.bernoulli_logistic(1, runs, source=source)
    return np.where(lies, (value + 1 + noise.uniform_below(3, runs, source=source)) % 4, value)


def _bits_at_full_epsilon(value: int, runs: int, source: Any) -> npt.NDArray[np.uint8]:
    rows = np.zeros((runs, 3), dtype=np.int64)
    rows[:, value] = 1
    return noise.flip_bits(rows, 2, source=source)


OTHER_ZOO = [
    Specimen("experimental-thresholdout", 1, _experimental_thresholdout, ([8 * STEP] * 8, [7 * STEP] * 8),
             "no persistent threshold noise, no budget, Gaussian noise"),
    Specimen("laplace-of-half-scale", 1, _laplace_of_half_scale, (0, STEP), "scale wrong by a factor of two"),
    Specimen("gaussian-called-pure", 1, _gaussian_called_pure, (0, STEP), "Gaussian noise has no pure epsilon"),
    Specimen("noisy-max-with-its-value", 1, _noisy_max_with_its_value, ([0] * 20, [STEP] * 20),
             "releases the largest noisy score, with the same noise"),
    Specimen("noisy-max-of-half-scale", 1, _noisy_max_of_half_scale, ([-2 * STEP, STEP], [-STEP, 0]),
             "half the noise, which only monotone scores allow"),
    Specimen("exponential-without-the-two", 1, _exponential_without_the_two, ([-2 * STEP, STEP], [-STEP, 0]),
             "epsilon/D instead of epsilon/(2D), which only monotone scores allow"),
    Specimen("response-that-forgets-the-categories", 1, _response_that_forgets_the_categories, (0, 1),
             "the truth of two categories among four"),
    Specimen("bits-at-full-epsilon", 1, _bits_at_full_epsilon, (0, 1), "each of two differing bits spends epsilon"),
]  # fmt: skip

ZOO = SPARSE_ZOO + OTHER_ZOO
