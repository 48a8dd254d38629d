"""Releases that are not private and still enforce coherence: section 7, and any report with few values."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.coherence import sharp
from holdfast.bounds.coherence.max_information import correction, finite_nats
from holdfast.bounds.coherence.ratio import (
    MODES,
    SPLIT,
    GroupSize,
    Mode,
    even_rows,
    log_ratio,
    tolerance,
)
from holdfast.bounds.coherence.theorem3 import closed_size, size_at
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem

LN4, LN8 = math.log(4), math.log(8)


def release_size_at(alpha: float, lam: float, log_values: float, n: int | None, mode: str) -> GroupSize:
    """The direct union over reports at `Lambda = lam`. Arguments are not checked.

    A predictor made from one fixed report is fixed before the split, so chance bounds its failure by `p`, and all
    `K` reports together fail with probability at most `K p`. No max-information and no slack. Derived, reviewed.
    """
    closed = closed_size(alpha, log_values + LN8 + lam, mode)
    if mode != "sharp" or n is None:
        return GroupSize(max(closed.values()), mode, n, closed)
    exact = sharp.smallest_size(n, alpha / 2, -lam - log_values)
    return GroupSize(min(exact, max(closed.values())), mode, n)


@theorem(
    "coherence.finite-release-size",
    statement="least group size at which a release of few values enforces coherence, private or not",
    source="Holdfast: union over reports, docs/epsilon.md; after Theorem 3 of Enforcing Demographic Coherence",
    conditions=f"{SPLIT}; the report takes at most 2^bits values; any lens, any learner; sharp: alpha < 2",
    unit="rows",
    provenance="derived",
)
def finite_release_size(
    alpha: float, beta: float, groups: int, n: int, bits: float, mode: Literal["corrected", "sharp"] = "corrected"
) -> GroupSize:
    """Return the group size from which a report of at most `2^bits` values enforces coherence.

    - "corrected": Theorem 3 with `ln K + ln(8 r)` in place of `zeta + ln(16 r)`.
    - "sharp": the smallest `m` with `K (m'-1) q(n, m', alpha/2) <= beta/groups` for every `m' >= m`.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2], below 2 in sharp mode.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    bits : float
        `log2` of the number of reports, at least 0.
    mode : str
        "corrected" (default) or "sharp".

    Examples
    --------
    >>> finite_release_size(0.2, 0.05, 10, 1_000_000, 20, "sharp").rows
    5704
    """
    check.choice("mode", mode, ("corrected", "sharp"))
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups)
    log_values = check.real("bits", bits, at_least=0) * math.log(2)
    return release_size_at(alpha, lam, log_values, even_rows(n), mode)


@theorem(
    "coherence.count-release-size",
    statement="least group size at which publishing how many rows have a property enforces coherence for every lens",
    source="Enforcing Demographic Coherence, Theorem 11 (paper); default and sharp: derived",
    conditions=f"{SPLIT}; the count (or the shuffled column) in the clear; any lens; paper: n sufficiently large",
    unit="rows",
    provenance="mixed",
)
def count_release_size(alpha: float, beta: float, groups: int, n: int, mode: Mode = "corrected") -> GroupSize:
    """Return the group size from which the exact count of one binary column in the release enforces coherence.

    - "paper": `112 sqrt(n ln(10 n r))/alpha`, "for n sufficiently large", which the paper does not specify; its last
      step needs only `80 + 8 alpha`. Larger than `n` at the paper's own example.
    - "corrected" (default): the count takes `n/2 + 1` values, so the union over reports applies. No condition on n.
    - "sharp": the same union with the sharp sampling bound.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2], below 2 in sharp mode.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    mode : str
        "paper", "corrected" (default) or "sharp".

    Examples
    --------
    >>> import math
    >>> [round(count_release_size(0.2, math.exp(-30), 100, 5_000_000, m).size, 4)
    ...  for m in ("paper", "corrected", "sharp")]
    [9058569.3947, 42675.6231, 11886]
    """
    check.choice("mode", mode, MODES)
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups)
    n = even_rows(n)
    if mode == "paper":
        return theorem_11(alpha, lam, n, 112.0)
    found = release_size_at(alpha, lam, up(math.log(n // 2 + 1)), n, mode)
    return GroupSize(found.size, mode, n, found.terms, {"values": n // 2 + 1})


def theorem_11(alpha: float, lam: float, n: int, constant: float | None = None) -> GroupSize:
    """Theorem 11 with its printed constant 112, or with what its last step needs, `80 + 8 alpha`. Not checked.

    Examples
    --------
    >>> round(theorem_11(0.2, math.log(100) + 30, 5_000_000).size, 4)
    6599814.8447
    """
    factor = 80 + 8 * alpha if constant is None else constant
    size = up(factor * math.sqrt(n * (math.log(10 * n) + lam)) / alpha, 8)
    return GroupSize(size, "paper" if constant == 112.0 else "corrected", n)


def count_by_max_information(alpha: float, lam: float, n: int, mode: Mode = "corrected") -> GroupSize:
    """The count release through `ln(K/eta)` and Theorem 3: valid, and beaten by the union. Arguments are not checked.

    Examples
    --------
    >>> round(count_by_max_information(0.2, math.log(100) + 30, 5_000_000).size, 4)
    72548.5387
    """
    return size_at(alpha, lam, finite_nats(math.log(n // 2 + 1), lam + math.log(2)), n, mode)


@theorem(
    "coherence.column-release-size",
    statement="least group size at which publishing one column in the clear is coherent through that column",
    source="Enforcing Demographic Coherence, Theorem 9 (paper); default and sharp: derived",
    conditions=f"{SPLIT}; the lens shows that column only, with the stated number of visible profiles",
    unit="rows",
    provenance="mixed",
)
def column_release_size(
    alpha: float, beta: float, groups: int, n: int, profiles: int = 2, mode: Mode = "corrected"
) -> GroupSize:
    """Return the group size from which a column published in the clear, order kept, is coherent through itself.

    - "paper": `4 sqrt(n ln r)/alpha`, two profiles. Its proof has slips that cancel; the statement is proved (derived,
      reviewed) whenever `(kappa(n) - 1) ln r >= ln 4`, which `proved` in the details says.
    - "corrected": the smaller of `4 sqrt(n ln(4r))/alpha` (two profiles) and, free of `n`,
      `max{16.6 L/alpha^2, 32/(3 alpha), 8.3 L, 40}` with `L = ln(4 (2^(v-1) - 1) r)`: with `v` visible profiles the
      report decides only how a predictor orders them, so each non-trivial cut of the profiles is one threshold.
    - "sharp": the smallest `m` with `(2^(v-1) - 1) q(n, m', alpha/2) <= beta/groups` for every `m' >= m`.

    A column with missing values shows one profile more.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2), up to 2 as printed.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    profiles : int
        Distinct values that the lens shows, missing included; in [2, 500].
    mode : str
        "paper", "corrected" (default) or "sharp".

    Examples
    --------
    >>> import math
    >>> [round(column_release_size(0.2, math.exp(-30), 100, 5_000_000, 2, m).size, 4)
    ...  for m in ("paper", "corrected", "sharp")]
    [263078.5821, 14936.4578, 7063]
    """
    check.choice("mode", mode, MODES)
    alpha = tolerance(alpha, mode) if mode == "paper" else check.real("alpha", alpha, above=0, below=2)
    lam = log_ratio(beta, groups)
    n = even_rows(n)
    profiles = check.whole("profiles", profiles, at_least=2, at_most=2 if mode == "paper" else 500)
    if mode == "paper":
        proved = (correction(n) - 1) * lam >= LN4
        return GroupSize(up(4 * math.sqrt(n * lam) / alpha), mode, n, {}, {"proved": proved})
    cuts = math.log(2.0 ** (profiles - 1) - 1) if profiles > 2 else 0.0
    bits = LN4 + cuts + lam
    terms = {
        "chance": up(16.6 * bits / alpha / alpha),
        "step": up(32 / (3 * alpha)),
        "halves": up(8.3 * bits),
        "floor": 40.0,
    }
    closed = max(terms.values())
    counted = up(4 * math.sqrt(n * (LN4 + lam)) / alpha) if profiles == 2 else math.inf
    if mode == "corrected":
        return GroupSize(min(closed, counted), mode, n, terms if closed <= counted else {"deviation": counted})
    exact = sharp.smallest_size(n, alpha / 2, -lam, math.exp(cuts))
    return GroupSize(min(exact, closed, counted), mode, n)


def unequal_halves(alpha: float, lam: float, n: int) -> float:
    """An earlier repair of Theorem 9, `sqrt(n L) (2/alpha + sqrt(4/alpha^2 + 1))`: valid, larger. Not checked.

    Examples
    --------
    >>> round(unequal_halves(0.2, math.log(200), 10_000), 6)
    5183.818367
    """
    return up(math.sqrt(n * (LN4 + lam)) * (2 / alpha + math.sqrt(4 / alpha / alpha + 1)))


__all__ = [
    "column_release_size",
    "count_by_max_information",
    "count_release_size",
    "finite_release_size",
    "release_size_at",
    "theorem_11",
    "unequal_halves",
]
