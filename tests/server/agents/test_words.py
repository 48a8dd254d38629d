"""What an agent reads of answers, estimates and refusals: everything that it must not overlook is said."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.accounting import PureDP
from holdfast.core.guarantee import Guarantee
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimates import Estimate
from holdfast.server.agents.tools import Tool, _checked, answer_words, estimate_words, refusal


def said(value: Any, interval: Any = None, certified: bool = True, **more: Any) -> str:
    return answer_words(GuardedAnswer(value, interval, Guarantee("t", certified=certified), **more), 0.95)


def test_an_answer_that_is_not_certified_says_so_and_promises_nothing() -> None:
    words = said(0.5, [0.4, 0.6], certified=False, passed=True)
    assert "It is NOT certified: rows independent." in words
    assert "hold at once" not in words
    assert "NOT certified" not in said(0.5, [0.4, 0.6], passed=True)


def test_what_was_spent_is_said_once() -> None:
    assert "It cost PureDP(epsilon=0.1)." in said(0.5, [0.4, 0.6], cost=PureDP(0.1))
    again = said(0.5, [0.4, 0.6], cost=PureDP(0.1), repeated=True)
    assert "It cost" not in again
    assert "the stored answer, free" in again


def test_cells_are_said_with_their_intervals() -> None:
    told = said({"f": 0.5, "m": 0.25}, {"f": [0.4, 0.6]}, question={"kind": "histogram"})
    assert told == (
        "Shares of the population, each between the two ends that are shown. f: 0.5 in [0.4, 0.6]; m: 0.25. "
        "Entry 0 of the ledger."
    )


def test_nothing_is_said_of_a_value_that_is_not_there() -> None:
    assert said(None, sequence=4) == "No value is shown. Entry 4 of the ledger."


def test_an_estimate_of_what_was_asked_before_is_free() -> None:
    found = estimate_words(Estimate(PureDP(0.1), 0.02, True, repeated=True))
    assert found == "It was asked before: the stored answer would come back, free."


def test_a_refusal_of_a_kind_that_is_not_foreseen_says_that_nothing_was_spent() -> None:
    words, data = refusal(HoldfastError("the moon is full"))
    assert words == "Refused: the moon is full. Nothing was spent and nothing about the rows was shown."
    assert data == {
        "refused": True,
        "code": "error",
        "reason": "the moon is full",
        "advice": "Nothing was spent and nothing about the rows was shown.",
    }


@pytest.mark.parametrize("arguments", [None, [], "question", 3])
def test_arguments_of_a_tool_are_an_object(arguments: Any) -> None:
    tool = Tool("ask", "Ask", "Ask.", {"properties": {"question": {}}, "required": ["question"]}, False)
    with pytest.raises(InvalidParameter, match="arguments of the tool ask must be an object"):
        _checked(tool, arguments)
