"""Curators from outside: a shell command that reads a file and writes one, or any Python callable; time limits."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.coherence.failures import CuratorFailed, isolated
from holdfast.coherence.protocol import call
from holdfast.coherence.table import Table
from holdfast.core import arguments, sandbox
from holdfast.errors import HoldfastError, InvalidParameter

#: What a shell means by these: the usual slip is a script named by a path from where the audit was started.
_HINTS = {
    2: "; it runs in an empty folder of its own, so name its files by their whole path",
    126: ": not a program",
    127: ": no such program; it runs in an empty folder of its own, so name its files by their whole path",
}


@dataclass(frozen=True)
class Shell:
    """A curator that runs a shell command on the released half of the rows.

    The command reads the half from the file `{train}` and writes its release to the file `{release}`, both CSV with a
    header line. It runs in an empty directory made for it, under a time limit. The audit records a failure if the exit
    status is not 0, if the release is missing, empty or unreadable, or if the command exceeds the time limit. A command
    that exceeds the limit is ended together with all processes of its group.

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
        arguments.real("time_limit", self.time_limit, above=0)
        if not isinstance(self.command, str) or "{train}" not in self.command or "{release}" not in self.command:
            raise InvalidParameter("command must name the files {train} and {release}")

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
            place = Path(folder)
            train, release = place / "train.csv", place / "release.csv"
            half.write_csv(train)
            line = self.command
            filled = {"train": shlex.quote(str(train)), "release": shlex.quote(str(release))}
            for key, value in {**filled, "seed": str(int(rng.integers(2**31 - 1)))}.items():
                line = line.replace("{" + key + "}", value)  # not str.format: a command may hold other braces
            try:
                done = sandbox.run_command(line, seconds=self.time_limit, folder=place)
            except sandbox.TimedOut as error:
                raise CuratorFailed(str(error), "curator-hung", error.detail) from None
            detail = done.answer.decode(errors="replace")[-sandbox.DETAIL :]
            if done.status:
                hint = _HINTS.get(done.status, "")
                raise CuratorFailed(f"the command ended with exit status {done.status}{hint}", detail=detail)
            if not release.is_file():
                raise CuratorFailed("the command ended with exit status 0 but wrote no release", detail=detail)
            with release.open("rb") as file:
                if file.readline() and not file.read(1):
                    raise CuratorFailed("the release that the command wrote has no rows", detail=detail)
            try:
                return Table.read(release, like=half)
            except (HoldfastError, ValueError, OSError) as error:
                text = "the release of the command is no CSV file with a header and even rows"
                raise CuratorFailed(text, detail=str(error)) from None


@dataclass(frozen=True)
class Function:
    """A curator made from any Python callable. It gets the half in the table form that it wants.

    If a time limit is given, the callable runs in a child process (forked where the system can), which is ended when it
    exceeds the limit. So a crash of the interpreter is recorded as a failure too. With a limit the report must be
    picklable.

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
        arguments.choice("given", self.given, ["table", "pandas", "columns"])
        if not callable(self.function):
            raise InvalidParameter("function must be callable")
        if self.time_limit is not None:
            arguments.real("time_limit", self.time_limit, above=0)

    def __call__(self, half: Table, rng: np.random.Generator) -> Any:
        """The report on this half."""
        form: Any = half
        if self.given != "table":
            form = half.to_pandas() if self.given == "pandas" else dict(half.columns)
        if self.time_limit is None:
            return call(self.function, form, rng)
        return isolated(self.function, (form, rng), self.time_limit)
