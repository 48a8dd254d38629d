"""The kind `correlation`: Pearson's correlation of two bounded numbers, by six means of bounded values.

Both numbers are scaled to `a` and `b` in [-1/2, 1/2]. Six means are needed: of `a`, `b`, `a^2`, `b^2`, `(a + b)^2` and
`(a - b)^2`. As `4 a b = (a + b)^2 - (a - b)^2`, they give the variances and the covariance,

    var a = E[a^2] - E[a]^2,    cov = (E[(a + b)^2] - E[(a - b)^2]) / 4 - E[a] E[b].

Each mean has an interval at a sixth of the share, so all six hold except with the share. The correlation of every
population whose six means lie in these intervals is then between the ends that `correlation_ends` returns: the largest
covariance over the smallest (or, where it is negative, the largest) product of deviations, and the reverse. The squares
of sums and differences have small means where the numbers vary little or go together, and the intervals of small means
are narrow; a product `a b` would have its mean in the middle of its range, where they are widest.

*Among some rows.* With `where`, or where rows without both numbers are left out, the six means are those among the `m`
rows that count. Given which rows these are, their numbers are independent draws from the distribution given the
condition, so the interval of each mean is `conditional_interval`'s. With noise seven sums are released at equal parts
of the cost, the six and `m`: a replaced row moves each by at most one, whether it counts before, after, or both times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.accounting import Cost
from holdfast.bounds.one_question.means import Side
from holdfast.data.expressions import expression, to_json, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, FixedSum, Present, Statistic
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, spelled, why_null
from holdfast.guard.questions.fields import ExpressionInput, NumberInput, Show, Spend, Tolerance, Where, WherePresent
from holdfast.guard.questions.noiseless import shown
from holdfast.guard.questions.noisy import about_rows, noise_for, spend_of, unit_interval
from holdfast.guard.questions.small_groups import too_few, unless_few
from holdfast.guard.questions.words import WHERE_PRESENT, ends, expression_text, guess_sentence, number
from holdfast.holdout.intervals.conditional import conditional_interval
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import Guess, check_procedure, checked_guess
from holdfast.holdout.transcript import Exact, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

Ends = tuple[float, float]
_PARTS = 6
_SIXTH = math.log(_PARTS) + 1e-12
_SCALES = ((-0.5, 0.5), (-0.5, 0.5), (0.0, 0.25), (0.0, 0.25), (0.0, 1.0), (0.0, 1.0))
"""The ranges of the six values."""
_ROUNDED = 2.0**-26
"""More than the six means are off by because values are scaled in doubles and rounded down to steps."""


@dataclass(frozen=True)
class Correlation(Question):
    """Ask for Pearson's correlation of two numbers with declared ranges. If you give a guess, it is checked without
    noise. Otherwise the answer has noise.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"x": list(range(100)) * 500, "y": [i // 2 for i in range(100)] * 500})
    >>> ranges = {"x": {"low": 0, "high": 100}, "y": {"low": 0, "high": 50}}
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, columns=ranges))
    >>> guard.ask(hf.guard.correlation("x", "y", guess=0.95, tolerance=0.2)).passed
    True
    """

    kind: ClassVar[str] = "correlation"
    title: ClassVar[str] = "Correlation"
    purpose: ClassVar[str] = "How strongly do two bounded numbers go together? Between -1 and 1."
    answered = "either"
    place: ClassVar[int] = 25
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "correlation",
        "first": "age",
        "second": "age",
        "first_low": 0,
        "first_high": 120,
        "second_low": 0,
        "second_high": 120,
        "guess": 0.5,
        "tolerance": 1.0,
    }

    first: Annotated[
        str | Mapping[str, Any],
        ExpressionInput(label="The first number", help="A row expression that is a number.", argument=True),
    ]
    second: Annotated[
        str | Mapping[str, Any],
        ExpressionInput(label="The second number", help="A row expression that is a number.", argument=True),
    ]
    guess: Annotated[
        float | None,
        NumberInput(
            label="Your guess",
            help="Your guess of the correlation, from other rows. It is checked without noise. If no guess is given, "
            "the answer has noise.",
            at_least=-1,
        ),
    ] = None
    tolerance: Annotated[
        Tolerance,
        "Required with a guess: a guess that passes is certified to be within this distance of the correlation.",
    ] = None
    show: Show = "value"
    first_low: Annotated[
        float | None,
        NumberInput(
            label="First: lowest",
            help="The declared smallest value of the first expression. Smaller values are clipped to it.",
        ),
    ] = None
    first_high: Annotated[
        float | None,
        NumberInput(
            label="First: highest",
            help="The declared largest value of the first expression. Larger values are clipped to it.",
        ),
    ] = None
    second_low: Annotated[
        float | None,
        NumberInput(
            label="Second: lowest",
            help="The declared smallest value of the second expression. Smaller values are clipped to it.",
        ),
    ] = None
    second_high: Annotated[
        float | None,
        NumberInput(
            label="Second: highest",
            help="The declared largest value of the second expression. Larger values are clipped to it.",
        ),
    ] = None
    spend: Spend = None
    where: Where = None
    where_present: Annotated[WherePresent, "Leave out the rows where one of the two numbers is null (missing)."] = False

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        pair = (
            self._number("first", self.first, self.first_low, self.first_high, schema, policy),
            self._number("second", self.second, self.second_low, self.second_high, schema, policy),
        )
        among = _counted(pair, self.where, schema)
        if self.guess is None:
            if self.tolerance is not None or self.show != "value":
                raise InvalidParameter(
                    "tolerance and show must be left out if no guess is given, because the answer then has noise"
                )
            return NoisyCorrelation(pair, among, spend_of(self.spend, policy), n, schema)
        if self.spend is not None:
            raise InvalidParameter("spend must be left out if guess is given, because a guess is checked without noise")
        if self.tolerance is None:
            raise InvalidParameter(
                "tolerance must be given together with guess: it is the largest error that a passed guess may have"
            )
        asked = checked_guess(self.guess, self.tolerance, self.show, None, -1.0, 1.0)
        return CorrelationCheck(pair, among, asked, schema)

    def _number(self, name: str, source: Any, low: Any, high: Any, schema: Schema, policy: Policy) -> BoundExpression:
        """One of the two numbers, which must be bounded."""
        kind = expression(source, schema).kind
        if kind != "number":
            called = {"boolean": "condition"}.get(kind, kind)
            instead = "; write case when ... then 1 else 0 end" if kind == "boolean" else ""
            raise InvalidParameter(
                f"{name} must be a row expression that is a number, such as `income`, got a {called}{instead}; "
                "nothing was spent"
            )
        rows = spelled(source, schema, low, high, None, True, columns=policy.columns)
        if rows.where_present and not self.where_present:
            raise InvalidParameter(
                f"{name} must never be null, and {why_null(rows.expression, schema)}; choose what null means: "
                "where_present=true (only the rows with both numbers are counted), or "
                f"coalesce({expression_text(source)}, 0); nothing was spent"
            )
        return rows

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the stored question again, with its guess. None if it was asked without a guess."""
        if "guess" not in stored:
            return None
        one, two = stored["rows"]
        bounds = {f"first_{end}": one[end] for end in ("low", "high")}
        bounds |= {f"second_{end}": two[end] for end in ("low", "high")}
        bounds |= {name: stored[name] for name in ("where", "where_present") if name in stored}
        return cls(one["expression"], two["expression"], stored["guess"], stored["tolerance"], **bounds)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the two expressions and the guess."""
        one, two = (expression_text(part["expression"]) for part in asked["rows"])
        what = f"correlation of {one} and {two}" + (WHERE_PRESENT if asked.get("where_present") else "")
        what += f", among rows where {expression_text(asked['where'])}" if "where" in asked else ""
        return f"{what}: about {number(asked['guess'])}?" if "guess" in asked else what

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the guess passed, or that gives the interval."""
        if "guess" in asked:
            return guess_sentence(asked, answer, whose)
        if answer["details"].get("too_few_rows"):
            return "Too few rows count to report their correlation. The value is the middle of its interval."
        return f"The correlation is between {ends(answer['interval'])}. The value inside carries noise."

    @classmethod
    def axis(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
        """Return -1 and 1, the smallest and the largest possible correlation."""
        return -1.0, 1.0

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the alternative to a refused guess: the correlation with noise."""
        if question.get("guess") is not None:
            names = ("guess", "tolerance", "show")
            yield "Ask for the correlation with noise instead", {k: v for k, v in question.items() if k not in names}


@dataclass(frozen=True)
class _Among:
    """Which rows count: those that meet `condition`, which says so in the language of rows; all of them without one."""

    condition: tree.Node | None
    named: Mapping[str, Any]


def _counted(pair: Sequence[BoundExpression], where: Any, schema: Schema) -> _Among:
    """Rows that meet the condition and have both numbers."""
    named: dict[str, Any] = {}
    parts: list[tree.Node] = []
    if where is not None:
        parsed = expression(where, schema)
        if parsed.kind != "boolean" or not parsed.columns:
            raise InvalidParameter("where must be a condition that uses columns, such as `age < 40`; nothing was spent")
        parts.append(parsed.node)
        named["where"] = to_json(parsed.node)
    lacking = [one.expression.node for one in pair if one.where_present]
    if lacking:
        named["where_present"] = True
        parts += [tree.Not(tree.IsNull(node)) for node in dict.fromkeys(lacking)]
    return _Among(tree.And(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None, named)


class _SixMeans(BoundQuestion):
    """What both forms share: the six sums, and how many rows count where not all do."""

    def __init__(
        self, pair: tuple[BoundExpression, BoundExpression], among: _Among, named: Mapping[str, Any], schema: Schema
    ) -> None:
        self.question = {"kind": "correlation", "rows": [_plain(one) for one in pair], **among.named, **named}
        a, b = (_scaled(one) for one in pair)
        squares = (
            _square(a),
            _square(b),
            _square(tree.Arithmetic("+", a, b)),
            _square(tree.Arithmetic("-", a, b)),
        )
        self._some = among.condition is not None
        nodes = [a, b, *squares]
        if among.condition is not None:
            nodes = [tree.Case(((among.condition, node),), tree.Null()) for node in nodes]
        sums: list[Statistic] = [FixedSum(node, low, high) for node, (low, high) in zip(nodes, _SCALES, strict=True)]
        self.statistics: tuple[Statistic, ...] = (*sums, *([Present(nodes[0])] if self._some else []))
        for statistic in self.statistics:
            statistic.plan(schema)

    def _means(self, sums: Sequence[float], rows: float, off: float, n: int, log_share: float) -> list[Ends]:
        """The six intervals, by sums over `rows` rows of which each number is known within `off` rows."""
        if not self._some:
            unit = unit_interval(n)
            ends = [unit.over((one - off) / n, (one + off) / n, log_share) for one in sums]
        else:
            ends = [
                conditional_interval((one - off, one + off), (rows - one - 2 * off, rows - one + 2 * off), n, log_share)
                for one in sums
            ]
        return [_in_scale(pair, k) for k, pair in enumerate(ends)]


class NoisyCorrelation(_SixMeans):
    """Six noisy means, and a noisy number of rows where not all count, each at an equal part of the cost."""

    def __init__(
        self, pair: tuple[BoundExpression, BoundExpression], among: _Among, cost: Cost, n: int, schema: Schema
    ) -> None:
        super().__init__(pair, among, {"spend": cost.to_dict()}, schema)
        self.cost = cost
        self._releases = len(self.statistics)
        self._noise = noise_for(cost, n, means=self._releases)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return a function of the noisy sums alone."""
        n, share = situation.n, situation.log_share - _SIXTH
        exact = [Fraction(total, n * UNIT) for (total,) in prepared[:_PARTS]]
        exact += [Fraction(rows, n) for (rows,) in prepared[_PARTS:]]
        released = [n * float(self._noise.release(one, situation.source)) for one in exact]  # type: ignore[call-overload]
        noisy, rows = released[:_PARTS], released[_PARTS] if self._some else float(n)
        off, near = (self._off(part, n) for part in (situation.noise_share, situation.rows_share))
        lower, upper = correlation_ends(self._means(noisy, rows, off, n, share))
        spare = near if self._some else 0.0
        about = correlation_ends([_in_scale(_quotients(one, rows, near, spare), k) for k, one in enumerate(noisy)])
        most = max(rows, 1.0)
        value = correlation_of([_in_scale((one / most, one / most), k)[0] for k, one in enumerate(noisy)])
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(share, 6), interval="kl, six means")
        details: dict[str, Any] = {"about_rows": about_rows(situation, list(about), "correlation")}
        if self._some and too_few(rows, off):
            value, details["too_few_rows"] = (lower + upper) / 2, True
        return Settled(min(max(value, lower), upper), [lower, upper], guarantee, details=details)

    def _off(self, share: float, n: int) -> float:
        return n * self._noise.half_width(share / self._releases)

    def half_width(self, situation: Situation) -> float:
        """For two numbers that are spread evenly over their ranges and have nothing to do with each other."""
        n = situation.n
        even = [n * one for one in (0.5, 0.5, 1 / 3, 1 / 3, 1 / 6, 1 / 6)]
        off = self._off(situation.noise_share, n)
        lower, upper = correlation_ends(self._means(even, n, off, n, situation.log_share - _SIXTH))
        return (upper - lower) / 2


class CorrelationCheck(_SixMeans):
    """A guess of the correlation, decided by the intervals of the six means."""

    def __init__(
        self, pair: tuple[BoundExpression, BoundExpression], among: _Among, asked: Guess, schema: Schema
    ) -> None:
        super().__init__(pair, among, asked.to_dict(), schema)
        self.cost = None
        self._asked = asked

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Decide pass or fail at this question's error allocation, and return what is shown."""
        share = situation.log_share
        return shown(self._decide(prepared, situation.n, share), share, situation)

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the exact correlation and its interval; not where too few rows count."""
        rows = [present for (present,) in prepared[_PARTS:]]
        return unless_few(rows, lambda: self._decide(prepared, n, log_share).exact)

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        sums = [total / UNIT for (total,) in measured[:_PARTS]]
        rows = measured[_PARTS][0] if self._some else n

        def limits(log_share: float, side: Side) -> tuple[float, float]:
            return correlation_ends(self._means(sums, rows, 0.0, n, log_share - _SIXTH))

        most = max(rows, 1)
        value = correlation_of([_in_scale((one / most, one / most), k)[0] for k, one in enumerate(sums)])
        procedure = OnRows(-1.0, 1.0, n, "correlation by six means", limits, value)
        tolerance = self._asked.tolerance
        assert tolerance is not None
        return check_procedure(procedure, self._asked, share, tolerance, procedure.description)

    def half_width(self, situation: Situation) -> float | None:
        """Return how far the truth can be from a guess that passes: its tolerance."""
        return self._asked.tolerance


def _quotients(above: float, rows: float, off: float, spare: float) -> Ends:
    """The least and the greatest mean of rows whose sum and number are known within these.

    Examples
    --------
    >>> _quotients(40.0, 100.0, 10.0, 0.0), _quotients(4.0, 6.0, 10.0, 10.0)
    ((0.3, 0.5), (0.0, 1.0))
    """
    least = max(above - off, 0.0) / (rows + spare) if rows + spare > 0 else 0.0
    return min(least, 1.0), min((above + off) / (rows - spare), 1.0) if rows - spare > 0 else 1.0


def correlation_ends(means: Sequence[Ends]) -> Ends:
    """Return the least and the greatest correlation of populations whose six means lie between these ends.

    Examples
    --------
    >>> exact = [0.0, 0.0, 1 / 12, 1 / 12, 1 / 6, 1 / 6]
    >>> low, high = correlation_ends([(one - 0.001, one + 0.001) for one in exact])
    >>> round(low, 3), round(high, 3)
    (-0.006, 0.006)
    """
    (a, b, aa, bb, plus, minus) = ((low - _ROUNDED, high + _ROUNDED) for low, high in means)
    cross = [x * y for x in a for y in b]
    least = (plus[0] - minus[1]) / 4 - max(cross)
    most = (plus[1] - minus[0]) / 4 - min(cross)
    small = _product(max(0.0, aa[0] - _largest_square(a)), max(0.0, bb[0] - _largest_square(b)))
    large = _product(max(0.0, aa[1] - _least_square(a)), max(0.0, bb[1] - _least_square(b)))
    return _over(least, large if least > 0 else small, -1.0), _over(most, large if most < 0 else small, 1.0)


def correlation_of(means: Sequence[float]) -> float:
    """Return the correlation that six means have; 0 where one of the numbers does not vary."""
    a, b, aa, bb, plus, minus = means
    product = _product(max(0.0, aa - a * a), max(0.0, bb - b * b))
    return _over((plus - minus) / 4 - a * b, product, 0.0) if product > 0 else 0.0


def _over(covariance: float, product: float, otherwise: float) -> float:
    return otherwise if product <= 0 else min(max(covariance / product, -1.0), 1.0)


def _product(first: float, second: float) -> float:
    return math.sqrt(first * second)


def _largest_square(ends: Ends) -> float:
    return max(ends[0] ** 2, ends[1] ** 2)


def _least_square(ends: Ends) -> float:
    return 0.0 if ends[0] <= 0 <= ends[1] else min(ends[0] ** 2, ends[1] ** 2)


def _in_scale(ends: Ends, part: int) -> Ends:
    """Shares of the range of one of the six values, in its unit."""
    low, high = _SCALES[part]
    first, last = (low + (high - low) * min(max(one, 0.0), 1.0) for one in ends)
    return first, last


def _scaled(rows: BoundExpression) -> tree.Node:
    """The number clipped to its range and scaled to [-1/2, 1/2]."""
    clipped = tree.Call("clip", (rows.expression.node, tree.Number(rows.low), tree.Number(rows.high)))
    from_low = tree.Arithmetic("-", clipped, tree.Number(rows.low)) if rows.low else clipped
    return tree.Arithmetic(
        "-", tree.Arithmetic("*", from_low, tree.Number(1 / (rows.high - rows.low))), tree.Number(0.5)
    )


def _square(node: tree.Node) -> tree.Node:
    return tree.Arithmetic("*", node, node)


def _plain(rows: BoundExpression) -> dict[str, Any]:
    plain = rows.to_dict()
    return {name: plain[name] for name in ("expression", "low", "high")}
