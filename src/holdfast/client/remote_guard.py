"""A guard on a server: the verbs of `hf.Guard`, sent over the wire."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from holdfast import check
from holdfast.client import display
from holdfast.client.answers import RemoteAnswer, RemoteEstimate, read_answer, read_estimate
from holdfast.client.asked import Asked as AskedHere
from holdfast.client.errors import ServerUnavailable, error_of, member, odd
from holdfast.client.receipts import check_receipt
from holdfast.client.submissions import (
    RemoteLeaderboard,
    RemoteSubmission,
    board_of,
    body_of,
    check_submission,
    checked,
    file_of,
    read_leaderboard,
    read_submission,
)
from holdfast.client.wire import Wire
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question

Asked = Question | Mapping[str, Any]
_PAGE = 500
Pin = Callable[[], str | None]
"""The key that must have signed every receipt; None where the server signs none."""


class Asking(ABC):
    """What an analyst does with a guard on a server."""

    _wire: Wire
    _pin: Pin
    _questions: AskedHere | None = None

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The name of the sample's ledger."""

    @abstractmethod
    def _path(self) -> str:
        """Where the guard is on the server."""

    def ask(self, question: Asked, *, key: str | None = None) -> RemoteAnswer:
        """Answer one question, as `Guard.ask` does. Whoever the token names is the analyst.

        Every question carries a key. If the connection is lost, it is asked again with the same key, and is answered
        and paid once. The receipt that comes back is checked against the pinned key before the answer is handed over.

        Parameters
        ----------
        question : Question, or its plain data
            See `hf.mean`, and `check`, `claim`, `compare`, `validate`, `histogram`, `select`, `test` in `hf.guard`.
        key : str, optional
            One of your own, for retries that outlive this process; by default a random one.

        Raises
        ------
        InvalidParameter, QuestionRefused, BudgetExhausted, GuaranteeUnavailable
            As from a guard. Nothing was spent.
        ServerUnavailable
            It kept failing for `patience` seconds. Its `key` is the one to ask again with.
        ReceiptInvalid
            The answer is not what the pinned key signed, or it is to another question.
        """
        plain = _plain(question)
        found = self._wire.post(f"{self._path()}/ask", {"question": plain}, key=key or fresh_key())
        return self._checked(found, plain)

    def ask_all(self, questions: Sequence[Asked], *, key: str | None = None) -> list[RemoteAnswer]:
        """Answer several questions that were chosen together, as `Guard.ask_all` does: all of them, or none.

        One `key` covers the batch; the server makes one for each question from it.
        """
        if not questions:
            return []
        plain = [_plain(one) for one in questions]
        found = member(
            self._wire.post(f"{self._path()}/batch", {"questions": plain}, key=key or fresh_key()), "answers"
        )
        if not isinstance(found, list) or len(found) != len(plain):
            raise odd()
        return [self._checked(one, asked) for one, asked in zip(found, plain, strict=True)]

    def stream(
        self, questions: Sequence[Asked], *, key: str | None = None
    ) -> Iterator[tuple[int, RemoteAnswer | HoldfastError]]:
        """Ask questions one after the other; the index and the answer of each come as soon as it is durable.

        A refused question does not stop those after it: the error comes in its place. A stream that breaks off raises
        `ServerUnavailable`; beginning it again with its `key` gives what was answered, free, and goes on. Nothing is
        sent before the first answer is asked for.
        """
        if not questions:
            return
        used, ended, seen = key or fresh_key(), False, 0
        plain = [_plain(one) for one in questions]
        for event in self._wire.lines(f"{self._path()}/stream", {"questions": plain}, used):
            kind = member(event, "event")
            if kind == "answered":
                index = _place(event, len(plain))
                yield index, self._checked(member(event, "answer"), plain[index])
                seen += 1
            elif kind == "refused":
                problem = member(event, "problem")
                status = member(problem, "status")
                if type(status) is not int:
                    raise odd()
                yield _place(event, len(plain)), error_of(status, problem)
                seen += 1
            ended = ended or kind == "done"
        if not ended or seen < len(questions):
            lost = ServerUnavailable("the stream broke off; what was answered comes back free with the same key")
            lost.key = used
            raise lost

    def submit(
        self,
        given: Any,
        *,
        board: str | None = None,
        keys: Any = None,
        guess: float | None = None,
        tolerance: float | None = None,
        name: str = "",
        output: str | None = None,
        entry: int | None = None,
        key: str | None = None,
    ) -> RemoteSubmission:
        """Have predictions, or a model, scored against the hidden labels.

        What is sent is checked here first, as the guard checks it. Like every question a submission carries a key, is
        sent again with it if the connection is lost, and is answered and paid once. The same submission again is free.

        Parameters
        ----------
        given : mapping, data frame, series, sequence, or path
            Row keys to predictions; a frame of pandas or polars with the key's column and one called `prediction`; a
            series of pandas whose index are the keys; predictions in the order of `keys`; or the path of a .csv,
            .parquet or .json file with the same, or of an .onnx model where the board takes models.
        board : str, optional
            Which board; may be left out where the guard has one.
        keys : sequence, optional
            The row keys, where `given` is a list or an array.
        guess : float, optional
            On a board of intervals, and needed there: the score on rows of your own.
        tolerance : float, optional
            A guess that stands is certified within this.
        name : str
            What the leaderboard calls it.
        output, entry : optional
            Of a model: which output is the prediction, by default the first; which entry of it, where it has several.
        key : str, optional
            As for `ask`.

        Raises
        ------
        InvalidParameter, QuestionRefused, BudgetExhausted
            As from a guard. Nothing was spent.
        ServerUnavailable, ReceiptInvalid
            As from `ask`.
        """
        sent, path = None, self._path()
        if isinstance(given, (str, Path)):
            content, kind = file_of(given)
        else:
            facts = self.describe()
            sent = checked(given, keys, board_of(facts, board), facts["schema"])
            content, kind = body_of(sent), "application/json"
        query = {"board": board, "guess": guess, "tolerance": tolerance, "output": output, "entry": entry}
        found = self._wire.put_file(
            f"{path}/submissions", content, kind, key=key or fresh_key(), name=name or None, **query
        )
        answer, pinned = read_submission(found), self._pin()
        if pinned is not None:
            check_submission(answer, check_receipt(answer, pinned, dataset=self.dataset).question, sent)
        return answer

    def leaderboard(self, board: str | None = None, *, every: bool = False) -> RemoteLeaderboard:
        """Who is where on a board, as far as the intervals tell. `every` submission of everybody is for stewards."""
        query = {"board": board, "every": "true" if every else None}
        return read_leaderboard(self._wire.get(f"{self._path()}/leaderboard", **query))

    def submissions(self, board: str | None = None) -> Iterator[dict[str, Any]]:
        """Submissions in order, as plain data: your own, or all of them for a steward. Fetched in pages."""
        following: int | None = 1
        while following is not None:
            page = self._wire.get(f"{self._path()}/submissions", board=board, first=following, limit=_PAGE)
            yield from member(page, "submissions")
            following = page.get("next")

    def estimate(self, question: Asked) -> RemoteEstimate:
        """What a question would cost and how wide its answer would be, if it were asked next. Spends nothing."""
        return read_estimate(self._wire.post(f"{self._path()}/estimate", {"question": _plain(question)}, safe=True))

    def level(self, alpha: float = 0.05) -> float:
        """The level at which a further p-value from these rows must reject to keep `alpha` after all answers so far."""
        return float(member(self._wire.get(f"{self._path()}/level", alpha=alpha), "level"))

    def adjusted(self, p: float) -> float:
        """What a further p-value from these rows is worth after all that was released; never below `p`."""
        return float(member(self._wire.get(f"{self._path()}/adjusted", p=p), "adjusted"))

    def remaining(self) -> dict[str, Any]:
        """What you, and all together, may still ask."""
        return dict(self._wire.get(f"{self._path()}/remaining"))

    def describe(self) -> dict[str, Any]:
        """Everything about the guard that this token may see: schema, rows, policy, status, progress, what is left."""
        return dict(self._wire.get(self._path()))

    @property
    def policy(self) -> Policy:
        """What is allowed now. An analyst sees no other analyst's share."""
        return Policy.from_dict(self.describe()["policy"])

    def entries(self, first: int = 1) -> Iterator[dict[str, Any]]:
        """Entries of the ledger in order, as plain data: your own, or all of them for a steward. Fetched in pages."""
        following: int | None = first
        while following is not None:
            page = self._wire.get(f"{self._path()}/entries", first=following, limit=_PAGE)
            yield from member(page, "entries")
            following = page.get("next")

    def latest(self, number: int = 20) -> list[dict[str, Any]]:
        """The last entries of the ledger, oldest first: your own, or all of them for a steward."""
        number = check.whole("number", number, at_least=1)
        found: list[dict[str, Any]] = []
        end = int(member(self.describe(), "entries"))
        while end >= 1 and len(found) < number:
            first = max(1, end - _PAGE + 1)
            page = self._wire.get(f"{self._path()}/entries", first=first, limit=end - first + 1)
            found, end = [*member(page, "entries"), *found], first - 1
        return found[-number:]

    def receipt(self, sequence: int) -> Receipt:
        """The receipt of an entry, checked against the pinned key."""
        found = Receipt.from_dict(self._wire.get(f"{self._path()}/entries/{int(sequence)}/receipt"))
        pinned = self._pin()
        return found if pinned is None else check_receipt(found, pinned, dataset=self.dataset)

    def _checked(self, plain: Any, question: Mapping[str, Any]) -> RemoteAnswer:
        answer, pinned = read_answer(plain), self._pin()
        if pinned is not None:
            receipt = check_receipt(answer, pinned, dataset=self.dataset)
            if self._questions is None:
                self._questions = AskedHere(self.describe)
            self._questions.require(receipt, question)
        return answer


class RemoteGuard(Asking):
    """One guard of a server. `Connection.guard` and `Connection.guards` give them.

    Attributes
    ----------
    id, name : str
        Its public id, and what the steward called it.

    Examples
    --------
    >>> wire = Wire("http://127.0.0.1:8321", "hf_0123", timeout=60, patience=0, insecure=False)
    >>> RemoteGuard(wire, lambda: None, {"id": "g1", "name": "people", "dataset": "sha256:00"})
    RemoteGuard('people', g1, http://127.0.0.1:8321)
    """

    def __init__(self, wire: Wire, pin: Pin, facts: Mapping[str, Any]) -> None:
        self._wire, self._pin = wire, pin
        self.id, self.name = str(member(facts, "id")), str(member(facts, "name"))
        self._dataset = str(member(facts, "dataset"))

    @property
    def dataset(self) -> str:
        """The name of the sample's ledger."""
        return self._dataset

    def _path(self) -> str:
        return f"/guards/{self.id}"

    def pause(self, reason: str = "") -> None:
        """Answer nothing until `resume`; recorded. For stewards."""
        self._wire.post(f"{self._path()}/pause", {"reason": reason})

    def resume(self, reason: str = "") -> None:
        """Answer again; recorded. For stewards."""
        self._wire.post(f"{self._path()}/resume", {"reason": reason})

    def close(self, reason: str = "") -> None:
        """Answer nothing any more; recorded, and for good. For stewards. `Connection.shut` lets go of a connection."""
        self._wire.post(f"{self._path()}/close", {"reason": reason})

    def override(self, policy: Policy | Mapping[str, Any], reason: str) -> None:
        """Put another policy in place; recorded, and answers after it say that they are not certified. For stewards."""
        plain = policy.to_dict() if isinstance(policy, Policy) else dict(policy)
        self._wire.post(f"{self._path()}/override", {"policy": plain, "reason": reason})

    def verify(self) -> dict[str, Any]:
        """Have the server check chain, arithmetic and signatures. For stewards. `holdfast verify` trusts no server."""
        return dict(self._wire.post(f"{self._path()}/verify", {}, safe=True))

    def __repr__(self) -> str:
        return f"RemoteGuard({self.name!r}, {self.id}, {self._wire.url})"

    def _repr_html_(self) -> str:
        return guard_card(self.describe())


def guard_card(facts: Mapping[str, Any]) -> str:
    """What a guard is and what is left, for a notebook."""
    columns = ", ".join(f"{one['name']} {one['kind']}" for one in facts["schema"]["columns"])
    rows: list[tuple[object, object]] = [
        ("status", facts["status"]),
        ("rows", display.short(facts["n"])),
        ("columns", columns),
        ("confidence", facts["policy"]["confidence"]),
        ("questions allowed", ", ".join(facts["policy"]["kinds"])),
        ("answered", f"{facts['progress']['answered']}, {facts['progress']['failed']} failed"),
    ]
    left = {"all": facts["remaining"]} | dict(facts["analysts"])
    return display.card(f"Guard {facts['name']}", [*rows, *display.remaining_rows(left)])


def fresh_key() -> str:
    """A random key."""
    return uuid.uuid4().hex


def _plain(question: Asked) -> dict[str, Any]:
    if not isinstance(question, (Question, Mapping)):
        raise InvalidParameter(
            f"a question must be one such as `hf.guard.check(...)`, or a mapping, got a {type(question).__name__}"
        )
    return question.to_dict() if isinstance(question, Question) else dict(question)


def _place(event: Any, number: int) -> int:
    """Which of the questions an event is about."""
    index = member(event, "index")
    if type(index) is not int or not 0 <= index < number:
        raise odd()
    return index


__all__ = ["Asking", "RemoteGuard", "fresh_key", "guard_card"]
