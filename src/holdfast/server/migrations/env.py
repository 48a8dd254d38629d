"""Alembic's entry: runs what is missing on the connection that `holdfast.guard.ledger.sql` hands over."""

from __future__ import annotations

from alembic import context

from holdfast.server.records import METADATA


def run() -> None:
    """Bring the connected database up to date; the caller holds the transaction."""
    settings = context.config.attributes
    context.configure(
        connection=settings["connection"], target_metadata=METADATA, version_table=settings["version_table"]
    )
    context.run_migrations()


if __name__ == "env_py":  # how Alembic names this file when it runs it; importing it does nothing
    run()
