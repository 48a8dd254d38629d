"""The server's tables: as the migrations make them, in both databases, and beside a ledger that verifies."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from holdfast.errors import LedgerConflict
from holdfast.guard.ledger import open_store, verify_store
from holdfast.server import store as module
from holdfast.server.store import VERSION, VERSION_TABLE, Records, Taken
from holdfast.server.tables import METADATA, SAMPLES


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_migrations_make_the_tables_that_the_code_uses(place: str) -> None:
    ours = set(METADATA.tables)
    with open_store(place) as store:
        records = Records.beside(store)
        with store.engine.connect() as connection:  # type: ignore[attr-defined]
            context = MigrationContext.configure(
                connection,
                opts={
                    "version_table": VERSION_TABLE,
                    "include_name": lambda name, kind, _: kind != "table" or name in ours,
                },
            )
            assert compare_metadata(context, METADATA) == []
            assert context.get_current_revision() == VERSION
        Records.beside(store)  # a second time changes nothing
        values = dict.fromkeys(SAMPLES.c.keys(), "x") | {"id": "s_1", "n": 1}
        records.add(SAMPLES, **values)
        with pytest.raises(Taken):
            records.add(SAMPLES, **(values | {"id": "s_2"}))
        assert [row["id"] for row in records.all(SAMPLES)] == ["s_1"], "what was refused left nothing"
        assert records.change(SAMPLES, "s_1", n=2)
        assert not records.change(SAMPLES, "s_3", n=2)
        assert verify_store(store).ok


def test_the_newest_migration_is_the_version() -> None:
    folder = Path(module.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [VERSION]


def test_records_need_a_database() -> None:
    with pytest.raises(LedgerConflict, match="SQLite or PostgreSQL"):
        Records.beside(open_store())
