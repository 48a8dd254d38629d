"""Heads and proofs over HTTP: a participant checks a receipt with nothing but them."""

from __future__ import annotations

import pytest

from holdfast.client import connect
from holdfast.errors import HoldfastError
from tests.server.live import Live

CHECK = {"kind": "check", "expression": "age < 40", "guess": 0.5}


def test_a_receipt_fits_an_earlier_head(live: Live) -> None:
    made = live.guard("tree", {"questions": 50})
    with live.analyst("ann") as ann:
        token = ann.headers["authorization"].removeprefix("Bearer ")
    with connect(live.url, token=token) as connection:
        guard = connection.guard(made["id"])
        answer = guard.ask(CHECK)
        head = guard.tree_head()
        receipt = guard.receipt(answer.sequence)
        guard.ask(CHECK | {"expression": "age < 41"})
        proof = guard.inclusion(answer.sequence, size=head.sequence)
        assert proof.problems(receipt, head, head.public_key) == []
        assert guard.inclusion(answer.sequence).problems(receipt, head) != []
        assert guard.tree_head().sequence == head.sequence + 1


def test_a_head_does_not_show_what_others_asked(live: Live) -> None:
    policy = {"questions": 50, "histories": "separate", "analysts": {"ann": 0.5, "bob": 0.5}}
    made = live.guard("separate tree", policy)
    with live.analyst("ann") as ann:
        token = ann.headers["authorization"].removeprefix("Bearer ")
        path = f"/api/v1/guards/{made['id']}"
        assert ann.get(f"{path}/head").status_code == 404
        asked = ann.post(f"{path}/ask", json={"question": CHECK}).json()
        assert ann.get(f"{path}/entries/{asked['sequence']}/proof").status_code == 404
    with connect(live.url, token=token) as connection, pytest.raises(HoldfastError, match="separate"):
        connection.guard(made["id"]).tree_head()
    with live.client() as steward:
        assert steward.get(f"{path}/head").status_code == 200
