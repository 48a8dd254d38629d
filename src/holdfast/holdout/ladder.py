"""The Ladder: a leaderboard that moves only on clear improvements, so that its history says little about the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast.bounds.holdout.ladder import ladder_tail, ladder_width
from holdfast.bounds.numerics.binomial import log_choose
from holdfast.bounds.numerics.exact import left_to_chance, up
from holdfast.core import arguments
from holdfast.core.copying import OneOwner
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.error_budget import Course, ErrorBudget, log_place_weight
from holdfast.holdout.secret_state import read_state
from holdfast.mechanisms.answer import Answer

Mode = Literal["fixed-step", "parameter-free"]
_SUMS = 1e-12  # floating-point sums, with a wide margin: an improvement must be more than this beyond its step


class LadderAnswer(Answer):
    """An `Answer` of a ladder, whose `passed` says whether the submission took the lead.

    Examples
    --------
    >>> ladder = Ladder(n=8, submissions=10, step=0.25)
    >>> print(str(ladder.submit([0, 1] * 4))[:18], str(ladder.submit([1] * 8))[:26])
    took the lead: 0.5 did not take the lead: 0.5
    """

    _words = "took the lead", "did not take the lead"


class Ladder(OneOwner):
    """A leaderboard that scores submissions on one holdout and only ever shows the best score so far (Blum and Hardt
    2015).

    A submission is one loss in [0, 1] for each holdout row. `R` is the score that is shown. `mode` selects when it
    changes:

    - *fixed-step*: if the mean loss of a submission is below `R - step`, `R` becomes this mean, rounded to the nearest
      multiple of `step`.
    - *parameter-free*: if the mean loss is below `R - s/sqrt(n)`, `R` becomes this mean, rounded to the nearest
      multiple of `1/n`. `s` is the standard deviation, over the rows, of the differences between the losses of the
      submission and of the leader.

    Every other submission gets the same `R` again. `Answer.passed` says whether the submission took the lead. After
    `submissions` submissions every answer has `value` and `passed` None. The interval of an answer contains the best
    true loss among all submissions so far. With probability at least `confidence` this holds for all answers together.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    submissions : int
        Submissions in all.
    step : float, optional
        Step size of "fixed-step", fixed before the first submission; the one with the narrowest interval unless given.
    mode : str
        "fixed-step" or "parameter-free".
    confidence : float
        Probability that every interval holds.
    scores : str
        "losses": small is good. "correctness": values are 1 for a correct row, and the score shown is an accuracy.

    Notes
    -----
    With `beta = 1 - confidence`, the interval of an answer is:

    - *fixed-step* (`holdout.ladder-tail`, transcripts counted): `[R - step - e, R + step/2 + e]`. No submission is more
      than a step below `R`, and the leader's own mean is within half a step of it.
    - *parameter-free* (derived here; no statement of the paper is used): given the transcript a submission is fixed, so
      at submission `i` after `f` moves the mean is within `e_i = sqrt(ln(2/beta_i)/(2n))` of the truth, with the shares
      of the error budget (`holdout.error-allocation`): whether it moves is weighed as a check, and a move by `j` steps
      of `1/n` has weight `1/(j(j+1))`. As `s/sqrt(n) <= 1/sqrt(n-1)`, the best true loss is in `[R - 1/sqrt(n-1) - E, R
      + 1/(2n) + E]`, `E` the largest `e_i` so far.

    Examples
    --------
    >>> ladder = Ladder(n=8, submissions=10, step=0.25, scores="correctness")
    >>> ladder.submit([1, 0, 1, 0, 1, 1, 0, 0]).value
    0.5
    >>> print(ladder.submit([1, 1, 1, 0, 1, 1, 0, 0]).passed, ladder.submit([1] * 8).value, ladder.leader)
    False 1.0 3
    """

    def __init__(
        self,
        n: int,
        submissions: int,
        step: float | None = None,
        *,
        mode: Mode = "fixed-step",
        confidence: float = 0.95,
        scores: Literal["losses", "correctness"] = "losses",
    ) -> None:
        super().__init__()
        self._n = arguments.whole("n", n, at_least=1, at_most=10**15)
        self._submissions = arguments.whole("submissions", submissions, at_least=1, at_most=10**15)
        self._mode = arguments.choice("mode", mode, ("fixed-step", "parameter-free"))
        self._confidence = arguments.probability("confidence", confidence)
        self._beta = left_to_chance(self._confidence)
        self._scores = arguments.choice("scores", scores, ("losses", "correctness"))
        if self._mode == "fixed-step":
            chosen = ladder_width(self._n, self._beta, self._submissions).step if step is None else step
            self._step = arguments.real("step", chosen, at_least=1e-9, at_most=1)
            self._error = _error(self._n, self._beta, self._step, self._submissions)
        else:
            if step is not None:
                raise InvalidParameter(f"step must be left out in mode parameter-free, got {step}")
            self._step, self._error = 1 / self._n, 0.0
            self._budget = ErrorBudget(self._confidence, questions=self._submissions, final=0.0)
        self._submitted = self._moves = self._leader = 0
        self._shown: int | None = None  # the score in steps
        self._log_shown = 0.0
        self._losses: npt.NDArray[np.float64] | None = None  # of the leader, parameter-free only

    @property
    def n(self) -> int:
        """The number of rows in the holdout."""
        return self._n

    @property
    def step(self) -> float:
        """The step of the scores: shown scores are multiples of it."""
        return self._step

    @property
    def submitted(self) -> int:
        """The number of submissions scored so far."""
        return self._submitted

    @property
    def leader(self) -> int:
        """The number of the leading submission, counted from 1; 0 before the first submission."""
        return self._leader

    @property
    def best(self) -> float | None:
        """The score that is shown; None before the first submission."""
        return None if self._shown is None else self._score(self._shown * self._step)

    def submit(self, values: Rows) -> Answer:
        """Score a submission, given its loss on each holdout row.

        Parameters
        ----------
        values : array or iterator of chunks
            One loss, or with `scores="correctness"` one correctness, a row, in [0, 1].

        Returns
        -------
        Answer
            The best score so far.
        """
        if self._mode == "parameter-free":
            chunks: Any = list(values) if isinstance(values, Iterator) else [values]
            mean = summarise(iter(chunks), n=self._n).mean
            losses = np.concatenate([np.asarray(chunk, dtype=np.float64) for chunk in chunks])
            losses = 1 - losses if self._scores == "correctness" else losses
        else:
            mean, losses = summarise(values, n=self._n).mean, None
        loss = self._score(mean)
        with self._alone():
            if self._submitted >= self._submissions:
                return self._answer(None)
            moved = self._moves
            self._submitted += 1
            index = math.floor(loss / self._step + 0.5)
            if losses is not None:
                before = self._submitted - 1
                course = Course(before, before, self._moves, 0.0, self._log_shown)
                share = self._budget.log_share(course)
                self._error = max(self._error, up(math.sqrt((math.log(2) - share) / (2 * self._n)), 16))
            if self._shown is None or (
                loss < self._shown * self._step - self._margin(losses) - _SUMS and index < self._shown
            ):
                # The bar of the first is above every score, so that its place counts from there.
                bar = self._n + 1 if self._shown is None else self._shown
                self._log_shown += log_place_weight(max(1, bar - index)) if losses is not None else 0.0
                self._shown, self._losses, self._leader = index, losses, self._submitted
                self._moves += 1
            return self._answer(self._moves > moved)

    def _margin(self, losses: npt.NDArray[np.float64] | None) -> float:
        """By how much a submission must beat the score shown."""
        if losses is None or self._losses is None:
            return self._step
        if self._n == 1:
            return 1.0
        return float(np.std(losses - self._losses, ddof=1)) / math.sqrt(self._n)

    def _score(self, loss: float) -> float:
        return 1 - loss if self._scores == "correctness" else loss

    def _answer(self, moved: bool | None) -> Answer:
        remaining = {"submissions": self._submissions - self._submitted}
        public = {"n": self._n, "submissions": self._submissions, "step": self._step, "beta": self._beta}
        known = "holdout.ladder-tail" if self._mode == "fixed-step" else "holdout.error-allocation"
        guarantee = Guarantee(known, public, "holdout rows i.i.d.")
        if moved is None or self._shown is None:
            return LadderAnswer(None, None, guarantee, None, remaining, None)
        loss = self._shown * self._step
        behind = self._step if self._mode == "fixed-step" else 1 / math.sqrt(max(1, self._n - 1))
        low = max(0.0, loss - behind - self._error - 2 * _SUMS)
        high = min(1.0, loss + self._step / 2 + self._error + 2 * _SUMS)
        ends = sorted((self._score(low), self._score(high)))
        return LadderAnswer(self._score(loss), (ends[0], ends[1]), guarantee, None, remaining, moved)

    def state(self) -> dict[str, Any]:
        """Return the run as plain data.

        In the mode "parameter-free" the data contain the leader's loss on each row. Store them as a secret.
        """
        with self._alone():
            return {
                "kind": "ladder",
                "secret": True,
                "parameters": {
                    "n": self._n,
                    "submissions": self._submissions,
                    "step": self._step if self._mode == "fixed-step" else None,
                    "mode": self._mode,
                    "confidence": self._confidence,
                    "scores": self._scores,
                },
                "submitted": self._submitted,
                "moves": self._moves,
                "leader": self._leader,
                "shown": self._shown,
                "error": self._error,
                "losses": None if self._losses is None else self._losses.tolist(),
                "log_shown": self._log_shown,
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Ladder:
        """Return the Ladder that `state()` described, ready for its next submission."""
        known = ("parameters", "submitted", "moves", "leader", "shown", "error", "losses")
        fields = (*known, "log_shown") if isinstance(state, dict) and "log_shown" in state else known
        stored = read_state(state, "ladder", fields)
        ladder = cls(**stored["parameters"])
        most = ladder._submissions
        ladder._submitted = arguments.whole("submitted", stored["submitted"], at_least=0, at_most=most)
        ladder._moves = arguments.whole("moves", stored["moves"], at_least=0, at_most=ladder._submitted)
        ladder._leader = arguments.whole("leader", stored["leader"], at_least=0, at_most=ladder._submitted)
        ladder._shown = None if stored["shown"] is None else arguments.whole("shown", stored["shown"], at_least=0)
        ladder._error = arguments.real("error", stored["error"], at_least=ladder._error)
        # Earlier versions weighed each of the n + 1 places of a move the same.
        earlier = -ladder._moves * math.log(ladder._n + 1) if ladder._mode == "parameter-free" else 0.0
        ladder._log_shown = arguments.real("log_shown", state.get("log_shown", earlier), at_most=0)
        if stored["losses"] is not None:
            summarise(stored["losses"], n=ladder._n, name="losses")
            ladder._losses = np.array(stored["losses"], dtype=np.float64)
        return ladder

    def __repr__(self) -> str:
        return f"Ladder(n={self._n}, submissions={self._submissions}, mode={self._mode}, submitted={self._submitted})"


def _error(n: int, beta: float, step: float, submissions: int) -> float:
    """The least deviation that `holdout.ladder-tail` bounds by `beta`."""
    cells = math.floor(1 / step + 0.5) + 1
    log = math.log(2) - math.log(beta) + log_choose(submissions + cells, cells + 1)
    error = up(math.sqrt(log / (2 * n)), 16)
    while error <= 1 and ladder_tail(n, error, step, submissions) > beta:
        error = up(error, 64)
    return error
