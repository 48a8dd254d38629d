"""Who may do what: two roles, which guards a token reaches, and the opaque tokens themselves."""

from __future__ import annotations

import hmac
import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Depends, Request

from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.server.http import Problem, retry_after
from holdfast.server.records import TOKENS, Records, now

# --- Roles ------------------------------------------------------------------------------------------------------------
# Who may do what: two roles, and which guards a token reaches.

Role = Literal["steward", "analyst"]
ROLES: tuple[Role, ...] = ("steward", "analyst")


@dataclass(frozen=True)
class Caller:
    """Whoever sent a request, as its token says.

    Attributes
    ----------
    token : str
        The public id of the token.
    role : str
        "steward": registers samples, makes guards and tokens, sees every ledger. "analyst": asks.
    name : str
        The analyst's name in policies and ledgers.
    guards : frozenset of str or None
        The only guards that the token reaches; None for all that its name may ask.
    expires : str
        When it ends.
    """

    token: str
    role: Role
    name: str
    guards: frozenset[str] | None = None
    expires: str = ""

    @property
    def steward(self) -> bool:
        """Whether the role is the steward's."""
        return self.role == "steward"

    def reaches(self, guard: str, policy: Policy | None = None) -> bool:
        """Return whether a guard is there for this caller. What is not reached is not found.

        A token that names guards reaches those alone. A steward needs no place in a policy.

        Examples
        --------
        >>> ann = Caller("1", "analyst", "ann", frozenset({"g_1"}))
        >>> ann.reaches("g_1"), ann.reaches("g_2"), ann.reaches("g_1", Policy(analysts={"bob": 1.0}))
        (True, False, False)
        >>> sue = Caller("2", "steward", "sue", frozenset({"g_1"}))
        >>> sue.reaches("g_1", Policy(analysts={"bob": 1.0})), sue.reaches("g_2")
        (True, False)
        """
        if self.guards is not None and guard not in self.guards:
            return False
        return self.steward or policy is None or policy.analysts is None or self.name in policy.analysts

    def stewards(self, guard: str | None) -> bool:
        """Return whether the caller may decide for a guard: a steward whose token names no guards, or names this one.

        Examples
        --------
        >>> sue = Caller("1", "steward", "sue", frozenset({"g_1"}))
        >>> sue.stewards("g_1"), sue.stewards("g_2"), Caller("2", "steward", "sam").stewards("g_2")
        (True, False, True)
        """
        return self.steward and (self.guards is None or guard in self.guards)

    def manages(self, guards: Iterable[str] | None) -> bool:
        """Whether the caller may make or end a token that names these guards, or none: only one of no wider reach.

        Examples
        --------
        >>> sue = Caller("1", "steward", "sue", frozenset({"g_1"}))
        >>> sue.manages(["g_1"]), sue.manages(["g_1", "g_2"]), sue.manages(None)
        (True, False, False)
        """
        return self.steward and (self.guards is None or (guards is not None and set(guards) <= self.guards))

    def require_manages(self, guards: Iterable[str] | None) -> None:
        """Refuse a token that would reach further than the caller's."""
        if not self.manages(guards):
            raise Problem("forbidden", "this token names guards, and may make tokens for some of these guards only")

    def sees(self, analyst: str | None) -> bool:
        """Return whether what this analyst asked, and was answered, is shown to the caller: a steward sees everybody's.

        Examples
        --------
        >>> Caller("1", "analyst", "ann").sees("ann"), Caller("1", "analyst", "ann").sees("bob")
        (True, False)
        """
        return self.steward or analyst == self.name


def caller_of(request: Request) -> Caller:
    """Whoever sent the request; the middleware has checked the token before anything else was read."""
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, Caller):
        raise Problem("unauthenticated", "send a token as `Authorization: Bearer hf_...`")
    return caller


async def _anyone(request: Request) -> Caller:
    return caller_of(request)


async def _steward(request: Request) -> Caller:
    caller = caller_of(request)
    if not caller.steward:
        raise Problem("forbidden", "this takes a steward's token")
    return caller


Anyone = Annotated[Caller, Depends(_anyone)]
"""A route that every valid token may call."""
Steward = Annotated[Caller, Depends(_steward)]
"""A route for stewards only."""


# --- Tokens -----------------------------------------------------------------------------------------------------------
# Opaque tokens `hf_<id>_<secret>`: shown once, stored as argon2 hashes, expiring, revocable at once.
#
# A token's row is read at every request, so that a revoked or expired token ends with the next one, whichever worker
# meets it. What is remembered is only that a secret was right: its HMAC under a key that this process made.

TOKEN = re.compile(r"hf_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
"""What a token looks like."""

FOREIGN = "oidc$"
"""How the stored hash of a row begins that belongs to a subject of an identity provider: no text fits it."""
ALWAYS = "9999-12-31T00:00:00+00:00"
"""When such a row ends: its sessions and its tokens end by themselves."""

_IDENTITY = re.compile(r"[0-9a-f]{16}", re.ASCII)
MOST_DAYS = 3650
"""How long a token lives at most."""
_REMEMBERED = 4096
# The secret has 256 random bits, so that guessing is hopeless at any price of a hash; these are the costs that are
# advised for passwords all the same, and a verified secret is remembered.
_TIME, _MEMORY_KIB, _LANES = 2, 19 * 1024, 1


class Tokens:
    """Makes, checks and revokes tokens."""

    def __init__(self, records: Records) -> None:
        from argon2 import PasswordHasher

        self._records = records
        self._hasher = PasswordHasher(time_cost=_TIME, memory_cost=_MEMORY_KIB, parallelism=_LANES)
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[str, bytes] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        self._mutex = threading.Lock()

    def issue(
        self, role: Role, name: str, expires: datetime, guards: Sequence[str] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Make a token: its text, which is nowhere else and never shown again, and its public facts."""
        if role not in ROLES:
            raise InvalidParameter(f"role must be one of {', '.join(ROLES)}")
        moment = datetime.now(UTC)
        if not timedelta(0) < expires - moment <= timedelta(days=MOST_DAYS):
            raise InvalidParameter(f"expires must be a time in the future, at most {MOST_DAYS} days from now")
        identity, secret = secrets.token_hex(8), secrets.token_hex(32)
        values = {
            "id": identity,
            "role": role,
            "name": name,
            "guards": None if guards is None else json.dumps(sorted(set(guards))),
            "created": now(),
            "expires": expires.astimezone(UTC).isoformat(),
            "revoked": None,
        }
        self._records.add(TOKENS, **values, hash=self._hasher.hash(secret))
        return f"hf_{identity}_{secret}", public(values)

    def issue_for(self, role: Role, name: str, days: float) -> str:
        """Return a token that lives for some days."""
        return self.issue(role, name, datetime.now(UTC) + timedelta(days=days))[0]

    def list(self, caller: Caller | None = None) -> list[dict[str, Any]]:
        """Return the public facts of every token that the caller manages, the revoked and expired included."""
        tokens = [public(row) for row in self._records.all(TOKENS)]
        return [token for token in tokens if caller is None or caller.manages(token["guards"])]

    def get(self, identity: str) -> dict[str, Any] | None:
        """Return the public facts of one."""
        row = self._records.get(TOKENS, id=identity)
        return None if row is None else public(row)

    def revoke(self, identity: str, caller: Caller | None = None) -> dict[str, Any] | None:
        """End a token now; None if there is none that the caller manages. Revoking it again changes nothing."""
        row = self._managed(identity, caller)
        if row is None:
            return None
        if row["revoked"] is None:
            self._records.change(TOKENS, identity, revoked=now())
            with self._mutex:
                self._right.pop(identity, None)
        return self.get(identity)

    def _managed(self, identity: str, caller: Caller | None) -> Mapping[str, Any] | None:
        row = self._records.get(TOKENS, id=identity) if _IDENTITY.fullmatch(identity) else None
        return row if row is None or caller is None or caller.manages(public(row)["guards"]) else None

    def restore(self, identity: str, caller: Caller | None = None) -> bool:
        """Let a subject of the identity provider in again who was blocked; False where there is none.

        Its sessions from before stay ended: what seals them is made anew.
        """
        row = self._managed(identity, caller)
        if row is None or not row["hash"].startswith(FOREIGN):
            return False
        if row["revoked"] is not None:
            whose = row["hash"].rpartition("$")[0]
            self._records.change(TOKENS, identity, revoked=None, hash=foreign_hash(whose))
        return True

    def has_steward(self) -> bool:
        """Return whether somebody holds a steward's token that is still good."""
        return any(
            row["revoked"] is None and row["expires"] > now() and not row["hash"].startswith(FOREIGN)
            for row in self._records.all(TOKENS, role="steward")
        )

    def verify(self, text: str, wait: float = 0.0) -> Caller:
        """Whose token this is; `Problem` if it is nobody's, or no longer.

        A secret that this process has not seen takes some 20 ms. While `wait` is positive, which are the seconds that
        an address of wrong tokens has to wait, only secrets that are known to be right are let in.
        """
        parts = TOKEN.fullmatch(text)
        row = None if parts is None else self._records.get(TOKENS, id=parts[1])
        if parts is None or row is None or not self._is_right(parts[1], parts[2], row["hash"], wait):
            raise Problem("unauthenticated", "this token is not known here")
        return self._caller(row)

    def recognise(self, texts: Sequence[str]) -> Sequence[Caller | Exception | None]:
        """Whose tokens these are, as `verify` says, by one query for all; None where a secret must be hashed first."""
        parsed = [TOKEN.fullmatch(text) for text in texts]
        rows = {
            row["id"]: row for row in self._records.some(TOKENS, {parts[1] for parts in parsed if parts is not None})
        }
        return [None if parts is None else self._recognised(parts[2], rows.get(parts[1])) for parts in parsed]

    def _recognised(self, secret: str, row: Mapping[str, Any] | None) -> Caller | Exception | None:
        if row is None:
            return None
        with self._mutex:
            if not hmac.compare_digest(self._right.get(row["id"], b""), self._digest(row["id"], secret, row["hash"])):
                return None
        try:
            return self._caller(row)
        except Problem as problem:
            return problem

    def _caller(self, row: Mapping[str, Any]) -> Caller:
        if row["revoked"] is not None:
            raise Problem("token-revoked", "this token was revoked; ask a steward for another")
        if row["expires"] <= now():
            raise Problem("token-expired", f"this token expired at {row['expires']}; ask a steward for another")
        guards = None if row["guards"] is None else frozenset(json.loads(row["guards"]))
        return Caller(row["id"], row["role"], row["name"], guards, row["expires"])

    def _is_right(self, identity: str, secret: str, stored: str, wait: float) -> bool:
        digest = self._digest(identity, secret, stored)
        with self._mutex:
            if hmac.compare_digest(self._right.get(identity, b""), digest):
                return True
            if digest in self._wrong:
                return False
        if wait > 0:
            raise Problem("rate-limited", "too many wrong tokens from this address", headers=retry_after(wait))
        right = self._argon2(stored, secret)
        with self._mutex:
            if right:
                self._right[identity] = digest
            else:
                self._wrong[digest] = None
            for digests in (self._right, self._wrong):
                while len(digests) > _REMEMBERED:
                    digests.popitem(last=False)
        return right

    def _digest(self, identity: str, secret: str, stored: str) -> bytes:
        return hmac.digest(self._key, f"{identity} {secret} {stored}".encode(), "sha256")

    def _argon2(self, stored: str, secret: str) -> bool:
        from argon2.exceptions import Argon2Error, InvalidHashError

        try:
            return self._hasher.verify(stored, secret)
        except (Argon2Error, InvalidHashError):
            return False


def foreign_hash(whose: str) -> str:
    """What stands in the place of a hash in a subject's row: whose it is, and a secret that seals its sessions."""
    return f"{whose}${secrets.token_hex(32)}"


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be shown of a token: never its hash."""
    plain = {name: row[name] for name in ("id", "role", "name", "created", "expires", "revoked")}
    return plain | {"guards": None if row["guards"] is None else json.loads(row["guards"])}
