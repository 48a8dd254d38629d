"""Numbers, intervals and expressions in plain words, for the sentences of every kind of question."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.data.expressions import from_json, to_text
from holdfast.errors import HoldfastError

WHERE_PRESENT = ", where it has a value"


def number(value: Any) -> str:
    """Return a number in few digits.

    Examples
    --------
    >>> number(0.123456), number(12345), number(0.5), number(1234.5), number(True)
    ('0.123', '12,345', '0.5', '1,234', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def ends(interval: Any) -> str:
    """Return the two ends of an interval, rounded outwards: what is between the exact ends is between these.

    Examples
    --------
    >>> ends([0.25, 0.5]), ends([0.998732, 1.0]), ends([-1234.2, 0.12345])
    ('0.25 and 0.5', '0.998 and 1', '-1,235 and 0.124')
    """
    if interval is None:
        return "unknown bounds"
    return f"{number(_outwards(interval[0], math.floor))} and {number(_outwards(interval[1], math.ceil))}"


def _outwards(value: Any, towards: Callable[[float], int]) -> Any:
    """A number with the digits that `number` shows, moved towards one side where it has more."""
    if not isinstance(value, float) or value == 0 or not math.isfinite(value):
        return value
    unit = 1.0 if abs(value) >= 1000 else 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    steps = value / unit
    nearest = round(steps)
    return unit * (nearest if math.isclose(steps, nearest, rel_tol=1e-9) else towards(steps))


def expression_text(source: Any) -> str:
    """Return a row expression as text, whichever form it is stored in.

    Examples
    --------
    >>> expression_text({"<": [{"column": "age"}, 40.0]})
    'age < 40'
    """
    try:
        return source if isinstance(source, str) else _tidy(to_text(from_json(source)))
    except HoldfastError:
        return "an expression"


def rows_text(asked: Mapping[str, Any]) -> list[str]:
    """The expressions of a stored question as text, each with the rows that it is about where these are not all."""
    parts = asked.get("rows", ()) or ([asked] if "expression" in asked else [])
    return [
        expression_text(part["expression"])
        + (WHERE_PRESENT if part.get("where_present") else "")
        + (f", among rows where {expression_text(part['where'])}" if "where" in part else "")
        for part in parts
    ]


def plain_words(question: Mapping[str, Any]) -> str:
    """A question in one line, as its plain data before it is bound say it.

    Examples
    --------
    >>> plain_words({"kind": "table", "by": ["sex"], "expression": "age", "where": "age > 17"})
    'table: age by sex where age > 17'
    >>> plain_words({"kind": "correlation", "first": "age", "second": "pay"})
    'correlation: age and pay'
    """
    parts = [question.get(name) for name in ("expression", "b", "a", "first", "second", "column")]
    words = " and ".join(expression_text(part) for part in parts if part is not None)
    by, where = question.get("by"), question.get("where")
    words += "" if by is None else f" by {', '.join(by) if isinstance(by, (list, tuple)) else by}"
    words += "" if where is None else f" where {expression_text(where)}"
    return f"{question['kind']}: {words.strip()[:120] or 'all rows'}"


def guess_sentence(asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str, what: str = "guess") -> str:
    """Return what became of a guess that was checked."""
    sentence, interval = f"{whose} {what} of {number(asked['guess'])}", answer["interval"]
    if answer["passed"]:
        return f"{sentence} passed: the truth is between {ends(interval)}."
    if interval is None:
        return f"{sentence} failed. Nothing more is shown."
    return f"{sentence} failed. The truth is between {ends(interval)}."


def claim_sentence(answer: Mapping[str, Any]) -> str:
    """Return what became of a claim, and the interval where noise has paid for it."""
    sentence = (
        "The claim holds." if answer["passed"] else "The claim is not shown to hold. This is no evidence against it."
    )
    return sentence if answer["value"] is None else f"{sentence} The truth is between {ends(answer['interval'])}."


def _tidy(text: str) -> str:
    """Whole numbers without `.0`; texts in quotes stay as they are."""
    parts = text.split("'")
    for i in range(0, len(parts), 2):
        words = parts[i].split(" ")
        parts[i] = " ".join(_whole(word) for word in words)
    return "'".join(parts)


def _whole(word: str) -> str:
    bare = word.rstrip("),")
    return bare[:-2] + word[len(bare) :] if bare.endswith(".0") and bare[:-2].lstrip("(-").isdigit() else word
