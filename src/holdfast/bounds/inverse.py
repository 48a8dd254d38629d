"""`solve`: the value of one parameter at which a monotone theorem reaches a target.

A theorem turns parameters into a bound. Planning goes the other way: how many rows, how many questions, which epsilon.
Where the bound only rises or only falls in the parameter, a search over the parameter's domain answers that without
code of its own for each theorem.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Literal

from holdfast.bounds.numerics.search import neighbours
from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import Theorem, entry_of, lookup
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

_SMALLEST = 1e-300  # an excess is at least so far from 0, so that its sign is that of the comparison


def solve(
    theorem: str | Callable[..., Any],
    *,
    for_: str,
    target: float,
    goal: Literal["at most", "at least"] = "at most",
    near: float | None = None,
    within: float = 0.0,
    **others: Any,
) -> float | int:
    """Return the parameter value at which a theorem just reaches a target.

    `for_` names the parameter. If the theorem's value rises with this parameter and must be at most `target`, the
    result is the largest parameter value that meets the target. If it falls, the result is the smallest. Whole numbers
    are exact. For a real parameter the result is a floating-point number at which the theorem meets the target while at
    its neighbour, or at a number as near as `within` says, it does not.

    Parameters
    ----------
    theorem : str or callable
        A theorem's id or its function.
    for_ : str
        The name of the parameter to solve for, a real or a whole number.
    target : float
        The value to reach.
    goal : {"at most", "at least"}, default "at most"
        On which side of `target` the theorem's value must be.
    near : float, optional
        A guess. It changes no result; a good one saves evaluations.
    within : float, default 0
        For a real number: how far, relatively, the result may stay on the right side of the turn. Where the theorem's
        own search leaves an error in its value, the last digits are not worth their evaluations.
    **others
        The theorem's other parameters.

    Returns
    -------
    float or int
        Ten to twenty evaluations where the value is smooth in the parameter. Where the end of the domain satisfies the
        target too, this is that end; the lower one where the value is the same at both.

    Raises
    ------
    GuaranteeUnavailable
        No value of the parameter satisfies the target.

    Examples
    --------
    >>> solve("interval.posterior-shift", for_="n", target=0.05, questions=1000, beta=0.05)
    127783
    >>> solve("interval.posterior-shift", for_="questions", target=0.05, n=100_000, beta=0.05)
    642
    >>> round(solve("composition.zcdp-to-dp", for_="rho", target=1.0, delta=1e-6), 6)
    0.024356
    """
    entry = lookup(theorem) if isinstance(theorem, str) else entry_of(theorem)
    target = arguments.real("target", target)
    arguments.choice("goal", goal, ("at most", "at least"))
    parameter = next((p for p in entry.parameters if p.name == for_), None)
    if parameter is None or parameter.kind not in ("real", "whole"):
        numbers = ", ".join(p.name for p in entry.parameters if p.kind in ("real", "whole"))
        raise InvalidParameter(
            f"for_ must be the name of a parameter of {entry.id} that is a number: {numbers}; got {for_!r}"
        )
    if for_ in others:
        raise InvalidParameter(f"{for_} was given, but {entry.id} is to be solved for {for_}; leave it out")
    excess = _Excess(entry, parameter, target, goal, others)
    low, high = _inside(excess)
    at_low, at_high = excess(low), excess(high)
    if at_low <= 0 and at_high <= 0:
        return excess.parameter_at(high if excess.value(high) > excess.value(low) else low)
    if at_low > 0 and at_high > 0:
        wanted = f"{goal} {target:g}"
        first, last = excess.parameter_at(low), excess.parameter_at(high)
        raise GuaranteeUnavailable(
            f"no {for_} in [{first:g}, {last:g}] makes {entry.id} {wanted} with these arguments; change the target or "
            "another argument"
        )
    if near is not None:
        low, high = _narrowed(excess, low, high, arguments.real("near", near))
    how: dict[str, Any] = {"logarithmic": True}
    if parameter.kind == "real":
        how = {"apart": max(1, int(arguments.real("within", within, at_least=0, below=0.5) * 2**52))}
    if at_low <= 0:
        return excess.parameter_at(neighbours(excess, low, high, excess(low), excess(high), **how)[0])
    return excess.parameter_at(neighbours(lambda x: -excess(x), low, high, -excess(low), -excess(high), **how)[1])


class _Excess:
    """How far a theorem's value is on the wrong side of a target, as a function of a whole number.

    A whole parameter is that number. A real one is the float at that place among all floats in their order: neighbours
    there are neighbouring floats, and equal steps are about equal steps of the logarithm. The excess is the logarithm
    of the ratio to the target where there is one, because bounds are often powers of their parameters; it is positive
    exactly where the target is missed.
    """

    def __init__(self, entry: Theorem, parameter: Parameter, target: float, goal: str, others: dict[str, Any]) -> None:
        known = {p.name: p for p in entry.parameters}
        checked = {
            name: value if name not in known or (value is None and known[name].optional) else known[name].checked(value)
            for name, value in others.items()
        }
        self.parameter, self.target, self._sign = parameter, target, 1.0 if goal == "at most" else -1.0
        self._plain = entry.function.__wrapped__  # type: ignore[attr-defined]  # the arguments were checked here, once
        self._others = checked
        self._values: dict[int, float] = {}

    def parameter_at(self, place: int) -> float | int:
        return place if self.parameter.kind == "whole" else _float_at(place)

    def place_of(self, value: float) -> int:
        return int(value) if self.parameter.kind == "whole" else _place_of(value)

    def value(self, place: int) -> float:
        """The theorem's value, with the sign that makes "at most" of the goal."""
        if place not in self._values:
            result = self._plain(**self._others, **{self.parameter.name: self.parameter_at(place)})
            self._values[place] = self._sign * (result if isinstance(result, (int, float)) else result.value)
        return self._values[place]

    def __call__(self, place: int) -> float:
        value, target = self.value(place), self._sign * self.target
        if self.target > 0 and self._sign * value > 0:
            excess = self._sign * (math.log(self._sign * value) - math.log(self.target))
        elif self.target > 0:
            excess = -self._sign * math.inf
        else:
            excess = value - target
        return min(excess, -_SMALLEST) if value <= target else max(excess, _SMALLEST)


def _place_of(value: float) -> int:
    """The place of a float among all floats in their order; 0 for 0."""
    place: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return place if place >= 0 else -(place & 0x7FFFFFFFFFFFFFFF)


def _float_at(place: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return math.copysign(value, place)


def _ends(parameter: Parameter) -> tuple[int, int]:
    """The first and the last value of the parameter's domain, open ends left out."""
    limits = parameter.domain.limits
    if parameter.kind == "whole":
        return limits.get("at_least", -arguments.LARGEST_WHOLE), limits.get("at_most", arguments.LARGEST_WHOLE)
    largest = math.nextafter(math.inf, 0)
    low = math.nextafter(limits["above"], math.inf) if "above" in limits else limits.get("at_least", -largest)
    high = math.nextafter(limits["below"], -math.inf) if "below" in limits else limits.get("at_most", largest)
    return _place_of(max(low, -largest)), _place_of(min(high, largest))


def _narrowed(excess: _Excess, low: int, high: int, near: float) -> tuple[int, int]:
    """A smaller bracket inside of one whose ends are on different sides, by growing factors from the guess."""
    met_at_low, upwards, doublings = excess(low) <= 0, None, 1
    place = min(max(excess.place_of(near), low), high)
    while low < place < high:
        like_low = (excess(place) <= 0) == met_at_low
        low, high = (place, high) if like_low else (low, place)
        if upwards is None:
            upwards = like_low
        elif upwards != like_low:
            break
        if excess.parameter.kind == "whole":
            place = place << doublings if upwards else place >> doublings
        else:
            place += (doublings if upwards else -doublings) << 52
        doublings = min(2 * doublings, 20)
    return low, high


def _inside(excess: _Excess) -> tuple[int, int]:
    """The part of the domain that the theorem's other arguments allow, found from the typical value outwards."""

    def allowed(place: int) -> bool:
        try:
            excess.value(place)
        except (InvalidParameter, OverflowError):
            return False
        return True

    low, high = _ends(excess.parameter)
    if allowed(low) and allowed(high):
        return low, high
    typical = excess.parameter.domain.typical
    start = low if typical is None else excess.place_of(typical)
    if not allowed(start):
        excess.value(low)  # says which condition the other arguments break
        start = low

    def last_allowed(end: int) -> int:
        good, bad = start, end
        while abs(bad - good) > 1:
            middle = _middle(good, bad)
            good, bad = (middle, bad) if allowed(middle) else (good, middle)
        return good

    return low if allowed(low) else last_allowed(low), high if allowed(high) else last_allowed(high)


def _middle(a: int, b: int) -> int:
    low, high = min(a, b), max(a, b)
    return math.isqrt(low * high) if low > 0 and high > 4 * low else (low + high) // 2
