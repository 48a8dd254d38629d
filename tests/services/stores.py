"""An S3 store and a web server for tests, on the loopback interface; they end with the test process."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest


@dataclass(frozen=True)
class Bucket:
    """A bucket of an S3 store."""

    client: Any
    name: str

    def put(self, key: str, content: bytes) -> str:
        """Store an object; returns its address."""
        self.client.put_object(Bucket=self.name, Key=key, Body=content)
        return f"s3://{self.name}/{key}"

    def remove(self, key: str) -> None:
        self.client.delete_object(Bucket=self.name, Key=key)


@pytest.fixture(scope="session")
def _store_address() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(_store_address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A new bucket, and the variables that say where its store is."""
    import secrets

    import boto3

    from holdfast.data.files import _store_at

    settings = {
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": "tester",
        "AWS_ENDPOINT_URL": _store_address,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    name = f"t-{secrets.token_hex(6)}"
    client.create_bucket(Bucket=name)
    yield Bucket(client, name)
    client.close()
    _store_at.cache_clear()


class _Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, with parts of them, which `http.server` alone does not serve."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def send_head(self) -> Any:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return None
        content = path.read_bytes()
        wanted = self.headers.get("Range")
        start, end = 0, len(content)
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = (int(first), int(last) + 1 if last else end) if first else (max(0, end - int(last)), end)
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("Last-Modified", self.date_time_string(int(path.stat().st_mtime)))
        self.send_header("ETag", f'"{path.stat().st_mtime_ns:x}-{len(content):x}"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        return io.BytesIO(content[start:end])


@pytest.fixture
def web_folder(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address under which a web server shows it."""
    folder = tmp_path / "web"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()
