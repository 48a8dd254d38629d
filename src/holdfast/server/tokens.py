"""Opaque tokens `hf_<id>_<secret>`: shown once, stored as argon2 hashes, expiring, revocable at once.

A token's row is read at every request, so that a revoked or expired token ends with the next one, whichever worker
meets it. What is remembered is only that a secret was right: its HMAC under a key that this process made.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.server.errors import Problem, retry_after
from holdfast.server.records import Records, now
from holdfast.server.roles import ROLES, Caller, Role
from holdfast.server.tables import TOKENS

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
            raise InvalidParameter(f"expires must be a time to come, at most {MOST_DAYS} days from now")
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
        """A token that lives for some days."""
        return self.issue(role, name, datetime.now(UTC) + timedelta(days=days))[0]

    def list(self) -> list[dict[str, Any]]:
        """The public facts of every token, the revoked and expired included."""
        return [public(row) for row in self._records.all(TOKENS)]

    def get(self, identity: str) -> dict[str, Any] | None:
        """The public facts of one."""
        row = self._records.get(TOKENS, id=identity)
        return None if row is None else public(row)

    def revoke(self, identity: str) -> dict[str, Any] | None:
        """End a token now; None if there is none. Revoking it again changes nothing."""
        row = self._records.get(TOKENS, id=identity) if _IDENTITY.fullmatch(identity) else None
        if row is None:
            return None
        if row["revoked"] is None:
            self._records.change(TOKENS, identity, revoked=now())
            with self._mutex:
                self._right.pop(identity, None)
        return self.get(identity)

    def restore(self, identity: str) -> bool:
        """Let a subject of the identity provider in again who was blocked; False where there is none.

        Its sessions from before stay ended: what seals them is made anew.
        """
        row = self._records.get(TOKENS, id=identity) if _IDENTITY.fullmatch(identity) else None
        if row is None or not row["hash"].startswith(FOREIGN):
            return False
        if row["revoked"] is not None:
            whose = row["hash"].rpartition("$")[0]
            self._records.change(TOKENS, identity, revoked=None, hash=foreign_hash(whose))
        return True

    def has_steward(self) -> bool:
        """Whether somebody holds a steward's token that is still good."""
        return any(
            row["revoked"] is None and row["expires"] > now() and not row["hash"].startswith(FOREIGN)
            for row in self._records.all(TOKENS, role="steward")
        )

    def verify(self, text: str, wait: float = 0.0) -> Caller:
        """Whose token this is; `Problem` if it is nobody's, or no longer.

        A secret that this process has not seen takes some 20 ms. While `wait` is positive, which are the seconds that
        an address of wrong tokens has to wait, only secrets that are known to be right are let in.
        """
        found = TOKEN.fullmatch(text)
        row = None if found is None else self._records.get(TOKENS, id=found[1])
        if found is None or row is None or not self._is_right(found[1], found[2], row["hash"], wait):
            raise Problem("unauthenticated", "this token is not known here")
        return self._caller(row)

    def recognise(self, texts: Sequence[str]) -> Sequence[Caller | Exception | None]:
        """Whose tokens these are, as `verify` says, by one query for all; None where a secret must be hashed first."""
        found = [TOKEN.fullmatch(text) for text in texts]
        rows = {row["id"]: row for row in self._records.some(TOKENS, {one[1] for one in found if one is not None})}
        return [None if one is None else self._recognised(one[2], rows.get(one[1])) for one in found]

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
            for kept in (self._right, self._wrong):
                while len(kept) > _REMEMBERED:
                    kept.popitem(last=False)
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
    """What may be shown of a token: never its hash."""
    plain = {name: row[name] for name in ("id", "role", "name", "created", "expires", "revoked")}
    return plain | {"guards": None if row["guards"] is None else json.loads(row["guards"])}


__all__ = ["ALWAYS", "FOREIGN", "TOKEN", "Tokens", "foreign_hash", "public"]
