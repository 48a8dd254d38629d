"""Predictions of a group as counts in bins, for the released and the held-out half. Never a single prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast import check
from holdfast.coherence.trials import Trials

Bin = tuple[float, float, float]
"""Left end, members in the released half, members in the held-out half."""
BINS = 40
"""Equal bins of [-1, 1] before small ones are joined."""
MIN_CELL = 10
"""People below which a bin is joined with its neighbour; the default of `min_cell`."""


@dataclass(frozen=True)
class Distribution:
    """How the predictions of one group spread over [-1, 1], in the released and in the held-out half.

    Attributes
    ----------
    learner, lens, group : str
        Whose predictions, through which lens, about whom.
    edges : tuple of float
        Ends of the bins, from -1 to 1; empty where the group is too small to show or nothing succeeded.
    inside, outside : tuple of float
        Members in each bin, mean over the splits: of the released half and of the held-out half.
    note : str
        What is shown, or why nothing is.

    Examples
    --------
    >>> halves = (40.0, 60.0), (52.0, 48.0)
    >>> shown = Distribution("linkage", "all", "women", (-1.0, 0.0, 1.0), *halves, note="Mean over 1 split.")
    >>> shown.to_dict()["inside"]
    [40.0, 60.0]
    """

    learner: str
    lens: str
    group: str
    edges: tuple[float, ...]
    inside: tuple[float, ...]
    outside: tuple[float, ...]
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "learner": self.learner,
            "lens": self.lens,
            "group": self.group,
            "edges": list(self.edges),
            "inside": list(self.inside),
            "outside": list(self.outside),
            "note": self.note,
        }


def distribution(trials: Trials, learner: int, lens: int, group: int, min_cell: int = MIN_CELL) -> Distribution:
    """The predictions of one group as counts in bins, averaged over the splits that gave predictions.

    Bins that hold some but fewer than `min_cell` members, both halves together, are joined or left out, so that no bin
    speaks about a few people. A group of fewer than twice `min_cell` members is not shown at all.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=2))
    >>> shown = distribution(trials, 0, 0, 1)
    >>> len(shown.edges) == len(shown.inside) + 1, round(sum(shown.inside) + sum(shown.outside))
    (True, 200)
    """
    min_cell = check.whole("min_cell", min_cell, at_least=1)
    names = (trials.learners[learner], trials.lenses[lens].name, trials.groups.names[group])
    members = trials.groups.mask(group)
    size = int(members.sum())
    if size < 2 * min_cell:
        return Distribution(*names, (), (), (), f"Not shown: fewer than {2 * min_cell} members.")
    done = np.flatnonzero(trials.done[:, learner, lens])
    if trials.predictions is None or not done.size:
        return Distribution(*names, (), (), (), "Not shown: there are no predictions.")
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    inside, outside = np.zeros(BINS), np.zeros(BINS)
    for k in done:
        values, where = trials.predictions[k, learner, lens][members], trials.inside[k][members]
        inside += np.histogram(values[where], edges)[0]
        outside += np.histogram(values[~where], edges)[0]
    bins, left_out = joined(edges, inside / done.size, outside / done.size, min_cell)
    note = f"Mean over {done.size} {'split' if done.size == 1 else 'splits'}; {size:,} members"
    note += f"; bins of at least {min_cell} people, sparse neighbours joined."
    if left_out:
        many = f"About {left_out:.0f}" if left_out >= min_cell else f"Fewer than {min_cell}"
        note += f" {many} people alone in sparse bins are not drawn."
    lefts, a, b = zip(*bins, strict=True)
    return Distribution(*names, (*lefts, 1.0), a, b, note)


def joined(edges: Any, inside: Any, outside: Any, least: float) -> tuple[tuple[Bin, ...], float]:
    """Bins that each hold `least` people or nobody, as (left end, inside, outside); and how many people are left out.

    Full bins stay as they are, so that a crowd at one prediction is drawn where it is. Sparse bins between full ones
    are joined from the left; where all of them together hold too few, these few are left out.

    Examples
    --------
    >>> joined([-1, -0.5, 0, 0.5, 1], [3, 9, 0, 10], [4, 9, 0, 2], 25)
    (((-1.0, 22.0, 15.0),), 0.0)
    >>> joined([-1, -0.5, 0, 0.5, 1], [3, 9, 0, 10], [4, 9, 0, 2], 10)
    (((-1.0, 0.0, 0.0), (-0.5, 9.0, 9.0), (0.0, 0.0, 0.0), (0.5, 10.0, 2.0)), 7.0)
    """
    bins: list[Bin] = []
    sparse: list[Bin] = []
    left_out = 0.0
    ends = [(float(e), float(a), float(b)) for e, a, b in zip(edges[:-1], inside, outside, strict=True)]
    for one in [*ends, None]:
        if one is not None and one[1] + one[2] < least:
            sparse.append(one)
            continue
        made, missed = _run(sparse, least)
        bins += made
        left_out += missed
        sparse = []
        if one is not None:
            bins.append(one)
    return tuple(bins), left_out


def _run(sparse: list[Bin], least: float) -> tuple[list[Bin], float]:
    """Sparse bins joined; empty ones at either end stay."""
    held = [i for i, one in enumerate(sparse) if one[1] + one[2] > 0]
    if not held:
        return sparse, 0.0
    first, last = held[0], held[-1] + 1
    parts: list[Bin] = []
    for one in sparse[first:last]:
        if parts and parts[-1][1] + parts[-1][2] < least:
            parts[-1] = _added(parts[-1], one)
        else:
            parts.append(one)
    if len(parts) > 1 and parts[-1][1] + parts[-1][2] < least:
        rest = parts.pop()
        parts[-1] = _added(parts[-1], rest)
    missed = 0.0
    if parts[0][1] + parts[0][2] < least:
        missed, parts = parts[0][1] + parts[0][2], [(parts[0][0], 0.0, 0.0)]
    return [*sparse[:first], *parts, *sparse[last:]], missed


def _added(one: Bin, other: Bin) -> Bin:
    return one[0], one[1] + other[1], one[2] + other[2]


__all__ = ["BINS", "MIN_CELL", "Bin", "Distribution", "distribution", "joined"]
