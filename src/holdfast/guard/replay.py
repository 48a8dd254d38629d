"""Adds a guard's ledger up again: from the policy in its first entry, through every cost, to the stored totals.

After each entry the totals of every account that it touched must have the digest that the entry recorded. So the
arithmetic is checked step by step, and not only at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from holdfast.accounting import Cost
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard.accounts import WHOLE, Account, account_of
from holdfast.guard.ledger.entry import Entry, account_digest
from holdfast.guard.ledger.store import StateRow
from holdfast.guard.overriding import carried
from holdfast.guard.policy import SCORE, Policy
from holdfast.guard.scoring import ladder
from holdfast.strict_json import to_canonical_json

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

    def feed(self, entry: Entry) -> Iterator[str]:
        """Take the next entry; what does not add up."""
        try:
            yield from self._step(entry, entry.body)
        except (KeyError, TypeError, InvalidParameter):
            yield "it is not what a guard writes"

    def _step(self, entry: Entry, body: Mapping[str, Any]) -> Iterator[str]:
        if entry.kind == "opened" and body.get("policy") is not None:
            self._policy = Policy.from_dict(body["policy"])
            self._accounts[WHOLE], self._owners[WHOLE] = Account.fresh(self._policy), None
        if self._policy is None:
            return
        self._status = _STATUS.get(entry.kind, self._status)
        if entry.kind == "override":
            self._policy = Policy.from_dict(body["policy"])
            for name, owner in self._owners.items():
                if owner is None or self._policy.analysts is None or owner in self._policy.analysts:
                    self._accounts[name] = carried(self._accounts[name], self._policy, owner)
        if entry.kind in ("reserved", "answered"):
            yield from self._charge(entry, body)
        yield from self._compare(entry)

    def _charge(self, entry: Entry, body: Mapping[str, Any]) -> Iterator[str]:
        assert self._policy is not None
        if entry.analyst is None:
            yield "it names no analyst"
            return
        names = self._of(entry.analyst)
        if list(body["accounts"]) != list(names):
            yield "it charges other accounts than the whole and its analyst's"
        question = (entry.analyst, body["digest"], to_canonical_json(body["cost"]))
        if "paid" in body:
            if self._reserved.pop(body["paid"], None) != question:
                yield "no open reservation of this question has paid for it"
        else:
            if self._status != "open":
                yield f"it was asked while the guard was {self._status}"
            cost = None if body["cost"] is None else Cost.from_dict(body["cost"])
            for name in names:
                owner = self._owners[name]
                try:
                    self._accounts[name] = self._accounts[name].charge(cost, self._policy.most_questions(owner), name)
                except BudgetExhausted:
                    yield f"its cost does not fit into what the account {name} had left"
            if entry.kind == "reserved":
                self._reserved[entry.sequence] = question
        if entry.kind == "answered":
            for name in names:
                self._accounts[name] = self._accounts[name].settle(body["answer"]["passed"] is not False, body["shown"])
            yield from self._climb(entry, body["question"], body["answer"]["details"])

    def _climb(self, entry: Entry, question: Mapping[str, Any], details: Mapping[str, Any]) -> Iterator[str]:
        """A ladder's best place moves with an improvement, upwards, and otherwise not."""
        assert self._policy is not None
        assert entry.analyst is not None
        if question["kind"] != SCORE or question["rule"] != "ladder":
            return
        name = ladder.account(self._policy.board(question["board"]), entry.analyst)
        moved = f"account:{name}" in entry.states
        if moved != ("place" in details) or (moved and details["place"] <= self._places.get(name, -1)):
            yield f"the best place of board {question['board']} does not follow from it"
        elif moved:
            self._places[name] = details["place"]
            if entry.states[f"account:{name}"] != account_digest(to_canonical_json({"place": details["place"]})):
                yield f"the best place of board {question['board']} after it is not the one that it shows"

    def _of(self, analyst: str) -> tuple[str, str]:
        """The names of the accounts that an analyst's question is charged to; a new analyst's account begins here."""
        assert self._policy is not None
        name = account_of(analyst)
        if name not in self._accounts:
            self._accounts[name], self._owners[name] = Account.fresh(self._policy, analyst), analyst
        return WHOLE, name

    def _compare(self, entry: Entry) -> Iterator[str]:
        for name, digest in entry.states.items():
            account = self._accounts.get(name.removeprefix("account:")) if name.startswith("account:") else None
            if account is not None and account_digest(to_canonical_json(account.to_dict())) != digest:
                yield f"the totals of {name.removeprefix('account:')} after it do not add up"

    def finish(self, accounts: Sequence[StateRow]) -> Iterator[str]:
        """Compare with the stored accounts; what does not add up."""
        if self._policy is None:
            return
        stored = {row.name: row.text for row in accounts}
        for name, account in self._accounts.items():
            if stored.get(name) != to_canonical_json(account.to_dict()):
                yield f"the stored totals of {name} are not what the entries add up to"
        for name, place in self._places.items():
            if stored.get(name) != to_canonical_json({"place": place}):
                yield f"the stored place of {name} is not what the entries add up to"


__all__ = ["GuardReplay"]
