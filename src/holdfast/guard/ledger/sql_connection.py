"""Connections that may be lost: what that looks like, and beginning once more where nothing was in hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

T = TypeVar("T")


def twice(engine: Engine, begin: Callable[[], T]) -> T:
    """Begin, and once more if the connection turns out to be lost: it had nothing in hand yet."""
    try:
        return begin()
    except DBAPIError as error:
        if not is_lost(error):
            raise
    engine.dispose()  # what took this connection is likely to have taken those in the pool
    return begin()


def is_lost(error: SQLAlchemyError) -> bool:
    """Whether an error means that the connection is gone, or on its way: the server may say so before it hangs up."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    hung_up = isinstance(error, DBAPIError) and error.connection_invalidated
    return hung_up or (isinstance(state, str) and state.startswith(("08", "57P")))


def give_up(connection: Connection) -> None:
    """Close a connection for good, so that the pool does not hand it out again."""
    with suppress(SQLAlchemyError):
        connection.invalidate()
    with suppress(SQLAlchemyError):
        connection.close()


__all__ = ["give_up", "is_lost", "twice"]
