"""`nightly-epochs`: a nightly evaluation over twelve monthly epochs, whose tuner keeps whatever seemed to help.

Each month brings evaluation rows of its own. On seven nights the tuner asks whether one of seven changes helps on the
rows of that month, and keeps the side that looked better. At the end of the month it asks whether the system that it
has tuned beats chance on the month's rows, and at the end of a quarter on the rows of all months so far, where each
month is scored by what was kept in it. No change helps at all, so every claim of that kind is false, and whoever
passes one has been fooled by the rows that were looked at. At the end every epoch is closed, which shows every answer
with its exact interval.

The guard answers as it does (`Guard.extend`, `epoch="all"`). The wrong version takes the answers of earlier months as
if their rows were fresh: a question about all months is charged for the latest month alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from holdfast.bounds.one_question import clopper_pearson
from holdfast.core.processes import pool
from holdfast.data import tables
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.guard import pipeline
from holdfast.guard.guard import Guard
from holdfast.guard.guard_budget import GuardBudget, budget_of
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Situation
from holdfast.guard.questions.claim import Claim
from holdfast.guard.questions.close import Close
from holdfast.guard.state import Accounts, GuardState, PooledState
from holdfast.holdout.error_budget import Course
from holdfast_papers.plots import colour_below
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

CONFIDENCE = 0.95
MONTHS = 12
QUARTER = 3
CHANGES = 7
ROWS = 201
"""A month's rows: an odd number, so that every change seems to help or to harm."""
ANALYST = "nightly"

TRUTH = 0.5
"""How often a change is the better one, whichever it is."""


_SCHEMA = Schema({f"w{change}": "integer not null" for change in range(CHANGES)} | {"month": "integer not null"})


@dataclass(frozen=True)
class Year:
    """What one run of twelve months came to: which false things were said.

    `months` are the epochs in which an answer about that epoch alone was false, and `all_months` the months at whose
    end an answer about all rows was false. `intervals` counts the exact intervals that the ends showed, `missed` those
    that missed the truth.
    """

    months: tuple[int, ...]
    all_months: tuple[int, ...]
    intervals: int
    missed: int


def run_year(seed: tuple[int, ...], *, forgets: bool = False) -> Year:
    """Run twelve months. With `forgets` questions about all months owe nothing to the later months' answers."""
    rng = np.random.default_rng(seed)
    policy = Policy(confidence=CONFIDENCE, questions=CHANGES + 1 + MONTHS // QUARTER)
    guard: Guard | None = None
    tuned: list[str] = []
    months, all_months = set[int](), list[int]()
    for month in range(MONTHS):
        rows = _month(month, rng)
        guard = Guard.open(None, rows, policy) if guard is None else guard.extend(rows)
        better = [_seems_to_help(guard, change) for change in range(CHANGES)]
        votes = " + ".join(f"w{change}" if side else f"(1 - w{change})" for change, side in enumerate(better))
        tuned.append(f"month = {month} and {votes} > {CHANGES // 2}")
        if guard.ask(_beats_chance(tuned[-1:]), analyst=ANALYST).passed:
            months.add(month + 1)
        if month % QUARTER == QUARTER - 1:
            with _forgetting() if forgets else nullcontext():
                if guard.ask(_beats_chance(tuned), analyst=ANALYST, epoch="all").passed:
                    all_months.append(month + 1)
    assert guard is not None
    intervals = missed = 0
    for month in range(1, MONTHS + 1):
        epoch = guard.at(month)
        own = {e.sequence for e in epoch.ledger.entries() if "epochs" not in e.body.get("question", {})}
        for line in epoch.ask(Close(), analyst=ANALYST).details["revealed"]:
            if line["sequence"] in own and line["interval"] is not None:
                low, high = line["interval"]
                intervals += 1
                if not low <= TRUTH <= high:
                    missed += 1
                    months.add(month)
    return Year(tuple(sorted(months)), tuple(all_months), intervals, missed)


def _month(month: int, rng: np.random.Generator) -> Sample:
    """Rows of one month: for each change a fair coin says whether the changed system is the better one there."""
    columns: dict[str, Any] = {f"w{change}": rng.integers(2, size=ROWS) for change in range(CHANGES)}
    return tables.table(columns | {"month": np.full(ROWS, month)}, schema=_SCHEMA, engine="numpy")


def _beats_chance(tuned: list[str]) -> Claim:
    """Is the tuned system right on more than half of the rows? It never is: a row is right with probability 1/2.

    On a row it is right where most of what was kept in its month is.
    """
    return Claim(" or ".join(f"({month})" for month in tuned), at_least=TRUTH + 1e-9)


def _seems_to_help(guard: Guard, change: int) -> bool:
    """Ask whether a change helps on the rows of the month: a bit, by a claim that passes where most rows say yes."""
    share = guard.ledger.look(_log_share)
    limit = clopper_pearson((ROWS + 1) // 2, ROWS, share, side="lower").low
    asked = Claim(f"w{change} = 1", at_least=limit - 1e-9, risk=0.5)
    return bool(guard.ask(asked, analyst=ANALYST).passed)


def _log_share(view: Any) -> float:
    state = GuardState.of(view)
    accounts = Accounts.of(view, state.policy, ANALYST)
    return budget_of(state).log_share(accounts.whole.progress.course)


@contextmanager
def _forgetting() -> Iterator[None]:
    """Wrong on purpose: a question about all months is charged for what was shown of the latest one alone."""
    real = pipeline.situation_of

    def forgetting(state: GuardState, charged: Accounts) -> Situation:
        found = real(state, charged)
        if not isinstance(state, PooledState):
            return found
        latest = replace(state.others[-1], asked=found.course.asked)
        budget = GuardBudget(state.explored, state.policy, None, (Course(),))
        return replace(found, budget=budget, progress=replace(found.progress, course=latest))

    with mock.patch.object(pipeline, "situation_of", forgetting):
        yield


# --- The experiment ---------------------------------------------------------------------------------------------------


@experiment(
    "nightly-epochs",
    title="Twelve monthly epochs of a nightly evaluation: what is falsely said of one epoch, and of all of them",
    source="Holdfast; Theorem E over epochs (docs/epochs.md)",
    spreads=True,
)
def run(settings: Settings) -> Outcome:
    """Run many years with the guard and with the version that is wrong on purpose."""
    runs, wrong = (20, 10) if settings.quick else (1_000, 200)
    found = {
        "guard": _years(settings, runs, forgets=False, at=0.0, until=0.8),
        "forgets earlier answers": _years(settings, wrong, forgets=True, at=0.8, until=1.0),
    }
    settings.progress(1.0, "done")
    rows = [_line(name, years) for name, years in found.items()]
    right, forgetful = rows
    most = 1 - CONFIDENCE
    checks = (
        Check(
            "each epoch's answers hold",
            right["epochs with a false answer"] <= most * right["epochs"],
            f"something false in {right['epochs with a false answer']} of {right['epochs']} epochs",
        ),
        Check(
            "the answers over all epochs hold",
            right["years with a false answer over all"] <= most * right["years"],
            f"something false in {right['years with a false answer over all']} of {right['years']} years",
        ),
        Check(
            "exact intervals hold",
            right["intervals missed"] <= most * right["epochs"],
            f"{right['intervals missed']} of {right['intervals']} missed",
        ),
        Check(
            "a version that forgets earlier answers fails",
            _certainly_above(forgetful["years with a false answer over all"], forgetful["years"], most),
            f"something false in {forgetful['years with a false answer over all']} of {forgetful['years']} years",
        ),
    )
    columns = tuple(right)
    months = [
        {"version": name, "month": month, "false": sum(month in year.all_months for year in years) / len(years)}
        for name, years in found.items()
        for month in range(QUARTER, MONTHS + 1, QUARTER)
    ]
    return Outcome(
        tables=(
            Table("summary", f"Years of {MONTHS} epochs of {ROWS} rows, {CHANGES} nights each", columns, tuple(rows)),
            Table("months", "False answers over all epochs, by month", ("version", "month", "false"), tuple(months)),
        ),
        checks=checks,
        finding=(
            f"In {right['years']:,} years of {MONTHS} epochs something false was said of an epoch in "
            f"{right['epochs with a false answer']} of {right['epochs']:,} epochs and of all epochs together in "
            f"{right['years with a false answer over all']} years, at a planned 5%. A version that takes earlier "
            f"answers as if their rows were fresh says something false in "
            f"{forgetful['years with a false answer over all']} of {forgetful['years']} years."
        ),
        parameters={"months": MONTHS, "rows": ROWS, "changes": CHANGES, "confidence": CONFIDENCE, "years": runs},
        chart=lambda: _chart(months),
    )


def _years(settings: Settings, runs: int, *, forgets: bool, at: float, until: float) -> list[Year]:
    what = "years that forget" if forgets else "years"
    years: list[Year] = []
    work = partial(_year, settings.seed, forgets)
    if settings.processes == 1:
        for index in range(runs):
            settings.progress(at + (until - at) * index / runs, f"{what}: {index} of {runs}")
            years.append(work(index))
        return years
    with pool(settings.processes) as workers:
        for index, year in enumerate(workers.map(work, range(runs), chunksize=5)):
            settings.progress(at + (until - at) * index / runs, f"{what}: {index} of {runs}")
            years.append(year)
    return years


def _year(seed: int, forgets: bool, index: int) -> Year:
    return run_year((seed, index), forgets=forgets)


def _line(name: str, years: list[Year]) -> dict[str, Any]:
    return {
        "version": name,
        "years": len(years),
        "epochs": MONTHS * len(years),
        "epochs with a false answer": sum(len(year.months) for year in years),
        "years with a false answer over all": sum(bool(year.all_months) for year in years),
        "intervals": sum(year.intervals for year in years),
        "intervals missed": sum(year.missed for year in years),
    }


def _certainly_above(count: int, runs: int, probability: float) -> bool:
    """Whether `count` of `runs` shows a probability above this one, at level 1e-6."""
    return count > 0 and clopper_pearson(count, runs, math.log(1e-6), side="lower").low > probability


def _chart(months: list[dict[str, Any]]) -> Any:
    """How often the answer over all epochs is false at the end of each month."""
    import altair as alt

    return (
        alt.Chart({"values": months})
        .mark_line(point=True)
        .encode(
            x=alt.X("month:O", title="month"),
            y=alt.Y("false:Q", title="false answers over all epochs", scale=alt.Scale(domain=[0, 1])),
            color=colour_below(alt, "version:N"),
        )
        .properties(width=480, height=300)
    )


__all__ = ["Year", "run", "run_year"]
