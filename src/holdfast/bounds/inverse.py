"""`solve`: the value of one parameter at which a monotone theorem reaches a target.

A theorem turns parameters into a bound. Planning goes the other way: how many rows, how many questions, which epsilon.
Where the bound only rises or only falls in the parameter, bisection over the parameter's domain answers that without
code of its own for each theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import entry_of, lookup
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

_SMALLEST_STEP = 1e-300  # reals are searched on a logarithmic scale from here on


def solve(
    theorem: str | Callable[..., Any],
    *,
    for_: str,
    target: float,
    goal: Literal["at most", "at least"] = "at most",
    **others: Any,
) -> float | int:
    """Return the parameter value at which a theorem just reaches a target.

    `for_` names the parameter. If the theorem's value rises with this parameter and must be at most `target`, the
    result is the largest parameter value that meets the target. If it falls, the result is the smallest. Whole numbers
    are exact. For a real parameter the result is a floating-point number at which the theorem meets the target while at
    its neighbour it does not.

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
    **others
        The theorem's other parameters.

    Returns
    -------
    float or int
        About 60 evaluations for a real number and twice the number of binary digits for a whole one. Where the end
        of the domain satisfies the target too, this is that end.

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
    sign = 1.0 if goal == "at most" else -1.0

    def value(x: float) -> float:
        result = entry.function(**others, **{for_: x})
        return sign * (result if isinstance(result, (int, float)) else result.value)

    target *= sign
    low, high = _inside(*_ends(parameter), value, parameter)
    at_low, at_high = value(low) <= target, value(high) <= target
    if at_low and at_high:
        return high if value(high) > value(low) else low
    if not (at_low or at_high):
        wanted = f"{goal} {sign * target:g}"
        raise GuaranteeUnavailable(
            f"no {for_} in [{low:g}, {high:g}] makes {entry.id} {wanted} with these arguments; change the target or "
            "another argument"
        )
    good, bad = (low, high) if at_low else (high, low)
    while (middle := _between(good, bad, parameter)) is not None:
        good, bad = (middle, bad) if value(middle) <= target else (good, middle)
    return good


def _ends(parameter: Parameter) -> tuple[float, float]:
    """The first and the last value of the parameter's domain, open ends left out."""
    limits = parameter.domain.limits
    if parameter.kind == "whole":
        return limits.get("at_least", -arguments.LARGEST_WHOLE), limits.get("at_most", arguments.LARGEST_WHOLE)
    largest = math.nextafter(math.inf, 0)
    low = math.nextafter(limits["above"], math.inf) if "above" in limits else limits.get("at_least", -largest)
    high = math.nextafter(limits["below"], -math.inf) if "below" in limits else limits.get("at_most", largest)
    return max(low, -largest), min(high, largest)


def _inside(low: float, high: float, evaluate: Callable[[float], Any], parameter: Parameter) -> tuple[float, float]:
    """The part of the domain that the theorem's other arguments allow, found from the typical value outwards."""

    def allowed(x: float) -> bool:
        try:
            evaluate(x)
        except (InvalidParameter, OverflowError):
            return False
        return True

    if allowed(low) and allowed(high):
        return low, high
    start = parameter.domain.typical
    if start is None or not allowed(start):
        evaluate(low)  # says which condition the other arguments break
        start = low
    ends = []
    for end in (low, high):
        good, bad = start, end
        if allowed(end):
            good = end
        while good != end and (middle := _between(good, bad, parameter)) is not None:
            good, bad = (middle, bad) if allowed(middle) else (good, middle)
        ends.append(good)
    return ends[0], ends[1]


def _between(a: float, b: float, parameter: Parameter) -> float | int | None:
    """A value strictly between two others, in the middle of a logarithmic scale where they are far apart."""
    low, high = min(a, b), max(a, b)
    if parameter.kind == "whole":
        if high - low <= 1:
            return None
        if low > 0 and high > 4 * low:
            return math.isqrt(int(low) * int(high))
        return (int(low) + int(high)) // 2
    middle = 0.5 * low + 0.5 * high
    if low >= 0 and high > 4 * max(low, _SMALLEST_STEP):
        middle = math.sqrt(max(low, _SMALLEST_STEP)) * math.sqrt(high)
    elif high <= 0 and low < 4 * min(high, -_SMALLEST_STEP):
        middle = -math.sqrt(-min(high, -_SMALLEST_STEP)) * math.sqrt(-low)
    return middle if low < middle < high else None
