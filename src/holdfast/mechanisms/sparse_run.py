"""One run of a sparse-vector mechanism: the noisy threshold behind a small interface.

The run is the only place that holds secret state. It does not print it, cannot be pickled or copied by accident, and
refuses to answer in a forked child, because two copies of one run would answer twice as often as was paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import Rational

_WINDOW = 256


class Sampler(Protocol):
    """Integer noise of a given scale: one int, or an array of `size`."""

    @overload
    def __call__(self, scale: Rational, size: None = None, /, *, source: Source | None = None) -> int: ...
    @overload
    def __call__(self, scale: Rational, size: int, /, *, source: Source | None = None) -> npt.NDArray[np.int64]: ...


class Noises(NamedTuple):
    """How noise is drawn, and its scales in whole steps; `release` is None if no values are shown."""

    sampler: Sampler
    threshold: int
    comparison: int
    release: int | None = None


class Rules(Protocol):
    """What a run needs to know of its mechanism."""

    @property
    def cap(self) -> int:
        """Epochs, that is answers above, until the run is over."""

    @property
    def length(self) -> int | None:
        """Questions after which an epoch ends without an answer above; None for no limit."""

    @property
    def refresh(self) -> bool:
        """Whether the next epoch has a fresh threshold."""

    @property
    def noises(self) -> Noises:
        """The noise."""

    @property
    def place(self) -> tuple[Grid, int]:
        """The grid, and the index of the threshold on it."""

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data: what a stored run is recognised by."""


@dataclass(frozen=True)
class SparseAnswer:
    """One answer: whether the value is above the threshold and, if the mechanism releases values, the noisy value.

    Examples
    --------
    >>> bool(SparseAnswer(True, 0.25)), SparseAnswer(False)
    (True, SparseAnswer(above=False, value=None))
    """

    above: bool
    value: float | None = None

    def __bool__(self) -> bool:
        return self.above


@dataclass(frozen=True, eq=False)
class SparseAnswers:
    """The answers to a batch of questions, one for each question until the run ended.

    Attributes
    ----------
    above : array of bool
        As long as the number of questions that were answered.
    values : array of float or None
        Released values, NaN where the answer is below; None if the mechanism releases none.
    exhausted : bool
        Whether the run has ended; later questions of the batch were not looked at.

    Examples
    --------
    >>> found = SparseAnswers(np.array([False, True]), np.array([np.nan, 0.25]), False)
    >>> len(found), [answer.above for answer in found]
    (2, [False, True])
    >>> found.to_dict()
    {'above': [False, True], 'values': [None, 0.25], 'exhausted': False}
    """

    above: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float64] | None
    exhausted: bool

    def __len__(self) -> int:
        return len(self.above)

    def __iter__(self) -> Iterator[SparseAnswer]:
        for i, above in enumerate(self.above.tolist()):
            yield SparseAnswer(above, float(self.values[i]) if above and self.values is not None else None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. The value of an answer "below" is None."""
        shown = None if self.values is None else [None if np.isnan(v) else v for v in self.values.tolist()]
        return {"above": self.above.tolist(), "values": shown, "exhausted": self.exhausted}


class SparseRun(OneOwner):
    """A run in progress, made by `mechanism.start()`. Questions can be asked until `left` is 0.

    Threads may share it, because each question is answered under a lock.

    Examples
    --------
    >>> from holdfast.mechanisms import sparse
    >>> run = sparse(threshold=0.1, sensitivity=1e-4, epsilon=1.0, cap=2).start()
    >>> bool(run.ask(0.5)), bool(run.ask(0.001)), run.left
    (True, False, 1)
    >>> run
    SparseRun(asked=2, left=1)
    """

    __slots__ = ("__weakref__", "_asked", "_in_epoch", "_left", "_rules", "_secret", "_source")

    _handed_over = "secret_state() and resume()"

    def __init__(self, rules: Rules, source: Source | None = None) -> None:
        super().__init__()
        self._rules = rules
        self._source = resolve(source)
        self._asked = 0
        self._in_epoch = 0
        self._left = rules.cap
        self._secret: int | None = None  # drawn when the first question of its epoch comes

    @property
    def asked(self) -> int:
        """The number of questions answered so far."""
        return self._asked

    @property
    def left(self) -> int:
        """How many more answers may be "above". If epochs have a length, it is the number of epochs left."""
        return self._left

    @property
    def exhausted(self) -> bool:
        """Whether the run is over."""
        return self._left < 1

    def ask(self, value: float) -> SparseAnswer:
        """Return whether one value is above the threshold.

        Parameters
        ----------
        value : float
            The exact statistic. It is not shown in any error.

        Raises
        ------
        BudgetExhausted
            If the run is over. Nothing is drawn and nothing is learned.
        """
        with self._alone():
            self._check_left()
            grid, _ = self._rules.place
            index = grid.near_index(value)
            noises = self._rules.noises
            above = index + noises.sampler(noises.comparison, source=self._source) > self._threshold()
            self._count(1, above)
            if not above or noises.release is None:
                return SparseAnswer(above)
            return SparseAnswer(True, grid.value(index + noises.sampler(noises.release, source=self._source)))

    def ask_all(self, values: npt.ArrayLike) -> SparseAnswers:
        """Answer a batch of questions. The answers have the same distribution as if the questions were asked one
        after the other.

        The batch stops where the run ends.

        Parameters
        ----------
        values : array of float
            The exact statistics, in order. They are not shown in any error.

        Raises
        ------
        BudgetExhausted
            If the run is over before the first question.

        Notes
        -----
        Time: one vectorised draw for the batch, and a scan from each answer above to the next.
        """
        with self._alone():
            self._check_left()
            grid, _ = self._rules.place
            indices = grid.indices(values)
            if indices.ndim != 1:
                raise InvalidParameter("values must be a list of numbers, one for each question")
            noises, length = self._rules.noises, self._rules.length
            noisy = indices + noises.sampler(noises.comparison, len(indices), source=self._source)
            hits: list[int] = []
            at = 0
            while at < len(indices) and self._left > 0:
                stop = len(indices) if length is None else min(len(indices), at + length - self._in_epoch)
                hit = first_above(noisy, at, stop, self._threshold())
                if hit is not None:
                    hits.append(hit)
                    stop = hit + 1
                self._count(stop - at, hit is not None)
                at = stop
            above = np.zeros(at, dtype=np.bool_)
            above[hits] = True
            shown = None
            if noises.release is not None:
                shown = np.full(at, np.nan)
                shown[hits] = grid.values(
                    indices[hits] + noises.sampler(noises.release, len(hits), source=self._source)
                )
            return SparseAnswers(above, shown, self.exhausted)

    def _check_left(self) -> None:
        if self._left < 1:
            what = "answers above" if self._rules.length is None else "epochs"
            raise BudgetExhausted(
                f"all {self._rules.cap} {what} are used up; start a new run, which costs the same again"
            )

    def _threshold(self) -> int:
        if self._secret is None:
            noises = self._rules.noises
            self._secret = self._rules.place[1] + noises.sampler(noises.threshold, source=self._source)
        return self._secret

    def _count(self, questions: int, above: bool) -> None:
        """Book questions that are about to be answered; what fails after this loses budget and never gains any."""
        self._asked += questions
        self._in_epoch += questions
        length = self._rules.length
        if above or (length is not None and self._in_epoch >= length):
            self._left -= 1
            self._in_epoch = 0
            if self._rules.refresh or self._left < 1:
                self._secret = None

    def secret_state(self) -> dict[str, Any]:
        """Return the run as plain data. The data contain the noisy threshold: store them as a secret and never serve
        them.

        Continue from a state only once, because two runs from one state answer twice what was paid for once. In a
        forked child process this is refused.
        """
        with self._alone():
            return {
                "asked": self._asked,
                "in_epoch": self._in_epoch,
                "left": self._left,
                "threshold": self._secret,
                "mechanism": self._rules.to_dict(),
            }

    @classmethod
    def resume(cls, rules: Rules, state: dict[str, Any], source: Source | None = None) -> SparseRun:
        """Return the run that `secret_state()` described. A state of another mechanism, or one that no run can
        reach, is refused.
        """
        wanted = ("asked", "in_epoch", "left", "threshold", "mechanism")
        if not isinstance(state, dict) or set(state) != set(wanted):
            raise InvalidParameter(f"state must have {', '.join(wanted)}, as secret_state() returns them")
        if state["mechanism"] != rules.to_dict():
            raise InvalidParameter("state must be that of a run of this mechanism, but its public parameters differ")
        threshold = state["threshold"]
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int)):
            raise InvalidParameter("state must have whole numbers only")
        run = cls(rules, source)
        last = None if rules.length is None else rules.length - 1
        run._left = arguments.whole("left", state["left"], at_least=0, at_most=rules.cap)
        run._in_epoch = arguments.whole("in_epoch", state["in_epoch"], at_least=0, at_most=last if run._left else 0)
        # Every epoch that is over has had a question.
        run._asked = arguments.whole("asked", state["asked"], at_least=run._in_epoch + rules.cap - run._left)
        kept = not rules.refresh and run._asked > 0 and run._left > 0
        if threshold is None and (run._in_epoch > 0 or kept):
            raise InvalidParameter(
                "state must have the threshold of the epoch that has begun, because a second draw of it is not paid for"
            )
        run._secret = threshold
        return run

    def __repr__(self) -> str:
        return f"SparseRun(asked={self._asked}, left={self._left})"


def replicate(
    rules: Rules, values: npt.ArrayLike, runs: int, source: Source | None = None
) -> npt.NDArray[np.int8] | npt.NDArray[np.float64]:
    """Transcripts of many independent runs on the same values, for simulations and audits. Never on guarded data.

    Parameters
    ----------
    rules : Rules
        The mechanism.
    values : array of float
        The same questions for every run.
    runs : int
        Number of runs.
    source : noise.Source, optional
        Where the randomness comes from.

    Returns
    -------
    array of shape (runs, questions)
        1 above, 0 below, -1 not answered. If values are released: the value, NaN below, infinity not answered.
    """
    origin = resolve(source)
    runs = arguments.whole("runs", runs, at_least=1)
    (grid, index), noises = rules.place, rules.noises
    answers = np.full((runs, np.size(values)), -1, dtype=np.int8)
    shown = None if noises.release is None else np.full(answers.shape, np.inf)
    threshold = index + noises.sampler(noises.threshold, runs, source=origin)
    left = np.full(runs, rules.cap)
    in_epoch = np.zeros(runs, dtype=np.int64)
    for i, value in enumerate(grid.indices(values)):
        live = left > 0
        above = live & (value + noises.sampler(noises.comparison, runs, source=origin) > threshold)
        answers[live, i] = above[live]
        in_epoch += live
        over = above if rules.length is None else above | (live & (in_epoch >= rules.length))
        left -= over
        in_epoch[over] = 0
        if shown is not None and noises.release is not None:
            shown[live, i] = np.nan
            shown[above, i] = grid.values(value + noises.sampler(noises.release, int(above.sum()), source=origin))
        if rules.refresh:
            threshold[over] = index + noises.sampler(noises.threshold, int(over.sum()), source=origin)
    return answers if shown is None else shown


def first_above(noisy: npt.NDArray[np.int64], start: int, stop: int, threshold: int) -> int | None:
    """Return the first place in `[start, stop)` strictly above the threshold, sought in growing windows."""
    window = _WINDOW
    while start < stop:
        over = noisy[start : min(start + window, stop)] > threshold
        if over.any():
            return start + int(over.argmax())
        start += window
        window *= 4
    return None
