"""Many experiments at once: those that are kept are read, the others run side by side and are kept when they finish.

An experiment's numbers depend on its seed alone, so they are the same whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from holdfast.core.processes import pool
from holdfast.errors import GuaranteeUnavailable
from holdfast_papers import kept
from holdfast_papers.kept import Entry
from holdfast_papers.registry import Experiment, Progress, Settings, select, silent

_LOOK = 0.2
"""Seconds between two looks at how far the workers are."""


@dataclass(frozen=True)
class Finished:
    """One experiment: what is kept of it, or why it could not run, and whether it had been kept before."""

    experiment: Experiment
    entry: Entry | None
    absent: GuaranteeUnavailable | None = None
    reused: bool = False


def run_all(
    chosen: Sequence[Experiment], settings: Settings, out: Path, *, workers: int = 1, fresh: bool = False
) -> Iterator[Finished]:
    """Each experiment as it is finished.

    Those that spread their own work come last, one after the other, with all the processes to themselves.

    Parameters
    ----------
    chosen : sequence of Experiment
        What to run; with more than one worker they must be registered, for a worker finds them by name.
    settings : Settings
        `progress` is told the share of all experiments that is done.
    out : Path
        The folder of the results.
    workers : int
        Processes.
    fresh : bool
        Run even what is kept.
    """
    settings = replace(settings, workers=workers, out=out)
    work: list[Experiment] = []
    for experiment in chosen:
        entry = None if fresh else kept.find(experiment, settings, out)
        if entry is None:
            work.append(experiment)
        else:
            yield Finished(experiment, entry, reused=True)
    board = _Board(settings.progress, len(chosen), len(chosen) - len(work))
    alone = [e for e in work if workers == 1 or (e.spreads and not settings.quick)]
    together = [e for e in work if e not in alone]
    if len(together) == 1:
        alone, together = together + alone, []
    if together:
        yield from _side_by_side(together, settings, out, min(workers, len(together)), board)
    for experiment in alone:
        step = replace(settings, progress=board.told_about(experiment.name))
        yield board.done(_run(experiment, step, out))


class _Board:
    """How far each running experiment is, as one share of all."""

    def __init__(self, progress: Progress, total: int, done: int) -> None:
        self._progress, self._total, self._done = progress, total, done
        self._running: dict[str, float] = {}
        self._say("starting")

    def told_about(self, name: str) -> Progress:
        """A callback for one experiment."""
        return lambda fraction, what: self.tell(name, fraction, what)

    def tell(self, name: str, fraction: float, what: str) -> None:
        """One experiment is so far."""
        self._running[name] = fraction
        self._say(f"{name}: {what}")

    def done(self, finished: Finished) -> Finished:
        """One experiment is through."""
        self._running.pop(finished.experiment.name, None)
        self._done += 1
        self._say(finished.experiment.name)
        return finished

    def _say(self, what: str) -> None:
        share = (self._done + sum(self._running.values())) / max(self._total, 1)
        self._progress(min(share, 1.0), f"{self._done} of {self._total}; {what}")


def _run(experiment: Experiment, settings: Settings, out: Path) -> Finished:
    try:
        return Finished(experiment, kept.run(experiment, settings, out))
    except GuaranteeUnavailable as error:
        return Finished(experiment, None, error)


def _side_by_side(
    work: Sequence[Experiment], settings: Settings, out: Path, workers: int, board: _Board
) -> Iterator[Finished]:
    told: Any = get_context("spawn").Queue()
    plain = replace(settings, progress=silent, workers=1)
    with pool(workers, _listen, told) as started:
        waiting: dict[Future[Entry], Experiment] = {
            started.submit(_work, experiment.name, plain, out): experiment for experiment in work
        }
        while waiting:
            through, _ = wait(waiting, timeout=_LOOK, return_when=FIRST_COMPLETED)
            while not told.empty():
                board.tell(*told.get())
            for future in through:
                experiment = waiting.pop(future)
                try:
                    yield board.done(Finished(experiment, future.result()))
                except GuaranteeUnavailable as error:
                    yield board.done(Finished(experiment, None, error))


_tell: Callable[[tuple[str, float, str]], None] | None = None


def _listen(queue: Any) -> None:
    """In a worker: where to report to."""
    global _tell
    _tell = queue.put


def _work(name: str, settings: Settings, out: Path) -> Entry:
    """In a worker: run one experiment."""
    tell = _tell
    if tell is not None:
        settings = replace(settings, progress=lambda fraction, what: tell((name, fraction, what)))
    return kept.run(select([name])[0], settings, out)


__all__ = ["Finished", "run_all"]
