"""Starting the server: one process, or a parent with workers that share the ledger."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfast.errors import InvalidParameter
from holdfast.server import observability, plain_requests
from holdfast.server.observability import forget
from holdfast.server.plain_requests import PlainCycle, PlainRequest
from holdfast.server.settings import Settings
from holdfast.server.state import Server

# --- Running ----------------------------------------------------------------------------------------------------------


def first_token(settings: Settings, *, another: bool = False) -> str | None:
    """Return a steward's token for a server that has none that is good, or `another` one; None where one is there.

    It also makes the tables, before any worker asks for them.
    """
    server = Server(settings)
    try:
        server.samples.sweep()
        if server.tokens.has_steward() and not another:
            return None
        expires = datetime.now(UTC) + timedelta(days=settings.token_days)
        return server.tokens.issue("steward", "steward", expires)[0]
    finally:
        server.close()


def require_free(settings: Settings) -> None:
    """Say that the server cannot listen where it will, before a token is made that would be shown for nothing."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = addresses[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = f"port {settings.port} is in use, perhaps by another server: give another with --port"
        else:
            reason = f"host and port must be where this machine can listen, got {settings.host} and {settings.port}"
        raise InvalidParameter(reason) from None


def to_environment(settings: Settings) -> dict[str, str]:
    """Return the settings as the variables that `Settings()` reads back, for worker processes.

    Examples
    --------
    >>> to_environment(Settings(threads=3))["HOLDFAST_SERVER_THREADS"]
    '3'
    """
    plain = settings.model_dump(mode="json", exclude_none=True)
    return {
        f"HOLDFAST_SERVER_{name.upper()}": json.dumps(value) if isinstance(value, (list, dict)) else str(value)
        for name, value in plain.items()
    }


def graceful_seconds(seconds: float) -> float:
    """Of the time until the end, what requests under way have; the rest is for letting go of everything.

    Examples
    --------
    >>> graceful_seconds(20), graceful_seconds(1)
    (18.0, 0.75)
    """
    return max(seconds - 2.0, 0.75 * seconds)


def end_in_time(seconds: float) -> None:
    """End this process so many seconds after it was told to, whatever its threads do then.

    Python waits for every thread when a process ends, and a thread that reads rows may take minutes. What it paid for
    is on the ledger, as after a crash. It is called by a worker's main thread once uvicorn handles the signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return

    def end() -> None:
        observability.say("stopped", worker=os.getpid(), cut_off=True)
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        handled = signal.getsignal(number)

        def told(given: int, frame: Any, handled: Any = handled) -> None:
            timer = threading.Timer(seconds, end)
            timer.daemon = True
            timer.start()
            signal.signal(given, handled)
            handled(given, frame)

        if callable(handled):
            signal.signal(number, told)


def _end_at_once(should_exit: threading.Event) -> threading.Event:
    """Have the parent of workers pass a signal on when it comes; uvicorn's looks for signals between its other work.

    Returns what is set once a signal has come.
    """
    ended = threading.Event()

    def tell() -> None:
        ended.set()
        should_exit.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        # By a thread: the one that handles the signal may hold the event's lock.
        signal.signal(number, lambda *_: threading.Thread(target=tell, daemon=True).start())
    return ended


def serve(settings: Settings) -> None:
    """Serve until a signal comes; then let requests under way end, and stop."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "http": "holdfast.server.running:WholeWrites",  # over h11, the only one that bounds headers
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": True,
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": settings.proxies or None,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": graceful_seconds(settings.shutdown_seconds),
        "h11_max_incomplete_event_size": 256 * 1024,
    }
    observability.set_up()
    forget(settings.folder)
    os.environ.update(to_environment(settings))
    # Uvicorn ends what is under way and then sends itself the signal again: an orderly end is no failure.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    options |= {"app": "holdfast.server.app:from_environment", "factory": True}
    if settings.workers == 1:
        uvicorn.run(**options)
        return
    config = uvicorn.Config(**options, workers=settings.workers)
    shared = config.bind_socket()
    # asyncio sets this by itself, but not on connections to a socket that it has not made.
    shared.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    supervisor = Multiprocess(config, sockets=[shared])
    ended = _end_at_once(supervisor.should_exit)
    supervisor.run()
    if ended.is_set():  # its workers have ended, and taking down what it has imported takes seconds of a busy machine
        logging.shutdown()
        os._exit(0)


# --- Whole writes -----------------------------------------------------------------------------------------------------
# Responses leave whole: head and body in one write, where uvicorn makes one of each.
#
# With threads at work every system call gives another of them its turn, and a second write waits for the first's end.
# Heads come whole too, or their connection ends.

READ_SECONDS = "read_seconds"
"""Under which name the application's state tells how long headers may take."""
_MOST = 1 << 16
"""Bytes beyond which nothing is held back."""


class Whole:
    """A transport that writes what came in one step of the loop at its end, as one."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Hold some bytes until this step ends."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST:
            self._flush()

    def close(self) -> None:
        """Write what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            whole, self._held, self._size = b"".join(self._held), [], 0
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class WholeWrites(H11Protocol):
    """uvicorn's protocol over such a transport, which also ends a connection whose headers do not come in time.

    uvicorn itself waits forever for the rest of a head. The time is the state's `read_seconds`. Requests of the usual
    form are read without h11 (`plain_requests`), where it has nothing of the connection in hand.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._early = b""
        self._seconds = float(self.app_state.get(READ_SECONDS, 10.0))
        self._heading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(Whole(transport))  # type: ignore[arg-type]
        self._time_head()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if isinstance(self.cycle, PlainCycle) and not self.cycle.response_complete:
            self._early += data  # a request that did not wait for the answer to the one before
            self.flow.pause_reading()
            return
        request = plain_requests.read(data) if self._is_at_rest else None
        if request is None:
            super().data_received(data)
            self._time_head()
        else:
            self._begin(request)

    @property
    def _is_at_rest(self) -> bool:
        """Whether h11 has nothing in hand, neither a request nor a part of one."""
        connection = self.conn
        return connection.our_state is connection.their_state is h11.IDLE and not connection.trailing_data[0]

    def _begin(self, request: PlainRequest) -> None:
        """Have a plain request answered, as `H11Protocol.handle_events` has others."""
        self._unset_keepalive_if_required()
        self._stop_timing()
        raw_path, _, query = request.target.partition(b"?")
        self.headers = request.headers
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,  # type: ignore[typeddict-item]
            "method": request.method,
            "root_path": self.root_path,
            "path": self.root_path + unquote(raw_path.decode("ascii")),
            "raw_path": self.root_path.encode("ascii") + raw_path,
            "query_string": query,
            "headers": self.headers,
            "state": self.app_state | {plain_requests.WHOLE: True},
        }
        self.cycle = PlainCycle(
            request.body,
            scope=self.scope,
            conn=self.conn,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            on_response=self.on_response_complete,
        )
        task = self.loop.create_task(self.cycle.run_asgi(self.app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        """Go on with what came meanwhile."""
        super().on_response_complete()
        if self._early and not self.transport.is_closing():
            early, self._early = self._early, b""
            self.data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        super().connection_lost(exc)
        self._stop_timing()

    def _time_head(self) -> None:
        """Begin to count when a head is awaited or has begun to come, and stop when it is all there.

        Between requests uvicorn's own timer counts, until the first byte of the next.
        """
        if self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            if self._heading is None:
                self._heading = self.loop.call_later(self._seconds, self._end)
        else:
            self._stop_timing()

    def _stop_timing(self) -> None:
        if self._heading is not None:
            self._heading.cancel()
            self._heading = None

    def _end(self) -> None:
        self._heading = None
        if not self.transport.is_closing():
            self.transport.close()
