"""`real-reuse-adult`: a model is tuned on Adult for several hundred trials, once by plain scores, once by guarded ones.

A tuner changes one setting of a decision tree at a time and keeps the change when the score that it is told goes up.
The plain tuner is told the score on the validation set it keeps looking at. The guarded one is told what a
`HoldoutScorer` answers: the same rows are its holdout, and the guesses come from other rows. What each then believes is
compared with the truth on tens of thousands of people that neither ever saw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.one_question import clopper_pearson
from holdfast.core.extras import require
from holdfast.holdout import ReusableHoldout
from holdfast_papers.plots import colour_below
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment
from holdfast_papers.reuse.adult_data import ADULT, COLUMNS, Adult, load_adult

FIT, GUESS, HOLDOUT = 500, 2_000, 1_000
CONFIDENCE = 0.95
Generator = np.random.Generator


@dataclass(frozen=True)
class Tree:
    """The settings that the tuner changes: a tree's, and which columns it may see."""

    depth: int
    leaf: int
    seed: int
    seen: tuple[bool, ...]

    def changed(self, rng: Generator) -> Tree:
        """One setting drawn anew."""
        which = rng.integers(4)
        if which == 0:
            return Tree(int(rng.integers(2, 12)), self.leaf, self.seed, self.seen)
        if which == 1:
            return Tree(self.depth, int(rng.integers(1, 20)), self.seed, self.seen)
        if which == 2:
            return Tree(self.depth, self.leaf, int(rng.integers(2**31)), self.seen)
        column = int(rng.integers(len(self.seen)))
        seen = tuple(value != (i == column) for i, value in enumerate(self.seen))
        return Tree(self.depth, self.leaf, self.seed, seen if any(seen) else self.seen)

    def fit(self, part: Adult) -> Any:
        """A fitted scikit-learn pipeline."""
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(
            max_depth=self.depth,
            min_samples_leaf=self.leaf,
            max_features=0.5,
            splitter="random",
            random_state=self.seed,
        )
        columns = [i for i, value in enumerate(self.seen) if value]
        return make_pipeline(make_column_transformer(("passthrough", columns)), tree).fit(part.columns, part.rich)


@dataclass(frozen=True)
class Parts:
    """Disjoint people: to fit on, to guess on, the holdout, and everybody else as the truth."""

    fit: Adult
    guess: Adult
    holdout: Adult
    truth: Adult


@dataclass(frozen=True)
class Told:
    """What a tuner hears of one model: a score and the interval that comes with it."""

    score: float
    low: float
    high: float

    def holds(self, truth: float) -> bool:
        """Whether the truth is inside."""
        return self.low <= truth <= self.high


@dataclass(frozen=True)
class Tuned:
    """What a tuner believes of the model it chose, what is true of it, and how many of all intervals missed."""

    believed: Told
    true: float
    asked: int
    failed: int
    missed: int


def split(adult: Adult, rng: Generator) -> Parts:
    """Draw the parts."""
    order = rng.permutation(len(adult.rich))
    ends = np.cumsum([FIT, GUESS, HOLDOUT])
    fit, guess, holdout, truth = (Adult(adult.columns[i], adult.rich[i]) for i in np.split(order, ends))
    return Parts(fit, guess, holdout, truth)


def right(model: Any, part: Adult) -> NDArray[np.bool_]:
    """Who is classified correctly."""
    return np.asarray(model.predict(part.columns) == part.rich)


def accuracy(model: Any, part: Adult) -> float:
    """The share of people who are classified correctly."""
    return float(right(model, part).mean())


def climb(parts: Parts, trials: int, rng: Generator, tell: Callable[[Any], Told]) -> tuple[Told, float, int]:
    """Hill-climb on what the tuner is told: what it believes at the end, what is true, and intervals that missed."""
    best = Tree(6, 5, 0, (True,) * len(COLUMNS))
    believed, true, missed = Told(float("-inf"), 0.0, 1.0), 0.0, 0
    for trial in range(trials):
        candidate = best.changed(rng) if trial else best
        model = candidate.fit(parts.fit)
        told, truth = tell(model), accuracy(model, parts.truth)
        missed += not told.holds(truth)
        if told.score > believed.score:
            best, believed, true = candidate, told, truth
    return believed, true, missed


def plain(parts: Parts, trials: int, rng: Generator) -> Tuned:
    """The tuner who looks at the same rows every time and takes the usual interval at face value."""

    def tell(model: Any) -> Told:
        ones = int(right(model, parts.holdout).sum())
        return Told(ones / HOLDOUT, *clopper_pearson(ones, HOLDOUT, math.log(1 - CONFIDENCE)))

    believed, true, missed = climb(parts, trials, rng, tell)
    return Tuned(believed, true, trials, 0, missed)


def guarded(parts: Parts, trials: int, rng: Generator) -> Tuned:
    """The tuner who asks through `HoldoutScorer`; guesses come from rows that are not guarded."""
    from holdfast.integrations.sklearn import HoldoutScorer

    plan = ReusableHoldout(HOLDOUT, questions=trials, confidence=CONFIDENCE)
    scorer = HoldoutScorer(plan, parts.holdout.columns, parts.holdout.rich)

    def tell(model: Any) -> Told:
        answer = scorer.ask(model, accuracy(model, parts.guess))
        value, interval = answer.value, answer.interval
        if value is None or interval is None:  # only a plan with a cap on failures ends so
            return Told(float("-inf"), 0.0, 1.0)
        return Told(value, *interval)

    believed, true, missed = climb(parts, trials, rng, tell)
    return Tuned(believed, true, plan.asked, plan.failed, missed)


@experiment(
    "real-reuse-adult",
    title="A decision tree tuned on Adult for several hundred trials: believed against true",
    source="Holdfast; data of Becker and Kohavi 1996",
    data=(ADULT,),
)
def run(settings: Settings) -> Outcome:
    """Tune by plain and by guarded scores on many splits."""
    require("sklearn")
    trials, splits = (40, 3) if settings.quick else (400, 20)
    adult = load_adult()
    rows: list[dict[str, Any]] = []
    for index in range(splits):
        settings.progress(index / splits, f"split {index + 1} of {splits}, {trials} trials each")
        rng = np.random.default_rng([settings.seed, index])
        parts = split(adult, rng)
        for name, tuner in (("plain", plain), ("guarded", guarded)):
            tuned = tuner(parts, trials, np.random.default_rng([settings.seed, index, 1]))
            rows.append({"split": index + 1, "tuner": name} | _line(tuned))
    return _outcome(rows, trials, splits)


def _line(tuned: Tuned) -> dict[str, Any]:
    told = tuned.believed
    return {
        "believed": told.score,
        "true": tuned.true,
        "gap": told.score - tuned.true,
        "half-width": (told.high - told.low) / 2,
        "holds": told.holds(tuned.true),
        "asked": tuned.asked,
        "failed": tuned.failed,
        "missed": tuned.missed,
    }


def _outcome(rows: list[dict[str, Any]], trials: int, splits: int) -> Outcome:
    summary: dict[str, dict[str, Any]] = {}
    for name in ("plain", "guarded"):
        mine = [row for row in rows if row["tuner"] == name]
        means: dict[str, Any] = {c: _mean(mine, c) for c in ("believed", "true", "gap", "half-width")}
        counts = {c: sum(row[c] for row in mine) for c in ("holds", "asked", "failed", "missed")}
        clean = sum(row["missed"] == 0 for row in mine)
        summary[name] = {"tuner": name} | means | counts | {"splits without a miss": clean}
    gap, clean = summary["plain"]["gap"], summary["guarded"]["splits without a miss"]
    columns = ("tuner", "believed", "true", "gap", "half-width", "holds", "asked", "failed", "missed")
    return Outcome(
        tables=(
            Table(
                "summary",
                f"{splits} splits of {trials} trials: means, and counts",
                (*columns, "splits without a miss"),
                tuple(summary.values()),
            ),
            Table("splits", "Every split: what was believed of the chosen model", ("split", *columns), tuple(rows)),
        ),
        checks=(
            Check("plain scores flatter", gap > 0, f"believed minus true {gap:+.4f} on average"),
            Check("guarded intervals hold", clean == splits, f"all at once in {clean} of {splits} splits"),
        ),
        finding=(
            f"After {trials} trials the plain tuner's score is {100 * gap:.1f} points too high on average; its usual "
            f"95% interval for the chosen model holds in {summary['plain']['holds']} of {splits} splits, and all its "
            f"intervals at once in {summary['plain']['splits without a miss']}. The guarded tuner's interval holds in "
            f"{summary['guarded']['holds']} of {splits}, all {trials} at once in {clean}, at a half-width of "
            f"{summary['guarded']['half-width']:.3f}."
        ),
        parameters={"trials": trials, "splits": splits, "fit": FIT, "guess": GUESS, "holdout": HOLDOUT},
        chart=lambda: _chart(rows),
    )


def _mean(rows: list[dict[str, Any]], column: str) -> float:
    return float(np.mean([row[column] for row in rows]))


def _chart(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    data = {"values": rows}
    points = (
        alt.Chart(data)
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("true:Q", title="true accuracy", scale=alt.Scale(zero=False)),
            y=alt.Y("believed:Q", title="believed accuracy", scale=alt.Scale(zero=False)),
            color=colour_below(alt, "tuner:N"),
        )
    )
    line = alt.Chart(data).mark_line(color="grey", strokeDash=[4, 4]).encode(x="true:Q", y="true:Q")
    return (line + points).properties(width=420, height=320)


__all__ = ["Parts", "Told", "Tree", "Tuned", "climb", "guarded", "plain", "split"]
