"""The reusable holdout: guess and check by transcript coding, certified against any analyst."""

from __future__ import annotations

import math
import threading
from typing import Any

from holdfast import check
from holdfast.accounting.costs import Bits
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.interval.width import MOST
from holdfast.data.values import Rows, summarise
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout.cells import Cells
from holdfast.holdout.families import FAMILIES, Family
from holdfast.holdout.shares import Shares
from holdfast.mechanisms.answer import Answer

_ASSUMPTION = "rows independent and identically distributed; the holdout was not used before"


class ReusableHoldout:
    """A plan for checking adaptively chosen guesses on `n` held-out rows.

    Examples
    --------
    >>> holdout = ReusableHoldout(10_000, questions=1000)
    >>> answer = holdout.check([1] * 8000 + [0] * 2000, guess=0.81)
    >>> answer.passed, answer.value, round(answer.half_width, 4), answer.remaining["questions"]
    (True, 0.81, 0.0353, 999)
    """

    def __init__(
        self,
        n: int,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        self.n = check.whole("n", n, at_least=1, at_most=MOST)
        self.low, self.high = check.real("low", low), check.real("high", high)
        if not self.low < self.high:
            raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
        self._shares = Shares(confidence, questions, failures)
        self._asked = 0
        self._failed = 0
        self._log_shown = 0.0
        self._lock = threading.Lock()

    def check(
        self, holdout_values: Rows, guess: float, tolerance: float | None = None, *, show: str = "value"
    ) -> Answer:
        """Check a guess of a mean against the holdout."""
        guess = check.real("guess", guess, at_least=self.low, at_most=self.high)
        if tolerance is not None:
            tolerance = check.real("tolerance", tolerance, above=0)
        rows = summarise(holdout_values, n=self.n, low=self.low, high=self.high, name="holdout_values")
        family: Family = FAMILIES["hoeffding"]
        with self._lock:
            self._refuse_if_over()
            t, f = self._asked + 1, self._failed
            share = self._shares.log_share(t, f, self._log_shown)
            lower, upper = family.at(guess, self.n, share, self.low, self.high, "both")
            width = max(guess - lower, upper - guess)
            tolerance = 1.5 * width if tolerance is None else tolerance
            if tolerance < width:
                raise InvalidParameter(f"tolerance must be at least {width:.4g} here, got {tolerance:g}")
            claimed = max(self.low, guess - tolerance), min(self.high, guess + tolerance)
            lower, upper = family.of(rows, share, "both")
            self._asked = t
            value: float | None
            interval: tuple[float, float] | None
            passed = claimed[0] <= lower and upper <= claimed[1]
            if passed:
                value, interval, count = guess, claimed, 0
            else:
                self._failed = f + 1
                cells = Cells.of_half_width(min(max(tolerance - width, width / 2), 2 * width), self.low, self.high)
                index = cells.index(rows.mean)
                value, count = cells.midpoint(index), cells.count
                interval = (
                    family.at(cells.edge(index), self.n, share, self.low, self.high, "both")[0],
                    family.at(cells.edge(index + 1), self.n, share, self.low, self.high, "both")[1],
                )
                if show == "bit" or (self._shares.failures is not None and f >= self._shares.failures):
                    value, interval, count = None, None, 1
                self._log_shown = up(self._log_shown + up(math.log(count)))
            parameters: dict[str, Any] = {"beta": self._shares.beta, "question": t, "failures": f}
            guarantee = Guarantee("holdout.guess-and-check-width", parameters, _ASSUMPTION)
            left = self._shares.left(self._asked, self._failed)
        return Answer(value, interval, guarantee, Bits.of_values(1 + max(count, 1)), left, passed)

    def _refuse_if_over(self) -> None:
        if self._shares.left(self._asked, self._failed)["questions"] <= 0:
            raise BudgetExhausted("every planned question of this holdout was asked")


__all__ = ["ReusableHoldout"]
