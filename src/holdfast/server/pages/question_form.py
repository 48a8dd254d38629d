"""A form as a question. What the guard checks is left to the guard, whose words are better."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy

Fields = Mapping[str, str]
_LONGEST = 20_000


def question_of(kind: str, fields: Fields, policy: Policy) -> dict[str, Any]:
    """The question that a filled form asks.

    Examples
    --------
    >>> question_of("check", {"expression": "age < 40", "guess": "0.5", "tolerance": ""}, Policy())
    {'kind': 'check', 'expression': 'age < 40', 'guess': 0.5}
    >>> question_of("check", {"expression": "age < 40", "guess": "half"}, Policy())
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: guess must be a number, got 'half'
    """
    if kind not in _MADE:
        raise InvalidParameter(f"kind must be one of {', '.join(_MADE)}")
    made = {"kind": kind} | _MADE[kind](fields)
    if fields.get("epsilon") and policy.privacy is not None and kind in ("mean", "histogram", "select", "test"):
        name = "epsilon" if policy.privacy.kind == "pure-dp" else "rho"
        made["spend"] = {"kind": policy.privacy.kind, name: _number("cost", fields["epsilon"])}
    return {name: value for name, value in made.items() if value is not None}


def _check(fields: Fields) -> dict[str, Any]:
    return _rows(fields) | {
        "guess": _needed("guess", fields),
        "tolerance": _maybe("tolerance", fields),
        "show": "bit" if fields.get("show") == "bit" else None,
    }


def _claim(fields: Fields) -> dict[str, Any]:
    name = "at_most" if fields.get("side") == "at_most" else "at_least"
    return _rows(fields) | {name: _needed("bound", fields)}


def _validate(fields: Fields) -> dict[str, Any]:
    return {"condition": _text("expression", fields), "at_least": _needed("bound", fields)}


def _compare(fields: Fields) -> dict[str, Any]:
    margin = _maybe("margin", fields)
    made = {"b": _text("expression", fields), "a": _text("other", fields), "margin": margin}
    made |= {"guess": None if margin is not None else _maybe("guess", fields)}
    return made | _range(fields)


def _mean(fields: Fields) -> dict[str, Any]:
    return _rows(fields)


def _histogram(fields: Fields) -> dict[str, Any]:
    column, cells = _text("column", fields), _listed(fields.get("cells", ""))
    if not cells:
        return {"column": column}
    if fields.get("cells_are") == "edges":
        return {"column": column, "edges": [_number("edges", one) for one in cells]}
    return {"column": column, "categories": _categories(cells, fields.get("column_kind", "text"))}


def _select(fields: Fields) -> dict[str, Any]:
    candidates = {}
    for line in fields.get("candidates", "").splitlines():
        label, colon, expression = line.partition(":")
        if line.strip() and not (colon and label.strip() and expression.strip()):
            raise InvalidParameter("candidates must be lines such as `young: age < 30`")
        if line.strip():
            candidates[label.strip()] = expression.strip()
    return {"candidates": candidates} | _range(fields)


def _test(fields: Fields) -> dict[str, Any]:
    name = "gof" if fields.get("name") == "gof" else "independence"
    columns = [_text("column", fields)] + ([_text("column_2", fields)] if name == "independence" else [])
    categories = [
        _categories(_listed(fields.get(one, "")), fields.get(f"{one}_kind", "text"))
        for one in ("categories", "categories_2")
    ]
    made: dict[str, Any] = {"name": name, "columns": columns, "alpha": _maybe("alpha", fields)}
    if any(categories[: len(columns)]):
        made["categories"] = [one or None for one in categories[: len(columns)]]
    if name == "gof":
        made["p0"] = [_number("shares", one) for one in _listed(fields.get("p0", ""))]
    return made


_MADE: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "check": _check,
    "claim": _claim,
    "validate": _validate,
    "compare": _compare,
    "mean": _mean,
    "histogram": _histogram,
    "select": _select,
    "test": _test,
}


def _rows(fields: Fields) -> dict[str, Any]:
    return {"expression": _text("expression", fields)} | _range(fields)


def _range(fields: Fields) -> dict[str, Any]:
    return {name: _maybe(name, fields) for name in ("low", "high", "default")}


def _text(name: str, fields: Fields) -> str:
    found = fields.get(name, "").strip()
    if not 0 < len(found) <= _LONGEST:
        raise InvalidParameter(f"{name.replace('_', ' ')} must be filled in")
    return found


def _needed(name: str, fields: Fields) -> float:
    return _number(name, _text(name, fields))


def _maybe(name: str, fields: Fields) -> float | None:
    found = fields.get(name, "").strip()
    return _number(name, found) if found else None


def _number(name: str, text: str) -> float:
    try:
        if len(text) > 40:
            raise ValueError
        return float(text)
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {text[:40]!r}") from None


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _categories(texts: list[str], kind: str) -> list[Any]:
    """Categories in the kind of their column."""
    if kind == "boolean":
        return [one.lower() in ("true", "yes", "1") for one in texts]
    if kind != "integer":
        return list(texts)
    try:
        return [int(one) for one in texts]
    except ValueError:
        raise InvalidParameter("categories of a column of whole numbers must be whole numbers") from None


__all__ = ["question_of"]
