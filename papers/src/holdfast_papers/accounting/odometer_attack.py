"""`odometer-attack`: the adversary who stops when the loss looks worst, against every odometer and one impostor."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting import (
    InversionOdometer,
    LineOdometer,
    MixtureOdometer,
    Odometer,
    PureDP,
    RogersOdometer,
    StitchedOdometer,
    default_odometer,
)
from holdfast.bounds.composition import advanced
from holdfast.bounds.filters import loss_drift
from holdfast_papers.accounting.walks import (
    Crossing,
    Curve,
    count_crossings,
    crossing_probability,
    crossing_thresholds,
    last_round_probability,
)
from holdfast_papers.binomial import ERROR, agrees, exceeds
from holdfast_papers.plots import colour_below, log_axis
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

MISUSED = "advanced composition, misused"
TIGHTEST = "tightest advanced composition, misused"
LAST = "advanced composition, last round only"


@dataclass(frozen=True)
class Setting:
    """Rounds of randomised response, and what a simulation recorded before this code existed found."""

    epsilon: float
    rounds: int
    trials: int
    delta: float
    reported: dict[str, float]

    @property
    def variance(self) -> float:
        """V after the last round."""
        return self.rounds * self.epsilon**2


SETTINGS = (
    Setting(
        1e-3,
        100_000,
        4_000,
        0.05,
        {MISUSED: 0.194, LAST: 0.0070, "Rogers, printed": 0.0, "line": 0.0265, "mixture": 0.0120, "stitched": 0.0023},
    ),
    Setting(
        1e-3,
        100_000,
        4_000,
        0.01,
        {MISUSED: 0.040, LAST: 0.0015, "Rogers, printed": 0.0, "line": 0.0053, "mixture": 0.0018, "stitched": 0.0003},
    ),
    Setting(
        1e-2,
        10_000,
        20_000,
        0.05,
        {MISUSED: 0.143, LAST: 0.0076, "Rogers, printed": 0.0, "line": 0.0315, "mixture": 0.0143, "stitched": 0.0019},
    ),
)
_QUICK_TRIALS = 1_000


@dataclass(frozen=True)
class Contender:
    """Something read as an odometer: its readings after every round, and what it claims.

    `delta` is the claimed probability of ever reading too little. `valid` says whether a theorem backs the claim, and
    `two_sided` whether the claim is about the absolute loss.
    """

    name: str
    curve: Curve
    delta: float
    valid: bool
    two_sided: bool


@dataclass(frozen=True)
class Result:
    """How often a contender was caught: counted, and exactly, from above and in either direction."""

    setting: Setting
    contender: Contender
    trials: int
    caught: int
    above: Crossing
    either: Crossing


@experiment(
    "odometer-attack",
    title="Stop when the loss looks worst: advanced composition fails as an odometer, ours do not",
    source="Rogers' thesis, Theorem 5.6.1 and Algorithm 6; Rogers, Roth, Ullman, Vadhan (2016), section 6",
)
def run(settings: Settings) -> Outcome:
    """Let the stopping-time adversary loose on each contender, and compute the failure probabilities exactly."""
    rng = np.random.default_rng(settings.seed)
    results: list[Result] = []
    for i, setting in enumerate(SETTINGS):
        start, share = i / len(SETTINGS), 1 / len(SETTINGS)

        def progress(fraction: float, what: str, start: float = start, share: float = share) -> None:
            settings.progress(start + share * fraction, what)

        # The quick run reads every odometer at 10,000 rounds, and at 100,000 only the impostor, which is one formula.
        whole = not settings.quick or setting.rounds <= 10_000
        trials = min(setting.trials, _QUICK_TRIALS) if settings.quick else setting.trials
        if whole or setting.delta == 0.05:
            results += _attack(setting, trials, whole, rng, progress)
    settings.progress(1.0, "done")
    tables = (_table(results),)
    checks = tuple(check for result in results for check in judge(result))
    return Outcome(tables, checks, _finding(results), {"error": ERROR}, lambda: _chart(results))


def contenders(
    setting: Setting, progress: Callable[[float, str], None] = lambda fraction, what: None
) -> list[Contender]:
    """Every odometer of the library in its experimental form, and advanced composition read as if it were one."""
    rounds, delta = setting.rounds, setting.delta
    made = [_misused(setting)]
    progress(0.0, "reading: tightest advanced composition")
    tightest = np.array([advanced(setting.epsilon, i, delta).epsilon for i in range(1, rounds + 1)])
    made.append(Contender(TIGHTEST, tightest, delta, valid=False, two_sided=False))
    odometers: dict[str, Odometer] = {
        "Rogers, printed": RogersOdometer(delta, n=rounds),
        "line": LineOdometer(delta, target=_line_target(setting.variance, delta)),
        "mixture": MixtureOdometer(delta, gamma=setting.variance / 20),
        "stitched": StitchedOdometer(delta, start=setting.epsilon**2),
        "exact inversion": InversionOdometer(delta, n=rounds),
        "default": default_odometer(delta),
    }
    for i, (name, odometer) in enumerate(odometers.items(), start=1):
        progress(i / (len(odometers) + 1), f"reading: {name}")
        curve = readings(odometer, setting.epsilon, rounds)
        made.append(Contender(name, curve, odometer.delta, valid=True, two_sided=odometer.two_sided))
    return made


def readings(odometer: Odometer, epsilon: float, rounds: int) -> Curve:
    """What an odometer reads after each of `rounds` rounds of pure `epsilon`; it is used up.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer
    >>> readings(BasicOdometer(), 0.5, 3)
    array([0.5, 1. , 1.5])
    """
    curve = np.empty(rounds)
    cost = PureDP(epsilon)
    for i in range(rounds):
        odometer.record(cost)
        curve[i] = odometer.reading()
    return curve


def _misused(setting: Setting) -> Contender:
    """Kairouz, Oh and Viswanath's closed form at every round: right for one round fixed in advance, wrong for all."""
    i = np.arange(1, setting.rounds + 1)
    drift, variance = i * loss_drift(setting.epsilon), i * setting.epsilon**2
    curve = drift + np.sqrt(-2 * variance * math.log(setting.delta))
    return Contender(MISUSED, curve, setting.delta, valid=False, two_sided=False)


def _line_target(variance: float, delta: float) -> float:
    """The target at which the line touches advanced composition after the last round, the inverse of `line_point`."""
    return variance / 2 + math.sqrt(-2 * variance * math.log(delta))


def _attack(
    setting: Setting,
    trials: int,
    whole: bool,
    rng: np.random.Generator,
    progress: Callable[[float, str], None],
) -> list[Result]:
    compared = contenders(setting, lambda f, what: progress(0.5 * f, what)) if whole else [_misused(setting)]
    thresholds = [crossing_thresholds(setting.epsilon, contender.curve) for contender in compared]
    ever, at_end = count_crossings(
        setting.epsilon, thresholds, trials, rng, lambda f: progress(0.5 + 0.3 * f, f"{trials} walks")
    )
    last = last_round_probability(setting.epsilon, thresholds[0])
    results = []
    for j, contender in enumerate(compared):
        progress(0.8 + 0.2 * j / len(compared), f"exactly: {contender.name}")
        above = crossing_probability(setting.epsilon, thresholds[j])
        either = crossing_probability(setting.epsilon, thresholds[j], two_sided=True)
        results.append(Result(setting, contender, trials, int(ever[j]), above, either))
    fixed = Contender(LAST, compared[0].curve, setting.delta, valid=True, two_sided=False)
    results.insert(1, Result(setting, fixed, trials, int(at_end[0]), Crossing(last, 0.0), Crossing(math.nan, 0.0)))
    return results


def _table(results: list[Result]) -> Table:
    columns = (
        "epsilon",
        "rounds",
        "nominal",
        "odometer",
        "trials",
        "measured",
        "exact",
        "exact, both sides",
        "recorded",
        "holds",
    )
    rows = []
    for result in results:
        setting, contender = result.setting, result.contender
        rows.append(
            {
                "epsilon": setting.epsilon,
                "rounds": setting.rounds,
                "nominal": setting.delta,
                "odometer": contender.name,
                "trials": result.trials,
                "measured": round(result.caught / result.trials, 5),
                "exact": _digits(result.above.probability),
                "exact, both sides": None
                if math.isnan(result.either.probability)
                else _digits(result.either.probability),
                "recorded": setting.reported.get(contender.name),
                "holds": "yes" if _claimed(result) <= contender.delta else "NO",
            }
        )
    return Table(
        "failures", "How often the reading is ever below the loss, against a nominal delta", columns, tuple(rows)
    )


def _claimed(result: Result) -> float:
    """The exact probability of the event that the contender's delta is about, rounded up."""
    crossing = result.either if result.contender.two_sided else result.above
    return crossing.probability + crossing.error


def judge(result: Result) -> list[Check]:
    """What a result says about a contender: that it keeps its promise or, for an impostor, that it is seen not to."""
    setting, contender = result.setting, result.contender
    name = f"{contender.name} (epsilon {setting.epsilon:g}, delta {setting.delta:g})"
    exact = result.above.probability
    counted = f"{result.caught} of {result.trials}"
    checks = [
        Check(
            f"{name}: simulation agrees with the exact probability",
            agrees(result.caught, result.trials, min(exact, 1.0)),
            f"{counted}, exact {exact:.6g}; exact binomial test, error {ERROR:g}",
        )
    ]
    if contender.valid:
        holds = _claimed(result) <= contender.delta and not exceeds(result.caught, result.trials, contender.delta)
        claim = f"exactly {_claimed(result):.6g} against {contender.delta:.6g}; counted {counted}, error {ERROR:g}"
        checks.append(Check(f"{name}: fails at most as often as it says", holds, claim))
    else:
        fails = exact > setting.delta and exceeds(result.caught, result.trials, setting.delta)
        claim = f"exactly {exact:.6g} against {setting.delta:g}; counted {counted}, error {ERROR:g}"
        checks.append(Check(f"{name}: is seen to fail more often than it says", fails, claim))
    if contender.name in setting.reported:
        reported = round(setting.reported[contender.name] * setting.trials)
        detail = f"{reported} of {setting.trials} there, exact {exact:.6g}; exact binomial test, error {ERROR:g}"
        checks.append(Check(f"{name}: the recorded run agrees", agrees(reported, setting.trials, exact), detail))
    return checks


def _finding(results: list[Result]) -> str:
    worst = next(r for r in results if r.contender.name == MISUSED)
    real = [r for r in results if r.contender.valid and r.contender.name != LAST]
    closest = max(real, key=lambda r: _claimed(r) / r.contender.delta)
    return (
        f"An adversary who stops when the loss is highest catches advanced composition, read as an odometer at a "
        f"nominal {worst.setting.delta:.0%}, in {worst.caught / worst.trials:.1%} of {worst.trials} runs of "
        f"{worst.setting.rounds:,} rounds at epsilon {worst.setting.epsilon:g} "
        f"(exactly {worst.above.probability:.2%}). Every odometer of the library keeps its promise: the nearest to its "
        f"delta is {closest.contender.name}, exactly {_claimed(closest):.2%} against {closest.contender.delta:.2%}."
    )


def _digits(value: float) -> float:
    return float(f"{value:.4g}")


def _chart(results: list[Result]) -> Any:
    import altair as alt

    def label(setting: Setting) -> str:
        return f"{setting.rounds:,} rounds of {setting.epsilon:g}, nominal {setting.delta:g}"

    failures: list[dict[str, Any]] = [
        {"odometer": r.contender.name, "failure": max(r.above.probability, 1e-8), "setting": label(r.setting)}
        for r in results
    ]
    floored = any(r.above.probability < 1e-8 for r in results)
    title = "Failure probability, exact" + (" (below 1e-8 drawn at 1e-8)" if floored else "")
    names = [str(name) for name in dict.fromkeys(row["odometer"] for row in failures)]
    axis = alt.X(
        "failure:Q",
        scale=alt.Scale(type="log"),
        axis=log_axis(alt),
        title="probability that the reading is ever below the loss",
    )
    points = (
        alt.Chart(alt.InlineData(values=failures), title=title)
        .mark_point(filled=True, size=90)
        .encode(
            x=axis,
            y=alt.Y("odometer:N", sort=names, title=None, axis=alt.Axis(labelLimit=300)),
            color=colour_below(alt, "setting:N"),
        )
    )
    deltas = [{"failure": delta, "label": f"nominal {delta:g}"} for delta in sorted({r.setting.delta for r in results})]
    dashed = alt.Chart(alt.InlineData(values=deltas)).mark_rule(strokeDash=[4, 4]).encode(x="failure:Q")
    words = dashed.mark_text(align="left", baseline="top", dx=3, angle=270, fontSize=9).encode(
        y=alt.value(258), text="label:N"
    )
    nominal = dashed + words
    shown = [r for r in results if r.setting == results[-1].setting and r.contender.name != LAST]
    curves = [
        {"rounds": int(i), "reading": float(r.contender.curve[i - 1]), "odometer": r.contender.name}
        for r in shown
        for i in _log_spaced(len(r.contender.curve))
    ]
    lines = (
        alt.Chart(alt.InlineData(values=curves), title=f"Readings: {label(shown[0].setting)}")
        .mark_line()
        .encode(
            x=alt.X("rounds:Q", scale=alt.Scale(type="log"), axis=log_axis(alt)),
            y=alt.Y("reading:Q", scale=alt.Scale(type="log"), axis=log_axis(alt), title="reading (epsilon)"),
            color=colour_below(alt, "odometer:N", names),
        )
    )
    left, right = (points + nominal).properties(width=380, height=260), lines.properties(width=380, height=260)
    return alt.hconcat(left, right).resolve_scale(color="independent")


def _log_spaced(rounds: int) -> NDArray[np.int64]:
    return np.unique(np.geomspace(1, rounds, 80).astype(np.int64))


__all__ = ["SETTINGS", "Contender", "Result", "Setting", "contenders", "judge", "readings", "run"]
