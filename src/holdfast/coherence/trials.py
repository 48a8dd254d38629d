"""The outcome of an experiment: distances for every split, learner, lens and group, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.failures import Failure
from holdfast.coherence.groups import Groups
from holdfast.coherence.lenses import Lens
from holdfast.errors import InvalidParameter


@dataclass(frozen=True, eq=False, repr=False)
class Trials:
    """What `run` found.

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
    >>> found = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=3, seed=1))
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
        """How many splits were asked for."""
        return int(self.inside.shape[0])

    @property
    def partial(self) -> bool:
        """Whether some distances are missing: something failed, or a split left a half of a group empty."""
        return bool(self.failures) or bool(self.emptied.any())

    @property
    def emptied(self) -> NDArray[np.int64]:
        """For each group: in how many splits it had no member in one of the halves."""
        return np.asarray(((self.inside_count == 0) | (self.outside_count == 0)).sum(axis=0))

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which (split, learner, lens) gave predictions: array (splits, learners, lenses)."""
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
        """The bit of the experiment for each (split, learner, lens): 0 incoherent, 1 coherent, -1 not known.

        Definitions D7 and D8 of the coherence specification: 0 if the distance of some group is above alpha, strictly.
        A group with an empty half has no distance; `empty="skip"` leaves it out, `empty="incoherent"` counts it
        as a failure. Where learner or curator failed the bit is -1: never a pass.
        """
        alpha = check.real("alpha", alpha, above=0, at_most=2)
        check.choice("empty", empty, ["skip", "incoherent"])
        with np.errstate(invalid="ignore"):
            above = (self.distance > alpha).any(axis=-1)
        if empty == "incoherent":
            emptied = (self.inside_count == 0) | (self.outside_count == 0)
            above |= emptied.any(axis=-1)[:, None, None]
        return np.where(self.done, np.where(above, 0, 1), -1).astype(np.int8)

    def messages(self) -> list[str]:
        """What a reader must know, in sentences: notes, groups emptied by splits, failures by kind."""
        said = list(self.notes)
        said += [
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
            said.append(f"PARTIAL: {kind} in {len(splits)} of {self.splits} splits{where}: {text}")
        return said

    def learner(self, name: str) -> int:
        """The place of a learner."""
        if name not in self.learners:
            raise InvalidParameter(f"learner must be one of {', '.join(self.learners)}, got {name!r}")
        return self.learners.index(name)

    def mean(self) -> NDArray[np.float64]:
        """Mean distance over the splits that have one: array (learners, lenses, groups), NaN where none has."""
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
        """Plain data without rows, splits and predictions."""
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


__all__ = ["Trials"]
