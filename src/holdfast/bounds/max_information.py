"""Max-information of pure differential privacy.

Every line below is linear in nats until the last step, which multiplies by log2(e) once. The printed line and the
sharper ones share one proof. Write the information loss `Z = sum Z_i` of output and sample row by row. Given
the output and the rows before it, `Z_i` lies in an interval of length epsilon that the past fixes, and `E[exp(-Z_i)] =
1`. Hoeffding's lemma then gives a drift of at most `epsilon^2/8` a row and `E[exp(lambda Z)] <= exp((lambda +
lambda^2) epsilon^2 n / 8)` for every `lambda > 0`.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.currency import MaxInformation, Scope, Transfer
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.search import first_at_least
from holdfast.bounds.parameters import (
    Bits,
    Delta,
    Domain,
    Epsilon,
    FailureProbabilityOrZero,
    OpenFailureProbability,
    Rho,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_to_dp
from holdfast.core import arguments

# --- Max information --------------------------------------------------------------------------------------------------

Method = Literal["best", "paper", "sharp", "plus"]
METHODS = ("best", "paper", "sharp", "plus")
LOG2E = 1 / math.log(2)
_SMALLEST_RHO = 1e-290  # below this the product lines underflow; the general line stays


@theorem(
    "max-information.pure-dp",
    statement="approximate max-information of an epsilon-differentially private computation on n rows",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 1.4 (Dwork et al. 2015 Theorems 19, 20); sharper lines derived",
    conditions="neighbours replace one row; scope product: rows independent, beta > 0 for the product lines",
    unit="bits",
    provenance="mixed",
)
def pure_dp(
    epsilon: Epsilon,
    n: UnboundedRows,
    beta: Annotated[FailureProbabilityOrZero, "The failure probability; with 0 only the general line is finite."],
    scope: Scope = "product",
    method: Method = "best",
) -> MaxInformation:
    """Bound the approximate max-information of an `epsilon`-DP computation on `n` rows.

    Scope "any" has one line, `log2(e) epsilon n`, which needs nothing and holds at `beta = 0`. Scope "product" takes
    the smallest of that line and of the product lines that `method` names:

    - "paper": `log2(e) (epsilon^2 n/2 + epsilon sqrt(n ln(2/beta)/2))`, Theorem 1.4. The paper allows `beta >= 0`; the
      line is infinite at 0.
    - "sharp": `log2(e) (epsilon^2 n/8 + epsilon sqrt(n ln(1/beta)/2))`. Derived, reviewed.
    - "plus": all of these and `plus_line`, which keeps what the tail bound throws away. Derived, reviewed.
    - "best": "plus" with the order free as well, that is the conversion of zCDP to DP at `rho = epsilon^2 n/8`. Never
      larger: 2 per cent smaller at (0.02, 1000, 0.01), 16 at (0.0724, 35, 0.046), 0 bits where `rho` is small against
      `beta`. Same proof.

    Returns
    -------
    MaxInformation
        Its `bits` are rounded up. Cost: about 50 microseconds.

    Examples
    --------
    >>> round(pure_dp(0.02, 1000, 0.01).bits, 6), round(pure_dp(0.02, 1000, 0.01, method="plus").bits, 6)
    (0.904883, 0.925138)
    >>> round(pure_dp(0.02, 1000, 0.01, method="paper").bits, 6)
    1.773649
    >>> round(pure_dp(0.02, 1000, 0.01, scope="any").bits, 6)
    28.853901
    """
    slack = -math.log(beta) if beta else math.inf
    nats = general_nats(epsilon, n) if scope == "any" else product_nats(epsilon, n, slack, method)
    source = "max-information.pure-dp"
    provenance: Literal["paper", "derived"] = "paper" if scope == "any" or method == "paper" else "derived"
    return MaxInformation(up(nats * LOG2E, 2), beta, scope, source, provenance, {"epsilon": epsilon, "n": n})


def general_line(epsilon: float, n: int) -> float:
    """Return `log2(e) epsilon n` bits: max-information at `beta = 0` for every distribution of the sample. Theorem 1.4,
    printed.

    Examples
    --------
    >>> round(general_line(0.1, 100), 8)
    14.42695041
    """
    return up(general_nats(*_checked(epsilon, n)) * LOG2E, 2)


def printed_line(epsilon: float, n: int, beta: float) -> float:
    """Return the product line of Theorem 1.4 in bits, as printed, for `beta` in (0, 1).

    Examples
    --------
    >>> round(printed_line(0.1, 100, 0.05), 9)
    2.680673842
    """
    epsilon, n = _checked(epsilon, n)
    return up(printed_nats(epsilon, n, -math.log(arguments.probability("beta", beta))) * LOG2E, 2)


def sharp_line(epsilon: float, n: int, beta: float) -> float:
    """Return `log2(e) (epsilon^2 n/8 + epsilon sqrt(n ln(1/beta)/2))` bits. Derived, reviewed.

    The drift is `epsilon^2/8` a row, and the Azuma-Hoeffding inequality has range epsilon, not 2 epsilon.

    Examples
    --------
    >>> round(sharp_line(0.02, 1000, 0.01), 9)
    1.456696659
    """
    epsilon, n = _checked(epsilon, n)
    return up(sharp_nats(epsilon, n, -math.log(arguments.probability("beta", beta))) * LOG2E, 2)


def plus_line(epsilon: float, n: int, beta: float) -> float:
    """Return the product line of method "plus" in bits, for `beta` in (0, 1). Derived, reviewed.

    The excess that counts is `E[(1 - exp(k - Z))_+]`, which is smaller than `Pr[Z > k]`. With `rho = epsilon^2 n/8`
    and any `lambda > 0`: `k = log2(e) rho (1 + 2 lambda)` at `beta = exp(-rho lambda^2) lambda^lambda /
    (1+lambda)^(1+lambda)`.

    Examples
    --------
    >>> round(plus_line(0.02, 1000, 0.01), 9)
    0.925138483
    """
    epsilon, n = _checked(epsilon, n)
    return up(plus_nats(epsilon, n, -math.log(arguments.probability("beta", beta))) * LOG2E, 2)


def renyi_line(epsilon: float, n: int, beta: float) -> float:
    """Return the line with the order free too, in bits, for `beta` in (0, 1): zCDP to DP at `rho = epsilon^2 n/8`.

    The loss `Z` has `E[exp(lambda Z)] <= exp((lambda + lambda^2) rho)`, which is what `composition.zcdp-to-dp`
    converts. Derived; checked against exact losses of randomized response.

    Examples
    --------
    >>> round(renyi_line(0.02, 1000, 0.01), 6)
    0.904883
    """
    epsilon, n = _checked(epsilon, n)
    return up(renyi_nats(epsilon, n, -math.log(arguments.probability("beta", beta))) * LOG2E, 2)


def product_nats(epsilon: float, n: int, slack: float, method: str = "best") -> float:
    """Return the smallest valid line for independent rows, in nats, at `beta = exp(-slack)`. Arguments are not checked.

    In terms of `slack = ln(1/beta)`, so that failure probabilities below the floating range cost nothing.

    Examples
    --------
    >>> round(product_nats(0.02, 1000, 5000.0), 3)
    20.0
    """
    lines = [general_nats(epsilon, n)]
    if epsilon * epsilon * n / 8 >= _SMALLEST_RHO and slack < math.inf:
        if method != "sharp":
            lines.append(printed_nats(epsilon, n, slack))
        if method != "paper":
            lines.append(sharp_nats(epsilon, n, slack))
        if method in ("best", "plus"):
            lines.append(plus_nats(epsilon, n, slack))
        if method == "best":
            lines.append(renyi_nats(epsilon, n, slack))
    return min(lines)


def general_nats(epsilon: float, n: int) -> float:
    """Return `epsilon n`, rounded up."""
    return up(epsilon * n, 1)


def printed_nats(epsilon: float, n: int, slack: float) -> float:
    """Return the printed product line in nats at `beta = exp(-slack)`."""
    return up(epsilon * epsilon * n / 2 + epsilon * math.sqrt(n * (math.log(2) + slack) / 2))


def sharp_nats(epsilon: float, n: int, slack: float) -> float:
    """Return the sharper product line in nats at `beta = exp(-slack)`."""
    return up(epsilon * epsilon * n / 8 + epsilon * math.sqrt(n * slack / 2))


def plus_nats(epsilon: float, n: int, slack: float) -> float:
    """Return the product line of method "plus" in nats at `beta = exp(-slack)`."""
    rho = epsilon * epsilon * n / 8
    if math.isinf(rho) or math.isinf(slack):
        return math.inf
    order = first_at_least(lambda x: rho * x * x + excess_slack(x), slack, 0.0, math.sqrt(slack / rho))
    return up(rho * (1 + 2 * up(order, 64)), 8)


def renyi_nats(epsilon: float, n: int, slack: float) -> float:
    """Return the line with a free order in nats at `beta = exp(-slack)`.

    For every order `lambda` the exponent `rho (1 + lambda) + (slack - h(lambda))/lambda` holds, `h` the `excess_slack`.
    Its least value is where `rho lambda^2 + ln(1 + lambda) = slack`, which increases in lambda.
    """
    rho = up(epsilon * epsilon * n / 8)
    if math.isinf(rho) or math.isinf(slack):
        return math.inf
    order = first_at_least(lambda x: rho * x * x + math.log1p(x), slack, 0.0, math.sqrt(slack / rho))
    if not 1e-300 < order < 1e150:  # `plus_nats` is enough there
        return math.inf
    drift, rest = rho * (1 + order), (slack - excess_slack(order)) / order
    scale = drift + (slack + excess_slack(order)) / order
    return max(0.0, drift + rest + 16 * math.ulp(scale))


def excess_slack(order: float) -> float:
    """Return `-ln` of `lambda^lambda / (1+lambda)^(1+lambda)`, the largest `(1 - exp(-y)) exp(-lambda y)` over `y > 0`.

    Examples
    --------
    >>> excess_slack(0.0), round(excess_slack(1.0), 12) == round(math.log(4), 12)
    (0.0, True)
    """
    if order < 1e-300:
        return 0.0
    if order > 1e16:
        return math.log(order) + 1
    return math.log1p(order) + order * math.log1p(1 / order)


def _checked(epsilon: float, n: int) -> tuple[float, int]:
    return arguments.real("epsilon", epsilon, at_least=0), arguments.whole("n", n, at_least=1)


# --- Any distribution
# ----------------------------------------------------------------------------------------------------------
# Transfer bounds that ask nothing of the rows: every distribution of the sample, dependent rows included.
#
# Compare the release on the true sample with the release on one fixed sample `x0`. Any sample is reached from `x0` by
# replacing `n` rows one after the other, so group privacy bounds how much likelier any transcript can be.


@theorem(
    "transfer.any-law",
    statement="transfer bound of private steps over every distribution of the sample, by group privacy against "
    "a fixed sample",
    source="Holdfast; group privacy of Dwork-Roth 2014 Theorem 2.2 and Bun-Steinke 2016 Proposition 1.9",
    conditions="neighbours replace one row; the steps are private for every earlier output; rows may be dependent",
    unit="bits",
    provenance="derived",
)
def any_law(
    n: UnboundedRows,
    beta: FailureProbabilityOrZero,
    epsilon: Annotated[Epsilon, "The total of the steps counted by epsilon."] = 0.0,
    delta: Annotated[Delta, "The total of the steps counted by epsilon."] = 0.0,
    rho: Annotated[Rho, "The total of the steps counted by zCDP."] = 0.0,
) -> Transfer:
    """Bound (epsilon, delta)-DP steps and rho-zCDP steps together, for every distribution of the sample.

    `k = log2(e) (n epsilon + E)`, where `E` is the epsilon that `n^2 rho`-zCDP has at `beta - d` and
    `d = delta (e^(n epsilon) - 1)/(e^epsilon - 1)`; `inf` when `d >= beta`.

    Proof. Let `nu` be the distribution of the transcript on a fixed sample `x0`. By group privacy over `n` rows the
    transcript on any `x` is (n epsilon, d)-indistinguishable from `nu` in its first part and `n^2 rho`-concentrated in
    its second, and both compose adaptively. So `Pr[T in O | x] <= e^k nu(O) + beta` for every `x`; averaging over any
    distribution of the sample gives the transfer bound. Derived. With `delta = rho = 0` it is Theorem 1.4 of Rogers,
    Roth, Smith and Thakkar (2016), first line.

    Examples
    --------
    >>> round(any_law(100, 0.0, epsilon=0.1).bits, 8)
    14.42695041
    >>> round(any_law(100, 0.01, rho=1e-6).bits, 4)
    0.3123
    >>> any_law(100, 0.01, epsilon=0.1, delta=1e-6).bits
    inf
    """
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


# --- Description length -----------------------------------------------------------------------------------------------
# Max-information of an output that takes few values, and of one that can be described in few bits given its coins.

CountMethod = Literal["best", "sharp", "paper"]


@theorem(
    "max-information.description-length",
    statement="approximate max-information of an output that takes at most 2^bits values",
    source="Dwork et al. 2015 Theorem 17, Rogers et al. 2016 section 3.2 (printed); exact value derived",
    conditions="every distribution of the sample; beta > 0; everything shown counts, errors and refusals too",
    unit="bits",
    provenance="mixed",
)
def description_length(bits: Bits, beta: FailureProbabilityOrZero, method: CountMethod = "best") -> MaxInformation:
    """Bound the approximate max-information of an output with at most `2**bits` values, over every distribution of the
    sample.

    With `M = 2**bits`:

    - "paper": `log2(M/beta)`.
    - "sharp": `log2(M/(4 beta))` for `beta <= 1/2` and `log2(M (1-beta))` above. Derived, reviewed.
    - "best": `log2 max((M-1)/(4 beta), M (1-beta))` for `beta < 1/2` and `log2(M (1-beta))` above. Exact: for whole
      `M` some output attains it. Derived, reviewed; the attaining output is in the tests.

    For p-values and intervals a transfer bound is far cheaper: `bits` and no failure probability
    (`holdfast.bounds.transfer`).

    Returns
    -------
    MaxInformation
        Scope "any". The bits may be negative: one possible output gives `log2(1 - beta)`.

    Examples
    --------
    >>> round(description_length(10, 0.01, method="paper").bits, 6)
    16.643856
    >>> round(description_length(10, 0.01).bits, 6)
    14.642447
    >>> round(description_length(1, 0.01).bits, 6)
    4.643856
    """
    exponent = (
        _printed(bits, beta) if method == "paper" else _sharp(bits, beta) if method == "sharp" else _exact(bits, beta)
    )
    provenance: Literal["paper", "derived"] = "paper" if method == "paper" else "derived"
    return MaxInformation(
        exponent, beta, "any", "max-information.description-length", provenance, {"alphabet_bits": bits}
    )


@theorem(
    "max-information.randomized-description-length",
    statement="approximate max-information of an output that takes at most 2^bits values for every fixing of its coins",
    source="Dwork et al. 2015 Theorem 30, corrected; exact form derived",
    conditions="every distribution of the sample; coins independent of the sample; beta > 0",
    unit="bits",
    provenance="mixed",
)
def randomized_description_length(
    bits: Annotated[Bits, "The randomized description length in bits."],
    beta: FailureProbabilityOrZero,
    method: CountMethod = "best",
) -> MaxInformation:
    """Bound the approximate max-information of an output of randomized description length `bits`.

    The number is that of `description_length`. Proof: show the coins as well, which post-processing may hide again.
    They are independent of the sample, so the lost mass is the average over the coins of the lost mass for fixed
    coins, and each of those obeys the bound for at most `2**bits` values. The paper prints `log2(|Y|/beta)`, where
    `|Y|` may be far larger than `2**bits`; its proof gives `bits + log2(1/beta)`, which is "paper" here.

    Examples
    --------
    >>> round(randomized_description_length(20, 1e-3, method="paper").bits, 6)
    29.965784
    """
    bound = description_length(bits, beta, method)
    source = "max-information.randomized-description-length"
    return MaxInformation(bound.bits, bound.beta, bound.scope, source, bound.provenance, bound.parameters)


@theorem(
    "max-information.to-description-length",
    statement="randomized description length of a computation close to one with max-information k",
    source="Dwork et al. 2015 Theorems 32 and 33 (rejection sampling), the number of draws rounded up",
    conditions="max-information at beta = 0; beta in (0, 1)",
    unit="bits",
    provenance="mixed",
)
def to_description_length(
    k_bits: Annotated[float, Domain("Max-information at failure probability 0.", at_least=0, typical=14.0)],
    beta: Annotated[OpenFailureProbability, "The statistical distance."],
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return how many bits describe, up to statistical distance `beta`, an output with max-information `k`.

    Draw `t = ceil(2^k ln(1/beta))` outputs from the reference distribution as public coins and name the accepted one:
    `log2 t` bits. "paper" prints `k + log2 ln(1/beta)`, which forgets that the number of draws is whole; "best" rounds
    it up.

    Examples
    --------
    >>> round(to_description_length(14.42695041, 0.01, method="paper"), 6)
    16.630205
    >>> round(to_description_length(1.321928095, 0.01), 6)
    3.584963
    """
    log2_draws = k_bits + math.log2(-math.log(beta))
    if method == "paper":
        return up(log2_draws)
    if log2_draws > 50:  # one draw more changes nothing that a float can show
        return up(log2_draws + 2.0**-49)
    return up(math.log2(max(1, math.ceil(up(2.0**log2_draws, 16)))))


def _printed(bits: float, beta: float) -> float:
    return up(bits - math.log2(beta)) if beta else math.inf


def _sharp(bits: float, beta: float) -> float:
    if beta > 0.5:
        return up(bits + math.log1p(-beta) / math.log(2))
    return up(bits - 2 - math.log2(beta)) if beta else math.inf


def _exact(bits: float, beta: float) -> float:
    jensen = bits + math.log1p(-beta) / math.log(2)
    if bits == 0 or beta >= 0.5:
        return up(jensen)
    if not beta:
        return math.inf
    others = bits + math.log(-math.expm1(-bits * math.log(2))) / math.log(2)  # log2(M - 1)
    return up(max(others - 2 - math.log2(beta), jensen))
