"""A data frame of any kind, pandas, polars or another that narwhals reads: its columns by name, its rows by number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras

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
        """The same frame with all its rows in memory."""
        return Frame(self._collected().to_native())

    def __len__(self) -> int:
        return len(self._collected())

    def native(self, name: Any) -> Any:
        """One column as its library holds it."""
        return self._series(name).to_native()

    def column(self, name: Any) -> npt.NDArray[Any]:
        """One column as an array."""
        return as_array(self._series(name).to_numpy())

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


__all__ = ["Frame", "as_array"]
