"""Indexes by analyst: what somebody asked is found without reading what all others did."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from holdfast.errors import LedgerConflict

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make an index of each analyst's entries, and have that of the questions go by analyst too."""
    for name, columns, last in (
        ("entries_by_analyst", ["ledger", "analyst", "sequence"], "analyst"),
        ("entries_by_own_question", ["ledger", "question", "analyst", "sequence"], "question"),
    ):
        some = sa.text(f"{last} IS NOT NULL")
        op.create_index(name, "entries", columns, sqlite_where=some, postgresql_where=some)
    op.drop_index("entries_by_question", "entries")


def downgrade() -> None:
    """Refused: a ledger is append-only."""
    raise LedgerConflict(
        "this migration cannot be reversed, because a ledger is append-only and its tables are never removed"
    )
