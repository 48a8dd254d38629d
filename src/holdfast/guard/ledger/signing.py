"""Ed25519 keys: they sign receipts, and the head of a ledger so that a cut-off tail shows."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Head
from holdfast.strict_json import to_canonical_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class SigningKey:
    """A private key. It shows its public half only, and cannot be pickled.

    Examples
    --------
    >>> key = SigningKey.generate()
    >>> is_signed(key.public, b"text", key.sign(b"text")), is_signed(key.public, b"other", key.sign(b"text"))
    (True, False)
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        self._private = private
        self._public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @classmethod
    def generate(cls) -> SigningKey:
        """A new key, from the operating system's entropy."""
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
            raise InvalidParameter(f"the key file {path} must be readable by its owner only: chmod 600 {path}")
        try:
            key = load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidParameter(f"the key file {path} must hold one Ed25519 private key in PEM, without a password")
        return cls(key)

    @classmethod
    def load_or_create(cls, path: str | Path) -> SigningKey:
        """Read a key file, or make one that only its owner can read. Two processes that do so at once get one key."""
        path = Path(path)
        if not path.exists():
            made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            try:
                with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(cls.generate()._pem())
                    file.flush()
                    os.fsync(file.fileno())
                with suppress(FileExistsError):  # another process was first; its key is then read
                    os.link(made, path)
                _sync_folder(path.parent)
            finally:
                made.unlink(missing_ok=True)
        return cls.load(path)

    @property
    def public(self) -> str:
        """The public key: 64 hexadecimal digits."""
        return self._public

    def sign(self, message: bytes) -> str:
        """The signature of a message: 128 hexadecimal digits, always the same for the same message."""
        return self._private.sign(message).hex()

    def _pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def __repr__(self) -> str:
        return f"SigningKey(public={self._public!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a private key cannot be pickled; load it from its file where it is needed")


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
    """A public key in 64 hexadecimal digits, lower case."""
    try:
        return _from_hex(text, 32).hex()
    except ValueError:
        raise InvalidParameter(f"{name} must be a public key of 64 hexadecimal digits") from None


def head_message(dataset: str, head: Head) -> bytes:
    """What is signed when a chain ends here."""
    signed = {"holdfast": "head", "dataset": dataset, "sequence": head.sequence, "hash": head.hash}
    return to_canonical_json(signed).encode("ascii")


def _from_hex(text: Any, length: int) -> bytes:
    if not isinstance(text, str) or len(text) != 2 * length or text != text.lower():
        raise ValueError("not in the one form that is read")
    return bytes.fromhex(text)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


__all__ = ["SigningKey", "check_public", "head_message", "is_signed"]
