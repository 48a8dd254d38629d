"""The coherence experiment: split in halves, release one, learn from the release, compare the halves of each group.

Definition D8 and algorithms 2.1 to 2.3 of the coherence specification (Figure 1 of the paper). The curator sees one
half, shuffled; the learner sees the report only; the predictor sees the columns of its lens only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.distance import METRICS, check_weights, rank
from holdfast.coherence.failures import Failure, failure_of
from holdfast.coherence.groups import GroupPlan, Groups, plan_of
from holdfast.coherence.learning import LENS_MODES, Learning
from holdfast.coherence.lenses import Lens, family
from holdfast.coherence.peeking import check_holds_no_data, fingerprint
from holdfast.coherence.protocol import call, learners_of
from holdfast.coherence.split import cluster_split, even_rows, half_split
from holdfast.coherence.table import Table
from holdfast.coherence.target import Target
from holdfast.coherence.trials import Trials
from holdfast.errors import InvalidParameter

Progress = Callable[[int, int], None]
"""Called with the number of splits done and the number of splits."""


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
    >>> from holdfast.coherence import curators, learners
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
        kept = even_rows(rows.size, np.random.default_rng(_child(audit.seed, 0)))
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


def run(audit: Audit, progress: Progress | None = None, workers: int = 1) -> Trials:
    """Run every split of an audit.

    Splits are independent: split k draws all its randomness from the k-th child of the seed, so the result is the same
    for any number of workers (threads: callables must be safe to run at the same time). A curator or learner that
    fails does not end the run. Its failure is recorded, its distances stay NaN, and the result is marked partial.

    Parameters
    ----------
    audit : Audit
        What to run.
    progress : callable, optional
        Called with (splits done, splits), in the calling thread.
    workers : int
        Splits that run at the same time.

    Returns
    -------
    Trials

    Examples
    --------
    >>> from holdfast.coherence import curators, learners
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> audit = Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=3, seed=1)
    >>> run(audit)
    Trials(3 splits, 1 learners, 1 lenses, 3 groups, 400 rows, complete)
    >>> bool((run(audit, workers=2).distance == run(audit).distance).all())
    True
    """
    workers = check.whole("workers", workers, at_least=1)
    setting = prepare(audit)
    results: list[_Split] = []
    stopped = False

    def one(k: int) -> _Split:
        return _no_split(setting, k) if stopped else _one_split(setting, k)

    with ThreadPoolExecutor(max_workers=workers) as pool:
        # In the order of splits, whatever ends first: so the decision to stop does not depend on the workers either.
        found = map(one, range(audit.splits)) if workers == 1 else pool.map(one, range(audit.splits))
        for k, result in enumerate(found):
            results.append(_no_split(setting, k) if stopped else result)
            tail = results[-audit.patience :]
            if len(results) == audit.patience and all(split.digest is None for split in tail):
                stopped = True  # nothing was ever released: more of the same is only a wait
            if progress is not None:
                progress(k + 1, audit.splits)
    return _gathered(setting, results)


def single_shot(data: Any, release: Any, inside: Any, learners: Any, *, outside: Any = None, **options: Any) -> Trials:
    """The experiment for a release already made: known rows were in it, known rows were held out.

    Valid only if a uniformly random choice decided who was in: the result says so. One split is no estimate of a
    probability, so nothing about beta can be read off it.

    Parameters
    ----------
    data : table
        All rows, in and out.
    release : anything
        The report, as learners expect it: for built-in ones a table.
    inside, outside : list of truth values, or list of row numbers
        Rows that were in the release; rows that were held out (default: all the others). Rows in neither are left out.
    learners, **options
        As for `Audit`.

    Examples
    --------
    >>> from holdfast.coherence import learners
    >>> people = {"id": np.arange(200), "ill": np.tile([0, 1], 100)}
    >>> where = np.random.default_rng(1).permutation(200) < 100
    >>> release = {name: values[where] for name, values in people.items()}
    >>> trials = single_shot(people, release, where, learners.Linkage(), target=Target("ill", equals=1))
    >>> trials.mode, trials.splits, bool(trials.distance[0, 0, 0, 1] > 0.9)
    ('single', 1, True)
    """
    for name in ("splits", "clusters", "known", "only"):
        if name in options:
            raise InvalidParameter(f"{name} has no meaning for a release already made")
    table = Table.of(data)
    a = _members("inside", inside, table.rows)
    b = ~a if outside is None else _members("outside", outside, table.rows)
    if (a & b).any():
        raise InvalidParameter("inside and outside must have no row in common")
    if not a.any() or not b.any():
        raise InvalidParameter("inside and outside must hold at least one row each")
    only = np.flatnonzero(a | b)
    audit = Audit(data, _Made(release), learners, splits=1, known=a, only=only, **options)
    return run(audit)


@dataclass(frozen=True)
class _Made:
    """A curator that returns what was already made."""

    release: Any

    def __call__(self, half: Table) -> Any:
        return self.release


@dataclass(eq=False)
class _Split:
    """What one split gave, or would have given."""

    inside: NDArray[np.bool_]
    distance: NDArray[np.float64]
    counts: tuple[NDArray[np.int64], NDArray[np.int64]]
    predictions: NDArray[np.float64] | None
    failures: list[Failure]
    digest: str | None


def _child(seed: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=key)


def _inside(setting: Setting, k: int) -> NDArray[np.bool_]:
    """Which rows of the audit split k releases."""
    if setting.audit.known is not None:
        return setting.audit.known[setting.rows]
    rng = np.random.default_rng(_child(setting.audit.seed, 1, k, 0))
    return half_split(setting.rows.size, rng) if setting.clusters is None else cluster_split(setting.clusters, rng)


def _blank(setting: Setting, k: int) -> _Split:
    inside = _inside(setting, k)
    shape = (len(setting.learners), len(setting.lenses))
    kept = np.full((*shape, setting.rows.size), np.nan) if setting.audit.keep_predictions else None
    halves = setting.groups.distances(np.zeros(setting.rows.size), inside)
    counts = (halves.inside, halves.outside)
    return _Split(inside, np.full((*shape, len(setting.groups)), np.nan), counts, kept, [], None)


def _no_split(setting: Setting, k: int) -> _Split:
    split = _blank(setting, k)
    said = "not tried, because no release of the first splits succeeded"
    split.failures.append(Failure(k, None, None, "not-run", said))
    return split


def _one_split(setting: Setting, k: int) -> _Split:
    audit, split = setting.audit, _blank(setting, k)
    rng = np.random.default_rng(_child(audit.seed, 1, k, 1))
    released = setting.rows[split.inside]
    half = setting.table.take(rng.permutation(released))  # shuffled: order carries nothing (D14)
    try:
        report = call(audit.curator, half, np.random.default_rng(_child(audit.seed, 1, k, 2)))
    except (Exception, SystemExit) as error:  # a generator that calls sys.exit(0) must not end the audit with 0
        split.failures.append(failure_of(error, k, None, None))
        return split
    split.digest = fingerprint(report)
    everyone = setting.table.take(setting.rows)
    for i, (name, learner) in enumerate(setting.learners.items()):
        seed, limit = _child(audit.seed, 1, k, 3, i), audit.learner_time_limit
        learning = Learning(learner, report, audit.target, everyone, audit.lens_mode, seed, limit)
        for j, lens in enumerate(setting.lenses):
            try:
                given = hasattr(learner, "for_rows")
                found = learner.for_rows(setting.rows, lens) if given else learning.predictions(j, lens)
            except (Exception, SystemExit) as error:
                split.failures.append(failure_of(error, k, name, lens.name))
                continue
            measured = setting.groups.distances(rank(found), split.inside, weights=setting.weights, metric=audit.metric)
            split.distance[i, j] = measured.distance
            if split.predictions is not None:
                split.predictions[i, j] = found
    return split


def _gathered(setting: Setting, splits: Sequence[_Split]) -> Trials:
    audit = setting.audit
    return Trials(
        groups=setting.groups,
        lenses=setting.lenses,
        learners=tuple(setting.learners),
        rows=setting.rows,
        inside=np.stack([split.inside for split in splits]),
        distance=np.stack([split.distance for split in splits]),
        inside_count=np.stack([split.counts[0] for split in splits]),
        outside_count=np.stack([split.counts[1] for split in splits]),
        predictions=np.stack([p for split in splits if (p := split.predictions) is not None])
        if audit.keep_predictions
        else None,
        failures=tuple(failure for split in splits for failure in split.failures),
        notes=setting.notes,
        mode="repeated" if audit.known is None else "single",
        metric=audit.metric,
        digests=tuple(split.digest for split in splits),
        clusters=setting.clusters,
        weights=setting.weights,
    )


def _plan(audit: Audit) -> GroupPlan:
    """The groups of the audit; by default the target's own, where the largest effects are."""
    if audit.groups is not None or audit.target is None:
        return plan_of(audit.groups)
    target = audit.target
    return GroupPlan(
        {target.name: target.truth, f"not {target.name}": lambda table: target.applies(table) & ~target.truth(table)}
    )


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
        f"{name} must be one truth value, True or False, for each of {rows} rows, or a list of distinct row numbers"
    )


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


__all__ = ["Audit", "Progress", "Setting", "Trials", "prepare", "run", "single_shot", "with_curator"]
