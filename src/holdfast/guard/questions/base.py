"""What every kind of question is: declared fields, a bound form with a price and a statistic, an answer, and words.

A kind is one file of this package: a frozen dataclass below `Question`, and the `BoundQuestion` that its `bind` makes.
Every module of the package is loaded with it, and defining the class registers the kind, so a new file is all that a
new kind takes (docs/extend.md).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from holdfast.accounting import Cost
from holdfast.bounds.one_question.known_predictions import unlike_rows
from holdfast.core.guarantee import Guarantee
from holdfast.core.strict_json import to_canonical_json
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.questions.fields import Field, fields_of
from holdfast.holdout.error_budget import Course, Message
from holdfast.holdout.transcript import Exact
from holdfast.mechanisms.answer import confirmed_words, wider_words
from holdfast.noise.entropy import Source

if TYPE_CHECKING:  # a policy lists the kinds that may be asked, so the kinds cannot import it
    from holdfast.guard.guard_budget import GuardBudget
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress

Measured = Sequence[tuple[int, ...]]
"""Exact statistics, one tuple for each that was asked for. Secret."""

MIXED = "rows independent and identically distributed, and not looked at except through this guard"
"""What every interval of a guard assumes."""
MIXED_INDEPENDENT = "rows independent, each of its own distribution, and not looked at except through this guard"
"""What it assumes where the plan of a guard of means promises no common distribution."""
SEPARATE = "; analysts do not share answers"
"""What it assumes besides where analysts have separate histories."""
POOLED = (
    "rows independent, and within each epoch identically distributed, and not looked at except through this guard; the "
    "confidence is that of all answers over several epochs together, next to that of each epoch"
)
"""What an answer over all epochs assumes, and what its confidence is."""


@dataclass(frozen=True, repr=False)
class Hidden:
    """The states that a holdout keeps in the ledger: what is secret, and what anyone may know."""

    transaction: Transaction

    def read(self, name: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the public and the secret state of a holdout; None for what is not there."""
        return self.transaction.account(name), self.transaction.secret(name)

    def put(self, name: str, public: Mapping[str, Any], secret: Mapping[str, Any]) -> None:
        """Keep both with the answer that is about to be written."""
        self.transaction.put_account(name, public)
        self.transaction.put_secret(name, secret)


@dataclass(frozen=True)
class Situation:
    """Where a run stands when a question is answered: all of it public but the noise that will come.

    `spent` is what private questions have cost, this one included, for odometers. `source` is None outside tests.
    `hidden` is where a holdout keeps what must not be shown. `prior` is the course at the beginning of the batch that
    the question is part of, where it is part of one.
    """

    budget: GuardBudget
    progress: Progress
    spent: Cost | None = None
    source: Source | None = None
    hidden: Hidden | None = field(default=None, repr=False)
    prior: Course | None = None

    @property
    def n(self) -> int:
        """Rows of the sample that questions before a final read."""
        return self.budget.n

    @property
    def course(self) -> Course:
        """What was shown so far."""
        return self.progress.course

    @property
    def log_share(self) -> float:
        """`ln` of the level at which the next interval may be computed as if its question had been fixed before."""
        return self.staked_share(None)

    def staked_share(self, stake: float | None) -> float:
        """Return the same for a question that names a spending of its own."""
        spending = None if stake is None else self.budget.budget.require_stake(self.course, stake)
        budget, course = self.budget, self.course
        log_share = budget.require(budget.log_share(course, self.spent, prior=self.prior, spending=spending))
        return unlike_rows(min(log_share, -1.0)) if budget.others else log_share  # epochs need not be alike

    @property
    def noise_share(self) -> float:
        """With what probability the next answer's noise may be larger than its interval allows."""
        return self.budget.noise_share(self.course)

    @property
    def rows_share(self) -> float:
        """With what probability the interval about these rows may miss: it is about one answer's noise alone."""
        return 1.0 - self.budget.policy.confidence

    def guarantee(self, theorem: str, **parameters: Any) -> Guarantee:
        """Return what an answer depends on, next to the theorem of its mechanism: the share and the cap."""
        if self.budget.others:
            return Guarantee(theorem, parameters | self.budget.to_dict(), POOLED)
        separate = self.budget.policy.histories == "separate"
        return Guarantee(theorem, parameters | self.budget.to_dict(), MIXED + (SEPARATE if separate else ""))


@dataclass(frozen=True)
class Settled:
    """What a question shows.

    `message` is what the prior weighs; None where noise was added, whose privacy has paid for it. `asked` is 0 for a
    question that claims nothing, and `extra` what a stake took beyond the question's turn. `finishes` says that exact
    values were shown. `log_share` is the share in full, which a reveal needs, and `secret` is what a reveal will show
    and no rows could tell again.
    """

    value: Any
    interval: Any
    guarantee: Guarantee
    passed: bool | None = None
    message: Message | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    asked: int = 1
    extra: float = 0.0
    finishes: bool = False
    log_share: float | None = None
    secret: Mapping[str, Any] | None = field(default=None, repr=False)


class BoundQuestion(ABC):
    """A question checked against a sample's schema and a policy, ready to be priced and answered."""

    question: Mapping[str, Any]
    statistics: tuple[Statistic, ...]
    cost: Cost | None
    warms_late: ClassVar[bool] = False
    counts: bool = True
    """Whether it counts among the questions of the policy: it does not where it claims nothing, or ends the run."""
    shows_rows: bool = True
    """Whether its answer depends on the rows at all; one that does not is taken as long as there is a final to come."""
    ends_run: ClassVar[bool] = False
    """Whether it shows exact values, after which nothing more is asked of the explored rows."""
    is_act: ClassVar[bool] = False
    """Whether it does something, so that the same again is done again; what only asks has its stored answer, free."""
    pools: ClassVar[bool] = False
    """Whether its statistics add up over several epochs, whose rows need not be alike."""

    @property
    def kind(self) -> str:
        """The kind of the question."""
        return str(self.question["kind"])

    @cached_property
    def digest(self) -> str:
        """The question's identity: the same question in any spelling has the same digest."""
        return hashlib.sha256(to_canonical_json(self.question).encode()).hexdigest()

    def require(self, view: View) -> None:  # noqa: B027  (most kinds have nothing to ask for)
        """Raise where the question can be answered no more, by what anyone may know."""

    def require_new(self, progress: Progress) -> None:  # noqa: B027  (most kinds are asked at any time)
        """Raise where the question comes too late to be paid for, by what anyone may know."""

    def require_useful(self, situation: Situation) -> None:  # noqa: B027  (most kinds always say something)
        """Raise `QuestionRefused` where no rows could make the answer useful, by what anyone may know."""

    def prospect(self, situation: Situation) -> Mapping[str, Any] | None:
        """Return what a test could show, before it is asked; None for all other kinds. Public."""
        return None

    def without_score(self) -> BoundQuestion | None:
        """Return the question that takes its place where there is no room to show anything; None for most kinds.

        A submission to a contest is one: it still takes part in the final.
        """
        return None

    def warm(self, situation: Situation, prepared: Any = None) -> None:
        """Compute what can be known of the answer's share before the ledger is locked, so that nobody waits for it.

        Called before the rows are read, and again with what was prepared where `warms_late` says so.
        """
        situation.budget.log_share(situation.course, situation.spent)

    def over(self, epochs: int) -> BoundQuestion:
        """Return the question about all epochs of a guard: another one than that about one of them."""
        self.question = {**self.question, "epochs": epochs}
        return self

    def phases(self) -> Sequence[BoundQuestion]:
        """Return the question in each phase that it can be about; most kinds know no phases."""
        return (self,)

    def by(self, analyst: str) -> BoundQuestion:
        """Return the question as this analyst asks it; the same for most kinds, whoever asks."""
        return self

    def read_history(self, ledger: Ledger, progress: Progress) -> None:  # noqa: B027  (only what ends a run looks back)
        """Read what was answered before, for a question that reveals it; `progress` is how far the run had come."""

    def reveal(self, prepared: Any, n: int, log_share: float) -> Exact | None:
        """The exact value and interval of the question at its share; None where its columns do not say. Secret."""
        return None

    def by_range(self) -> BoundQuestion:
        """Return the question as versions decided it that knew the sums of numbers alone; most kinds know no others."""
        return self

    def check_public(self, sample: Sample) -> None:  # noqa: B027  (most kinds look at nothing that is public)
        """Refuse, before anything is paid, by what the policy says is public about the rows."""

    def gather(self, sample: Sample) -> Measured:
        """Return what must be read row by row because no statistic says it; nothing for most kinds. Secret."""
        return ()

    def prepare(self, measured: Measured, n: int, source: Source | None = None) -> Any:
        """What takes long and does not depend on where the run stands; done before the ledger is locked. Secret."""
        return measured

    @abstractmethod
    def settle(self, prepared: Any, situation: Situation) -> Settled:
        """Make the answer, alone on the ledger. Never raises because of what the rows hold."""

    @abstractmethod
    def half_width(self, situation: Situation) -> float | None:
        """Half of the interval's greatest width, in the unit of the answer; None where there is none. Public."""

    def likely_half_width(self, situation: Situation) -> float | None:
        """`half_width`; where that depends on the rows, the one for values spread evenly over the range. For plans."""
        return self.half_width(situation)

    def advice(self, situation: Situation) -> str:
        """Return a sentence about another policy that would give much narrower intervals; empty for most. Public."""
        return ""

    def least_tolerance(self, situation: Situation) -> float | None:
        """Return the smallest tolerance that a guess could pass with; None for kinds without one. Public."""
        return None

    def passes_within(self, situation: Situation) -> tuple[float, float] | None:
        """Between which values of the rows a guess passes; None where more than that decides. Public."""
        return None

    def near_failure(self, situation: Situation) -> Message | None:
        """What a guess that fails near its rows shows, as the prior weighs it; None where no guess can fail. Public."""
        return None


class Question(ABC):
    """A question to a guard, as the analyst asks it. It contains only public data. Each subclass is one kind of
    question, a frozen dataclass whose fields are declared.

    A subclass has these class attributes:

    - `kind`: the name of the kind in JSON, on the command line and in Python (`hf.guard.<kind>`);
    - `title` and `purpose`: the name in the web form, and one or two sentences that say when to use it;
    - `answered`: "noiseless" (answered without noise), "private" (with noise) or "either" (the fields decide);
    - `example`: a question of this kind, which the documentation and the tests use;
    - `place`: its position in lists of kinds, the lowest number first.

    Most kinds leave the rest as it is. `needs_board`, `needs_contest`, `under_means`, `steward_may` and `added_later`
    say under which policies a kind may be asked: a new one sets `added_later`, so that policies of ledgers that exist
    go on without it, and `under_means` where one noisy mean answers it. `ends_run` and `is_final` say what it ends or
    spends, and `slow_estimate` that an estimate takes a while. Methods that a kind may have besides:

    - `asked_again`: the question made from its stored form, for reveals; `as_earlier`: the question that the same words
      were in versions that read them otherwise, so that a retry finds its stored answer;
    - `with_noise` and `without_noise`: the question in the other form, for plans that compare both;
    - `alternatives`: other questions that may be admitted where this one is refused, each with what it is called;
    - `question_words`, `answer_words`, `effect_words`: its sentences; `axis`: the range that its interval is drawn on.

    Examples
    --------
    >>> from holdfast.guard import mean
    >>> asked = mean("age < 30")
    >>> asked.kind, Question.from_dict(asked.to_dict()) == asked
    ('mean', True)
    """

    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    purpose: ClassVar[str] = ""
    answered: ClassVar[Literal["noiseless", "private", "either"]] = "noiseless"
    example: ClassVar[Mapping[str, Any]] = {}
    place: ClassVar[int] = 100
    needs_board: ClassVar[bool] = False
    """Whether it is allowed only where the policy has boards. It then has commands and pages of its own."""
    needs_contest: ClassVar[bool] = False
    """Whether it is allowed only where the policy has boards and reserves rows for their final."""
    slow_estimate: ClassVar[bool] = False
    """Whether it takes more than a few milliseconds to say what a question of this kind would give."""
    ends_run: ClassVar[bool] = False
    """Whether it shows exact values and ends the run: where histories are together, stewards alone may ask it."""
    is_final: ClassVar[bool] = False
    """Whether it spends what the policy keeps for a final."""
    steward_may: ClassVar[bool] = False
    """Whether a steward may ask it where the policy's kinds do not name it, as those of earlier versions do not."""
    under_means: ClassVar[bool] = False
    """Whether one noisy mean answers it, so that it may be asked under a policy that plans noisy means."""
    added_later: ClassVar[bool] = False
    """Whether ledgers were written before there was this kind: their policies allow it only where they name it."""
    _kinds: ClassVar[dict[str, type[Question]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name, known = f"{cls.__module__}.{cls.__qualname__}", Question._kinds.get(cls.kind)
        if known is not None and f"{known.__module__}.{known.__qualname__}" != name:
            raise TypeError(
                f"the kind of question {cls.kind!r} must be declared by one class, and two classes declare it: "
                f"{known.__qualname__} and {name}"
            )
        if cls.kind:
            kinds = Question._kinds | {cls.kind: cls}
            Question._kinds = dict(sorted(kinds.items(), key=lambda item: (item[1].place, item[0])))

    @staticmethod
    def kinds() -> dict[str, type[Question]]:
        """Return all kinds of question as a mapping from the kind's name to its class, in the order in which lists show
        them.

        Examples
        --------
        >>> list(Question.kinds())[:4]
        ['check', 'claim', 'compare', 'validate']
        """
        return dict(Question._kinds)

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Return the fields of this kind of question, such as `expression` and `guess`."""
        return fields_of(cls)

    @classmethod
    def summary(cls) -> str:
        """Return the first paragraph of the documentation of this kind of question, as one line."""
        return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the JSON schema that a question of this kind satisfies.

        Examples
        --------
        >>> sorted(Question.kinds()["validate"].schema()["properties"])
        ['at_least', 'condition', 'default', 'kind', 'where_present']
        """
        properties = {field.name: field.schema() for field in cls.fields()}
        return {
            "type": "object",
            "title": cls.kind,
            "properties": {"kind": {"type": "string", "const": cls.kind}} | properties,
            "required": ["kind", *(field.name for field in cls.fields() if field.required)],
            "additionalProperties": False,
            "description": cls.summary(),
            "examples": [dict(cls.example)],
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the question as plain data, which `from_dict` reads back."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {k: v.to_dict() if isinstance(v, Cost) else v for k, v in values.items()}

    @abstractmethod
    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against a schema and a policy. No row of the data is read."""

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the question again from the checked form in which the ledger stores it. None for kinds whose columns
        cannot be read again.
        """
        return None

    def as_earlier(self) -> Question | None:
        """Return the question that this plain data meant in earlier versions of Holdfast, if its meaning has changed
        since. None for most questions.
        """
        return None

    @classmethod
    def is_private(cls, question: Mapping[str, Any]) -> bool:
        """Return whether a question of this kind, given as plain data, is answered with noise and so has a privacy
        cost.
        """
        return cls.answered == "private" or (cls.answered == "either" and question.get("guess") is None)

    @classmethod
    def without_noise(cls, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a question, as plain data, that asks the same but is answered without noise. None if there is no such
        question.
        """
        return None if cls.is_private(question) else dict(question)

    @classmethod
    def with_noise(cls, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a question, as plain data, that asks the same without a guess and is answered with noise. None if
        there is no such question.
        """
        return None if cls.answered == "noiseless" else dict(question)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return what a stored question asks, in one line. `asked` is the question as plain data, as the ledger stores
        it.
        """
        return cls.title or cls.kind

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return sentences that explain an answer to somebody who has not seen one before."""
        return f"The answer is {answer['value']}."

    @classmethod
    def effect_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        """Return a sentence that says how the answer affects the intervals of later questions."""
        if asked.get("noise") is not None:
            return "The noise has paid for this answer: later intervals stay as they are."
        if answer["passed"] is False and any(field.name == "guess" for field in cls.fields()):
            released = " and its value was released" if answer.get("value") is not None else ""
            return f"{_price(answer)}, for everybody, because this check failed{released}."
        if answer["passed"] is True and "guess" not in asked:
            return "Claims that hold cost next to nothing: later intervals stay as they are."
        if answer["passed"] is True:
            near = confirmed_words(answer.get("value"), answer.get("interval"))
            sentence = f"{near[:1].upper()}{near[1:]}. " if near else ""
            return f"{sentence}A passed check costs next to nothing: later intervals stay as they are."
        if answer["passed"] is None and cls.answered != "noiseless":
            return "The noise was drawn once. Asking again gives this same answer, free."
        return ""

    @classmethod
    def axis(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
        """Return the smallest and the largest value of the axis on which the interval of an answer is drawn."""
        rows = asked.get("rows") or ([asked] if "low" in asked else [])
        return (float(rows[0]["low"]), float(rows[0]["high"])) if rows else (0.0, 1.0)

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield other questions that the guard may answer if it refuses this one, each with a name to show."""
        yield from ()

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> Question:
        """Make a question from plain data, such as the JSON object that an analyst sends."""
        if not isinstance(plain, Mapping):
            raise InvalidParameter(
                f"a question must be a mapping with a kind and its fields, got a {type(plain).__name__}"
            )
        kind = Question._kinds.get(plain.get("kind", "")) if isinstance(plain.get("kind"), str) else None
        if kind is None:
            known = ", ".join(sorted(Question._kinds))
            raise InvalidParameter(f"kind must be one of {known}, got {str(plain.get('kind'))[:60]!r}")
        values = {k: v for k, v in plain.items() if k != "kind"}
        if isinstance(values.get("spend"), Mapping):
            values["spend"] = Cost.from_dict(dict(values["spend"]))
        try:
            return kind(**values)
        except TypeError:
            names = [field.name for field in kind.fields()]
            needed = [field.name for field in kind.fields() if field.required and field.name not in values]
            other = [f"there is no {str(name)[:60]!r}" for name in values if name not in names]
            wrong = ", ".join([f"{name} is missing" for name in needed] + other)
            raise InvalidParameter(f"a {kind.kind} has {', '.join(names)}; {wrong[:200]}") from None


def _price(answer: Mapping[str, Any]) -> str:
    """What a failed check did to later intervals: by how much they are wider, where the answer has the numbers."""
    price = wider_words(answer.get("widening"), answer.get("final_widening"))
    return f"Later intervals are {price or 'a little wider'}"
