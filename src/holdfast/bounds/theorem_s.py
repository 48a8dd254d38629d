"""Theorem S and S+: max-information of approximate differential privacy over independent rows. Ours, reviewed.

Let `A` be (epsilon, delta)-DP and the rows independent. For any `s > 0`, `eta > 0`, `t >= 0`, with `c = epsilon + s`,
`a = n delta/(1 - e^-s)`:

    k    = log2(e) (n c tanh(c/2) + (c/sinh c) a/eta + t c sqrt(n))
    beta = F + a + eta,    F = exp(-t^2/2)                                              (S)
                           F = exp(-t^2/2) lambda^lambda/(1+lambda)^(1+lambda),  lambda = t/(c sqrt n)    (S+)

Proof, in nats. Let `Z_i` be the log-likelihood ratio of row `i` given the output and the rows before it, against its
prior. (a) The joint law of output and row `i` and their product are (epsilon, delta)-indistinguishable for every
prefix, so `Pr[Z_i > c] <= delta/(1-e^-s)`, and the prior mass `q_i` of `{Z_i < -c}` has mean at most `delta/(1-e^-s)`.
(b) Put `T_i = Z_i` where `|Z_i| <= c`, `-c` below and `0` above. `u ln u` lies below its chord on `[e^-c, e^c]`;
summing over the prior, `E[T_i | past] <= c tanh(c/2) + (c/sinh c) q_i`. (c) Azuma-Hoeffding with range `2c` bounds
`sum T_i`. (d) Markov: `sum q_i <= a/eta` except with probability `eta`. (e) Unless some `Z_i > c`, `Z <= sum T_i`. The
three failures add up. S+ replaces the tail of (c) by the excess that counts, `E[(1 - exp(k - sum T_i))_+]`, with the
moment bound of (b) and Hoeffding's lemma at order `lambda`.

No upper limit on epsilon, no `delta < epsilon`, no `sqrt(delta)`. At the same parameters both numbers are below those
of Theorem 3.1 as printed (`s = epsilon`, `eta = n delta/dhat`). A mechanism that leaks each row with probability delta
shows that `beta` of order `n delta` cannot be avoided. Known loss: the range is `2c`, so at `delta -> 0` it does not
reach the pure line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.exact import up
from holdfast.bounds.max_information import LOG2E, excess_slack
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise

Array = npt.NDArray[np.float64]
_MARGIN = 1e-15  # of beta, for the rounding of the sum of failures


@theorem(
    "max-information.theorem-s",
    statement="max-information of approximate differential privacy at chosen t, eta, s; beta is in the details",
    source="Holdfast, Theorem S and S+; docs/max-information.md",
    conditions="rows independent, neighbours replace one row; epsilon >= 0, s > 0, t >= 0, eta > 0 unless delta = 0",
    unit="bits",
    provenance="derived",
)
def theorem_s(
    epsilon: float,
    delta: float,
    n: int,
    t: float,
    eta: float,
    s: float,
    method: Literal["best", "plain"] = "best",
) -> MaxInformation:
    """Evaluate Theorem S+ ("best") or S ("plain") at chosen parameters; the module's docstring has statement and proof.

    Parameters
    ----------
    epsilon : float
        The privacy parameter of the whole computation, at least 0.
    delta : float
        In [0, 1).
    n : int
        The number of rows.
    t : float
        The deviation parameter, at least 0.
    eta : float
        The share of beta for Markov's inequality; ignored when delta is 0.
    s : float
        By how much the clipping level exceeds epsilon, above 0.
    method : str
        "best" (default) is S+, "plain" is S.

    Returns
    -------
    MaxInformation
        Bits and beta, both rounded up.

    Examples
    --------
    >>> bound = theorem_s(0.01, 1e-10, 1000, t=3, eta=1e-3, s=1e-3)
    >>> round(bound.bits, 6), round(bound.beta, 8)
    (1.737148, 0.00154817)
    >>> round(theorem_s(0.01, 1e-10, 1000, t=3, eta=1e-3, s=1e-3, method="plain").beta, 8)
    0.01220905
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    n = check.whole("n", n, at_least=1)
    t = check.real("t", t, at_least=0)
    eta = check.real("eta", eta, at_least=0) if delta == 0 else check.real("eta", eta, above=0)
    s = check.real("s", s, above=0)
    check.choice("method", method, ("best", "plain"))
    c = epsilon + s
    leak = n * delta / -math.expm1(-s)
    tail = math.exp(-t * t / 2 - (excess_slack(t / (c * math.sqrt(n))) if method == "best" else 0.0))
    nats = n * c * math.tanh(c / 2) + t * c * math.sqrt(n) + (_over_sinh(c) * leak / eta if delta else 0.0)
    beta = tail + leak + (eta if delta else 0.0)
    found = {"t": t, "s": s} | ({"eta": eta} if delta else {})
    return MaxInformation(up(nats * LOG2E, 16), up(beta, 16), "product", "max-information.theorem-s", "derived", found)


def smallest_bits(
    epsilon: float, delta: float, n: int, slack: float, method: Literal["best", "plain"] = "best"
) -> tuple[float, dict[str, float]]:
    """Return the fewest bits of Theorem S+ at `beta = exp(-slack)`, with the parameters that give them. Unchecked.

    Everything is divided by `beta`, so that failure probabilities below the floating range are fine. `delta` must be
    positive. The bits are `inf` when `n delta >= beta`. Cost: about 5 milliseconds.

    Examples
    --------
    >>> bits, parameters = smallest_bits(0.001, 1e-12, 10_000, -math.log(0.005))
    >>> round(bits, 4), sorted(parameters)
    (0.3857, ['eta', 's', 't'])
    """
    problem = _Problem(epsilon, delta, n, slack, method)

    def nats(tail: Array, leak: Array, c: Array, t: Array) -> Array:
        left = 1 - _MARGIN - tail - leak
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(
                left > 0, n * c * np.tanh(c / 2) + _over_sinh_array(c) * leak / left + t * c * math.sqrt(n), np.inf
            )

    found = problem.search(nats)
    if found is None:
        return math.inf, {}
    value, s, t, tail, leak = found
    return up(value * LOG2E, 64), {"t": t, "s": s, "eta": (1 - _MARGIN - tail - leak) * math.exp(-slack)}


def smallest_penalty(
    epsilon: float, delta: float, n: int, alpha: float, method: Literal["best", "plain"] = "best"
) -> tuple[float, float, dict[str, float]]:
    """Return `(bits - log2(1 - beta/alpha), beta, parameters)` of Theorem S+, the first smallest. Unchecked.

    The level to reject at is `alpha` times two to minus the first number. For given `t` and `s` the best `eta` is the
    root of `eta^2 + A1 eta = A1 A`, `A1 = (c/sinh c) a`, `A = alpha - F - a`.

    Examples
    --------
    >>> penalty, beta, parameters = smallest_penalty(0.001, 1e-12, 10_000, 0.05, "plain")
    >>> round(math.log2(0.05) - penalty, 6)
    -5.081015
    """
    problem = _Problem(epsilon, delta, n, -math.log(alpha), method)

    def best_eta(left: Array, leak: Array, c: Array) -> Array:
        cost = _over_sinh_array(c) * leak
        return 2 * cost * left / (cost + np.sqrt(cost * cost + 4 * cost * left))

    def nats(tail: Array, leak: Array, c: Array, t: Array) -> Array:
        left = np.maximum(1 - _MARGIN - tail - leak, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            eta = best_eta(left, leak, c)
            value = (
                n * c * np.tanh(c / 2) + t * c * math.sqrt(n) + _over_sinh_array(c) * leak / eta - np.log(left - eta)
            )
            return np.where((left > 0) & (eta > 0) & (eta < left), value, np.inf)

    found = problem.search(nats)
    if found is None:
        return math.inf, 0.0, {}
    value, s, t, tail, leak = found
    eta = float(best_eta(np.array(1 - _MARGIN - tail - leak), np.array(leak), np.array(epsilon + s)))
    return up(value * LOG2E, 64), alpha * (tail + leak + eta), {"t": t, "s": s, "eta": alpha * eta}


class _Problem:
    """The search over `(s, t)`: a coarse grid for safety, then Nelder-Mead on logarithms."""

    def __init__(self, epsilon: float, delta: float, n: int, slack: float, method: str) -> None:
        self.epsilon, self.n, self.slack, self.plus = epsilon, n, slack, method == "best"
        self.log_rate = math.log(n) + math.log(delta) + slack  # ln(n delta / beta)

    def search(self, objective: Callable[[Array, Array, Array, Array], Array]) -> tuple[float, ...] | None:
        """Minimise `objective(tail, leak, c, t)`; return `(value, s, t, tail, leak)`, the last two divided by beta."""
        if self.log_rate >= 0:
            return None
        floor = -math.log1p(-math.exp(self.log_rate)) if self.log_rate > -700 else 0.0  # s must exceed this

        def at(log_s: Array, t: Array) -> tuple[Array, ...]:
            s = floor + np.exp(log_s)
            c = self.epsilon + s
            with np.errstate(under="ignore", over="ignore"):
                leak = np.exp(np.minimum(self.log_rate - np.log(-np.expm1(-s)), 1.0))
                order = t / (c * math.sqrt(self.n))
                drop = np.log1p(order) + order * np.log1p(1 / order) if self.plus else 0.0
                tail = np.exp(np.minimum(self.slack - t * t / 2 - drop, 1.0))
            return tail, leak, c, t

        low = max(self.log_rate - 7.0, -600.0)
        log_s, t = np.meshgrid(np.linspace(low, math.log(60.0), 72), _deviations(self.slack), indexing="ij")
        values = objective(*at(log_s, t))
        best = int(np.argmin(values))
        if not np.isfinite(values.flat[best]):
            return None

        def point(x: Sequence[float]) -> float:
            if not (low - 40 < x[0] < 5 and -20 < x[1] < 12):
                return math.inf
            return float(objective(*at(np.array(x[0]), np.array(math.exp(x[1])))))

        value, x = minimise(point, [(float(log_s.flat[best]), math.log(float(t.flat[best])))])
        tail, leak, _, _ = (float(v) for v in at(np.array(x[0]), np.array(math.exp(x[1]))))
        return value, floor + math.exp(x[0]), math.exp(x[1]), tail, leak


def _deviations(slack: float) -> Array:
    """Grid of `t`: small ones, where the excess factor alone does the work, and those around `sqrt(2 slack)`."""
    centre = math.sqrt(2 * slack)
    small = np.geomspace(1e-3, max(centre, 1.0), 40)
    return np.unique(np.concatenate([small, centre + np.linspace(0.0, 12.0, 60)[1:]]))


def _over_sinh(c: float) -> float:
    """`c / sinh c`, 1 at 0 and 0 where sinh overflows."""
    return c / math.sinh(c) if 1e-9 < c < 700 else (1.0 if c < 1 else 0.0)


def _over_sinh_array(c: Array) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return np.where(c < 1e-9, 1.0, 2 * c * np.exp(-np.minimum(c, 700)) / -np.expm1(-2 * np.maximum(c, 1e-9)))


__all__ = ["smallest_bits", "smallest_penalty", "theorem_s"]
