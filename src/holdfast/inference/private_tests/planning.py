"""How many records, or how much budget, a target power needs: every power function, solved for one of its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.search import first_whole
from holdfast.errors import GuaranteeUnavailable
from holdfast.inference.private_tests.power import Power

Predict = Callable[..., Power]

_MOST_RECORDS = 10**12
_RANGES = {"rho": (1e-12, 1e4), "epsilon": (1e-6, 60.0)}


@dataclass(frozen=True)
class Planned:
    """The smallest number that reaches a target power.

    Attributes
    ----------
    what : {"n", "rho", "epsilon"}
        Which number.
    value : int or float
        The number; a budget is rounded up to four digits.
    target : float
        The power asked for.
    predicted : Power
        What is predicted there, at least the target.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> print(sample_size(gof_power, 0.8, p0=p0, p1=p1, rho=0.00125))
    n = 29561 for power 0.8: projected GOF: power 0.8 at n = 29561, alpha 0.05 (limit); cost ZCDP(rho=0.00125)
    """

    what: str
    value: float
    target: float
    predicted: Power

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"what": self.what, "value": self.value, "target": self.target, "predicted": self.predicted.to_dict()}

    def __str__(self) -> str:
        return f"{self.what} = {self.value:.10g} for power {self.target:g}: {self.predicted}"


def sample_size(predict: Predict, power: float = 0.8, *, at_most: int = _MOST_RECORDS, **setting: Any) -> Planned:
    """The fewest records with which a test reaches `power`.

    Parameters
    ----------
    predict : callable
        `gof_power`, `independence_power`, `gwas_power`, `local_gof_power`, `local_independence_power`, or any function
        that takes `n` and returns a `Power`.
    power : float
        The target, in (0, 1).
    at_most : int
        Where to give up.
    **setting
        Everything else that `predict` takes: the null, the alternative, the budget, the method, the level.

    Returns
    -------
    Planned
        By doubling and bisection: about 40 predictions. The limit is a limit: check what you build on with
        `predict(..., trials=20_000)`.

    Raises
    ------
    GuaranteeUnavailable
        Where no `n` up to `at_most` is enough: the null is true, or the budget falls with n.

    Examples
    --------
    The printed formula's n, 29475.706 before rounding (spec TV-41):

    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> sample_size(gof_power, 0.8, p0=p0, p1=p1, rho=0.00125, at="null").value
    29476
    """
    target = check.probability("power", power)
    most = check.whole("at_most", at_most, at_least=2)

    def reached(n: int) -> bool:
        return predict(n=n, **setting).power >= target

    found = first_whole(reached, 2, limit=most)
    if found is None:
        raise GuaranteeUnavailable(
            f"no n up to {most} gives power {target:g}: make the alternative larger or the target smaller"
        )
    return Planned("n", found, target, predict(n=found, **setting))


def budget(
    predict: Predict, power: float = 0.8, *, spend: Literal["rho", "epsilon"] = "rho", **setting: Any
) -> Planned:
    """The smallest rho or epsilon with which a test of `n` records reaches `power`.

    Parameters
    ----------
    predict : callable
        As in `sample_size`; it must take `spend` as a keyword.
    power : float
        The target, in (0, 1).
    spend : {"rho", "epsilon"}
        Which budget to solve for.
    **setting
        Everything else that `predict` takes, `n` included.

    Returns
    -------
    Planned
        Rounded up to four digits.

    Raises
    ------
    GuaranteeUnavailable
        Where no budget is enough, because not even the exact counts have that power.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [0.25] * 4, [0.26, 0.24, 0.24, 0.26]
    >>> budget(gof_power, 0.8, p0=p0, p1=p1, n=10_000).value
    0.000855
    >>> budget(gof_power, 0.8, p0=p0, p1=p1, n=1_000)
    Traceback (most recent call last):
        ...
    holdfast.errors.GuaranteeUnavailable: no rho up to 10000 gives power 0.8: not even exact counts would; more ...
    """
    target = check.probability("power", power)
    check.choice("spend", spend, tuple(_RANGES))
    low, high = _RANGES[spend]

    def reached(amount: float) -> bool:
        return predict(**{spend: amount}, **setting).power >= target

    if not reached(high):
        raise GuaranteeUnavailable(
            f"no {spend} up to {high:g} gives power {target:g}: not even exact counts would; more records will"
        )
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    value = _four_digits_up(high)
    below = _four_digits_up(low)  # the last bracket may straddle a shorter number
    value = below if below < value and reached(below) else value
    return Planned(spend, value, target, predict(**{spend: value}, **setting))


def power_curve(predict: Predict, ns: Sequence[int], **setting: Any) -> list[Power]:
    """The power at each of `ns`; what `power_chart` draws.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> found = power_curve(gof_power, [1000, 10_000], p0=[0.25] * 4, p1=[0.26, 0.24, 0.24, 0.26], rho=0.00125)
    >>> [round(point.power, 3) for point in found]
    [0.073, 0.844]
    """
    return [predict(n=n, **setting) for n in ns]


def _four_digits_up(x: float) -> float:
    digits = 3 - math.floor(math.log10(x))
    return float(f"{math.ceil(x * 10.0**digits * (1 - 1e-12)) / 10.0**digits:.4g}")


__all__ = ["Planned", "Predict", "budget", "power_curve", "sample_size"]
