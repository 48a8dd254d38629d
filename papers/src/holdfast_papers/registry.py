"""The registry of experiments: what one is, what it is given and what it hands back.

An experiment is a function `run(settings) -> Outcome`; `@experiment` registers it under the name users type.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.core.processes import cores
from holdfast.errors import InvalidParameter

Progress = Callable[[float, str], None]
_REGISTRY: dict[str, Experiment] = {}


def silent(fraction: float, what: str) -> None:
    """A progress callback that shows nothing."""


@dataclass(frozen=True)
class Settings:
    """How to run: a reduced version or the whole, from which seed, and whom to tell about progress.

    `progress(fraction, what)` is called with the share of the work done, in [0, 1], and what comes next. `out` is the
    folder of the results, where an experiment that takes long keeps what it has finished; None keeps nothing.
    `workers` are the processes that one experiment may use, 0 for one a core; no number depends on it.
    """

    quick: bool = False
    seed: int = 1
    progress: Progress = silent
    out: Path | None = None
    workers: int = 0

    @property
    def processes(self) -> int:
        """Processes for an experiment that spreads its work; a quick run stays in one, which starts sooner."""
        return 1 if self.quick else self.workers or cores()


@dataclass(frozen=True)
class Table:
    """Rows with a column order. Where a paper or our notes print a number, a column holds it next to ours."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            if unknown := set(row) - set(self.columns):
                raise ValueError(f"table {self.name} has no column {', '.join(sorted(unknown))}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a cell that a row does not have is None."""
        rows = [{column: row.get(column) for column in self.columns} for row in self.rows]
        return {"name": self.name, "title": self.title, "columns": list(self.columns), "rows": rows}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Table:
        """The table that `to_dict` gave."""
        return cls(plain["name"], plain["title"], tuple(plain["columns"]), tuple(plain["rows"]))


@dataclass(frozen=True)
class Check:
    """A claim that the run put to the test."""

    name: str
    passed: bool
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "passed": self.passed, "detail": self.detail}


@dataclass(frozen=True)
class Outcome:
    """What an experiment found. `chart` builds an Altair chart and is called only when Altair is installed."""

    tables: tuple[Table, ...]
    checks: tuple[Check, ...]
    finding: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    chart: Callable[[], Any] | None = None

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the chart."""
        return {
            "passed": self.passed,
            "finding": self.finding,
            "parameters": dict(self.parameters),
            "tables": [table.to_dict() for table in self.tables],
            "checks": [check.to_dict() for check in self.checks],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_dict` gave, which has no chart.

        Examples
        --------
        >>> made = Outcome((), (Check("it holds", True, "3 of 3"),), "It holds.")
        >>> Outcome.from_dict(made.to_dict()) == made
        True
        """
        return cls(
            tuple(Table.from_dict(table) for table in plain["tables"]),
            tuple(Check(**check) for check in plain["checks"]),
            plain["finding"],
            plain["parameters"],
        )


@dataclass(frozen=True)
class Experiment:
    """A registered experiment; `data`, `spreads` and `home` as in `experiment`."""

    name: str
    title: str
    source: str
    run: Callable[[Settings], Outcome]
    data: tuple[str, ...] = ()
    spreads: bool = False
    home: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for listings."""
        return {"name": self.name, "title": self.title, "source": self.source}


def experiment(
    name: str, *, title: str, source: str, data: tuple[str, ...] = (), spreads: bool = False, home: str = ""
) -> Callable[[Callable[[Settings], Outcome]], Callable[[Settings], Outcome]]:
    """Register a function as the experiment `name`.

    Parameters
    ----------
    name : str
        The name users type; words joined by dashes.
    title : str
        One line that says what the experiment shows.
    source : str
        Paper and number of the figure, table, theorem or algorithm.
    data : tuple of str
        Data sets that it reads, by the names of their folders below `HOLDFAST_DATA`.
    spreads : bool
        Whether its full run spreads its own work over `Settings.processes`.
    home : str
        The module that its outcome depends on, with all that this one imports; by default the function's own.
    """

    def register(run: Callable[[Settings], Outcome]) -> Callable[[Settings], Outcome]:
        if name in _REGISTRY and _REGISTRY[name].run is not run:
            raise ValueError(f"two experiments are registered as {name}")
        _REGISTRY[name] = Experiment(name, title, source, run, data, spreads, home or run.__module__)
        return run

    return register


def experiments() -> dict[str, Experiment]:
    """Every experiment by name, sorted; imports all of `holdfast_papers`.

    Examples
    --------
    >>> "odometer-attack" in experiments()
    True
    """
    package = importlib.import_module("holdfast_papers")
    for module in pkgutil.walk_packages(package.__path__, "holdfast_papers."):
        importlib.import_module(module.name)
    return dict(sorted(_REGISTRY.items()))


def select(names: Sequence[str]) -> tuple[Experiment, ...]:
    """The experiments called `names`, in that order and each once; `all` means every one.

    Raises `InvalidParameter` for an unknown name, before anything runs.

    Examples
    --------
    >>> [e.name for e in select(["odometer-attack", "odometer-attack"])]
    ['odometer-attack']
    """
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        if name == "all":
            chosen |= {key: entry for key, entry in known.items() if key not in chosen}
        elif name in known:
            chosen.setdefault(name, known[name])
        else:
            raise InvalidParameter(f"no experiment is called {name!r}; there are {', '.join(known)} and all")
    return tuple(chosen.values())
