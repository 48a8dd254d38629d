"""What a guard's ledger stores of the guard: its state, how far the run has come, and who has used how much.

- `GuardState`: policy, status and sample. It is read at every question.
- `Progress`: how far the run has come, with all that the next question's share depends on, in constant space.
- `Account`: the questions and the privacy that one analyst, or all of them together, have used.

An answer is certified only while the ledger counts everything that was released about the rows under a cap that was
kept. A steward's override ends that, and so does another guard over some of the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, Literal, Self

from holdfast.accounting import Cost, Filter, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.accounting.totals import pure_rho
from holdfast.bounds.numerics.exact import decimal_sum, float_up
from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy
from holdfast.holdout.earlier import earlier_course
from holdfast.holdout.error_budget import Course, ErrorBudget, Message

ACCOUNT = "guard"
AFTER_OVERRIDE = "; the steward changed the policy after answers had been seen, so that confidence is not certified"
AFTER_OVERLAP = (
    "; another guard answers questions about some of these rows, which is not counted here, so that confidence is not "
    "certified"
)
Status = Literal["open", "paused", "closed"]


FORMAT = 3
"""Of what a question writes: from 2 on by the error budget, from 3 on means of numbers by their powers; entries without
a format are of before."""
WHOLE = "whole"
"""The account of all analysts together."""
ANALYSTS = "analysts"
"""The account that lists who has asked, so that an override can carry their accounts over."""
_COUNTS = ("admitted", "answered", "finals")
_EARLIER = ("admitted", "answered", "failed", "failed_at", "log_shown", "log_gaps")
"""What earlier versions stored of a run's progress."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come: questions admitted and answered, finals given, and the course that shares go by.

    A question that was admitted and whose answer was lost in a crash stays counted in `admitted`. Shares go by what
    was answered: only answers can inform later questions.

    Examples
    --------
    >>> Progress().admit().to_dict()["admitted"]
    1
    """

    admitted: int = 0
    answered: int = 0
    finals: int = 0
    course: Course = field(default_factory=Course)

    @property
    def failed(self) -> int:
        """Failed checks so far."""
        return self.course.failed

    def admit(self) -> Self:
        """One more question was let in."""
        return type(self)(self.admitted + 1, self.answered, self.finals, self.course)

    def settle(self, budget: ErrorBudget, message: Message | None, asked: int = 1, extra: float = 0.0) -> Self:
        """One more question was answered. What came through noise has no message: its privacy has paid for it."""
        messages = [] if message is None else [message]
        course = budget.after(self.course, messages, asked=asked, extra=extra)
        return type(self)(self.admitted, self.answered + 1, self.finals, course)

    def finish(self) -> Self:
        """Exact values were shown."""
        return replace(self, finals=self.finals + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {name: getattr(self, name) for name in _COUNTS} | {"course": self.course.to_dict()}

    def to_text(self) -> str:
        """`to_dict()` as canonical JSON, written in one go: it is hashed with every answer."""
        course = self.course
        log_risk, log_shown, staked = map(float.__repr__, (course.log_risk, course.log_shown, course.staked))
        text = (
            f'{{"admitted":{self.admitted},"answered":{self.answered},"course":{{"asked":{course.asked},'
            f'"checks":{course.checks},"failed":{course.failed},"log_risk":{log_risk},"log_shown":{log_shown},'
            f'"staked":{staked}}},"finals":{self.finals}}}'
        )
        return to_canonical_json(self.to_dict()) if "n" in log_risk + log_shown + staked else text

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read progress back, in the form of this version or of an earlier one."""
        if isinstance(plain, Mapping) and set(plain) == set(_EARLIER):
            counts = {name: arguments.whole(name, plain[name], at_least=0) for name in _EARLIER[:3]}
            shown = arguments.real("log_shown", plain["log_shown"], at_least=0)
            course = earlier_course(counts["answered"], counts["failed"], shown)
            return cls(counts["admitted"], counts["answered"], 0, course)
        if not isinstance(plain, Mapping) or set(plain) != {*_COUNTS, "course"}:
            raise InvalidParameter(f"stored progress must be a mapping with the fields {', '.join(_COUNTS)} and course")
        values: dict[str, Any] = {name: arguments.whole(name, plain[name], at_least=0) for name in _COUNTS}
        return cls(**values, course=Course.from_dict(plain["course"]))


def account_of(analyst: str) -> str:
    """Return the name of an analyst's account."""
    return f"analyst:{analyst}"


@dataclass(frozen=True)
class Account:
    """What one party has used: questions, and privacy. Immutable; `charge` returns the account after it.

    `filter` is None where nothing private may be asked, or where an odometer only counts; then `spent` holds the sum in
    the unit of the policy's privacy.
    """

    progress: Progress
    filter: Filter | None
    spent: Cost | None

    @classmethod
    def fresh(cls, policy: Policy, analyst: str | None = None) -> Account:
        """Return an account that nothing was asked on; a holdout's whole run is charged to the whole from the start."""
        unit = None if policy.privacy is None or policy.accounting == "filter" else type(policy.privacy)(0.0)  # type: ignore[call-arg]
        account_filter = policy.filter(analyst)
        if analyst is None and policy.holdout_spend is not None:
            unit = None if unit is None else _plus(unit, policy.holdout_spend)
            if account_filter is not None:
                account_filter.spend(policy.holdout_spend)
        return cls(Progress(), account_filter, unit)

    def charge(self, cost: Cost | None, most: int | None, who: str, *, counts: bool = True) -> Account:
        """Let one more question in, or raise `BudgetExhausted`; this account is left as it was.

        One that does not count, because it claims nothing or ends the run, is let in beyond the cap on questions.
        """
        if counts and most is not None and self.progress.admitted >= most:
            raise BudgetExhausted(f"{who} may ask {most} questions, and all of them have been asked")
        account_filter, spent = self.filter, self.spent
        if cost is not None and account_filter is not None:
            account_filter = account_filter.copy()
            try:
                account_filter.spend(cost)
            except BudgetExhausted as error:
                raise BudgetExhausted(f"{who}: {error}") from None
        if cost is not None and spent is not None:
            spent = _plus(spent, cost)
        return Account(self.progress.admit() if counts else self.progress, account_filter, spent)

    def settle(self, budget: ErrorBudget, message: Message | None, asked: int = 1, extra: float = 0.0) -> Account:
        """Count one answer."""
        return Account(self.progress.settle(budget, message, asked, extra), self.filter, self.spent)

    def finish(self) -> Account:
        """Exact values were shown."""
        return replace(self, progress=self.progress.finish())

    def remaining(self, most: int | None, failures: int | None = None) -> dict[str, Any]:
        """Return what is left: questions, failed checks that show a value, and privacy, each where it is capped."""
        left: dict[str, Any] = {} if most is None else {"questions": max(0, most - self.progress.admitted)}
        if failures is not None:
            left["failures"] = max(0, failures - self.progress.failed)
        if self.filter is not None:
            left |= {k: v for k, v in self.filter.remaining().items() if k != "delta"}
        if self.spent is not None:
            left["spent"] = self.spent.to_dict()
        return left

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {
            "progress": self.progress.to_dict(),
            "filter": None if self.filter is None else self.filter.to_dict(),
            "spent": None if self.spent is None else self.spent.to_dict(),
        }

    def to_text(self) -> str:
        """`to_dict()` as canonical JSON: what the ledger stores and hashes."""
        filter_text = "null" if self.filter is None else self.filter.to_text()
        spent = "null" if self.spent is None else to_canonical_json(self.spent.to_dict())
        return f'{{"filter":{filter_text},"progress":{self.progress.to_text()},"spent":{spent}}}'

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Account:
        """Read an account back."""
        return cls(
            Progress.from_dict(plain["progress"]),
            None if plain["filter"] is None else Filter.from_dict(plain["filter"]),
            None if plain["spent"] is None else Cost.from_dict(plain["spent"]),
        )


def read_account(
    get: Callable[[str], Mapping[str, Any] | None], policy: Policy, analyst: str | None = None
) -> tuple[str, Account]:
    """The account of an analyst, or of the whole, from wherever accounts are kept; fresh if there is none yet."""
    name = WHOLE if analyst is None else account_of(analyst)
    stored = get(name)
    return name, Account.fresh(policy, analyst) if stored is None else Account.from_dict(stored)


def _plus(spent: Cost, cost: Cost) -> Cost:
    """The sum in the unit of `spent`, rounded up. A pure cost has a rho; rho has no pure epsilon."""
    match spent, cost:
        case PureDP(before), PureDP(epsilon):
            return PureDP(float_up(decimal_sum([before, epsilon])))
        case ZCDP(before), ZCDP(rho):
            return ZCDP(float_up(decimal_sum([before, rho])))
        case ZCDP(before), PureDP(epsilon):
            return ZCDP(float_up(decimal_sum([before]) + Fraction(pure_rho(epsilon))))
    raise BudgetExhausted(f"an odometer that counts costs of kind {spent.kind} cannot count the cost {cost!r}")


@dataclass(frozen=True)
class Accounts:
    """The account of all analysts together and that of one analyst: both are charged for a question."""

    whole: Account
    own: Account
    analyst: str

    @classmethod
    def of(cls, view: View, policy: Policy, analyst: str) -> Self:
        """Read both accounts from a ledger."""
        whole, own = (
            Account.fresh(policy, who) if text is None else _read_text(text)
            for who, text in ((None, view.account_text(WHOLE)), (analyst, view.account_text(account_of(analyst))))
        )
        return cls(whole, own, analyst)

    @property
    def names(self) -> tuple[str, str]:
        """The names under which the ledger stores the accounts."""
        return WHOLE, account_of(self.analyst)

    def put(self, transaction: Transaction) -> None:
        """Store both accounts."""
        for name, account in zip(self.names, (self.whole, self.own), strict=True):
            _remember(transaction.put_account_text(name, account.to_text()), account)
        if self.own.progress.admitted <= 1:  # 0 where nothing but questions that do not count was asked
            names = (transaction.account(ANALYSTS) or {"names": []})["names"]
            if self.analyst not in names:
                transaction.put_account(ANALYSTS, {"names": [*names, self.analyst]})

    def charge(self, cost: Cost | None, policy: Policy, *, counts: bool = True) -> Self:
        """Both accounts after one more question; `BudgetExhausted` if it does not fit into one of them.

        Where histories are separate the analyst's own account decides, and is asked first: shares add up to at most
        one, so the whole has room for what fits into them, and no refusal tells what others have used.
        """
        mine = partial(
            self.own.charge, cost, policy.most_questions(self.analyst), f"analyst {self.analyst!r}", counts=counts
        )
        first = mine() if policy.histories == "separate" else None
        whole = self.whole.charge(cost, policy.most_questions(), "all analysts together", counts=counts)
        return type(self)(whole, mine() if first is None else first, self.analyst)

    def settle(self, policy: Policy, message: Message | None, asked: int = 1, extra: float = 0.0) -> Self:
        """Both accounts after an answer."""
        whole = self.whole.settle(policy.error_budget(), message, asked, extra)
        own = self.own.settle(policy.error_budget(self.analyst), message, asked, extra)
        return type(self)(whole, own, self.analyst)

    def finish(self) -> Self:
        """Both accounts after a final: exact values were shown to this analyst, or to all where they share them."""
        return replace(self, whole=self.whole.finish(), own=self.own.finish())

    def acting(self, policy: Policy) -> Account:
        """The account whose course decides: that of all analysts, or the analyst's own where histories are separate."""
        return self.own if policy.histories == "separate" else self.whole

    def remaining(self, policy: Policy) -> dict[str, Any]:
        """What the analyst, and all analysts together, may still ask; failed checks are counted for all together."""
        left = {"yours": self.own.remaining(policy.most_questions(self.analyst))}
        acting = self.acting(policy).progress
        if policy.histories == "together":
            left["total"] = self.whole.remaining(policy.most_questions(), policy.failures)
        elif policy.failures is not None:
            left["yours"]["failures"] = max(0, policy.failures - acting.failed)
        over = policy.failures is not None and acting.failed > policy.failures
        if over or acting.finals:  # nothing more is answered
            left = {who: one | {"questions": 0} for who, one in left.items()}
        return left


_accounts: dict[str, Account] = {}


def _read_text(text: str) -> Account:
    """Read an account from its text. It is remembered, because a question reads it several times."""
    return _accounts.get(text) or _remember(text, Account.from_dict(json.loads(text)))


def _remember(text: str, account: Account) -> Account:
    if len(_accounts) >= 1024:
        _accounts.clear()
    _accounts[text] = account
    return account


@dataclass(frozen=True)
class EpochLink:
    """Which epoch of a guard a ledger is, and where it follows the one before: part of its first entry.

    Attributes
    ----------
    number : int
        2 for the second epoch; the first one has no link.
    first, previous : str
        The ledgers of the first epoch and of the one before.
    sequence, hash
        The last entry of the one before when this one was opened.
    """

    number: int
    first: str
    previous: str
    sequence: int
    hash: str


@dataclass(frozen=True)
class GuardState:
    """Policy and status of a guard, the schema and number of rows of its sample, and what ended its certificates.

    Attributes
    ----------
    policy, schema, n, status
        What is allowed, the declared columns, the number of rows, and whether questions are answered.
    overrides : int
        How often the steward put another policy in place.
    overlaps : tuple of str
        The ledgers of other samples in the store that share rows with this one.
    shared_since : int, optional
        The number of the entry from which on answers were given while another guard had some of the same rows. It may
        be smaller than that of the entry that records it, where the overlap was found later.
    sizes : tuple of int
        Where rows are reserved: how many are explored, and how many each reserve has.
    not_compared : tuple of str
        The ledgers that this sample could not be compared with when it was opened: damaged ones, and those of earlier
        versions, which have no digests of their columns.
    epoch : EpochLink, optional
        Which epoch of a guard this is; None for the first.
    successor : str, optional
        The ledger of the next epoch.
    """

    policy: Policy
    schema: Schema
    n: int
    status: Status = "open"
    overrides: int = 0
    overlaps: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    shared_since: int | None = None
    sizes: tuple[int, ...] = ()
    epoch: EpochLink | None = None
    successor: str | None = None

    @property
    def number(self) -> int:
        """Which epoch this is, counted from 1."""
        return 1 if self.epoch is None else self.epoch.number

    @property
    def explored(self) -> int:
        """Rows that questions before a final read: all but those that are reserved."""
        return self.sizes[0] if self.sizes else self.n

    @classmethod
    def of(cls, view: View) -> Self:
        """Read it from a ledger; `LedgerConflict` if the ledger was not opened by a guard."""
        text = view.account_text(ACCOUNT)
        if text is None:
            raise LedgerConflict("this ledger does not belong to a guard: no guard was ever opened with it")
        state, is_old = cls._read(text)
        if not is_old:
            return state
        # Earlier versions recorded an overlap in the first entry alone.
        first = view.entry(1)
        return replace(state, overlaps=tuple(() if first is None else first.body.get("overlaps", ())))

    @classmethod
    @lru_cache(maxsize=256)
    def _read(cls, text: str) -> tuple[Self, bool]:
        """From its text, and whether an earlier version wrote it, which did not record overlaps.

        Remembered, because it is read several times for a question and rarely changes.
        """
        plain = json.loads(text)
        try:
            state = cls(
                Policy.stored(plain["policy"]),
                Schema.from_dict(plain["schema"]),
                plain["n"],
                plain["status"],
                plain["overrides"],
                tuple(plain.get("overlaps", ())),
                tuple(plain.get("not_compared", ())),
                plain.get("shared_since"),
                tuple(plain.get("sizes", ())),
                EpochLink(**plain["epoch"]) if "epoch" in plain else None,
                plain.get("successor"),
            )
            return state, "overlaps" not in plain
        except (KeyError, TypeError) as error:
            raise InvalidParameter(
                "a guard's stored state must have the fields that a guard writes to its ledger"
            ) from error

    @cached_property
    def policy_name(self) -> str:
        """The policy in one line: what was computed for one may serve another of the same name."""
        return repr(self.policy)

    def put(self, transaction: Transaction, kind: str, body: Mapping[str, Any]) -> None:
        """Store it, with the entry that says why it changed."""
        transaction.put_account(ACCOUNT, self.to_dict())
        transaction.append(kind, body)

    def require_open(self) -> None:
        """Refuse questions to a guard that is paused, closed or expired."""
        if self.status != "open":
            raise QuestionRefused(f"this guard is {self.status}" + ("" if self.status == "closed" else " for now"))
        if self.policy.expired():
            raise QuestionRefused(f"this guard expired at {self.policy.expires}")

    def ended(self, progress: Progress) -> bool:
        """Return whether nothing further is answered: exact values were shown, or one check too many has failed."""
        if progress.finals > len(self.policy.reserve_parts) - 1 and progress.finals:
            return True
        return self.policy.failures is not None and progress.failed > self.policy.failures

    def with_status(self, status: Status) -> Self:
        """Return the same guard in another status."""
        return replace(self, status=status)

    def with_policy(self, policy: Policy) -> Self:
        """Return the same guard under a policy that its steward put in the place of the one it was opened with."""
        return replace(self, policy=policy, overrides=self.overrides + 1)

    def with_overlap(self, other: str, since: int) -> Self:
        """Return the same guard, whose rows are shared with those of another ledger, from entry `since` on."""
        if other in self.overlaps:
            return self
        first = since if self.shared_since is None else min(since, self.shared_since)
        return replace(self, overlaps=(*self.overlaps, other), shared_since=first)

    def doubt(self, sequence: int) -> str:
        """Why the answer of this entry is not certified, though it may have been; empty where it still is."""
        return AFTER_OVERLAP if self.shared_since is not None and sequence >= self.shared_since else ""

    @property
    def caveats(self) -> str:
        """Why answers given now are not certified, to be added to what they assume; empty where they are."""
        return (AFTER_OVERRIDE if self.overrides else "") + (AFTER_OVERLAP if self.overlaps else "")

    def require_kept(self, consequence: str) -> None:
        """Raise `GuaranteeUnavailable` where no cap holds for all that was released about these rows."""
        if self.overrides:
            raise GuaranteeUnavailable(
                "a steward replaced the policy after answers were released, so no limit covers all answers: "
                + consequence
            )
        if self.overlaps:
            raise GuaranteeUnavailable(
                "another guard answers questions about some of these rows, so no limit covers all answers: "
                + consequence
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "policy": self.policy.to_dict(),
            "schema": self.schema.to_dict(),
            "n": self.n,
            "status": self.status,
            "overrides": self.overrides,
            "overlaps": list(self.overlaps),
            "not_compared": list(self.not_compared),
        } | self._later()

    def _later(self) -> dict[str, Any]:
        """What only some guards have, and earlier versions did not know."""
        shared = {} if self.shared_since is None else {"shared_since": self.shared_since}
        sizes = {"sizes": list(self.sizes)} if self.sizes else {}
        epoch = {} if self.epoch is None else {"epoch": asdict(self.epoch)}
        return shared | sizes | epoch | ({} if self.successor is None else {"successor": self.successor})


@dataclass(frozen=True)
class PooledState(GuardState):
    """Several epochs as one sample, for a question about all of them: that of the first, with the rows of all.

    Attributes
    ----------
    rows : tuple of int
        The rows of each epoch that questions before a final read.
    others : tuple of Course
        What was shown of each epoch after the first.
    followers : tuple of Ledger
        The ledgers of these.
    """

    rows: tuple[int, ...] = ()
    others: tuple[Course, ...] = ()
    followers: tuple[Ledger, ...] = field(default=(), repr=False)

    @property
    def explored(self) -> int:
        """The rows of all epochs that questions before a final read."""
        return sum(self.rows)
