"""The dissertation's odometer with its constant solved for instead of bounded."""

from __future__ import annotations

from typing import Any, Literal

from holdfast import check
from holdfast.accounting.odometers.loss import LossOdometer
from holdfast.accounting.split import split
from holdfast.bounds.odometers import factor_reading, inversion_factor, printed_delta, range_of


class InversionOdometer(LossOdometer):
    """Read `drift + s sqrt(V)` while `V <= 1`, where `s` solves the concentration inequality exactly; two-sided.

    Derived and reviewed: the inequality behind Theorem 5.6.5 of the dissertation, inverted; beyond `V = 1` its (5.18).
    Below `V = 1/n^2` the boundary is read ahead (`LossOdometer`). About a quarter below the printed odometer.

    It reads less than `bounds.odometers.reading("inversion-sharp")` at the same delta: that one keeps half of delta for
    point-wise deltas, as printed; this one counts their room apart (`printed_delta`) and uses all the rest.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    method : str
        "sharp": cells of log-width 2/s (proof in `bounds.odometers.inversion_factor`), called "inversion-sharp" among
        the bounds; "reviewed": the constant of the dissertation's source, called "inversion" there.

    Examples
    --------
    >>> from holdfast.accounting import InversionOdometer, PureDP
    >>> odometer = InversionOdometer(1e-6, n=10_000)
    >>> for _ in range(50):
    ...     odometer.record(PureDP(0.1))
    >>> round(odometer.reading(), 6)
    4.540...
    """

    name = "inversion"

    def __init__(
        self,
        delta: float,
        n: int = 10_000,
        *,
        delta_sum: float = 0.0,
        method: Literal["sharp", "reviewed"] = "sharp",
    ) -> None:
        super().__init__(*split(delta, delta_sum))
        self.n = range_of(n)
        self.method = check.choice("method", method, ("sharp", "reviewed"))
        self._printed = printed_delta(self._double_slack, self.n)
        self._factor = inversion_factor(self.n, self._printed / 2, method)

    def parameters(self) -> dict[str, Any]:
        """The failure probability, the range and the constant."""
        return super().parameters() | {"n": self.n, "method": self.method}

    def _bound(self, drift: float, squares: float) -> float:
        return factor_reading(drift, max(squares, 1 / self.n**2), self.n, self._printed, self._factor)


__all__ = ["InversionOdometer"]
