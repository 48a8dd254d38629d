"""Means through SparseValidate: a guess is validated, and a failure shows in which cell the sample mean lies."""

from __future__ import annotations

import math

from holdfast.bounds.holdout.accuracy import sparse_validate_width
from holdfast.experiments.answerers.base import Answerer, Design, Reply, Values, sample_mean

CELLS = 10
"""Cells of [0, 1] that a failure may show."""


class Validated(Answerer):
    """Checks guesses with `SparseValidate` and `CELLS` cells.

    All sample means of the run lie within `width` of the truth at once (Theorem 27, corrected, with a union over the
    questions). A guess within `width` of its sample mean passes, and then the truth is within twice that of the guess;
    a failure shows the cell of the sample mean, and the truth is within `width` of that cell.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.arange(100_000) < 60_000
    >>> validated = Validated(Design(100_000, 100))
    >>> validated.ask(rows, 0.6).passed, round(validated.ask(rows, 0.8).value, 12)
    (True, 0.65)
    """

    needs_guess = True

    def __init__(self, design: Design) -> None:
        from holdfast.holdout import SparseValidate

        self._validate = SparseValidate(None, design.questions, design.failures, values=CELLS)
        self._width = sparse_validate_width(design.n, design.beta, design.questions, design.failures, CELLS)
        self.failures, self.most_failures = 0, design.failures

    @property
    def tolerance(self) -> float:
        """How far a guess may be from the sample mean."""
        return self._width

    def ask(self, values: Values, guess: float) -> Reply | None:
        """The guess if it passes, the middle of the sample mean's cell if not."""

        def validation(_: object) -> int:
            mean = sample_mean(values)
            return 0 if abs(mean - guess) <= self._width else 1 + min(CELLS - 1, math.floor(mean * CELLS))

        answer = self._validate.query(validation)
        if answer.value is None:
            return None
        if answer.passed:
            return Reply(guess, _around(guess, 2 * self._width), True)
        self.failures += 1
        middle = (answer.value - 0.5) / CELLS
        return Reply(middle, _around(middle, self._width + 0.5 / CELLS), False)


def _around(value: float, half: float) -> tuple[float, float]:
    return max(0.0, value - half), min(1.0, value + half)


__all__ = ["CELLS", "Validated"]
