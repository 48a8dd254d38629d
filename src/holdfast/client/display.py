"""How answers and guards look in a notebook: small tables and an interval drawn to scale, every text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

Row = tuple[str, str]
_WIDE, _HIGH = 320, 28


def card(title: str, rows: Iterable[tuple[object, object]], picture: str = "") -> str:
    """A titled table. `picture` is markup of ours; everything else is escaped.

    Examples
    --------
    >>> card("Answer", [("value", "<b>1</b>")])
    '<div class="holdfast"><strong>Answer</strong><table><tr><th style="text-align:left">value</th>...&lt;b&gt;1...'
    """
    lines = "".join(
        f'<tr><th style="text-align:left">{text(name)}</th><td style="text-align:left">{text(value)}</td></tr>'
        for name, value in rows
    )
    return f'<div class="holdfast"><strong>{text(title)}</strong>{picture}<table>{lines}</table></div>'


def listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with a head."""
    return marked_listing(title, columns, ((text(cell) for cell in row) for row in rows))


def marked_listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table with a head whose cells are markup of ours: whatever came from elsewhere went through `text`."""
    head = "".join(f"<th>{text(column)}</th>" for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="holdfast"><strong>{text(title)}</strong>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def interval_picture(value: Any, interval: Any, low: float = 0.0, high: float = 1.0) -> str:
    """An interval and its value on the range from `low` to `high`, or on a wider one that holds them."""
    if not _pair(interval) or not _number(value):
        return ""
    low, high = min(low, interval[0], value), max(high, interval[1], value)
    if not high > low:
        return ""
    left, right, middle = (_place(one, low, high) for one in (interval[0], interval[1], value))
    words = text(f"{short(value)} in [{short(interval[0])}, {short(interval[1])}], on a scale from {low:g} to {high:g}")
    return (
        f'<svg role="img" aria-label="{words}" width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}">'
        f'<line x1="6" y1="14" x2="{_WIDE - 6}" y2="14" stroke="currentColor" stroke-opacity="0.25"/>'
        f'<line x1="{left:.1f}" y1="14" x2="{right:.1f}" y2="14" stroke="currentColor" stroke-width="4"/>'
        f'<circle cx="{middle:.1f}" cy="14" r="5" fill="currentColor"/></svg>'
    )


def remaining_rows(remaining: Mapping[str, Any]) -> list[Row]:
    """What is left, a line for each whose it is."""
    rows = []
    for who, left in remaining.items():
        if isinstance(left, Mapping) and left:
            parts = [f"{short(amount)} {name}" for name, amount in left.items() if _number(amount)]
            rows.append((f"left ({who})", ", ".join(parts) or "no cap"))
    return rows


def short(value: Any) -> str:
    """A number in few digits, anything else as its text.

    Examples
    --------
    >>> short(0.123456789), short(1000000), short(None)
    ('0.123457', '1,000,000', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if _number(value) else str(value)


def ends(interval: Any) -> str:
    """The two ends of an interval, to follow a number; nothing where there are none.

    Examples
    --------
    >>> ends([0.25, 0.5]), ends(None)
    (' in [0.25, 0.5]', '')
    """
    return f" in [{short(interval[0])}, {short(interval[1])}]" if _pair(interval) else ""


def text(value: object) -> str:
    """A text that is shown as it is and never read as markup."""
    return html.escape(str(value), quote=True)


def _place(value: float, low: float, high: float) -> float:
    return 6 + (_WIDE - 12) * (value - low) / (high - low)


def _pair(interval: Any) -> bool:
    return isinstance(interval, (list, tuple)) and len(interval) == 2 and all(_number(end) for end in interval)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


__all__ = ["card", "ends", "interval_picture", "listing", "marked_listing", "remaining_rows", "short", "text"]
