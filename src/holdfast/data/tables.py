"""One door for rows wherever they live: arrays, data frames, files, databases, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast import check
from holdfast.data.files import Files
from holdfast.data.kinds import Declared
from holdfast.data.sample import Sample
from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.extras import named_extras

if TYPE_CHECKING:
    import polars as pl

Engine = Literal["numpy", "polars", "duckdb", "postgres", "spark"]
ENGINES: tuple[Engine, ...] = ("numpy", "polars", "duckdb", "postgres", "spark")
_DATABASES = (".duckdb", ".ddb")


@named_extras()
def table(
    source: Any,
    *,
    engine: Engine | None = None,
    table: str | None = None,
    schema: Declared = None,
    row_key: str | None = None,
    timeout: float = 600.0,
    memory_mb: int | None = None,
    session: Any = None,
) -> Sample:
    """Put a guard's rows behind an engine. The same question gives the same exact statistic on each.

    Parameters
    ----------
    source : mapping of arrays, data frame, path or address
        A dict of columns; a pandas, polars or Arrow frame (a lazy one is collected); a `.parquet` or `.csv` file or a
        folder of Parquet files, which are streamed unless they are small; a `.duckdb` database; a `postgresql://`
        address; a Spark data frame.
    engine : {"numpy", "polars", "duckdb", "postgres", "spark"}, optional
        By default polars for columns, frames and files, and what a database or a Spark frame needs. `numpy` takes a
        dict of columns, `duckdb` and `spark` also take files.
    table : str, optional
        The table or view of a database: `"people"` or `"census.people"`.
    schema : Schema or mapping, optional
        The columns that questions may use, with their kinds. By default all columns whose type is a number, a truth
        value or a text. Declare it for CSV, where types are guessed otherwise, and where categories are public.
    row_key : str, optional
        The column that names the person behind a row.
    timeout : float
        Seconds after which PostgreSQL ends a statement.
    memory_mb : int, optional
        The most memory that DuckDB may use, in millions of bytes.
    session : SparkSession, optional
        For files behind Spark; by default the active one, or a new one.

    Raises
    ------
    InvalidParameter
        A source of another sort, or a schema that does not fit it.
    SampleUnavailable
        Rows that cannot be read.

    Examples
    --------
    >>> sample = table({"age": [23, 35, None], "sex": ["f", "m", "f"]})
    >>> sample.schema, sample.n, sample.engine
    (Schema(age integer, sex text), 3, 'polars')
    >>> sample.fingerprint() == table({"sex": ["m", "f", "f"], "age": [35, None, 23]}, engine="numpy").fingerprint()
    True
    """
    if engine is not None:
        check.choice("engine", engine, ENGINES)
    chosen = _engine(source, engine)
    if table is not None and chosen not in ("duckdb", "postgres"):
        raise InvalidParameter(f"table must be left out for a source behind {chosen}")
    if chosen == "postgres":
        from holdfast.data.postgres_sample import PostgresSample

        if table is None:
            raise InvalidParameter("table must name the table of the database that holds the rows")
        return PostgresSample.open(source, table, schema, row_key, timeout)
    if chosen == "spark":
        from holdfast.data.spark_sample import SparkSample

        return SparkSample.open(source, schema, row_key, session)
    if chosen == "duckdb":
        from holdfast.data.duckdb_sample import DuckDBSample

        path = Path(source)
        rows = path if path.suffix.lower() in _DATABASES else Files.at(path)
        return DuckDBSample.open(rows, table, schema, row_key, memory_mb)
    if chosen == "numpy":
        from holdfast.data.numpy_sample import NumPySample

        return NumPySample.open(source, schema, row_key)
    from holdfast.data.polars_sample import PolarsSample, scan

    if isinstance(source, (str, Path)):
        files = Files.at(Path(source))
        return PolarsSample.open(scan(files, schema), schema, row_key, files)
    return PolarsSample.open(_frame(source), schema, row_key)


def _engine(source: Any, wanted: Engine | None) -> Engine:
    """The engine for a source: the one that is wanted, where it can be."""
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        able: tuple[Engine, ...] = ("postgres",)
    elif isinstance(source, (str, Path)):
        able = ("duckdb",) if Path(source).suffix.lower() in _DATABASES else ("polars", "duckdb", "spark")
    elif type(source).__module__.startswith("pyspark."):
        able = ("spark",)
    else:
        able = ("polars", "numpy") if isinstance(source, Mapping) else ("polars",)
    if wanted is not None and wanted not in able:
        raise InvalidParameter(f"engine must be {' or '.join(able)} for this source, got {wanted!r}")
    return wanted or able[0]


def _frame(source: Any) -> pl.LazyFrame:
    """Rows in memory as a polars frame of our own, which nobody else can change."""
    import polars as pl

    if isinstance(source, pl.LazyFrame):  # each time it is collected it may have other rows
        try:
            return source.collect().lazy()
        except (pl.exceptions.PolarsError, OSError):
            raise SampleUnavailable("the lazy frame cannot be collected") from None
    if isinstance(source, pl.DataFrame):
        return source.clone().lazy()
    try:
        if isinstance(source, Mapping):
            return pl.DataFrame({name: _column(values) for name, values in source.items()}).lazy()
        import narwhals as nw

        return pl.DataFrame(pl.from_arrow(_copied(nw.from_native(source, eager_only=True).to_arrow()))).lazy()
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TypeError) and not isinstance(source, Mapping):
            raise InvalidParameter(
                "source must be a mapping of columns, a data frame, a file or an address, got a "
                f"{type(source).__name__}"
            ) from None
        raise InvalidParameter("source must have columns of one length, each of one type") from None


def _copied(held: Any) -> Any:
    """An Arrow table in memory of its own: a given one may look into memory that its maker still writes to."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held.schema) as writer:
        writer.write_table(held)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _column(values: Any) -> Any:
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()  # None where it is masked
    return values.copy() if isinstance(values, np.ndarray) else values


__all__ = ["ENGINES", "Engine", "table"]
