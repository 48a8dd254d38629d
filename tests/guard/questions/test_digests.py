"""A stored question keeps its identity: what every kind binds to, and its digest, are what ledgers already hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.data.schema import Schema
from holdfast.guard import Board, Policy
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
VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("digests.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['asked']['kind']}-{vector['digest'][:8]}")
def test_what_a_question_binds_to_is_what_ledgers_hold(vector: dict[str, Any]) -> None:
    policy = Policy.from_dict(POLICIES[vector["policy"]])
    bound = Question.from_dict(vector["asked"]).bind(Schema(SCHEMA), ROWS, policy)
    assert json.loads(json.dumps(bound.question)) == vector["question"]
    assert list(bound.question) == list(vector["question"])
    assert bound.digest == vector["digest"]


def test_every_kind_that_ledgers_hold_is_here() -> None:
    kinds = {"check", "claim", "compare", "validate", "mean", "histogram", "select", "test", "score"}
    assert {vector["asked"]["kind"] for vector in VECTORS} >= kinds
