"""Max-information of approximate differential privacy over independent rows: the printed theorem and the default bound.

Theorem 3.1 of Rogers, Roth, Smith and Thakkar (2016) is printed with one choice of its two free parameters, at which
it gives no useful bound for p-values. The form inside its proof, with `t` and `dhat` free, does once `epsilon sqrt(n)`
is small. Its printed proof mixes bits and nats and quotes a lemma that is false in general
(docs/errata/max-information.md); the printed numbers are true all the same, because `theorem_s` gives smaller ones at
the same parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.max_information import LOG2E, excess_slack, product_nats
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.search import minimise, smallest, spaced
from holdfast.bounds.parameters import Delta, Domain, Epsilon, FailureProbabilityOrZero, PositiveDelta, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Clipped privacy loss ---------------------------------------------------------------------------------------------
# Theorem S and S+: max-information of approximate differential privacy over independent rows. Ours, reviewed.
#
# Let `A` be (epsilon, delta)-DP and the rows independent. For any `s > 0`, `eta > 0`, `t >= 0`, with `c = epsilon + s`,
# `a = n delta/(1 - e^-s)`:
#
#     k    = log2(e) (n c tanh(c/2) + (c/sinh c) a/eta + t c sqrt(n))
#     beta = F + a + eta,    F = exp(-t^2/2)                                              (S)
#                            F = exp(-t^2/2) lambda^lambda/(1+lambda)^(1+lambda),  lambda = t/(c sqrt n)    (S+)
#
# Proof, in nats. Let `Z_i` be the log-likelihood ratio of row `i` given the output and the rows before it, against its
# prior. (a) The joint distribution of output and row `i` and their product are (epsilon, delta)-indistinguishable for
# every
# prefix, so `Pr[Z_i > c] <= delta/(1-e^-s)`, and the prior mass `q_i` of `{Z_i < -c}` has mean at most
# `delta/(1-e^-s)`. (b) Put `T_i = Z_i` where `|Z_i| <= c`, `-c` below and `0` above. `u ln u` lies below its chord on
# `[e^-c, e^c]`; summing over the prior, `E[T_i | past] <= c tanh(c/2) + (c/sinh c) q_i`. (c) Azuma-Hoeffding with range
# `2c` bounds `sum T_i`. (d) Markov: `sum q_i <= a/eta` except with probability `eta`. (e) Unless some `Z_i > c`, `Z <=
# sum T_i`. The three failures add up. S+ replaces the tail of (c) by the excess that counts, `E[(1 - exp(k - sum
# T_i))_+]`, with the moment bound of (b) and Hoeffding's lemma at order `lambda`.
#
# The clipped sum is never above `n c`, so (a) alone gives `k = log2(e) n c` at `beta = a`, without Azuma or Markov. It
# is `clipped_sum`, the better line for few rows or a large epsilon, and part of the minimum below.
#
# No upper limit on epsilon, no `delta < epsilon`, no `sqrt(delta)`. At the same parameters both numbers are below those
# of Theorem 3.1 as printed (`s = epsilon`, `eta = n delta/dhat`). A mechanism that leaks each row with probability
# delta shows that `beta` of order `n delta` cannot be avoided. Known loss: the range is `2c`, so at `delta -> 0` it
# reaches `log2(e) n epsilon` and not the pure line for independent rows.

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
    epsilon: Epsilon,
    delta: Delta,
    n: UnboundedRows,
    t: Annotated[float, Domain("The deviation parameter.", at_least=0, typical=3)],
    eta: Annotated[
        float, Domain("The share of beta for Markov's inequality; ignored when delta is 0.", at_least=0, typical=1e-06)
    ],
    s: Annotated[float, Domain("By how much the clipping level exceeds epsilon.", above=0, typical=0.0001)],
    method: Annotated[Literal["best", "plain"], "'best' is Theorem S+, 'plain' is Theorem S."] = "best",
) -> MaxInformation:
    """Evaluate Theorem S+ ("best") or S ("plain") at chosen parameters; the module's docstring has statement and proof.

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
    eta = eta if delta == 0 else arguments.real("eta", eta, above=0)
    c = up(epsilon + s, 1)
    leak = n * delta / -math.expm1(-s)
    tail = math.exp(-t * t / 2 - (excess_slack(t / (c * math.sqrt(n))) if method == "best" else 0.0))
    markov = float(_over_sinh(np.array(c))) * leak / eta if delta else 0.0
    nats = n * c * math.tanh(c / 2) + t * c * math.sqrt(n) + markov
    beta = tail + leak + (eta if delta else 0.0)
    parameters = {"t": t, "s": s} | ({"eta": eta} if delta else {})
    return MaxInformation(
        up(nats * LOG2E, 16), up(beta, 16), "product", "max-information.theorem-s", "derived", parameters
    )


@theorem(
    "max-information.clipped-sum",
    statement="max-information of approximate differential privacy by the largest loss of a row; beta in the details",
    source="Holdfast, step (a) of Theorem S; docs/max-information.md",
    conditions="rows independent, neighbours replace one row; epsilon >= 0, delta in [0, 1), s > 0",
    unit="bits",
    provenance="derived",
)
def clipped_sum(
    epsilon: Epsilon,
    delta: Delta,
    n: UnboundedRows,
    s: Annotated[float, Domain("By how much the clipping level exceeds epsilon.", above=0, typical=1e-09)],
) -> MaxInformation:
    """Return `k = log2(e) n (epsilon + s)` at `beta = n delta/(1 - e^-s)`.

    Unless some row loses more than `c = epsilon + s`, all rows together lose at most `n c`. Better than Theorem S+ for
    few rows or a large epsilon. Derived: step (a) of the proof in the module's docstring.

    Examples
    --------
    >>> bound = clipped_sum(10.0, 1e-12, 3, s=1e-9)
    >>> round(bound.bits, 4), round(bound.beta, 6)
    (43.2809, 0.003)
    """
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
    optimum = problem.search(nats, polish)
    if optimum is None or clipped <= optimum.value:
        return up(clipped * LOG2E, 64), {"s": s}
    eta = (1 - problem.margin - optimum.tail - optimum.leak) * math.exp(-slack)
    return up(optimum.value * LOG2E, 64), {"t": optimum.t, "s": optimum.s, "eta": eta}


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
    optimum = problem.search(nats, polish=True)
    if optimum is None or clipped_penalty <= optimum.value:
        return Penalty(up(clipped_penalty * LOG2E, 64), up(clipped * LOG2E, 64), up(alpha * used, 8), {"s": s})
    arguments = (np.array(optimum.leak), np.array(epsilon + optimum.s))
    with np.errstate(all="ignore"):
        eta = float(best_eta(np.array(1 - problem.margin - optimum.tail - optimum.leak), *arguments))
        bits = float(exponent(*arguments, np.array(optimum.t), np.array(eta))) * LOG2E
    beta = up(alpha * (optimum.tail + optimum.leak + eta + problem.margin), 8)
    parameters = {"t": optimum.t, "s": optimum.s, "eta": alpha * eta}
    return Penalty(up(optimum.value * LOG2E, 64), up(bits, 64), beta, parameters)


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


# --- Approximate dp ---------------------------------------------------------------------------------------------------

Form = Literal["best", "printed", "printed-nats", "repaired", "exact-drift"]


@theorem(
    "max-information.approx-dp",
    statement="approximate max-information of an (epsilon, delta)-DP computation on n independent rows",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 3.1 (printed); Theorem S+ (default), docs/max-information.md",
    conditions="rows independent, neighbours replace one row; paper: epsilon in (0, 1/2], 0 < delta < epsilon",
    unit="bits",
    provenance="mixed",
)
def approx_dp(
    epsilon: Epsilon,
    delta: Annotated[Delta, "The delta of everything released; the bound is vacuous unless `n delta < beta`."],
    n: UnboundedRows,
    beta: FailureProbabilityOrZero,
    method: Literal["best", "paper"] = "best",
) -> MaxInformation:
    """Bound the approximate max-information at a given `beta`, free parameters optimised.

    - "best": Theorem S+ (`holdfast.bounds.approximate_dp`), and the pure lines when `delta = 0`. No limit on
      epsilon.
    - "paper": the two-parameter form of Theorem 3.1, `two_parameter`, with the best `dhat` for this `beta`.

    Returns
    -------
    MaxInformation
        `bits = inf` where there is no bound. Cost: about 5 milliseconds.

    Examples
    --------
    >>> round(approx_dp(0.01, 1e-10, 1000, 0.01).bits, 4)
    1.1513
    >>> approx_dp(0.01, 1e-10, 1000, 0.01, method="paper").bits
    inf
    >>> round(approx_dp(0.001, 1e-20, 10000, 0.01, method="paper").bits, 4)
    2.5428
    """
    source = "max-information.approx-dp"
    if method == "paper":
        _range_of_theorem_3_1(epsilon, delta)
        bits, t, dhat = smallest_two_parameter_bits(epsilon, delta, n, beta)
        parameters = {"t": t, "dhat": dhat} if bits < math.inf else {}
        return MaxInformation(bits, beta, "product", source, "paper", parameters)
    if delta == 0:
        slack = -math.log(beta) if beta else math.inf
        return MaxInformation(up(product_nats(epsilon, n, slack) * LOG2E, 2), beta, "product", source)
    if not beta:
        return MaxInformation(math.inf, beta, "product", source)
    bits, parameters = smallest_bits(epsilon, delta, n, -math.log(beta))
    return MaxInformation(bits, beta, "product", source, "derived", parameters)


class Ingredients(NamedTuple):
    """Quantities of the printed proof: failures of Claims 3.4 and 3.5, `tau` and `nu` of eq. (7) in bits."""

    dhat: float
    delta_prime: float
    delta_second: float
    tau: float
    nu: float


def ingredients(epsilon: float, delta: float, dhat: float | None = None) -> Ingredients:
    """Return the quantities of the printed proof of Theorem 3.1, to audit its constants.

    `delta' = 2 delta/dhat + 2 delta/(1-e^-eps)`, `delta'' = 2 dhat/(1-e^-3eps)`,
    `tau = log2(e) (dhat (2 e^3eps + 1) + 2 dhat^2 (2 e^3eps/(1-e^-3eps) + 1)^2)` and
    `nu = 72 eps^2 + 24 dhat e^6eps/(1-e^-3eps) + tau`. The last square is the printed rational function without its
    cancellation. Default `dhat = sqrt(eps delta)/15`, as printed.

    Examples
    --------
    >>> round(ingredients(0.1, 1e-10).nu, 8)
    0.7200367
    """
    epsilon, delta, dhat = _checked(epsilon, delta, dhat)
    grown = math.exp(3 * epsilon)
    shrunk = -math.expm1(-3 * epsilon)
    prime = 2 * delta / dhat + 2 * delta / -math.expm1(-epsilon)
    second = 2 * dhat / shrunk
    ratio = dhat * (2 * grown / shrunk + 1)
    tau = LOG2E * (dhat * (2 * grown + 1) + 2 * ratio * ratio)
    nu = 72 * epsilon * epsilon + dhat * 24 * grown * grown / shrunk + tau
    return Ingredients(dhat, prime, second, tau, nu)


@theorem(
    "max-information.approx-dp-two-parameter",
    statement="Theorem 3.1 at chosen t and dhat; the printed choice when they are left out",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 3.1, end of its proof; other forms derived",
    conditions="rows independent; epsilon in (0, 1/2], 0 < delta < epsilon, t >= 0, 0 < dhat <= epsilon/15",
    unit="bits",
    provenance="mixed",
)
def two_parameter(
    epsilon: Annotated[Epsilon, Domain(at_least=1e-300, at_most=0.5)],
    delta: PositiveDelta,
    n: UnboundedRows,
    t: Annotated[float, Domain("The deviation parameter.", at_least=0)] | None = None,
    dhat: Annotated[float, Domain("The conditioning parameter.", above=0, below=1)] | None = None,
    form: Form = "best",
) -> MaxInformation:
    """Evaluate Theorem 3.1: `k = n nu + 6 t eps sqrt(n)` at `beta = exp(-t^2/2) + n (delta' + delta'')`.

    Left out, they take the printed values `t = eps sqrt(2n)` and `dhat = sqrt(eps delta)/15`; then `beta >= exp(-eps^2
    n)`, so a `beta` below 0.05 costs at least 241 bits. The forms differ in the drift, and every one of them is true
    because Theorem S gives less at the same parameters, so the smallest is:

    - "printed": as printed, in bits.
    - "printed-nats": the printed drift read in nats, multiplied by log2(e) once (the dissertation's units).
    - "repaired": in nats with the exact exponential instead of `72 eps^2`, which the printed proof reaches only for
      `eps <= 0.2094`. Derived.
    - "exact-drift": the drift before any simplification, in nats. Derived.
    - "best": the smaller of "printed" and "exact-drift".

    Examples
    --------
    >>> bound = two_parameter(0.1, 1e-10, 1000)
    >>> round(bound.bits, 4), round(bound.beta, 6), bound.is_vacuous(0.05)
    (804.8895, 0.950358, True)
    >>> bound = two_parameter(0.001, 1e-20, 10_000, t=3, form="printed")
    >>> round(bound.bits, 6), round(bound.beta, 6)
    (2.520017, 0.012059)
    """
    parts = ingredients(epsilon, delta, dhat)
    t = float(epsilon) * math.sqrt(2 * n) if t is None else t
    deviation = 6 * t * epsilon * math.sqrt(n)
    forms: tuple[Form, ...] = ("printed", "exact-drift") if form == "best" else (form,)
    bits, form = min((_two_parameter_bits(epsilon, n, parts, deviation, each), each) for each in forms)
    beta = math.exp(-t * t / 2) + n * (parts.delta_prime + parts.delta_second)
    provenance: Literal["paper", "derived"] = "paper" if form == "printed" else "derived"
    source = "max-information.approx-dp-two-parameter"
    return MaxInformation(up(bits, 8), up(beta, 8), "product", source, provenance, {"t": t, "dhat": parts.dhat})


@theorem(
    "max-information.approx-dp-closed-form",
    statement="Theorem 3.1 at its printed parameters with both O(.) replaced by constants",
    source="Holdfast, from Rogers-Roth-Smith-Thakkar 2016 Theorem 3.1; docs/max-information.md",
    conditions="rows independent; epsilon in (0, 1/2], 0 < delta < epsilon",
    unit="bits",
    provenance="derived",
)
def closed_form(
    epsilon: Annotated[Epsilon, Domain(at_least=1e-300, at_most=0.5)], delta: PositiveDelta, n: UnboundedRows
) -> MaxInformation:
    """Return `k = (72 + 6 sqrt 2) eps^2 n + 21.7 n q`, `beta = exp(-eps^2 n) + 32.7 n q`, with `q = sqrt(delta/eps)`.

    At least `two_parameter(epsilon, delta, n)` in both numbers: every other coefficient, divided by `q`, increases in
    epsilon and `q`, so its largest value is at `eps = 1/2`, `q = 1`. Derived, reviewed.

    Examples
    --------
    >>> bound = closed_form(0.1, 1e-20, 1000)
    >>> round(bound.bits, 6), round(bound.beta * 1e5, 6)
    (804.852821, 5.574058)
    """
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    q = math.sqrt(delta / epsilon)
    bits = (72 + 6 * math.sqrt(2)) * epsilon * epsilon * n + 21.7 * n * q
    beta = math.exp(-epsilon * epsilon * n) + 32.7 * n * q
    return MaxInformation(up(bits), up(beta), "product", "max-information.approx-dp-closed-form")


def smallest_two_parameter_bits(
    epsilon: float, delta: float, n: int, beta: float, form: Form = "printed"
) -> tuple[float, float, float]:
    """Return `(bits, t, dhat)` of `two_parameter` with the fewest bits at this `beta`; `inf` when no `dhat` fits.

    Feasible `dhat` lie between the roots of `n (delta' + delta'') = beta`; `t` follows from what they leave of `beta`.

    Examples
    --------
    >>> bits, t, dhat = smallest_two_parameter_bits(0.01, 1e-20, 1000, 0.025, form="exact-drift")
    >>> round(bits, 6)
    12.787891
    """
    ends = feasible_dhat(epsilon, delta, n, beta)
    if ends is None:
        return math.inf, 0.0, 0.0

    def at(log_dhat: float) -> tuple[float, float, float]:
        dhat = min(math.exp(log_dhat), ends[1])
        parts = ingredients(epsilon, delta, dhat)
        left = beta - up(n * (parts.delta_prime + parts.delta_second))
        if left <= 0:
            return math.inf, 0.0, dhat
        t = up(math.sqrt(-2 * math.log(left)), 8)
        return two_parameter(epsilon, delta, n, t, dhat, form).bits, t, dhat

    grid = spaced(math.log(ends[0]), math.log(ends[1]), 65)
    return at(smallest(lambda x: at(x)[0], grid)[0])


def smallest_beta(epsilon: float, delta: float, n: int, method: Literal["best", "paper"] = "best") -> float:
    """Return the failure probability below which the bound is vacuous, whatever the number of bits.

    `n delta` for Theorem S+; for Theorem 3.1 `n (delta' + delta'')` at its best `dhat`, about `2.31 n
    sqrt(delta/eps)`. Both are limits: at this very `beta` the bits are infinite.

    Examples
    --------
    >>> round(smallest_beta(0.01, 1e-10, 1000), 12), round(smallest_beta(0.01, 1e-10, 1000, method="paper"), 4)
    (1e-07, 0.2327)
    """
    n = arguments.whole("n", n, at_least=1)
    arguments.choice("method", method, ("best", "paper"))
    if method == "best":
        return up(n * arguments.probability("delta", delta, zero=True), 1)
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    parts = ingredients(epsilon, delta, min(math.sqrt(delta) * math.sqrt(-math.expm1(-3 * epsilon)), epsilon / 15))
    return up(n * (parts.delta_prime + parts.delta_second))


def feasible_dhat(epsilon: float, delta: float, n: int, beta: float) -> tuple[float, float] | None:
    """Return the range of `dhat` for which Theorem 3.1 leaves something of `beta`, or None.

    Examples
    --------
    >>> feasible_dhat(0.01, 1e-10, 1000, 0.05) is None
    True
    """
    shrunk = -math.expm1(-3 * epsilon)
    room = beta / n - 2 * delta / -math.expm1(-epsilon)  # for 2 delta/dhat + 2 dhat/shrunk
    least = 4 * math.sqrt(delta / shrunk)
    if room <= least:
        return None
    high = shrunk * (room + math.sqrt(room - least) * math.sqrt(room + least)) / 4
    low = max(delta / high * shrunk, 5e-324)
    return (low, min(high, epsilon / 15)) if low < epsilon / 15 else None


def _two_parameter_bits(epsilon: float, n: int, found: Ingredients, deviation: float, form: Form) -> float:
    if form == "printed":
        return n * found.nu + deviation
    return LOG2E * (n * _drift_nats(epsilon, found, form) + deviation)


def _drift_nats(epsilon: float, found: Ingredients, form: str) -> float:
    if form == "printed-nats":
        shrunk = -math.expm1(-3 * epsilon)
        main = 72 * epsilon * epsilon + found.dhat * 24 * math.exp(6 * epsilon) / shrunk
        return main + found.tau / LOG2E
    second = found.delta_second
    main = 6 * epsilon * (math.expm1(6 * epsilon) + second) / (1 - second)
    if form == "repaired":
        return main + found.tau / LOG2E
    return main + math.log1p(-second) - math.log1p(-(math.exp(3 * epsilon) * second + found.dhat))


def _range_of_theorem_3_1(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = arguments.real("epsilon", epsilon, at_least=1e-300, at_most=0.5)  # below, its quotients underflow
    delta = arguments.probability("delta", delta)
    if delta >= epsilon:
        raise InvalidParameter(
            f"delta must be a number in (0, epsilon) = (0, {epsilon:g}) for Theorem 3.1, got {delta:g}"
        )
    return epsilon, delta


def _checked(epsilon: float, delta: float, dhat: float | None) -> tuple[float, float, float]:
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    if dhat is None:
        return epsilon, delta, min(math.sqrt(epsilon) * math.sqrt(delta), epsilon) / 15
    return epsilon, delta, arguments.real("dhat", dhat, above=0, at_most=epsilon / 15)
