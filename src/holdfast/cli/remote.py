"""What commands do with the address of a server in the place of a ledger. The token comes from HOLDFAST_TOKEN."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.client import Connection


def is_address(where: str) -> bool:
    """Whether this is a server's address.

    Examples
    --------
    >>> is_address("https://holdfast.example.org"), is_address("ledger.db"), is_address("postgresql://host/db")
    (True, False, False)
    """
    return where.lower().startswith(("http://", "https://"))


def connected(where: str, guard: str | None = None) -> Connection:
    """A connection that means the guard of that name, or the only one that the token reaches."""
    from holdfast.client import connect

    return connect(where, guard=guard)


def at_server(where: str) -> Connection:
    """A connection to what must be a server."""
    if not is_address(where):
        raise InvalidParameter(f"SERVER must be an address such as https://holdfast.example.org, got {where[:60]!r}")
    return connected(where)


def ask(
    where: str, guard: str, questions: Sequence[Any], analyst: str, key: str | None, *, estimate: bool
) -> list[Any]:
    """Ask a guard of a server, or estimate; the token says who asks."""
    token_says_who(analyst)
    with connected(where, guard) as connection:
        if estimate:
            return [connection.estimate(one) for one in questions]
        if len(questions) == 1:
            return [connection.ask(questions[0], key=key)]
        return list(connection.ask_all(questions, key=key))


def token_says_who(analyst: str) -> None:
    """Refuse a name that was given beside a token."""
    if analyst != "analyst":
        raise InvalidParameter("--analyst must be left out with a server: the token says who asks")


def open_guard(where: str, name: str, file: str, row_key: str | None, policy: Any, allow_overlap: str | None) -> Any:
    """Send a file of rows to a server and put it behind a guard of that name; what may be shown of it."""
    with connected(where) as connection:
        sample = connection.upload_sample(name, file, row_key=row_key)
        try:
            return connection.create_guard(name, sample["id"], policy, allow_overlap).describe()
        except HoldfastError:  # so that the next attempt finds the name free; rows that a guard has stay
            with suppress(HoldfastError):
                connection.remove_sample(sample["id"])
            raise


__all__ = ["ask", "at_server", "connected", "is_address", "open_guard", "token_says_who"]
