"""The server's tables: as the migrations make them, in both databases, and next to a ledger that verifies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger import open_store, verify_store
from holdfast.server.records import METADATA, RECORDS, SAMPLES, Records, Taken


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_migrations_make_the_tables_that_the_code_uses(place: str) -> None:
    ours = set(METADATA.tables)
    with open_store(place) as store:
        records = Records.of_store(store)
        with store.engine.connect() as connection:  # type: ignore[attr-defined]
            context = MigrationContext.configure(
                connection,
                opts={
                    "version_table": RECORDS.kept_in,
                    "include_name": lambda name, kind, _: kind != "table" or name in ours,
                },
            )
            assert compare_metadata(context, METADATA) == []
            assert context.get_current_revision() == RECORDS.version
        Records.of_store(store)  # a second time changes nothing
        values = dict.fromkeys(SAMPLES.c.keys(), "x") | {"id": "s_1", "n": 1, "row_key_numbered": False}
        records.add(SAMPLES, **values)
        with pytest.raises(Taken):
            records.add(SAMPLES, **(values | {"id": "s_2"}))
        assert [row["id"] for row in records.all(SAMPLES)] == ["s_1"], "what was refused left nothing"
        assert records.change(SAMPLES, "s_1", n=2)
        assert not records.change(SAMPLES, "s_3", n=2)
        assert verify_store(store).ok


def test_records_that_cannot_be_reached_change_nothing_and_say_so(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "ledger.db")) as store:
        records = Records.of_store(store)
        with store.engine.begin() as connection:  # type: ignore[attr-defined]
            connection.exec_driver_sql("ALTER TABLE server_samples RENAME TO server_samples_away")
        for act in (
            lambda: records.all(SAMPLES),
            lambda: records.get(SAMPLES, id="s_1"),
            lambda: records.change(SAMPLES, "s_1", n=2),
        ):
            with pytest.raises(
                LedgerUnavailable, match=r"could not be reached \(OperationalError\); nothing was changed"
            ):
                act()


def test_the_tables_can_be_taken_away_and_the_ledger_stays(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "ledger.db")) as store:
        Records.of_store(store)
        before = set(inspect(store.engine).get_table_names())  # type: ignore[attr-defined]
        with store.engine.begin() as connection, Operations.context(MigrationContext.configure(connection)):  # type: ignore[attr-defined]
            for script in ScriptDirectory(str(RECORDS.folder)).walk_revisions():  # the newest first
                script.module.downgrade()
        after = set(inspect(store.engine).get_table_names())  # type: ignore[attr-defined]
        assert before - after == set(METADATA.tables)
        assert verify_store(store).ok


def test_the_newest_migration_is_the_version() -> None:
    assert ScriptDirectory(str(RECORDS.folder)).get_heads() == [RECORDS.version]


def test_tables_of_a_later_release_are_left_alone(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "ledger.db")) as store:
        Records.of_store(store)
        with store.engine.begin() as connection:  # type: ignore[attr-defined]
            connection.exec_driver_sql("UPDATE server_version SET version_num = '9999'")
        with pytest.raises(LedgerConflict, match="the server's tables are of version '9999'"):
            Records.of_store(store)


def test_ledgers_and_records_are_made_one_at_a_time(tmp_path: Path) -> None:
    """Alembic keeps what it does in a module: tables of two kinds at once would be each other's."""
    places = [str(tmp_path / f"{number}.db") for number in range(8)]

    def make(place: str) -> bool:
        with open_store(place) as store:
            Records.of_store(store)
            return verify_store(store).ok

    with ThreadPoolExecutor(len(places)) as pool:
        assert all(pool.map(make, places))


def test_records_need_a_database() -> None:
    with pytest.raises(LedgerConflict, match="SQLite or PostgreSQL"):
        Records.of_store(open_store())
