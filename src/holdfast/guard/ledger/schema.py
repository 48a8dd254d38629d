"""Brings tables up to date with Alembic, inside a transaction that their owner holds.

Looking whether they are takes one small query; Alembic is imported only when they are not.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from holdfast.errors import LedgerConflict

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ALEMBIC = threading.Lock()
"""Alembic keeps what it is doing in a module: one at a time in a process, whoever's the tables are."""


@dataclass(frozen=True)
class Migrations:
    """The steps that make somebody's tables: their folder, the newest version, and the table that keeps the stored one.

    Examples
    --------
    >>> LEDGER.version, LEDGER.kept_in
    ('0002', 'alembic_version')
    """

    whose: str
    folder: Path
    version: str
    kept_in: str

    def stored_version(self, connection: Connection) -> str | None:
        """The version of the tables, None where there are none."""
        if not inspect(connection).has_table(self.kept_in):
            return None
        found = connection.execute(text(f"SELECT version_num FROM {self.kept_in}")).scalars().all()
        return str(found[0]) if len(found) == 1 else "several"

    def bring_up_to_date(self, connection: Connection) -> None:
        """Make or change the tables until they are of `version`; a version that is not known is refused."""
        found = self.stored_version(connection)
        if found == self.version:
            return
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        settings = Config()
        settings.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        settings.attributes["connection"] = connection
        settings.attributes["version_table"] = self.kept_in
        try:
            with _ALEMBIC:
                command.upgrade(settings, "head")
        except CommandError as error:
            raise LedgerConflict(
                f"{self.whose} tables are of version {found!r}, which this release does not know; use a newer release"
            ) from error


LEDGER = Migrations("the ledger's", Path(__file__).parent / "migrations", "0002", "alembic_version")
"""Those of a store; a test keeps the version and the newest of `migrations/versions` alike."""


__all__ = ["LEDGER", "Migrations"]
