"""One audit for each pair of curator and learner, on the same splits, and one for each lens that opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence import Audit, GroupPlan, Lens, Trials, curators, learners
from holdfast.coherence import run as run_audit
from holdfast.coherence.groups import EVERYONE
from holdfast.coherence.significance import assess
from holdfast.coherence.table import Table as Rows
from holdfast.coherence.verdict import INCOHERENT, Verdict, judge
from holdfast_papers.coherence.acs_data import DISABILITY, TARGET
from holdfast_papers.coherence.predictors_pairs import GROUP, GROUPS, Pair

ALPHA, BETA = 0.2, 0.05
PATH = (
    Lens("sex, race", ("SEX", "RAC1P")),
    Lens("+ age", ("SEX", "RAC1P", "AGEP")),
    Lens("+ education", ("SEX", "RAC1P", "AGEP", "EDU")),
    Lens("+ density", ("SEX", "RAC1P", "AGEP", "EDU", "DENSITY")),
    Lens("all eight", ("SEX", "RAC1P", "AGEP", "EDU", "DENSITY", "INDP_CAT", "INDP", "HISP")),
)
PATH_SPECIFIED = {
    "full tree": (0.0045, 0.152, 0.611, 1.303, 1.443),
    "forest": (0.0041, 0.138, 0.487, 0.914, 0.978),
    "tree, leaves of 50": (0.0031, 0.036, 0.052, 0.066, 0.069),
}


@dataclass(frozen=True)
class Row:
    """What the audit of one pair found. Distances are means over splits, never without their floor."""

    pair: Pair
    mean: float
    floor: float
    spread: float
    everyone: float
    everyone_floor: float
    largest: float
    largest_floor: float
    raw: float
    omnibus: float
    auc_inside: float
    auc_outside: float
    judged: Verdict

    @property
    def above(self) -> float:
        """How many floors the distance of the group is above its floor."""
        gap = self.mean - self.floor
        return gap / self.floor if self.floor > 0 else 0.0 if gap <= 0 else float("inf")

    @property
    def incoherent(self) -> str:
        """Groups found incoherent, worst excess first; the first three, and how many more."""
        names = [
            f"{f.group} ({f.mean:.3f}, floor {f.floor:.3f})" for f in self.judged.findings if f.status == INCOHERENT
        ]
        return "; ".join(names[:3]) + (f"; {len(names) - 3} more" if len(names) > 3 else "")

    @property
    def group_status(self) -> str:
        """The verdict on the group."""
        return next(f.status for f in self.judged.findings if f.group == GROUP)

    def cells(self) -> dict[str, Any]:
        """As a row of the table."""
        return {
            "predictor": self.pair.name,
            "kind": self.pair.kind,
            "W1": short(self.mean),
            "sd": short(self.spread),
            "floor": short(self.floor),
            "floors above": short(self.above),
            "specification": self.pair.specified,
            "verdict": self.judged.outcome,
            "verdict on group": self.group_status,
        }

    def more(self) -> dict[str, Any]:
        """As a row of the second table."""
        return {
            "predictor": self.pair.name,
            "W1 everyone": short(self.everyone),
            "floor everyone": short(self.everyone_floor),
            "largest of all groups": short(self.largest),
            "floor of largest": short(self.largest_floor),
            "splits above alpha": short(self.raw),
            "omnibus p": short(self.omnibus),
            "incoherent groups": self.incoherent,
            "AUC held out": short(self.auc_outside),
            "AUC released": short(self.auc_inside),
        }


def compare(
    people: Rows,
    chosen: Sequence[Pair],
    splits: int,
    seed: int,
    progress: Callable[[float, str], None] = lambda fraction, what: None,
) -> list[Row]:
    """Audit every pair on the same splits."""
    compared = []
    for at, pair in enumerate(chosen):
        progress(at / len(chosen), pair.name)
        compared.append(_row(people, pair, splits, seed))
    return compared


def _row(people: Rows, pair: Pair, splits: int, seed: int) -> Row:
    described = Audit(people, pair.curator, {pair.name: _learner(pair)}, TARGET, GROUPS, pair.lens, splits, seed)
    trials = run_audit(described, workers=2)
    if trials.partial:
        raise RuntimeError(f"{pair.name}: {'; '.join(trials.messages())}")
    tested = assess(trials, membership=False, seed=seed)
    case = tested.cases[0]
    assert case.cross is not None
    group, everyone = tested.groups.index(GROUP), tested.groups.index(EVERYONE)
    inside, outside = _aucs(people, trials)
    return Row(
        pair=pair,
        mean=float(case.mean[group]),
        floor=float(case.floor[group]),
        spread=float(case.distance[:, group].std(ddof=1)),
        everyone=float(case.mean[everyone]),
        everyone_floor=float(case.floor[everyone]),
        largest=float(case.distance.max(axis=1).mean()),
        largest_floor=float(case.cross.max(axis=2)[~np.eye(splits, dtype=bool)].mean()),
        raw=float((trials.bits(ALPHA) == 0).mean()),
        omnibus=case.omnibus,
        auc_inside=inside,
        auc_outside=outside,
        judged=judge(tested, ALPHA, BETA),
    )


def _learner(pair: Pair) -> Any:
    return learners.named(pair.learner) if isinstance(pair.learner, str) else pair.learner


def auc(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> float:
    """Probability that a true row scores above a false one, ties by half.

    Examples
    --------
    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([False, False, True, True]))
    0.875
    """
    from scipy.stats import rankdata

    yes, no = int(truth.sum()), int((~truth).sum())
    return float((rankdata(scores)[truth].sum() - yes * (yes + 1) / 2) / (yes * no))


def _aucs(people: Rows, trials: Trials) -> tuple[float, float]:
    """How well the predictors predict: for people in the release, and for people held out. Mean over splits."""
    assert trials.predictions is not None
    truth = TARGET.truth(people)[trials.rows]
    areas = [
        [auc(h[where], truth[where]) for where in (inside, ~inside)]
        for h, inside in zip(trials.predictions[:, 0, 0], trials.inside, strict=True)
    ]
    return tuple(np.mean(areas, axis=0).tolist())


def sweep(people: Rows, splits: int, seed: int) -> list[dict[str, Any]]:
    """Which column opens the leak: the distance in the group as the lens opens one column at a time."""
    trained = {
        "full tree": learners.named("tree"),
        "forest": learners.named("forest"),
        "tree, leaves of 50": learners.named("tree", min_samples_leaf=50),
    }
    groups = GroupPlan(columns=(DISABILITY,))
    trials = run_audit(Audit(people, curators.Clear(), trained, TARGET, groups, PATH, splits, seed), workers=2)
    group = trials.groups.names.index(GROUP)
    mean = trials.mean()
    tested = assess(trials, permutations=19, membership=False)
    rows = []
    for j, lens in enumerate(PATH):
        shown = np.column_stack([people[name][trials.rows] for name in lens.columns])
        row: dict[str, Any] = {"lens": lens.name, "profiles": len(np.unique(shown, axis=0))}
        for i, name in enumerate(trained):
            row[name] = short(mean[i, j, group])
            row[f"floor, {name}"] = short(tested.case(name, lens.name).floor[group])
            row[f"specification, {name}"] = PATH_SPECIFIED[name][j]
        rows.append(row)
    return rows


def short(value: float) -> float:
    """A number with four digits."""
    return float(f"{value:.4g}")


__all__ = ["ALPHA", "BETA", "PATH", "Row", "auc", "compare", "short", "sweep"]
