"""`holdfast mcp` as a real process, driven by the official client library over standard input and output."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from holdfast.cli.main import run
from holdfast.guard import Policy
from tests.server.live import CHECK, Live, fresh_rows

TOOLS = ["describe", "estimate", "ask", "sql", "practice", "submit", "remaining"]


def _drive(arguments: list[str], work: Callable[[Client], Awaitable[None]], **environment: str) -> list[str]:
    """Start `holdfast mcp` and talk to it; the tools that it offers."""
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast", "mcp", *arguments],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
    )

    async def talk() -> list[str]:
        async with Client(stdio_client(started)) as client:
            await work(client)
            return [tool.name for tool in (await client.list_tools()).tools]

    return anyio.run(talk)


async def _call(client: Client, name: str, /, **arguments: Any) -> tuple[bool, str, dict[str, Any]]:
    found = await client.call_tool(name, arguments)
    (block,) = found.content
    assert block.type == "text"
    assert isinstance(found.structured_content, dict)
    return bool(found.is_error), block.text, found.structured_content


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, str]:
    """A ledger, and the rows it guards."""
    rows, ledger = tmp_path / "people.csv", tmp_path / "ledger.db"
    lines = [f"{20 + i % 60},{'true' if i % 60 > 20 else 'false'},{i % 7}" for i in range(6000)]
    rows.write_text("\n".join(["age,rich,note", *lines]) + "\n")
    assert run(["guard", "open", str(ledger), str(rows), "--questions", "6", "--analyst", "agent=1"]) == 0
    return str(ledger), str(rows)


async def _ask(client: Client) -> None:
    """What an agent does with a guard, and what it is told."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name in ("describe", "estimate", "practice", "remaining"))
    assert "population" in (client.instructions or "")

    refused, words, data = await _call(client, "describe")
    assert not refused
    assert data["rows"] == 6000
    assert data["label"] == "rich"
    assert set(data["may_ask"]) == set(Policy().kinds or ())
    assert "age (integer)" in words

    question = {"kind": "check", "expression": "age < 40", "guess": 0.33}
    jsonschema.validate({"question": question}, tools[2].input_schema)
    refused, words, data = await _call(client, "estimate", question=question)
    assert not refused
    assert data["admitted"]
    assert "Nothing was spent" in words
    refused, words, data = await _call(client, "ask", question=question, key="first")
    assert not refused
    assert data["passed"]
    assert data["interval"][0] < 1 / 3 < data["interval"][1]
    assert "hold at once with probability 0.95" in words
    assert "receipt" not in data
    refused, words, again = await _call(client, "ask", question=question, key="first")
    assert again["repeated"]
    assert again["sequence"] == data["sequence"]
    assert "free" in words

    refused, words, data = await _call(client, "submit", rule="age > 40", guess=0.99)
    assert not refused
    assert data["interval"][0] <= 1.0 <= data["interval"][1] + 1e-9
    refused, words, data = await _call(client, "remaining")
    assert data["yours"] == {"questions": 4}
    assert words == "The guard is open. Left for you: 4 questions."


async def _ask_until_refused(client: Client) -> None:
    """Refusals say why and what would do, to the end of the budget."""
    left = (await _call(client, "remaining"))[2]["yours"]["questions"]
    for name, arguments, code, said in (
        ("ask", {"question": {"kind": "mean", "expression": "age"}}, "question-refused", "it allows check"),
        ("ask", {"question": {"kind": "check", "expression": "income > 3", "guess": 0.5}}, None, "name columns"),
        ("ask", {"question": {"kind": "check", "expression": "age <", "guess": 0.5}}, None, "Refused"),
        ("ask", {"question": "how old are they?"}, None, "a question must be a mapping"),
        ("ask", {"question": CHECK | {"guess": "many"}}, None, "guess"),
        ("ask", {"question": CHECK, "analyst": "somebody else"}, None, "does not take analyst"),
        ("ask", {}, None, "ask lacks question"),
        ("estimate", {"question": {"kind": "drop"}}, None, "kind must be one of"),
        ("submit", {"rule": "read_text('/etc/passwd')", "guess": 0.5}, None, "functions"),
        ("submit", {"rule": "age", "guess": 0.5}, None, "Refused"),
        ("submit", {"rule": ["age"], "guess": 0.5}, None, "rule must be a text"),
        ("submit", {"rule": "age > 3", "guess": 1.5}, None, "guess"),
        ("drop_table", {}, None, "there is no tool"),
    ):
        refused, words, data = await _call(client, name, **arguments)
        assert refused, (name, arguments, words)
        assert words.startswith("Refused: ")
        assert said in words, words
        assert data["code"] == (code or "invalid-parameter")
        assert "Nothing was spent" in words
    assert (await _call(client, "remaining"))[2]["yours"]["questions"] == left
    for limit in range(left):
        refused, _, _ = await _call(client, "ask", question=CHECK | {"expression": f"age < {30 + limit}"})
        assert not refused
    refused, words, data = await _call(client, "ask", question=CHECK | {"expression": "age < 70"})
    assert refused
    assert data["code"] == "budget-exhausted"
    assert "stay free" in words
    refused, words, data = await _call(client, "estimate", question=CHECK | {"expression": "age < 70"})
    assert not refused
    assert not data["admitted"]
    assert words.startswith("It would be refused: ")
    refused, words, data = await _call(client, "ask", question=CHECK | {"expression": "age < 30"})
    assert not refused
    assert data["repeated"]


def test_an_agent_asks_a_guard_in_this_machine_until_it_is_refused(place: tuple[str, str]) -> None:
    async def work(client: Client) -> None:
        await _ask(client)
        await _ask_until_refused(client)

    assert _drive([*place, "--analyst", "agent", "--label", "rich"], work) == TOOLS


def test_an_agent_asks_a_guard_on_a_server(live: Live, tmp_path: Path) -> None:
    guard = live.guard("agent guard", {"questions": 5}, fresh_rows("agent"))
    with live.client() as steward:
        made = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "robot", "guards": [guard["id"]]}).json()

    async def work(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        refused, words, data = await _call(client, "ask", question=CHECK)
        assert not refused, words
        assert data["passed"]
        refused, words, data = await _call(client, "estimate", question=CHECK)
        assert (refused, data["repeated"]) == (False, True)
        assert words == "It was asked before: the stored answer would come back, free."
        refused, words, data = await _call(client, "submit", rule="'male'", guess=0.33)
        assert not refused, words
        assert data["interval"][0] < 1 / 3 < data["interval"][1]
        assert (await _call(client, "remaining"))[2]["yours"] == {"questions": 3}
        refused, words, data = await _call(client, "ask", question={"kind": "mean", "expression": "age < 45"})
        assert refused
        assert data["code"] == "question-refused"
        with live.client() as steward:
            steward.post(f"/api/v1/guards/{guard['id']}/pause", json={"reason": "lunch"}).raise_for_status()
        refused, words, data = await _call(client, "ask", question=CHECK | {"guess": 0.4})
        assert refused
        assert "paused" in words
        with live.client() as steward:
            steward.delete(f"/api/v1/tokens/{made['id']}").raise_for_status()
        refused, words, data = await _call(client, "remaining")
        assert refused
        assert data["code"] == "not-allowed"
        assert made["token"] not in words + json.dumps(data)

    _drive([live.url, "agent guard", "--label", "sex"], work, HOLDFAST_TOKEN=made["token"])


BOARDS = [
    {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"},
    {"name": "climb", "key": "id", "label": "rich", "metric": "brier", "rule": "ladder", "step": 0.02},
]
_N = 4000
_PEOPLE = "id,age,rich\n" + "".join(f"{i},{20 + i % 50},{str(i % 4 == 0).lower()}\n" for i in range(_N))


def _submissions(folder: Path) -> Path:
    """A folder with submissions, and a file outside it."""
    files = folder / "files"
    files.mkdir()
    (files / "nobody.csv").write_text("id,prediction\n" + "".join(f"{i},false\n" for i in range(_N)))
    (files / "flat.json").write_text(json.dumps({str(i): 0.25 for i in range(_N)}))
    (folder / "outside.csv").write_text("id,prediction\n1,true\n")
    (files / "link.csv").symlink_to(folder / "outside.csv")
    return files


async def _submit_predictions(client: Client) -> None:
    """What an agent does with boards, whoever holds them."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == TOOLS
    schema = tools["submit"].input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["board"]["enum"] == ["income", "climb"]
    refused, words, data = await _call(client, "describe")
    assert [one["name"] for one in data["boards"]] == ["income", "climb"]
    assert "scores predictions of 'rich' by row key 'id'" in words

    sent = {"board": "income", "predictions": {str(i): False for i in range(_N)}, "guess": 0.75, "name": "nobody"}
    jsonschema.validate(sent, schema)
    refused, words, data = await _call(client, "submit", **sent, key="night-1")
    assert not refused, words
    assert re.search(r"Your score of 0\.75 passed: the truth is between 0\.\d+ and 0\.\d+\.", words)
    first = data["sequence"]
    refused, words, data = await _call(client, "submit", board="income", file="nobody.csv", guess=0.75)
    assert not refused, words
    assert (data["repeated"], data["sequence"]) == (True, first)
    columns = {"keys": list(range(_N)), "predictions": [False] * _N}
    refused, words, data = await _call(client, "submit", board="income", predictions=columns, guess=0.75)
    assert data["sequence"] == first, words
    refused, words, data = await _call(client, "submit", board="climb", file="flat.json")
    assert not refused, words
    assert words.startswith("A new best: 0.")
    refused, words, data = await _call(client, "submit", board="climb", predictions={"1": 0.5})
    assert not refused, words
    assert "it does not beat the best so far. Nothing more is shown." in words
    assert data["value"] is None
    refused, words, data = await _call(client, "submit", rule="age > 500", guess=0.75)
    assert not refused, words

    left = (await _call(client, "remaining"))[2]["yours"]
    for arguments, said in (
        ({"board": "income", "guess": 0.5}, "submit must be given exactly one of rule, predictions, file"),
        (
            {"board": "income", "guess": 0.5, "predictions": {"1": True}, "file": "nobody.csv"},
            "submit must be given exactly one of",
        ),
        ({"board": "income", "guess": 0.5, "predictions": [True]}, "must be an object"),
        ({"board": "income", "guess": 0.5, "predictions": {"1": "maybe"}}, "true or false"),
        ({"board": "income", "predictions": {"1": True}}, "guess must be given"),
        (
            {"board": "climb", "guess": 0.5, "predictions": {"2": 0.5}},
            "this ladder only decides whether a submission beats",
        ),
        ({"board": "none", "guess": 0.5, "predictions": {"1": True}}, "income, climb"),
        ({"guess": 0.5, "predictions": {"1": True}}, "income, climb"),
        ({"board": "income", "guess": 0.5, "rule": "age > 3"}, "board must be left out if a rule is submitted"),
        ({"rule": "age > 3"}, "guess must be given to submit"),
        *(
            ({"board": "income", "guess": 0.5, "file": name}, "folder that was set up")
            for name in ("../outside.csv", "/etc/passwd", "link.csv", "none.csv", ".", "a\0b.csv", 7)
        ),
    ):
        refused, words, data = await _call(client, "submit", **arguments)
        assert refused, (arguments, words)
        assert said in words, words
        assert "Nothing was spent" in words
        assert str(Path.cwd()) not in words
    assert (await _call(client, "remaining"))[2]["yours"] == left


def test_an_agent_submits_predictions_to_a_guard_in_this_machine(tmp_path: Path) -> None:
    rows, ledger, policy = tmp_path / "people.csv", tmp_path / "ledger.db", tmp_path / "policy.json"
    rows.write_text(_PEOPLE)
    policy.write_text(json.dumps({"questions": 40, "boards": BOARDS}))
    assert run(["guard", "open", str(ledger), str(rows), "--policy", str(policy)]) == 0
    files = _submissions(tmp_path)
    _drive([str(ledger), str(rows), "--label", "rich", "--files", str(files)], _submit_predictions)


def test_an_agent_submits_predictions_to_a_guard_on_a_server(live: Live, tmp_path: Path) -> None:
    guard = live.guard("agent boards", {"questions": 40, "boards": BOARDS}, _PEOPLE)
    with live.client() as steward:
        made = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ro", "guards": [guard["id"]]}).json()
    arguments = [live.url, "agent boards", "--label", "rich", "--files", str(_submissions(tmp_path))]
    assert "submit" in _drive(arguments, _submit_predictions, HOLDFAST_TOKEN=made["token"])


def test_what_cannot_begin_says_so_before_the_agent_waits(
    place: tuple[str, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, rows = place
    monkeypatch.delenv("HOLDFAST_TOKEN", raising=False)
    for arguments, words in (
        ([ledger], "analyst must be a name that the policy lists"),  # the ledger remembers the rows
        ([ledger, rows, "--analyst", "nobody"], "analyst must be a name that the policy lists"),
        ([ledger, rows, "--analyst", "agent", "--label", "wealth"], "label must be one of the columns"),
        ([ledger, rows, "--analyst", "agent", "--files", "/none"], "files must be a folder"),
        (
            [ledger, rows, "--analyst", "agent", "--files", "/"],
            "files must be left out, because the guard's policy has no leaderboard",
        ),
        ([ledger, rows, "--analyst", "agent", "--public-key", "0" * 64], "--public-key must be left out"),
        (["https://127.0.0.1:9", "g", "--analyst", "x"], "--analyst must be left out"),
        (["https://127.0.0.1:9", "g"], "token must be given"),
    ):
        assert run(["mcp", *arguments]) == 2
        said = capfd.readouterr()
        assert words in said.err
        assert said.out == ""
