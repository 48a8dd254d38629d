"""What the runs of Dwork et al.'s experiment must come out at, by integrals instead of simulation.

Weights are measured in units of `1/sqrt(n)`, so a useless attribute has a standard normal weight on either set and a
useful one a normal weight about 6. An attribute with weights (t, h) is kept with some probability `keep(t, h)`; the
analyst takes the k kept ones with the largest |t|. For many attributes the k-th largest is near the level z_k above
which k kept attributes are expected, and the accuracy on a set is

    Phi( (sum over the chosen of the expected signed weight on that set) / sqrt(k n) ).

All derived here; no paper prints them. What the limit leaves out are order statistics (below 0.0005 for the k of the
figures); the number of kept attributes, which matters once k comes near it, is averaged over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.special import ndtr

from holdfast_papers.dwork.analyst import KS, PARTS, Floats, Part, Setting

Arm = Literal["standard", "thresholdout"]
_USEFUL = 6.0
_STEP = 0.01


def standard_selected(setting: Setting) -> tuple[float, float]:
    """Mean and standard deviation of the number of attributes that pass both cuts on the standard holdout.

    Without signal the mean is `2 d (1 - Phi(1))^2`.

    Examples
    --------
    >>> [round(v, 3) for v in standard_selected(Setting())]
    [503.43, 21.865]
    """
    useless = 2 * float(ndtr(-1.0)) ** 2
    useful = float(ndtr(_USEFUL - 1)) ** 2 + float(ndtr(-_USEFUL - 1)) ** 2
    rest = setting.d - setting.signal
    mean = rest * useless + setting.signal * useful
    return mean, math.sqrt(rest * useless * (1 - useless) + setting.signal * useful * (1 - useful))


def over_threshold_share() -> float:
    """Probability that an attribute question is over the threshold in the Gaussian variant.

    With D = t - h of variance 2 and noise e of variance 1 it is `P(|D| > 4 + e)`. That is `2 (1 - Phi(4/sqrt(3)))` less
    the probability that both signs of D exceed, `P(e < -4 - |D|)`, which the shorter formula counts twice.

    Examples
    --------
    >>> print(f"{over_threshold_share():.9f}")
    0.020917390
    """
    both = 2 * _STEP * np.exp(-(_grid(0.0, 12.0) ** 2) / 4) / math.sqrt(4 * math.pi) * ndtr(-4 - _grid(0.0, 12.0))
    return 2 * float(ndtr(-4 / math.sqrt(3))) - float(both.sum())


def truncated_mean(level: float) -> float:
    """Mean of |z| given |z| > level, `phi(level) / (1 - Phi(level))`.

    Examples
    --------
    >>> print(f"{truncated_mean(1.0):.9f}")
    1.525135276
    """
    return math.exp(-level * level / 2) / math.sqrt(2 * math.pi) / float(ndtr(-level))


def fresh_with_signal(k: int, setting: Setting | None = None) -> float:
    """Accuracy in the population of a classifier of k attributes that has the useful ones among its first.

    Examples
    --------
    >>> [f"{fresh_with_signal(k):.6f}" for k in (10, 20, 100, 500)]
    ['0.575242', '0.605777', '0.547758', '0.521399']
    """
    setting = setting or Setting(signal=20)
    return float(ndtr(setting.bias * min(k, setting.signal) / math.sqrt(k)))


@dataclass(frozen=True)
class Oracle:
    """Expected accuracies at each of `KS`, and how many attributes are kept on average."""

    accuracy: dict[Part, Floats]
    selected: float


@cache
def oracle(setting: Setting, arm: Arm) -> Oracle:
    """Expected accuracies of one arm of the experiment. Time: 0.1 s, once for a setting.

    `thresholdout` is the Gaussian variant of the figures, with
    `keep = Phi(4 - |t - h|) + (1 - Phi(4 - |t - h|)) Phi(h - 1)` for t >= 1.

    Examples
    --------
    >>> oracle(Setting(), "thresholdout").accuracy["holdout"][[0, 5, -1]].round(4)
    array([0.5049, 0.5098, 0.5137])
    """
    keep = _keep_standard if arm == "standard" else _keep_thresholdout
    t = _grid(1.0, 14.0)
    useless = _moments(t, 0.0, keep, 2.0 * (setting.d - setting.signal))
    useful = _moments(t, _USEFUL, keep, float(setting.signal))
    mean, spread = float(useless[0].sum()), math.sqrt(float(useless[0].sum()))
    accuracy: dict[Part, Floats] = {part: np.zeros(len(KS)) for part in PARTS}
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        count, train, holdout, fresh = useless * max(0.0, 1 + node * spread / mean) + useful
        above = count[::-1].cumsum()
        for j, k in enumerate(KS):
            taken = min(float(k), float(above[-1]))
            for part, moment in zip(PARTS, (train, holdout, fresh), strict=True):
                total = float(np.interp(taken, above, moment[::-1].cumsum()))
                # Deviations from a set's own mean have variance 1 - 1/n; on the fresh set the mean is not looked at.
                rows = setting.n if part == "fresh" else setting.n - 1
                accuracy[part][j] += weight * float(ndtr(total / math.sqrt(taken * rows)))
    return Oracle(accuracy, mean + float(useful[0].sum()))


def _grid(low: float, high: float) -> Floats:
    """Midpoints of cells of width `_STEP`."""
    return np.asarray(np.arange(low + _STEP / 2, high, _STEP))


def _keep_standard(t: Floats, h: Floats) -> Floats:
    return np.broadcast_to(h >= 1, np.broadcast_shapes(t.shape, h.shape)).astype(np.float64)


def _keep_thresholdout(t: Floats, h: Floats) -> Floats:
    below = ndtr(4 - np.abs(t - h))
    return np.asarray(below + (1 - below) * ndtr(h - 1))


def _moments(t: Floats, mean: float, keep: Callable[[Floats, Floats], Floats], count: float) -> Floats:
    """For each cell of t: how many are kept, and their summed weights on training, holdout and fresh set."""
    h = _grid(mean - 9, mean + 9)
    weight = keep(t[:, None], h) * np.exp(-((h - mean) ** 2) / 2) * (_STEP / math.sqrt(2 * math.pi))
    density = count * _STEP * np.exp(-((t - mean) ** 2) / 2) / math.sqrt(2 * math.pi)
    number = density * weight.sum(axis=1)
    return np.array([number, number * t, density * (weight @ h), number * mean])


__all__ = [
    "Arm",
    "Oracle",
    "fresh_with_signal",
    "oracle",
    "over_threshold_share",
    "standard_selected",
    "truncated_mean",
]
