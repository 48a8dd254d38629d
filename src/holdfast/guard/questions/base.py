"""What every kind of question does: say what it needs of the sample, what it costs, and what it makes of both."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

from holdfast.accounting import Cost
from holdfast.bounds.guarantee import Guarantee
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.errors import InvalidParameter
from holdfast.guard.belief import Belief
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress
from holdfast.noise.entropy import Source
from holdfast.strict_json import to_canonical_json

Measured = Sequence[tuple[int, ...]]
"""Exact statistics, one tuple for each that was asked for. Secret."""

MIXED = "rows independent and identically distributed, and not looked at except through this guard"
"""What every interval of a guard assumes."""


@dataclass(frozen=True, repr=False)
class Hidden:
    """The states that a holdout keeps in the ledger: what is secret, and what anyone may know."""

    transaction: Transaction

    def read(self, name: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """The public and the secret state of a holdout; None for what is not there."""
        return self.transaction.account(name), self.transaction.secret(name)

    def put(self, name: str, public: Mapping[str, Any], secret: Mapping[str, Any]) -> None:
        """Keep both with the answer that is about to be written."""
        self.transaction.put_account(name, public)
        self.transaction.put_secret(name, secret)


@dataclass(frozen=True)
class Situation:
    """Where a run stands when a question is answered: all of it public but the noise that will come.

    `spent` is what private questions have cost, this one included, for odometers. `source` is None outside tests.
    `hidden` is where a holdout keeps what must not be shown.
    """

    belief: Belief
    progress: Progress
    spent: Cost | None = None
    source: Source | None = None
    hidden: Hidden | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Rows of the sample."""
        return self.belief.n

    @property
    def log_share(self) -> float:
        """`ln` of the level at which the next interval may be computed as if its question had been fixed before."""
        return self.belief.require(self.belief.log_share(self.progress, self.spent))

    @property
    def noise_share(self) -> float:
        """With what probability the next answer's noise may be larger than its interval allows."""
        return self.belief.noise_share(self.progress)

    def guarantee(self, theorem: str, **parameters: Any) -> Guarantee:
        """What an answer rests on, beside the theorem of its mechanism: the share and the cap."""
        return Guarantee(theorem, parameters | self.belief.to_dict(), MIXED)


@dataclass(frozen=True)
class Settled:
    """What a question shows.

    `shown` counts the things that a failed look could have shown; 1 for all else, and 0 where noise was added, so that
    not even a failure counts.
    """

    value: Any
    interval: Any
    guarantee: Guarantee
    passed: bool | None = None
    shown: int = 1
    details: Mapping[str, Any] = field(default_factory=dict)


class Bound(ABC):
    """A question checked against a sample's schema and a policy, ready to be priced and answered."""

    question: Mapping[str, Any]
    statistics: tuple[Statistic, ...]
    cost: Cost | None
    warms_late: ClassVar[bool] = False

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

    def warm(self, situation: Situation, prepared: Any = None) -> None:
        """Compute what can be known of the answer's share before the ledger is locked, so that nobody waits for it.

        Called before the rows are read, and again with what was prepared where `warms_late` says so.
        """
        situation.belief.log_share(situation.progress, situation.spent)

    def by(self, analyst: str) -> Bound:
        """The question as this analyst asks it; the same for most kinds, whoever asks."""
        return self

    def gather(self, sample: Sample) -> Measured:
        """What must be read row by row because no statistic says it; nothing for most kinds. Secret."""
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

    def least_tolerance(self, situation: Situation) -> float | None:
        """The smallest tolerance that a guess could pass with; None for kinds without one. Public."""
        return None


class Question(ABC):
    """A question as it was asked, in plain public data. Subclasses are frozen dataclasses.

    Examples
    --------
    >>> from holdfast.guard import mean
    >>> asked = mean("age < 30")
    >>> asked.kind, Question.from_dict(asked.to_dict()) == asked
    ('mean', True)
    """

    kind: ClassVar[str] = ""
    _kinds: ClassVar[dict[str, type[Question]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.kind:
            Question._kinds[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {k: v.to_dict() if isinstance(v, Cost) else v for k, v in values.items()}

    @abstractmethod
    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check the question against a schema and a policy; nothing of the sample is touched."""

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> Question:
        """Read a question from plain data, as an analyst sends it."""
        import holdfast.guard.questions  # noqa: F401  (every kind has been defined once the package is loaded)

        if not isinstance(plain, Mapping):
            raise InvalidParameter(f"a question must be a mapping, got a {type(plain).__name__}")
        made = Question._kinds.get(plain.get("kind", "")) if isinstance(plain.get("kind"), str) else None
        if made is None:
            known = ", ".join(sorted(Question._kinds))
            raise InvalidParameter(f"kind must be one of {known}, got {str(plain.get('kind'))[:60]!r}")
        values = {k: v for k, v in plain.items() if k != "kind"}
        if isinstance(values.get("spend"), Mapping):
            values["spend"] = Cost.from_dict(dict(values["spend"]))
        try:
            return made(**values)
        except TypeError:
            every = fields(made)  # type: ignore[arg-type]
            names = [one.name for one in every]
            needed = [one.name for one in every if one.default is MISSING and one.name not in values]
            other = [f"there is no {str(name)[:60]!r}" for name in values if name not in names]
            wrong = ", ".join([f"{name} is missing" for name in needed] + other)
            raise InvalidParameter(f"a {made.kind} has {', '.join(names)}; {wrong[:200]}") from None


__all__ = ["MIXED", "Bound", "Hidden", "Measured", "Question", "Settled", "Situation"]
