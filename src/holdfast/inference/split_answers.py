"""Data splitting: fresh rows for every question, no noise. For few questions nothing is narrower."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.interval.sample_splitting import splitting
from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.range_bound import hoeffding
from holdfast.data.values import summarise
from holdfast.errors import InvalidParameter
from holdfast.inference.answerer import Answerer
from holdfast.mechanisms.answer import Answer

Family = Literal["kl", "hoeffding"]
_FAMILIES = {"kl": kl, "hoeffding": hoeffding}


class SplitAnswers(Answerer):
    """Answers question j with the exact mean over the j-th part of the rows, and never looks at those rows again.

    Part j is independent of everything that went before, so a classical interval holds for each question at
    `beta/questions`, and all of them hold at once. Rows must be independent and alike (or in random order): a part
    speaks for the population only then.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked, at most `n`; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    family : str
        "kl" (default): the Chernoff interval, narrow for means near an end of the range, never wider than "hoeffding".

    Examples
    --------
    >>> import numpy as np
    >>> answers = SplitAnswers(n=1000, questions=4, confidence=0.95)
    >>> answers.rows
    slice(0, 250, None)
    >>> answer = answers.mean(np.arange(1000) % 10 == 0)
    >>> answer.value, [round(end, 4) for end in answer.interval]
    (0.1, [0.0503, 0.171])
    >>> answers.rows
    slice(250, 500, None)
    """

    kind: ClassVar[str] = "split"

    def __init__(self, n: int, questions: int, confidence: float, *, family: Family = "kl", source: Any = None) -> None:
        super().__init__(n, questions, confidence, source)
        self.family = check.choice("family", family, _FAMILIES)
        self.width = splitting(self.n, self.questions, self.beta)
        self.part = self.n // self.questions

    @property
    def half_width(self) -> float:
        """Hoeffding's half-width, as a share of the declared range; no interval has a longer half."""
        return self.width.half_width

    @property
    def rows(self) -> slice:
        """The rows that the next question will look at."""
        return slice(self.asked * self.part, (self.asked + 1) * self.part)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem."""
        parameters = {"n": self.n, "questions": self.questions, "beta": self.beta, "family": self.family}
        return Guarantee("interval.splitting", parameters, "rows independent and alike; a part answers one question")

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "family": self.family}

    def mean(self, values: npt.ArrayLike, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer the mean of a function over the next part of the rows.

        Parameters
        ----------
        values : array
            The function's value on each of the `n` rows, of which only `rows` are looked at; or on those rows alone.
        low, high : float
            The range of the function, declared without looking at the rows.
        """
        low, high = check.value_range(low, high)
        array = np.asarray(values)
        if array.ndim != 1 or array.shape[0] not in (self.n, self.part):
            raise InvalidParameter(f"values must be one number a row, {self.n} in all or {self.part} of the next part")
        with self._alone():
            if self.asked == self.questions:
                self._count()  # refuses
            here = array[self.rows] if array.shape[0] == self.n else array
            found = summarise(here, n=self.part, low=low, high=high)
            number = self._count()
        log_share = math.log(self.beta / self.questions) - 1e-12  # rounding of the quotient, downwards
        ends = _FAMILIES[self.family](found.mean, self.part, log_share, low, high)
        interval = (max(ends.low - found.slack, low), min(ends.high + found.slack, high))
        return Answer(found.mean, interval, self.guarantee, None, {"questions": self.questions - number})


__all__ = ["Family", "SplitAnswers"]
