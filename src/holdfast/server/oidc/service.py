"""What one worker holds for OpenID Connect: the issuer, its subjects, and signing in where a client id is set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ParamSpec, TypeVar

from holdfast.errors import InvalidParameter
from holdfast.server import logs
from holdfast.server.errors import Problem, retry_after
from holdfast.server.oidc.claims import check_claims, check_life, looks_like_one, signed_claims
from holdfast.server.oidc.login import Login
from holdfast.server.oidc.outbound import Unavailable
from holdfast.server.oidc.provider import Provider
from holdfast.server.oidc.subjects import Subjects
from holdfast.server.records import Records
from holdfast.server.roles import Caller
from holdfast.server.settings import Settings
from holdfast.server.threads import Threads

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
                raise InvalidParameter("oidc_client_id needs a signing key, which seals sign-ins: give `--signing-key`")
            assert settings.public_url is not None
            base = bytes.fromhex(key.sign(_DOMAIN))
            self.login = Login(settings, settings.public_url, self.provider, base)

    @staticmethod
    def takes(text: str) -> bool:
        """Whether a token may be the issuer's; ours have another form."""
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
        """Where a browser goes to sign in, and its cookie."""
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
        """Let go of the connections."""
        self._threads.close()
        self.provider.close()


def _told(error: Unavailable) -> Problem:
    """What a caller is told; why is the log's."""
    logs.say("provider-unavailable", logging.WARNING, why=error.why)
    words = "the identity provider cannot be reached or answers oddly; nobody is let in by it until it is well again"
    return Problem("provider-unavailable", words, headers=retry_after(5))


__all__ = ["Oidc"]
