"""What is audited, and the rows, groups, lenses and learners that follow from it before anything is split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.distance import METRICS, check_weights
from holdfast.coherence.groups import GroupPlan, Groups, plan_of
from holdfast.coherence.learning import LENS_MODES
from holdfast.coherence.lenses import Lens, family
from holdfast.coherence.peeking import check_holds_no_data
from holdfast.coherence.protocol import learners_of
from holdfast.coherence.split import even_rows
from holdfast.coherence.table import Table
from holdfast.coherence.target import Target
from holdfast.errors import InvalidParameter


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What to audit: a description that nothing has been run of.

    Parameters
    ----------
    data : table
        A mapping of columns, a data frame, or a `Table`.
    curator : callable
        Gets one half as a `Table` (and, if it takes two arguments, a random generator) and returns the report. See
        `coherence.curators`.
    learners : learner, estimator, name, or a list or mapping of these
        Each gets the report, the lens, the target and a generator, and returns a predictor: a function from a `Table`
        to one number in [-1, 1] a row. See `coherence.learners`.
    target : Target, optional
        The statement about a person. Rows it does not apply to are left out before the split.
    groups : GroupPlan, mapping of declared groups, or list of columns
        Fixed before the split. Default: everyone, and the people for whom the target is true and false.
    lenses : lenses
        Default: one lens with every column but the target.
    splits : int
        How many times to split, release and learn afresh.
    seed : int
        Of splits, shuffles, learners and simulated noise. Secure noise of built-in private curators does not use it.
    metric : str
        See `distance.group_distances`.
    weights, clusters : str, optional
        Columns: survey weights of the distance; clusters that are split as wholes. Both are outside the definition.
    lens_mode : str
        "retrain": learn for each lens; "mask": learn once with all columns, and hide the others when predicting.
    keep_predictions : bool
        Whether to keep every prediction; significance needs them. 8 bytes a row, split, learner and lens.
    learner_time_limit : float, optional
        Seconds that a learner may take to learn and predict, for one split and lens. It then runs in a child process,
        which is ended past the limit. None: no limit, no child process.
    patience : int
        If none of the first so many splits gives a release, the others are not tried.

    Examples
    --------
    >>> from holdfast.coherence import curators, learners, run
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(400), "ill": rng.integers(0, 2, 400)}
    >>> audit = Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=3, seed=1)
    >>> trials = run(audit)
    >>> trials
    Trials(3 splits, 1 learners, 1 lenses, 3 groups, 400 rows, complete)

    Whoever is in the release is known for certain, whoever is not gets the base rate:

    >>> trials.groups.names, bool((trials.distance[..., 1:] > 0.9).all())
    (('everyone', 'ill = 1', 'not ill = 1'), True)
    """

    data: Any
    curator: Any
    learners: Any
    target: Target | None = None
    groups: Any = None
    lenses: Any = None
    splits: int = 20
    seed: int = 0
    metric: str = "wasserstein"
    weights: str | None = None
    clusters: str | None = None
    lens_mode: str = "retrain"
    keep_predictions: bool = True
    learner_time_limit: float | None = None
    patience: int = 3
    known: NDArray[np.bool_] | None = None
    only: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        check.whole("splits", self.splits, at_least=1)
        check.whole("seed", self.seed, at_least=0)
        check.whole("patience", self.patience, at_least=1)
        check.choice("metric", self.metric, METRICS)
        check.choice("lens_mode", self.lens_mode, LENS_MODES)
        if self.learner_time_limit is not None:
            check.real("learner_time_limit", self.learner_time_limit, above=0)
        if self.known is None and not callable(self.curator):
            raise InvalidParameter("curator must be callable: a function of one half, or one of coherence.curators")

    def __repr__(self) -> str:
        return f"Audit({type(self.curator).__name__}, {self.splits} splits, seed={self.seed})"


@dataclass(frozen=True, eq=False)
class Setting:
    """An audit after all checks: the rows, groups, lenses and learners that every split shares."""

    audit: Audit
    table: Table
    rows: NDArray[np.int64]
    groups: Groups
    lenses: tuple[Lens, ...]
    learners: Mapping[str, Any]
    notes: tuple[str, ...]
    clusters: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None


def prepare(audit: Audit) -> Setting:
    """Check an audit and fix its rows and groups. Nothing is split, released or learnt. `run` does this first."""
    table = Table.of(audit.data)
    notes: list[str] = []
    target = audit.target
    rows = np.arange(table.rows) if audit.only is None else audit.only
    if target is not None:
        rows = rows[target.applies(table)[rows]]
        left_out = (table.rows if audit.only is None else audit.only.size) - rows.size
        if left_out:
            notes.append(f"{left_out} rows were left out before the split: {target.column!r} does not apply to them")
        truth = target.truth(table)[rows]
        if rows.size and (truth.all() or not truth.any()):
            raise InvalidParameter(f"target {target.name!r} must be true of some rows and false of others")
    lenses = family(audit.lenses, table, None if target is None else target.column)
    if audit.known is None and audit.clusters is None:
        if rows.size < 2:
            raise InvalidParameter(f"data must have at least 2 rows that the target applies to, got {rows.size}")
        kept = even_rows(rows.size, np.random.default_rng(child(audit.seed, 0)))
        if kept.size < rows.size:
            notes.append("one row drawn at random was left out to make the number of rows even")
        rows = rows[kept]
    groups = _plan(audit).resolve(table, rows)
    if groups.too_small:
        notes.append(f"{len(groups.too_small)} groups below the size limit were not measured")
    notes += [f"group {name!r} was asked for and not measured: below the size limit" for name in groups.unmeasured]
    clusters = weights = None
    if audit.clusters is not None:
        clusters = np.unique(table[audit.clusters][rows], return_inverse=True)[1]
        notes.append(f"whole clusters of {audit.clusters!r} were split: no coherence theorem covers this")
    if audit.weights is not None:
        weights = check_weights(f"column {audit.weights!r}", table[audit.weights][rows], rows.size)
        notes.append(f"distances are weighted by {audit.weights!r}: outside the definition and its theorems")
    if audit.known is not None:
        notes.append("the release was already made: valid only if a uniformly random choice decided who was in it")
    learners = learners_of(audit.learners)
    if audit.known is None:
        check_holds_no_data("curator", audit.curator, table, audit.data)
    for name, learner in learners.items():
        if hasattr(learner, "for_rows"):  # predictions given
            learner.fits(table.rows)
            if audit.known is None:
                notes.append(f"learner {name!r}: the same predictions serve every split, so this shows chance alone")
        check_holds_no_data(f"learner {name!r}", learner, table, audit.data)
    return Setting(audit, table, rows, groups, lenses, learners, tuple(notes), clusters, weights)


def with_curator(audit: Audit, curator: Any) -> Audit:
    """The same audit, same splits, of another curator: for paired comparison of releases.

    Examples
    --------
    >>> from holdfast.coherence import curators, learners
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> clear = Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=3, seed=1)
    >>> counted = with_curator(clear, curators.Count("ill", 1))
    >>> counted.seed == clear.seed, counted.curator
    (True, Count(column='ill', value=1, name='count'))
    """
    return replace(audit, curator=curator)


def child(seed: int, *key: int) -> np.random.SeedSequence:
    """The part of an audit's randomness that a key names: (0) the row left out, (1, k, ...) split k."""
    return np.random.SeedSequence(seed, spawn_key=key)


def _plan(audit: Audit) -> GroupPlan:
    """The groups of the audit; by default the target's own, where the largest effects are."""
    if audit.groups is not None or audit.target is None:
        return plan_of(audit.groups)
    target = audit.target
    return GroupPlan(
        {target.name: target.truth, f"not {target.name}": lambda table: target.applies(table) & ~target.truth(table)}
    )


__all__ = ["Audit", "Setting", "child", "prepare", "with_curator"]
