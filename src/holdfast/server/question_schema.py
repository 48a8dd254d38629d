"""JSON schemas of questions and policies, made from the declared kinds and the policy so that they agree with them."""

from __future__ import annotations

from typing import Any

from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.fields import COST_SCHEMA
from holdfast.guard.scoring.board import METRICS, Board

_NUMBER = {"type": "number"}
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
        "models": {"type": "boolean"},
        "public_keys": {"type": "boolean"},
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
        "privacy": {"anyOf": [COST_SCHEMA, _MEANS_CAP, nothing]},
        "accounting": {"type": "string", "enum": ["filter", "odometer"]},
        "repeats": {"type": "string", "enum": ["asker", "everyone"]},
        "answers": {"type": "string", "enum": ["mixed", "means"]},
        "plan": {"type": "string", "enum": ["identical", "independent", "open", "earlier"]},
        "questions": {"anyOf": [whole | {"minimum": 1}, nothing]},
        "failures": {"anyOf": [whole, nothing]},
        "spend": {"anyOf": [COST_SCHEMA, nothing]},
        "kinds": {"anyOf": [{"type": "array", "items": {"enum": list(Question.kinds())}, "minItems": 1}, nothing]},
        "analysts": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1}, nothing]
        },
        "expires": {"anyOf": [{"type": "string"}, nothing]},
        "holdout": {"type": "string", "enum": ["guess-and-check", "thresholdout"]},
        "threshold": {"anyOf": [_NUMBER, nothing]},
        "overfits": {"anyOf": [whole | {"minimum": 1}, nothing]},
        "holdout_spend": {"anyOf": [COST_SCHEMA, nothing]},
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
