"""SAFFRON: false discovery rate control that adapts to the share of true nulls."""

from __future__ import annotations

from typing import ClassVar

from holdfast import check
from holdfast.inference.online.discount import SAFFRON, Discount
from holdfast.inference.online.stream import RewardedStream


class Saffron(RewardedStream):
    """SAFFRON (Ramdas, Zrnic, Wainwright and Jordan 2018) with a constant candidate threshold.

    A p-value at most `candidate` is a candidate and costs nothing; rewards age only at tests that are no candidates.
    With `a_j` the number of such tests since rejection `j`, plus one, the level is

        min(candidate, (1 - candidate) (wealth gamma(a_0) + (alpha - wealth) gamma(a_1) + alpha sum_{j>=2} gamma(a_j))).

    The false discovery rate stays below `alpha` when p-values are independent; the modified rate when each null p-value
    is super-uniform given the decisions before. Constant time and memory a test, however many rejections there were;
    see `memory`.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    candidate : float
        The candidate threshold, in (0, 1); 0.5 by default.
    discount : Discount
        The sequence gamma; `j^-1.6` by default.

    Examples
    --------
    >>> stream = Saffron(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.9, 0.0001, 0.6])]
    [True, False, True, False]
    >>> round(stream.level, 6), stream.wealth > 0
    (0.005494, True)
    """

    kind: ClassVar[str] = "saffron"
    controls: ClassVar[str] = "false discovery rate, independent p-values"

    def __init__(
        self, alpha: float, wealth: float | None = None, candidate: float = 0.5, discount: Discount = SAFFRON
    ) -> None:
        super().__init__(alpha, wealth, discount)
        self._candidate = check.probability("candidate", candidate)

    def _level(self) -> float:
        return min(self._candidate, (1 - self._candidate) * self._memory.value)

    def _after(self, p: float, level: float, rejected: bool) -> None:
        if p > self._candidate:
            self._spent += level / (1 - self._candidate)
            self._memory.age()
        elif rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha, "wealth": self._start, "candidate": self._candidate}


__all__ = ["Saffron"]
