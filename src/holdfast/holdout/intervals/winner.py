"""The interval of the best of several candidates on 0/1 rows: never wider than Bonferroni's, and mostly shorter.

Let `m` candidates have true means `p_i`, let `b` be the truly best one, and let `K` be the largest count, that of the
winner. An upper limit `U(K)` that does not fall in `K` fails only where `U(k_b) <= U(K) < p_b`, and `b` is a fixed
question. A lower limit may fail for any candidate. So with `u(p) = P_p(U(k) < p)` and `l(p) = P_p(L(k) > p)` both hold
except with a probability of at most

    u(p_b) + l(p_b) + (m - 1) max(l(p): p <= p_b).

How the level is divided between the two may therefore depend on `p`: any division will do for which this is at most the
level at every `p_b`, as one where the part for lower limits does not fall in `p`. It is fixed before the rows:

- *far from 1* the lower limit has about half of the level, divided by `m`, and the upper limit has the rest undivided;
- *near 1* there is nothing to gain above, and lower limits need everything: there Blaker's intervals at the level
  divided by `m` are used, which are Bonferroni's;
- *in between* the part for lower limits rises from one half to three quarters.

Near and far are counted in expected failures, `n (1 - p)`. What the choice may have lost has a level of its own where
the upper limit is far from 1. Where it is near, the loss is at most the length of the interval, since `b` is below its
upper limit too, and nothing is spent on it there.

For two candidates, and for few rows (below 60, or 300 divided by the number of candidates), there is little to gain:
all is near, unless the loss is claimed on 300 rows or more; then all within 60 expected failures is.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from holdfast.bounds.numerics.binomial import log_at_least, log_at_most
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.one_question.means import blaker

LARGEST = math.log(0.1)
"""For larger levels the tails that are compared here need not fall as they should."""
_FEW_ROWS, _ROWS_OF_ALL = 60, 300
_NEAR, _NO_LOSS, _FEW_NEAR = 3.0, 28.0, 60.0
"""Expected failures beyond `ln(m / level)` up to which all is near, and up to which the loss has no level."""
_PARTS = ((3.0, 0.74), (9.0, 0.68), (20.0, 0.66), (45.0, 0.63), (90.0, 0.5))
_FEW_PARTS = ((60.0, 0.62), (260.0, 0.5))
"""Expected failures beyond `ln(m / level)` and the part of the level for lower limits; the second where there is little
to gain."""


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
    2 1.0
    60 0.82
    """
    whole = max(log_part, log_loss) + math.log1p(math.exp(-abs(log_part - log_loss)))
    each = blaker(ones, n, whole - math.log(count))
    claimed = log_loss > -math.inf
    few = count == 2 or n * count < _ROWS_OF_ALL or n < _FEW_ROWS
    if count == 1 or (few and (not claimed or n < _ROWS_OF_ALL)):
        return WinnerLimits(each.low, each.high, True)
    from_edge = math.log(count) - whole
    far = from_edge + (_FEW_NEAR if few else _NEAR)
    no_loss = from_edge + (_FEW_NEAR if few else _NO_LOSS)
    division = _Division(ones, n, count, log_part, whole, from_edge, no_loss if claimed else -math.inf, few)
    edge = 1 - far / n
    if edge <= 0:
        return WinnerLimits(each.low, each.high, True)
    low, high = division.lower(edge), division.upper(edge)
    low = max(edge, each.low) if low is None else low
    high = each.high if each.high > edge or high is None else high
    return WinnerLimits(low, max(low, high), claimed and high > 1 - no_loss / n)


@dataclass(frozen=True)
class _Division:
    """How the level is divided where all is not near, and the limits that follow."""

    ones: int
    n: int
    count: int
    log_part: float
    whole: float
    from_edge: float
    no_loss: float
    few: bool

    def parts(self, p: float, loss: bool) -> tuple[float, float]:
        """`ln` of what a lower limit and the upper limit may fail with at `p`; `loss` where that has its level."""
        failures = self.n * (1 - p) - self.from_edge
        part = _between(failures, _FEW_PARTS) if self.few else min(_between(failures, _PARTS), 1 - 1 / self.count)
        level = self.log_part if loss else self.whole
        left = 1 - part
        if loss and self.whole - self.log_part < -math.log(0.8):  # a small loss is taken from the upper limit alone
            level, left = self.whole, math.exp(self.log_part - self.whole) - part
        return level + math.log(part) - math.log(self.count), level + math.log(left)

    def pieces(self, edge: float) -> list[tuple[float, float, bool]]:
        """Stretches of `p` below the edge on which the parts change without a jump."""
        turns = {0.0, edge, 1 - self.no_loss / self.n if self.no_loss > -math.inf else edge}
        parts = _FEW_PARTS if self.few else _PARTS
        turns |= {1 - (self.from_edge + failures) / self.n for failures, _ in parts}
        ends = sorted(p for p in turns if 0 <= p <= edge)
        whole = 1 - self.no_loss / self.n if self.no_loss > -math.inf else 0.0
        return [(a, b, (a + b) / 2 < whole) for a, b in itertools.pairwise(ends) if b > a]

    def lower(self, edge: float) -> float | None:
        """The smallest `p` that the lower tail does not leave out; None where it leaves out all below the edge."""
        if self.ones == 0:
            return 0.0
        for a, b, loss in self.pieces(edge):
            if self._low_out(b, loss):
                continue
            while b - a > 1e-15 and (middle := (a + b) / 2) not in (a, b):
                a, b = (middle, b) if self._low_out(middle, loss) else (a, middle)
            return max(0.0, down(a, 4))
        return None

    def upper(self, edge: float) -> float | None:
        """The largest `p` below the edge that the upper tail does not leave out; None where it leaves out all."""
        for a, b, loss in reversed(self.pieces(edge)):
            if self._high_out(a, loss):
                continue
            if not self._high_out(b, loss):
                return b
            while b - a > 1e-15 and (middle := (a + b) / 2) not in (a, b):
                a, b = (a, middle) if self._high_out(middle, loss) else (middle, b)
            return min(1.0, up(b, 4))
        return None

    def _low_out(self, p: float, loss: bool) -> bool:
        if self.n * p >= self.ones:  # where the tail is above every part
            return False
        return p <= 0 or log_at_least(self.ones, self.n, p)[0] <= self.parts(p, loss)[0] - 1e-9

    def _high_out(self, p: float, loss: bool) -> bool:
        if self.n * p <= self.ones:
            return False
        return p > 0 and log_at_most(self.ones, self.n, p)[0] <= self.parts(p, loss)[1] - 1e-9


def _between(failures: float, parts: tuple[tuple[float, float], ...]) -> float:
    """The part for lower limits at so many expected failures beyond `ln(m / level)`."""
    for (a, high), (b, low) in itertools.pairwise(parts):
        if failures <= b:
            return high - (high - low) * min(max(failures - a, 0.0) / (b - a), 1.0)
    return parts[-1][1]
