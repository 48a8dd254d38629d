"""Examples on the OpenAPI page are questions that a guard answers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.fields import COST_SCHEMA
from holdfast.server.question_schema import POLICY, QUESTION

BOARD: dict[str, Any] = POLICY["properties"]["boards"]["anyOf"][0]["items"]


def test_every_kind_is_in_the_schema_with_its_fields_and_an_example() -> None:
    assert [one["title"] for one in QUESTION["oneOf"]] == list(Question.kinds())
    for one, made in zip(QUESTION["oneOf"], Question.kinds().values(), strict=True):
        assert one["examples"] == [made.example]
        assert one["examples"][0]["kind"] == made.kind
        assert set(one["properties"]) == {"kind", *(field.name for field in made.fields())}
        assert set(one["required"]) == {"kind", *(field.name for field in made.fields() if field.required)}
        assert all(field.input.help.endswith(".") and field.input.label for field in made.fields())


@pytest.mark.parametrize("kind", Question.kinds())
def test_the_docstring_of_a_kind_describes_its_fields_in_the_same_words(kind: str) -> None:
    """They were written twice, and differed: a tolerance had a default here that it did not have there."""
    made = Question.kinds()[kind]
    lines = (made.__doc__ or "").splitlines()
    assert lines.count("Parameters") == bool(made.fields())
    described = {line.partition(" : ")[0]: below.strip() for line, below in pairwise(lines) if " : " in line}
    for field in made.fields():
        assert described[field.name] == field.input.help


def test_a_string_says_what_a_shared_field_means_in_a_kind() -> None:
    helps = {name: {field.name: field.input.help for field in made.fields()} for name, made in Question.kinds().items()}
    assert helps["correlation"]["tolerance"].startswith("Required with a guess:")
    assert "2.5 half-widths" in helps["check"]["tolerance"]
    assert helps["top"]["where"] != helps["mean"]["where"]


@pytest.mark.parametrize("kind", Question.kinds())
def test_examples_are_answered(kind: str) -> None:
    n = 4000
    columns: dict[str, Any] = {
        "id": list(range(n)),
        "age": [18 + i % 60 for i in range(n)],
        "income": [1000 + 20 * (i % 200) for i in range(n)],
        "arm": ["drug" if i % 2 else "none" for i in range(n)],
        "label": [i % 2 for i in range(n)],
    }
    board = hf.guard.Board("income", key="id", label="label", metric="accuracy")
    made = Question.kinds()[kind]
    reserve = 0.5 if made.needs_contest else 0.0
    policy = hf.guard.Policy(questions=10, privacy=PureDP(0.5), spend=PureDP(0.1), boards=[board], reserve=reserve)
    guard = hf.Guard.open(None, hf.data.table(columns), policy)
    if made.needs_contest:  # a choice and a final are about a submission
        guard.ask(Question.kinds()["score"].example)
    assert guard.ask(made.example).sequence == (3 if made.needs_contest else 2)


@pytest.mark.parametrize(("schema", "declared"), [(POLICY, hf.guard.Policy), (BOARD, hf.guard.Board)])
def test_every_choice_of_a_policy_and_a_board_is_in_the_schema(
    schema: dict[str, Any], declared: type[hf.guard.Board] | type[hf.guard.Policy]
) -> None:
    """They are made from the declared types: a value that is added there, as the rule "open" was, is here too."""
    choices = {name: get_args(hint) for name, hint in get_type_hints(declared).items() if get_origin(hint) is Literal}
    assert choices
    assert set(schema["properties"]) == set(declared.__dataclass_fields__)
    assert {name: tuple(schema["properties"][name]["enum"]) for name in choices} == choices


def test_lists_and_costs_have_schemas_of_their_own() -> None:
    assert BOARD["properties"]["also"]["items"] == BOARD["properties"]["metric"]
    assert BOARD["properties"]["expression"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert POLICY["properties"]["spend"] == {"anyOf": [COST_SCHEMA, {"type": "null"}]}
    assert POLICY["properties"]["reserve"]["anyOf"][1] == {"type": "array", "items": {"type": "number"}}
