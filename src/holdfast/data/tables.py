"""One door for rows wherever they live: arrays, data frames, files, databases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.data.sample import Sample
from holdfast.data.schema import Column, Kind, Schema
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import polars as pl


def table(
    source: Any,
    *,
    schema: Schema | Mapping[str, Kind] | None = None,
    row_key: str | None = None,
) -> Sample:
    """Put a guard's rows behind an engine.

    Parameters
    ----------
    source : mapping of arrays, data frame, or path
        A dict of columns; a pandas, polars or Arrow frame; a `.csv` or `.parquet` file, which is streamed.
    schema : Schema or mapping, optional
        The columns that questions may use, with their kinds. By default all columns whose type is a number, a truth
        value or a text; declare it where types might change, and where categories are public.
    row_key : str, optional
        The column that names the person behind a row.

    Examples
    --------
    >>> table({"age": [23, 35], "sex": ["f", "m"]}).schema
    Schema(age integer, sex text)
    """
    import polars as pl

    from holdfast.data.polars_sample import PolarsSample

    frame = _frame(source)
    found = _kinds(frame)
    declared = Schema(schema) if isinstance(schema, Mapping) else schema or Schema(found)
    for column in declared:
        if column.name not in found:
            raise InvalidParameter(f"schema must name columns of the source, got {column.name!r}")
        if not _fits(found[column.name], column.kind):
            raise InvalidParameter(
                f"schema must give column {column.name!r} the kind {found[column.name]}, got {column.kind}"
            )
    try:
        n = int(frame.select(pl.len()).collect(engine="streaming").item())
    except (pl.exceptions.PolarsError, OSError):
        raise SampleUnavailable("the rows could not be counted: the file cannot be read") from None
    return PolarsSample(frame, declared, n, row_key)


def _frame(source: Any) -> pl.LazyFrame:
    import narwhals as nw
    import polars as pl

    if isinstance(source, (str, Path)):
        path = Path(source)
        if not path.is_file():
            raise SampleUnavailable(f"there is no file {path.name}")
        if path.suffix == ".parquet":
            return pl.scan_parquet(path)
        if path.suffix == ".csv":
            return pl.scan_csv(path, infer_schema_length=None)
        raise InvalidParameter(f"source must be a .csv or .parquet file, got {path.name}")
    if isinstance(source, pl.LazyFrame):
        return source
    if isinstance(source, Mapping):
        return pl.DataFrame(dict(source)).lazy()
    try:
        native = nw.from_native(source, eager_only=True)
    except TypeError:
        raise InvalidParameter(
            f"source must be a mapping of columns, a data frame or a file, got a {type(source).__name__}"
        ) from None
    return pl.from_arrow(native.to_arrow()).lazy()  # type: ignore[union-attr]


def _kinds(frame: pl.LazyFrame) -> dict[str, Kind]:
    """Names and kinds of the columns that questions could use."""
    import polars as pl

    try:
        types = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError):
        raise SampleUnavailable("the columns could not be read: the file is not what its name says") from None
    kinds: dict[str, Kind] = {}
    for name, type_ in types.items():
        if type_.is_integer():
            kinds[name] = "integer"
        elif type_.is_float():
            kinds[name] = "number"
        elif type_ == pl.Boolean:
            kinds[name] = "boolean"
        elif type_ in (pl.String, pl.Categorical):
            kinds[name] = "text"
    return kinds


def _fits(found: Kind, declared: Kind) -> bool:
    return found == declared or (found == "integer" and declared == "number")


__all__ = ["Column", "table"]
