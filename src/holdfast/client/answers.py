"""What comes back from a server: answers, estimates, receipts, and how they look in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.accounting import Cost
from holdfast.client.errors import ReceiptInvalid, odd
from holdfast.core.extras import named_extras
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.answer import GuardedAnswer, left_by_name
from holdfast.guard.estimates import Estimate
from holdfast.guard.ledger.entry import canonical
from holdfast.guard.ledger.receipts import Receipt, check_public
from holdfast.guard.policy import Policy
from holdfast.guard.questions import Question
from holdfast.holdout.error_budget import Price

# --- Display ----------------------------------------------------------------------------------------------------------
# How answers and guards look in a notebook: small tables and an interval drawn to scale, every text escaped.

Row = tuple[str, str]
_WIDE, _HIGH = 320, 28


def card(title: str, rows: Iterable[tuple[object, object]], picture: str = "") -> str:
    """Return a titled table. `picture` is markup of ours; everything else is escaped.

    Examples
    --------
    >>> card("Answer", [("value", "<b>1</b>")])
    '<div class="holdfast"><strong>Answer</strong><table><tr><th style="text-align:left">value</th>...&lt;b&gt;1...'
    """
    lines = "".join(
        f'<tr><th style="text-align:left">{text(name)}</th><td style="text-align:left">{text(value)}</td></tr>'
        for name, value in rows
    )
    return f'<div class="holdfast"><strong>{text(title)}</strong>{picture}<table>{lines}</table></div>'


def listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table with a head."""
    return marked_listing(title, columns, ((text(cell) for cell in row) for row in rows))


def marked_listing(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table with a head whose cells are markup of ours: whatever came from elsewhere went through `text`."""
    head = "".join(f"<th>{text(column)}</th>" for column in columns)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="holdfast"><strong>{text(title)}</strong>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def interval_picture(value: Any, interval: Any, low: float = 0.0, high: float = 1.0) -> str:
    """Return an interval and its value on the range from `low` to `high`, or on a wider one that holds them."""
    if not _pair(interval) or not _number(value):
        return ""
    low, high = min(low, interval[0], value), max(high, interval[1], value)
    if not high > low:
        return ""
    left, right, middle = (_place(one, low, high) for one in (interval[0], interval[1], value))
    words = text(f"{short(value)} in [{short(interval[0])}, {short(interval[1])}], on a scale from {low:g} to {high:g}")
    return (
        f'<svg role="img" aria-label="{words}" width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}">'
        f'<line x1="6" y1="14" x2="{_WIDE - 6}" y2="14" stroke="currentColor" stroke-opacity="0.25"/>'
        f'<line x1="{left:.1f}" y1="14" x2="{right:.1f}" y2="14" stroke="currentColor" stroke-width="4"/>'
        f'<circle cx="{middle:.1f}" cy="14" r="5" fill="currentColor"/></svg>'
    )


def remaining_rows(remaining: Mapping[str, Any]) -> list[Row]:
    """Return what is left, a line for each whose it is."""
    rows = []
    for who, left in remaining.items():
        if isinstance(left, Mapping) and left:
            parts = [f"{short(amount)} {name}" for name, amount in left.items() if _number(amount)]
            rows.append((f"left ({who})", ", ".join(parts) or "no cap"))
    return rows


def short(value: Any) -> str:
    """Return a number in few digits, anything else as its text.

    Examples
    --------
    >>> short(0.123456789), short(1000000), short(None)
    ('0.123457', '1,000,000', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if _number(value) else str(value)


def interval_text(interval: Any) -> str:
    """Return the two ends of an interval, to follow a number; nothing where there are none.

    Examples
    --------
    >>> interval_text([0.25, 0.5]), interval_text(None)
    (' in [0.25, 0.5]', '')
    """
    return f" in [{short(interval[0])}, {short(interval[1])}]" if _pair(interval) else ""


def text(value: object) -> str:
    """Return a text that is shown as it is and never read as markup."""
    return html.escape(str(value), quote=True)


def _place(value: float, low: float, high: float) -> float:
    return 6 + (_WIDE - 12) * (value - low) / (high - low)


def _pair(interval: Any) -> bool:
    return isinstance(interval, (list, tuple)) and len(interval) == 2 and all(_number(end) for end in interval)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --- Answers ----------------------------------------------------------------------------------------------------------
# Answers and estimates from a server: the guard's own, with a display for notebooks.


@dataclass(frozen=True)
class RemoteAnswer(GuardedAnswer):
    """A `GuardedAnswer` that came from a server.

    Examples
    --------
    >>> from holdfast.core.guarantee import Guarantee
    >>> answer = RemoteAnswer(0.81, [0.78, 0.84], Guarantee("transfer.interleaved"), sequence=3)
    >>> "0.81" in answer._repr_html_()
    True
    """

    def _repr_html_(self) -> str:
        title = "Stored answer, free" if self.repeated else "Answer"
        rows: list[tuple[object, object]] = [("answer", self.sentence)]
        if isinstance(self.value, Mapping):
            for label, one in self.value.items():
                ends = self.interval.get(label) if isinstance(self.interval, Mapping) else None
                rows.append((label, short(one) + interval_text(ends)))
        elif self.value is not None:
            rows.append(("value", short(self.value) + interval_text(self.interval)))
        if self.cost is not None:
            rows.append(("cost", "nothing" if self.repeated else str(self.cost)))
        if not self.repeated:  # what was left when it was stored may have been somebody else's
            rows += remaining_rows(self.remaining)
        rows += [("guarantee", str(self.guarantee)), ("entry", self.sequence)]
        return card(title, rows, interval_picture(self.value, self.interval))


@dataclass(frozen=True)
class RemoteEstimate(Estimate):
    """An `Estimate` that came from a server.

    Examples
    --------
    >>> print(RemoteEstimate(None, 0.02, True))
    admitted, within 0.02
    """

    def _repr_html_(self) -> str:
        rows: list[tuple[object, object]] = [("would be", str(self))]
        rows += [("test", sentence) for sentence in self.test_sentences()]
        return card("Estimate", [*rows, *remaining_rows(self.remaining)])


def read_answer(plain: Any, question: Mapping[str, Any] | None = None) -> RemoteAnswer:
    """Return an answer as the server sent it, to a question as it was asked here."""
    try:
        asked = None if question is None else _named_fields(question)
        return RemoteAnswer.stored(plain, plain["sequence"], plain["repeated"], plain["receipt"], asked)
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


def _named_fields(question: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a question that have a value; None for a kind that only a newer server has."""
    try:
        asked = Question.from_dict(question).to_dict()
    except InvalidParameter:
        return None
    return {name: value for name, value in asked.items() if value is not None}


def read_estimate(plain: Any) -> RemoteEstimate:
    """Return an estimate as the server sent it."""
    try:
        cost = None if plain["cost"] is None else Cost.from_dict(plain["cost"])
        told = ("half_width", "admitted", "repeated", "reason", "least_tolerance")
        within, price = plain.get("passes_within"), plain.get("failure_price")
        return RemoteEstimate(
            cost,
            **{name: plain[name] for name in told},
            remaining=left_by_name(plain["remaining"]),
            test=plain.get("test"),
            passes_within=None if within is None else (float(within[0]), float(within[1])),
            failure_price=None if price is None else Price(price["widening"], price["final_widening"]),
            advice=plain.get("advice", ""),
        )
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


# --- Receipts ---------------------------------------------------------------------------------------------------------
# Receipts checked offline, against a public key that was pinned.


def check_receipt(
    answer: GuardedAnswer | Receipt | Mapping[str, Any], public_key: str, *, dataset: str | None = None
) -> Receipt:
    """Check a receipt offline: that it was signed with the given public key, and that it belongs to this answer.

    A valid receipt proves that the owner of the key recorded this answer as this entry of a ledger. To check that the
    ledger still has the entry, and that its arithmetic is right, run `holdfast verify LEDGER --receipt FILE`.

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
    holdfast.client.errors.ReceiptInvalid: the receipt is signed by another key than the server's public key that ...
    """
    pinned = check_public("public_key", public_key)
    receipt, released, sequence = _parts(answer)
    if receipt.public_key != pinned:
        raise ReceiptInvalid(
            "the receipt is signed by another key than the server's public key that this client has stored (pinned), "
            "so the answer cannot be trusted"
        )
    with named_extras("client"):
        signed = receipt.is_signed()
    if not signed:
        raise ReceiptInvalid(
            "the signature of the receipt does not fit its content, so the receipt was changed or forged"
        )
    if dataset is not None and receipt.dataset != dataset:
        raise ReceiptInvalid("the receipt is about another data set than the one that was asked")
    if sequence is not None and receipt.sequence != sequence:
        raise ReceiptInvalid("the answer names another entry of the ledger than its receipt does")
    if released is not None and canonical("an answer", released) != canonical("an answer", receipt.answer):
        raise ReceiptInvalid("the answer differs from the answer in the signed receipt")
    return receipt


def _parts(answer: Any) -> tuple[Receipt, Any, int | None]:
    """The receipt, what was released next to it, and the entry that was named."""
    if isinstance(answer, Receipt):
        return answer, None, None
    if isinstance(answer, Mapping) and isinstance(answer.get("receipt"), (Mapping, type(None))):
        answer = GuardedAnswer.stored(answer, answer.get("sequence", 0), False, answer.get("receipt"))
    if isinstance(answer, GuardedAnswer):
        if answer.receipt is None:
            raise ReceiptInvalid("the answer has no receipt, so it cannot be verified")
        return _read(answer.receipt), answer.released(), answer.sequence
    return _read(answer), None, None


def _read(plain: Any) -> Receipt:
    try:
        return Receipt.from_dict(plain)
    except InvalidParameter as error:
        raise ReceiptInvalid(str(error)) from None


# --- Asked ------------------------------------------------------------------------------------------------------------
# Which question an answer must be to: the digest that a guard knows it by, worked out here and not taken from there.
#
# A receipt is signed over the digest of its question. Unless it is compared, whoever is in between could answer one
# question with the signed answer to another.


@dataclass(frozen=True)
class GuardFacts:
    """What a question is bound to: the columns, the number of rows, and what the policy leaves open."""

    schema: Schema
    n: int
    policy: Policy
    epochs: int = 1

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> GuardFacts:
        """From what a guard says about itself."""
        try:
            rows = facts.get("pooled") or [facts["n"]]  # of all epochs, where the question is about all
            n = sum(map(int, rows))
            return cls(Schema.from_dict(facts["schema"]), n, Policy.stored(facts["policy"]), len(rows))
        except (InvalidParameter, AttributeError, KeyError, TypeError, ValueError, OverflowError):
            raise ReceiptInvalid(
                "the server's description of the guard cannot be read, so its answers cannot be checked"
            ) from None

    def digests(self, question: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return the digests that a question can have, one for each phase; None where they cannot be worked out here.

        Examples
        --------
        >>> people = GuardFacts(Schema({"age": "integer not null"}), 100, Policy())
        >>> people.digests({"kind": "check", "expression": "age<40", "guess": 0.5}) == people.digests(
        ...     {"kind": "check", "expression": "age < 40.0", "guess": 0.5}
        ... )
        True
        """
        try:
            made = Question.from_dict(question)
        except InvalidParameter:  # a kind that only a newer server has; the question is ours, so no server chose it
            return None
        try:
            bound = made.bind(self.schema, self.n, self.policy)
            bound = bound.over(self.epochs) if self.epochs > 1 else bound
            return tuple(one.digest for one in bound.phases())
        except ModuleNotFoundError:  # expressions as text are read by the extra `tables`
            return None
        except HoldfastError:
            raise ReceiptInvalid(
                "the question cannot be asked of a guard such as the server describes, so the server's answer to it "
                "cannot be checked"
            ) from None


class AskedQuestions:
    """The questions of one guard, to be compared with receipts."""

    def __init__(self, describe: Callable[[], Mapping[str, Any]]) -> None:
        self._describe = describe
        self._facts: GuardFacts | None = None

    def require(self, receipt: Receipt, question: Mapping[str, Any]) -> None:
        """Refuse a receipt that is not to this question."""
        facts = self._facts
        if facts is not None and receipt.question in (facts.digests(question) or ()):
            return
        # Looked up anew: costs that a question leaves open are the policy's, which a steward may have overridden.
        facts = self._facts = GuardFacts.of(self._describe())
        expected = facts.digests(question)
        if expected is not None and receipt.question not in expected:
            raise ReceiptInvalid(
                "the answer has a valid signature, but it answers another question than the one that was asked"
            )
