"""Lost requests, lost answers, refusals and lies on the way: every question ends with one answer, paid once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import holdfast as hf
from holdfast.client import ReceiptInvalid, RemoteAnswer, ServerUnavailable
from tests.client.flaky import Flaky, flaky_proxy
from tests.server.live import Live


@pytest.fixture(scope="module")
def flaky(live: Live) -> Iterator[Flaky]:
    with flaky_proxy(live.url) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def guard(live: Live) -> str:
    return str(live.guard("retries", {"questions": 500})["id"])


@pytest.fixture
def steward(live: Live, flaky: Flaky, guard: str) -> Iterator[hf.client.Connection]:
    flaky.plan()
    with hf.connect(flaky.url, live.steward_token, guard=guard, timeout=10, patience=20) as connection:
        yield connection


def _question(limit: int) -> hf.guard.Question:
    return hf.guard.check(f"age < {limit}", guess=0.5)


def _answered(connection: hf.client.Connection) -> int:
    return int(connection.describe()["progress"]["answered"])


@pytest.mark.parametrize(
    "misfortunes",
    [
        ("lose request",),
        ("lose answer",),
        ("lose answer", "lose answer", "half"),
        ("503", "lose answer", "502"),
        ("lose request", "503", "half", "lose answer"),
    ],
)
def test_every_question_is_answered_and_paid_once(
    steward: hf.client.Connection, flaky: Flaky, misfortunes: tuple[str, ...]
) -> None:
    before = _answered(steward)
    flaky.plan(*misfortunes)
    answer = steward.ask(_question(20 + 3 * len(misfortunes) + len(misfortunes[0])))
    keys = [key for path, key in flaky.seen if path.endswith("/ask")]
    assert len(keys) == len(misfortunes) + 1
    assert len(set(keys)) == 1
    assert keys[0]
    assert _answered(steward) == before + 1
    lost = {"lose answer", "half"} & set(misfortunes)
    assert answer.repeated == bool(lost)


def test_batches_survive_too(steward: hf.client.Connection, flaky: Flaky) -> None:
    before = _answered(steward)
    flaky.plan("lose answer", "503", "half")
    answers = steward.ask_all([_question(limit) for limit in (47, 48, 49)])
    assert [one.passed is not None for one in answers] == [True] * 3
    assert _answered(steward) == before + 3


def test_reading_is_repeated(steward: hf.client.Connection, flaky: Flaky) -> None:
    flaky.plan("lose answer", "502", "lose request")
    assert steward.remaining()["status"] == "open"
    flaky.plan("half")
    assert steward.estimate(_question(50)).admitted


def test_a_server_that_asks_to_wait_is_waited_for(steward: hf.client.Connection, flaky: Flaky) -> None:
    flaky.plan("429")
    begun = time.monotonic()
    steward.ask(_question(61))
    assert time.monotonic() - begun >= 1.0


def test_patience_ends_and_the_key_goes_on(live: Live, flaky: Flaky, guard: str) -> None:
    with hf.connect(flaky.url, live.steward_token, guard=guard, patience=0) as hasty:
        hasty.guard()
        flaky.plan("lose answer")
        with pytest.raises(ServerUnavailable, match="cannot be reached") as caught:
            hasty.ask(_question(62))
        key = caught.value.key
        assert key
        assert hasty.ask(_question(62), key=key).repeated
        flaky.plan("429")
        with pytest.raises(ServerUnavailable, match="later") as caught:
            hasty.ask(_question(63), key="mine")
        assert caught.value.key == "mine"


def test_what_has_no_key_is_not_repeated_after_a_lost_answer(
    steward: hf.client.Connection, flaky: Flaky, live: Live
) -> None:
    guard = steward.guard()
    flaky.plan("lose answer")
    with pytest.raises(ServerUnavailable, match="whether it was done is not known"):
        guard.pause("once")
    assert [path.rpartition("/")[2] for path, _ in flaky.seen].count("pause") == 1
    assert guard.describe()["status"] == "paused"
    flaky.plan("503")  # nothing was done: this is repeated
    guard.resume("on we go")
    assert guard.describe()["status"] == "open"
    assert [one["kind"] for one in guard.entries() if one["kind"] in ("paused", "resumed")] == ["paused", "resumed"]


def test_a_changed_answer_is_noticed(steward: hf.client.Connection, flaky: Flaky) -> None:
    assert steward.public_key is not None
    flaky.plan("lie")
    with pytest.raises(ReceiptInvalid, match="differs from the answer in the signed receipt"):
        steward.ask(_question(45))
    assert steward.ask(_question(45)).value == 0.5


def test_a_stream_that_breaks_off_goes_on_with_its_key(steward: hf.client.Connection, flaky: Flaky) -> None:
    questions = [_question(limit) for limit in (71, 72, 73, 74)]
    before = _answered(steward)
    flaky.plan("half")
    with pytest.raises(ServerUnavailable) as caught:
        list(steward.stream(questions))
    found = dict(steward.stream(questions, key=caught.value.key))
    assert sorted(found) == [0, 1, 2, 3]
    assert all(isinstance(one, RemoteAnswer) for one in found.values())
    assert _answered(steward) == before + 4


def test_the_token_does_not_follow_a_redirect(steward: hf.client.Connection, flaky: Flaky) -> None:
    steward.guard()
    flaky.plan("redirect")
    with pytest.raises(ServerUnavailable, match="points elsewhere"):
        steward.ask(_question(64))


def test_what_is_no_holdfast_server_is_said(live: Live) -> None:
    with (
        hf.connect("http://127.0.0.1:9", "hf_x", patience=0.3) as nobody,
        pytest.raises(ServerUnavailable, match="cannot be reached"),
    ):
        nobody.me()
