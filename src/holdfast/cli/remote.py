"""What the commands `ask` and `guard` do with the address of a server in the place of a ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.errors import InvalidParameter


def is_address(where: str) -> bool:
    """Whether this is a server's address.

    Examples
    --------
    >>> is_address("https://holdfast.example.org"), is_address("ledger.db"), is_address("postgresql://host/db")
    (True, False, False)
    """
    return where.lower().startswith(("http://", "https://"))


def ask(
    where: str, guard: str, questions: Sequence[Any], analyst: str, key: str | None, *, estimate: bool
) -> list[Any]:
    """Ask a guard of a server, or estimate; the token comes from HOLDFAST_TOKEN and says who asks."""
    from holdfast.client import connect

    if analyst != "analyst":
        raise InvalidParameter("--analyst must be left out with a server: the token says who asks")
    with connect(where, guard=guard) as connection:
        if estimate:
            return [connection.estimate(one) for one in questions]
        if len(questions) == 1:
            return [connection.ask(questions[0], key=key)]
        return list(connection.ask_all(questions, key=key))


def describe(where: str, guard: str | None) -> list[dict[str, Any]]:
    """What the token may see of one guard of a server, or of all."""
    from holdfast.client import connect

    with connect(where, guard=guard) as connection:
        found = [connection.guard()] if guard is not None else connection.guards()
        return [one.describe() for one in found]


__all__ = ["ask", "describe", "is_address"]
