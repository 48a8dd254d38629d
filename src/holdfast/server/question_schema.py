"""JSON schemas of questions, policies and boards, made from the declared kinds and fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from holdfast.accounting import Cost
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.fields import COST_SCHEMA
from holdfast.guard.scoring.board import Board

_NUMBER: dict[str, Any] = {"type": "number"}
_NOTHING = {"type": "null"}
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_MEANS_CAP = {
    "type": "object",
    "description": "What all answers of answers='means' may cost together",
    "properties": {"kind": {"const": "gdp"}, "mu": {"type": "number", "exclusiveMinimum": 0}},
    "required": ["kind", "mu"],
    "additionalProperties": False,
}


def _question() -> dict[str, Any]:
    kinds = Question.kinds()
    examples = [dict(kinds[kind].example) for kind in ("check", "mean")]
    return {
        "type": "object",
        "title": "Question",
        "oneOf": [kind.schema() for kind in kinds.values()],
        "examples": examples,
    }


def _board() -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": 100}
    return {
        "type": "object",
        "title": "Board",
        "description": (Board.__doc__ or "").splitlines()[0],
        "properties": _fields(Board) | {"name": text, "key": text, "label": text},
        "required": ["name", "key", "label", "metric"],
        "additionalProperties": False,
        "examples": [{"name": "income", "key": "id", "label": "rich", "metric": "accuracy"}],
    }


def _policy() -> dict[str, Any]:
    whole = {"type": "integer", "minimum": 0}
    narrower: dict[str, Any] = {
        "confidence": _NUMBER | {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "privacy": {"anyOf": [COST_SCHEMA, _MEANS_CAP, _NOTHING]},
        "questions": {"anyOf": [whole | {"minimum": 1}, _NOTHING]},
        "failures": {"anyOf": [whole, _NOTHING]},
        "kinds": {"anyOf": [{"type": "array", "items": {"enum": list(Question.kinds())}, "minItems": 1}, _NOTHING]},
        "analysts": {"anyOf": [{"type": "object", "additionalProperties": _NUMBER, "minProperties": 1}, _NOTHING]},
        "overfits": {"anyOf": [whole | {"minimum": 1}, _NOTHING]},
        "boards": {"anyOf": [{"type": "array", "items": _board(), "minItems": 1, "maxItems": 100}, _NOTHING]},
    }
    return {
        "type": "object",
        "title": "Policy",
        "description": "What a guard allows, fixed when it opens",
        "properties": _fields(Policy) | narrower,
        "additionalProperties": False,
        "examples": [{"confidence": 0.95, "questions": 1000, "privacy": {"kind": "pure-dp", "epsilon": 1.0}}],
    }


def _fields(declared: type[Board] | type[Policy]) -> dict[str, Any]:
    """The schema of each field of a dataclass, from its type."""
    hints = get_type_hints(declared)
    return {name: _schema(hints[name]) for name in declared.__dataclass_fields__}


def _schema(hint: Any) -> dict[str, Any]:
    """The schema of a type. One that is not known here takes anything; the object itself checks it."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(parts)}
    if get_origin(hint) in (Union, UnionType):
        return {"anyOf": [_schema(part) for part in parts]}
    if get_origin(hint) is Sequence:
        return {"type": "array", "items": _schema(parts[0])}
    if get_origin(hint) is Mapping:
        return {"type": "object"}
    return COST_SCHEMA if hint is Cost else {"type": _PLAIN[hint]} if hint in _PLAIN else {}


QUESTION = _question()
POLICY = _policy()
