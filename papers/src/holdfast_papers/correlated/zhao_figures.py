"""`zhao-figures`: a holdout reused on correlated data: as it is, through Algorithm 1, with an adjusted threshold.

Two adjustments are measured. The scaled threshold is the usual one in standard errors, `4 sqrt(inflation/n)`: as many
false alarms as the usual one on independent records, and each tells more. The adjusted threshold is the one that chance
does not pass in all the questions asked (`correlated.recommended-threshold` with `questions`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.bounds.correlated import recommended_threshold
from holdfast.correlated.holdout.thresholdout import CorrelatedThresholdout
from holdfast.noise import Seeded
from holdfast_papers.correlated.zhao_data import CorrelatedSample, CorrelatedSetting
from holdfast_papers.dwork.analyst import KS, Answerer, Floats, Run, analyse, shown_as_is
from holdfast_papers.dwork.runs import Mean
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

SOURCE = "Zhao (2017), Adaptive Statistical Learning with Bayesian Differential Privacy, Figures 2 and 3"
STANDARD, USUAL = "standard", "Algorithm 1"
SCALED, ADJUSTED = "Algorithm 1, scaled threshold", "Algorithm 1, adjusted threshold"


@dataclass(frozen=True)
class Scenario:
    """A setting at full size; `recorded` is what our notes measured at k = 500: points told too much, by holdout."""

    name: str
    what: str
    setting: CorrelatedSetting
    recorded: dict[str, float]

    @property
    def arms(self) -> tuple[str, ...]:
        """The holdouts that are compared; where records are independent nothing is to be scaled."""
        scaled = (SCALED,) if self.setting.inflation > 1.01 else ()
        return (STANDARD, USUAL, *scaled, ADJUSTED)


SCENARIOS = (
    Scenario("S0", "no signal, independent", CorrelatedSetting(), {STANDARD: 13.48, USUAL: 1.94}),
    Scenario("S1", "signal, independent", CorrelatedSetting(signal=20), {STANDARD: 12.59, USUAL: 1.38}),
    Scenario(
        "S2",
        "signal, attributes correlated",
        CorrelatedSetting(signal=20, attributes=0.5),
        {STANDARD: 11.64, USUAL: 1.21},
    ),
    Scenario(
        "S3",
        "no signal, records correlated",
        CorrelatedSetting(attributes=0.5, records=0.7, labels=0.7),
        {STANDARD: 15.03, USUAL: 7.63, SCALED: 0.60},
    ),
    Scenario(
        "S4",
        "signal, records correlated",
        CorrelatedSetting(signal=20, attributes=0.5, records=0.7, labels=0.7),
        {STANDARD: 15.28, USUAL: 7.38, SCALED: 2.66},
    ),
)


@dataclass(frozen=True)
class Found:
    """The runs of one scenario, by holdout."""

    scenario: Scenario
    setting: CorrelatedSetting
    runs: dict[str, tuple[Run, ...]]

    def curve(self, arm: str, curve: str) -> Floats:
        """One row per run, one column for each k."""
        runs = self.runs[arm]
        if curve == "told":
            return np.array([run.reported for run in runs])
        if curve == "population":
            return np.array([run.true for run in runs])
        return np.array([run.accuracy[curve] for run in runs])  # type: ignore[index]

    def excess(self, arm: str, curve: str) -> Mean:
        """How much better than in the population the classifier of 500 attributes looks, in points."""
        return Mean.of(100 * (self.curve(arm, curve) - self.curve(arm, "population"))[:, -1])

    def most_told(self, arm: str) -> float:
        """The largest mean, over the numbers of attributes, of what was told too much, in points."""
        return float(100 * (self.curve(arm, "told") - self.curve(arm, "population")).mean(axis=0).max())


def algorithm_1(setting: CorrelatedSetting, threshold: float, seed: int) -> Answerer:
    """Algorithm 1 with `sigma = 1/(4 sqrt(n))` and a budget that cannot run out. No theorem covers such a run.

    The questions `x y` are unbounded, so no sensitivity is true of them; noise is scaled as if one record moved a mean
    by 1/n.
    """
    holdout = CorrelatedThresholdout(
        setting.n,
        threshold,
        0.25 / math.sqrt(setting.n),
        setting.d + len(KS),
        sensitivity=1 / setting.n,
        source=Seeded(seed),
    )
    return lambda train, means: holdout.query_batch(train, means).values


def threshold_of(arm: str, setting: CorrelatedSetting) -> float:
    """The threshold of a holdout: usual, scaled to the variance of a mean, or adjusted to all the questions asked."""
    if arm == ADJUSTED:
        return recommended_threshold(setting.n, setting.inflation, questions=setting.d + len(KS))
    return recommended_threshold(setting.n, setting.inflation if arm == SCALED else 1.0)


def repeat(scenario: Scenario, setting: CorrelatedSetting, count: int, settings: Settings, done: float) -> Found:
    """Every holdout on the same `count` samples."""
    runs: dict[str, list[Run]] = {arm: [] for arm in scenario.arms}
    for i in range(count):
        settings.progress(done + i / (count * len(SCENARIOS)), f"{scenario.name}, run {i + 1} of {count}")
        rng = np.random.default_rng([settings.seed, int(scenario.name[1:]), i])
        sample = CorrelatedSample(setting, rng)
        for arm in scenario.arms:
            answerer: Answerer = shown_as_is
            if arm != STANDARD:
                answerer = algorithm_1(setting, threshold_of(arm, setting), int(rng.integers(2**62)))
            runs[arm].append(analyse(sample, answerer))
    return Found(scenario, setting, {arm: tuple(found) for arm, found in runs.items()})


@experiment(
    "zhao-figures",
    title="Correlated records: Algorithm 1 at the usual threshold overfits; at one that chance does not pass it does "
    "not",
    source=SOURCE,
)
def zhao_figures(settings: Settings) -> Outcome:
    """Independent and correlated records, with and without signal, usual and adjusted threshold."""
    count = 4 if settings.quick else 6
    scenarios = []
    for i, scenario in enumerate(SCENARIOS):
        rows = (4000 if scenario.setting.records else 2000) if settings.quick else scenario.setting.n
        setting = replace(scenario.setting, n=rows, d=rows)
        scenarios.append(repeat(scenario, setting, count, settings, i / len(SCENARIOS)))
    settings.progress(1.0, "done")
    limit = 2.0 if settings.quick else 1.0
    checks = [check for one in scenarios for check in _checks(one, limit)] + [_as_independent(scenarios)]
    parameters = {
        "runs": count,
        "records and attributes": {one.scenario.name: one.setting.n for one in scenarios},
        "attributes kept": list(KS),
        "inflation of S3 and S4": round(SCENARIOS[3].setting.inflation, 4),
    }
    return Outcome(
        (_summary(scenarios, not settings.quick), _curves(scenarios)),
        tuple(checks),
        _finding(scenarios),
        parameters,
        lambda: _chart(scenarios),
    )


def _checks(found: Found, limit: float) -> list[Check]:
    """Limits hold at the quick size too; the reading of the holdout itself is less noisy than what was told."""
    name, standard = found.scenario.name, found.excess(STANDARD, "holdout")
    usual, adjusted = found.excess(USUAL, "holdout"), found.excess(ADJUSTED, "holdout")
    checks = [
        Check(f"{name}: the reused holdout overfits by more than 8 points", standard.value > 8, _text(standard)),
        Check(f"{name}: with the adjusted threshold by less than {limit:g}", adjusted.value < limit, _text(adjusted)),
    ]
    if SCALED not in found.runs:
        return [*checks, Check(f"{name}: Algorithm 1 by less than 5 points", usual.value < 5, _text(usual))]
    scaled = found.excess(SCALED, "holdout")
    return [
        *checks,
        Check(f"{name}: Algorithm 1 at the usual threshold by more than 6 points", usual.value > 6, _text(usual)),
        Check(
            f"{name}: with the scaled threshold by less than half of it", scaled.value < usual.value / 2, _text(scaled)
        ),
    ]


def _as_independent(found: list[Found]) -> Check:
    """The scaled threshold leaves on correlated records little more than the usual one on independent ones."""
    correlated, independent = found[3].excess(SCALED, "holdout"), found[0].excess(USUAL, "holdout")
    more = correlated.value - independent.value
    return Check(
        "S3, scaled threshold: less than 2 points more than on independent records",
        more < 2,
        f"{correlated.value:+.2f} against {independent.value:+.2f} points",
    )


def _text(mean: Mean) -> str:
    return f"{mean.value:+.2f} points, standard error {mean.error:.2f}, {mean.count} runs"


def _summary(found: list[Found], full: bool) -> Table:
    rows: list[dict[str, Any]] = []
    for one in found:
        for arm, runs in one.runs.items():
            told, holdout = one.excess(arm, "told"), one.excess(arm, "holdout")
            row: dict[str, Any] = {
                "scenario": f"{one.scenario.name}: {one.scenario.what}",
                "through": arm,
                "training": round(100 * float(one.curve(arm, "train")[:, -1].mean()), 2),
                "told": round(100 * float(one.curve(arm, "told")[:, -1].mean()), 2),
                "on the holdout": round(100 * float(one.curve(arm, "holdout")[:, -1].mean()), 2),
                "population": round(100 * float(one.curve(arm, "population")[:, -1].mean()), 2),
                "threshold": None if arm == STANDARD else round(threshold_of(arm, one.setting), 4),
                "told too much": f"{told.value:+.2f}±{told.error:.2f}",
                "at most, any k": f"{one.most_told(arm):+.1f}",
                "overfit": f"{holdout.value:+.2f}±{holdout.error:.2f}",
                "overrulings": None if arm == STANDARD else round(float(np.mean([run.over for run in runs])), 1),
            }
            rows.append(row | ({"told too much, notes": one.scenario.recorded.get(arm)} if full else {}))
    title = "Classifiers of 500 attributes: accuracy in per cent; too much and overfit in points, ± one standard error"
    return Table("summary", title, tuple(rows[0]), tuple(rows))


def _curves(found: list[Found]) -> Table:
    rows = []
    for one in found:
        for arm in one.runs:
            for j, k in enumerate(KS):
                row: dict[str, Any] = {"scenario": one.scenario.name, "through": arm, "k": k}
                for curve in ("train", "told", "holdout", "fresh", "population"):
                    row[curve] = round(float(one.curve(arm, curve)[:, j].mean()), 5)
                rows.append(row)
    return Table("curves", "Accuracy by the number of attributes, means over the runs", tuple(rows[0]), tuple(rows))


def _finding(found: list[Found]) -> str:
    correlated = next(one for one in found if one.scenario.name == "S3")
    usual, scaled, adjusted = (correlated.excess(arm, "holdout") for arm in (USUAL, SCALED, ADJUSTED))
    told, told_adjusted = correlated.excess(USUAL, "told"), correlated.excess(ADJUSTED, "told")
    plain = found[0].excess(USUAL, "holdout")
    return (
        f"Without signal, on independent records Algorithm 1 lets the holdout overfit by {plain.value:+.1f} points at "
        f"k=500; on correlated records with the same threshold by {usual.value:+.1f} (told {told.value:+.1f}), with "
        f"the threshold scaled to their standard error by {scaled.value:+.1f}, and with the one that chance does not "
        f"pass in all the questions asked by {adjusted.value:+.1f} (told {told_adjusted.value:+.1f}). The price of the "
        f"last is that a training value off by up to the threshold passes: told too much by "
        f"{correlated.most_told(ADJUSTED):+.1f} at the worst k. The plain holdout overfits by "
        f"{correlated.excess(STANDARD, 'holdout').value:+.1f}. None of these runs is covered by a theorem."
    )


def _chart(found: list[Found]) -> Any:
    import altair as alt

    from holdfast_papers.plots import colour_below

    panels = []
    for one in found:
        row = []
        for arm in one.runs:
            values = [
                {"k": k, "accuracy": float(one.curve(arm, curve)[:, j].mean()), "set": words}
                for curve, words in (("train", "training"), ("told", "holdout, as told"), ("population", "population"))
                for j, k in enumerate(KS)
            ]
            chart = alt.Chart(alt.InlineData(values=values), title=f"{one.scenario.name}: {arm}").mark_line(point=True)
            row.append(
                chart.encode(
                    x=alt.X("k:Q", title="number of attributes"),
                    y=alt.Y("accuracy:Q", scale=alt.Scale(domain=[0.45, 0.9], clamp=True), title="accuracy"),
                    color=colour_below(alt, "set:N", ["training", "holdout, as told", "population"]),
                ).properties(width=260, height=200)
            )
        panels.append(alt.hconcat(*row))
    return alt.vconcat(*panels, title="A holdout reused on independent and on correlated records")


__all__ = ["SCENARIOS", "Found", "Scenario", "algorithm_1", "repeat", "threshold_of", "zhao_figures"]
