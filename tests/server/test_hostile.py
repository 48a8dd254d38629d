"""What people send who mean harm, or do not know better: refused with a problem, logged, and nothing else happens."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.server.samples import examine
from holdfast.server.settings import Settings
from tests.server.live import CHECK, PEOPLE, Live

NASTY_NAMES = [
    "<script>alert(1)</script>",
    "'; DROP TABLE server_tokens; --",
    'x" OR "1"="1',
    "../../etc/passwd",
    "a\x00b",
    "a\nb",
    "‮evil",
    "",
    " ",
    "x" * 101,
    "{{7*7}}",
    "%s%n",
]


def problem(done: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    assert done.status_code == status, done.text
    assert done.headers["content-type"] == "application/problem+json"
    assert done.headers["x-content-type-options"] == "nosniff"
    found: dict[str, Any] = done.json()
    assert found["status"] == status
    assert code is None or found["code"] == code
    assert found["request_id"] == done.headers["x-request-id"]
    return found


@pytest.fixture(scope="module")
def guard(live: Live) -> str:
    return str(live.guard("hostile", {"questions": 100})["id"])


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[httpx.Client]:
    with live.client() as client:
        yield client


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b'{"question": NaN}',
        b'{"question": {"kind": "check", "kind": "mean"}}',
        b'{"question": "\\ud800"}',
        b'{"question": {"kind": "check", "expression": "age < 40 \\u0000", "guess": 0.5}}',
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"question": ' + b"9" * 5000 + b"}",
    ],
)
def test_malformed_json_is_refused(steward: httpx.Client, guard: str, body: bytes) -> None:
    for verb in ("ask", "estimate"):
        at = f"/api/v1/guards/{guard}/{verb}"
        done = steward.post(at, content=body, headers={"Content-Type": "application/json"})
        problem(done, 400, "malformed-request")


@pytest.mark.parametrize(
    "body",
    [
        [],
        None,
        5,
        "text",
        {},
        {"question": None},
        {"question": []},
        {"question": "age < 40"},
        {"question": {}},
        {"question": {"kind": 5}},
        {"question": {"kind": "no such kind"}},
        {"question": {"kind": "check", "expression": 7, "guess": 0.5}},
        {"question": {"kind": "check", "expression": "age < 40", "guess": "half"}},
        {"question": {"kind": "check", "expression": "age < 40", "guess": [0.5]}},
        {"question": {"kind": "check", "expression": "age < 40", "guess": 1e400}},
        {"question": {"kind": "check", "expression": "age < 40", "guess": 0.5, "extra": 1}},
        {"question": {"kind": "check", "expression": {"op": {"op": []}}, "guess": 0.5}},
        {"question": {"kind": "check", "expression": "age < 40; DROP TABLE entries", "guess": 0.5}},
        {"question": {"kind": "check", "expression": "(select count(*) from entries)", "guess": 0.5}},
        {"question": {"kind": "mean", "expression": "age", "low": 0, "high": 1, "spend": {"kind": "pure-dp"}}},
        {"question": {"kind": "mean", "expression": "age", "low": 0, "high": 1, "spend": {"kind": 7, "epsilon": {}}}},
        {"question": {"kind": "select", "candidates": []}},
        {"question": {"kind": "histogram", "column": {"a": 1}}},
        {"question": {"kind": "test", "name": "gof", "columns": 5}},
        {"question": CHECK, "analyst": "somebody else"},
    ],
)
def test_wrong_types_are_refused(steward: httpx.Client, guard: str, body: Any) -> None:
    before = steward.get(f"/api/v1/guards/{guard}").json()["entries"]
    for verb in ("ask", "estimate"):
        done = steward.post(
            f"/api/v1/guards/{guard}/{verb}",
            content=json.dumps(body).replace("Infinity", "1e400"),
            headers={"Content-Type": "application/json"},
        )
        assert done.status_code in (409, 422), done.text  # 409: a kind that this policy does not allow
        problem(done, done.status_code)
    assert steward.get(f"/api/v1/guards/{guard}").json()["entries"] == before


@pytest.mark.parametrize(
    "policy",
    [
        [],
        {"confidence": "high"},
        {"confidence": 2},
        {"questions": -1},
        {"questions": 1e308},
        {"privacy": 5},
        {"privacy": {"kind": "pure-dp", "epsilon": "1"}},
        {"kinds": "check"},
        {"kinds": [[]]},
        {"kinds": 5},
        {"analysts": ["ann"]},
        {"analysts": {"ann": {}}},
        {"expires": 5},
        {"expires": "tomorrow"},
        {"unknown": 1},
    ],
)
def test_wrong_policies_are_refused(live: Live, steward: httpx.Client, guard: str, policy: Any) -> None:
    sample = steward.get(f"/api/v1/guards/{guard}").json()["sample"]
    body = {"name": "wrong policy", "sample": sample, "policy": policy}
    problem(steward.post("/api/v1/guards", json=body), 422)
    problem(steward.post(f"/api/v1/guards/{guard}/override", json={"policy": policy, "reason": "x"}), 422)


@pytest.mark.parametrize("name", NASTY_NAMES)
def test_names_that_would_be_code_elsewhere_are_refused(steward: httpx.Client, guard: str, name: str) -> None:
    problem(steward.post("/api/v1/tokens", json={"role": "analyst", "name": name}), 422 if "\x00" not in name else 400)
    done = steward.post(
        "/api/v1/samples", params={"name": name}, content=b"a\n1\n", headers={"Content-Type": "text/csv"}
    )
    problem(done, 422)
    sample = steward.get(f"/api/v1/guards/{guard}").json()["sample"]
    body = {"name": name, "sample": sample}
    problem(steward.post("/api/v1/guards", json=body), 422 if "\x00" not in name else 400)
    at = quote(name, safe="") or "x"
    for path in (f"/api/v1/guards/{at}", f"/api/v1/samples/{at}"):
        assert steward.get(path).status_code == 404
    assert steward.delete(f"/api/v1/tokens/{at}").status_code == 404
    assert steward.post(f"/api/v1/guards/{at}/ask", json={"question": CHECK}).status_code == 404


def test_unicode_that_is_harmless_is_kept(steward: httpx.Client) -> None:
    made = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "Ærøskøbing Åse (2)"})
    assert made.json()["name"] == "Ærøskøbing Åse (2)"


def test_bodies_beyond_the_limit_are_refused_before_they_are_read(steward: httpx.Client, guard: str) -> None:
    at = f"/api/v1/guards/{guard}/ask"
    big = {"question": CHECK | {"expression": "age < 40" + " " * (2 << 20)}}
    problem(steward.post(at, json=big), 413, "too-large")

    def pieces() -> Iterator[bytes]:  # no Content-Length: it is counted as it comes
        for _ in range(64):
            yield b" " * (1 << 16)

    done = steward.post(at, content=pieces(), headers={"Content-Type": "application/json"})
    problem(done, 413, "too-large")
    many = {"questions": [CHECK] * 1001}
    problem(steward.post(f"/api/v1/guards/{guard}/batch", json=many), 413, "too-large")


def test_packed_bodies_are_refused(steward: httpx.Client, guard: str) -> None:
    packed = gzip.compress(json.dumps({"question": CHECK}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    done = steward.post(f"/api/v1/guards/{guard}/ask", content=packed, headers=headers)
    problem(done, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text/csv", b""),
        ("text/csv", gzip.compress(PEOPLE.encode())),
        ("text/csv", b"\xff\xfe\x00\x01" * 100),
        ("text/csv", b"only,a,header\n"),
        ("application/vnd.apache.parquet", b"PAR1" + b"\x00" * 100 + b"PAR1"),
        ("application/vnd.apache.parquet", b"age\n1\n"),
        ("application/zip", b"PK\x03\x04"),
        ("text/html", b"<script>"),
    ],
)
def test_odd_files_are_refused(live: Live, steward: httpx.Client, kind: str, content: bytes) -> None:
    before = set((live.folder / "uploads").iterdir())
    done = steward.post("/api/v1/samples", params={"name": "odd"}, content=content, headers={"Content-Type": kind})
    problem(done, 422 if kind in ("text/csv", "application/vnd.apache.parquet") else 415)
    assert set((live.folder / "uploads").iterdir()) == before, "nothing stays of a refused upload"


def test_a_file_that_unfolds_ends_the_child_and_not_the_server(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "bomb.parquet"
    word = pa.DictionaryArray.from_arrays(pa.array([0] * 5000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"word": word}), path, compression="zstd", dictionary_pagesize_limit=1 << 24)
    assert path.stat().st_size < 1000, "a small file of five thousand million letters"
    # Which one hangs on who runs out of memory first, the reader or the process. An upload makes both the former.
    with pytest.raises((InvalidParameter, SampleUnavailable), match="could not be read"):
        examine(str(path), None, None, None, Settings(memory_mb=1024, upload_seconds=30))


@pytest.mark.parametrize(
    "path",
    [
        "../ledger.db",
        "/etc/passwd",
        "..",
        ".",
        "",
        "sub/../../x.csv",
        "link.csv",
        "folder/passwd",
        "allowed.csv\x00.csv",
    ],
)
def test_paths_stay_inside_the_allowed_folders(live: Live, steward: httpx.Client, path: str) -> None:
    allowed = live.allowed
    for name, target in (("link.csv", "/etc/passwd"), ("folder", "/etc")):
        if not (allowed / name).is_symlink():
            (allowed / name).symlink_to(target)
    done = steward.post("/api/v1/samples/register", json={"name": "out", "path": path})
    assert done.status_code == (400 if "\x00" in path else 403), done.text
    assert "root:" not in done.text


def test_sources_that_were_not_allowed_are_refused(steward: httpx.Client) -> None:
    for source in ("postgresql://localhost/x", "people", ""):
        problem(steward.post("/api/v1/samples/register", json={"name": "out", "source": source}), 403, "forbidden")
    both = {"name": "out", "source": "a", "path": "b"}
    problem(steward.post("/api/v1/samples/register", json=both), 422)


def test_odd_keys_are_refused(steward: httpx.Client, guard: str) -> None:
    for key in ("x" * 181, "", "a b", "\x7f"):
        done = steward.post(f"/api/v1/guards/{guard}/ask", json={"question": CHECK}, headers={"Idempotency-Key": key})
        problem(done, 422, "invalid-parameter")


def test_what_is_no_http_is_survived(live: Live) -> None:
    host, port = live.url.removeprefix("http://").split(":")
    for rubbish in (
        b"\x00" * 1000,
        b"GET /" + b"a" * 200_000,
        b"POST /api/v1/tokens HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=10) as line:
            line.settimeout(10)
            line.sendall(rubbish)
            line.shutdown(socket.SHUT_WR)
            answer = line.recv(100)
            assert not answer or b" 400 " in answer or b" 413 " in answer
    assert httpx.get(live.url + "/healthz", timeout=10).json() == {"status": "ok"}


def test_methods_and_addresses_that_are_not_there(steward: httpx.Client, guard: str) -> None:
    problem(steward.put("/api/v1/tokens", json={}), 405, "method-not-allowed")
    problem(steward.get("/api/v1/nothing"), 404, "not-found")
    problem(steward.get(f"/api/v1/guards/{guard}/level", params={"aplha": "0.1"}), 422, "invalid-parameter")
    problem(steward.get("/api/v1/guards/%2e%2e/%2e%2e"), 404, "not-found")
    problem(steward.request("BREW", "/api/v1/tokens"), 405)
