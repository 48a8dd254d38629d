"""The picture of a simulation: how much of their intervals the errors used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.experiments.simulation import Simulated

CERTIFIED, NOT = "certified", "not certified"


def chart(found: Sequence[Simulated], title: str) -> Any:
    """A bar an answerer: the largest share of an interval that any error used, where 1 is the interval's end.

    The half-width stands beside it, because a wide interval is easily kept. Without intervals there is no bar.
    """
    import altair as alt

    rows = [
        {
            "answerer": result.answerer,
            "used": result.used,
            "kind": CERTIFIED if result.certified else NOT,
            "label": "no interval" if result.half_width is None else f"half-width {result.half_width:.3f}",
            "place": result.used or 0.0,
        }
        for result in found
    ]
    base = alt.Chart(alt.InlineData(values=rows), title=title).encode(
        y=alt.Y("answerer:N", sort=[result.answerer for result in found], title=None, axis=alt.Axis(labelLimit=300))
    )
    most = max([1.0, *(result.used for result in found if result.used is not None)])
    scale = alt.Scale(domain=[0, 1.25 * most])
    bars = base.mark_bar(height=12).encode(
        x=alt.X("used:Q", scale=scale, title="largest error, as a share of what its interval admits"),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=[CERTIFIED, NOT], range=["#2a6f97", "#c1666b"]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    words = base.mark_text(align="left", dx=5, fontSize=10).encode(x=alt.X("place:Q", scale=scale), text="label:N")
    end = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_rule(strokeDash=[4, 4]).encode(x=alt.X("x:Q", scale=scale))
    return (bars + words + end).properties(width=560, height=26 * len(rows) + 20)


__all__ = ["CERTIFIED", "NOT", "chart"]
