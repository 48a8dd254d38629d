"""Audit reports that stewards uploaded: read strictly, kept as data, and shown by our own code only.

What is stored is what the library's own reader made of the file, written anew; the page that came with it is never
taken. So nothing that somebody put into a report can run in a browser: names of groups are texts, and are escaped.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert

from holdfast.core.strict_json import to_json
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, strict_loads
from holdfast.server.records import IDENTITY, REPORT_CONTENTS, REPORTS, Records, Taken, now

if TYPE_CHECKING:
    from holdfast.coherence.report import Report

MEDIA_TYPE = "application/json"
_FACTS = "id name title outcome partial digest size uploader created published".split()


class Reports:
    """The register of reports. A steward sees all, an analyst those that were published."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def add(self, name: str, body: bytes, uploader: str) -> tuple[dict[str, Any], bool]:
        """Store a report under a name that is free; the same one under its name again is the one that is there.

        Returns
        -------
        tuple
            Its facts, and whether it is new.
        """
        from holdfast.coherence.report import read

        report = read(strict_loads(body))
        content = _written(report)
        digest = hashlib.sha256(content.encode()).hexdigest()
        values = {
            "id": f"r_{secrets.token_hex(8)}",
            "name": name,
            "title": report.title,
            "outcome": report.verdict.outcome,
            "partial": report.partial,
            "digest": digest,
            "size": len(content.encode()),
            "uploader": uploader,
            "created": now(),
            "published": None,
        }
        try:
            with self._records.writing() as connection:
                connection.execute(insert(REPORTS).values(values))
                connection.execute(insert(REPORT_CONTENTS).values(id=values["id"], content=content))
        except Taken:
            known = self._records.get(REPORTS, name=name)
            if known is not None and known["digest"] == digest:
                return public(known), False
            raise Problem("name-taken", f"another report is called {name!r} already") from None
        return public(values), True

    def list(self, caller: Caller) -> list[dict[str, Any]]:
        """Facts of those that the caller may see, newest first."""
        rows = [row for row in self._records.all(REPORTS) if _seen(row, caller)]
        return [public(row) for row in reversed(rows)]

    def row(self, identity: str, caller: Caller) -> dict[str, Any]:
        """Facts of one that the caller may see; any other is not found, whether it exists or not."""
        row = self._records.get(REPORTS, id=identity) if IDENTITY.fullmatch(identity) else None
        if row is None or not _seen(row, caller):
            raise Problem("not-found", "there is no such report for this token")
        return public(row)

    def content(self, identity: str, caller: Caller) -> str:
        """Return the report as JSON, as `holdfast audit` wrote it."""
        self.row(identity, caller)
        row = self._records.get(REPORT_CONTENTS, id=identity)
        if row is None:  # it was deleted between the two looks
            raise Problem("not-found", "there is no such report for this token")
        return str(row["content"])

    def report(self, identity: str, caller: Caller) -> Report:
        """Return the report itself."""
        from holdfast.coherence.report import read

        return read(json.loads(self.content(identity, caller)))

    def publish(self, identity: str, caller: Caller, published: bool) -> dict[str, Any]:
        """Let every analyst see it, or no longer. Again changes nothing."""
        row = self.row(identity, caller)
        if published != (row["published"] is not None):
            row["published"] = now() if published else None
            self._records.change(REPORTS, identity, published=row["published"])
        return row

    def remove(self, identity: str, caller: Caller) -> None:
        """Delete it for good."""
        self.row(identity, caller)
        with self._records.writing() as connection:
            connection.execute(delete(REPORT_CONTENTS).where(REPORT_CONTENTS.c.id == identity))
            connection.execute(delete(REPORTS).where(REPORTS.c.id == identity))


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is listed of a report."""
    return {name: row[name] for name in _FACTS}


def _written(report: Report) -> str:
    """The file that `holdfast audit` writes, to the letter: its digest is that of the file."""
    return to_json(report.to_dict()) + "\n"


def _seen(row: Mapping[str, Any], caller: Caller) -> bool:
    return caller.steward or row["published"] is not None
