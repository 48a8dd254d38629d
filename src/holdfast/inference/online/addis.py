"""ADDIS: SAFFRON that also discards p-values too large to matter, for conservative nulls."""

from __future__ import annotations

from typing import ClassVar

from holdfast import check
from holdfast.inference.online.discount import SAFFRON, Discount
from holdfast.inference.online.stream import RewardedStream


class Addis(RewardedStream):
    """ADDIS (Tian and Ramdas 2019) with constant thresholds.

    A p-value above `discard` is not counted at all; otherwise as SAFFRON, with `discard - candidate` in place of
    `1 - candidate`. It gains where null p-values are conservative. They must be independent and *uniformly*
    conservative: super-uniform also given that they are at most any bound. An adjusted p-value of `AfterLooking` is
    only known to be super-uniform, so give those to `AlphaSpending` or `Saffron`.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    candidate, discard : float
        The thresholds, `0 < candidate < discard <= 1`; 0.25 and 0.5 by default.
    discount : Discount
        The sequence gamma; `j^-1.6` by default.

    Examples
    --------
    >>> stream = Addis(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.9, 0.0001, 0.3])]
    [True, False, True, False]
    """

    kind: ClassVar[str] = "addis"
    controls: ClassVar[str] = "false discovery rate, independent and uniformly conservative p-values"

    def __init__(
        self,
        alpha: float,
        wealth: float | None = None,
        candidate: float = 0.25,
        discard: float = 0.5,
        discount: Discount = SAFFRON,
    ) -> None:
        super().__init__(alpha, wealth, discount)
        self._discard = check.probability("discard", discard, one=True)
        self._candidate = check.real("candidate", candidate, above=0, below=self._discard)

    def _level(self) -> float:
        return min(self._candidate, (self._discard - self._candidate) * self._memory.value)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        if p > self._discard:
            return
        if p > self._candidate:
            self._spent += level / (self._discard - self._candidate)
            self._memory.age()
        elif rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {
            "alpha": self._alpha,
            "wealth": self._start,
            "candidate": self._candidate,
            "discard": self._discard,
        }


__all__ = ["Addis"]
