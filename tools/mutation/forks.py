"""Work done in forked processes: what is imported before is there at once, what goes wrong stays in the child."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 8 << 30


@dataclass(frozen=True)
class Task:
    """What to do in a child, and after how many seconds of the processor it has run away."""

    name: str
    work: Callable[[], Any]
    seconds: float


@dataclass(frozen=True)
class Ended:
    """A child's result, or None with the reason why there is none."""

    name: str
    result: Any
    reason: str
    seconds: float


def run(tasks: Iterable[Task], processes: int, log: Path) -> Iterator[Ended]:
    """Run tasks, so many at a time, and give each result as it comes.

    The limit is on processor time, so that a busy or halted machine does not look like an endless loop. A child that
    waits for something that never comes is ended after twenty times as long on the clock.
    """
    gc.collect()
    gc.freeze()
    waiting = iter(tasks)
    running: dict[int, tuple[Task, Path, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while True:
            while len(running) < processes and (task := next(waiting, None)) is not None:
                number += 1
                answer = Path(folder, f"{number}.json")
                running[_fork(task, answer, log)] = (task, answer, time.monotonic())
            if not running:
                return
            pid, status, used = _wait(running)
            task, answer, _ = running.pop(pid)
            result = json.loads(answer.read_text()) if answer.exists() else None
            yield Ended(task.name, result, _reason(status), used)


def _fork(task: Task, answer: Path, log: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setpgid(0, 0)
        with log.open("ab", buffering=0) as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        limit = int(task.seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        result = task.work()
        part = answer.with_suffix(".part")
        part.write_text(json.dumps(result))
        part.replace(answer)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(running: dict[int, tuple[Task, Path, float]]) -> tuple[int, int, float]:
    while True:
        for pid, (task, _, began) in running.items():
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                return pid, status, usage.ru_utime + usage.ru_stime
            if time.monotonic() - began > 20 * task.seconds + 60:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "time" if number in (signal.SIGXCPU, signal.SIGKILL) else signal.Signals(number).name
    return "" if os.WEXITSTATUS(status) == 0 else "failed"
