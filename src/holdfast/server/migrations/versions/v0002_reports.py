"""Audit reports, and what they say."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "server_reports",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), nullable=False, unique=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("uploader", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("published", sa.Text()),
    )
    op.create_table(
        "server_report_contents",
        sa.Column("id", sa.Text(), sa.ForeignKey("server_reports.id"), primary_key=True),
        sa.Column("content", sa.Text(), nullable=False),
    )


def downgrade() -> None:
    """Take the tables away again; the ledger is not touched."""
    for table in ("server_report_contents", "server_reports"):
        op.drop_table(table)
