"""Planning a study: from the questions that are intended to the policy that answers them with the narrowest intervals.

A study names its questions: their kinds, groups and ranges, a guess where there is one, how many there are of each, and
how many of them will be chosen after earlier answers were seen. Every policy that can answer all of them is tried with
the widths that a guard under it would give, at its last question. Nothing is read but the study.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.accounting import GDP, Cost, PureDP
from holdfast.bounds import interval
from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.core import arguments
from holdfast.data.expressions import expression
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.columns import check_declared, declared_columns
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import BoundQuestion, Question, Situation
from holdfast.guard.questions.expressions import spelled
from holdfast.guard.questions.noisy import count_interval, unit_interval
from holdfast.guard.questions.planned import answers_of
from holdfast.guard.questions.words import plain_words
from holdfast.guard.state import Progress
from holdfast.holdout.error_budget import Course, log_cell_weight
from holdfast.holdout.intervals.mean import ROOM

_FIELDS = ("n", "confidence", "failures", "privacy", "columns", "questions")
_MOST_LINES = 200
_MOST_QUESTIONS = 10**6
_EPSILONS = [10.0 ** (place / 2) for place in range(-9, 2)]
"""Caps of private questions that are tried, before the search around the best of them."""


@dataclass(frozen=True)
class Intended:
    """Some questions that are alike, as a study names them.

    `adaptive` is how many of the `count` will be chosen after earlier answers were seen; all of them if not given.
    """

    question: Mapping[str, Any]
    count: int = 1
    adaptive: int = 1

    @property
    def guessed(self) -> dict[str, Any] | None:
        """The question answered without noise: with its guess, or of a kind that needs none; None where it cannot."""
        return Question.kinds()[self.question["kind"]].without_noise(self.question)

    @property
    def noisy(self) -> dict[str, Any] | None:
        """The same answered with noise; None where no noise answers it."""
        plain = {name: value for name, value in self.question.items() if name not in _OF_GUESSES}
        return Question.kinds()[self.question["kind"]].with_noise(plain)

    @property
    def words(self) -> str:
        """The kind and what it asks."""
        return plain_words(self.question)


_DECLARE = "a study declares each column: its low and high, its categories, or its kind, such as 'text'"
_OF_GUESSES = ("guess", "guesses", "tolerance", "show", "guess_rows", "side", "risk", "stake", "where_share")


@dataclass(frozen=True)
class Study:
    """The questions that a study intends to ask, and what is declared about its rows.

    Attributes
    ----------
    n : int
        Rows.
    questions : tuple of Intended
        What will be asked.
    schema, columns
        The columns that the questions name, and what will be declared about them.
    confidence : float
        Probability that every interval holds.
    failures : int
        How many guesses are expected to be wrong.
    privacy : PureDP or GDP, optional
        What everything that is released must cost at most; without it nothing has to be private. The policy then
        answers nothing without noise.

    Examples
    --------
    >>> study = Study.from_dict({
    ...     "n": 100_000,
    ...     "columns": {"age": {"low": 0, "high": 120}},
    ...     "questions": [{"kind": "mean", "expression": "age", "count": 20}],
    ... })
    >>> plan = plan_study(study, changes=False)
    >>> plan.name, round(plan.widths[0].at_the_end, 2)
    ('planned means', 1.49)
    """

    n: int
    questions: tuple[Intended, ...]
    schema: Schema
    columns: Mapping[str, Any] | None = field(default=None, hash=False)
    confidence: float = 0.95
    failures: int = 0
    privacy: Cost | None = None

    @property
    def count(self) -> int:
        """The number of questions in the study, with repetitions."""
        return sum(one.count for one in self.questions)

    @property
    def adaptive(self) -> int:
        """The number of questions that will be chosen after earlier answers were seen."""
        return sum(one.adaptive for one in self.questions)

    @classmethod
    def from_dict(cls, plain: Any, schema: Schema | None = None, n: int | None = None) -> Study:
        """Make a study from plain data. With `schema` and `n` it is a study of existing rows, whose columns and number
        these are.
        """
        if not isinstance(plain, Mapping):
            raise InvalidParameter("a study must be a table with the fields n (number of rows) and questions")
        unknown = [str(name) for name in plain if name not in _FIELDS]
        if unknown:
            raise InvalidParameter(
                f"a study has no field {', '.join(unknown)[:100]}; its fields are {', '.join(_FIELDS)}"
            )
        declared, kinds = _columns(plain.get("columns") or {})
        columns = declared_columns(declared) if declared else None
        known = Schema(kinds) if schema is None else schema
        check_declared(columns, known)
        rows = plain.get("n") if plain.get("n") is not None else n
        if rows is None:
            raise InvalidParameter("n must be given: it is the number of rows of the study")
        lines = plain.get("questions")
        if not isinstance(lines, (list, tuple)) or not 0 < len(lines) <= _MOST_LINES:
            raise InvalidParameter(f"questions must be a list of 1 to {_MOST_LINES} questions")
        study = cls(
            arguments.whole("n", rows, at_least=2, at_most=10**12),
            tuple(_intended(line, at, known) for at, line in enumerate(lines, start=1)),
            known,
            columns,
            arguments.probability("confidence", plain.get("confidence", 0.95)),
            arguments.whole("failures", plain.get("failures", 0), at_least=0),
            _cap(plain.get("privacy")),
        )
        if study.count > _MOST_QUESTIONS:
            raise InvalidParameter(
                f"questions must be at most {_MOST_QUESTIONS:,}, with repetitions, got {study.count:,}"
            )
        return study

    @classmethod
    def read(cls, path: Path | str) -> Study:
        """Read a study from a TOML file, or from a JSON file if the file's name ends in `.json`."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidParameter(f"study must be a file that can be read, got {str(path)[:200]!r}") from None
        return cls.from_text(text, "JSON" if Path(path).suffix.lower() == ".json" else "TOML")

    @classmethod
    def from_text(cls, text: str, form: str = "TOML", schema: Schema | None = None, n: int | None = None) -> Study:
        """Read a study from a text in TOML or JSON."""
        try:
            plain = tomllib.loads(text) if form == "TOML" else json.loads(text)
        except (tomllib.TOMLDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise InvalidParameter(f"study must be a file in valid {form}: {error}") from None
        return cls.from_dict(plain, schema, n)


@dataclass(frozen=True)
class StudyWidth:
    """How wide the intervals of some questions would be at the last question of the study.

    `while_asking` is what a guess that passes, or a noisy answer, is good to; None where that depends on the rows, as
    for private quantiles. `at_the_end` is what the exact interval will have after `close`; where noise was added it is
    the same, or that of values which lie evenly over the range. `relative` is the last one as a part of the range.
    """

    words: str
    count: int
    answered: str
    while_asking: float | None
    at_the_end: float | None
    relative: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class StudyPlan:
    """The policy that makes the narrowest intervals for a study, next to the others, and what would change them.

    Attributes
    ----------
    name : str
        How it answers: "checks of guesses", "planned means", or "checks and private answers".
    policy : Policy
        Ready to open a guard with.
    widths : tuple of StudyWidth
        For each line of the study.
    score : float
        What is made small: the mean over the lines of the study of the half-width at the end, as a part of the range
        and at most 1/2. Every line counts alike.
    others : mapping
        The other policies: their score, or why they cannot answer the study.
    changes : mapping
        The score after a change of the study, by the same policy planned anew.
    remarks : tuple of str
        What else to know.
    """

    name: str
    policy: Policy
    widths: tuple[StudyWidth, ...]
    score: float
    others: Mapping[str, float | str]
    changes: Mapping[str, float] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether the intervals are not vacuous."""
        return self.score < 0.5

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "name": self.name,
            "policy": self.policy.to_dict(),
            "widths": [one.to_dict() for one in self.widths],
            "score": self.score,
            "others": dict(self.others),
            "changes": dict(self.changes),
            "remarks": list(self.remarks),
            "feasible": self.feasible,
        }


def plan_study(study: Study, *, changes: bool = True) -> StudyPlan:
    """Return the policy with which a guard answers all questions of a study with the narrowest intervals.

    Parameters
    ----------
    study : Study
        What will be asked.
    changes : bool
        Whether to say what would change the widths too, which takes several times as long.

    Returns
    -------
    StudyPlan
        The narrowest plan, the others, and what would change its widths. Time: a second or two for each of them.

    Raises
    ------
    InvalidParameter
        No policy can answer all questions of the study, with the reason of each.

    Examples
    --------
    >>> asked = [{"kind": "check", "expression": "anything", "low": 0, "high": 1, "guess": 0.5, "count": 10}]
    >>> plan = plan_study(Study.from_dict({"n": 10_000, "questions": asked}), changes=False)
    >>> plan.name, plan.policy.questions
    ('checks of guesses', 10)
    """
    plans: dict[str, StudyPlan] = {}
    others: dict[str, float | str] = {}
    for name, make in _WAYS.items():
        least = min((plan.score for plan in plans.values()), default=math.inf)
        try:
            if make is _means and _about_means(study) > 1.5 * least:
                others[name] = _about_means(study)  # no search for a schedule gains so much
            else:
                plans[name] = make(study)
        except HoldfastError as error:
            others[name] = str(error)
    if not plans:
        listed = "; ".join(f"{name}: {why}" for name, why in others.items())
        raise InvalidParameter(
            f"questions must be questions that one policy can answer together, and no policy can. {listed}"
        )
    best = min(plans.values(), key=lambda plan: plan.score)
    others |= {name: plan.score for name, plan in plans.items() if plan is not best}
    return replace(best, others=others, changes=dict(_changes(study, best)) if changes else {})


# --- Reading ----------------------------------------------------------------------------------------------------------


def _columns(given: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """What is declared about columns, and their kinds: given as `kind`, else by what is declared."""
    if not isinstance(given, Mapping):
        raise InvalidParameter("columns must be a table with a declaration for each column, such as low and high")
    declared, kinds = {}, {}
    for name, about in given.items():
        if not isinstance(about, Mapping):
            raise InvalidParameter(
                f"columns, at {str(name)[:60]!r}: the declaration must be a table with low and high, or with categories"
            )
        kind = about.get("kind")
        if kind is not None and not isinstance(kind, str):
            raise InvalidParameter(f"columns, at {str(name)[:60]!r}: kind must be a text such as 'number'")
        categories = about.get("categories")
        first = categories[0] if isinstance(categories, (list, tuple)) and categories else None
        usual = "number" if first is None else {bool: "boolean", int: "integer"}.get(type(first), "text")
        kinds[str(name)] = (kind or usual) + ("" if about.get("nullable") is True else " not null")
        plain = {key: value for key, value in about.items() if key not in ("kind", "nullable")}
        if plain:
            declared[str(name)] = plain
    if not kinds:
        kinds = {"anything": "number not null"}
    return declared, kinds


def _intended(line: Any, at: int, schema: Schema) -> Intended:
    """One line of a study."""
    if not isinstance(line, Mapping) or line.get("kind") not in Question.kinds():
        known = ", ".join(kind for kind, made in Question.kinds().items() if not made.needs_board and not made.ends_run)
        raise InvalidParameter(f"questions, number {at}: kind must be one of {known}")
    plain = {name: value for name, value in line.items() if name not in ("count", "adaptive")}
    kind = Question.kinds()[plain["kind"]]
    if kind.needs_board or kind.ends_run:
        raise InvalidParameter(
            f"questions, number {at}: a {kind.kind} cannot be part of a study, because it cannot be planned"
        )
    try:
        count = arguments.whole("count", line.get("count", 1), at_least=1, at_most=_MOST_QUESTIONS)
        adaptive = arguments.whole("adaptive", line.get("adaptive", count), at_least=0, at_most=count)
        Question.from_dict(kind.without_noise(plain) or plain)
        _check_columns(plain, schema)
    except InvalidParameter as error:
        raise InvalidParameter(f"questions, number {at}: {error}") from None
    return Intended(plain, count, adaptive)


def _check_columns(plain: Mapping[str, Any], schema: Schema) -> None:
    """Refuse a question about columns that the study does not declare, before any policy is tried."""
    try:
        for name in ("expression", "a", "b", "first", "second", "where"):
            if plain.get(name) is not None:
                expression(plain[name], schema)
    except InvalidParameter as error:
        raise InvalidParameter(f"{error}; {_DECLARE}") from None
    by = plain.get("by", plain.get("column", ()))
    for name in (by,) if isinstance(by, str) else by if isinstance(by, (list, tuple)) else ():
        if name not in schema:
            raise InvalidParameter(
                f"by and column must be names of columns of the study, got {str(name)[:60]!r}; {_DECLARE}"
            )


def _cap(privacy: Any) -> Cost | None:
    """What everything may cost, as text or plain data."""
    from holdfast.inference.after_looking.spent import parse

    if privacy is None:
        return None
    try:
        cost: Any = parse(privacy) if isinstance(privacy, str) else Cost.from_dict(dict(privacy))
    except (InvalidParameter, TypeError, ValueError):
        cost = None
    if not isinstance(cost, (PureDP, GDP)) or cost.is_zero:
        raise InvalidParameter(
            f"privacy must be pure-dp:EPSILON or gdp:MU, where EPSILON or MU is a positive number, got {privacy!r}"
        )
    return cost


# --- Policies ---------------------------------------------------------------------------------------------------------


def _checks(study: Study, near: Policy | None = None) -> StudyPlan:
    """All questions without noise."""
    if study.privacy is not None:
        raise InvalidParameter(
            "answers without noise are not differentially private, and the study has a privacy budget that only "
            "allows noisy answers"
        )
    asked = [one.guessed for one in study.questions]
    lacking = [one.words for one, plain in zip(study.questions, asked, strict=True) if plain is None]
    if lacking:
        raise InvalidParameter(f"the study gives no guess for {lacking[0]}")
    policy = Policy(study.confidence, questions=study.count, columns=study.columns, final=0.0)
    return replace(_planned("checks of guesses", study, policy, asked), remarks=(_NO_FINAL,))


def _means(study: Study, near: Policy | None = None) -> StudyPlan:
    """All questions as noisy means of a plan."""
    if isinstance(study.privacy, PureDP):
        raise InvalidParameter("Gaussian noise needs a privacy budget gdp:MU, and the study's budget is pure-dp")
    policy = Policy(study.confidence, study.privacy, answers="means", questions=study.count, columns=study.columns)
    asked = [one.noisy or one.guessed for one in study.questions]
    plan = _planned("planned means", study, policy, asked)
    mu = answers_of(policy, study.n).mu
    sentence = f"all answers together cost mu {mu:.3g} (Gaussian differential privacy)"
    if isinstance(study.privacy, GDP) and mu < 0.999 * study.privacy.mu:
        sentence += f", less than the cap of {study.privacy.mu:g}: spending more would only widen the intervals"
    return replace(plan, remarks=(sentence,))


def _about_means(study: Study) -> float:
    """About what planned means give where no cap binds; 0 where they answer no such study, and say so quickly."""
    if study.privacy is not None or any(one.noisy is None or one.noisy["kind"] != "mean" for one in study.questions):
        return 0.0
    width = interval.posterior_shift(study.n, study.count, left_to_chance(study.confidence)).half_width
    return min(width / 1.7, 0.5)


def _mixed(study: Study, near: Policy | None = None) -> StudyPlan:
    """Guesses without noise, and the others with it, under the pure cap that is best."""
    if isinstance(study.privacy, GDP):
        raise InvalidParameter(
            "a mix of answers with and without noise needs a privacy budget pure-dp:EPSILON, and the study's budget "
            "is gdp"
        )
    asked = [one.noisy if study.privacy is not None else one.guessed or one.noisy for one in study.questions]
    lacking = [one.words for one, plain in zip(study.questions, asked, strict=True) if plain is None]
    if lacking:
        raise InvalidParameter(f"no noise answers {lacking[0]}")
    noisy, all_private = [plain for plain in asked if plain is not None and _is_noisy(plain)], study.privacy is not None
    if not noisy:
        raise InvalidParameter("every question has a guess, so no noise is needed")
    many = sum(one.count for one, plain in zip(study.questions, asked, strict=True) if plain and _is_noisy(plain))

    def at(epsilon: float) -> StudyPlan:
        epsilon = float(f"{epsilon:.3g}")
        cap, each = PureDP(epsilon), PureDP(float(f"{epsilon / many * (1 - 1e-6):.6g}"))
        policy = Policy(
            study.confidence,
            cap,
            questions=study.count,
            spend=each,
            columns=study.columns,
            final=0.0,
            all_private=all_private,
        )
        return _planned("checks and private answers", study, policy, asked)

    most = study.privacy.epsilon if isinstance(study.privacy, PureDP) else math.inf
    first = _EPSILONS if near is None or not isinstance(near.privacy, PureDP) else [near.privacy.epsilon]
    best = _narrowest(at, [*(one for one in first if one < most), *([most] if most < math.inf else [])])
    for step in (1.8, 1.3):
        sides = [one for one in (_epsilon(best) / step, _epsilon(best) * step) if one < most]
        best = min([best, _narrowest(at, sides)], key=lambda plan: plan.score) if sides else best
    cap = _epsilon(best)
    last = _ALL_PRIVATE if all_private else _NO_FINAL
    sentences = [f"every interval pays for the whole cap of epsilon {cap:g} from the first question on", last]
    if cap < 0.99 * most < math.inf:
        sentences.append(f"less than the cap of {most:g} is planned: spending more would only widen the intervals")
    return replace(best, remarks=tuple(sentences))


def _narrowest(at: Callable[[float], StudyPlan], epsilons: Sequence[float]) -> StudyPlan:
    """The plan of the best cap among some; the last refusal where none of them leaves an interval."""
    plans, refusal = [], InvalidParameter("no cap leaves an interval")
    for epsilon in epsilons:
        try:
            plans.append(at(epsilon))
        except HoldfastError as error:  # its noise leaves the grid, or no share is left
            refusal = InvalidParameter(str(error))
    if not plans:
        raise refusal
    return min(plans, key=lambda plan: plan.score)


def _final(study: Study, near: Policy | None = None) -> StudyPlan:
    """All questions fixed before any row is read, and asked at once: exact values at equal parts of what may fail."""
    if study.privacy is not None:
        raise InvalidParameter(
            "a final shows exact values, which are not differentially private, and the study has a privacy budget"
        )
    if study.adaptive:
        raise InvalidParameter(
            f"in this study {study.adaptive} of the questions are chosen after earlier answers, but the questions of "
            "a final are all asked at once"
        )
    policy = Policy(study.confidence, kinds=("final",), final=1.0, columns=study.columns)
    log_share = GuardBudget(study.n, policy).final_log_share(Course()) - math.log(study.count)
    widths, ranges = [], set()
    for one in study.questions:
        plain = one.question
        if plain["kind"] not in ("mean", "check") or plain.get("where") is not None or plain.get("where_present"):
            raise InvalidParameter(f"a final answers only means of all rows, and no {one.words}")
        names = ("low", "high", "default")
        rows = spelled(plain["expression"], study.schema, *(plain.get(name) for name in names), columns=study.columns)
        ranges.add((rows.low, rows.high))
        share = 0.5 if plain.get("guess") is None else (plain["guess"] - rows.low) / (rows.high - rows.low)
        ends = count_interval(study.n) if rows.binary else unit_interval(study.n)
        lower, upper = ends.over(share, share, log_share)
        half = (upper - lower) / 2
        length = rows.high - rows.low
        widths.append(StudyWidth(one.words, one.count, "exactly, in one final", half * length, half * length, half))
    if len(ranges) > 1:
        raise InvalidParameter(
            "all questions of a final must be about values with the same range, and these questions have several ranges"
        )
    return StudyPlan("a final of fixed questions", policy, tuple(widths), _score(widths), {})


_NO_FINAL = "nothing is kept for a final: close ends the run and shows every exact interval"
_ALL_PRIVATE = "every answer has noise (all_private): no guess is checked without it, and no end shows exact values"
_WAYS: dict[str, Callable[..., StudyPlan]] = {
    "a final of fixed questions": _final,
    "checks of guesses": _checks,
    "checks and private answers": _mixed,
    "planned means": _means,
}


def _epsilon(plan: StudyPlan) -> float:
    cap = plan.policy.privacy
    assert isinstance(cap, PureDP)
    return cap.epsilon


def _is_noisy(plain: Mapping[str, Any]) -> bool:
    return Question.kinds()[plain["kind"]].is_private(plain)


def _planned(name: str, study: Study, policy: Policy, asked: Sequence[Mapping[str, Any] | None]) -> StudyPlan:
    """The widths of a study under a policy, at its last question."""
    scene = _Scene(study, policy, sum(one.count for one, plain in zip(study.questions, asked, strict=True) if plain))
    widths = tuple(
        scene.width(one, plain) for one, plain in zip(study.questions, asked, strict=True) if plain is not None
    )
    return StudyPlan(name, policy, widths, _score(widths), {})


def _score(widths: Sequence[StudyWidth]) -> float:
    known = [min(one.relative, 0.5) for one in widths if one.relative is not None]
    return sum(known) / len(known) if known else 0.5


@dataclass(frozen=True)
class _Scene:
    """The end of a study under a policy."""

    study: Study
    policy: Policy
    count: int

    @cached_property
    def situation(self) -> Situation:
        """At the last question, after the guesses that are expected to fail have failed."""
        before = self.count - 1
        failed = min(self.study.failures, before) if self.policy.has_looks else 0
        course = Course(before, before if self.policy.has_looks else 0, failed, 0.0, failed * log_cell_weight(1))
        budget = GuardBudget(self.study.n, self.policy)
        return Situation(budget, Progress(self.count, before, 0, course), self.policy.privacy)

    def width(self, one: Intended, plain: Mapping[str, Any]) -> StudyWidth:
        """Return how wide the answers to some questions are."""
        kind = Question.kinds()[plain["kind"]]
        if kind.kind not in (self.policy.kinds or ()):
            raise InvalidParameter(f"such a policy does not answer {one.words}")
        bound = Question.from_dict(dict(plain)).bind(self.study.schema, self.study.n, self.policy)
        shown = bound.half_width(self.situation)
        likely = bound.likely_half_width(self.situation)
        noisy = self.policy.answers == "means" or _is_noisy(plain)
        end = likely if noisy else self._exact(bound, plain, shown)
        low, high = kind.axis(bound.question, {"interval": None, "value": None})
        relative = None if end is None or not high > low else end / (high - low)
        how = "with the plan's noise" if self.policy.answers == "means" else "with noise" if noisy else "without noise"
        how += ", for values spread evenly" if shown is None and likely is not None else ""
        return StudyWidth(one.words, one.count, how, shown, end, relative)

    def _exact(self, bound: BoundQuestion, plain: Mapping[str, Any], shown: float | None) -> float | None:
        """The exact interval that `close` shows: the least tolerance that a guess could pass with."""
        least = bound.least_tolerance(self.situation)
        if least is not None or shown is None:
            return least
        return shown if plain.get("tolerance") is not None else shown / ROOM


# --- What would change it ---------------------------------------------------------------------------------------------


def _changes(study: Study, plan: StudyPlan) -> Iterator[tuple[str, float]]:
    """The score after each change that the same way of answering can take."""
    for name, changed in _variants(study, plan):
        try:
            yield name, _WAYS[plan.name](changed, plan.policy).score
        except HoldfastError:
            continue


def _variants(study: Study, plan: StudyPlan) -> Iterator[tuple[str, Study]]:
    yield "twice the rows", replace(study, n=2 * study.n)
    halved = tuple(replace(one, count=-(-one.count // 2), adaptive=-(-one.adaptive // 2)) for one in study.questions)
    if halved != study.questions:
        yield "half the questions", replace(study, questions=halved)
    if any(one.answered == "without noise" for one in plan.widths):
        yield "one wrong guess more", replace(study, failures=study.failures + 1)
    if study.confidence < 0.99:
        yield "confidence 0.99", replace(study, confidence=0.99)
    if study.privacy is not None:
        cap = study.privacy
        double: Cost | None = GDP(2 * cap.mu) if isinstance(cap, GDP) else None
        double = PureDP(2 * cap.epsilon) if isinstance(cap, PureDP) else double
        yield "twice the privacy cap", replace(study, privacy=double)
