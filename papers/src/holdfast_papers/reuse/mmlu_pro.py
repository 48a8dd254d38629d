"""`real-reuse-mmlu-pro`: a greedy analyst builds an ensemble of 29 language models by looking at a small holdout.

The matrix holds which model answered which question correctly, not what it answered, so the ensemble is a router: for
each cell of questions (a category and a remainder of the question's number) it names the model to ask. The analyst
changes one cell at a time and keeps the change when the score she is told goes up. Cells by remainder carry no
information, so nearly all of what she gains by looking is not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from holdfast.holdout import Ladder, ReusableHoldout
from holdfast.noise import Seeded, Source
from holdfast.simulation.answerers import Answerer, Design, answerer
from holdfast.simulation.answerers.registry import Wrapped
from holdfast_papers.binomial import exceeds
from holdfast_papers.plots import colour_below
from holdfast_papers.real_data import MMLU, Mmlu, Right, load_mmlu
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

PUBLIC = HOLDOUT = 1_000
REMAINDERS = 8
CANDIDATES = 10
"""The models that changes are drawn from: the best on the public rows."""

CONFIDENCE = 0.95
Guess = Callable[[Right, float], float]
"""The analyst's guess from the correctness on the public rows and what she was last told."""


@dataclass(frozen=True)
class Host:
    """Who answers, by what guess; `certified` if a theorem backs its intervals.

    `leader` says that an interval is about the best router so far and not about the one that was asked for.
    """

    name: str
    make: Callable[[Design, Source], Answerer]
    guess: Guess
    certified: bool = False
    leader: bool = False


def _on_public_rows(right: Right, told: float) -> float:
    return float(right.mean())


def _last_told(right: Right, told: float) -> float:
    return told


def _ladder(design: Design, source: Source) -> Answerer:
    ladder = Ladder(design.n, design.questions, confidence=design.confidence, scores="correctness")
    return Wrapped(lambda values, guess: ladder.submit(values))


def _certified(design: Design, source: Source) -> Answerer:
    """The certified holdout with half a half-width of room between guess and holdout."""
    holdout = ReusableHoldout(design.n, design.questions, design.confidence, design.failures)
    return Wrapped(lambda rows, guess: holdout.check(rows, guess, 1.5 * holdout.least_tolerance(guess, binary=True)))


def hosts() -> tuple[Host, ...]:
    """Every host of the table."""
    known = {name: answerer(name) for name in ("naive", "gaussian-thresholdout", "thresholdout")}
    return (
        Host("naive holdout", known["naive"].make, _on_public_rows),
        Host("Thresholdout, paper's figures", known["gaussian-thresholdout"].make, _on_public_rows),
        Host("Thresholdout, Figure 1", known["thresholdout"].make, _on_public_rows),
        Host("Ladder", _ladder, _last_told, certified=True, leader=True),
        Host("certified, guess: public rows", _certified, _on_public_rows, certified=True),
        Host("certified, guess: last told", _certified, _last_told, certified=True),
    )


class Step(NamedTuple):
    """The router in force after a question: what is believed of it, what is true, and the interval it came with."""

    believed: float
    true: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Search:
    """One greedy search: what was believed of the last router and what it is worth on questions never looked at."""

    start: float
    believed: float
    true: float
    half_width: float
    asked: int
    changes: int
    missed: int
    path: tuple[Step, ...]


@experiment(
    "real-reuse-mmlu-pro",
    title="A greedy analyst assembles a router of 29 models on 1,000 MMLU-Pro questions: believed against true",
    source="Correctness matrix of the MMLU-Pro repository (Wang et al. 2024)",
    data=(MMLU,),
)
def run(settings: Settings) -> Outcome:
    """Set the same greedy analyst on every host, on the same splits, and judge her routers on the other questions."""
    data = load_mmlu()
    repeats, questions = (1, 500) if settings.quick else (20, 1_000)
    design = Design(HOLDOUT, questions, failures=10, confidence=CONFIDENCE)
    searches: dict[str, list[Search]] = {}
    everyone = hosts()
    for h, host in enumerate(everyone):
        searches[host.name] = []
        for r in range(repeats):
            settings.progress((h + r / repeats) / len(everyone), host.name)
            searches[host.name].append(search(data, host, design, settings.seed + r))
    settings.progress(1.0, "done")
    table = _table(searches)
    parameters: dict[str, Any] = {
        "questions of the matrix": data.right.shape[1],
        "left out, missing for some model": data.left_out,
        "models": len(data.models),
        "public rows": PUBLIC,
        "holdout rows": HOLDOUT,
        "cells of a router": len(data.categories) * REMAINDERS,
        "questions of the analyst": design.questions,
        "failures planned for": design.failures,
        "repetitions": repeats,
        "confidence": CONFIDENCE,
    }
    checks = _checks(searches, {host.name: host.certified for host in everyone})
    return Outcome((table,), tuple(checks), _finding(searches), parameters, lambda: _chart(searches))


def search(data: Mmlu, host: Host, design: Design, seed: int) -> Search:
    """Change one cell at a time, at random, and keep the change when the score that is told goes up.

    `missed` counts the intervals that are off the accuracy on the unseen questions, beyond their own sampling error at
    one in a million. A Ladder's interval is about the best router so far, so only leaders are judged.
    """
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(data.right.shape[1])
    parts = order[:PUBLIC], order[PUBLIC : PUBLIC + HOLDOUT], order[PUBLIC + HOLDOUT :]
    cell = data.category * REMAINDERS + data.question % REMAINDERS
    able = np.argsort(-data.right[:, parts[0]].mean(axis=1), kind="stable")[:CANDIDATES]
    router: NDArray[np.intp] = np.full(len(data.categories) * REMAINDERS, able[0])

    def right(part: int, models: NDArray[np.intp]) -> Right:
        correct: Right = data.right[models[cell[parts[part]]], parts[part]]
        return correct

    door = host.make(design, Seeded(seed))
    first = door.ask(right(1, router), host.guess(right(0, router), float(right(0, router).mean())))
    if first is None:
        raise AssertionError("the first question is always answered")
    told, reply, asked, changes, missed = first.value, first, 1, 0, 0
    truth = float(right(2, router).mean())
    missed += _off(first.interval, truth, len(parts[2]))
    start, path = truth, [Step(told, truth, first.interval)]
    while asked < design.questions:
        changed = router.copy()
        changed[rng.integers(len(router))] = rng.choice(able)
        answer = door.ask(right(1, changed), host.guess(right(0, changed), told))
        if answer is None:
            break
        asked += 1
        better = answer.value > told
        if better or not host.leader:
            missed += _off(answer.interval, float(right(2, changed).mean()), len(parts[2]))
        if better:
            router, told, reply, changes = changed, answer.value, answer, changes + 1
            truth = float(right(2, router).mean())
        path.append(Step(told, truth, reply.interval))
    low, high = reply.interval or (math.nan, math.nan)
    return Search(start, told, truth, (high - low) / 2, asked, changes, missed, tuple(path))


def _off(interval: tuple[float, float] | None, truth: float, rows: int) -> int:
    if interval is None:
        return 0
    error = -float(ndtri(1e-6 / 2)) * math.sqrt(max(truth * (1 - truth), 1 / rows) / rows)
    return int(truth + error < interval[0] or truth - error > interval[1])


def _mean(searches: Sequence[Search], field: str) -> float:
    return float(np.mean([getattr(s, field) for s in searches]))


def _table(found: dict[str, list[Search]]) -> Table:
    rows: list[dict[str, Any]] = []
    for name, searches in found.items():
        half = _mean(searches, "half_width")
        rows.append(
            {
                "holdout": name,
                "believed": round(_mean(searches, "believed"), 4),
                "half-width": None if math.isnan(half) else round(half, 4),
                "true": round(_mean(searches, "true"), 4),
                "too high by": round(_mean(searches, "believed") - _mean(searches, "true"), 4),
                "true gain": round(_mean(searches, "true") - _mean(searches, "start"), 4),
                "changes kept": round(_mean(searches, "changes"), 1),
                "questions": round(_mean(searches, "asked"), 1),
                "runs with an interval off": sum(s.missed > 0 for s in searches),
            }
        )
    title = (
        f"Routers of 29 models built on {HOLDOUT:,} questions, judged on the questions never looked at; means of "
        f"{len(next(iter(found.values())))} runs; the best single model is the start"
    )
    return Table("routers", title, tuple(rows[0]), tuple(rows))


def _checks(found: dict[str, list[Search]], certified: dict[str, bool]) -> list[Check]:
    naive = found["naive holdout"]
    excess = _mean(naive, "believed") - _mean(naive, "true")
    gain = _mean(naive, "true") - _mean(naive, "start")
    checks = [
        Check("the naive holdout believes too much", excess > 0.02, f"{excess:+.4f}"),
        Check("what the naive analyst gained by looking is not there", gain < 0.01, f"{gain:+.4f} against the start"),
    ]
    for name in (name for name in found if certified[name]):
        bad = sum(s.missed > 0 for s in found[name])
        total = sum(s.asked for s in found[name])
        checks.append(
            Check(
                f"{name}: the intervals hold",
                not exceeds(bad, len(found[name]), 1 - CONFIDENCE),
                f"{bad} of {len(found[name])} runs with an interval off, {total:,} answers",
            )
        )
    last = found["certified, guess: last told"]
    off = abs(_mean(last, "believed") - _mean(last, "true"))
    checks.append(Check("certified, guess: last told: believed within 4 points of the truth", off < 0.04, f"{off:.4f}"))
    return checks


def _finding(found: dict[str, list[Search]]) -> str:
    naive, certified = found["naive holdout"], found["certified, guess: last told"]
    public = found["certified, guess: public rows"]
    return (
        f"After {_mean(naive, 'asked'):.0f} looks the naive holdout reports {_mean(naive, 'believed'):.1%} for routers "
        f"that are right on {_mean(naive, 'true'):.1%} of the questions never looked at, where the single model she "
        f"started from has {_mean(naive, 'start'):.1%}. Guessing from the public rows overfits those instead: "
        f"Thresholdout lets that pass below its threshold, and the certified holdout says how little it knows, with a "
        f"half-width of {_mean(public, 'half_width'):.3f}. With the last answer as guess it confirms no change and "
        f"tells {_mean(certified, 'believed'):.1%}; the truth is {_mean(certified, 'true'):.1%}."
    )


def _chart(found: dict[str, list[Search]]) -> Any:
    import altair as alt

    panels = []
    for name in ("naive holdout", "certified, guess: public rows", "certified, guess: last told"):
        steps = min(len(s.path) for s in found[name])
        values: list[dict[str, Any]] = []
        for i in range(0, steps, max(1, steps // 100)):
            here = [s.path[i] for s in found[name]]
            ends = np.mean([step.interval or (math.nan, math.nan) for step in here], axis=0)
            believed, true = (float(np.mean([getattr(step, what) for step in here])) for what in ("believed", "true"))
            values.append({"looks": i + 1, "accuracy": believed, "low": ends[0], "high": ends[1], "what": "believed"})
            values.append({"looks": i + 1, "accuracy": true, "what": "true"})
        colour = colour_below(alt, "what:N", ["believed", "true"])
        base = alt.Chart(alt.InlineData(values=values), title=name).encode(x="looks:Q", color=colour)
        scale = alt.Scale(domain=[0.5, 1.0])
        band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale, title="accuracy"), y2="high:Q")
        line = base.mark_line().encode(y=alt.Y("accuracy:Q", scale=scale, title="accuracy"))
        panels.append((band + line).properties(width=280, height=260))
    return alt.hconcat(*panels, title="Believed, with the interval that it came with, and true")


__all__ = ["Host", "Search", "Step", "hosts", "run", "search"]
