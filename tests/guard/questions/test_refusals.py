"""Questions that say too little, too much, or two things at once are refused at the door, and nothing is spent."""

from __future__ import annotations

import re

import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy
from holdfast.guard.questions import Question

SAMPLE = {"age": [20, 30, 40, 50] * 100, "sex": ["f", "m"] * 200, "member": [True, False] * 200}
TWO = [["f", "m"]]


@pytest.fixture
def guard() -> Guard:
    return Guard.open(None, hf.data.table(SAMPLE, engine="numpy"), Policy(privacy=PureDP(1.0), spend=PureDP(0.1)))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (ask.histogram("height", categories=["tall"]), "column must be the name of a column of the data, got"),
        (ask.histogram(7, categories=["tall"]), "column must be the name of a column of the data, got"),  # type: ignore[arg-type]
        (
            ask.histogram("age", categories=[20, 30], edges=[0, 50]),
            "categories and edges must not both be given: a cell is either a category or a range of numbers",
        ),
        (ask.test("gof", "sex", TWO, p0=[0.5, 0.5]), "columns must be a list of one column for the test gof"),
        (
            ask.test("gof", ["sex", "member"], TWO, p0=[0.5, 0.5]),
            "columns must be a list of one column for the test gof",
        ),
        (ask.test("independence", ["sex"], TWO), "columns must be a list of two columns for the test independence"),
        (ask.test("gof", ["sex"], [["f"]], p0=[1.0]), "categories must be at least two for each column"),
        (ask.test("gof", ["sex"], TWO), "p0 must be given for the test gof"),
        (
            ask.test("independence", ["sex", "member"], [["f", "m"], [False, True]], p0=[0.5, 0.5]),
            "p0 must be given for the test gof",
        ),
        (ask.select({"": "age < 30", "b": "age < 40"}), "candidates must have printable labels of at most 200"),
        (ask.select({"a\nb": "age < 30", "b": "age < 40"}), "candidates must have printable labels of at most 200"),
        (ask.select({"a" * 201: "age < 30", "b": "age < 40"}), "candidates must have printable labels of at most 200"),
        (ask.select({"a": "age", "b": "age < 40"}, low=0, high=90), "low and high must be left out for a condition"),
        (ask.compare("age", "age < 40", low=0, high=90), "low and high must be left out for a condition"),
        (ask.compare("age", "age < 40"), "low and high must be given for a number"),
        (hf.mean("age < 40", default=0.5), "default must be 0 or 1 for a condition, got 0.5"),
        (hf.mean("age < 40", default=2), "default"),
        (ask.check("age < 40", 0.5, default=0.25), "default must be 0 or 1 for a condition, got 0.25"),
    ],
)
def test_wrong_questions_spend_nothing(guard: Guard, question: Question, said: str) -> None:
    head, left = guard.ledger.head(), guard.remaining()
    for what in (guard.ask, guard.estimate):
        with pytest.raises(InvalidParameter, match=re.escape(said)):
            what(question)
    assert (guard.ledger.head(), guard.remaining()) == (head, left)


@pytest.mark.parametrize(
    "question",
    [
        ask.select({"a": "age / 100", "b": "age < 40"}, low=0, high=1),
        ask.compare("age / 100", "age < 40", low=0, high=1),
    ],
    ids=["select", "compare"],
)
def test_a_number_between_0_and_1_may_stand_beside_a_condition(guard: Guard, question: Question) -> None:
    assert guard.ask(question).sequence == 2


PLAIN_KINDS = [kind for kind, made in Question.kinds().items() if not made.needs_board and not made.needs_contest]


@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_a_bound_question_knows_its_kind(guard: Guard, kind: str) -> None:
    schema = Schema({"age": "integer not null", "income": "number not null", "arm": "text not null"})
    bound = Question.from_dict(Question.kinds()[kind].example).bind(schema, 400, guard.policy)
    assert bound.kind == kind
    assert bound.question["kind"] == kind
