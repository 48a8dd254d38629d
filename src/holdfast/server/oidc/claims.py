"""Checking a token of the issuer: its signature first, then what it says."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from collections.abc import Collection
from copy import copy
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry

from holdfast.server.errors import Problem
from holdfast.server.oidc.provider import Provider
from holdfast.server.oidc.settings import OidcSettings
from holdfast.server.responses import strict_loads

_MOST = 16 * 1024
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", re.ASCII)
_TYPES = (None, "jwt", "at+jwt", "application/at+jwt", "id_token")


class _Registry(JWSRegistry):
    """Headers as providers write them: some carry certificates and names of their own, which are not looked at."""

    max_header_length = 8192


_Registry.algorithms = dict(JWSRegistry.algorithms)
# Providers still write `EdDSA`, the name from before RFC 9864. It leaves the curve open, which is what the warning is
# about; keys are held to Ed25519 in `provider`.
_Registry.algorithms["EdDSA"] = copy(JWSRegistry.algorithms["EdDSA"])
_Registry.algorithms["EdDSA"].security_warning = None


def looks_like_one(text: str) -> bool:
    """Whether a text has the form of a signed token: three parts with dots between.

    Examples
    --------
    >>> looks_like_one("eyJhbGciOiJub25lIn0.e30."), looks_like_one("hf_00_11")
    (True, False)
    """
    return len(text) <= _MOST and _FORM.fullmatch(text) is not None


def signed_claims(text: str, provider: Provider, settings: OidcSettings) -> dict[str, Any]:
    """What a token says, if a key of the issuer signed it with an allowed algorithm.

    The key is one that the issuer publishes, for the algorithm that the header names; keys and addresses of keys in
    the header are not looked at.
    """
    header = _header(text)
    alg, kid = header.get("alg"), header.get("kid")
    if not isinstance(alg, str) or alg not in settings.oidc_algorithms:
        raise unknown()
    if (kid is not None and not isinstance(kid, str)) or "crit" in header:
        raise unknown()
    kind = header.get("typ")
    if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
        raise unknown()
    key = provider.key(kid, alg)
    if key is None:
        raise unknown()
    try:
        return jwt.decode(text, key, registry=_Registry(algorithms=[alg], strict_check_header=False)).claims
    except (JoseError, ValueError, TypeError, RecursionError):
        raise unknown() from None


def check_claims(
    claims: dict[str, Any], settings: OidcSettings, audience: Collection[str], now: float | None = None
) -> None:
    """Refuse a token that is another issuer's, for somebody else, too early, over, or no way in at all."""
    moment, leeway = time.time() if now is None else now, settings.oidc_leeway
    if claims.get("iss") != settings.oidc_issuer:
        raise refused("another issuer made it")
    if not audiences(claims) & set(audience):
        raise refused("it is for another audience")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255:
        raise refused("it names nobody")
    if "events" in claims or "cnf" in claims:
        raise refused("it is not made to be shown by whoever holds it")
    made, ends = _moment(claims, "iat"), _moment(claims, "exp")
    if made > moment + leeway or ("nbf" in claims and _moment(claims, "nbf") > moment + leeway):
        raise refused("it is not valid yet")
    if ends <= moment - leeway:
        raise Problem("token-expired", "this token has expired; get another from your identity provider")


def check_life(claims: dict[str, Any], settings: OidcSettings) -> None:
    """Refuse a token that lives too long: until it ends, only a block here can stop it."""
    if _moment(claims, "exp") - _moment(claims, "iat") > settings.oidc_max_seconds:
        raise refused(f"it lives longer than {settings.oidc_max_seconds} seconds")


def check_login(claims: dict[str, Any], settings: OidcSettings, nonce: str, begun: float) -> None:
    """Refuse an ID token that does not belong to this sign-in."""
    said = claims.get("nonce")
    if not isinstance(said, str) or not hmac.compare_digest(said.encode(), nonce.encode()):
        raise refused("it belongs to another sign-in")
    if len(audiences(claims)) > 1 and claims.get("azp") is None:
        raise refused("it is for several and does not say whom it was made for")
    if claims.get("azp", settings.oidc_client_id) != settings.oidc_client_id:
        raise refused("it was made for another")
    if _moment(claims, "iat") < begun - settings.oidc_leeway:
        raise refused("it is older than this sign-in")


def audiences(claims: dict[str, Any]) -> set[str]:
    """Whom a token is for."""
    found = claims.get("aud")
    if isinstance(found, str):
        return {found}
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return set(found)
    return set()


def unknown() -> Problem:
    """The refusal of a token that no key of the issuer signed; it says nothing more."""
    return Problem("unauthenticated", "this token is not known here")


def refused(why: str) -> Problem:
    """The refusal of a token that the issuer did sign."""
    return Problem("unauthenticated", f"this token is not taken here: {why}")


def _header(text: str) -> dict[str, Any]:
    if not looks_like_one(text):
        raise unknown()
    first = text.partition(".")[0]
    try:
        found = strict_loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except (binascii.Error, ValueError, Problem):
        raise unknown() from None
    if not isinstance(found, dict):
        raise unknown()
    return found


def _moment(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e12:
        raise refused(f"its {name} is missing or no time")
    return float(value)


__all__ = [
    "audiences",
    "check_claims",
    "check_life",
    "check_login",
    "looks_like_one",
    "refused",
    "signed_claims",
    "unknown",
]
