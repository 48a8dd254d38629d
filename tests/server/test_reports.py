"""Audit reports on a server: who sees which, what is refused, and that nothing in one can run anywhere."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from holdfast.coherence.report import html, read
from holdfast.core.strict_json import to_json
from holdfast.server.shapes import EXAMPLE
from tests.server.live import Live
from tests.server.test_hostile import NASTY_NAMES, problem

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' javascript:alert(3) {{7*7}}"
AT = "/api/v1/reports"


def file_of(title: str = "people.csv", **more: Any) -> bytes:
    """The file that `holdfast audit` writes."""
    return (to_json(EXAMPLE | {"title": title} | more) + "\n").encode()


def send(client: httpx.Client, name: str, body: bytes | None = None, kind: str = "application/json") -> httpx.Response:
    body = file_of() if body is None else body
    return client.post(AT, params={"name": name}, content=body, headers={"Content-Type": kind})


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[httpx.Client]:
    with live.client() as client:
        yield client


@pytest.fixture(scope="module")
def analyst(live: Live) -> Iterator[httpx.Client]:
    with live.analyst("report reader") as client:
        yield client


@pytest.fixture(scope="module")
def kept(steward: httpx.Client) -> dict[str, Any]:
    done = send(steward, "kept")
    assert done.status_code == 201, done.text
    return dict(done.json())


def test_from_upload_to_deletion(steward: httpx.Client, analyst: httpx.Client) -> None:
    body = file_of("all of it")
    made = send(steward, "whole life", body).json()
    assert made["digest"] == hashlib.sha256(body).hexdigest()
    assert (made["outcome"], made["partial"], made["uploader"]) == (
        "NO EVIDENCE",
        False,
        steward.get("/api/v1/me").json()["name"],
    )
    assert (made["title"], made["size"], made["published"]) == ("all of it", len(body), None)
    at = f"{AT}/{made['id']}"
    again = send(steward, "whole life", body)
    assert (again.status_code, again.json()) == (200, made), "a retry finds what it made"
    problem(send(steward, "whole life"), 409, "name-taken")
    assert steward.get(at).json() == made
    assert steward.get(f"{at}/content").content == body
    assert steward.get(f"{at}/view").text == html(read(json.loads(body)))

    for path in (at, f"{at}/content", f"{at}/view"):
        problem(analyst.get(path), 404, "not-found")
    assert made["id"] not in analyst.get(AT).text
    for _ in range(2):
        assert steward.post(f"{at}/publish").json()["published"] is not None
    assert made["id"] in analyst.get(AT).text
    assert analyst.get(at).json()["id"] == made["id"]
    assert analyst.get(f"{at}/content").content == body
    assert "all of it" in analyst.get(f"{at}/view").text
    assert steward.post(f"{at}/withdraw").json()["published"] is None
    problem(analyst.get(at), 404, "not-found")
    assert steward.delete(at).status_code == 204
    problem(steward.get(at), 404, "not-found")
    problem(steward.get(f"{at}/content"), 404, "not-found")
    problem(steward.delete(at), 404, "not-found")
    assert send(steward, "whole life").status_code == 201, "the name is free again"


def test_every_route_and_every_role(live: Live, steward: httpx.Client, analyst: httpx.Client) -> None:
    """The matrix of the reports' routes; test_authorisation keeps the others."""
    paths = httpx.get(live.url + "/api/v1/openapi.json", timeout=30).json()["paths"]
    served = {(method.upper(), path) for path, methods in paths.items() if "/reports" in path for method in methods}
    only_steward = {
        ("POST", AT): 201,
        ("POST", AT + "/{report}/publish"): 200,
        ("POST", AT + "/{report}/withdraw"): 200,
        ("DELETE", AT + "/{report}"): 204,
    }
    anyone = {("GET", AT), ("GET", AT + "/{report}"), ("GET", AT + "/{report}/content"), ("GET", AT + "/{report}/view")}
    assert served == set(only_steward) | anyone
    hidden, shown = (send(steward, f"matrix {word}").json()["id"] for word in ("hidden", "shown"))
    steward.post(f"{AT}/{shown}/publish")

    def ask(client: httpx.Client, method: str, path: str, report: str, name: str) -> httpx.Response:
        more: dict[str, Any] = {}
        if (method, path) == ("POST", AT):
            more = {"params": {"name": name}, "content": file_of(), "headers": {"Content-Type": "application/json"}}
        return client.request(method, path.replace("{report}", report), **more)

    expired = httpx.Client(base_url=live.url, headers={"Authorization": "Bearer hf_" + "0" * 16 + "_" + "0" * 64})
    with httpx.Client(base_url=live.url) as nobody, expired:
        for method, path in sorted(served):
            for client in (nobody, expired):
                assert ask(client, method, path, shown, "matrix").status_code == 401, (method, path)
            for report, seen in ((hidden, 404), (shown, 200)):
                expected = 403 if (method, path) in only_steward else seen if "{report}" in path else 200
                assert ask(analyst, method, path, report, "matrix").status_code == expected, (method, path, report)
    for method, path in sorted(served, key=lambda one: one[0] == "DELETE"):
        expected = only_steward.get((method, path), 200)
        assert ask(steward, method, path, hidden, "matrix new").status_code == expected, (method, path)


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_nasty_names_are_refused(steward: httpx.Client, name: str) -> None:
    problem(send(steward, name), 422, "invalid-parameter")


@pytest.mark.parametrize(
    "identity", ["..%2f..%2fetc%2fpasswd", "r_%2e%2e", "r_0000000000000000", "R_0123456789ABCDEF", "x" * 300, "r_0'--"]
)
def test_nothing_but_an_id_is_looked_up(steward: httpx.Client, identity: str) -> None:
    for end in ("", "/view", "/content"):
        problem(steward.get(f"{AT}/{identity}{end}"), 404, "not-found")
    problem(steward.delete(f"{AT}/{identity}"), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        file_of().replace(b"0.041", b"NaN"),
        file_of().replace(b'"title"', b'"title": "twice", "title"', 1),
        file_of("\ud800"),
        file_of("a\x00b"),
        b"PK\x03\x04zip",
        b"<!doctype html><script>alert(1)</script>",
    ],
)
def test_what_is_no_json_is_refused(steward: httpx.Client, body: bytes) -> None:
    problem(send(steward, "broken", body), 400, "malformed-request")


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"{}",
        file_of(extra=1),
        file_of(schema=2),
        file_of(alpha=1e300),
        file_of(findings=[]),
    ],
)
def test_what_the_library_does_not_write_is_refused(steward: httpx.Client, body: bytes) -> None:
    found = problem(send(steward, "broken", body), 422, "invalid-parameter")
    assert len(found["detail"]) < 600
    assert all(one["name"] != "broken" for one in steward.get(AT).json()["reports"])


def test_kinds_and_sizes(live: Live, steward: httpx.Client) -> None:
    for kind in ("text/html", "multipart/form-data", "application/zip", ""):
        problem(send(steward, "kind", kind=kind), 415, "unsupported-media-type")
    most = 8 << 20
    padded = file_of().rstrip() + b" " * most
    problem(send(steward, "large", padded), 413, "too-large")

    def drip() -> Iterator[bytes]:  # without a length beforehand
        for _ in range(most // 65536 + 2):
            yield b" " * 65536

    done = steward.post(AT, params={"name": "drip"}, content=drip(), headers={"Content-Type": "application/json"})
    problem(done, 413, "too-large")
    packed = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    problem(
        steward.post(AT, params={"name": "packed"}, content=b"\x1f\x8b", headers=packed), 415, "unsupported-media-type"
    )


class _Tags(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def nasty_file() -> bytes:
    """A report whose every text is an attack."""
    plain = copy.deepcopy(EXAMPLE)
    for one in (plain["findings"][0], plain["cases"][0]):
        one |= {"learner": NASTY, "lens": NASTY}
    plain["findings"][0] |= {"group": NASTY, "sentences": [NASTY]}
    plain["cases"][0]["sentence"] = NASTY
    plain["offenders"] = [[NASTY, NASTY, NASTY]]
    for name in ("title", "paragraph"):
        plain[name] = NASTY
    for name in ("messages", "limits", "theory"):
        plain[name] = [NASTY]
    plain["sensitivity"][0]["incoherent"] = [NASTY]
    plain["too_small"] = [{"name": NASTY, "size": NASTY}]
    plain["setting"] = {NASTY: NASTY}
    shown = {"learner": NASTY, "lens": NASTY, "group": NASTY}
    plain["distributions"] = [shown | {"edges": [-1, 0, 1], "inside": [5, 5], "outside": [4, 6], "note": NASTY}]
    plain["curves"] = [shown | {"alphas": [0, 1], "above": [1, 0], "noise": [1, 0]}]
    plain["repeats"] = [shown | {"size": 5, "distances": [0.1, 0.2], "chance": [0.1, 0.2]}]
    plain["utilities"] = [shown | {"auc": 0.6, "excess": 0.1}]
    return to_json(plain).encode()


def test_html_in_names_is_shown_and_does_nothing(steward: httpx.Client) -> None:
    made = send(steward, "nasty", nasty_file())
    assert made.status_code == 201, made.text
    done = steward.get(f"{AT}/{made.json()['id']}/view")
    page = _Tags()
    page.feed(done.text)
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "form", "link", "base", "a", "input"}
    assert not {name for name in page.attributes if name.startswith("on") or name in ("href", "src", "style")}
    assert done.text.count("&lt;script&gt;") > 15
    policy = done.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "unsafe" not in policy
    assert done.headers["x-frame-options"] == "DENY"
    assert done.headers["content-type"] == "text/html; charset=utf-8"


def test_the_example_is_a_report() -> None:
    assert read(EXAMPLE).to_dict() == EXAMPLE


def test_nothing_of_a_report_is_logged(live: Live, steward: httpx.Client, kept: dict[str, Any]) -> None:
    send(steward, "silent", file_of("SECRETWORD"))
    send(steward, "silent 2", file_of("SECRETWORD", alpha=5))
    steward.get(f"{AT}/{kept['id']}/view")
    assert "SECRETWORD" not in live.logged()
