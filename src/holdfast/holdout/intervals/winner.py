"""The interval of the best of several candidates on 0/1 rows: never wider than Bonferroni's, and mostly shorter.

Let `m` candidates have true means `p_i`, let `b` be the truly best one, and let `K` be the largest count, that of the
winner. An upper limit `U(K)` that does not fall in `K` fails only where `U(k_b) <= U(K) < p_b`, and `b` is a fixed
question. A lower limit may fail for any candidate. So with `u(p) = P_p(U(k) < p)` and `l(p) = P_p(L(k) > p)` both hold
except with a probability of at most

    u(p_b) + l(p_b) + (m - 1) max(l(p): p <= p_b).

How the level is divided between the two may therefore depend on `p`: any division will do for which this is at most the
level at every `p_b`, as one where the part for lower limits does not fall in `p`. It is fixed before the rows (derived;
no paper has it):

- *far from 1* the lower limit has about half of the level, divided by `m`, and the upper limit has the rest undivided;
- *near 1* there is less to gain above, since upper limits end at 1, and lower limits need more. Bonferroni has Blaker's
  intervals at the level divided by `m` there, and the lower ones of these use three fifths to three quarters of it
  where upper limits are near 1, the rest being the tail on the other side. So this much is enough to be no wider, and
  what is left, undivided, shortens every interval that ends below the lower limit of the largest count.

How much it is goes by the rows, the candidates and the level. The smallest part that is wider than Bonferroni at none
of the largest counts is looked for, before any row is read. Near and far are counted in expected failures, `n (1 - p)`.
Where no part will do, as for two candidates or a handful on few rows, all near 1 is Bonferroni's, and the level is
divided further down.

What the choice may have lost has a level of its own where the upper limit is far from 1. Where it is near, the loss is
at most the length of the interval, since `b` is below its upper limit too, and nothing is spent on it there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from holdfast.bounds.numerics.binomial import log_at_least, log_at_most
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.one_question.means import Limits, blaker

LARGEST = math.log(0.1)
"""For larger levels the tails that are compared here need not fall as they should."""
_NO_LOSS = 28.0
"""Expected failures beyond `ln(m / level)` up to which the loss has no level."""
_PARTS = tuple(0.5 + 0.02 * step for step in range(18))
"""The parts of the level for lower limits near 1 that are tried."""
_SLOWLY, _FAST = ((20.0, 0.66), (45.0, 0.63), (90.0, 0.5)), ((25.0, 0.5),)
"""How such a part falls: expected failures beyond `ln(m / level)`, and the most that it is from there on. Some short
lists need the second."""
_COMPARED = 12
"""Counts with up to so many failures beyond twice `ln(m / level)` are compared with Bonferroni's interval."""
_FEW, _OF_TWO = 450, ((60.0, 0.62), (260.0, 0.5))
"""Where no part will do: values, rows times candidates, below which all is Bonferroni's; and how the part falls for two
candidates. Others have the first of the falls above, and all is Bonferroni's where that has not begun."""


@dataclass(frozen=True)
class WinnerLimits:
    """The interval of the winner; `near` says that its length is what the choice may have lost."""

    low: float
    high: float
    near: bool


def winner_limits(ones: int, n: int, count: int, log_part: float, log_loss: float = -math.inf) -> WinnerLimits:
    """Return the interval of the best of `count` candidates, the one with most ones.

    Parameters
    ----------
    ones, n : int
        The count of the winner, and the rows.
    count : int
        How many candidates there are.
    log_part, log_loss : float
        `ln` of the level for the interval, and of that for the loss of the choice where it is claimed too.

    Examples
    --------
    >>> for candidates in (1, 2, 60):
    ...     ours = winner_limits(850, 1000, candidates, math.log(0.05))
    ...     each = blaker(850, 1000, math.log(0.05 / candidates))
    ...     print(candidates, round((ours.high - ours.low) / (each.high - each.low), 2))
    1 1.0
    2 0.96
    60 0.82
    """
    division = _division(n, count, log_part, log_loss)
    if division is None:
        low, high = blaker(ones, n, _sum(log_part, log_loss) - math.log(count))
        return WinnerLimits(low, high, True)
    low, high = division.limits(ones)
    return WinnerLimits(low, high, log_loss > -math.inf and high > division.no_loss)


@lru_cache(maxsize=256)
def _division(n: int, count: int, log_part: float, log_loss: float) -> _Division | None:
    """How the level is divided; None where all is Bonferroni's."""
    if count == 1:
        return None
    whole, claimed = _sum(log_part, log_loss), log_loss > -math.inf
    from_edge = math.log(count) - whole
    given = n, count, log_part, whole, from_edge
    no_loss = max(0.0, 1 - (from_edge + _NO_LOSS) / n) if claimed else 0.0
    least = max(0, n - int(2 * from_edge) - _COMPARED)
    widths = {ones: _length(blaker(ones, n, whole - math.log(count))) for ones in range(n, least - 1, -1)}
    for falls, part in itertools.product((_SLOWLY, _FAST), _PARTS):
        points = ((0.0, part), *((failures, min(part, most)) for failures, most in falls))
        division = _Division(*given, no_loss, 1.0, points)
        if all(_length(division.limits(ones)) <= width * (1 + 1e-6) for ones, width in widths.items()):
            return division
    points = _OF_TWO if count == 2 else _SLOWLY
    edge = 1 - (from_edge + points[0][0]) / n
    if n * count < _FEW or edge <= 0:
        return None
    return _Division(*given, min(edge, no_loss) if count > 2 else edge if claimed else 0.0, edge, points)


def _sum(log_part: float, log_loss: float) -> float:
    """`ln` of the level for both."""
    return max(log_part, log_loss) + math.log1p(math.exp(-abs(log_part - log_loss)))


def _length(limits: Limits) -> float:
    return limits.high - limits.low


@dataclass(frozen=True)
class _Division:
    """How the level is divided, and the limits that follow.

    Below the `edge` lower limits have the parts of `points`, and upper limits the rest; the loss has its level below
    `no_loss`. Between the edge and 1 all is Bonferroni's.
    """

    n: int
    count: int
    log_part: float
    whole: float
    from_edge: float
    no_loss: float
    edge: float
    points: tuple[tuple[float, float], ...]

    def parts(self, p: float, loss: bool) -> tuple[float, float]:
        """`ln` of what a lower limit and the upper limit may fail with at `p`; `loss` where that has its level."""
        part = _between(self.n * (1 - p) - self.from_edge, self.points)
        level, left = self.whole, 1 - part
        if loss and self.whole - self.log_part < -math.log(0.8):  # a small loss is taken from the upper limit alone
            left = math.exp(self.log_part - self.whole) - part
        elif loss:
            level = self.log_part
        return level + math.log(part) - math.log(self.count), level + math.log(left)

    @cached_property
    def pieces(self) -> list[tuple[float, float, bool]]:
        """Stretches of `p` below the edge on which the parts do not jump, and whether the loss has its level there."""
        turns = {0.0, self.edge, self.no_loss}
        turns |= {1 - (self.from_edge + failures) / self.n for failures, _ in self.points}
        ends = sorted(p for p in turns if 0 <= p <= self.edge)
        return [(a, b, b <= self.no_loss) for a, b in itertools.pairwise(ends) if b > a]

    def limits(self, ones: int) -> Limits:
        """The interval where the largest count is this one; beyond the edge it is Bonferroni's."""
        low, high = self.lower(ones), self.upper(ones)
        if self.edge < 1:
            each = blaker(ones, self.n, self.whole - math.log(self.count))
            low = max(self.edge, each.low) if low is None else low
            high = each.high if each.high > self.edge or high is None else high
        assert low is not None
        assert high is not None
        return Limits(low, max(low, high))

    def lower(self, ones: int) -> float | None:
        """The smallest `p` that the lower tail does not leave out; None where it leaves out all below the edge."""
        if ones == 0:
            return 0.0
        for a, b, loss in self.pieces:
            if self._low_out(ones, b, loss):
                continue
            while b - a > 1e-15 and (middle := (a + b) / 2) not in (a, b):
                a, b = (middle, b) if self._low_out(ones, middle, loss) else (a, middle)
            return max(0.0, down(a, 4))
        return None

    def upper(self, ones: int) -> float | None:
        """The largest `p` below the edge that the upper tail does not leave out; None where it leaves out all."""
        for a, b, loss in reversed(self.pieces):
            if self._high_out(ones, a, loss):
                continue
            if not self._high_out(ones, b, loss):
                return b
            while b - a > 1e-15 and (middle := (a + b) / 2) not in (a, b):
                a, b = (a, middle) if self._high_out(ones, middle, loss) else (middle, b)
            return min(1.0, up(b, 4))
        return None

    def _low_out(self, ones: int, p: float, loss: bool) -> bool:
        if self.n * p >= ones:  # where the tail is above every part
            return False
        return p <= 0 or log_at_least(ones, self.n, p)[0] <= self.parts(p, loss)[0] - 1e-9

    def _high_out(self, ones: int, p: float, loss: bool) -> bool:
        if self.n * p <= ones:
            return False
        return p >= 1 or log_at_most(ones, self.n, p)[0] <= self.parts(p, loss)[1] - 1e-9


def _between(failures: float, parts: tuple[tuple[float, float], ...]) -> float:
    """The part for lower limits at so many expected failures beyond `ln(m / level)`."""
    for (a, high), (b, low) in itertools.pairwise(parts):
        if failures <= b:
            return high - (high - low) * min(max(failures - a, 0.0) / (b - a), 1.0)
    return parts[-1][1]
