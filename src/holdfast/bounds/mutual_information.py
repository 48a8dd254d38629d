"""Mutual information and max-information: conversions both ways.

Mutual information bounds the average leak, max-information the worst; the first says little about small probabilities.
Here mutual information is in bits unless a name says nats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from holdfast.bounds.approximate_dp import smallest_bits, two_parameter
from holdfast.bounds.currency import exponent
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import first_at_least, smallest, spaced
from holdfast.bounds.parameters import Bits, Delta, Domain, Epsilon, FailureProbabilityOrZero, RowBits, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

LN2 = math.log(2)
PRINTED_CONSTANT = 0.54
"""The printed constant: log2(e)/e = 0.5307..., rounded up."""


@theorem(
    "max-information.from-mutual-information",
    statement="the beta at which mutual information of `bits` bits gives at most k bits of approximate max-information",
    source="Rogers-Roth-Smith-Thakkar 2016 Lemma 1.5 (printed); exact form derived",
    conditions="mutual information in bits, k > 0",
    unit="beta",
    provenance="mixed",
)
def from_mutual_information(
    bits: Annotated[Bits, "The mutual information in bits."],
    k_bits: Annotated[float, Domain("The max-information aimed at.", above=0, typical=100)],
    method: Literal["best", "sharp", "paper"] = "best",
) -> float:
    """Return `beta` with `I_inf^beta <= k` for every pair of variables with mutual information at most `bits`.

    - "paper": `(m + 0.54)/k`.
    - "sharp": the largest root of `k b = m + (1-b) log2(1/(1-b))`, from the same proof. Derived, reviewed.
    - "best": the largest `a - 2**k b` with binary divergence `kl(a || b) <= m`, by data processing. No event does
      better, so nothing that uses the mutual information alone can. Computed through its dual, where every point is a
      bound. Derived, reviewed.

    Returns
    -------
    float
        In [0, 1], rounded up; 1 is vacuous.

    Examples
    --------
    >>> round(from_mutual_information(0.1, 20, method="paper"), 6)
    0.032
    >>> round(from_mutual_information(0.1, 20, method="sharp"), 6), round(from_mutual_information(0.1, 20), 6)
    (0.005388, 0.004156)
    """
    if method == "paper":
        return min(1.0, up((bits + PRINTED_CONSTANT) / k_bits))
    sharp = _tail_root(bits, k_bits)
    return sharp if method == "sharp" else min(sharp, _dual(up(bits * LN2, 1), down(k_bits * LN2, 1)))


@dataclass(frozen=True)
class Information:
    """A bound on mutual information, with the trivial bound next to it.

    Examples
    --------
    >>> Information(3.0, 10.0).is_vacuous, round(Information(3.0, 10.0).nats, 6)
    (False, 2.079442)
    """

    bits: float
    cap_bits: float
    parameters: Mapping[str, float] = field(default_factory=dict, compare=False)

    @property
    def value(self) -> float:
        """The bits."""
        return self.bits

    @property
    def nats(self) -> float:
        """The same bound in nats."""
        return self.bits * LN2

    @property
    def is_vacuous(self) -> bool:
        """Whether the entropy of the finite variable already says as much."""
        return self.bits >= self.cap_bits

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        inside = {"parameters": dict(self.parameters)} if self.parameters else {}
        return {"bits": self.bits, "nats": self.nats, "cap_bits": self.cap_bits, "is_vacuous": self.is_vacuous} | inside


@theorem(
    "mutual-information.from-max-information",
    statement="mutual information of a pair with at most k bits of approximate max-information at beta",
    source="Rogers-Roth-Smith-Thakkar 2016 Lemma 1.5 (printed, nats); forms in bits derived",
    conditions="one variable has at most 2^size_bits values; not for transfer bounds; paper: beta <= 0.15 (1 - 2^-k)",
    unit="bits",
    provenance="mixed",
)
def from_max_information(
    k_bits: Annotated[float, Domain("The max-information in bits; above 0 for 'paper' and 'bits'.", typical=5)],
    beta: FailureProbabilityOrZero,
    size_bits: Annotated[
        float, Domain("The base-2 logarithm of the number of values of the finite variable.", at_least=0, typical=20)
    ],
    method: Literal["best", "bits", "paper"] = "best",
    s: Annotated[float, Domain("The free parameter of 'best'; optimised if left out.", above=0)] | None = None,
) -> Information:
    """Bound the mutual information of a pair from its approximate max-information.

    - "paper": `2 k ln 2 + 2 beta log2(|Sigma|/(2 beta)) / (1 - 2^-k)` nats, as printed, which mixes the units; for
      `0 <= beta <= 3 (1 - 2^-k)/20`.
    - "bits": the same argument in bits, `2k + 2 beta log2(|Sigma|/(2 beta)) / (1 - 2^-k)`. Derived, reviewed.
    - "best": the smallest of "bits" where it applies, of `k + s + b (log2|Sigma| + log2(1/b))` with `b = beta/(1 -
      2^-s) <= 1/e` over `s`, and of `log2|Sigma|`. Derived, reviewed.

    Returns
    -------
    Information
        Bits, the same in nats, and whether the entropy of the finite variable is no larger.

    Examples
    --------
    >>> round(from_max_information(5, 0.01, 20, method="paper").nats, 6)
    7.460893
    >>> round(from_max_information(5, 0.01, 20).bits, 6)
    6.336682
    """
    k_bits = exponent("k_bits", k_bits, beta)
    if method != "best":
        if s is not None:
            raise InvalidParameter(f"s is {s}, but method {method} takes no s; leave s out")
        arguments.real("k_bits", k_bits, above=0)
        arguments.real("beta", beta, at_least=0, at_most=_largest_beta(k_bits))
        return Information(
            up(_two_sided(k_bits, beta, size_bits) if method == "bits" else _mixed(k_bits, beta, size_bits)), size_bits
        )
    if s is not None:
        s = arguments.real("s", s, above=max(0.0, -k_bits))
        value = _one_sided(k_bits, beta, size_bits, s)
        if math.isinf(value):
            raise InvalidParameter(f"s is {s}, which is too small: it must make beta/(1 - 2^-s) at most 1/e")
        return Information(up(value), size_bits, {"s": s})
    low = max(-k_bits, 0.0)
    x, value = smallest(lambda x: _one_sided(k_bits, beta, size_bits, low + math.exp(x)), spaced(-34.0, 8.0, 127))
    lines = [value]
    if k_bits > 0 and beta <= _largest_beta(k_bits):
        lines.append(_two_sided(k_bits, beta, size_bits))
    if beta == 0 and k_bits >= 0:
        lines.append(k_bits)
    used = {"s": low + math.exp(x)} if value == min(lines) < size_bits else {}
    return Information(min(up(min(lines)), size_bits), size_bits, used)


@theorem(
    "mutual-information.approx-dp",
    statement="mutual information between n independent rows and an (epsilon, delta)-DP output",
    source="Rogers-Roth-Smith-Thakkar 2016 Corollary 1.6, made explicit; default through Theorem S+",
    conditions="rows independent with at most 2^row_bits values each; paper: the ranges of Theorem 3.1 and Lemma 1.5",
    unit="bits",
    provenance="mixed",
)
def mutual_information_approx_dp(
    epsilon: Epsilon, delta: Delta, n: UnboundedRows, row_bits: RowBits, method: Literal["best", "paper"] = "best"
) -> Information:
    """Bound the mutual information of sample and output by way of max-information.

    - "paper": Theorem 3.1 at its printed parameters, then Lemma 1.5 as printed. The printed O(.) drops `exp(-eps^2 n)`.
    - "best": Theorem S+ and the sharper conversion, `beta` optimised; never above the entropy cap `n row_bits`. With
      `delta = 0` the drift itself bounds it: `log2(e) min(eps^2 n/8, eps n)`. Derived. Cost: about 0.2 seconds, or
      nothing where the drift alone exceeds the cap.

    Raises
    ------
    GuaranteeUnavailable
        With "paper", when the printed `beta` is outside the range of Lemma 1.5.

    Examples
    --------
    >>> round(mutual_information_approx_dp(0.1, 1e-15, 1000, 20, method="paper").nats, 6)
    1237.829736
    >>> round(mutual_information_approx_dp(0.1, 1e-15, 1000, 20).bits, 3)
    28.614
    """
    if method == "paper":
        bound = two_parameter(epsilon, delta, n, form="printed")
        most = _largest_beta(bound.bits)
        if bound.beta > most:
            raise GuaranteeUnavailable(
                f"beta is {bound.beta:.4g} in Theorem 3.1 at its published parameters, but Lemma 1.5 needs a beta of "
                f"at most {most:.4g}"
            )
        parameters = {"k_bits": bound.bits, "beta": bound.beta}
        return Information(
            from_max_information(bound.bits, bound.beta, n * row_bits, "paper").bits, n * row_bits, parameters
        )
    cap = n * row_bits
    if math.isinf(cap):
        raise InvalidParameter(f"row_bits is {row_bits}, but for this n it must be at most {1.7e308 / n:.6g}")
    if delta == 0:
        return Information(up(min(epsilon * epsilon * n / 8, epsilon * n, cap * LN2) / LN2), cap)

    def bits(log_beta: float, polish: bool = True) -> float:
        beta = math.exp(log_beta)
        k_bits = smallest_bits(epsilon, delta, n, -math.log(beta), polish=polish)[0] if beta else math.inf
        return from_max_information(k_bits, beta, cap).bits if k_bits < math.inf else math.inf

    least = math.log(n) + math.log(delta)
    drift = n * epsilon * math.tanh(epsilon / 2) / LN2  # every k is at least this, and every line at least k
    if least >= -1.0 or drift >= cap:
        return Information(cap, cap)
    # the grid of beta with the coarse search, then only the neighbourhood of its winner with the fine one
    grid = spaced(least + 1e-3, -1.0, 33)
    rough = [bits(log_beta, polish=False) for log_beta in grid]
    best = min(range(33), key=rough.__getitem__)
    near = [grid[max(best - 1, 0)], grid[best], grid[min(best + 1, 32)]]
    log_beta, value = smallest(bits, sorted(set(near)))
    return Information(min(value, cap), cap, {"beta": math.exp(log_beta)} if value < cap else {})


def _tail_root(bits: float, k_bits: float) -> float:
    """The largest `b` with `k b <= m + (1-b) log2(1/(1-b))`; left minus right is convex, and at most 0 at 0."""
    if k_bits <= bits:
        return 1.0

    def gap(b: float) -> float:
        return k_bits * b - bits + (math.log1p(-b) * (1 - b) / LN2 if b < 1 else 0.0)

    low = 0.0
    if bits == 0 and k_bits * LN2 < 1:  # then 0 is a root too; start beyond the minimum of the convex function
        low = -math.expm1(k_bits * LN2 - 1)
    return min(1.0, up(first_at_least(gap, 0.0, low, 1.0), 8)) if bits or low else 0.0


def _dual(nats: float, k_nats: float) -> float:
    """The dual of the largest `a - e^k b` with `kl(a || b) <= m`, rounded up.

    It is the least `(m + g - 1 + e^-g)/x` over `x`, with `g = (ln(e^x - 1) - ln x - k)_+`.
    For every `x = 1/mu`: `a - e^k b <= mu m + max(a - e^k b - mu kl(a || b))`, and the inner maximum is explicit.
    """

    def value(log_x: float) -> float:
        x = math.exp(log_x)
        if x < 0.1:  # ln((e^x - 1)/x) by its series, because the logarithms cancel
            y = x * x / 4
            slope = x / 2 + y / 6 - y * y / 180 + y**3 / 2835
        else:
            slope = x + math.log(-math.expm1(-x)) - log_x
        g = max(0.0, slope - k_nats + 8 * math.ulp(max(x, k_nats, 1.0 if x >= 0.1 else 0.0)))
        return (nats + (g + math.expm1(-g) if g > 0.5 else above_tangent(math.expm1(-g)))) / x

    # below x = k the penalty g is 0 and a larger x is better; for large m the best x is near e^(m - k)
    low = math.log(max(min(1e-3, k_nats), 1e-300))
    top = min(max(math.log(k_nats + nats + 10) + math.log(4), nats - k_nats + 2), 700.0)
    _, least = smallest(value, spaced(low, top, 129 + 4 * math.ceil(top - low)))
    return min(1.0, up(least, 64))


def above_tangent(x: float) -> float:
    """Return `x - ln(1 + x)` without cancellation: `r x - 2 (r^3/3 + r^5/5 + ...)` with `r = x/(2 + x)`.

    Examples
    --------
    >>> above_tangent(1e-12), above_tangent(0.0)
    (4.99999999999...e-25, 0.0)
    """
    if x > 0.5:
        return x - math.log1p(x)
    r = x / (2 + x)
    term, series = r**3, 0.0
    for odd in range(3, 60, 2):
        series += term / odd
        term *= r * r
        if abs(term) < 1e-18 * abs(series):
            break
    return r * x - 2 * series


def _largest_beta(k_bits: float) -> float:
    """The side condition of Lemma 1.5(2): `beta <= 3 (1 - 2^-k)/20`."""
    return 3 * -math.expm1(-k_bits * LN2) / 20


def _two_sided(k_bits: float, beta: float, size_bits: float) -> float:
    return 2 * k_bits + _second_term(k_bits, beta, size_bits)


def _mixed(k_bits: float, beta: float, size_bits: float) -> float:
    return 2 * k_bits + _second_term(k_bits, beta, size_bits) / LN2


def _second_term(k_bits: float, beta: float, size_bits: float) -> float:
    return 2 * beta * (size_bits - math.log2(2 * beta)) / -math.expm1(-k_bits * LN2) if beta else 0.0


def _one_sided(k_bits: float, beta: float, size_bits: float, s: float) -> float:
    if beta == 0:
        return max(k_bits + s, 0.0)
    b = beta / -math.expm1(-s * LN2)
    return k_bits + s + b * (size_bits - math.log2(b)) if b <= 1 / math.e else math.inf
