"""Every route, every sort of caller, somebody else's objects included. A new route fails here until it is listed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from tests.server.live import CHECK, Live

STEWARD, ANALYST, OPEN = "steward", "analyst", "open"


@dataclass(frozen=True)
class Route:
    """Who may call a route, and a request that is right: for the status a steward gets."""

    who: str
    status: int = 200
    body: Any = None
    content: bytes | None = None
    query: dict[str, str] = field(default_factory=dict)
    type: str = "application/json"


G = "/api/v1/guards/{guard}"
ROUTES: dict[tuple[str, str], Route] = {
    ("GET", "/healthz"): Route(OPEN),
    ("GET", "/readyz"): Route(OPEN),
    ("GET", "/metrics"): Route(STEWARD),
    ("GET", "/api/v1/me"): Route(ANALYST),
    ("POST", "/api/v1/tokens"): Route(STEWARD, 201, {"role": "analyst", "name": "new"}),
    ("GET", "/api/v1/tokens"): Route(STEWARD),
    ("DELETE", "/api/v1/tokens/{token}"): Route(STEWARD),
    ("POST", "/api/v1/tokens/{token}/restore"): Route(STEWARD, 404),
    ("POST", "/api/v1/samples"): Route(STEWARD, 201, None, b"a,b\n1,2\n3,4\n", {"name": "matrix upload"}, "text/csv"),
    ("POST", "/api/v1/samples/register"): Route(STEWARD, 201, {"name": "matrix path", "path": "allowed.csv"}),
    ("GET", "/api/v1/samples"): Route(STEWARD),
    ("GET", "/api/v1/samples/{sample}"): Route(STEWARD),
    ("DELETE", "/api/v1/samples/{sample}"): Route(STEWARD, 409),
    ("POST", "/api/v1/guards"): Route(STEWARD, 409, {"name": "matrix", "sample": "{sample}", "policy": {}}),
    ("GET", "/api/v1/guards"): Route(ANALYST),
    ("GET", G): Route(ANALYST),
    ("GET", G + "/remaining"): Route(ANALYST),
    ("GET", G + "/boards"): Route(ANALYST),
    ("GET", G + "/contest"): Route(ANALYST, 422),
    ("GET", G + "/contest/revealed"): Route(STEWARD, 422),
    ("GET", G + "/level"): Route(ANALYST),
    ("GET", G + "/adjusted"): Route(ANALYST, query={"p": "0.01"}),
    ("POST", G + "/estimate"): Route(ANALYST, 200, {"question": CHECK}),
    ("POST", G + "/ask"): Route(ANALYST, 200, {"question": CHECK}),
    ("POST", G + "/batch"): Route(ANALYST, 200, {"questions": [CHECK]}),
    ("POST", G + "/sql"): Route(ANALYST, 200, {"statement": "select count(*) from people"}),
    ("POST", G + "/stream"): Route(ANALYST, 200, {"questions": [CHECK]}),
    ("GET", G + "/entries"): Route(ANALYST),
    ("GET", G + "/entries/{sequence}/receipt"): Route(ANALYST),
    ("GET", G + "/entries/{sequence}/proof"): Route(ANALYST),
    ("GET", G + "/head"): Route(ANALYST),
    ("POST", G + "/verify"): Route(STEWARD),
    ("POST", G + "/pause"): Route(STEWARD, 200, {"reason": "x"}),
    ("POST", G + "/resume"): Route(STEWARD, 200, {"reason": "x"}),
    ("POST", G + "/override"): Route(STEWARD, 200, {"policy": {"analysts": {"ann": 1.0, "stew": 1.0}}, "reason": "x"}),
    ("POST", G + "/extend"): Route(STEWARD, 409, {"name": "matrix again", "sample": "{sample}"}),
    ("POST", G + "/close"): Route(STEWARD, 200, {"reason": "x"}),
}
ELSEWHERE = ("/submissions", "/leaderboard", "/reports", "/scoring", "/predictions", "/invitations", "/join")
"""Paths whose matrix is kept next to their own tests."""


@dataclass
class World:
    """A server with a guard that only ann may ask, and callers of every sort."""

    live: Live
    names: dict[str, str]
    tokens: dict[str, str | None]
    client: httpx.Client

    def send(self, method: str, path: str, route: Route, who: str) -> httpx.Response:
        """One request."""
        for name, value in self.names.items():
            path = path.replace("{" + name + "}", value)
        headers = {} if self.tokens[who] is None else {"Authorization": f"Bearer {self.tokens[who]}"}
        options: dict[str, Any] = {"params": route.query}
        if route.content is not None:
            options["content"], headers["Content-Type"] = route.content, route.type
        elif route.body is not None:
            body = dict(route.body)
            if body.get("sample") == "{sample}":
                body["sample"] = self.names["sample"]
            options["json"] = body
        return self.client.request(method, path, headers=headers, **options)


@pytest.fixture(scope="module")
def world(live: Live) -> Iterator[World]:
    with live.client() as steward, httpx.Client(base_url=live.url, timeout=30) as client:

        def issue(**body: Any) -> dict[str, Any]:
            made = steward.post("/api/v1/tokens", json=body)
            assert made.status_code == 201, made.text
            return dict(made.json())

        guard = live.guard("matrix", {"analysts": {"ann": 1.0, "stew": 1.0}})
        other = live.guard("other", {"analysts": {"ann": 1.0, "bob": 1.0}})
        stew, ann = issue(role="steward", name="stew"), issue(role="analyst", name="ann")
        tokens: dict[str, str | None] = {
            "nobody": None,
            "malformed": "hf_nonsense",
            "foreign": "hf_" + "0" * 16 + "_" + "0" * 64,
            "wrong secret": ann["token"][:-4] + ("0000" if ann["token"][-4:] != "0000" else "1111"),
            "steward": stew["token"],
            "analyst": ann["token"],
            "another analyst": issue(role="analyst", name="bob")["token"],
            "analyst of another guard": issue(role="analyst", name="ann", guards=[other["id"]])["token"],
        }
        expired, revoked = issue(role="steward", name="old"), issue(role="steward", name="gone")
        with sqlite3.connect(live.folder / "ledger.db") as database:
            database.execute(
                "UPDATE server_tokens SET expires = '2020-01-01T00:00:00+00:00' WHERE id = ?", (expired["id"],)
            )
        database.close()
        assert steward.delete(f"/api/v1/tokens/{revoked['id']}").json()["revoked"]
        tokens |= {"expired": expired["token"], "revoked": revoked["token"]}
        names = {
            "guard": guard["id"],
            "sample": guard["sample"],
            "token": issue(role="analyst", name="spare")["id"],
            "sequence": "2",
        }
        world = World(live, names, tokens, client)
        made = world.send("POST", G + "/ask", ROUTES["POST", G + "/ask"], "analyst")
        assert made.json()["sequence"] == 2
        yield world


def test_every_route_is_listed(world: World) -> None:
    paths = httpx.get(world.live.url + "/api/v1/openapi.json", timeout=30).json()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    served = {(method, path) for method, path in served if not any(word in path for word in ELSEWHERE)}
    assert served == set(ROUTES)


@pytest.mark.parametrize("who", ["nobody", "malformed", "foreign", "wrong secret", "expired", "revoked"])
def test_without_a_good_token_nothing_is_read(world: World, who: str) -> None:
    for (method, path), route in ROUTES.items():
        done = world.send(method, path, route, who)
        expected = 200 if route.who == OPEN else 401
        assert done.status_code == expected, (method, path, done.text)
        if expected == 401:
            code = {"expired": "token-expired", "revoked": "token-revoked"}.get(who, "unauthenticated")
            assert done.json()["code"] == code
            assert done.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("who", ["another analyst", "analyst of another guard"])
def test_what_belongs_to_others_is_not_found(world: World, who: str) -> None:
    for (method, path), route in ROUTES.items():
        done = world.send(method, path, route, who)
        expected = 403 if route.who == STEWARD else 404 if "{guard}" in path else 200
        assert done.status_code == expected, (method, path, done.text)
    listed = world.send("GET", "/api/v1/guards", ROUTES["GET", "/api/v1/guards"], who).json()["guards"]
    assert "other" in [guard["name"] for guard in listed]
    assert "matrix" not in [guard["name"] for guard in listed]


def test_an_analyst_asks_and_does_nothing_else(world: World) -> None:
    for (method, path), route in ROUTES.items():
        done = world.send(method, path, route, "analyst")
        assert done.status_code == (403 if route.who == STEWARD else route.status), (method, path, done.text)
    seen = world.send("GET", G, ROUTES["GET", G], "analyst").json()
    assert seen["policy"]["analysts"] == {"ann": 1.0}
    assert seen["sample"] is None
    assert set(seen["analysts"]) == {"ann"}


def test_analysts_see_their_own_entries_only(world: World) -> None:
    new = Route(ANALYST, 200, {"question": CHECK | {"guess": 0.47}})
    by_steward = world.send("POST", G + "/ask", new, "steward").json()["sequence"]
    entries = world.send("GET", G + "/entries", ROUTES["GET", G + "/entries"], "analyst").json()["entries"]
    assert {entry["analyst"] for entry in entries} == {"ann"}
    path = G.replace("{guard}", world.names["guard"]) + f"/entries/{by_steward}/receipt"
    assert world.send("GET", path, Route(ANALYST), "analyst").status_code == 404
    assert world.send("GET", path, Route(ANALYST), "steward").status_code == 200
    # The same question by somebody else is a question of their own: nothing says that it was asked before.
    own = world.send("POST", G + "/ask", new, "analyst").json()
    assert (own["sequence"] > by_steward, own["repeated"]) == (True, False)


def test_a_steward_does_everything(world: World) -> None:
    """Also what ends a guard: this one is nobody else's."""
    guard = world.live.guard("matrix of the steward", {"analysts": {"ann": 1.0, "stew": 1.0}})
    world = replace(world, names=world.names | {"guard": guard["id"], "sample": guard["sample"]})
    assert world.send("POST", G + "/ask", ROUTES["POST", G + "/ask"], "analyst").json()["sequence"] == 2
    for (method, path), route in ROUTES.items():
        done = world.send(method, path, route, "steward")
        assert done.status_code == route.status, (method, path, done.text)
