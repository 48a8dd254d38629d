"""p-values out of what statistics packages return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast import check
from holdfast.errors import InvalidParameter


def p_values_of(result: Any) -> tuple[float, ...]:
    """Read the p-values of a test's result, each checked to lie in [0, 1].

    A number is itself. An object is asked for `pvalue` (SciPy, statsmodels' contrasts), then `pvalues` (statsmodels'
    fitted models, one p-value a coefficient), then `p_value`. A plain pair or triple is `(statistic, p-value, ...)`, as
    older SciPy and many statsmodels functions return it. A list or an array is one p-value an entry.

    Examples
    --------
    >>> p_values_of(0.03), p_values_of((2.2, 0.03)), p_values_of([0.03, 0.5])
    ((0.03,), (0.03,), (0.03, 0.5))
    """
    for name in ("pvalue", "pvalues", "p_value"):
        found = getattr(result, name, None)
        if found is not None and not callable(found):
            return _checked(found)
    if isinstance(result, tuple):
        if len(result) < 2:
            raise InvalidParameter("a tuple of a test must hold the statistic and the p-value, in this order")
        return _checked(result[1])
    return _checked(result)


def _checked(found: Any) -> tuple[float, ...]:
    if isinstance(found, Mapping):
        found = list(found.values())
    if isinstance(found, (str, bytes)) or not (
        isinstance(found, (int, float, np.number, Sequence)) or hasattr(found, "__array__")
    ):
        raise InvalidParameter(
            "a test must return a p-value: a number, an object with pvalue or pvalues, or a pair (statistic, p-value), "
            f"got a {type(found).__name__}"
        )
    array = np.asarray(found)
    if array.dtype.kind not in "iuf" or array.ndim > 1 or array.size == 0:
        raise InvalidParameter(f"p must be a number in [0, 1] or a list of such numbers, got a {type(found).__name__}")
    return tuple(check.probability("p", float(p), zero=True, one=True) for p in array.reshape(-1))


__all__ = ["p_values_of"]
