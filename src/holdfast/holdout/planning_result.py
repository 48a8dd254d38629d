"""A plan as people and programs read it: rows best first, what is recommended, and plain words about the rest."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.holdout.planning_use import METHODS

Progress = Callable[[float, str], None]
_SHORT = {"a guess": "guess", "Laplace noise": "noise", "Gaussian noise": "noise", "values declared binary": "0/1"}


@dataclass(frozen=True)
class PlannedMethod:
    """What one method certifies for the use that was planned; lengths in the unit of the values.

    `n_required` is the least number of rows for the wanted half-width; where none was asked for and the width is
    vacuous, the least number at which the method says anything. None: more than 10**15. `max_questions` and
    `max_failures` are for the wanted half-width at `n`; `max_failures` is None where not even a run without failures
    fits. `reference` marks the limit, which is not a method for adaptive use.
    """

    name: str
    half_width: float
    certified: bool
    vacuous: bool
    n_required: int | None
    max_questions: int | None
    max_failures: int | None
    sure_pass: float | None
    needs: tuple[str, ...]
    answers: str
    reference: bool
    theorem: str
    says: str
    extra: Mapping[str, float] = field(default_factory=dict)

    @property
    def before_failures(self) -> float | None:
        """The half-width at the last question as long as nothing failed, where failures matter."""
        return self.extra.get("before_failures")

    @property
    def corrected(self) -> float | None:
        """How far the truth can be from what the last failure shows, where that differs from the half-width."""
        return self.extra.get("corrected")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "extra"}
        return plain | {"needs": list(self.needs)} | {name: float(value) for name, value in self.extra.items()}


@dataclass(frozen=True)
class HoldoutPlan:
    """Every method for one use of a holdout, best first. Made by `plan`.

    Examples
    --------
    >>> from holdfast.holdout import plan
    >>> found = plan(100_000, questions=1000, failures=10, guess=False)
    >>> found.recommended, round(found["gaussian-answers"].half_width, 4)
    ('gaussian-answers', 0.0497)
    """

    n: int | None
    questions: int
    failures: int
    confidence: float
    half_width: float | None
    low: float
    high: float
    guess: float | bool | None
    binary: bool
    methods: tuple[PlannedMethod, ...]

    def __getitem__(self, name: str) -> PlannedMethod:
        for row in self.methods:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is not in this plan; it has {', '.join(row.name for row in self.methods)}")

    @property
    def length(self) -> float:
        """Length of the range."""
        return self.high - self.low

    def usable(self, row: PlannedMethod) -> bool:
        """Whether a row is certified for adaptive use, with a guess or without as planned."""
        return row.certified and not row.reference and not (self.guess is False and "a guess" in row.needs)

    def reached(self, row: PlannedMethod) -> bool:
        """Whether a usable row says something and is as narrow as was asked for."""
        if not self.usable(row) or row.vacuous:
            return False
        return self.half_width is None or row.half_width <= self.half_width

    @property
    def feasible(self) -> bool:
        """Whether some certified method does what was asked for."""
        return any(map(self.reached, self.methods))

    @property
    def recommended(self) -> str | None:
        """The narrowest certified method that shows values (else bits, else a best score); None if there is none.

        Methods that need a guess are left out when `guess` is False. Without `n`, the one that needs the fewest rows.
        """
        for answers in ("values", "bits", "best score"):
            some = {row.name: self._cost(row) for row in self.methods if self.reached(row) and row.answers == answers}
            if some:  # of those that are equal up to rounding, the one that the list of methods names first
                least = min(some.values()) * (1 + 1e-9)
                return next(name for name in METHODS if some.get(name, math.inf) <= least)
        return None

    def _cost(self, row: PlannedMethod) -> float:
        if self.n is not None:
            return row.half_width
        return math.inf if row.n_required is None else float(row.n_required)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what was asked, the methods, the recommendation."""
        asked = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "methods"}
        return {
            "methods": [row.to_dict() for row in self.methods],
            "recommended": self.recommended,
            "feasible": self.feasible,
            "asked": asked,
            "words": self.words(),
        }

    def columns(self) -> tuple[str, ...]:
        """Headings of the table; `sure pass` and `clean` (before any failure) give way to what was asked for."""
        if self.half_width is None:
            return ("method", "half-width", "clean", "sure pass", "needs", "remark")
        both = ("questions", "failures") if self.n is not None else ()
        return ("method", "half-width", "rows needed", *both, "needs", "remark")

    def cells(self) -> list[tuple[str, ...]]:
        """The table's cells, one tuple a method."""
        return [self._cells(row) for row in self.methods]

    def _cells(self, row: PlannedMethod) -> tuple[str, ...]:
        if self.half_width is None:
            middle: tuple[str, ...] = (length(row.before_failures), length(row.sure_pass))
        else:
            middle = (count(row.n_required),)
            if self.n is not None:
                fits = "none" if row.max_failures is None else count(row.max_failures)
                middle += (count(row.max_questions), fits)
        marks = ["recommended"] if row.name == self.recommended else []
        marks += ["limit, not adaptive"] if row.reference else []
        marks += [] if row.certified or row.reference else ["not certified"]
        marks += ["says nothing"] if row.vacuous else []
        marks += [] if row.answers == "values" else [f"{row.answers} only"]
        needs = ", ".join(_SHORT.get(need, need) for need in row.needs) or "-"
        return (row.name, length(row.half_width), *middle, needs, "; ".join(marks))

    def title(self) -> str:
        """What was asked, in one line."""
        rows = "rows as needed" if self.n is None else f"{self.n:,} rows"
        wanted = "" if self.half_width is None else f", half-width {self.half_width:g}"
        span = "" if (self.low, self.high) == (0, 1) else f", values in [{self.low:g}, {self.high:g}]"
        return (
            f"{rows}, {self.questions:,} questions, {self.failures:,} failures, "
            f"confidence {self.confidence:g}{wanted}{span}"
        )

    def words(self) -> list[str]:
        """Plain sentences: what to use, what says nothing, what would work instead."""
        from holdfast.holdout.planning_words import words

        return words(self)

    def __str__(self) -> str:
        table = [self.columns(), *self.cells()]
        sizes = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in table]
        return "\n".join(
            [self.title(), "", lines[0], "  ".join("-" * size for size in sizes), *lines[1:], "", *self.words()]
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns())
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.cells()
        )
        said = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.words())
        caption = html.escape(self.title())
        return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"

    def curve(self, questions: Sequence[int] | None = None, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Half-widths of every method at other numbers of questions: the numbers behind `plot`.

        Parameters
        ----------
        questions : sequence of int
            Numbers of questions; by default from 1 to ten times the planned number, two in a decade.
        progress : callable
            Called with the part done and a word, since each point takes up to half a second.

        Examples
        --------
        >>> from holdfast.holdout import plan
        >>> [round(row["half_width"], 4) for row in plan(10_000).curve([10, 100]) if row["method"] == "non-adaptive"]
        [0.0173, 0.0204]
        """
        from holdfast.holdout.planning_plot import curve

        return curve(self, questions, progress)

    def plot(self, questions: Sequence[int] | None = None, progress: Progress | None = None) -> Any:
        """Half-width against the number of questions, both on log scales, as an Altair chart.

        Needs the extra `plots` (`pip install 'holdfast[plots]'`). Takes what `curve` takes.
        """
        from holdfast.holdout.planning_plot import plot

        return plot(self, questions, progress)


def length(value: float | None) -> str:
    """A length as people read it.

    Examples
    --------
    >>> length(0.0721234), length(float("inf")), length(None)
    ('0.0721', 'none', '')
    """
    if value is None:
        return ""
    return "none" if math.isinf(value) else f"{value:.3g}"


def count(value: int | None) -> str:
    """A count as people read it.

    Examples
    --------
    >>> count(17341106), count(None), count(10**15)
    ('17,341,106', 'over 10^15', '10^15 or more')
    """
    if value is None:
        return "over 10^15"
    return "10^15 or more" if value >= 10**15 else f"{value:,}"


def need_n(plan: HoldoutPlan) -> int:
    """The plan's rows, or an error that asks for them."""
    if plan.n is None:
        raise InvalidParameter("n must be given in the plan to draw widths against questions, got None")
    return plan.n


__all__ = ["HoldoutPlan", "PlannedMethod", "Progress", "count", "length", "need_n"]
