"""Checkpoints: what a chain had come to when somebody had checked all of it, signed by whoever checked.

Verifying may begin at one and read only what came after it. It then depends on the signer's word for what came before;
verifying from the first entry depends on nobody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.receipts import SigningKey, check_public, is_signed

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """The signed state of a verification after some entry of a ledger, from which a later verification can continue.

    Attributes
    ----------
    dataset, sequence, hash
        The chain, and the last entry that was checked.
    states : mapping
        For each account and secret the digest that was recorded last, and the entry that recorded it.
    signers : tuple of str
        The public keys that the entries announce.
    overrides : int
        How often a policy was put in the place of another.
    replay : mapping
        The totals that the entries add up to.
    public_key, signature : str
        Whose word this is.

    Examples
    --------
    >>> from holdfast.guard.ledger import SigningKey
    >>> checkpoint = Checkpoint("fingerprint", 7, "0" * 64, {}, (), 0, {}).signed(SigningKey.generate())
    >>> checkpoint.is_signed(), Checkpoint.from_dict(checkpoint.to_dict()) == checkpoint
    (True, True)
    """

    dataset: str
    sequence: int
    hash: str
    states: Mapping[str, tuple[str, int]] = field(repr=False)
    signers: tuple[str, ...] = field(repr=False)
    overrides: int
    replay: Mapping[str, Any] = field(repr=False)
    public_key: str = ""
    signature: str = field(default="", repr=False)

    def signed(self, key: SigningKey) -> Self:
        """Return the same checkpoint with a signature made with `key`."""
        named = replace(self, public_key=key.public)
        return replace(named, signature=key.sign(named._message()))

    def is_signed(self) -> bool:
        """Return whether `public_key` made the signature. You must know from elsewhere whose key that is."""
        return is_signed(self.public_key, self._message(), self.signature)

    def _message(self) -> bytes:
        stated = {name: value for name, value in self._plain().items() if name != "signature"}
        return to_canonical_json({"holdfast": "checkpoint", "format": FORMAT} | stated).encode("ascii")

    def _plain(self) -> dict[str, Any]:
        states = {name: list(state) for name, state in self.states.items()}
        return asdict(self) | {"states": states, "signers": list(self.signers), "replay": dict(self.replay)}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {"checkpoint": FORMAT} | self._plain()

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Make a checkpoint from plain data. Unknown fields are refused, because the signature would not cover them."""
        names = set(cls.__dataclass_fields__)
        if not isinstance(plain, Mapping) or plain.get("checkpoint") != FORMAT or set(plain) != names | {"checkpoint"}:
            raise InvalidParameter(
                f"a checkpoint must be an object with checkpoint = {FORMAT} and the fields {', '.join(sorted(names))}"
            )
        for name in ("dataset", "hash", "signature"):
            if not isinstance(plain[name], str):
                raise InvalidParameter(f"a checkpoint's {name} must be a text")
        try:
            states = {str(name): (str(digest), int(number)) for name, (digest, number) in plain["states"].items()}
            replay, signers = dict(plain["replay"]), tuple(map(str, plain["signers"]))
        except (AttributeError, TypeError, ValueError):
            raise InvalidParameter(
                "a checkpoint's states, signers and replay must have the form in which `holdfast verify` wrote them"
            ) from None
        return cls(
            plain["dataset"],
            arguments.whole("sequence", plain["sequence"], at_least=1),
            plain["hash"],
            states,
            signers,
            arguments.whole("overrides", plain["overrides"], at_least=0),
            replay,
            check_public("public_key", plain["public_key"]),
            plain["signature"],
        )
