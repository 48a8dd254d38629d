"""Rows of subjects, in both databases: made once however many come at once, and a name has one bearer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast.guard.ledger import open_store
from holdfast.server.auth.oidc.service import Subjects
from holdfast.server.auth.oidc.settings import OidcSettings
from holdfast.server.auth.tokens import Tokens
from holdfast.server.http import Problem
from holdfast.server.records import TOKENS, Records


@pytest.fixture(params=["sqlite", "postgres"])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Records]:
    place = tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    with open_store(place) as store:
        yield Records.of_store(store)


def claims(subject: str, **more: Any) -> dict[str, Any]:
    return {"iss": "https://login.example.org", "sub": subject, "nick": "ann"} | more


def test_a_subject_has_one_row_and_a_name_one_subject(records: Records) -> None:
    subjects = Subjects(records, OidcSettings(oidc_name_claim="nick"))

    def come(subject: str) -> str:
        try:
            return str(subjects.admit(claims(subject))[0]["id"])
        except Problem as problem:
            return problem.code

    with ThreadPoolExecutor(8) as pool:
        came = list(pool.map(come, [f"s{i % 8}" for i in range(48)]))
    rows = records.all(TOKENS)
    assert len(rows) == 1, "of eight who bear one name at once, one is let in"
    assert set(came) == {rows[0]["id"], "forbidden"}
    assert came.count("forbidden") == 42, "and always the same one"


def test_a_row_is_no_token_and_counts_as_no_stewards(records: Records) -> None:
    subjects, tokens = Subjects(records, OidcSettings(oidc_steward_claim="g", oidc_steward_value="x")), Tokens(records)
    row, role = subjects.admit(claims("s", g="x"))
    assert role == "steward"
    assert not tokens.has_steward(), "a server that only subjects may steward still makes a token at its start"
    secret = row["hash"].rpartition("$")[2]
    with pytest.raises(Problem, match="unauthenticated"):
        tokens.verify(f"hf_{row['id']}_{secret}")
    with pytest.raises(Problem, match="forbidden"):  # a subject is its issuer's, and so is its name
        subjects.admit(claims("s", iss="https://other.example.org"))


def test_a_row_of_another_subject_lets_nobody_in(records: Records) -> None:
    """The id is a part of the mark: two subjects that share it are told apart by the whole."""
    subjects = Subjects(records, OidcSettings(oidc_name_claim="nick"))
    row, _ = subjects.admit(claims("s"))
    other = row["hash"].replace(row["id"][:4], "0000", 1)
    assert records.change(TOKENS, row["id"], hash=other)
    with pytest.raises(Problem, match="forbidden") as refused:
        subjects.admit(claims("s"))
    assert refused.value.detail == "your subject cannot be told from another's here"
    assert records.get(TOKENS, id=row["id"])["hash"] == other  # type: ignore[index]
