"""The nginx of the documentation, started with that very file, before a real server."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.server.auth.session import COOKIE
from holdfast.server.http import UPLOADS
from holdfast.server.settings import Settings
from tests.server.live import PEOPLE, Live, running
from tests.services.nginx import FILE, Nginx, nginx
from tests.services.ports import free_port


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, Nginx]]:
    """A server that believes 127.0.0.1 alone, and nginx there."""
    port = free_port()
    with (
        nginx(tmp_path_factory.mktemp("nginx"), port) as front,
        running(port=port, proxies="127.0.0.1", public_url=front.url, failures=5) as live,
    ):
        yield live, front


@contextmanager
def visitor(front: Nginx, address: str = "127.0.0.1", **options: Any) -> Iterator[httpx.Client]:
    """A client at one of the machine's own addresses, which trusts our authority."""
    trusted = ssl.create_default_context(cafile=str(front.ca))
    transport = httpx.HTTPTransport(verify=trusted, local_address=address)
    with httpx.Client(base_url=front.url, transport=transport, timeout=30, **options) as client:
        yield client


def test_from_rows_to_an_answer_over_tls(behind: tuple[Live, Nginx], tmp_path: Path) -> None:
    live, front = behind
    rows = tmp_path / "people.csv"
    rows.write_text(PEOPLE)
    with hf.connect(front.url, live.steward_token, ca=str(front.ca)) as steward:
        sample = steward.upload_sample("over tls", rows)
        guard = steward.create_guard("over tls", sample["id"], {"questions": 200})
        token = steward.issue_token("analyst", "ann")["token"]
        with hf.connect(front.url, token, ca=str(front.ca), public_key=steward.public_key) as people:
            assert people.ask(hf.guard.check("age < 45", guess=0.5)).passed
            asked = [hf.guard.check(f"income < {1000 + i}", guess=0.5) for i in range(40)]
            streamed = dict(people.stream(asked))
            assert sorted(streamed) == list(range(40))
            assert len(people.ask_all(asked)) == 40
        assert guard.describe()["entries"] > 40
    with hf.connect(front.url, token, patience=0) as stranger, pytest.raises(hf.client.ServerUnavailable):
        stranger.me()  # whoever does not trust the authority sends no token


def test_a_private_authority_by_the_usual_variable(behind: tuple[Live, Nginx], monkeypatch: pytest.MonkeyPatch) -> None:
    live, front = behind
    monkeypatch.setenv("SSL_CERT_FILE", str(front.ca))
    with hf.connect(front.url, live.steward_token) as steward:
        assert steward.me()["role"] == "steward"


def test_headers_cookies_and_addresses(behind: tuple[Live, Nginx]) -> None:
    live, front = behind
    with visitor(front, "127.0.0.2") as one:
        lies = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "http", "Forwarded": "for=6.6.6.6;proto=http"}
        done = one.post("/sign-in", data={"token": live.steward_token}, headers={"Origin": front.url} | lies)
        assert done.status_code == 303
        assert done.headers["location"] == "/"
        assert done.headers["strict-transport-security"] == "max-age=63072000"
        assert done.headers["x-frame-options"] == "DENY"
        said = done.headers["set-cookie"]
        assert said.startswith(COOKIE)
        assert "Secure" in said
        assert "server" not in done.headers or done.headers["server"] == "nginx"
        foreign = one.post("/sign-in", data={"token": live.steward_token}, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert one.get("/nothing").headers["strict-transport-security"], "refusals have it too"
    for one in (done, foreign):
        seen = live.line_of(one.headers["x-request-id"])["address"]
        assert seen == "127.0.0.2", "the address is nginx's to say, not the client's"
    with visitor(front) as plain:
        plain.get("/sign-in", params={"code": "a-secret-code"})
    assert "/sign-in" in front.logged()
    assert "a-secret-code" not in front.logged(), "nginx keeps no parameters of addresses"


def test_wrong_tokens_slow_down_their_own_address_only(behind: tuple[Live, Nginx]) -> None:
    _, front = behind
    wrong = {"Authorization": "Bearer hf_" + "0" * 16 + "_" + "0" * 64}
    with visitor(front, "127.0.0.3") as one, visitor(front, "127.0.0.4") as other:
        last = [one.get("/api/v1/me", headers=wrong | {"X-Forwarded-For": f"9.9.9.{i}"}) for i in range(12)][-1]
        live, _ = behind
        # Two secrets that differ from each other and, whatever it ends in, from the right one.
        made, another = [live.steward_token[:-1] + digit for digit in "012" if digit != live.steward_token[-1]][:2]
        last = one.get("/api/v1/me", headers={"Authorization": f"Bearer {made}"})
        assert last.status_code == 429, "an address cannot be had anew by a header"
        assert other.get("/api/v1/me", headers={"Authorization": f"Bearer {another}"}).status_code == 401


def test_forwarded_headers_are_believed_from_proxies_only(behind: tuple[Live, Nginx], live: Live) -> None:
    """Straight to a server: from an address that is no proxy of its, and to a server that has none."""
    lies = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "X-Real-IP": "6.6.6.6"}
    server, _ = behind
    transport = httpx.HTTPTransport(local_address="127.0.0.9")
    with httpx.Client(base_url=server.url, transport=transport) as direct:
        direct.get("/healthz", headers=lies)
        number = direct.get("/sign-in", headers=lies).headers["x-request-id"]
    with httpx.Client(base_url=live.url) as direct:
        done = direct.post("/sign-in", data={"token": live.steward_token}, headers=lies)
        assert "Secure" not in done.headers["set-cookie"]
    assert server.line_of(number)["address"] == "127.0.0.9"
    assert live.line_of(done.headers["x-request-id"])["address"] == "127.0.0.1"
    assert "6.6.6.6" not in server.logged() + live.logged()


def test_plain_http_is_sent_to_tls(behind: tuple[Live, Nginx]) -> None:
    _, front = behind
    for host in ("localhost", "evil.example"):
        done = httpx.get(f"http://127.0.0.1:{front.http}/guards?x=1", headers={"Host": host})
        assert (done.status_code, done.headers["location"]) == (301, "https://localhost/guards?x=1")


def shaken(front: Nginx, version: Any, name: str | None = "localhost") -> str | None:
    """Shake hands in one version of TLS: which it became."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that old versions are old is the point
        context = ssl.create_default_context(cafile=str(front.ca))
        context.check_hostname = name is not None
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
    with (
        closing(socket.create_connection(("127.0.0.1", front.https), 10)) as raw,
        closing(context.wrap_socket(raw, server_hostname=name)) as wrapped,
    ):
        return wrapped.version()


def test_only_newer_versions_and_only_our_name(behind: tuple[Live, Nginx]) -> None:
    _, front = behind
    assert shaken(front, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    assert shaken(front, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        with pytest.raises(OSError):
            shaken(front, version)
    for name in (None, "evil.example"):
        with pytest.raises(OSError):
            shaken(front, ssl.TLSVersion.TLSv1_3, name)


def test_bodies_are_limited_as_the_server_limits_them(behind: tuple[Live, Nginx]) -> None:
    live, front = behind
    text = FILE.read_text()
    settings, sizes = Settings(), re.findall(r"client_max_body_size (\d+)m;\s+# `(\w+)`", text)
    assert {name: int(size) << 20 for size, name in sizes} == {
        "max_body": settings.max_body,
        "max_upload": settings.max_upload,
    }
    found = re.search(r"location ~ (\S+) \{", text)
    assert found is not None
    assert all(re.search(found[1], f"/api/v1/guards/g_1{path}") for path in UPLOADS)
    waits = re.findall(r"proxy_(?:read|send)_timeout (\d+)s;", text)
    assert all(int(one) > settings.upload_seconds for one in waits)
    with visitor(front, headers={"Authorization": f"Bearer {live.steward_token}"}) as steward:
        done = steward.post("/api/v1/tokens", content=b"x" * (settings.max_body + 1))
        assert (done.status_code, done.json()["code"]) == (413, "too-large")
        rows = "a,b\n" + "1,2\n" * (1 << 19)  # 2 MiB: an upload may be larger than a question
        sent = steward.post(
            "/api/v1/samples", params={"name": "large"}, content=rows, headers={"Content-Type": "text/csv"}
        )
        assert sent.status_code == 201, sent.text
        long = {"Authorization": "Bearer " + "x" * 16_000}
        assert steward.get("/api/v1/me", headers=long).status_code in (401, 429), "long tokens come through"


class Slow:
    """A server that sends a second line only when it is told that the first one has come."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.arrived = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nfirst\n\r\n")
            self.arrived.wait(60)
            connection.sendall(b"7\r\nsecond\n\r\n0\r\n\r\n")

    def close(self) -> None:
        self.arrived.set()
        self.thread.join(10)
        self.socket.close()


@pytest.mark.parametrize("buffering", ["off", "on"])
def test_a_stream_is_seen_line_by_line(tmp_path: Path, buffering: str) -> None:
    """With power: the same nginx with buffering holds the first line back."""
    with (
        closing(Slow()) as slow,
        nginx(tmp_path, slow.port, {"proxy_buffering off;": f"proxy_buffering {buffering};"}) as front,
        visitor(front) as client,
    ):
        lines: list[str] = []

        def read() -> None:
            timeout = httpx.Timeout(30, read=2.0 if buffering == "on" else 30.0)
            with client.stream("POST", "/api/v1/guards/g_1/stream", content=b"{}", timeout=timeout) as response:
                for line in response.iter_lines():
                    lines.append(line)
                    slow.arrived.set()

        if buffering == "on":
            with pytest.raises(httpx.ReadTimeout):
                read()
            assert lines == []
        else:
            read()
            assert lines == ["first", "second"]
