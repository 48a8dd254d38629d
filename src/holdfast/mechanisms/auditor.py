"""A statistical auditor: how large epsilon must at least be, judging by the outputs alone.

It runs a mechanism many times on two neighbouring inputs, looks for an event that is likely on one and unlikely on the
other, and bounds the ratio of its two probabilities from below with exact binomial (Clopper-Pearson) limits. The runs
that choose the event are not the runs that test it, so the limits hold whatever the search did.

An audit can refute a privacy claim. It cannot confirm one: the pairs tried may be harmless, and an event rarer than
about `15 / runs` cannot be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betainccinv, betaincinv

from holdfast import check
from holdfast.accounting.costs import ApproxDP, PointwiseDP, PureDP
from holdfast.errors import InvalidParameter

Simulator = Callable[[Any, int], Any]
"""`simulate(input, runs)` returns `runs` independent outputs: an array of shape (runs,) or (runs, k), or a list."""

_SAFETY = 1e-12  # relative error allowed to the incomplete beta function, taken off in the safe direction
_CANDIDATES = 256
_SHOWN = 3


@dataclass(frozen=True)
class Audit:
    """What an audit found: `epsilon >= lower_bound` except with probability `1 - confidence`.

    Attributes
    ----------
    lower_bound : float
        The empirical lower bound on epsilon, at least 0.
    claimed, delta : float
        The claim that was tested.
    confidence : float
        Holds for all pairs and events of this audit together.
    verdict : str
        "violated" if the lower bound exceeds the claim, "not refuted" otherwise.
    pair, direction : int, str
        Where the bound was found: the pair's index and which of its inputs makes the event likely.
    counts : tuple of int
        How often the event happened in the test runs: on the likely input, on the other.
    runs, tests : int
        Test runs on each input of each pair, and the number of tests that the confidence is shared among.
    event : tuple of str
        The commonest outcomes in the event, in words.
    """

    lower_bound: float
    claimed: float
    delta: float
    confidence: float
    verdict: Literal["violated", "not refuted"]
    pair: int
    direction: Literal["first", "second"]
    counts: tuple[int, int]
    runs: int
    tests: int
    event: tuple[str, ...]

    @property
    def caught(self) -> bool:
        """Whether the claim is refuted."""
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"{self.verdict}: epsilon >= {self.lower_bound:.4g} against a claim of {self.claimed:.4g}"
            f"{f' at delta {self.delta:g}' if self.delta else ''}, confidence 1 - {1 - self.confidence:.2g}; the event "
            f"happened {self.counts[0]} and {self.counts[1]} times in {self.runs} runs"
        )


def audit(
    simulate: Simulator,
    pairs: Sequence[tuple[Any, Any]],
    claimed: float | PureDP | ApproxDP | PointwiseDP,
    *,
    runs: int = 100_000,
    delta: float = 0.0,
    confidence: float = 1 - 1e-6,
    events: int = 1,
    bins: int = 32,
) -> Audit:
    """Look for evidence that a mechanism spends more than it claims.

    Half of the runs choose the event: a quarter orders the outcomes by their estimated likelihood ratio, the next
    quarter picks among the sets "the most telling outcomes" in both directions. The other half tests. If `p` is the
    event's probability on the likely input and `q` on the other, then `epsilon >= log((p - delta) / q)`. With
    Clopper-Pearson limits `p_low` and `q_high`, each at level `(1 - confidence) / (2 tests)`, the reported bound holds
    except with probability `1 - confidence`. `tests` is the number of pairs times `events` (Bonferroni).

    Parameters
    ----------
    simulate : callable
        `simulate(input, runs)` returns `runs` independent outputs: an array `(runs,)` or `(runs, k)`, a row being a
        transcript, or a list of hashable outcomes such as tuples. NaN and infinities count as outcomes of their own.
    pairs : sequence of pairs
        Neighbouring inputs. Choose the ones that should hurt; every pair costs a share of the confidence.
    claimed : float or cost
        The epsilon to refute; a cost brings its delta along.
    runs : int
        Runs on each input of each pair, at least 1000.
    delta : float
        The claim's delta, in [0, 1).
    confidence : float
        Of the reported bound, over the auditor's own runs.
    events : int
        How many events to test for each pair.
    bins : int
        A column with more values than this is cut at its quantiles.

    Returns
    -------
    Audit
        The largest lower bound found and where.

    Notes
    -----
    Time: the simulation, plus a sort of the `runs` rows for each column.

    Examples
    --------
    A "Laplace mechanism" with half the noise that it needs:

    >>> import numpy as np
    >>> rng = np.random.default_rng(7)
    >>> broken = lambda value, runs: value + rng.laplace(scale=0.5, size=runs)
    >>> result = audit(broken, [(0.0, 1.0)], claimed=1.0)
    >>> result.verdict, 1.5 < result.lower_bound <= 2
    ('violated', True)
    >>> audit(lambda value, runs: value + rng.laplace(scale=1.0, size=runs), [(0.0, 1.0)], claimed=1.0).caught
    False
    """
    if isinstance(claimed, (PureDP, ApproxDP, PointwiseDP)):
        delta = max(delta, getattr(claimed, "delta", 0.0))
        claimed = claimed.epsilon
    claimed = check.real("claimed", claimed, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    confidence = check.probability("confidence", confidence)
    runs = check.whole("runs", runs, at_least=1000)
    events = check.whole("events", events, at_least=1)
    bins = check.whole("bins", bins, at_least=2)
    if len(pairs) == 0:
        raise InvalidParameter("pairs must hold at least one pair of neighbouring inputs, got none")

    tests = len(pairs) * events
    level = (1 - confidence) / (2 * tests)
    best: tuple[float, int, Literal["first", "second"], tuple[int, int], tuple[str, ...]] | None = None
    for index, (first, second) in enumerate(pairs):
        outcomes = _Outcomes(simulate(first, runs), simulate(second, runs), runs, bins)
        for direction, likely, other, chosen in _choose_events(outcomes, delta, level, events):
            inside = int(likely.test[chosen].sum()), int(other.test[chosen].sum())
            bound = float(_log_ratio(np.array([inside[0]]), np.array([inside[1]]), outcomes.tested, delta, level)[0])
            if best is None or bound > best[0]:
                best = (bound, index, direction, inside, outcomes.describe(chosen, likely))
    assert best is not None
    bound, pair, direction, counts, shown = best
    bound = max(bound, 0.0)
    return Audit(
        lower_bound=bound,
        claimed=claimed,
        delta=delta,
        confidence=confidence,
        verdict="violated" if bound > claimed else "not refuted",
        pair=pair,
        direction=direction,
        counts=counts,
        runs=runs - runs // 2,
        tests=tests,
        event=shown,
    )


def clopper_pearson(
    successes: npt.ArrayLike, trials: int, level: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Exact binomial limits: each of the two fails with probability at most `level`.

    Clopper and Pearson 1934: the lower limit `l` solves `P(Bin(trials, l) >= successes) = level`, the upper one the
    mirror image. Quantiles of beta laws give both; they are moved outwards by a relative 1e-12.

    Parameters
    ----------
    successes : array-like of int
        Successes, from 0 to `trials`.
    trials : int
        Number of independent trials.
    level : float
        Error probability of each limit on its own, in (0, 1).

    Examples
    --------
    >>> low, high = clopper_pearson([0, 50], 100, 0.025)
    >>> [round(float(x), 6) for x in (*low, *high)]
    [0.0, 0.398321, 0.036217, 0.601679]
    """
    trials = check.whole("trials", trials, at_least=1)
    level = check.probability("level", level)
    k = np.asarray(successes, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - np.maximum(k, 1) + 1, level), 0.0)
    high = np.where(k < trials, betainccinv(k + 1, np.maximum(trials - k, 1), level), 1.0)
    return low * (1 - _SAFETY), np.minimum(high * (1 + _SAFETY), 1.0)


@dataclass(frozen=True)
class _Side:
    """How often each outcome happened on one input, in the runs that order, choose and test."""

    order: npt.NDArray[np.int64]
    choose: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


class _Outcomes:
    """The runs on both inputs of a pair, as counts of numbered outcomes."""

    def __init__(self, first: Any, second: Any, runs: int, bins: int) -> None:
        quarter, half = runs // 4, runs // 2
        self.chosen, self.tested = half - quarter, runs - half
        self._example: Callable[[int], str]
        tables = [_table("first", first, runs), _table("second", second, runs)]
        if isinstance(tables[0], list) or isinstance(tables[1], list):
            rows = [*_rows(tables[0]), *_rows(tables[1])]
            numbers: dict[Any, int] = {}
            ids = np.array([numbers.setdefault(row, len(numbers)) for row in rows])
            self._example = lambda i: repr(next(row for row, number in numbers.items() if number == i))
        else:
            table = np.concatenate(tables)
            reference = np.concatenate([tables[0][:quarter], tables[1][:quarter]])
            ids = _row_numbers(table, reference, bins)
            self._example = lambda i: repr(tuple(table[int(np.argmax(ids == i))].tolist()))
        size = int(ids.max()) + 1

        def count(start: int, stop: int) -> npt.NDArray[np.int64]:
            return np.bincount(ids[start:stop], minlength=size)

        self.sides = [
            _Side(count(s, s + quarter), count(s + quarter, s + half), count(s + half, s + runs)) for s in (0, runs)
        ]

    def describe(self, chosen: npt.NDArray[np.int64], likely: _Side) -> tuple[str, ...]:
        """The commonest outcomes of an event."""
        common = chosen[np.argsort(-likely.test[chosen], kind="stable")][:_SHOWN]
        return tuple(self._example(int(i)) for i in common)


def _choose_events(
    outcomes: _Outcomes, delta: float, level: float, events: int
) -> list[tuple[Literal["first", "second"], _Side, _Side, npt.NDArray[np.int64]]]:
    """The most promising events of both directions, judged on the second quarter of the runs."""
    scored = []
    sides = outcomes.sides
    directions: tuple[Literal["first", "second"], ...] = ("first", "second")
    for direction, likely, other in zip(directions, sides, reversed(sides), strict=True):
        ratio = (likely.order + 0.5) / (other.order + 0.5)
        ranked = np.lexsort((-likely.order, -ratio))
        ranked = ranked[(likely.order + other.order)[ranked] > 0]
        inside, outside = np.cumsum(likely.choose[ranked]), np.cumsum(other.choose[ranked])
        ends = np.unique(np.round(np.geomspace(1, len(ranked), _CANDIDATES)).astype(np.int64)) - 1
        scores = _log_ratio(inside[ends], outside[ends], outcomes.chosen, delta, level)
        for end, score in zip(ends.tolist(), scores.tolist(), strict=True):
            scored.append((score, direction, likely, other, ranked[: end + 1]))
    scored.sort(key=lambda entry: -entry[0])
    return [entry[1:] for entry in scored[:events]]


def _log_ratio(
    inside: npt.NDArray[np.int64], outside: npt.NDArray[np.int64], trials: int, delta: float, level: float
) -> npt.NDArray[np.float64]:
    """`log((p_low - delta) / q_high)`, minus infinity where `p_low <= delta`."""
    low = clopper_pearson(inside, trials, level)[0] - delta
    high = clopper_pearson(outside, trials, level)[1]
    found = low > 0
    return np.where(found, np.log(np.where(found, low, 1.0) / high), -math.inf)


def _table(name: str, outputs: Any, runs: int) -> Any:
    """Outputs as a two-dimensional array of numbers, or as a list when they are not numbers."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf" and outputs.ndim in (1, 2):
        table: Any = outputs.reshape(len(outputs), -1)
    elif isinstance(outputs, (np.ndarray, list, tuple)):
        table = [tuple(row) if isinstance(row, (np.ndarray, list)) else row for row in outputs]
    else:
        raise InvalidParameter(f"simulate must return an array or a list, got a {type(outputs).__name__}")
    if len(table) != runs:
        raise InvalidParameter(f"simulate must return {runs} outputs on the {name} input, got {len(table)}")
    return table


def _rows(table: Any) -> list[Any]:
    return table if isinstance(table, list) else [tuple(row) for row in table.tolist()]


def _row_numbers(table: npt.NDArray[Any], reference: npt.NDArray[Any], bins: int) -> npt.NDArray[np.int64]:
    """Number the distinct rows of a table whose columns are cut into at most `bins + 3` values."""
    numbers = np.zeros(len(table), dtype=np.int64)
    size = 1
    for j in range(table.shape[1]):
        codes, width = _column_codes(table[:, j], reference[:, j], bins)
        if size * width >= 2**22:  # keep the numbers dense before they grow
            numbers = np.unique(numbers, return_inverse=True)[1]
            size = int(numbers.max()) + 1
        numbers = numbers * width + codes
        size *= width
    return np.unique(numbers, return_inverse=True)[1]


def _column_codes(
    column: npt.NDArray[Any], reference: npt.NDArray[Any], bins: int
) -> tuple[npt.NDArray[np.int64], int]:
    column = column.astype(np.float64)
    finite = reference.astype(np.float64)
    finite = finite[np.isfinite(finite)]
    edges = np.unique(finite)
    if len(edges) > bins:
        edges = np.unique(np.quantile(finite, np.linspace(0, 1, bins + 1)[1:-1]))
    codes = np.searchsorted(edges, column, side="right").astype(np.int64)
    top = len(edges)
    codes[np.isnan(column)] = top + 1
    codes[np.isposinf(column)] = top + 2
    codes[np.isneginf(column)] = top + 3
    return codes, top + 4


__all__ = ["Audit", "Simulator", "audit", "clopper_pearson"]
