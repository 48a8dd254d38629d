"""The first tables: heads, entries, accounts and secrets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from holdfast.errors import LedgerConflict

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "heads",
        sa.Column("ledger", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("dataset", sa.Text(), nullable=False, unique=True),
        sa.Column("sequence", _NUMBER, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("signer", sa.Text()),
        sa.Column("signature", sa.Text()),
    )
    op.create_table(
        "entries",
        sa.Column("ledger", _NUMBER, sa.ForeignKey("heads.ledger"), nullable=False),
        sa.Column("sequence", _NUMBER, nullable=False),
        sa.Column("time", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("analyst", sa.Text()),
        sa.Column("key", sa.Text()),
        sa.Column("question", sa.Text()),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("states", sa.Text(), nullable=False),
        sa.Column("signer", sa.Text()),
        sa.Column("previous", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("ledger", "sequence"),
    )
    for name, columns, last in (
        ("entries_by_key", ["ledger", "key", "analyst", "sequence"], "key"),
        ("entries_by_question", ["ledger", "question", "sequence"], "question"),
    ):
        some = sa.text(f"{last} IS NOT NULL")
        op.create_index(name, "entries", columns, sqlite_where=some, postgresql_where=some)
    for table, salt in (("accounts", []), ("secrets", [sa.Column("salt", sa.Text(), nullable=False)])):
        op.create_table(
            table,
            sa.Column("ledger", _NUMBER, sa.ForeignKey("heads.ledger"), nullable=False),
            sa.Column("name", sa.Text(), nullable=False),
            *salt,
            sa.Column("state", sa.Text(), nullable=False),
            sa.Column("sequence", _NUMBER, nullable=False),
            sa.PrimaryKeyConstraint("ledger", "name"),
        )


def downgrade() -> None:
    """Refused: a ledger is append-only."""
    raise LedgerConflict(
        "this migration cannot be reversed, because a ledger is append-only and its tables are never removed"
    )
