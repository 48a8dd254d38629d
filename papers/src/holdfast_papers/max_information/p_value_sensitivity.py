"""`p-value-sensitivity`: why theorems about statistics of low sensitivity do not cover tests."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.accounting.costs import PureDP
from holdfast.bounds.p_value import sensitivity_floor
from holdfast.inference.after_looking.record import AfterLooking
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

BEST_D = 0.08397
ROWS = (10, 100, 1000, 10_000, 100_000, 1_000_000)
QUICK_ROWS = (10, 100, 1000)
_GRID, _QUICK_GRID = 2000, 200
_EXACT = 60


@experiment(
    "p-value-sensitivity",
    title="How far one row moves a p-value, and what that makes of bounds for low-sensitivity statistics",
    source="Rogers, Roth, Smith, Thakkar (2016), Lemma B.1 and Theorem B.2",
)
def run(settings: Settings) -> Outcome:
    """Compute the sensitivity of two uniform p-values next to the lemma's floor, and the theorem's best radius."""
    rows = []
    sizes = QUICK_ROWS if settings.quick else ROWS
    for i, n in enumerate(sizes):
        settings.progress(i / len(sizes), f"{n:,} rows")
        rows.append(_row(n, _QUICK_GRID if settings.quick else _GRID))
    settings.progress(1.0, "done")
    checks = []
    for row in rows:
        n, floor = row["n"], row["floor, best d"]
        least = min(row["uniform-sum test"], row["sign test with a coin"])
        checks.append(Check(f"n={n}: both p-values are above the floor", least > floor, f"{least:.4g} > {floor:.4g}"))
        radius = row["smallest radius"]
        checks.append(Check(f"n={n}: the radius says nothing about a p-value", radius > 1, f"{radius:.4g} > 1"))
    ratio = sensitivity_floor(1, BEST_D) / sensitivity_floor(1)
    checks.append(Check("the best d is 0.08397", _best_d(), f"{ratio:.6f} times the floor at d = 0.08"))
    title = "Sensitivity of p-values that are uniform under the null, and the radius that Theorem B.2 gives with it"
    table = Table("sensitivity", title, tuple(rows[0]), tuple(rows))
    last, least = rows[-1], min(row["smallest radius"] for row in rows)
    finding = (
        f"One of {last['n']:,} rows moves these p-values by {last['uniform-sum test']:.2g} and "
        f"{last['sign test with a coin']:.2g}, a mean by {last['a mean']:.2g}. With the least sensitivity that a "
        f"p-value can have, the radius of the theorem for low-sensitivity statistics is at least {least:.1f} wherever "
        "it applies, and a p-value lies in [0, 1]. The transfer bound needs no sensitivity: the last column is the "
        "level that keeps 0.05 after a private choice with epsilon = 0.5/sqrt(n)."
    )
    return Outcome((table,), tuple(checks), finding, {"best_d": BEST_D}, lambda: _chart(rows))


def _row(n: int, grid: int) -> dict[str, Any]:
    return {
        "n": n,
        "floor, d = 0.08": sensitivity_floor(n),
        "floor, best d": sensitivity_floor(n, BEST_D),
        "uniform-sum test": uniform_sum_sensitivity(n),
        "sign test with a coin": sign_test_sensitivity(n),
        "a mean": 1 / n,
        "smallest radius": smallest_radius(n, grid),
        "level after a private choice": AfterLooking(n).record(PureDP(0.5 / math.sqrt(n))).level().value,
    }


def uniform_sum_sensitivity(n: int) -> float:
    """Sensitivity of the p-value of the sum of `n` uniform rows in [0, 1]: one row moves the sum by 1.

    The largest move is at the centre, `Pr[|S - n/2| <= 1/2]`, which is the density of `n + 1` uniforms at their centre:
    `(1/pi) integral of (sin(t/2)/(t/2))^(n+1) dt`.

    Examples
    --------
    >>> round(uniform_sum_sensitivity(1), 9), round(uniform_sum_sensitivity(2), 9)
    (1.0, 0.75)
    """
    m = n + 1
    if m <= _EXACT:  # the alternating sum of Irwin and Hall, in whole numbers
        terms = ((-1) ** k * math.comb(m, k) * Fraction(m - 2 * k, 2) ** (m - 1) for k in range((m + 1) // 2))
        return float(sum(terms, Fraction(0)) / math.factorial(m - 1))
    edge, cells = 40 / math.sqrt(m), 100_000  # beyond, the power is below exp(-60)
    t = (np.arange(cells) + 0.5) * (edge / cells)
    return float(np.exp(m * np.log(np.sinc(t / (2 * math.pi)))).sum() * edge / cells / math.pi)


def sign_test_sensitivity(n: int) -> float:
    """Sensitivity of the exact sign test made uniform by a coin: two neighbouring binomial probabilities at the centre.

    `p = Pr[B > b] + U Pr[B = b]`, with `U` carried by a row. A row that changes its sign and the coin moves `p` from
    `Pr[B >= b]` to `Pr[B > b + 1]`.

    Examples
    --------
    >>> round(sign_test_sensitivity(2), 12), round(sign_test_sensitivity(3), 12)
    (0.75, 0.75)
    """
    from scipy.stats import binom

    b = np.arange(n)
    return float((binom.pmf(b, n, 0.5) + binom.pmf(b + 1, n, 0.5)).max())


def smallest_radius(n: int, grid: int = 2000) -> float:
    """The smallest radius `18 epsilon Delta n` of Theorem B.2 for a p-value, over every epsilon and delta it allows.

    `n >= ln(4 epsilon/delta)/epsilon^2` with `delta < epsilon/4` needs `epsilon > sqrt(ln(16)/n)`; `inf` where that is
    not below 1/3.

    Examples
    --------
    >>> smallest_radius(1_000_000) > 11.09, smallest_radius(10)
    (True, inf)
    """
    least = math.sqrt(math.log(16) / n)
    if least >= 1 / 3:
        return math.inf
    epsilons = least + (1 / 3 - least) * np.linspace(1e-9, 1, grid, endpoint=False)
    return float((18 * epsilons * sensitivity_floor(n, BEST_D) * n).min())


def _best_d() -> bool:
    around = [sensitivity_floor(10_000, BEST_D + step) for step in (-1e-3, 0.0, 1e-3)]
    return around[1] == max(around)


def _chart(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    from holdfast_papers.plots import colour_below, log_axis

    names = ("floor, best d", "uniform-sum test", "sign test with a coin", "a mean")
    data = [{"n": row["n"], "sensitivity": row[name], "statistic": name} for row in rows for name in names]
    return (
        alt.Chart(alt.InlineData(values=data), width=420, height=280)
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", title="rows", scale=alt.Scale(type="log"), axis=log_axis(alt)),
            y=alt.Y("sensitivity:Q", scale=alt.Scale(type="log"), axis=log_axis(alt)),
            color=colour_below(alt, "statistic:N", list(names)),
        )
    )


__all__ = ["run", "sign_test_sensitivity", "smallest_radius", "uniform_sum_sensitivity"]
