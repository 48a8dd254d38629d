"""Something that answers HTTP and is no Holdfast server, or a false one: it is told apart, and nothing is believed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.client import ReceiptInvalid, RemoteSubmission, check_receipt
from holdfast.client.answers import GuardFacts, RemoteAnswer, interval_picture, read_answer, read_estimate
from holdfast.client.errors import ServerUnavailable
from holdfast.client.remote_guard import read_leaderboard, read_submission
from holdfast.core.guarantee import Guarantee
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard import Policy

CHECK = {"kind": "check", "expression": "age < 45", "guess": 0.5}
GUARD = {"id": "g1", "name": "people", "dataset": "d"}


class Odd:
    """Says what it is told to, by the end of the path: status, media type, content; keeps what was sent to it."""

    def __init__(self) -> None:
        self.says: dict[str, tuple[int, str, bytes]] = {}
        self.sent: list[tuple[str, Any]] = []
        self.url = ""

    def say(self, path: str, plain: Any, status: int = 200, kind: str = "application/json") -> None:
        content = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
        self.says[path] = status, kind, content


@pytest.fixture(scope="module")
def server() -> Iterator[Odd]:
    odd = Odd()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            odd.sent.append((self.path.removeprefix("/api/v1"), json.loads(body) if body else None))
            status, kind, content = odd.says[self.path.removeprefix("/api/v1")]
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.daemon_threads = True
    odd.url = f"http://127.0.0.1:{serving.server_address[1]}"
    thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield odd
    serving.shutdown()
    serving.server_close()
    thread.join(10)


@pytest.fixture
def odd(server: Odd) -> Odd:
    server.says.clear()
    server.sent.clear()
    server.say("/guards", {"guards": [GUARD]})
    server.say("/me", {"public_key": None})
    return server


@pytest.fixture
def ann(odd: Odd) -> Iterator[hf.client.Connection]:
    with hf.connect(odd.url, "hf_0123", patience=0) as connection:
        yield connection


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<html>welcome</html>", "text/html"),
        (b"{", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"\xff", "application/problem+json"),
        (b"{}", ""),
    ],
    ids=["html", "half", "deep", "no text", "no kind"],
)
def test_what_is_no_answer_of_a_server_is_not_read(
    odd: Odd, ann: hf.client.Connection, content: bytes, kind: str
) -> None:
    for path, what in (("/me", ann.me), ("/guards/g1/ask", lambda: ann.ask(CHECK, key="mine"))):
        odd.say(path, content, kind=kind)
        with pytest.raises(ServerUnavailable, match=f"{odd.url} does not answer as a Holdfast server does"):
            what()


@pytest.mark.parametrize("plain", [None, 7, "answer", [], {}, {"answer": 1}], ids=repr)
def test_an_answer_of_another_shape_is_not_understood(odd: Odd, ann: hf.client.Connection, plain: Any) -> None:
    said = "the server sent an answer that this version does not understand"
    for path in ("ask", "batch", "estimate"):
        odd.say(f"/guards/g1/{path}", plain)
    if plain is not None:  # nothing at all is no answer of a server
        for what in (lambda: ann.ask(CHECK), lambda: ann.ask_all([CHECK]), lambda: ann.estimate(CHECK)):
            with pytest.raises(ServerUnavailable, match=said):
                what()
    for read in (read_answer, read_estimate, read_submission):
        with pytest.raises(ServerUnavailable, match=said):
            read(plain)


@pytest.mark.parametrize(
    "plain", [7, [], {}, {"guards": 7}, {"guards": None}, {"guards": [{}]}, {"guards": [7]}], ids=repr
)
def test_a_list_of_guards_of_another_shape_is_not_understood(odd: Odd, ann: hf.client.Connection, plain: Any) -> None:
    odd.say("/guards", plain)
    for what in (ann.guards, ann.guard, lambda: ann.ask(CHECK)):
        with pytest.raises(ServerUnavailable, match="the server sent an answer that this version does not understand"):
            what()
    if not isinstance(plain, dict):
        odd.say("/me", plain)
        with pytest.raises(ServerUnavailable, match="does not understand"):
            ann.me()


@pytest.mark.parametrize("odd_part", [{"confidence": 10**400}, {"submissions": float("inf")}, {"places": 7}], ids=str)
def test_a_leaderboard_of_another_shape_is_not_understood(odd_part: dict[str, Any]) -> None:
    board = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    plain = {"board": board.to_dict(), "confidence": 0.95, "places": [], "submissions": 0}
    assert read_leaderboard(plain).board == board
    with pytest.raises(ServerUnavailable, match="does not understand"):
        read_leaderboard(plain | odd_part)


def test_a_refused_stream_is_the_servers_error_with_its_key(odd: Odd, ann: hf.client.Connection) -> None:
    odd.say(
        "/guards/g1/stream", {"code": "budget-exhausted", "detail": "none is left"}, 409, "application/problem+json"
    )
    with pytest.raises(BudgetExhausted, match="none is left"):
        list(ann.stream([CHECK], key="mine"))
    odd.say("/guards/g1/stream", b"<html>later</html>", 502, "text/html")
    with pytest.raises(ServerUnavailable, match="the server answered with status 502") as caught:
        list(ann.stream([CHECK], key="mine"))
    assert caught.value.key == "mine"


@pytest.mark.parametrize("line", [b"half of a li", b"[" * 100_000, b"\xff\xfe"], ids=["half", "deep", "no text"])
def test_a_line_of_a_stream_that_is_none_ends_it(odd: Odd, ann: hf.client.Connection, line: bytes) -> None:
    odd.say("/guards/g1/stream", line + b"\n", kind="application/x-ndjson")
    with pytest.raises(ServerUnavailable) as caught:
        list(ann.stream([CHECK], key="mine"))
    assert caught.value.key == "mine"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"event": "begun"}', "the stream broke off"),
        (b'{"event": "refused", "index": 0, "problem": {"status": "four"}}', "does not understand"),
        (b'{"event": "refused", "index": 7, "problem": {"status": 409}}', "does not understand"),
    ],
)
def test_a_stream_that_ends_early_or_says_nonsense(odd: Odd, ann: hf.client.Connection, line: bytes, said: str) -> None:
    odd.say("/guards/g1/stream", line + b"\n", kind="application/x-ndjson")
    with pytest.raises(ServerUnavailable, match=said):
        list(ann.stream([CHECK], key="mine"))


def test_no_question_sends_nothing(odd: Odd, ann: hf.client.Connection) -> None:
    assert ann.ask_all([]) == []
    assert list(ann.stream([])) == []
    assert odd.sent == []


@pytest.mark.parametrize("question", ["age < 45", None, 7, ["age < 45"]], ids=repr)
def test_what_is_no_question_is_not_sent(odd: Odd, ann: hf.client.Connection, question: Any) -> None:
    said = (
        "a question must be made with a function such as `hf.guard.check(...)`, or be a mapping, "
        f"got a {type(question).__name__}"
    )
    for what in (lambda: ann.ask(question), lambda: ann.ask_all([question]), lambda: list(ann.stream([question]))):
        with pytest.raises(InvalidParameter) as caught:
            what()
        assert str(caught.value) == said
    assert not [path for path, _ in odd.sent if path not in ("/guards", "/me")]


def test_a_key_that_is_none_is_not_pinned(odd: Odd) -> None:
    with hf.connect(odd.url, "hf_0123") as unsigned:
        assert unsigned.public_key is None
    for key in ("short", "A" * 64, 7, [], "g" * 64):
        odd.say("/me", {"public_key": key})
        with (
            hf.connect(odd.url, "hf_0123") as connection,
            pytest.raises(ReceiptInvalid, match="the server sent a public key that is not valid"),
        ):
            _ = connection.public_key


def test_what_a_steward_says_goes_out_as_it_was_said(odd: Odd, ann: hf.client.Connection, tmp_path: Path) -> None:
    odd.say("/guards", GUARD)
    ann.create_guard("people", "s_1", Policy(questions=5), allow_overlap="two studies")
    odd.say("/samples/register", {"id": "s2"})
    column = {"name": "age", "kind": "integer"}
    assert ann.register_sample("people", path="people.csv", columns=[column]) == {"id": "s2"}
    assert ann.register_sample("people", source="warehouse", row_key="id") == {"id": "s2"}
    assert odd.sent == [
        (
            "/guards",
            {
                "name": "people",
                "sample": "s_1",
                "policy": Policy(questions=5).to_dict(),
                "allow_overlap": "two studies",
            },
        ),
        ("/samples/register", {"name": "people", "path": "people.csv", "columns": [column]}),
        ("/samples/register", {"name": "people", "source": "warehouse", "row_key": "id"}),
    ]
    with pytest.raises(InvalidParameter, match=r"file must end in .csv or .parquet, got 'people.xlsx'"):
        ann.upload_sample("people", tmp_path / "people.xlsx")
    assert len(odd.sent) == 3


def test_certificates_are_read_from_a_file_of_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    for path in (wrong, tmp_path / "none.pem"):
        with pytest.raises(InvalidParameter, match="ca must be a file with certificates in PEM"):
            hf.connect("https://holdfast.example.org", "hf_0123", ca=str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(wrong))
    with pytest.raises(InvalidParameter, match="the environment variable SSL_CERT_FILE must be a file with cert"):
        hf.connect("https://holdfast.example.org", "hf_0123")


@pytest.mark.parametrize(
    "facts",
    [
        None,
        {},
        {"schema": {"age": "integer"}, "n": 10},
        {"schema": 7, "n": 10, "policy": {}},
        {"schema": Schema({"age": "integer"}).to_dict(), "n": "many", "policy": {}},
        {"schema": Schema({"age": "integer"}).to_dict(), "n": float("inf"), "policy": {}},
        {"schema": Schema({"age": "integer"}).to_dict(), "n": 10, "policy": {"colour": "red"}},
    ],
    ids=repr,
)
def test_no_answer_fits_a_guard_that_cannot_be_read(facts: Any) -> None:
    with pytest.raises(ReceiptInvalid, match="the server's description of the guard cannot be read"):
        GuardFacts.of(facts)


def test_a_question_of_a_kind_that_is_not_known_here_has_no_digest() -> None:
    facts = GuardFacts(Schema({"age": "integer not null"}), 100, Policy())
    assert facts.digests({"kind": "median", "expression": "age"}) is None
    assert facts.digests(CHECK) is not None


@pytest.mark.parametrize("answer", [7, "receipt", [1], {"receipt": 7}], ids=repr)
def test_what_is_no_answer_has_no_receipt(answer: Any) -> None:
    with pytest.raises((ReceiptInvalid, InvalidParameter)):
        check_receipt(answer, "0" * 64)


def test_a_card_says_what_was_paid_and_whether_the_guess_stood() -> None:
    rests = Guarantee("transfer.interleaved")
    paid = RemoteAnswer(0.81, [0.78, 0.84], rests, None, PureDP(0.1), sequence=3)
    assert str(PureDP(0.1)) in paid._repr_html_()
    free = RemoteAnswer(0.81, [0.78, 0.84], rests, None, PureDP(0.1), sequence=3, repeated=True)
    assert "nothing" in free._repr_html_()
    asked = {"kind": "score", "guess": 0.75}
    for confirmed, said in ((True, "0.75 passed: the truth is"), (False, "0.75 failed: it is")):
        shown = RemoteSubmission(0.8, [0.7, 0.9], rests, confirmed, board="income", question=asked)._repr_html_()
        assert f"Your score of {said} between 0.7 and 0.9." in shown


def test_a_range_without_length_is_not_drawn() -> None:
    assert interval_picture(0.0, [0.0, 0.0], 0.0, 0.0) == ""
    assert interval_picture(0.0, [0.0, 0.0]).startswith("<svg")
