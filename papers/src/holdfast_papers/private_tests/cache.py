"""Run every test of every setting, over processes, and keep each finished part on disk: a run that was interrupted
goes on where it stopped, and two figures that ask for the same numbers compute them once.

A kept part is named by its parameters and by the version of the code and of NumPy, whose streams it depends on.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.core.processes import pool
from holdfast_papers.private_tests.run import Decisions, Part, key, run_part
from holdfast_papers.private_tests.settings import Setting, Trial
from holdfast_papers.registry import Progress, silent
from holdfast_papers.sources import sources

PART = 2500
"""Data sets of a part: the unit of work, and what an interruption can lose."""
FILE = "private-tests-parts.jsonl"


@dataclass(frozen=True)
class Ask:
    """`trials` data sets of a setting, with these tests."""

    setting: Setting
    tests: tuple[Trial, ...]
    trials: int

    def parts(self, seed: int) -> list[Part]:
        """The work, cut up; the last part may be smaller."""
        sizes = [min(PART, self.trials - start) for start in range(0, self.trials, PART)]
        return [Part(self.setting, seed, index, size) for index, size in enumerate(sizes)]


Results = dict[tuple[Setting, Trial], Decisions]


class Kept:
    """Finished parts in one file, a line each; without a folder they are forgotten at the end.

    A line that was cut off by an interruption is ignored, and so is a line of another version of the code.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._found: dict[str, str] = {}
        if self._path is None or not self._path.exists():
            return
        whole = self._path.read_bytes()
        for line in whole.splitlines():
            try:
                entry = json.loads(line)
                self._found[entry["key"]] = entry["decisions"]
            except (ValueError, KeyError, TypeError):
                continue
        if whole and not whole.endswith(b"\n"):  # so that the next line does not continue a cut one
            with self._path.open("ab") as file:
                file.write(b"\n")

    def get(self, part: Part, trial: Trial) -> Decisions | None:
        """The decisions of a finished part."""
        packed = self._found.get(name_of(part, trial))
        return None if packed is None else unpack(packed, part.size)

    def put(self, part: Part, trial: Trial, decisions: Decisions) -> None:
        """Keep a finished part, at once."""
        name, packed = name_of(part, trial), pack(decisions)
        self._found[name] = packed
        if self._path is not None:
            label = {"setting": part.setting.name, "test": trial.label, "n": part.setting.n, "part": part.index}
            line = json.dumps({"key": name, **label, "decisions": packed}) + "\n"
            with self._path.open("ab") as file:
                file.write(line.encode())


def name_of(part: Part, trial: Trial) -> str:
    """What a kept part is found by: its parameters, less how the test is called, and the version of the code."""
    return key(asdict(part), asdict(replace(trial, label="")), fingerprint())


@cache
def fingerprint() -> str:
    """The code that decisions depend on: a line changed in it, and nothing that was kept is used."""
    return sources(run_part.__module__).fingerprint


def pack(decisions: Decisions) -> str:
    """Decisions as text: two bits a data set, compressed."""
    bits = np.packbits(np.concatenate([decisions.reject, decisions.conclusive]))
    return base64.b64encode(zlib.compress(bits.tobytes(), 9)).decode()


def unpack(packed: str, size: int) -> Decisions:
    """The inverse of `pack`.

    Examples
    --------
    >>> flags = np.array([True, False, True])
    >>> unpack(pack(Decisions(flags, ~flags)), 3).reject.tolist()
    [True, False, True]
    """
    bits = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype=np.uint8)
    flags = np.unpackbits(bits, count=2 * size).astype(bool)
    return Decisions(flags[:size], flags[size:])


def run(
    asks: Sequence[Ask], *, seed: int, folder: Path | None = None, workers: int = 1, progress: Progress = silent
) -> Results:
    """The decisions of every test in every setting asked for.

    Parameters
    ----------
    asks : sequence of Ask
        What to run. If a test is asked for twice in a setting, the larger number of data sets counts.
    seed : int
        Where the streams start; the results depend on it and on nothing about the machine.
    folder : Path, optional
        Where finished parts are kept.
    workers : int
        Processes.
    progress : callable
        Told the share done, by parts.
    """
    stored = Kept(folder)
    wanted: dict[tuple[Setting, Trial], int] = {}
    for ask in asks:
        for trial in ask.tests:
            wanted[ask.setting, trial] = max(ask.trials, wanted.get((ask.setting, trial), 0))
    work: dict[Part, list[Trial]] = {}
    total = 0
    for (setting, trial), trials in wanted.items():
        for part in Ask(setting, (trial,), trials).parts(seed):
            total += 1
            if stored.get(part, trial) is None:
                work.setdefault(part, []).append(trial)
    done = total - sum(map(len, work.values()))
    progress(done / max(total, 1), "starting")
    for part, found in _spread([(part, tuple(trials)) for part, trials in work.items()], workers):
        for trial, decisions in found.items():
            stored.put(part, trial, decisions)
        done += len(found)
        progress(done / total, f"{part.setting.name}, n = {part.setting.n:,}")
    results: Results = {}
    for (setting, trial), trials in wanted.items():
        found_parts = [stored.get(part, trial) for part in Ask(setting, (trial,), trials).parts(seed)]
        whole = [decisions for decisions in found_parts if decisions is not None]
        results[setting, trial] = Decisions(
            np.concatenate([decisions.reject for decisions in whole]),
            np.concatenate([decisions.conclusive for decisions in whole]),
        )
    return results


def _spread(work: list[tuple[Part, tuple[Trial, ...]]], workers: int) -> Iterator[tuple[Part, dict[Trial, Decisions]]]:
    """Each part with its decisions, as they are finished."""
    if workers == 1 or len(work) <= 1:
        for part, trials in work:
            yield part, run_part(part, trials)
        return
    with pool(min(workers, len(work))) as processes:
        waiting: dict[Any, Part] = {processes.submit(run_part, part, trials): part for part, trials in work}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


__all__ = ["FILE", "PART", "Ask", "Kept", "Results", "fingerprint", "name_of", "pack", "run", "unpack"]
