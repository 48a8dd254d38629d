"""One provider for each test file, and a server in this process that believes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.server import Settings, create_app
from holdfast.server.auth.oidc.provider import KEPT_SECONDS
from holdfast.server.http import Failures
from tests.server.live import Live, running
from tests.server.oidc.provider import CLIENT, SECRET, OpenID, openid
from tests.services.ports import free_port


class Clock:
    """A clock that a test sets forward."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Inside:
    """A server in this process: its provider's clock is ours."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.app = create_app(Settings(folder=folder, rate=1e6, burst=10**6, failures=10**6, **settings))
        self.server = self.app.state.server
        self.clock = self.server.oidc.provider._clock = Clock()
        self.client = TestClient(self.app)
        self.steward = self.server.tokens.issue_for("steward", "stew", days=1)

    def get(self, token: str, path: str = "/api/v1/me") -> Any:
        return self.client.get(path, headers={"Authorization": f"Bearer {token}"})

    def refused(self, token: str) -> tuple[int, str]:
        done = self.get(token)
        return done.status_code, done.json()["code"]

    def close(self) -> None:
        self.client.close()
        self.server.close()


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[OpenID]:
    with openid() as found:
        yield found


@pytest.fixture
def provider(shared_provider: OpenID) -> Iterator[OpenID]:
    """The provider, well at the beginning of every test."""
    shared_provider.faults.clear()
    shared_provider.asked.clear()
    first = shared_provider.keys
    yield shared_provider
    shared_provider.faults.clear()
    shared_provider.keys = first


@pytest.fixture(scope="module")
def shared_inside(shared_provider: OpenID, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    server = Inside(
        tmp_path_factory.mktemp("inside"),
        oidc_issuer=shared_provider.url,
        oidc_audience=(CLIENT,),
        oidc_steward_claim="groups",
        oidc_steward_value="stewards",
        oidc_timeout=2.0,
    )
    yield server
    server.close()


@pytest.fixture
def inside(provider: OpenID, shared_inside: Inside) -> Inside:
    """The server, long after it last asked its provider: it knows no key that is not too old."""
    shared_inside.clock.now += 10 * KEPT_SECONDS
    shared_inside.server.failures = Failures(10**6)
    return shared_inside


@pytest.fixture(scope="module")
def signing_in(shared_provider: OpenID, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A real server, in a process of its own, where people sign in with the provider."""
    secret, port = tmp_path_factory.mktemp("secret") / "client-secret", free_port()
    secret.write_text(SECRET + "\n")
    with running(
        port=port,
        public_url=f"http://127.0.0.1:{port}",
        failures=10_000,
        oidc_issuer=shared_provider.url,
        oidc_client_id=CLIENT,
        oidc_client_secret_file=secret,
        oidc_label="Example",
        oidc_scope="openid email",
        oidc_steward_claim="groups",
        oidc_steward_value="stewards",
        oidc_timeout=2.0,
    ) as live:
        yield live
