"""Verifies ledgers offline: chain, states, signatures, receipts, and the arithmetic where a replay is given.

It finds any change of any byte of any row, as long as the key is out of the forger's reach. What it cannot find alone
is a whole store put back to an earlier, genuine state, or a chain removed without a trace: receipts, which the analysts
hold, find those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from holdfast.core.extras import named_extras
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import LedgerUnavailable
from holdfast.guard.ledger.entry import KINDS, SEAT, START, Entry, account_digest, number_of, secret_digest
from holdfast.guard.ledger.receipts import Receipt, check_public, head_message, is_signed
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow, Store

# --- Chain check ------------------------------------------------------------------------------------------------------
# Checks one chain: entries against their hashes and each other, states against the entries that recorded them.

MOST_FINDINGS = 100
"""Findings kept for one chain: a chain broken at its start is broken at every entry after it."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: where, and what.

    Examples
    --------
    >>> print(Finding("fingerprint", 7, "its hash is not that of its text"))
    ledger fingerprint, entry 7: its hash is not that of its text
    """

    dataset: str | None
    sequence: int | None
    what: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"dataset": self.dataset, "sequence": self.sequence, "what": self.what}

    def __str__(self) -> str:
        where = "" if self.dataset is None else f"ledger {_short(self.dataset)}"
        where += "" if self.sequence is None else f", entry {self.sequence}"
        return f"{where}: {self.what}" if where else self.what


class Replay(Protocol):
    """Adds a chain up again. `holdfast.guard.replay` is the guard's."""

    def feed(self, entry: Entry) -> Iterable[str]:
        """Take the next entry, which is genuine; what does not add up."""

    def finish(self, accounts: Sequence[StateRow]) -> Iterable[str]:
        """Compare with the stored accounts; what does not add up."""

    def notes(self) -> Iterable[tuple[int, str]]:
        """What is genuine and should be known, with the number of its entry."""


class ChainCheck:
    """Takes the entries of a chain in order, then its head, states and receipts; `findings` is what is wrong.

    Memory does not grow with the number of entries.
    """

    def __init__(self, row: HeadRow, replay: Replay | None, receipts: Iterable[Receipt] = ()) -> None:
        self._row, self._replay = row, replay
        self._receipts = list(receipts)
        self._wanted: dict[tuple[str | None, int], Entry | None] = {one.place: None for one in self._receipts}
        self._has_seats = any(seat is not None for seat, _ in self._wanted)
        self._previous, self._count = START, 0
        self._states: dict[str, tuple[str, int]] = {}
        self.signers: list[str] = []
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.overrides = 0

    def feed(self, entry: Entry) -> None:
        """The next entry."""
        self._count += 1
        wrong = list(_form(entry)) or list(self._links(entry))
        for what in wrong:
            self._found(what, self._count)
        self._previous = entry.hash if isinstance(entry.hash, str) else ""
        if wrong:
            return
        if entry.signer is not None:
            self.signers.append(entry.signer)
        self.overrides += entry.kind == "override"
        self._states |= {name: (digest, entry.sequence) for name, digest in entry.states.items()}
        if (None, entry.sequence) in self._wanted:
            self._wanted[None, entry.sequence] = entry
        if self._has_seats and (entry.analyst, number_of(entry)) in self._wanted and SEAT in entry.body:
            self._wanted[entry.analyst, number_of(entry)] = entry
        if self._replay is not None and not self.findings:
            for what in self._replay.feed(entry):
                self._found(what, self._count)

    def _links(self, entry: Entry) -> Iterator[str]:
        if entry.sequence != self._count:
            yield f"number {self._count} was expected, {entry.sequence} was found: entries are missing or were moved"
        if entry.previous != self._previous:
            yield "it does not follow the entry before it"
        if entry.hash != entry.computed_hash():
            yield "its content does not fit its hash"

    def finish(self, accounts: Sequence[StateRow], secrets: Sequence[StateRow] | None, public_key: str | None) -> None:
        """The rest; `secrets` is None where they are not at hand, as in an export."""
        self._check_head(public_key)
        self._check_states("account", accounts)
        if secrets is not None:
            self._check_states("secret", secrets)
        if self._replay is not None and not self.findings:
            for what in self._replay.finish(accounts):
                self._found(what)
            self.notes = [Finding(self._row.dataset, number, what) for number, what in self._replay.notes()]
        for receipt in self._receipts:
            self._check_receipt(receipt, public_key)

    def _check_head(self, public_key: str | None) -> None:
        head, signature = self._row.head, self._row.signature
        if type(head.sequence) is not int or head.sequence != self._count:
            self._found(
                f"the head says {head.sequence!r} entries, there are {self._count}: the end was cut off or added to"
            )
        if head.hash != self._previous:
            self._found("the head's hash is not that of the last entry")
        signer = self.signers[-1] if self.signers else None
        if head.signer != signer:
            self._found("the head names another signer than the entries")
        if signer is None and signature is not None:
            self._found("the head has a signature that no entry announces")
        if signer is not None and not _head_is_signed(self._row, signer):
            self._found("the head's signature does not fit: the end was cut off, added to or changed")
        if public_key is not None and set(self.signers) != {public_key} and self._count:
            self._found("not every entry was signed under the public key that was given")

    def _check_states(self, kind: str, rows: Sequence[StateRow]) -> None:
        recorded = {name[len(kind) + 1 :]: found for name, found in self._states.items() if name.startswith(f"{kind}:")}
        for row in rows:
            known = recorded.pop(row.name, None) if isinstance(row.name, str) else None
            if known is None or known[1] != row.sequence or not _fits(row, known[0]):
                shown = _short(row.name) if isinstance(row.name, str) else "?"
                self._found(f"the stored {kind} {shown!r} is not the one that the entries record")
        for name in recorded:
            self._found(f"the {kind} {_short(name)!r}, which the entries record, is gone")

    def _check_receipt(self, receipt: Receipt, public_key: str | None) -> None:
        if not receipt.is_signed():
            self._found("the receipt's signature does not fit its content", receipt.sequence)
        trusted = self.signers if public_key is None else [public_key]
        if receipt.public_key not in trusted:
            self._found("the receipt was signed with another key than the ledger's", receipt.sequence)
        different = receipt.differences(self._wanted[receipt.place])
        if different == ["sequence"]:
            self._found("the ledger no longer holds the receipt's entry: it was cut off or changed", receipt.sequence)
        elif different:
            self._found(f"the receipt differs from the ledger in {', '.join(different)}", receipt.sequence)

    def _found(self, what: str, sequence: int | None = None) -> None:
        if len(self.findings) < MOST_FINDINGS:
            shown = self._row.dataset if isinstance(self._row.dataset, str) else "?"
            self.findings.append(Finding(shown, sequence, what))


def _form(entry: Entry) -> Iterator[str]:
    """What is wrong with the form of an entry: values of other types, texts that are not canonical."""
    texts = (entry.dataset, entry.time, entry.kind, entry.text, entry.states_text, entry.previous, entry.hash)
    options = (entry.analyst, entry.key, entry.question, entry.signer)
    if (
        type(entry.sequence) is not int
        or not all(isinstance(text, str) for text in texts)
        or not all(text is None or isinstance(text, str) for text in options)
    ):
        yield "its row holds values of the wrong kind"
        return
    if entry.kind not in KINDS:
        yield f"its kind {_short(entry.kind)!r} is unknown"
    try:
        datetime.fromisoformat(entry.time)
    except ValueError:
        yield "its time cannot be read"
    for name, text in (("body", entry.text), ("states", entry.states_text)):
        if not _is_canonical(text):
            yield f"its {name} is not the JSON that was written"


def _is_canonical(text: str) -> bool:
    try:
        read: Any = json.loads(text)
        return isinstance(read, dict) and to_canonical_json(read) == text
    except (ValueError, TypeError, RecursionError):
        return False


def _fits(row: StateRow, digest: str) -> bool:
    if not isinstance(row.text, str) or type(row.sequence) is not int:
        return False
    if row.salt is None:
        return account_digest(row.text) == digest
    return isinstance(row.salt, str) and secret_digest(row.salt, row.text) == digest


def _head_is_signed(row: HeadRow, signer: str) -> bool:
    try:
        return is_signed(signer, head_message(row.dataset, row.head), row.signature or "")
    except (TypeError, ValueError):
        return False


def _short(text: str) -> str:
    printable = text.encode("ascii", "backslashreplace").decode()
    return printable if len(printable) <= 16 else f"{printable[:16]}..."


# --- Verify -----------------------------------------------------------------------------------------------------------

_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Verification:
    """What was checked and what is wrong; `notes` is what is genuine and should be known.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> found = verify_store(open_store())
    >>> found.ok, found.ledgers, found.findings
    (True, 0, ())
    """

    ledgers: int
    entries: int
    receipts: int
    overrides: int
    signers: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "ok": self.ok,
            "ledgers": self.ledgers,
            "entries": self.entries,
            "receipts": self.receipts,
            "overrides": self.overrides,
            "signers": list(self.signers),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [note.to_dict() for note in self.notes],
        }


def verify_snapshot(
    rows: Snapshot,
    *,
    receipts: Iterable[Receipt] = (),
    public_key: str | None = None,
    replay: Callable[[], Replay] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verification:
    """Check all rows of a store at one moment.

    Time is linear in the number of entries, some 40 microseconds each, twice that with a
    replay. Memory is constant.

    Parameters
    ----------
    rows : Snapshot
        From `Store.snapshot`, `open_rows` or an export.
    receipts : iterable of Receipt
        Each must be signed and be about an entry that is there, unchanged.
    public_key : str, optional
        The only key that may have signed. Without it the ledger's own word is taken for who signs, which a forger who
        rewrites everything can give too.
    replay : callable, optional
        Makes what adds a chain up again.
    progress : callable, optional
        Is told the number of entries checked so far, every thousand.
    """
    if public_key is not None:
        public_key = check_public("public_key", public_key)
    waiting: dict[str, list[Receipt]] = {}
    for receipt in receipts:
        waiting.setdefault(receipt.dataset, []).append(receipt)
    count, given, overrides = 0, sum(map(len, waiting.values())), 0
    signers: dict[str, None] = {}
    findings, notes = [Finding(None, None, what) for what in rows.problems()], list[Finding]()
    heads = rows.heads()
    for row in heads:
        check = ChainCheck(row, None if replay is None else replay(), waiting.pop(row.dataset, ()))
        for entry in rows.entries(row.name):
            check.feed(entry)
            count += 1
            if progress is not None and count % 1000 == 0:
                progress(count)
        check.finish(rows.accounts(row.name), rows.secrets(row.name), public_key)
        findings += check.findings
        notes += check.notes
        overrides += check.overrides
        signers |= dict.fromkeys(check.signers)
    for dataset, lost in waiting.items():
        findings += [Finding(dataset, receipt.sequence, "there is no ledger for this receipt") for receipt in lost]
    return Verification(len(heads), count, given, overrides, tuple(signers), tuple(findings), tuple(notes))


def verify_store(store: Store, **options: Any) -> Verification:
    """Check a store that is open, as it is at this moment; see `verify_snapshot`.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> store = open_store()
    >>> entry = store.ledger("fingerprint").submit(lambda transaction: transaction.append("opened", {"policy": None}))
    >>> verify_store(store).ok
    True
    """
    with store.snapshot() as rows:
        return verify_snapshot(rows, **options)


@contextmanager
def open_rows(where: str | Path) -> Iterator[Snapshot]:
    """All rows of a store, or of an export of one in JSON, without writing anything.

    Parameters
    ----------
    where : str or path
        A SQLite file, a `postgresql://` address, or a file that `holdfast.guard.ledger.export.to_json` wrote.
    """
    text = str(where)
    store: Store
    if text.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        from holdfast.guard.ledger.postgres import PostgresStore

        store = PostgresStore(text, read_only=True)
    else:
        path = Path(text.removeprefix("sqlite:///"))
        if not path.is_file():
            raise LedgerUnavailable(f"there is no ledger at {path}")
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
        if start != _SQLITE:
            from holdfast.guard.ledger.export import read_json

            yield read_json(path.read_text("utf-8", "replace"))
            return
        from holdfast.guard.ledger.sqlite import SQLiteStore

        store = SQLiteStore(path, read_only=True)
    with store, store.snapshot() as rows:
        yield rows


@named_extras()
def verify(where: str | Path, **options: Any) -> Verification:
    """Check a store by its address; see `open_rows` and `verify_snapshot`."""
    with open_rows(where) as rows:
        return verify_snapshot(rows, **options)
