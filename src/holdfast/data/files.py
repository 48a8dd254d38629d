"""Files that a sample reads: what they are, and whether they are still the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.data.sample import CHANGED
from holdfast.errors import InvalidParameter, SampleUnavailable

FORMATS = ("parquet", "csv")


@dataclass(frozen=True)
class Files:
    """One file, or a folder of Parquet files, as it was when the sample was opened.

    Whoever replaces, rewrites or removes a file while it is guarded is found by its size and time, before and after
    every question, so that no answer mixes two contents. The name is not part of the sample's identity.
    """

    path: Path
    format: str
    state: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def at(cls, path: Path) -> Files:
        """What is there now."""
        suffix = "parquet" if os.path.isdir(path) else path.suffix.lower().lstrip(".")
        if suffix not in FORMATS:
            raise InvalidParameter(f"source must be a .parquet or .csv file or a folder of Parquet files: {path.name}")
        state = _state(path)
        if not state:
            raise SampleUnavailable(f"there is no file {path.name}, or it cannot be read")
        return cls(path, suffix, state)

    @property
    def names(self) -> list[str]:
        """The paths of the files."""
        return [name for name, *_ in self.state]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(size for _, size, *_ in self.state)

    def check(self) -> None:
        """Refuse to go on where the files are not those that were opened."""
        if _state(self.path) != self.state:
            raise SampleUnavailable(CHANGED)


@contextmanager
def reading(files: Files | None, *errors: type[BaseException]) -> Iterator[None]:
    """The files as they were opened, before and after; an engine's errors as one that says nothing about rows."""
    hidden: tuple[type[BaseException], ...] = (*errors, OSError)
    try:
        if files is not None:
            files.check()
        yield
        if files is not None:
            files.check()
    except hidden:
        raise SampleUnavailable(
            "the rows could not be read: a file or table is missing, damaged, in use or not what it was declared to be"
        ) from None


def _state(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    try:
        listed = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        facts = [(str(one), one.stat()) for one in listed if one.is_file()]
    except OSError:
        return ()
    return tuple((name, fact.st_size, fact.st_mtime_ns, fact.st_ino) for name, fact in facts)


__all__ = ["FORMATS", "Files", "reading"]
