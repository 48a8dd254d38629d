"""One entry of a ledger: what happened, chained by SHA-256 to everything before it.

The hash of an entry is the SHA-256 of its `document`: one canonical JSON text that holds every field, the hash of the
entry before it included. The first entry follows `START`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from json.encoder import encode_basestring_ascii
from typing import Any, Self

from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import InvalidParameter

FORMAT = 1
"""The meaning of a document; it is part of what is hashed, so that a later meaning cannot be read into an old text."""

START = "0" * 64
"""The hash that the first entry follows."""

KINDS = (
    "opened",
    "analyst",
    "reserved",
    "answered",
    "refused",
    "refreshed",
    "override",
    "overlapped",
    "paused",
    "resumed",
    "closed",
    "extended",
)

SEAT = "seat"
"""What a body calls the entry's place in its analyst's own chain, where histories are separate."""
_HIDDEN = (SEAT, "accounts", "paid")
"""Parts of such a body that its analyst is not shown: they go by the whole chain."""

_LONGEST_NAME = 200


@dataclass(frozen=True)
class Head:
    """The end of a ledger's chain: the number and the hash of its last entry, and the public key with which it is
    signed (None if it is not signed).
    """

    sequence: int = 0
    hash: str = START
    signer: str | None = None


@dataclass(frozen=True)
class Entry:
    """One entry of a ledger. It stores its content as texts, so that it cannot be changed; `body` and `states` parse
    these texts on every access.

    Attributes
    ----------
    dataset : str
        The fingerprint of the data whose chain this is.
    sequence : int
        1 for the first entry; without gaps.
    time : str
        When it was written, by the writer's clock, UTC.
    kind : str
        One of `KINDS`.
    text : str
        The body as canonical JSON.
    analyst, key, question : str or None
        Who asked, the key that makes a retry the same question, and the question's digest.
    states_text : str
        Canonical JSON: digests of the accounts and secrets that changed with this entry.
    signer : str or None
        A public key, where signing begins or passes to another key.
    previous, hash : str
        The chain.
    """

    dataset: str
    sequence: int
    time: str
    kind: str
    text: str = field(repr=False)
    analyst: str | None
    key: str | None
    question: str | None
    states_text: str = field(repr=False)
    signer: str | None = field(repr=False)
    previous: str = field(repr=False)
    hash: str

    @classmethod
    def following(
        cls,
        head: Head,
        *,
        dataset: str,
        time: str,
        kind: str,
        body: Mapping[str, Any],
        analyst: str | None = None,
        key: str | None = None,
        question: str | None = None,
        states: Mapping[str, str] | None = None,
        signer: str | None = None,
    ) -> Self:
        """Make the entry that follows the entry `head`, and compute its hash.

        Examples
        --------
        >>> first = Entry.following(Head(), dataset="d", time="2030-01-01T00:00:00+00:00", kind="opened", body={})
        >>> first.sequence, first.previous == START, first.hash == first.computed_hash()
        (1, True, True)
        """
        arguments.choice("kind", kind, KINDS)
        for name, value in (("analyst", analyst), ("key", key), ("question", question)):
            if value is not None:
                check_name(name, value)
        if not isinstance(body, Mapping):
            raise InvalidParameter(f"body must be a mapping, got a {type(body).__name__}")
        values: dict[str, Any] = {
            "dataset": dataset,
            "sequence": head.sequence + 1,
            "time": time,
            "kind": kind,
            "text": canonical("body", body),
            "analyst": analyst,
            "key": key,
            "question": question,
            "states_text": to_canonical_json(states or {}),
            "signer": signer,
            "previous": head.hash,
        }
        return cls(**values, hash=sha256(_document(**values)))

    @property
    def body(self) -> dict[str, Any]:
        """The content of the entry, parsed from its text. Each access gives a new object."""
        read: dict[str, Any] = json.loads(self.text)
        return read

    @property
    def states(self) -> dict[str, str]:
        """The digests of the accounts and secrets that were changed together with this entry."""
        read: dict[str, str] = json.loads(self.states_text)
        return read

    @property
    def has_seat(self) -> bool:
        """Whether the entry's analyst has a separate chain of entries. The body is parsed only if its text mentions
        such a chain.
        """
        return f'"{SEAT}"' in self.text and self.body.get(SEAT) is not None

    def document(self) -> str:
        """Return the entry as canonical JSON. The SHA-256 of this text is the entry's hash."""
        return _document(
            dataset=self.dataset,
            sequence=self.sequence,
            time=self.time,
            kind=self.kind,
            text=self.text,
            analyst=self.analyst,
            key=self.key,
            question=self.question,
            states_text=self.states_text,
            signer=self.signer,
            previous=self.previous,
        )

    def computed_hash(self) -> str:
        """Compute the hash from the fields. For an unchanged entry it equals the stored `hash`."""
        return sha256(self.document())

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain data: the fields of its document, and its hash."""
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "sequence": self.sequence,
            "time": self.time,
            "kind": self.kind,
            "analyst": self.analyst,
            "key": self.key,
            "question": self.question,
            "body": self.body,
            "states": self.states,
            "signer": self.signer,
            "previous": self.previous,
            "hash": self.hash,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make an entry from the plain data that `to_dict()` returned. Its hash is not checked here; `verify` does
        that.
        """
        try:
            if plain["format"] != FORMAT:
                raise InvalidParameter(f"format must be {FORMAT}, got {plain['format']!r}")
            return cls(
                text=to_canonical_json(plain["body"]),
                states_text=to_canonical_json(plain["states"]),
                **{name: plain[name] for name in _PLAIN},
            )
        except (KeyError, TypeError):
            raise InvalidParameter("a stored entry must have the fields that Entry.to_dict() returns") from None


_PLAIN = ("dataset", "sequence", "time", "kind", "analyst", "key", "question", "signer", "previous", "hash")


def _document(
    *,
    dataset: str,
    sequence: int,
    time: str,
    kind: str,
    text: str,
    analyst: str | None,
    key: str | None,
    question: str | None,
    states_text: str,
    signer: str | None,
    previous: str,
) -> str:
    # Keys in order, so that this is the canonical JSON of the whole, made without reading the body again.
    quoted = _quoted
    return (
        f'{{"analyst":{quoted(analyst)},"body":{text},"dataset":{quoted(dataset)},"format":{FORMAT},'
        f'"key":{quoted(key)},"kind":{quoted(kind)},"previous":{quoted(previous)},"question":{quoted(question)},'
        f'"sequence":{sequence},"signer":{quoted(signer)},"states":{states_text},"time":{quoted(time)}}}'
    )


def _quoted(text: str | None) -> str:
    return encode_basestring_ascii(text) if isinstance(text, str) else json.dumps(text)


def number_of(entry: Entry) -> int:
    """Return the number that an entry's analyst knows it by."""
    return int(entry.body[SEAT]["sequence"]) if entry.has_seat else entry.sequence


def as_seen(entry: Entry) -> Entry:
    """Return an entry as its analyst may see it: the same where it has no seat."""
    if not entry.has_seat:
        return entry
    body = entry.body
    seat = body[SEAT]
    return replace(
        entry,
        sequence=seat["sequence"],
        text=to_canonical_json(shown_body(body)),
        states_text="{}",
        signer=None,
        previous=seat["previous"],
        hash=seat["hash"],
    )


def shown_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an analyst with a seat may see of the body of an answer."""
    return {name: value for name, value in body.items() if name not in _HIDDEN}


def canonical(name: str, value: Any) -> str:
    """Canonical JSON of plain data; `InvalidParameter` for anything else, NaN included.

    Examples
    --------
    >>> canonical("state", {"b": 1, "a": [2]})
    '{"a":[2],"b":1}'
    """
    try:
        return to_canonical_json(value)
    except (TypeError, ValueError, RecursionError):
        raise InvalidParameter(f"{name} must be plain data that JSON can hold, without NaN") from None


def check_name(name: str, value: Any) -> str:
    """Return a printable text of 1 to 200 characters, which every store holds alike.

    Examples
    --------
    >>> check_name("analyst", "ann")
    'ann'
    """
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_NAME or not value.isprintable():
        raise InvalidParameter(f"{name} must be a printable text of 1 to {_LONGEST_NAME} characters")
    return value


def sha256(text: str) -> str:
    """SHA-256 of an ASCII text, in hexadecimal digits.

    Examples
    --------
    >>> sha256("")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(text.encode("ascii", "backslashreplace")).hexdigest()


def account_digest(text: str) -> str:
    """Return the digest of an account's state that goes into the entry that changed it."""
    return sha256(text)


def secret_digest(salt: str, text: str) -> str:
    """Return the digest of a secret state: with a fresh random salt it reveals nothing about the state."""
    return sha256(f"{salt}:{text}")
