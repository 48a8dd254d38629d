"""Submissions and leaderboards over HTTP."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.live import Live

N = 2000
ROWS = "id,rich,score\n" + "".join(f"{i},{str(i % 4 == 0).lower()},{i % 100}\n" for i in range(N))
BOARDS = [
    {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"},
    {"name": "climb", "key": "id", "label": "rich", "metric": "brier", "rule": "ladder", "step": 0.02},
]
POLICY = {"questions": 300, "boards": BOARDS, "kinds": ["score"]}
NOBODY = "id,prediction\n" + "".join(f"{i},false\n" for i in range(N))


@pytest.fixture(scope="module")
def guard(live: Live) -> dict[str, Any]:
    """A guard with two boards."""
    return live.guard("boards", POLICY, ROWS)


@pytest.fixture
def ann(live: Live) -> Iterator[httpx.Client]:
    """An analyst."""
    with live.analyst("ann") as client:
        yield client


def submit(
    client: httpx.Client, guard: dict[str, Any], content: bytes | str, type_: str = "text/csv", **query: Any
) -> httpx.Response:
    """Send predictions."""
    query = {name: value for name, value in query.items() if value is not None}
    key = query.pop("key", None)
    headers = {"Content-Type": type_} | ({} if key is None else {"Idempotency-Key": key})
    return client.post(f"/api/v1/guards/{guard['id']}/submissions", params=query, content=content, headers=headers)


def test_a_submission_is_scored_listed_and_placed(live: Live, guard: dict[str, Any], ann: httpx.Client) -> None:
    done = submit(ann, guard, NOBODY, board="income", guess=0.75, name="nobody", key="one")
    assert done.status_code == 200, done.text
    found = done.json()
    assert (found["value"], found["confirmed"], found["improved"], found["count"]) == (0.75, True, None, N)
    assert found["interval"][0] < 0.75 < found["interval"][1]
    assert submit(ann, guard, NOBODY, board="income", guess=0.75, name="again").json()["repeated"]
    listed = ann.get(f"/api/v1/guards/{guard['id']}/submissions").json()["submissions"]
    assert found["sequence"] in [one["sequence"] for one in listed]
    with live.analyst("bob") as bob:
        assert bob.get(f"/api/v1/guards/{guard['id']}/submissions").json()["submissions"] == []
        board = bob.get(f"/api/v1/guards/{guard['id']}/leaderboard", params={"board": "income"}).json()
    assert [place["analyst"] for place in board["places"]] == ["ann"]
    assert board["places"][0]["rank"] == [1, 1]


def test_every_format_is_the_same_submission(guard: dict[str, Any], ann: httpx.Client) -> None:
    import polars as pl

    frame = pl.DataFrame({"id": list(range(N)), "prediction": [i % 3 == 0 for i in range(N)]})
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    plain = {"keys": frame["id"].to_list(), "predictions": frame["prediction"].to_list()}
    records = [{"id": i, "prediction": p} for i, p in zip(*plain.values(), strict=True)]
    import json

    bodies = [
        (frame.write_csv(), "text/csv"),
        (parquet.getvalue(), "application/vnd.apache.parquet"),
        (json.dumps(plain), "application/json"),
        (json.dumps(records), "application/json"),
        (json.dumps(dict(zip(map(str, plain["keys"]), plain["predictions"], strict=True))), "application/json"),
    ]
    answers = [submit(ann, guard, body, kind, board="income", guess=0.58) for body, kind in bodies]
    assert [one.status_code for one in answers] == [200] * len(bodies), [one.text for one in answers]
    assert len({one.json()["sequence"] for one in answers}) == 1
    assert len({one.json()["predictions"] for one in answers}) == 1
