"""Submissions and leaderboards over HTTP."""

from __future__ import annotations

import io
import json
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


@pytest.fixture(scope="module")
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
    assert [place["rank"] for place in board["places"] if place["analyst"] == "ann"] == [[1, 1]]


def test_every_format_is_the_same_submission(guard: dict[str, Any], ann: httpx.Client) -> None:
    import polars as pl

    frame = pl.DataFrame({"id": list(range(N)), "prediction": [i % 3 == 0 for i in range(N)]})
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    plain = {"keys": frame["id"].to_list(), "predictions": frame["prediction"].to_list()}
    records = [{"id": i, "prediction": p} for i, p in zip(*plain.values(), strict=True)]
    bodies: list[tuple[bytes | str, str]] = [
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


def test_a_ladder_shows_improvements_only(guard: dict[str, Any], ann: httpx.Client) -> None:
    def send(chance: float, **more: Any) -> dict[str, Any]:
        body = "id,prediction\n" + "".join(f"{i},{chance}\n" for i in range(N))
        done = submit(ann, guard, body, board="climb", **more)
        assert done.status_code == 200, done.text
        return dict(done.json())

    first, second, third = send(0.6, name="high"), send(0.601), send(0.25, name="base rate")
    assert [one["improved"] for one in (first, second, third)] == [True, False, True]
    assert second["value"] is None
    assert third["value"] < first["value"]
    again = send(0.6)
    assert (again["repeated"], again["improved"], again["details"]["beaten"]) == (True, False, True)
    assert again["value"] == first["value"]
    assert send(0.25)["improved"], "and what nothing has beaten is still the best"
    board = ann.get(f"/api/v1/guards/{guard['id']}/leaderboard", params={"board": "climb"}).json()
    assert (board["rising"], board["submissions"]) == (False, 3)
    assert [place["name"] for place in board["places"]] == ["base rate"]


def test_stewards_see_every_submission_and_analysts_their_own(
    live: Live, guard: dict[str, Any], ann: httpx.Client
) -> None:
    with live.analyst("eve") as eve, live.client() as steward:
        for row, sender in enumerate((ann, eve, eve), 1):
            assert submit(sender, guard, f"id,prediction\n{row},true\n", board="income", guess=0.0).status_code == 200
        at = f"/api/v1/guards/{guard['id']}"
        own = eve.get(f"{at}/submissions").json()["submissions"]
        assert {one["analyst"] for one in own} == {"eve"}
        everyone = steward.get(f"{at}/submissions").json()["submissions"]
        assert {"eve", "ann"} <= {one["analyst"] for one in everyone}
        assert steward.get(f"{at}/leaderboard", params={"board": "income", "every": "true"}).status_code == 200
        refused = eve.get(f"{at}/leaderboard", params={"board": "income", "every": "true"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert [board["name"] for board in eve.get(f"{at}/boards").json()["boards"]] == ["income", "climb"]
        page = steward.get(f"{at}/submissions", params={"first": 1, "limit": 2}).json()
        assert page["next"] == 3


def test_a_key_makes_a_retry_the_same_submission(guard: dict[str, Any], ann: httpx.Client) -> None:
    body = "id,prediction\n" + "".join(f"{i},{str(i % 7 == 0).lower()}\n" for i in range(N))
    first = submit(ann, guard, body, board="income", guess=0.7, key="retry")
    again = submit(ann, guard, body, board="income", guess=0.7, key="retry")
    assert again.json() == first.json() | {"repeated": True}
    other = submit(ann, guard, NOBODY, board="income", guess=0.71, key="retry")
    assert (other.status_code, other.json()["code"]) == (409, "ledger-conflict")


PARQUET = "application/vnd.apache.parquet"


def bomb() -> bytes:
    """A small Parquet file of two million rows."""
    import polars as pl

    columns = {"id": pl.repeat(7, 2_000_000, eager=True), "prediction": pl.repeat(True, 2_000_000, eager=True)}
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out, compression="zstd")
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "type_", "query", "status", "code"),
    [
        (b"", "text/csv", {}, 422, "invalid-parameter"),
        (b"nonsense", "text/csv", {}, 422, "invalid-parameter"),
        (b"id,prediction\n1,maybe\n", "text/csv", {}, 422, "invalid-parameter"),
        (b"id,prediction\n1,true\n1,false\n", "text/csv", {}, 422, "invalid-parameter"),
        (b"id,prediction\n1,\n", "text/csv", {}, 422, "invalid-parameter"),
        (b"id,prediction\n,true\n", "text/csv", {}, 422, "invalid-parameter"),
        (b"\x1f\x8b\x08\x00", "text/csv", {}, 422, "invalid-parameter"),
        (b"PAR1 not really PAR1", PARQUET, {}, 422, "invalid-parameter"),
        (b'{"keys": [1, "a"], "predictions": [true, true]}', "application/json", {}, 422, "invalid-parameter"),
        (b'{"keys": [1], "predictions": [true, true]}', "application/json", {}, 422, "invalid-parameter"),
        (b'{"1": NaN}', "application/json", {}, 422, "invalid-parameter"),
        (b'{"1": true, "1": false}', "application/json", {}, 422, "invalid-parameter"),
        (b'{"1": [true]}', "application/json", {}, 422, "invalid-parameter"),
        (b"[" * 100_000, "application/json", {}, 422, "invalid-parameter"),
        (b"[]", "application/json", {}, 422, "invalid-parameter"),
        (b"null", "application/json", {}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/plain", {}, 415, "unsupported-media-type"),
        (NOBODY.encode(), "text/csv", {"guess": "2"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"guess": "nan"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"guess": None}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"tolerance": "-1"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"tolerance": "1e-9"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"board": "none"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"board": None}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"board": "climb"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"name": "<script>"}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"name": "x" * 101}, 422, "invalid-parameter"),
        (NOBODY.encode(), "text/csv", {"nonsense": "1"}, 422, "invalid-parameter"),
    ],
)
def test_what_is_wrong_is_refused_and_costs_nothing(
    guard: dict[str, Any], ann: httpx.Client, body: bytes, type_: str, query: dict[str, Any], status: int, code: str
) -> None:
    at = f"/api/v1/guards/{guard['id']}/remaining"
    before = ann.get(at).json()
    done = submit(ann, guard, body, type_, **{"board": "income", "guess": 0.5} | query)
    assert (done.status_code, done.json()["code"]) == (status, code), done.text
    assert done.headers["content-type"] == "application/problem+json"
    assert ann.get(at).json() == before


def test_files_that_unfold_are_refused_and_nothing_stays_behind(
    live: Live, guard: dict[str, Any], ann: httpx.Client
) -> None:
    packed = bomb()
    assert len(packed) < 100_000
    done = submit(ann, guard, packed, PARQUET, board="income", guess=0.5)
    assert (done.status_code, done.json()["code"]) == (422, "invalid-parameter")
    assert "at most" in done.json()["detail"]
    kept = {path.suffix for path in (live.folder / "uploads").iterdir()}
    assert ".json" not in kept
    sizes = [path.stat().st_size for path in (live.folder / "uploads").iterdir() if path.suffix == ".parquet"]
    assert len(packed) not in sizes


def test_a_guard_without_boards_takes_no_submission(live: Live) -> None:
    plain = live.guard("no boards", {"questions": 10})
    with live.analyst("ann") as ann:
        done = submit(ann, plain, NOBODY, guess=0.5)
        assert (done.status_code, done.json()["code"]) == (409, "question-refused")
        board = ann.get(f"/api/v1/guards/{plain['id']}/leaderboard")
        assert (board.status_code, board.json()["code"]) == (422, "invalid-parameter")
        assert ann.get(f"/api/v1/guards/{plain['id']}/boards").json() == {"boards": []}


def test_a_board_that_does_not_fit_makes_no_guard(live: Live) -> None:
    made = live.sample("unfit", "a,b\n1,2\n3,4\n5,7\n")
    board = {"name": "x", "key": "a", "label": "nothing", "metric": "accuracy"}
    with live.client() as steward:
        done = steward.post(
            "/api/v1/guards", json={"name": "unfit", "sample": made["id"], "policy": {"boards": [board]}}
        )
        assert (done.status_code, done.json()["code"]) == (422, "invalid-parameter")


ROUTES = [("POST", "/submissions"), ("GET", "/submissions"), ("GET", "/leaderboard"), ("GET", "/boards")]


def test_who_may_do_what(live: Live) -> None:
    """Every route, every sort of caller: no token, a wrong one, others' analysts, the guard's own, a steward."""
    mine = live.guard("matrix of boards", POLICY | {"analysts": {"ann": 1.0, "stew": 1.0}}, ROWS.replace("score", "a"))
    beside = live.guard("beside the matrix", POLICY, ROWS.replace("score", "b"))
    with live.client() as steward:
        made = steward.post("/api/v1/tokens", json={"role": "steward", "name": "stew"}).json()["token"]
    with (
        httpx.Client(base_url=live.url, timeout=30) as nobody,
        live.client("hf_nonsense") as wrong,
        live.analyst("bob") as bob,
        live.analyst("ann", guards=[beside["id"]]) as elsewhere,
        live.analyst("ann") as ann,
        live.client(made) as stew,
    ):
        expected = [(nobody, 401), (wrong, 401), (bob, 404), (elsewhere, 404), (ann, 200), (stew, 200)]
        for method, path in ROUTES:
            options: dict[str, Any] = {"params": {} if path == "/boards" else {"board": "income"}}
            if method == "POST":
                options |= {"content": NOBODY, "headers": {"Content-Type": "text/csv"}}
                options["params"]["guess"] = 0.75
            for client, status in expected:
                done = client.request(method, f"/api/v1/guards/{mine['id']}{path}", **options)
                assert done.status_code == status, (method, path, done.text)
                if status == 404:
                    assert done.json()["code"] == "not-found"


def test_exact_scores_are_said_nowhere(live: Live) -> None:
    """Scores whose digits could be found: they are in no answer, no leaderboard, no ledger page and no log."""
    n = 1234
    rich = [(i * i) % 7 < 3 for i in range(n)]
    rows = "id,rich\n" + "".join(f"{i},{str(one).lower()}\n" for i, one in enumerate(rich))
    chances = [round(0.3 + (i % 11) / 40, 4) for i in range(n)]
    boards: list[dict[str, Any]] = [
        {"name": "acc", "key": "id", "label": "rich", "metric": "accuracy"},
        {"name": "brier", "key": "id", "label": "rich", "metric": "brier"},
        {"name": "auc", "key": "id", "label": "rich", "metric": "auc"},
        {"name": "f1", "key": "id", "label": "rich", "metric": "f1"},
        {"name": "ladder", "key": "id", "label": "rich", "metric": "log-loss", "rule": "ladder", "step": 0.05},
    ]
    guard = live.guard("secret scores", {"questions": 100, "boards": boards}, rows)
    said: list[str] = []
    logged = len(live.logged().splitlines())
    hits = [chance > 0.4 for chance in chances]
    with live.analyst("ann") as ann, live.client() as steward:
        for client in (ann, steward):
            client.event_hooks["response"] = [lambda response: said.append(response.read().decode())]
        for board in boards:
            plain = board["metric"] in ("accuracy", "f1")
            values: list[Any] = [str(hit).lower() for hit in hits] if plain else chances
            body = "id,prediction\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
            for guess in (None,) if "rule" in board else (0.5, 1.0, 0.0):
                done = submit(ann, guard, body, board=board["name"], guess=guess)
                assert done.status_code == 200, done.text
            for client in (ann, steward):
                client.get(f"/api/v1/guards/{guard['id']}/leaderboard", params={"board": board["name"]})
        for path in ("", "/submissions", "/entries", "/remaining"):
            last = steward.get(f"/api/v1/guards/{guard['id']}{path}")
    from sklearn import metrics as sk

    exact = [
        sk.accuracy_score(rich, hits),
        sk.brier_score_loss(rich, chances),
        sk.roc_auc_score(rich, chances),
        sk.f1_score(rich, hits),
        sk.log_loss(rich, chances),
        sum(one == two for one, two in zip(rich, hits, strict=True)),
    ]
    live.line_of(last.headers["x-request-id"])
    lines = [json.loads(line) for line in live.logged().splitlines()[logged:]]
    for line in lines:  # the clock knows nothing of scores, and shows any number on some day
        for name in ("time", "milliseconds"):
            line.pop(name)
    everything = "\n".join([*said, *map(json.dumps, lines)])
    assert len(lines) >= len(said) > 20
    for number in exact[:-1]:
        assert f"{number:.7f}"[:-1] not in everything
    assert f" {exact[-1]}" not in everything.replace(":", " ").replace(",", " ")
