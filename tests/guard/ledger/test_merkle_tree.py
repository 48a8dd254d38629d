"""A receipt is checked against a published head: only what the head was signed for passes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.cli.main import run
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger import Inclusion, Ledger, Receipt, SigningKey, Store, TreeHead, open_store
from holdfast.guard.ledger.merkle_tree import CHUNK, Tree, leaf_of, root_from, root_of
from tests.guard.ledger.stores import DATASET, spend

SIZES = (1, 2, 3, 7, 8, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK + 3)


def hashes(count: int) -> list[str]:
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


def test_the_roots_are_those_of_rfc_6962() -> None:
    """The certificate-transparency test vectors: seven leaves, hashed by the same rules."""
    inputs = ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
    leaves = [hashlib.sha256(b"\x00" + bytes.fromhex(text)).digest() for text in inputs]
    assert root_of(leaves[:1]).hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    assert root_of(leaves[:3]).hex() == "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"
    assert root_of(leaves).hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


@pytest.mark.parametrize("size", SIZES)
def test_every_path_leads_to_the_root_and_no_other_entry_does(size: int) -> None:
    entries = hashes(size)
    tree = Tree(lambda first, last: entries[first - 1 : last])
    root = tree.root(size)
    assert root == root_of([leaf_of(one) for one in entries])
    for sequence in {1, size, (size + 1) // 2, min(size, CHUNK + 1)}:
        path = tree.path(sequence, size)
        assert len(path) <= size.bit_length()
        assert root_from(leaf_of(entries[sequence - 1]), sequence, size, path) == root
        assert root_from(leaf_of("0" * 64), sequence, size, path) != root
        assert root_from(leaf_of(entries[sequence - 1]), sequence, size, [*path, root]) is None
        if size > 1:
            assert root_from(leaf_of(entries[sequence - 1]), sequence % size + 1, size, path) != root


def test_an_earlier_head_is_proved_after_the_chain_has_grown() -> None:
    entries = hashes(2000)
    tree = Tree(lambda first, last: entries[first - 1 : last])
    roots = {size: tree.root(size) for size in (5, 700, 1500, 2000)}
    for size, root in roots.items():
        assert root_from(leaf_of(entries[3]), 4, size, tree.path(4, size)) == root


@pytest.fixture
def proved(store: Store) -> tuple[Ledger, Receipt, TreeHead, Inclusion]:
    ledger = store.ledger(DATASET)
    for number in range(6):
        ledger.submit(spend(f"k{number}", 9))
    (entry,) = ledger.entries(4, 4)
    assert ledger.key is not None
    return ledger, Receipt.of(entry, ledger.key), ledger.tree_head(), ledger.inclusion(4)


CHANGES: list[Callable[[Receipt, TreeHead, Inclusion], tuple[Receipt, TreeHead, Inclusion]]] = [
    lambda r, h, i: (replace(r, answer=5), h, i),
    lambda r, h, i: (replace(r, hash="0" * 64), h, i),
    lambda r, h, i: (replace(r, sequence=3), h, i),
    lambda r, h, i: (replace(r, dataset="x"), h, i),
    lambda r, h, i: (r, replace(h, root="0" * 64), i),
    lambda r, h, i: (r, replace(h, sequence=7), i),
    lambda r, h, i: (r, replace(h, public_key=SigningKey.generate().public), i),
    lambda r, h, i: (r, replace(h, signature="0" * 128), i),
    lambda r, h, i: (r, h, replace(i, sequence=3)),
    lambda r, h, i: (r, h, replace(i, size=5)),
    lambda r, h, i: (r, h, replace(i, dataset="x")),
    lambda r, h, i: (r, h, replace(i, path=i.path[::-1])),
    lambda r, h, i: (r, h, replace(i, path=i.path[:-1])),
]


def test_a_receipt_fits_and_each_changed_field_is_found(
    proved: tuple[Ledger, Receipt, TreeHead, Inclusion], store: Store
) -> None:
    ledger, *parts = proved
    receipt, head, inclusion = parts
    assert inclusion.problems(receipt, head) == []
    assert inclusion.problems(receipt, head, head.public_key) == []
    for change in CHANGES:
        changed_receipt, changed_head, changed = change(receipt, head, inclusion)
        assert changed.problems(changed_receipt, changed_head), change
    forger = SigningKey.generate()
    (entry,) = ledger.entries(4, 4)
    forged = Receipt.of(replace(entry, hash="f" * 64), forger), TreeHead.of(DATASET, 6, b"\0" * 32, forger)
    assert inclusion.problems(*forged, public_key=head.public_key)
    ledger.submit(spend("later", 9))
    assert ledger.inclusion(4, size=6).problems(receipt, head) == []
    assert ledger.inclusion(4).problems(receipt, ledger.tree_head()) == []
    assert TreeHead.from_dict(head.to_dict()) == head
    assert Inclusion.from_dict(json.loads(json.dumps(inclusion.to_dict()))) == inclusion


def test_a_rewritten_ledger_does_not_hold_the_receipt() -> None:
    """Whoever has the key and rewrites the whole chain can sign another head, and no path leads to it."""
    key = SigningKey.generate()
    ledgers = []
    for answer in (1, 2):
        ledger = open_store(None, key=key).ledger(DATASET)
        for number in range(5):
            ledger.submit(lambda t, n=number, a=answer: t.append("answered", {"answer": [n, a]}, analyst="ann"))
        ledgers.append(ledger)
    (entry,) = ledgers[0].entries(2, 2)
    found = ledgers[1].inclusion(2).problems(Receipt.of(entry, key), ledgers[1].tree_head())
    assert found == ["the ledger that the head was signed for does not hold the receipt's entry"]


@pytest.mark.parametrize(("sequence", "size"), [(0, None), (7, None), (4, 3), (1, 7)])
def test_what_is_not_there_has_no_path(
    proved: tuple[Ledger, Receipt, TreeHead, Inclusion], sequence: int, size: int | None
) -> None:
    with pytest.raises(InvalidParameter):
        proved[0].inclusion(sequence, size)


@pytest.mark.parametrize(
    "change", [{"path": ["x"]}, {"path": "x"}, {"size": 0}, {"sequence": 0}, {"more": 1}, {"inclusion": 2}]
)
def test_what_is_no_path_is_refused(change: dict[str, object]) -> None:
    plain = Inclusion("d", 1, 2, ("0" * 64,)).to_dict()
    with pytest.raises(InvalidParameter):
        Inclusion.from_dict(plain | change)


def test_the_command_checks_a_receipt_without_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        ledger = store.ledger(DATASET)
        for number in range(3):
            ledger.submit(spend(f"k{number}", 9))
        assert ledger.key is not None
        (entry,) = ledger.entries(2, 2)
        plain = {
            "receipt": Receipt.of(entry, ledger.key).to_dict(),
            "head": ledger.tree_head().to_dict(),
            "proof": ledger.inclusion(2).to_dict(),
        }
    for name, content in plain.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "ledger.db").unlink()
    words = [str(tmp_path / "receipt.json"), "--head", str(tmp_path / "head.json")]
    assert run(["verify", *words]) == 2
    words += ["--proof", str(tmp_path / "proof.json")]
    assert run(["verify", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"ok": True, "findings": []}
    assert run(["verify", *words, "--public-key", "0" * 64]) == 1
    (tmp_path / "receipt.json").write_text(json.dumps(plain["receipt"] | {"answer": 99}))
    assert run(["verify", *words]) == 1
    assert "signature" in capsys.readouterr().err
