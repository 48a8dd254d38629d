"""Invitations: a link with which people sign up to one guard by themselves, and with which a team lets its mates in.

A host's invitation lets so many participants in, each under a name of their own that nobody has yet. A participant's
invitation lets team mates in under the participant's name: a team is several people with tokens of one name, who share
its submissions, its quota and its choices. The text `hi_<id>_<secret>` is shown once; a digest of its 256 random bits
is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert, select, update

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.guard.state import GuardState
from holdfast.server.auth.oidc.settings import PREFIX
from holdfast.server.auth.tokens import MOST_DAYS, Caller, Tokens
from holdfast.server.guards import Guards
from holdfast.server.http import Problem
from holdfast.server.records import GUARDS, INVITATIONS, PARTICIPANTS, TOKENS, Records, Taken, now

TEXT = re.compile(r"hi_([0-9a-f]{16})_([0-9a-f]{64})", re.ASCII)
"""What an invitation looks like."""
MOST_PLACES = 100_000
TEAM_PLACES = 9
"""How many mates an invitation lets into a team, if its maker does not say."""
DAYS = 30.0
"""How long an invitation is good, if its maker does not say."""
_IDENTITY = re.compile(r"[0-9a-f]{16}", re.ASCII)


class Invitations:
    """Makes, lists and ends invitations, and lets people in by them."""

    def __init__(self, records: Records, tokens: Tokens, guards: Guards) -> None:
        self._records, self._tokens, self._guards = records, tokens, guards

    def invite(
        self, guard: str, caller: Caller, places: int | None = None, days: float = DAYS, team: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Make an invitation: its text, which is nowhere else, and its public facts.

        A steward of the guard invites new participants, or with `team` mates of one. A participant invites mates.
        """
        self._guards.ledger(guard, caller)
        if not caller.stewards(guard):
            if team not in (None, caller.name):
                raise Problem("forbidden", "a participant may let others into the own team only")
            team = caller.name
        several = TEAM_PLACES if places is None and team is not None else 1 if places is None else places
        several = arguments.whole("places", several, at_least=1, at_most=MOST_PLACES)
        days = arguments.real("days", days, above=0, at_most=MOST_DAYS)
        identity, secret = secrets.token_hex(8), secrets.token_hex(32)
        values = {
            "id": identity,
            "guard": guard,
            "name": team,
            "digest": hashlib.sha256(secret.encode()).hexdigest(),
            "places": several,
            "used": 0,
            "inviter": caller.name,
            "created": now(),
            "expires": (datetime.now(UTC) + timedelta(days=days)).isoformat(),
            "revoked": None,
        }
        self._records.add(INVITATIONS, **values)
        return f"hi_{identity}_{secret}", public(values)

    def listed(self, guard: str, caller: Caller) -> list[dict[str, Any]]:
        """The public facts of a guard's invitations: all for its steward, those of the own team for a participant."""
        self._guards.ledger(guard, caller)
        invitations = [public(row) for row in self._records.all(INVITATIONS, guard=guard)]
        return [invitation for invitation in invitations if caller.stewards(guard) or invitation["team"] == caller.name]

    def participants(self, guard: str) -> list[dict[str, Any]]:
        """Who signed up to a guard by an invitation, and when."""
        return [
            {name: row[name] for name in ("name", "created")} for row in self._records.all(PARTICIPANTS, guard=guard)
        ]

    def revoke(self, identity: str, caller: Caller) -> dict[str, Any] | None:
        """End an invitation now; None where there is none that is the caller's to end. Who joined by it stays."""
        row = self._records.get(INVITATIONS, id=identity) if _IDENTITY.fullmatch(identity) else None
        if row is None or not (caller.stewards(row["guard"]) or self._is_own(row, caller)):
            return None
        if row["revoked"] is None:
            self._records.change(INVITATIONS, identity, revoked=now())
        return public(self._records.get(INVITATIONS, id=identity) or row)

    def _is_own(self, row: Mapping[str, Any], caller: Caller) -> bool:
        return row["name"] == caller.name and caller.reaches(self._guards.first(row["guard"]))

    def look(self, text: str) -> dict[str, Any]:
        """What an invitation is to: its guard's name and, for a team, whose; `Problem` for one that is not good."""
        row = self._good(text)
        return {"guard": row["guard"], "guard_name": self._guards.row(row["guard"])["name"], "team": row["name"]}

    def join(self, text: str, name: str | None, days: float) -> tuple[str, str, str]:
        """Let somebody in: the text of their token, their name, and the guard.

        A name that somebody has at this guard is refused, and one that looks like it, so that nobody takes part as
        another. Blanks around a name are left out. Nothing is used up by what is refused.
        """
        row = self._good(text)
        guard, team = row["guard"], row["name"]
        whose = team if team is not None else (name or "").strip()
        if not whose:
            raise InvalidParameter("name must be given: the leaderboard shows your submissions under it")
        if team is None:
            self._require_free(guard, whose)
        try:
            with self._records.writing() as connection:
                taken = update(INVITATIONS).where(
                    INVITATIONS.c.id == row["id"],
                    INVITATIONS.c.used < INVITATIONS.c.places,
                    INVITATIONS.c.revoked.is_(None),
                )
                if not connection.execute(taken.values(used=INVITATIONS.c.used + 1)).rowcount:
                    raise _used_up()
                if team is None:
                    # One after the other at a guard: look-alikes that come at once would not see each other.
                    connection.execute(select(GUARDS.c.id).where(GUARDS.c.id == guard).with_for_update())
                    known = connection.scalars(select(PARTICIPANTS.c.name).where(PARTICIPANTS.c.guard == guard))
                    if any(_looks(whose) == _looks(other) for other in known):  # another place was taken just now
                        raise Taken
                    values = {"id": secrets.token_hex(8), "guard": guard, "name": whose, "created": now()}
                    connection.execute(insert(PARTICIPANTS).values(values))
        except Taken:
            raise _taken(whose) from None
        expires = datetime.now(UTC) + timedelta(days=days)
        return self._tokens.issue("analyst", whose, expires, [guard])[0], whose, guard

    def _good(self, text: str) -> Mapping[str, Any]:
        link = TEXT.search(text)
        row = None if link is None else self._records.get(INVITATIONS, id=link[1])
        digest = b"" if link is None else hashlib.sha256(link[2].encode()).hexdigest().encode()
        if row is None or not hmac.compare_digest(row["digest"].encode(), digest):
            raise Problem("unauthenticated", "this invitation is not known here; copy the whole link")
        if row["revoked"] is not None:
            raise Problem("token-revoked", "this invitation was ended; ask who sent it for another")
        if row["expires"] <= now():
            raise Problem("token-expired", f"this invitation ended at {row['expires']}; ask who sent it for another")
        if row["used"] >= row["places"]:
            raise _used_up()
        return row

    def _require_free(self, guard: str, name: str) -> None:
        """Refuse a name that somebody has here, or that the guard's policy does not know."""
        policy = self._guards.chain(guard).look(GuardState.of).policy
        if name.startswith(PREFIX):
            raise InvalidParameter(
                f"name must not begin with {PREFIX}, because such names are kept for people who sign in with an "
                "identity provider"
            )
        if policy.analysts is not None and name not in policy.analysts:
            raise Problem("forbidden", "this guard names its analysts, and this is none of them; ask its steward")
        for row in self._records.all(TOKENS):
            if _looks(row["name"]) == _looks(name) and (row["guards"] is None or guard in json.loads(row["guards"])):
                raise _taken(name)


def _looks(name: str) -> str:
    """What a name looks like, by which people are told apart: without case, width, ligatures and outer blanks.

    Examples
    --------
    >>> _looks(" Ann ") == _looks("ann") == _looks("\uff21NN"), _looks("ann") == _looks("anna")
    (True, False)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


def _taken(name: str) -> Problem:
    return Problem(
        "name-taken", f"somebody is called {name!r} here already; take another name, or ask your team for its own link"
    )


def _used_up() -> Problem:
    return Problem("forbidden", "all places of this invitation are taken; ask who sent it for another")


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of an invitation: never its digest."""
    plain = {name: row[name] for name in ("id", "guard", "places", "used", "inviter", "created", "expires", "revoked")}
    return plain | {"team": row["name"]}
