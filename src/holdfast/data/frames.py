"""A data frame of any kind, pandas, polars or another that narwhals reads: its columns by name, its rows by number."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    import narwhals as nw


class Frame:
    """A data frame behind one set of names. A lazy one is collected column by column, or at once by `whole`.

    Examples
    --------
    >>> import polars
    >>> frame = Frame(polars.LazyFrame({"age": [31, 45], "town": ["A", "B"]}))
    >>> frame.column("age").tolist(), frame.whole().part(np.array([1]))["town"].to_list()
    ([31, 45], ['B'])
    >>> frame.column("income")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: the frame has no column 'income'; it has age, town
    """

    @named_extras()
    def __init__(self, frame: Any) -> None:
        import narwhals as nw

        try:
            self._frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
        except TypeError:
            raise InvalidParameter(f"frame must be a data frame, got a {type(frame).__name__}") from None

    def whole(self) -> Frame:
        """Return the same frame with all its rows in memory."""
        return Frame(self._collected().to_native())

    def __len__(self) -> int:
        return len(self._collected())

    def native(self, name: Any) -> Any:
        """One column as its library holds it."""
        return self._series(name).to_native()

    def column(self, name: Any) -> npt.NDArray[Any]:
        """One column as an array."""
        return as_array(self._series(name).to_numpy())

    @cached_property
    def has_gaps(self) -> bool:
        """Whether some column has a missing value: a null, or NaN in a column of numbers.

        Examples
        --------
        >>> import polars as pl
        >>> Frame(pl.DataFrame({"age": [30, 40]})).has_gaps, Frame(pl.DataFrame({"age": [30, None]})).has_gaps
        (False, True)
        """
        columns = self._collected()
        for name in columns.columns:
            series = columns[name]
            if series.is_null().any() or (series.dtype.is_float() and series.is_nan().any()):
                return True
        return False

    def part(self, rows: npt.NDArray[np.intp]) -> Any:
        """Some rows, as a frame of the kind that was given."""
        return self._collected()[rows].to_native()

    def _series(self, name: Any) -> nw.Series[Any]:
        names = self._frame.collect_schema().names()
        if not isinstance(name, str) or name not in names:
            raise InvalidParameter(f"the frame has no column {name!r}; it has {', '.join(names)}")
        return self._collected(name)[name]

    def _collected(self, *names: str) -> nw.DataFrame[Any]:
        import narwhals as nw

        if not isinstance(self._frame, nw.LazyFrame):
            return self._frame
        return (self._frame.select(*names) if names else self._frame).collect()


def as_array(values: Any) -> npt.NDArray[Any]:
    """Values as an array, a series of any library included.

    Examples
    --------
    >>> import polars
    >>> as_array(polars.Series([1, 2])).tolist(), as_array([1, 2]).tolist()
    ([1, 2], [1, 2])
    """
    to_numpy = getattr(values, "to_numpy", None)
    return np.asarray(to_numpy() if callable(to_numpy) else values)
