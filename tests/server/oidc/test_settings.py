"""Settings that do not fit together are refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.ledger import open_store
from holdfast.server import Settings, create_app
from holdfast.server.auth.oidc.provider import Provider, published
from holdfast.server.auth.oidc.service import Oidc
from holdfast.server.auth.oidc.settings import OidcSettings
from holdfast.server.auth.oidc.sign_in import Flow, signed_claims
from holdfast.server.http import Problem
from holdfast.server.records import Records
from holdfast.server.running import to_environment

RIGHT = {"oidc_issuer": "https://login.example.org/x", "oidc_audience": ("holdfast",)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"oidc_audience": ("x",)}, "must be left out unless oidc_issuer is given, because it has no effect"),
        ({"oidc_max_seconds": 100}, "must be left out unless oidc_issuer is given, because it has no effect"),
        ({"oidc_issuer": "https://login.example.org"}, "oidc_issuer must be given together with oidc_audience, with"),
        (RIGHT | {"oidc_issuer": "http://login.example.org"}, "https"),
        (RIGHT | {"oidc_issuer": "ftp://login.example.org"}, "address"),
        (RIGHT | {"oidc_issuer": "https://user@login.example.org"}, "address"),
        (RIGHT | {"oidc_issuer": "https://login.example.org?x=1"}, "address"),
        (RIGHT | {"oidc_issuer": "https://login.example.org:port"}, "address"),
        (RIGHT | {"oidc_label": "Us"}, "must be left out unless oidc_client_id is given, because it has no"),
        (RIGHT | {"oidc_client_id": "c"}, "public_url"),
        (RIGHT | {"oidc_client_id": "c", "public_url": "http://holdfast.example.org"}, "https"),
        (RIGHT | {"oidc_steward_claim": "groups"}, "must both be given, or neither"),
        (RIGHT | {"oidc_analyst_value": "x"}, "must both be given, or neither"),
        (RIGHT | {"oidc_algorithms": ("HS256",)}, "oidc_algorithms"),
        (RIGHT | {"oidc_algorithms": ("none",)}, "oidc_algorithms"),
        (RIGHT | {"oidc_algorithms": ()}, "oidc_algorithms"),
        (RIGHT | {"oidc_client_id": "c", "public_url": "https://h.example", "oidc_scope": "email"}, "openid"),
    ],
)
def test_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Settings(**given)


def test_workers_read_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(
        **RIGHT, oidc_client_id="c", public_url="https://holdfast.example.org", oidc_scope="openid email"
    )
    for name, value in to_environment(settings).items():
        monkeypatch.setenv(name, value)
    assert Settings() == settings


def test_a_secret_that_cannot_be_read_ends_the_start(tmp_path: Path) -> None:
    given = RIGHT | {"oidc_client_id": "c", "public_url": "https://holdfast.example.org", "folder": tmp_path}
    for content in (None, " \n"):
        if content is not None:
            (tmp_path / "secret").write_text(content)
        with pytest.raises(HoldfastError, match="oidc_client_secret_file"):
            create_app(Settings(**given, oidc_client_secret_file=tmp_path / "secret"))


def test_signing_in_needs_a_key_of_ours(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "ledger.db")) as store:
        settings = Settings(**RIGHT, oidc_client_id="c", public_url="https://holdfast.example.org", folder=tmp_path)
        with pytest.raises(
            InvalidParameter, match="oidc_client_id needs a signing key, with which sign-ins are protected"
        ):
            Oidc(settings, Records.of_store(store), None)


def test_a_sign_in_shows_none_of_its_secrets() -> None:
    flow = Flow("the state", "the nonce", "the verifier", "/page", 0)
    assert repr(flow) == str(flow) == "Flow(...)"


@pytest.mark.parametrize(
    "key",
    [
        None,
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256"},
        {"kty": "RSA", "n": "!" * 400, "e": "AQAB"},
        {"kty": "RSA", "n": "A" * 400, "e": 3},
        {"kty": "RSA", "n": "sXch" * 100},
        {"kty": "RSA", "n": "sXch" * 100, "e": "AQAB", "d": "AQAB"},
    ],
)
def test_a_key_that_is_damaged_or_secret_checks_no_signature(key: Any) -> None:
    assert published(key) is None


@pytest.mark.parametrize("text", ["", "hf_00_11", "a.b", "a.b.c.d", "a.b.c\n", "é.é.é"])
def test_what_has_not_the_form_of_a_token_is_nobodys(text: str) -> None:
    settings = OidcSettings(**RIGHT)
    with pytest.raises(Problem, match="unauthenticated") as refused:
        signed_claims(text, Provider(settings), settings)
    assert refused.value.detail == "this token is not known here"
