"""The plot of a plan: half-width against the number of questions, every method, both axes logarithmic."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast import check
from holdfast.extras import named_extras
from holdfast.holdout.planning_inverse import LIMIT
from holdfast.holdout.planning_methods import METHODS
from holdfast.holdout.planning_use import Use

if TYPE_CHECKING:
    from holdfast.holdout.planning_result import HoldoutPlan, Progress

_PER_DECADE = 2


def curve(plan: HoldoutPlan, questions: Sequence[int] | None, progress: Progress | None) -> list[dict[str, Any]]:
    """Half-widths of every method at each number of questions."""
    from holdfast.holdout.planning_result import need_n

    n = need_n(plan)
    if questions is None:
        points = spaced_counts(min(10 * plan.questions, LIMIT))
    else:
        points = [int(m) for m in check.reals("questions", questions, at_least=1, at_most=LIMIT)]
    near = None
    if plan.guess is not None and not isinstance(plan.guess, bool):
        near = (plan.guess - plan.low) / plan.length
    rows: list[dict[str, Any]] = []
    for i, m in enumerate(points):
        if progress is not None:
            progress(i / len(points), f"{m:,} questions")
        use = Use(m, min(plan.failures, m), plan.confidence, near, plan.binary)
        for method in METHODS.values():
            if not method.applies(use):
                continue
            found = method.width(n, use)
            rows.append(
                {
                    "method": method.name,
                    "questions": m,
                    "half_width": found.half_width * plan.length,
                    "certified": found.certified,
                    "vacuous": not found.half_width < 0.5,
                }
            )
    if progress is not None:
        progress(1.0, "done")
    return rows


def spaced_counts(last: int) -> list[int]:
    """Whole numbers from 1 to `last`, two in a decade.

    Examples
    --------
    >>> spaced_counts(100)
    [1, 3, 10, 32, 100]
    """
    steps = math.ceil(_PER_DECADE * math.log10(last)) if last > 1 else 0
    return sorted({min(last, round(10 ** (i / _PER_DECADE))) for i in range(steps)} | {last})


def plot(plan: HoldoutPlan, questions: Sequence[int] | None, progress: Progress | None) -> Any:
    """An Altair chart of `curve`."""
    with named_extras():
        alt: Any = importlib.import_module("altair")
    rows = [row for row in curve(plan, questions, progress) if row["half_width"] < plan.length]
    order = [row.name for row in plan.methods]
    floor = plan.length / 2
    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, clip=True)
        .encode(
            x=alt.X("questions:Q", scale=alt.Scale(type="log"), title="questions"),
            y=alt.Y("half_width:Q", scale=alt.Scale(type="log"), title="half-width"),
            color=alt.Color(
                "method:N",
                title=None,
                sort=order,
                scale=alt.Scale(scheme="tableau20"),
                legend=alt.Legend(orient="bottom", columns=3, labelLimit=0),
            ),
            strokeDash=alt.condition("datum.certified", alt.value([1, 0]), alt.value([4, 4])),
            tooltip=["method:N", "questions:Q", "half_width:Q", "certified:N"],
        )
    )
    rule = alt.Chart(alt.Data(values=[{"half_width": floor, "what": "says nothing above"}]))
    marks = rule.mark_rule(strokeDash=[2, 2], color="gray").encode(y="half_width:Q")
    labels = rule.mark_text(align="right", dy=-6, color="gray", x="width").encode(y="half_width:Q", text="what:N")
    title = alt.Title(plan.title(), subtitle="dashed: not certified for questions chosen after seeing answers")
    return (line + marks + labels).properties(width=640, height=400, title=title)


__all__ = ["curve", "plot", "spaced_counts"]
