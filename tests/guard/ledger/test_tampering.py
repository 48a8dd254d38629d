"""Whatever is changed in a stored ledger, `verify` finds it; what it cannot find alone, a receipt does."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from holdfast.errors import HoldfastError, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.export import to_json
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import Receipt, SigningKey
from holdfast.guard.ledger.store import HeadRow, Store
from holdfast.guard.ledger.verify import ChainCheck, open_rows, verify, verify_store
from tests.guard.ledger.stores import DATASET, spend

TABLES = ("alembic_version", "heads", "entries", "accounts", "secrets")


def fill(store: Store) -> None:
    for name in (DATASET, "b" * 64):
        ledger = store.ledger(name)
        for number in range(4):
            ledger.submit(spend(f"k{number}", 9, analyst="ann" if number % 2 else "böb"))


@pytest.fixture
def genuine(tmp_path: Path) -> Path:
    """A SQLite ledger whose file holds everything: closed, so that nothing is left in the log."""
    path = tmp_path / "genuine.db"
    with open_store(path) as store:
        fill(store)
    assert verify(path).ok
    return path


def cells(connection: sqlite3.Connection) -> list[tuple[str, int, str]]:
    """Every cell of every table: table, row number, column."""
    found = []
    for table in TABLES:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {table}")]
        found += [(table, row, column) for row in rows for column in columns]
    return found


def flipped(value: Any, generator: np.random.Generator) -> Any:
    """The value with one bit changed; something where there was nothing."""
    if value is None:
        return b"x"
    if isinstance(value, int):
        return value ^ (1 << int(generator.integers(0, 40)))
    data = bytearray(value)
    data[generator.integers(0, len(data))] ^= 1 << int(generator.integers(0, 8))
    return bytes(data)


def test_a_changed_bit_of_any_cell_is_found_in_sqlite(genuine: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(8)
    with sqlite3.connect(genuine) as connection:
        every = cells(connection)
    connection.close()
    tried = tmp_path / "tried.db"
    for table, row, column in every:
        shutil.copy(genuine, tried)
        connection = sqlite3.connect(tried)
        connection.text_factory = bytes
        connection.execute("PRAGMA synchronous = OFF")
        (old,) = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
        new = flipped(old, generator)
        value = "CAST(? AS TEXT)" if isinstance(new, bytes) else "?"
        try:
            connection.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = ?", (new, row))
            connection.commit()
        except sqlite3.IntegrityError:  # the database itself refuses this one
            continue
        finally:
            connection.close()
        found = verify(tried)
        assert not found.ok, (table, row, column, old, new)


def test_a_changed_byte_of_the_file_is_found_unless_no_row_changes(genuine: Path, tmp_path: Path) -> None:
    generator = np.random.default_rng(9)
    data, tried = genuine.read_bytes(), tmp_path / "tried.db"
    whole = content(genuine)
    for place in generator.integers(0, len(data), size=100):
        changed = bytearray(data)
        changed[place] ^= int(generator.integers(1, 256))
        tried.write_bytes(changed)
        with suppress(LedgerUnavailable):  # a file that cannot be read at all is not taken for good either
            if verify(tried).ok:
                assert content(tried) == whole


def content(path: Path) -> list[object]:
    with open_rows(path) as rows:
        return [
            (head, list(rows.entries(head.name)), [(*r,) for r in rows.accounts(head.name)], rows.secrets(head.name))
            for head in rows.heads()
        ]


def test_a_changed_bit_of_any_cell_is_found_in_postgresql(postgres_url: str) -> None:
    generator = np.random.default_rng(10)
    with open_store(postgres_url, key=SigningKey.generate()) as store:
        fill(store)
        assert verify_store(store).ok
        with psycopg.connect(postgres_url) as connection:
            for table in TABLES:
                columns = [c.name for c in connection.execute(f"SELECT * FROM {table} LIMIT 0").description or ()]
                for column in columns:
                    rows = connection.execute(f"SELECT ctid::text FROM {table} ORDER BY ctid").fetchall()
                    chosen = rows[generator.integers(0, len(rows))][0]
                    try_cell(store, connection, table, chosen, column, generator)
        assert verify_store(store).ok


def try_cell(
    store: Store, connection: psycopg.Connection[Any], table: str, row: str, column: str, generator: np.random.Generator
) -> None:
    names = {"table": sql.Identifier(table), "column": sql.Identifier(column)}
    read = sql.SQL("SELECT {column} FROM {table} WHERE ctid = %s::tid").format(**names)
    (old,) = connection.execute(read, (row,)).fetchone() or (None,)
    if isinstance(old, str):
        place = int(generator.integers(0, len(old)))
        new: Any = old[:place] + chr((ord(old[place]) ^ 1) or 2) + old[place + 1 :]
    else:
        new = old ^ 2 if isinstance(old, int) else "x"
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # a superuser can switch foreign keys off
        try:
            with connection.transaction():
                change = sql.SQL("UPDATE {table} SET {column} = %s WHERE ctid = %s::tid RETURNING ctid::text")
                cursor.execute(change.format(**names), (new, row))
                moved = cursor.fetchone()
        except psycopg.errors.UniqueViolation:
            return
        connection.commit()
        assert not verify_store(store).ok, (table, row, column)
        assert moved is not None
        cursor.execute(
            sql.SQL("UPDATE {table} SET {column} = %s WHERE ctid = %s::tid").format(**names), (old, moved[0])
        )
        connection.commit()


def change(path: Path, *statements: str) -> list[str]:
    """Run statements on the file and say what verify finds."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return [finding.what for finding in verify(path).findings]


LAST = "(SELECT max(sequence) FROM entries)"


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ((f"DELETE FROM entries WHERE sequence = {LAST}",), "cut off"),
        (
            (
                "DELETE FROM entries WHERE sequence = 4",
                "UPDATE heads SET sequence = 3, hash = (SELECT hash FROM entries e WHERE e.ledger = heads.ledger "
                "AND e.sequence = 3)",
            ),
            "signature does not fit",
        ),
        (("DELETE FROM entries WHERE sequence = 2",), "missing or were moved"),
        (
            (
                "UPDATE entries SET sequence = 99 WHERE sequence = 2",
                "UPDATE entries SET sequence = 2 WHERE sequence = 3",
                "UPDATE entries SET sequence = 3 WHERE sequence = 99",
            ),
            "does not follow",
        ),
        (("""UPDATE accounts SET state = '{"spent":0}'""",), "is not the one that the entries record"),
        (("DELETE FROM accounts WHERE ledger = 1",), "is gone"),
        (("DELETE FROM secrets",), "is gone"),
        (("UPDATE heads SET signer = NULL, signature = NULL",), "another signer"),
        (("UPDATE heads SET signature = NULL",), "signature does not fit"),
        (("DELETE FROM heads WHERE ledger = 1",), "belong to no ledger"),
        (("UPDATE alembic_version SET version_num = '0000'",), "version"),
        (("INSERT INTO accounts VALUES (1, 'more', '{}', 1)",), "is not the one that the entries record"),
    ],
)
def test_what_a_forger_would_do(genuine: Path, statements: tuple[str, ...], words: str) -> None:
    assert any(words in what for what in change(genuine, *statements))


def test_an_old_balance_with_its_own_old_entry_is_found(genuine: Path) -> None:
    with open_rows(genuine) as rows:
        name = rows.heads()[0].name
        first = next(iter(rows.entries(name)))
    assert "account:whole" in first.states
    statement = f"""UPDATE accounts SET state = '{{"spent":1}}', sequence = 1 WHERE ledger = {name}"""
    assert any("is not the one" in what for what in change(genuine, statement))


def test_an_edited_balance_is_not_believed_at_the_next_question(genuine: Path) -> None:
    change(genuine, """UPDATE accounts SET state = '{"spent":0}'""")
    with open_store(genuine, key=genuine.with_name("genuine.db.key")) as store:
        ledger = store.ledger(DATASET)
        with pytest.raises(LedgerConflict, match="holdfast verify"):
            ledger.submit(spend("new", 9))


def test_a_cut_off_end_is_not_opened(genuine: Path) -> None:
    change(genuine, "DELETE FROM entries WHERE sequence = 4")
    with open_store(genuine) as store, pytest.raises(LedgerConflict, match="holdfast verify"):
        store.ledger(DATASET)


def test_a_store_put_back_is_found_by_a_receipt(tmp_path: Path) -> None:
    path, earlier = tmp_path / "ledger.db", tmp_path / "earlier.db"
    with open_store(path) as store:
        store.ledger(DATASET).submit(spend("k1", 9))
    shutil.copy(path, earlier)
    with open_store(path) as store:
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k2", 9))
        assert store.key is not None
        receipt = Receipt.of(next(ledger.entries(2)), store.key)
    assert verify(path, receipts=[receipt]).ok
    assert verify(earlier).ok  # genuine, only old
    (found,) = verify(earlier, receipts=[receipt]).findings
    assert "no longer holds the receipt's entry" in found.what


def test_receipts_that_are_not_the_ledgers(genuine: Path) -> None:
    with open_store(genuine) as store:
        entry = next(store.ledger(DATASET).entries(2))
        assert store.key is not None
        good, public = Receipt.of(entry, store.key), store.key.public
    other = SigningKey.generate()

    def found(receipt: Receipt, key: str | None = None) -> str:
        return " ".join(f.what for f in verify(genuine, receipts=[receipt], public_key=key).findings)

    assert found(good, public) == ""
    assert "another key" in found(Receipt.of(entry, other))
    assert "signature does not fit" in found(replace(good, answer=5))
    assert "differs from the ledger in answer" in found(replace(good, answer=5))
    assert "no ledger for this receipt" in found(replace(good, dataset="c" * 64))
    assert "public key that was given" in found(good, other.public)


def test_a_ledger_written_again_with_another_key_is_found_by_the_public_key(tmp_path: Path) -> None:
    path, mine = tmp_path / "forged.db", SigningKey.generate()
    with open_store(path, key=SigningKey.generate()) as store:
        fill(store)
    assert verify(path).ok  # a whole ledger of one's own: nothing inside it can tell
    assert not verify(path, public_key=mine.public).ok


def test_an_export_verifies_and_its_changes_are_found(genuine: Path, tmp_path: Path) -> None:
    with open_rows(genuine) as rows:
        text = "".join(to_json(rows))
    exported = tmp_path / "ledger.json"
    exported.write_text(text)
    found = verify(exported)
    assert found.ok
    assert found.entries == 8
    assert "steps" not in text  # secrets stay
    plain = json.loads(text)
    plain["ledgers"][0]["entries"][1]["body"]["answer"] = 99
    exported.write_text(json.dumps(plain))
    assert any("content does not fit its hash" in f.what for f in verify(exported).findings)
    exported.write_text("[]")
    with pytest.raises(HoldfastError, match="SQLite file"):
        verify(exported)


def test_a_head_without_a_signature_must_still_be_that_of_the_last_entry() -> None:
    """In a chain that nobody signs the hash is all that ties the head to the entries."""
    entry = Entry.following(Head(), dataset="d", time="2030-01-01T00:00:00+00:00", kind="opened", body={})
    for hash_, wrong in ((entry.hash, []), ("0" * 64, ["the head's hash is not that of the last entry"])):
        checked = ChainCheck(HeadRow("d", "d", Head(1, hash_), None), None)
        checked.feed(entry)
        checked.finish([], [], None)
        assert [finding.what for finding in checked.findings] == wrong


@pytest.mark.parametrize("column", ["sequence", "time", "kind", "analyst", "key", "question", "body", "states", "hash"])
def test_several_processes_find_what_one_finds(
    column: str, genuine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries are spread over processes; each field is changed in one of them."""
    monkeypatch.setattr("holdfast.guard.ledger.verify.LONG", 1)
    monkeypatch.setattr("holdfast.guard.ledger.verify._AT_ONCE", 3)
    monkeypatch.setattr("holdfast.guard.ledger.verify.pool", _threads)
    assert verify(genuine, workers=2) == verify(genuine)
    tried = tmp_path / "tried.db"
    shutil.copy(genuine, tried)
    with sqlite3.connect(tried) as connection:
        new = "sequence + 40" if column == "sequence" else f"coalesce({column}, '') || 'x'"
        connection.execute(f"UPDATE entries SET {column} = {new} WHERE sequence = 3 AND ledger = 2")
    connection.close()
    found = verify(tried, workers=2)
    assert not found.ok
    assert found == verify(tried)


@contextmanager
def _threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(workers) as threads:
        yield threads


def test_another_process_checks_a_long_chain(genuine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.guard.ledger.verify.LONG", 4)
    monkeypatch.setattr("holdfast.guard.ledger.verify._one_by_one", None)
    assert verify(genuine, workers=2).entries == 8
