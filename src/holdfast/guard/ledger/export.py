"""Exports: JSON that can be verified again, CSV for a spreadsheet. Secret states are never exported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow

FORMAT = 1
"""Of exports in JSON."""
COLUMNS = ("dataset", "sequence", "time", "kind", "analyst", "key", "question", "cost", "answer", "previous", "hash")
"""Of exports in CSV."""


def to_json(rows: Snapshot) -> Iterator[str]:
    """Yield an export in pieces: one JSON object with heads and signatures, accounts, and entries (one per line).
    `verify` can read it.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> store = open_store(None)
    >>> ledger = store.ledger("people")
    >>> with store.snapshot() as rows:
    ...     json.loads("".join(to_json(rows)))["format"]
    1
    """
    yield f'{{"holdfast":"ledger","format":{FORMAT},"ledgers":[\n'
    for place, row in enumerate(rows.heads()):
        head = {"sequence": row.head.sequence, "hash": row.head.hash, "signer": row.head.signer}
        accounts = [{"name": a.name, "text": a.text, "sequence": a.sequence} for a in rows.accounts(row.name)]
        start = {"dataset": row.dataset, "head": head, "signature": row.signature, "accounts": accounts}
        yield ("" if place == 0 else ",\n") + to_canonical_json(start)[:-1] + ',"entries":[\n'
        for number, entry in enumerate(rows.entries(row.name)):
            yield ("" if number == 0 else ",\n") + to_canonical_json(entry.to_dict())
        yield "\n]}"
    yield "\n]}\n"


def to_csv(rows: Snapshot) -> Iterator[str]:
    """Yield CSV with one line for each entry of each ledger. Costs and answers are JSON texts in their cells.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> store = open_store(None)
    >>> ledger = store.ledger("people")
    >>> with store.snapshot() as rows:
    ...     next(iter(to_csv(rows))).split(",")[:4]
    ['dataset', 'sequence', 'time', 'kind']
    """
    yield _line(COLUMNS)
    for row in rows.heads():
        for entry in rows.entries(row.name):
            body = entry.body
            cells = {"cost": _cell(body.get("cost")), "answer": _cell(body.get("answer"))}
            yield _line([cells.get(name, getattr(entry, name, None)) for name in COLUMNS])


def read_json(text: str) -> Snapshot:
    """Read an export in JSON and return its rows, so that they can be verified.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> store = open_store(None)
    >>> ledger = store.ledger("people")
    >>> with store.snapshot() as rows:
    ...     text = "".join(to_json(rows))
    >>> [row.dataset for row in read_json(text).heads()]
    ['people']
    """
    try:
        plain = json.loads(text)
        if plain["holdfast"] == "ledger" and plain["format"] == FORMAT:
            return _Exported([_Chain(chain) for chain in plain["ledgers"]])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidParameter("a ledger must be a SQLite file, a postgresql:// address or an export in JSON") from None
    raise InvalidParameter(f"an export must have the format number {FORMAT}, which this release can read")


class _Chain:
    def __init__(self, plain: Mapping[str, Any]) -> None:
        head = plain["head"]
        self.head = Head(head["sequence"], head["hash"], head["signer"])
        self.dataset, self.signature = plain["dataset"], plain["signature"]
        if not isinstance(self.dataset, str):
            raise TypeError("the name of a data set must be a text")
        self.accounts: list[StateRow] = [StateRow(a["name"], None, a["text"], a["sequence"]) for a in plain["accounts"]]
        self.entries = [Entry.from_dict(entry) for entry in plain["entries"]]


class _Exported:
    def __init__(self, chains: list[_Chain]) -> None:
        self._chains = chains

    def problems(self) -> list[str]:
        names = [chain.dataset for chain in self._chains]
        return [] if len(set(names)) == len(names) else ["a data set has more than one chain"]

    def heads(self) -> list[HeadRow]:
        return [HeadRow(i, chain.dataset, chain.head, chain.signature) for i, chain in enumerate(self._chains)]

    def entries(self, name: int, first: int = 1) -> Iterator[Entry]:
        return iter(self._chains[name].entries[first - 1 :])

    def accounts(self, name: int) -> list[StateRow]:
        return self._chains[name].accounts

    def secrets(self, name: int) -> None:
        return None


def _cell(value: Any) -> str:
    return "" if value is None else to_canonical_json(value)


def _line(cells: Any) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(["" if cell is None else _safe(str(cell)) for cell in cells])
    return line.getvalue()


def _safe(text: str) -> str:
    """A spreadsheet runs a cell that starts like a formula; a quote before it stops that."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


__all__ = ["COLUMNS", "FORMAT", "read_json", "to_csv", "to_json"]
