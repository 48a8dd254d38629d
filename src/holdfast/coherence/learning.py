"""From a report to predictions: one learner in one split, through each lens, under a time limit if there is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.isolation import isolated
from holdfast.coherence.lenses import Lens
from holdfast.coherence.peeking import predict
from holdfast.coherence.protocol import call
from holdfast.coherence.table import Table
from holdfast.coherence.target import Target

LENS_MODES = ("retrain", "mask")


@dataclass(eq=False, repr=False)
class Learning:
    """A learner with the report of one split.

    Attributes
    ----------
    learner : callable
        The learner.
    report : anything
        What the curator released.
    target : Target or None
        The statement.
    everyone : Table
        The rows of the audit, both halves: what the predictor is asked about, through a lens.
    mode : str
        "retrain" or "mask".
    seed : SeedSequence
        Of this learner in this split. Child j is the generator of lens j; in "mask" mode child 0 is that of the one
        predictor.
    time_limit : float or None
        Seconds to learn and predict through one lens. With a limit both run in a child process. It keeps nothing,
        so in "mask" mode it learns afresh, with the same generator, for each lens.
    """

    learner: Any
    report: Any
    target: Target | None
    everyone: Table
    mode: str
    seed: np.random.SeedSequence
    time_limit: float | None = None
    _masked: list[Any] = field(default_factory=list)

    def predictions(self, number: int, lens: Lens) -> NDArray[np.float64]:
        """One number in [-1, 1] for each row, through lens `number`. Raises what went wrong."""
        if self.time_limit is None:
            return self._through(number, lens)
        found: NDArray[np.float64] = isolated(self._through, (number, lens), self.time_limit, "learner")
        return found

    def _through(self, number: int, lens: Lens) -> NDArray[np.float64]:
        names, rng = self.everyone.names, self._rng(number)
        if self.mode == "retrain":
            learnt = call(self.learner, _own(self.report), lens, self.target, rng)
            return predict(learnt, self.everyone.select(lens.columns), names, rng)
        shown = tuple(name for name in names if self.target is None or name != self.target.column)
        if not self._masked:
            whole = Lens("all columns", shown)
            self._masked.append(call(self.learner, _own(self.report), whole, self.target, self._rng(0)))
        return predict(self._masked[0], self.everyone.select(shown).hide(lens.columns), names, rng)

    def _rng(self, number: int) -> np.random.Generator:
        key = (*self.seed.spawn_key, number)
        return np.random.default_rng(np.random.SeedSequence(self.seed.entropy, spawn_key=key))


def _own(report: Any) -> Any:
    """A copy of a released table: learners share it, and one that changes it must not change it for the next."""
    frame = hasattr(report, "columns") and callable(getattr(report, "copy", None))
    return report.copy() if frame else report


__all__ = ["LENS_MODES", "Learning"]
