"""Some of the rows of a sample: a random part that was drawn before any row was read, and the rest.

Which rows are reserved goes by a hash of a key under a secret salt, so that it is the same on every engine and rows of
one key stay together. The rows that are explored and those that are reserved are samples of their own; both read the
rows where they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.data.expressions import checked, tree
from holdfast.data.expressions.python_rows import in_bucket
from holdfast.data.fingerprint import Batch, Held, Texts
from holdfast.data.identity import Identity
from holdfast.data.sample import Numbers, Sample, Sums
from holdfast.data.statistics import Count
from holdfast.data.statistics.request import Pass, Plan
from holdfast.errors import InvalidParameter

T = TypeVar("T")
BUCKETS = 256
_MOST_KNOWN = 20_000_000
"""Keys of which is remembered whether they are inside: a byte each."""


def bucket_ends(parts: Sequence[float]) -> tuple[int, ...]:
    """Return where the buckets of each reserve end: parts of the rows, to one part in 256.

    Examples
    --------
    >>> bucket_ends([0.5]), bucket_ends([0.25, 0.25])
    ((128,), (64, 128))
    """
    return tuple(round(sum(parts[: i + 1]) * BUCKETS) for i in range(len(parts)))


def drawn(sample: Sample, key: str, salt: str, parts: Sequence[float]) -> Restricted:
    """Return the explored rows of a sample, with its reserves.

    Parameters
    ----------
    sample : Sample
        All rows.
    key : str
        A column of whole numbers or texts: rows of one value stay together.
    salt : str
        Decides which; secret, and drawn before the rows were read.
    parts : sequence of float
        The part of each reserve.
    """
    if key not in sample.schema or sample.schema[key].kind not in ("integer", "text"):
        raise InvalidParameter(
            f"the column that says which rows are reserved together must have whole numbers or texts, and {key!r} has "
            "other values"
        )
    ends = bucket_ends(parts)
    name = tree.Name(key)
    conditions: list[tree.Node] = []
    for place, end in enumerate(ends):
        inside: tree.Node = tree.Bucket(name, salt, end)
        before = ends[place - 1] if place else 0
        conditions.append(tree.And((inside, tree.Not(tree.Bucket(name, salt, before)))) if before else inside)
    explored = tree.Not(tree.Bucket(name, salt, ends[-1]))
    counts = [count for (count,) in sample.measure([Count(node) for node in (explored, *conditions)])]
    if not all(counts):
        raise InvalidParameter(
            f"reserve must leave some rows in each part, and column {key!r} has too few different values for that"
        )
    starts = (0, *ends)
    reserves = tuple(
        Restricted(sample, node, count, key, salt, (starts[i], ends[i]))
        for i, (node, count) in enumerate(zip(conditions, counts[1:], strict=True))
    )
    return Restricted(sample, explored, counts[0], key, salt, (ends[-1], BUCKETS), reserves)


class _Buckets:
    """Which rows are inside, from `first` to below `last`. It can be sent to workers, without what it remembers."""

    def __init__(self, key: str, salt: str, first: int, last: int) -> None:
        self.key, self._salt, self._first, self._last = key, salt, first, last
        self._drawn: dict[bytes, NDArray[np.bool_]] = {}

    def __reduce__(self) -> tuple[type[_Buckets], tuple[str, str, int, int]]:
        return _Buckets, (self.key, self._salt, self._first, self._last)

    def inside(self, batch: Batch, columns: Sequence[str]) -> Batch:
        """The rows of a batch whose key is in the buckets."""
        values, missing = batch[self.key]
        if isinstance(values, Texts):
            text = "\x00".join(map(str, values.distinct)).encode("utf-8", "replace")
            keep = self._drawn_once(list(values.distinct), text)[values.codes]
        else:
            distinct, places = np.unique(values, return_inverse=True)
            text = distinct.dtype.str.encode() + distinct.tobytes()
            keep = self._drawn_once(distinct.tolist(), text)[places.ravel()]
        if missing is not None:
            keep = np.where(missing, self._is_inside(None), keep)
        return {name: _kept(batch[name], keep) for name in columns}

    def _is_inside(self, value: Any) -> bool:
        return in_bucket(value, self._salt, self._last) and not in_bucket(value, self._salt, self._first)

    def _drawn_once(self, distinct: list[Any], text: bytes) -> NDArray[np.bool_]:
        """Which of these are inside: remembered, because every submission to a board reads the same keys."""
        name = hashlib.sha256(text).digest()
        known = self._drawn.get(name)
        if known is None:
            if sum(map(len, self._drawn.values())) + len(distinct) > _MOST_KNOWN:
                self._drawn.clear()
            known = np.array([self._is_inside(value) for value in distinct], dtype=np.bool_)
            self._drawn[name] = known
        return known


class Restricted(Sample):
    """The rows of another sample whose key is in some buckets."""

    def __init__(
        self,
        sample: Sample,
        condition: tree.Node,
        n: int,
        key: str,
        salt: str,
        buckets: tuple[int, int],
        reserves: tuple[Restricted, ...] = (),
    ) -> None:
        super().__init__(sample.schema, n, sample.row_key)
        self._sample, self._condition, self._reserves = sample, condition, reserves
        self._buckets = _Buckets(key, salt, *buckets)
        self.engine, self.at_once = sample.engine, sample.at_once
        self.quick, self.reopens = sample.quick, sample.reopens

    @property
    def reserves(self) -> tuple[Sample, ...]:
        """The parts that no question before a final reads."""
        return self._reserves

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Refuse what the engine of the rows cannot add up."""
        self._sample.check_plans([self._restricted(plan) for plan in plans])

    def _add_up(self, work: Sequence[Pass]) -> Sums:
        """What plans add up to over these rows: all others do not count."""
        self._sample._check_open()
        inside = {plan: self._restricted(plan) for one in work for plan in one.plans}
        sums = self._sample._add_up([replace(one, plans=tuple(inside[plan] for plan in one.plans)) for one in work])
        return {plan: sums[part] for plan, part in inside.items()}

    def _restricted(self, plan: Plan) -> Plan:
        within = self._condition if plan.counted is None else tree.And((plan.counted.node, self._condition))
        return replace(plan, counted=checked(within, self.schema))

    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """These rows, some at a time."""
        for batch in self._sample.batches(self._with_key(columns)):
            yield self._buckets.inside(batch, columns)

    def fold(self, columns: Sequence[str], start: Callable[[], T], add: Callable[[T, Batch], T]) -> T:
        """Read some columns of these rows through once."""
        inside = self._buckets.inside
        return self._sample.fold(
            self._with_key(columns), start, lambda before, batch: add(before, inside(batch, columns))
        )

    def total(
        self, columns: Sequence[str], start: Callable[[], Numbers], add: Callable[[Numbers, Batch], Numbers]
    ) -> Numbers:
        """Whole numbers that these rows add up to."""
        inside = self._buckets.inside
        return self._sample.total(
            self._with_key(columns), start, lambda before, batch: add(before, inside(batch, columns))
        )

    def _with_key(self, columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*columns, self._buckets.key)))

    def identity(self) -> Identity:
        """That of all rows: a part of them is guarded by the same ledger."""
        return self._sample.identity()

    def close(self) -> None:
        """Let go of the rows."""
        super().close()
        self._sample.close()


def _kept(held: Held, keep: NDArray[np.bool_]) -> Held:
    """Some values of a column."""
    values, missing = held
    part = Texts(values.codes[keep], values.distinct) if isinstance(values, Texts) else values[keep]
    return part, None if missing is None else missing[keep]
