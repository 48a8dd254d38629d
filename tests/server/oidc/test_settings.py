"""Settings that do not fit together are refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from holdfast.errors import HoldfastError
from holdfast.server import Settings, create_app
from holdfast.server.running import to_environment

RIGHT = {"oidc_issuer": "https://login.example.org/x", "oidc_audience": ("holdfast",)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"oidc_audience": ("x",)}, "does nothing without oidc_issuer"),
        ({"oidc_max_seconds": 100}, "does nothing without oidc_issuer"),
        ({"oidc_issuer": "https://login.example.org"}, "needs oidc_audience"),
        (RIGHT | {"oidc_issuer": "http://login.example.org"}, "https"),
        (RIGHT | {"oidc_issuer": "ftp://login.example.org"}, "address"),
        (RIGHT | {"oidc_issuer": "https://user@login.example.org"}, "address"),
        (RIGHT | {"oidc_issuer": "https://login.example.org?x=1"}, "address"),
        (RIGHT | {"oidc_issuer": "https://login.example.org:port"}, "address"),
        (RIGHT | {"oidc_label": "Us"}, "does nothing without oidc_client_id"),
        (RIGHT | {"oidc_client_id": "c"}, "public_url"),
        (RIGHT | {"oidc_client_id": "c", "public_url": "http://holdfast.example.org"}, "https"),
        (RIGHT | {"oidc_steward_claim": "groups"}, "go together"),
        (RIGHT | {"oidc_analyst_value": "x"}, "go together"),
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
