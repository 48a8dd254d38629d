"""Significance of an audit: what is chance, what is not, for every learner, lens and group. No alpha enters here.

The primary test is the cross-evaluation of predictors on splits (`significance_cross`). A release already made has one
split: its omnibus is max-T (`significance_membership`), and nothing can be said about probabilities over splits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.holm import holm
from holdfast.coherence.significance_cross import cross_distances, cross_test, mean_excess
from holdfast.coherence.significance_membership import max_t, membership_test
from holdfast.coherence.trials import Trials
from holdfast.errors import InvalidParameter

Floats = NDArray[np.float64]

CROSS = "cross-evaluation"
"""The test of several splits: each predictor on the splits of the others."""
MAX_T = "max-T"
"""The test of one split: the largest distance of any group, against permutations."""
NONE = "none"
"""Nothing could be tested."""
#: Splits that are measured on one another at most: the work grows with the square.
MOST_CROSSED = 40
_MOST_PERMUTATIONS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class CaseSignificance:
    """One learner through one lens. Arrays have one number a group; NaN: not known.

    Attributes
    ----------
    learner, lens : str
        Names.
    asked, splits, crossed : int
        Splits asked for, with predictions, and measured on one another.
    distance : array (splits, groups)
        Of every split with predictions. Never to be shown without `floor`.
    cross : array (crossed, crossed, groups) or None
        Distance of predictor k under split j. None for a single split.
    mean, floor, excess, excess_low, excess_high : array
        Mean distance on the crossed splits, what chance gives the same predictors, the difference, its 95% interval.
    p_values, p_adjusted : array
        The group's own p-value: cross-evaluation, or the within-group permutation for a single split; and corrected by
        Holm's method over all groups, learners and lenses, and never below `omnibus_adjusted`: no group is named
        where it is not shown that any depends on the split.
    membership : array
        Within-group permutation p-values of the first split. They reject for nearly every trained predictor.
    omnibus, omnibus_adjusted : float
        For "some group depends on the split", and corrected over learners and lenses.
    test : str
        Which test the omnibus is: "cross-evaluation", "max-T" or "none".
    least_p : float
        The least p-value the splits and permutations could have given.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=6, seed=1))
    >>> case = significance(trials, permutations=999).cases[0]
    >>> case.learner, case.test, case.distance.shape
    ('linkage', 'cross-evaluation', (6, 3))
    """

    learner: str
    lens: str
    asked: int
    splits: int
    crossed: int
    distance: Floats
    cross: Floats | None
    mean: Floats
    floor: Floats
    excess: Floats
    excess_low: Floats
    excess_high: Floats
    p_values: Floats
    p_adjusted: Floats
    membership: Floats
    omnibus: float
    omnibus_adjusted: float
    test: str
    least_p: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the cross-evaluation as its floor only."""
        arrays = ("mean", "floor", "excess", "excess_low", "excess_high", "p_values", "p_adjusted", "membership")
        return {
            "learner": self.learner,
            "lens": self.lens,
            "asked": self.asked,
            "splits": self.splits,
            "crossed": self.crossed,
            "test": self.test,
            "omnibus": _plain(self.omnibus),
            "omnibus_adjusted": _plain(self.omnibus_adjusted),
            "least_p": self.least_p,
            **{name: [_plain(value) for value in getattr(self, name).tolist()] for name in arrays},
        }


@dataclass(frozen=True, eq=False, repr=False)
class Significance:
    """What `significance` found: one `CaseSignificance` for each learner and lens.

    Attributes
    ----------
    groups, sizes : tuple
        Names and members of the groups.
    cases : tuple of CaseSignificance
        Learners in order, lenses in order within each.
    mode : str
        "repeated" or "single".
    metric : str
        The distance.
    permutations : int
        Permutations drawn for each omnibus test.
    partial : bool
        Whether something failed in the experiment.
    messages : tuple of str
        What a reader must know.
    too_small : tuple of (str, int)
        Groups below the size limit that were not measured, with their sizes.
    unmeasured : tuple of str
        Those of them that were declared by name: without a finding the audit does not pass.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=6, seed=1))
    >>> found = significance(trials, permutations=999)
    >>> found.mode, found.groups, len(found.cases)
    ('repeated', ('everyone', 'ill = 1', 'not ill = 1'), 1)
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    cases: tuple[CaseSignificance, ...]
    mode: str
    metric: str
    permutations: int
    partial: bool
    messages: tuple[str, ...]
    too_small: tuple[tuple[str, int], ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """Groups times learners times lenses: what group claims are corrected for."""
        return len(self.groups) * len(self.cases)

    def case(self, learner: str, lens: str) -> CaseSignificance:
        """The case of a learner and a lens."""
        for case in self.cases:
            if (case.learner, case.lens) == (learner, lens):
                return case
        raise InvalidParameter(f"no case has learner {learner!r} and lens {lens!r}")

    def __repr__(self) -> str:
        state = "PARTIAL" if self.partial else "complete"
        return f"Significance({len(self.cases)} cases, {len(self.groups)} groups, {self.mode}, {state})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "mode": self.mode,
            "metric": self.metric,
            "partial": self.partial,
            "permutations": self.permutations,
            "groups": [{"name": n, "size": s} for n, s in zip(self.groups, self.sizes, strict=True)],
            "too_small": [{"name": name, "size": size} for name, size in self.too_small],
            "cases": [case.to_dict() for case in self.cases],
            "messages": list(self.messages),
        }


def significance(
    trials: Trials, *, permutations: int | None = None, membership: bool = True, seed: int = 0
) -> Significance:
    """Test every learner, lens and group of an experiment against chance.

    Parameters
    ----------
    trials : Trials
        What `run` or `single_shot` returned, with predictions kept.
    permutations : int, optional
        For each test. Default: 9,999, or 40 for each group, learner and lens if that is more, at most 100,000. A tenth
        of it for max-T, and for the within-group permutation where there are several splits.
    membership : bool
        Whether to run the within-group permutation on the first split too. One split always has it.
    seed : int
        Of the permutations. It decides nothing but which of them are drawn.

    Returns
    -------
    Significance
        For at most the first 40 splits with predictions all pairs of predictor and split are measured: that is most of
        the time, 40**2 calls of `Groups.distances` for each learner and lens.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(400), "ill": rng.integers(0, 2, 400)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=6, seed=1))
    >>> found = significance(trials, permutations=999)
    >>> case = found.cases[0]
    >>> case.test, case.omnibus < 0.01, bool(case.excess[1] > 0.8)
    ('cross-evaluation', True, True)
    """
    if trials.predictions is None:
        raise InvalidParameter("trials must have predictions: run the audit with keep_predictions=True")
    tests = len(trials.groups) * len(trials.learners) * len(trials.lenses)
    if permutations is None:
        permutations = min(max(9999, 40 * tests - 1), _MOST_PERMUTATIONS - 1)
    permutations = check.whole("permutations", permutations, at_least=19)
    seed = check.whole("seed", seed, at_least=0)
    drafts = [
        _case(trials, i, j, permutations, membership, np.random.default_rng([seed, i, j]))
        for i in range(len(trials.learners))
        for j in range(len(trials.lenses))
    ]
    cases = _corrected(drafts)
    said = trials.messages()
    if any(case.splits > MOST_CROSSED for case in cases):
        said.append(f"the first {MOST_CROSSED} splits were measured on one another; all of them count for beta")
    return Significance(
        groups=trials.groups.names,
        sizes=tuple(int(size) for size in trials.groups.sizes),
        cases=cases,
        mode=trials.mode,
        metric=trials.metric,
        permutations=permutations,
        partial=trials.partial or any(case.splits < case.asked for case in cases),
        messages=tuple(said),
        too_small=trials.groups.too_small,
        unmeasured=trials.groups.unmeasured,
    )


def _case(
    trials: Trials, i: int, j: int, permutations: int, membership: bool, rng: np.random.Generator
) -> dict[str, Any]:
    """The fields of one case, before correction over cases."""
    assert trials.predictions is not None
    predictions = trials.predictions[:, i, j]
    done = np.flatnonzero(np.isfinite(predictions).all(axis=1))
    options: dict[str, Any] = {"weights": trials.weights, "metric": trials.metric}
    groups = len(trials.groups)
    nothing = np.full(groups, np.nan)
    fields: dict[str, Any] = {
        "learner": trials.learners[i],
        "lens": trials.lenses[j].name,
        "asked": trials.splits,
        "splits": int(done.size),
        "crossed": 0,
        "distance": trials.distance[done, i, j],
        "cross": None,
        "membership": nothing,
        "p_values": nothing,
        "omnibus": math.nan,
        "test": NONE,
        "least_p": 1.0,
        **dict.fromkeys(("mean", "floor", "excess", "excess_low", "excess_high"), nothing),
    }
    if not done.size:
        return fields
    first, some = int(done[0]), max(99, (permutations + 1) // 10 - 1)
    if membership or trials.mode == "single":
        draws = permutations if trials.mode == "single" else some  # one split: here the p-values name groups
        fields["membership"] = _membership(trials, predictions[first], trials.inside[first], rng, draws, options)
    if trials.mode == "single":
        found = max_t(
            predictions[first], trials.inside[first], trials.groups, rng, some, clusters=trials.clusters, **options
        )
        mean = trials.distance[first, i, j]
        fields |= {"mean": mean, "floor": found.floor, "excess": mean - found.floor, "p_values": fields["membership"]}
        return fields | {"omnibus": found.p_value, "test": MAX_T, "least_p": 1 / (some + 1)}
    used = done[:MOST_CROSSED]
    if used.size < 2:
        return fields
    cross = cross_distances(predictions[used], trials.inside[used], trials.groups, **options)
    tested, excess = cross_test(cross, rng, permutations), mean_excess(cross)
    return fields | {
        "crossed": int(used.size),
        "cross": cross,
        "mean": excess.mean,
        "floor": excess.floor,
        "excess": excess.excess,
        "excess_low": excess.low,
        "excess_high": excess.high,
        "p_values": tested.p_values,
        "omnibus": tested.omnibus,
        "test": CROSS,
        "least_p": tested.least,
    }


def _membership(
    trials: Trials, h: Floats, inside: Any, rng: np.random.Generator, permutations: int, options: dict[str, Any]
) -> Floats:
    found = []
    for mask in trials.groups.masks():
        weights = None if options["weights"] is None else options["weights"][mask]
        clusters = None if trials.clusters is None else trials.clusters[mask]
        one = {"weights": weights, "metric": options["metric"], "clusters": clusters}
        empty = inside[mask].all() or not inside[mask].any()
        found.append(math.nan if empty else membership_test(h[mask], inside[mask], rng, permutations, **one))
    return np.array(found)


def _corrected(drafts: list[dict[str, Any]]) -> tuple[CaseSignificance, ...]:
    """Holm over all groups of all cases, and over the omnibus tests of all cases, which are the gate to naming."""
    every = np.concatenate([draft["p_values"] for draft in drafts])
    adjusted = np.where(np.isnan(every), np.nan, holm(np.where(np.isnan(every), 1.0, every).tolist()))
    parts = np.split(adjusted, len(drafts))
    whole = [draft["omnibus"] for draft in drafts]
    overall = holm([1.0 if math.isnan(p) else p for p in whole])
    cases = []
    for draft, part, alone, whole_p in zip(drafts, parts, whole, overall, strict=True):
        some = math.nan if math.isnan(alone) else whole_p
        named = part if math.isnan(some) else np.maximum(part, some)  # a gate: the two tests may disagree
        cases.append(CaseSignificance(**draft, p_adjusted=named, omnibus_adjusted=some))
    return tuple(cases)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


__all__ = ["CROSS", "MAX_T", "MOST_CROSSED", "NONE", "CaseSignificance", "Significance", "significance"]
