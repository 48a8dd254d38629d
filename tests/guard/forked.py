"""Processes that a test may kill.

A program of its own, without threads, has everything loaded and forks a process for each piece of work: importing takes
longer than most of them.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

Say = Callable[[Any], None]
Mode = Callable[[str, str], Any]
"""What a program can be asked for: done with the address of a store and the file of its key."""

ROOT = Path(__file__).parents[2]


def child(work: Callable[[Say], None]) -> tuple[int, int]:
    """Fork a process that works; its id, and where what it says can be read."""
    receiving, sending = os.pipe()
    process = os.fork()
    if process:
        os.close(sending)
        return process, receiving
    status = 1
    try:
        os.close(receiving)
        # One write a line: it arrives whole or not at all, whenever the process is killed.
        work(lambda said: (os.write(sending, json.dumps(said).encode() + b"\n"), None)[1])
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def ended(process: int, receiving: int, said: bytes = b"") -> tuple[int, list[Any]]:
    """Wait for the end of a child; the signal or status it ended with, and the lines it got out."""
    with os.fdopen(receiving, "rb") as pipe:
        whole = (said + pipe.read()).splitlines(keepends=True)
        lines = [json.loads(line) for line in whole if line.endswith(b"\n")]
    return os.waitpid(process, 0)[1], lines


def heard(receiving: int, ready: str, more: int) -> bytes:
    """What a child says until it has said that it is ready, and some lines more."""
    said, mark = b"", json.dumps(ready).encode()
    while mark not in said or said[said.index(mark) :].count(b"\n") <= more:
        part = os.read(receiving, 1 << 16)
        if not part:
            break
        said += part
    return said


def _done(work: Mode, where: str, key: str, say: Say) -> None:
    say(work(where, key))


def serve(modes: Mapping[str, Mode]) -> None:
    """The program: do what each line of standard input asks for in a process of its own, and print what it found."""
    gc.collect()
    gc.freeze()  # what is there by now stays: a child that looks through it for garbage would copy all of its memory
    for line in sys.stdin:
        mode, where, key = json.loads(line)
        status, said = ended(*child(partial(_done, modes[mode], where, key)))
        print(json.dumps({"status": status, "found": said}), flush=True)


@contextmanager
def program(module: str) -> Iterator[Callable[[str, str, Path], Any]]:
    """Starts the program of a module, for the tests: a function that asks it, and checks that it has not complained."""
    with tempfile.TemporaryFile() as errors:
        words = [sys.executable, "-m", module]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        started = subprocess.Popen(words, cwd=ROOT, start_new_session=True, **pipes)
        asking, answering = started.stdin, started.stdout
        assert asking is not None
        assert answering is not None

        def run(mode: str, where: str, key: Path) -> Any:
            before = errors.seek(0, os.SEEK_END)
            asking.write(json.dumps([mode, where, str(key)]).encode() + b"\n")
            asking.flush()
            assert select.select([answering], [], [], 300)[0], f"{mode} takes too long"
            line = answering.readline()
            errors.seek(before)
            assert errors.read().decode()[-4000:] == ""
            answer = json.loads(line)
            assert answer["status"] == 0
            (found,) = answer["found"]
            return found

        try:
            yield run
        finally:
            os.killpg(started.pid, signal.SIGKILL)  # with whatever it has started
            started.communicate()
