"""LORD++: false discovery rate control over a stream of independent p-values."""

from __future__ import annotations

from typing import ClassVar

from holdfast.inference.online.discount import LORD, Discount
from holdfast.inference.online.stream import RewardedStream


class LordPlusPlus(RewardedStream):
    """LORD++ (Ramdas, Yang, Wainwright and Jordan 2017; Javanmard and Montanari 2018 for the sequence).

    The level of test `t`, after rejections at `t_1 < t_2 < ...`, is

        wealth gamma(t) + (alpha - wealth) gamma(t - t_1) + alpha sum over j >= 2 of gamma(t - t_j).

    The false discovery rate stays below `alpha` at every time when null p-values are independent of each other and of
    the rest; the modified rate (expected false over expected all) when each is super-uniform given the decisions
    before. Constant time and memory a test; see `memory`.

    Parameters
    ----------
    alpha : float
        The false discovery rate to keep, in (0, 1).
    wealth : float, optional
        What may be spent before the first rejection, in (0, alpha); `alpha/2` by default.
    discount : Discount
        The sequence gamma; LORD's own by default.

    Examples
    --------
    >>> stream = LordPlusPlus(0.05)
    >>> [d.rejected for d in stream.test_all([0.001, 0.2, 0.0001, 0.6])]
    [True, False, True, False]
    >>> round(stream.level, 6)
    0.000963
    """

    kind: ClassVar[str] = "lord++"
    controls: ClassVar[str] = "false discovery rate, independent p-values"

    def __init__(self, alpha: float, wealth: float | None = None, discount: Discount = LORD) -> None:
        super().__init__(alpha, wealth, discount)

    def _level(self) -> float:
        return self._memory.value

    def _after(self, p: float, level: float, rejected: bool) -> None:
        self._memory.age()
        self._spent += level
        if rejected:
            self._reward()

    def _parameters(self) -> dict[str, float]:
        return {"alpha": self._alpha, "wealth": self._start}


__all__ = ["LordPlusPlus"]
