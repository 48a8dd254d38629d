"""Alpha-spending: no false rejection in the whole stream, whatever the dependence."""

from __future__ import annotations

from typing import ClassVar

from holdfast.inference.online.discount import LORD, Discount
from holdfast.inference.online.stream import Stream


class AlphaSpending(Stream):
    """Test `t` at `alpha gamma(t)`: the levels sum to at most `alpha`.

    The probability of any false rejection stays below `alpha` by the union bound. Nothing is asked of the dependence
    between p-values, so this is the one for corrected p-values of tests on the same rows.

    Parameters
    ----------
    alpha : float
        The probability of any false rejection, in (0, 1).
    discount : Discount
        How alpha is shared out; LORD's sequence by default.

    Examples
    --------
    >>> stream = AlphaSpending(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.2, 0.0001])], round(stream.level, 6)
    ([True, False, True], 0.000412)
    """

    kind: ClassVar[str] = "alpha-spending"
    controls: ClassVar[str] = "probability of any false rejection, any dependence"

    def __init__(self, alpha: float, discount: Discount = LORD) -> None:
        super().__init__(alpha, discount)

    @property
    def wealth(self) -> float:
        """What is left of alpha; never negative."""
        return max(self._alpha - self._spent, 0.0)

    def _level(self) -> float:
        return self._alpha * self._discount.value(self._tests + 1)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        self._spent += level

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha}


__all__ = ["AlphaSpending"]
