"""Curators from outside: a shell command that reads a file and writes one, or any Python callable; time limits."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import check
from holdfast.coherence.failures import CuratorFailed
from holdfast.coherence.isolation import DETAIL, isolated
from holdfast.coherence.protocol import call
from holdfast.coherence.table import Table
from holdfast.errors import HoldfastError, InvalidParameter

#: What a shell means by these: the usual slip is a script named by a path from where the audit was started.
_HINTS = {
    2: "; it runs in an empty folder of its own, so name its files by their whole path",
    126: ": not a program",
    127: ": no such program; it runs in an empty folder of its own, so name its files by their whole path",
}


@dataclass(frozen=True)
class Shell:
    """Runs a command that reads the half from `{train}` and writes its release to `{release}`, both CSV with a header.

    The command runs in an empty directory of its own, under a time limit. An exit status other than 0, no release, an
    empty or unreadable one, or a command past its limit is a failure that the audit records. Past the limit the command
    and all processes of its group are ended.

    Parameters
    ----------
    command : str
        Given to the shell, with `{train}`, `{release}` and optionally `{seed}` (a whole number that differs between
        splits, for generators that should be reproducible) filled in. It must name files of its own by their whole
        path.
    time_limit : float
        Seconds.
    name : str
        What tables call it.

    Examples
    --------
    >>> release = Shell("cp {train} {release}")(Table.of({"age": [30, 41]}), np.random.default_rng(1))
    >>> release["age"].tolist()
    [30, 41]
    """

    command: str
    time_limit: float = 600.0
    name: str = "command"

    def __post_init__(self) -> None:
        check.real("time_limit", self.time_limit, above=0)
        if not isinstance(self.command, str) or "{train}" not in self.command or "{release}" not in self.command:
            raise InvalidParameter("command must name the files {train} and {release}")

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            place = Path(folder)
            train, release, said = place / "train.csv", place / "release.csv", place / "output.txt"
            half.write_csv(train)
            line = self.command
            filled = {"train": shlex.quote(str(train)), "release": shlex.quote(str(release))}
            for key, value in {**filled, "seed": str(int(rng.integers(2**31 - 1)))}.items():
                line = line.replace("{" + key + "}", value)  # not str.format: a command may hold other braces
            status = self._run(line, place, said)
            detail = said.read_text(encoding="utf-8", errors="replace")[-DETAIL:]
            if status is None:
                late = f"the command ran past its limit of {self.time_limit:g} s and was ended"
                raise CuratorFailed(late, "curator-hung", detail)
            if status:
                raise CuratorFailed(f"the command ended with status {status}{_HINTS.get(status, '')}", detail=detail)
            if not release.is_file():
                raise CuratorFailed("the command ended with status 0 and wrote no release", detail=detail)
            try:
                made = Table.read_csv(release, like=half)
            except (HoldfastError, ValueError, OSError) as error:
                text = "the release of the command is no CSV file with a header and even rows"
                raise CuratorFailed(text, detail=str(error)) from None
        if not made.rows:
            raise CuratorFailed("the release of the command has no rows", detail=detail)
        return made

    def _run(self, line: str, place: Path, said: Path) -> int | None:
        """The exit status, or None past the limit. Output goes to a file: a pipe can outlive the command."""
        with open(said, "wb") as output:
            process = subprocess.Popen(
                line,
                shell=True,
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                return process.wait(self.time_limit)
            except subprocess.TimeoutExpired:
                return None
            finally:  # also on an interrupt: whatever the command left running in its own session ends with it
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@dataclass(frozen=True)
class Function:
    """Any Python callable as a curator, in the form of table it wants, and with a time limit if one is given.

    With a limit the callable runs in a child process (forked where the system can), which is ended past the limit; so a
    crash of the interpreter is a recorded failure too. Its report must then be picklable.

    Parameters
    ----------
    function : callable
        Of one half, and of a random generator if it takes two arguments.
    given : str
        What the half is handed over as: "table", "pandas" (a data frame) or "columns" (a dict of arrays).
    time_limit : float, optional
        Seconds; None for no limit and no child process.
    name : str
        What tables call it.

    Examples
    --------
    >>> oldest = Function(lambda columns: columns["age"].max(), given="columns")
    >>> int(oldest(Table.of({"age": [30, 41]}), np.random.default_rng(1)))
    41
    """

    function: Callable[..., Any]
    given: str = "table"
    time_limit: float | None = None
    name: str = "function"

    def __post_init__(self) -> None:
        check.choice("given", self.given, ["table", "pandas", "columns"])
        if not callable(self.function):
            raise InvalidParameter("function must be callable")
        if self.time_limit is not None:
            check.real("time_limit", self.time_limit, above=0)

    def __call__(self, half: Table, rng: np.random.Generator) -> Any:
        """The report on this half."""
        form: Any = half
        if self.given != "table":
            form = half.to_pandas() if self.given == "pandas" else dict(half.columns)
        if self.time_limit is None:
            return call(self.function, form, rng)
        return isolated(self.function, (form, rng), self.time_limit)


__all__ = ["Function", "Shell"]
