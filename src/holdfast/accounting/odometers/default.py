"""The odometer to use when in doubt."""

from __future__ import annotations

from holdfast.accounting.increments import HALF
from holdfast.accounting.odometers.basic import BasicOdometer
from holdfast.accounting.odometers.inversion import InversionOdometer
from holdfast.accounting.odometers.minimum import MinimumOdometer
from holdfast.accounting.odometers.mixture import MixtureOdometer
from holdfast.accounting.split import split
from holdfast.accounting.totals import plus, read_down, times


def default_odometer(delta: float, *, delta_sum: float = 0.0, n: int = 10_000, gamma: float = 0.005) -> MinimumOdometer:
    """Make the default for pure and point-wise costs: the least of basic, exact inversion and mixture; two-sided.

    Basic is best for few costs and joins for nothing; the other two get half of the slack each. For Gaussian and other
    concentrated costs use `RenyiOdometer`. After equal pure rounds it reads what `bounds.odometers.reading("combined")`
    returns.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    n : int
        Sets the range of the inversion, V in `[1/n^2, 1]`.
    gamma : float
        The mixture's parameter: sharpest where V is ten to twenty times as large.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, default_odometer
    >>> odometer = default_odometer(1e-6)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 3)
    1.88...
    """
    slack, room = split(delta, delta_sum)
    share = read_down(plus(times(HALF, slack), room))
    return MinimumOdometer(
        [
            BasicOdometer(delta_sum),
            InversionOdometer(share, n, delta_sum=delta_sum),
            MixtureOdometer(share, gamma, delta_sum=delta_sum),
        ]
    )


__all__ = ["default_odometer"]
