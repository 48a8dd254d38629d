"""Whether a sample's row key is a running number; not known of samples that were registered before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("server_samples", sa.Column("row_key_numbered", sa.Boolean()))


def downgrade() -> None:
    """Take it away again; the ledger is not touched."""
    with op.batch_alter_table("server_samples") as table:
        table.drop_column("row_key_numbered")
