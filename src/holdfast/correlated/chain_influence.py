"""Log ratios of transition probabilities, from which every influence on a chain is a sum.

For a pair of values `x, x'` of the protected record and a lag `t`:

- forward `F_t(x, x') = max_v ln P^t(x, v) / P^t(x', v)`: what the record `t` later tells;
- columns `D_t(x, x') = max_u ln P^t(u, x) / P^t(u, x')`: what the record `t` earlier tells, apart from the prior
  odds `ln pi(x') / pi(x)` that Bayes' rule adds.

A ratio 0/0 is skipped; positive over zero is infinite.
"""

from __future__ import annotations

import numpy as np

from holdfast.correlated.transition import Array, Mask

TINY = 1e-300
"""A probability below this that is not an exact zero makes every ratio with it infinite: doubles end there."""

#: Numbers of one batch of `k^3` ratios.
_BATCH = 2_000_000


def log_ratios(values: Array, supports: Mask, allowed: Mask | None = None) -> Array:
    """For matrices `(m, k, l)`: the largest `ln values[x, v] / values[x', v]` over `v`, shape `(m, k, k)`.

    `allowed` keeps some `v` only. The diagonal is 0. Computed as `log1p` of a relative difference, which keeps the
    digits of rows that are nearly equal. Time `O(m k^2 l)`.

    Examples
    --------
    The chain that leaves state 0 with probability 0.1 and state 1 with probability 0.4:

    >>> step = np.array([[[0.9, 0.1], [0.4, 0.6]]])
    >>> log_ratios(step, step > 0).round(9)[0].tolist()
    [[0.0, 0.810930216], [1.791759469, 0.0]]
    """
    if allowed is not None:
        values, supports = values[:, :, allowed], supports[:, :, allowed]
    count, states, seen = values.shape
    found = np.empty((count, states, states))
    step = max(_BATCH // max(states * states * seen, 1), 1)
    for low in range(0, count, step):
        found[low : low + step] = _largest(values[low : low + step], supports[low : low + step])
    diagonal = np.arange(states)
    found[:, diagonal, diagonal] = 0.0
    return found


def _largest(values: Array, supports: Mask) -> Array:
    top, bottom = values[:, :, None, :], values[:, None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (top - bottom) / bottom
        possible, vanishing = supports[:, :, None, :], bottom < TINY
        excess = np.where(vanishing, np.where(possible, np.inf, -1.0), excess)
        ratios: Array = np.log1p(excess.max(axis=3))
    return ratios


def forward(values: Array, supports: Mask) -> Array:
    """`F_t` for a stack of powers."""
    return log_ratios(values, supports)


def columns(values: Array, supports: Mask, allowed: Mask | None = None) -> Array:
    """`D_t` for a stack of powers; `allowed` are the possible values `u` of the earlier record."""
    return log_ratios(values.transpose(0, 2, 1), supports.transpose(0, 2, 1), allowed)


def prior_odds(laws: Array, supports: Mask) -> Array:
    """`ln law(x') / law(x)` for laws `(m, k)`, shape `(m, k, k)`; minus infinity where `x` or `x'` is impossible.

    A pair with an impossible value is no pair, so it must not win a maximum. A law too small for a double is infinite.

    Examples
    --------
    >>> law = np.array([[0.8, 0.2, 0.0]])
    >>> prior_odds(law, law > 0).round(6)[0, 0].tolist()
    [-inf, -1.386294, -inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(laws)
        odds = logs[:, None, :] - logs[:, :, None]
    both = supports[:, None, :] & supports[:, :, None]
    tiny = (laws < TINY)[:, None, :] | (laws < TINY)[:, :, None]
    states = laws.shape[1]
    pairs = both & ~np.eye(states, dtype=bool)
    return np.where(pairs, np.where(tiny, np.inf, odds), -np.inf)


__all__ = ["TINY", "columns", "forward", "log_ratios", "prior_odds"]
