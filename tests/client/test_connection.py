"""The verbs over a real server: they do what the guard's own do, and what goes wrong has the guard's own errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.client import NotAllowed, ReceiptInvalid, check_receipt
from holdfast.client.answers import interval_picture
from holdfast.client.remote_guard import guard_card
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard.ledger.receipts import Receipt, SigningKey
from tests.server.live import Live, fresh_rows

POLICY: dict[str, Any] = {"questions": 40, "failures": 5}
QUESTIONS: list[dict[str, Any]] = [
    {"kind": "check", "expression": "age < 45", "guess": 0.5},
    {"kind": "check", "expression": "age < 30", "guess": 0.6},
    {"kind": "claim", "expression": "age", "low": 0, "high": 100, "at_most": 60.0},
    {"kind": "compare", "b": "age < 50", "a": "age < 30", "margin": 0.1},
    {"kind": "validate", "condition": "age >= 18", "at_least": 0.9},
]


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[hf.client.Connection]:
    with hf.connect(live.url, live.steward_token) as connection:
        yield connection


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "people.csv"
    path.write_text(fresh_rows("client"))
    return path


@pytest.fixture(scope="module")
def guard(steward: hf.client.Connection, file: Path) -> hf.client.RemoteGuard:
    sample = steward.upload_sample("people of the client", file, row_key="id")
    assert sample["n"] == 2000
    assert sample in steward.samples()
    with pytest.raises(
        InvalidParameter, match=r"the name or the id of a data set on the server; there are: .*people of the client"
    ):
        steward.create_guard("people", "other people", hf.guard.Policy(**POLICY))
    return steward.create_guard("people", "people of the client", hf.guard.Policy(**POLICY))


@pytest.fixture(scope="module")
def token(steward: hf.client.Connection, guard: hf.client.RemoteGuard) -> str:
    issued = steward.issue_token("analyst", "ann", guards=[guard.id])
    assert any(one["id"] == issued["id"] for one in steward.tokens())
    return str(issued["token"])


@pytest.fixture(scope="module")
def ann(live: Live, token: str) -> Iterator[hf.client.Connection]:
    with hf.connect(live.url, token) as connection:
        yield connection


def test_answers_are_those_of_a_guard_in_this_process(
    live: Live, steward: hf.client.Connection, tmp_path: Path
) -> None:
    """Question by question: both guards begin with nothing asked."""
    file = tmp_path / "people.csv"
    head, *lines = fresh_rows("compared").splitlines()  # of other people: `id` names them
    file.write_text("\n".join([head, *(f"10000{line}" for line in lines)]) + "\n")
    made = steward.create_guard(
        "compared", steward.upload_sample("compared", file, row_key="id")["id"], hf.guard.Policy(**POLICY)
    )
    with hf.connect(live.url, steward.issue_token("analyst", "ann", guards=[made.id])["token"]) as ann:
        here = hf.Guard.open(None, hf.data.table(str(file), row_key="id"), hf.guard.Policy(**POLICY))
        assert ann.dataset != here.dataset, "names are salted: they tell nothing about the rows"
        for question in QUESTIONS:
            assert ann.estimate(question).to_dict() == here.estimate(question, analyst="ann").to_dict()
            assert ann.ask(question).released() == here.ask(question, analyst="ann").released()
        assert [one.repeated for one in ann.ask_all(QUESTIONS)] == [True] * len(QUESTIONS)


def test_wrong_questions_raise_what_the_guard_raises(ann: hf.client.Connection) -> None:
    with pytest.raises(InvalidParameter, match="must name columns"):
        ann.ask({"kind": "check", "expression": "nothing < 3", "guess": 0.5})
    with pytest.raises(QuestionRefused, match="does not allow a mean"):
        ann.ask(hf.mean("age < 30"))
    with pytest.raises(InvalidParameter, match="plain data"):
        ann.ask({"kind": "check", "expression": "age < 30", "guess": float("nan")})
    with pytest.raises(InvalidParameter, match="printable ASCII"):
        ann.ask(QUESTIONS[0], key="two words")
    found = dict(ann.stream([QUESTIONS[0], {"kind": "check", "expression": "nothing", "guess": 0.5}]))
    assert isinstance(found[0], hf.client.RemoteAnswer)
    assert isinstance(found[1], InvalidParameter)


def test_budgets_end_as_in_a_guard(steward: hf.client.Connection, live: Live) -> None:
    short = steward.guard(live.guard("short", {"questions": 1})["id"])
    short.ask(QUESTIONS[0])
    with pytest.raises(BudgetExhausted):
        short.ask(QUESTIONS[1])
    assert not short.estimate(QUESTIONS[1]).admitted


def test_receipts_are_checked_against_the_pinned_key(live: Live, ann: hf.client.Connection, token: str) -> None:
    answer, key = ann.ask(QUESTIONS[0]), ann.public_key
    assert key is not None
    assert check_receipt(answer, key, dataset=ann.dataset).sequence == answer.sequence
    assert check_receipt(answer.to_dict(), key) == ann.receipt(answer.sequence)
    other = SigningKey.generate()
    with (
        hf.connect(live.url, token, public_key=other.public) as misled,
        pytest.raises(ReceiptInvalid, match="another key"),
    ):
        misled.ask(QUESTIONS[0])
    plain = answer.to_dict()
    for changed, words in (
        (plain | {"value": 0.51}, "differs from the answer"),
        (plain | {"sequence": 99}, "another entry"),
        (plain | {"receipt": plain["receipt"] | {"answer": {"value": 1}}}, "signature of the receipt does not fit"),
        (plain | {"receipt": plain["receipt"] | {"public_key": other.public}}, "another key"),
        (plain | {"receipt": plain["receipt"] | {"note": "more"}}, "receipt must be"),
        (plain | {"receipt": None}, "no receipt"),
    ):
        with pytest.raises(ReceiptInvalid, match=words):
            check_receipt(changed, key)
    with pytest.raises(ReceiptInvalid, match="another data set"):
        check_receipt(Receipt.from_dict(plain["receipt"]), key, dataset="0" * 64)


def test_stewards_verbs(steward: hf.client.Connection, live: Live, ann: hf.client.Connection) -> None:
    guard = steward.guard(live.guard("steward", POLICY)["id"])
    guard.pause("a pause")
    assert guard.describe()["status"] == "paused"
    with pytest.raises(QuestionRefused):
        guard.ask(QUESTIONS[0])
    guard.resume()
    guard.override(hf.guard.Policy(questions=50), "more is needed")
    answer = guard.ask(QUESTIONS[0])
    assert not answer.guarantee.certified
    assert guard.verify()["ok"]
    guard.close("done")
    with pytest.raises(LedgerConflict):
        guard.resume()
    own = ann.guard()
    for act in (own.pause, own.resume, own.close, own.verify, ann.samples, ann.tokens):
        with pytest.raises(NotAllowed):
            act()
    revoked = steward.issue_token("analyst", "gone")
    steward.revoke_token(revoked["id"])
    with hf.connect(live.url, revoked["token"]) as gone, pytest.raises(NotAllowed, match="revoked"):
        gone.me()


def test_a_guard_is_named_where_there_are_several(steward: hf.client.Connection, guard: hf.client.RemoteGuard) -> None:
    assert steward.guard("people").id == guard.id
    with pytest.raises(InvalidParameter, match="the guards that this token may use are: "):
        steward.ask(QUESTIONS[0])
    with pytest.raises(InvalidParameter, match="must name a guard"):
        steward.guard("no such guard")


def test_nothing_shows_the_token(ann: hf.client.Connection, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = token.rpartition("_")[2]
    assert secret not in repr(ann) + repr(ann.guard()) + repr(vars(ann))
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(ann)
    monkeypatch.delenv("HOLDFAST_TOKEN", raising=False)
    with pytest.raises(InvalidParameter, match="HOLDFAST_TOKEN"):
        hf.connect(ann.url)


def test_notebooks_show_texts_and_no_markup(ann: hf.client.Connection, steward: hf.client.Connection) -> None:
    answer = ann.ask(QUESTIONS[0])
    shown = answer._repr_html_()
    assert "<svg" in shown
    assert "0.5 in [" in shown
    assert "left (yours)" in ann.estimate(QUESTIONS[0])._repr_html_()
    assert "people" in ann._repr_html_()
    assert "id integer" in ann.guard()._repr_html_()
    evil = "<script>alert('x')</script>\"&"
    facts = ann.describe() | {"name": evil, "analysts": {evil: {"questions": 3}}}
    facts["schema"] = {"columns": [{"name": evil, "kind": "text"}]}
    card = guard_card(facts)
    assert "<script" not in card
    assert card.count("&lt;script&gt;") == 3
    odd = hf.client.RemoteAnswer({evil: 0.5}, {evil: [0.4, 0.6]}, answer.guarantee)
    assert "<script" not in odd._repr_html_()
    assert interval_picture(evil, [evil, 1]) == ""


def test_commands_take_an_address(
    live: Live, token: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", token)
    for _ in range(2):
        assert run(["ask", "check", live.url, "people", "age < 45", "--guess", "0.5", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
    assert said["repeated"] is True
    assert run(["ask", "check", live.url, "people", "age < 45", "--guess", "0.5", "--estimate"]) == 0
    many = tmp_path / "questions.json"
    many.write_text(json.dumps(QUESTIONS))
    assert run(["ask", "question", live.url, "people", str(many)]) == 0
    assert run(["ask", "mean", live.url, "people", "age < 45"]) == 3
    assert run(["ask", "check", live.url, "people", "age < 45", "--guess", "0.5", "--analyst", "bob"]) == 2
    assert run(["guard", "show", live.url]) == 0
    assert "Guard people" in capsys.readouterr().out
    assert run(["guard", "show", live.url, "--dataset", "nothing"]) == 2
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_wrong")
    assert run(["guard", "show", live.url]) == 1
    assert "not known here" in capsys.readouterr().err


def test_every_error_of_the_server_is_known_to_the_client() -> None:
    from holdfast.client.errors import _KIND_OF, error_of
    from holdfast.server.http import CODES

    assert set(CODES) <= set(_KIND_OF)
    for code, (status, title) in CODES.items():
        error = error_of(status, {"code": code, "detail": title})
        assert isinstance(error, HoldfastError)
        assert str(error) == title
    assert str(error_of(418, ["odd"])) == "the server answered with status 418"
    assert "\x1b" not in str(error_of(409, {"code": "forbidden", "detail": "\x1b[2J" + "x" * 9999}))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ledger.db",
        "ftp://x",
        "https://",
        "https://user:password@host",
        "https://host/?q=1",
        "http://example.org",
        7,
    ],
)
def test_addresses_that_are_refused(url: Any) -> None:
    with pytest.raises(InvalidParameter, match="url must"):
        hf.connect(url, "hf_x")


def test_http_elsewhere_is_the_callers_decision() -> None:
    assert hf.connect("http://example.org", "hf_x", insecure=True).url == "http://example.org"
    assert hf.connect("https://example.org/holdfast/", "hf_x").url == "https://example.org/holdfast"
    assert hf.connect("http://[::1]:8321", "hf_x").url == "http://[::1]:8321"
    for token in ("two words", "", "é", None):
        with pytest.raises(InvalidParameter):
            hf.connect("https://example.org", token if token is not None else "\n")
