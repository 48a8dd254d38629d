"""The reusable holdout: guess and check by transcript coding, certified against any analyst."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from holdfast import check
from holdfast.accounting.costs import Bits
from holdfast.data.values import Rows
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.holdout.decisions import Guess, OneSided
from holdfast.holdout.differences import differences
from holdfast.holdout.mean_question import MeanQuestion, Reading
from holdfast.holdout.procedure import Procedure
from holdfast.holdout.procedure_question import ProcedureQuestion
from holdfast.holdout.run import Run
from holdfast.mechanisms.answer import Answer

Show = Literal["value", "bit"]
_Readable = Reading | ProcedureQuestion


class ReusableHoldout(Run):
    """Check adaptively chosen guesses on `n` held-out rows, and believe every answer at once.

    A question comes as one value a row, computed on the holdout, and a guess of their mean, made without the holdout:
    usually the training value. If an interval for the mean lies within the tolerance of the guess, the answer is
    "passed" and nothing else. If not, the answer is a corrected value from a coarse grid. So the transcript is short,
    and each question may treat itself as the only one at a share of the failure probability that the transcript fixes
    (`Shares`). With probability at least `confidence` every interval of every answer holds the population's value,
    whatever the analyst does with the answers.

    Rogers, Roth, Smith, Srebro, Thakkar, Woodworth 2020, Guess and Check, with the number of shown values corrected
    and general weights and intervals (derived and reviewed; proof in `docs/holdout.md`). Rows must be independent and
    identically distributed, and nothing that was fitted or chosen on the holdout may have been used before. Rows that
    depend on each other (families, series, panels) have `holdfast.correlated.DependentHoldout`.

    The object holds a plan and a public transcript: no rows, no sums, nothing secret. It is safe to share between
    threads. It refuses to be pickled and refuses questions in a forked process, because two copies would spend one
    confidence twice; `copy` and `deepcopy` return the same object for the same reason. `state()` and `from_state()`
    hand a run over.

    Parameters
    ----------
    n : int
        Rows of the holdout.
    questions : int, optional
        Number of questions, fixed now and enforced: each gets an equal share. Without it shares follow a series, which
        favours the first questions and never ends.
    confidence : float
        Probability that all answers hold.
    failures : int, optional
        Cap on failures, fixed now and enforced: the failure after the last planned one shows nothing and ends the
        run. Without it shares follow a series in the number of failures.
    low, high : float
        Range of the values unless a question names its own.

    Examples
    --------
    >>> holdout = ReusableHoldout(10_000, questions=1000)
    >>> right = [True] * 8000 + [False] * 2000
    >>> answer = holdout.check(right, guess=0.81)
    >>> answer.passed, answer.value, round(answer.half_width, 4), answer.remaining["questions"]
    (True, 0.81, 0.0379, 999)
    >>> answer = holdout.check(right, guess=0.95)
    >>> answer.passed, round(answer.value, 3), [round(end, 3) for end in answer.interval]
    (False, 0.782, [0.745, 0.818])
    """

    def __init__(
        self,
        n: int,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n, questions, confidence, failures, low, high)

    def check(
        self,
        holdout_values: Rows,
        guess: float,
        tolerance: float | None = None,
        *,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        show: Show = "value",
        grid: float | None = None,
        key: str | None = None,
        weights: object = None,
    ) -> Answer:
        """Check a guess of the mean of one value a row.

        Parameters
        ----------
        holdout_values : array or iterator of arrays
            One number a row: an array, a list, a data-frame column, or an iterator of chunks.
        guess : float
            The guess; it must not come from the holdout.
        tolerance : float, optional
            A pass certifies the truth within this of the guess. By default twice the half-width of the interval
            at the guess: then a guess that equals the truth fails about as rarely as an interval misses.
        family : str
            Interval: "hoeffding", "kl", "clopper-pearson" (declared 0/1 values), "empirical-bernstein" or "betting".
            "auto" is Clopper-Pearson for 0/1 values and KL for others, and empirical Bernstein where `spread` says
            that it will be narrower: chosen before the data. For "betting" the order of the rows may not depend on
            their values.
        spread : float, optional
            A guess of the values' standard deviation, not from the holdout.
        low, high : float, optional
            Range of this question's values.
        binary : bool
            Declare the values 0/1. An array of type bool declares itself.
        show : str
            "value": a failure shows a corrected value. "bit": a failure shows nothing else, which leaves later
            questions a larger share.
        grid : float, optional
            Half-width of the cells of corrected values. By default what the tolerance leaves beside the interval,
            but from a half to two half-widths of the interval.
        key : str, optional
            A name for the question: the same key returns the stored answer free of cost, rows unread.
        weights : None
            Weighted rows are refused: their bound is not known here.

        Returns
        -------
        Answer
            A pass has `value = guess` and the interval within `tolerance` of it. A failure has a cell's midpoint and
            the interval of the whole cell; with `show="bit"`, and after the last planned failure, neither. `cost` is
            the length in bits of what was shown (`description_bits`). Time: that of a few sums over the rows, and
            some 100 microseconds.

        Raises
        ------
        InvalidParameter
            Wrong input, values that leave the range, NaN, the wrong number of rows, a guess outside the range, or a
            tolerance that no rows can reach; the message names the least one that some rows can. Nothing is spent.
        BudgetExhausted
            The planned questions or failures are used up.
        """
        refuse_weights(weights)
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess(guess, tolerance, show, grid)
        return self._ask(question.describe(asked), key, lambda: question.read(holdout_values, "holdout_values"), asked)

    def check_batch(
        self,
        holdout_values: Iterable[Rows],
        guesses: Sequence[float],
        tolerance: float | None = None,
        *,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        show: Show = "value",
        grid: float | None = None,
    ) -> list[Answer]:
        """Check several guesses: the answers that `check` gives one by one, in order.

        `holdout_values` holds one array a question: a list, or a matrix with one line a question. All input is checked
        before anything is spent. The list of answers ends early where asking one by one would raise: when the failures
        run out, or when a given tolerance falls below the least one because of failures inside the batch.

        Examples
        --------
        >>> holdout = ReusableHoldout(4, questions=2)
        >>> [answer.passed for answer in holdout.check_batch([[0, 1, 1, 1], [0, 0, 1, 1]], [0.75, 0.5])]
        [True, True]
        """
        question = self._mean("check", family, spread, low, high, binary)
        asked = [question.guess(guess, tolerance, show, grid) for guess in check.reals("guesses", guesses)]
        rows = [question.read(values, "holdout_values") for values in holdout_values]
        if len(rows) != len(asked):
            raise InvalidParameter(f"guesses must have one entry a question, {len(rows)}, got {len(asked)}")
        if self.remaining["questions"] < len(asked):
            self._run.open()
            raise BudgetExhausted(f"{len(asked)} questions do not fit: {self.remaining['questions']} are left")
        answers: list[Answer] = []
        for one, guess in zip(rows, asked, strict=True):
            try:
                answers.append(self._run.ask(question.describe(guess), None, one.decide(guess)))
            except (BudgetExhausted, InvalidParameter):
                if not answers:
                    raise
                break
        return answers

    def claim(
        self,
        values: Rows | Procedure,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        key: str | None = None,
        weights: object = None,
    ) -> Answer:
        """Check that the mean, or a metric, is at least (at most) a number: the whole share is on one tail.

        Shows a bit. A pass has the claimed half-line, within the range, as interval; a failure has none and says
        nothing against the claim.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> holdout.claim([True] * 8000 + [False] * 2000, at_least=0.78).interval
        (0.78, 1.0)
        """
        refuse_weights(weights)
        if (at_least is None) == (at_most is None):
            raise InvalidParameter("at_least or at_most must be given, and not both")
        name, bound = ("at_least", at_least) if at_least is not None else ("at_most", at_most)
        if isinstance(values, Procedure):
            metric = self._metric(values)
            asked = metric.claim(name, bound)
            return self._ask(metric.describe(asked), key, lambda: metric, asked)
        question = self._mean("claim", family, spread, low, high, binary)
        asked = question.claim(name, bound)
        return self._ask(question.describe(asked), key, lambda: question.read(values, "values"), asked)

    def compare(
        self,
        values_b: Rows,
        values_a: Rows,
        guess: float = 0.0,
        tolerance: float | None = None,
        *,
        margin: float | None = None,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        show: Show = "value",
        grid: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Compare B with A on the same rows: a question about the mean of B minus A.

        With `margin` it claims "B is better than A by at least `margin`" and shows a bit. Otherwise it checks `guess`
        as `check` does. Differences lie in `[low - high, high - low]`; where A and B agree on most rows their spread
        is small, and `spread` (say the square root of the share of rows on which they differ elsewhere) lets
        empirical Bernstein use that.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=100)
        >>> a = [True] * 8000 + [False] * 2000
        >>> b = [True] * 8700 + [False] * 1300
        >>> holdout.compare(b, a, margin=0.0, spread=0.27).passed
        True
        """
        low, high = self._range(low, high)
        question = self._question("compare", family, spread, low - high, high - low, False)
        asked: Guess | OneSided = (
            question.guess(guess, tolerance, show, grid)
            if margin is None
            else question.claim("at_least", margin, "margin")
        )
        pairs = differences(values_b, values_a, low, high)
        return self._ask(question.describe(asked), key, lambda: question.read(pairs, "values"), asked)

    def check_metric(
        self,
        procedure: Procedure,
        guess: float,
        tolerance: float,
        *,
        show: Show = "value",
        grid: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Check a guess of a metric that is not a mean: AUC, F1, a group's rate (`holdfast.holdout.metrics`).

        Its interval depends on more than one mean, so a failure shows both ends, rounded outward to a grid of step
        half the tolerance (or twice `grid`, but at most 64 steps), and every possible pair is counted.

        How wide the interval is depends on the rows, on how many lie in a group or a class, so a tolerance that these
        rows cannot reach is not refused, unlike in `check`: it fails, which costs a failure and shows the two ends.
        `least_tolerance(family="hoeffding")` is what a mean over all rows could reach; a metric over a share of the
        rows needs more. Leave room.
        """
        metric = self._metric(procedure)
        asked = metric.guess(guess, tolerance, show, grid)
        return self._ask(metric.describe(asked), key, lambda: metric, asked)

    def least_tolerance(
        self,
        guess: float | None = None,
        *,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
    ) -> float:
        """The smallest tolerance with which the next question can pass; public, and it spends nothing.

        Without a guess, at the middle of the range, where it is largest. For intervals that look at the rows' spread
        it is what they reach at the given `spread`, or at none.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> round(holdout.least_tolerance(family="hoeffding"), 4), round(holdout.least_tolerance(0.95, binary=True), 4)
        (0.0236, 0.0091)
        """
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess((question.low + question.high) / 2 if guess is None else guess, None, "value", None)
        return question.least_tolerance(asked.guess, self._run.log_share)

    def most_cost(
        self,
        guess: float,
        tolerance: float | None = None,
        *,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        show: Show = "value",
        grid: float | None = None,
        procedure: Procedure | None = None,
    ) -> Bits:
        """What the same `check`, asked next, costs at most: a filter must admit it before the answer is known.

        Declare `binary` where the values will be of type bool. With `procedure` it is about `check_metric`, of which
        only the public range is used. For a `claim` ask with `show="bit"`, which costs the same; for `compare` give
        the range of the differences.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> most = holdout.most_cost(0.9, binary=True)
        >>> holdout.check([True] * 8000 + [False] * 2000, 0.9).cost == most
        True
        """
        if procedure is not None:
            metric = self._metric(procedure)
            return Bits(self._run.most_bits(metric.shown(metric.guess(guess, tolerance, show, grid))))
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess(guess, tolerance, show, grid)
        return Bits(self._run.most_bits(question.shown(asked, self._run.log_share)))

    def _range(self, low: float | None, high: float | None) -> tuple[float, float]:
        return check.value_range(self._low if low is None else low, self._high if high is None else high)

    def _mean(
        self, kind: str, family: str, spread: float | None, low: float | None, high: float | None, binary: bool
    ) -> MeanQuestion:
        return self._question(kind, family, spread, *self._range(low, high), binary)

    # Where rows are not independent other intervals take the place of these two.

    def _question(
        self, kind: str, family: str, spread: float | None, low: float, high: float, binary: bool
    ) -> MeanQuestion:
        return MeanQuestion(kind, family, spread, low, high, binary, self._n)

    def _metric(self, procedure: Procedure) -> ProcedureQuestion:
        return ProcedureQuestion(procedure, self._n)

    def _ask(
        self, question: dict[str, Any], key: str | None, read: Callable[[], _Readable], asked: Guess | OneSided
    ) -> Answer:
        stored = self._run.stored(question, key)
        if stored is not None:
            return stored
        self._run.open()
        return self._run.ask(question, key, read().decide(asked))


def refuse_weights(weights: object) -> None:
    """Weighted rows have no bound here; say what to do instead."""
    if weights is not None:
        raise InvalidParameter(
            "weights must be None: the interval of a weighted mean needs a bound on the weights; "
            "holdfast.holdout.metrics.weighted_mean takes one, for check_metric"
        )


__all__ = ["ReusableHoldout"]
