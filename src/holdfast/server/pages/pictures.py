"""Small drawings as SVG without a word in it: words stand next to them in HTML, so that they grow and wrap with it.

Colours come from the style sheet by class, which makes them right in light and dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

_WIDE = 1000.0


def gauge(left: float, whole: float, words: str) -> Markup:
    """Return a bar of what is left of a whole. Beyond a glance it says it in words for those who cannot see it.

    Examples
    --------
    >>> "low" in gauge(1, 20, "1 of 20 left")
    True
    """
    share = 0.0 if whole <= 0 else min(1.0, max(0.0, left / whole))
    level = "empty" if share <= 0 else "low" if share < 0.15 else "middle" if share < 0.5 else "high"
    parts = [_rect(0, 0, _WIDE, 20, "track")]
    if share > 0:
        parts.append(_rect(0, 0, _WIDE * share, 20, "fill"))
    return _svg(f"gauge {level}", 20, parts, words)


def interval(value: Any, ends: Any, low: float, high: float, guess: float | None = None) -> Markup:
    """Return an interval on the range of the values; a tick where the value is, a thin one where the guess was."""
    if not high > low or not (_pair(ends) or isinstance(value, (int, float))):
        return Markup("")
    if not _pair(ends):  # a plain value
        parts = [_rect(0, 26, _WIDE, 4, "axis"), _rect(_place(value, low, high) - 4, 8, 8, 40, "value")]
        return _svg("interval", 56, parts, f"{value:.4g} on a scale from {low:g} to {high:g}")
    first, last = _place(ends[0], low, high), _place(ends[1], low, high)
    parts = [_rect(0, 26, _WIDE, 4, "axis"), _rect(first, 14, max(4.0, last - first), 28, "range")]
    words = f"an interval from {ends[0]:.4g} to {ends[1]:.4g} on a scale from {low:g} to {high:g}"
    if guess is not None:
        parts.append(_rect(_place(guess, low, high) - 3, 2, 6, 52, "guess"))
        words += f"; the guess was {guess:.4g}"
    if isinstance(value, (int, float)):
        parts.append(_rect(_place(value, low, high) - 4, 8, 8, 40, "value"))
        words += f"; the value is {value:.4g}"
    return _svg("interval", 56, parts, words)


def epochs(listed: Sequence[Mapping[str, Any]], shown: str) -> Markup:
    """The epochs of a guard on a time axis: a bar from the opening of each to that of the next; `shown` is this one's.

    Examples
    --------
    >>> two = [{"number": 1, "opened": "2030-01-01", "id": "a"}, {"number": 2, "opened": "2030-02-01", "id": "b"}]
    >>> "epoch 2 from 2030-02-01" in epochs(two, "b"), epochs([], "a") == ""
    (True, True)
    """
    if not listed:
        return Markup("")
    moments = [datetime.fromisoformat(str(epoch["opened"])).timestamp() for epoch in listed]
    end = moments[-1] + max(1.0, (moments[-1] - moments[0]) / max(1, len(moments) - 1))
    places = [_place(moment, moments[0], end) for moment in (*moments, end)]
    parts = [_rect(0, 26, _WIDE, 4, "axis")]
    for epoch, first, last in zip(listed, places[:-1], places[1:], strict=True):
        parts.append(_rect(first, 14, max(4.0, last - first - 6), 28, "range"))
        if epoch["id"] == shown:
            parts.append(_rect(first, 8, 8, 40, "value"))
    words = ", ".join(f"epoch {epoch['number']} from {str(epoch['opened'])[:10]}" for epoch in listed)
    return _svg("interval", 56, parts, words)


def bar(share: float, kind: str, words: str, to: float | None = None) -> Markup:
    """Return a bar of a table: how long it is says how wide an interval would be. `to` draws a paler part behind."""
    parts = []
    if to is not None:
        parts.append(_rect(0, 0, _WIDE * min(1.0, max(0.0, to)), 20, "behind"))
    parts.append(_rect(0, 0, max(3.0, _WIDE * min(1.0, max(0.0, share))), 20, "fill"))
    return _svg(f"bar {kind}", 20, parts, words)


def distance(found: float, chance: float, allowed: float, scale: float) -> Markup:
    """Return how far a group's halves are apart, what chance alone gives, and a tick where the tolerance ends.

    Examples
    --------
    >>> "over" in distance(0.6, 0.1, 0.5, 1.0), "over" in distance(0.3, 0.1, 0.5, 1.0)
    (True, False)
    """
    parts = [_rect(0, 22, _WIDE, 4, "axis"), _rect(0, 10, max(3.0, _place(found, 0, scale)), 28, "range")]
    parts.append(_rect(0, 17, _place(chance, 0, scale), 14, "chance"))
    parts.append(_rect(_place(allowed, 0, scale) - 3, 2, 6, 44, "guess"))
    words = f"a distance of {found:.3f}, where chance alone gives {chance:.3f} and {allowed:g} is allowed"
    return _svg("interval distance" + (" over" if found > allowed else ""), 48, parts, words)


def strip(points: Sequence[Mapping[str, Any]], slots: int = 60, subject: str = "answers", least: int = 20) -> Markup:
    """Return the latest answers side by side: each a stroke from the lower to the upper end of its interval.

    A point has `low` and `high`, shares of the range of its values, or None for an answer without an interval; `value`,
    `guess` and `kind`, which is its class. Where all have a `time` they stand on an axis of time from the first to the
    last, moved apart where they would hide each other.
    """
    shown = list(points)[-slots:]
    slots = max(least, len(shown))
    step = _WIDE / max(slots, 1)
    parts = [_rect(0, y, _WIDE, 0.6, "line") for y in (0, 50, 99.4)]
    for x, point in zip(_along(shown, step), shown, strict=True):
        if point.get("low") is None:
            parts.append(_rect(x - step * 0.2, 94, step * 0.4, 6, f"point {point['kind']}"))
            continue
        top, end = 100 * (1 - point["high"]), 100 * (1 - point["low"])
        parts.append(_rect(x - step * 0.3, top, step * 0.6, max(1.0, end - top), f"range {point['kind']}"))
        if point.get("guess") is not None:
            parts.append(_rect(x - step * 0.42, 100 * (1 - point["guess"]) - 0.7, step * 0.84, 1.4, "guess"))
    passed = sum(point["kind"] == "passed" for point in shown)
    failed = sum(point["kind"] == "failed" for point in shown)
    words = f"the latest {len(shown)} {subject}: {passed} passed, {failed} did not"
    return _svg("strip", 100, parts, words)


def _along(points: Sequence[Mapping[str, Any]], step: float) -> list[float]:
    """Where points stand: by their times, at least a step apart, the first and the last at the ends.

    Examples
    --------
    >>> hours = [{"time": f"2030-01-01T0{hour}:00:00"} for hour in (0, 1, 1, 4)]
    >>> _along(hours, 100.0)
    [50.0, 275.0, 375.0, 950.0]
    """
    even = [step * (i + 0.5) for i in range(len(points))]
    if len(points) < 2 or any(point.get("time") is None for point in points):
        return even
    moments = [datetime.fromisoformat(str(point["time"])).timestamp() for point in points]
    span = moments[-1] - moments[0]
    if span <= 0:
        return even
    places = [step / 2 + (_WIDE - step) * (moment - moments[0]) / span for moment in moments]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + step)
    places[-1] = min(places[-1], _WIDE - step / 2)
    for i in range(len(places) - 2, -1, -1):
        places[i] = min(places[i], places[i + 1] - step)
    return places


def _svg(kind: str, high: float, parts: Sequence[Markup], words: str) -> Markup:
    inner = Markup("").join(parts)
    return Markup(
        '<svg class="{}" role="img" aria-label="{}" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none">{}</svg>'
    ).format(kind, words, _WIDE, high, inner)


def _rect(x: float, y: float, wide: float, high: float, kind: str) -> Markup:
    return Markup('<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}" class="{}"/>').format(
        x, y, wide, high, escape(kind)
    )


def _place(value: float, low: float, high: float) -> float:
    return _WIDE * min(1.0, max(0.0, (value - low) / (high - low)))


def _pair(ends: Any) -> bool:
    return isinstance(ends, (list, tuple)) and len(ends) == 2 and all(isinstance(end, (int, float)) for end in ends)
