"""`hf.connect`: a server, a token, and the guards that the token reaches."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from holdfast.client import answers
from holdfast.client.errors import ReceiptInvalid, member, odd
from holdfast.client.remote_guard import Asking, RemoteGuard
from holdfast.client.wire import Wire
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.receipts import check_public
from holdfast.guard.policy import Policy

TOKEN_VARIABLE = "HOLDFAST_TOKEN"
_KINDS = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}


PATIENCE = 120.0
"""Seconds for which a request is tried again while a server is busy or out of reach."""


def connect(
    url: str,
    token: str | None = None,
    *,
    guard: str | None = None,
    public_key: str | None = None,
    timeout: float = 60.0,
    patience: float = PATIENCE,
    insecure: bool = False,
    ca: str | None = None,
) -> Connection:
    """Make a connection to a server. Nothing is sent to the server before the first question.

    Parameters
    ----------
    url : str
        Where the server is, e.g. `https://holdfast.example.org`. `http://` is for this machine.
    token : str, optional
        What a steward gave you; by default the environment variable `HOLDFAST_TOKEN`.
    guard : str, optional
        The name or id of the guard that `ask` and the other verbs mean; needed where the token reaches several.
    public_key : str, optional
        The key that signs this server's receipts, from the steward. Every answer is checked against it. Without it the
        key that the server names first is kept for this connection, which shows changed answers but no false server.
    timeout, patience : float
        Seconds to wait for one response, and to keep trying one request.
    insecure : bool
        Allow `http://` to another machine; the token is then sent unencrypted.
    ca : str, optional
        A file with certificates to trust instead of the usual ones.

    Examples
    --------
    >>> connect("http://127.0.0.1:8321", "hf_0123")
    Connection('http://127.0.0.1:8321')
    """
    given = os.environ.get(TOKEN_VARIABLE) if token is None else token
    if not given:
        raise InvalidParameter(f"token must be given, as an argument or in the environment variable {TOKEN_VARIABLE}")
    wire = Wire(
        url,
        given,
        timeout=arguments.real("timeout", timeout, above=0),
        patience=arguments.real("patience", patience, at_least=0),
        insecure=insecure,
        ca=ca,
    )
    return Connection(wire, guard, None if public_key is None else check_public("public_key", public_key))


class Connection(Asking):
    """A connection to a server with one access token. `connect` makes it, and a `with` statement or `shut` closes it.

    The methods `ask`, `ask_all`, `stream`, `estimate`, `level`, `adjusted`, `remaining`, `describe` and `entries` are
    about the guard that was given to `connect`, or about the only guard that the token may use. `guard(name)` returns
    any other guard, with the methods for stewards. A connection has no method `close`, because closing a guard is
    final.

    Examples
    --------
    >>> with connect("http://127.0.0.1:8321", "hf_0123") as server:  # nothing is sent until something is asked
    ...     server.url
    'http://127.0.0.1:8321'
    """

    def __init__(self, wire: Wire, guard: str | None = None, public_key: str | None = None) -> None:
        self._wire, self._named, self._given = wire, guard, public_key
        self._mutex = threading.Lock()
        self._chosen: RemoteGuard | None = None
        self._seen: dict[str, Any] | None = None
        self._pin = self._pinned

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._wire.url

    @property
    def public_key(self) -> str | None:
        """The public key with which all receipts must be signed: the key that was given to `connect`, or else the first
        one that the server sent.
        """
        return self._pinned()

    @property
    def dataset(self) -> str:
        """The name of the data set in the ledger of the guard that is asked."""
        return self.guard().dataset

    def me(self) -> dict[str, Any]:
        """Return a description of the token: role, name, guards, expiry, and the server's public signing key."""
        facts = self._wire.get("/me")
        if not isinstance(facts, Mapping):
            raise odd()
        return dict(facts)

    def guards(self) -> list[RemoteGuard]:
        """Return every guard that the token may use."""
        return [self._made(facts) for facts in self.describe_all()]

    def describe_all(self) -> list[dict[str, Any]]:
        """Return the descriptions of all guards that the token may use, as plain data.

        For a guard whose ledger is damaged there are only its name, the `status` "damaged", and under `problem` what is
        wrong.
        """
        listed = member(self._wire.get("/guards"), "guards")
        if not isinstance(listed, list) or not all(isinstance(facts, Mapping) for facts in listed):
            raise odd()
        return [dict(facts) for facts in listed]

    def guard(self, name: str | None = None) -> RemoteGuard:
        """Return the guard with a name or id. If none is given, return the guard that was given to `connect`, or the
        only one that the token may use.
        """
        if name is None and self._chosen is not None:
            return self._chosen
        wanted = self._named if name is None else name
        known = self.guards()
        fitting = [remote for remote in known if wanted in (None, remote.id, remote.name)]
        if len(fitting) != 1:
            there = ", ".join(remote.name for remote in known[:8]) or "none"
            what = "must name a guard" if len(known) != 1 or wanted is not None else "is missing"
            raise InvalidParameter(f"guard {what}; the guards that this token may use are: {there}")
        if name is None:
            self._chosen = fitting[0]
        return fitting[0]

    def create_guard(
        self, name: str, sample: str, policy: Policy | Mapping[str, Any] | None = None, allow_overlap: str | None = None
    ) -> RemoteGuard:
        """Put a data set, given by its name or id, behind a guard (for stewards)."""
        body: dict[str, Any] = {"name": name, "sample": self._sample_id(sample)}
        if policy is not None:
            body["policy"] = policy.to_dict() if isinstance(policy, Policy) else dict(policy)
        if allow_overlap is not None:
            body["allow_overlap"] = allow_overlap
        return self._made(self._wire.post("/guards", body))

    def _sample_id(self, sample: str) -> str:
        """The id of a sample that is named; ids begin with `s_`."""
        if isinstance(sample, str) and sample.startswith("s_"):
            return sample
        known = {described["name"]: str(described["id"]) for described in self.samples()}
        if sample not in known:
            there = ", ".join(known) or "none"
            raise InvalidParameter(f"sample must be the name or the id of a data set on the server; there are: {there}")
        return known[sample]

    def samples(self) -> list[dict[str, Any]]:
        """Return all data sets on the server, each with its name, columns and number of rows (for stewards)."""
        return list(self._wire.get("/samples")["samples"])

    def upload_sample(
        self,
        name: str,
        file: str | Path,
        *,
        row_key: str | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Upload a .csv or .parquet file to the server as a data set (for stewards)."""
        path = Path(file)
        if path.suffix.lower() not in _KINDS:
            raise InvalidParameter(f"file must end in {' or '.join(_KINDS)}, got {path.name!r}")
        declared = None if columns is None else json.dumps([dict(column) for column in columns])
        kind = _KINDS[path.suffix.lower()]
        registered = self._wire.put_file(
            "/samples", path.read_bytes(), kind, name=name, row_key=row_key, columns=declared
        )
        return dict(registered)

    def register_sample(
        self,
        name: str,
        *,
        path: str | None = None,
        source: str | None = None,
        row_key: str | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """Register a file or a table as a data set (for stewards). The server's settings must allow this file
        or table.
        """
        given: dict[str, Any] = {"path": path, "source": source, "row_key": row_key}
        given["columns"] = None if columns is None else [dict(column) for column in columns]
        body = {"name": name} | {k: v for k, v in given.items() if v is not None}
        return dict(self._wire.post("/samples/register", body))

    def remove_sample(self, sample: str) -> None:
        """Remove a data set, given by its id, if no guard uses it (for stewards)."""
        self._wire.delete(f"/samples/{_segment('sample', sample)}")

    def reports(self) -> list[dict[str, Any]]:
        """Return the audit reports on the server, newest first. Stewards see all reports, analysts only the published
        ones.
        """
        return list(self._wire.get("/reports")["reports"])

    def report(self, report: str) -> dict[str, Any]:
        """Return the audit report with an id, with all its numbers, in the form that `holdfast.coherence.report.read`
        reads.
        """
        return dict(self._wire.get(f"/reports/{_segment('report', report)}/content"))

    def upload_report(self, name: str, file: str | Path, *, publish: bool = False) -> dict[str, Any]:
        """Upload the JSON report that `holdfast audit` wrote (for stewards). With `publish=True` it is shown to all
        analysts.

        Uploading the same file with the same name again changes nothing.
        """
        path = Path(file)
        if path.suffix.lower() != ".json":
            raise InvalidParameter(
                f"file must be the .json file that `holdfast audit` wrote next to its HTML report, got {path.name!r}"
            )
        report = dict(self._wire.put_file("/reports", path.read_bytes(), "application/json", name=name))
        return self.publish_report(report["id"]) if publish else report

    def publish_report(self, report: str, published: bool = True) -> dict[str, Any]:
        """Publish a report, given by its id, to all analysts, or withdraw it (for stewards)."""
        act = "publish" if published else "withdraw"
        return dict(self._wire.post(f"/reports/{_segment('report', report)}/{act}", {}, safe=True))

    def remove_report(self, report: str) -> None:
        """Delete a report, given by its id, permanently (for stewards)."""
        self._wire.delete(f"/reports/{_segment('report', report)}")

    def tokens(self) -> list[dict[str, Any]]:
        """Return all access tokens, without their secret texts (for stewards)."""
        return list(self._wire.get("/tokens")["tokens"])

    def issue_token(
        self, role: str, name: str, *, expires: datetime | str | None = None, guards: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Make an access token (for stewards). Its secret text is in the result under `token`, and is never shown
        again.
        """
        body: dict[str, Any] = {"role": role, "name": name}
        if expires is not None:
            body["expires"] = expires.isoformat() if isinstance(expires, datetime) else expires
        if guards is not None:
            body["guards"] = list(guards)
        return dict(self._wire.post("/tokens", body))

    def revoke_token(self, token: str) -> dict[str, Any]:
        """Revoke a token, given by its id, immediately (for stewards)."""
        return dict(self._wire.delete(f"/tokens/{_segment('token', token)}", safe=True))

    def shut(self) -> None:
        """Close the connection. Nothing changes on the server."""
        self._wire.close()

    def _path(self) -> str:
        return self.guard()._path()

    def _made(self, facts: Mapping[str, Any]) -> RemoteGuard:
        return RemoteGuard(self._wire, self._pinned, facts)

    def _pinned(self) -> str | None:
        if self._given is not None:
            return self._given
        with self._mutex:
            if self._seen is None:
                self._seen = self.me()
            key = self._seen.get("public_key")
        if key is None:
            return None
        try:
            return check_public("public_key", key)
        except InvalidParameter:
            raise ReceiptInvalid(
                "the server sent a public key that is not valid, so its receipts cannot be verified"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    def __repr__(self) -> str:
        return f"Connection({self.url!r})"

    def _repr_html_(self) -> str:
        rows = []
        for facts in self.describe_all():
            if facts["status"] == "damaged":
                rows.append((facts["name"], facts["id"], "", facts["status"], facts["problem"]))
                continue
            left = "; ".join(words for _, words in answers.remaining_rows({"all": facts["remaining"]}))
            rows.append((facts["name"], facts["id"], answers.short(facts["n"]), facts["status"], left or "no cap"))
        return answers.listing(f"Guards at {self.url}", ("name", "id", "rows", "status", "left"), rows)


def _segment(name: str, text: Any) -> str:
    """One part of a path, which cannot lead elsewhere."""
    if not isinstance(text, str) or not text.replace("_", "").isalnum() or not text.isascii():
        raise InvalidParameter(f"{name} must be an id that the server lists, of letters, digits and underscores")
    return text
