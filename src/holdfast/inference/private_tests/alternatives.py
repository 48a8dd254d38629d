"""Alternatives to plan for: how far, in Cohen's w, and in which direction a truth lies from the null."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.power_kernel import multinomial

Array = NDArray[np.float64]

SMALL_EFFECT = 0.1
"""Cohen's w of a small effect: `sqrt(sum delta^2 / p0)`."""


def worst_direction(p0: Any, c: float = 0.0) -> Array:
    """The change of `p0` that the projected test sees least for its length: the top eigenvector of its covariance.

    Section 7.2.5 of the dissertation; the largest eigenvalue of `Diag(p0) - p0 p0' + c I` gives the smallest
    noncentrality (erratum 22: print gives both readings). It sums to zero up to rounding and has length one.

    Examples
    --------
    >>> found = worst_direction([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    >>> (found / found[0]).round(6).tolist()
    [1.0, -0.333333, -0.333333, -0.333333]
    """
    null = probabilities("p0", p0)
    # c I moves every eigenvalue alike; only what sums to zero is a change of p0.
    centre = np.eye(null.size) - 1 / null.size
    _, vectors = np.linalg.eigh(centre @ (multinomial(null) + c * np.eye(null.size)) @ centre)
    found: Array = vectors[:, -1] - vectors[:, -1].mean()
    found = found / np.linalg.norm(found)
    return found


def alternative(p0: Any, effect: float, c: float = 0.0) -> Array:
    """`p0` moved by `effect` (Cohen's w) in the worst direction; a probability vector.

    Examples
    --------
    >>> alternative([0.5, 0.5], 0.1).round(6).tolist() in ([0.55, 0.45], [0.45, 0.55])
    True
    """
    null, w = probabilities("p0", p0), check.real("effect", effect, above=0)
    if np.all(null == null[0]):  # every direction is the worst: half of the cells up, half down
        step = np.where(np.arange(null.size) % 2 == 0, 1.0, -1.0)
        step -= step.mean()
    else:
        step = worst_direction(null, c)
    step = step * w / np.sqrt((np.square(step) / null).sum())
    for signed in (step, -step):
        if np.all(null + signed >= 0):
            found: Array = null + signed
            return np.asarray(found / found.sum())
    raise InvalidParameter(f"effect must be smaller, got {w:g}: it leaves the probabilities; or give p1")


def dependent_table(rows: Array, columns: Array, effect: float) -> Array:
    """A table with these margins and a dependence of size `effect` (Cohen's w), the same sign pattern in both."""
    w = check.real("effect", effect, above=0)

    def pattern(margin: Array) -> Array:
        step = np.where(np.arange(margin.size) % 2 == 0, 1.0, -1.0)
        found: Array = margin * (step - step @ margin)
        return found

    product, delta = np.outer(rows, columns), np.outer(pattern(rows), pattern(columns))
    found: Array = product + delta * w / np.sqrt((np.square(delta) / product).sum())
    if not np.all(found >= 0):
        raise InvalidParameter(f"effect must be smaller, got {w:g}: it leaves the probabilities; or give p")
    return found


__all__ = ["SMALL_EFFECT", "alternative", "dependent_table", "worst_direction"]
