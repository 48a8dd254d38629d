"""A stored question keeps its identity: what every kind binds to, and its digest, are what ledgers already hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.data import table
from holdfast.data.schema import Schema
from holdfast.errors import LedgerConflict
from holdfast.guard import Board, Guard, Policy, compare
from holdfast.guard.questions.base import Question

ROWS = 5000
SCHEMA = {
    "id": "integer not null",
    "age": "integer not null",
    "income": "number null",
    "sex": "text not null",
    "plan": "text null",
    "member": "boolean not null",
    "label": "integer not null",
    "arm": "text not null",
}
BOARDS = [
    Board("income", key="id", label="label", metric="accuracy"),
    Board("climb", key="id", label="label", metric="accuracy", rule="ladder"),
]
POLICIES = {
    "mixed": {
        "questions": 100,
        "privacy": {"kind": "pure-dp", "epsilon": 1.0},
        "spend": {"kind": "pure-dp", "epsilon": 0.05},
        "boards": [board.to_dict() for board in BOARDS],
    },
    "contest": {"boards": [board.to_dict() for board in BOARDS], "reserve": 0.5},
    "means": {"questions": 100, "answers": "means"},
    "thresholdout": {
        "questions": 100,
        "privacy": {"kind": "pure-dp", "epsilon": 1.0},
        "holdout": "thresholdout",
        "threshold": 0.04,
        "overfits": 3,
        "holdout_spend": {"kind": "pure-dp", "epsilon": 0.6},
    },
}
READ_OTHERWISE = {"9907673f87ea29c2e6ca65f75a444b54553484a60f8793c44fc5c285156ee978"}
"""A comparison without a margin and a guess was a check that there is no difference; now it is the claim of one."""
VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("digests.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['asked']['kind']}-{vector['digest'][:8]}")
def test_what_a_question_binds_to_is_what_ledgers_hold(vector: dict[str, Any]) -> None:
    policy = Policy.from_dict(POLICIES[vector["policy"]])
    question = Question.from_dict(vector["asked"])
    if vector["digest"] in READ_OTHERWISE:
        question = question.as_earlier() or question
    bound = question.bind(Schema(SCHEMA), ROWS, policy)
    assert json.loads(json.dumps(bound.question)) == vector["question"]
    assert list(bound.question) == list(vector["question"])
    assert bound.digest == vector["digest"]


def row_of(kind: type[Question]) -> dict[str, Any]:
    """The row that a new kind needs: what its example binds to."""
    asked = Question.from_dict(kind.example)
    policy = next(name for name, plain in POLICIES.items() if kind.kind in (Policy.from_dict(plain).kinds or ()))
    bound = asked.bind(Schema(SCHEMA), ROWS, Policy.from_dict(POLICIES[policy]))
    return {"policy": policy, "asked": dict(kind.example), "question": bound.question, "digest": bound.digest}


def test_every_kind_of_the_product_has_a_row() -> None:
    """A new kind gets a row when it is added: from then on ledgers hold its digests."""
    there = {vector["asked"]["kind"] for vector in VECTORS}
    shipped = [kind for kind in Question.kinds().values() if kind.__module__.startswith("holdfast.")]
    new = [json.dumps(row_of(kind), indent=1) for kind in shipped if kind.kind not in there]
    assert not new, "add to digests.json: " + ",\n".join(new)


def test_a_kind_is_declared_once() -> None:
    """A second class of the same name would silently take the place of the first, and change what ledgers mean."""
    with pytest.raises(TypeError, match="and two classes declare it: Check and"):
        type("Other", (Question,), {"kind": "check"})
    assert Question.kinds()["check"].__name__ == "Check"


def test_the_words_of_a_comparison_that_were_another_question_find_it_under_its_key() -> None:
    """A retry over the change of versions: the key stands for what was asked then, and its answer comes back."""
    rows = table({"age": [18 + (i * i) % 61 for i in range(ROWS)], "member": [i % 3 == 0 for i in range(ROWS)]})
    guard = Guard.open(None, rows, Policy(questions=20))
    then = guard.ask(compare("member", "age < 30", guess=0.0), key="k")
    words = {"kind": "compare", "b": "member", "a": "age < 30"}
    again = guard.ask(words, key="k")
    assert (again.repeated, again.sequence, again.interval) == (True, then.sequence, then.interval)
    now = guard.ask(words)
    assert not now.repeated
    assert guard.ask(compare("member", "age < 30", margin=0.0)).sequence == now.sequence
    with pytest.raises(LedgerConflict):
        guard.ask(compare("member", "age < 30", margin=0.1), key="k")
