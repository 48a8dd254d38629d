"""Answers to other questions: signed, genuine, and not what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast as hf
from holdfast.client import ReceiptInvalid
from holdfast.client.errors import ServerUnavailable
from tests.server.live import CHECK, Live

OTHER = CHECK | {"guess": 0.49}
EVERY: list[dict[str, Any]] = [
    CHECK,
    {"kind": "check", "expression": "age<45", "guess": 0.5, "show": "bit"},
    {"kind": "claim", "expression": "age", "low": 0, "high": 100, "at_most": 60.0},
    {"kind": "compare", "b": "age < 50", "a": "age < 30", "margin": 0.1},
    {"kind": "validate", "condition": "age >= 18", "at_least": 0.5},
    {"kind": "mean", "expression": "income", "low": 0, "high": 5000},
    {"kind": "histogram", "column": "sex", "categories": ["male", "female"]},
    {"kind": "select", "candidates": {"young": "age < 30", "old": "age > 60"}},
    {
        "kind": "test",
        "name": "gof",
        "columns": ["sex"],
        "categories": [["male", "female"]],
        "p0": [0.3, 0.7],
        "allow_powerless": True,
    },
]


@pytest.fixture(scope="module")
def made(live: Live) -> dict[str, Any]:
    return live.guard(
        "asked",
        {
            "questions": 200,
            "privacy": {"kind": "pure-dp", "epsilon": 1.0},
            "spend": {"kind": "pure-dp", "epsilon": 0.01},
            "analysts": {"ann": 0.5, "bob": 0.5},
        },
    )


@pytest.fixture(scope="module")
def token(live: Live, made: dict[str, Any]) -> str:
    with live.analyst("ann", guards=[made["id"]]) as http:
        return str(http.headers["authorization"].removeprefix("Bearer "))


@pytest.fixture
def ann(live: Live, token: str) -> Iterator[hf.client.Connection]:
    with hf.connect(live.url, token) as connection:
        yield connection


def test_every_kind_of_question_is_known_again(ann: hf.client.Connection) -> None:
    for question in EVERY:
        assert ann.ask(question).receipt is not None
    assert [one.repeated for one in ann.ask_all(EVERY)] == [True] * len(EVERY)
    assert [index for index, _ in ann.stream(EVERY)] == list(range(len(EVERY)))
    assert ann.ask(hf.guard.check("age < 45", guess=0.5)).repeated


def test_the_signed_answer_to_another_question_is_refused(
    ann: hf.client.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ann._wire.post

    def swapped(path: str, body: Any, **more: Any) -> Any:
        if path.endswith("/ask"):
            return real(path, {"question": OTHER}, **more)
        found = real(path, body, **more)
        return {"answers": found["answers"][::-1]} if path.endswith("/batch") else found

    ann.ask(CHECK)
    monkeypatch.setattr(ann._wire, "post", swapped)
    with pytest.raises(ReceiptInvalid, match="another question"):
        ann.ask(CHECK, key="swapped")
    with pytest.raises(ReceiptInvalid, match="another question"):
        ann.ask_all([CHECK, OTHER], key="turned-round")
    assert len(ann.ask_all([CHECK, CHECK], key="either-way")) == 2


def test_as_many_answers_as_questions(ann: hf.client.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ann._wire.post
    for wrong in (lambda found: found[:1], lambda found: [*found, *found], lambda found: {"0": found[0]}):
        monkeypatch.setattr(
            ann._wire, "post", lambda *a, wrong=wrong, **k: {"answers": wrong(real(*a, **k)["answers"])}
        )
        with pytest.raises(ServerUnavailable, match="does not understand"):
            ann.ask_all([CHECK, OTHER])


@pytest.mark.parametrize("index", [2, -1, True, "0", None, 0.0])
def test_a_stream_names_questions_that_were_asked(
    ann: hf.client.Connection, monkeypatch: pytest.MonkeyPatch, index: Any
) -> None:
    real = ann._wire.lines

    def odd(*given: Any) -> Iterator[Any]:
        for event in real(*given):
            yield event | {"index": index} if event.get("index") == 0 else event

    monkeypatch.setattr(ann._wire, "lines", odd)
    with pytest.raises(ServerUnavailable, match="does not understand"):
        list(ann.stream([CHECK, OTHER]))


def test_a_policy_that_changed_meanwhile_is_looked_up(live: Live, ann: hf.client.Connection) -> None:
    """A mean that names no cost takes the policy's; after an override that is another one."""
    mean = {"kind": "mean", "expression": "income", "low": 0, "high": 4000}
    ann.ask(mean)
    with hf.connect(live.url, live.steward_token, guard="asked") as steward:
        steward.guard().override(
            {
                **ann.policy.to_dict(),
                "analysts": {"ann": 0.5, "bob": 0.5},
                "spend": {"kind": "pure-dp", "epsilon": 0.02},
            },
            "test",
        )
    assert not ann.ask(mean).repeated


def test_a_false_description_does_not_help(ann: hf.client.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    real = ann._wire.get

    def lying(path: str, **more: Any) -> Any:
        found = real(path, **more)
        if isinstance(found, dict) and "schema" in found:
            return found | {"schema": {"columns": [{"name": "other", "kind": "text"}]}}
        return found

    monkeypatch.setattr(ann._wire, "get", lying)
    with pytest.raises(ReceiptInvalid):
        ann.ask(CHECK)
    monkeypatch.setattr(ann._wire, "get", lambda path, **more: real(path, **more) if "guards/" not in path else {})
    with pytest.raises(ReceiptInvalid):
        ann.ask(CHECK)
