"""`holdfast serve` in a process that is forked from one which has imported it: importing takes two seconds of a core.

What such a process does is what the command does, with two differences: it begins with everything imported, and its
workers are forked too. Tests that are about starting, or about workers as people have them, start the command itself.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from unittest.mock import patch

_PARENT = multiprocessing.get_context("forkserver")
# Only what starts no thread: a fork takes none along, and what a thread held stays held for good.
_PARENT.set_forkserver_preload(["holdfast.server.app", "holdfast.cli.serve", "uvicorn.supervisors"])


class Forked:
    """The part of `subprocess.Popen` that tests use."""

    def __init__(
        self, environment: dict[str, str], errors: Path, arguments: list[str], output: Path = Path(os.devnull)
    ) -> None:
        with patch.dict(os.environ, OPENBLAS_NUM_THREADS="1"):
            forkserver.ensure_running()
        told = (environment, output, errors, arguments)
        self._process: ForkServerProcess = _PARENT.Process(target=_serve, args=told)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Its exit status, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """The same, when it has ended."""
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("holdfast serve", timeout)
        return status

    def send_signal(self, sign: signal.Signals) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, sign)


def _serve(environment: dict[str, str], output: Path, errors: Path, arguments: list[str]) -> None:
    import sys

    import uvicorn._subprocess

    os.setsid()  # a group of its own, which can be ended as a whole
    for stream, place in enumerate((Path(os.devnull), output, errors)):
        with place.open("ab" if stream else "rb") as file:
            os.dup2(file.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    uvicorn._subprocess.spawn = multiprocessing.get_context("fork")  # type: ignore[assignment]

    from holdfast.cli.main import run

    sys.exit(run(arguments))


__all__ = ["Forked"]
