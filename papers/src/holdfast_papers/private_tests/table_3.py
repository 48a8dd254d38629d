"""Table 3 of the dissertation: critical values of AsymptGOF at d = 100, and what both thresholds do to the level."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.bounds.numerics.chi_square import mixture_sf
from holdfast.inference.private_tests.classical import chi_square_critical
from holdfast.inference.private_tests.goodness_of_fit import asymptotic_critical_value, asymptotic_weights
from holdfast_papers.binomial import agrees
from holdfast_papers.private_tests import settings as t
from holdfast_papers.private_tests.checks import count_of, same
from holdfast_papers.private_tests.figure import Panel, plotted, simulate
from holdfast_papers.private_tests.plots import chart
from holdfast_papers.private_tests.recorded import TABLE_3, UNIFORM_100, Recorded
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

_P0 = (0.01,) * 100
_TESTS = (t.GOF_ON_NOISE, t.ASYMPT_GOF, t.PROJECTED)


@experiment(
    "rogers-table-3",
    title="Critical values and type I error at d = 100, rho = .00125: classical threshold, AsymptGOF, projected",
    source="Rogers 2017 (thesis), table 3",
    spreads=True,
)
def table_3(settings: Settings) -> Outcome:
    """The four thresholds as printed, and 10,000 runs of each test at each n."""
    panel = Panel(tuple(t.gof_setting(UNIFORM_100, _P0, n, 0.1) for n in TABLE_3), _TESTS, 10_000)
    panel = panel.quick() if settings.quick else panel
    results = simulate((panel,), settings)
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    compared, classical = 0, chi_square_critical(99, t.ALPHA)
    for setting in panel.settings:
        (tau, *printed), measured = TABLE_3[setting.n]
        variance = t.ASYMPT_GOF.noise_law(setting).variance
        ours = asymptotic_critical_value(np.array(_P0), setting.n, variance, t.ALPHA)
        row: dict[str, Any] = {"n": setting.n, "tau": round(ours, 4), "tau (printed)": tau}
        for test, theirs, before in zip(_TESTS, (*printed, None), measured, strict=True):
            count, runs = count_of(results, setting, test)
            row[test.label] = round(count / runs, 5)
            if theirs is not None:
                row[f"{test.label} (printed)"] = theirs
            for share in (theirs, before):
                if share is not None:
                    compared += 1
                    half = 0.005 if share == 1 else 0.00005
                    if not same(count, runs, Recorded(share, 10_000, half)):
                        wrong.append(f"{test.label} at n = {setting.n:,}: {count / runs:.4f} against {share}")
        row["classical (limit)"] = round(
            float(mixture_sf(classical, asymptotic_weights(np.array(_P0), setting.n, variance))), 4
        )
        rows.append(row)
    columns = ["n", "tau", "tau (printed)"]
    columns += [head for test in _TESTS for head in (test.label, f"{test.label} (printed)") if head in rows[0]]
    columns.insert(5, "classical (limit)")
    checks = (
        Check(
            "the four critical values are those printed",
            all(round(row["tau"], 2) == row["tau (printed)"] for row in rows),
            ", ".join(f"{row['tau']:.4f}" for row in rows),
        ),
        Check("the classical critical value is 123.23", round(classical, 2) == 123.23, f"{classical:.4f}"),
        Check(
            "the classical threshold rejects as often as the limit distribution says, where n p is 1,000 or more",
            all(
                agrees(*count_of(results, setting, t.GOF_ON_NOISE), row["classical (limit)"])
                for setting, row in zip(panel.settings, rows, strict=True)
                if setting.n >= 100_000
            ),
            ", ".join(f"{row[t.GOF_ON_NOISE.label]} against {row['classical (limit)']}" for row in rows[2:]),
        ),
        Check(
            "levels are those printed, and those measured before",
            not wrong,
            f"{compared} comparisons within binomial limits of both runs" + "".join(f"; not {what}" for what in wrong),
        ),
    )
    return Outcome(
        tables=(Table("table-3", f"d = 100, uniform, rho = .00125, {panel.runs:,} runs", tuple(columns), tuple(rows)),),
        checks=checks,
        finding=(
            "The classical threshold, 123.23, rejects a true null always at n = 10,000 and still "
            f"{rows[-1][t.GOF_ON_NOISE.label]:.1%} of the time at a million; the other two keep .05."
        ),
        parameters={"alpha": t.ALPHA, "runs": panel.runs, "quick": settings.quick},
        chart=lambda: chart(plotted((panel,), results, {}), "level"),
    )


__all__ = ["table_3"]
