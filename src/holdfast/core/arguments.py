"""Checks of input on entry: each returns the clean value or raises `InvalidParameter`.

They are apart from the mathematics on purpose, so that a formula reads like its theorem.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from holdfast.errors import InvalidParameter

_SHOWN = 60
LARGEST_WHOLE = 10**300
"""Whole numbers end here unless a caller says otherwise: a double can hold this one and small multiples of it."""


def real(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> float:
    """Return `value` as a float inside the stated range.

    Examples
    --------
    >>> real("epsilon", 0.5, at_least=0)
    0.5
    >>> real("epsilon", -1, at_least=0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: epsilon must be a number in [0, inf), got -1
    """
    number = value if type(value) is float else _number(value)
    if number is None or (
        number != number
        or (not infinite and math.isinf(number))
        or (above is not None and not number > above)
        or (at_least is not None and not number >= at_least)
        or (below is not None and not number < below)
        or (at_most is not None and not number <= at_most)
    ):
        # The message is made only here: this check runs several times in every answer.
        raise refused(name, value, f"a number in {interval(above, at_least, below, at_most, infinite)}")
    return number


def refused(name: str, value: Any, allowed: str, hint: str = "") -> InvalidParameter:
    """Return the error that refuses a parameter's value and says what is allowed; its fields hold the same.

    Examples
    --------
    >>> error = refused("n", 2.5, "a whole number")
    >>> str(error), error.parameter, error.value, error.allowed
    ('n must be a whole number, got 2.5', 'n', 2.5, 'a whole number')
    """
    shown = _shown(value)
    is_plain = isinstance(value, (bool, int, float)) and len(shown) <= _SHOWN
    return InvalidParameter(
        f"{name} must be {allowed}, got {shown}{hint}",
        parameter=name,
        value=value if is_plain else shown,
        allowed=allowed,
    )


def _number(value: Any) -> float | None:
    """`value` as a float; None for anything that is no number and for what a double cannot hold."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def probability(name: str, value: Any, *, zero: bool = False, one: bool = False) -> float:
    """Return `value` as a probability; the ends 0 and 1 are allowed only on request.

    Examples
    --------
    >>> probability("delta", 0.0, zero=True)
    0.0
    >>> probability("delta", 1)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: delta must be a number in (0, 1), got 1
    """
    return real(
        name,
        value,
        above=None if zero else 0,
        at_least=0 if zero else None,
        below=None if one else 1,
        at_most=1 if one else None,
    )


def whole(name: str, value: Any, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Return `value` as an int inside the stated range; an integral float such as `1e6` is accepted.

    Without `at_most` the range ends at `LARGEST_WHOLE` (and at minus that), because formulas turn whole numbers into
    floats, which overflow a little later.

    Examples
    --------
    >>> whole("n", 1e6, at_least=1)
    1000000
    >>> whole("n", 2.5, at_least=1)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n must be a whole number, at least 1, got 2.5
    >>> whole("n", 10**400, at_least=1)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n must be a whole number, at least 1 and at most 1e300, got 1000...
    """
    integral = type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
    if not integral and isinstance(value, Real) and not isinstance(value, bool):
        integral = _is_integral(value)
    number = int(value) if integral else 0
    if (
        integral
        and (at_least is None or number >= at_least)
        and (number <= at_most if at_most is not None else abs(number) <= LARGEST_WHOLE)
    ):
        return number
    ends = [f"at least {at_least}"] if at_least is not None else []
    ends += [f"at most {at_most}"] if at_most is not None else []
    if integral and at_most is None and abs(number) > LARGEST_WHOLE:
        ends = [ends[0] if ends else "at least -1e300", "at most 1e300"]
    raise refused(name, value, "a whole number" + (", " + " and ".join(ends) if ends else ""))


def _is_integral(value: Real) -> bool:
    try:
        return float(value).is_integer()
    except OverflowError:  # a fraction beyond the floating range
        return False


def choice(name: str, value: Any, options: Collection[str]) -> str:
    """Return `value` if it is one of `options`.

    Examples
    --------
    >>> choice("noise", "gaussian", ["gaussian", "laplace"])
    'gaussian'
    """
    if not isinstance(value, str) or value not in options:
        raise refused(name, value, f"one of {', '.join(options)}")
    return value


def metric(value: Any, options: Iterable[str]) -> str:
    """Return the one of `options` that a metric's name stands for, in scikit-learn's spelling or in ours.

    A name of scikit-learn that stands for none of them is refused, and so is any other; the error names the nearest.

    Examples
    --------
    >>> metric("roc_auc_score", ["accuracy", "auc"]), metric("neg_log_loss", ["log-loss"])
    ('auc', 'log-loss')
    >>> metric("f1_macro", ["accuracy", "f1"])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: metric must be one of accuracy, f1, got 'f1_macro'; the nearest to it is 'f1'
    """
    allowed = list(options)
    if isinstance(value, str):
        name = value.strip().lower().replace("_", "-").replace(" ", "-")
        meant = [option for option in (name, *_SAME_METRIC.get(name, ())) if option in allowed]
        if meant:
            return meant[0]
        near = [option for option in _NEAREST_METRIC.get(name, ()) if option in allowed]
        known = {spelling: option for spelling, names in _SAME_METRIC.items() for option in names if option in allowed}
        known |= dict(zip(allowed, allowed, strict=True))
        near += [known[option] for option in difflib.get_close_matches(name, known, n=1)]
        if near:
            raise refused("metric", value, f"one of {', '.join(allowed)}", f"; the nearest to it is {near[0]!r}")
    return choice("metric", value, allowed)


_SAME_METRIC: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("accuracy-score", "f1-micro", "micro-f1"), ("accuracy",)),
    "balanced-accuracy-score": ("balanced-accuracy",),
    "f1-macro": ("macro-f1",),
    **dict.fromkeys(("cohen-kappa", "cohen-kappa-score"), ("kappa",)),
    **dict.fromkeys(("top-k-accuracy", "top-k-accuracy-score"), ("top-k",)),
    **dict.fromkeys(("root-mean-squared-error", "neg-root-mean-squared-error"), ("rmse",)),
    "r2-score": ("r2",),
    "f1-score": ("f1",),
    "precision-score": ("precision",),
    "recall-score": ("recall",),
    **dict.fromkeys(("auc", "roc-auc", "roc-auc-score", "auroc"), ("auc", "roc-auc")),
    **dict.fromkeys(("neg-log-loss", "logloss", "cross-entropy"), ("log-loss",)),
    **dict.fromkeys(("brier-score-loss", "neg-brier-score", "brier-score"), ("brier",)),
    **dict.fromkeys(
        ("mae", "absolute-error", "mean-absolute-error", "neg-mean-absolute-error"), ("mae", "absolute-error")
    ),
    **dict.fromkeys(("mse", "mean-squared-error", "neg-mean-squared-error"), ("squared-error",)),
}
"""Names of metrics, scikit-learn's functions and scorers among them, and what they are called here."""

_NEAREST_METRIC: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("f1-macro", "f1-weighted", "f1-samples", "precision", "recall"), ("f1",)),
    **dict.fromkeys(("precision-score", "recall-score", "jaccard", "jaccard-score", "fbeta-score"), ("f1",)),
    **dict.fromkeys(("f1-micro", "balanced-accuracy", "balanced-accuracy-score", "top-k-accuracy"), ("accuracy",)),
    **dict.fromkeys(
        ("roc-auc-ovr", "roc-auc-ovo", "roc-auc-ovr-weighted", "roc-auc-ovo-weighted", "average-precision"),
        ("auc", "roc-auc"),
    ),
    **dict.fromkeys(
        ("mse", "mean-squared-error", "neg-mean-squared-error", "root-mean-squared-error", "rmse", "r2", "r2-score"),
        ("squared-error", "rmse", "mae"),
    ),
    **dict.fromkeys(("neg-root-mean-squared-error", "neg-median-absolute-error"), ("mae", "absolute-error")),
}
"""Names of metrics that are not here, and which of ours comes nearest."""


def value_range(low: Any, high: Any) -> tuple[float, float]:
    """Return the declared range of one row's value: two numbers of size at most 1e100, the first below the second.

    Examples
    --------
    >>> value_range(-1, 1)
    (-1.0, 1.0)
    >>> value_range(1, 0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: low must be below high, got [1, 0]
    """
    if type(low) is float and type(high) is float and -1e100 <= low < high <= 1e100:
        return low, high
    low = real("low", low, at_least=-1e100, at_most=1e100)
    high = real("high", high, at_least=-1e100, at_most=1e100)
    if not low < high:
        raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
    return low, high


def reals(
    name: str,
    values: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
) -> tuple[float, ...]:
    """Return a non-empty list of numbers as a tuple, each inside the stated range.

    Examples
    --------
    >>> reals("epsilons", [0.1, 0.2], at_least=0)
    (0.1, 0.2)
    """
    if isinstance(values, (str, bytes)) or not (isinstance(values, Sequence) or hasattr(values, "__array__")):
        raise refused(name, values, "a list of numbers")
    if len(values) == 0:
        raise InvalidParameter(f"{name} must be a list of at least one number, got an empty list")
    return tuple(
        real(f"{name}[{i}]", value, above=above, at_least=at_least, below=below, at_most=at_most)
        for i, value in enumerate(values)
    )


def interval(
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    infinite: bool = False,
) -> str:
    """Return the stated range as people write it.

    Examples
    --------
    >>> interval(above=0, at_most=1), interval(at_least=0)
    ('(0, 1]', '[0, inf)')
    """
    low = f"({above:g}" if above is not None else f"[{at_least:g}" if at_least is not None else "(-inf"
    high = (
        f"{below:g})"
        if below is not None
        else f"{at_most:g}]"
        if at_most is not None
        else ("inf]" if infinite else "inf)")
    )
    return f"{low}, {high}"


def _shown(value: Any) -> str:
    """Show a number or a short text; of anything else only its type, since it may hold rows."""
    if isinstance(value, (Real, str)):
        try:
            text = repr(value) if isinstance(value, str) else str(value)
        except ValueError:  # Python prints no whole number of more than 4300 digits
            return "a number of thousands of digits"
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    return "None" if value is None else f"a {type(value).__name__}"
