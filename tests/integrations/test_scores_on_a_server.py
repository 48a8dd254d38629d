"""Scores whose budget is a guard on a server: what a harness on another machine reports to."""

from __future__ import annotations

import math

import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.integrations.reported_scores import GuardedScores, answer_sheet, boards
from tests.server.live import running

N = 500
IDS = [f"item {i}" for i in range(N)]
RIGHT = [i % 4 > 0 for i in range(N)]


def test_scores_are_reported_to_a_server() -> None:
    sheet = answer_sheet(IDS)
    rows = "item,right\n" + "".join(f"{item},true\n" for item in sheet["item"])
    policy = hf.guard.Policy(questions=4, boards=tuple(boards()), kinds=("score",)).to_dict()
    with running() as live:
        live.guard("benchmark", policy, rows)
        with live.client() as steward:
            token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "harness"}).json()["token"]
        with hf.connect(live.url, token) as there:
            scores = GuardedScores(there.guard("benchmark"))
            assert scores.promise()["questions"] == 4
            checked = scores.report(IDS, RIGHT, guess=0.77)
            assert (checked.value, checked.confirmed, checked.left) == (0.77, True, 3)
            assert scores.report(IDS[::-1], RIGHT[::-1], guess=0.77) == checked
            climbed = scores.report(IDS, RIGHT)
            assert climbed.improved
            assert climbed.low < 0.75 < climbed.high
            with pytest.raises(InvalidParameter, match="one entry for each of"):
                scores.report(IDS[:10], RIGHT[:10], guess=0.7)
            scores.report(IDS, RIGHT, guess=0.74)
            scores.report(IDS, RIGHT, guess=0.73)
            refused = scores.report(IDS, RIGHT, guess=0.72)
            assert math.isnan(refused.value)
            assert refused.refused.startswith("BudgetExhausted: ")
