"""Brings the tables of a store up to date with Alembic, inside a transaction that the store holds.

Looking whether they are takes one small query; Alembic is imported only when they are not.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from holdfast.errors import LedgerConflict

if TYPE_CHECKING:
    from sqlalchemy import Connection

VERSION = "0002"
"""The newest of `migrations/versions`; a test keeps the two alike."""

_ALEMBIC = threading.Lock()
"""Alembic keeps what it is doing in a module: one at a time in a process."""

_FOLDER = Path(__file__).parent / "migrations"


def stored_version(connection: Connection) -> str | None:
    """The version of the tables, None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    return str(found[0]) if len(found) == 1 else "several"


def bring_up_to_date(connection: Connection) -> None:
    """Make or change the tables until they are of `VERSION`; a newer version than that is refused."""
    found = stored_version(connection)
    if found == VERSION:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    settings = Config()
    settings.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    settings.attributes["connection"] = connection
    try:
        with _ALEMBIC:
            command.upgrade(settings, "head")
    except CommandError as error:
        raise LedgerConflict(
            f"the ledger's tables are of version {found!r}, which this release does not know; use a newer release"
        ) from error


__all__ = ["VERSION", "bring_up_to_date", "stored_version"]
