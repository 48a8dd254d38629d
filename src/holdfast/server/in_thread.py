"""A server in a thread of this process, on the loopback interface: for notebooks, examples and trying things out."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.server.app import create_app
from holdfast.server.running import first_token
from holdfast.server.settings import Settings

_SECONDS_TO_START = 30.0


@dataclass(frozen=True)
class ServerInThread:
    """Where it is, and a steward's token for it."""

    url: str
    token: str = field(repr=False)


@contextmanager
def server_in_thread(settings: Settings | None = None, **given: Any) -> Iterator[ServerInThread]:
    """Run a server for as long as the block lasts; it writes no log.

    Parameters
    ----------
    settings : Settings, optional
        What it is started with; `host` and `port` are set here: a free port of this machine.
    given
        Settings by name instead, e.g. `folder`.

    Examples
    --------
    >>> import tempfile, holdfast as hf
    >>> with tempfile.TemporaryDirectory() as folder, server_in_thread(folder=folder) as server:
    ...     with hf.connect(server.url, server.token) as steward:
    ...         steward.me()["role"]
    'steward'
    """
    import uvicorn

    chosen = (settings or Settings(**given)).model_copy(update={"host": "127.0.0.1", "port": 0, "workers": 1})
    token = first_token(chosen, another=True)
    assert token is not None
    running = uvicorn.Server(
        uvicorn.Config(create_app(chosen), host=chosen.host, port=0, log_config=None, access_log=False)
    )
    thread = threading.Thread(target=running.run, name="holdfast-server", daemon=True)
    thread.start()
    try:
        yield ServerInThread(f"http://127.0.0.1:{_port(running, thread)}", token)
    finally:
        running.should_exit = True
        thread.join(_SECONDS_TO_START)


def _port(running: Any, thread: threading.Thread) -> int:
    end = time.monotonic() + _SECONDS_TO_START
    while not running.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise HoldfastError("the server did not start in time, or ended while it was starting")
        time.sleep(0.01)
    return int(running.servers[0].sockets[0].getsockname()[1])
