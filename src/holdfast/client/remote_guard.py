"""A guard on a server: the verbs of `hf.Guard`, sent over the wire."""

from __future__ import annotations

import hashlib
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.accounting import Cost
from holdfast.client import answers
from holdfast.client.answers import (
    AskedQuestions,
    RemoteAnswer,
    RemoteEstimate,
    check_receipt,
    read_answer,
    read_estimate,
)
from holdfast.client.errors import ReceiptInvalid, ServerUnavailable, error_of, member, odd
from holdfast.client.wire import Wire
from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json, to_json
from holdfast.data.schema import column_words
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.analyst import AnalystGuard, QuestionLike
from holdfast.guard.answer import GuardedAnswer, left_by_name
from holdfast.guard.contest import Contest
from holdfast.guard.epochs import ALL, EpochName, check_epoch
from holdfast.guard.leaderboard import Leaderboard, Place
from holdfast.guard.ledger.merkle_tree import Inclusion, TreeHead
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.scoring.board import Board, chosen
from holdfast.guard.scoring.predictions import Predictions, columns_of, predictions
from holdfast.guard.sql import SqlAnswer, SqlEstimate

# --- Submissions ------------------------------------------------------------------------------------------------------
# Submissions to a board of a server, and its leaderboard: what is sent, what comes back, how it looks.

KINDS = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".onnx": "application/onnx",
}
"""Files that can be submitted, by what their names end in."""
_OWN = (
    "board",
    "metric",
    "rule",
    "name",
    "analyst",
    "time",
    "predictions",
    "count",
    "guess",
    "tolerance",
    "improved",
    "confirmed",
)
_IDENTITY = ("board", "metric", "rule", "predictions", "count", "guess", "tolerance", "analyst")


@dataclass(frozen=True)
class RemoteSubmission(RemoteAnswer):
    """The answer to a submission, as it came from a server.

    Attributes
    ----------
    board, metric, rule, name, analyst, time
        Where it was scored and how, what it is called, whose it is, and when.
    predictions, count
        The digest of the predictions or of the model, which the ledger keeps in their place, and how many there were.
    guess, tolerance
        What was checked, on a board of intervals.
    improved : bool or None
        On a ladder: whether it beat the best so far; of a repeat, whether nothing has beaten it since.
    confirmed : bool or None
        On a board of intervals: whether the guess passed.
    """

    board: str = ""
    metric: str = ""
    rule: str = ""
    name: str = ""
    analyst: str = ""
    time: str = ""
    predictions: str = ""
    count: int = 0
    guess: float | None = None
    tolerance: float | None = None
    improved: bool | None = None
    confirmed: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return super().to_dict() | {name: getattr(self, name) for name in _OWN}

    def question_digest(self) -> str:
        """Return the digest with which the ledger identifies the submission, computed from the submission as the server
        describes it.
        """
        named = {name: getattr(self, name) for name in _IDENTITY}
        return hashlib.sha256(to_canonical_json({"kind": "score", **named}).encode()).hexdigest()

    def _repr_html_(self) -> str:
        title = f"{self.name or 'Submission'} on {self.board}"
        title += ": scored before, free" if self.repeated else ""
        shown = (
            "nothing" if self.value is None else f"{answers.short(self.value)}{answers.interval_text(self.interval)}"
        )
        rows: list[tuple[object, object]] = [("answer", self.sentence), (self.metric, shown)]
        rows += answers.remaining_rows(self.remaining)
        rows += [("guarantee", str(self.guarantee)), ("entry", self.sequence)]
        return answers.card(title, rows, answers.interval_picture(self.value, self.interval))


@dataclass(frozen=True)
class RemoteLeaderboard(Leaderboard):
    """A `Leaderboard` that came from a server. Notebooks show it as a table with a drawing of the interval of each
    place.

    Examples
    --------
    >>> board = Board("income", key="id", label="rich", metric="accuracy")
    >>> print(RemoteLeaderboard(board, 0.95, (), 0))
    income (accuracy, intervals), 0 submissions
    """

    def _repr_html_(self) -> str:
        low, high = self.board.range
        rows = []
        for place in self.places:
            rows.append(
                (
                    answers.text(place.rank_text),
                    answers.text(place.analyst),
                    answers.text(place.name),
                    answers.text(answers.short(place.value) + answers.interval_text(place.interval)),
                    answers.interval_picture(place.value, place.interval, low, high),
                )
            )
        title = f"{self.board.name}: {self.board.metric}, {self.submissions} submissions"
        return answers.marked_listing(title, ("rank", "analyst", "submission", "score", ""), rows)


def board_of(facts: Mapping[str, Any], name: str | None) -> Board:
    """Return the board of a guard that is meant: by its name, or the only one."""
    return chosen([Board.from_dict(board) for board in facts["policy"].get("boards") or ()], name)


def checked(given: Any, keys: Any, board: Board, schema: Mapping[str, Any]) -> Predictions:
    """Predictions in whatever form, checked as the guard checks them, before anything is sent."""
    from holdfast.data.schema import Schema
    from holdfast.guard.scoring.tally import prediction_kind

    columns = Schema.from_dict(schema)
    kind = prediction_kind(board, columns[board.label].kind)
    return predictions(columns_of(given, keys, board.key), board.key, columns[board.key].kind, kind)


def body_of(made: Predictions) -> bytes:
    """Predictions as they are sent."""
    return to_json({"keys": made.keys.tolist(), "predictions": made.values.tolist()}).encode()


def file_of(path: str | Path) -> tuple[bytes, str]:
    """Return a file as it is sent, and its media type."""
    place = Path(path)
    kind = KINDS.get(place.suffix.lower())
    if kind is None:
        raise InvalidParameter(f"the file must end in {', '.join(KINDS)}, got {place.name!r}")
    return place.read_bytes(), kind


def read_submission(plain: Any) -> RemoteSubmission:
    """Return a submission as the server sent it."""
    try:
        submission = RemoteSubmission.stored(plain, plain["sequence"], plain["repeated"], plain["receipt"])
        own = {name: plain[name] for name in _OWN}
        return replace(submission, question={"kind": "score", **own}, **own)
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


def check_submission(found: RemoteSubmission, receipt_question: str | None, sent: Predictions | None) -> None:
    """Refuse an answer to another submission than the one that was sent."""
    if sent is not None and found.predictions != sent.digest:
        raise ReceiptInvalid("the server scored other predictions than the ones that were sent to it")
    if receipt_question != found.question_digest():
        raise ReceiptInvalid("the receipt is about another submission than the one that was sent")


def read_leaderboard(plain: Any) -> RemoteLeaderboard:
    """Return a leaderboard as the server sent it."""
    try:
        places = tuple(_place_of(place) for place in plain["places"])
        board = Board.from_dict(plain["board"])
        return RemoteLeaderboard(board, float(plain["confidence"]), places, int(plain["submissions"]))
    except (InvalidParameter, KeyError, TypeError, ValueError, OverflowError):
        raise odd() from None


def read_table(plain: Any, answers: Sequence[GuardedAnswer]) -> SqlAnswer:
    """Return the table that a statement gave, as the server sent it."""
    try:
        rows, ends, about = ([dict(row) for row in plain[name]] for name in ("rows", "intervals", "about_rows"))
        return SqlAnswer(tuple(map(str, plain["columns"])), rows, ends, about, answers, str(plain.get("note", "")))
    except (KeyError, TypeError, ValueError):
        raise odd() from None


def _place_of(plain: Mapping[str, Any]) -> Place:
    pairs = {name: None if plain[name] is None else tuple(plain[name]) for name in ("interval", "rank")}
    return Place(**{**plain, **pairs, "tied": tuple(plain["tied"])})


# --- Remote guard -----------------------------------------------------------------------------------------------------

_PAGE = 500
_LAST = 2**62
"""A number that no entry has: what comes before it are the last ones."""
Pin = Callable[[], str | None]
"""The key that must have signed every receipt; None where the server signs none."""


class Asking(ABC):
    """What an analyst does with a guard on a server: an `AnalystGuard` whose analyst the token names."""

    _wire: Wire
    _pin: Pin
    _questions: AskedQuestions | None = None

    @property
    @abstractmethod
    def dataset(self) -> str:
        """The name of the data set in its ledger."""

    @abstractmethod
    def _path(self) -> str:
        """Where the guard is on the server."""

    def ask(self, question: QuestionLike, *, key: str | None = None, epoch: EpochName = None) -> RemoteAnswer:
        """Answer one question, as `Guard.ask` does. The analyst is the owner of the access token.

        Every question is sent with an idempotency key. If the connection is lost, the question is sent again with the
        same key, and is answered and charged only once. The receipt of the answer is checked against the pinned public
        key before the answer is returned.

        Parameters
        ----------
        question : Question, or its plain data
            Of any kind: `hf.mean`, and `hf.guard.KIND` for each of `hf.guard.Question.kinds()` (docs/questions.md).
        key : str, optional
            One of your own, for retries that outlive this process; by default a random one.
        epoch : int or "all", optional
            Of a guard that was extended: which epoch, or all of them as one sample. By default the latest, where this
            is the guard of the first epoch.

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
        body = {"question": plain} | _named(epoch)
        return self._checked(self._wire.post(f"{self._path()}/ask", body, key=key or fresh_key()), plain, epoch)

    def ask_all(
        self, questions: Sequence[QuestionLike], *, key: str | None = None, epoch: EpochName = None
    ) -> list[RemoteAnswer]:
        """Answer several questions that were chosen together, as `Guard.ask_all` does. Either all of them are answered,
        or none.

        One idempotency `key` is given for the batch, and the server derives the key of each question from it.
        """
        if not questions:
            return []
        plain = [_plain(one) for one in questions]
        body = {"questions": plain} | _named(epoch)
        answers = member(self._wire.post(f"{self._path()}/batch", body, key=key or fresh_key()), "answers")
        if not isinstance(answers, list) or len(answers) != len(plain):
            raise odd()
        return [self._checked(one, asked, epoch) for one, asked in zip(answers, plain, strict=True)]

    def stream(
        self, questions: Sequence[QuestionLike], *, key: str | None = None
    ) -> Iterator[tuple[int, RemoteAnswer | HoldfastError]]:
        """Ask questions one after the other, and yield the index and the answer of each as soon as the ledger has
        stored it.

        If a question is refused, its error comes in the place of an answer, and the next questions are still asked. If
        the connection breaks, `ServerUnavailable` is raised. A new stream with the same `key` returns the earlier
        answers for free and continues. Nothing is sent before the first answer is requested.
        """
        if not questions:
            return
        used, ended, seen = key or fresh_key(), False, 0
        plain = [_plain(one) for one in questions]
        for event in self._wire.lines(f"{self._path()}/stream", {"questions": plain}, used):
            kind = member(event, "event")
            if kind == "answered":
                index = _index_of(event, len(plain))
                yield index, self._checked(member(event, "answer"), plain[index])
                seen += 1
            elif kind == "refused":
                problem = member(event, "problem")
                status = member(problem, "status")
                if type(status) is not int:
                    raise odd()
                yield _index_of(event, len(plain)), error_of(status, problem)
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

        The submission is checked here before it is sent, as the guard checks it. Like every question, it is sent with
        an idempotency key: if the connection is lost, it is sent again with the same key, and is scored and charged
        only once. Repeating the same submission is free.

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
            A guess that passes is certified within this.
        name : str
            The submission's name on the leaderboard.
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
        submitted = self._wire.put_file(
            f"{path}/submissions", content, kind, key=key or fresh_key(), name=name or None, **query
        )
        answer, pinned = read_submission(submitted), self._pin()
        if pinned is not None:
            check_submission(answer, check_receipt(answer, pinned, dataset=self.dataset).question, sent)
        return answer

    def leaderboard(self, board: str | None = None, *, every: bool = False) -> RemoteLeaderboard:
        """Return a leaderboard, on which submissions with overlapping intervals count as tied. Only stewards may use
        `every=True`, which lists all submissions.
        """
        query = {"board": board, "every": "true" if every else None}
        return read_leaderboard(self._wire.get(f"{self._path()}/leaderboard", **query))

    def contest(self, board: str | None = None) -> Contest:
        """Return the state of a contest and the results of its finals. Only stewards see the warnings for the host."""
        plain = self._wire.get(f"{self._path()}/contest", board=board)
        try:
            return Contest.from_dict(plain)
        except InvalidParameter:
            raise odd() from None

    def revealed(self, board: str | None = None) -> list[dict[str, Any]]:
        """Return every answer that was given before the first final of a contest, with its exact value (for
        stewards).
        """
        found = self._wire.get(f"{self._path()}/contest/revealed", board=board)
        return [dict(one) for one in member(found, "revealed")]

    def submissions(self, board: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield submissions in order, as plain data: your own, or all submissions for a steward. They are fetched in
        pages.
        """
        following: int | None = 1
        while following is not None:
            page = self._wire.get(f"{self._path()}/submissions", board=board, first=following, limit=_PAGE)
            yield from member(page, "submissions")
            following = page.get("next")

    def estimate(self, question: QuestionLike, *, epoch: EpochName = None) -> RemoteEstimate:
        """Return what a question would cost, and how wide its interval would be, if it were asked next. Nothing is
        spent.
        """
        body = {"question": _plain(question)} | _named(epoch)
        return read_estimate(self._wire.post(f"{self._path()}/estimate", body, safe=True))

    def sql(self, statement: str, *, key: str | None = None, spend: Cost | None = None) -> SqlAnswer:
        """Answer an SQL statement, as `Guard.sql` does. The server translates the statement into questions."""
        body = {"statement": statement} | ({} if spend is None else {"spend": spend.to_dict()})
        plain = self._wire.post(f"{self._path()}/sql", body, key=key or fresh_key())
        answered, asked = member(plain, "answers"), member(plain, "questions")
        if not isinstance(answered, list) or not isinstance(asked, list) or len(answered) != len(asked):
            raise odd()
        answers = [self._checked(one, question) for one, question in zip(answered, asked, strict=True)]
        return read_table(plain, answers)

    def explain(self, statement: str, *, spend: Cost | None = None) -> SqlEstimate:
        """Return the total cost that an SQL statement would have, and how wide its intervals would be. Nothing is
        spent.
        """
        body: dict[str, Any] = {"statement": statement, "explain": True}
        body |= {} if spend is None else {"spend": spend.to_dict()}
        plain = self._wire.post(f"{self._path()}/sql", body, safe=True)
        estimates = [read_estimate(estimate) for estimate in member(plain, "estimates")]
        totals = plain.get("totals") or []
        return SqlEstimate(
            member(plain, "questions"), list(estimates), member(plain, "admitted"), plain["reason"], totals
        )

    def practice(self, variant: int = 0) -> AnalystGuard:
        """Return a guard with the same schema and policy over made-up rows. It runs in this process and does not use
        the server.

        As with `Guard.practice`, every answer is marked as practice, and none is certified.
        """
        from holdfast.data.schema import Schema
        from holdfast.guard.guard import DEFAULT_ANALYST, practice_guard

        facts, policy = self.describe(), self.policy
        practice = practice_guard(Schema.from_dict(facts["schema"]), policy, int(facts["n"]), variant)
        return practice.for_analyst(DEFAULT_ANALYST if policy.analysts is None else next(iter(policy.analysts)))

    def level(self, alpha: float = 0.05) -> float:
        """Return the level for the next p-value from these rows: a test that rejects at this level keeps `alpha` after
        all answers so far.
        """
        return float(member(self._wire.get(f"{self._path()}/level", alpha=alpha), "level"))

    def adjusted(self, p: float) -> float:
        """Return the p-value `p` of a test on these rows, adjusted for everything that was released before; never below
        `p`.
        """
        return float(member(self._wire.get(f"{self._path()}/adjusted", p=p), "adjusted"))

    def remaining(self) -> dict[str, Any]:
        """Return how many questions and how much budget you, and all analysts together, have left."""
        return left_by_name(self._wire.get(f"{self._path()}/remaining"))

    def describe(self) -> dict[str, Any]:
        """Return everything about the guard that this token may see: schema, number of rows, policy, status, progress
        and remaining budget.
        """
        return dict(self._wire.get(self._path()))

    @property
    def policy(self) -> Policy:
        """The current policy. An analyst does not see the quotas of other analysts."""
        return Policy.stored(self.describe()["policy"])

    def entries(self, first: int = 1, *, analyst: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield entries of the ledger in order, as plain data. They are fetched in pages.

        An analyst gets their own entries. A steward gets all entries, or those of one `analyst`.
        """
        following: int | None = first
        while following is not None:
            page = self._wire.get(f"{self._path()}/entries", first=following, limit=_PAGE, analyst=analyst)
            yield from member(page, "entries")
            following = page.get("next")

    def latest(self, number: int = 20, *, analyst: str | None = None) -> list[dict[str, Any]]:
        """Return the last entries of the ledger, the oldest first. An analyst gets their own entries. A steward gets
        all entries, or those of one `analyst`.
        """
        number = arguments.whole("number", number, at_least=1)
        entries: list[dict[str, Any]] = []
        before: int | None = _LAST
        while before is not None and len(entries) < number:
            limit = min(_PAGE, number - len(entries))
            page = self._wire.get(f"{self._path()}/entries", before=before, limit=limit, analyst=analyst)
            entries = [*member(page, "entries"), *entries]
            before = page.get("next")
        return entries

    def receipt(self, sequence: int) -> Receipt:
        """Return the receipt of an entry, after checking its signature against the pinned public key."""
        receipt = Receipt.from_dict(self._wire.get(f"{self._path()}/entries/{int(sequence)}/receipt"))
        pinned = self._pin()
        return receipt if pinned is None else check_receipt(receipt, pinned, dataset=self.dataset)

    def tree_head(self) -> TreeHead:
        """Return the current head of the ledger, after checking its signature against the pinned public key.

        Keep or publish the head: with it, a later change of the ledger can be proved. It shows the number of entries
        and nothing of their content.
        """
        head = TreeHead.from_dict(self._wire.get(f"{self._path()}/head"))
        pinned = self._pin()
        if not head.is_signed() or (pinned is not None and head.public_key != pinned):
            raise ReceiptInvalid("the ledger's head was not signed with the server's key; do not rely on this head")
        return head

    def inclusion(self, sequence: int, size: int | None = None) -> Inclusion:
        """Return the proof that an entry is in the ledger whose head has `size` entries. `Inclusion.problems` checks a
        receipt with it.
        """
        return Inclusion.from_dict(self._wire.get(f"{self._path()}/entries/{int(sequence)}/proof", size=size))

    def _checked(self, plain: Any, question: Mapping[str, Any], epoch: EpochName = None) -> RemoteAnswer:
        answer, pinned = read_answer(plain, question), self._pin()
        if pinned is not None:
            receipt = check_receipt(answer, pinned)
            facts = self._epoch_facts(receipt.dataset, epoch, answer.details.get("rows"))
            if facts is not None:
                AskedQuestions(lambda: facts).require(receipt, question)
                return answer
            if self._questions is None:
                self._questions = AskedQuestions(self.describe)
            self._questions.require(receipt, question)
        return answer

    def _epoch_facts(self, dataset: str, epoch: EpochName, rows: Any) -> dict[str, Any] | None:
        """What the server shows of the epoch that answered; None for this guard's own.

        An answer from another epoch than was asked is refused, and so is one from any other ledger.
        """
        if epoch is None and dataset == self.dataset:
            return None
        known = {linked["number"]: linked for linked in self.describe().get("epochs", ())}
        named = known.values() if epoch is None else [known[1 if epoch == ALL else epoch]] if known else []
        for linked in named:
            if linked["dataset"] == dataset and linked["id"] is not None:
                return dict(self._wire.get(f"/guards/{linked['id']}")) | ({"pooled": rows} if epoch == ALL else {})
        if not known and dataset == self.dataset and epoch in (1, ALL):
            return None
        raise ReceiptInvalid("the receipt is from another ledger than that of the epoch that was asked")


if TYPE_CHECKING:

    def _has_all_verbs(guard: Asking) -> AnalystGuard:
        """Have the type checker compare the verbs of the client with those of the protocol."""
        return guard


class RemoteGuard(Asking):
    """A guard on a server. `Connection.guard` and `Connection.guards` return it.

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
        """The name of the data set in its ledger."""
        return self._dataset

    def _path(self) -> str:
        return f"/guards/{self.id}"

    def extend(self, sample: str, name: str | None = None) -> RemoteGuard:
        """Add new rows to the guard as its next epoch (for stewards). The rows are those of a data set on the server,
        which is given by its id. The epoch is a guard with its own name. If no name is given, it gets the name of this
        guard followed by the number of the epoch.
        """
        number = max((epoch["number"] for epoch in self.describe().get("epochs", ())), default=1) + 1
        called = f"{self.name} ({number})" if name is None else name
        body = {"sample": sample, "name": called}
        return RemoteGuard(self._wire, self._pin, self._wire.post(f"{self._path()}/extend", body))

    def pause(self, reason: str = "") -> None:
        """Pause the guard: it answers no question until `resume` is called (for stewards). The ledger records the
        pause.
        """
        self._wire.post(f"{self._path()}/pause", {"reason": reason})

    def resume(self, reason: str = "") -> None:
        """Let a paused guard answer questions again (for stewards). The ledger records this."""
        self._wire.post(f"{self._path()}/resume", {"reason": reason})

    def close(self, reason: str = "") -> None:
        """Close the guard forever: it never answers a question again (for stewards). The ledger records this. To close
        a connection, use `Connection.shut`.
        """
        self._wire.post(f"{self._path()}/close", {"reason": reason})

    def override(self, policy: Policy | Mapping[str, Any], reason: str) -> None:
        """Replace the policy of the guard (for stewards). The ledger records this, and later answers are marked as not
        certified.
        """
        plain = policy.to_dict() if isinstance(policy, Policy) else dict(policy)
        self._wire.post(f"{self._path()}/override", {"policy": plain, "reason": reason})

    def verify(self) -> dict[str, Any]:
        """Let the server verify the guard's ledger: its hash chain, its arithmetic and its signatures (for stewards).
        `holdfast verify` checks a ledger without trusting a server.
        """
        return dict(self._wire.post(f"{self._path()}/verify", {}, safe=True))

    def __repr__(self) -> str:
        return f"RemoteGuard({self.name!r}, {self.id}, {self._wire.url})"

    def _repr_html_(self) -> str:
        return guard_card(self.describe())


def guard_card(facts: Mapping[str, Any]) -> str:
    """Return what a guard is and what is left, for a notebook."""
    columns = ", ".join(map(column_words, facts["schema"]["columns"]))
    rows: list[tuple[object, object]] = [
        ("status", facts["status"]),
        ("rows", answers.short(facts["n"])),
        ("columns", columns),
        ("confidence", facts["policy"]["confidence"]),
        ("questions allowed", ", ".join(facts["policy"]["kinds"])),
        ("answered", f"{facts['progress']['answered']}, {facts['progress']['failed']} failed"),
    ]
    left = {"all": facts["remaining"]} | dict(facts["analysts"])
    return answers.card(f"Guard {facts['name']}", [*rows, *answers.remaining_rows(left)])


def fresh_key() -> str:
    """Return a random key."""
    return uuid.uuid4().hex


def _plain(question: QuestionLike) -> dict[str, Any]:
    if not isinstance(question, (Question, Mapping)):
        raise InvalidParameter(
            "a question must be made with a function such as `hf.guard.check(...)`, or be a mapping, got a "
            f"{type(question).__name__}"
        )
    return question.to_dict() if isinstance(question, Question) else dict(question)


def _named(epoch: Any) -> dict[str, Any]:
    """The epoch of a request, where one was named."""
    named = check_epoch(epoch)
    return {} if named is None else {"epoch": named}


def _index_of(event: Any, number: int) -> int:
    """Which of the questions an event is about."""
    index = member(event, "index")
    if type(index) is not int or not 0 <= index < number:
        raise odd()
    return index
