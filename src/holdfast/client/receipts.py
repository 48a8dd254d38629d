"""Receipts checked offline, against a public key that was pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.client.errors import ReceiptInvalid
from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger.entry import canonical
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.signing import check_public


def check_receipt(
    answer: GuardedAnswer | Receipt | Mapping[str, Any], public_key: str, *, dataset: str | None = None
) -> Receipt:
    """Check a receipt without asking anybody: that the pinned key signed it, and that the answer is the signed one.

    A receipt shows that the holder of the key recorded this answer at this place of a ledger. That the ledger still
    says so, and that its arithmetic is right, is what `holdfast verify LEDGER --receipt FILE` checks.

    Parameters
    ----------
    answer : GuardedAnswer, Receipt or mapping
        An answer with its receipt, or a receipt, or either as plain data.
    public_key : str
        The key that must have signed, from a source that is not the server asked: 64 hexadecimal digits.
    dataset : str, optional
        The name of the ledger that it must be from.

    Raises
    ------
    ReceiptInvalid
        Something does not fit.

    Examples
    --------
    >>> from holdfast.guard.ledger import Entry, Head, SigningKey
    >>> key = SigningKey.generate()
    >>> entry = Entry.following(
    ...     Head(), dataset="d", time="2030-01-01T00:00:00+00:00", kind="answered", body={"answer": {"value": 0.5}}
    ... )
    >>> check_receipt(Receipt.of(entry, key), key.public).sequence
    1
    >>> check_receipt(Receipt.of(entry, key), "0" * 64)
    Traceback (most recent call last):
    ...
    holdfast.client.errors.ReceiptInvalid: the receipt is signed by another key than the pinned one
    """
    pinned = check_public("public_key", public_key)
    receipt, released, sequence = _parts(answer)
    if receipt.public_key != pinned:
        raise ReceiptInvalid("the receipt is signed by another key than the pinned one")
    with named_extras("client"):
        signed = receipt.is_signed()
    if not signed:
        raise ReceiptInvalid("the receipt's signature is wrong: it was changed, or forged")
    if dataset is not None and receipt.dataset != dataset:
        raise ReceiptInvalid("the receipt is about another data set")
    if sequence is not None and receipt.sequence != sequence:
        raise ReceiptInvalid("the answer names another entry than its receipt")
    if released is not None and canonical("an answer", released) != canonical("an answer", receipt.answer):
        raise ReceiptInvalid("the answer is not the one that the receipt was signed for")
    return receipt


def _parts(answer: Any) -> tuple[Receipt, Any, int | None]:
    """The receipt, what was released beside it, and the entry that was named."""
    if isinstance(answer, Receipt):
        return answer, None, None
    if isinstance(answer, Mapping) and isinstance(answer.get("receipt"), (Mapping, type(None))):
        answer = GuardedAnswer.stored(answer, answer.get("sequence", 0), False, answer.get("receipt"))
    if isinstance(answer, GuardedAnswer):
        if answer.receipt is None:
            raise ReceiptInvalid("the answer has no receipt")
        return _read(answer.receipt), answer.released(), answer.sequence
    return _read(answer), None, None


def _read(plain: Any) -> Receipt:
    try:
        return Receipt.from_dict(plain)
    except InvalidParameter as error:
        raise ReceiptInvalid(str(error)) from None


__all__ = ["check_receipt"]
