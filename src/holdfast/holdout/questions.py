"""Questions of a guess-and-check run: a mean of one value per row, or a metric that brings its own interval.

Each question is validated, summed up over the rows, and decided at its error allocation. Decisions are pure functions
of that allocation and of what the question computed from the rows.

Every claim here follows from one event, "the truth lies in the interval at this share": a pass claims an interval
that holds it, and a failure shows an interval that holds it and that is one of countably many fixed before the data,
each with a prior weight. The interval itself is kept as a secret for the end of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri_exp

from holdfast.bounds.one_question.means import FAMILIES, MEAN_FAMILIES, Family, MeanFamily, at_spread, tightest
from holdfast.core import arguments
from holdfast.data.values import Rows, Summary, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.error_budget import log_cell_weight, log_ends_weight
from holdfast.holdout.intervals.mean import MeanInterval, OutwardEnds, deviations
from holdfast.holdout.intervals.paired import log_sign_p_value
from holdfast.holdout.intervals.procedure import Procedure, bernstein, betting
from holdfast.holdout.transcript import Exact, Outcome

#: Steps of the grid that both ends of an interval are rounded to, at most: more would cost later questions too much.
_MOST_STEPS = 64
#: Rounding moves a limit by far less than this part of the range.
_MARGIN = 1e-9


@dataclass(slots=True)
class Guess:
    """A guess and how near the truth it is to be shown; `tolerance` None for the plan's default.

    `side` says on which side the guess is expected to be wrong if it is, and `guess_rows` how many other rows it is
    the mean of, where that is known.
    """

    guess: float
    tolerance: float | None
    show_value: bool
    grid: float | None = None
    side: str = "both"
    guess_rows: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain public data; what is as by default is left out where earlier versions did not know it."""
        plain: dict[str, Any] = {
            "guess": self.guess,
            "tolerance": self.tolerance,
            "value": self.show_value,
            "grid": self.grid,
        }
        if self.side != "both":
            plain["side"] = self.side
        if self.guess_rows is not None:
            plain["guess_rows"] = self.guess_rows
        return plain


@dataclass(frozen=True)
class OneSided:
    """A one-sided claim: the truth is at least (at most) `bound`."""

    bound: float
    at_least: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain public data."""
        return {"at_least" if self.at_least else "at_most": self.bound}


def check_mean(rows: Summary, interval: MeanInterval, asked: Guess, log_share: float) -> Outcome:
    """Check a guess of a mean by an interval that is a public function of the mean."""
    guess, name = asked.guess, interval.family.name
    tolerance = asked.tolerance
    if tolerance is None:
        tolerance = interval.default_tolerance(guess, log_share, asked.guess_rows)
    claimed = around(guess, tolerance, interval.low, interval.high)
    lower, upper = interval.of(rows, log_share)
    exact = Exact(rows.mean, (lower, upper))
    if claimed[0] <= lower and upper <= claimed[1]:
        return Outcome(True, guess, claimed, name, exact=exact)
    if asked.tolerance is not None:
        refuse_small(tolerance, interval, guess, log_share)
    if not asked.show_value:
        return Outcome(False, None, None, name, exact=exact)
    cells = interval.cells(guess, tolerance, log_share, asked.grid)
    ends = cells.ends(rows.mean)
    union, weight = interval.over(*ends, log_share), log_cell_weight(cells.index(rows.mean), asked.side)
    return Outcome(False, (ends[0] + ends[1]) / 2, union, name, weight, exact)


def check_winner(
    question: MeanQuestion, rows: Summary, guess: float, among: int, greater: bool, log_share: float
) -> Outcome:
    """Check the guess of the candidate that is best on the rows of `among`, all of one range and one kind.

    Which candidate that is depends on the rows, so it is no fixed question. The limit that pays for the choice, the
    lower one where the greatest mean is best, has half of the share divided by `among`: it holds for all candidates at
    once. The other has the other half. It is the same increasing function of the mean for all, so the winner's is at
    least that of the truly best candidate, which is a fixed question and has the largest mean.

    A message says whether the guess passes, or in which cell the winner's mean is. What is shown holds the interval of
    every mean with that message.
    """
    # The family of the batch, not of the winner's own column: limits must be the same function for all candidates.
    family = question.mean_family(question.chosen(guess, log_share, question.binary))
    if family is None:
        raise InvalidParameter(
            "show must be 'name' with this family, because the interval of the winner is not a function of its mean"
        )
    interval = question.interval(family)
    paid, free = log_share - math.log(2) - math.log(among), log_share - math.log(2)
    below, above = (paid, free) if greater else (free, paid)
    lower, upper = interval.of(rows, below, "lower")[0], interval.of(rows, above, "upper")[1]
    exact = Exact(rows.mean, (lower, upper))
    each = log_share - math.log(among)
    tolerance = interval.default_tolerance(guess, each)
    claimed = around(guess, tolerance, interval.low, interval.high)
    if claimed[0] <= lower and upper <= claimed[1]:
        return Outcome(True, guess, claimed, family.name, exact=exact)
    cells = interval.cells(guess, tolerance, each)
    ends = cells.ends(rows.mean)
    union = interval.over(*ends, below, "lower")[0], interval.over(*ends, above, "upper")[1]
    weight = log_cell_weight(cells.index(rows.mean))
    return Outcome(False, (ends[0] + ends[1]) / 2, union, family.name, weight, exact)


def check_procedure(procedure: Procedure, asked: Guess, log_share: float, tolerance: float, name: str) -> Outcome:
    """Check a guess by an interval that depends on more than a mean: a failure shows both ends, rounded outward."""
    claimed = around(asked.guess, tolerance, procedure.low, procedure.high)
    lower, upper = procedure.interval(log_share)
    lower, upper = min(lower, upper), max(lower, upper)  # limits by betting can cross: then they missed
    exact = Exact(getattr(procedure, "value", None), (lower, upper))
    if claimed[0] <= lower and upper <= claimed[1]:
        return Outcome(True, asked.guess, claimed, name, exact=exact)
    if not asked.show_value:
        return Outcome(False, None, None, name, exact=exact)
    pairs = pairs_for(asked, tolerance, procedure.low, procedure.high)
    ends, weight = pairs.ends(lower, upper), log_ends_weight(*pairs.steps(lower, upper))
    return Outcome(False, (ends[0] + ends[1]) / 2, ends, name, weight, exact)


def pairs_for(asked: Guess, tolerance: float, low: float, high: float) -> OutwardEnds:
    """Return the pairs that a failure may show: steps of half the tolerance, or of two `grid`, but no more than 64."""
    step = max(tolerance / 2 if asked.grid is None else 2 * asked.grid, (high - low) / _MOST_STEPS)
    return OutwardEnds(asked.guess, min(step, high - low), low, high)


def least_ends_weight(pairs: OutwardEnds) -> float:
    """`ln` of the smallest prior weight of a pair of ends within the range."""
    down, above = pairs.steps(pairs.low, pairs.high)
    return min(log_ends_weight(down, above), log_ends_weight(down, 1 - down), log_ends_weight(1 - above, above))


def claim_mean(rows: Summary, interval: MeanInterval, asked: OneSided, log_share: float) -> Outcome:
    """Check a one-sided claim about a mean: the whole share is on one tail."""
    name = interval.family.name
    ends = interval.of(rows, log_share, "lower" if asked.at_least else "upper")
    exact = Exact(rows.mean, (ends[0], interval.high) if asked.at_least else (interval.low, ends[1]))
    if asked.at_least:
        if ends[0] >= asked.bound:
            return Outcome(True, None, (asked.bound, interval.high), name, exact=exact)
    elif ends[1] <= asked.bound:
        return Outcome(True, None, (interval.low, asked.bound), name, exact=exact)
    refuse_unreachable(interval, asked, log_share)
    return Outcome(False, None, None, name, exact=exact)


def refuse_unreachable(interval: MeanInterval, asked: OneSided, log_share: float) -> None:
    """Raise if no rows can show this claim, and say which one some could. It reveals nothing about the rows."""
    room = _MARGIN * (interval.high - interval.low)
    if asked.at_least:
        best = interval.at(interval.high, log_share, "lower")[0]
        if asked.bound > best + room:
            raise InvalidParameter(
                f"at_least must be at most {_floor(best)} at this point of the run, because no rows could show more, "
                f"got {asked.bound:g}; nothing was spent"
            )
        return
    best = interval.at(interval.low, log_share, "upper")[1]
    if asked.bound < best - room:
        raise InvalidParameter(
            f"at_most must be at least {_ceil(best)} at this point of the run, because no rows could show less, got "
            f"{asked.bound:g}; nothing was spent"
        )


def claim_procedure(procedure: Procedure, asked: OneSided, log_share: float, name: str) -> Outcome:
    """Check a one-sided claim by any interval."""
    value = getattr(procedure, "value", None)
    if asked.at_least:
        limit = procedure.interval(log_share, "lower")[0]
        claimed, exact, passed = (asked.bound, procedure.high), (limit, procedure.high), limit >= asked.bound
    else:
        limit = procedure.interval(log_share, "upper")[1]
        claimed, exact, passed = (procedure.low, asked.bound), (procedure.low, limit), limit <= asked.bound
    return Outcome(passed, None, claimed if passed else None, name, exact=Exact(value, exact))


def around(guess: float, tolerance: float, low: float, high: float) -> tuple[float, float]:
    """Return what a pass claims: everything within `tolerance` of the guess, inside the range."""
    return max(low, guess - tolerance), min(high, guess + tolerance)


def refuse_small(tolerance: float, interval: MeanInterval, guess: float, log_share: float) -> None:
    """Raise if no rows can pass with this tolerance, and say which tolerance would do.

    It is asked only after rows failed, so it must be true that all rows would have: hence the margin, and the hairs
    off. `least_tolerance` has two of them in it so that its number works, and rows need not be farther off than one;
    in a range far from zero a hair is wide, and an error between the two would be a failure that nobody pays for. In
    this form the error reveals nothing about the rows.
    """
    if tolerance >= interval.reach(guess, log_share):  # rows with their mean at the guess pass: no search is needed
        return
    least = interval.least_tolerance(guess, log_share)
    if tolerance < least - 2 * interval.hair - _MARGIN * (interval.high - interval.low):
        raise InvalidParameter(
            f"tolerance must be at least {_ceil(least)} for this guess at this point of the run, because no rows "
            f"could pass with less, got {tolerance:g}; nothing was spent"
        )


def _ceil(x: float) -> str:
    """`x` rounded up to four digits, so that the number in a message works."""
    scale = 10.0 ** (3 - math.floor(math.log10(abs(x)))) if x else 1.0
    return f"{math.ceil(x * scale) / scale:.10g}"


def _floor(x: float) -> str:
    scale = 10.0 ** (3 - math.floor(math.log10(abs(x)))) if x else 1.0
    return f"{math.floor(x * scale) / scale:.10g}"


SHOWS = ("value", "bit")
WRONG_SIDES = ("both", "below", "above")
"""On which side of a guess the truth is expected where the guess is wrong."""


@dataclass(slots=True)
class MeanQuestion:
    """What is public about a question: its kind, its range and how its interval is made."""

    kind: str
    family: str
    spread: float | None
    low: float
    high: float
    binary: bool
    n: int

    def __post_init__(self) -> None:
        arguments.choice("family", self.family, ("auto", *self.families))
        if not isinstance(self.binary, bool):
            raise InvalidParameter(f"binary must be True or False, got a {type(self.binary).__name__}")
        if self.binary and (self.low, self.high) != (0.0, 1.0):
            raise InvalidParameter(
                f"binary must be False, because the range is [{self.low:g}, {self.high:g}] and not [0, 1]"
            )
        if self.spread is not None:
            spread = arguments.real("spread", self.spread, at_least=0, at_most=(self.high - self.low) / 2)
            self.spread = spread

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the intervals that may be asked for."""
        return FAMILIES

    def mean_family(self, name: str) -> MeanFamily | None:
        """Return the interval of this name, if it is a function of the mean alone."""
        return MEAN_FAMILIES.get(name)

    def guess(
        self, guess: Any, tolerance: Any, show: Any, grid: Any, side: Any = "both", guess_rows: Any = None
    ) -> Guess:
        """Check the public parts of a guess."""
        return checked_guess(guess, tolerance, show, grid, self.low, self.high, side, guess_rows)

    def claim(self, name: str, bound: Any, label: str | None = None) -> OneSided:
        """Check a one-sided claim."""
        return OneSided(arguments.real(label or name, bound, at_least=self.low, at_most=self.high), name == "at_least")

    def describe(self, asked: Guess | OneSided) -> dict[str, Any]:
        """Return the question in plain public data: what a key stands for."""
        return {
            "kind": self.kind,
            "low": self.low,
            "high": self.high,
            "family": self.family,
            "spread": self.spread,
            "binary": self.binary,
            **asked.to_dict(),
        }

    def read(self, values: Rows, name: str) -> Reading:
        """Check and sum the rows. Secret from here on."""
        if self.family == "betting":
            return Reading(self, betting(values, self.n, self.low, self.high, name))
        squares = self.family == "empirical-bernstein" or (self.family == "auto" and self.spread is not None)
        declared = self.binary or self.family == "clopper-pearson"
        return Reading(
            self,
            summarise(values, n=self.n, low=self.low, high=self.high, binary=declared, squares=squares, name=name),
        )

    def chosen(self, near: float, log_share: float, binary: bool) -> str:
        """The family's name, from what is known before the data: the range, the declared type, spread and share."""
        if self.family != "auto":
            return self.family
        if binary:
            return "clopper-pearson"
        if self.spread is None:
            return "kl"
        both: tuple[Family, ...] = ("kl", "empirical-bernstein")
        return tightest(both, near, self.n, log_share, self.spread, low=self.low, high=self.high)

    def least_tolerance(self, guess: float, log_share: float) -> float:
        """Return the smallest tolerance with which some rows (of the given spread) pass."""
        name = self.chosen(guess, log_share, self.binary)
        return self._likely(name, self.spread or 0.0).least_tolerance(guess, log_share)

    def tolerance(self, asked: Guess, log_share: float) -> float:
        """How near the truth a pass certifies the guess: the tolerance that was asked for, or the default. Public.

        One that no rows can pass with is an error, the same that `decide_check` raises.
        """
        name = self.chosen(asked.guess, log_share, self.binary)
        if asked.tolerance is not None and self.mean_family(name) is not None:
            refuse_small(asked.tolerance, self._likely(name, self.spread or 0.0), asked.guess, log_share)
        return self._tolerance(name, asked, log_share)

    def passes_within(self, asked: Guess, log_share: float) -> tuple[float, float] | None:
        """Between which means of the rows a guess passes; None where that depends on more than their mean. Public."""
        name = self.chosen(asked.guess, log_share, self.binary)
        family = self.mean_family(name)
        if family is None:
            return None
        claimed = around(asked.guess, self._tolerance(name, asked, log_share), self.low, self.high)
        return self.interval(family).passing(claimed, log_share)

    def decide_check(self, rows: Summary | Procedure, asked: Guess, log_share: float) -> Outcome:
        """Pass or fail, and what that shows."""
        name = self.chosen(asked.guess, log_share, isinstance(rows, Summary) and rows.binary)
        family = self.mean_family(name)
        if isinstance(rows, Summary) and family is not None:
            return check_mean(rows, self.interval(family), asked, log_share)
        tolerance = self._tolerance(name, asked, log_share)
        procedure = bernstein(rows) if isinstance(rows, Summary) else rows
        outcome = check_procedure(procedure, asked, log_share, tolerance, name)
        if not outcome.passed and name == "empirical-bernstein":
            refuse_small(tolerance, self._likely(name, 0.0), asked.guess, log_share)
        return outcome

    def least_weight(self, asked: Guess, log_share: float) -> float:
        """`ln` of the smallest prior weight of what a failure could show. Public."""
        if not asked.show_value:
            return 0.0
        name = self.chosen(asked.guess, log_share, self.binary)
        tolerance = self._tolerance(name, asked, log_share)
        family = self.mean_family(name)
        if family is None:
            return least_ends_weight(pairs_for(asked, tolerance, self.low, self.high))
        cells = self.interval(family).cells(asked.guess, tolerance, log_share, asked.grid)
        ends = (cells.index(self.low), cells.index(self.high), 0)
        return min(log_cell_weight(cell, asked.side) for cell in ends)

    def risk(self, asked: Guess | OneSided, log_share: float) -> float | None:
        """Return the chance that a guess fails which is the mean of some other rows; None where these are not known.

        The guess and the mean of `n` rows differ by about a normal number; the check fails where that is more than the
        tolerance leaves next to the interval.
        """
        if not isinstance(asked, Guess) or asked.guess_rows is None or log_share == -math.inf:
            return None
        name = self.chosen(asked.guess, log_share, self.binary)
        most = math.sqrt((asked.guess - self.low) * (self.high - asked.guess))
        width = self._likely(name, most if self.spread is None else self.spread).half_width(asked.guess, log_share)
        if width <= 0:
            return None
        spare = self._tolerance(name, asked, log_share) / width - 1
        distance = spare * deviations(log_share) / math.sqrt(1 + self.n / asked.guess_rows)
        return float(2 * ndtr(-max(distance, 0.0)))

    def decide_claim(self, rows: Summary | Procedure, asked: OneSided, log_share: float) -> Outcome:
        """Pass or fail."""
        name = self.chosen(asked.bound, log_share, isinstance(rows, Summary) and rows.binary)
        family = self.mean_family(name)
        if isinstance(rows, Summary) and family is not None:
            return claim_mean(rows, self.interval(family), asked, log_share)
        procedure = bernstein(rows) if isinstance(rows, Summary) else rows
        return claim_procedure(procedure, asked, log_share, name)

    def refuse_impossible(self, asked: Guess | OneSided, log_share: float) -> None:
        """Raise if no rows could pass, whatever they are: by public numbers alone."""
        if isinstance(asked, Guess):
            self.tolerance(asked, log_share)
            return
        family = self.mean_family(self.chosen(asked.bound, log_share, self.binary))
        if family is not None:
            refuse_unreachable(self.interval(family), asked, log_share)

    def decide_among(self, procedure: Procedure, asked: Guess | OneSided, log_share: float) -> Outcome:
        """Pass or fail by the interval of a mean among some of the rows; how many they are stays secret.

        What is public goes by all `n` rows: the default tolerance, and what is refused because no rows could show it.
        It is refused before the rows are looked at.
        """
        name = procedure.description
        if isinstance(asked, Guess):
            return check_procedure(procedure, asked, log_share, self.tolerance(asked, log_share), name)
        refuse_unreachable(self._likely(self.chosen(asked.bound, log_share, self.binary), 0.0), asked, log_share)
        return claim_procedure(procedure, asked, log_share, name)

    def _tolerance(self, name: str, asked: Guess, log_share: float) -> float:
        if asked.tolerance is not None:
            return asked.tolerance
        most = math.sqrt((asked.guess - self.low) * (self.high - asked.guess))  # what 0/1 values have at this mean
        likely = self._likely(name, most if self.spread is None else self.spread)
        return likely.default_tolerance(asked.guess, log_share, asked.guess_rows)

    def interval(self, family: MeanFamily) -> MeanInterval:
        """Return the interval of a family, bound to the rows and the range of this question."""
        return MeanInterval(family, self.n, self.low, self.high)

    def _likely(self, name: str, spread: float) -> MeanInterval:
        """What a family gives at a presumed spread; betting is about as wide as empirical Bernstein, or narrower."""
        family = self.mean_family(name)
        return self.interval(at_spread(spread) if family is None else family)


@dataclass(frozen=True, repr=False)
class Signs:
    """On how many rows each of two 0/1 columns beats the other: the exact sign test of "B is better than A". Secret."""

    wins: int
    losses: int
    n: int

    def decide(self, log_share: float) -> Outcome:
        """Pass where the p-value is at most the share: then B is certainly better."""
        passed = log_sign_p_value(self.wins, self.losses) <= log_share
        value = (self.wins - self.losses) / self.n
        exact = Exact(value, (0.0, 1.0) if passed else None)
        return Outcome(passed, None, (0.0, 1.0) if passed else None, "sign-test", exact=exact)


def comparison_risk(
    differences: npt.NDArray[np.float64], n: int, margin: float, signs: bool, log_share: float
) -> float | None:
    """The chance that a comparison on `n` rows fails, from the differences on other rows; None where they show nothing.

    `P(fail) = Phi((z_s - z)/sqrt(1 + n/n_other))`, with `z` the statistic that is expected on `n` rows and `z_s` the
    normal quantile of the share. For a sign test (`signs`) `z` is the signed root of twice the log-likelihood ratio,
    which follows its tails further out than the difference in standard errors does, less half a row.

    Examples
    --------
    >>> rows = np.array([1.0] * 60 + [-1.0] * 30 + [0.0] * 910)
    >>> round(comparison_risk(rows, 1000, 0.0, True, math.log(0.001)), 3)
    0.511
    """
    others = len(differences)
    spread = float(np.std(differences, ddof=1)) if others > 1 else 0.0
    if spread <= 0 or log_share == -math.inf:
        return None
    if signs:
        expected = _expected_root(int((differences > 0).sum()), int((differences < 0).sum()), n / others)
    else:
        expected = math.sqrt(n) * (float(np.mean(differences)) - margin) / spread
    return float(ndtr((-float(ndtri_exp(log_share)) - expected) / math.sqrt(1 + n / others)))


def _expected_root(wins: int, losses: int, times: float) -> float:
    """The signed root of a sign test on `times` as many rows as these, less half a row."""
    differ = wins + losses
    part = (wins + 0.5) / (differ + 1)
    ratio = part * math.log(2 * part) + (1 - part) * math.log(2 * (1 - part))
    return math.copysign(math.sqrt(2 * times * differ * ratio), part - 0.5) - 1 / math.sqrt(times * differ)


@dataclass(slots=True, repr=False)
class Reading:
    """A question together with the sums of its rows. Secret: its repr shows neither."""

    question: MeanQuestion
    rows: Summary | Procedure

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]:
        """Return what to do with a share."""
        if isinstance(asked, Guess):
            return partial(self.question.decide_check, self.rows, asked)
        return partial(self.question.decide_claim, self.rows, asked)


def checked_guess(
    guess: Any,
    tolerance: Any,
    show: Any,
    grid: Any,
    low: float,
    high: float,
    side: Any = "both",
    guess_rows: Any = None,
) -> Guess:
    """Check the public parts of a guess about something in `[low, high]`."""
    guess = arguments.real("guess", guess, at_least=low, at_most=high)
    if tolerance is not None:
        tolerance = arguments.real("tolerance", tolerance, above=0)
    if grid is not None:
        grid = arguments.real("grid", grid, at_least=(high - low) * 1e-9)
    if guess_rows is not None:
        guess_rows = arguments.whole("guess_rows", guess_rows, at_least=1)
    chosen = arguments.choice("side", side, WRONG_SIDES)
    return Guess(guess, tolerance, arguments.choice("show", show, SHOWS) == "value", grid, chosen, guess_rows)


@dataclass(frozen=True, repr=False)
class ProcedureQuestion:
    """A metric's interval, bound to a holdout of `n` rows."""

    procedure: Procedure
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.procedure, Procedure):
            raise InvalidParameter(
                f"procedure must have a method named interval, got a {type(self.procedure).__name__}"
            )
        if self.procedure.n != self.n:
            raise InvalidParameter(
                f"procedure was computed from {self.procedure.n} rows, but it must be computed from all {self.n} rows "
                "of the holdout"
            )

    def guess(self, guess: Any, tolerance: Any, show: Any, grid: Any) -> Guess:
        """Check the public parts of a guess; a tolerance is needed, since nothing is known before the data."""
        tolerance = arguments.real("tolerance", tolerance, above=0)
        return checked_guess(guess, tolerance, show, grid, self.procedure.low, self.procedure.high)

    def claim(self, name: str, bound: Any) -> OneSided:
        """Check a one-sided claim."""
        bound = arguments.real(name, bound, at_least=self.procedure.low, at_most=self.procedure.high)
        return OneSided(bound, name == "at_least")

    def describe(self, asked: Guess | OneSided) -> dict[str, Any]:
        """Return the question in plain public data: what a key stands for."""
        ends = {"low": self.procedure.low, "high": self.procedure.high}
        return {"kind": "metric", "description": self.procedure.description} | ends | asked.to_dict()

    def least_weight(self, asked: Guess) -> float:
        """`ln` of the smallest prior weight of what a failure could show. Public."""
        if not asked.show_value or asked.tolerance is None:
            return 0.0
        return least_ends_weight(pairs_for(asked, asked.tolerance, self.procedure.low, self.procedure.high))

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]:
        """Return what to do with a share."""
        return partial(self._decide, asked)

    def _decide(self, asked: Guess | OneSided, log_share: float) -> Outcome:
        name = self.procedure.description
        if isinstance(asked, OneSided):
            return claim_procedure(self.procedure, asked, log_share, name)
        if asked.tolerance is None:
            raise InvalidParameter("tolerance was not given; a metric needs one, because it has no default tolerance")
        return check_procedure(self.procedure, asked, log_share, asked.tolerance, name)
