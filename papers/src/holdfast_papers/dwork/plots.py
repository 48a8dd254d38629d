"""The plots of Figures 2 to 4, in the panels of the paper, with one for the certified holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast_papers.dwork.analyst import KS, Floats
from holdfast_papers.dwork.certified import ANALYSTS, CertifiedRun
from holdfast_papers.dwork.runs import Repetitions
from holdfast_papers.plots import colour_below

_TRAIN, _TOLD, _FRESH = "training", "holdout, as told", "fresh"
_HOLDOUT, _POPULATION = "holdout", "population"


def figure(law: Repetitions, certified: Mapping[str, Sequence[CertifiedRun]], title: str) -> Any:
    """Standard, Thresholdout and certified panel; bands are one standard deviation, or the certified interval."""
    import altair as alt

    panels = []
    for arm, name in (("standard", "Standard holdout"), ("thresholdout", "Thresholdout, as in the paper's figures")):
        values = _band(law.curve(arm, "train"), _TRAIN) + _band(law.curve(arm, "told"), _TOLD)  # type: ignore[arg-type]
        values += _band(law.curve(arm, "fresh"), _FRESH)  # type: ignore[arg-type]
        panels.append(_panel(alt, values, name))
    analyst = ANALYSTS[1].name
    runs = certified[analyst]
    told = [
        {"k": k, "low": float(np.mean([r.low[j] for r in runs])), "high": float(np.mean([r.high[j] for r in runs]))}
        | {"accuracy": float(np.mean([r.told[j] for r in runs])), "set": "certified, with its interval"}
        for j, k in enumerate(KS)
    ]
    values = (
        _band(np.array([r.train for r in runs]), _TRAIN) + told + _band(np.array([r.true for r in runs]), _POPULATION)
    )
    panels.append(_panel(alt, values, f"Certified holdout, {analyst}"))
    return alt.hconcat(*panels, title=title).resolve_scale(color="independent")


def figure_4(results: Sequence[Repetitions]) -> Any:
    """Holdout and fresh accuracy of the classifiers built through Thresholdout, without and with signal."""
    import altair as alt

    panels = []
    for result, name in zip(results, ("No signal", "Signal"), strict=True):
        values = _band(result.curve("thresholdout", "train"), _TRAIN)
        values += _band(result.curve("thresholdout", "holdout"), _HOLDOUT)
        values += _band(result.curve("thresholdout", "fresh"), _FRESH)
        panels.append(_panel(alt, values, name))
    return alt.hconcat(*panels, title="Classifiers built through Thresholdout")


def _band(curves: Floats, name: str) -> list[dict[str, Any]]:
    """Mean and one standard deviation either way at every k; all start at one half with k = 0."""
    points = [{"k": 0, "accuracy": 0.5, "low": 0.5, "high": 0.5, "set": name}]
    for j, k in enumerate(KS):
        mean, spread = float(curves[:, j].mean()), float(curves[:, j].std())
        points.append({"k": k, "accuracy": mean, "low": mean - spread, "high": mean + spread, "set": name})
    return points


def _panel(alt: Any, values: list[dict[str, Any]], title: str) -> Any:
    order = list(dict.fromkeys(value["set"] for value in values))
    base = alt.Chart(alt.InlineData(values=values), title=title).encode(
        x=alt.X("k:Q", title="number of variables"), color=colour_below(alt, "set:N", order)
    )
    scale = alt.Scale(domain=[0.45, 0.75], clamp=True)
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", scale=scale, title="accuracy"), y2="high:Q")
    line = base.mark_line(point=True).encode(y=alt.Y("accuracy:Q", scale=scale, title="accuracy"))
    return (band + line).properties(width=320, height=280)


__all__ = ["figure", "figure_4"]
