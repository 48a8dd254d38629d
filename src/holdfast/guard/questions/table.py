"""The kind `table`: shares, means or quantiles of every declared group, in one reading of the rows and at one price.

With guesses it is answered without noise; without them it is private. All intervals of a table hold together: each has
an equal part of the question's share.

*Private shares and means.* `groups.py` proves the price. Except with the share for noise, all released sums are within
`off` of the exact ones. The interval of a group's mean is that of every pair of sums that the noise leaves possible
(`conditional_interval`), so it holds the interval of the exact pair, which misses with at most its part of the share:
given which rows are in the group, their values are independent draws from the distribution of the value in the group.

*Private quantiles.* Each group is searched as `quantile` searches all rows. The counts of a group depend on the rows of
that group alone. A replaced row is in one group before and in one after, and moves each count of these two by at most
one; so with `r` counts a group, each released at `1 / (2 r)` of the cost, the whole table costs what one question does,
whatever thresholds the noisy counts lead to.

*Small groups.* Whether a group is too small to be reported is decided by its noisy number of rows, which was paid for,
and by nothing else that depends on rows.

*With guesses.* The message says which guesses pass, and for every other group that its rows are too few, or a pair of
ends around its guess. Its prior weight is that of the number of failures, `1/(f (f + 1))`, of which groups they are,
and of what each shows; it was fixed before the rows were read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.accounting import Cost
from holdfast.bounds.holdout.error_allocation import log_series_weight
from holdfast.core import arguments
from holdfast.data.expressions import Expression as Parsed
from holdfast.data.expressions import expression, to_json
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, QuantileCounts, Statistic
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, rows_of
from holdfast.guard.questions.fields import (
    CategoryListsInput,
    ColumnsInput,
    Default,
    ExpressionInput,
    GuessesInput,
    High,
    Low,
    NumberInput,
    Spend,
    Tolerance,
    Where,
    WherePresent,
)
from holdfast.guard.questions.groups import GroupNoise, Groups, groups_of
from holdfast.guard.questions.noiseless import shown
from holdfast.guard.questions.noisy import (
    about_rows,
    count_interval,
    noise_for,
    ratio_ends,
    spend_of,
)
from holdfast.guard.questions.quantile import (
    COUNTS,
    even_half_width,
    grid_edges,
    require_counts,
    search_quantile,
)
from holdfast.guard.questions.small_groups import LEAST_ROWS, too_few
from holdfast.guard.questions.words import expression_text
from holdfast.holdout.intervals.conditional import conditional_counts, conditional_interval, conditional_mean
from holdfast.holdout.questions import Guess, MeanQuestion, check_procedure
from holdfast.holdout.transcript import Exact, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Table(Question):
    """Ask for a table with one entry for each declared group: the proportion of rows in the group, or the mean or a
    quantile of an expression in it.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500, "member": [True, False] * 10_000})
    >>> policy = hf.guard.Policy(questions=10, privacy=hf.accounting.PureDP(0.1), spend=hf.accounting.PureDP(0.1))
    >>> answer = hf.Guard.open(None, sample, policy).ask(hf.guard.table(["member"], "age", low=0, high=100))
    >>> sorted(answer.value), answer.interval["true"][0] < 39 < answer.interval["true"][1]
    (['false', 'true'], True)
    """

    kind: ClassVar[str] = "table"
    title: ClassVar[str] = "Table by groups"
    purpose: ClassVar[str] = (
        "Shares, means or medians of every declared group, at one price for all of them. Groups with too few rows are "
        "named and not reported."
    )
    answered = "either"
    place: ClassVar[int] = 22
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "table",
        "by": ["arm"],
        "expression": "age",
        "low": 0,
        "high": 120,
        "categories": [["drug", "none"]],
        "guesses": {"drug": 50, "none": 50},
        "tolerance": 40,
    }

    by: Annotated[
        Sequence[str],
        ColumnsInput(
            label="By the column",
            help="One to four columns with declared categories. Each combination of their categories is a group. "
            "Rows with any other value are in no group.",
            option="--by",
            metavar="COLUMN",
        ),
    ]
    expression: Annotated[
        str | Mapping[str, Any] | None,
        ExpressionInput(
            label="The mean of",
            help="A row expression whose mean is computed in each group. Without it, the proportion of rows in each "
            "group is computed.",
            option="--of",
        ),
    ] = None
    q: Annotated[
        float | None,
        NumberInput(
            label="Or its quantile of level",
            help="Compute this quantile of the expression in each group instead of the mean, e.g. 0.5 for the median.",
            above=0,
            below=1,
        ),
    ] = None
    low: Low = None
    high: High = None
    default: Default = None
    where_present: WherePresent = False
    where: Annotated[
        Where,
        "A condition: only rows that meet it are counted. Without an expression, proportions are still "
        "proportions of all rows.",
    ] = None
    guesses: Annotated[
        Mapping[str, float] | None,
        GuessesInput(
            label="Your guesses, a group in each line",
            help="Your guess of the mean of one group, as LABEL=NUMBER; give the option once for each group. Each "
            "guess is checked without noise. Groups without a guess are left out of the answer.",
            option="--guess",
            metavar="GROUP=NUMBER",
        ),
    ] = None
    tolerance: Annotated[
        Tolerance,
        "With guesses: a guess that passes is certified to be within this distance of the group's mean (default: 2.5 "
        "half-widths of the interval of a group with half as many rows as if all groups were equally large).",
    ] = None
    spend: Spend = None
    categories: Annotated[
        Sequence[Sequence[Any] | None] | None,
        CategoryListsInput(
            label="Its categories, with commas",
            help="All categories of a column (default: those that the policy or schema declares). Give the option "
            "once for each column, in order.",
            of="by",
            metavar="A,B,C",
        ),
    ] = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        groups = groups_of(self.by, schema, policy.columns, self.categories)
        if self.expression is None:
            return self._shares(groups, schema, n, policy)
        rows = rows_of(self, schema, policy)
        if self.guesses is not None:
            return self._checked(groups, rows, schema, n)
        if self.tolerance is not None:
            raise InvalidParameter(
                "tolerance must be left out if no guesses are given, because the table then has noise"
            )
        cost = spend_of(self.spend, policy)
        if self.q is None:
            return MeanTable(groups, rows, cost, n, schema)
        if rows.binary:
            raise InvalidParameter("expression must be a number if q is given, got a condition")
        return QuantileTable(groups, rows, arguments.probability("q", self.q), cost, n, schema)

    def _shares(self, groups: Groups, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        for name in ("q", "low", "high", "default", "guesses", "tolerance"):
            if getattr(self, name) is not None:
                raise InvalidParameter(
                    f"{name} must be left out without an expression, because the table then "
                    f"contains proportions of rows"
                )
        return ShareTable(groups, condition_of(self.where, schema), spend_of(self.spend, policy), n, schema)

    def _checked(self, groups: Groups, rows: BoundExpression, schema: Schema, n: int) -> BoundQuestion:
        if self.spend is not None or self.q is not None:
            raise InvalidParameter(
                "spend and q must be left out with guesses, because guesses are about means and "
                "are checked without noise"
            )
        if not isinstance(self.guesses, Mapping) or not self.guesses:
            raise InvalidParameter("guesses must be a mapping from labels of groups to guesses, which are numbers")
        wrong = [str(label)[:60] for label in self.guesses if label not in groups.labels]
        if wrong:
            known = ", ".join(map(repr, groups.labels[:8])) + (", ..." if len(groups.labels) > 8 else "")
            raise InvalidParameter(
                f"guesses must be given for groups of the table, which are {known}, got {wrong[0]!r}"
            )
        sizes = MeanQuestion(
            self.kind, "auto", None, rows.low, rows.high, rows.binary, max(1, n // (2 * len(groups.labels)))
        )
        asked = {
            label: sizes.guess(self.guesses[label], self.tolerance, "value", None)
            for label in groups.labels
            if label in self.guesses
        }
        return CheckedTable(groups, rows, asked, sizes, schema)

    @classmethod
    def is_private(cls, question: Mapping[str, Any]) -> bool:
        """Return whether the table has no guesses, so that it is answered with noise."""
        return question.get("guesses") is None

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the stored question again, with its guesses. None if it was asked without guesses."""
        if "guesses" not in stored:
            return None
        names = ("expression", "low", "high", "default", "where_present", "where", "tolerance", "guesses", "categories")
        return cls(stored["by"], **{name: stored[name] for name in names if name in stored})

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line that says what is asked about each group."""
        what = f"mean of {expression_text(asked['expression'])}" if "expression" in asked else "share of rows"
        if "q" in asked:
            level = "median" if asked["q"] == 0.5 else f"{asked['q']:g} quantile"
            what = f"{level} of {expression_text(asked['expression'])}"
        among = f", among rows where {expression_text(asked['where'])}" if "where" in asked else ""
        return f"{what} by {', '.join(asked['by'])}{among}" + (": as guessed?" if "guesses" in asked else "")

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says what the numbers of the groups mean, and which groups are not reported."""
        small = answer["details"].get("not_reportable") or ()
        left = f" Too few rows to report: {'; '.join(small)}." if small else ""
        if answer["passed"] is None:
            return f"Each group's truth in the population is between the two ends that are shown.{left}"
        outcome = "Every guess passed" if answer["passed"] else "Not every guess passed"
        return f"{outcome}. Each group's truth is between the two ends that are shown.{left}"

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the alternative to refused guesses: the same table with noise."""
        if question.get("guesses") is not None:
            plain = {name: value for name, value in question.items() if name not in ("guesses", "tolerance")}
            yield "Ask for the table with noise instead", plain


class _GroupTable(BoundQuestion):
    """What private tables share: noise on sums of groups, and who is too small to be reported."""

    def __init__(self, groups: Groups, cost: Cost, question: Mapping[str, Any]) -> None:
        self.cost: Cost | None = cost
        self.question = {"kind": "table", **groups.to_dict(), **question, "spend": cost.to_dict()}
        self._groups = groups

    @property
    def _many(self) -> int:
        return len(self._groups.labels)

    def _share(self, situation: Situation, intervals: int) -> float:
        """`ln` of each interval's part of the share."""
        return situation.log_share - math.log(intervals) - 1e-12


class ShareTable(_GroupTable):
    """The share of all rows that are in each group, and how many rows these are."""

    def __init__(self, groups: Groups, where: Parsed | None, cost: Cost, n: int, schema: Schema) -> None:
        super().__init__(groups, cost, {} if where is None else {"where": to_json(where.node)})
        self.statistics: tuple[Statistic, ...] = (groups.counted(None, None if where is None else where.node),)
        self.statistics[0].plan(schema)
        self._noise = GroupNoise(cost, n, unit=1)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Noise for every count; each interval is a function of its noisy count alone."""
        n, labels = situation.n, self._groups.labels
        exact = [part[0] for part in self._groups.pick(prepared[0])]
        noisy = self._noise.release(exact, situation.source)
        off, share = self._noise.off(situation.noise_share, self._many), self._share(situation, self._many)
        near = self._noise.off(situation.rows_share, self._many)
        ends = [list(count_interval(n).over((one - off) / n, (one + off) / n, share)) for one in noisy]
        rows = {
            label: [max(0.0, one - near), min(float(n), one + near)] for label, one in zip(labels, noisy, strict=True)
        }
        counts = {label: min(max(one, 0.0), float(n)) for label, one in zip(labels, noisy, strict=True)}
        guarantee = situation.guarantee(
            "transfer.interleaved", log_share=round(share, 6), interval="clopper-pearson", groups=self._many
        )
        return Settled(
            {label: one / n for label, one in counts.items()},
            dict(zip(labels, ends, strict=True)),
            guarantee,
            details={"counts": counts, "about_rows": about_rows(situation, rows, "counts of rows")},
        )

    def half_width(self, situation: Situation) -> float:
        """Of a group that has half of the rows, where it is largest."""
        n, off = situation.n, self._noise.off(situation.noise_share, self._many)
        lower, upper = count_interval(n).over(0.5 - off / n, 0.5 + off / n, self._share(situation, self._many))
        return (upper - lower) / 2


class MeanTable(_GroupTable):
    """The mean in each group, its share of all rows, and how many rows these are: two noisy sums a group."""

    def __init__(self, groups: Groups, rows: BoundExpression, cost: Cost, n: int, schema: Schema) -> None:
        super().__init__(groups, cost, rows.to_dict())
        self.statistics: tuple[Statistic, ...] = (groups.measure(rows.fixed_sum), groups.counted(rows))
        for statistic in self.statistics:
            statistic.plan(schema)
        self._rows, self._noise = rows, GroupNoise(cost, n)

    def require_useful(self, situation: Situation) -> None:
        """Refuse where the noise is so large that no group could be reported, by what anyone may know."""
        off = self._noise.off(situation.noise_share, 2 * self._many)
        if LEAST_ROWS + 4 * off >= situation.n:
            raise QuestionRefused(
                "no group is large enough to be reported, because the noise on its number of rows can be as large as "
                f"{2 * off:,.0f}, and there are {situation.n:,} rows in all; spend more privacy, or use fewer groups; "
                "nothing was spent"
            )

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Noise for both sums of every group; everything is a function of the noisy sums alone."""
        n, labels = situation.n, self._groups.labels
        sums = [part[0] for part in self._groups.pick(prepared[0])]
        counts = [part[0] for part in self._groups.pick(prepared[1])]
        exact = [one for total, rows in zip(sums, counts, strict=True) for one in (total, rows * UNIT - total)]
        noisy = self._noise.release(exact, situation.source)
        off, near = (self._noise.off(part, 2 * self._many) for part in (situation.noise_share, situation.rows_share))
        share = self._share(situation, 2 * self._many)
        value, interval, rows, small = {}, {}, {}, []
        shares: dict[str, dict[str, Any]] = {}
        for label, above, below in zip(labels, noisy[::2], noisy[1::2], strict=True):
            count = min(max(above + below, 0.0), float(n))
            ends = count_interval(n).over((count - 2 * off) / n, (count + 2 * off) / n, share)
            counted = [max(0.0, count - 2 * near), min(float(n), count + 2 * near)]
            shares[label] = {"value": count / n, "interval": list(ends), "count": count, "about_rows": counted}
            if too_few(above + below, 2 * off):
                small.append(label)
                continue
            most, rest = max(above, 0.0), max(below, 0.0)
            value[label] = self._rows.in_unit(most / (most + rest))
            first, second = (above - off, above + off), (below - off, below + off)
            limits = conditional_counts if self._rows.two_valued else conditional_interval
            interval[label] = self._rows.outward(*limits(first, second, n, share))
            rows[label] = self._rows.outward(*ratio_ends(above, below, near))
        name = "clopper-pearson" if self._rows.two_valued else "kl"
        guarantee = situation.guarantee(
            "transfer.interleaved", log_share=round(share, 6), interval=f"{name}, rows of a group", groups=self._many
        )
        details = {"shares": shares, "not_reportable": small, "about_rows": about_rows(situation, rows, "means")}
        return Settled(value, interval, guarantee, details=details)

    def half_width(self, situation: Situation) -> float:
        """At the middle of the range, in a group of an even split."""
        off, size = self._noise.off(situation.noise_share, 2 * self._many), situation.n / self._many / 2
        ends = (size - off, size + off)
        lower, upper = conditional_interval(ends, ends, situation.n, self._share(situation, 2 * self._many))
        return (self._rows.high - self._rows.low) * (upper - lower) / 2


class QuantileTable(_GroupTable):
    """A quantile in each group, found by noisy counts."""

    def __init__(self, groups: Groups, rows: BoundExpression, q: float, cost: Cost, n: int, schema: Schema) -> None:
        super().__init__(groups, cost, {**rows.to_dict(), "q": q})
        self._rows, self._q = rows, q
        self._edges = grid_edges(rows.low, rows.high)
        self._thresholds = tuple(self._edges[1:-1])
        counted = QuantileCounts(rows.expression.node, self._thresholds)
        self.statistics: tuple[Statistic, ...] = (groups.measure(counted),)
        self.statistics[0].plan(schema)
        self._length = len(self._thresholds) + 2
        self._releases = COUNTS + 1
        self._noise = noise_for(cost, n, means=2 * self._releases)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the interval that the noisy counts of each group show; a function of noisy counts alone."""
        n, labels, many = situation.n, self._groups.labels, self._many
        share = self._share(situation, many)
        off, near = (
            n * (self._noise.half_width(part / (self._releases * many)) + 1e-12)
            for part in (situation.noise_share, situation.rows_share)
        )

        def noisy(count: int) -> float:
            return n * float(self._noise.release(Fraction(count, n), situation.source))  # type: ignore[call-overload]

        value, interval, rows, small = {}, {}, {}, []
        for label, part in zip(labels, self._groups.pick(prepared[0], self._length), strict=True):
            *below, present, missing = part
            default = self._rows.default
            if default is not None:  # rows without a value count as the default
                pairs = zip(below, self._thresholds, strict=True)
                below = [count + missing * (default <= point) for count, point in pairs]
                present += missing
            counts = dict(zip(self._thresholds, below, strict=True))
            total = min(max(noisy(present), 0.0), float(n))
            if too_few(total, off):
                small.append(label)
                continue
            value[label], interval[label], rows[label] = search_quantile(
                counts, total, (off, near), self._q, share, n, self._edges, noisy
            )
        guarantee = situation.guarantee(
            "transfer.interleaved", log_share=round(share, 6), interval="order statistics, rows of a group", groups=many
        )
        details = {"not_reportable": small, "about_rows": about_rows(situation, rows, "quantiles")}
        return Settled(value, interval, guarantee, details=details)

    def require_useful(self, situation: Situation) -> None:
        """Refuse where no group could be reported, were all rows in it, by what anyone may know."""
        many, shares = self._releases * self._many, (situation.noise_share, situation.rows_share)
        off, near = (self._noise.half_width(one / many) for one in shares)
        require_counts(off, 1 - LEAST_ROWS / situation.n)
        require_counts(min(off, near), max(self._q, 1 - self._q))

    def half_width(self, situation: Situation) -> None:
        """Not known before: it depends on how dense the values are around the quantile."""
        return None

    def likely_half_width(self, situation: Situation) -> float:
        """For values that are spread evenly over the range, in a group of an even split."""
        n, many = situation.n, self._many
        off = n * (self._noise.half_width(situation.noise_share / (self._releases * many)) + 1e-12)
        return even_half_width(n, self._q, self._share(situation, many), self._edges, off, off, n // many)


_SMALL = math.log(0.25)
"""`ln` of the prior weight of "too few rows" among what a guess that does not pass can show."""
_VALUE = math.log(0.75)


class CheckedTable(BoundQuestion):
    """Guesses of the means of groups, decided together without noise."""

    def __init__(
        self, groups: Groups, rows: BoundExpression, asked: Mapping[str, Guess], sizes: MeanQuestion, schema: Schema
    ) -> None:
        self.cost = None
        first = next(iter(asked.values()))
        named: dict[str, Any] = {"guesses": {label: one.guess for label, one in asked.items()}}
        named |= {} if first.tolerance is None else {"tolerance": first.tolerance}
        self.question = {"kind": "table", **groups.to_dict(), **rows.to_dict(), **named}
        self.statistics: tuple[Statistic, ...] = (groups.measure(rows.fixed_sum), groups.counted(rows))
        for statistic in self.statistics:
            statistic.plan(schema)
        self._groups, self._rows, self._asked, self._sizes = groups, rows, dict(asked), sizes

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return which guesses pass at their part of the share, and what the others show."""
        outcomes, small = self._decide(prepared, situation.n, situation.log_share)
        failed = [label for label, one in outcomes.items() if not one.passed]
        weight = 0.0
        if failed:
            many, wrong = len(outcomes), len(failed)
            weight = log_series_weight(wrong) - math.log(math.comb(many, wrong)) - 1e-12
            weight += math.fsum(_SMALL if one in small else _VALUE + outcomes[one].log_weight for one in failed)
        whole = Outcome(not failed, None, None, "mean among rows of a group", weight)
        details_shown = {"not_reportable": small, "failed": [one for one in failed if one not in small]}
        settled = shown(whole, situation.log_share, situation, details=details_shown)
        if settled.details.get("ended"):
            return replace(settled, details={"ended": True})
        reported = {label: one for label, one in outcomes.items() if label not in small}
        values = {label: one.value for label, one in reported.items()}
        ends = {label: list(one.interval) for label, one in reported.items() if one.interval is not None}
        return replace(settled, value=values, interval=ends)

    def _decide(self, measured: Measured, n: int, log_share: float) -> tuple[dict[str, Outcome], list[str]]:
        """The outcome of each group, and which are too small; the same for every sample with the same sums."""
        share = log_share - math.log(len(self._asked)) - 1e-12
        outcomes, small = {}, []
        for label, procedure in self._procedures(measured, n).items():
            asked = self._asked[label]
            outcome = check_procedure(procedure, asked, share, self._tolerance(asked, share), "groups")
            lower, upper = procedure.interval(share)
            if not outcome.passed and upper - lower > (self._rows.high - self._rows.low) / 2:
                small.append(label)
            outcomes[label] = outcome
        return outcomes, small

    def _procedures(self, measured: Measured, n: int) -> dict[str, Any]:
        sums, counts = (self._groups.pick(part) for part in measured)
        rows = self._rows
        return {
            label: conditional_mean(
                total / UNIT, present, n, rows.low, rows.high, whole=rows.binary, name="rows of a group"
            )
            for label, (total,), (present,) in zip(self._groups.labels, sums, counts, strict=True)
            if label in self._asked
        }

    def _tolerance(self, asked: Guess, share: float) -> float:
        return self._sizes.tolerance(asked, share) if asked.tolerance is None else asked.tolerance

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the exact mean and interval of every group at its part of the share that the table had.

        Groups of fewer than `LEAST_ROWS` rows are left out: the mean of one row is the row.
        """
        share = log_share - math.log(len(self._asked)) - 1e-12
        counts = dict(zip(self._groups.labels, (part[0] for part in self._groups.pick(prepared[1])), strict=True))
        procedures = {label: one for label, one in self._procedures(prepared, n).items() if counts[label] >= LEAST_ROWS}
        values: Any = {label: one.value for label, one in procedures.items() if one.value is not None}
        ends: Any = {label: list(one.interval(share)) for label, one in procedures.items()}
        return GroupsExact(values, ends)

    def half_width(self, situation: Situation) -> float:
        """Return how far the truth of a group can be from a guess that passes: the largest tolerance."""
        share = situation.log_share - math.log(len(self._asked)) - 1e-12
        return max(self._tolerance(one, share) for one in self._asked.values())


class GroupsExact(Exact):
    """The exact values and intervals of groups, by label."""

    value: Any
    interval: Any

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "interval": self.interval}


def condition_of(where: Any, schema: Schema) -> Parsed | None:
    """Return the condition that rows must meet; None where there is none."""
    if where is None:
        return None
    parsed = expression(where, schema)
    if parsed.kind != "boolean" or not parsed.columns:
        raise InvalidParameter("where must be a condition that uses columns, such as `age < 40`")
    return parsed
