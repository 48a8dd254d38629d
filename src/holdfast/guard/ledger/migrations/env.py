"""Alembic's entry: runs what is missing on the connection that `holdfast.guard.ledger.schema` hands over."""

from __future__ import annotations

from alembic import context

from holdfast.guard.ledger.sql_tables import METADATA


def run() -> None:
    """Bring the connected database up to date; the caller holds the transaction."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=METADATA)
    context.run_migrations()


if __name__ == "env_py":  # how Alembic names this file when it runs it; importing it does nothing
    run()
