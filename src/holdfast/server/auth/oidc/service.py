"""What one worker holds for OpenID Connect: the issuer, its subjects, and signing in where a client id is set."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import insert, select, text

from holdfast.errors import InvalidParameter
from holdfast.server import observability
from holdfast.server.auth.oidc.provider import Provider, Unavailable
from holdfast.server.auth.oidc.settings import PREFIX, OidcSettings
from holdfast.server.auth.oidc.sign_in import Login, check_claims, check_life, looks_like_one, signed_claims
from holdfast.server.auth.tokens import ALWAYS, FOREIGN, Caller, Role, foreign_hash
from holdfast.server.http import Problem, retry_after
from holdfast.server.records import TOKENS, Records, Taken, now
from holdfast.server.scheduling import Threads
from holdfast.server.settings import Settings

# --- Subjects ---------------------------------------------------------------------------------------------------------
# Who a token of the issuer stands for here: a role from its claims, and a name that no local token can have.
#
# Each subject has a row among the tokens, made at the first visit and read at every request. Nobody holds that token:
# its row gives the subject a fixed name, lets stewards see who came, and blocks the subject where it is revoked.

_NAME = re.compile(r"[A-Za-z0-9À-ÖØ-öø-ʯ][A-Za-z0-9À-ÖØ-öø-ʯ _.@+()|:/=~-]{0,189}")


def role_of(claims: Mapping[str, Any], settings: OidcSettings) -> Role:
    """Return the role that a token's claims give; `Problem` where they give none.

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
    """Return the analyst's name, from the claim that the settings name.

    Examples
    --------
    >>> name_of({"sub": "248289761001"}, OidcSettings())
    'oidc:248289761001'
    """
    name = claim(claims, settings.oidc_name_claim)
    if settings.oidc_name_claim in ("email", "/email") and claims.get("email_verified") is not True:
        name = None  # else whoever types in another's address there would be the other here
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name != name.strip():
        raise Problem("forbidden", f"your token has no {settings.oidc_name_claim} that can be a name here")
    return PREFIX + name


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or one further inside by a JSON pointer (RFC 6901); None where it is missing.

    Examples
    --------
    >>> claim({"realm": {"roles": ["a"]}, "x/y": 1}, "/realm/roles"), claim({"x/y": 1}, "x/y"), claim({}, "/a")
    (['a'], 1, None)
    """
    if not name.startswith("/"):
        return claims.get(name)
    value: Any = claims
    for part in name[1:].split("/"):
        value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, Mapping) else None
    return value


class Subjects:
    """The rows of subjects."""

    def __init__(self, records: Records, settings: OidcSettings) -> None:
        self._records, self._settings = records, settings

    def admit(self, claims: Mapping[str, Any], *, signs_in: bool = False) -> tuple[dict[str, Any], Role]:
        """Return the row of whom a checked token names, and the role that it gives; made at the first visit.

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
    claimed = claim(claims, name)
    return isinstance(claimed, str | list) and (claimed == value or (isinstance(claimed, list) and value in claimed))


# --- Service ----------------------------------------------------------------------------------------------------------

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4
_DOMAIN = b"holdfast oidc: what seals follow from, version 1"


class Oidc:
    """Checks tokens of the issuer and lets people sign in, on threads of its own: a slow issuer keeps nobody else."""

    def __init__(self, settings: Settings, records: Records, key: Any) -> None:
        self._settings = settings
        self.provider = Provider(settings)
        self.subjects = Subjects(records, settings)
        self._audience = settings.oidc_audience or (str(settings.oidc_client_id),)
        self._threads = Threads(_THREADS, "oidc")
        self.login: Login | None = None
        if settings.oidc_client_id is not None:
            if key is None:
                raise InvalidParameter(
                    "oidc_client_id needs a signing key, with which sign-ins are protected; give `--signing-key`"
                )
            assert settings.public_url is not None
            base = bytes.fromhex(key.sign(_DOMAIN))
            self.login = Login(settings, settings.public_url, self.provider, base)

    @staticmethod
    def takes(text: str) -> bool:
        """Return whether a token may be the issuer's; ours have another form."""
        return looks_like_one(text)

    def verify(self, text: str, wait: float = 0.0) -> Caller:
        """Whose token this is; `Problem` if it is nobody's. A wrong one from an address that has to wait is told so."""
        try:
            claims = signed_claims(text, self.provider, self._settings)
            check_claims(claims, self._settings, self._audience)
            check_life(claims, self._settings)
        except Unavailable as error:
            raise _told(error) from None
        except Problem as problem:
            if wait > 0 and problem.code == "unauthenticated":
                words = "too many wrong tokens from this address"
                raise Problem("rate-limited", words, headers=retry_after(wait)) from None
            raise
        row, role = self.subjects.admit(claims)
        ends = datetime.fromtimestamp(claims["exp"], UTC).isoformat()
        return Caller(row["id"], role, row["name"], None, ends)

    def begin(self, address: str) -> tuple[str, str]:
        """Return where a browser goes to sign in, and its cookie."""
        assert self.login is not None
        try:
            return self.login.begin(address)
        except Unavailable as error:
            raise _told(error) from None

    def finish(self, cookie: str | None, query: Mapping[str, str]) -> tuple[str, str]:
        """The id of the subject that came back, whom a session may be begun for, and the page that they wanted."""
        assert self.login is not None
        try:
            claims, address = self.login.finish(cookie, query)
        except Unavailable as error:
            raise _told(error) from None
        row, _ = self.subjects.admit(claims, signs_in=True)
        return str(row["id"]), address

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call one of these, which may wait for the issuer."""
        return await self._threads.run(function, *args, **kwargs)

    def close(self) -> None:
        """Close the connections."""
        self._threads.close()
        self.provider.close()


def _told(error: Unavailable) -> Problem:
    """What a caller is told; why is the log's."""
    observability.say("provider-unavailable", logging.WARNING, why=error.why)
    words = "the identity provider cannot be reached or answers oddly; nobody is let in by it until it is well again"
    return Problem("provider-unavailable", words, headers=retry_after(5))
