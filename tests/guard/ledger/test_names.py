"""Names of chains: the same rows have the same one in a store, and it tells nothing about them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

import holdfast as hf
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.sql import SQLStore
from holdfast.guard.ledger.verify import verify, verify_store
from tests.guard.ledger.stores import DATASET, spend

ROWS = {"age": [20 + i % 50 for i in range(500)], "sick": [i % 7 == 0 for i in range(500)]}
POLICY = hf.guard.Policy(questions=3)


def rows(last: bool) -> hf.data.Sample:
    return hf.data.table(ROWS | {"sick": [*ROWS["sick"][:-1], last]})


def test_a_name_does_not_tell_the_last_row_to_who_knows_the_others() -> None:
    """The fingerprint would: it is a function of the rows that everybody can compute."""
    guard = hf.Guard.open(None, rows(True), POLICY)
    answer = guard.ask(hf.guard.check("age < 40", guess=0.4))
    shown = str([guard.describe(), answer.to_dict(), [entry.to_dict() for entry in guard.ledger.entries()]])
    for candidate in (True, False):
        assert rows(candidate).fingerprint() not in shown
        assert guard.dataset != rows(candidate).fingerprint()


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_the_same_rows_meet_their_budget_again(durable_where: str, tmp_path: Path) -> None:
    names = set()
    for _ in range(3):
        with open_store(durable_where, key=tmp_path / "key") as store:
            guard = hf.Guard.open(store, rows(True), POLICY)
            names |= {guard.dataset, store.name_of(rows(True).fingerprint())}
            guard.ask(hf.guard.check("age < 40", guess=0.4))
            assert guard.remaining()["yours"] == {"questions": 2}
            assert store.name_of(rows(False).fingerprint()) not in names
    assert len(names) == 1


def test_each_store_has_names_of_its_own(tmp_path: Path) -> None:
    found = set()
    for where in (None, None, tmp_path / "a.db", tmp_path / "b.db"):
        with open_store(where) as store:
            found.add(store.name_of("fingerprint"))
    assert len(found) == 4


def as_version_2(connection: sa.Connection) -> None:
    """Take away what later versions of the tables brought."""
    for statement in (
        "DROP INDEX entries_by_analyst",
        "DROP INDEX entries_by_own_question",
        "CREATE INDEX entries_by_question ON entries (ledger, question, sequence) WHERE question IS NOT NULL",
        "UPDATE alembic_version SET version_num = '0002'",
    ):
        connection.execute(sa.text(statement))


def test_a_store_of_before_verifies_as_it_is_and_is_indexed_when_it_is_opened(tmp_path: Path) -> None:
    with open_store(tmp_path / "old.db") as store:
        assert isinstance(store, SQLStore)
        store.ledger(DATASET).submit(spend("k", 9))
        with store.engine.begin() as connection:
            as_version_2(connection)
    assert verify(tmp_path / "old.db").findings == ()
    with open_store(tmp_path / "old.db") as store:
        assert [entry.key for entry in store.ledger(DATASET).page(9, analyst="ann")] == ["k"]
        assert verify_store(store).ok
    with sqlite3.connect(tmp_path / "old.db") as file:
        file.execute("UPDATE alembic_version SET version_num = '0002'")
    assert ["version" in str(finding) for finding in verify(tmp_path / "old.db").findings] == [True]


def test_a_store_of_before_keeps_its_names(tmp_path: Path) -> None:
    """Chains that were named by fingerprints are found by them: a new name would refill their budgets."""
    with open_store(tmp_path / "old.db") as store:
        assert isinstance(store, SQLStore)
        with store.engine.begin() as connection:
            connection.execute(sa.text("DROP TABLE salts"))
            as_version_2(connection)
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
            connection.execute(sa.text("INSERT INTO heads (dataset, sequence, hash) VALUES ('old', 0, '')"))
    with open_store(tmp_path / "old.db") as store:
        assert store.name_of("fingerprint") == "fingerprint"
    with open_store(tmp_path / "old.db") as store:
        assert store.name_of("fingerprint") == "fingerprint"
