"""Starting the server: one process, or a parent with workers that share the ledger."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.server import logs
from holdfast.server.metrics import forget
from holdfast.server.settings import Settings
from holdfast.server.state import Server


def first_token(settings: Settings, *, another: bool = False) -> str | None:
    """A steward's token for a server that has none that is good, or `another` one; None where one is there.

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
    """Say that the server cannot listen where it shall, before a token is made that would be shown for nothing."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            said = f"port {settings.port} is in use, perhaps by another server: give another with --port"
        else:
            said = f"host and port must be where this machine can listen, got {settings.host} and {settings.port}"
        raise InvalidParameter(said) from None


def to_environment(settings: Settings) -> dict[str, str]:
    """The settings as the variables that `Settings()` reads back, for worker processes.

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


def serve(settings: Settings) -> None:
    """Serve until a signal comes; then let requests under way end, and stop."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port,
        "http": "holdfast.server.whole_writes:WholeWrites",  # over h11, the only one that bounds headers
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "date_header": True,
        "proxy_headers": bool(settings.proxies),
        "forwarded_allow_ips": settings.proxies or None,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": settings.shutdown_seconds,
        "h11_max_incomplete_event_size": 256 * 1024,
    }
    logs.set_up()
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
    Multiprocess(config, sockets=[shared]).run()


__all__ = ["first_token", "require_free", "serve", "to_environment"]
