"""The tables of a ledger in SQL. Alembic makes them (`migrations/`); a test keeps the two alike."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, MetaData, PrimaryKeyConstraint, Table, Text

METADATA = MetaData()

#: A number that counts up by itself in both: SQLite does so for INTEGER only.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

HEADS = Table(
    "heads",
    METADATA,
    Column("ledger", _NUMBER, primary_key=True, autoincrement=True),
    Column("dataset", Text, nullable=False, unique=True),
    Column("sequence", _NUMBER, nullable=False),
    Column("hash", Text, nullable=False),
    Column("signer", Text),
    Column("signature", Text),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("analyst", Text),
    Column("key", Text),
    Column("question", Text),
    Column("body", Text, nullable=False),
    Column("states", Text, nullable=False),
    Column("signer", Text),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("ledger", "sequence"),
)
_WITH_KEY, _WITH_QUESTION = ENTRIES.c.key.is_not(None), ENTRIES.c.question.is_not(None)
Index(
    "entries_by_key",
    ENTRIES.c.ledger,
    ENTRIES.c.key,
    ENTRIES.c.analyst,
    ENTRIES.c.sequence,
    sqlite_where=_WITH_KEY,
    postgresql_where=_WITH_KEY,
)
Index(
    "entries_by_question",
    ENTRIES.c.ledger,
    ENTRIES.c.question,
    ENTRIES.c.sequence,
    sqlite_where=_WITH_QUESTION,
    postgresql_where=_WITH_QUESTION,
)

ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    PrimaryKeyConstraint("ledger", "name"),
)

SECRETS = Table(
    "secrets",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("name", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    PrimaryKeyConstraint("ledger", "name"),
)

SALTS = Table("salts", METADATA, Column("name", Text, primary_key=True), Column("salt", Text, nullable=False))

__all__ = ["ACCOUNTS", "ENTRIES", "HEADS", "METADATA", "SALTS", "SECRETS"]
