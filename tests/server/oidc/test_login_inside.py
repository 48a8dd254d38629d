"""Signing in where the provider is away or no longer believed, and where somebody tries too often."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.server import Settings, create_app
from holdfast.server.auth.oidc.sign_in import CALLBACK
from holdfast.server.auth.session import Sessions
from holdfast.server.http import Problem
from tests.server.oidc.provider import CLIENT, OpenID

START = "/sign-in/oidc"


@pytest.fixture
def client(provider: OpenID, tmp_path: Path) -> Iterator[TestClient]:
    """A server in this process that lets an address fail once a minute; to the provider it has no secret."""
    settings = Settings(
        folder=tmp_path / "server",
        public_url="http://127.0.0.1:8321",
        failures=1,
        oidc_issuer=provider.url,
        oidc_client_id=CLIENT,
        oidc_timeout=2.0,
    )
    app = create_app(settings)
    # Not entered: the server stays ours, and ends with the test.
    visitor = TestClient(app, base_url="http://127.0.0.1:8321", follow_redirects=False)
    yield visitor
    visitor.close()
    app.state.server.close()


@pytest.fixture
def server(client: TestClient) -> Any:
    return client.app.state.server  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", [{"down": True}, {"document": {"authorization_endpoint": None}}], ids=str)
def test_nobody_is_sent_to_a_provider_that_says_not_where(
    client: TestClient, provider: OpenID, fault: dict[str, Any]
) -> None:
    provider.faults |= fault
    done = client.get(START)
    assert done.status_code == 503
    assert "set-cookie" not in done.headers
    assert "location" not in done.headers
    assert "the identity provider cannot be reached or answers oddly" in done.text.lower()


def test_an_address_that_failed_too_often_has_to_wait(client: TestClient) -> None:
    statuses = [client.get(CALLBACK, params={"state": "x", "code": "y"}).status_code for _ in range(3)]
    assert statuses == [403, 403, 429]
    done = client.get(CALLBACK, params={"state": "x", "code": "y"})
    assert "too many sign-ins from this address failed" in done.text.lower()
    assert int(done.headers["retry-after"]) >= 1


def test_a_session_ends_where_the_provider_is_no_longer_believed(server: Any) -> None:
    claims = {"iss": server.settings.oidc_issuer, "sub": "u-1", "exp": time.time() + 600}
    row, _ = server.oidc.subjects.admit(claims, signs_in=True)
    sessions = Sessions(server)
    cookie = sessions.begin_for(row["id"])
    found = sessions.read(cookie)
    assert found is not None
    assert found.caller.name == row["name"]
    believed, server.oidc = server.oidc, None
    assert sessions.read(cookie) is None
    server.oidc = believed
    assert sessions.read(cookie) is not None


def test_a_sign_in_is_used_once_and_old_ones_are_forgotten_first(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.server.auth.oidc.sign_in._KEPT", 2)
    login = server.oidc.login
    for state in ("first", "second"):
        login._use(state)
        with pytest.raises(Problem, match="forbidden"):
            login._use(state)
    login._use("third")
    assert list(login._used) == ["second", "third"]
