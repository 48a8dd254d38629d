"""The coherence experiment: split in halves, release one, learn from the release, compare the halves of each group.

Definition D8 and algorithms 2.1 to 2.3 of the coherence specification (Figure 1 of the paper). The curator sees one
half, shuffled; the learner sees the report only; the predictor sees the columns of its lens only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.audit import Audit, Setting, child, prepare
from holdfast.coherence.distance import rank
from holdfast.coherence.failures import Failure, failure_of
from holdfast.coherence.learning import Learning
from holdfast.coherence.peeking import fingerprint
from holdfast.coherence.protocol import call
from holdfast.coherence.split import cluster_split, half_split
from holdfast.coherence.table import Table
from holdfast.coherence.trials import Trials
from holdfast.errors import InvalidParameter

Progress = Callable[[int, int], None]
"""Called with the number of splits done and the number of splits."""


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
    >>> from holdfast.coherence import Audit, Target, curators, learners
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
    >>> from holdfast.coherence import Target, learners
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


def _inside(setting: Setting, k: int) -> NDArray[np.bool_]:
    """Which rows of the audit split k releases."""
    if setting.audit.known is not None:
        return setting.audit.known[setting.rows]
    rng = np.random.default_rng(child(setting.audit.seed, 1, k, 0))
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
    rng = np.random.default_rng(child(audit.seed, 1, k, 1))
    released = setting.rows[split.inside]
    half = setting.table.take(rng.permutation(released))  # shuffled: order carries nothing (D14)
    try:
        report = call(audit.curator, half, np.random.default_rng(child(audit.seed, 1, k, 2)))
    except (Exception, SystemExit) as error:  # a generator that calls sys.exit(0) must not end the audit with 0
        split.failures.append(failure_of(error, k, None, None))
        return split
    split.digest = fingerprint(report)
    everyone = setting.table.take(setting.rows)
    for i, (name, learner) in enumerate(setting.learners.items()):
        seed, limit = child(audit.seed, 1, k, 3, i), audit.learner_time_limit
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


__all__ = ["Progress", "run", "single_shot"]
