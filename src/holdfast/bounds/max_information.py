"""Max-information of pure differential privacy.

Every line below is linear in nats until the last step, which multiplies by log2(e) once. The printed line, the sharper
line and the default share one proof. Write the information loss `Z = sum Z_i` of output and sample row by row. Given
the output and the rows before it, `Z_i` lies in an interval of length epsilon that the past fixes, and `E[exp(-Z_i)] =
1`. Hoeffding's lemma then gives a drift of at most `epsilon^2/8` a row and `E[exp(lambda Z)] <= exp((lambda +
lambda^2) epsilon^2 n / 8)` for every `lambda > 0`.
"""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.currency import MaxInformation, Scope
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least

Method = Literal["best", "paper", "sharp", "renyi"]
METHODS = ("best", "paper", "sharp", "renyi")
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
def pure_dp(epsilon: float, n: int, beta: float, scope: Scope = "product", method: Method = "best") -> MaxInformation:
    """Bound the approximate max-information of an `epsilon`-DP computation on `n` rows.

    Scope "any" has one line, `log2(e) epsilon n`, which needs nothing and holds at `beta = 0`. Scope "product" takes
    the smallest of that line and of the product lines that `method` names:

    - "paper": `log2(e) (epsilon^2 n/2 + epsilon sqrt(n ln(2/beta)/2))`, Theorem 1.4. The paper allows `beta >= 0`; the
      line is infinite at 0.
    - "sharp": `log2(e) (epsilon^2 n/8 + epsilon sqrt(n ln(1/beta)/2))`. Derived, reviewed.
    - "best": all of these and `plus_line`, which keeps what the tail bound throws away. Derived, reviewed.
    - "renyi": "best" with the order free as well, that is the conversion of zCDP to DP at `rho = epsilon^2 n/8`. Never
      larger: 2 per cent smaller at (0.02, 1000, 0.01), 16 at (0.0724, 35, 0.046), 0 bits where `rho` is small against
      `beta`. Same proof; not the default only because the default's numbers are the reviewed vectors.

    Parameters
    ----------
    epsilon : float
        The privacy parameter of the whole computation, at least 0.
    n : int
        The number of rows.
    beta : float
        The failure probability, in [0, 1). With 0 only the general line is finite.
    scope : str
        "product" when rows are independent, "any" otherwise.
    method : str
        "best" (default), "paper", "sharp" or "renyi".

    Returns
    -------
    MaxInformation
        Its `bits` are rounded up. Cost: about 50 microseconds.

    Examples
    --------
    >>> round(pure_dp(0.02, 1000, 0.01).bits, 6)
    0.925138
    >>> round(pure_dp(0.02, 1000, 0.01, method="paper").bits, 6)
    1.773649
    >>> round(pure_dp(0.02, 1000, 0.01, scope="any").bits, 6)
    28.853901
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    n = check.whole("n", n, at_least=1)
    beta = check.probability("beta", beta, zero=True)
    check.choice("scope", scope, ("product", "any"))
    check.choice("method", method, METHODS)
    slack = -math.log(beta) if beta else math.inf
    nats = general_nats(epsilon, n) if scope == "any" else product_nats(epsilon, n, slack, method)
    source = "max-information.pure-dp"
    provenance: Literal["paper", "derived"] = "paper" if scope == "any" or method == "paper" else "derived"
    return MaxInformation(up(nats * LOG2E, 2), beta, scope, source, provenance, {"epsilon": epsilon, "n": n})


def general_line(epsilon: float, n: int) -> float:
    """Return `log2(e) epsilon n` bits: max-information at `beta = 0` for every law of the sample. Theorem 1.4, printed.

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
    return up(printed_nats(epsilon, n, -math.log(check.probability("beta", beta))) * LOG2E, 2)


def sharp_line(epsilon: float, n: int, beta: float) -> float:
    """Return `log2(e) (epsilon^2 n/8 + epsilon sqrt(n ln(1/beta)/2))` bits. Derived, reviewed.

    The drift is `epsilon^2/8` a row, and the Azuma-Hoeffding inequality has range epsilon, not 2 epsilon.

    Examples
    --------
    >>> round(sharp_line(0.02, 1000, 0.01), 9)
    1.456696659
    """
    epsilon, n = _checked(epsilon, n)
    return up(sharp_nats(epsilon, n, -math.log(check.probability("beta", beta))) * LOG2E, 2)


def plus_line(epsilon: float, n: int, beta: float) -> float:
    """Return the default product line in bits, for `beta` in (0, 1). Derived, reviewed.

    The excess that counts is `E[(1 - exp(k - Z))_+]`, which is smaller than `Pr[Z > k]`. With `rho = epsilon^2 n/8`
    and any `lambda > 0`: `k = log2(e) rho (1 + 2 lambda)` at `beta = exp(-rho lambda^2) lambda^lambda /
    (1+lambda)^(1+lambda)`.

    Examples
    --------
    >>> round(plus_line(0.02, 1000, 0.01), 9)
    0.925138483
    """
    epsilon, n = _checked(epsilon, n)
    return up(plus_nats(epsilon, n, -math.log(check.probability("beta", beta))) * LOG2E, 2)


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
    return up(renyi_nats(epsilon, n, -math.log(check.probability("beta", beta))) * LOG2E, 2)


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
        if method in ("best", "renyi"):
            lines.append(plus_nats(epsilon, n, slack))
        if method == "renyi":
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
    """Return the default product line in nats at `beta = exp(-slack)`."""
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
    if not 1e-300 < order < 1e150:  # the default line is enough there
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
    return check.real("epsilon", epsilon, at_least=0), check.whole("n", n, at_least=1)


__all__ = [
    "METHODS",
    "Method",
    "excess_slack",
    "general_line",
    "plus_line",
    "printed_line",
    "product_nats",
    "pure_dp",
    "renyi_line",
    "sharp_line",
]
