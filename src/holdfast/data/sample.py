"""What a sample is: guarded rows that never leave, of which exact statistics can be asked."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.core.copying import NoCopy
from holdfast.data.expressions import tree
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch, ColumnSummary, Content, Sketch, added, sketch, summaries
from holdfast.data.identity import Identity, Known, Memory
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics import Count, Statistic
from holdfast.data.statistics.request import MOST_ROWS, Exact, Pass, Plan, passes
from holdfast.errors import InvalidParameter, SampleUnavailable

P = TypeVar("P")
T = TypeVar("T")
Numbers = NDArray[np.int64]
Read = tuple[Content, dict[str, ColumnSummary]]
"""What one reading of all rows gives: their content, and a summary of each column that may tell them from others."""
Sums = dict[Plan, list[int]]
"""For each plan what was added up in each of its cells."""

_COUNTED_AT_ONCE = 200
"""Columns whose missing values one statement counts: these sums are plain, whatever `at_once` is."""


def side_by_side(work: Callable[[P], T], parts: Iterable[P]) -> Iterator[T]:
    """Results of work on parts, in order, by a thread for each processor; a part or two of each is in memory.

    Parts are drawn by the caller's thread, and a single part is worked on there.

    Examples
    --------
    >>> list(side_by_side(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    drawn = iter(parts)
    first = list(islice(drawn, 2))
    if len(first) < 2:
        yield from map(work, first)
        return
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[T]] = deque()
        for part in chain(first, drawn):
            if len(waiting) > workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, part))
        while waiting:
            yield waiting.popleft().result()


class Sample(NoCopy, ABC):
    """The rows of a data set, which an engine reads. `n`, `schema` and `engine` are public, and everything that
    `measure` returns is secret. Several threads may use a sample at the same time.

    Parameters
    ----------
    schema : Schema
        The declared columns.
    n : int
        The number of rows, public.
    row_key : str, optional
        A column that names the person or thing behind each row: it finds samples that share rows.
    memory : Memory, optional
        Where what is found out about files is remembered.
    known : Known, optional
        What was found out about them earlier.

    Examples
    --------
    >>> from holdfast.data import table
    >>> people = table({"age": [31, 45, 62]})
    >>> people.n, people.engine, isinstance(people, Sample)
    (3, 'polars', True)
    >>> people
    PolarsSample(n=3, Schema(age integer))
    """

    _not_copied = "a sample is not pickled: its rows stay where they are"

    engine: str = ""
    at_once: int = 100
    """Plans in one pass over the rows."""
    quick: bool = False
    """Whether a pass usually takes so little time that nothing need be paid for before it."""
    reopens: bool = False
    """Whether rows that went away come back only by opening the sample again, as those of a file do."""
    place: str | None = None
    """The file that the rows were read from, where the command line opened it: a ledger remembers it as a secret."""

    def __init__(
        self,
        schema: Schema,
        n: int,
        row_key: str | None = None,
        memory: Memory | None = None,
        known: Known | None = None,
    ) -> None:
        if not 1 <= n <= MOST_ROWS:
            raise InvalidParameter(f"a data set must have 1 to 2**32 rows, got {n}")
        if row_key is not None and row_key not in schema:
            raise InvalidParameter(f"row_key must be the name of a column of the data, got {row_key!r}")
        self.schema, self.n, self.row_key = schema, n, row_key
        self._closed = False
        self._identity: Identity | None = None
        self._sketch: Sketch | None = None
        self._memory, self._known = memory, known

    @property
    def reserves(self) -> tuple[Sample, ...]:
        """The parts of the rows that are reserved for finals. Empty unless a guard has drawn reserved rows."""
        return ()

    def measure(self, statistics: Sequence[Statistic]) -> list[Exact]:
        """Compute exact statistics and return them in the order of the requests. The engine computes them in batches.

        Raises
        ------
        InvalidParameter
            A statistic that does not fit the schema, before a row is read.
        SampleUnavailable
            The rows cannot be read, or are not those that the sample was opened with. It never says which.
        """
        return self.add_up([statistic.plan(self.schema) for statistic in statistics])

    def add_up(self, plans: Sequence[Plan]) -> list[Exact]:
        """Return the sums that the plans describe, in order. The engine computes them in batches."""
        self._check_open()
        self.check_plans(plans)
        sums = self._add_up(list(passes(plans, self.at_once)))
        return [plan.finish(sums[plan]) for plan in plans]

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Raise an error if this engine cannot compute a plan, before anything is spent or read. Most engines can
        compute every plan.

        Raises
        ------
        InvalidParameter
            A form of the row language that a database does otherwise.
        """

    def settle_nulls(self) -> None:
        """Find out which columns have missing values, and raise an error if this contradicts the declared schema.

        A value is missing if expressions read it as NULL. NaN and numbers beyond 2**100 are read as NULL too. The
        result becomes part of the schema, which is public. A declaration stays as it is: `not null` is only checked
        against the rows, and columns that are declared `null` are not read.

        It takes one pass over all columns, except those that are declared to have missing values. It takes no pass if
        the same files were opened before.

        Raises
        ------
        InvalidParameter
            A column that is declared without missing values and has some.
        """
        if self._known is not None:
            self.schema = self._known.schema
            return
        unsure = [column for column in self.schema if column.nullable is not True]
        plans = {
            column.name: Count(tree.IsNull(tree.Name(column.name))).plan(Schema([replace(column, nullable=None)]))
            for column in unsure
        }
        sums = self._add_up(list(passes(list(plans.values()), _COUNTED_AT_ONCE)))
        missing = {name: sums[plan][0] > 0 for name, plan in plans.items()}
        wrong = [column.name for column in unsure if column.nullable is False and missing[column.name]]
        if wrong:
            raise InvalidParameter(
                f"schema must not declare {', '.join(map(repr, wrong))} to be `not null`, because some of their "
                "values are missing; declare `null`, or leave both out, so that missing values are counted when the "
                "data set is opened"
            )
        self.schema = self.schema.with_nulls(missing)

    @abstractmethod
    def _add_up(self, work: Sequence[Pass]) -> Sums:
        """What every plan of every pass adds up to; the engine's errors become `SampleUnavailable`."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """Yield the rows in batches: for each column, its values and which of them are missing.

        The rows of arrays, data frames and files come in their order. The rows of databases and clusters come in any
        order.
        """

    def fold(self, columns: Sequence[str], start: Callable[[], T], add: Callable[[T, Batch], T]) -> T:
        """Read some columns once, batch by batch in any order, and combine the batches into one result. The result is
        secret.

        It is for results that no `Statistic` describes, such as values that are looked up by a row's key. `start` may
        be called again if a connection was lost. The columns are read on this machine, and the memory is that of one
        batch.
        """
        self._check_open()

        def work() -> T:
            folded = start()
            for batch in self.batches(columns):
                folded = add(folded, batch)
            return folded

        return self._again(work)

    def total(
        self, columns: Sequence[str], start: Callable[[], Numbers], add: Callable[[Numbers, Batch], Numbers]
    ) -> Numbers:
        """Read some columns once and add up whole numbers that are computed from each batch. A cluster does this where
        the rows are. The result is secret.

        Parameters
        ----------
        columns : sequence of str
            The columns that are read.
        start : callable
            Zeros, one for each number. On a cluster it is called for every part of the rows.
        add : callable
            Counts a batch in. On a cluster it is sent to the workers, with all that it refers to.
        """
        return self.fold(columns, start, add)

    def _again(self, work: Callable[[], T]) -> T:
        """Do work that reads the rows; engines that can lose a connection do it once more."""
        return work()

    def fingerprint(self) -> str:
        """Return a digest of the rows' content. The same rows have the same digest in any order, under any file name
        and with any engine.
        """
        return self.identity().fingerprint

    def identity(self) -> Identity:
        """Return the identity of the data set: its fingerprint and what it needs to recognise shared rows. All rows are
        read once, or not at all if the same files were read before.
        """
        self._check_open()
        if self._identity is None and self._known is not None:
            self._identity = self._known.identity
        if self._identity is None:
            content, columns = self._read_all()
            if content.n != self.n:
                raise SampleUnavailable(CHANGED)
            self._identity = Identity.of(self.schema, content, columns)
            self._remember()
        return self._identity

    def key_sketch(self) -> Sketch | None:
        """Return a sketch of the row keys, with which data sets that share rows can be found. None if no row key is
        declared.
        """
        self._check_open()
        if self.row_key is not None and self._sketch is None:
            if self._known is not None:
                self._sketch = self._known.sketches.get(self.row_key)
            if self._sketch is None:
                self._sketch = self._key_sketch(self.schema[self.row_key])
                self._remember()
        return self._sketch

    def _remember(self) -> None:
        """Keep what was found out for the next time that the same files are opened."""
        if self._memory is None or self._identity is None:
            return
        sketches = {} if self.row_key is None or self._sketch is None else {self.row_key: self._sketch}
        self._memory.remember(Known(self.schema, self.n, self._identity, sketches))

    def _read_all(self) -> Read:
        content, columns = Content(), dict[str, ColumnSummary]()
        for its_content, its_columns in side_by_side(self._read_batch, self.batches(self.schema.names)):
            content, columns = content + its_content, added(columns, its_columns)
        return content, columns

    def _read_batch(self, batch: Batch) -> Read:
        return Content.of(self.schema, batch), summaries(self.schema, batch)

    def _key_sketch(self, column: Column) -> Sketch:
        return sketch(column, self.batches([column.name]))

    def close(self) -> None:
        """Close connections and files. No statistics can be computed afterwards."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise SampleUnavailable("the sample is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, {self.schema!r})"
