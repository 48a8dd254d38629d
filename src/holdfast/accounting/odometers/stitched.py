"""The stitched boundary as an odometer: the right growth at every scale."""

from __future__ import annotations

from typing import Any

from holdfast import check
from holdfast.accounting.odometers.loss import LossOdometer
from holdfast.accounting.split import split
from holdfast.bounds.odometers import stitched_reading


class StitchedOdometer(LossOdometer):
    """Read `drift + 1.7 sqrt(V (log log(2V/v0) + 0.72 log(5.2/slack)))` from `V = v0` on.

    Howard, Ramdas, McAuliffe and Sekhon 2021, as used by Whitehouse et al. 2023; their constants, tested here against
    exact crossing probabilities and not re-derived. Before `v0` the boundary is read ahead (`LossOdometer`), where the
    printed form has no reading.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    start : float
        `v0`, above 0, fixed in advance: about the square of the first epsilon.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    two_sided : bool
        Bound the loss in both directions, each with half of the slack.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, StitchedOdometer
    >>> odometer = StitchedOdometer(1e-6, start=1e-4)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    2.0004
    """

    name = "stitched"

    def __init__(self, delta: float, start: float = 1e-4, *, delta_sum: float = 0.0, two_sided: bool = False) -> None:
        super().__init__(*split(delta, delta_sum), two_sided=two_sided)
        self.start = check.real("start", start, above=0)

    def parameters(self) -> dict[str, Any]:
        """The failure probability, the start and the sides."""
        return super().parameters() | {"start": self.start, "two_sided": self.two_sided}

    def _bound(self, drift: float, squares: float) -> float:
        return stitched_reading(drift, max(squares, self.start), self._slack_a_side, self.start)


__all__ = ["StitchedOdometer"]
