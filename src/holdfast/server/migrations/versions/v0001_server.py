"""The first tables: tokens, samples and guards."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "server_tokens",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("guards", sa.Text()),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=False),
        sa.Column("revoked", sa.Text()),
    )
    op.create_table(
        "server_samples",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("row_key", sa.Text()),
        sa.Column("schema", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("removed", sa.Text()),
    )
    op.create_table(
        "server_guards",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("sample", sa.Text(), sa.ForeignKey("server_samples.id"), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False, unique=True),
        sa.Column("created", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    """Take the tables away again; the ledger is not touched."""
    for table in ("server_guards", "server_samples", "server_tokens"):
        op.drop_table(table)
