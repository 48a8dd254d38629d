"""`plan`: what every kind of holdout certifies for a given use, side by side; its table, its advice and its plot."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.bounds.parameters import LEAST_BETA
from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter
from holdfast.holdout.planning.methods import (
    LIMIT,
    METHODS,
    Found,
    Method,
    Use,
    least_rows,
    most_failures,
    most_questions,
)

_TITLES = {
    "guess-and-check": "guess-and-check",
    "guess-and-check-kl": "guess-and-check with KL intervals",
    "guess-and-check-binary": "guess-and-check with exact binomial intervals",
    "thresholdout-paper": "the paper's Thresholdout",
    "thresholdout-exact": "Thresholdout with exact constants",
    "thresholdout-tightened": "tightened Thresholdout",
    "thresholdout-single": "single-threshold Thresholdout",
    "gaussian-answers": "Gaussian answers",
    "ladder": "the Ladder",
    "splitting": "splitting by questions",
    "splitting-by-failures": "splitting by failures",
    "sparse-validate": "SparseValidate",
}


def words(plan: HoldoutPlan) -> list[str]:
    """One sentence a thing worth saying, the recommendation first."""
    said = [_advice(plan)]
    said += [_silent(plan, row) for row in plan.methods if row.vacuous and not row.reference]
    limit = next((row for row in plan.methods if row.reference), None)
    if limit is not None and plan.n is not None and not limit.vacuous:
        said.append(
            f"The limit is {limit.half_width:.3g}: Hoeffding's width for questions written down before looking. It "
            "does not hold for questions chosen after seeing answers."
        )
    return said


def about(n: int | None) -> str:
    """Return a number of rows in round words.

    Examples
    --------
    >>> about(17_341_106), about(514_501), about(None)
    ('17 million rows', '515 thousand rows', 'more than 10^15 rows')
    """
    if n is None:
        return "more than 10^15 rows"
    for size, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand")):
        if n >= 10 * size or (n >= size and size > 1000):
            return f"{n / size:.3g} {name} rows" if n < 10 * size else f"{n / size:.0f} {name} rows"
    return f"{n:,} rows"


def _title(row: PlannedMethod) -> str:
    return _TITLES.get(row.name, row.name)


def _advice(plan: HoldoutPlan) -> str:
    name = plan.recommended
    if name is None:
        return _instead(plan)
    row = plan[name]
    if plan.n is None:
        return f"Use {_title(row)}: it needs the fewest rows, {row.n_required:,}. {row.says}"
    if row.before_failures is None:
        return f"Use {_title(row)}: every answer within {row.half_width:.3g}, certified. {row.says}"
    after = f" and {row.half_width:.3g} after {plan.failures:,}" if plan.failures else ""
    shown = "" if row.corrected is None else f", and corrected values are within {row.corrected:.3g}"
    return (
        f"Use {_title(row)} (ReusableHoldout): a pass certifies a guess to within {row.before_failures:.3g} at best "
        f"before any failed check{after}{shown}."
    )


def _instead(plan: HoldoutPlan) -> str:
    """What would work where nothing does what was asked for: the method that comes nearest, and what it needs."""
    wanted = "gives a guarantee" if plan.half_width is None else f"gives a half-width of {plan.half_width:g}"
    rows = "" if plan.n is None else f" with {plan.n:,} rows"
    head = f"No certified method {wanted}{rows}."
    offers = [
        row for row in plan.methods if plan.usable(row) and row.answers == "values" and row.n_required is not None
    ]
    if not offers:
        return head
    best = min(offers, key=lambda row: row.n_required or 0)
    ways = [f"with {best.n_required:,} rows"]
    ways += [f"with at most {best.max_questions:,} questions"] if best.max_questions else []
    ways += [f"with at most {best.max_failures:,} failures"] if best.max_failures is not None else []
    here = "" if best.vacuous else f"; here it gives {best.half_width:.3g}"
    title = _title(best)
    return f"{head} {title[0].upper()}{title[1:]} would {', or '.join(ways)}{here}."


def _silent(plan: HoldoutPlan, row: PlannedMethod) -> str:
    target = "for a guarantee" if plan.half_width is None else f"for {plan.half_width:g}"
    title = _title(row)
    give, it = ("give", "they") if row.name == "gaussian-answers" else ("gives", "it")
    head = f"{title[0].upper()}{title[1:]} {give} no guarantee at this size"
    return f"{head}: {it} would need {about(row.n_required)} {target}."


_PER_DECADE = 2


def curve(plan: HoldoutPlan, questions: Sequence[int] | None, progress: Progress | None) -> list[dict[str, Any]]:
    """Half-widths of every method at each number of questions."""
    n = need_n(plan)
    if questions is None:
        points = spaced_counts(min(10 * plan.questions, LIMIT))
    else:
        points = [int(m) for m in arguments.reals("questions", questions, at_least=1, at_most=LIMIT)]
    near = None
    if plan.guess is not None and not isinstance(plan.guess, bool):
        near = (plan.guess - plan.low) / plan.length
    rows: list[dict[str, Any]] = []
    for i, m in enumerate(points):
        if progress is not None:
            progress(i / len(points), f"{m:,} questions")
        use = Use(m, min(plan.failures, m), plan.confidence, near, plan.binary)
        for method in METHODS.values():
            if not method.applies(use):
                continue
            width = method.width(n, use)
            rows.append(
                {
                    "method": method.name,
                    "questions": m,
                    "half_width": width.half_width * plan.length,
                    "certified": width.certified,
                    "vacuous": not width.half_width < 0.5,
                }
            )
    if progress is not None:
        progress(1.0, "done")
    return rows


def spaced_counts(last: int) -> list[int]:
    """Whole numbers from 1 to `last`, two in a decade.

    Examples
    --------
    >>> spaced_counts(100)
    [1, 3, 10, 32, 100]
    """
    steps = math.ceil(_PER_DECADE * math.log10(last)) if last > 1 else 0
    return sorted({min(last, round(10 ** (i / _PER_DECADE))) for i in range(steps)} | {last})


def plot(plan: HoldoutPlan, questions: Sequence[int] | None, progress: Progress | None) -> Any:
    """Return an Altair chart of `curve`."""
    with named_extras():
        alt: Any = importlib.import_module("altair")
    rows = [row for row in curve(plan, questions, progress) if row["half_width"] < plan.length]
    order = [row.name for row in plan.methods]
    floor = plan.length / 2
    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("questions:Q", scale=alt.Scale(type="log"), title="questions"),
            y=alt.Y("half_width:Q", scale=alt.Scale(type="log"), title="half-width"),
            color=alt.Color(
                "method:N",
                title=None,
                sort=order,
                scale=alt.Scale(scheme="tableau20"),
                legend=alt.Legend(orient="bottom", columns=3, labelLimit=0),
            ),
            strokeDash=alt.condition("datum.certified", alt.value([1, 0]), alt.value([4, 4])),
            tooltip=["method:N", "questions:Q", "half_width:Q", "certified:N"],
        )
    )
    rule = alt.Chart(alt.Data(values=[{"half_width": floor, "what": "no guarantee above"}]))
    marks = rule.mark_rule(strokeDash=[2, 2], color="gray").encode(y="half_width:Q")
    labels = rule.mark_text(align="right", dy=-6, color="gray", x="width").encode(y="half_width:Q", text="what:N")
    title = alt.Title(plan.title(), subtitle="dashed: not certified for questions chosen after seeing answers")
    return (line + marks + labels).properties(width=640, height=400, title=title)


Progress = Callable[[float, str], None]
_SHORT = {"a guess": "guess", "Laplace noise": "noise", "Gaussian noise": "noise", "values declared binary": "0/1"}


@dataclass(frozen=True)
class PlannedMethod:
    """What one method certifies for the use that was planned; lengths in the unit of the values.

    `n_required` is the least number of rows for the wanted half-width; where none was asked for and the width is
    vacuous, the least number at which the method guarantees anything. None: more than 10**15. `max_questions` and
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
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "extra"}
        return plain | {"needs": list(self.needs)} | {name: float(value) for name, value in self.extra.items()}


@dataclass(frozen=True)
class HoldoutPlan:
    """The comparison of all methods for one use of a holdout, the best first. `plan` makes it.

    Examples
    --------
    >>> from holdfast.holdout import plan
    >>> found = plan(100_000, questions=1000, failures=10, guess=False)
    >>> found.recommended, round(found["gaussian-answers"].half_width, 4)
    ('gaussian-answers', 0.0312)
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
        raise KeyError(
            f"{name!r} is not a method of this plan, which has {', '.join(row.name for row in self.methods)}"
        )

    @property
    def length(self) -> float:
        """The length of the range of the values."""
        return self.high - self.low

    def usable(self, row: PlannedMethod) -> bool:
        """Return whether a method of this plan is certified for adaptive use.

        If the plan was made for questions without a guess, methods that need a guess are not usable.
        """
        return row.certified and not row.reference and not (self.guess is False and "a guess" in row.needs)

    def reached(self, row: PlannedMethod) -> bool:
        """Return whether a method of this plan is usable, is not vacuous, and reaches the half-width that was asked
        for.
        """
        if not self.usable(row) or row.vacuous:
            return False
        return self.half_width is None or row.half_width <= self.half_width

    @property
    def feasible(self) -> bool:
        """Whether some certified method does what was asked for."""
        return any(map(self.reached, self.methods))

    @property
    def recommended(self) -> str | None:
        """The certified method with the smallest half-width, or None if there is none.

        Methods that show values are preferred to methods that show only yes or no, and these to methods that show only
        a best score. Methods that need a guess are left out if `guess` is False. Without `n` it is the method that
        needs the fewest rows.
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
        """Return plain data: what was asked for, all methods, and the recommended one."""
        asked = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "methods"}
        return {
            "methods": [row.to_dict() for row in self.methods],
            "recommended": self.recommended,
            "feasible": self.feasible,
            "asked": asked,
            "words": self.words(),
        }

    def columns(self) -> tuple[str, ...]:
        """The headings of the table's columns. `notes` explains them.

        If a half-width was asked for, two columns are replaced by columns about it.
        """
        if self.half_width is None:
            return ("method", "half-width", "before failures", "guaranteed pass", "needs", "remark")
        both = ("questions", "failures") if self.n is not None else ()
        return ("method", "half-width", "rows needed", *both, "needs", "remark")

    def cells(self) -> list[tuple[str, ...]]:
        """The cells of the table, one tuple for each method, the recommended method first.

        The theoretical limit is left out, because it is not a method.
        """
        rows = [row for row in self.methods if not row.reference]
        return [self._cells(row) for row in sorted(rows, key=lambda row: row.name != self.recommended)]

    def notes(self) -> list[str]:
        """Return what each column of the table means, one sentence for each column."""
        after = f" after {self.failures:,} failed check{'' if self.failures == 1 else 's'}" if self.failures else ""
        notes = [
            f"half-width: what a pass or a noisy answer certifies at question {self.questions:,}{after}.",
        ]
        if self.half_width is None:
            notes.append("before failures: the same as long as every check has passed.")
            notes.append(
                "guaranteed pass: the half-width at which a guess that is off by at most half of it always passes."
            )
        else:
            notes.append(f"rows needed: the fewest rows that give the half-width {self.half_width:g}.")
            if self.n is not None:
                notes.append(f"questions, failures: how many {self.n:,} rows allow at that half-width.")
        notes.append("needs: a guess is your own estimate from other rows; noise is random noise in every answer.")
        if any(row.vacuous for row in self.methods if not row.reference):
            notes.append("no guarantee: the half-width is at least half the range, so the interval excludes nothing.")
        return notes

    def _cells(self, row: PlannedMethod) -> tuple[str, ...]:
        if self.half_width is None:
            middle: tuple[str, ...] = (length(row.before_failures), length(row.sure_pass))
        else:
            middle = (count(row.n_required),)
            if self.n is not None:
                fits = "none" if row.max_failures is None else count(row.max_failures)
                middle += (count(row.max_questions), fits)
        marks = ["recommended"] if row.name == self.recommended else []
        marks += [] if row.certified else ["not certified"]
        marks += ["no guarantee"] if row.vacuous else []
        marks += [] if row.answers == "values" else [f"{row.answers} only"]
        needs = ", ".join(_SHORT.get(need, need) for need in row.needs) or "-"
        return (row.name, length(row.half_width), *middle, needs, "; ".join(marks))

    def title(self) -> str:
        """Return what was asked for, in one line."""
        rows = "rows as needed" if self.n is None else f"{self.n:,} rows"
        wanted = "" if self.half_width is None else f", half-width {self.half_width:g}"
        span = "" if (self.low, self.high) == (0, 1) else f", values in [{self.low:g}, {self.high:g}]"
        return (
            f"{rows}, {self.questions:,} questions, {self.failures:,} failures, "
            f"confidence {self.confidence:g}{wanted}{span}"
        )

    def words(self) -> list[str]:
        """Return the plan in sentences: which method to use, which methods give no guarantee, and what would work
        instead.
        """
        return words(self)

    def __str__(self) -> str:
        table = [self.columns(), *self.cells()]
        sizes = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in table]
        return "\n".join(
            [
                *(self.title(), "", self.words()[0], "", lines[0], "  ".join("-" * size for size in sizes), *lines[1:]),
                *("", *self.notes(), "", *self.words()[1:]),
            ]
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns())
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.cells()
        )
        first, *others = (f"<p>{html.escape(sentence)}</p>" for sentence in self.words())
        rest = "".join([*(f"<p>{html.escape(note)}</p>" for note in self.notes()), *others])
        caption = html.escape(self.title())
        table = f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{first}{table}{rest}"

    def curve(self, questions: Sequence[int] | None = None, progress: Progress | None = None) -> list[dict[str, Any]]:
        """Return the half-width of every method at other numbers of questions. `plot` draws these numbers.

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
        return curve(self, questions, progress)

    def plot(self, questions: Sequence[int] | None = None, progress: Progress | None = None) -> Any:
        """Draw the half-width against the number of questions, both on log scales, as an Altair chart.

        It takes the same arguments as `curve`. It needs the extra `plots` (`pip install 'holdfast[plots]'`).
        """
        return plot(self, questions, progress)


def length(value: float | None) -> str:
    """Return a length as people read it.

    Examples
    --------
    >>> length(0.0721234), length(float("inf")), length(None)
    ('0.0721', 'none', '')
    """
    if value is None:
        return ""
    return "none" if math.isinf(value) else f"{value:.3g}"


def count(value: int | None) -> str:
    """Return a count as people read it.

    Examples
    --------
    >>> count(17341106), count(None), count(10**15)
    ('17,341,106', 'over 10^15', '10^15 or more')
    """
    if value is None:
        return "over 10^15"
    return "10^15 or more" if value >= 10**15 else f"{value:,}"


def need_n(plan: HoldoutPlan) -> int:
    """Return the plan's rows, or an error that asks for them."""
    if plan.n is None:
        raise InvalidParameter("to draw half-widths against questions, the plan needs n; call plan with n")
    return plan.n


def plan(
    n: int | None = None,
    questions: int = 1000,
    failures: int | None = None,
    confidence: float = 0.95,
    half_width: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    guess: float | bool | None = None,
    binary: bool = False,
) -> HoldoutPlan:
    """Compare the half-width that every method guarantees for a use of a holdout, with the recommended method first.

    All answers of a run are within the half-width of their population values together, with the given confidence, for
    any analyst who chooses questions after seeing earlier answers. Give `n` to see half-widths. Give `half_width` to
    see how many rows each method needs. Give both to see also how many questions and failures each method allows.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    questions : int
        Questions in all, fixed in advance.
    failures : int
        Failures (overfits) after which the run will still go on; 10 unless given, or `questions` if that is less.
    confidence : float
        Probability with which every certified answer is right.
    half_width : float
        Wanted half-width.
    low, high : float
        Range of the per-row values.
    guess : float or bool
        Where the means are expected, e.g. 0.95 for accuracies near 95%: adds intervals that are narrower there.
        False: no guesses will be available, so methods that need one are not recommended.
    binary : bool
        Whether every value is `low` or `high`, e.g. right or wrong; with a `guess`, adds exact binomial intervals.

    Returns
    -------
    HoldoutPlan
        Prints as a table; `to_dict()`, `plot()`, `curve()`. Time: below a second, a second or two more with both `n`
        and `half_width`.

    Notes
    -----
    Widths come from the theorems that each row names; `holdfast bound ID` has their statements. For `guess-and-check`
    the half-width is the least tolerance that a pass can certify at the last question after `failures` failures that
    showed corrected values; a guess passes only if it is closer to the holdout mean than tolerance minus half-width.
    Thresholdout's theorems promise more: a guess that is off by at most half of the half-width passes. `sure_pass` puts
    all methods on that footing. Thresholdout's budget is `failures`, counted as its paper does: it ends with that
    failure, while the other methods go on after it, so the comparison favours Thresholdout.

    Examples
    --------
    >>> found = plan(10_000, questions=1000, failures=10)
    >>> found.recommended, round(found["guess-and-check"].half_width, 3)
    ('guess-and-check', 0.066)
    >>> found["thresholdout-paper"].vacuous
    True
    """
    use, length = _use(questions, failures, confidence, low, high, guess, binary)
    n = None if n is None else arguments.whole("n", n, at_least=1, at_most=LIMIT)
    if n is None and half_width is None:
        raise InvalidParameter(
            "neither n nor half_width was given; give n, a whole number of at least 1, or half_width, or both"
        )
    if half_width is not None:
        # below 1e-9 not even 10**15 rows suffice, from half of the range on a width is vacuous
        half_width = arguments.real("half_width", half_width, at_least=1e-9 * length, below=length / 2)
    rows = [_row(method, n, use, half_width, length) for method in METHODS.values() if method.applies(use)]
    return HoldoutPlan(
        n=n,
        questions=use.questions,
        failures=use.failures,
        confidence=use.confidence,
        half_width=half_width,
        low=float(low),
        high=float(high),
        guess=guess,
        binary=binary,
        methods=tuple(sorted(rows, key=lambda row: _rank(row, by_rows=n is None))),
    )


def _use(
    questions: Any, failures: Any, confidence: Any, low: Any, high: Any, guess: Any, binary: Any
) -> tuple[Use, float]:
    questions = arguments.whole("questions", questions, at_least=1, at_most=LIMIT)
    if failures is None:
        failures = min(10, questions)
    failures = arguments.whole("failures", failures, at_least=0, at_most=questions)
    confidence = arguments.real("confidence", confidence, above=0, below=1)
    if not 1 - confidence >= LEAST_BETA:
        raise InvalidParameter(f"confidence must be at most 1 - {LEAST_BETA:g}, got {confidence}")
    low, high = arguments.value_range(low, high)
    if not isinstance(binary, bool):
        raise InvalidParameter("binary must be True or False")
    length = high - low
    near = None
    if not (guess is None or isinstance(guess, bool)):
        near = (arguments.real("guess", guess, at_least=low, at_most=high) - low) / length
    return Use(questions, failures, confidence, near, binary), length


def _row(method: Method, n: int | None, use: Use, half_width: float | None, length: float) -> PlannedMethod:
    tau = None if half_width is None else half_width / length
    required = None if tau is None else least_rows(method, use, tau)
    at = n if n is not None else required
    width = method.width(at, use) if at is not None else Found(math.inf)
    vacuous = not width.half_width < 0.5
    if tau is None and vacuous:
        required = least_rows(method, use, math.nextafter(0.5, 0))
    both = n is not None and tau is not None
    return PlannedMethod(
        name=method.name,
        half_width=width.half_width * length,
        certified=width.certified,
        vacuous=vacuous,
        n_required=required,
        max_questions=most_questions(method, n, use, tau) if both else None,  # type: ignore[arg-type]
        max_failures=most_failures(method, n, use, tau) if both else None,  # type: ignore[arg-type]
        sure_pass=None if width.sure_pass is None else width.sure_pass * length,
        needs=method.needs,
        answers=method.answers,
        reference=method.reference,
        theorem=method.theorem,
        says=method.says,
        extra={name: value * length for name, value in width.extra.items()},
    )


def _rank(row: PlannedMethod, by_rows: bool) -> tuple[bool, bool, float]:
    """Adaptive before the limit, proved before not, then the narrower, or the one that needs fewer rows."""
    rows = math.inf if row.n_required is None else float(row.n_required)
    return row.reference, not row.certified, rows if by_rows else row.half_width
