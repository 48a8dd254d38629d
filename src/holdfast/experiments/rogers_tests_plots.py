"""The plot of a figure of private tests: shares of rejections against n, a small plot for each law and budget."""

from __future__ import annotations

from typing import Any

from holdfast.experiments.plots import colour_below, log_axis
from holdfast.experiments.rogers_tests_settings import ALPHA

_WIDE = 3


def chart(points: list[dict[str, Any]], *, level: bool) -> Any:
    """Lines are ours with bars of 1.96 standard errors, as in the dissertation; diamonds were recorded before."""
    import altair as alt

    order = list(dict.fromkeys(point["test"] for point in points))
    top = max(point["high"] for point in points)
    scale = alt.Scale(domain=[0, max(top * 1.05, 2 * ALPHA) if level else 1])
    title = "type I error" if level else "share of rejections"
    colour = colour_below(alt, "test:N", order)
    small = []
    for law, budget in dict.fromkeys((point["law"], point["budget"]) for point in points):
        mine = [point for point in points if (point["law"], point["budget"]) == (law, budget)]
        x = alt.X("n:Q", scale=alt.Scale(type="log"), axis=log_axis(alt), title="n")
        y = alt.Y("share:Q", scale=scale, title=title)
        ours = alt.Chart(alt.InlineData(values=[point for point in mine if point["kind"] == "ours"]))
        layers = [
            alt.Chart(alt.InlineData(values=[{"alpha": ALPHA}]))
            .mark_rule(strokeDash=[4, 3], color="#888")
            .encode(y=alt.Y("alpha:Q", scale=scale, title=title)),
            ours.mark_line(point=True).encode(x=x, y=y, color=colour),
            ours.mark_rule().encode(x=x, y=alt.Y("low:Q", scale=scale, title=title), y2="high:Q", color=colour),
        ]
        if before := [point for point in mine if point["kind"] == "recorded"]:
            layers.append(
                alt.Chart(alt.InlineData(values=before))
                .mark_point(shape="diamond", size=90, strokeWidth=2)
                .encode(x=x, y=y, color=colour)
            )
        small.append(alt.layer(*layers, title=[law, budget]).properties(width=240, height=200))
    return alt.concat(*small, columns=_WIDE)


__all__ = ["chart"]
