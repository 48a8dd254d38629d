"""A salt for the names of chains: a name that follows from the rows alone tells about them."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

from holdfast.errors import LedgerConflict

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table and its one salt; empty where chains have their names already, or their budgets were refilled."""
    salts = op.create_table(
        "salts", sa.Column("name", sa.Text(), primary_key=True), sa.Column("salt", sa.Text(), nullable=False)
    )
    begun = op.get_bind().execute(sa.text("SELECT count(*) FROM heads")).scalar_one()
    op.bulk_insert(salts, [{"name": "datasets", "salt": "" if begun else secrets.token_hex(32)}])


def downgrade() -> None:
    """Refused: a ledger is append-only."""
    raise LedgerConflict(
        "this migration cannot be reversed, because a ledger is append-only and its tables are never removed"
    )
