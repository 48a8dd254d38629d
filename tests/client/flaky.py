"""A proxy on the loopback interface that fails on purpose: it loses requests, answers, and halves of answers."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


class Flaky:
    """What the next requests meet, in order: names of `Handler`'s misfortunes; then all goes well."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.next: deque[str] = deque()
        self.seen: list[tuple[str, str | None]] = []
        self.url = ""

    def plan(self, *misfortunes: str) -> None:
        """Forget what was seen, and prepare what comes."""
        self.seen.clear()
        self.next.clear()
        self.next.extend(misfortunes)


def _handler(flaky: Flaky) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            flaky.seen.append((self.path, self.headers.get("idempotency-key")))
            quiet = self.path.endswith(("/me", "/guards"))
            what = flaky.next.popleft() if flaky.next and not quiet else "pass"
            if what == "lose request":
                self.close_connection = True
                return
            if what in ("429", "503", "502", "redirect"):
                self._refuse(what)
                return
            kept = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
            found = httpx.request(self.command, flaky.target + self.path, content=body, headers=kept, timeout=30)
            if what == "lose answer":
                self.close_connection = True
                return
            content = found.content
            if what == "lie":
                content = content.replace(b'"value": 0.5', b'"value": 0.4', 1)
            self.send_response(found.status_code)
            for name in ("content-type", "retry-after"):
                if name in found.headers:
                    self.send_header(name, found.headers[name])
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if what == "half" else content)
            self.close_connection = what == "half"

        def _refuse(self, what: str) -> None:
            html = b"<html>not here</html>"
            codes = {"429": "rate-limited", "503": "overloaded"}
            body = html if what not in codes else f'{{"code": "{codes[what]}", "detail": "later"}}'.encode()
            self.send_response(302 if what == "redirect" else int(what))
            if what == "redirect":
                self.send_header("location", "http://127.0.0.1:1/elsewhere")
            if what in codes:
                self.send_header("retry-after", "1" if what == "429" else "0")
            self.send_header("content-type", "application/problem+json" if what in codes else "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = _forward

    return Handler


@contextmanager
def flaky_proxy(target: str) -> Iterator[Flaky]:
    """A proxy before `target`, for as long as the block lasts."""
    flaky = Flaky(target)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(flaky))
    server.daemon_threads = True
    flaky.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield flaky
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
