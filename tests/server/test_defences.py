"""Each defence by itself, in this process: what it keeps out stays out if the others fall."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.client.answers import check_receipt
from holdfast.client.errors import ReceiptInvalid, ServerUnavailable, error_of
from holdfast.core.guarantee import Guarantee
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger import Entry, Head, SigningKey
from holdfast.guard.ledger.receipts import Receipt
from holdfast.server import Settings, create_app, http, observability
from holdfast.server.auth import tokens
from holdfast.server.http import Failures, Rates
from holdfast.server.records import TOKENS
from holdfast.server.state import Server
from tests.server.live import CHECK

ROWS = "age,income\n" + "".join(f"{20 + i % 50},{i % 90}\n" for i in range(1000))


@pytest.fixture(scope="module")
def steward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = create_app(Settings(folder=tmp_path_factory.mktemp("server"), rate=1e6, burst=10**6))
    token = app.state.server.tokens.issue_for("steward", "sam", days=1)
    yield TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)
    app.state.server.close()


def server_of(client: TestClient) -> Server:
    found = client.app.state.server  # type: ignore[attr-defined]
    assert isinstance(found, Server)
    return found


def upload(client: TestClient, name: str, rows: str = ROWS) -> dict[str, Any]:
    made = client.post("/api/v1/samples", params={"name": name}, content=rows, headers={"Content-Type": "text/csv"})
    assert made.status_code == 201, made.text
    return dict(made.json())


def test_every_answer_is_for_its_asker_alone(steward: TestClient) -> None:
    for path, status in (("/api/v1/me", 200), ("/api/v1/guards", 200), ("/api/v1/guards/g_1", 404), ("/api/v1/x", 404)):
        done = steward.get(path)
        assert done.status_code == status
        assert done.headers["cache-control"] == "no-store"
        assert done.headers["x-content-type-options"] == "nosniff"
        assert done.headers["x-frame-options"] == "DENY"
        assert done.headers["referrer-policy"] == "no-referrer"


def test_a_mistyped_parameter_is_no_default(steward: TestClient) -> None:
    for path in ("/api/v1/guards?limit=1", "/api/v1/me?x", "/api/v1/guards/g_1/level?aplha=0.01"):
        assert steward.get(path).json()["code"] == "invalid-parameter"


def test_a_path_in_the_log_is_short_and_holds_no_token(steward: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    token = steward.headers["authorization"].removeprefix("Bearer ")
    with caplog.at_level(logging.INFO, logger="holdfast.server"):
        steward.get(f"/nothing/{token}/{'x' * 5000}%0A%1b[31m")
    record = caplog.records[-1]
    assert len(record.facts["path"]) <= 200  # type: ignore[attr-defined]
    line = observability.JSONLines().format(record)
    assert token.split("_")[2] not in line
    assert token.split("_")[2] not in str(record.facts)  # type: ignore[attr-defined]
    assert "\n" not in line
    assert "\x1b" not in line


def test_no_line_of_the_log_holds_a_token_whoever_wrote_it() -> None:
    token = "hf_" + "0" * 16 + "_" + "a" * 64
    record = logging.LogRecord("uvicorn.error", logging.INFO, "x.py", 1, "seen %s", (token,), None)
    record.facts = {"path": f"/x/{token}", "inner": {"of": [token]}}
    line = observability.JSONLines().format(record)
    assert token[-20:] not in line
    assert line.count("hf_***") == 3


def test_rows_that_were_changed_are_not_guarded(steward: TestClient) -> None:
    """Not when a guard is made, not after it; and rows that are there again are answered again."""
    made = upload(steward, "changing")
    server = server_of(steward)
    file = Path(server.samples.resolve("upload", server.samples.row(made["id"])["place"])[0])
    right = file.read_bytes()
    body = {"name": "changing", "sample": made["id"], "policy": {"questions": 20}}
    file.write_bytes(right.replace(b"21,1\n", b"22,1\n", 1))
    assert steward.post("/api/v1/guards", json=body).json()["code"] == "sample-unavailable"
    file.write_bytes(right)
    guard = steward.post("/api/v1/guards", json=body).json()["id"]
    at = f"/api/v1/guards/{guard}/ask"
    assert steward.post(at, json={"question": CHECK}).status_code == 200
    file.write_bytes(right.replace(b"21,1\n", b"22,1\n", 1))
    refused = steward.post(at, json={"question": CHECK | {"guess": 0.4}})
    assert refused.json()["code"] == "sample-unavailable"
    file.write_bytes(right)
    for _ in range(2):  # the first may meet what was opened before
        last = steward.post(at, json={"question": CHECK | {"guess": 0.4}})
    assert last.status_code == 200, last.text


def test_buckets_hold_no_more_than_the_burst_and_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = Rates(rate=1.0, burst=2)
    assert rates.take("a", 0.0) == 0
    assert [rates.take("a", 1000.0) > 0 for _ in range(3)] == [False, False, True]
    monkeypatch.setattr(http, "_KEPT", 5)
    for i in range(20):
        rates.take(str(i), 2000.0)
    assert len(rates._buckets) == 5
    failures = Failures(1)
    for i in range(20):
        for _ in range(2):
            failures.count(str(i))
    assert len(failures._blocked) == 5
    assert failures.wait("19") > 0


def test_secrets_are_not_remembered_for_ever(steward: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_REMEMBERED", 3)
    fresh = tokens.Tokens(server_of(steward).records)
    monkeypatch.setattr(fresh, "_argon2", lambda stored, secret: secret.startswith("a"))
    for i in range(8):
        for first in "ab":
            fresh._is_right(f"{i:016x}", f"{first}{i:063x}", "hash", 0.0)
    assert (len(fresh._right), len(fresh._wrong)) == (3, 3)


def test_a_steward_whose_token_has_expired_is_none(tmp_path: Path) -> None:
    server = Server(Settings(folder=tmp_path / "s"))
    _, facts = server.tokens.issue("steward", "sam", datetime.now(UTC) + timedelta(days=1))
    assert server.tokens.has_steward()
    server.records.change(TOKENS, facts["id"], expires="2020-01-01T00:00:00+00:00")
    assert not server.tokens.has_steward()
    server.close()


def test_counts_go_back_when_a_request_is_refused(steward: TestClient) -> None:
    before = server_of(steward).metrics.inside
    for _ in range(30):
        steward.post("/api/v1/tokens", content=b"{", headers={"Content-Type": "application/json"})
        steward.get("/api/v1/me", headers={"Authorization": "Bearer x"})
    assert server_of(steward).metrics.inside == before


def test_uploads_are_counted_as_they_come(tmp_path: Path) -> None:
    app = create_app(Settings(folder=tmp_path / "s", max_upload=2048))
    token = app.state.server.tokens.issue_for("steward", "sam", days=1)

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b"1,2\n" * 16

    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        done = client.post("/api/v1/samples?name=x", content=pieces(), headers={"Content-Type": "text/csv"})
    assert done.json()["code"] == "too-large"
    assert not list((tmp_path / "s" / "uploads").iterdir())


def answered(value: float, sequence: int = 1, dataset: str = "d") -> tuple[GuardedAnswer, SigningKey]:
    """An answer with its receipt, and the key."""
    key = SigningKey.generate()
    answer = GuardedAnswer(value, [0.0, 1.0], Guarantee("transfer.interleaved"), sequence=sequence)
    entry = Entry.following(
        Head(),
        dataset=dataset,
        time="2030-01-01T00:00:00+00:00",
        kind="answered",
        body={"answer": answer.released()},
        question="q",
    )
    return GuardedAnswer.stored(answer.released(), sequence, False, Receipt.of(entry, key).to_dict()), key


def test_a_receipt_fits_its_answer_its_place_and_its_rows() -> None:
    from dataclasses import replace

    answer, key = answered(0.5)
    assert check_receipt(answer, key.public, dataset="d").sequence == 1
    for wrong, dataset, words in (
        (replace(answer, value=0.6), "d", "differs from the answer in the signed receipt"),
        (replace(answer, sequence=2), "d", "another entry"),
        (answer, "e", "another data set"),
        (
            replace(answer, receipt=dict(answer.receipt or {}) | {"signature": "0" * 128}),
            "d",
            "signature of the receipt does not fit",
        ),
        (replace(answer, receipt=None), "d", "no receipt"),
    ):
        with pytest.raises(ReceiptInvalid, match=words):
            check_receipt(wrong, key.public, dataset=dataset)


def test_words_of_a_server_are_one_plain_line() -> None:
    said = str(error_of(500, {"code": "internal-error", "detail": "a\x1b[2J\r\nb\u202e" + "x" * 5000}))
    assert said.isprintable()
    assert len(said) <= 500


def test_an_end_that_comes_too_early_is_no_end() -> None:
    from holdfast.client.remote_guard import RemoteGuard

    class Short:
        """A server that says it is done."""

        url = "http://127.0.0.1:1"

        def lines(self, *_: Any) -> Iterator[Any]:
            yield {"event": "started", "questions": 2}
            yield {"event": "refused", "index": 0, "problem": {"status": 409, "code": "question-refused"}}
            yield {"event": "done", "answered": 0, "questions": 2}

    guard = RemoteGuard(Short(), lambda: None, {"id": "g_1", "name": "x", "dataset": "d"})  # type: ignore[arg-type]
    with pytest.raises(ServerUnavailable, match="broke off"):
        list(guard.stream([CHECK, CHECK | {"guess": 0.4}]))


def test_an_unforeseen_error_tells_an_agent_nothing() -> None:
    import anyio

    from holdfast.server.agents import stdio

    class Broken:
        """Tools with a defect, whose words hold a row."""

        def list(self) -> list[Any]:
            return []

        def call(self, *_: Any) -> Any:
            raise RuntimeError("row 17: secret 4711")

    made: dict[str, Any] = {}
    types, _ = stdio._package()

    def server(*_: Any, **handlers: Any) -> None:
        made.update(handlers)

    real, stdio._package = stdio._package, lambda: (types, server)
    try:
        stdio.build(Broken())  # type: ignore[arg-type]
    finally:
        stdio._package = real
    call = types.CallToolRequestParams(name="ask", arguments={})
    found = anyio.run(made["on_call_tool"], None, call)
    assert found.is_error
    assert "4711" not in found.model_dump_json()
    assert "defect" in found.content[0].text
