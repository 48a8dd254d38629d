"""From a token to an answer, over real HTTP."""

from __future__ import annotations

import json

from holdfast.guard.ledger.receipts import Receipt
from tests.server.live import CHECK, ROWS, Live


def test_from_token_to_answer(live: Live) -> None:
    guard = live.guard("slice")
    assert guard["n"] == ROWS
    assert guard["status"] == "open"
    with live.analyst("ann") as ann:
        me = ann.get("/api/v1/me").json()
        assert (me["role"], me["name"]) == ("analyst", "ann")
        at = f"/api/v1/guards/{guard['id']}"
        estimate = ann.post(f"{at}/estimate", json={"question": CHECK}).json()
        assert estimate["admitted"]
        assert estimate["half_width"] > 0
        first = ann.post(f"{at}/ask", json={"question": CHECK}, headers={"Idempotency-Key": "k1"})
        assert first.status_code == 200, first.text
        answer = first.json()
        assert answer["passed"] is True
        assert answer["interval"][0] <= 0.5 <= answer["interval"][1]
        again = ann.post(f"{at}/ask", json={"question": CHECK}, headers={"Idempotency-Key": "k1"}).json()
        assert again["repeated"]
        assert again["sequence"] == answer["sequence"]
        receipt = Receipt.from_dict(answer["receipt"])
        assert receipt.is_signed()
        assert receipt.public_key == me["public_key"]
        other = ann.post(
            f"{at}/ask",
            json={"question": CHECK | {"guess": 0.4}},
            headers={"Idempotency-Key": "k1"},
        )
        assert other.status_code == 409
        assert other.json()["code"] == "ledger-conflict"
        assert other.headers["content-type"] == "application/problem+json"
        mean = ann.post(
            f"{at}/ask", json={"question": {"kind": "mean", "expression": "income", "low": 0, "high": 5000}}
        )
        assert mean.status_code == 200, mean.text
        assert mean.json()["cost"] == {"kind": "pure-dp", "epsilon": 0.01}
        left = ann.get(f"{at}/remaining").json()
        assert left["yours"]["questions"] == 498
        kept = ann.get(f"{at}/entries").json()["entries"]
        assert [entry["analyst"] for entry in kept] == ["ann", "ann"]
        assert ann.get(f"{at}/entries/{answer['sequence']}/receipt").json() == answer["receipt"]


def test_batch_and_stream(live: Live) -> None:
    guard = live.guard("batch", {"questions": 500})
    at = f"/api/v1/guards/{guard['id']}"
    questions = [{"kind": "check", "expression": f"age < {limit}", "guess": 0.5} for limit in (30, 45, 60)]
    with live.analyst("ann") as ann:
        done = ann.post(f"{at}/batch", json={"questions": questions}, headers={"Idempotency-Key": "b"}).json()[
            "answers"
        ]
        assert [answer["passed"] for answer in done] == [False, True, False]
        odd = [*questions, {"kind": "check", "expression": "no_such_column < 1", "guess": 0.5}]
        with ann.stream("POST", f"{at}/stream", json={"questions": odd}, headers={"Idempotency-Key": "s"}) as stream:
            assert stream.headers["content-type"].startswith("application/x-ndjson")
            lines = [json.loads(line) for line in stream.iter_lines()]
        assert [line["event"] for line in lines] == ["started", "answered", "answered", "answered", "refused", "done"]
        assert all(line["answer"]["repeated"] for line in lines[1:4])
        assert lines[4]["problem"]["code"] == "invalid-parameter"
        before = ann.get(f"{at}/remaining").json()["yours"]["questions"]
        none = ann.post(f"{at}/batch", json={"questions": [CHECK | {"guess": 0.51}, odd[-1]]})
        assert none.status_code == 422
        assert ann.get(f"{at}/remaining").json()["yours"]["questions"] == before


def test_steward_acts(live: Live) -> None:
    guard = live.guard("acts", {"questions": 50})
    at = f"/api/v1/guards/{guard['id']}"
    with live.client() as steward, live.analyst("ann") as ann:
        assert steward.post(f"{at}/pause", json={"reason": "lunch"}).json()["status"] == "paused"
        refused = ann.post(f"{at}/ask", json={"question": CHECK})
        assert (refused.status_code, refused.json()["code"]) == (409, "question-refused")
        assert steward.post(f"{at}/resume", json={}).json()["status"] == "open"
        assert ann.post(f"{at}/ask", json={"question": CHECK}).status_code == 200
        assert 0 < ann.get(f"{at}/level", params={"alpha": 0.05}).json()["level"] < 0.05
        changed = steward.post(f"{at}/override", json={"policy": {"questions": 60}, "reason": "more time"}).json()
        assert changed["overrides"] == 1
        assert ann.get(f"{at}/level", params={"alpha": 0.05}).json()["code"] == "guarantee-unavailable"
        assert steward.post(f"{at}/verify").json()["ok"] is True
        assert steward.post(f"{at}/close", json={"reason": "done"}).json()["status"] == "closed"
        assert steward.post(f"{at}/resume", json={}).json()["code"] == "ledger-conflict"
