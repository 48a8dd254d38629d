"""A retry with the key of an answered question gives the stored answer, though the question is refused by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Guard, Policy, check, histogram, mean, select
from holdfast.guard.pipeline import Request
from holdfast.guard.questions.base import Question
from holdfast.guard.state import GuardState
from tests.guard.strangers import ask_each

ROWS = {"v": [None if i % 5 == 0 else float(i % 7) for i in range(2000)], "g": ["ab"[i % 2] for i in range(2000)]}
POLICY = Policy(questions=50, privacy=PureDP(0.5), spend=PureDP(0.01))
CASE = "case when g = 'a' then 1 end"


def with_schema(guard: Guard, nullable: bool) -> None:
    """Have the ledger say whether values may be missing, as one of an earlier version does."""

    def work(transaction: Any) -> None:
        standing = GuardState.of(transaction)
        schema = standing.schema.with_nulls(dict.fromkeys(standing.schema.names, nullable))
        replace(standing, schema=schema).put(transaction, "refreshed", {"overlaps": []})

    guard.ledger.submit(work)


# As it was asked then, and as it is asked again.
PAIRS: list[tuple[Question, Question]] = [
    (mean("v", low=0, high=7), mean("v", low=0, high=7)),
    (mean("v > 3"), mean("v>3")),
    (check("v", guess=3.0, low=0, high=7), check("v", guess=3.0, low=0, high=7)),
    (mean(CASE, low=0, high=1, default=0), mean(CASE, low=0, high=1)),
    (histogram("g", categories=["a", "b"]), histogram("g", categories=["a", "b"])),
    (select({"one": "v > 3", "two": "v < 3"}), select({"one": "v > 3", "two": "v < 3"})),
]


@pytest.mark.parametrize("how", ["ask", "each", "batch"])
def test_what_the_null_rules_refuse_now_comes_back_by_its_key(how: str) -> None:
    guard = Guard.open(None, hf.data.table(ROWS), POLICY)
    with_schema(guard, nullable=False)
    before = [guard.ask(asked, key=f"k{i}") for i, (asked, _) in enumerate(PAIRS)]
    with_schema(guard, nullable=True)
    left, again = guard.remaining(), [asked for _, asked in PAIRS]
    for asked in again:
        with pytest.raises(InvalidParameter):
            guard.ask(asked)
    keys = [f"k{i}" for i in range(len(PAIRS))]
    fresh = mean("v", low=0, high=7, where_present=True)
    if how == "ask":
        found: list[Any] = [guard.ask(asked, key=key) for asked, key in zip(again, keys, strict=True)]
    elif how == "batch":
        *found, new = guard.ask_all([*again, fresh], keys=[*keys, "new"])
        assert not new.repeated
    else:
        requests = [Request(asked, "analyst", key) for asked, key in zip(again, keys, strict=True)]
        *found, new = ask_each(guard, [*requests, Request(fresh, "analyst", "new")])
        assert not new.repeated
    assert [(one.value, one.sequence, one.repeated) for one in found] == [(o.value, o.sequence, True) for o in before]
    if how == "ask":
        assert guard.remaining() == left
    with pytest.raises(InvalidParameter):  # another question under the key is refused as before
        guard.ask(mean("v", low=0, high=6), key="k0")
    with pytest.raises(InvalidParameter):  # and so is another analyst's
        guard.ask(again[0], analyst="bob", key="k0")
    with pytest.raises(LedgerConflict, match="used for another question"):
        guard.ask(fresh, key="k0")


def test_what_an_override_no_longer_allows_comes_back_by_its_key() -> None:
    guard = Guard.open(None, hf.data.table({"age": [20 + i % 50 for i in range(2000)]}), POLICY)
    before = guard.ask(mean("age < 40"), key="k")
    guard.override(replace(POLICY, kinds=("check",), analysts={"analyst": 1.0}), "only checks from now on")
    with pytest.raises(QuestionRefused):
        guard.ask(mean("age < 40"))
    again = guard.ask(mean("age < 40"), key="k")
    assert (again.sequence, again.repeated) == (before.sequence, True)
    guard.override(replace(POLICY, kinds=("check",), analysts={"bob": 1.0}), "and only by bob")
    with pytest.raises(InvalidParameter, match="a name that the policy lists"):
        guard.ask(mean("age < 40"), key="k")
