"""JSON Schemas of questions and policies, made from the guard's own classes so that they cannot drift apart."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_args

from holdfast.guard.policy import LOOKS, PRIVATE, SCORE, Policy
from holdfast.guard.questions import Question
from holdfast.guard.questions.private_test import Name as TestName
from holdfast.guard.scoring.board import METRICS, Board

_COST = {
    "type": "object",
    "description": "A privacy cost",
    "properties": {
        "kind": {"type": "string", "enum": ["pure-dp", "zcdp"]},
        "epsilon": {"type": "number", "exclusiveMinimum": 0},
        "rho": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["kind"],
    "examples": [{"kind": "pure-dp", "epsilon": 0.01}],
}
_EXPRESSION = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}],
    "description": "A row expression, as text or as its tree",
    "examples": ["income > 50000 and age < 30"],
}
_NUMBER = {"type": "number"}
_TYPES: dict[str, dict[str, Any]] = {
    "str | Mapping[str, Any]": _EXPRESSION,
    "float": _NUMBER,
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "str": {"type": "string"},
    "Cost": _COST,
    "Sequence[Any]": {"type": "array", "minItems": 1},
    "Sequence[float]": {"type": "array", "items": _NUMBER, "minItems": 1},
    "Sequence[str]": {"type": "array", "items": {"type": "string"}, "minItems": 1},
    "Sequence[Sequence[Any] | None]": {"type": "array", "items": {"type": ["array", "null"]}, "minItems": 1},
    "Mapping[str, Any]": {"type": "object", "minProperties": 1},
    "Name": {"type": "string", "enum": list(get_args(TestName))},
    "Show": {"type": "string", "enum": ["value", "bit"]},
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "mean": {
        "kind": "mean",
        "expression": "income > 50000 and age < 30",
        "spend": {"kind": "pure-dp", "epsilon": 0.01},
    },
    "check": {"kind": "check", "expression": "age < 40", "guess": 0.5},
    "claim": {"kind": "claim", "expression": "age < 40", "at_least": 0.4},
    "compare": {"kind": "compare", "a": "model_a = label", "b": "model_b = label"},
    "validate": {"kind": "validate", "condition": "age >= 18", "at_least": 0.9},
    "histogram": {"kind": "histogram", "column": "age", "edges": [18, 30, 45, 60, 90]},
    "select": {"kind": "select", "candidates": {"young": "age < 30", "rich": "income > 3000"}},
    "test": {
        "kind": "test",
        "name": "independence",
        "columns": ["sex", "plan"],
        "categories": [["female", "male"], ["a", "b"]],
    },
    "score": {"kind": "score", "board": "income", "predictions": {"keys": [1, 2], "predictions": [0, 1]}, "guess": 0.8},
}


def of_kind(kind: str) -> dict[str, Any]:
    """The schema of one kind of question.

    Examples
    --------
    >>> sorted(of_kind("validate")["properties"])
    ['at_least', 'condition', 'kind']
    """
    made = Question._kinds[kind]
    properties: dict[str, Any] = {"kind": {"type": "string", "const": kind}}
    required = ["kind"]
    for one in fields(made):  # type: ignore[arg-type]
        words = str(one.type)
        optional = words.endswith(" | None")
        schema = dict(_TYPES.get(words.removesuffix(" | None"), {}))
        properties[one.name] = {"anyOf": [schema, {"type": "null"}]} if optional else schema
        if one.default is MISSING and one.default_factory is MISSING:
            required.append(one.name)
    schema = {"type": "object", "title": kind, "properties": properties, "required": required}
    schema["additionalProperties"] = False
    schema["description"] = (made.__doc__ or "").strip().splitlines()[0]
    return schema | ({"examples": [EXAMPLES[kind]]} if kind in EXAMPLES else {})


def _question() -> dict[str, Any]:
    kinds = [of_kind(kind) for kind in (*LOOKS, SCORE, *PRIVATE)]
    return {"type": "object", "title": "Question", "oneOf": kinds, "examples": [EXAMPLES["check"], EXAMPLES["mean"]]}


def _board() -> dict[str, Any]:
    nothing = {"type": "null"}
    text = {"type": "string", "minLength": 1, "maxLength": 100}
    properties: dict[str, Any] = {
        "name": text,
        "key": text,
        "label": text,
        "metric": {"type": "string", "enum": list(METRICS)},
        "rule": {"type": "string", "enum": ["intervals", "ladder"]},
        "best": {"type": "string", "enum": ["analyst", "board"]},
        "positive": {"type": ["string", "number", "boolean", "null"]},
        "eps": _NUMBER,
    }
    properties = {name: properties.get(name, {"anyOf": [_NUMBER, nothing]}) for name in Board.__dataclass_fields__}
    return {
        "type": "object",
        "title": "Board",
        "description": (Board.__doc__ or "").splitlines()[0],
        "properties": properties,
        "required": ["name", "key", "label", "metric"],
        "additionalProperties": False,
        "examples": [{"name": "income", "key": "id", "label": "rich", "metric": "accuracy"}],
    }


def _policy() -> dict[str, Any]:
    nothing = {"type": "null"}
    whole = {"type": "integer", "minimum": 0}
    properties: dict[str, Any] = {
        "confidence": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "privacy": {"anyOf": [_COST, nothing]},
        "accounting": {"type": "string", "enum": ["filter", "odometer"]},
        "answers": {"type": "string", "enum": ["mixed", "means"]},
        "questions": {"anyOf": [whole | {"minimum": 1}, nothing]},
        "failures": {"anyOf": [whole, nothing]},
        "spend": {"anyOf": [_COST, nothing]},
        "kinds": {"anyOf": [{"type": "array", "items": {"enum": [*LOOKS, SCORE, *PRIVATE]}, "minItems": 1}, nothing]},
        "analysts": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1}, nothing]
        },
        "expires": {"anyOf": [{"type": "string"}, nothing]},
        "holdout": {"type": "string", "enum": ["guess-and-check", "thresholdout"]},
        "threshold": {"anyOf": [_NUMBER, nothing]},
        "overfits": {"anyOf": [whole | {"minimum": 1}, nothing]},
        "holdout_spend": {"anyOf": [_COST, nothing]},
        "boards": {"anyOf": [{"type": "array", "items": _board(), "minItems": 1, "maxItems": 100}, nothing]},
    }
    # A field that is not described above takes anything; the policy itself checks it.
    properties = {name: properties.get(name, {}) for name in Policy.__dataclass_fields__}
    return {
        "type": "object",
        "title": "Policy",
        "description": "What a guard allows, fixed when it opens",
        "properties": properties,
        "additionalProperties": False,
        "examples": [{"confidence": 0.95, "questions": 1000, "privacy": {"kind": "pure-dp", "epsilon": 1.0}}],
    }


QUESTION = _question()
POLICY = _policy()

__all__ = ["EXAMPLES", "POLICY", "QUESTION", "of_kind"]
