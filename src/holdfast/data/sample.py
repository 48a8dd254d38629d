"""What a sample is: guarded rows that never leave, of which exact statistics can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from holdfast.data.fingerprint import Batch, Content
from holdfast.data.overlap import Sketch, sketch
from holdfast.data.passes import Pass, passes
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics import Statistic
from holdfast.data.statistics.plan import MOST_ROWS, Exact, Plan
from holdfast.errors import InvalidParameter, SampleUnavailable

T = TypeVar("T")
Sums = dict[Plan, list[int]]
"""For each plan what was added up in each of its cells."""

CHANGED = "the sample no longer has the rows it was opened with; open it again to guard what is there now"


class Sample(ABC):
    """Rows behind an engine. `n`, `schema` and `engine` are public; everything that `measure` returns is secret.

    Samples may be asked by several threads at once.

    Parameters
    ----------
    schema : Schema
        The declared columns.
    n : int
        The number of rows, public.
    row_key : str, optional
        A column that names the person or thing behind each row: it finds samples that share rows.

    Examples
    --------
    >>> from holdfast.data import table
    >>> people = table({"age": [31, 45, 62]})
    >>> people.n, people.engine, isinstance(people, Sample)
    (3, 'polars', True)
    >>> people
    PolarsSample(n=3, Schema(age integer))
    """

    engine: str = ""
    at_once: int = 100
    """Plans in one pass over the rows."""

    def __init__(self, schema: Schema, n: int, row_key: str | None = None) -> None:
        if not 1 <= n <= MOST_ROWS:
            raise InvalidParameter(f"a sample must have 1 to 2**32 rows, got {n}")
        if row_key is not None and row_key not in schema:
            raise InvalidParameter(f"row_key must be a column of the schema, got {row_key!r}")
        self.schema, self.n, self.row_key = schema, n, row_key
        self._closed = False
        self._fingerprint: str | None = None
        self._sketch: Sketch | None = None

    def measure(self, statistics: Sequence[Statistic]) -> list[Exact]:
        """Exact statistics, in order; batched as suits the engine.

        Raises
        ------
        InvalidParameter
            A statistic that does not fit the schema, before a row is read.
        SampleUnavailable
            The rows cannot be read, or are not those that the sample was opened with. It never says which.
        """
        plans = [statistic.plan(self.schema) for statistic in statistics]
        self._check_open()
        sums = self._add_up(list(passes(plans, self.at_once)))
        return [plan.finish(sums[plan]) for plan in plans]

    @abstractmethod
    def _add_up(self, work: Sequence[Pass]) -> Sums:
        """What every plan of every pass adds up to; the engine's errors become `SampleUnavailable`."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows in any order, some at a time: for each column its values and where they are missing."""

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

    def _again(self, work: Callable[[], T]) -> T:
        """Do work that reads the rows; engines that can lose a connection do it once more."""
        return work()

    def fingerprint(self) -> str:
        """A digest of the content: the same for the same rows in any order, under any name, on any engine."""
        self._check_open()
        if self._fingerprint is None:
            content = self._content()
            if content.n != self.n:
                raise SampleUnavailable(CHANGED)
            self._fingerprint = content.digest(self.schema)
        return self._fingerprint

    def key_sketch(self) -> Sketch | None:
        """A sketch of the row keys, for finding samples that share rows; None where no row key is declared."""
        self._check_open()
        if self.row_key is not None and self._sketch is None:
            self._sketch = self._key_sketch(self.schema[self.row_key])
        return self._sketch

    def _content(self) -> Content:
        content = Content()
        for batch in self.batches(self.schema.names):
            content = content + Content.of(self.schema, batch)
        return content

    def _key_sketch(self, column: Column) -> Sketch:
        return sketch(column, self.batches([column.name]))

    def close(self) -> None:
        """Let go of connections and files. Statistics can be asked no more."""
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

    def __reduce__(self) -> Any:
        raise TypeError("a sample is not pickled: its rows stay where they are")


__all__ = ["CHANGED", "Sample", "Sums"]
