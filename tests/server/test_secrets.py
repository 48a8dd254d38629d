"""Tokens, rows and exact statistics appear in no answer, error, page of counts or line of the log."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import httpx

from tests.server.live import Live, entries
from tests.server.untold import require_untold

MARK = "zanzibar-7731"
INCOMES = [1000.0 + 37.123457 * (i % 97) for i in range(1500)]


def rows() -> str:
    lines = [f"{i},{20 + i % 50},{income!r},{MARK}-{i}" for i, income in enumerate(INCOMES)]
    return "\n".join(["id,age,income,who", *lines]) + "\n"


def test_nothing_secret_is_said(live: Live) -> None:
    policy = {"privacy": {"kind": "zcdp", "rho": 0.5}, "spend": {"kind": "zcdp", "rho": 0.05}, "questions": 50}
    guard = live.guard("secrets", policy, rows())
    at = f"/api/v1/guards/{guard['id']}"
    said: list[str] = [json.dumps(guard)]

    def listen(response: httpx.Response) -> None:
        response.read()
        said.append(f"{response.url} {response.headers} {response.text}")

    ann, steward = live.analyst("ann"), live.client()
    tokens = [client.headers["authorization"].removeprefix("Bearer ") for client in (ann, steward)]
    for client in (ann, steward):
        client.event_hooks["response"] = [listen]
    questions = [
        {"kind": "mean", "expression": "income", "low": 0, "high": 6000},
        {"kind": "mean", "expression": "case when age < 40 then income end", "low": 0, "high": 6000},
        {"kind": "histogram", "column": "age", "edges": [20, 30, 40, 50, 60, 70]},
        {"kind": "check", "expression": "age < 40", "guess": 0.9, "show": "bit"},
        {"kind": "mean", "expression": f"who = '{MARK}-1' / 0", "low": 0, "high": 1},
        {"kind": "mean", "expression": "who", "low": 0, "high": 1},
        {"kind": "mean", "expression": "length(who) + nonsense(", "low": 0, "high": 1},
    ]
    with ann, steward:
        for question in questions:
            ann.post(f"{at}/estimate", json={"question": question})
            ann.post(f"{at}/ask", json={"question": question})
        ann.post(f"{at}/batch", json={"questions": questions[:3]})
        for client in (ann, steward):
            for path in ("", "/remaining", "/level", "/entries"):
                client.get(at + path)
        for path in ("/api/v1/tokens", "/api/v1/samples", "/api/v1/guards", "/api/v1/me", "/metrics"):
            steward.get(path)
        steward.post(f"{at}/verify")
        # A token in the wrong place is not written down either.
        steward.get(f"/api/v1/guards/{tokens[0]}")
        steward.get(f"/nothing/{tokens[0]}", params={"token": tokens[1]})
        ann.get("/api/v1/me", headers={"Authorization": f"Bearer {tokens[0]}x"})
        # The file under the guard is replaced: one clear sentence, and no row in it.
        place = _place(live, guard["sample"])
        content = place.read_text()
        place.write_text(content.replace(",20,", f",{MARK},"))
        broken = ann.post(
            f"{at}/ask", json={"question": {"kind": "mean", "expression": "age + 1", "low": 0, "high": 99}}
        )
        assert (broken.status_code, broken.json()["code"]) == (503, "sample-unavailable")
        place.write_text(content)
        again = ann.post(
            f"{at}/ask", json={"question": {"kind": "mean", "expression": "age + 1", "low": 0, "high": 99}}
        )
        assert again.status_code == 200, "the same rows are there again"
    everything = "\n".join(one for one in said if f"{MARK}-1' / 0" not in one) + live.logged()
    answers = [one for one in said if '"sequence"' in one]
    assert len(answers) > 5
    assert MARK not in everything
    for token in tokens:
        assert token not in live.logged()
        assert token.split("_")[2] not in live.logged()
        assert token.split("_")[2] not in "".join(one.split(" ", 1)[1] for one in said)
    young = [income for i, income in enumerate(INCOMES) if 20 + i % 50 < 40]
    exact = [sum(INCOMES) / len(INCOMES), sum(INCOMES), sum(young) / len(INCOMES), sum(young), sum(young) / len(young)]
    with live.client() as reader:
        kept = entries(reader, at)
    require_untold(everything, [(f"{number:.4f}"[:-1], number) for number in exact], kept)
    assert "$argon2" not in everything


def _place(live: Live, sample: str) -> Path:
    database = sqlite3.connect(live.folder / "ledger.db")
    try:
        return Path(database.execute("SELECT place FROM server_samples WHERE id = ?", (sample,)).fetchone()[0])
    finally:
        database.close()


def test_every_line_of_the_log_is_json_with_a_number(live: Live) -> None:
    with live.client() as steward:
        done = steward.get("/api/v1/guards/g_0000000000000000")
    mine = live.line_of(done.headers["x-request-id"])
    assert all(isinstance(json.loads(line), dict) for line in live.logged().splitlines())
    assert mine["status"] == 404
    assert mine["code"] == "not-found"
    assert mine["route"] == "/api/v1/guards/{guard}"
    assert mine["role"] == "steward"
