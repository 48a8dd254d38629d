"""Tokens: shown once, stored as hashes, remembered only as far as they are right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.errors import InvalidParameter
from holdfast.guard.ledger import open_store
from holdfast.server.auth.tokens import TOKEN, Tokens
from holdfast.server.http import Problem
from holdfast.server.records import TOKENS, Records

LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with open_store(tmp_path / "ledger.db") as store:
        yield Records.of_store(store)


def test_a_token_is_stored_as_a_hash_and_found_again(records: Records) -> None:
    tokens = Tokens(records)
    text, facts = tokens.issue("analyst", "ann", LATER, ["g_1"])
    assert TOKEN.fullmatch(text)
    row = records.get(TOKENS, id=facts["id"])
    assert row is not None
    assert row["hash"].startswith("$argon2id$")
    assert text.split("_")[2] not in str(row)
    for checker in (tokens, tokens, Tokens(records)):  # hashed, remembered, and in another process
        caller = checker.verify(text)
        assert (caller.role, caller.name, caller.guards) == ("analyst", "ann", frozenset({"g_1"}))
    assert "hash" not in tokens.list()[0]


def test_wrong_secrets_are_hashed_once(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = Tokens(records)
    text, _ = tokens.issue("analyst", "ann", LATER)
    wrong, another = [text[:-1] + digit for digit in "012" if digit != text[-1]][:2]
    hashed = []
    real = tokens._argon2
    monkeypatch.setattr(tokens, "_argon2", lambda *args: hashed.append(1) or real(*args))
    for _ in range(3):
        with pytest.raises(Problem, match="unauthenticated"):
            tokens.verify(wrong)
    assert len(hashed) == 1
    tokens.verify(text)
    with pytest.raises(Problem, match="rate-limited"):
        tokens.verify(another, wait=5.0)
    assert tokens.verify(text, wait=5.0).name == "ann", "a secret that is known to be right is let in"
    assert len(hashed) == 2


def test_a_secret_is_good_for_its_own_id_only(records: Records) -> None:
    tokens = Tokens(records)
    (one, _), (two, _) = tokens.issue("steward", "a", LATER), tokens.issue("analyst", "b", LATER)
    mixed = f"hf_{one.split('_')[1]}_{two.split('_')[2]}"
    with pytest.raises(Problem, match="unauthenticated"):
        tokens.verify(mixed)


def test_tokens_end(records: Records) -> None:
    tokens = Tokens(records)
    text, facts = tokens.issue("steward", "a", LATER)
    assert tokens.has_steward()
    other = Tokens(records)
    assert other.verify(text).steward
    first = tokens.revoke(facts["id"])
    assert first == tokens.revoke(facts["id"]), "again changes nothing"
    with pytest.raises(Problem, match="token-revoked"):
        other.verify(text)
    assert not tokens.has_steward()
    assert tokens.revoke("0" * 16) is None
    with pytest.raises(InvalidParameter, match="expires must be a time in the future, at most"):
        tokens.issue("analyst", "b", datetime.now(UTC) - timedelta(seconds=1))
    text, facts = tokens.issue("analyst", "b", LATER)
    records.change(TOKENS, facts["id"], expires="2020-01-01T00:00:00+00:00")
    with pytest.raises(Problem, match="token-expired"):
        tokens.verify(text)


@pytest.mark.parametrize("text", ["", "hf", "hf__", "hf_x_y", "Bearer", "hf_" + "0" * 16 + "_" + "g" * 64, "\x00", "ﬀ"])
def test_other_texts_are_nobodys(records: Records, text: str) -> None:
    with pytest.raises(Problem, match="unauthenticated"):
        Tokens(records).verify(text)
