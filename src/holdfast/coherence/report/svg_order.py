"""Drawings of things in order and of points: sorted predictions, sorted distances, distance against usefulness."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.coherence.report.svg import clipped, drawing, number, text

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 300.0, 170.0, 44.0, 26.0, 12.0


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 12)


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _BOTTOM - _TOP) * (1 - share)


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path d="M{"L".join(f"{number(_x(x))} {number(_y(y))}" for x, y in points)}" class="{kind}"/>'


def _ends(low: str, high: str, axis: str) -> list[str]:
    """What stands at the ends of both axes."""
    return [
        text(_LEFT - 6, _TOP + 8, high, "axis", "end"),
        text(_LEFT - 6, _HEIGHT - _BOTTOM, low, "axis", "end"),
        text(_x(0.5), _HEIGHT - 8, axis, "axis", "middle"),
    ]


def sorted_pair(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Predictions of both halves in order, lowest first, as in the paper's Figure 3; bins are drawn as slopes."""

    def points(counts: Sequence[float]) -> list[tuple[float, float]]:
        whole, seen = sum(counts) or 1.0, 0.0
        found: list[tuple[float, float]] = []
        for i, count in enumerate(counts):
            if count > 0:
                found.append((seen / whole, (edges[i] + 1) / 2))
                seen += count
                found.append((min(1.0, seen / whole), (edges[i + 1] + 1) / 2))
        return found or [(0.0, 0.5)]

    parts = [_path(points(inside), "line-in"), _path(points(outside), "out")]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("-1", "1", "share of the half, lowest first")])


def sorted_distances(distances: Sequence[float], chance: Sequence[float], alpha: float, title: str) -> str:
    """Distances of all splits in order (solid), what chance gives (dashed), and alpha (dotted), as in Figure 2."""
    most = max(*distances, *chance, alpha) * 1.05 or 1.0

    def points(values: Sequence[float]) -> list[tuple[float, float]]:
        last = max(len(values) - 1, 1)
        return [(i / last, value / most) for i, value in enumerate(values)]

    mark = f'<line x1="{number(_x(0))}" y1="{number(_y(alpha / most))}" x2="{number(_x(1))}" '
    parts = [
        f'{mark}y2="{number(_y(alpha / most))}" class="mark"/>',
        _path(points(chance), "out"),
        _path(points(distances), "line-in"),
    ]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("0", f"{most:.2g}", f"{len(distances)} splits in order")])


def scatter(points: Sequence[tuple[float, float, str]], alpha: float, title: str) -> str:
    """Points (AUC from one half to one, excess, name) with the names beside them, and alpha as a dotted line."""
    most = max([*(excess for _, excess, _ in points), alpha]) * 1.1
    low = min([0.5, *(auc for auc, _, _ in points)])

    def at(auc: float, excess: float) -> tuple[float, float]:
        return _x((auc - low) / (1 - low) if low < 1 else 1.0), _y(max(0.0, excess) / most)

    level = number(_y(alpha / most))
    parts = [f'<line x1="{number(_x(0))}" y1="{level}" x2="{number(_x(1))}" y2="{level}" class="mark"/>']
    room = {True: _HEIGHT, False: _HEIGHT}  # how far down the next name may stand, on either side of its point
    for auc, excess, name in sorted(points, key=lambda point: point[1]):
        x, y = at(auc, excess)
        parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="4" class="in"/>')
        right = x < _x(0.6)
        beside = min(y + 4, room[right])
        room[right] = beside - 11
        parts.append(text(x + (8 if right else -8), beside, clipped(name, 26), "axis", "start" if right else "end"))
    parts += [text(_x(0), _HEIGHT - 8, f"{low:.2g}", "axis", "middle"), text(_x(1), _HEIGHT - 8, "1", "axis", "middle")]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("0", f"{most:.2g}", "AUC, held out")])


__all__ = ["scatter", "sorted_distances", "sorted_pair"]
