"""Who may do what: two roles, and which guards a token reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Request

from holdfast.guard.policy import Policy
from holdfast.server.errors import Problem

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
        """Whether a guard is there for this caller. A steward reaches all; what is not reached is not found.

        Examples
        --------
        >>> ann = Caller("1", "analyst", "ann", frozenset({"g_1"}))
        >>> ann.reaches("g_1"), ann.reaches("g_2"), ann.reaches("g_1", Policy(analysts={"bob": 1.0}))
        (True, False, False)
        """
        if self.steward:
            return True
        if self.guards is not None and guard not in self.guards:
            return False
        return policy is None or policy.analysts is None or self.name in policy.analysts

    def sees(self, analyst: str | None) -> bool:
        """Whether what this analyst asked, and was answered, is shown to the caller: a steward sees everybody's.

        Examples
        --------
        >>> Caller("1", "analyst", "ann").sees("ann"), Caller("1", "analyst", "ann").sees("bob")
        (True, False)
        """
        return self.steward or analyst == self.name


def caller_of(request: Request) -> Caller:
    """Whoever sent the request; the door has checked the token before anything else was read."""
    found = getattr(request.state, "caller", None)
    if not isinstance(found, Caller):
        raise Problem("unauthenticated", "send a token as `Authorization: Bearer hf_...`")
    return found


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

__all__ = ["ROLES", "Anyone", "Caller", "Role", "Steward", "caller_of"]
