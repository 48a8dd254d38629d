"""A straight boundary as an odometer: sharp at one point."""

from __future__ import annotations

from typing import Any

from holdfast import check
from holdfast.accounting.odometers.loss import LossOdometer
from holdfast.accounting.split import split
from holdfast.bounds.odometers import line_reading


class LineOdometer(LossOdometer):
    """Read a boundary that is straight in V and touches advanced composition where the reading is `target`.

    Whitehouse, Ramdas, Rogers and Wu 2023; Ville's inequality at one argument. The best odometer near its target and
    poor far from it.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    target : float
        The reading near which it should be sharp, above 0; fixed in advance.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    two_sided : bool
        Bound the loss in both directions, each with half of the slack.

    Examples
    --------
    >>> from holdfast.accounting import LineOdometer, PureDP
    >>> odometer = LineOdometer(1e-6, target=1.0)
    >>> for _ in range(100):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    0.6369
    """

    name = "line"

    def __init__(self, delta: float, target: float = 1.0, *, delta_sum: float = 0.0, two_sided: bool = False) -> None:
        super().__init__(*split(delta, delta_sum), two_sided=two_sided)
        self.target = check.real("target", target, above=0)

    def parameters(self) -> dict[str, Any]:
        """The failure probability, the target and the sides."""
        return super().parameters() | {"target": self.target, "two_sided": self.two_sided}

    def _bound(self, drift: float, squares: float) -> float:
        return line_reading(drift, squares, self._slack_a_side, self.target)


__all__ = ["LineOdometer"]
