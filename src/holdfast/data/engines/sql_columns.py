"""How SQL engines hand over a column: as whole numbers, doubles, truth values and texts, and nothing else.

A date becomes its days since 1970-01-01 and a timestamp its microseconds, in UTC where it has a zone; a decimal becomes
the nearest double by way of its digits as text, because engines turn decimals into doubles with roundings of their own;
texts lose their collation. All that is asked about a column is asked about this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from holdfast.data.schema import Column, Kind

Dialect = Literal["duckdb", "postgres", "pyspark"]

RawType = Literal["int64", "float32", "float64", "decimal", "boolean", "string", "date", "timestamp", "timestamptz"]
"""What a table holds."""

KIND_OF: Mapping[RawType, Kind] = {
    "int64": "integer",
    "float32": "number",
    "float64": "number",
    "decimal": "number",
    "boolean": "boolean",
    "string": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}


def kind_of(raw: RawType | None) -> Kind | None:
    """The kind of what a table holds.

    Examples
    --------
    >>> kind_of("decimal"), kind_of("date"), kind_of(None)
    ('number', 'date', None)
    """
    return None if raw is None else KIND_OF[raw]


def ibis_type(column: Column, raw: RawType) -> str:
    """What Ibis is told that a column is once it is handed over, so that it writes the casts that are needed only."""
    if column.kind == "text":
        return "string"
    if raw in ("date", "timestamp", "timestamptz"):
        return "int64"
    return "float64" if raw == "decimal" else raw


def handed(dialect: Dialect, column: Column, raw: RawType) -> str:
    r"""The item of a `select` that hands a column over under its own name.

    Examples
    --------
    >>> handed("duckdb", Column("d", "date"), "date")
    'case when isfinite("d") then "d" - date \'1970-01-01\' end as "d"'
    >>> handed("postgres", Column("s", "text"), "string")
    'cast("s" as text) collate "C" as "s"'
    """
    name = f"`{column.name}`" if dialect == "pyspark" else f'"{column.name}"'
    if column.kind == "text":
        text = {
            "duckdb": f"cast({name} as varchar) collate posix",
            "postgres": f'cast({name} as text) collate "C"',
            "pyspark": f"cast({name} as string)",
        }[dialect]
        return f"{text} as {name}"
    if raw == "decimal":
        text, double = ("text", "double precision") if dialect == "postgres" else ("string", "double")
        return f"cast(cast({name} as {text}) as {double}) as {name}"
    if raw == "date":
        return f"{_days(dialect, name)} as {name}"
    if raw in ("timestamp", "timestamptz"):
        return f"{_microseconds(dialect, name, raw)} as {name}"
    return name


def _days(dialect: Dialect, name: str) -> str:
    if dialect == "pyspark":
        return f"cast(unix_date({name}) as bigint)"
    return f"case when isfinite({name}) then {name} - date '1970-01-01' end"


def _microseconds(dialect: Dialect, name: str, raw: RawType) -> str:
    if dialect == "postgres":
        return f"case when isfinite({name}) then cast(extract(epoch from {name}) * 1000000 as bigint) end"
    if dialect == "duckdb":
        if raw == "timestamp":  # also one of seconds or milliseconds
            name = f"cast({name} as timestamp)"
        return f"case when isfinite({name}) then epoch_us({name}) end"
    if raw == "timestamptz":
        return f"unix_micros({name})"
    # What turns it into a moment would use the zone of the session.
    day = f"cast(unix_date(cast({name} as date)) as bigint) * 86400000000"
    clock = f"cast(hour({name}) as bigint) * 3600000000 + cast(minute({name}) as bigint) * 60000000"
    return f"{day} + {clock} + cast(extract(second from {name}) * 1000000 as bigint)"
