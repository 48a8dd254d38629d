"""Verifies ledgers offline: chain, states, signatures, receipts, and the arithmetic where a replay is given.

It finds any change of any byte of any row, as long as the key is out of the forger's reach. What it cannot find alone
is a whole store put back to an earlier, genuine state, or a chain removed without a trace: receipts, which the analysts
hold, find those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.errors import LedgerUnavailable
from holdfast.extras import named_extras
from holdfast.guard.ledger.chain_check import ChainCheck, Finding, Replay
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.signing import check_public
from holdfast.guard.ledger.store import Snapshot, Store

_SQLITE = b"SQLite format 3\x00"


@dataclass(frozen=True)
class Verification:
    """What was checked and what is wrong.

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
            "findings": [{"dataset": f.dataset, "sequence": f.sequence, "what": f.what} for f in self.findings],
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
    findings = [Finding(None, None, what) for what in rows.problems()]
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
        overrides += check.overrides
        signers |= dict.fromkeys(check.signers)
    for dataset, lost in waiting.items():
        findings += [Finding(dataset, receipt.sequence, "there is no ledger for this receipt") for receipt in lost]
    return Verification(len(heads), count, given, overrides, tuple(signers), tuple(findings))


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


__all__ = ["Finding", "Verification", "open_rows", "verify", "verify_snapshot", "verify_store"]
