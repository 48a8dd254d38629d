"""Drawings as inline SVG text: a heat map, overlaid distributions, lines. Every text is escaped; nothing is loaded.

Shapes carry class names and the style sheet of the page colours them, so that a page reads in light and dark and, with
its hatching and dashes, on a grey printer.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

HATCH = (
    '<svg width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/>'
    "</pattern></defs></svg>"
)
"""The hatching that marks cells without significance; once a page, before the first heat map."""
#: Letters of a group's name in a heat map: names that differ only at their ends must stay apart.
_ROW_NAME = 64


def number(value: float) -> str:
    """A coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    """One line of text, escaped."""
    return f'<text x="{number(x)}" y="{number(y)}" class="{kind}" text-anchor="{anchor}">{escape(said)}</text>'


def drawing(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """An SVG element of the parts, named for screen readers."""
    return (
        f'<svg class="chart" viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def clipped(said: str, most: int) -> str:
    """Long names end in an ellipsis; the full name stands in the tables.

    Examples
    --------
    >>> clipped("women of 80 and more", 10)
    'women of …'
    """
    return said if len(said) <= most else said[: most - 2].rstrip() + " …"


def heat_map(
    rows: Sequence[str], columns: Sequence[str], shades: Sequence[Sequence[tuple[float | None, str, str, bool]]]
) -> str:
    """A heat map. Each cell: a shade in [0, 1] or None for no value, its text, its tooltip, whether it is solid.

    A cell that is not solid is hatched.
    """
    top = 30.0 + 7.0 * max((min(len(c), 34) for c in columns), default=0) * 0.62
    left, wide, high = 20.0 + 6.4 * max((min(len(r), _ROW_NAME) for r in rows), default=0), 84.0, 24.0
    parts: list[str] = []
    for j, name in enumerate(columns):
        x = left + (j + 0.35) * wide
        shown = escape(clipped(name, 34))
        parts.append(
            f'<text transform="translate({number(x)},{number(top - 8)}) rotate(-38)" class="axis">{shown}</text>'
        )
    for i, name in enumerate(rows):
        y = top + i * high
        parts.append(text(left - 8, y + 16, clipped(name, _ROW_NAME), "axis", "end"))
        for j in range(len(columns)):
            shade, said, tip, solid = shades[i][j]
            x = left + j * wide
            place = f'x="{number(x + 1)}" y="{number(y + 1)}" width="{number(wide - 2)}" height="{number(high - 2)}"'
            parts.append(f"<g><title>{escape(tip)}</title>")
            if shade is None:
                parts.append(f'<rect {place} class="none"/>')
            else:
                parts.append(f'<rect {place} class="heat" fill-opacity="{number(0.06 + 0.94 * shade)}"/>')
                if not solid:
                    parts.append(f'<rect {place} fill="url(#hatch)"/>')
            dark = "on" if shade is not None and shade > 0.55 else "off"
            parts.append(text(x + wide / 2, y + 16, said, f"value {dark}", "middle"))
            parts.append("</g>")
    room = 160.0 if columns else 0.0
    return drawing(left + len(columns) * wide + room, top + len(rows) * high + 6, "Group by lens heat map", parts)


def overlay(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Two histograms over each other: the released half filled, the held-out half dashed. Shares by width."""
    width, height, left, bottom = 430.0, 170.0, 44.0, 26.0
    tall = height - bottom - 12
    wides = [b - a for a, b in pairwise(edges)]
    narrow = min(wides)

    def levels(counts: Sequence[float]) -> list[float]:
        whole = sum(counts) or 1.0
        return [count / whole * narrow / wide for count, wide in zip(counts, wides, strict=True)]

    a, b = levels(inside), levels(outside)
    top = max([*a, *b, 1e-9])

    def x(value: float) -> float:
        return left + (value + 1) / 2 * (width - left - 10)

    def y(level: float) -> float:
        return 12 + tall * (1 - level / top)

    def outline(found: list[float]) -> str:
        steps = [f"M{number(x(edges[0]))} {number(y(0))}"]
        for i, level in enumerate(found):
            steps.append(f"L{number(x(edges[i]))} {number(y(level))}L{number(x(edges[i + 1]))} {number(y(level))}")
        return "".join(steps) + f"L{number(x(edges[-1]))} {number(y(0))}"

    parts = [
        f'<path d="{outline(a)}Z" class="in"/>',
        f'<path d="{outline(b)}" class="out"/>',
        f'<line x1="{number(left)}" y1="{number(y(0))}" x2="{number(width - 10)}" y2="{number(y(0))}" class="rule"/>',
        text(left - 6, 20, f"{top:.0%}", "axis", "end"),
        text(left - 6, y(0), "0", "axis", "end"),
    ]
    for value in (-1.0, 0.0, 1.0):
        parts.append(text(x(value), height - 8, f"{value:g}", "axis", "middle"))
    return drawing(width, height, title, parts)


def cumulative(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Cumulative shares of both halves; the shaded area between them is the distance of what is drawn."""
    width, height, left, bottom = 300.0, 170.0, 40.0, 26.0

    def running(counts: Sequence[float]) -> list[float]:
        whole, found = sum(counts) or 1.0, [0.0]
        for count in counts:
            found.append(found[-1] + count / whole)
        return found

    a, b = running(inside), running(outside)

    def point(i: int, level: float) -> str:
        x, y = left + (edges[i] + 1) / 2 * (width - left - 10), 12 + (height - bottom - 12) * (1 - level)
        return f"{number(x)} {number(y)}"

    up = [point(i, level) for i, level in enumerate(a)]
    back = [point(i, level) for i, level in enumerate(b)]
    parts = [
        f'<path d="M{"L".join(up)}L{"L".join(reversed(back))}Z" class="area"/>',
        f'<path d="M{"L".join(up)}" class="line-in"/>',
        f'<path d="M{"L".join(back)}" class="out"/>',
        text(left - 6, 20, "100%", "axis", "end"),
        text(left - 6, height - bottom, "0", "axis", "end"),
    ]
    for value, anchor in ((-1.0, "middle"), (0.0, "middle"), (1.0, "middle")):
        parts.append(text(left + (value + 1) / 2 * (width - left - 10), height - 8, f"{value:g}", "axis", anchor))
    return drawing(width, height, title, parts)


def lines(xs: Sequence[float], solid: Sequence[float], dashed: Sequence[float] | None, mark: float, title: str) -> str:
    """Shares in [0, 1] against x: a solid line, a dashed one where there is one, and a mark at one x."""
    width, height, left, bottom = 300.0, 170.0, 44.0, 26.0
    most = max(xs)

    def at(x: float) -> float:
        return left + x / most * (width - left - 12)

    def path(values: Sequence[float]) -> str:
        tall = height - bottom - 12
        return "M" + "L".join(f"{number(at(x))} {number(12 + tall * (1 - v))}" for x, v in zip(xs, values, strict=True))

    parts = [
        f'<line x1="{number(at(mark))}" y1="12" x2="{number(at(mark))}" y2="{number(height - bottom)}" class="mark"/>'
    ]
    if dashed is not None:
        parts.append(f'<path d="{path(dashed)}" class="out"/>')
    parts.append(f'<path d="{path(solid)}" class="line-in"/>')
    parts += [text(left - 6, 20, "100%", "axis", "end"), text(left - 6, height - bottom, "0", "axis", "end")]
    parts += [text(at(x), height - 8, f"{x:g}", "axis", "middle") for x in (0.0, most / 2, most)]
    return drawing(width, height, title, parts)


__all__ = ["HATCH", "clipped", "cumulative", "drawing", "heat_map", "lines", "number", "overlay", "text"]
