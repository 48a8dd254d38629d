"""The separation table: memorising, regularised and private predictors of real people, told apart by the audit.

Every row is an audit of its own, on the same splits: distances, floors, tests and verdicts are those that
`holdfast audit` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.coherence.verdict import INCOHERENT, LEAK
from holdfast_papers.coherence.acs_data import ACS, load_acs
from holdfast_papers.coherence.predictors_audits import ALPHA, BETA, Row, compare, sweep
from holdfast_papers.coherence.predictors_pairs import (
    CONTROL,
    GROUP,
    KINDS,
    MEMORISING,
    PARTIAL,
    PRIVATE,
    REGULARISED,
    pairs,
    with_cells,
)
from holdfast_papers.plots import colour_below, log_axis
from holdfast_papers.registry import Check, Outcome, Settings, Table, experiment

FAR, NEAR = 10.0, 3.0
"""Floors above noise: memorising predictors must be at least so far, regularised and private ones at most so near."""


@experiment(
    "coherence-predictors",
    title="Memorising, regularised and private predictors on the ACS excerpt: floors above noise, and verdicts",
    source="Specification of the coherence audit, section 4.8; data of Enforcing Demographic Coherence, section 5",
    data=(ACS,),
)
def run(settings: Settings) -> Outcome:
    """Audit every pair of curator and learner on the same splits; then open the lens column by column."""
    people = with_cells(load_acs())
    splits = 6 if settings.quick else 20
    chosen = pairs(people)
    rows = compare(people, chosen, splits, settings.seed, lambda f, what: settings.progress(0.9 * f, what))
    settings.progress(0.9, "one column after the other")
    opened = sweep(people, 2 if settings.quick else 10, settings.seed)
    return outcome(rows, opened, splits, settings.seed)


def checks(rows: Sequence[Row]) -> tuple[Check, ...]:
    """What the table must show."""

    def of(*kinds: str) -> list[Row]:
        return [row for row in rows if row.pair.kind in kinds]

    far, middle, near = of(MEMORISING), of(PARTIAL), of(REGULARISED, PRIVATE, CONTROL)
    least, most = min(row.above for row in far), max(row.above for row in near)
    agreement = rank_agreement([row.mean for row in rows], [row.pair.specified for row in rows])
    made = [
        Check(
            f"memorising predictors are at least {FAR:g} floors above noise",
            least >= FAR,
            f"the least is {least:.1f} floors above",
        ),
        Check(
            f"regularised and private ones and controls are within {NEAR:g}",
            most <= NEAR,
            f"the most is {most:.2f} floors above",
        ),
        Check(
            "every memorising predictor is INCOHERENT, in this group and overall",
            all(row.judged.outcome == INCOHERENT and row.group_status == INCOHERENT for row in far),
            _counted(far),
        ),
        Check(
            "no group is INCOHERENT for a regularised or private predictor or a control",
            all(row.judged.outcome != INCOHERENT for row in near),
            _counted(near),
        ),
        Check(
            "kinds are in the order that was measured before",
            min(row.mean for row in far) > max(row.mean for row in middle)
            and min(row.mean for row in middle) > max(row.mean for row in near),
            f"memorising from {min(r.mean for r in far):.3f}, partly {min(r.mean for r in middle):.3f} to "
            f"{max(r.mean for r in middle):.3f}, others up to {max(r.mean for r in near):.3f}",
        ),
        Check(
            "distances agree with the specification in rank",
            agreement >= 0.9,
            f"Spearman {agreement:.3f} over {len(rows)} predictors",
        ),
    ]
    return tuple(made)


def findings(rows: Sequence[Row]) -> tuple[Check, ...]:
    """Findings 1 to 3 of the specification, which need predictors by name."""
    named = {row.pair.name: row for row in rows}
    neighbour, coins = named["1-NN"], named["coin flips"]
    memorising = max(row.auc_outside for row in rows if row.pair.kind == MEMORISING)
    regular = min(row.auc_outside for row in rows if row.pair.kind == REGULARISED)
    return (
        Check(
            "everyone near the floor while a group is far above it: 1-NN",
            neighbour.everyone - neighbour.everyone_floor <= NEAR * neighbour.everyone_floor and neighbour.above >= FAR,
            f"everyone {neighbour.everyone:.4f} (floor {neighbour.everyone_floor:.4f}), "
            f"group {neighbour.mean:.3f} (floor {neighbour.floor:.3f})",
        ),
        Check(
            "the raw largest distance is no verdict: coin flips exceed alpha somewhere, and are not incoherent",
            coins.raw > 0.5 and coins.judged.outcome != INCOHERENT,
            f"some group above {ALPHA} in {coins.raw:.0%} of splits; verdict {coins.judged.outcome}",
        ),
        Check(
            "who memorises predicts the held out worse than who is regularised",
            memorising < regular,
            f"AUC at most {memorising:.3f} against at least {regular:.3f}",
        ),
    )


def outcome(rows: Sequence[Row], opened: Sequence[dict[str, Any]], splits: int, seed: int) -> Outcome:
    """Tables and checks."""
    incoherent, leaks = ([r.pair.name for r in rows if r.judged.outcome == one] for one in (INCOHERENT, LEAK))
    cells, more = tuple(row.cells() for row in rows), tuple(row.more() for row in rows)
    far = [row for row in rows if row.pair.kind == MEMORISING]
    near = [row for row in rows if row.pair.kind in (REGULARISED, PRIVATE, CONTROL)]
    return Outcome(
        tables=(
            Table("separation", f"W1 of {GROUP} between the halves, mean of {splits} splits", tuple(cells[0]), cells),
            Table("more", "Everyone, the largest of all groups, and how well it predicts", tuple(more[0]), more),
            Table("lens", f"W1 of {GROUP} as the lens opens", tuple(opened[0]), tuple(opened)),
        ),
        checks=(*checks(rows), *findings(rows)),
        finding=(
            f"Memorising predictors are {min(r.above for r in far):.0f} to {max(r.above for r in far):.0f} floors "
            "above noise, regularised and private ones and controls at most "
            f"{max(r.above for r in near):.1f}. INCOHERENT at alpha = {ALPHA}: {'; '.join(incoherent) or 'none'}. "
            f"LEAK BELOW ALPHA: {'; '.join(leaks) or 'none'}."
        ),
        parameters={"splits": splits, "alpha": ALPHA, "beta": BETA, "seed": seed},
        chart=lambda: _chart(rows),
    )


def rank_agreement(ours: Sequence[float], known: Sequence[float]) -> float:
    """Spearman's correlation of two lists.

    Examples
    --------
    >>> rank_agreement([3.0, 1.0, 2.0], [30.0, 10.0, 20.0])
    1.0
    """
    from scipy.stats import spearmanr

    return float(np.clip(spearmanr(ours, known).statistic, -1, 1))


def _counted(rows: Sequence[Row]) -> str:
    said = [row.judged.outcome for row in rows]
    return ", ".join(f"{said.count(one)} {one}" for one in dict.fromkeys(said))


def _chart(rows: Sequence[Row]) -> Any:
    """Distance of the group and its floor, a line for each predictor."""
    import altair as alt

    points = [
        {"predictor": row.pair.name, "W1": max(value, 1e-3), "what": what}
        for row in rows
        for what, value in ((row.pair.kind, row.mean), ("floor: chance alone", row.floor))
        if value > 0
    ]
    return (
        alt.Chart(alt.InlineData(values=points), title=f"W1 of {GROUP} in and out of the release, ACS excerpt")
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("W1:Q", scale=alt.Scale(type="log"), axis=log_axis(alt), title="mean W1 over splits"),
            y=alt.Y("predictor:N", sort=[row.pair.name for row in rows], title=None, axis=alt.Axis(labelLimit=0)),
            color=colour_below(alt, "what:N", [*KINDS, "floor: chance alone"]),
            shape=alt.Shape("what:N", legend=None),
        )
    )


__all__ = ["FAR", "NEAR", "checks", "findings", "outcome", "rank_agreement", "run"]
