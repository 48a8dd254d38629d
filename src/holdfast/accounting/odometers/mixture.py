"""The Gaussian mixture boundary as an odometer: good over a wide range."""

from __future__ import annotations

from typing import Any

from holdfast import check
from holdfast.accounting.odometers.loss import LossOdometer
from holdfast.accounting.split import split
from holdfast.bounds.odometers import mixture_reading


class MixtureOdometer(LossOdometer):
    """Read Robbins' mixture boundary, `drift + sqrt(2 (V + g) log(sqrt((V + g)/g)/slack))`; two-sided.

    Whitehouse, Ramdas, Rogers and Wu 2023 after Robbins 1970; re-derived. No range for V, no horizon.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    gamma : float
        `g`, above 0, fixed in advance: sharpest where V is ten to twenty times as large.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import MixtureOdometer, PureDP
    >>> odometer = MixtureOdometer(1e-6)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    1.8447
    """

    name = "mixture"

    def __init__(self, delta: float, gamma: float = 0.005, *, delta_sum: float = 0.0) -> None:
        super().__init__(*split(delta, delta_sum))
        self.gamma = check.real("gamma", gamma, above=0)

    def parameters(self) -> dict[str, Any]:
        """The failure probability and the mixture."""
        return super().parameters() | {"gamma": self.gamma}

    def _bound(self, drift: float, squares: float) -> float:
        return mixture_reading(drift, squares, self._double_slack, self.gamma)


__all__ = ["MixtureOdometer"]
