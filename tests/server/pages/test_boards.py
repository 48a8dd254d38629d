"""Leaderboards on the pages: submitting, what each sees of others, both rules, and files that mean harm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from holdfast.server.pages.boards import summary
from tests.server.live import ROWS, Live
from tests.server.pages.test_session import issue
from tests.server.pages.visiting import Visitor

NASTY = "<script>alert(1)</script>"
BOARDS: list[dict[str, Any]] = [
    {"name": f"sexes {NASTY}", "key": "id", "label": "sex", "metric": "accuracy"},
    {"name": "ladder", "key": "id", "label": "sex", "metric": "accuracy", "rule": "ladder", "step": 0.05},
    {"name": "ages", "key": "id", "label": "age", "metric": "mae", "low": 20, "high": 70},
]


@pytest.fixture(scope="module")
def guard(live: Live) -> dict[str, Any]:
    policy = {"questions": 40, "analysts": {"ann": 0.5, "bob": 0.5}, "boards": BOARDS}
    return live.guard("boards of pages", policy)


@pytest.fixture(scope="module")
def people(live: Live) -> Iterator[dict[str, Visitor]]:
    found = {name: Visitor(live.url, issue(live, name)["token"]) for name in ("ann", "bob", "eve")}
    found["steward"] = Visitor(live.url, live.steward_token)
    yield found
    for one in found.values():
        one.close()


def rows(female: int = ROWS) -> bytes:
    """Predictions of which so many are female, and the others male."""
    lines = (f"{i},{'female' if i < female else 'male'}" for i in range(ROWS))
    return ("id,prediction\n" + "\n".join(lines) + "\n").encode()


def send(
    who: Visitor, guard: dict[str, Any], body: bytes, file: str = "p.csv", board: int = 0, **fields: str
) -> httpx.Response:
    data = {"csrf_token": who.csrf_token, "board": fields.pop("called", BOARDS[board]["name"]), **fields}
    return who.post(f"/guards/{guard['id']}/submissions", data=data, files={"file": (file, body)})


def test_a_claim_stands_or_is_corrected(people: dict[str, Visitor], guard: dict[str, Any]) -> None:
    at = f"/guards/{guard['id']}/board"
    assert "There is no score on this leaderboard yet." in people["ann"].get(at).text
    stood = send(people["ann"], guard, rows(), guess="0.66", name=f"all {NASTY}")
    assert stood.status_code == 200
    assert "Your score of 0.66 passed" in stood.text
    assert "one question, no privacy" in stood.text
    again = send(people["ann"], guard, rows(), guess="0.66", name="another name")
    assert "nothing: this question was answered before" in again.text
    corrected = send(people["bob"], guard, rows(0), guess="0.95", name="none")
    assert "Your score of 0.95 failed" in corrected.text
    for name in ("ann", "bob", "steward"):
        page = people[name].get(at).text
        assert "ann leads: no other interval overlaps this one." in page
        assert NASTY not in page
        assert "all &lt;script&gt;alert(1)&lt;/script&gt;" in page
        # What bob claimed is his own affair and the steward's.
        assert ("claimed 0.95" in page) == (name != "ann")
    seen = people["steward"].get(stood.url.path).text
    assert "ann&#39;s score of 0.66 passed" in seen


def test_a_ladder_shows_improvements_only(people: dict[str, Visitor], guard: dict[str, Any]) -> None:
    at = f"/guards/{guard['id']}/board?board=ladder"
    assert "Expected score" in people["ann"].get(at).text, "the first may claim a score"
    assert "A new best: " in send(people["ann"], guard, rows(1000), board=1, name="half").text
    assert "it does not beat the best so far" in send(people["ann"], guard, rows(900), board=1, name="worse").text
    assert "guess must be left out" in send(people["ann"], guard, rows(1), board=1, guess="0.5").text.lower()
    page = people["ann"].get(at).text
    assert "ann is the only participant with a score." in page
    assert "not better than before" in page
    assert "A new score is shown only if its rounded value beats your best score by at least one step" in page
    assert "A new best: " in send(people["ann"], guard, rows(), board=1, name="all").text
    again = send(people["ann"], guard, rows(1000), board=1, name="half again").text
    assert "A new best when it was first submitted" in again
    assert "It was beaten since." in again
    assert "Expected score" not in page
    assert "worse" not in people["bob"].get(at).text, "what showed nothing is listed for whoever sent it"


def test_an_error_is_better_when_less(people: dict[str, Visitor], guard: dict[str, Any]) -> None:
    flat = ("id,prediction\n" + "".join(f"{i},45\n" for i in range(ROWS))).encode()
    done = send(people["bob"], guard, flat, board=2, guess="12.5", name="always 45")
    assert "Your score of 12.5 passed" in done.text
    page = people["bob"].get(f"/guards/{guard['id']}/board?board=ages").text
    assert "A lower score is better." in page


def test_wrong_files_cost_nothing(live: Live, people: dict[str, Visitor], guard: dict[str, Any]) -> None:
    with live.client() as api:
        before = api.get(f"/api/v1/guards/{guard['id']}").json()["entries"]
        for body, file, fields, words in (
            (rows(), "p.exe", {}, "must end in .csv"),
            (rows(), "../../p", {}, "must end in .csv"),
            (b"", "p.csv", {}, "choose a file"),
            (b"id,prediction\n", "p.csv", {}, "predictions"),
            (b"a,b\n1,2\n", "p.csv", {}, "columns"),
            (b"id,prediction\n1,female\n1,male\n", "p.csv", {}, "twice"),
            (b"PAR1 nonsense", "p.parquet", {}, "parquet"),
            (b"{", "p.json", {}, "json"),
            (b"[" * 100_000, "p.json", {}, "json"),
            (rows(), "p.csv", {"guess": "much"}, "guess must be a number"),
            (rows(), "p.csv", {"guess": "7"}, "guess must be"),
            (rows(), "p.csv", {"guess": ""}, "guess must be given"),
            (rows(), "p.csv", {"tolerance": "-1"}, "tolerance must be"),
            (rows(), "p.csv", {"name": "x" * 101}, "name must be"),
            (rows(), "p.csv", {"called": "no such board"}, "board"),
        ):
            given: dict[str, Any] = {"guess": "0.5"} | fields
            done = send(people["ann"], guard, body, file, **given)
            assert done.status_code in (409, 422), (file, fields, done.status_code)
            assert "Not scored." in done.text
            assert words in done.text.lower(), (file, fields, words)
        assert api.get(f"/api/v1/guards/{guard['id']}").json()["entries"] == before
    left = [path.name for path in (live.folder / "uploads").iterdir()]
    assert not [name for name in left if name.endswith((".json", ".parquet"))], "files are deleted once they are read"


def test_whoever_does_not_reach_the_guard_finds_nothing(people: dict[str, Visitor], guard: dict[str, Any]) -> None:
    assert people["eve"].get(f"/guards/{guard['id']}/board").status_code == 404
    assert send(people["eve"], guard, rows(), guess="0.5").status_code == 404
    forged = people["ann"].post(f"/guards/{guard['id']}/submissions", data={"csrf_token": "0" * 64})
    assert forged.status_code == 403


def test_a_guard_without_boards_has_none(live: Live, people: dict[str, Visitor]) -> None:
    other = live.guard("a page without boards", {"questions": 10, "analysts": {"ann": 1.0}})
    page = people["ann"].get(f"/guards/{other['id']}/board")
    assert page.status_code == 404
    assert "This guard has no leaderboard." in page.text
    assert send(people["ann"], other, rows(), guess="0.5").status_code == 404


def test_nobody_knows_who_is_better_where_intervals_overlap() -> None:
    from holdfast.guard.leaderboard import Place, ranks
    from holdfast.server.auth.tokens import Caller
    from holdfast.server.pages.boards import _row

    ends = ((0.5, 0.7), (0.6, 0.8), (0.1, 0.2))
    places = ranks(
        [Place(i, "", f"p{i}", "", sum(one) / 2, one, None, True) for i, one in enumerate(ends, 1)], rising=True
    )
    made = [_row(place, places, None, Caller("t", "analyst", "p1")) for place in places]
    assert [(one.rank, one.place.analyst, one.tied) for one in made] == [
        ("1–2", "p2", "may swap with p1"),
        ("1–2", "p1", "may swap with p2"),
        ("3", "p3", ""),
    ]
    assert made[1].mine
    assert summary(made) == "p2 and p1 cannot be told apart: their intervals overlap."


def test_whoever_is_tenth_is_not_tied_with_the_first() -> None:
    from holdfast.guard.leaderboard import Place, ranks
    from holdfast.server.auth.tokens import Caller
    from holdfast.server.pages.boards import _row

    apart = [Place(i, "", f"p{i}", "", 1 - i / 20, (1 - i / 20, 1 - i / 20), None, True) for i in range(1, 13)]
    places = ranks(apart, rising=True)
    made = [_row(place, places, None, Caller("t", "analyst", "p1")) for place in places]
    assert made[9].rank == "10"
    assert summary(made) == "p1 leads: no other interval overlaps this one."
