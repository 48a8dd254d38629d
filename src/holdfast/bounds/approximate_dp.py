"""Max-information of approximate differential privacy over independent rows: the printed theorem and the default bound.

Theorem 3.1 of Rogers, Roth, Smith and Thakkar (2016) is printed with one choice of its two free parameters, at which
it says nothing useful about p-values. The form inside its proof, with `t` and `dhat` free, does once `epsilon sqrt(n)`
is small. Its printed proof mixes bits and nats and quotes a lemma that is false in general
(docs/errata/max-information.md); the printed numbers are true all the same, because `theorem_s` gives smaller ones at
the same parameters.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from holdfast import check
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.exact import up
from holdfast.bounds.max_information import LOG2E, product_nats
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import smallest, spaced
from holdfast.bounds.theorem_s import smallest_bits
from holdfast.errors import InvalidParameter

Form = Literal["printed", "printed-nats", "repaired", "exact-drift"]
_FORMS = ("printed", "printed-nats", "repaired", "exact-drift")


@theorem(
    "max-information.approx-dp",
    statement="approximate max-information of an (epsilon, delta)-DP computation on n independent rows",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 3.1 (printed); Theorem S+ (default), docs/max-information.md",
    conditions="rows independent, neighbours replace one row; paper: epsilon in (0, 1/2], 0 < delta < epsilon",
    unit="bits",
    provenance="mixed",
)
def approx_dp(
    epsilon: float, delta: float, n: int, beta: float, method: Literal["best", "paper"] = "best"
) -> MaxInformation:
    """Bound the approximate max-information at a given `beta`, free parameters optimised.

    - "best": Theorem S+ (`holdfast.bounds.theorem_s`), and the pure lines when `delta = 0`. No upper limit on epsilon.
    - "paper": the two-parameter form of Theorem 3.1, `two_parameter`, with the best `dhat` for this `beta`.

    Parameters
    ----------
    epsilon : float
        The privacy parameter of the whole computation, at least 0.
    delta : float
        In [0, 1). S+ says nothing unless `n delta < beta`, and a mechanism that leaks a row with probability delta
        shows that no bound can.
    n : int
        The number of rows.
    beta : float
        The failure probability, in [0, 1).
    method : str
        "best" (default) or "paper".

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
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    n = check.whole("n", n, at_least=1)
    beta = check.probability("beta", beta, zero=True)
    check.choice("method", method, ("best", "paper"))
    source = "max-information.approx-dp"
    if method == "paper":
        _range_of_theorem_3_1(epsilon, delta)
        bits, t, dhat = smallest_two_parameter_bits(epsilon, delta, n, beta)
        found = {"t": t, "dhat": dhat} if bits < math.inf else {}
        return MaxInformation(bits, beta, "product", source, "paper", found)
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
    epsilon: float,
    delta: float,
    n: int,
    t: float | None = None,
    dhat: float | None = None,
    form: Form = "printed",
) -> MaxInformation:
    """Evaluate Theorem 3.1: `k = n nu + 6 t eps sqrt(n)` at `beta = exp(-t^2/2) + n (delta' + delta'')`.

    Left out, they take the printed values `t = eps sqrt(2n)` and `dhat = sqrt(eps delta)/15`; then `beta >= exp(-eps^2
    n)`, so a `beta` below 0.05 costs at least 241 bits. The forms differ in the drift, and every one of them is true
    because Theorem S gives less at the same parameters:

    - "printed": as printed, in bits.
    - "printed-nats": the printed drift read in nats, multiplied by log2(e) once (the dissertation's units).
    - "repaired": in nats with the exact exponential instead of `72 eps^2`, which the printed proof reaches only for
      `eps <= 0.2094`. Derived.
    - "exact-drift": the drift before any simplification, in nats. Derived.

    Parameters
    ----------
    epsilon : float
        In (0, 1/2].
    delta : float
        In (0, epsilon).
    n : int
        The number of rows.
    t : float
        The deviation parameter, at least 0.
    dhat : float
        The conditioning parameter, in (0, epsilon/15].
    form : str
        "printed" (default), "printed-nats", "repaired" or "exact-drift".

    Examples
    --------
    >>> bound = two_parameter(0.1, 1e-10, 1000)
    >>> round(bound.bits, 4), round(bound.beta, 6), bound.is_vacuous(0.05)
    (804.8895, 0.950358, True)
    >>> bound = two_parameter(0.001, 1e-20, 10_000, t=3)
    >>> round(bound.bits, 6), round(bound.beta, 6)
    (2.520017, 0.012059)
    """
    n = check.whole("n", n, at_least=1)
    found = ingredients(epsilon, delta, dhat)
    check.choice("form", form, _FORMS)
    t = float(epsilon) * math.sqrt(2 * n) if t is None else check.real("t", t, at_least=0)
    deviation = 6 * t * epsilon * math.sqrt(n)
    bits = (
        n * found.nu + deviation if form == "printed" else LOG2E * (n * _drift_nats(epsilon, found, form) + deviation)
    )
    beta = math.exp(-t * t / 2) + n * (found.delta_prime + found.delta_second)
    provenance: Literal["paper", "derived"] = "paper" if form == "printed" else "derived"
    source = "max-information.approx-dp-two-parameter"
    return MaxInformation(up(bits, 8), up(beta, 8), "product", source, provenance, {"t": t, "dhat": found.dhat})


@theorem(
    "max-information.approx-dp-closed-form",
    statement="Theorem 3.1 at its printed parameters with both O(.) replaced by constants",
    source="Holdfast, from Rogers-Roth-Smith-Thakkar 2016 Theorem 3.1; docs/max-information.md",
    conditions="rows independent; epsilon in (0, 1/2], 0 < delta < epsilon",
    unit="bits",
    provenance="derived",
)
def closed_form(epsilon: float, delta: float, n: int) -> MaxInformation:
    """Return `k = (72 + 6 sqrt 2) eps^2 n + 21.7 n q`, `beta = exp(-eps^2 n) + 32.7 n q`, with `q = sqrt(delta/eps)`.

    At least `two_parameter(epsilon, delta, n)` in both numbers: every other coefficient, divided by `q`, increases in
    epsilon and `q`, so its largest value is at `eps = 1/2`, `q = 1`. Derived, reviewed.

    Parameters
    ----------
    epsilon : float
        In (0, 1/2].
    delta : float
        In (0, epsilon).
    n : int
        The number of rows.

    Examples
    --------
    >>> bound = closed_form(0.1, 1e-20, 1000)
    >>> round(bound.bits, 6), round(bound.beta * 1e5, 6)
    (804.852821, 5.574058)
    """
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    n = check.whole("n", n, at_least=1)
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
        found = ingredients(epsilon, delta, dhat)
        left = beta - up(n * (found.delta_prime + found.delta_second))
        if left <= 0:
            return math.inf, 0.0, dhat
        t = up(math.sqrt(-2 * math.log(left)), 8)
        return two_parameter(epsilon, delta, n, t, dhat, form).bits, t, dhat

    grid = spaced(math.log(ends[0]), math.log(ends[1]), 65)
    return at(smallest(lambda x: at(x)[0], grid)[0])


def smallest_beta(epsilon: float, delta: float, n: int, method: Literal["best", "paper"] = "best") -> float:
    """Return the failure probability below which the bound says nothing, whatever the number of bits.

    `n delta` for Theorem S+; for Theorem 3.1 `n (delta' + delta'')` at its best `dhat`, about `2.31 n
    sqrt(delta/eps)`. Both are limits: at this very `beta` the bits are infinite.

    Examples
    --------
    >>> round(smallest_beta(0.01, 1e-10, 1000), 12), round(smallest_beta(0.01, 1e-10, 1000, method="paper"), 4)
    (1e-07, 0.2327)
    """
    n = check.whole("n", n, at_least=1)
    check.choice("method", method, ("best", "paper"))
    if method == "best":
        return up(n * check.probability("delta", delta, zero=True), 1)
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    found = ingredients(epsilon, delta, min(math.sqrt(delta) * math.sqrt(-math.expm1(-3 * epsilon)), epsilon / 15))
    return up(n * (found.delta_prime + found.delta_second))


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
    epsilon = check.real("epsilon", epsilon, at_least=1e-300, at_most=0.5)  # below, its quotients underflow
    delta = check.probability("delta", delta)
    if delta >= epsilon:
        raise InvalidParameter(
            f"delta must be a number in (0, epsilon) = (0, {epsilon:g}) for Theorem 3.1, got {delta:g}"
        )
    return epsilon, delta


def _checked(epsilon: float, delta: float, dhat: float | None) -> tuple[float, float, float]:
    epsilon, delta = _range_of_theorem_3_1(epsilon, delta)
    if dhat is None:
        return epsilon, delta, min(math.sqrt(epsilon) * math.sqrt(delta), epsilon) / 15
    return epsilon, delta, check.real("dhat", dhat, above=0, at_most=epsilon / 15)


__all__ = [
    "Form",
    "Ingredients",
    "approx_dp",
    "closed_form",
    "feasible_dhat",
    "ingredients",
    "smallest_beta",
    "smallest_two_parameter_bits",
    "two_parameter",
]
