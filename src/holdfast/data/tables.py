"""Samples of rows wherever they live: arrays, data frames, files, databases, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.data.files import CHANGED, Files, is_elsewhere
from holdfast.data.identity import Memory
from holdfast.data.sample import Sample
from holdfast.data.schema import Declared, Schema, of_one_kind
from holdfast.errors import InvalidParameter, SampleUnavailable

if TYPE_CHECKING:
    import polars as pl

Engine = Literal["numpy", "polars", "duckdb", "postgres", "spark", "ibis"]
ENGINES: tuple[Engine, ...] = ("numpy", "polars", "duckdb", "postgres", "spark", "ibis")
DATABASE_FILES = (".duckdb", ".ddb")
"""What names of database files end with."""
_DUCKDB = "duckdb://"
DATABASES = (
    *(
        "athena",
        "bigquery",
        "clickhouse",
        "databricks",
        "druid",
        "exasol",
        "flink",
        "impala",
        "mariadb",
        "mssql",
        "mysql",
        "oracle",
    ),
    *("risingwave", "singlestoredb", "snowflake", "sqlite", "trino"),
)
"""What addresses of databases begin with that are asked through Ibis."""


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
    """Open rows as the data set of a guard, read by an engine. Each engine computes the same exact statistic for the
    same question.

    Parameters
    ----------
    source : mapping of arrays, data frame, path or address
        A dict of columns; a pandas, polars or Arrow frame (a lazy one is collected); a `.parquet` or `.csv` file or a
        folder of Parquet files, which are streamed unless they are small; a `.duckdb` database, or a `duckdb://`
        address of one; a `postgresql://` address; any other address that Ibis reads, such as `mysql://`, `mariadb://`
        or `sqlite://`; an Ibis table; a Spark data frame. Parquet files may also be given as a list, as a pattern such
        as `parts/*.parquet`, as folders called `column=value`, as a table of Delta Lake or Iceberg, and by an `s3://`,
        `gs://`, `az://` or `https://` address.
    engine : {"numpy", "polars", "duckdb", "postgres", "spark", "ibis"}, optional
        By default polars for columns, frames and files, and what a database or a Spark frame needs. `numpy` takes a
        dict of columns, `duckdb` also takes files, `spark` also takes Parquet files, and `ibis` takes every address of
        a database, also PostgreSQL's.
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
    session : SparkSession or str, optional
        For files behind Spark; by default the active one, or a new one. `spark://host:7077` and `sc://host:15002` make
        one there.

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
    except BaseException as error:
        sample.close()
        if isinstance(error, SampleUnavailable) and str(error) == CHANGED:
            raise SampleUnavailable(
                "the rows changed while the data set was opened; a view or a frame must give the same rows each time "
                "it is read, so copy its rows to a table"
            ) from None
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
    of_database = chosen in ("duckdb", "postgres", "ibis") and isinstance(source, (str, Path))
    if table is not None and not of_database and not _is_cluster(source):
        raise InvalidParameter(f"table must be left out for a source that the engine {chosen} reads")
    if chosen == "ibis":
        from holdfast.data.engines.ibis_sample import IbisSample

        if not isinstance(source, (str, Path)):
            return IbisSample.of_table(source, schema, row_key)
        if table is None:
            raise InvalidParameter("table must be the name of the table with the rows in the database")
        return IbisSample.of_address(str(source), table, schema, row_key)
    if chosen == "postgres":
        from holdfast.data.engines.postgres_sample import PostgresSample

        if table is None:
            raise InvalidParameter("table must be the name of the table with the rows in the database")
        return PostgresSample.open(source, table, schema, row_key, timeout)
    if chosen == "spark":
        if table is None and _is_cluster(source):
            raise InvalidParameter("table must be the name of the table with the rows on the cluster")
        from holdfast.data.engines.spark_sample import SparkSample

        return SparkSample.open(source, schema, row_key, session, table)
    if chosen == "duckdb":
        from holdfast.data.engines.duckdb_sample import DuckDBSample

        if (database := _database_file(source)) is not None:
            return DuckDBSample.open(database, table, schema, row_key, memory_mb)
        files = Files.at(source)
        memory = Memory.of(files, chosen, schema)
        return DuckDBSample.open(files, table, schema, row_key, memory_mb, memory)
    if isinstance(source, Mapping) and schema is not None:
        source = _with_declared_gaps(source, schema if isinstance(schema, Schema) else Schema(schema))
    if chosen == "numpy":
        from holdfast.data.engines.numpy_sample import NumPySample

        return NumPySample.open(source, schema, row_key)
    from holdfast.data.engines.polars_sample import PolarsSample

    if isinstance(source, (str, Path)) or _names_files(source):
        files = Files.at(source)
        return PolarsSample.of_files(files, schema, row_key, Memory.of(files, chosen, schema))
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
        able: tuple[Engine, ...] = ("postgres", "ibis")
    elif scheme in DATABASES:
        able = ("ibis",)
    elif scheme == "duckdb":
        able = ("duckdb",)
    elif _is_cluster(source):
        able = ("spark",)
    elif is_elsewhere(source):
        able = ("polars", "spark")
    elif scheme is not None:
        if wanted != "spark":
            raise InvalidParameter(
                "source must be a file on this machine or begin with postgresql://, duckdb://, "
                f"{'://, '.join(DATABASES[:-1])}:// or {DATABASES[-1]}://; write the rows of a {scheme[:20]}:// "
                "address to a Parquet file on this machine first, or, if it is a folder of Parquet files that Spark "
                "can read, give engine='spark'"
            )
        able = ("spark",)
    elif isinstance(source, (str, Path)) or _names_files(source):
        suffix = Path(source).suffix.lower() if isinstance(source, (str, Path)) else ".parquet"
        able = ("duckdb",) if suffix in DATABASE_FILES else ("polars", "duckdb", "spark")
        if suffix == ".csv":
            able = ("polars", "duckdb")
    elif type(source).__module__.startswith("pyspark."):
        able = ("spark",)
    elif type(source).__module__.startswith("ibis."):
        able = ("ibis",)
    else:
        able = ("polars", "numpy") if isinstance(source, Mapping) else ("polars",)
    if wanted is not None and wanted not in able:
        raise InvalidParameter(f"engine must be {' or '.join(able)} for this source, got {wanted!r}")
    return wanted or able[0]


def _database_file(source: Any) -> Path | None:
    """The file of a database of DuckDB, by its address or the end of its name; None for another source."""
    if isinstance(source, str) and source.startswith(_DUCKDB):
        return Path(unquote(source.removeprefix(_DUCKDB)))
    return Path(source) if isinstance(source, (str, Path)) and Path(source).suffix.lower() in DATABASE_FILES else None


def _is_cluster(source: Any) -> bool:
    """Whether a source is the address of a Spark cluster."""
    return isinstance(source, str) and source.partition("://")[0] in ("spark", "sc") and "://" in source


def _names_files(source: Any) -> bool:
    """Whether a source is a list of names of files."""
    return isinstance(source, (list, tuple)) and bool(source) and all(isinstance(one, (str, Path)) for one in source)


def _frame(source: Any) -> pl.LazyFrame:
    """Rows in memory as a polars frame of our own, which nobody else can change."""
    import polars as pl
    import pyarrow as pa

    if isinstance(source, pl.LazyFrame):  # each time it is collected it may have other rows
        try:
            return source.collect().lazy()
        except (pl.exceptions.PolarsError, OSError):
            raise SampleUnavailable("the rows of the lazy frame could not be computed (its collect() failed)") from None
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
        raise InvalidParameter(
            "source must have columns of the same length, and each column must have values of one type"
        ) from None


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
