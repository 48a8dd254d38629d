"""The JSON Schema of an audit report, for the OpenAPI page, and the smallest one that there can be."""

from __future__ import annotations

from typing import Any

_FINDING: dict[str, Any] = {
    "group": "sex = 2",
    "size": 600,
    "learner": "linkage",
    "lens": "everything",
    "status": "NO EVIDENCE",
    "mean": 0.041,
    "floor": 0.043,
    "excess": -0.002,
    "excess_low": -0.01,
    "excess_high": 0.006,
    "largest": 0.09,
    "above": 0,
    "measured": 60,
    "asked": 60,
    "lower": 0.0,
    "upper": 0.0487,
    "noise_share": 0.0,
    "p_value": 0.55,
    "p_adjusted": 0.55,
    "least_p": 0.001,
    "depends": False,
    "membership_p": 0.4,
    "size_needed": None,
    "sentences": ["The mean distance is 0.041; chance alone gives these predictors 0.043."],
}
_CASE: dict[str, Any] = {
    "learner": "linkage",
    "lens": "everything",
    "outcome": "NO EVIDENCE",
    "omnibus": 0.55,
    "omnibus_adjusted": 0.55,
    "test": "cross-evaluation",
    "least_p": 0.001,
    "splits": 60,
    "asked": 60,
    "above": 0,
    "lower": 0.0,
    "upper": 0.0487,
    "noise_share": 0.0,
    "sentence": "linkage, lens everything: no dependence on the split was seen.",
}
EXAMPLE: dict[str, Any] = {
    "schema": 1,
    "title": "people.csv",
    "outcome": "NO EVIDENCE",
    "exit_status": 0,
    "partial": False,
    "alpha": 0.5,
    "beta": 0.05,
    "level": 0.05,
    "paragraph": "NO EVIDENCE: in 1 group no dependence on who was released was seen.",
    "findings": [_FINDING],
    "cases": [_CASE],
    "sensitivity": [{"alpha": 0.5, "outcome": "NO EVIDENCE", "incoherent": [], "unjudged": 0}],
    "messages": [],
    "mode": "repeated",
    "rows": 1200,
    "splits": 60,
    "too_small": [],
    "too_small_unnamed": 0,
    "offenders": [["linkage", "everything", "sex = 2"]],
    "distributions": [],
    "curves": [],
    "repeats": [],
    "utilities": [],
    "limits": [],
    "theory": [],
    "setting": {"splits": "60"},
    "failures": [],
}
"""A report that the library reads, with one group."""

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def _schema(plain: Any) -> dict[str, Any]:
    """The schema of data that looks like an example; texts and lists may be empty, numbers may be whole."""
    made: dict[str, Any] = {"type": _TYPES[type(plain)]}
    if isinstance(plain, dict):
        made |= {"properties": {k: _schema(v) for k, v in plain.items() if v is not None}, "required": list(plain)}
    return made


REPORT: dict[str, Any] = _schema(EXAMPLE) | {
    "title": "Report",
    "description": "What `holdfast audit --out NAME.html` writes to NAME.json; read strictly",
    "additionalProperties": False,
}
REPORT["properties"]["schema"] = {"const": 1}
REPORT["properties"]["setting"] = {"type": "object", "additionalProperties": {"type": "string"}}

__all__ = ["EXAMPLE", "REPORT"]
