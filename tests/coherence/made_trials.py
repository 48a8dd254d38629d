"""Trials made by hand from predictions, for tests of what is said about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from holdfast.coherence import GroupPlan, Table, Trials
from holdfast.coherence.audit import half_split
from holdfast.coherence.failures import Failure
from holdfast.coherence.significance import Significance, assess
from holdfast.coherence.target import Lens
from holdfast.coherence.verdict import (
    GroupFinding,
    Verdict,
)

ROWS = 2000


def made(
    predictions: np.ndarray,
    inside: np.ndarray,
    masks: dict[str, np.ndarray],
    *,
    failures: tuple[Failure, ...] = (),
    mode: str = "repeated",
) -> Trials:
    """Trials of one learner and lens from predictions (splits x rows); NaN rows are splits that failed."""
    splits, rows = predictions.shape
    groups = GroupPlan(masks, min_size=2).resolve(Table.of({"row": np.arange(rows)}))
    distance = np.full((splits, 1, 1, len(groups)), np.nan)
    counts = []
    for k in range(splits):
        known = np.nan_to_num(predictions[k])
        found = groups.distances(known, inside[k])
        counts.append((found.inside, found.outside))
        if np.isfinite(predictions[k]).all():
            distance[k, 0, 0] = found.distance
    return Trials(
        groups=groups,
        lenses=(Lens("everything", ("row",)),),
        learners=("given",),
        rows=np.arange(rows),
        inside=inside,
        distance=distance,
        inside_count=np.array([a for a, _ in counts]),
        outside_count=np.array([b for _, b in counts]),
        predictions=predictions[:, None, None, :],
        failures=failures,
        notes=(),
        mode=mode,
        metric="wasserstein",
        digests=(None,) * splits,
    )


def splits_of(count: int, rng: np.random.Generator, rows: int = ROWS) -> np.ndarray:
    return np.array([half_split(rows, rng) for _ in range(count)])


def finding(judged: Verdict, group: str) -> GroupFinding:
    return next(found for found in judged.findings if found.group == group)


def quick(trials: Trials, **options: Any) -> Significance:
    return assess(trials, permutations=999, **options)
