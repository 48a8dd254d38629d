"""From what models give to predictions in [-1, 1]: the sign says yes or no, the size how sure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.distance import numbers
from holdfast.errors import InvalidParameter


def from_probability(probability: Any) -> NDArray[np.float64]:
    """`2p - 1` for a probability p.

    Examples
    --------
    >>> from_probability([0, 0.75])
    array([-1. ,  0.5])
    """
    p = numbers("probability", probability)
    if p.size and (p.min() < -1e-9 or p.max() > 1 + 1e-9):
        raise InvalidParameter("probability must lie in [0, 1], and some do not")
    return np.clip(2 * p - 1, -1, 1)


def from_labels(labels: Any, positive: Any = True) -> NDArray[np.float64]:
    """1 for the positive label, -1 for any other.

    Examples
    --------
    >>> from_labels(["ill", "well"], positive="ill")
    array([ 1., -1.])
    """
    return np.where(np.asarray(labels) == positive, 1.0, -1.0)


def from_scores(scores: Any, low: float, high: float) -> NDArray[np.float64]:
    """A score with a known range [low, high], stretched to [-1, 1].

    Examples
    --------
    >>> from_scores([0, 5, 10], 0, 10)
    array([-1.,  0.,  1.])
    """
    low, high = check.real("low", low), check.real("high", high)
    s = numbers("scores", scores)
    if not low < high or (s.size and (s.min() < low or s.max() > high)):
        raise InvalidParameter("scores must lie in [low, high] with low below high, and do not")
    return 2 * (s - low) / (high - low) - 1


def from_log_odds(scores: Any) -> NDArray[np.float64]:
    """`tanh(s / 2)`: log-odds s give exactly `2p - 1`; any other score without a range is squeezed.

    Examples
    --------
    >>> from_log_odds([0.0, np.log(3)]).round(12)
    array([0. , 0.5])
    """
    return np.tanh(numbers("scores", scores) / 2)


__all__ = ["from_labels", "from_log_odds", "from_probability", "from_scores"]
