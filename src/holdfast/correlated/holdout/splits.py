"""Splits that keep dependent rows on one side: by group, or in time; and a refusal of those that do not.

A random split of dependent rows puts relatives on both sides. Then the holdout given the training rows does not have
the distribution that was declared, and no guarantee is left. Groups that are independent of each other may be dealt out
at random. A series may be cut in time: the later part given the earlier one still forgets its start, and the width pays
with a bias (`gap` of `DependentRows.chain`); a gap makes that bias smaller and is not needed for validity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.correlated.holdout.dependent_rows import DependentRows
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.noise.entropy import Source, resolve

Index = npt.NDArray[np.intp]


@dataclass(frozen=True, repr=False)
class Split:
    """A division of the rows into public rows and holdout rows.

    `train` and `holdout` are row numbers, each in the given order of rows (in time order for a split in time). `kind`
    is "groups", "time" or "random". `sizes` are the numbers of rows that each independent group has in the holdout, or
    None if no groups were given. `gap` is, for a split in time, the number of steps from the last training row to the
    first holdout row (1 if they are adjacent). If the two sides are independent, `gap` is None.

    Examples
    --------
    >>> split = split_groups(["ann", "ann", "bob", "bob", "cat", "cat"], share=1 / 3)
    >>> split, sorted([*split.train.tolist(), *split.holdout.tolist()])
    (Split(groups: 4 training rows, 2 holdout rows), [0, 1, 2, 3, 4, 5])
    """

    train: Index
    holdout: Index
    kind: str
    sizes: tuple[int, ...] | None = None
    gap: int | None = None

    def blocks(self) -> DependentRows:
        """Return the groups of the holdout as independent blocks, with any dependence inside a block."""
        if self.kind != "groups" or self.sizes is None:
            raise GuaranteeUnavailable(
                "only a split by groups leaves independent blocks; for a split in time declare a chain with its gap"
            )
        return DependentRows.blocks(self.sizes)

    def __repr__(self) -> str:
        return f"Split({self.kind}: {len(self.train)} training rows, {len(self.holdout)} holdout rows)"


def split_groups(groups: Any, share: float = 0.5, *, source: Source | None = None) -> Split:
    """Split the rows by groups at random: each group is wholly in the public part or wholly in the holdout.

    Parameters
    ----------
    groups : array
        The group of each row: user, household, patient, site. Groups must be independent of each other.
    share : float
        Share of the groups that goes to the holdout, rounded to the nearest number that leaves both sides one.
    source : noise.Source, optional
        `noise.Seeded` in simulations. The deal may not depend on the rows, and does not.

    Returns
    -------
    Split
        Rows in their given order.

    Raises
    ------
    GuaranteeUnavailable
        There is one group only.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> found = split_groups(["a", "a", "b", "c", "c", "c", "d"], source=Seeded(1))
    >>> found.train.tolist(), found.holdout.tolist()
    ([2, 6], [0, 1, 3, 4, 5])
    """
    codes, count = places(groups, "groups")
    share = arguments.probability("share", share)
    if count < 2:
        raise GuaranteeUnavailable(
            "there must be at least two groups, because a single group cannot be split; split it in time instead"
        )
    held = min(max(round(share * count), 1), count - 1)
    keys = resolve(source).words(count)
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[np.argsort(keys, kind="stable")[:held]] = True
    side = chosen[codes]
    sizes = np.bincount(codes, minlength=count)[chosen]
    return Split(np.flatnonzero(~side), np.flatnonzero(side), "groups", tuple(int(size) for size in sizes))


def split_time(time: Any, share: float = 0.5, *, gap: int = 1) -> Split:
    """Split a series in time: the earlier rows are for training, and the later rows are the holdout.

    Parameters
    ----------
    time : array
        When each row happened; any type that sorts, without missing values. Rows of one time stay together.
    share : float
        Share of the distinct times that goes to the holdout.
    gap : int
        Steps from the last training time to the first holdout time; the `gap - 1` times between are left out. 1 leaves
        out none. Hand it on to `DependentRows.chain` or `markov`: the guarantee needs it.

    Returns
    -------
    Split
        Row numbers in time order.

    Examples
    --------
    >>> split = split_time([2001, 2002, 2003, 2004, 2005, 2006], share=0.5, gap=2)
    >>> split.train.tolist(), split.holdout.tolist(), split.gap
    ([0, 1], [3, 4, 5], 2)
    """
    codes, count = places(time, "time")
    share = arguments.probability("share", share)
    gap = arguments.whole("gap", gap, at_least=1, at_most=10**9)
    held = max(round(share * count), 1)
    last = count - held - gap  # the last training time
    if last < 0:
        raise InvalidParameter(
            f"gap must leave training rows: {count} times with {held} in the holdout have room for a gap of at most "
            f"{max(count - held, 0)}, got {gap}"
        )
    order = np.argsort(codes, kind="stable")
    when = codes[order]
    return Split(order[when <= last], order[when >= count - held], "time", None, gap)


def check_split(
    train: npt.ArrayLike,
    holdout: npt.ArrayLike,
    *,
    groups: Any = None,
    time: Any = None,
    accept_random: bool = False,
) -> Split:
    """Check a split that was made elsewhere. If dependent rows are on both sides, it is refused.

    Parameters
    ----------
    train, holdout : array of int
        Row numbers of both sides.
    groups : array, optional
        The group of each row of the whole table; groups are independent of each other.
    time : array, optional
        When each row happened. Give one of the two, or both: then groups decide, and times only where a group is on
        both sides (a panel that was cut in time).
    accept_random : bool
        Return a split of kind "random" instead of refusing it; nothing built on it can be certified.

    Raises
    ------
    GuaranteeUnavailable
        Some group has rows on both sides, or training and holdout rows mix in time.

    Examples
    --------
    >>> check_split([0, 1], [2, 3], groups=["a", "a", "b", "b"]).kind
    'groups'
    >>> check_split([0, 2], [1, 3], groups=["a", "a", "b", "b"])
    Traceback (most recent call last):
    ...
    holdfast.errors.GuaranteeUnavailable: 2 of 2 groups have rows on both sides: a random split of dependent rows voids
    every guarantee; use split_groups, or split_time and the bias of its gap
    """
    if groups is None and time is None:
        raise InvalidParameter("groups or time must be given, because without them no split is valid")
    if not isinstance(accept_random, bool):
        raise InvalidParameter("accept_random must be True or False")
    coded = None if groups is None else places(groups, "groups")
    timed = None if time is None else places(time, "time")
    n = len(coded[0] if coded is not None else timed[0])  # type: ignore[index]  # one of the two is given
    if coded is not None and timed is not None and len(timed[0]) != n:
        raise InvalidParameter(f"time must have one entry per row, {n}, got {len(timed[0])}")
    ours, theirs = _numbers(train, n, "train"), _numbers(holdout, n, "holdout")
    if np.intersect1d(ours, theirs).size:
        raise InvalidParameter("train and holdout must not share a row")
    why = ""
    if coded is not None:
        codes, count = coded
        both = np.intersect1d(codes[ours], codes[theirs])
        if not both.size:
            held = np.bincount(codes[theirs], minlength=count)
            return Split(ours, theirs, "groups", tuple(int(size) for size in held[held > 0]))
        why = f"{both.size} of {count} groups have rows on both sides"
    if timed is not None:
        when, _ = timed
        gap = int(when[theirs].min()) - int(when[ours].max())
        if gap >= 1:
            ours, theirs = (side[np.argsort(when[side], kind="stable")] for side in (ours, theirs))
            return Split(ours, theirs, "time", None, gap)
        why = (why + " and " if why else "") + "training rows are not all earlier than holdout rows"
    if accept_random:
        return Split(ours, theirs, "random")
    raise GuaranteeUnavailable(
        f"{why}: a random split of dependent rows voids every guarantee; use split_groups, or split_time and the bias "
        "of its gap"
    )


def places(values: Any, name: str) -> tuple[Index, int]:
    """Each row's place among the sorted distinct values, and how many there are; missing values are refused.

    Examples
    --------
    >>> places([2001, 2003, 2001], "time")[0].tolist()
    [0, 1, 0]
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InvalidParameter(f"{name} must have no missing values")
    try:
        column = np.asarray(values)
        if column.ndim != 1 or not column.size:
            raise InvalidParameter(f"{name} must have one entry per row, got an array of shape {column.shape}")
        if column.dtype.kind in "fc" and np.isnan(column).any():
            raise InvalidParameter(f"{name} must have no missing values")
        if column.dtype.kind in "mM" and np.isnat(column).any():
            raise InvalidParameter(f"{name} must have no missing values")
        if column.dtype.kind == "O" and any(bool(value != value) for value in column):
            raise InvalidParameter(f"{name} must have no missing values")  # each would be a group of its own
        groups, codes = np.unique(column, return_inverse=True)
    except TypeError:
        raise InvalidParameter(f"{name} must have values that can be sorted, without missing ones") from None
    return codes.reshape(-1).astype(np.intp), len(groups)


def _numbers(rows: npt.ArrayLike, n: int, name: str) -> Index:
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not numbers.size:
        raise InvalidParameter(f"{name} must be a list of row numbers")
    if numbers.min() < 0 or numbers.max() >= n or len(np.unique(numbers)) != len(numbers):
        raise InvalidParameter(f"{name} must be distinct row numbers from 0 to {n - 1}")
    return numbers.astype(np.intp)
