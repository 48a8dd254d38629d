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
    """Rows that are read through an engine. `n`, `schema` and `engine` are public; everything that `measure` returns is
    secret.

    Several threads may use a sample at once.

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
        """The parts of the rows that no question before a final reads; none unless a guard has drawn them."""
        return ()

    def measure(self, statistics: Sequence[Statistic]) -> list[Exact]:
        """Compute exact statistics, in the order of the requests, in batches that suit the engine.

        Raises
        ------
        InvalidParameter
            A statistic that does not fit the schema, before a row is read.
        SampleUnavailable
            The rows cannot be read, or are not those that the sample was opened with. It never says which.
        """
        return self.add_up([statistic.plan(self.schema) for statistic in statistics])

    def add_up(self, plans: Sequence[Plan]) -> list[Exact]:
        """Return the sums of the plans, in order, computed in batches that suit the engine."""
        self._check_open()
        self.check_plans(plans)
        sums = self._add_up(list(passes(plans, self.at_once)))
        return [plan.finish(sums[plan]) for plan in plans]

    def check_plans(self, plans: Sequence[Plan]) -> None:
        """Refuse plans that this engine cannot compute, before anything is spent or read. Most engines can compute
        every plan.

        Raises
        ------
        InvalidParameter
            A form of the row language that a database does otherwise.
        """

    def settle_nulls(self) -> None:
        """Find out once which columns have missing values, and hold the owner to what was declared about them.

        A value that the row language reads as NULL is missing: also NaN and numbers beyond 2**100. What is found
        becomes part of the schema, which is public, as inferred kinds are; what is declared is not read off the rows.
        Time: one pass over all columns but those that are declared to have missing values; none where the same files
        were opened before.

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
                "values are missing; declare them `null`, or declare neither, and missing values are counted when "
                "the data set is opened"
            )
        self.schema = self.schema.with_nulls(missing)

    @abstractmethod
    def _add_up(self, work: Sequence[Pass]) -> Sums:
        """What every plan of every pass adds up to; the engine's errors become `SampleUnavailable`."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows, some at a time: for each column its values and where they are missing.

        Rows of arrays, data frames and files come in their own order, those of databases and clusters in any.
        """

    def fold(self, columns: Sequence[str], start: Callable[[], T], add: Callable[[T, Batch], T]) -> T:
        """Read some columns through once, batch by batch in any order, and put them together. Secret.

        For what no `Statistic` can say, such as values that are looked up by a row's key. `start` may be called again
        where a connection was lost on the way. Time: that of reading the columns, on this machine; memory: a batch.
        """
        self._check_open()

        def work() -> T:
            made = start()
            for batch in self.batches(columns):
                made = add(made, batch)
            return made

        return self._again(work)

    def total(
        self, columns: Sequence[str], start: Callable[[], Numbers], add: Callable[[Numbers, Batch], Numbers]
    ) -> Numbers:
        """The same for whole numbers that are added up; a cluster does it where the rows are. Secret.

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
        """Return a digest of the content: the same for the same rows in any order, under any name, on any engine."""
        return self.identity().fingerprint

    def identity(self) -> Identity:
        """Return what identifies the data set. All rows are read once, or not at all if the same files were read
        before.
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
        """Return a sketch of the row keys, for finding samples that share rows; None where no row key is declared."""
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
        """Close connections and files. Statistics cannot be computed afterwards."""
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
