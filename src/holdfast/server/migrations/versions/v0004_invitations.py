"""Invitations to guards, and who joined by them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "server_invitations",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("guard", sa.Text(), sa.ForeignKey("server_guards.id"), nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("places", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.Column("inviter", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.Column("expires", sa.Text(), nullable=False),
        sa.Column("revoked", sa.Text()),
    )
    op.create_table(
        "server_participants",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("guard", sa.Text(), sa.ForeignKey("server_guards.id"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created", sa.Text(), nullable=False),
        sa.UniqueConstraint("guard", "name"),
    )


def downgrade() -> None:
    """Take the tables away again; the ledger is not touched."""
    for table in ("server_participants", "server_invitations"):
        op.drop_table(table)
