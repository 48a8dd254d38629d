"""A Merkle tree over the hashes of a chain's entries: who holds a receipt checks it against a published head alone.

The tree is that of RFC 6962: a leaf is the SHA-256 of a zero byte and the entry's hash, a node that of a one byte and
its two children, and a tree of n leaves splits at the largest power of two below n. A `TreeHead` is signed by the
ledger's key and says how many entries there were and what the root was. An `Inclusion` is the path from one entry to
that root: some twenty hashes for a million entries.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.receipts import Receipt, SigningKey, is_signed

FORMAT = 1
CHUNK = 256
"""Leaves whose common node is kept in memory; what is below is read again for a proof."""
_LEVEL = CHUNK.bit_length() - 1
_DIGITS = frozenset("0123456789abcdef")


def leaf_of(entry_hash: str) -> bytes:
    """Return the leaf of an entry, from its hash in hexadecimal digits."""
    return hashlib.sha256(b"\x00" + bytes.fromhex(entry_hash)).digest()


def node_of(left: bytes, right: bytes) -> bytes:
    """Return the node above two nodes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaves in order.

    Examples
    --------
    >>> root_of([]).hex()[:16]                                                      # as RFC 6962 says
    'e3b0c44298fc1c14'
    """
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    split = _split(len(leaves))
    return node_of(root_of(leaves[:split]), root_of(leaves[split:]))


def _split(count: int) -> int:
    """The largest power of two below a count of at least 2."""
    return 1 << ((count - 1).bit_length() - 1)


class Tree:
    """The tree over a chain that only grows. `read(first, last)` gives the hashes of entries, numbered from 1.

    Time for a proof does not grow with the chain once its nodes are known; they are read on first use.

    Examples
    --------
    >>> hashes = [f"{number:064x}" for number in range(1000)]
    >>> tree = Tree(lambda first, last: hashes[first - 1 : last])
    >>> path = tree.path(7, 1000)
    >>> root_from(leaf_of(hashes[6]), 7, 1000, path) == tree.root(1000), len(path)
    (True, 10)
    """

    def __init__(self, read: Callable[[int, int], Sequence[str]]) -> None:
        self._read = read
        self._levels: list[list[bytes]] = [[]]
        self._growing = threading.Lock()

    def root(self, size: int) -> bytes:
        """Return the root over the first `size` entries."""
        self._grow(size)
        return self._node(0, size)

    def path(self, sequence: int, size: int) -> list[bytes]:
        """The nodes that lead from entry `sequence` to the root over the first `size` entries, the lowest first."""
        self._grow(size)
        low, high, path = 0, size, list[bytes]()
        while high - low > 1:
            middle = low + _split(high - low)
            if sequence - 1 < middle:
                path.append(self._node(middle, high))
                high = middle
            else:
                path.append(self._node(low, middle))
                low = middle
        return path[::-1]

    def _node(self, low: int, high: int) -> bytes:
        """The node over leaves `low` to `high`, counted from 0, the last excluded."""
        width = high - low
        if width <= CHUNK:
            return root_of([leaf_of(entry) for entry in self._read(low + 1, high)])
        level = width.bit_length() - 1 - _LEVEL
        if width & (width - 1) == 0 and low % width == 0:
            return self._levels[level][low // width]
        middle = low + _split(width)
        return node_of(self._node(low, middle), self._node(middle, high))

    def _grow(self, size: int) -> None:
        """Add the nodes that are complete within the first `size` entries."""
        with self._growing:
            for number in range(len(self._levels[0]), size // CHUNK):
                node = self._node(number * CHUNK, (number + 1) * CHUNK)
                for level in self._levels:
                    level.append(node)
                    if len(level) % 2:
                        break
                    node = node_of(*level[-2:])
                else:
                    self._levels.append([node])


def root_from(leaf: bytes, sequence: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a path leads to from the leaf of entry `sequence`; None where the path has not the right length."""
    low, high, sides = 0, size, list[bool]()
    while high - low > 1:
        middle = low + _split(high - low)
        is_left = sequence - 1 < middle
        sides.append(is_left)
        low, high = (low, middle) if is_left else (middle, high)
    if len(sides) != len(path):
        return None
    node = leaf
    for is_left, other in zip(reversed(sides), path, strict=True):
        node = node_of(node, other) if is_left else node_of(other, node)
    return node


@dataclass(frozen=True)
class TreeHead:
    """A signed statement about a whole ledger: its number of entries, and the root of the hash tree over them.

    It shows nothing of the entries' content, so it can be published. Whoever keeps a copy can later prove that entries
    were changed.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> ledger = open_store().ledger("fingerprint")
    >>> entry = ledger.submit(lambda transaction: transaction.append("answered", {"answer": 42}, analyst="ann"))
    >>> head = ledger.tree_head()
    >>> head.sequence, head.is_signed(), TreeHead.from_dict(head.to_dict()) == head
    (1, True, True)
    """

    dataset: str
    sequence: int
    root: str
    public_key: str
    signature: str = field(repr=False)

    @classmethod
    def of(cls, dataset: str, sequence: int, root: bytes, key: SigningKey) -> Self:
        """Make and sign the statement about the current state of a ledger."""
        unsigned = cls(dataset, sequence, root.hex(), key.public, "")
        return cls(dataset, sequence, root.hex(), key.public, key.sign(unsigned._message()))

    def is_signed(self) -> bool:
        """Return whether `public_key` made the signature. You must know from elsewhere whose key that is."""
        return is_signed(self.public_key, self._message(), self.signature)

    def _message(self) -> bytes:
        stated = {name: value for name, value in asdict(self).items() if name != "signature"}
        return to_canonical_json({"holdfast": "tree-head", "format": FORMAT} | stated).encode("ascii")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {"tree_head": FORMAT} | asdict(self)

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Make a head from plain data. Unknown fields are refused, because the signature would not cover them."""
        fields = _fields("tree_head", plain, ("dataset", "sequence", "root", "public_key", "signature"))
        _check_hexadecimal("a tree_head's root", fields["root"])
        return cls(**fields)


@dataclass(frozen=True)
class Inclusion:
    """A proof that an entry is in the ledger: the path of hashes in the Merkle tree from the entry to the root over the
    first `size` entries, beginning with the lowest node.
    """

    dataset: str
    sequence: int
    size: int
    path: tuple[str, ...]

    def problems(self, receipt: Receipt, head: TreeHead, public_key: str | None = None) -> list[str]:
        """Check a receipt against this path and a published head, and return the problems that were found. The list is
        empty if the receipt's entry is in the ledger.

        Parameters
        ----------
        receipt : Receipt
            What its holder was given with an answer.
        head : TreeHead
            Got from elsewhere than the path: published, or from another participant.
        public_key : str, optional
            The only key that may have signed. Without it receipt and head must name the same one.

        Examples
        --------
        >>> from holdfast.guard.ledger import Receipt, open_store
        >>> ledger = open_store().ledger("fingerprint")
        >>> entry = ledger.submit(lambda transaction: transaction.append("answered", {"answer": 42}, analyst="ann"))
        >>> receipt = Receipt.of(entry, ledger.key)
        >>> ledger.inclusion(1).problems(receipt, ledger.tree_head())
        []
        """
        if receipt.seat is not None:
            return ["the receipt counts its analyst's own answers, and a head is about all of them: ask the data owner"]
        problems = []
        if not receipt.is_signed():
            problems.append("the receipt's signature does not fit its content")
        if not head.is_signed():
            problems.append("the head's signature does not fit its content")
        if {receipt.public_key, head.public_key} != {public_key or head.public_key}:
            problems.append("the receipt and the head were not signed with the same key, the one that is trusted")
        if len({receipt.dataset, head.dataset, self.dataset}) > 1:
            problems.append("the receipt, the head and the proof are not about the same ledger")
        if self.sequence != receipt.sequence:
            problems.append(f"the proof is about entry {self.sequence}, the receipt about entry {receipt.sequence}")
        if self.size != head.sequence:
            problems.append(
                f"the proof is for {self.size} entries, the head for {head.sequence}: get one for that size"
            )
        if not problems and self._root(receipt.hash) != head.root:
            problems.append("the ledger that the head was signed for does not hold the receipt's entry")
        return problems

    def _root(self, entry_hash: str) -> str | None:
        try:
            leaf = leaf_of(entry_hash)
        except ValueError:
            return None
        root = root_from(leaf, self.sequence, self.size, [bytes.fromhex(node) for node in self.path])
        return None if root is None else root.hex()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return {"inclusion": FORMAT} | asdict(self) | {"path": list(self.path)}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Make an inclusion proof from plain data."""
        fields = _fields("inclusion", plain, ("dataset", "sequence", "size", "path"))
        size = arguments.whole("size", fields["size"], at_least=fields["sequence"])
        path = fields["path"]
        if not isinstance(path, list) or len(path) > size.bit_length():
            raise InvalidParameter("an inclusion's path must be a list of hashes, one for each level of the tree")
        for node in path:
            _check_hexadecimal("a hash of an inclusion's path", node)
        return cls(fields["dataset"], fields["sequence"], size, tuple(path))


def _fields(kind: str, plain: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(plain, Mapping) or plain.get(kind) != FORMAT or set(plain) != {kind, *names}:
        raise InvalidParameter(f"the {kind} must be an object with {kind} = {FORMAT} and the fields {', '.join(names)}")
    for name in ("dataset", "public_key", "signature"):
        if name in names and not isinstance(plain[name], str):
            raise InvalidParameter(f"the {name} of {kind} must be a text")
    arguments.whole("sequence", plain["sequence"], at_least=0 if kind == "tree_head" else 1)
    return {name: plain[name] for name in names}


def _check_hexadecimal(name: str, text: Any) -> None:
    if not isinstance(text, str) or len(text) != 64 or not set(text) <= _DIGITS:
        raise InvalidParameter(f"{name} must be 64 hexadecimal digits")
