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
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import ApproxDP, PointwiseDP, PureDP
from holdfast.bounds.one_question.means import binomial_limits
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.inputs import plain_array

Simulator = Callable[[Any, int], Any]
"""`simulate(input, runs)` returns `runs` independent outputs: an array of shape (runs,) or (runs, k), or a list."""

Statistic = Callable[[Any], npt.ArrayLike]
"""A number for each run, read off the outputs of `simulate`; it should be large on one input and small on the other."""

_CANDIDATES = 256
_SHOWN = 3


@dataclass(frozen=True)
class Audit:
    """The result of an audit: the privacy loss epsilon is at least `lower_bound`, with probability `confidence`.

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

    Examples
    --------
    >>> rng = np.random.default_rng(7)
    >>> found = audit(lambda value, runs: value + rng.laplace(scale=0.5, size=runs), [(0.0, 1.0)], claimed=1.0)
    >>> found.verdict, found.caught, found.lower_bound > found.claimed
    ('violated', True, True)
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
        """Whether the audit refutes the claimed privacy cost."""
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
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
    statistics: Sequence[Statistic] = (),
) -> Audit:
    """Look for evidence that a mechanism spends more privacy than it claims.

    The mechanism is run many times on pairs of neighbouring inputs. Half of the runs choose an event that tells the two
    inputs apart, and the other half test it. If the event has probability `p` on the likely input and `q` on the other,
    then `epsilon >= log((p - delta) / q)`. The reported lower bound uses Clopper-Pearson limits of `p` and `q`. It
    holds with probability `confidence`.

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
    statistics : sequence of callables
        Further scores: `statistic(outputs)` gives one number per run.

    Returns
    -------
    Audit
        The largest lower bound found and where.

    Notes
    -----
    Half of the runs choose the event. A quarter makes scores: the estimated log-likelihood ratio of the whole
    output, the sum of those of its columns, and the given statistics. The next quarter picks a score, a direction
    and a cut. The other half tests. With Clopper-Pearson limits `p_low` and `q_high`, each at level `(1 -
    confidence) / (2 tests)`, the reported bound holds except with probability `1 - confidence`. `tests` is the
    number of pairs times `events` (Bonferroni).

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
    claimed = arguments.real("claimed", claimed, at_least=0)
    delta = arguments.probability("delta", delta, zero=True)
    confidence = arguments.probability("confidence", confidence)
    runs = arguments.whole("runs", runs, at_least=1000)
    events = arguments.whole("events", events, at_least=1)
    bins = arguments.whole("bins", bins, at_least=2)
    if not isinstance(pairs, Sequence) or len(pairs) == 0 or any(not _is_pair(pair) for pair in pairs):
        raise InvalidParameter("pairs must be a list of at least one pair of neighbouring inputs")

    tests = len(pairs) * events
    level = (1 - confidence) / (2 * tests)
    best: Audit | None = None
    for index, (first, second) in enumerate(pairs):
        evidence = _Evidence(simulate(first, runs), simulate(second, runs), runs, bins, tuple(statistics))
        for event in evidence.choose(delta, level, events):
            counts = evidence.count(event, *evidence.test)
            bound = max(float(_log_ratio(counts[0], counts[1], evidence.tested, delta, level)), 0.0)
            if best is None or bound > best.lower_bound:
                best = Audit(
                    lower_bound=bound,
                    claimed=claimed,
                    delta=delta,
                    confidence=confidence,
                    verdict="violated" if bound > claimed else "not refuted",
                    pair=index,
                    direction="first" if event.sign > 0 else "second",
                    counts=counts,
                    runs=evidence.tested,
                    tests=tests,
                    event=evidence.describe(event),
                )
    assert best is not None
    return best


def clopper_pearson(
    successes: npt.ArrayLike, trials: int, level: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return exact binomial limits of a probability. Each of the two limits is wrong with probability at most
    `level`.

    The lower limit `l` solves `P(Bin(trials, l) >= successes) = level`. The upper limit `u` solves `P(Bin(trials, u) <=
    successes) = level`.

    Parameters
    ----------
    successes : array-like of int
        Successes, from 0 to `trials`.
    trials : int
        Number of independent trials.
    level : float
        Error probability of each limit on its own, in (0, 1).

    Notes
    -----
    Clopper and Pearson 1934. Quantiles of beta distributions give both; they are moved outwards by a relative
    1e-12.

    Examples
    --------
    >>> low, high = clopper_pearson([0, 50], 100, 0.025)
    >>> [round(float(x), 6) for x in (*low, *high)]
    [0.0, 0.398321, 0.036217, 0.601679]
    """
    trials = arguments.whole("trials", trials, at_least=1)
    level = arguments.probability("level", level)
    counts = plain_array("successes", successes, "iuf", f"whole numbers from 0 to {trials}")
    if counts.size and not (counts.min() >= 0 and counts.max() <= trials and (counts == np.floor(counts)).all()):
        raise InvalidParameter(f"successes must be whole numbers from 0 to {trials}")
    return binomial_limits(counts.astype(np.float64), trials, level)


class _Event(NamedTuple):
    """The runs whose score, times `sign`, is at least `cut`; `sign` is 1 if that is likelier on the first input."""

    score: npt.NDArray[np.float64]
    sign: int
    cut: float


class _Evidence:
    """The runs on both inputs of a pair, and scores that tell the inputs apart.

    The first `runs` rows are of the first input, the rest of the second. The first quarter of each makes the scores,
    the second quarter chooses the cut, the second half tests.
    """

    def __init__(self, first: Any, second: Any, runs: int, bins: int, statistics: tuple[Statistic, ...]) -> None:
        quarter, half = runs // 4, runs // 2
        self.runs, self.tested = runs, runs - half
        self.order, self.pick, self.test = (0, quarter), (quarter, half), (half, runs)
        tables = [_table("first", first, runs), _table("second", second, runs)]
        columns: list[npt.NDArray[np.int64]] = []
        if isinstance(tables[0], list) or isinstance(tables[1], list):
            self.rows: Any = [*_rows(tables[0]), *_rows(tables[1])]
            numbers: dict[Any, int] = {}
            try:
                self.ids = np.array([numbers.setdefault(row, len(numbers)) for row in self.rows])
            except TypeError:
                raise InvalidParameter("simulate must return numbers or hashable outcomes such as tuples") from None
        else:
            self.rows = np.concatenate(tables)
            known = np.concatenate([table[:quarter] for table in tables])
            columns = [_codes(self.rows[:, j], known[:, j], bins) for j in range(self.rows.shape[1])]
            self.ids = _joined(columns)
        self.scores = [self._likelihood_ratio(self.ids)]
        if len(columns) > 1:  # long transcripts repeat too rarely to be counted whole: add up the columns' evidence
            self.scores.append(np.sum([self._likelihood_ratio(codes) for codes in columns], axis=0))
        for statistic in statistics:
            self.scores.append(np.concatenate([_statistic(statistic, outputs, runs) for outputs in (first, second)]))

    def _likelihood_ratio(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        start, stop = self.order
        size = int(codes.max()) + 1
        first = np.bincount(codes[start:stop], minlength=size)
        second = np.bincount(codes[self.runs + start : self.runs + stop], minlength=size)
        return np.asarray(np.log((first + 0.5) / (second + 0.5)))[codes]

    def choose(self, delta: float, level: float, events: int) -> list[_Event]:
        """Return the most promising events in both directions, judged on the second quarter."""
        start, stop = self.pick
        scored: list[tuple[float, _Event]] = []
        for score in self.scores:
            for sign in (1, -1):
                first, second = (np.sort(sign * score[s + start : s + stop]) for s in (0, self.runs))
                cuts = np.unique(np.concatenate([first, second]))
                if len(cuts) > _CANDIDATES:  # finer towards the end where the evidence is strongest
                    cuts = cuts[-np.unique(np.geomspace(1, len(cuts), _CANDIDATES).astype(np.int64))]
                inside = [len(side) - np.searchsorted(side, cuts, side="left") for side in (first, second)]
                likely, other = inside[::sign]
                worth = _log_ratio(likely, other, stop - start, delta, level)
                scored += [(w, _Event(score, sign, cut)) for w, cut in zip(worth.tolist(), cuts.tolist(), strict=True)]
        scored.sort(key=lambda entry: -entry[0])
        return [event for _, event in scored[:events]]

    def count(self, event: _Event, start: int, stop: int) -> tuple[int, int]:
        """Return how often the event happened on the input that makes it likely, and on the other."""
        inside = [int((event.sign * event.score[s + start : s + stop] >= event.cut).sum()) for s in (0, self.runs)]
        return (inside[0], inside[1]) if event.sign > 0 else (inside[1], inside[0])

    def describe(self, event: _Event) -> tuple[str, ...]:
        """Return the commonest outcomes of an event."""
        start, stop = self.test
        shift = 0 if event.sign > 0 else self.runs
        at = shift + start + np.flatnonzero(event.sign * event.score[shift + start : shift + stop] >= event.cut)
        _, where, counts = np.unique(self.ids[at], return_index=True, return_counts=True)
        common = np.argsort(-counts, kind="stable")[:_SHOWN]
        rows = [self.rows[int(at[where[i]])] for i in common]
        return tuple(repr(tuple(row.tolist()) if isinstance(row, np.ndarray) else row) for row in rows)


def _log_ratio(
    inside: npt.ArrayLike, outside: npt.ArrayLike, trials: int, delta: float, level: float
) -> npt.NDArray[np.float64]:
    """`log((p_low - delta) / q_high)`, minus infinity where `p_low <= delta`."""
    low = clopper_pearson(inside, trials, level)[0] - delta
    high = clopper_pearson(outside, trials, level)[1]
    positive = low > 0
    return np.where(positive, np.log(np.where(positive, low, 1.0) / high), -math.inf)


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


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (tuple, list)) and len(pair) == 2


def _rows(table: Any) -> list[Any]:
    return table if isinstance(table, list) else [tuple(row) for row in table.tolist()]


def _statistic(statistic: Statistic, outputs: Any, runs: int) -> npt.NDArray[np.float64]:
    values = np.asarray(statistic(outputs), dtype=np.float64)
    if values.shape != (runs,) or np.isnan(values).any():
        raise InvalidParameter(f"a statistic must give one number for each of the {runs} runs")
    return values


def _joined(columns: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Number the distinct rows."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for codes in columns:
        width = int(codes.max()) + 1
        if size * width >= 2**62:  # make the numbers dense before they overflow
            numbers = np.unique(numbers, return_inverse=True)[1]
            size = int(numbers.max()) + 1
        numbers, size = numbers * width + codes, size * width
    return np.unique(numbers, return_inverse=True)[1]


def _codes(column: npt.NDArray[Any], known: npt.NDArray[Any], bins: int) -> npt.NDArray[np.int64]:
    """Cut a column into at most `bins` parts, and one each for NaN and the infinities."""
    column, known = column.astype(np.float64), known.astype(np.float64)
    known = known[np.isfinite(known)]
    edges = np.unique(known)
    if len(edges) > bins:
        edges = np.unique(np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1]))
    codes = np.searchsorted(edges, column, side="right").astype(np.int64)
    specials = (np.isnan(column), np.isposinf(column), np.isneginf(column))
    for extra, special in enumerate(specials, start=len(edges) + 1):
        codes[special] = extra
    return codes
