"""Verifies ledgers offline: chain, states, signatures, receipts, and the arithmetic where a replay is given.

It finds any change of any byte of any row, as long as the key is out of the forger's reach. What it cannot find alone
is a whole store put back to an earlier, genuine state, or a chain removed without a trace: receipts, which the analysts
hold, find those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.core.processes import pool
from holdfast.core.strict_json import is_read_alike, read_canonical_json, read_plain
from holdfast.errors import InvalidParameter, LedgerUnavailable
from holdfast.guard.ledger.checkpoint import Checkpoint
from holdfast.guard.ledger.entry import KINDS, SEAT, START, Entry, account_digest, number_of, secret_digest
from holdfast.guard.ledger.receipts import Receipt, SigningKey, check_public, head_message, is_signed
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow, Store

# --- Chain check ------------------------------------------------------------------------------------------------------
# Checks one chain: entries against their hashes and each other, states against the entries that recorded them.

MOST_FINDINGS = 100
"""Findings kept for one chain: a chain broken at its start is broken at every entry after it."""


@dataclass(frozen=True)
class Finding:
    """A problem that a verification found: the entry at which it was found, and what is wrong.

    Examples
    --------
    >>> print(Finding("fingerprint", 7, "its hash is not that of its text"))
    ledger fingerprint, entry 7: its hash is not that of its text
    """

    dataset: str | None
    sequence: int | None
    what: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"dataset": self.dataset, "sequence": self.sequence, "what": self.what}

    def __str__(self) -> str:
        where = "" if self.dataset is None else f"ledger {_short(self.dataset)}"
        where += "" if self.sequence is None else f", entry {self.sequence}"
        return f"{where}: {self.what}" if where else self.what


class Replay(Protocol):
    """Adds a chain up again. `holdfast.guard.replay` is the guard's."""

    def feed(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> Iterable[str]:
        """Take the next entry, which is genuine, and what its texts say; what does not add up."""

    def finish(self, accounts: Sequence[StateRow]) -> Iterable[str]:
        """Compare with the stored accounts; what does not add up."""

    def notes(self) -> Iterable[tuple[int, str]]:
        """Return what is genuine and should be known, with the number of its entry."""

    def state(self) -> dict[str, Any]:
        """Return what `resume` goes on from, as plain data."""

    def resume(self, state: Mapping[str, Any]) -> None:
        """Go on from what another one had come to."""


class ChainCheck:
    """Takes the entries of a chain in order, then its head, states and receipts; `findings` is what is wrong.

    Memory does not grow with the number of entries.
    """

    def __init__(
        self,
        row: HeadRow,
        replay: Replay | None,
        receipts: Iterable[Receipt] = (),
        since: Checkpoint | None = None,
    ) -> None:
        self._row, self._replay = row, replay
        self._receipts = list(receipts)
        self._wanted: dict[tuple[str | None, int], Entry | None] = {receipt.place: None for receipt in self._receipts}
        self._has_seats = any(seat is not None for seat, _ in self._wanted)
        self._previous, self._count = START, 0
        self._states: dict[str, tuple[str, int]] = {}
        self.signers: list[str] = []
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.overrides = 0
        self._since = since
        self._begun = 0
        if since is not None:
            self._resume(since)

    def _resume(self, since: Checkpoint) -> None:
        """Go on from a checkpoint; its own entry is looked at once more by `feed_since`."""
        self._begun = self._count = since.sequence
        self._previous, self._states = since.hash, dict(since.states)
        self.signers, self.overrides = list(since.signers), since.overrides
        if self._replay is not None:
            self._replay.resume(since.replay)

    def feed_since(self, entry: Entry | None) -> None:
        """The checkpoint's own entry, which must still be the one that was signed for."""
        assert self._since is not None
        genuine = entry is not None and entry.sequence == self._since.sequence and entry.hash == self._since.hash
        if entry is None or not genuine or _Read(entry).problems or entry.computed_hash() != entry.hash:
            self._found("the entry is not the one that the checkpoint was signed for", self._since.sequence)

    @property
    def count(self) -> int:
        """Entries taken so far."""
        return self._count - self._begun

    def checkpoint(self) -> Checkpoint | None:
        """Return what the chain has come to; None where something is wrong, or where there is nothing to go on from."""
        if self.findings or self._replay is None or not self._count:
            return None
        states, signers = dict(self._states), tuple(self.signers)
        replay = self._replay.state()
        return Checkpoint(self._row.dataset, self._count, self._previous, states, signers, self.overrides, replay)

    def feed(self, entry: Entry) -> None:
        """The next entry."""
        self._count += 1
        read = _Read(entry)
        wrong = read.problems or list(self._links(entry))
        for what in wrong:
            self._found(what, self._count)
        self._previous = entry.hash if isinstance(entry.hash, str) else ""
        if not wrong:
            self._take(entry, read.body, read.states)

    def feed_hashed(self, entry: Entry) -> bool:
        """The next entry, whose form and hash somebody else checks; False where it does not follow the one before."""
        self._count += 1
        if entry.sequence != self._count or entry.previous != self._previous:
            return False
        self._previous = entry.hash
        self._take(entry, read_plain(entry.text), read_plain(entry.states_text))
        return True

    def _take(self, entry: Entry, body: Mapping[str, Any], states: Mapping[str, str]) -> None:
        """An entry that is genuine by itself."""
        if entry.signer is not None:
            self.signers.append(entry.signer)
        self.overrides += entry.kind == "override"
        sequence = entry.sequence
        for name, digest in states.items():
            self._states[name] = digest, sequence
        if (None, sequence) in self._wanted:
            self._wanted[None, sequence] = entry
        if self._has_seats and (entry.analyst, number_of(entry)) in self._wanted and SEAT in body:
            self._wanted[entry.analyst, number_of(entry)] = entry
        if self._replay is not None and not self.findings:
            for what in self._replay.feed(entry, body, states):
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
        recorded = {name[len(kind) + 1 :]: state for name, state in self._states.items() if name.startswith(f"{kind}:")}
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
        if self._wanted[receipt.place] is None and self._since is not None:
            raise InvalidParameter(
                f"the receipt of entry {receipt.sequence} may belong to an entry before the checkpoint, which is not "
                "verified now; verify the receipt without since, or against a published head"
            )
        different = receipt.differences(self._wanted[receipt.place])
        if different == ["sequence"]:
            self._found("the ledger no longer holds the receipt's entry: it was cut off or changed", receipt.sequence)
        elif different:
            self._found(f"the receipt differs from the ledger in {', '.join(different)}", receipt.sequence)

    def _found(self, what: str, sequence: int | None = None) -> None:
        if len(self.findings) < MOST_FINDINGS:
            shown = self._row.dataset if isinstance(self._row.dataset, str) else "?"
            self.findings.append(Finding(shown, sequence, what))


class _Read:
    """What an entry's texts say, and what is wrong with its form."""

    def __init__(self, entry: Entry) -> None:
        self.body: dict[str, Any] = {}
        self.states: dict[str, str] = {}
        self.problems = list(self._form(entry))

    def _form(self, entry: Entry) -> Iterator[str]:
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
        body, states = _canonical_object(entry.text), _canonical_object(entry.states_text)
        if body is None:
            yield "its body is not the JSON that was written"
        if states is None:
            yield "its states is not the JSON that was written"
        self.body, self.states = body or {}, states or {}


def _canonical_object(text: str) -> dict[str, Any] | None:
    try:
        read = read_canonical_json(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


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


# --- Epochs -----------------------------------------------------------------------------------------------------------
# A guard that was extended has a chain for each epoch. Each names the one before and where that one ended; that one
# names it in turn; and an answer about all of them is on each.


class EpochCheck:
    """Takes what the chains of a store say of each other; `findings` is what does not agree.

    Memory grows with the number of chains and of answers about several epochs.
    """

    def __init__(self, first_entries: Iterable[Entry]) -> None:
        self._links = {entry.dataset: link for entry in first_entries if (link := _link_of(entry)) is not None}
        self._ends = {(link["previous"], link["sequence"]) for link in self._links.values()}
        self.followed = {link["previous"] for link in self._links.values()}
        self._hashes: dict[tuple[str, int], str] = {}
        self._announced: dict[str, tuple[str, int]] = {}
        self._shared: dict[tuple[str, int], str] = {}
        self._recorded: list[tuple[Entry, Any]] = []

    def feed(self, entry: Entry) -> None:
        """The next entry of any chain."""
        if (entry.dataset, entry.sequence) in self._ends:
            self._hashes[entry.dataset, entry.sequence] = entry.hash
        if entry.kind == "extended":
            self._announced[str(entry.body.get("next"))] = entry.dataset, entry.sequence
        elif entry.kind == "answered" and '"epochs":' in entry.text:
            shared = entry.body.get("shared")
            if shared is not None:
                self._recorded.append((entry, shared))
            elif "epochs" in entry.body.get("question", {}):
                self._shared[entry.dataset, entry.sequence] = entry.hash

    def findings(self) -> Iterator[Finding]:
        """What the chains contradict each other in."""
        for dataset, link in self._links.items():
            if self._hashes.get((link["previous"], link["sequence"])) != link["hash"]:
                yield Finding(dataset, 1, "the ledger of the epoch before does not hold the entry that it follows")
        for following, (dataset, sequence) in self._announced.items():
            named = self._links.get(following)
            if named is None or named["previous"] != dataset:
                yield Finding(dataset, sequence, "the ledger of the next epoch, which it names, does not follow it")
        for entry, shared in self._recorded:
            if self._shared.get((shared["dataset"], shared["sequence"])) != shared["hash"]:
                yield Finding(entry.dataset, entry.sequence, "the answer about all epochs that it records is not there")

    def notes(self) -> Iterator[Finding]:
        """What a crash has left, which the next question or extension mends."""
        for dataset, link in self._links.items():
            if dataset not in self._announced:
                what = f"epoch {link['number']} was opened, and the epoch before does not say so yet: extend it again"
                yield Finding(dataset, 1, what)


def _linked(rows: Snapshot, heads: Sequence[HeadRow]) -> EpochCheck:
    """What the chains say of each other that are epochs of a guard; all of them are genuine by themselves."""
    members = [
        row
        for row in heads
        if any('"epoch":{' in account.text or '"successor":' in account.text for account in rows.accounts(row.name))
    ]
    check = EpochCheck(entry for row in members for entry in islice(rows.entries(row.name), 1))
    for row in heads:  # an epoch whose extension was interrupted does not say so itself
        if row in members or row.dataset in check.followed:
            for entry in rows.entries(row.name):
                check.feed(entry)
    return check


def _link_of(entry: Entry) -> dict[str, Any] | None:
    """Where a chain follows that of an earlier epoch, by its first entry; None for all others."""
    try:
        link = entry.body.get("epoch") if entry.kind == "opened" else None
        return {name: link[name] for name in ("number", "previous", "sequence", "hash")} if link is not None else None
    except (KeyError, TypeError, ValueError, AttributeError):  # the check of its own chain says so
        return None


# --- Verify -----------------------------------------------------------------------------------------------------------

_SQLITE = b"SQLite format 3\x00"
LONG = 20_000
"""Entries from which on a chain is worth another process."""
_AT_ONCE = 1000


@dataclass(frozen=True)
class Verification:
    """The result of a verification: what was checked, and what is wrong. `notes` lists facts that are worth knowing but
    are not errors.

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
    checkpoints: tuple[Checkpoint, ...] = field(default=(), repr=False)

    @property
    def ok(self) -> bool:
        """Whether the verification found no problem."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "ok": self.ok,
            "ledgers": self.ledgers,
            "entries": self.entries,
            "receipts": self.receipts,
            "overrides": self.overrides,
            "signers": list(self.signers),
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": [note.to_dict() for note in self.notes],
            "checkpoints": [checkpoint.to_dict() for checkpoint in self.checkpoints],
        }


def verify_snapshot(
    rows: Snapshot,
    *,
    receipts: Iterable[Receipt] = (),
    public_key: str | None = None,
    replay: Callable[[], Replay] | None = None,
    progress: Callable[[int], None] | None = None,
    workers: int = 1,
    since: Iterable[Checkpoint] = (),
    key: SigningKey | None = None,
    epochs: bool = True,
) -> Verification:
    """Check all rows of a store at one moment.

    Time is linear in the number of entries, some 40 microseconds of processor each with a replay. Memory is constant.

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
    workers : int
        Processes that share the work on a long chain. More than one need `if __name__ == "__main__":` in a script.
    since : iterable of Checkpoint
        Chains are checked from there on only. It takes the signer's word for what came before, and the signer must be
        `public_key`, or without it the chain's own.
    key : SigningKey, optional
        Signs a checkpoint for each chain, where nothing at all is wrong.
    epochs : bool
        Whether what the chains of a guard's epochs say of each other is compared: not from checkpoints on, and false
        where only one of the chains is among the rows. Their chains are then read once more.
    """
    workers = arguments.whole("workers", workers, at_least=1)
    begun = {checkpoint.dataset: checkpoint for checkpoint in since}
    epochs = epochs and not begun
    if public_key is not None:
        public_key = check_public("public_key", public_key)
    waiting: dict[str, list[Receipt]] = {}
    for receipt in receipts:
        waiting.setdefault(receipt.dataset, []).append(receipt)
    count, given, overrides = 0, sum(map(len, waiting.values())), 0
    signers: dict[str, None] = {}
    findings, notes = [Finding(None, None, what) for what in rows.problems()], list[Finding]()
    heads, checks = rows.heads(), list[ChainCheck]()
    for row in heads:
        given_here, start = waiting.pop(row.dataset, ()), begun.pop(row.dataset, None)
        if start is not None:
            _require_trusted(start, row, public_key)

        def fresh(
            row: HeadRow = row, receipts: Iterable[Receipt] = given_here, start: Checkpoint | None = start
        ) -> ChainCheck:
            return ChainCheck(row, None if replay is None else replay(), receipts, start)

        def told(checked: int, before: int = count) -> None:
            if progress is not None and checked % 1000 == 0:
                progress(before + checked)

        first = 0 if start is None else start.sequence
        check = _in_parallel(rows, row, first, fresh, workers, told) or _one_by_one(rows, row, first, fresh, told)
        count += check.count
        check.finish(rows.accounts(row.name), rows.secrets(row.name), public_key)
        findings += check.findings
        notes += check.notes
        overrides += check.overrides
        signers |= dict.fromkeys(check.signers)
        checks.append(check)
    if begun:
        raise InvalidParameter(
            "since must be a checkpoint of a ledger that is verified here, and there is no ledger of the data set "
            f"{_short(next(iter(begun)))}"
        )
    for dataset, lost in waiting.items():
        findings += [Finding(dataset, receipt.sequence, "there is no ledger for this receipt") for receipt in lost]
    if epochs and not findings:
        linked = _linked(rows, heads)
        findings += linked.findings()
        notes += linked.notes()
    reached = [] if key is None or findings else [check.checkpoint() for check in checks]
    checkpoints = tuple(end.signed(key) for end in reached if end is not None and key is not None)
    return Verification(len(heads), count, given, overrides, tuple(signers), tuple(findings), tuple(notes), checkpoints)


def _require_trusted(since: Checkpoint, row: HeadRow, public_key: str | None) -> None:
    if not since.is_signed():
        raise InvalidParameter(
            "since must be an unchanged checkpoint, and the signature of this one does not fit its content"
        )
    if since.public_key != (public_key or row.head.signer):
        whose = "the public key that was given" if public_key else "the ledger's own key; --public-key names another"
        raise InvalidParameter(
            f"since must be a checkpoint that was signed with {whose}; it was signed with {since.public_key[:16]}..."
        )


def _one_by_one(
    rows: Snapshot, row: HeadRow, first: int, fresh: Callable[[], ChainCheck], told: Callable[[int], None]
) -> ChainCheck:
    check, entries = fresh(), rows.entries(row.name, max(first, 1))
    if first:
        check.feed_since(next(entries, None))
    for entry in entries:
        check.feed(entry)
        told(check.count)
    return check


def _in_parallel(
    rows: Snapshot, row: HeadRow, first: int, fresh: Callable[[], ChainCheck], workers: int, told: Callable[[int], None]
) -> ChainCheck | None:
    """The check of a long chain whose entries are all genuine by themselves; None where `_one_by_one` has to say more.

    Other processes check form and hash of entries that this one has read, while this one follows the chain and adds it
    up. So both see the same rows, and what is found is what one process would find.
    """
    if workers == 1 or type(row.head.sequence) is not int or row.head.sequence - first < LONG:
        return None
    check, entries = fresh(), rows.entries(row.name, max(first, 1))
    if first:
        check.feed_since(next(entries, None))
    with pool(workers - 1) as others:
        asked: deque[Future[bool]] = deque()
        while some := list(islice(entries, _AT_ONCE)):
            asked.append(others.submit(_are_plain, [tuple(vars(entry).values()) for entry in some]))
            try:
                if not all(check.feed_hashed(entry) for entry in some):
                    return None
            except (ValueError, TypeError, AttributeError, RecursionError):
                return None  # a text that cannot be read: the other process sees that too, and does not say what
            told(check.count)
            if len(asked) >= 2 * workers and not asked.popleft().result():
                return None
        return check if all(part.result() for part in asked) else None


def _are_plain(entries: Sequence[tuple[Any, ...]]) -> bool:
    """Whether entries have the right form and hash, and `read_plain` reads them as everybody does."""
    return all(_is_plain(Entry(*values)) for values in entries)


def _is_plain(entry: Entry) -> bool:
    if _Read(entry).problems or entry.hash != entry.computed_hash():
        return False
    return is_read_alike(entry.text) and is_read_alike(entry.states_text)


def verify_store(store: Store, **options: Any) -> Verification:
    """Verify all ledgers of an open store, as they are at this moment; see `verify_snapshot`.

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
