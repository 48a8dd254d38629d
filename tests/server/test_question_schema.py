"""Examples on the OpenAPI page are questions that a guard answers."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard.policy import LOOKS, PRIVATE, SCORE
from holdfast.server.question_schema import EXAMPLES, QUESTION


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == {*LOOKS, SCORE, *PRIVATE}
    assert all(one["examples"] == [EXAMPLES[one["title"]]] for one in QUESTION["oneOf"])


@pytest.mark.parametrize("kind", EXAMPLES)
def test_examples_are_answered(kind: str) -> None:
    n = 4000
    columns: dict[str, Any] = {
        "id": list(range(n)),
        "age": [18 + i % 60 for i in range(n)],
        "income": [1000 + 20 * (i % 200) for i in range(n)],
        "sex": ["female" if i % 2 else "male" for i in range(n)],
        "plan": ["a" if i % 3 else "b" for i in range(n)],
        "label": [i % 2 for i in range(n)],
        "model_a": [i % 2 for i in range(n)],
        "model_b": [0] * n,
    }
    board = hf.guard.Board("income", key="id", label="label", metric="accuracy")
    policy = hf.guard.Policy(questions=10, privacy=PureDP(0.5), spend=PureDP(0.1), boards=[board])
    guard = hf.Guard.open(None, hf.data.table(columns), policy)
    assert guard.ask(EXAMPLES[kind]).sequence == 2
