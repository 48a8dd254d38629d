"""What one analyst learns of another: that they are there together, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from holdfast.client.answers import RemoteAnswer
from holdfast.core.guarantee import Guarantee
from holdfast.server.agents.tools import answer_words
from tests.server.live import CHECK, Live, fresh_rows
from tests.server.pages.visiting import Visitor


@pytest.fixture(scope="module")
def at(live: Live) -> str:
    """A guard that two have asked, ann with the larger share."""
    made = live.guard("others", {"questions": 100, "analysts": {"ann": 0.75, "bob": 0.25}})
    at = f"/api/v1/guards/{made['id']}"
    with live.analyst("ann") as ann, live.analyst("bob") as bob:
        for guess in (0.5, 0.49, 0.48):
            assert ask(ann, at, CHECK | {"guess": guess}).status_code == 200
        assert ask(bob, at, CHECK | {"guess": 0.47}).status_code == 200
    return at


def ask(who: httpx.Client, at: str, question: dict[str, Any], **headers: str) -> httpx.Response:
    return who.post(f"{at}/ask", json={"question": question}, headers=headers)


def test_nobody_sees_what_another_has_left(live: Live, at: str) -> None:
    with live.analyst("ann") as ann, live.analyst("bob") as bob, live.client() as steward:
        for who, name in ((ann, "ann"), (bob, "bob")):
            seen = who.get(at).json()
            assert set(seen["analysts"]) == {name}
            assert set(seen["policy"]["analysts"]) == {name}
            listed = who.get("/api/v1/guards").json()["guards"]
            assert [set(one["analysts"]) for one in listed if one["name"] == "others"] == [{name}]
        assert set(steward.get(at).json()["analysts"]) == {"ann", "bob"}


def test_a_key_is_its_analysts_own(live: Live, at: str) -> None:
    """The same key of somebody else is another key: it neither conflicts, nor shows that it is in use."""
    mine, other = CHECK | {"guess": 0.46}, CHECK | {"guess": 0.45}
    with live.analyst("ann") as ann, live.analyst("bob") as bob:
        first = ask(ann, at, mine, **{"Idempotency-Key": "shared"})
        second = ask(bob, at, other, **{"Idempotency-Key": "shared"})
        assert (first.status_code, second.status_code) == (200, 200)
        assert first.json()["sequence"] != second.json()["sequence"]
        assert ask(ann, at, other, **{"Idempotency-Key": "shared"}).json()["code"] == "ledger-conflict"
        assert ask(ann, at, mine, **{"Idempotency-Key": "shared"}).json()["repeated"]


def test_what_is_absent_and_what_is_anothers_look_alike(live: Live, at: str) -> None:
    absent = "/api/v1/guards/g_0123456789abcdef"
    with live.analyst("eve") as eve:
        for method, path, body in (
            ("GET", "", None),
            ("GET", "/remaining", None),
            ("GET", "/entries", None),
            ("GET", "/entries/2/receipt", None),
            ("GET", "/level", None),
            ("POST", "/ask", {"question": CHECK}),
            ("POST", "/estimate", {"question": CHECK}),
            ("POST", "/batch", {"questions": [CHECK]}),
            ("POST", "/stream", {"questions": [CHECK]}),
        ):
            said = []
            for guard in (at, absent):
                done = eve.request(method, guard + path, json=body)
                plain = {k: v for k, v in done.json().items() if k != "request_id"}
                headers = {k: v for k, v in done.headers.items() if k not in ("date", "x-request-id")}
                said.append((done.status_code, plain, headers))
            assert said[0] == said[1], path
            assert said[0][0] == 404


def test_the_fingerprint_of_the_rows_is_for_stewards(live: Live, at: str) -> None:
    """Everybody can compute it: who knows all rows but one would find the last by trying."""
    with live.client() as steward, live.analyst("ann") as ann:
        sample = steward.get(at).json()["sample"]
        fingerprint = steward.get(f"/api/v1/samples/{sample}").json()["fingerprint"]
        assert len(fingerprint) == 64
        seen = [
            ann.get(at),
            ann.get("/api/v1/guards"),
            ann.get(f"{at}/entries"),
            ann.get(f"{at}/entries/2/receipt"),
            ann.get(f"{at}/remaining"),
            ask(ann, at, CHECK),
        ]
        assert {one.status_code for one in seen} == {200}
        assert not [one for one in seen if fingerprint in one.text or fingerprint[:16] in one.text]
        # The same rows under another name meet the guard that they have.
        with open_again(live, sample) as again:
            assert again.json()["code"] == "name-taken"


@contextmanager
def open_again(live: Live, sample: str) -> Iterator[httpx.Response]:
    """Upload the rows of a sample once more, and put a guard before them."""
    made = live.sample("others again", fresh_rows("others"))
    with live.client() as steward:
        facts = {one["id"]: one["fingerprint"] for one in steward.get("/api/v1/samples").json()["samples"]}
        assert facts[made["id"]] == facts[sample]
        yield steward.post("/api/v1/guards", json={"name": "others again", "sample": made["id"]})
        steward.delete(f"/api/v1/samples/{made['id']}")


def test_a_stored_answer_does_not_say_what_its_asker_had_left() -> None:
    """A stored answer may be another's: what was left then was theirs."""
    left = {"yours": {"questions": 41}, "total": {"questions": 90}}
    for repeated in (False, True):
        answer = RemoteAnswer(
            0.5, [0.4, 0.6], Guarantee("transfer.interleaved"), remaining=left, sequence=3, repeated=repeated
        )
        assert ("41" in answer_words(answer)) is not repeated
        assert ("41" in answer._repr_html_()) is not repeated


def test_bob_learns_nothing_of_what_ann_asked(live: Live) -> None:
    """He asks and estimates what she asked, and what nobody did: all that he is told is alike."""
    made = live.guard("unseen", {"questions": 100, "privacy": {"kind": "pure-dp", "epsilon": 1.0}})
    at = f"/api/v1/guards/{made['id']}"
    hers, nobodys = CHECK, CHECK | {"expression": "age < 46"}
    with live.analyst("ann") as ann, live.analyst("bob") as bob:
        first = ask(ann, at, hers, **{"Idempotency-Key": "k"}).json()
        estimates = [bob.post(f"{at}/estimate", json={"question": one}).json() for one in (hers, nobodys)]
        assert estimates[0] == estimates[1]
        assert not estimates[0]["repeated"]
        his = ask(bob, at, hers, **{"Idempotency-Key": "k"}).json()
        assert not his["repeated"]
        assert his["sequence"] != first["sequence"]
        assert his["receipt"] != first["receipt"]
        assert his["remaining"]["total"]["questions"] == 98, "it is a question of his own, and paid for"
        batch = bob.post(f"{at}/batch", json={"questions": [hers, nobodys]}).json()["answers"]
        assert [one["repeated"] for one in batch] == [True, False], "his own is free for him"
        assert bob.get(f"{at}/entries/{his['sequence']}/receipt").json() == his["receipt"]
        assert bob.get(f"{at}/entries/{first['sequence']}/receipt").status_code == 404
        assert ask(ann, at, hers).json()["sequence"] == first["sequence"]
        assert {one["analyst"] for one in bob.get(f"{at}/entries").json()["entries"]} == {"bob"}


def test_the_page_of_anothers_answer_does_not_say_either(live: Live) -> None:
    """Where the policy shares stored answers."""
    made = live.guard("shared answers", {"questions": 100, "repeats": "everyone"})
    with live.analyst("ann") as ann, live.analyst("bob") as bob:
        ask(ann, f"/api/v1/guards/{made['id']}", CHECK)
        token = bob.headers["authorization"].removeprefix("Bearer ")
    with Visitor(live.url, token) as page:
        guard = made["id"]
        said = page.fill(f"/guards/{guard}/ask", kind="check", do="ask", key="x1", expression="age < 45", guess="0.5")
        assert said.status_code == 200
        assert "this question was answered before" in said.text
        assert "Left in total after it" in said.text
        assert "Left for you after it" not in said.text
        assert "receipt" not in said.text


def test_what_is_repeated_in_a_problem_is_short(live: Live, at: str) -> None:
    with live.client() as steward:
        sample = steward.get(at).json()["sample"]
        long = "w" * 100_000
        for done in (
            steward.post("/api/v1/tokens", json={long: 1}),
            steward.post("/api/v1/guards", json={"name": "x", "sample": sample, "policy": {long: 1}}),
            ask(steward, at, CHECK | {long: 1}),
            ask(steward, at, CHECK | {"expression": f"{long} < 1"}),
            ask(steward, at, CHECK | {"guess": long}),
        ):
            assert done.status_code == 422
            assert len(done.content) < 4000
