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

The clipped sum is never above `n c`, so (a) alone gives `k = log2(e) n c` at `beta = a`, without Azuma or Markov. It is
`clipped_sum`, the better line for few rows or a large epsilon, and part of the minimum below.

No upper limit on epsilon, no `delta < epsilon`, no `sqrt(delta)`. At the same parameters both numbers are below those
of Theorem 3.1 as printed (`s = epsilon`, `eta = n delta/dhat`). A mechanism that leaks each row with probability delta
shows that `beta` of order `n delta` cannot be avoided. Known loss: the range is `2c`, so at `delta -> 0` it reaches
`log2(e) n epsilon` and not the pure line for independent rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.exact import up
from holdfast.bounds.max_information import LOG2E, excess_slack
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise

Array = npt.NDArray[np.float64]
_TINY = 5e-324  # the smallest positive double


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
    c = up(epsilon + s, 1)
    leak = n * delta / -math.expm1(-s)
    tail = math.exp(-t * t / 2 - (excess_slack(t / (c * math.sqrt(n))) if method == "best" else 0.0))
    markov = float(_over_sinh(np.array(c))) * leak / eta if delta else 0.0
    nats = n * c * math.tanh(c / 2) + t * c * math.sqrt(n) + markov
    beta = tail + leak + (eta if delta else 0.0)
    found = {"t": t, "s": s} | ({"eta": eta} if delta else {})
    return MaxInformation(up(nats * LOG2E, 16), up(beta, 16), "product", "max-information.theorem-s", "derived", found)


@theorem(
    "max-information.clipped-sum",
    statement="max-information of approximate differential privacy by the largest loss of a row; beta in the details",
    source="Holdfast, step (a) of Theorem S; docs/max-information.md",
    conditions="rows independent, neighbours replace one row; epsilon >= 0, delta in [0, 1), s > 0",
    unit="bits",
    provenance="derived",
)
def clipped_sum(epsilon: float, delta: float, n: int, s: float) -> MaxInformation:
    """Return `k = log2(e) n (epsilon + s)` at `beta = n delta/(1 - e^-s)`.

    Unless some row loses more than `c = epsilon + s`, all rows together lose at most `n c`. Better than Theorem S+ for
    few rows or a large epsilon. Derived: step (a) of the proof in the module's docstring.

    Parameters
    ----------
    epsilon : float
        The privacy parameter of the whole computation, at least 0.
    delta : float
        In [0, 1).
    n : int
        The number of rows.
    s : float
        By how much the clipping level exceeds epsilon, above 0.

    Examples
    --------
    >>> bound = clipped_sum(10.0, 1e-12, 3, s=1e-9)
    >>> round(bound.bits, 4), round(bound.beta, 6)
    (43.2809, 0.003)
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    n = check.whole("n", n, at_least=1)
    s = check.real("s", s, above=0)
    leak = n * delta / -math.expm1(-s)
    bits = up(n * (epsilon + s) * LOG2E, 8)
    return MaxInformation(bits, up(leak, 8), "product", "max-information.clipped-sum", "derived", {"s": s})


def smallest_bits(
    epsilon: float,
    delta: float,
    n: int,
    slack: float,
    method: Literal["best", "plain"] = "best",
    *,
    polish: bool = True,
) -> tuple[float, dict[str, float]]:
    """Return the fewest bits of Theorem S+ at `beta = exp(-slack)`, with the parameters that give them. Unchecked.

    Everything is divided by `beta`, so that failure probabilities below the floating range are fine. `delta` must be
    positive. The bits are `inf` when `n delta >= beta`. The parameters are `t`, `s` and `eta`, or `s` alone where
    `clipped_sum` is the better line. Cost: about 5 milliseconds; without `polish` (the grid alone, within a few per
    cent) about 0.5.

    Examples
    --------
    >>> bits, parameters = smallest_bits(0.001, 1e-12, 10_000, -math.log(0.005))
    >>> round(bits, 4), sorted(parameters)
    (0.3857, ['eta', 's', 't'])
    >>> bits, parameters = smallest_bits(10.0, 1e-12, 3, -math.log(0.01))
    >>> round(bits, 4), sorted(parameters)
    (43.2809, ['s'])
    """
    problem = _Problem(epsilon, delta, n, slack, method)
    if problem.log_rate >= -problem.margin:
        return math.inf, {}

    def nats(tail: Array, leak: Array, c: Array, t: Array) -> Array:
        left = 1 - problem.margin - tail - leak
        value = n * c * np.tanh(c / 2) + _over_sinh(c) * leak / np.maximum(left, _TINY) + t * c * math.sqrt(n)
        return np.where(left > 0, value, np.inf)

    clipped, s = problem.clipped(1 - problem.margin)
    found = problem.search(nats, polish)
    if found is None or clipped <= found.value:
        return up(clipped * LOG2E, 64), {"s": s}
    eta = (1 - problem.margin - found.tail - found.leak) * math.exp(-slack)
    return up(found.value * LOG2E, 64), {"t": found.t, "s": found.s, "eta": eta}


class Penalty(NamedTuple):
    """A best instance for a level: `bits - log2(1 - beta/alpha)`, the bits, the beta and the free parameters."""

    penalty: float
    bits: float
    beta: float
    parameters: dict[str, float]


def smallest_penalty(
    epsilon: float, delta: float, n: int, alpha: float, method: Literal["best", "plain"] = "best"
) -> Penalty:
    """Return the instance of Theorem S+ with the least `bits - log2(1 - beta/alpha)`. Unchecked.

    The level to reject at is `alpha` times two to minus the penalty. For given `t` and `s` the best `eta` is the root
    of `eta^2 + A1 eta = A1 A`, `A1 = (c/sinh c) a`, `A = alpha - F - a`. `clipped_sum` is part of the minimum.

    Examples
    --------
    >>> found = smallest_penalty(0.001, 1e-12, 10_000, 0.05, "plain")
    >>> round(math.log2(0.05) - found.penalty, 6)
    -5.081015
    """
    problem = _Problem(epsilon, delta, n, -math.log(alpha), method)
    if problem.log_rate >= -problem.margin:
        return Penalty(math.inf, math.inf, alpha, {})

    def best_eta(left: Array, leak: Array, c: Array) -> Array:
        cost = np.maximum(_over_sinh(c) * leak, _TINY)
        eta: Array = 2 * cost * left / (cost + np.sqrt(cost * cost + 4 * cost * left))
        return np.maximum(eta, _TINY)

    def exponent(leak: Array, c: Array, t: Array, eta: Array) -> Array:
        value: Array = n * c * np.tanh(c / 2) + t * c * math.sqrt(n) + _over_sinh(c) * leak / eta
        return value

    def nats(tail: Array, leak: Array, c: Array, t: Array) -> Array:
        left = np.maximum(1 - problem.margin - tail - leak, _TINY)
        eta = best_eta(left, leak, c)
        value = exponent(leak, c, t, eta) - np.log(np.maximum(left - eta, _TINY))
        return np.where((left > _TINY) & (eta < left), value, np.inf)

    # the clipped sum: n s - ln(1 - r/u) is least where n u (u - r) = r (1 - u), u = 1 - e^-s, r = n delta/alpha
    rate = math.exp(problem.log_rate)
    root = rate * (n - 1) + math.sqrt((rate * (n - 1)) ** 2 + 4 * n * rate) if n < 1e100 else 2 * n * math.sqrt(rate)
    share = min(max(rate / (root / (2 * n)), rate) if root else 0.0, 1 - problem.margin)
    clipped, s = problem.clipped(share)
    used = min(1.0, share + problem.margin)
    clipped_penalty = clipped - math.log1p(-used) if used < 1 else math.inf
    found = problem.search(nats, polish=True)
    if found is None or clipped_penalty <= found.value:
        return Penalty(up(clipped_penalty * LOG2E, 64), up(clipped * LOG2E, 64), up(alpha * used, 8), {"s": s})
    arguments = (np.array(found.leak), np.array(epsilon + found.s))
    with np.errstate(all="ignore"):
        eta = float(best_eta(np.array(1 - problem.margin - found.tail - found.leak), *arguments))
        bits = float(exponent(*arguments, np.array(found.t), np.array(eta))) * LOG2E
    beta = up(alpha * (found.tail + found.leak + eta + problem.margin), 8)
    parameters = {"t": found.t, "s": found.s, "eta": alpha * eta}
    return Penalty(up(found.value * LOG2E, 64), up(bits, 64), beta, parameters)


class _Found(NamedTuple):
    """What the search found; `tail` and `leak` divided by beta."""

    value: float
    s: float
    t: float
    tail: float
    leak: float


class _Problem:
    """The search over `(s, t)`: a coarse grid for safety, then Nelder-Mead on logarithms."""

    def __init__(self, epsilon: float, delta: float, n: int, slack: float, method: str) -> None:
        self.epsilon, self.n, self.slack, self.plus = epsilon, n, slack, method == "best"
        self.log_rate = math.log(n) + math.log(delta) + slack  # ln(n delta / beta)
        # of beta, for the rounding of the sum of failures: logarithms are exact to a unit of their own last place
        self.margin = 1e-15 + 4 * math.ulp(max(slack, -math.log(delta)))

    def clipped(self, share: float) -> tuple[float, float]:
        """Nats of the clipped sum at `beta` times `share`, and its `s`; `inf` where `n delta` is more than that."""
        if not share or self.log_rate >= math.log(share):
            return math.inf, 0.0
        s = max(up(-math.log1p(-math.exp(self.log_rate - math.log(share))), 4), 1e-300)
        return up(self.n * (self.epsilon + s), 2), s

    def search(self, objective: Callable[[Array, Array, Array, Array], Array], polish: bool) -> _Found | None:
        """Minimise `objective(tail, leak, c, t)`; None where no point of the grid has a finite value."""
        floor = -math.log1p(-math.exp(self.log_rate)) if self.log_rate > -700 else 0.0  # s must exceed this

        def at(log_s: Array, t: Array) -> tuple[Array, ...]:
            s = floor + np.exp(log_s)
            c = self.epsilon + s
            leak = np.exp(np.minimum(self.log_rate - np.log(-np.expm1(-s)), 1.0))
            order = np.maximum(t / (c * math.sqrt(self.n)), 1e-300)
            drop = np.log1p(order) + order * np.log1p(1 / order) if self.plus else 0.0
            tail = np.exp(np.minimum(self.slack - t * t / 2 - drop, 1.0))
            return tail, leak, c, t

        low = max(self.log_rate - 7.0, -600.0)
        log_s, t = np.meshgrid(np.linspace(low, math.log(60.0), 72), _deviations(self.slack), indexing="ij")
        with np.errstate(all="ignore"):  # infinities are what the objective may say, and the grid reaches them
            values = objective(*at(log_s, t))
            best = int(np.argmin(values))
            if not np.isfinite(values.flat[best]):
                return None

            def point(x: Sequence[float]) -> float:
                if not (low - 40 < x[0] < 5 and -20 < x[1] < 12):
                    return math.inf
                return float(objective(*at(np.array(x[0]), np.array(math.exp(x[1])))))

            x: Sequence[float] = (float(log_s.flat[best]), math.log(float(t.flat[best])))
            value = float(values.flat[best])
            if polish:
                value, x = minimise(point, [x])
            tail, leak, _, _ = (float(v) for v in at(np.array(x[0]), np.array(math.exp(x[1]))))
        return _Found(value, floor + math.exp(x[0]), math.exp(x[1]), tail, leak)


def _deviations(slack: float) -> Array:
    """Grid of `t`: small ones, where the excess factor alone does the work, and those around `sqrt(2 slack)`."""
    centre = math.sqrt(2 * slack)
    small = np.geomspace(1e-3, max(centre, 1.0), 40)
    return np.unique(np.concatenate([small, centre + np.linspace(0.0, 12.0, 60)[1:]]))


def _over_sinh(c: Array) -> Array:
    """`c / sinh c`, which decreases from 1; beyond 700 its value there, before sinh overflows."""
    inside = np.minimum(np.maximum(c, 1e-9), 700.0)  # sooner than np.clip on the single points of a search
    return np.where(c < 1e-9, 1.0, 2 * inside * np.exp(-inside) / -np.expm1(-2 * inside))


__all__ = ["Penalty", "clipped_sum", "smallest_bits", "smallest_penalty", "theorem_s"]
