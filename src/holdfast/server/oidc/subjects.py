"""Who a token of the issuer stands for here: a role from its claims, and a name that no local token can have.

Each subject has a row among the tokens, made at the first visit and read at every request. Nobody holds that token: its
row gives the subject a fixed name, lets stewards see who came, and blocks the subject where it is revoked.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select, text

from holdfast.server.errors import Problem
from holdfast.server.oidc.settings import PREFIX, OidcSettings
from holdfast.server.records import Records, Taken, now
from holdfast.server.roles import Role
from holdfast.server.tables import TOKENS
from holdfast.server.tokens import ALWAYS, FOREIGN, foreign_hash

_NAME = re.compile(r"[A-Za-z0-9À-ÖØ-öø-ʯ][A-Za-z0-9À-ÖØ-öø-ʯ _.@+()|:/=~-]{0,189}")


def role_of(claims: Mapping[str, Any], settings: OidcSettings) -> Role:
    """The role that a token's claims give; `Problem` where they give none.

    Examples
    --------
    >>> settings = OidcSettings(oidc_steward_claim="/realm/roles", oidc_steward_value="stewards")
    >>> role_of({"realm": {"roles": ["staff", "stewards"]}}, settings), role_of({"realm": "stewards"}, settings)
    ('steward', 'analyst')
    """
    if settings.oidc_steward_claim and _has(claims, settings.oidc_steward_claim, settings.oidc_steward_value):
        return "steward"
    if settings.oidc_analyst_claim and not _has(claims, settings.oidc_analyst_claim, settings.oidc_analyst_value):
        raise Problem("forbidden", "your identity provider knows you, but did not give you a role here")
    return "analyst"


def name_of(claims: Mapping[str, Any], settings: OidcSettings) -> str:
    """The analyst's name, from the claim that the settings name.

    Examples
    --------
    >>> name_of({"sub": "248289761001"}, OidcSettings())
    'oidc:248289761001'
    """
    found = claim(claims, settings.oidc_name_claim)
    if settings.oidc_name_claim in ("email", "/email") and claims.get("email_verified") is not True:
        found = None  # else whoever types in another's address there would be the other here
    if not isinstance(found, str) or not _NAME.fullmatch(found) or found != found.strip():
        raise Problem("forbidden", f"your token has no {settings.oidc_name_claim} that can be a name here")
    return PREFIX + found


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or one further inside by a JSON pointer (RFC 6901); None where it is missing.

    Examples
    --------
    >>> claim({"realm": {"roles": ["a"]}, "x/y": 1}, "/realm/roles"), claim({"x/y": 1}, "x/y"), claim({}, "/a")
    (['a'], 1, None)
    """
    if not name.startswith("/"):
        return claims.get(name)
    found: Any = claims
    for part in name[1:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found


class Subjects:
    """The rows of subjects."""

    def __init__(self, records: Records, settings: OidcSettings) -> None:
        self._records, self._settings = records, settings

    def admit(self, claims: Mapping[str, Any], *, signs_in: bool = False) -> tuple[dict[str, Any], Role]:
        """The row of whom a checked token names, and the role that it gives; made at the first visit.

        The name is that of the first visit and stays, so that nobody becomes another, or somebody new with a fresh
        budget, by changing a claim. A name belongs to the subject that had it first.
        """
        role = role_of(claims, self._settings)
        mark = hashlib.sha256(f"{claims['iss']}\n{claims['sub']}".encode()).hexdigest()
        row = self._records.get(TOKENS, id=mark[:16]) or self._make(mark, role, name_of(claims, self._settings))
        if not hmac.compare_digest(row["hash"].rpartition("$")[0], FOREIGN + mark):
            raise Problem("forbidden", "your subject cannot be told from another's here")
        if row["revoked"] is not None:
            raise Problem("token-revoked", "a steward blocked this subject here")
        if signs_in and row["role"] != role:  # a session has the role of its sign-in
            self._records.change(TOKENS, row["id"], role=role)
        return row, role

    def _make(self, mark: str, role: Role, name: str) -> dict[str, Any]:
        values = {"id": mark[:16], "role": role, "name": name, "guards": None, "revoked": None}
        values |= {"hash": foreign_hash(FOREIGN + mark), "created": now(), "expires": ALWAYS}
        try:
            with self._records.writing() as connection:
                if connection.dialect.name == "postgresql":  # SQLite's writers are alone anyway
                    connection.execute(text("LOCK TABLE server_tokens IN SHARE ROW EXCLUSIVE MODE"))
                if connection.execute(select(TOKENS.c.id).filter_by(name=name)).first() is None:
                    connection.execute(insert(TOKENS).values(values))
        except Taken:  # another worker was quicker
            pass
        row = self._records.get(TOKENS, id=mark[:16])
        if row is None:
            raise Problem("forbidden", "another subject of your identity provider has your name here")
        return row


def _has(claims: Mapping[str, Any], name: str, value: str | None) -> bool:
    found = claim(claims, name)
    return isinstance(found, str | list) and (found == value or (isinstance(found, list) and value in found))


__all__ = ["Subjects", "claim", "name_of", "role_of"]
