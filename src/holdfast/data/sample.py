"""What a sample is: guarded rows that never leave, of which exact statistics can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from holdfast.data.fingerprint import Batch, fingerprint
from holdfast.data.overlap import Sketch, sketch
from holdfast.data.schema import Schema
from holdfast.data.statistics import Statistic
from holdfast.data.statistics.plan import MOST_ROWS, Exact
from holdfast.errors import InvalidParameter


class Sample(ABC):
    """Rows behind an engine. `n`, `schema` and `engine` are public; everything that `measure` returns is secret.

    Parameters
    ----------
    schema : Schema
        The declared columns.
    n : int
        The number of rows, public.
    row_key : str, optional
        A column that names the person or thing behind each row: it finds samples that share rows.
    """

    engine: str = ""

    def __init__(self, schema: Schema, n: int, row_key: str | None = None) -> None:
        if not 1 <= n <= MOST_ROWS:
            raise InvalidParameter(f"a sample must have 1 to 2**32 rows, got {n}")
        if row_key is not None and row_key not in schema:
            raise InvalidParameter(f"row_key must be a column of the schema, got {row_key!r}")
        self.schema, self.n, self.row_key = schema, n, row_key
        self._fingerprint: str | None = None
        self._sketch: Sketch | None = None

    @abstractmethod
    def measure(self, statistics: Sequence[Statistic]) -> list[Exact]:
        """Exact statistics, in order; batched as suits the engine. No error says anything about rows."""

    @abstractmethod
    def batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        """The rows in any order, some at a time: for each column its values and where they are missing."""

    def fingerprint(self) -> str:
        """A digest of the content: the same for the same rows in any order, under any name, on any engine."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self.schema, self.n, self.batches(self.schema.names))
        return self._fingerprint

    def key_sketch(self) -> Sketch | None:
        """A sketch of the row keys, for finding samples that share rows; None where no row key is declared."""
        if self.row_key is None:
            return None
        if self._sketch is None:
            self._sketch = sketch(self.schema[self.row_key], self.batches([self.row_key]))
        return self._sketch

    def close(self) -> None:
        """Let go of connections and files. Statistics can be asked no more."""
        return None

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


__all__ = ["Sample"]
