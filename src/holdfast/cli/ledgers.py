"""The ledger or the server that a command means, and what the guard's commands read from options and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from holdfast.errors import HoldfastError, InvalidParameter, LedgerUnavailable, SampleUnavailable

if TYPE_CHECKING:
    from holdfast.client import Connection, RemoteGuard
    from holdfast.data.sample import Sample
    from holdfast.data.schema import Declared, Schema
    from holdfast.guard.analyst import AnalystGuard
    from holdfast.guard.contest import Contest
    from holdfast.guard.leaderboard import Leaderboard
    from holdfast.guard.ledger.ledger import Ledger
    from holdfast.guard.ledger.store import Store
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Status


# --- Guard input ------------------------------------------------------------------------------------------------------
# What the guard's commands read: policies, samples, stores and questions' options.

ROWS = (".csv", ".parquet")
"""What the names of files with rows end in."""


def refuse_swapped(ledger: str, sample: str | None) -> None:
    """Refuse a file of rows in the ledger's place, before anything is opened or made.

    Examples
    --------
    >>> refuse_swapped("a.db", "b.csv")
    >>> refuse_swapped("b.csv", "a.db")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: the arguments look swapped: give the ledger first and then the ...
    """
    if sample is not None and Path(ledger).suffix.lower() in ROWS and Path(sample).suffix.lower() not in ROWS:
        raise InvalidParameter(
            f"the arguments look swapped: give the ledger first and then the file with the rows, as in {sample} "
            f"{ledger}"
        )


def store_at(where: str, *, create: bool = False) -> Store:
    """Open a store, or say what is missing."""
    from holdfast.guard.ledger.opening import open_store

    if not create and Path(where).suffix.lower() in ROWS:
        raise InvalidParameter(
            f"LEDGER must be a ledger, and {where} looks like a file with rows of data; nothing was opened"
        )
    try:
        return open_store(where, create=create)
    except LedgerUnavailable as error:
        if create or "://" in where or (Path(where).exists() and Path(where).stat().st_size):
            raise
        raise LedgerUnavailable(f"{error}; `holdfast guard open LEDGER DATA` makes a new ledger") from None


def open_sample(
    where: str,
    row_key: str | None = None,
    *,
    engine: str | None = None,
    table: str | None = None,
    schema: Declared = None,
) -> Sample:
    """Open rows, or say what is missing; the table of a database may follow its address behind a `#`."""
    from holdfast.data import tables

    address, sign, named = where.rpartition("#")
    if sign and ("://" in address or Path(address).suffix.lower() in tables.DATABASE_FILES):
        if table not in (None, named):
            raise InvalidParameter(
                f"--table must be left out, because the address names the table {named[:60]!r} after its #"
            )
        where, table = address, named
    sample = tables.table(where, engine=engine, table=table, schema=schema, row_key=row_key)  # type: ignore[arg-type]
    sample.place = _place(where, table)
    return sample


def _place(where: str, table: str | None) -> str | None:
    """What a ledger may remember of where the rows are: no address that holds a password or a token.

    Examples
    --------
    >>> _place("mysql://reader@host/census", "people"), _place("mysql://reader:secret@host/census", "people")
    ('mysql://reader@host/census#people', None)
    """
    if "://" in where:
        parts = urlsplit(where)
        if parts.password is not None or parts.query:
            return None
        place = where
    else:
        place = str(Path(where).resolve())
    return place if table is None else f"{place}#{table}"


def schema_of(text: str | None) -> dict[str, str] | None:
    """`age integer, income number not null` as a schema: the columns that questions may use, with their kinds.

    Examples
    --------
    >>> schema_of("age integer, capital gain number not null")
    {'age': 'integer', 'capital gain': 'number not null'}
    >>> schema_of("age")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: --schema must be columns with their types, such as 'age integer, ...
    """
    if text is None:
        return None
    from holdfast.data.schema import KINDS

    declared = {}
    for part in text.split(","):
        parsed = re.fullmatch(rf"\s*(.+?)\s+({'|'.join(KINDS)})(\s+(?:not\s+)?null)?\s*", part, re.IGNORECASE)
        if parsed is None:
            raise InvalidParameter(
                "--schema must be columns with their types, such as 'age integer, pay number null', "
                f"got {part.strip()[:60]!r}"
            )
        declared[parsed[1]] = parsed[2].lower() + (parsed[3] or "").lower()
    return declared


def _recorded_schema(store: Store) -> Schema | None:
    """The columns of all guards of a ledger, so that what was declared for them need not be declared to ask them.

    Epochs of a guard have the same ones. None where guards have different columns.
    """
    from holdfast.data.schema import Schema
    from holdfast.guard.stewarding import list_all

    schemas = {
        None if "schema" not in described else undeclared(Schema.from_dict(described["schema"]))
        for described in list_all(store)
    }
    return schemas.pop() if len(schemas) == 1 else None


def undeclared(schema: Schema) -> Schema:
    """Return the columns with their kinds and categories; which have missing values is found out by counting."""
    from holdfast.data.schema import Schema

    return Schema([replace(column, nullable=None) for column in schema])


def _guarded_sample(store: Store, where: str) -> Sample:
    """The rows of a guard that was opened; as its ledger declares them, where they fit."""
    schema = _recorded_schema(store)
    if schema is not None:
        with suppress(InvalidParameter):
            return open_sample(where, schema=schema)
    return open_sample(where)


def has_guard(ledger: str, sample: Sample) -> bool:
    """Return whether a ledger has a guard of these rows; no ledger is made to find out."""
    from holdfast.guard.ledger.opening import open_store
    from holdfast.guard.stewarding import guarded

    try:
        with open_store(ledger, create=False) as store:
            return store.name_of(sample.fingerprint()) in guarded(store)
    except LedgerUnavailable:  # there is none, or the opening says what is wrong with it
        return False


def remembered_rows(ledger: str) -> str | None:
    """Return the file of rows that a ledger was opened with; None where it has no guard, several, or remembers none.

    Of a guard with epochs, it is the file of the latest.
    """
    if is_address(ledger):
        return None
    from holdfast.guard import epochs
    from holdfast.guard.ledger.opening import open_store

    try:
        with open_store(ledger, create=False) as store:
            return _place_of(epochs.latest(store))
    except HoldfastError:  # the command itself says what is wrong with the ledger
        return None


def _place_of(ledger: Ledger) -> str | None:
    from holdfast.guard.opening import PLACE

    place = ledger.look(lambda view: view.secret(PLACE))
    return None if place is None else str(place["file"])


def fitting_sample(where: str, row_key: str | None, schema: Schema, **source: Any) -> Sample:
    """Open rows as a guard's schema declares them; where they do not fit, as they are, for the guard to say why."""
    try:
        return open_sample(where, row_key, schema=undeclared(schema), **source)
    except (InvalidParameter, SampleUnavailable):
        return open_sample(where, row_key, **source)


def earlier_rows(
    store: Store, latest: Ledger, files: Sequence[str], row_key: str | None, schema: Schema
) -> Iterator[Sample]:
    """Open the rows of earlier epochs: of these files, and of those that ledgers remember and that are still there."""
    from holdfast.guard import epochs

    given = set()
    for file in files:
        sample = fitting_sample(file, row_key, schema)
        given.add(store.name_of(sample.fingerprint()))
        yield sample
    for ledger in epochs.ledgers(store, latest):
        place = _place_of(ledger)
        if row_key is None or ledger.dataset in given or place is None:
            continue
        with suppress(HoldfastError):  # gone, or not what it was
            sample = open_sample(place, row_key, schema=undeclared(schema))
            if store.name_of(sample.fingerprint()) == ledger.dataset:
                yield sample
            else:
                sample.close()


def read_policy(path: Path) -> dict[str, Any]:
    """Return a policy file: one JSON object."""
    try:
        policy = json.loads(path.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise InvalidParameter(
            f"--policy must be a file that contains one JSON object, and {path.name} does not"
        ) from None
    if not isinstance(policy, dict):
        raise InvalidParameter(f"--policy must be a file that contains one JSON object, and {path.name} does not")
    return policy


def policy_of(path: Path | None, options: dict[str, Any], analysts: Sequence[str]) -> Policy | None:
    """Return the policy of a file and of options that were given; None where neither was, for a sample that has one."""
    from holdfast.guard.policy import Policy

    plain = {} if path is None else read_policy(path)
    for name, value in options.items():
        if value is not None:
            plain[name] = cost_of(f"--{name}", value) if name in ("privacy", "spend") else value
    if analysts:
        plain["analysts"] = dict(_share(text) for text in analysts)
    return Policy.from_dict(plain) if plain or path is not None else None


def cost_of(name: str, text: str) -> dict[str, Any]:
    """`pure-dp:0.1` or `zcdp:0.01` as plain data.

    Examples
    --------
    >>> cost_of("--spend", "pure-dp:0.1")
    {'kind': 'pure-dp', 'epsilon': 0.1}
    """
    from holdfast.inference.after_looking.spent import parse

    try:
        return parse(text).to_dict()
    except InvalidParameter as error:
        raise InvalidParameter(f"{name}: {error}") from None


def _share(text: str) -> tuple[str, float]:
    name, equals, share = text.rpartition("=")
    try:
        if equals and name:
            return name, float(share)
    except ValueError:
        pass
    raise InvalidParameter(f"--analyst must be NAME=QUOTA, where QUOTA is a number above 0 and at most 1, got {text!r}")


# --- Remote -----------------------------------------------------------------------------------------------------------
# What commands do with the address of a server in the place of a ledger. The token comes from HOLDFAST_TOKEN.


def is_address(where: str) -> bool:
    """Return whether this is a server's address.

    Examples
    --------
    >>> is_address("https://holdfast.example.org"), is_address("ledger.db"), is_address("postgresql://host/db")
    (True, False, False)
    """
    return where.lower().startswith(("http://", "https://"))


def connected(where: str, guard: str | None = None) -> Connection:
    """Return a connection that means the guard of that name, or the only one that the token reaches."""
    from holdfast.client import connect

    return connect(where, guard=guard)


def at_server(where: str) -> Connection:
    """Return a connection to what must be a server."""
    if not is_address(where):
        raise InvalidParameter(f"SERVER must be an address such as https://holdfast.example.org, got {where[:60]!r}")
    return connected(where)


@contextmanager
def analyst_guard(
    where: str,
    sample: str | None,
    analyst: str | None,
    public_key: str | None = None,
    *,
    steward: bool = False,
    patience: float | None = None,
    more: Sequence[str] = (),
) -> Iterator[AnalystGuard]:
    """Open the guard that an analyst's command means: of a ledger and a file of rows, or of a server.

    Parameters
    ----------
    where : str
        The ledger, or the address of a server.
    sample : str or None
        The file with the rows; with a server the guard's name, which may be missing where there is one guard.
    analyst : str or None
        Who asks, "analyst" by default. With a server it must be None, because the token says who asks.
    public_key : str or None
        With a server: the key that must sign its receipts.
    steward : bool
        With a ledger: whether the run may be ended for everybody, as whoever has the ledger and the rows may.
    patience : float or None
        With a server: seconds to try again while it is busy or out of reach; 120 if None. A ledger needs no waiting.
    more : sequence of str
        With a ledger: files with the rows of other epochs.
    """
    if is_address(where):
        if analyst is not None:
            raise InvalidParameter("--analyst must be left out with a server, where the access token says who asks")
        if more:
            raise InvalidParameter(
                "--rows must be left out with a server, because the server has the rows of all epochs already"
            )
        from holdfast.client.connection import PATIENCE, connect

        seconds = PATIENCE if patience is None else patience
        with connect(where, guard=sample, public_key=public_key, patience=seconds) as connection:
            yield connection.guard()
        return
    if sample is None:
        raise InvalidParameter("DATA must be given after the ledger: the file with the rows of the guard")
    if public_key is not None:
        raise InvalidParameter("--public-key must be left out with a ledger, which contains its own key")
    refuse_swapped(where, sample)
    from holdfast.guard.guard import DEFAULT_ANALYST, Guard

    with store_at(where) as store, ExitStack() as files:
        rows = [files.enter_context(_guarded_sample(store, file)) for file in (sample, *more)]
        yield Guard.open(store, rows).for_analyst(DEFAULT_ANALYST if analyst is None else analyst, steward=steward)


def open_guard(
    where: str, name: str, file: str, row_key: str | None, policy: Any, allow_overlap: str | None
) -> tuple[dict[str, Any], bool]:
    """Send a file of rows to a server and put it behind a guard of that name.

    Returns what may be shown of the guard, and whether the row key is a running number.
    """
    with connected(where) as connection:
        sample = connection.upload_sample(name, file, row_key=row_key)
        try:
            guard = connection.create_guard(name, sample["id"], policy, allow_overlap)
            return guard.describe(), bool(sample.get("row_key_numbered"))
        except HoldfastError:  # so that the next attempt finds the name free; rows that a guard has stay
            with suppress(HoldfastError):
                connection.remove_sample(sample["id"])
            raise


def extend_guard(where: str, guard: str | None, name: str, file: str, row_key: str | None) -> dict[str, Any]:
    """Send a file of new rows to a server and open the next epoch of a guard over them; what may be shown of it."""
    with connected(where, guard) as connection:
        sample = connection.upload_sample(name, file, row_key=row_key)
        try:
            return connection.guard().extend(sample["id"]).describe()
        except HoldfastError:
            with suppress(HoldfastError):
                connection.remove_sample(sample["id"])
            raise


# --- Stewarded --------------------------------------------------------------------------------------------------------
# The guard that a steward's command means: a chain of a ledger in reach, or a guard of a server. Both act alike.


class Stewarded(Protocol):
    """What the commands need of a guard."""

    def describe(self) -> dict[str, Any]:
        """Everything that may be shown."""

    def set_status(self, status: Status, reason: str) -> None:
        """Pause, open again or close for good."""

    def override(self, policy: Policy, reason: str) -> None:
        """Put another policy in place."""

    def latest(self, number: int, analyst: str | None) -> list[dict[str, Any]]:
        """Return the last entries, or those of one analyst, oldest first."""

    def leaderboard(self, board: str | None, *, every: bool) -> Leaderboard:
        """Return who is where on a board, or the only one; `every` submission, not the best of each analyst."""

    def contest(self, board: str | None) -> Contest:
        """Return where a contest stands, and the results of its finals."""


class _Chain:
    """A chain of a ledger in reach."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def describe(self) -> dict[str, Any]:
        from holdfast.guard.stewarding import describe

        return describe(self._ledger)

    def set_status(self, status: Status, reason: str) -> None:
        from holdfast.guard.stewarding import set_status

        set_status(self._ledger, status, reason)

    def override(self, policy: Policy, reason: str) -> None:
        from holdfast.guard.stewarding import override

        override(self._ledger, policy, reason)

    def latest(self, number: int, analyst: str | None) -> list[dict[str, Any]]:
        return [entry.to_dict() for entry in self._ledger.page(number, newest=True, analyst=analyst)]

    def leaderboard(self, board: str | None, *, every: bool) -> Leaderboard:
        from holdfast.guard.leaderboard import leaderboard
        from holdfast.guard.scoring.board import chosen
        from holdfast.guard.state import GuardState

        name = chosen(self._ledger.look(GuardState.of).policy.boards, board).name
        return leaderboard(self._ledger, name, every=every)

    def contest(self, board: str | None) -> Contest:
        from holdfast.guard.contest import contest

        return contest(self._ledger, board)


class _Served:
    """A guard of a server."""

    def __init__(self, guard: RemoteGuard) -> None:
        self._guard = guard
        self._acts = {"paused": guard.pause, "open": guard.resume, "closed": guard.close}

    def describe(self) -> dict[str, Any]:
        return self._guard.describe()

    def set_status(self, status: Status, reason: str) -> None:
        self._acts[status](reason)

    def override(self, policy: Policy, reason: str) -> None:
        self._guard.override(policy, reason)

    def latest(self, number: int, analyst: str | None) -> list[dict[str, Any]]:
        return self._guard.latest(number, analyst=analyst)

    def leaderboard(self, board: str | None, *, every: bool) -> Leaderboard:
        return self._guard.leaderboard(board, every=every)

    def contest(self, board: str | None) -> Contest:
        return self._guard.contest(board)


@contextmanager
def stewarded(where: str, name: str | None) -> Iterator[Stewarded]:
    """The guard of that name, or the only one there is."""
    if is_address(where):
        with connected(where, name) as connection:
            yield _Served(connection.guard())
        return
    from holdfast.guard.stewarding import find

    with store_at(where) as store:
        yield _Chain(find(store, name))


def described(where: str) -> list[dict[str, Any]]:
    """Return what may be shown of every guard there is; of a damaged one its name, and what is wrong."""
    if is_address(where):
        with connected(where) as connection:
            return connection.describe_all()
    from holdfast.guard.stewarding import list_all

    with store_at(where) as store:
        return list_all(store)
