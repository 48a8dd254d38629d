"""One door for rows wherever they live: arrays, data frames, files, databases, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.data.files import Files
from holdfast.data.sample import Sample
from holdfast.data.schema import Declared, Schema, of_one_kind
from holdfast.errors import InvalidParameter, SampleUnavailable

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
        dict of columns, `duckdb` also takes files, and `spark` also takes Parquet files.
    table : str, optional
        The table or view of a database: `"people"` or `"census.people"`.
    schema : Schema or mapping, optional
        The columns that questions may use, with their kinds. By default all columns whose type is a number, a truth
        value, a text, a date or a timestamp. Declare it for CSV, where types are guessed otherwise, and where
        categories are public. A kind may be followed by `not null`, where every row has a value, or `null`:
        `{"age": "integer not null"}`. Where
        neither is said, missing values are counted now, and which columns have some becomes part of the public schema.
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
    (Schema(age integer (nullable), sex text), 3, 'polars')
    >>> sample.fingerprint() == table({"sex": ["m", "f", "f"], "age": [35, None, 23]}, engine="numpy").fingerprint()
    True
    """
    if engine is not None:
        arguments.choice("engine", engine, ENGINES)
    sample = _opened(source, _engine(source, engine), table, schema, row_key, timeout, memory_mb, session)
    try:
        sample.settle_nulls()
    except BaseException:
        sample.close()
        raise
    return sample


def _opened(
    source: Any,
    chosen: Engine,
    table: str | None,
    schema: Declared,
    row_key: str | None,
    timeout: float,
    memory_mb: int | None,
    session: Any,
) -> Sample:
    if table is not None and chosen not in ("duckdb", "postgres"):
        raise InvalidParameter(f"table must be left out for a source behind {chosen}")
    if chosen == "postgres":
        from holdfast.data.engines.postgres_sample import PostgresSample

        if table is None:
            raise InvalidParameter("table must name the table of the database that holds the rows")
        return PostgresSample.open(source, table, schema, row_key, timeout)
    if chosen == "spark":
        from holdfast.data.engines.spark_sample import SparkSample

        return SparkSample.open(source, schema, row_key, session)
    if chosen == "duckdb":
        from holdfast.data.engines.duckdb_sample import DuckDBSample

        path = Path(source)
        rows = path if path.suffix.lower() in _DATABASES else Files.at(path)
        return DuckDBSample.open(rows, table, schema, row_key, memory_mb)
    if isinstance(source, Mapping) and schema is not None:
        source = _with_declared_gaps(source, schema if isinstance(schema, Schema) else Schema(schema))
    if chosen == "numpy":
        from holdfast.data.engines.numpy_sample import NumPySample

        return NumPySample.open(source, schema, row_key)
    from holdfast.data.engines.polars_sample import PolarsSample

    if isinstance(source, (str, Path)):
        return PolarsSample.of_files(Files.at(Path(source)), schema, row_key)
    return PolarsSample.of_frame(_frame(source), schema, row_key)


def _with_declared_gaps(source: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The columns, where one without any value has the kind that the schema declares for it."""
    import numpy as np

    types: dict[str, Any] = {
        "number": np.float64,
        "integer": np.int64,
        "boolean": np.bool_,
        "date": "datetime64[D]",
        "timestamp": "datetime64[us]",
        "timestamptz": "datetime64[us]",
    }
    kinds = {column.name: types[column.kind] for column in schema if column.kind in types}
    return {
        name: np.ma.MaskedArray(np.zeros(len(values), kinds[name]), mask=True)
        if name in kinds and isinstance(values, (list, tuple)) and values and all(value is None for value in values)
        else values
        for name, values in source.items()
    }


def _engine(source: Any, wanted: Engine | None) -> Engine:
    """The engine for a source: the one that is wanted, where it can be."""
    scheme = source.partition("://")[0] if isinstance(source, str) and "://" in source else None
    if scheme in ("postgresql", "postgres"):
        able: tuple[Engine, ...] = ("postgres",)
    elif scheme is not None:
        if wanted != "spark":
            raise InvalidParameter(
                "source must be a file on this machine or begin with postgresql://; what begins with "
                f"{scheme[:20]}:// must be written to a Parquet file here first, or opened with engine='spark' where "
                "it is a folder of Parquet files that Spark can read"
            )
        able = ("spark",)
    elif isinstance(source, (str, Path)):
        suffix = Path(source).suffix.lower()
        able = ("duckdb",) if suffix in _DATABASES else ("polars", "duckdb", "spark")
        if suffix == ".csv":
            able = ("polars", "duckdb")
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
    import pyarrow as pa

    if isinstance(source, pl.LazyFrame):  # each time it is collected it may have other rows
        try:
            return source.collect().lazy()
        except (pl.exceptions.PolarsError, OSError):
            raise SampleUnavailable("the lazy frame cannot be collected") from None
    if isinstance(source, pl.DataFrame):
        return source.clone().lazy()
    if isinstance(source, Mapping):
        source = {name: of_one_kind(str(name), values) for name, values in source.items()}
    try:
        if isinstance(source, Mapping):
            return pl.DataFrame({name: _column(values) for name, values in source.items()}).lazy()
        import narwhals as nw

        return pl.DataFrame(pl.from_arrow(_copied(nw.from_native(source, eager_only=True).to_arrow()))).lazy()
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError, ValueError, OverflowError) as error:
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
    """A column as polars takes it; one without any value is text, as in a file."""
    import numpy as np
    import polars as pl
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray):
        return pl.from_arrow(pa.array(values.data.copy(), mask=np.ma.getmaskarray(values)))
    if isinstance(values, (list, tuple)) and values and all(value is None for value in values):
        return pl.Series(values=values, dtype=pl.String)
    return values.copy() if isinstance(values, np.ndarray) else values
