"""Sign-up by invitation: who may invite, names that are somebody's once, teams, and links that end."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from tests.server.live import Live, running


@pytest.fixture(scope="module")
def guard(live: Live) -> dict[str, Any]:
    return live.guard("invited to", {"questions": 50})


@pytest.fixture
def steward(live: Live) -> Iterator[httpx.Client]:
    with live.client() as client:
        yield client


def invited(client: httpx.Client, guard: dict[str, Any], **body: Any) -> dict[str, Any]:
    done = client.post(f"/api/v1/guards/{guard['id']}/invitations", json=body)
    assert done.status_code == 201, done.text
    return dict(done.json())


def join(live: Live, invitation: str, name: str | None = None) -> httpx.Response:
    return httpx.post(
        live.url + "/api/v1/join",
        json={"invitation": invitation} | ({} if name is None else {"name": name}),
        timeout=30,
    )


def test_a_link_lets_so_many_in_each_under_a_name_of_their_own(
    live: Live, guard: dict[str, Any], steward: httpx.Client
) -> None:
    made = invited(steward, guard, places=2)
    assert made["link"] == f"{live.url}/join#{made['invitation']}"
    first = join(live, made["link"], "amy")
    assert first.status_code == 201, first.text
    taken = join(live, made["invitation"], "amy")
    assert (taken.status_code, taken.json()["code"]) == (409, "name-taken")
    with live.client(first.json()["token"]) as amy:
        me = amy.get("/api/v1/me").json()
        assert (me["role"], me["name"], me["guards"]) == ("analyst", "amy", [guard["id"]])
    assert join(live, made["invitation"]).status_code == 422, "a name must be given"
    assert join(live, made["invitation"], "ben").status_code == 201
    assert join(live, made["invitation"], "cat").json()["code"] == "forbidden", "both places are taken"
    listed = steward.get(f"/api/v1/guards/{guard['id']}/invitations").json()
    assert [one["name"] for one in listed["participants"]][-2:] == ["amy", "ben"]
    assert "digest" not in str(listed)


def test_names_of_tokens_and_of_an_identity_provider_are_not_given_away(
    live: Live, guard: dict[str, Any], steward: httpx.Client
) -> None:
    made = invited(steward, guard, places=5)
    live.analyst("professor").close()
    assert join(live, made["invitation"], "professor").json()["code"] == "name-taken"
    assert join(live, made["invitation"], "oidc:u-1").status_code == 422
    named = live.guard("names its analysts", {"questions": 50, "analysts": {"zoe": 1.0}})
    to_named = invited(steward, named, places=5)["invitation"]
    assert join(live, to_named, "yan").json()["code"] == "forbidden"
    assert join(live, to_named, "zoe").status_code == 201


def test_a_name_that_looks_like_another_is_not_given(live: Live, guard: dict[str, Any], steward: httpx.Client) -> None:
    made = invited(steward, guard, places=4)["invitation"]
    first = join(live, made, "Ida Blum  ")
    assert first.status_code == 201, first.text
    assert first.json()["name"] == "Ida Blum"
    live.analyst("Strasse").close()
    for name in ("ida blum", "IDA BLUM", "Ida Blum ", "Stra\u00dfe"):
        refused = join(live, made, name)
        assert (refused.status_code, refused.json()["code"]) == (409, "name-taken"), name
    assert join(live, made, "Ida Blume").status_code == 201
    listed = steward.get(f"/api/v1/guards/{guard['id']}/invitations").json()["participants"]
    assert [one["name"] for one in listed if one["name"].startswith("Ida")] == ["Ida Blum", "Ida Blume"]


def test_mates_share_a_name_and_nobody_else_may_invite_them(
    live: Live, guard: dict[str, Any], steward: httpx.Client
) -> None:
    made = invited(steward, guard, places=2)
    tokens = {name: join(live, made["invitation"], name).json()["token"] for name in ("foxes", "hares")}
    with live.client(tokens["foxes"]) as fox, live.client(tokens["hares"]) as hare:
        team = invited(fox, guard, places=1)
        assert team["team"] == "foxes"
        mate = join(live, team["invitation"])
        assert mate.json()["name"] == "foxes"
        refused = fox.post(f"/api/v1/guards/{guard['id']}/invitations", json={"team": "hares"})
        assert refused.status_code == 403
        assert hare.delete(f"/api/v1/invitations/{team['id']}").status_code == 404
        seen = hare.get(f"/api/v1/guards/{guard['id']}/invitations").json()
        assert seen == {"invitations": [], "participants": []}
        with live.client(mate.json()["token"]) as other:
            question = {"question": {"kind": "check", "expression": "age < 30", "guess": 0.2}}
            assert fox.post(f"/api/v1/guards/{guard['id']}/ask", json=question).status_code == 200
            again = other.post(f"/api/v1/guards/{guard['id']}/ask", json=question).json()
            assert again["repeated"], "what a mate asked is the team's"
    with live.analyst("outsider", guards=[live.guard("another guard", {"questions": 5})["id"]]) as outsider:
        assert outsider.post(f"/api/v1/guards/{guard['id']}/invitations", json={}).status_code == 404


def test_an_ended_an_old_and_a_wrong_invitation_let_nobody_in(
    live: Live, guard: dict[str, Any], steward: httpx.Client
) -> None:
    ended, old = invited(steward, guard), invited(steward, guard)
    assert steward.delete(f"/api/v1/invitations/{ended['id']}").json()["revoked"]
    with sqlite3.connect(live.folder / "ledger.db") as database:
        past = "2020-01-01T00:00:00+00:00"
        database.execute("UPDATE server_invitations SET expires = ? WHERE id = ?", (past, old["id"]))
    database.close()
    wrong = ended["invitation"][:-4] + ("0000" if ended["invitation"][-4:] != "0000" else "1111")
    for text, code in ((ended["invitation"], "token-revoked"), (old["invitation"], "token-expired")):
        assert join(live, text, "late").json()["code"] == code
    assert join(live, wrong, "late").json()["code"] == "unauthenticated"


def test_as_many_join_at_once_as_there_are_places(live: Live, guard: dict[str, Any], steward: httpx.Client) -> None:
    made = invited(steward, guard, places=3)
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda i: join(live, made["invitation"], f"rush {i}").status_code, range(6)))
    assert sorted(done) == [201, 201, 201, 403, 403, 403]
    assert steward.get(f"/api/v1/guards/{guard['id']}/invitations").json()["invitations"][-1]["used"] == 3


def test_the_stored_digest_is_no_way_in(live: Live, guard: dict[str, Any], steward: httpx.Client) -> None:
    made = invited(steward, guard)
    with sqlite3.connect(live.folder / "ledger.db") as database:
        (stored,) = database.execute("SELECT digest FROM server_invitations WHERE id = ?", (made["id"],)).fetchone()
    database.close()
    assert stored not in made["invitation"]
    assert join(live, f"hi_{made['id']}_{stored}", "thief").json()["code"] == "unauthenticated"


def test_names_that_look_alike_and_come_at_once_are_one_persons_on_postgresql(postgres_url: str) -> None:
    """Both wait for the guard's row, which a transaction of the test holds until they do; then one of them gets in."""
    with running(ledger=postgres_url, workers=2) as live, live.client() as steward:
        guard = live.guard("rush", {"questions": 50})
        links = [invited(steward, guard)["invitation"] for _ in range(2)]
        with psycopg.connect(postgres_url.replace("+psycopg", "")) as holder, ThreadPoolExecutor(2) as pool:
            holder.execute("SELECT id FROM server_guards WHERE id = %s FOR UPDATE", (guard["id"],))
            asked = [pool.submit(join, live, *pair) for pair in zip(links, ("Eve", "eve"), strict=True)]
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            for _ in range(200):
                with psycopg.connect(postgres_url.replace("+psycopg", "")) as looker:
                    if looker.execute(waiting).fetchone() == (2,):
                        break
                time.sleep(0.05)
            else:
                pytest.fail("both must wait for the row of the guard")
            holder.commit()
            done = sorted(one.result().status_code for one in asked)
        assert done == [201, 409]
