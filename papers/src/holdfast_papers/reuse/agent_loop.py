"""`agent-loop`: an automated optimiser hill-climbs for 500 steps, once on a plain score, once on the guarded one.

People live in 500 segments and are to be labelled; in most segments the label is a coin. The optimiser knows nothing of
that. It labels segments, turns the label of one segment over at each step, and keeps the change when the score that it
is told goes up. The plain optimiser is told its accuracy on the rows that it keeps looking at. The guarded one asks a
`Guard` over the same rows to check a guess, which it makes on rows of its own, as an agent does with `holdfast mcp`.
What each believes is compared with the truth, which is a sum over the segments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.one_question import clopper_pearson
from holdfast.data import tables
from holdfast.guard.guard import Guard
from holdfast.guard.policy import Policy
from holdfast.guard.questions.check import Check as CheckQuestion
from holdfast.guard.questions.close import Close
from holdfast_papers.plots import colour_below
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

CONFIDENCE = 0.95
Labels = NDArray[np.bool_]
Generator = np.random.Generator


@dataclass(frozen=True)
class Rows:
    """People: the segment of each, and the label."""

    segment: NDArray[np.int64]
    label: Labels


@dataclass(frozen=True)
class Population:
    """Segments of one size; in the first tenth the label is one thing with probability 0.85, in the rest a coin."""

    segments: int

    @property
    def chances(self) -> NDArray[np.float64]:
        """The probability of a positive label in each segment; segments that tell, tell either way in turn."""
        place = np.arange(self.segments)
        return np.where(place < self.segments // 10, np.where(place % 2, 0.85, 0.15), 0.5)

    def draw(self, n: int, rng: Generator) -> Rows:
        """Draw people."""
        segment = rng.integers(self.segments, size=n)
        return Rows(segment, rng.random(n) < self.chances[segment])

    def truth(self, labels: Labels) -> float:
        """The exact accuracy of a rule.

        Examples
        --------
        >>> people = Population(500)
        >>> people.truth(people.chances > 0.5), people.truth(np.zeros(500, dtype=bool))
        (0.535, 0.5)
        """
        right = np.where(labels, self.chances, 1 - self.chances)
        return round(math.fsum(right.tolist()) / self.segments, 12)


@dataclass(frozen=True)
class Told:
    """What an optimiser hears of one rule: a score, its interval, and whether its guess was off."""

    score: float
    low: float
    high: float
    off: bool = False

    def holds(self, truth: float) -> bool:
        """Whether the truth is inside."""
        return self.low <= truth <= self.high


@dataclass(frozen=True)
class Step:
    """What is believed of the rule that is kept after a step, and what is true of it."""

    step: int
    believed: Told
    true: float


@dataclass(frozen=True)
class Climb:
    """A whole climb: every step, and of all answers how many came, missed the truth, or found a guess off.

    `heard` are all answers with the truth of what they are about, and `kept` is the place of the one about the rule
    that was kept at the end.
    """

    steps: tuple[Step, ...]
    heard: tuple[tuple[Told, float], ...]
    kept: int

    @property
    def asked(self) -> int:
        """How many answers came."""
        return len(self.heard)

    @property
    def missed(self) -> int:
        """How many of them missed the truth."""
        return sum(not told.holds(true) for told, true in self.heard)

    @property
    def off(self) -> int:
        """How many found a guess off."""
        return sum(told.off for told, _ in self.heard)

    @property
    def end(self) -> Step:
        """The last step."""
        return self.steps[-1]


def score(labels: Labels, rows: Rows) -> float:
    """The accuracy of a rule on rows."""
    return float(np.mean(labels[rows.segment] == rows.label))


def right(labels: Labels) -> dict[str, Any]:
    """The row expression that says whether a rule is right, as its tree.

    Examples
    --------
    >>> right(np.arange(500) < 2)
    {'=': [{'column': 'label'}, {'in': [{'column': 'segment'}, 0, 1]}]}
    """
    chosen = np.flatnonzero(labels).tolist() or [-1]
    return {"=": [{"column": "label"}, {"in": [{"column": "segment"}, *chosen]}]}


def climb(people: Population, steps: int, rng: Generator, tell: Callable[[Labels], Told]) -> Climb:
    """Turn one segment over at a time, and keep what scores higher.

    When an answer shows that guesses were off, what is kept is scored again before it is compared.
    """
    heard: list[tuple[Told, float]] = []

    def ask(labels: Labels) -> int:
        heard.append((tell(labels), people.truth(labels)))
        return len(heard) - 1

    best = rng.random(people.segments) < 0.5
    kept = ask(best)
    tries = []
    order = np.concatenate([rng.permutation(people.segments) for _ in range(-(-steps // people.segments))])
    for step, segment in enumerate(order[:steps], 1):
        labels = best.copy()
        labels[segment] = not labels[segment]
        tried = ask(labels)
        if heard[tried][0].off:
            kept = ask(best)
        if heard[tried][0].score > heard[kept][0].score:
            best, kept = labels, tried
        tries.append(Step(step, *heard[kept]))
    return Climb(tuple(tries), tuple(heard), kept)


def plain(people: Population, steps: int, rng: Generator, rows: Rows) -> Climb:
    """The optimiser who looks at the same rows every time and takes the usual interval at face value."""
    n = len(rows.label)

    def tell(labels: Labels) -> Told:
        right = score(labels, rows)
        return Told(right, *clopper_pearson(round(right * n), n, math.log(1 - CONFIDENCE)))

    return climb(people, steps, rng, tell)


def guarded(people: Population, steps: int, rng: Generator, rows: Rows, own: Rows) -> Climb:
    """The optimiser who asks a guard to check a guess: the score on rows of its own, less what that was last off by.

    At the end the run is closed, which shows every answer with its exact value and interval. These are what is counted,
    and what is believed of the rule that was kept.
    """
    sample = tables.table({"segment": rows.segment, "label": rows.label}, engine="numpy")
    guard = Guard.open(None, sample, Policy(confidence=CONFIDENCE, questions=2 * steps))
    off = 0.0

    def tell(labels: Labels) -> Told:
        nonlocal off
        here = score(labels, own)
        answer = guard.ask(CheckQuestion(right(labels), guess=min(max(here - off, 0.0), 1.0)))
        if not answer.passed:
            off = here - answer.value
        low, high = answer.interval
        return Told(answer.value, low, high, off=not answer.passed)

    climbed = climb(people, steps, rng, tell)
    shown = guard.ask(Close()).details["revealed"]
    heard = []
    for line, (told, true) in zip(shown, climbed.heard, strict=True):
        low, high = line["interval"]
        heard.append((Told(line["value"], low, high, off=told.off), true))
    end = Step(climbed.end.step, *heard[climbed.kept])
    return Climb((*climbed.steps[:-1], end), tuple(heard), climbed.kept)


@experiment(
    "agent-loop",
    title="An automated optimiser hill-climbs for 500 steps on a plain and on a guarded score: believed against true",
    source="Holdfast; after Blum and Hardt 2015 and Dwork et al. 2015",
)
def run(settings: Settings) -> Outcome:
    """Climb on plain and on guarded scores, several times."""
    steps, rows, runs = (100, 2_000, 2) if settings.quick else (500, 10_000, 10)
    people = Population(steps)
    table: list[dict[str, Any]] = []
    path: list[dict[str, Any]] = []
    for index in range(runs):
        settings.progress(index / runs, f"run {index + 1} of {runs}, {steps} steps each")
        rng = np.random.default_rng([settings.seed, index])
        behind, own = people.draw(rows, rng), people.draw(rows, rng)
        for name, climbed in (
            ("plain", plain(people, steps, np.random.default_rng([settings.seed, index, 1]), behind)),
            ("guarded", guarded(people, steps, np.random.default_rng([settings.seed, index, 1]), behind, own)),
        ):
            table.append({"run": index + 1, "score": name} | _line(climbed))
            if index == 0:
                path += _path(name, climbed)
    settings.progress(1.0, "done")
    return _outcome(table, path, steps, rows, runs)


def _line(climbed: Climb) -> dict[str, Any]:
    end = climbed.end
    return {
        "believed": end.believed.score,
        "true": end.true,
        "gap": end.believed.score - end.true,
        "half-width": (end.believed.high - end.believed.low) / 2,
        "holds": end.believed.holds(end.true),
        "asked": climbed.asked,
        "guesses off": climbed.off,
        "missed": climbed.missed,
    }


def _path(name: str, climbed: Climb) -> list[dict[str, Any]]:
    return [
        {
            "score": name,
            "step": one.step,
            "believed": one.believed.score,
            "true": one.true,
            "low": one.believed.low,
            "high": one.believed.high,
        }
        for one in climbed.steps
    ]


def _outcome(table: list[dict[str, Any]], path: list[dict[str, Any]], steps: int, rows: int, runs: int) -> Outcome:
    summary: dict[str, dict[str, Any]] = {}
    for name in ("plain", "guarded"):
        mine = [row for row in table if row["score"] == name]
        means = {c: float(np.mean([row[c] for row in mine])) for c in ("believed", "true", "gap", "half-width")}
        counts = {c: sum(row[c] for row in mine) for c in ("holds", "asked", "guesses off", "missed")}
        clean = sum(row["missed"] == 0 for row in mine)
        summary[name] = {"score": name} | means | counts | {"runs without a miss": clean}
    one, other = summary["plain"], summary["guarded"]
    columns = ("score", "believed", "true", "gap", "half-width", "holds", "asked", "guesses off", "missed")
    return Outcome(
        tables=(
            Table(
                "summary",
                f"{runs} runs of {steps} steps: means, and counts",
                (*columns, "runs without a miss"),
                (one, other),
            ),
            Table("runs", "Every run: what was believed at the end", ("run", *columns), tuple(table)),
        ),
        checks=(
            Check(
                "the plain score flatters",
                one["holds"] == 0 and one["gap"] > 2 * one["half-width"],
                f"{one['gap']:+.4f} on average, {one['gap'] / one['half-width']:.1f} half-widths of its usual interval",
            ),
            Check(
                "every guarded interval holds",
                other["runs without a miss"] == runs,
                f"all of a run at once in {other['runs without a miss']} of {runs} runs",
            ),
            Check(
                "the guarded belief is nearer the truth",
                all(abs(b["gap"]) < abs(a["gap"]) for a, b in zip(table[::2], table[1::2], strict=True)),
                f"{abs(other['gap']):.4f} from it on average, the plain one {abs(one['gap']):.4f}",
            ),
        ),
        finding=(
            f"After {steps} steps on {rows:,} rows the plain optimiser believes {one['believed']:.3f} where "
            f"{one['true']:.3f} is true; its usual 95% interval holds in {one['holds']} of {runs} runs. The guarded "
            f"one believes {other['believed']:.3f} where {other['true']:.3f} is true, with an interval of half-width "
            f"{other['half-width']:.3f} that holds in {other['holds']} of {runs}; all its intervals hold at once in "
            f"{other['runs without a miss']}."
        ),
        parameters={"steps": steps, "segments": steps, "rows": rows, "runs": runs, "confidence": CONFIDENCE},
        chart=lambda: _chart(path),
    )


def _chart(path: list[dict[str, Any]]) -> Any:
    """What was believed of the kept rule in the first run, with its interval, and what was true of it."""
    import altair as alt

    rows = [row | {"line": what, "accuracy": row[what]} for row in path for what in ("believed", "true")]
    base = alt.Chart().encode(x=alt.X("step:Q", title="step"), color=colour_below(alt, "line:N"))
    band = base.transform_filter("datum.line == 'believed'").mark_area(opacity=0.2).encode(y="low:Q", y2="high:Q")
    lines = base.mark_line().encode(
        y=alt.Y("accuracy:Q", title="accuracy of the kept rule", scale=alt.Scale(zero=False))
    )
    layers = alt.layer(band, lines, data={"values": rows}).properties(width=300, height=300)
    return layers.facet(column=alt.Column("score:N", sort=["plain", "guarded"], title=None))


__all__ = ["Climb", "Population", "Rows", "Step", "Told", "climb", "guarded", "plain", "right", "run", "score"]
