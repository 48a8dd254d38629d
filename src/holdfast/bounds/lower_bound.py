"""Lower bounds: why an approximately private step must not follow a short look, and why rows must be independent.

Theorem 3.9 of Rogers, Roth, Smith and Thakkar (2016): the first step publishes `r` parity bits of a sample of uniform
bits, the second decodes the sample in its coset and returns it if it is close to a code word, with a Laplace
threshold. Each step alone reveals little; together they return the whole sample. Here are the parameters, the
conditions that the proof really uses, and exact values; a runnable form is an experiment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.numerics.exact import down
from holdfast.bounds.numerics.search import first_whole
from holdfast.bounds.parameters import (
    Domain,
    FailureProbabilityOrZero,
    PositiveDelta,
    PositiveEpsilon,
    RowBits,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Construction:
    """The printed parameters of Theorem 3.9, and which of the conditions they miss.

    `distance` is the least distance of the code (round it up), `threshold` the distance at which the second step stops
    answering, `half_radius` a quarter of `distance - 1`, `redundancy` the number of parity bits, `n_above` what `n`
    must exceed.
    """

    epsilon: float
    delta: float
    n: int
    distance: float
    threshold: float
    half_radius: float
    redundancy: float
    n_above: float

    @property
    def problems(self) -> tuple[str, ...]:
        """The conditions that fail. The printed `n > 64 e` is the first of them, and only at epsilon 1/2, delta 1/4."""
        problems = []
        if not self.n > self.n_above:
            problems.append(f"n must exceed 2e(t-1) = {self.n_above:.6g}")
        if not self.distance < self.n / 2:
            problems.append(f"n must exceed 2t = {2 * self.distance:.6g}")
        if not self.redundancy < self.n:
            problems.append(f"n must exceed the {self.redundancy:.6g} parity bits")
        return tuple(problems)

    @property
    def recovery(self) -> float:
        """The probability that the second step returns the sample, `1 - exp(-epsilon w)/2`."""
        return acceptance(0, self.threshold, self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "distance": self.distance,
            "threshold": self.threshold,
            "half_radius": self.half_radius,
            "redundancy": self.redundancy,
            "n_above": self.n_above,
            "recovery": self.recovery,
            "problems": list(self.problems),
        }


def construction(epsilon: float, delta: float, n: int) -> Construction:
    """Return the printed parameters: `t = 8 log2(1/delta)/eps + 1`, `r = 3 t log2 n`, `w = log2(1/delta)/eps`.

    For `epsilon` in (0, 1/2] and `delta` in (0, 1/4]. The parameters are returned also where the conditions fail;
    `problems` names them. The paper asks for `n > 64 e` only. Its proof uses `n > 2e(t-1)` and `t < n/2`, and without
    `r < n` the first step alone publishes everything.

    Examples
    --------
    >>> found = construction(0.5, 0.25, 2048)
    >>> found.distance, found.threshold, found.redundancy, found.problems
    (33.0, 4.0, 1089.0, ())
    >>> construction(0.5, 0.25, 175).problems
    ('n must exceed the 737.67 parity bits',)
    """
    epsilon = arguments.real("epsilon", epsilon, above=0, at_most=0.5)
    delta = arguments.real("delta", delta, above=0, at_most=0.25)
    n = arguments.whole("n", n, at_least=1)
    threshold = -math.log2(delta) / epsilon
    distance = 8 * threshold + 1
    return Construction(
        epsilon, delta, n, distance, threshold, 2 * threshold, 3 * distance * math.log2(n), 16 * math.e * threshold
    )


@theorem(
    "max-information.lower-bound-rows",
    statement="the least n at which the construction of Theorem 3.9 means something",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 3.9, with the conditions its proof uses",
    conditions="epsilon in (0, 1/2], delta in (0, 1/4]",
    unit="rows",
    provenance="derived",
)
def minimum_rows(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)], delta: Annotated[PositiveDelta, Domain(at_most=0.25)]
) -> int:
    """Return the least `n` from which on all three conditions hold: `n > 2e(t-1)`, `t < n/2`, `3 t log2 n < n`.

    Examples
    --------
    >>> minimum_rows(0.5, 0.25), minimum_rows(0.5, 0.01)
    (985, 3832)
    """
    # n - 3 t log2 n increases from n = 3t/ln 2 on, and is negative before it
    rows = first_whole(lambda n: not construction(epsilon, delta, n).problems, 2, limit=arguments.LARGEST_WHOLE)
    if rows is None:
        raise InvalidParameter(f"epsilon must be larger: no number of rows below 1e300 is enough, got {epsilon}")
    return rows


@theorem(
    "max-information.lower-bound-composition",
    statement="approximate max-information of a short look followed by an (epsilon, delta)-DP step, uniform bits",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem 3.9 (printed); exact value derived",
    conditions="epsilon in (0, 1/2], delta in (0, 1/4], n >= max-information.lower-bound-rows, beta <= 1/2 - delta",
    unit="bits",
    provenance="mixed",
)
def composition_lower_bound(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)],
    delta: Annotated[PositiveDelta, Domain(at_most=0.25)],
    n: Annotated[UnboundedRows, Domain(typical=10**7)],
    beta: FailureProbabilityOrZero,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return how much max-information the two steps of Theorem 3.9 have together: nearly all `n` bits.

    - "paper": `n + log2(1 - delta - beta)`, at least `n - 1`.
    - "best": the exact value at the construction's recovery probability. Derived, reviewed.

    Examples
    --------
    >>> round(composition_lower_bound(0.5, 0.25, 2048, 0.1), 3)
    2047.836
    """
    code = _holding(epsilon, delta, n)
    beta = arguments.real("beta", beta, at_least=0, at_most=0.5 - code.delta)
    if method == "paper":
        return down(printed_recovery(n, code.delta, beta))
    return down(recovered_information(n, beta, code.recovery))


@theorem(
    "max-information.lower-bound-general",
    statement="approximate max-information that an (epsilon, delta)-DP computation can have when rows are dependent",
    source="Rogers-Roth-Smith-Thakkar 2016 Corollary 3.10 (printed); direct coset argument derived",
    conditions="epsilon in (0, 1/2], delta in (0, 1/4], n >= max-information.lower-bound-rows, beta < 1/2 - delta",
    unit="bits",
    provenance="mixed",
)
def general_lower_bound(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)],
    delta: Annotated[PositiveDelta, Domain(at_most=0.25)],
    n: Annotated[UnboundedRows, Domain(typical=10**7)],
    beta: FailureProbabilityOrZero,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return a number of bits that no bound over every distribution of the sample can go below.

    - "best": the second step on a sample uniform over one coset: `(n - r) + log2(1 - beta/p)`. It works for every
      coset, so it also closes the printed proof's choice of the coset after `beta`. Derived, reviewed.
    - "paper": `n - 1 - r - log2(1/beta1)` with the best `beta1 = 1/2 - delta - beta`.

    Examples
    --------
    >>> round(general_lower_bound(0.5, 0.25, 2048, 0.1), 3)
    958.836
    """
    code = _holding(epsilon, delta, n)
    beta = arguments.real("beta", beta, at_least=0, below=0.5 - code.delta)
    if method == "paper":
        return down(corollary_3_10(n, code.redundancy, 0.5 - code.delta - beta), 16)
    return down(recovered_information(n - code.redundancy, beta, code.recovery), 16)


@theorem(
    "max-information.lower-bound-compression",
    statement="max-information that a compression scheme of size 1 can have: it returns the first row",
    source="Rogers 2017 (dissertation) Theorem 4.7.3 (printed); exact value derived",
    conditions="rows uniform on 2^row_bits values; beta in [0, 1)",
    unit="bits",
    provenance="mixed",
)
def compression_lower_bound(
    row_bits: RowBits,
    beta: Annotated[FailureProbabilityOrZero, "The failure probability; above 0 for 'paper'."],
    method: Annotated[Literal["best", "paper"], "'best' is exact, 'paper' is the printed bound."] = "best",
) -> float:
    """Return how much max-information the first row of a uniform sample has: small compression schemes can leak a row.

    "paper" prints `log2(|X| beta / (2 beta + 1/|X|))`; the exact value is `log2(|X| (1 - beta))`.

    Examples
    --------
    >>> round(compression_lower_bound(10, 0.05, method="paper"), 6), round(compression_lower_bound(10, 0.05), 6)
    (8.98598, 9.925999)
    """
    if method == "paper":
        beta = arguments.probability("beta", beta)
        return _down(row_bits, math.log2(beta / (2 * beta + 2.0 ** -min(row_bits, 1000.0))))
    return _down(row_bits, math.log1p(-beta) / math.log(2))


def printed_recovery(n: int, delta: float, beta: float) -> float:
    """Return `n + log2(1 - delta - beta)`: the sample is returned with probability at least `1 - delta`. Printed.

    Examples
    --------
    >>> round(printed_recovery(23, 0.25, 0.1), 8)
    22.37851162
    """
    delta = arguments.probability("delta", delta, zero=True)
    beta = arguments.real("beta", beta, at_least=0, below=1 - delta)
    return arguments.whole("n", n, at_least=1) + math.log2(1 - delta - beta)


def corollary_3_10(n: int, redundancy: float, beta1: float) -> float:
    """Return `n - 1 - r - log2(1/beta1)`, the printed value of Corollary 3.10.

    Examples
    --------
    >>> round(corollary_3_10(2048, 1089, 0.1), 6)
    954.678072
    """
    n = arguments.whole("n", n, at_least=1)
    return (
        n - 1 - arguments.real("redundancy", redundancy, at_least=0) + math.log2(arguments.probability("beta1", beta1))
    )


def recovered_information(dimension: float, beta: float, recovery: float) -> float:
    """Return the exact max-information of an output that is the sample with probability `p`, else nothing, in bits.

    The sample is uniform on `2**N` values, `N = dimension`: `max(N + log2(1 - beta/p), log2((1 - beta)/(1 - p + p
    2^-N)))`. Derived, reviewed; compared with `finite_law` in the tests.

    Examples
    --------
    >>> round(recovered_information(23, 0.1, 0.75), 8)
    22.79354912
    """
    dimension = arguments.real("dimension", dimension, at_least=0)
    beta = arguments.probability("beta", beta, zero=True)
    p = arguments.probability("recovery", recovery, one=True)
    everything = (
        math.log2((1 - beta) / (1 - p + p * 2.0 ** -min(dimension, 1074.0)))
        if p < 1
        else dimension + math.log2(1 - beta)
    )
    return max(dimension + math.log2(1 - beta / p), everything) if beta < p else everything


def acceptance(distance: int, threshold: float, epsilon: float) -> float:
    """Return `Pr[distance + Lap(1/epsilon) < threshold]`: how often the second step answers at that distance.

    Examples
    --------
    >>> w = 2 * math.log(2)
    >>> [round(acceptance(d, w, 0.5), 6) for d in range(4)]
    [0.75, 0.58782, 0.367879, 0.22313]
    """
    distance = arguments.whole("distance", distance, at_least=0)
    gap = arguments.real("epsilon", epsilon, above=0) * (arguments.real("threshold", threshold) - distance)
    return 1 - math.exp(-gap) / 2 if gap >= 0 else math.exp(gap) / 2


def answer_probability(n: int, errors: int, redundancy: int, threshold: float, epsilon: float) -> float:
    """Return how often the second step answers for parity bits that have nothing to do with the sample.

    With a code that corrects `errors` errors and a decoder that gives up beyond: `sum_d C(n, d) acceptance(d) / 2**r`.

    Examples
    --------
    >>> round(answer_probability(23, 3, 11, 2 * math.log(2), 0.5), 10)
    0.2453646801
    """
    n = arguments.whole("n", n, at_least=1)
    errors = arguments.whole("errors", errors, at_least=0, at_most=n)
    redundancy = arguments.whole("redundancy", redundancy, at_least=0)
    shares = (math.comb(n, d) * acceptance(d, threshold, epsilon) for d in range(errors + 1))
    return math.fsum(share / 2**redundancy for share in shares)


def tight_threshold(epsilon: float, delta: float) -> tuple[float, int]:
    """Return `(w, errors)` that suffice: `w = ln(1/(2 delta))/eps`, `errors = ceil(2w)`.

    At the threshold `w` the second step returns the sample with probability `1 - delta`, and a code that corrects so
    many errors makes it `(epsilon, delta)`-private. `delta` is below 1/2. Derived, reviewed.

    Examples
    --------
    >>> w, errors = tight_threshold(0.5, 0.01)
    >>> round(w, 4), errors
    (7.824, 16)
    """
    epsilon = arguments.real("epsilon", epsilon, above=0)
    delta = arguments.real("delta", delta, above=0, below=0.5)
    w = -math.log(2 * delta) / epsilon
    return w, math.ceil(2 * w)


def gilbert_varshamov_redundancy(n: int, distance: int) -> int:
    """Return the least `r` with `sum_{i <= t-2} C(n-1, i) < 2**r`: a linear code of that length and distance exists.

    Examples
    --------
    >>> gilbert_varshamov_redundancy(23, 7), gilbert_varshamov_redundancy(1023, 33)
    (16, 197)
    """
    n = arguments.whole("n", n, at_least=1)
    distance = arguments.whole("distance", distance, at_least=2, at_most=n)
    return sum(math.comb(n - 1, i) for i in range(distance - 1)).bit_length()


def _down(bits: float, log2_share: float) -> float:
    """The sum, rounded down by the last places of the larger term."""
    return bits + log2_share - 4 * math.ulp(max(bits, abs(log2_share)))


def _holding(epsilon: float, delta: float, n: int) -> Construction:
    code = construction(epsilon, delta, n)
    if code.problems:
        raise InvalidParameter(f"Theorem 3.9 does not apply at n = {code.n}: {'; '.join(code.problems)}")
    return code
