"""`dwork-figure-2`, `-3` and `-4`: a holdout that is reused, with and without Thresholdout, and the certified one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from holdfast_papers.dwork import plots as dwork_plots
from holdfast_papers.dwork.analyst import KS, PARTS, Setting
from holdfast_papers.dwork.certified import ANALYSTS, CONFIDENCE, CertifiedRun
from holdfast_papers.dwork.checks import (
    against_oracles,
    certified_checks,
    claims_no_signal,
    claims_signal,
    same_law,
)
from holdfast_papers.dwork.data import DataSample
from holdfast_papers.dwork.laplace import VARIANTS, laplace_table
from holdfast_papers.dwork.law import LawSample
from holdfast_papers.dwork.oracles import oracle
from holdfast_papers.dwork.runs import ARMS, Mean, Repetitions, repeat, repeat_certified
from holdfast_papers.registry import Check, Outcome, Progress, Settings, Table, experiment

SOURCE = (
    "Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (2015), Generalization in Adaptive Data Analysis and Holdout Reuse"
)
NO_SIGNAL, SIGNAL = Setting(), Setting(signal=20)


@dataclass(frozen=True)
class Size:
    """How much is run: repetitions by law, with whole data of `rows` rows and attributes, certified, and Figure 1's."""

    law: int
    data: int
    rows: int
    certified: int
    laplace: int


FULL = Size(law=100, data=12, rows=10_000, certified=100, laplace=30)
QUICK = Size(law=100, data=8, rows=2_000, certified=5, laplace=10)


@experiment(
    "dwork-figure-2",
    title="No signal: a reused holdout reports 63% where the truth is 50%; Thresholdout and the certified one do not",
    source=f"{SOURCE}, Figure 2",
)
def figure_2(settings: Settings) -> Outcome:
    """Figure 2: all attributes are noise."""
    return _figure(settings, NO_SIGNAL, "No signal in the data")


@experiment(
    "dwork-figure-3",
    title="Signal: the reused holdout keeps rewarding noise; Thresholdout and the certified holdout show the decline",
    source=f"{SOURCE}, Figure 3",
)
def figure_3(settings: Settings) -> Outcome:
    """Figure 3: twenty of the attributes are weakly correlated with the label."""
    return _figure(settings, SIGNAL, "Some signal in the data")


@experiment(
    "dwork-figure-4",
    title="How far Thresholdout's classifiers overfit the holdout itself: little, and not zero",
    source=f"{SOURCE}, Figure 4",
)
def figure_4(settings: Settings) -> Outcome:
    """Figure 4: true holdout accuracy of the classifiers built through Thresholdout, without and with signal."""
    size = QUICK if settings.quick else FULL
    results = []
    for i, setting in enumerate((NO_SIGNAL, SIGNAL)):
        progress = _part(settings.progress, i / 2, (i + 1) / 2)
        results.append(repeat(setting, size.law, settings.seed, LawSample, progress, "exact distribution"))
    settings.progress(1.0, "done")
    rows: list[dict[str, Any]] = []
    checks: list[Check] = []
    for result, name in zip(results, ("no signal", "signal"), strict=True):
        holdout, fresh = (result.curve("thresholdout", part) for part in ("holdout", "fresh"))
        expected = oracle(result.setting, "thresholdout").accuracy
        true = np.array([run.true for run in result.runs["thresholdout"]])
        for j, k in enumerate(KS):
            on_holdout = Mean.of(holdout[:, j])
            rows.append(
                {
                    "experiment": name,
                    "k": k,
                    "holdout": round(on_holdout.value, 5),
                    "sd": round(on_holdout.spread, 5),
                    "holdout, integral": round(float(expected["holdout"][j]), 5),
                    "fresh": _mean(fresh[:, j]),
                    "population": _mean(true[:, j]),
                    "bias": _mean((holdout - true)[:, j]),
                }
            )
        checks += [c for c in against_oracles(result) if "thresholdout" in c.name]
        bias = Mean.of((holdout - true)[:, -1])
        checks.append(
            Check(
                f"{name}: the bias at k=500 is real and below 2 points",
                bool(bias.value > 0 and bias.distance(0.0) > 6 and bias.value < 0.02),
                f"{bias.value:+.4f}, standard error {bias.error:.4f}",
            )
        )
    title = f"Accuracy on the holdout of classifiers built through Thresholdout, {size.law} runs by exact distribution"
    table = Table("bias", title, tuple(rows[0]), tuple(rows))
    none, some = (
        next(r for r in rows if r["experiment"] == name and r["k"] == 500) for name in ("no signal", "signal")
    )
    finding = (
        f"Thresholdout keeps the holdout nearly fresh, not fresh: at k=500 the classifier is {none['bias']:+.2%} "
        f"better on the holdout than in the population without signal and {some['bias']:+.2%} with signal, {size.law} "
        f"runs. The paper calls that essentially no overfitting. The integral gives "
        f"{none['holdout, integral'] - 0.5:+.2%} without signal, so it is a property of the method and not chance."
    )
    return Outcome((table,), tuple(checks), finding, _parameters(size), lambda: dwork_plots.figure_4(results))


def _figure(settings: Settings, setting: Setting, title: str) -> Outcome:
    size = QUICK if settings.quick else FULL
    small = Setting(size.rows, size.rows, setting.signal)
    whole = settings.progress
    law = repeat(setting, size.law, settings.seed, LawSample, _part(whole, 0.0, 0.05), "exact distribution")
    data = repeat(small, size.data, settings.seed + 2, DataSample, _part(whole, 0.05, 0.6), "whole data")
    twin = (
        law if small == setting else repeat(small, size.law, settings.seed, LawSample, _part(whole, 0.6, 0.61), "law")
    )
    certified = {
        analyst.name: repeat_certified(
            setting, size.certified, settings.seed, LawSample, analyst, _part(whole, 0.61 + 0.1 * i, 0.71 + 0.1 * i)
        )
        for i, analyst in enumerate(ANALYSTS)
    }
    laplace, laplace_checks = laplace_table(setting, size.laplace, settings.seed, _part(whole, 0.91, 1.0))
    settings.progress(1.0, "done")
    judge = claims_signal if setting.signal else claims_no_signal
    claims, claim_checks = judge(law, data, certified)
    same, same_checks = same_law(twin, data)
    checks = [*claim_checks, *against_oracles(law), *same_checks, *certified_checks(certified), *laplace_checks]
    tables = (_curves(law), claims, _oracle_table(law), same, _certified_table(certified), laplace)
    finding = _finding(law, certified)
    return Outcome(
        tables, tuple(checks), finding, _parameters(size), partial(dwork_plots.figure, law, certified, title)
    )


def _parameters(size: Size) -> dict[str, Any]:
    return {
        "n": NO_SIGNAL.n,
        "d": NO_SIGNAL.d,
        "useful attributes in the signal experiment": SIGNAL.signal,
        "repetitions by exact distribution": size.law,
        "repetitions with whole data": size.data,
        "rows and attributes of the whole data": size.rows,
        "repetitions of the certified holdout": size.certified,
        "repetitions of each Figure 1 variant": size.laplace,
        "Figure 1 variants": [v.name for v in VARIANTS],
        "confidence": CONFIDENCE,
    }


def _part(progress: Progress, start: float, end: float) -> Progress:
    """Progress inside one part of the work."""
    return lambda fraction, what: progress(start + fraction * (end - start), what)


def _curves(law: Repetitions) -> Table:
    rows = []
    for j, k in enumerate(KS):
        row: dict[str, Any] = {"k": k}
        for arm in ARMS:
            label = "std" if arm == "standard" else "Thr"
            for curve in ("train", "told", "holdout", "fresh"):
                if (arm, curve) != ("standard", "told"):
                    row[f"{label} {curve}"] = _shown(Mean.of(law.curve(arm, curve)[:, j]))
        row["population"] = f"{np.mean([run.true[j] for run in law.runs['thresholdout']]):.4f}"
        rows.append(row)
    title = (
        f"Accuracy, mean and standard deviation of {law.count} runs by exact distribution; Thr told: what "
        f"the analyst is told"
    )
    return Table("curves", title, tuple(rows[0]), tuple(rows))


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 5)


def _shown(mean: Mean) -> str:
    return f"{mean.value:.4f}±{mean.spread:.4f}"


def _oracle_table(law: Repetitions) -> Table:
    rows = []
    for arm in ARMS:
        expected = oracle(law.setting, arm)
        for part in PARTS:
            for k in (20, 100, 500):
                j = KS.index(k)
                mean = Mean.of(law.curve(arm, part)[:, j])
                rows.append(_against(arm, f"accuracy, {part}, k={k}", mean, float(expected.accuracy[part][j])))
        rows.append(_against(arm, "attributes taken", Mean.of([r.selected for r in law.runs[arm]]), expected.selected))
    return Table("integrals", "Simulation next to the integrals", tuple(rows[0]), tuple(rows))


def _against(arm: str, what: str, mean: Mean, expected: float) -> dict[str, Any]:
    return {
        "holdout": arm,
        "what": what,
        "mean": round(mean.value, 5),
        "standard error": round(mean.error, 5),
        "integral": round(expected, 5),
        "standard errors off": round(mean.distance(expected), 2),
    }


def _certified_table(certified: dict[str, tuple[CertifiedRun, ...]]) -> Table:
    rows = []
    for name, runs in certified.items():
        for k in (20, 100, 500):
            j = KS.index(k)
            rows.append(
                {
                    "analyst": name,
                    "k": k,
                    "training": _mean(r.train[j] for r in runs),
                    "told": _mean(r.told[j] for r in runs),
                    "half-width": _mean((r.high[j] - r.low[j]) / 2 for r in runs),
                    "population": _mean(r.true[j] for r in runs),
                    "outside": sum(not r.low[j] <= r.true[j] <= r.high[j] for r in runs),
                    "runs": len(runs),
                }
            )
    title = f"The certified holdout, confidence {CONFIDENCE:g} for all answers of a run at once"
    return Table("certified", title, tuple(rows[0]), tuple(rows))


def _finding(law: Repetitions, certified: dict[str, tuple[CertifiedRun, ...]]) -> str:
    standard = law.curve("standard", "told")[:, -1].mean()
    told = law.curve("thresholdout", "told")[:, -1].mean()
    true = {arm: float(np.mean([run.true[-1] for run in law.runs[arm]])) for arm in ARMS}
    missed = sum(r.missed for runs in certified.values() for r in runs)
    asked = sum(r.asked for runs in certified.values() for r in runs)
    best = "" if not law.setting.signal else _decline(law)
    return (
        f"At k=500 the standard holdout reports {standard:.1%} for classifiers whose accuracy is "
        f"{true['standard']:.1%}; Thresholdout tells {told:.1%} where the truth is {true['thresholdout']:.1%}.{best} "
        f"The certified holdout gave {asked:,} intervals in {sum(len(r) for r in certified.values())} runs, {missed} "
        f"of them off the truth."
    )


def _decline(law: Repetitions) -> str:
    j = KS.index(20)
    standard, told = (law.curve(arm, "told").mean(axis=0) for arm in ARMS)
    true = np.mean([run.true for run in law.runs["thresholdout"]], axis=0)
    return (
        f" From k=20 to k=500 the standard holdout's report goes from {standard[j]:.1%} to {standard[-1]:.1%} and "
        f"Thresholdout's from {told[j]:.1%} to {told[-1]:.1%}; the truth goes from {true[j]:.1%} to {true[-1]:.1%}."
    )
