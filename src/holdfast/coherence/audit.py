"""What is audited, and the rows, groups, lenses and learners that follow from it before anything is split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance import METRICS, check_weights
from holdfast.coherence.groups import GroupPlan, Groups, plan_of
from holdfast.coherence.learners.tabular import learners_of
from holdfast.coherence.peeking import check_holds_no_data
from holdfast.coherence.table import Table
from holdfast.coherence.target import Lens, Target, family
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# The uniform half split: which rows the curator sees.


def half_split(n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a uniformly random half of `n` rows, n even: True for the rows that the curator sees.

    Definition D8 of the coherence specification (Figure 1 of the paper): every subset of n/2 rows is equally likely.

    Examples
    --------
    >>> inside = half_split(10, np.random.default_rng(1))
    >>> int(inside.sum()), inside.size
    (5, 10)
    """
    n = arguments.whole("n", n, at_least=2)
    if n % 2:
        raise InvalidParameter(
            f"n must be even to be split into two halves, got {n}; drop one row at random with even_rows"
        )
    inside = np.zeros(n, dtype=bool)
    inside[rng.permutation(n)[: n // 2]] = True
    return inside


def even_rows(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return all of `n` rows if n is even, otherwise all but a uniformly random one, in order.

    Examples
    --------
    >>> even_rows(4, np.random.default_rng(1)).tolist(), even_rows(5, np.random.default_rng(1)).size
    ([0, 1, 2, 3], 4)
    """
    n = arguments.whole("n", n, at_least=2)
    return np.delete(np.arange(n), rng.integers(n)) if n % 2 else np.arange(n)


def cluster_split(clusters: Any, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Half of the clusters, drawn uniformly; every cluster stays whole. An odd cluster falls to either side.

    No theorem of coherence covers this split (members of a group move in clumps), and a re-split or permutation test
    must move whole clusters too.

    Examples
    --------
    >>> homes = np.array([0, 0, 1, 2, 2, 3])
    >>> inside = cluster_split(homes, np.random.default_rng(1))
    >>> all(len(set(inside[homes == home])) == 1 for home in range(4))
    True
    """
    _, which = np.unique(np.asarray(clusters), return_inverse=True)
    count = int(which.max()) + 1 if which.size else 0
    if count < 2:
        raise InvalidParameter(
            f"clusters must hold at least 2 different clusters, so that some can be in each half, got {count}"
        )
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.permutation(count)[: count // 2 + int(count % 2 and rng.integers(2))]] = True
    return np.asarray(chosen[which])


LENS_MODES = ("retrain", "mask")


@dataclass(frozen=True, eq=False, repr=False)
class MadeRelease:
    """A release that was made before the audit, for which it is known which rows were in it and which were held out.

    Parameters
    ----------
    report : anything
        The release, as learners expect it: for built-in ones a table.
    inside, outside : list of truth values, or list of row numbers
        Rows that were in the release; rows that were held out (default: all the others). Rows in neither are left out.

    Examples
    --------
    >>> inside, rows = MadeRelease(None, inside=[0, 2], outside=[1]).halves(4)
    >>> inside.tolist(), rows.tolist()
    ([True, False, True, False], [0, 1, 2])
    """

    report: Any
    inside: Any
    outside: Any = None

    def halves(self, rows: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which rows were in the release, and the numbers of all rows that were in it or held out.

        `rows` is the number of rows of the data.
        """
        inside = _members("inside", self.inside, rows)
        outside = ~inside if self.outside is None else _members("outside", self.outside, rows)
        if (inside & outside).any():
            raise InvalidParameter(
                "inside and outside must not share a row: each row was either in the release or held out"
            )
        if not inside.any() or not outside.any():
            raise InvalidParameter("inside and outside must each hold at least one row")
        return inside, np.flatnonzero(inside | outside)


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The description of an audit: the data, the curator, the learners, the groups and the number of splits.

    Making this description runs nothing; `run` runs the audit.

    Parameters
    ----------
    data : table
        A sample (`hf.data.table("people.csv")`), a mapping of columns, a data frame, or a `Table`. Rows of a sample
        are read once; a database hands them over in any order, so that the seed does not repeat its splits.
    curator : callable, or MadeRelease
        Gets one half as a `Table` (and, if it takes two arguments, a random generator) and returns the report. See
        `coherence.curators`. A `MadeRelease` is a release already made: there is one split, the one that made it.
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
    >>> audit = Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=3, seed=1)
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

    def __post_init__(self) -> None:
        arguments.whole("splits", self.splits, at_least=1)
        arguments.whole("seed", self.seed, at_least=0)
        arguments.whole("patience", self.patience, at_least=1)
        arguments.choice("metric", self.metric, METRICS)
        arguments.choice("lens_mode", self.lens_mode, LENS_MODES)
        if self.learner_time_limit is not None:
            arguments.real("learner_time_limit", self.learner_time_limit, above=0)
        if self.release is None and not callable(self.curator):
            raise InvalidParameter(
                "curator must be callable: a function that takes one half of the rows, or one of coherence.curators"
            )
        if self.release is not None and self.clusters is not None:
            raise InvalidParameter(
                "clusters must be left out for a release that was made before the audit, because its rows are not "
                "split again"
            )

    @property
    def release(self) -> MadeRelease | None:
        """The release that was made before the audit, if there is one in place of a curator; otherwise None."""
        return self.curator if isinstance(self.curator, MadeRelease) else None

    def __repr__(self) -> str:
        splits = 1 if self.release is not None else self.splits
        return f"Audit({type(self.curator).__name__}, {splits} splits, seed={self.seed})"


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
    inside: NDArray[np.bool_] | None
    """Which of the rows were in a release already made; None where every split decides it afresh."""

    @property
    def splits(self) -> int:
        """How many splits there are."""
        return self.audit.splits if self.inside is None else 1


def prepare(audit: Audit) -> Setting:
    """Check an audit and fix its rows and groups. Nothing is split, released or learnt. `run` does this first."""
    table = Table.of(audit.data)
    notes: list[str] = []
    target = audit.target
    release = audit.release
    inside, rows = (None, np.arange(table.rows)) if release is None else release.halves(table.rows)
    if target is not None:
        target.check_said(table, rows)
        before = rows.size
        rows = rows[target.applies(table)[rows]]
        left_out = before - rows.size
        if left_out:
            notes.append(f"{left_out} rows were left out before the split: {target.column!r} does not apply to them")
        truth = target.truth(table)[rows]
        if rows.size and (truth.all() or not truth.any()):
            raise InvalidParameter(
                f"target {target.name!r} must be true of some rows and false of others, but it is the same for all rows"
            )
    lenses = family(audit.lenses, table, None if target is None else target.column)
    if release is None and audit.clusters is None:
        if rows.size < 2:
            raise InvalidParameter(f"data must have at least 2 rows to which the target applies, got {rows.size}")
        even = even_rows(rows.size, np.random.default_rng(child(audit.seed, 0)))
        if even.size < rows.size:
            notes.append("one row drawn at random was left out to make the number of rows even")
        rows = rows[even]
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
    if release is not None:
        notes.append("the release was already made: valid only if a uniformly random choice decided who was in it")
    learners = learners_of(audit.learners)
    if release is None:
        check_holds_no_data("curator", audit.curator, table, audit.data)
    for name, learner in learners.items():
        if hasattr(learner, "for_rows"):  # predictions given
            learner.fits(table.rows)
            if release is None:
                notes.append(f"learner {name!r}: the same predictions serve every split, so this shows chance alone")
        check_holds_no_data(f"learner {name!r}", learner, table, audit.data)
    known = None if inside is None else inside[rows]
    return Setting(audit, table, rows, groups, lenses, learners, tuple(notes), clusters, weights, known)


def with_curator(audit: Audit, curator: Any) -> Audit:
    """Return the same audit with the same splits, but with another curator. Use it to compare two releases split by
    split.

    Examples
    --------
    >>> from holdfast.coherence import curators, learners
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> clear = Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=3, seed=1)
    >>> counted = with_curator(clear, curators.Count("ill = 1"))
    >>> counted.seed == clear.seed, counted.curator
    (True, Count(rule='ill = 1', name='count'))
    """
    return replace(audit, curator=curator)


def child(seed: int, *key: int) -> np.random.SeedSequence:
    """Return the part of an audit's randomness that a key names: (0) the row left out, (1, k, ...) split k."""
    return np.random.SeedSequence(seed, spawn_key=key)


def _plan(audit: Audit) -> GroupPlan:
    """The groups of the audit; by default the target's own, where the largest effects are."""
    if audit.groups is not None or audit.target is None:
        return plan_of(audit.groups)
    return GroupPlan(audit.target.groups())


def _members(name: str, given: Any, rows: int) -> NDArray[np.bool_]:
    array = np.asarray(given)
    if array.dtype == np.bool_ and array.shape == (rows,):
        return array
    if array.ndim == 1 and array.dtype.kind in "iu" and array.size and array.min() >= 0 and array.max() < rows:
        mask = np.zeros(rows, dtype=bool)
        mask[array] = True
        if int(mask.sum()) == array.size:  # a list of 0 and 1 for every row names rows 0 and 1 again and again
            return mask
    raise InvalidParameter(
        f"{name} must be a list with True or False for each of {rows} rows, or a list of distinct row numbers"
    )
