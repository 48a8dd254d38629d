"""The precision matrix of a stationary Gaussian autoregression: as many diagonals as its order, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from holdfast import check
from holdfast.errors import InvalidParameter


def autoregression_precision(n: int, coefficients: Sequence[float], deviation: float = 1.0) -> Any:
    """The precision of `X_t = a_1 X_{t-1} + ... + a_p X_{t-p} + noise`, `n` steps long, as sparse rows.

    The density is that of the first `p` records, which have their stationary law, times that of the noise of each later
    step. So the matrix is the sum of the squares of these noises, as a quadratic form, plus the inverse covariance of
    the first `p`. Time `O(n p^2)`.

    Parameters
    ----------
    n : int
        Length, at least the order.
    coefficients : sequence of float
        `a_1, ..., a_p`, stationary.
    deviation : float
        Standard deviation of a record.

    Examples
    --------
    >>> autoregression_precision(3, [0.5]).toarray().round(6).tolist()
    [[1.333333, -0.666667, 0.0], [-0.666667, 1.666667, -0.666667], [0.0, -0.666667, 1.333333]]
    """
    a = np.array(check.reals("coefficients", coefficients))
    p = len(a)
    n = check.whole("n", n, at_least=p, at_most=10**8)
    deviation = check.real("deviation", deviation, above=0)
    companion = np.zeros((p, p))
    companion[0] = a
    companion[np.arange(1, p), np.arange(p - 1)] = 1.0
    if np.abs(np.linalg.eigvals(companion)).max() >= 1:
        raise InvalidParameter("coefficients must make a stationary autoregression: all roots inside the unit circle")
    from scipy.linalg import solve_discrete_lyapunov

    noise = np.zeros((p, p))
    noise[0, 0] = 1.0
    start = solve_discrete_lyapunov(companion, noise)  # covariance of p neighbours when the noise has variance 1
    head = np.linalg.inv(start)
    step = np.concatenate(([1.0], -a))
    bands = [np.zeros(n - d) for d in range(min(p, n - 1) + 1)]
    for d, band in enumerate(bands):
        for m in range(p + 1 - d):
            band[p - m - d : n - m - d] += step[m] * step[m + d]
        if d < p:
            band[: p - d] += np.diagonal(head, d)
    both: list[Any] = [*bands[:0:-1], *bands]
    offsets = [*range(-len(bands) + 1, len(bands))]
    return sparse.diags_array(both, offsets=offsets, shape=(n, n)).tocsr() * (float(start[0, 0]) / deviation**2)


__all__ = ["autoregression_precision"]
