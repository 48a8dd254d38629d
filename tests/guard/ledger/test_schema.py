"""The migrations make exactly the tables that the code uses, in the version that it expects; two openers make one."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.sql import LEDGER, METADATA, SQLStore
from tests.guard.ledger.stores import DATASET, spend


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_migrations_make_the_tables_of_the_code(durable_where: str, tmp_path: Path) -> None:
    with open_store(durable_where, key=tmp_path / "key") as store:
        assert isinstance(store, SQLStore)
        with store.engine.connect() as connection:
            assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
            assert LEDGER.stored_version(connection) == LEDGER.version
            LEDGER.bring_up_to_date(connection)  # again: nothing to do


def test_the_version_is_the_newest_migration() -> None:
    assert ScriptDirectory(str(LEDGER.folder)).get_heads() == [LEDGER.version]


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_many_open_a_new_store_at_once(durable_where: str, tmp_path: Path) -> None:
    import threading

    failed: list[BaseException] = []

    def opener(number: int) -> None:
        try:
            with open_store(durable_where, key=tmp_path / "key") as store:
                store.ledger(DATASET).submit(spend(str(number), 99))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=opener, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_store(durable_where, key=tmp_path / "key") as store:
        assert store.ledger(DATASET).head().sequence == 4


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_a_commit_waits_for_the_disk(durable_where: str, tmp_path: Path) -> None:
    with open_store(durable_where, key=tmp_path / "key") as store:
        assert isinstance(store, SQLStore)
        with store.engine.connect() as connection:
            if durable_where.startswith("postgresql"):  # the test server's own default is off
                assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
            else:
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
