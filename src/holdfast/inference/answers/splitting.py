"""Data splitting: fresh rows for every question, no noise. For few questions nothing is narrower."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from holdfast.bounds.interval.rounds import splitting_rounds
from holdfast.bounds.interval.sample_splitting import splitting
from holdfast.bounds.one_question.means import MEAN_FAMILIES
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import column, summarise
from holdfast.errors import InvalidParameter
from holdfast.inference.answers.answerer import Answerer
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source

Family = Literal["kl", "hoeffding"]


class SplitAnswers(Answerer):
    """Answers each question with the exact mean over its own part of the rows, which is never read again.

    A part is independent of all earlier questions and answers. So a classical interval holds for each question with
    failure probability `beta/questions`, and all intervals hold together. Rows must be independent and identically
    distributed.

    The plan draws the parts at random, without looking at the rows. This helps if the rows were sorted, for example by
    date or by label, because then the first part would not represent the rest. In a random order the rows are
    independent again, but only for an analyst who does not know the order. So with a sorted file do not choose
    questions by looking at `rows` or `state()`.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked, at most `n`; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    rounds : int, optional
        In how many rounds of equal size the answers are seen; as many as questions if not given. The questions of a
        round are chosen before any of its answers and share one part of the rows, which is that much larger.
    family : str
        "kl" (default): the Chernoff interval, narrow for means near an end of the range, never wider than "hoeffding".
    source : Source, optional
        Where the order comes from: the operating system's entropy, or `noise.Seeded` in a simulation.

    Examples
    --------
    >>> import numpy as np
    >>> answers = SplitAnswers(n=1000, questions=4, confidence=0.95)
    >>> first = answers.rows
    >>> first.size
    250
    >>> answer = answers.mean(np.ones(1000))
    >>> answer.value, [round(end, 4) for end in answer.interval]
    (1.0, [0.9799, 1.0])
    >>> np.intersect1d(first, answers.rows).size
    0
    """

    kind: ClassVar[str] = "split"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        family: Family = "kl",
        rounds: int | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.family = arguments.choice("family", family, get_args(Family))
        self.rounds = None if rounds is None else arguments.whole("rounds", rounds, at_least=1, at_most=self.questions)
        if self.rounds is None:
            self.width = splitting(self.n, self.questions, self.beta)
        else:
            self.width = splitting_rounds(self.n, self.questions, self.beta, self.rounds)
        self.part = self.n // (self.questions if self.rounds is None else self.rounds)
        self._seed = self._source.word() << 64 | self._source.word()
        self._order: npt.NDArray[np.intp] | None = None

    @property
    def half_width(self) -> float:
        """Hoeffding's half-width, as a proportion of the declared range. No interval is longer than two half-widths."""
        return self.width.half_width

    @property
    def rows(self) -> npt.NDArray[np.intp]:
        """The places of the rows that the next question will read, in rising order; empty after the last question.

        Notes
        -----
        The first call sorts `n` random words: some tenths of a second and 16 MB for a million rows.
        """
        if self._order is None:
            # Raw words and a stable sort, since numpy promises both forever and its own shuffles not: a state read
            # back by a later release must give the same parts. Two equal words among them change nothing that counts.
            words = np.random.PCG64(self._seed).random_raw(self.n)
            self._order = np.argsort(words, kind="stable")
        if self.asked == self.questions:
            return self._order[:0]
        place = self.asked // self.batch
        return np.sort(self._order[place * self.part : (place + 1) * self.part])

    @property
    def batch(self) -> int:
        """The number of questions that share a part of the rows: those of a round, or 1 if there are no rounds."""
        return 1 if self.rounds is None else -(-self.questions // self.rounds)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the intervals."""
        parameters = {"n": self.n, "questions": self.questions, "beta": self.beta, "family": self.family}
        if self.rounds is not None:
            assumption = (
                "rows independent and alike; questions of a round chosen before its answers; a part answers one round"
            )
            return Guarantee("interval.splitting-rounds", parameters | {"rounds": self.rounds}, assumption)
        return Guarantee("interval.splitting", parameters, "rows independent and alike; a part answers one question")

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        plain = {"n": self.n, "questions": self.questions, "confidence": self.confidence, "family": self.family}
        return plain if self.rounds is None else plain | {"rounds": self.rounds}

    def state(self) -> dict[str, Any]:
        """Return as plain data the plan, the progress and the seed of the row order, for `from_state`; nothing about
        rows.
        """
        return super().state() | {"order": f"{self._seed:032x}"}

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        return ("asked", "order")

    def _restore(self, state: Mapping[str, Any]) -> None:
        super()._restore(state)
        order = state.get("order")
        if not isinstance(order, str) or re.fullmatch("[0-9a-f]{32}", order) is None:
            raise InvalidParameter("order in the state must be 32 hexadecimal digits")
        self._seed = int(order, 16)

    def mean(self, values: npt.ArrayLike, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer a question with the exact mean of a function over the next part of the rows.

        Parameters
        ----------
        values : array
            The function's value on each of the `n` rows, of which only `rows` are looked at; or on `rows` alone, in any
            order.
        low, high : float
            The range of the function, declared without looking at the rows.

        Raises
        ------
        InvalidParameter
            Among others: the plan has rounds, whose questions are asked together with `means`.
        """
        if self.rounds is not None:
            raise InvalidParameter("the questions of a round must be asked together; use means(table)")
        return self._answer(values, low, high)

    def means(self, table: npt.ArrayLike, low: float = 0.0, high: float = 1.0) -> tuple[Answer, ...]:
        """Answer the questions of a whole round, one column of `table` for each.

        All of them must be chosen before any answer of the round is seen.

        Parameters
        ----------
        table : array
            The functions' values on each of the `n` rows, of which only `rows` are looked at.
        low, high : float
            The range of the functions, declared without looking at the rows.

        Examples
        --------
        >>> import numpy as np
        >>> answers = SplitAnswers(n=1000, questions=100, confidence=0.95, rounds=2)
        >>> first = answers.means(np.zeros((1000, 50)))
        >>> len(first), answers.part, answers.remaining
        (50, 500, {'questions': 50})
        """
        array = np.asarray(table)
        due = min(self.batch, self.questions - self.asked)
        if array.ndim != 2 or array.shape[0] != self.n or array.shape[1] != max(due, 1):
            raise InvalidParameter(
                f"table must have {self.n} rows and one column for each of the {max(due, 1)} questions of a round"
            )
        for place in range(array.shape[1]):  # nothing is answered where one column is refused
            summarise(column(array[:, place], "table")[self.rows], n=self.part, low=low, high=high)
        return tuple(self._answer(array[:, place], low, high) for place in range(array.shape[1]))

    def _answer(self, values: npt.ArrayLike, low: float, high: float) -> Answer:
        low, high = arguments.value_range(low, high)
        array = column(values, "values")
        if array.shape[0] not in (self.n, self.part):
            raise InvalidParameter(
                f"values must be one number for each of all {self.n} rows, or for each of the {self.part} rows of the "
                "next part"
            )
        with self._alone():
            if self.asked == self.questions:
                self._count()  # refuses
            here = array[self.rows] if array.shape[0] == self.n > self.part else array
            summary = summarise(here, n=self.part, low=low, high=high)
            number = self._count()
        log_share = math.log(self.beta / self.questions) - 1e-12  # rounding of the quotient, downwards
        lower, upper = MEAN_FAMILIES[self.family].ends(summary.mean, self.part, log_share, low, high, "both")
        interval = (max(lower - summary.slack, low), min(upper + summary.slack, high))
        return Answer(summary.mean, interval, self.guarantee, None, {"questions": self.questions - number})
