"""Settings of the OpenID Connect extra: `HOLDFAST_SERVER_OIDC_...`. One that would do nothing is refused."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures that may be allowed. All have a public key that checks and a private one that signs: a token signed with
a text that we know (`HS256`) or not at all (`none`) is nobody's."""

PREFIX = "oidc:"
"""What names of subjects begin with. Local names have no colon, so that neither sort can pass for the other."""
LOGIN_SECONDS = 600
"""How long somebody may take at the provider."""
_OF_LOGIN = ("oidc_client_secret_file", "oidc_label", "oidc_scope")


class OidcSettings(BaseSettings):
    """Which issuer is believed, what a token must say, and who becomes what."""

    model_config = SettingsConfigDict(env_prefix="HOLDFAST_SERVER_", frozen=True)

    oidc_issuer: str | None = Field(default=None, description="The issuer, exactly as its tokens name it in `iss`")
    oidc_audience: tuple[str, ...] = Field(
        default=(), description="What `aud` of a token for the API must name, one of these; by default the client id"
    )
    oidc_client_id: str | None = Field(default=None, description="Turns on signing in on the page")
    oidc_client_secret_file: Path | None = Field(
        default=None, description="A file with the client's secret; without one the client is public and has PKCE alone"
    )
    oidc_label: str = Field(
        default="single sign-on", min_length=1, max_length=40, description="What the button says after `Sign in with`"
    )
    oidc_scope: str = Field(default="openid", description="What is asked for at sign-in, blanks between")
    oidc_name_claim: str = Field(
        default="sub", min_length=1, description="The claim that names the analyst; a JSON pointer if it begins with /"
    )
    oidc_steward_claim: str | None = Field(default=None, description="The claim that can make a steward")
    oidc_steward_value: str | None = Field(default=None, description="The value it must have, or have in its list")
    oidc_analyst_claim: str | None = Field(
        default=None, description="The claim that an analyst needs; without it everybody with a token is one"
    )
    oidc_analyst_value: str | None = Field(default=None, description="The value it must have, or have in its list")
    oidc_algorithms: tuple[str, ...] = Field(
        default=("RS256", "PS256", "ES256", "EdDSA", "Ed25519"), min_length=1, description="Signatures that are taken"
    )
    oidc_hosts: tuple[str, ...] = Field(
        default=(), description="Further hosts at which the issuer may keep its keys and its token endpoint"
    )
    oidc_max_seconds: int = Field(
        default=7200, ge=60, le=86_400, description="The longest life, `exp` less `iat`, of a token for the API"
    )
    oidc_leeway: int = Field(default=60, ge=0, le=300, description="Seconds that clocks may differ by")
    oidc_timeout: float = Field(default=5.0, gt=0, le=20, description="Seconds for one request to the issuer")


def check_oidc(settings: OidcSettings, public_url: str | None) -> None:
    """Refuse settings that do not fit together, with a `ValueError`."""
    fields = OidcSettings.model_fields
    if settings.oidc_issuer is None:
        idle = [name for name in fields if getattr(settings, name) != fields[name].get_default()]
        if idle:
            raise ValueError(
                f"{idle[0]} must be left out unless oidc_issuer is given, because it has no effect without it"
            )
        return
    secure_address("oidc_issuer", settings.oidc_issuer)
    if settings.oidc_client_id is None:
        idle = [name for name in _OF_LOGIN if getattr(settings, name) != fields[name].get_default()]
        if idle:
            raise ValueError(
                f"{idle[0]} must be left out unless oidc_client_id is given, because it has no effect without it"
            )
        if not settings.oidc_audience:
            raise ValueError("oidc_issuer must be given together with oidc_audience, with oidc_client_id, or with both")
    elif public_url is None:
        raise ValueError(
            "oidc_client_id must be given together with public_url, the address to which browsers return after a "
            "sign-in"
        )
    else:
        secure_address("public_url", public_url)
    for role in ("steward", "analyst"):
        claim, value = getattr(settings, f"oidc_{role}_claim"), getattr(settings, f"oidc_{role}_value")
        if bool(claim) != bool(value):
            raise ValueError(f"oidc_{role}_claim and oidc_{role}_value must both be given, or neither of them")
    wrong = [name for name in settings.oidc_algorithms if name not in ALGORITHMS]
    if wrong:
        raise ValueError(f"oidc_algorithms must be a list of algorithms out of {', '.join(ALGORITHMS)}")
    if "openid" not in settings.oidc_scope.split():
        raise ValueError("oidc_scope must contain the word openid")


def secure_address(name: str, text: str) -> None:
    """Refuse an address that is not https, unless it is on this machine.

    Examples
    --------
    >>> secure_address("oidc_issuer", "https://login.example.org/realms/main")
    >>> secure_address("oidc_issuer", "http://login.example.org")
    Traceback (most recent call last):
    ...
    ValueError: oidc_issuer must begin with https://, unless it is an address of this machine
    """
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username or parts.query or parts.fragment:
        raise ValueError(f"{name} must be an address such as https://login.example.org")
    if parts.scheme == "http" and not is_local(host):
        raise ValueError(f"{name} must begin with https://, unless it is an address of this machine")


def is_local(host: str) -> bool:
    """Return whether a host is this machine, by its number or as `localhost`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
