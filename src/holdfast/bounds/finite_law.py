"""Exact quantities of finite distributions: what a small selection rule really reveals.

A joint distribution is a table `joint[x, z]` of probabilities, sample by output. Everything is computed exactly up to
rounding, so these functions audit claims and test bounds. Time `O(N log N)` in the number of cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.parameters import Domain, FailureProbabilityOrZero, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]


def max_divergence(p: npt.ArrayLike, q: npt.ArrayLike, delta: float = 0.0) -> float:
    """Return the `delta`-approximate max-divergence in bits: the least `k` with `sum (p - 2**k q)_+ <= delta`.

    Dwork et al. 2015, section 3. The worst event is a set of the largest ratios `p/q` (Neyman-Pearson), so one sort
    decides. It is at least `log2(1 - delta)` and may be negative; `inf` when `q` misses more than `delta` of `p`.

    Examples
    --------
    >>> round(max_divergence([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 6)
    1.321928
    """
    p, q = _pair(p, q)
    return _divergence(p, _log2(q), arguments.probability("delta", delta, zero=True))


def max_information(joint: npt.ArrayLike, beta: float = 0.0) -> float:
    """Return the `beta`-approximate max-information of a joint distribution in bits. Rogers et al. 2016, Definition
    1.2; exact.

    It is `log2(1 - beta)` for independent sample and output, hence negative, and never less.

    Examples
    --------
    >>> table = [[0.4, 0.1], [0.1, 0.4]]
    >>> round(max_information(table), 6), round(max_information(table, 0.1), 6), round(max_information(table, 0.9), 6)
    (0.678072, 0.485427, -3.321928)
    """
    table = _joint(joint)
    return _divergence(table.ravel(), _log2_product(table).ravel(), arguments.probability("beta", beta, zero=True))


def beta_star(joint: npt.ArrayLike, k_bits: float) -> float:
    """Return the smallest `beta` at which the joint distribution has at most `k_bits`: `sum (joint - 2**k product)_+`.

    The whole trade-off is this one curve: `max_information(joint, beta) <= k` exactly when `beta_star(joint, k) <=
    beta`.

    Examples
    --------
    >>> round(beta_star([[0.4, 0.1], [0.1, 0.4]], 0.5), 6)
    0.092893
    """
    table = _joint(joint)
    k_bits = arguments.real("k_bits", k_bits)
    if k_bits > 1000:  # 2**k would overflow; cells with positive product are then covered
        return 0.0
    return float(np.maximum(table - 2.0**k_bits * _product(table), 0.0).sum())


def worst_output_transfer(joint: npt.ArrayLike, beta: float = 0.0) -> float:
    """Return the least transfer exponent of a joint distribution in bits, exactly.

    The least `k` for which some distribution `nu` on outputs has `sum (joint - 2**k prior nu)_+ <= beta`. With `m(z) =
    2**k nu(z)` the loss of output `z` is convex and piecewise linear in `m(z)`, so the least total `m` that brings the
    loss down to `beta` takes the steepest pieces first. At `beta = 0` this is `log2 sum_z max_x Pr[z | x]`. Derived;
    compared with a linear programme in the tests.

    Examples
    --------
    >>> round(worst_output_transfer([[0.5, 0.0], [0.0, 0.5]]), 6)
    1.0
    >>> rare = [[0.02, 0.0], [0.0, 0.98]]
    >>> round(worst_output_transfer(rare, 0.01), 4), round(max_information(rare, 0.01), 4)
    (0.585, 4.6439)
    """
    table = _joint(joint)
    beta = arguments.probability("beta", beta, zero=True)
    prior = table.sum(axis=1)
    table, prior = table[prior > 0], prior[prior > 0]
    lengths: list[Array] = []
    slopes: list[Array] = []
    for column in table.T:
        ratio = column / prior
        order = np.argsort(ratio, kind="stable")
        ends = ratio[order]
        weight = np.cumsum(prior[order][::-1])[::-1]  # prior mass of the samples whose ratio is not yet reached
        lengths.append(np.diff(ends, prepend=0.0))
        slopes.append(weight)
    length, slope = np.concatenate(lengths), np.concatenate(slopes)
    steepest = np.argsort(-slope, kind="stable")
    length, slope = length[steepest], slope[steepest]
    loss = 1.0 - np.cumsum(length * slope)  # what is lost after each piece
    total = np.cumsum(length)
    if beta == 0:
        return math.log2(float(total[-1]))
    reached = int(np.argmax(loss <= beta)) if bool((loss <= beta).any()) else len(loss) - 1
    surplus = max(0.0, beta - float(loss[reached]))
    needed = float(total[reached]) - min(surplus / float(slope[reached]), float(length[reached]))
    return math.log2(max(needed, 1 - beta))  # less mass than that cannot do


def mutual_information(joint: npt.ArrayLike) -> float:
    """Return the mutual information of a joint distribution in bits.

    Examples
    --------
    >>> round(mutual_information([[0.4, 0.1], [0.1, 0.4]]), 6)
    0.278072
    """
    table = _joint(joint)
    return _kl_bits(table.ravel(), _log2_product(table).ravel())


def kl_nats(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """Return the Kullback-Leibler divergence `sum p ln(p/q)` in nats; `inf` when `q` misses mass of `p`.

    Examples
    --------
    >>> round(kl_nats([0.5, 0.5], [0.25, 0.75]), 6)
    0.143841
    """
    p, q = _pair(p, q)
    return _kl_bits(p, _log2(q)) * math.log(2)


def total_variation(p: npt.ArrayLike, q: npt.ArrayLike) -> float:
    """Return `sum |p - q| / 2`.

    Examples
    --------
    >>> round(total_variation([0.5, 0.5], [0.25, 0.75]), 6)
    0.25
    """
    return hockey_stick(p, q, 0.0)


def hockey_stick(p: npt.ArrayLike, q: npt.ArrayLike, epsilon: float) -> float:
    """Return `sum (p - e^epsilon q)_+`, the least delta for which `p` is one-sidedly (epsilon, delta)-close to `q`.

    Examples
    --------
    >>> round(hockey_stick([0.75, 0.25], [0.25, 0.75], 0.5), 6)
    0.33782
    """
    p, q = _pair(p, q)
    epsilon = arguments.real("epsilon", epsilon, at_least=0)
    return float(np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0).sum())


def is_indistinguishable(p: npt.ArrayLike, q: npt.ArrayLike, epsilon: float, delta: float) -> bool:
    """Say whether two distributions are (epsilon, delta)-indistinguishable, in both directions (Definition 2.1).

    Examples
    --------
    >>> is_indistinguishable([0.75, 0.25], [0.25, 0.75], math.log(3), 0.0)
    True
    """
    delta = arguments.probability("delta", delta, zero=True)
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) <= delta + 1e-12


def pointwise_delta(p: npt.ArrayLike, q: npt.ArrayLike, epsilon: float) -> float:
    """Return the least delta for which `p` and `q` are point-wise (epsilon, delta)-close (Definition 2.2).

    It is the probability that the ratio leaves `[e^-epsilon, e^epsilon]`; the draw is from the first distribution only.
    The bound `indistinguishability.pointwise` is about this number.

    Examples
    --------
    >>> pointwise_delta([0.75, 0.25], [0.25, 0.75], 1.0)
    1.0
    """
    p, q = _pair(p, q)
    bound = math.exp(min(arguments.real("epsilon", epsilon, at_least=0), 700.0)) * (1 + 1e-12)
    return min(1.0, float(p[(p > bound * q) | (q > bound * p)].sum()))


@theorem(
    "max-information.finite-law",
    statement="exact approximate max-information of a finite joint distribution",
    source="Rogers-Roth-Smith-Thakkar 2016 Definition 1.2, evaluated",
    conditions="the table's entries are at least 0 and sum to 1; beta in [0, 1)",
    unit="bits",
)
def max_information_of_table(
    table: Annotated[
        Sequence[float],
        Domain(
            "The probabilities, all of the first sample value's row first.", at_least=0, typical=(0.4, 0.1, 0.1, 0.4)
        ),
    ],
    rows: Annotated[UnboundedRows, Domain("The number of sample values.", typical=2)],
    beta: FailureProbabilityOrZero = 0.0,
) -> float:
    """Return `max_information` of a joint distribution given as a flat list, row by row.

    Examples
    --------
    >>> round(max_information_of_table([0.4, 0.1, 0.1, 0.4], 2, 0.1), 6)
    0.485427
    """
    return max_information(_rows(table, rows), beta)


@theorem(
    "transfer.finite-law",
    statement="exact worst-output transfer of a finite joint distribution",
    source="Holdfast, docs/max-information.md",
    conditions="the table's entries are at least 0 and sum to 1; beta in [0, 1)",
    unit="bits",
    provenance="derived",
)
def transfer_of_table(
    table: Annotated[
        Sequence[float],
        Domain(
            "The probabilities, all of the first sample value's row first.", at_least=0, typical=(0.02, 0.0, 0.0, 0.98)
        ),
    ],
    rows: Annotated[UnboundedRows, Domain("The number of sample values.", typical=2)],
    beta: FailureProbabilityOrZero = 0.0,
) -> float:
    """Return `worst_output_transfer` of a joint distribution given as a flat list, row by row.

    Examples
    --------
    >>> round(transfer_of_table([0.02, 0.0, 0.0, 0.98], 2, 0.01), 6)
    0.584963
    """
    return worst_output_transfer(_rows(table, rows), beta)


def _rows(table: Sequence[float], rows: int) -> Array:
    values = arguments.reals("table", table, at_least=0)
    rows = arguments.whole("rows", rows, at_least=1)
    if len(values) % rows:
        raise InvalidParameter(f"rows must divide the {len(values)} entries of the table, got {rows}")
    return np.asarray(values).reshape(rows, -1)


def _divergence(p: Array, log2_q: Array, delta: float) -> float:
    """The second distribution by its logarithms, because a product of small marginals may be below the floating
    range.
    """
    free = float(p[log2_q == -np.inf].sum())  # mass that the second distribution misses
    if free > delta:
        return math.inf
    inside = (p > 0) & (log2_q > -np.inf)
    p, log2_q = p[inside], log2_q[inside]
    ratio = np.log2(p) - log2_q
    order = np.argsort(-ratio, kind="stable")
    if delta == 0:
        return float(ratio[order[0]])
    gained = free + np.cumsum(p[order]) - delta
    reached = gained > 0
    weight = np.logaddexp2.accumulate(log2_q[order])
    return float(np.max(np.log2(gained[reached]) - weight[reached])) if bool(reached.any()) else -math.inf


def _kl_bits(p: Array, log2_q: Array) -> float:
    inside = p > 0
    if bool((log2_q[inside] == -np.inf).any()):
        return math.inf
    return max(0.0, float(np.sum(p[inside] * (np.log2(p[inside]) - log2_q[inside]))))


def _product(table: Array) -> Array:
    product: Array = np.outer(table.sum(axis=1), table.sum(axis=0))
    return product


def _log2_product(table: Array) -> Array:
    product: Array = _log2(table.sum(axis=1))[:, None] + _log2(table.sum(axis=0))[None, :]
    return product


def _log2(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        logarithms: Array = np.log2(values)
    return logarithms


def _pair(p: Any, q: Any) -> tuple[Array, Array]:
    p, q = _law("p", p), _law("q", q)
    if p.shape != q.shape:
        raise InvalidParameter(f"p and q must have the same shape, got {p.shape} and {q.shape}")
    return p, q


def _law(name: str, values: Any) -> Array:
    try:
        law = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} must be a table of probabilities, got a {type(values).__name__}") from None
    if law.size == 0 or not bool(np.isfinite(law).all()) or bool((law < 0).any()):
        raise InvalidParameter(f"{name} must be a table of probabilities, each at least 0 and finite")
    with np.errstate(over="ignore"):
        total = float(law.sum())
    if not abs(total - 1) <= 1e-9:
        raise InvalidParameter(f"{name} must be a table of probabilities that sum to 1, got a sum of {total:.12g}")
    return law / total


def _joint(values: Any) -> Array:
    table = _law("joint", values)
    if table.ndim != 2:
        raise InvalidParameter(
            f"joint must be a table with a row for each sample and a column for each output, got {table.ndim} "
            "dimensions"
        )
    return table
