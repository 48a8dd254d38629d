"""`contest-rules`: the simulated contest under each rule of a board, from the first submission to the final.

The same teams submit to a guard whose board is open, a ladder or checks claims. They keep what they are told is better,
so that what a rule shows decides what they choose. At the end the host holds the final on the reserved rows. Next to it
stands what is valid without Holdfast: half of the rows kept apart, and paired sign tests with Bonferroni's correction
on them, for the same teams on the same rows in the same run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any
from unittest import mock

import numpy as np

from holdfast.data import table
from holdfast.guard import Board, Guard, Policy, choose, contest_final, opening, score
from holdfast_papers.binomial import exceeds
from holdfast_papers.real_data import Right
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment
from holdfast_papers.reuse.workflow_data import CONTEST, Shape, climb
from holdfast_papers.reuse.workflow_jobs import BETA, by_bonferroni
from holdfast_papers.reuse.workflows import Task, done

RULES = ("open", "ladder", "checked")
CONTESTS, QUICK_CONTESTS, AT_ONCE = 500, 2, 10
OWN_ROWS = 300
"""Rows of their own that teams claim a score from."""
RESERVE = 0.5
LEAST_RATIO = 1.15


@dataclass
class Played:
    """What one contest came to under one rule.

    `improved` are the times that a team was told that it is better than before, `truly` how many of these are true, and
    `missed` the times that it was better and not told so. `false` says whether anything that was certified is false.
    """

    rule: str
    shown: int = 0
    submissions: int = 0
    distance: list[float] = field(default_factory=list)
    improved: int = 0
    truly: int = 0
    missed: int = 0
    regret: float = 0.0
    separated: int = 0
    beside: int = 0
    half_width: float = 0.0
    false: bool = False


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Draw the reserve of simulated guards from a seed, to repeat a run; a real one is drawn in secret."""
    drawing = random.Random(seed)
    stand_in = mock.Mock(token_hex=lambda count: f"{drawing.getrandbits(8 * count):0{2 * count}x}")
    with mock.patch.object(opening, "secrets", stand_in):
        yield


def policy(rule: str, shape: Shape) -> Policy:
    """The policy of a contest under a rule, as the planner proposes it."""
    board = Board("contest", key="id", label="label", metric="accuracy", rule=rule)  # type: ignore[arg-type]
    if rule == "open":
        return Policy(boards=[board], reserve=RESERVE, final=1.0)
    return Policy(boards=[board], reserve=RESERVE, final=0.9, questions=shape.submissions)


def play(rule: str, seed: int, shape: Shape = CONTEST) -> Played:
    """Play one contest under one rule; the same seed has the same teams and the same reserved rows."""
    rng = np.random.default_rng([seed, 1])
    labels = rng.random(shape.rows) < 0.5
    with drawn_from(seed):
        rows = table({"id": np.arange(shape.rows), "label": labels}, engine="numpy")
        guard = Guard.open(None, rows, policy(rule, shape))
    found = Played(rule)
    shown: dict[int, float] = {}
    entries: dict[int, int] = {}
    trues: dict[int, float] = {}

    def is_better(team: int, right: Right, true: float) -> bool:
        predictions = {"keys": np.arange(shape.rows), "predictions": np.where(right, labels, ~labels)}
        claims = rule == "checked" or (rule == "ladder" and team not in entries)
        claimed = float(rng.binomial(OWN_ROWS, true) / OWN_ROWS)
        answer = guard.ask(score("contest", predictions, claimed if claims else None), analyst=f"team {team:02}")
        found.submissions += 1
        first = team not in entries
        better = first or (answer.value is not None and answer.value > shown.get(team, -1.0))
        if answer.value is not None:
            found.shown += 1
            found.distance.append(abs(answer.value - true))
            if better:
                shown[team] = float(answer.value)
        if answer.interval is not None:
            found.false |= not answer.interval[0] <= true <= answer.interval[1]
        if not first:
            truly = true > trues[team]
            found.improved += better
            found.truly += better and truly
            found.missed += truly and not better
        if better:
            entries[team], trues[team] = answer.sequence, true
        return better

    played = climb(seed, is_better, shape)
    for team, entry in entries.items():
        guard.ask(choose("contest", [entry]), analyst=f"team {team:02}")
    final = guard.ask(contest_final("contest"), analyst="host")
    _judge(found, final, played.right, played.true, _reserved(guard))
    return found


def _reserved(guard: Guard) -> Any:
    (part,) = guard._rows.sample.reserves
    keys: list[int] = part.fold(["id"], list, lambda before, batch: [*before, *np.asarray(batch["id"][0]).tolist()])
    return np.array(sorted(keys))


def _judge(found: Played, final: Any, right: Right, true: Any, reserved: Any) -> None:
    """What the final says, against the truth, and next to the alternative on the same rows."""
    team = {label: int(label.removeprefix("team ")) for label in final.value}
    details = final.details
    found.separated = len(details["better"])
    found.beside = by_bonferroni(right[:, reserved])
    found.regret = float(true.max() - true[team[details["winner"]]])
    found.half_width = fmean((high - low) / 2 for low, high in final.interval.values())
    found.false |= any(true[team[first]] <= true[team[second]] for first, second in details["better"])
    for label, (low, high) in final.interval.items():
        found.false |= not low <= true[team[label]] <= high
    order = np.argsort(np.argsort(-true)) + 1
    for label, (best, worst) in details["ranks"].items():
        found.false |= not best <= order[team[label]] <= worst


def played(first: int, count: int, seed: int) -> list[Played]:
    """Some contests under every rule."""
    return [play(rule, seed * 1_000_003 + number) for number in range(first, first + count) for rule in RULES]


@experiment(
    "contest-rules",
    title="A contest of 43 teams under each rule: what was seen, who won, and who is told apart at the end",
    source="Holdfast, docs/leaderboard.md",
    spreads=True,
)
def run(settings: Settings) -> Outcome:
    """Play the contests under every rule."""
    contests = QUICK_CONTESTS if settings.quick else CONTESTS
    tasks: list[Task] = [
        (_one_job, (first, min(AT_ONCE, contests - first), settings.seed)) for first in range(0, contests, AT_ONCE)
    ]
    jobs: list[Any] = done(tasks, settings.processes, settings.progress)
    return outcome([one for job in jobs for one in job.found], settings.quick)


@dataclass(frozen=True)
class Batch:
    """Some contests, as `done` takes work back."""

    name: str
    found: list[Played]


def _one_job(first: int, count: int, seed: int) -> list[Any]:
    return [Batch(f"contests from {first + 1}", played(first, count, seed))]


COLUMNS = (
    "rule",
    "contests",
    "scores shown",
    "distance of a shown score",
    "improvements acknowledged",
    "of these true",
    "true ones missed",
    "true regret of the winner",
    "half-width at the end",
    "pairs told apart",
    "kept apart and Bonferroni",
    "ratio",
    "contests with something false",
)


def outcome(found: Sequence[Played], quick: bool) -> Outcome:
    """One line a rule, and what must hold."""
    rows = [_row(rule, [one for one in found if one.rule == rule]) for rule in RULES]
    checks = []
    for row in rows:
        false, contests = row["contests with something false"], row["contests"]
        words = f"something false in {false} of {contests} contests"
        checks.append(Check(f"{row['rule']}: what is certified is true", not exceeds(false, contests, BETA), words))
        if not quick:  # a few contests say little about a ratio
            enough = row["ratio"] >= LEAST_RATIO
            checks.append(
                Check(f"{row['rule']}: at least {LEAST_RATIO} times as many pairs", enough, f"{row['ratio']:.3f}")
            )
    ratios = [row["ratio"] for row in rows]
    return Outcome(
        tables=(Table("rules", "Means over contests, each rule with the same teams and rows", COLUMNS, tuple(rows)),),
        checks=tuple(checks),
        finding=(
            f"Over {rows[0]['contests']} contests the final tells {min(ratios):.2f} to {max(ratios):.2f} times as many "
            "pairs apart as half of the rows kept apart with paired Bonferroni. Something false was certified in "
            f"{', '.join(str(row['contests with something false']) for row in rows)} contests "
            f"({', '.join(RULES)})."
        ),
        parameters={"contests": rows[0]["contests"], "reserve": RESERVE, "own rows of a team": OWN_ROWS},
        chart=lambda: _chart(rows),
    )


def _row(rule: str, some: Sequence[Played]) -> dict[str, Any]:
    def mean(of: Callable[[Played], float]) -> float:
        return fmean(of(one) for one in some)

    apart, beside = mean(lambda one: one.separated), mean(lambda one: one.beside)
    distances = [distance for one in some for distance in one.distance]
    values = (
        rule,
        len(some),
        mean(lambda one: one.shown / one.submissions),
        fmean(distances) if distances else 0.0,
        mean(lambda one: one.improved),
        mean(lambda one: one.truly),
        mean(lambda one: one.missed),
        mean(lambda one: one.regret),
        mean(lambda one: one.half_width),
        apart,
        beside,
        apart / beside if beside else 0.0,
        sum(one.false for one in some),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    import altair as alt

    lines = [
        {"rule": row["rule"], "pairs": row[name], "by": name}
        for row in rows
        for name in ("pairs told apart", "kept apart and Bonferroni")
    ]
    return (
        alt.Chart({"values": lines})
        .mark_bar()
        .encode(
            x=alt.X("pairs:Q", title="pairs of teams told apart, of 903"),
            y=alt.Y("by:N", title=None),
            row=alt.Row("rule:N", title=None),
            color=alt.Color("by:N", title=None, legend=None),
        )
        .properties(width=320)
    )


__all__ = ["Played", "drawn_from", "outcome", "play", "played", "policy"]
