"""How SQL engines hand over a column: as whole numbers, doubles, truth values and texts, and nothing else.

A date becomes its days since 1970-01-01 and a timestamp its microseconds, in UTC where it has a zone; a decimal becomes
the nearest double by way of its digits as text, because engines turn decimals into doubles with roundings of their own;
texts lose their collation. All that is asked about a column is asked about this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from holdfast.data.schema import Column, Kind

OWN_WORDS = ("duckdb", "postgres", "pyspark", "mysql", "sqlite")
"""Dialects, as Ibis calls them, whose columns are handed over in words of their own; the others' in Ibis' words."""

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
    """Return the kind of what a table holds.

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


def handed(dialect: str, column: Column, raw: RawType) -> str:
    r"""Return the item of a `select` that hands a column over under its own name, for one of `OWN_WORDS`.

    Examples
    --------
    >>> handed("duckdb", Column("d", "date"), "date")
    'case when isfinite("d") then "d" - date \'1970-01-01\' end as "d"'
    >>> handed("postgres", Column("s", "text"), "string")
    'cast("s" as text) collate "C" as "s"'
    """
    name = f"`{column.name}`" if dialect in ("pyspark", "mysql") else f'"{column.name}"'
    if column.kind == "text":
        text = {
            "duckdb": f"cast({name} as varchar) collate posix",
            "postgres": f'cast({name} as text) collate "C"',
            "pyspark": f"cast({name} as string)",
            # Neither pads with spaces; MySQL calls its collation otherwise, which `mysql_collation` looks up.
            "mysql": f"convert({name} using utf8mb4) collate utf8mb4_nopad_bin",
            # An expression has no collation, a column may have one.
            "sqlite": f"cast({name} as text) || ''",
        }[dialect]
        return f"{text} as {name}"
    if raw == "boolean" and dialect == "mysql":  # a whole number
        return f"{name} <> 0 as {name}"
    if raw == "float32" and dialect == "mysql":  # which writes six digits of it
        return f"cast({name} as double) as {name}"
    if raw == "decimal":
        text = {"postgres": "text", "mysql": "char"}.get(dialect, "string")
        double = "double precision" if dialect == "postgres" else "double"
        return f"cast(cast({name} as {text}) as {double}) as {name}"
    if raw == "date":
        return f"{_days(dialect, name)} as {name}"
    if raw in ("timestamp", "timestamptz"):
        return f"{_microseconds(dialect, name, raw)} as {name}"
    return name


def handed_in_ibis(value: Any, column: Column, raw: RawType) -> Any:
    """The same as an Ibis expression, for every other dialect: parts of times are numbers that all of them can tell.

    Days are counted from years that begin in March, as in `holdfast.data.expressions.lowering`.
    """
    if column.kind == "text":
        return value.cast("string")
    if raw == "float32":
        return value.cast("float64")
    if raw == "decimal":
        return value.cast("string").cast("float64")
    if raw not in ("date", "timestamp", "timestamptz"):
        return value
    year, month, day = (part.cast("int64") for part in (value.year(), value.month(), value.day()))
    years = (month <= 2).ifelse(year - 1, year)
    since_march = (month <= 2).ifelse(month + 9, month - 3)
    leaps = _whole(years / 4) - _whole(years / 100) + _whole(years / 400)
    days = years * 365 + leaps + _whole((since_march * 153 + 2) / 5) + day - 719_469
    if raw == "date":
        return days
    clock = value.hour().cast("int64") * 3600 + value.minute().cast("int64") * 60 + value.second().cast("int64")
    return (days * 86_400 + clock) * 1_000_000 + value.microsecond().cast("int64")


def _whole(quotient: Any) -> Any:
    return quotient.floor().cast("int64")


def _days(dialect: str, name: str) -> str:
    if dialect == "pyspark":
        return f"cast(unix_date({name}) as bigint)"
    if dialect == "mysql":
        return f"cast(datediff({name}, '1970-01-01') as signed)"
    if dialect == "sqlite":
        return f"cast(julianday({name}) - 2440587.5 as integer)"
    return f"case when isfinite({name}) then {name} - date '1970-01-01' end"


def _microseconds(dialect: str, name: str, raw: RawType) -> str:
    if dialect == "mysql":
        return f"timestampdiff(microsecond, '1970-01-01', {name})"
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
