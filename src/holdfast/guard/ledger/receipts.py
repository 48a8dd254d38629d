"""A receipt: what was answered, where it stands in the ledger, and a signature over both.

Whoever holds one can show later that the ledger once held that entry. A ledger that was cut off, rewritten or replaced
no longer fits it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Entry, canonical, sha256
from holdfast.guard.ledger.signing import SigningKey, is_signed

FORMAT = 1


@dataclass(frozen=True)
class Receipt:
    """A signed statement about one entry. `answer`, `cost` and `guarantee` are those of the entry's body.

    Examples
    --------
    >>> from holdfast.guard.ledger import Entry, Head, SigningKey
    >>> entry = Entry.following(
    ...     Head(), dataset="d", time="2030-01-01T00:00:00+00:00", kind="answered", body={"answer": {"value": 0.5}}
    ... )
    >>> receipt = Receipt.of(entry, SigningKey.generate())
    >>> receipt.is_signed(), Receipt.from_dict(receipt.to_dict()) == receipt, receipt.differences(entry)
    (True, True, [])
    >>> from dataclasses import replace
    >>> replace(receipt, answer={"value": 0.6}).is_signed()
    False
    """

    dataset: str
    sequence: int
    hash: str
    question: str | None
    answer: Any
    cost: Any
    guarantee: Any
    public_key: str
    signature: str = field(repr=False)

    @classmethod
    def of(cls, entry: Entry, key: SigningKey) -> Self:
        """The receipt of an entry that is durable. The same entry and key always give the same receipt."""
        stated = _stated(entry) | {"public_key": key.public}
        return cls(**stated, signature=key.sign(_message(stated)))

    def is_signed(self) -> bool:
        """Whether the signature is that of `public_key`; whose key that is must be known from elsewhere."""
        stated = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "signature"}
        try:
            message = _message(stated)
        except InvalidParameter:
            return False
        return is_signed(self.public_key, message, self.signature)

    def differences(self, entry: Entry | None) -> list[str]:
        """The fields in which the ledger's entry is another than this receipt says."""
        if entry is None:
            return ["sequence"]
        held = _stated(entry)
        return [name for name, value in held.items() if _text(value) != _text(getattr(self, name))]

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return {"receipt": FORMAT} | {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read a receipt; one with other fields is refused, because they would not be signed."""
        names = {f.name for f in fields(cls)}
        if not isinstance(plain, Mapping) or plain.get("receipt") != FORMAT or set(plain) != names | {"receipt"}:
            raise InvalidParameter(f"a receipt must be an object with receipt: {FORMAT} and {', '.join(sorted(names))}")
        for name in ("dataset", "hash", "public_key", "signature"):
            if not isinstance(plain[name], str):
                raise InvalidParameter(f"a receipt's {name} must be a text")
        if type(plain["sequence"]) is not int or plain["sequence"] < 1:
            raise InvalidParameter("a receipt's sequence must be a whole number, at least 1")
        return cls(**{name: plain[name] for name in names})


def read_receipts(text: str) -> list[Receipt]:
    """Receipts in a JSON text: one, a list of them, or answers that carry them under `receipt`.

    Examples
    --------
    >>> read_receipts("[]")
    []
    """
    try:
        plain = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidParameter("a receipt must be JSON") from None
    found = []
    for one in plain if isinstance(plain, list) else [plain]:
        inner = one.get("receipt") if isinstance(one, Mapping) else None
        found.append(Receipt.from_dict(inner if isinstance(inner, Mapping) else one))
    return found


def _stated(entry: Entry) -> dict[str, Any]:
    body = entry.body
    answer = body.get("answer")
    guarantee = body.get("guarantee")
    if guarantee is None and isinstance(answer, Mapping):
        guarantee = answer.get("guarantee")
    return {
        "dataset": entry.dataset,
        "sequence": entry.sequence,
        "hash": entry.hash,
        "question": entry.question,
        "answer": answer,
        "cost": body.get("cost"),
        "guarantee": guarantee,
    }


def _message(stated: Mapping[str, Any]) -> bytes:
    return canonical("a receipt", {"holdfast": "receipt", "format": FORMAT} | dict(stated)).encode("ascii")


def _text(value: Any) -> str:
    return sha256(canonical("a receipt", value))


__all__ = ["FORMAT", "Receipt", "read_receipts"]
