"""The sandbox: what hangs is ended with all it started, what dies is told from what raises, and details stay apart."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from holdfast.core import sandbox
from holdfast.errors import InvalidParameter


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_command_past_its_limit_is_ended_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(sandbox.TimedOut) as late:
        sandbox.run_command("sleep 60 & echo $! > child; echo secret; wait", seconds=1.0, folder=tmp_path)
    assert (str(late.value), late.value.detail) == ("the command ran past its limit of 1 s and was ended", "secret\n")
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 5
    while _is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_alive(child)


def test_a_command_that_ends_leaves_nothing_running(tmp_path: Path) -> None:
    done = sandbox.run_command("sleep 60 & echo $! > child; exit 5", seconds=30, folder=tmp_path)
    assert done.status == 5
    child = int((tmp_path / "child").read_text())
    end = time.monotonic() + 5
    while _is_alive(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_alive(child)


def test_only_the_end_of_what_a_command_prints_is_kept(tmp_path: Path) -> None:
    done = sandbox.run_command("yes 0123456789 | head -c 1000000; echo; echo last", seconds=30, folder=tmp_path)
    assert len(done.answer) == 4 * sandbox.DETAIL
    assert done.answer.endswith(b"\nlast\n")


def _fails(error: Exception) -> None:
    raise error


def test_a_function_dies_raises_hangs_or_is_passed_on() -> None:
    with pytest.raises(sandbox.SandboxError, match="process ended unexpectedly, with exit status -9") as died:
        sandbox.call(lambda: os.kill(os.getpid(), signal.SIGKILL), (), seconds=30)
    assert not isinstance(died.value, sandbox.TimedOut)
    with pytest.raises(sandbox.SandboxError) as raised:
        sandbox.call(_fails, (KeyError("a row"),), seconds=30, who="learner")
    assert str(raised.value) == "the learner raised KeyError"
    assert "a row" in raised.value.detail
    with pytest.raises(InvalidParameter, match="as it is"):
        sandbox.call(_fails, (InvalidParameter("as it is"),), seconds=30, passed=InvalidParameter)
    begun = time.monotonic()
    with pytest.raises(sandbox.TimedOut, match="the function ran past its limit"):
        sandbox.call(time.sleep, (60,), seconds=0.3)
    assert time.monotonic() - begun < 30
    with pytest.raises(sandbox.SandboxError, match="raised"):
        sandbox.call(lambda: lambda: 1, (), seconds=30)
