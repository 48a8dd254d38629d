"""A figure of private tests is a small record; one function runs it, makes its tables and holds it to its claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from holdfast_papers.private_tests.cache import Ask, Results, run
from holdfast_papers.private_tests.checks import (
    Books,
    Claim,
    count_of,
    discordant,
    is_level,
    judge,
    place,
    recorded_check,
)
from holdfast_papers.private_tests.plots import chart
from holdfast_papers.private_tests.settings import ALPHA, Setting, Trial
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

QUICK_RUNS = 500
QUICK_REPLICATES = 100_000
"""A quick panel runs no more data sets than this over the replicates of each."""


@dataclass(frozen=True)
class Panel:
    """Settings in which the same tests are run, so many times each."""

    settings: tuple[Setting, ...]
    tests: tuple[Trial, ...]
    runs: int

    def quick(self) -> Panel:
        """A reduced version of the same."""
        most = max(1, *(test.m for test in self.tests))
        return replace(self, runs=min(self.runs, QUICK_RUNS, max(20, QUICK_REPLICATES // most)))


@dataclass(frozen=True)
class Figure:
    """What `holdfast reproduce` shows as one figure.

    Attributes
    ----------
    name, title, source : str
        As in `experiment`.
    panels : tuple of Panel
        What is run.
    claims : tuple
        What it is held to, next to the recorded shares.
    books : mapping
        The recorded shares.
    stated : str
        What the dissertation says in words.
    remark : str
        What to read next to that, where the words do not hold everywhere.
    against : Trial, optional
        Show how much more often this test rejects than each other one, on the same records.
    """

    name: str
    title: str
    source: str
    panels: tuple[Panel, ...]
    claims: tuple[Claim, ...]
    stated: str
    books: Books = field(default_factory=dict)
    against: Trial | None = None
    remark: str = ""

    def reduced(self, quick: bool) -> tuple[Panel, ...]:
        """The panels, or their quick versions."""
        return tuple(panel.quick() for panel in self.panels) if quick else self.panels


def register(figure: Figure, home: str) -> Callable[[Settings], Outcome]:
    """Let `holdfast reproduce` find a figure; `home` is the module that describes it."""

    def shown(settings: Settings) -> Outcome:
        return outcome(figure, settings)

    return experiment(figure.name, title=figure.title, source=figure.source, spreads=True, home=home)(shown)


def simulate(panels: Sequence[Panel], settings: Settings) -> Results:
    """Run panels as the command's settings say; quick runs stay in one process, which starts sooner."""
    asks = [Ask(setting, panel.tests, panel.runs) for panel in panels for setting in panel.settings]
    return run(
        asks,
        seed=settings.seed,
        folder=settings.out,
        workers=settings.processes,
        progress=settings.progress,
    )


def outcome(figure: Figure, settings: Settings) -> Outcome:
    """Run a figure."""
    panels = figure.reduced(settings.quick)
    results = simulate(panels, settings)
    tables = [rates_table(f"panel-{i + 1}", panel, results, figure.books) for i, panel in enumerate(panels)]
    if figure.against is not None:
        tables[:0] = [difference_table(panels, results, figure.against)]
    checks: list[Check] = []
    if (met := recorded_check(results, figure.books)) is not None:
        checks.append(met)
    checks += [judge(claim, results) for claim in figure.claims]
    failed = [check.name for check in checks if not check.passed]
    finding = f"Stated: {figure.stated} {figure.remark}".rstrip() + " "
    finding += (
        f"Does not hold here: {'; '.join(failed)}." if failed else "Every check passed; they say what was compared."
    )
    return Outcome(
        tables=tuple(tables),
        checks=tuple(checks),
        finding=finding,
        parameters={"alpha": ALPHA, "runs": [panel.runs for panel in panels], "quick": settings.quick},
        chart=lambda: _chart(figure, panels, results),
    )


def rates_table(name: str, panel: Panel, results: Results, books: Books) -> Table:
    """A row a setting: each test's share of rejections, what was recorded, and how often it was inconclusive."""
    rows: list[dict[str, Any]] = []
    columns: list[str] = list(panel.settings[0].row)
    for setting in panel.settings:
        row: dict[str, Any] = dict(setting.row)
        for test in panel.tests:
            decisions = results[setting, test]
            row[test.label] = round(float(decisions.reject[: panel.runs].mean()), 5)
            if (recorded := books.get((place(setting), test))) is not None:
                row[f"{test.label} (recorded)"] = recorded.value
            if not decisions.conclusive.all():
                row[f"NULL {test.label}"] = round(1 - float(decisions.conclusive[: panel.runs].mean()), 5)
        rows.append(row)
    for test in panel.tests:
        for head in (test.label, f"{test.label} (recorded)", f"NULL {test.label}"):
            columns += [head] if any(head in row for row in rows) else []
    title = f"share of rejections at {ALPHA:g}, {panel.runs:,} runs each"
    return Table(name, title, tuple(columns), tuple(rows))


def difference_table(panels: Sequence[Panel], results: Results, first: Trial) -> Table:
    """How much more often `first` rejects than each other test on the same records, and the standard error of that."""
    rows: list[dict[str, Any]] = []
    heads: list[str] = []
    for panel in panels:
        others = [test for test in panel.tests if test != first and test.noise != "none"]
        for setting in panel.settings:
            row: dict[str, Any] = dict(setting.row)
            for test in others:
                gap, error = paired(results, setting, first, test)
                row[f"minus {test.label}"] = round(gap, 5)
                row[f"s.e. {test.label}"] = round(error, 5)
            heads += [head for head in row if head not in heads]
            rows.append(row)
    title = f"power of {first.label} minus that of others on the same records"
    return Table("differences", title, tuple(heads), tuple(rows))


def paired(results: Results, setting: Setting, first: Trial, second: Trial) -> tuple[float, float]:
    """The difference of two shares on the same records, and its standard error."""
    ours, theirs, runs = discordant(results, setting, first, second)
    gap = (ours - theirs) / runs
    return gap, (((ours + theirs) / runs - gap * gap) / runs) ** 0.5


def plotted(panels: Sequence[Panel], results: Results, books: Books) -> list[dict[str, Any]]:
    """One entry a point of the plot, the recorded ones too."""
    points: list[dict[str, Any]] = []
    for panel in panels:
        for setting in panel.settings:
            for test in panel.tests:
                count, runs = count_of(results, setting, test)
                share = count / runs
                error = 1.96 * (share * (1 - share) / runs) ** 0.5
                at = {"law": setting.name, "budget": _budget(setting), "n": setting.n, "test": test.label}
                ends = {"low": max(share - error, 0.0), "high": min(share + error, 1.0)}
                points.append(at | ends | {"share": share, "kind": "ours"})
                if (recorded := books.get((place(setting), test))) is not None:
                    same = {"share": recorded.value, "low": recorded.value, "high": recorded.value}
                    points.append(at | same | {"kind": "recorded"})
    return points


def _budget(setting: Setting) -> str:
    local: Literal["epsilon", "rho"] = "epsilon" if setting.family.startswith("local") else "rho"
    return f"{local} = {setting.budget if local == 'epsilon' else float(setting.rho):g}"


def _chart(figure: Figure, panels: Sequence[Panel], results: Results) -> Any:
    if figure.against is not None:
        return chart(_gaps(panels, results, figure.against), "difference")
    level = all(is_level(setting) for panel in panels for setting in panel.settings)
    return chart(plotted(panels, results, figure.books), "level" if level else "power")


def _gaps(panels: Sequence[Panel], results: Results, first: Trial) -> list[dict[str, Any]]:
    """One entry a point of a plot of differences."""
    points: list[dict[str, Any]] = []
    for panel in panels:
        for setting in panel.settings:
            for test in panel.tests:
                if test != first and test.noise != "none":
                    gap, error = paired(results, setting, first, test)
                    at = {"law": setting.name, "budget": _budget(setting), "n": setting.n, "kind": "ours"}
                    ends = {"share": gap, "low": gap - 1.96 * error, "high": gap + 1.96 * error}
                    points.append(at | ends | {"test": f"{first.label} minus {test.label}"})
    return points


__all__ = ["Figure", "Panel", "difference_table", "outcome", "paired", "plotted", "rates_table", "register", "simulate"]
