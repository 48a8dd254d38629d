"""The kind `quantile`: the median or another quantile of a bounded number, by counts of rows below thresholds.

With a guess it is answered without noise; without one it is private. Both intervals come from the order statistics.

The quantile `t` of level `q` is the least number with `P(X <= t) >= q`. Let `a` be the largest rank with
`P(Bin(n, q) <= a - 1) <= share / 2`, and `b` the smallest with `P(Bin(n, q) >= b) <= share / 2`. The quantile is below
the `a`-th smallest value only if at most `a - 1` rows are at or below `t`, where `P(X <= t) >= q`. It is above the
`b`-th smallest only if at least `b` rows are below `t`, where `P(X < t) <= q`. Each has probability at most
`share / 2`. So `[X_(a), X_(b)]` holds the quantile except with probability `share`, for every distribution (Conover
1999, section 3.2). In counts of rows this says, for every threshold at once:

- fewer than `a` rows at or below a threshold show that the quantile is above it;
- at least `b` rows at or below a threshold show that the quantile is at most the threshold.

Everything that an answer claims follows from this one event. Among the rows with a value the same holds given how many
they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from holdfast.accounting import Cost
from holdfast.bounds.numerics.binomial import log_at_least, log_at_most
from holdfast.core import arguments
from holdfast.data.expressions.tree import SMALLEST
from holdfast.data.schema import Schema
from holdfast.data.statistics import QuantileCounts
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, rows_of
from holdfast.guard.questions.fields import (
    Default,
    Expression,
    High,
    Low,
    NumberInput,
    Show,
    Spend,
    Where,
    WherePresent,
)
from holdfast.guard.questions.noiseless import shown
from holdfast.guard.questions.noisy import about_rows, noise_for, spend_of
from holdfast.guard.questions.small_groups import too_few
from holdfast.guard.questions.words import ends, guess_sentence, number, rows_text
from holdfast.holdout.error_budget import log_ends_weight
from holdfast.holdout.intervals.mean import Cells
from holdfast.holdout.questions import around, checked_guess
from holdfast.holdout.transcript import Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

_NAME = "order statistics"
_MOST_STEPS = 32
"""Steps of the grid whose pairs a failed check may show, at most."""
COUNTS = 14
"""A private quantile is searched for by this many noisy counts at most."""
_POPULATION_FIRST = 3
"""How many times as much an end of the interval about the population matters to the search as one about the rows."""
_STEPS = 256
"""Equal steps of the range that it is searched on."""


@dataclass(frozen=True)
class Quantile(Question):
    """Ask for the median or another quantile of a number with a declared range. If you give a guess, it is checked
    without noise. Otherwise the answer has noise.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.quantile("age", 0.5, low=0, high=100, guess=39, tolerance=2)).interval
    [37.0, 41.0]
    """

    kind: ClassVar[str] = "quantile"
    title: ClassVar[str] = "Median or quantile"
    purpose: ClassVar[str] = (
        "Which number is a given share of the rows at or below? A right guess costs next to nothing; without a guess "
        "the answer has noise."
    )
    answered = "either"
    place: ClassVar[int] = 14
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "quantile",
        "expression": "age",
        "q": 0.5,
        "low": 0,
        "high": 120,
        "guess": 50,
        "tolerance": 20,
    }

    expression: Annotated[Expression, "A row expression that is a number."]
    q: Annotated[
        float,
        NumberInput(
            label="Level",
            help="The level of the quantile, above 0 and below 1, e.g. 0.5 for the median. At least this proportion "
            "of the population is at or below the quantile.",
            argument=True,
            placeholder="0.5",
            above=0,
            below=1,
        ),
    ]
    low: Low = None
    high: High = None
    guess: Annotated[
        float | None,
        NumberInput(
            label="Your guess of the quantile",
            help="Your guess of the quantile, which must not come from these rows. It is checked without noise. If "
            "no guess is given, the answer has noise.",
        ),
    ] = None
    tolerance: Annotated[
        float | None,
        NumberInput(
            label="Tolerance",
            help="Required with a guess: a guess that passes is certified to be within this distance of the quantile.",
            above=0,
        ),
    ] = None
    show: Show = "value"
    default: Default = None
    where_present: WherePresent = False
    spend: Spend = None
    where: Where = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        rows = rows_of(self, schema, policy)
        if rows.binary:
            raise InvalidParameter("expression must be a number, such as `income`, got a condition")
        q = arguments.probability("q", self.q)
        if self.guess is None:
            if self.tolerance is not None or self.show != "value":
                raise InvalidParameter(
                    "tolerance and show must be left out if no guess is given, because the answer then has noise"
                )
            return PrivateQuantile(rows, q, spend_of(self.spend, policy), n, schema)
        if self.spend is not None:
            raise InvalidParameter("spend must be left out if guess is given, because a guess is checked without noise")
        if self.tolerance is None:
            raise InvalidParameter(
                "tolerance must be given together with guess: it is the largest error that a passed guess may have"
            )
        asked = checked_guess(self.guess, self.tolerance, self.show, None, rows.low, rows.high)
        return QuantileCheck(
            rows, q, asked.guess, arguments.real("tolerance", self.tolerance), asked.show_value, schema
        )

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the level, the expression and the guess."""
        what = f"{_level(asked['q'])} of {rows_text(asked)[0]}"
        return f"{what}: about {number(asked['guess'])}?" if "guess" in asked else what

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the guess passed, or that gives the interval."""
        if "guess" in asked:
            return guess_sentence(asked, answer, whose)
        if answer["details"].get("too_few_rows"):
            return f"Too few rows count to report their {_level(asked['q'])}. The value is the middle of its range."
        return f"The {_level(asked['q'])} is between {ends(answer['interval'])}. The value inside carries noise."


class QuantileCheck(BoundQuestion):
    """A guess of a quantile: it passes where the interval of the order statistics lies within its tolerance."""

    def __init__(
        self, rows: BoundExpression, q: float, guess: float, tolerance: float, show_value: bool, schema: Schema
    ) -> None:
        asked = {"q": q, "guess": guess, "tolerance": tolerance, "value": show_value}
        self.cost = None
        self.question = {"kind": "quantile", **rows.to_dict(), **asked}
        self._rows, self._q, self._guess, self._tolerance, self._show_value = rows, q, guess, tolerance, show_value
        self._claimed = around(guess, tolerance, rows.low, rows.high)
        length = rows.high - rows.low
        step = min(max(tolerance / 2, length / _MOST_STEPS), length)
        below = _steps(guess, rows.low, -step)[::-1]
        self._edges = [*below, guess, *_steps(guess, rows.high, step)]
        self._middle = len(below)
        points = {*self._claimed, *self._edges}
        self._thresholds = tuple(sorted({*points, *map(_just_below, points)}))
        self.statistics = (QuantileCounts(rows.expression.node, self._thresholds),)
        self.statistics[0].plan(schema)  # an expression that is too large for so many thresholds is refused here

    def require_useful(self, situation: Situation) -> None:
        """Refuse a guess that no rows could make pass, by what anyone may know."""
        below, above = _public_ranks(situation.n, self._q, situation.log_share)
        cut = self._claimed[0] > self._rows.low, self._claimed[1] < self._rows.high
        if (cut[0] and below < 1) or (cut[1] and above > situation.n):
            raise QuestionRefused(
                f"this guess could not pass, whatever the rows are: at this point of the run, {situation.n:,} rows "
                f"are too few to bound a quantile of level {self._q:g}; use a level nearer to 0.5, more rows or a "
                "smaller privacy budget; nothing was spent"
            )

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Decide pass or fail at this question's error allocation, and return what is shown."""
        share = situation.log_share
        return shown(self._decide(prepared, share), share, situation)

    def _decide(self, measured: Measured, log_share: float) -> Outcome:
        counts, total = _counts(measured, self._thresholds, self._rows.default)
        # How many rows have a value is secret: whether its ranks are remembered must not show in the time.
        below, above = (ranks if self._rows.where_present else _public_ranks)(total, self._q, log_share)

        def at_least(point: float) -> bool:
            return point <= self._rows.low or counts[_just_below(point)] < below

        def at_most(point: float) -> bool:
            return point >= self._rows.high or counts[point] >= above

        if at_least(self._claimed[0]) and at_most(self._claimed[1]):
            return Outcome(True, self._guess, self._claimed, _NAME)
        if not self._show_value:
            return Outcome(False, None, None, _NAME)
        last = len(self._edges) - 1
        first = max(i for i in range(last) if at_least(self._edges[i]))
        end = min(i for i in range(1, last + 1) if at_most(self._edges[i]))
        first = min(first, end - 1)  # values that all lie on one edge are in the cell below it
        interval = self._edges[first], self._edges[end]
        weight = log_ends_weight(self._middle - first, end - self._middle)
        return Outcome(False, (interval[0] + interval[1]) / 2, interval, _NAME, weight)

    def half_width(self, situation: Situation) -> float:
        """Return how far the quantile can be from a guess that passes."""
        return self._tolerance


class PrivateQuantile(BoundQuestion):
    """A quantile found by noisy counts: a joint search over a declared grid for the four ends of its two intervals.

    The range is cut into 256 equal steps. A count is how many rows are at or below a step of the grid, with fresh
    noise. Replacing a row moves it by at most one. At most 14 counts are released (15 with the number of rows that
    have a value), each at an equal part of the cost, so that together they cost at most the whole, whatever thresholds
    the noisy counts lead to. Except with the share for noise, all of them are within `off` of the truth, and except
    with that of the interval about the rows within `near`. A step is shown to be below the quantile of the population
    by a noisy count below `a - off`, and to be at or above it by one of at least `b + off`; and likewise for the
    quantile of the rows, by `near` and their own rank. So each end is where the noisy counts cross a target, and each
    count halves the bracket of the target whose end is known worst, next to the length of its interval; it narrows
    those of the other targets too. An end about the population that no count could show is not searched for, and in the
    place of one about the rows the quantile itself is. What a count shows is true wherever the search went, so both
    intervals hold even where noise led it astray: they are then only wider.
    """

    def __init__(self, rows: BoundExpression, q: float, cost: Cost, n: int, schema: Schema) -> None:
        self.cost = cost
        self.question = {"kind": "quantile", **rows.to_dict(), "q": q, "spend": cost.to_dict()}
        self._rows, self._q = rows, q
        self._edges = grid_edges(rows.low, rows.high)
        self._thresholds = tuple(self._edges[1:-1])
        self.statistics = (QuantileCounts(rows.expression.node, self._thresholds),)
        self.statistics[0].plan(schema)
        self._releases = COUNTS + (1 if rows.where_present else 0)
        self._noise = noise_for(cost, n, means=self._releases)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the interval that the noisy counts show, and a value inside it; a function of noisy counts alone."""
        n, share = situation.n, situation.log_share
        counts, exact_total = _counts(prepared, self._thresholds, self._rows.default)
        off = n * (self._noise.half_width(situation.noise_share / self._releases) + 1e-12)

        def noisy(count: int) -> float:
            return n * float(self._noise.release(Fraction(count, n), situation.source))  # type: ignore[call-overload]

        total = min(max(noisy(exact_total), 0.0), float(n)) if self._rows.where_present else None
        near = n * (self._noise.half_width(situation.rows_share / self._releases) + 1e-12)
        value, ends, rows = search_quantile(counts, total, (off, near), self._q, share, n, self._edges, noisy)
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(share, 6), interval=_NAME)
        details: dict[str, Any] = {"about_rows": about_rows(situation, rows, "quantile")}
        if total is not None and too_few(total, off):
            value, details["too_few_rows"] = (ends[0] + ends[1]) / 2, True
        return Settled(value, ends, guarantee, details=details)

    def require_useful(self, situation: Situation) -> None:
        """Refuse where neither interval could have an end, by what anyone may know."""
        shares = situation.noise_share, situation.rows_share
        require_counts(min(self._noise.half_width(one / self._releases) for one in shares), max(self._q, 1 - self._q))

    def half_width(self, situation: Situation) -> None:
        """Not known before: it depends on how dense the values are around the quantile."""
        return None

    def likely_half_width(self, situation: Situation) -> float:
        """For values that are spread evenly over the range."""
        off = situation.n * (self._noise.half_width(situation.noise_share / self._releases) + 1e-12)
        slack = off if self._rows.where_present else None
        return even_half_width(situation.n, self._q, situation.log_share, self._edges, off, slack)


def require_counts(off: float, most: float) -> None:
    """Refuse a quantile whose noisy counts are off by more than the part of all rows that they have to show.

    Examples
    --------
    >>> require_counts(0.4, 0.5)
    >>> require_counts(0.8, 0.5)
    Traceback (most recent call last):
        ...
    holdfast.errors.QuestionRefused: neither end of this quantile's interval could be determined, because ...
    """
    if off >= most:
        raise QuestionRefused(
            "neither end of this quantile's interval could be determined, because the noise on a count of rows can "
            f"be as large as {off:.2g} of all rows; spend about {2 * off / most:.0f} times as much privacy, or check "
            "a guess of the quantile; nothing was spent"
        )


def even_half_width(
    n: int, q: float, share: float, edges: Sequence[float], off: float, slack: float | None, rows: int | None = None
) -> float:
    """Half of the interval of a private quantile of `rows` values that lie evenly over the range; for plans.

    Examples
    --------
    >>> edges = grid_edges(0.0, 256.0)
    >>> [even_half_width(10_000, 0.5, -5.0, edges, off, None) for off in (0.0, 500.0)]
    [4.0, 19.0]
    """
    many = n if rows is None else rows
    counts = {edge: many * step // _STEPS for step, edge in enumerate(edges)}
    total = None if slack is None else float(many)
    ends = search_quantile(counts, total, (off, off), q, share, n, edges, float)[1]
    return (ends[1] - ends[0]) / 2


def grid_edges(low: float, high: float) -> list[float]:
    """Return the edges of the equal steps that a private quantile is searched on."""
    grid = Cells(low, high, _STEPS)
    return [grid.edge(i) for i in range(_STEPS + 1)]


def search_quantile(
    counts: Mapping[float, int],
    noisy_total: float | None,
    room: tuple[float, float],
    q: float,
    share: float,
    n: int,
    edges: Sequence[float],
    noisy: Callable[[int], float],
) -> tuple[float, list[float], list[float]]:
    """Return a value and the two intervals that noisy counts show, as `PrivateQuantile` describes.

    `counts` are the exact numbers of rows at or below each edge, and `noisy` releases one of them. `noisy_total` is the
    released number of rows that count; None where all `n` do. `room` is how far all released numbers are off at most:
    except with the share for noise, and except with that of the interval about these rows. The latter is about the
    least value that at least `q` of these rows are at or below: fewer rows than that at or below an edge show that it
    is above the edge, and as many show that it is not.
    """
    off, near = room
    total, fewest, most = float(n), n, n
    if noisy_total is not None:
        total = noisy_total
        fewest, most = max(0, math.ceil(total - off)), min(n, math.floor(total + off))
    below, above = ranks(fewest, q, share)[0], ranks(most, q, share)[1]
    slack = 0.0 if noisy_total is None else near
    population = below - off, above + off
    rows = q * (total - slack) - near, q * (total + slack) + near
    sought = [one if 0 < one <= total else q * total for one in rows]  # the value is read off the counts too
    seen = _search(population, (sought[0], sought[1]), total, lambda step: noisy(counts[edges[step]]))

    def ends(targets: tuple[float, float]) -> tuple[int, int]:
        """The highest step that the counts show to be below the quantile, and the lowest at or above it."""
        first = max((step for step, count in seen.items() if count < targets[0]), default=0)
        return first, min((step for step, count in seen.items() if count >= targets[1]), default=_STEPS)

    steps = [0, *sorted(seen), _STEPS]
    rising = np.maximum.accumulate([0.0, *(seen[step] for step in steps[1:-1]), total])
    value = float(np.interp(q * total, rising, [edges[step] for step in steps]))
    first, last = ends(population)
    lower, upper = edges[min(first, last - 1)], edges[max(first + 1, last)]
    about = [edges[step] for step in sorted(ends(rows))]
    return min(max(value, lower), upper), [lower, upper], about


def _search(
    population: tuple[float, float], rows: tuple[float, float], total: float, count_at: Callable[[int], float]
) -> dict[int, float]:
    """At most `COUNTS` noisy counts, by their steps, near where the counts cross the targets of each interval.

    Counts rise with the steps, from 0 to the total. The bracket of a target is between which steps they cross it, as
    far as noisy counts tell; a target that is not between 0 and the total is searched for by nobody.
    """
    whole = 0, _STEPS
    brackets = {target: whole for target in (*population, *rows) if 0 < target <= total}
    seen: dict[int, float] = {}
    while len(seen) < COUNTS:
        worst, step = 0.0, 0
        for (lower, upper), weight in ((population, _POPULATION_FIRST), (rows, 1)):
            length = brackets.get(upper, whole)[1] - brackets.get(lower, whole)[0]
            for low, high in (brackets[target] for target in (lower, upper) if target in brackets):
                if high - low > 1 and weight * (high - low) / length > worst:
                    worst, step = weight * (high - low) / length, (low + high) // 2
        if not worst:
            break
        seen[step] = count_at(step)
        for target, (low, high) in brackets.items():
            if low < step < high:
                brackets[target] = (low, step) if seen[step] >= target else (step, high)
    return seen


def _steps(start: float, end: float, step: float) -> list[float]:
    """Points from the start to the end of a range, a step apart; the end is the last of them, wherever it lies."""
    count = max(0, math.ceil((end - start) / step - 1e-9))
    return [end if i == count else start + i * step for i in range(1, count + 1)]


def ranks(n: int, q: float, log_share: float) -> tuple[int, int]:
    """The ranks `a` and `b` of the order statistics that hold the quantile except with probability `exp(log_share)`.

    Each end takes half of the probability. `a` is 0, and `b` is `n + 1`, where no value bounds the quantile.

    Examples
    --------
    >>> import math
    >>> ranks(10, 0.5, math.log(0.05))
    (2, 9)
    >>> ranks(5, 0.5, math.log(0.05))
    (0, 6)
    """
    tail = log_share - math.log(2)
    most = min(n - 1, math.floor(n * q))
    most -= most > n * q
    least = max(1, math.ceil(n * q))
    least += least < n * q
    below = _first(0, most + 1, lambda k: log_at_most(k, n, q)[0] > tail)
    above = _first(least, n + 1, lambda k: log_at_least(k, n, q)[0] <= tail)
    return below, above


_public_ranks = lru_cache(maxsize=1024)(ranks)
"""`ranks` of a number of rows that is public; remembered."""


def _first(start: int, stop: int, holds: Any) -> int:
    """The first whole number from `start` on for which a monotone condition holds; `stop` where it holds for none."""
    while start < stop:
        middle = (start + stop) // 2
        if holds(middle):
            stop = middle
        else:
            start = middle + 1
    return start


def _counts(measured: Measured, thresholds: tuple[float, ...], default: float | None) -> tuple[dict[float, int], int]:
    """How many rows are at or below each threshold, and how many count; rows without a value count as the default."""
    *below, present, missing = measured[0]
    if default is None:
        return dict(zip(thresholds, below, strict=True)), present
    filled = [count + missing * (default <= point) for count, point in zip(below, thresholds, strict=True)]
    return dict(zip(thresholds, filled, strict=True)), present + missing


def _just_below(point: float) -> float:
    """The greatest double below this one; the point itself where that one is too small to be written in an expression.

    Computed values may be smaller than any that can be written. To count those at the point too is on the safe side.
    """
    lower = math.nextafter(point, -math.inf)
    return lower if abs(lower) >= SMALLEST else point


def _level(q: float) -> str:
    return "median" if q == 0.5 else f"{number(float(q))} quantile"
