"""The plot of a figure of private tests: shares of rejections against n, a small plot for each distribution and
budget.
"""

from __future__ import annotations

from typing import Any, Literal

from holdfast_papers.plots import log_axis
from holdfast_papers.private_tests.settings import ALPHA

Kind = Literal["level", "power", "difference"]
_WIDE = 3
_FEW_COLOURS = 10


def chart(points: list[dict[str, Any]], kind: Kind) -> Any:
    """Lines are ours with bars of 1.96 standard errors, as in the dissertation; diamonds were recorded before.

    Levels are drawn on a square-root axis where a broken test is among them, so that .05 and 1 can both be read. A
    distribution and budget at a single n is left to the tables.
    """
    import altair as alt

    groups = list(dict.fromkeys((point["law"], point["budget"]) for point in points))
    several = [group for group in groups if len({p["n"] for p in points if (p["law"], p["budget"]) == group}) > 1]
    groups = several or groups
    points = [point for point in points if (point["law"], point["budget"]) in groups]
    order = list(dict.fromkeys(point["test"] for point in points))
    top, bottom = max(point["high"] for point in points), min(point["low"] for point in points)
    broken = kind == "level" and top > 4 * ALPHA
    ends = {"level": [0, 1 if broken else max(top * 1.05, 2 * ALPHA)], "power": [0, 1], "difference": [bottom, top]}
    scale = alt.Scale(domain=ends[kind], type="sqrt" if broken else "linear", nice=False)
    title = {"level": "type I error", "power": "share of rejections", "difference": "difference of power"}[kind]
    line = 0.0 if kind == "difference" else ALPHA
    legend = alt.Legend(orient="bottom", columns=4, labelLimit=0)
    scheme: Literal["tableau10", "tableau20"] = "tableau10" if len(order) <= _FEW_COLOURS else "tableau20"
    colour = alt.Color("test:N", title=None, legend=legend, scale=alt.Scale(domain=order, scheme=scheme))
    axis = alt.Axis(values=[0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1], format="~r") if broken else alt.Axis()
    small = []
    for law, budget in groups:
        mine = [point for point in points if (point["law"], point["budget"]) == (law, budget)]
        x = alt.X("n:Q", scale=alt.Scale(type="log", nice=False, padding=8), axis=log_axis(alt), title="n")
        y, low, flat = (alt.Y(f"{field}:Q", scale=scale, title=title, axis=axis) for field in ("share", "low", "level"))
        ours = alt.Chart(alt.InlineData(values=[point for point in mine if point["kind"] == "ours"]))
        layers = [
            alt.Chart(alt.InlineData(values=[{"level": line}]))
            .mark_rule(strokeDash=[4, 3], color="#888")
            .encode(y=flat),
            ours.mark_line(point=True).encode(x=x, y=y, color=colour),
            ours.mark_rule().encode(x=x, y=low, y2="high:Q", color=colour),
        ]
        if before := [point for point in mine if point["kind"] == "recorded"]:
            layers.append(
                alt.Chart(alt.InlineData(values=before))
                .mark_point(shape="diamond", size=90, strokeWidth=2)
                .encode(x=x, y=y, color=colour)
            )
        small.append(alt.layer(*layers, title=[law, budget]).properties(width=240, height=200))
    return alt.concat(*small, columns=_WIDE)


__all__ = ["Kind", "chart"]
