"""Which tests can notice a change: those that run its line, the quick and near ones first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutation.mutants import Mutant


@dataclass(frozen=True)
class Case:
    """A test that passes: its time, and the lines it runs of each file."""

    name: str
    seconds: float
    lines: Mapping[str, frozenset[int]]


def cases(records: Iterable[Mapping[str, Any]]) -> list[Case]:
    """Read the records of all test files; tests that fail without any change are left out."""
    found = []
    for one in records:
        for name, seconds in one["seconds"].items():
            if name not in one["failed"]:
                lines = {file: frozenset(numbers) for file, numbers in one["lines"].get(name, {}).items()}
                found.append(Case(name, seconds, lines))
    return found


def covering(mutant: Mutant, file: str, known: Sequence[Case]) -> list[Case]:
    """Return the tests that run the changed line; for a line that runs at import, those that run any of the file."""
    here = [case for case in known if file in case.lines]
    for first, last in mutant.spans:
        span = range(first, last + 1)
        found = [case for case in here if not case.lines[file].isdisjoint(span)]
        if found:
            return found
    return [] if mutant.spans else here


def near(found: Sequence[Case], file: str, seconds: float, files: int) -> list[str]:
    """Choose tests for a first look: a few files, those about the changed module first, and in all so many seconds."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        groups.setdefault(case.name.partition("::")[0], []).append(case)
    stem, package = Path(file).stem.strip("_"), Path(file).parts[2]

    def rank(test_file: str) -> tuple[bool, bool, bool, int]:
        about = stem in Path(test_file).stem
        return (test_file != file, not about, f"/{package}/" not in test_file, -len(groups[test_file]))

    ranked = sorted(groups, key=rank)[:files]
    chosen: list[str] = []
    left = seconds
    for case in sorted((c for name in ranked for c in groups[name]), key=lambda c: c.seconds):
        if chosen and case.seconds > left:
            break
        chosen.append(case.name)
        left -= case.seconds
    return chosen


def every(found: Sequence[Case]) -> list[str]:
    """All tests that run the line, the quick ones first."""
    return [case.name for case in sorted(found, key=lambda c: c.seconds)]
