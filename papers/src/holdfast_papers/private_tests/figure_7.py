"""Figure 7 of the dissertation: the critical values of AsymptGOF and MCGOF next to the classical one."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.inference.private_tests import goodness_of_fit
from holdfast.inference.private_tests.classical import chi_square_critical, pearson
from holdfast.inference.private_tests.monte_carlo import critical_value, null_counts, rank
from holdfast_papers.binomial import agrees
from holdfast_papers.plots import colour_below, log_axis
from holdfast_papers.private_tests import settings as t
from holdfast_papers.private_tests.figures import LAWS, LEVEL_N
from holdfast_papers.private_tests.run import stream
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

_TESTS = (t.MC_GOF, t.MC_GOF_LAPLACE)
_BUDGET = 0.1
"""Epsilon of the Laplace noise; Gaussian noise has rho = epsilon^2/8 = .00125 and the same variance."""
_COLUMNS = ("law", "n", "classical", "AsymptGOF")
_LARGE = 100_000
"""From here on the limit distribution is close enough for exact binomial limits; below, the counts themselves are
few."""


@experiment(
    "rogers-figure-7",
    title="Critical values of AsymptGOF and MCGOF (m = 59), Gaussian and Laplace noise, next to the classical one",
    source="Rogers 2017 (thesis), figure 7",
)
def figure_7(settings: Settings) -> Outcome:
    """AsymptGOF's threshold is a number; MCGOF's is the 57th of 59 simulated statistics, drawn again in every test."""
    draws = 200 if settings.quick else 2_000
    places = [t.gof_setting(name, law, n, _BUDGET) for name, law in LAWS.items() for n in LEVEL_N]
    classical = chi_square_critical(3, t.ALPHA)
    rows: list[dict[str, Any]] = []
    points: list[dict[str, Any]] = []
    below: dict[str, list[tuple[str, int]]] = {test.label: [] for test in _TESTS}
    for done, setting in enumerate(places):
        settings.progress(done / len(places), f"{setting.name}, n = {setting.n:,}")
        p0 = np.array(setting.null)
        exact = goodness_of_fit.asymptotic_critical_value(
            p0, setting.n, t.ASYMPT_GOF.noise_law(setting).variance, t.ALPHA
        )
        row: dict[str, Any] = {"law": setting.name, "n": setting.n, "classical": round(classical, 4)}
        row["AsymptGOF"] = round(exact, 4)
        at = {"law": setting.name, "n": setting.n}
        points.append(at | {"test": "AsymptGOF", "value": exact, "low": exact, "high": exact})
        for test in _TESTS:
            thresholds = _thresholds(setting, test, draws, settings.seed)
            low, middle, high = (float(np.quantile(thresholds, share)) for share in (0.1, 0.5, 0.9))
            row |= {
                test.label: round(middle, 4),
                f"{test.label}, 10%": round(low, 4),
                f"{test.label}, 90%": round(high, 4),
            }
            points.append(at | {"test": test.label, "value": middle, "low": low, "high": high})
            if setting.n >= _LARGE:
                below[test.label].append((f"{setting.name}, n = {setting.n:,}", int(np.sum(thresholds <= exact))))
        rows.append(row)
    settings.progress(1.0, "done")
    heads = [head for test in _TESTS for head in (test.label, f"{test.label}, 10%", f"{test.label}, 90%")]
    tables = (Table("critical-values", _title(draws), (*_COLUMNS, *heads), tuple(rows)),)
    at_thousand = [row["AsymptGOF"] for row in rows if row["n"] == 1_000]
    return Outcome(
        tables=tables,
        checks=_checks(rows, below, draws, classical),
        finding=(
            f"At n = 1,000 the critical value must be {min(at_thousand):.1f} to {max(at_thousand):.1f} where the "
            f"classical one is {classical:.4f}; at a million {min(r['AsymptGOF'] for r in rows):.2f} at the least. "
            f"MCGOF's own threshold is random: with 59 replicates it falls below the exact one in {_chance():.1%} of "
            "the tests."
        ),
        parameters={"alpha": t.ALPHA, "m": t.MC_GOF.m, "draws": draws, "quick": settings.quick},
        chart=lambda: _chart(points, classical),
    )


def _title(draws: int) -> str:
    return f"critical values at .05, epsilon = .1 or rho = .00125; MCGOF: median, 10% and 90% of {draws:,} draws"


def _thresholds(setting: t.Setting, test: t.Trial, draws: int, seed: int) -> NDArray[np.float64]:
    rng = stream("figure-7", seed, setting.name, setting.n, test.noise)
    p0 = np.array(setting.null)
    counts = null_counts(rng, setting.n, p0, test.noise_law(setting), draws * test.m)
    values = np.asarray(pearson(counts, setting.n, p0)).reshape(draws, test.m)
    return np.array([critical_value(each, t.ALPHA) for each in values])


def _chance() -> float:
    """How often the threshold of the 59 replicates is at most the quantile itself: enough of them must be below."""
    from scipy.stats import binom

    m = t.MC_GOF.m
    return float(binom.sf(rank(m, t.ALPHA) - 1, m, 1 - t.ALPHA))


def _checks(
    rows: list[dict[str, Any]], below: dict[str, list[tuple[str, int]]], draws: int, classical: float
) -> tuple[Check, ...]:
    gaussian = below[t.MC_GOF.label]
    off = [f"{where}: {count} of {draws}" for where, count in gaussian if not agrees(count, draws, _chance())]
    falling = [
        (row["law"], later["n"])
        for row, later in pairwise(rows)
        if row["law"] == later["law"] and not row["AsymptGOF"] > later["AsymptGOF"]
    ]
    largest = [row for row in rows if row["n"] == max(LEVEL_N)]
    return (
        Check(
            "the classical critical value of three degrees of freedom is 7.8147",
            abs(classical - 7.8147) < 5e-5,
            f"{classical:.4f}",
        ),
        Check(
            "stated: private critical values are much larger than the classical one at reasonable sizes",
            all(row["AsymptGOF"] > classical for row in rows)
            and all(row["AsymptGOF"] > 2 * classical for row in rows if row["n"] <= 1_000),
            f"AsymptGOF {min(r['AsymptGOF'] for r in rows):.4f} to {max(r['AsymptGOF'] for r in rows):.4f}",
        ),
        Check(
            "AsymptGOF's critical value falls with n",
            not falling,
            f"{len(rows)} settings" if not falling else str(falling),
        ),
        Check(
            f"at n = {max(LEVEL_N):,} it is nearly the classical one",
            all(row["AsymptGOF"] < 1.1 * classical for row in largest),
            ", ".join(f"{row['AsymptGOF']:.4f}" for row in largest),
        ),
        Check(
            f"with Gaussian noise MCGOF's threshold is below AsymptGOF's as often as {t.MC_GOF.m} draws of one "
            f"distribution say",
            not off,
            f"{_chance():.4f} expected; "
            + ("; ".join(off) or f"{len(gaussian)} settings with n of {_LARGE:,} or more agree"),
        ),
    )


def _chart(points: list[dict[str, Any]], classical: float) -> Any:
    import altair as alt

    order = list(dict.fromkeys(point["test"] for point in points))
    small = []
    for law in dict.fromkeys(point["law"] for point in points):
        base = alt.Chart(alt.InlineData(values=[point for point in points if point["law"] == law]))
        x = alt.X("n:Q", scale=alt.Scale(type="log", nice=False, padding=8), axis=log_axis(alt), title="n")
        scale = alt.Scale(type="log", domain=[5, 10 ** math.ceil(math.log10(max(p["high"] for p in points)))])
        y, low, flat = (
            alt.Y(f"{field}:Q", scale=scale, axis=log_axis(alt), title="critical value")
            for field in ("value", "low", "level")
        )
        colour = colour_below(alt, "test:N", order)
        rule = alt.Chart(alt.InlineData(values=[{"level": classical}])).mark_rule(color="black").encode(y=flat)
        layers = (
            rule,
            base.mark_line(point=True).encode(x=x, y=y, color=colour),
            base.mark_rule().encode(x=x, y=low, y2="high:Q", color=colour),
        )
        small.append(alt.layer(*layers, title=law).properties(width=240, height=200))
    return alt.hconcat(*small)


__all__ = ["figure_7"]
