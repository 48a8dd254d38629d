"""The picture of a simulation: how far answers were off, beside what was promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.experiments.simulation import Simulated

CERTIFIED, NOT = "certified", "not certified"


def chart(found: Sequence[Simulated], title: str) -> Any:
    """A bar for the largest error of any answer in any run, a tick for the mean half-width of the intervals."""
    import altair as alt

    rows = [
        {
            "answerer": result.answerer,
            "error": result.largest,
            "half": result.half_width,
            "kind": CERTIFIED if result.certified else NOT,
        }
        for result in found
    ]
    base = alt.Chart(alt.InlineData(values=rows), title=title).encode(
        y=alt.Y("answerer:N", sort=[result.answerer for result in found], title=None, axis=alt.Axis(labelLimit=300))
    )
    bars = base.mark_bar(height=10).encode(
        x=alt.X("error:Q", title="largest error of any answer in any run (tick: mean half-width of the intervals)"),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=[CERTIFIED, NOT], range=["#2a6f97", "#c1666b"]),
            legend=alt.Legend(orient="bottom"),
        ),
    )
    ticks = (
        base.transform_filter("isValid(datum.half)").mark_tick(thickness=3, size=22, color="black").encode(x="half:Q")
    )
    return (bars + ticks).properties(width=520, height=28 * len(rows) + 20)


__all__ = ["CERTIFIED", "NOT", "chart"]
