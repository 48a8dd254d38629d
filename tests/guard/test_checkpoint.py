"""Verifying since a checkpoint finds what verifying from the first entry finds, of everything that came after it."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.cli.main import run
from holdfast.errors import InvalidParameter
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger import Checkpoint, Receipt, SigningKey, open_store
from holdfast.guard.ledger.verify import Verification, verify
from holdfast.guard.replay import GuardReplay

POLICY = Policy(privacy=PureDP(50.0), spend=PureDP(0.5), questions=50, analysts={"ann": 1.0, "bob": 0.5})
SEPARATE = Policy(questions=50, histories="separate", analysts={"ann": 0.5, "bob": 0.5})


def checked(where: Path, **options: Any) -> Verification:
    return verify(where, replay=GuardReplay, **options)


def ask(guard: Guard, first: int, last: int) -> None:
    for number in range(first, last):
        guard.ask(hf.guard.check(f"x < {number}", 0.5), analyst="ann" if number % 2 else "bob", key=f"k{number}")
        if guard.describe()["policy"]["privacy"]:
            guard.ask(hf.mean("x", 0, number + 1), analyst="ann")


@pytest.fixture(params=["together", "separate"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Checkpoint, SigningKey]:
    """A ledger, a checkpoint of its first part, and the ledger's key."""
    place = tmp_path / "ledger.db"
    sample = hf.data.table({"x": [float(number) for number in range(100)]})
    guard = Guard.open(place, sample=sample, policy=POLICY if request.param == "together" else SEPARATE)
    ask(guard, 1, 5)
    guard.pause()
    key = SigningKey.load(place.with_name("ledger.db.key"))
    (checkpoint,) = checked(place, key=key).checkpoints
    guard.resume()
    ask(guard, 3, 9)
    if request.param == "together":
        guard.override(replace(POLICY, questions=60), "more questions are needed")
        ask(guard, 9, 11)
    guard.shut()
    return place, Checkpoint.from_dict(json.loads(json.dumps(checkpoint.to_dict()))), key


def test_the_rest_adds_up_and_reaches_what_the_whole_reaches(written: tuple[Path, Checkpoint, SigningKey]) -> None:
    place, since, key = written
    whole, rest = checked(place, key=key), checked(place, since=[since], key=key)
    assert whole.ok, whole.findings
    assert rest.ok, rest.findings
    assert rest.entries == whole.entries - since.sequence
    assert (rest.overrides, rest.signers, rest.checkpoints) == (whole.overrides, whole.signers, whole.checkpoints)
    again = checked(place, since=whole.checkpoints)
    assert again.ok
    assert again.entries == 0


@pytest.mark.parametrize("column", ["body", "states", "hash", "previous", "time", "kind", "analyst", "sequence"])
def test_a_change_after_the_checkpoint_or_of_its_entry_is_found(
    written: tuple[Path, Checkpoint, SigningKey], column: str, tmp_path: Path
) -> None:
    place, since, _ = written
    for sequence in (since.sequence, since.sequence + 1, since.sequence + 3):
        tried = tmp_path / f"tried{sequence}.db"
        shutil.copy(place, tried)
        with sqlite3.connect(tried) as connection:
            new = "sequence + 400" if column == "sequence" else f"coalesce({column}, '') || 'x'"
            connection.execute(f"UPDATE entries SET {column} = {new} WHERE sequence = ?", (sequence,))
        connection.close()
        assert not checked(tried, since=[since]).ok, sequence


def test_totals_and_the_end_are_checked(written: tuple[Path, Checkpoint, SigningKey], tmp_path: Path) -> None:
    place, since, _ = written
    changes = (
        "UPDATE accounts SET state = replace(state, '\"answered\":', '\"answered\":1')",
        "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
        "UPDATE heads SET sequence = sequence - 1",
    )
    for change in changes:
        tried = tmp_path / "tried.db"
        shutil.copy(place, tried)
        with sqlite3.connect(tried) as connection:
            connection.execute(change)
        connection.close()
        assert not checked(tried, since=[since]).ok, change


def test_a_checkpoint_that_was_not_signed_is_refused(written: tuple[Path, Checkpoint, SigningKey]) -> None:
    place, since, key = written
    other = SigningKey.generate()
    wrong = [
        replace(since, overrides=7),
        replace(since, replay=dict(since.replay) | {"status": "closed"}),
        replace(since, states={}),
        since.signed(other),
        replace(since, dataset="x").signed(key),
    ]
    for changed in wrong:
        with pytest.raises(InvalidParameter, match="since"):
            checked(place, since=[changed])
    assert checked(place, since=[replace(since, hash="0" * 64).signed(key)]).findings
    assert "public key" in checked(place, since=[since.signed(other)], public_key=other.public).findings[0].what
    with pytest.raises(InvalidParameter):
        Checkpoint.from_dict(since.to_dict() | {"more": 1})


def test_wrong_totals_in_a_signed_checkpoint_do_not_add_up(written: tuple[Path, Checkpoint, SigningKey]) -> None:
    """Power: what the replay goes on from decides what it finds."""
    place, since, key = written
    accounts = json.loads(json.dumps(since.replay["accounts"]))
    accounts["whole"]["progress"]["answered"] += 1
    changed = replace(since, replay=dict(since.replay) | {"accounts": accounts}).signed(key)
    assert any("do not add up" in finding.what for finding in checked(place, since=[changed]).findings)


def test_a_receipt_from_before_needs_the_whole_ledger(tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        sample = hf.data.table({"x": [1.0, 2.0] * 50})
        guard = Guard.open(store, sample, Policy(questions=50))
        for number in range(3):
            guard.ask(hf.guard.check(f"x < {number}", 0.5))
        assert store.key is not None
        receipts = [Receipt.of(entry, store.key) for entry in guard.ledger.entries(3, 4)]
        (since,) = checked(tmp_path / "ledger.db", key=store.key).checkpoints
        guard.ask(hf.guard.check("x < 9", 0.5))
        late = Receipt.of(next(iter(guard.ledger.entries(5, 5))), store.key)
    place = tmp_path / "ledger.db"
    assert checked(place, since=[since], receipts=[late]).ok
    assert checked(place, receipts=receipts).ok
    with pytest.raises(InvalidParameter, match="before the checkpoint"):
        checked(place, since=[since], receipts=receipts)


def test_the_command_writes_one_and_goes_on_from_it(
    written: tuple[Path, Checkpoint, SigningKey], capsys: pytest.CaptureFixture[str]
) -> None:
    place, _, _ = written
    to, key = place.with_name("checkpoint.json"), place.with_name("ledger.db.key")
    assert run(["verify", str(place), "--checkpoint", str(to)]) == 2
    assert run(["verify", str(place), "--checkpoint", str(to), "--signing-key", str(key)]) == 0
    capsys.readouterr()
    assert run(["verify", str(place), "--since", str(to), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 0
