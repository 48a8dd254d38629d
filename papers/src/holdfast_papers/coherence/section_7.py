"""Section 7: releases without any privacy that are coherent all the same, theory against exact and simulated splits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from holdfast.bounds.coherence import Mode, column_release_size, count_release_size
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

Array = NDArray[np.float64]
ALPHA, BETA, GROUPS = 0.2, 0.05, 10


def _log_choose(n: float, k: Array) -> Array:
    value: Array = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return value


def column_failure(n: int, ones: int, zeros: int, alpha: float) -> float:
    """Exact `Pr[2 |p_a - p_b| > alpha]` for a group with so many ones and zeros among `n` rows; empty halves count.

    The worst predictor through a binary column says +1 for a one and -1 for a zero, and its distance is twice the
    difference of the shares of ones in the two halves.

    Examples
    --------
    >>> round(column_failure(10, 1, 1, 1.9), 12) == 1.0
    True
    """
    m = ones + zeros
    first = np.arange(ones + 1, dtype=np.float64)[:, None]
    second = np.arange(zeros + 1, dtype=np.float64)[None, :]
    rest = n / 2 - first - second
    inside = (rest >= 0) & (rest <= n - m)
    safe = np.clip(rest, 0, n - m)
    log_mass = _log_choose(ones, first) + _log_choose(zeros, second)
    log_mass = log_mass + _log_choose(n - m, safe) - _log_choose(n, np.array(n / 2))
    in_a = first + second
    in_b = m - in_a
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = 2 * np.abs(first / in_a - (ones - first) / in_b)
    bad = (in_a == 0) | (in_b == 0) | (distance > alpha + 1e-12)
    return float(np.exp(log_mass[inside & bad]).sum())


def worst_column_failure(n: int, size: int, alpha: float, points: int = 41) -> float:
    """The largest `column_failure` over the number of ones in a group of this size, on a grid that has the middle."""
    ones = sorted({round(x) for x in np.linspace(0, size, points)} | {size // 2})
    return max(column_failure(n, t, size - t, alpha) for t in ones)


def keyed_attack(n: int, size: int, alpha: float, runs: int, rng: np.random.Generator, tries: int = 8) -> float:
    """Share of splits in which a learner that reads the published count breaks coherence in one group.

    The learner holds `tries` predictors. Where the count leans to one side it takes the column itself, otherwise the
    count picks one of the others: half of each follows the column, the rest are coins.
    """
    column = np.arange(n) % 2
    predictors = np.where(rng.random((tries, n)) < 0.5, 2.0 * column - 1, rng.choice([-1.0, 1.0], (tries, n)))
    predictors[0] = 2.0 * column - 1
    member = np.arange(n) < size
    failures = 0
    for _ in range(runs):
        inside = np.zeros(n, dtype=bool)
        inside[rng.permutation(n)[: n // 2]] = True
        count = int(column[inside].sum())
        lean = abs(2 * count - n // 2)
        h = predictors[0] if lean else predictors[count % tries]
        a, b = h[inside & member], h[~inside & member]
        if not len(a) or not len(b) or abs(a.mean() - b.mean()) > alpha:  # values are -1 and 1: W1 is this difference
            failures += 1
    return failures / runs


@experiment(
    "coherence-section-7",
    title="A column or a count in the clear: group sizes by every bound, against exact and simulated splits",
    source="Enforcing Demographic Coherence, section 7, Theorems 9 and 11",
)
def run(settings: Settings) -> Outcome:
    """Sizes at the paper's example; exact failure of the worst predictor; an attacker who reads the count."""
    rng = np.random.default_rng(settings.seed)
    modes: tuple[Mode, ...] = ("paper", "corrected", "sharp")
    acs = (0.2, math.exp(-30), 100, 5_000_000)
    sizes: list[dict[str, Any]] = [
        {"release": "binary column"} | {m: column_release_size(*acs, mode=m).size for m in modes},
        {"release": "count"} | {m: count_release_size(*acs, mode=m).size for m in modes},
    ]
    settings.progress(0.2, "exact splits")

    n = 4_000
    exact: list[dict[str, Any]] = []
    allowed = BETA / GROUPS
    for alpha in (0.5, 1.0) if settings.quick else (0.4, 0.5, 0.7, 1.0):
        for mode in modes:
            bound = column_release_size(alpha, BETA, GROUPS, n, 2, mode)
            size = min(n, bound.rows or n)
            failure = worst_column_failure(n, size, alpha)
            exact.append({"alpha": alpha, "mode": mode, "size": size, "exact failure": failure, "allowed": allowed})
        short = max(2, column_release_size(alpha, BETA, GROUPS, n, 2, "sharp").rows or 2) // 4
        failure = worst_column_failure(n, short, alpha)
        exact.append({"alpha": alpha, "mode": "a quarter", "size": short, "exact failure": failure, "allowed": allowed})
    settings.progress(0.6, "an attacker who reads the count")

    runs = 400 if settings.quick else 4_000
    attacks: list[dict[str, Any]] = []
    for alpha in (0.5, 1.0):
        needed = count_release_size(alpha, BETA, GROUPS, n, "sharp").rows or n
        for size in (min(n, needed), max(4, needed // 16)):
            share = keyed_attack(n, size, alpha, runs, rng)
            attacks.append(
                {"alpha": alpha, "size": size, "failures": share, "allowed": allowed, "covered": size >= needed}
            )
    settings.progress(1.0, "done")

    covered = [row for row in exact if row["mode"] != "a quarter"]
    short_rows = [row for row in exact if row["mode"] == "a quarter"]
    limit = allowed + 5 * math.sqrt(allowed / runs)
    checks = (
        Check(
            "no covered group fails more often than allowed, exactly",
            all(row["exact failure"] <= allowed for row in covered),
            f"largest {max(row['exact failure'] for row in covered):.2g} of {allowed:g}",
        ),
        Check(
            "a quarter of the size is too small",
            all(row["exact failure"] > allowed for row in short_rows),
            f"smallest {min(row['exact failure'] for row in short_rows):.2g}",
        ),
        Check(
            "the attacker stays inside the promise",
            all(row["failures"] <= limit for row in attacks if row["covered"]),
            f"{runs:,} splits each",
        ),
        Check(
            "and leaves it in groups too small for it",
            any(row["failures"] > limit for row in attacks if not row["covered"]),
            "groups of a sixteenth of the size",
        ),
        Check(
            "the printed bound for the count says nothing at the paper's own example",
            sizes[1]["paper"] > acs[3],
            f"{sizes[1]['paper']:,.0f} rows of {acs[3]:,}; a union over reports {sizes[1]['corrected']:,.0f}",
        ),
    )
    return Outcome(
        tables=(
            Table("sizes", "least group size, 5 million rows, alpha = 0.2", ("release", *modes), tuple(sizes)),
            Table("exact", f"worst predictor through the column, {n:,} rows", tuple(exact[0]), tuple(exact)),
            Table("attack", f"a learner keyed by the count, {n:,} rows", tuple(attacks[0]), tuple(attacks)),
        ),
        checks=checks,
        finding=(
            "Neither release is private at any epsilon, and both are coherent: a binary column through itself from "
            f"{sizes[0]['sharp']:,.0f} rows per group on (printed {sizes[0]['paper']:,.0f}), a count through every "
            f"lens from {sizes[1]['sharp']:,.0f} on (printed {sizes[1]['paper']:,.0f}, more than there are)."
        ),
        parameters={
            "n": n,
            "beta": BETA,
            "groups": GROUPS,
            "runs": runs,
            "seed": settings.seed,
            "quick": settings.quick,
        },
    )


__all__ = ["column_failure", "keyed_attack", "run", "worst_column_failure"]
