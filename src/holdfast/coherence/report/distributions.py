"""Predictions of a group as counts in bins, for the released and the held-out half. Never a single prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast import check
from holdfast.coherence.trials import Trials

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

    Bins that hold fewer than `min_cell` members, both halves together, are joined with the next ones, so that no bin
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
    kept, a, b = joined(edges, inside / done.size, outside / done.size, min_cell)
    note = f"Mean over {done.size} {'split' if done.size == 1 else 'splits'}; {size:,} members"
    note += f"; bins of at least {min_cell} people, smaller ones joined with the next."
    return Distribution(*names, kept, a, b, note)


def joined(
    edges: Any, inside: Any, outside: Any, least: float
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Join bins from the left until each holds `least`; what is left at the end joins the last.

    Examples
    --------
    >>> joined([-1, 0, 0.5, 1], [3, 9, 0], [4, 9, 2], 10)
    ((-1.0, 0.5, 1.0), (12.0, 0.0), (13.0, 2.0))
    >>> joined([-1, 0, 0.5, 1], [3, 9, 0], [4, 9, 2], 2)
    ((-1.0, 0.0, 0.5, 1.0), (3.0, 9.0, 0.0), (4.0, 9.0, 2.0))
    """
    kept, a, b = [float(edges[0])], [0.0], [0.0]
    for i in range(len(inside)):
        if a[-1] + b[-1] >= least and sum(inside[i:]) + sum(outside[i:]) > 0:
            kept.append(float(edges[i]))
            a.append(0.0)
            b.append(0.0)
        a[-1] += float(inside[i])
        b[-1] += float(outside[i])
    if a[-1] + b[-1] < least and len(a) > 1:
        kept.pop()
        last_a, last_b = a.pop(), b.pop()
        a[-1] += last_a
        b[-1] += last_b
    return (*kept, float(edges[-1])), tuple(a), tuple(b)


__all__ = ["BINS", "MIN_CELL", "Distribution", "distribution", "joined"]
