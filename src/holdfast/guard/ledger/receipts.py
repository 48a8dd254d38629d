"""Ed25519 keys that sign the head of a ledger, and receipts: what was answered, where it stands, and a signature."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from holdfast.core.copying import NoCopy
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Entry, Head, as_seen, canonical, sha256

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


# --- Signing ----------------------------------------------------------------------------------------------------------
# Ed25519 keys: they sign receipts, and the head of a ledger so that a cut-off tail shows.


class SigningKey(NoCopy):
    """A private key with which a ledger is signed. Only its public half can be read, and it cannot be pickled.

    Examples
    --------
    >>> key = SigningKey.generate()
    >>> is_signed(key.public, b"text", key.sign(b"text")), is_signed(key.public, b"other", key.sign(b"text"))
    (True, False)
    """

    _not_copied = "a private key cannot be pickled; load it from its file where it is needed"

    def __init__(self, private: Ed25519PrivateKey) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._private = private
        self._public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @classmethod
    def generate(cls) -> SigningKey:
        """Make a new random key, with randomness from the operating system."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | Path) -> SigningKey:
        """Read a key file (PEM, PKCS 8). A file that others may read is refused."""
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        path = Path(path)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise InvalidParameter(f"the key file {path} must be readable by its owner only; run `chmod 600 {path}`")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidParameter(
                f"the key file {path} must contain one Ed25519 private key in PEM format, without a password"
            )
        return cls(key)

    @classmethod
    def load_or_create(cls, path: str | Path) -> SigningKey:
        """Read a key file. If it does not exist, make one that only its owner can read. Two processes that do this at
        the same time get the same key.
        """
        path = Path(path)
        if not path.exists():
            fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            try:
                with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(cls.generate()._pem())
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):  # another process was first; its key is then read
                    os.link(fresh, path)
                _sync_folder(path.parent)
            finally:
                fresh.unlink(missing_ok=True)
        return cls.load(path)

    @property
    def public(self) -> str:
        """The public key, as 64 hexadecimal digits."""
        return self._public

    def sign(self, message: bytes) -> str:
        """Return the signature of a message: 128 hexadecimal digits, always the same for the same message."""
        return self._private.sign(message).hex()

    def _pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def __repr__(self) -> str:
        return f"SigningKey(public={self._public!r})"


def is_signed(public: str, message: bytes, signature: str) -> bool:
    """Whether `signature` is the one that the key `public` makes for `message`. Texts of a wrong form are not."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key, mark = _from_hex(public, 32), _from_hex(signature, 64)
        Ed25519PublicKey.from_public_bytes(key).verify(mark, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def check_public(name: str, text: Any) -> str:
    """Return a public key in 64 hexadecimal digits, lower case."""
    try:
        return _from_hex(text, 32).hex()
    except ValueError:
        raise InvalidParameter(f"{name} must be a public key of 64 hexadecimal digits") from None


def head_message(dataset: str, head: Head) -> bytes:
    """Return what is signed when a chain ends here."""
    signed = {"holdfast": "head", "dataset": dataset, "sequence": head.sequence, "hash": head.hash}
    return to_canonical_json(signed).encode("ascii")


def _from_hex(text: Any, length: int) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * length or text != text.lower():
        raise ValueError("the text is not in the canonical form (lower-case hexadecimal digits)")
    return bytes.fromhex(text)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- Receipts ---------------------------------------------------------------------------------------------------------
# A receipt: what was answered, where it stands in the ledger, and a signature over both.
#
# Whoever holds one can show later that the ledger once held that entry. A ledger that was cut off, rewritten or
# replaced no longer fits it.

FORMAT = 1


@dataclass(frozen=True)
class Receipt:
    """A signed statement that a ledger has a certain entry. `answer`, `cost` and `guarantee` are copied from the
    entry's body.

    If analysts have separate histories, `seat` is the analyst's name, and `sequence` and `hash` belong to the separate
    chain of that analyst (`holdfast.guard.ledger.seats`).

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
    seat: str | None = None

    @classmethod
    def of(cls, entry: Entry, key: SigningKey, body: Mapping[str, Any] | None = None) -> Self:
        """Return the receipt of an entry that is durable. The same entry and key always give the same receipt.

        `body` is the entry's, where the caller has parsed it already.
        """
        stated = _stated(entry, body) | {"public_key": key.public}
        return cls(**stated, signature=key.sign(_message(stated)))

    @property
    def place(self) -> tuple[str | None, int]:
        """The analyst in whose separate chain the entry is counted (None for the ledger's own chain), and its number in
        that chain.
        """
        return self.seat, self.sequence

    def is_signed(self) -> bool:
        """Return whether `public_key` made the signature. You must know from elsewhere whose key that is."""
        stated = {name: value for name, value in self._plain().items() if name != "signature"}
        try:
            message = _message(stated)
        except InvalidParameter:
            return False
        return is_signed(self.public_key, message, self.signature)

    def differences(self, entry: Entry | None) -> list[str]:
        """Compare the receipt with the ledger's entry and return the names of the fields that differ."""
        if entry is None:
            return ["sequence"]
        held = _stated(entry)
        return [name for name, value in held.items() if _text(value) != _text(getattr(self, name))]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {"receipt": FORMAT} | self._plain()

    def _plain(self) -> dict[str, Any]:
        """The fields; that of the seat where there is one."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return named if self.seat is not None else {name: value for name, value in named.items() if name != "seat"}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Make a receipt from plain data. Unknown fields are refused, because the signature would not cover them."""
        names = {f.name for f in fields(cls)} - {"seat"}
        if isinstance(plain, Mapping) and plain.get("seat") is not None:
            names.add("seat")
        if not isinstance(plain, Mapping) or plain.get("receipt") != FORMAT or set(plain) != names | {"receipt"}:
            raise InvalidParameter(
                f"a receipt must be an object with receipt = {FORMAT} and the fields {', '.join(sorted(names))}"
            )
        for name in ("dataset", "hash", "public_key", "signature", "seat"):
            if name in names and not isinstance(plain[name], str):
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
    receipts = []
    for receipt in plain if isinstance(plain, list) else [plain]:
        inner = receipt.get("receipt") if isinstance(receipt, Mapping) else None
        receipts.append(Receipt.from_dict(_whole(receipt, inner) if isinstance(inner, Mapping) else receipt))
    return receipts


_REPEATED = ("answer", "cost", "guarantee")


def without_repetition(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as plain data whose receipt leaves out what the answer around it has; `read_receipts` restores it.

    The receipt stays whole where it could not be restored exactly.

    Examples
    --------
    >>> import holdfast as hf
    >>> guard = hf.Guard.open(None, hf.data.table({"age": [23, 59] * 500}), hf.guard.Policy(questions=5))
    >>> answer = guard.ask(hf.guard.check("age < 40", guess=0.5)).to_dict()
    >>> brief = without_repetition(answer)
    >>> "guarantee" in answer["receipt"], "guarantee" in brief["receipt"]
    (True, False)
    >>> read_receipts(json.dumps(brief)) == read_receipts(json.dumps(answer))
    True
    """
    receipt = answer.get("receipt")
    if not isinstance(receipt, Mapping):
        return dict(answer)
    brief = {name: value for name, value in receipt.items() if name not in _REPEATED}
    return dict(answer) | ({"receipt": brief} if _whole(answer, brief) == receipt else {})


def _whole(answer: Mapping[str, Any], receipt: Mapping[str, Any]) -> Mapping[str, Any]:
    """A receipt with what `without_repetition` left out of it."""
    if "answer" in receipt:
        return receipt
    signed = {name: value for name, value in answer.items() if name not in ("receipt", "repeated", "sequence")}
    return {**receipt, "answer": signed, "cost": answer.get("cost"), "guarantee": answer.get("guarantee")}


def _stated(entry: Entry, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    seat = {"seat": entry.analyst} if entry.has_seat else {}
    if seat or body is None:
        entry = as_seen(entry)
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
    } | seat


def _message(stated: Mapping[str, Any]) -> bytes:
    return canonical("a receipt", {"holdfast": "receipt", "format": FORMAT} | dict(stated)).encode("ascii")


def _text(value: Any) -> str:
    return sha256(canonical("a receipt", value))
