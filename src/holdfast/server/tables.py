"""The server's own tables, beside the ledger's in the same database. Alembic makes them; a test keeps the two alike."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, MetaData, Table, Text

METADATA = MetaData()

#: Times are ISO texts in UTC, as the ledger's are: they sort, and both databases store them alike.
TOKENS = Table(
    "server_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("guards", Text),
    Column("hash", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text),
)

SAMPLES = Table(
    "server_samples",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("origin", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("row_key", Text),
    Column("schema", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("created", Text, nullable=False),
    Column("removed", Text),
)

GUARDS = Table(
    "server_guards",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("sample", Text, ForeignKey("server_samples.id"), nullable=False),
    Column("dataset", Text, nullable=False, unique=True),
    Column("created", Text, nullable=False),
)

REPORTS = Table(
    "server_reports",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uploader", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("published", Text),
)

#: What a report says, apart from what is listed of it: some have megabytes.
REPORT_CONTENTS = Table(
    "server_report_contents",
    METADATA,
    Column("id", Text, ForeignKey("server_reports.id"), primary_key=True),
    Column("content", Text, nullable=False),
)

__all__ = ["GUARDS", "METADATA", "REPORTS", "REPORT_CONTENTS", "SAMPLES", "TOKENS"]
