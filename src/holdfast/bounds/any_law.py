"""Transfer bounds that ask nothing of the rows: every law of the sample, dependent rows included.

Compare the release on the true sample with the release on one fixed sample `x0`. Any sample is reached from `x0` by
replacing `n` rows one after the other, so group privacy bounds how much likelier any transcript can be.
"""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.currency import Transfer
from holdfast.bounds.exact import up
from holdfast.bounds.max_information import LOG2E
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_to_dp


@theorem(
    "transfer.any-law",
    statement="transfer bound of private steps over every law of the sample, by group privacy against a fixed sample",
    source="Holdfast; group privacy of Dwork-Roth 2014 Theorem 2.2 and Bun-Steinke 2016 Proposition 1.9",
    conditions="neighbours replace one row; the steps are private for every earlier output; rows may be dependent",
    unit="bits",
    provenance="derived",
)
def any_law(n: int, beta: float, epsilon: float = 0.0, delta: float = 0.0, rho: float = 0.0) -> Transfer:
    """Bound (epsilon, delta)-DP steps and rho-zCDP steps together, for every law of the sample.

    `k = log2(e) (n epsilon + E)`, where `E` is the epsilon that `n^2 rho`-zCDP has at `beta - d` and
    `d = delta (e^(n epsilon) - 1)/(e^epsilon - 1)`; `inf` when `d >= beta`.

    Proof. Let `nu` be the law of the transcript on a fixed sample `x0`. By group privacy over `n` rows the transcript
    on any `x` is (n epsilon, d)-indistinguishable from `nu` in its first part and `n^2 rho`-concentrated in its second,
    and both compose adaptively. So `Pr[T in O | x] <= e^k nu(O) + beta` for every `x`; averaging over any law of the
    sample gives the transfer bound. Derived. With `delta = rho = 0` it is Theorem 1.4 of Rogers, Roth, Smith and
    Thakkar (2016), first line.

    Parameters
    ----------
    n : int
        The number of rows.
    beta : float
        The failure probability, in [0, 1).
    epsilon, delta : float
        The total of the steps counted by epsilon.
    rho : float
        The total of the steps counted by zCDP.

    Examples
    --------
    >>> round(any_law(100, 0.0, epsilon=0.1).bits, 8)
    14.42695041
    >>> round(any_law(100, 0.01, rho=1e-6).bits, 4)
    0.3123
    >>> any_law(100, 0.01, epsilon=0.1, delta=1e-6).bits
    inf
    """
    n = check.whole("n", n, at_least=1)
    beta = check.probability("beta", beta, zero=True)
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    rho = check.real("rho", rho, at_least=0)
    left = beta - group_delta(n, epsilon, delta)
    nats = (
        math.inf if left < 0 or (delta and left <= 0) else n * epsilon + (_concentrated(n, rho, left) if rho else 0.0)
    )
    bits = up(nats * LOG2E, 8)
    return Transfer(
        bits, beta, "any", "transfer.any-law", "derived", {"n": n, "epsilon": epsilon, "delta": delta, "rho": rho}
    )


def group_delta(n: int, epsilon: float, delta: float) -> float:
    """Return `delta (e^(n epsilon) - 1)/(e^epsilon - 1)`, rounded up: the delta for a group of `n` rows. Unchecked.

    Examples
    --------
    >>> group_delta(10, 0.0, 1e-6) >= 1e-5, group_delta(10_000, 1.0, 1e-6)
    (True, inf)
    """
    if delta == 0:
        return 0.0
    if epsilon * n < 1e-12:
        return up(n * delta * (1 + 1e-11))
    growth = epsilon * n
    log = math.log(delta) + growth + math.log(-math.expm1(-growth)) - math.log(math.expm1(min(epsilon, 700.0)))
    return up(math.exp(log), 64) if log < 700 else math.inf


def _concentrated(n: int, rho: float, delta: float) -> float:
    return zcdp_to_dp(up(n * n * rho), min(delta, 1 - 1e-16)) if delta > 0 else math.inf


__all__ = ["any_law", "group_delta"]
