"""Packages that only some parts need: where one is missing, the error says what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

#: Each package that is imported where it is used, and the extra that brings it.
_EXTRAS = {
    "alembic": "guard",
    "cryptography": "guard",
    "duckdb": "tables",
    "ibis": "tables",
    "narwhals": "frames",
    "polars": "tables",
    "psycopg": "postgres",
    "pyarrow": "tables",
    "pyspark": "spark",
    "sqlalchemy": "guard",
    "sqlglot": "tables",
}


@contextmanager
def named_extras() -> Iterator[None]:
    """Name the extra of a package that is missing; also a decorator, for the functions that are doors.

    Examples
    --------
    >>> with named_extras():
    ...     raise ModuleNotFoundError("No module named 'sqlglot'", name="sqlglot")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: sqlglot is not installed: `pip install 'holdfast[tables]'`
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRAS:
            raise
        words = f"{missing} is not installed: `pip install 'holdfast[{_EXTRAS[missing]}]'`"
        raise ModuleNotFoundError(words, name=missing) from None


__all__ = ["named_extras"]
