"""The coherence experiment: split in halves, release one, learn from the release, compare the halves of each group.

Definition D8 and algorithms 2.1 to 2.3 of the coherence specification (Figure 1 of the paper). The curator sees one
half, shuffled; the learner sees the report only; the predictor sees the columns of its lens only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.audit import Audit, MadeRelease, Setting, child, cluster_split, half_split, prepare
from holdfast.coherence.distance import rank
from holdfast.coherence.failures import Failure, failure_of, isolated
from holdfast.coherence.groups import Groups
from holdfast.coherence.peeking import fingerprint, predict
from holdfast.coherence.protocol import call
from holdfast.coherence.table import Table
from holdfast.coherence.target import Lens, Target
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Trials -----------------------------------------------------------------------------------------------------------
# The outcome of an experiment: distances for every split, learner, lens and group, and what went wrong.


@dataclass(frozen=True, eq=False, repr=False)
class Trials:
    """The results of `run`: the distances of all groups, the predictions and the failures.

    Attributes
    ----------
    groups : Groups
        The groups, with members among the rows of the audit, fixed before the first split.
    lenses, learners : tuple
        Lenses, and names of learners.
    rows : array (n,)
        Which rows of the data are in the audit, in order.
    inside : array of bool (splits, n)
        Whether the row was in the released half of that split.
    distance : array (splits, learners, lenses, groups)
        NaN where a half of the group is empty and where something failed.
    inside_count, outside_count : array (splits, groups)
        Members of the group in either half.
    predictions : array (splits, learners, lenses, n) or None
        Predictions for all rows, both halves; NaN where something failed. Secret: they speak about single people.
    failures : tuple of Failure
        Everything that went wrong. If there is one, the result is partial; so it is if a split emptied a group.
    notes : tuple of str
        What a reader must know: rows left out, groups that are too small, options outside the definition.
    mode : str
        "repeated", or "single" for a release that was already made.
    metric : str
        The distance.
    digests : tuple of str or None
        A fingerprint of each split's report.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> found = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=3, seed=1))
    >>> found.distance.shape, found.partial
    ((3, 1, 1, 3), False)
    >>> found.groups.names
    ('everyone', 'ill = 1', 'not ill = 1')
    """

    groups: Groups
    lenses: tuple[Lens, ...]
    learners: tuple[str, ...]
    rows: NDArray[np.int64]
    inside: NDArray[np.bool_]
    distance: NDArray[np.float64]
    inside_count: NDArray[np.int64]
    outside_count: NDArray[np.int64]
    predictions: NDArray[np.float64] | None
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    mode: str
    metric: str
    digests: tuple[str | None, ...]
    clusters: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def splits(self) -> int:
        """The number of splits that were requested."""
        return int(self.inside.shape[0])

    @property
    def partial(self) -> bool:
        """Whether some distances are missing, because something failed or because a split left one half of a group
        empty.
        """
        return bool(self.failures) or bool(self.emptied.any())

    @property
    def emptied(self) -> NDArray[np.int64]:
        """For each group, the number of splits in which one of the halves had no member of the group."""
        return np.asarray(((self.inside_count == 0) | (self.outside_count == 0)).sum(axis=0))

    @property
    def done(self) -> NDArray[np.bool_]:
        """For each split, learner and lens, whether there are predictions: an array of shape (splits, learners,
        lenses).
        """
        done = np.ones(self.distance.shape[:3], dtype=bool)
        for failure in self.failures:
            who = slice(None) if failure.learner is None else self.learners.index(failure.learner)
            through = slice(None)
            if failure.lens is not None:
                at = [lens.name for lens in self.lenses].index(failure.lens)
                through = slice(at, at + 1)
            done[failure.split, who, through] = False
        return done

    def bits(self, alpha: float, *, empty: str = "skip") -> NDArray[np.int8]:
        """Return for each split, learner and lens whether the result is coherent: 1 coherent, 0 incoherent, -1 not
        known.

        The result is 0 if the distance of some group is strictly above alpha (Definitions D7 and D8 of the coherence
        specification). A group with an empty half has no distance: `empty="skip"` leaves the group out,
        `empty="incoherent"` counts it as incoherent. If the learner or the curator failed, the result is -1.
        """
        alpha = arguments.real("alpha", alpha, above=0, at_most=2)
        arguments.choice("empty", empty, ["skip", "incoherent"])
        with np.errstate(invalid="ignore"):
            above = (self.distance > alpha).any(axis=-1)
        if empty == "incoherent":
            emptied = (self.inside_count == 0) | (self.outside_count == 0)
            above |= emptied.any(axis=-1)[:, None, None]
        return np.where(self.done, np.where(above, 0, 1), -1).astype(np.int8)

    def messages(self) -> list[str]:
        """Return in sentences what a reader of the results must know: notes, groups that splits left empty, and
        failures by kind.
        """
        messages = list(self.notes)
        messages += [
            f"PARTIAL: group {name!r} had no member in one of the halves in {count} of {self.splits} splits; "
            "there is no distance there"
            for name, count in zip(self.groups.names, self.emptied, strict=True)
            if count
        ]
        seen: dict[tuple[str, str | None, str | None, str], list[int]] = {}
        for failure in self.failures:
            seen.setdefault((failure.kind, failure.learner, failure.lens, failure.message), []).append(failure.split)
        for (kind, learner, lens, text), splits in seen.items():
            where = "".join([f", learner {learner}" if learner else "", f", lens {lens}" if lens else ""])
            messages.append(f"PARTIAL: {kind} in {len(splits)} of {self.splits} splits{where}: {text}")
        return messages

    def learner(self, name: str) -> int:
        """Return the index of the learner with the given name."""
        if name not in self.learners:
            raise InvalidParameter(f"learner must be one of {', '.join(self.learners)}, got {name!r}")
        return self.learners.index(name)

    def mean(self) -> NDArray[np.float64]:
        """Return the mean distance over the splits that have one, as an array of shape (learners, lenses, groups).

        Where no split has a distance, the mean is NaN.
        """
        known = np.isfinite(self.distance)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(known, self.distance, 0).sum(axis=0) / known.sum(axis=0))

    def __repr__(self) -> str:
        state = "complete"
        if self.partial:
            emptied = np.count_nonzero(self.emptied)
            state = f"PARTIAL, {len(self.failures)} failures" + (f", {emptied} groups emptied" if emptied else "")
        return (
            f"Trials({self.splits} splits, {len(self.learners)} learners, {len(self.lenses)} lenses, "
            f"{len(self.groups)} groups, {self.rows.size} rows, {state})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain data, without rows, splits and predictions."""
        return {
            "mode": self.mode,
            "metric": self.metric,
            "rows": int(self.rows.size),
            "splits": self.splits,
            "partial": self.partial,
            "groups": [{"name": n, "size": int(s)} for n, s in zip(self.groups.names, self.groups.sizes, strict=True)],
            "too_small": [{"name": name, "size": size} for name, size in self.groups.too_small],
            "lenses": [{"name": lens.name, "columns": list(lens.columns)} for lens in self.lenses],
            "learners": list(self.learners),
            "distance": [
                [[[None if d != d else d for d in g] for g in lens] for lens in learner]
                for learner in self.distance.tolist()
            ],
            "failures": [failure.to_dict() for failure in self.failures],
            "notes": list(self.notes),
            "messages": self.messages(),
        }


# --- Experiment -------------------------------------------------------------------------------------------------------

# From a report to predictions: one learner in one split, through each lens, under a time limit if there is one.


@dataclass(eq=False, repr=False)
class Learning:
    """A learner with the report of one split.

    Attributes
    ----------
    learner : callable
        The learner.
    report : anything
        What the curator released.
    target : Target or None
        The statement.
    everyone : Table
        The rows of the audit, both halves: what the predictor is asked about, through a lens.
    mode : str
        "retrain" or "mask".
    seed : SeedSequence
        Of this learner in this split. Child j is the generator of lens j; in "mask" mode child 0 is that of the one
        predictor.
    time_limit : float or None
        Seconds to learn and predict through one lens. With a limit both run in a child process. It keeps nothing,
        so in "mask" mode it learns afresh, with the same generator, for each lens.
    """

    learner: Any
    report: Any
    target: Target | None
    everyone: Table
    mode: str
    seed: np.random.SeedSequence
    time_limit: float | None = None
    _masked: list[Any] = field(default_factory=list)

    def predictions(self, number: int, lens: Lens) -> NDArray[np.float64]:
        """One number in [-1, 1] for each row, through lens `number`. Raises what went wrong."""
        if self.time_limit is None:
            return self._through(number, lens)
        predictions: NDArray[np.float64] = isolated(self._through, (number, lens), self.time_limit, "learner")
        return predictions

    def _through(self, number: int, lens: Lens) -> NDArray[np.float64]:
        names, rng = self.everyone.names, self._rng(number)
        if self.mode == "retrain":
            learnt = call(self.learner, _own(self.report), lens, self.target, rng)
            return predict(learnt, self.everyone.select(lens.columns), names, rng)
        shown = tuple(name for name in names if self.target is None or name != self.target.column)
        if not self._masked:
            whole = Lens("all columns", shown)
            self._masked.append(call(self.learner, _own(self.report), whole, self.target, self._rng(0)))
        return predict(self._masked[0], self.everyone.select(shown).hide(lens.columns), names, rng)

    def _rng(self, number: int) -> np.random.Generator:
        key = (*self.seed.spawn_key, number)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))


def _own(report: Any) -> Any:
    """A copy of a released table: learners share it, and one that changes it must not change it for the next."""
    frame = hasattr(report, "columns") and callable(getattr(report, "copy", None))
    return report.copy() if frame else report


Progress = Callable[[int, int], None]
"""Called with the number of splits done and the number of splits."""


def run(audit: Audit, progress: Progress | None = None, workers: int = 1) -> Trials:
    """Run every split of an audit and return the results.

    The splits are independent: split k takes all its randomness from the k-th child of the seed. So the result is the
    same for any number of workers. Workers are threads, so the callables must be safe to run at the same time. If a
    curator or learner fails, the run goes on. The failure is recorded, its distances are NaN, and the result is marked
    partial.

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
    >>> audit = Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=3, seed=1)
    >>> run(audit)
    Trials(3 splits, 1 learners, 1 lenses, 3 groups, 400 rows, complete)
    >>> bool((run(audit, workers=2).distance == run(audit).distance).all())
    True
    """
    workers = arguments.whole("workers", workers, at_least=1, at_most=256)
    setting = prepare(audit)
    results: list[_Split] = []
    stopped = False

    def attempt(k: int) -> _Split:
        return _no_split(setting, k) if stopped else _one_split(setting, k)

    with ThreadPoolExecutor(max_workers=workers) as pool:
        # In the order of splits, whatever ends first: so the decision to stop does not depend on the workers either.
        outcomes = map(attempt, range(setting.splits)) if workers == 1 else pool.map(attempt, range(setting.splits))
        for k, result in enumerate(outcomes):
            results.append(_no_split(setting, k) if stopped else result)
            tail = results[-audit.patience :]
            if len(results) == audit.patience and all(split.digest is None for split in tail):
                stopped = True  # nothing was ever released: more of the same is only a wait
            if progress is not None:
                progress(k + 1, setting.splits)
    return _gathered(setting, results)


def single_shot(data: Any, release: Any, inside: Any, learners: Any, *, outside: Any = None, **options: Any) -> Trials:
    """Run the experiment once, for a release that was made before the audit.

    It must be known which rows were in the release and which were held out, and a uniformly random choice must have
    decided it. The result states this assumption. A single split is no estimate of a probability, so the result shows
    nothing about beta.

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
    >>> trials = single_shot(people, release, where, learners.Linkage(), target=Target("ill = 1"))
    >>> trials.mode, trials.splits, bool(trials.distance[0, 0, 0, 1] > 0.9)
    ('single', 1, True)
    """
    for name in ("splits", "clusters"):
        if name in options:
            raise InvalidParameter(
                f"{name} must be left out for a release that was made before the audit, because it is not split again"
            )
    return run(Audit(data, MadeRelease(release, inside, outside), learners, **options))


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
    if setting.inside is not None:
        return setting.inside
    rng = np.random.default_rng(child(setting.audit.seed, 1, k, 0))
    return half_split(setting.rows.size, rng) if setting.clusters is None else cluster_split(setting.clusters, rng)


def _blank(setting: Setting, k: int) -> _Split:
    inside = _inside(setting, k)
    shape = (len(setting.learners), len(setting.lenses))
    predictions = np.full((*shape, setting.rows.size), np.nan) if setting.audit.keep_predictions else None
    halves = setting.groups.distances(np.zeros(setting.rows.size), inside)
    counts = (halves.inside, halves.outside)
    return _Split(inside, np.full((*shape, len(setting.groups)), np.nan), counts, predictions, [], None)


def _no_split(setting: Setting, k: int) -> _Split:
    split = _blank(setting, k)
    reason = "not tried, because no release of the first splits succeeded"
    split.failures.append(Failure(k, None, None, "not-run", reason))
    return split


def _one_split(setting: Setting, k: int) -> _Split:
    audit, split = setting.audit, _blank(setting, k)
    try:
        report = _report(setting, k, split.inside)
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
                predictions = learner.for_rows(setting.rows, lens) if given else learning.predictions(j, lens)
            except (Exception, SystemExit) as error:
                split.failures.append(failure_of(error, k, name, lens.name))
                continue
            measured = setting.groups.distances(
                rank(predictions), split.inside, weights=setting.weights, metric=audit.metric
            )
            split.distance[i, j] = measured.distance
            if split.predictions is not None:
                split.predictions[i, j] = predictions
    return split


def _report(setting: Setting, k: int, inside: NDArray[np.bool_]) -> Any:
    """What split k releases: the release already made, or what the curator makes of its half."""
    audit = setting.audit
    if audit.release is not None:
        return audit.release.report
    rng = np.random.default_rng(child(audit.seed, 1, k, 1))
    half = setting.table.take(rng.permutation(setting.rows[inside]))  # shuffled: order carries nothing (D14)
    return call(audit.curator, half, np.random.default_rng(child(audit.seed, 1, k, 2)))


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
        mode="repeated" if setting.inside is None else "single",
        metric=audit.metric,
        digests=tuple(split.digest for split in splits),
        clusters=setting.clusters,
        weights=setting.weights,
    )
