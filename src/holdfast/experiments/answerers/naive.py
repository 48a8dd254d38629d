"""The exact sample mean, again and again: what most people do, and what adaptive analysts break."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from holdfast.bounds.interval import non_adaptive
from holdfast.experiments.answerers.base import Answerer, Design, Reply, Values, sample_mean


class Naive(Answerer):
    """Answers with the exact mean and the interval that would hold had every question been fixed beforehand.

    The interval is Hoeffding's with a union over all questions, so against an honest analyst it covers.

    Examples
    --------
    >>> reply = Naive(Design(n=4, questions=2, failures=1)).ask(np.array([True, False, True, True]), 0.5)
    >>> reply.value
    0.75
    """

    def __init__(self, design: Design) -> None:
        self._half = non_adaptive(design.n, design.questions, design.beta).half_width

    def ask(self, values: Values, guess: float) -> Reply | None:
        """The mean of the values."""
        return self._reply(sample_mean(values))

    def ask_many(self, values: Values, guesses: Sequence[float] | npt.NDArray[np.float64]) -> list[Reply | None]:
        """The mean of every row of values."""
        return [self._reply(sample_mean(row)) for row in values]

    def _reply(self, mean: float) -> Reply:
        return Reply(mean, (max(0.0, mean - self._half), min(1.0, mean + self._half)))


__all__ = ["Naive"]
