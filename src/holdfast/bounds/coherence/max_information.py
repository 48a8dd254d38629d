"""Max-information of a release about a random half of the rows, in nats.

The sample is a uniform half of `n` fixed rows, drawn without replacement; nothing is assumed about where the rows come
from. That is why these are not the bounds of `holdfast.bounds.max_information`, which are for independent rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.coherence.group_size import Population, even_rows
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.search import smallest, spaced
from holdfast.bounds.parameters import AuditedRows, Delta, Domain, Eta, PositiveDelta, PositiveEpsilon, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Form = Literal["paper", "corrected"]
LARGEST_EPSILON = 0.5


def correction(n: int) -> float:
    """Return `kappa = 2 - 3/n + 1/n^2`, what the paper's special case of its Theorem 12 loses at half samples.

    Derived, reviewed: `(n - 1/2)/(n/2) (1 - 1/n)` is exactly kappa, and the paper uses 1.

    Examples
    --------
    >>> correction(10)
    1.71
    """
    return 2 - 3 / n + 1 / (n * n)


def pure_nats(epsilon: float, n: int, log_slack: float, population: Population = "large") -> float:
    """Return `eps^2 n/(4k) + eps sqrt(n ln(2/eta)/(4k))` nats at `eta = exp(-log_slack)`. Arguments are not checked.

    `k = 1` as printed, `k = kappa(n)` for "finite".
    """
    k = correction(n) if population == "finite" else 1.0
    return up(epsilon * epsilon * n / (4 * k) + epsilon * math.sqrt(n * (math.log(2) + log_slack) / (4 * k)))


@theorem(
    "coherence.max-information-pure",
    statement="max-information of an epsilon-DP release about a random half of n fixed rows",
    source="Enforcing Demographic Coherence, Theorem 5 = 14; population finite: derived",
    conditions="n even, sample a uniform half; order-invariant; neighbours replace one row",
    unit="nats",
    provenance="mixed",
)
def pure(epsilon: PositiveEpsilon, n: AuditedRows, eta: Eta, population: Population = "finite") -> float:
    """Bound the max-information at slack `eta` of an order-invariant `epsilon`-DP computation on a half of `n` rows.

    "large" is the printed `eps^2 n/4 + eps sqrt(n ln(2/eta)/4)`. "finite" divides both `n` by
    `kappa = 2 - 3/n + 1/n^2`: about half of it. Derived, reviewed: the printed proof needs only a sub-Gaussian tail,
    and the paper's own Theorem 12 gives one with variance proxy `n eps^2/(8 kappa)`.

    Examples
    --------
    >>> round(pure(0.5, 1000, 0.05), 8), round(pure(0.5, 1000, 0.05, "large"), 8)
    (42.04172389, 77.68403655)
    """
    n = even_rows(n)
    return pure_nats(epsilon, n, -math.log(eta), population)


def approx_nats(epsilon: float, rows: float, log_slack: float, form: Form = "corrected") -> float:
    """Return `265 eps^2 N + c eps sqrt(N ln(2/eta))` nats, c = 12 printed, 6 sqrt 2 un-rounded. Not checked."""
    factor = 12.0 if form == "paper" else 6 * math.sqrt(2)
    return up(265 * epsilon * epsilon * rows + factor * epsilon * math.sqrt(rows * (math.log(2) + log_slack)))


def approx_log_delta(epsilon: float, rows: float, log_slack: float) -> float:
    """Return `ln` of the largest delta of the corollary, `eps^2 eta^2/(120 N)^2`. Arguments are not checked.

    Examples
    --------
    >>> round(math.exp(approx_log_delta(0.01, 1000, -math.log(0.05))) / 1.736111111111e-17, 9)
    1.0
    """
    return 2 * (math.log(epsilon) - math.log(120 * rows) - log_slack)


@theorem(
    "coherence.max-information-approx",
    statement="max-information of an (epsilon, delta)-DP release about a sample without replacement, closed form",
    source="Enforcing Demographic Coherence, Corollary 1 = 2; corrected: its proof without rounding",
    conditions="epsilon in (0, 1/2], delta <= (epsilon eta/(120 rows))^2; order-invariant; neighbours replace one row",
    unit="nats",
    provenance="mixed",
)
def approx(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)],
    rows: Annotated[UnboundedRows, "Rows that the computation sees."],
    eta: Eta,
    delta: Delta | None = None,
    form: Form = "corrected",
) -> float:
    """Bound the max-information at slack `eta` of an (epsilon, delta)-DP computation that sees `rows` rows.

    "paper" is `265 eps^2 N + 12 eps sqrt(N ln(2/eta))`, "corrected" has `6 sqrt 2` in place of 12 (the proof's own
    constant). `inf` where `delta` is above its range; left out, delta is taken to be inside.

    Examples
    --------
    >>> round(approx(0.01, 1000, 0.05), 8)
    31.6536329
    >>> approx(0.01, 1000, 0.05, delta=1e-10)
    inf
    """
    if delta and math.log(delta) > approx_log_delta(epsilon, rows, -math.log(eta)):
        return math.inf
    return approx_nats(epsilon, rows, -math.log(eta), form)


@dataclass(frozen=True)
class TwoParameter:
    """Theorem 15 at one point: the bound in nats, the slack at which it holds, and the free parameters."""

    nats: float
    eta: float
    t: float
    dhat: float

    @property
    def value(self) -> float:
        """The main number of the result."""
        return self.nats

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.nats, "eta": self.eta, "t": self.t, "dhat": self.dhat}


def _slack_of_deltas(epsilon: float, delta: float, dhat: float, rows: float, form: Form) -> float:
    """The part of the slack that does not depend on t."""
    third = -math.expm1(-3 * epsilon)
    folded = 2 * delta / third if form == "paper" else 2 * delta / -math.expm1(-epsilon)
    return rows * (2 * delta / dhat + 2 * dhat / third + folded)


def _general_nats(epsilon: float, dhat: float, t: float, rows: float) -> float:
    drift = 347 * dhat + 75 * (dhat / epsilon) ** 2 + 24 * dhat * dhat / epsilon + 240 * epsilon * epsilon
    return up(rows * drift + 6 * t * epsilon * math.sqrt(rows), 8)


def approx_general(
    epsilon: float, delta: float, rows: int, t: float, dhat: float, form: Form = "corrected"
) -> TwoParameter:
    """Theorem 6 = 15 at chosen `t` and `dhat`.

    `N (347 dhat + 75 (dhat/eps)^2 + 24 dhat^2/eps + 240 eps^2) + 6 t eps sqrt N` nats, at slack `exp(-t^2/2) + N (2
    delta/dhat + 2 dhat/(1-e^-3eps) + 2 delta/(1-e^-eps))`. The printed slack has `1-e^-3eps` under the last term too,
    which is larger, so the printed slack is a little too small (form "paper"). The theorem itself is printed, its
    algebra was checked, and it was not re-proved.

    Examples
    --------
    >>> found = approx_general(0.1, 1e-12, 10_000, 4.0, 1e-6)
    >>> round(found.nats, 7), round(found.eta, 12)
    (24243.4700774, 0.097501591065)
    """
    epsilon, delta, rows = _general_range(epsilon, delta, rows)
    arguments.choice("form", form, ("paper", "corrected"))
    t = arguments.real("t", t, above=0)
    dhat = arguments.real("dhat", dhat, above=0, at_most=epsilon / 15)
    eta = up(math.exp(-t * t / 2) + _slack_of_deltas(epsilon, delta, dhat, rows, form))
    return TwoParameter(_general_nats(epsilon, dhat, t, rows), eta, t, dhat)


@theorem(
    "coherence.max-information-approx-general",
    statement="max-information of an (epsilon, delta)-DP release about a sample without replacement, optimised",
    source="Enforcing Demographic Coherence, Theorem 6 = 15, best t and dhat",
    conditions="epsilon in (0, 1/2], 0 < delta < epsilon; order-invariant; neighbours replace one row",
    unit="nats",
)
def optimised(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)],
    delta: PositiveDelta,
    rows: Annotated[UnboundedRows, "Rows that the computation sees."],
    eta: Eta,
    form: Annotated[Form, "'corrected' has the safe slack, 'paper' the printed one."] = "corrected",
) -> TwoParameter:
    """Minimise Theorem 15 over its free parameters at slack `eta`; `inf` where no choice fits.

    Feasible roughly when `delta < 3 eps eta^2/(16 N^2)` (derived), some 2700/eps times more than the corollary allows.

    Returns
    -------
    TwoParameter
        Cost: about a millisecond.

    Examples
    --------
    >>> found = optimised(1e-3, 1e-30, 2_500_000, 1e-6)
    >>> round(found.nats, 6), f"{found.dhat:.3g}"
    (650.23056, '5.47e-17')
    """
    epsilon, delta, rows = _general_range(epsilon, delta, rows)
    centre = 0.5 * (math.log(3) + math.log(epsilon) + math.log(delta))

    def order(dhat: float) -> float:
        left = eta - up(_slack_of_deltas(epsilon, delta, dhat, rows, form))
        return math.sqrt(2 * -math.log(left)) if left > 0 else math.inf

    def at(log_dhat: float) -> float:
        dhat = min(math.exp(log_dhat), epsilon / 15)
        t = order(dhat)
        return _general_nats(epsilon, dhat, t, rows) if t < math.inf else math.inf

    points = [x for x in spaced(centre - 40, centre + 40, 801) if x < math.log(epsilon / 15)]
    points.append(math.log(epsilon / 15))
    x, nats = smallest(at, points)
    dhat = min(math.exp(x), epsilon / 15)
    return TwoParameter(nats, eta, order(dhat), dhat)


def _general_range(epsilon: float, delta: float, rows: int) -> tuple[float, float, int]:
    epsilon = arguments.real("epsilon", epsilon, above=0, at_most=LARGEST_EPSILON)
    delta = arguments.real("delta", delta, above=0, below=epsilon)
    return epsilon, delta, arguments.whole("rows", rows, at_least=1)


def finite_nats(log_values: float, log_slack: float) -> float:
    """Max-information of a report that takes one of `K` values: `ln(K/eta)`. Derived, reviewed.

    Reports of probability below `eta/K` weigh less than `eta` together. The coherence bounds do not use it: a plain
    union over reports needs no slack (`release_size`).

    Examples
    --------
    >>> round(finite_nats(math.log(4), -math.log(0.05)), 9)
    4.382026635
    """
    return up(log_values + log_slack)


def pair(first: tuple[float, float], second: tuple[float, float], *, every_law: bool) -> tuple[float, float]:
    """Compose two adaptive releases, each `(nats, eta)`: max-information adds, and the slack depends on the second.

    With `every_law`, the second bound holds for every first output and for every distribution of the sample (a finite
    report, `epsilon n/2` for pure DP): the slack is `eta1 + eta2`. Without, it holds for the uniform split only
    (Theorems 5 and 6), the slack is `eta1 + exp(nats1) eta2`, and the pair may be used in the coherence bounds only.
    Derived, reviewed; `eta1 + eta2` is false in that case (`docs/errata/coherence.md`). Two private releases: add
    epsilons first.

    Examples
    --------
    >>> pair((1.0, 0.01), (2.0, 0.01), every_law=True)
    (3.0, 0.02)
    >>> pair((1.0, 0.01), (2.0, 0.01), every_law=False)[1] > 0.037
    True
    """
    nats = [arguments.real("nats", bound[0], at_least=0) for bound in (first, second)]
    etas = [arguments.probability("eta", bound[1], zero=True, one=True) for bound in (first, second)]
    if not isinstance(every_law, bool):
        raise InvalidParameter("every_law must be True or False")
    price = 1.0 if every_law or etas[1] == 0 else math.exp(nats[0]) if nats[0] <= 700 else math.inf
    return nats[0] + nats[1], min(1.0, etas[0] + price * etas[1])
