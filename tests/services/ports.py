"""Ports for servers of tests: whoever is given one has it until its process ends."""

from __future__ import annotations

import fcntl
import itertools
import os
import socket
import tempfile
from pathlib import Path

_PORTS = itertools.cycle(range(20_000, 30_000))
"""Below those that kernels hand out by themselves, to connections and to whoever asks for any port."""


def free_port() -> int:
    """A port that nobody listens on, and that no other test is given.

    A port that the kernel named is free again as soon as it is let go of, and may be another's before a server has
    started on it. Of those here each is locked while the process lives that was given it, so that of all test processes
    of a machine only one starts a server there.
    """
    locks = Path(tempfile.gettempdir()) / f"holdfast-test-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    for port in itertools.islice(_PORTS, 10_000):
        lock = os.open(locks / str(port), os.O_RDWR | os.O_CREAT, 0o600)  # open to the end, as the lock is its own
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
                probe.bind(("127.0.0.1", port))
            return port
        except OSError:
            os.close(lock)
    raise RuntimeError("no port is free")


__all__ = ["free_port"]
