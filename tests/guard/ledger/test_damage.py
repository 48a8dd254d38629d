"""A store that lost rows, tables or its form, and an export of another form: named, never believed, never a crash."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection

from holdfast.errors import InvalidParameter, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.export import read_json, to_json
from holdfast.guard.ledger.migrations.versions import v0001_ledger, v0002_salt
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.sql import _REMEMBERED
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.ledger.verify import verify, verify_snapshot
from tests.guard.ledger.stores import DATASET, check_spent, spend
from tests.services.postgres import Server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A SQLite ledger of four entries, closed."""
    made = tmp_path / "ledger.db"
    with open_store(made) as store:
        for number in range(4):
            store.ledger(DATASET).submit(spend(f"k{number}", 9))
    return made


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_chain_whose_head_is_gone_is_written_no_more(path: Path) -> None:
    with open_store(path) as store:
        ledger = store.ledger(DATASET)
        change(path, "DELETE FROM heads")
        for what in (ledger.head, lambda: ledger.submit(spend("new", 9))):
            with pytest.raises(LedgerConflict, match="of this ledger is missing from its store; run `holdfast verify`"):
                what()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*), max(sequence) FROM entries").fetchone() == (4, 4)
    connection.close()
    assert not verify(path).ok


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_a_store_of_another_form_says_so_and_shows_no_statement(durable_where: str) -> None:
    with open_store(durable_where, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k0", 9))
        with store.engine.begin() as connection:  # type: ignore[attr-defined]
            connection.exec_driver_sql("ALTER TABLE entries RENAME COLUMN body TO words")
        for act, outcome in (
            (lambda: list(ledger.entries()), "nothing was read"),
            (lambda: ledger.submit(spend("k1", 9)), "nothing was written"),
        ):
            with pytest.raises(LedgerUnavailable, match=outcome) as caught:
                act()
            assert "could not be used (" in str(caught.value)
            assert "SELECT" not in str(caught.value).upper()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE entries SET body = x'7b7d' WHERE sequence = 2", "its row holds values of the wrong kind"),
        ("UPDATE entries SET analyst = x'61' WHERE sequence = 2", "its row holds values of the wrong kind"),
        ("UPDATE entries SET hash = x'00' WHERE sequence = 4", "its row holds values of the wrong kind"),
        ("UPDATE accounts SET state = x'7b7d'", "the stored account 'whole' is not the one that the entries record"),
        ("UPDATE secrets SET salt = x'00'", "the stored secret 'state' is not the one that the entries record"),
        ("UPDATE heads SET signature = x'00'", "the head's signature does not fit"),
        ("UPDATE heads SET dataset = x'61'", "its row holds values of the wrong kind"),
        ("UPDATE heads SET hash = x'00'", "the head's hash is not that of the last entry"),
    ],
)
def test_bytes_in_the_place_of_texts_are_found(path: Path, statement: str, words: str) -> None:
    assert verify(path).ok
    change(path, statement)
    assert any(words in finding.what for finding in verify(path).findings)


def test_a_file_without_ledgers_is_none_to_verify(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    change(other, "CREATE TABLE pets (name TEXT)")
    with pytest.raises(LedgerUnavailable, match="the database has no ledgers"):
        verify(other)
    connection = sqlite3.connect(other)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("pets",)]
    connection.close()


def exported(path: Path) -> dict[str, Any]:
    with open_store(path) as store, store.snapshot() as rows:
        return json.loads("".join(to_json(rows)))  # type: ignore[no-any-return]


def test_an_export_of_another_format_is_named(path: Path) -> None:
    plain = exported(path)
    for other in ({"format": 2}, {"format": "1"}, {"holdfast": "audit"}):
        with pytest.raises(InvalidParameter, match="an export must have the format number"):
            read_json(json.dumps(plain | other))


@pytest.mark.parametrize("name", [None, 7, [], ["a"], {}, {"a": 1}], ids=repr)
def test_an_export_whose_data_set_has_no_name_is_refused(path: Path, name: Any) -> None:
    plain = exported(path)
    plain["ledgers"][0]["dataset"] = name
    with pytest.raises(InvalidParameter, match="a ledger must be a SQLite file, a postgresql:// address or an export"):
        verify_snapshot(read_json(json.dumps(plain)))


def entry() -> dict[str, Any]:
    made = Entry.following(Head(), dataset="d", time="2030-01-01T00:00:00+00:00", kind="opened", body={})
    assert Entry.from_dict(made.to_dict()) == made
    return made.to_dict()


@pytest.mark.parametrize("gone", sorted(entry()))
def test_an_entry_is_read_whole_or_not_at_all(gone: str) -> None:
    plain = entry()
    del plain[gone]
    with pytest.raises(InvalidParameter, match="a stored entry must have the fields"):
        Entry.from_dict(plain)


def test_an_entry_of_another_format_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="format must be 1, got 2"):
        Entry.from_dict(entry() | {"format": 2})
    with pytest.raises(InvalidParameter, match="a stored entry must have the fields"):
        Entry.from_dict(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [None, 3, "spent", [("spent", 1)]], ids=repr)
@pytest.mark.parametrize("put", [Transaction.put_account, Transaction.put_secret], ids=["account", "secret"])
def test_a_state_is_a_mapping(put: Callable[[Transaction, str, Any], object], state: Any) -> None:
    ledger = open_store().ledger(DATASET)

    def work(transaction: Transaction) -> None:
        put(transaction, "whole", state)

    with pytest.raises(InvalidParameter, match=f"the state of whole must be a mapping, got a {type(state).__name__}"):
        ledger.submit(work)
    assert ledger.head().sequence == 0


def test_verifying_tells_how_far_it_has_come() -> None:
    store, told = open_store(), list[int]()

    def many(transaction: Transaction) -> None:
        for number in range(2001):
            transaction.append("answered", {"answer": number})

    store.ledger(DATASET).submit(many)
    with store.snapshot() as rows:
        assert verify_snapshot(rows, progress=told.append).ok
    assert told == [1000, 2000]


def test_more_states_than_are_kept_in_memory_are_read_again(tmp_path: Path) -> None:
    names = [f"analyst:{number}" for number in range(_REMEMBERED + 1)]
    with open_store(tmp_path / "ledger.db") as store:
        ledger = store.ledger(DATASET)
        for turn in (1, 2):

            def work(transaction: Transaction, turn: int = turn) -> None:
                for name in names if turn == 1 else names[:1]:
                    transaction.put_account(name, {"spent": turn})
                transaction.append("answered", {"answer": turn})

            ledger.submit(work)
        assert ledger._backend._remembered.accounts == {}  # type: ignore[attr-defined]
        found = ledger.look(lambda view: [view.account(names[0]), view.account(names[-1]), view.account("nobody")])
        assert found == [{"spent": 2}, {"spent": 1}, None]


@pytest.mark.parametrize("address", ["postgresql://host:port/ledger", "postgresql://[::1/ledger", "postgres:"], ids=str)
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InvalidParameter, match="where must be an address like postgresql://user@host/database"):
        open_store(address, key=SigningKey.generate())


def test_the_short_name_of_the_database_means_the_same(postgres_url: str) -> None:
    key = SigningKey.generate()
    with open_store(postgres_url, key=key) as store:
        store.ledger(DATASET).submit(spend("k", 9))
    with open_store(postgres_url.replace("postgresql:", "postgres:", 1), key=key) as store:
        assert store.datasets() == [DATASET]
        check_spent(store, 1)


def test_a_new_file_that_another_holds_for_too_long(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="held the ledger's lock for too long; nothing was opened"):
        open_store(tmp_path / "ledger.db", timeout=0.001)
    other.rollback()
    other.close()
    with open_store(tmp_path / "ledger.db") as store:
        assert store.datasets() == []


def test_a_commit_that_nobody_can_look_up_is_not_answered_and_paid_once(
    postgres_server: Server, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took place, the connection broke, and the database lets nobody in: asking again with the key finds it."""
    database = urlsplit(postgres_url).path[1:]
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k1", 9))
        genuine = Connection.commit

        def commit_and_shut(connection: Connection) -> None:
            monkeypatch.undo()
            genuine(connection)
            postgres_server.execute(f"alter database {database} allow_connections false")
            postgres_server.end_connections(database)
            connection.exec_driver_sql("SELECT 1")  # raises, as the commit would have

        monkeypatch.setattr(Connection, "commit", commit_and_shut)
        with pytest.raises(LedgerUnavailable, match="ask again with the same key"):
            ledger.submit(spend("k2", 9))
        postgres_server.execute(f"alter database {database} allow_connections true")
        check_spent(store, 2)
        assert ledger.submit(spend("k2", 9)) == 2
        check_spent(store, 2)


@pytest.mark.parametrize("version", [v0001_ledger, v0002_salt], ids=["ledger", "salt"])
def test_no_version_of_the_tables_is_taken_back(version: Any) -> None:
    with pytest.raises(LedgerConflict, match="this migration cannot be reversed, because a ledger is append-only and"):
        version.downgrade()
