"""Adds a guard's ledger up again: from the policy in its first entry, through every cost, to the stored totals.

After each entry the totals of every account that it touched must have the digest that the entry recorded. So the
arithmetic is checked step by step, and not only at the end.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.accounting import Cost
from holdfast.bounds.numerics.exact import up
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard.ledger.entry import SEAT, Entry, account_digest
from holdfast.guard.ledger.seats import end_of, next_seat, seat_account
from holdfast.guard.ledger.store import StateRow
from holdfast.guard.ledger.verify import MOST_FINDINGS
from holdfast.guard.policy import SCORE, Policy
from holdfast.guard.scoring import deadlines_and_quotas, ladder
from holdfast.guard.state import WHOLE, Account, Progress, account_of
from holdfast.guard.stewarding import carried
from holdfast.holdout.error_budget import ErrorBudget, Message

_STATUS = {"opened": "open", "paused": "paused", "resumed": "open", "closed": "closed"}


class GuardReplay:
    """Replays one chain. A chain that no guard opened has no totals to check, and is passed over.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> from holdfast.guard.ledger.verify import verify_store
    >>> from holdfast.guard.policy import Policy
    >>> policy = Policy()
    >>> def work(transaction):
    ...     transaction.put_account("whole", Account.fresh(policy).to_dict())
    ...     transaction.append("opened", {"policy": policy.to_dict()})
    >>> store = open_store()
    >>> store.ledger("fingerprint").submit(work)
    >>> verify_store(store, replay=GuardReplay).ok
    True
    """

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._status = "open"
        self._accounts: dict[str, Account] = {}
        self._owners: dict[str, str | None] = {}
        self._reserved: dict[int, tuple[Any, ...]] = {}
        self._places: dict[str, int] = {}
        self._counts: dict[str, dict[str, Any]] = {}
        self._plans: dict[str, tuple[int | None, ErrorBudget]] = {}
        self._seats: dict[str, Mapping[str, Any]] = {}
        self._shares_rows = self._overridden = self._is_earlier = False
        self._certified: deque[int] = deque(maxlen=MOST_FINDINGS)
        self._notes: list[tuple[int, str]] = []
        self._number, self._extended = 1, False

    def feed(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> Iterator[str]:
        """Take the next entry; what does not add up."""
        try:
            yield from self._step(entry, body, states)
        except (KeyError, TypeError, InvalidParameter):
            yield "it is not what a guard writes"

    def _step(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> Iterator[str]:
        if entry.kind == "opened" and body.get("policy") is not None:
            self._policy = Policy.stored(body["policy"])
            self._plans.clear()
            self._is_earlier = "final" not in body["policy"]
            self._accounts[WHOLE], self._owners[WHOLE] = self._fresh(), None
            self._number = body.get("epoch", {"number": 1})["number"]
        if entry.kind == "extended":
            if self._extended or body["epoch"] != self._number + 1:
                yield f"it does not name the epoch after {self._number}, once"
            self._extended = True
        if self._policy is None:
            return
        if "format" in body or (entry.kind == "override" and "final" in body["policy"]):
            self._is_earlier = False
        self._status = _STATUS.get(entry.kind, self._status)
        if entry.kind == "override":
            self._overridden = True
            self._policy = Policy.stored(body["policy"])
            self._plans.clear()
            for name, owner in self._owners.items():
                if owner is None or self._policy.analysts is None or owner in self._policy.analysts:
                    self._accounts[name] = carried(self._current(name), self._policy, owner)
        self._shares_rows |= _names_overlaps(entry.kind, body)
        if "since" in body and entry.kind in ("overlapped", "refreshed"):
            self._doubt(body["since"])
        if entry.kind == "answered" and self._shares_rows and body["answer"]["guarantee"]["certified"]:
            yield "it is certified although another guard was known to have some of the same rows"
        if entry.kind == "answered" and self._overridden and body["answer"]["guarantee"]["certified"]:
            yield "it is certified although the steward had changed the policy after answers were seen"
        if entry.kind == "answered" and body["answer"].get("guarantee", {}).get("certified"):
            self._certified.append(entry.sequence)
        if entry.kind in ("reserved", "answered"):
            yield from self._charge(entry, body, states)
        yield from self._compare(states)

    def _doubt(self, since: int) -> None:
        """Note the answers that were certified before it was found that another guard had the same rows."""
        doubted = [number for number in self._certified if number >= since]
        what = "it was certified before it was found that another guard has some of the same rows: it is not any more"
        self._notes += [(number, what) for number in doubted]
        for number in doubted:
            self._certified.remove(number)

    def notes(self) -> Iterator[tuple[int, str]]:
        """What is genuine and should be known, with the number of its entry: the latest hundred of a chain."""
        yield from self._notes

    def _charge(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> Iterator[str]:
        assert self._policy is not None
        if entry.analyst is None:
            yield "it names no analyst"
            return
        names = self._of(entry.analyst)
        if "format" in body:
            self._accounts |= {name: self._current(name) for name in names}
        if list(body["accounts"]) != list(names):
            yield "it charges other accounts than the whole and its analyst's"
        is_paid, cost = "paid" in body, body["cost"]
        question = (entry.analyst, body["digest"], "null" if cost is None else to_canonical_json(cost))
        if is_paid:
            if self._reserved.pop(body["paid"], None) != question:
                yield "no open reservation of this question has paid for it"
        else:
            if self._status != "open":
                yield f"it was asked while the guard was {self._status}"
            cost = None if cost is None else Cost.from_dict(cost)
            for name in names:
                most, _ = self._plan(name)
                try:
                    self._accounts[name] = self._accounts[name].charge(
                        cost, most, name, counts=body.get("counts", True)
                    )
                except BudgetExhausted:
                    yield f"its cost does not fit into what the account {name} had left"
            if entry.kind == "reserved":
                self._reserved[entry.sequence] = question
        if entry.kind == "answered":
            for name in names:
                self._accounts[name] = self._settled(self._accounts[name], body, name)
            yield from self._climb(entry, body["question"], body["answer"]["details"], states)
            yield from self._count(entry, body["question"], body["answer"]["details"], states)
            yield from self._sit(entry, body, states)

    def _plan(self, name: str) -> tuple[int | None, ErrorBudget]:
        """How many questions an account may hold, and the plan of its failure probability."""
        assert self._policy is not None
        plan = self._plans.get(name)
        if plan is None:
            owner = self._owners[name]
            plan = self._plans[name] = self._policy.most_questions(owner), self._policy.error_budget(owner)
        return plan

    def _settled(self, account: Account, body: Mapping[str, Any], name: str) -> Account:
        """An account after an answer, by the weights of the version that gave it."""
        assert self._policy is not None
        progress: Any = account.progress
        if "format" not in body:
            if not isinstance(progress, EarlierProgress):
                raise InvalidParameter(
                    "the ledger has an entry of an earlier version after an entry of this version, which no version "
                    "writes"
                )
            return replace(account, progress=progress.settle(body["answer"]["passed"] is not False, body["shown"]))  # type: ignore[arg-type]
        told = body["message"]
        message = None if told.get("noisy") else Message(told["passed"], told["log_weight"], told["risk"])
        account = account.settle(self._plan(name)[1], message, told["asked"], told["extra"])
        return account.finish() if told["finishes"] else account

    def _climb(
        self, entry: Entry, question: Mapping[str, Any], details: Mapping[str, Any], states: Mapping[str, str]
    ) -> Iterator[str]:
        """A ladder's best place moves with an improvement, upwards, and otherwise not."""
        assert self._policy is not None
        assert entry.analyst is not None
        if question["kind"] != SCORE or question["rule"] != "ladder":
            return
        name = ladder.account(self._policy.board(question["board"]), entry.analyst)
        moved = f"account:{name}" in states
        if moved != ("place" in details) or (moved and details["place"] <= self._places.get(name, -1)):
            yield f"the best place of board {question['board']} does not follow from it"
        elif moved:
            self._places[name] = details["place"]
            if states[f"account:{name}"] != account_digest(to_canonical_json({"place": details["place"]})):
                yield f"the best place of board {question['board']} after it is not the one that it shows"

    def _count(
        self, entry: Entry, question: Mapping[str, Any], details: Mapping[str, Any], states: Mapping[str, str]
    ) -> Iterator[str]:
        """Where a board has quotas, each submission is counted once, and none is beyond them."""
        assert self._policy is not None
        assert entry.analyst is not None
        if question["kind"] != SCORE:
            return
        board = self._policy.board(question["board"])
        if board.quota is None and board.daily is None:
            return
        name, after = deadlines_and_quotas.account(board, entry.analyst), details["submissions"]
        digest = account_digest(to_canonical_json(dict(after)))
        if (
            not deadlines_and_quotas.follows(self._counts.get(name), after, board)
            or states.get(f"account:{name}") != digest
        ):
            yield f"its number among the submissions to {question['board']} does not follow"
        self._counts[name] = dict(after)

    def _sit(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> Iterator[str]:
        """Where histories are separate, the answers of an analyst form a chain of their own; elsewhere none does."""
        assert self._policy is not None
        assert entry.analyst is not None
        if self._policy.histories != "separate":
            if SEAT in body:
                yield "it has a place in its analyst's own chain although histories are together"
            return
        name = seat_account(entry.analyst)
        seat = next_seat(self._seats.get(name), entry.dataset, entry.analyst, body)
        self._seats[name] = end_of(seat)
        end = account_digest(to_canonical_json(end_of(seat)))
        if body.get(SEAT) != seat or states.get(f"account:{name}") != end:
            yield "it does not follow the answer before it in its analyst's own chain"

    def _of(self, analyst: str) -> tuple[str, str]:
        """The names of the accounts that an analyst's question is charged to; a new analyst's account begins here."""
        assert self._policy is not None
        name = account_of(analyst)
        if name not in self._accounts:
            self._accounts[name], self._owners[name] = self._fresh(analyst), analyst
        return WHOLE, name

    def _fresh(self, analyst: str | None = None) -> Account:
        """An account that nothing was asked on, in the form of the version that wrote the ledger so far."""
        assert self._policy is not None
        account = Account.fresh(self._policy, analyst)
        return replace(account, progress=EarlierProgress()) if self._is_earlier else account  # type: ignore[arg-type]

    def _current(self, name: str) -> Account:
        """An account in the form in which the version that wrote the ledger so far writes it.

        This version reads accounts of earlier ones, and writes one anew when it is charged; all others stay as they
        were.
        """
        account = self._accounts[name]
        if self._is_earlier or _is_current(account.progress):
            return account
        return replace(account, progress=Progress.from_dict(account.progress.to_dict()))

    def _compare(self, states: Mapping[str, str]) -> Iterator[str]:
        for name, digest in states.items():
            account = self._accounts.get(name.removeprefix("account:")) if name.startswith("account:") else None
            if account is not None and account_digest(account.to_text()) != digest:
                yield f"the totals of {name.removeprefix('account:')} after it do not add up"

    def state(self) -> dict[str, Any]:
        """Return what `resume` goes on from, as plain data."""
        return {
            "policy": None if self._policy is None else self._policy.to_dict(),
            "status": self._status,
            "accounts": {name: account.to_dict() for name, account in self._accounts.items()},
            "owners": dict(self._owners),
            "reserved": [[number, list(question)] for number, question in self._reserved.items()],
            "places": dict(self._places),
            "counts": {name: dict(count) for name, count in self._counts.items()},
            "seats": {name: dict(seat) for name, seat in self._seats.items()},
            "shares_rows": self._shares_rows,
            "overridden": self._overridden,
            "is_earlier": self._is_earlier,
            "certified": list(self._certified),
            "notes": [list(note) for note in self._notes],
            "epoch": [self._number, self._extended],
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what another one had come to."""
        try:
            self._policy = None if state["policy"] is None else Policy.stored(state["policy"])
            self._status = state["status"]
            self._accounts = {name: _account(plain) for name, plain in state["accounts"].items()}
            self._owners = dict(state["owners"])
            self._reserved = {number: tuple(question) for number, question in state["reserved"]}
            self._places, self._seats = dict(state["places"]), dict(state["seats"])
            self._counts = {name: dict(count) for name, count in state.get("counts", {}).items()}
            self._shares_rows, self._overridden = state["shares_rows"], state["overridden"]
            self._is_earlier = state["is_earlier"]
            self._certified = deque(state["certified"], maxlen=MOST_FINDINGS)
            self._notes = [(number, what) for number, what in state["notes"]]
            self._number, self._extended = state.get("epoch", (1, False))
            self._plans.clear()
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidParameter(
                "since must be a checkpoint of a guard's ledger that `holdfast verify` wrote"
            ) from None

    def finish(self, accounts: Sequence[StateRow]) -> Iterator[str]:
        """Compare with the stored accounts; what does not add up."""
        if self._policy is None:
            return
        stored = {row.name: row.text for row in accounts}
        for name, account in self._accounts.items():
            if stored.get(name) != account.to_text():
                yield f"the stored totals of {name} are not what the entries add up to"
        for name, place in self._places.items():
            if stored.get(name) != to_canonical_json({"place": place}):
                yield f"the stored place of {name} is not what the entries add up to"
        for name, count in self._counts.items():
            if stored.get(name) != to_canonical_json(count):
                yield f"the stored count of {name} is not what the entries add up to"
        for name, seat in self._seats.items():
            if stored.get(name) != to_canonical_json(dict(seat)):
                yield f"the stored end of {name} is not what the entries add up to"


@dataclass(frozen=True)
class EarlierProgress:
    """Progress as versions before the error budget counted it: ledgers that they wrote are added up with it.

    `log_shown` is `ln` of what the failures could have shown; `failed_at` is the number of the last one, and `log_gaps`
    is `ln` of the product of `g (g + 1)` over the distances `g` from each failure to the one before.

    Examples
    --------
    >>> EarlierProgress().admit().settle(passed=False, shown=20)
    EarlierProgress(admitted=1, answered=1, failed=1, log_shown=2.99..., failed_at=1, log_gaps=0.69...)
    """

    admitted: int = 0
    answered: int = 0
    failed: int = 0
    log_shown: float = 0.0
    failed_at: int = 0
    log_gaps: float = 0.0

    def admit(self) -> EarlierProgress:
        """One more question was let in."""
        return replace(self, admitted=self.admitted + 1)

    def settle(self, passed: bool = True, shown: int = 1) -> EarlierProgress:
        """One more question was answered; a failure could have shown `shown` things, and 0 stands for noise."""
        answered = self.answered + 1
        if passed or shown == 0:
            return replace(self, answered=answered)
        gap = answered - self.failed_at
        return replace(
            self,
            answered=answered,
            failed=self.failed + 1,
            log_shown=up(self.log_shown + up(math.log(shown))),
            failed_at=answered,
            log_gaps=up(self.log_gaps + up(math.log(gap * (gap + 1)))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as it was stored."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def to_text(self) -> str:
        """`to_dict()` as canonical JSON."""
        return to_canonical_json(self.to_dict())


def _account(plain: Mapping[str, Any]) -> Account:
    """An account in the form in which it was stored, that of an earlier version included."""
    account = Account.from_dict(plain)
    if set(plain["progress"]) != set(EarlierProgress.__dataclass_fields__):
        return account
    return replace(account, progress=EarlierProgress(**plain["progress"]))  # type: ignore[arg-type]


def _is_current(progress: Any) -> bool:
    """Whether `Progress.from_dict` would read this progress back as it is: a chain may have been made up."""
    if type(progress) is not Progress:
        return False
    course = progress.course
    counts = (progress.admitted, progress.answered, progress.finals, course.asked, course.checks, course.failed)
    logarithms = (course.log_risk, course.log_shown, course.staked)
    return (
        all(type(count) is int and count >= 0 for count in counts)
        and all(type(number) is float and math.isfinite(number) for number in logarithms)
        and course.failed <= course.checks
        and course.log_shown <= 0 <= course.staked
    )


def _names_overlaps(kind: str, body: Mapping[str, Any]) -> bool:
    """Whether an entry says that another guard has some of the same rows.

    Earlier versions, whose policies do not mention `repeats`, certified the answers of a guard that was opened with an
    overlap. What they wrote keeps verifying; this version marks such a ledger when its guard is opened.
    """
    if kind == "opened":
        return bool(body.get("overlaps")) and "repeats" in body["policy"]
    return kind == "overlapped" or (kind == "refreshed" and bool(body["overlaps"]))
