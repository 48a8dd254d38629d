"""What repeated splits show beside a mean: every distance in order, and excess beside how well a learner predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.significance import Significance
from holdfast.coherence.trials import Trials
from holdfast.coherence.verdict import GroupFinding


@dataclass(frozen=True)
class Repeats:
    """The distances of one group over the splits, in order, and what chance alone gives: Figure 2 of the paper.

    Attributes
    ----------
    learner, lens, group : str
        Whose predictions, through which lens, about whom.
    size : int
        Members of the group.
    distances : tuple of float
        One for each split, ascending.
    chance : tuple of float
        As many: of the same predictors on splits that they were not trained on, at equal steps of their order.
    """

    learner: str
    lens: str
    group: str
    size: int
    distances: tuple[float, ...]
    chance: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Utility:
    """One learner and lens: how well it predicts people who were held out, and its largest excess over the floor.

    Attributes
    ----------
    learner, lens : str
        Which predictor.
    auc : float
        Of the statement that is predicted, among held-out people, mean over the splits; one half is guessing.
    excess : float
        The largest mean excess over the floor among the groups.
    group : str
        Which group that is.
    """

    learner: str
    lens: str
    auc: float
    excess: float
    group: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


def own_and_chance(
    found: Significance, finding: GroupFinding, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Distances of predictors on their own splits, and on the splits of others, which is chance; None without both."""
    case = found.case(finding.learner, finding.lens)
    if case.cross is None:
        return None
    table = case.cross[:, :, group]
    off = table[~np.eye(len(table), dtype=bool)]
    own, others = case.distance[np.isfinite(case.distance[:, group]), group], off[np.isfinite(off)]
    return (own, others) if own.size and others.size else None


def repeats(found: Significance, finding: GroupFinding, group: int) -> Repeats | None:
    """The distances of one finding in order; None where there are fewer than two, or no cross-evaluation."""
    known = own_and_chance(found, finding, group)
    if known is None or known[0].size < 2:
        return None
    own, others = known
    chance = np.quantile(others, np.linspace(0, 1, own.size))
    ordered = tuple(np.sort(own).tolist())
    return Repeats(finding.learner, finding.lens, finding.group, finding.size, ordered, tuple(chance.tolist()))


def utilities(trials: Trials, findings: tuple[GroupFinding, ...]) -> tuple[Utility, ...]:
    """Held-out AUC and largest excess of each learner and lens; empty where the target's two groups are not known.

    They are a group and the one called "not" and its name, as `Audit` makes them by default.
    """
    names = trials.groups.names
    pair = next(((name, f"not {name}") for name in names if f"not {name}" in names), None)
    if pair is None or trials.predictions is None:
        return ()
    true, false = (trials.groups.mask(name) for name in pair)
    made = []
    for i, learner in enumerate(trials.learners):
        for j, lens in enumerate(trials.lenses):
            own = [f for f in findings if (f.learner, f.lens) == (learner, lens.name) and f.excess is not None]
            held = [
                auc(
                    trials.predictions[k, i, j][true & ~trials.inside[k]],
                    trials.predictions[k, i, j][false & ~trials.inside[k]],
                )
                for k in np.flatnonzero(trials.done[:, i, j])
            ]
            known = [value for value in held if value is not None]
            if own and known:
                worst = max(own, key=lambda f: f.excess or 0.0)
                made.append(Utility(learner, lens.name, float(np.mean(known)), float(worst.excess or 0.0), worst.group))
    return tuple(made)


def auc(true: NDArray[np.float64], false: NDArray[np.float64]) -> float | None:
    """How often a prediction from the first list is above one from the second, ties by half; None if one is empty.

    Examples
    --------
    >>> auc(np.array([0.5, 1.0]), np.array([0.5, -1.0]))
    0.875
    """
    if not true.size or not false.size:
        return None
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, side="left").sum() + np.searchsorted(ordered, true, side="right").sum()
    return float(below / (2 * true.size * false.size))


__all__ = ["Repeats", "Utility", "auc", "own_and_chance", "repeats", "utilities"]
