"""The reusable holdout: explore coarsely, finish sharply, certified against any analyst."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from functools import partial
from itertools import pairwise, zip_longest
from typing import Any, Literal, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import Bits
from holdfast.bounds.parameters import MOST
from holdfast.core import arguments
from holdfast.core.copying import SharedOnCopy
from holdfast.data.values import Rows, Summary, ValuesRefused, chunks, column, summarise
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.holdout.earlier import earlier_entries
from holdfast.holdout.error_budget import ErrorBudget, Message, Price, log_cell_weight, log_winner_weight, reserve_parts
from holdfast.holdout.final import (
    MOST_FINALISTS,
    Finalists,
    FinalResult,
    MetricFinalists,
    best_of,
    decide_final,
    pair_forecast,
    split_of,
)
from holdfast.holdout.intervals.procedure import Procedure
from holdfast.holdout.questions import (
    Guess,
    MeanQuestion,
    OneSided,
    ProcedureQuestion,
    Reading,
    Signs,
    check_winner,
    comparison_risk,
)
from holdfast.holdout.transcript import ENDED, Ask, Exact, Outcome, Transcript
from holdfast.mechanisms.answer import Answer

_BLOCK = 1 << 16
_Read = TypeVar("_Read")


def differences(values_b: Rows, values_a: Rows, low: float, high: float) -> Iterator[npt.NDArray[np.float64]]:
    """Chunks of `b - a`, in row order.

    Both columns are arrays of one length, or iterators whose chunks match in length. Where some values are missing or
    outside the range, their chunk has no values.

    Examples
    --------
    >>> [chunk.tolist() for chunk in differences([1, 0, 1], [True, True, False], 0.0, 1.0)]
    [[0.0, -1.0, 1.0]]
    """
    for b, a in zip_longest(_blocks(values_b, "values_b"), _blocks(values_a, "values_a")):
        if b is None or a is None or b.shape != a.shape:
            raise InvalidParameter("values_b and values_a must have the same rows, in chunks of the same lengths")
        try:
            for values in (b, a):
                summarise(values, n=len(values), low=low, high=high)
        except ValuesRefused:  # whoever reads on notices, after the last row
            yield np.full(b.shape, np.nan)
        else:
            yield b.astype(np.float64) - a.astype(np.float64)


def _blocks(values: Rows, name: str) -> Iterator[npt.NDArray[Any]]:
    """The chunks of an iterator, or an array in blocks."""
    for chunk in chunks(values, name):
        if isinstance(values, Iterator):
            yield chunk
        else:
            yield from (chunk[start : start + _BLOCK] for start in range(0, len(chunk), _BLOCK))


@dataclass(frozen=True, eq=False)
class Split:
    """Which units are explored and which are reserved, drawn before any row is read.

    A unit is a row, or a group of rows that belong together, which goes to one side as a whole.

    Examples
    --------
    >>> split = Split.draw(10, (0.3, 0.2), seed=1)
    >>> split.explored.size, [part.size for part in split.reserved]
    (5, [3, 2])
    """

    seed: int
    parts: tuple[float, ...]
    explored: npt.NDArray[np.intp]
    reserved: tuple[npt.NDArray[np.intp], ...]

    @classmethod
    def draw(cls, n: int, parts: Sequence[float], seed: int | None = None) -> Split:
        """Draw the reserves of `n` units: rows, or groups of rows."""
        seed = secrets.randbits(64) if seed is None else arguments.whole("seed", seed, at_least=0)
        order = np.random.default_rng(seed).permutation(n)
        place = np.empty_like(order)
        place[order] = np.arange(n)
        ends = np.rint(np.cumsum([0.0, *parts]) * n).astype(np.intp)
        reserved = tuple(np.flatnonzero((place >= a) & (place < b)) for a, b in pairwise(ends))
        explored = np.flatnonzero(place >= ends[-1])
        if not explored.size or not all(part.size for part in reserved):
            raise InvalidParameter(
                f"reserve must leave at least one unit on each side, but {n} units are too few for that"
            )
        return cls(seed, tuple(parts), explored, reserved)


@dataclass(frozen=True, eq=False)
class Units:
    """Rows that belong together: the unit is the group, and its value is the mean of its rows.

    Rows of one group (visits of a patient, pages of a document) depend on each other in any way; groups are independent
    and alike. Then the values of groups are independent, in the same range, and their mean is the mean over groups.

    Examples
    --------
    >>> units = Units.of(["a", "a", "b"], 3)
    >>> units.count, units.means(np.array([1.0, 0.0, 1.0]), "values").tolist()
    (2, [0.5, 1.0])
    """

    codes: npt.NDArray[np.intp]
    sizes: npt.NDArray[np.intp]

    @classmethod
    def of(cls, groups: Any, n: int) -> Units:
        """From one label per row."""
        labels = np.asarray(groups)
        if labels.shape != (n,):
            raise InvalidParameter(f"groups must have one label per row, {n} in all, got shape {labels.shape}")
        try:
            codes = np.unique(labels, return_inverse=True)[1].ravel()
        except TypeError:
            raise InvalidParameter("groups must have labels of one type, with no label missing") from None
        return cls(codes, np.bincount(codes))

    @property
    def count(self) -> int:
        """How many groups there are."""
        return self.sizes.size

    def means(self, values: Rows, name: str) -> npt.NDArray[np.float64]:
        """Return the mean of each group, of one value per row."""
        read = np.concatenate([*chunks(values, name), np.empty(0)]).astype(np.float64)
        if read.size != self.codes.size:
            raise InvalidParameter(f"{name} must have one number per row, {self.codes.size} in all, got {read.size}")
        return np.asarray(np.bincount(self.codes, read, self.count) / self.sizes)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which `from_dict` reads back."""
        return {"codes": self.codes.astype("<u4").tobytes().hex()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Units:
        """Read them back."""
        codes = np.frombuffer(bytes.fromhex(plain["codes"]), dtype="<u4").astype(np.intp)
        return cls(codes, np.bincount(codes))


_FORMAT = 2


class Run(SharedOnCopy):
    """The plan, what was asked, and what is left. What a reveal will show is kept next to it, and secret."""

    _not_copied = (
        "a {name} is not pickled: two copies would spend one confidence twice; "
        "hand the run over with state() and from_state()"
    )

    def __init__(
        self,
        n: int,
        questions: int | None,
        confidence: float,
        failures: int | None,
        low: float,
        high: float,
        *,
        final: float = 0.5,
        reserve: float | Sequence[float] = 0.0,
        expected_failures: float = 1.0,
        groups: Any = None,
        seed: int | None = None,
    ) -> None:
        self._rows_in_all = arguments.whole("n", n, at_least=1, at_most=MOST)
        self._units = None if groups is None else Units.of(groups, self._rows_in_all)
        if self._units is not None:
            self._rows_in_all = self._units.count
        self._low, self._high = arguments.value_range(low, high)
        parts = reserve_parts(reserve)
        budget = ErrorBudget(confidence, questions, final, len(parts), expected_failures)
        if failures is not None:
            failures = arguments.whole("failures", failures, at_least=0, at_most=MOST)
            if budget.questions is not None and failures > budget.questions:
                raise InvalidParameter(
                    f"failures must be at most the number of questions, {budget.questions}, got {failures}"
                )
        self._split = Split.draw(self._rows_in_all, parts, seed) if parts else None
        self._n = self._rows_in_all if self._split is None else self._split.explored.size
        self._phase = 0
        self._run = self._transcript(budget, failures)

    def _transcript(self, budget: ErrorBudget, failures: int | None) -> Transcript:
        """An empty transcript; a holdout whose rows are not independent says here what its intervals depend on."""
        return Transcript(budget, failures)

    @property
    def n(self) -> int:
        """The number of rows of the holdout, reserved rows included."""
        return self._rows_in_all if self._units is None else self._units.codes.size

    @property
    def units(self) -> int:
        """The number of independent units of the holdout: its rows or, if groups were given, the groups."""
        return self._rows_in_all

    @property
    def explored(self) -> int:
        """The number of units (rows or groups of rows) that the questions before a final use."""
        return self._n

    @property
    def low(self) -> float:
        """The smallest value that a row can have, unless a question gives another one."""
        return self._low

    @property
    def high(self) -> float:
        """The largest value that a row can have, unless a question gives another one."""
        return self._high

    @property
    def budget(self) -> ErrorBudget:
        """The plan that divides the failure probability among the questions."""
        return self._run.budget

    @property
    def confidence(self) -> float:
        """The probability that all answers of the run hold together."""
        return self._run.budget.confidence

    @property
    def questions(self) -> int | None:
        """The planned number of questions."""
        return self._run.budget.questions

    @property
    def failures(self) -> int | None:
        """The planned number of failed checks that may show a value."""
        return self._run.failures

    @property
    def asked(self) -> int:
        """The number of questions asked so far."""
        return self._run.asked

    @property
    def failed(self) -> int:
        """The number of failed checks so far."""
        return self._run.failed

    @property
    def ended(self) -> bool:
        """Whether exact values were shown. After that, no more questions are answered about the explored rows."""
        return self._run.ended

    @property
    def remaining(self) -> dict[str, float]:
        """The number of questions and of failures that are left; infinite where the plan sets no limit."""
        return self._run.left()

    @property
    def log_share(self) -> float:
        """The natural logarithm of the failure probability at which the next question is decided. It is public."""
        return self._run.log_share

    @property
    def log_prior(self) -> float:
        """The natural logarithm of the prior weight of everything that was shown; 0 before the first answer. It is
        public.
        """
        return self._run.budget.log_prior(self._run.course)

    @property
    def failure_price(self) -> Price:
        """How much wider, as a proportion, later intervals and those of a final would become if the next check
        failed.

        The number is public. It is for a value near the guess. A failure far from the guess costs a little more.

        Examples
        --------
        >>> from holdfast.holdout import ReusableHoldout
        >>> price = ReusableHoldout(10_000, questions=1000).failure_price
        >>> round(price.questions, 2), round(price.final, 2)
        (0.32, 1.23)
        """
        return self._run.budget.price(self._run.course, Message(False, log_cell_weight(1)))

    @property
    def transcript(self) -> tuple[Answer, ...]:
        """All answers that were released, in order."""
        return tuple(entry.answer for entry in self._run.entries)

    def state(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the plan and the transcript as plain data for JSON. `from_state` reads them back exactly.

        The data contain only what was released or is public, no rows and no sums. With `secrets=True` they also contain
        what `close` would reveal. Keep such data to yourself. Without them, a run that continues from the state must be
        closed without revealing earlier answers. Only one run may continue from a state.
        """
        budget, split = self._run.budget, self._split
        return {
            "format": _FORMAT,
            "n": self.n,
            "questions": budget.questions,
            "confidence": budget.confidence,
            "failures": self._run.failures,
            "low": self._low,
            "high": self._high,
            "final": budget.final,
            "expected_failures": budget.expected_failures,
            "reserve": None if split is None else _packed(split),
            "phase": self._phase,
            "ended": self._run.ended,
            "transcript": self._run.state(secrets),
        } | ({} if self._units is None else {"groups": self._units.to_dict()})

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the holdout that `state()` described, ready for its next question.

        States of earlier versions, which used other weights, are read too. What they showed is charged by the prior of
        this version, and they have no part of the failure probability for a final.

        Examples
        --------
        >>> from holdfast.holdout import ReusableHoldout
        >>> holdout = ReusableHoldout(4, questions=10)
        >>> answer = holdout.check([0, 1, 1, 1], guess=0.5, key="first")
        >>> twin = ReusableHoldout.from_state(holdout.state())
        >>> twin.transcript == holdout.transcript, twin.log_share == holdout.log_share
        (True, True)
        """
        try:
            if state["format"] not in (1, _FORMAT):
                raise InvalidParameter(f"state must have the format {_FORMAT}, got {state['format']!r}")
            holdout = cls._planned(state)
            entries = state["transcript"]
            holdout._run.replay(earlier_entries(entries) if state["format"] == 1 else entries)
            if state["format"] != 1:
                holdout._split = _unpacked(state["reserve"], holdout._rows_in_all)
                holdout._n = holdout._rows_in_all if holdout._split is None else holdout._split.explored.size
                holdout._phase = arguments.whole("phase", state["phase"], at_least=0)
                holdout._run.ended = bool(state["ended"])
        except (KeyError, TypeError, AttributeError, BudgetExhausted) as error:
            raise InvalidParameter(f"state must be unchanged since state() returned it: {error}") from error
        return holdout

    @classmethod
    def _planned(cls, state: Mapping[str, Any]) -> Self:
        """The holdout of a state's plan, before anything was asked."""
        plan = {name: state[name] for name in ("n", "questions", "confidence", "failures", "low", "high")} | _plan(
            state
        )
        if state.get("groups") is not None:
            plan["groups"] = Units.from_dict(state["groups"]).codes
        return cls(**plan)

    def __repr__(self) -> str:
        budget, failures = self._run.budget, self._run.failures
        asked = f"{self.asked} asked"
        if budget.questions is not None:  # names of winners are not among the planned questions
            asked = f"{self._run.course.asked} of {budget.questions} asked"
        failed = f"{self.failed} failed" if failures is None else f"{self.failed} of {failures} failed"
        if failures is not None and self.failed > failures:
            failed = f"ended by a failure after the {failures} planned"
        grouped = "" if self._units is None else f" in {self._rows_in_all} groups"
        rows = f"n={self.n}{grouped}" + ("" if self._split is None else f", {self._rows_in_all - self._n} reserved")
        end = "; ended" if self.ended else ""
        return f"{type(self).__name__}({rows}, confidence={budget.confidence:g}: {asked}, {failed}{end})"


def _plan(state: Mapping[str, Any]) -> dict[str, Any]:
    """What a state says of the plan besides the names that were always there; old plans keep nothing for a final."""
    if state["format"] == 1:
        return {"final": 0.0}
    reserve = [] if state["reserve"] is None else state["reserve"]["parts"]
    return {
        "final": state["final"],
        "expected_failures": state["expected_failures"],
        "reserve": list(reserve) or 0.0,
        "seed": 0 if not reserve else state["reserve"]["seed"],
    }


def _packed(split: Split) -> dict[str, Any]:
    """A split as plain data: the side of each row, where rows were drawn in groups, or what draws it again."""
    sides = np.zeros(sum(part.size for part in split.reserved) + split.explored.size, dtype=np.uint8)
    for phase, rows in enumerate(split.reserved, 1):
        sides[rows] = phase
    return {"seed": split.seed, "parts": list(split.parts), "sides": sides.tobytes().hex()}


def _unpacked(plain: Mapping[str, Any] | None, n: int) -> Split | None:
    if plain is None:
        return None
    sides = np.frombuffer(bytes.fromhex(plain["sides"]), dtype=np.uint8)
    if sides.shape != (n,):
        raise InvalidParameter(f"reserve in the state must say for each of {n} units whether it is reserved")
    parts = tuple(arguments.reals("parts", plain["parts"]))
    reserved = tuple(np.flatnonzero(sides == phase) for phase in range(1, len(parts) + 1))
    return Split(plain["seed"], parts, np.flatnonzero(sides == 0), reserved)


Show = Literal["value", "bit"]
Side = Literal["both", "below", "above"]


class _Readable(Protocol):
    """A question together with what its rows add up to: a mean, a metric."""

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]: ...


class ReusableHoldout(Run):
    """Answers adaptively chosen questions about `n` held-out rows so that all answers hold together.

    For a question you give one value per row, computed on the holdout. Usually you also give a guess of the mean of
    these values that you made without the holdout, such as a cross-validated score. (A training score may be too
    optimistic, and then the check fails.) If an interval for the mean lies within the tolerance of the guess, the
    answer is "passed" and nothing else. If not, the answer is a corrected value from a coarse grid. At the end `final`
    or `close` shows exact values. With probability at least `confidence` everything that the run shows holds for the
    population, whatever questions the analyst chose.

    The rows must be independent and identically distributed. Nothing may have been fitted or chosen with them before.
    For rows that depend on each other (families, series, panels) use `holdfast.correlated.DependentHoldout`.

    The object keeps a plan, a public transcript, and in memory the exact values and intervals that `final` and `close`
    show. It keeps no rows. It can be shared between threads. It cannot be pickled or used in a forked process, and
    `copy` and `deepcopy` return the same object, because two copies would spend one confidence twice. `state()` and
    `from_state()` hand a run over.

    Parameters
    ----------
    n : int
        Rows of the holdout.
    questions : int, optional
        Number of questions before the final, fixed now and enforced: each may spend the same. Without it spendings
        follow a series, which favours the first questions and never ends.
    confidence : float
        Probability that all answers hold.
    failures : int, optional
        Cap on failed checks, fixed now and enforced: the failure after the last planned one shows nothing and ends the
        run. Without it every failure is priced as it comes.
    low, high : float
        Range of the values unless a question names its own.
    final : float
        Part of the failure probability that is kept for `final`. The default, one half, costs the questions before it
        3% of their width.
    reserve : float or list of float
        Part of the rows that no question before the final reads; a list has one part for each phase. A talkative
        exploration leaves little for a final on the same rows; reserved rows owe it nothing.
    expected_failures : float
        Failed checks that the prior expects in all planned questions.
    groups : array, optional
        One label per row, for rows that belong together: visits of a patient, pages of a document. The unit is then the
        group: questions still come as one value per row, each group counts with the mean of its rows, and what is
        certified is the mean over groups. Groups must be independent and alike; their rows may depend on each other.
    seed : int, optional
        For the draw of the reserve. By default it comes from the operating system.

    Notes
    -----
    Each question may use its spending times the prior weight of everything that was shown before it (Theorem E,
    `ErrorBudget`; proof in docs/error-budget.md). The idea of checking guesses is Guess and Check (Rogers, Roth,
    Smith, Srebro, Thakkar, Woodworth 2020).

    Examples
    --------
    >>> holdout = ReusableHoldout(10_000, questions=1000)
    >>> right = [True] * 8000 + [False] * 2000
    >>> answer = holdout.check(right, guess=0.81)
    >>> answer.passed, answer.value, round(answer.half_width, 4), answer.remaining["questions"]
    (True, 0.81, 0.0478, 999)
    >>> answer = holdout.check(right, guess=0.95)
    >>> answer.passed, [round(end, 3) for end in answer.interval], answer.price
    (False, [0.761, 0.817], "later intervals are 43% wider, a final's 158%")
    >>> result = holdout.final({"mine": right})
    >>> result.values["mine"], [round(end, 3) for end in result.interval["mine"]]
    (0.8, [0.779, 0.82])
    """

    def __init__(
        self,
        n: int,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
        *,
        final: float = 0.5,
        reserve: float | Sequence[float] = 0.0,
        expected_failures: float = 1.0,
        groups: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(
            n,
            questions,
            confidence,
            failures,
            low,
            high,
            final=final,
            reserve=reserve,
            expected_failures=expected_failures,
            groups=groups,
            seed=seed,
        )

    # --- Questions ----------------------------------------------------------------------------------------------------

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
        side: Side = "both",
        guess_rows: int | None = None,
        risk: float | None = None,
        stake: float | None = None,
        key: str | None = None,
        weights: object = None,
    ) -> Answer:
        """Check your guess of the mean of one value per row.

        Parameters
        ----------
        holdout_values : array or iterator of arrays
            One number per row: an array, a list, a data-frame column, or an iterator of chunks.
        guess : float
            The guess; it must not come from the holdout except through its earlier answers.
        tolerance : float, optional
            A pass certifies the truth within this of the guess. By default 2.5 half-widths of the interval at the
            guess, and more where `guess_rows` says that the guess is less certain.
        family : str
            Interval: "hoeffding", "kl", "clopper-pearson" (declared 0/1 values), "empirical-bernstein" or "betting".
            "auto" is Clopper-Pearson for 0/1 values and KL for others, and empirical Bernstein where `spread` says
            that it will be narrower: chosen before the data.
        spread : float, optional
            A guess of the values' standard deviation, not from the holdout.
        low, high : float, optional
            Range of this question's values.
        binary : bool
            Declare the values 0/1. An array of type bool declares itself.
        show : str
            "value": a failure shows a corrected value. "bit": a failure shows nothing else, which costs less.
        grid : float, optional
            Half-width of the cells of corrected values; by default that of the interval at the guess.
        side : str
            Where the truth is expected if the guess is wrong: "below" for scores that may be too optimistic.
        guess_rows : int, optional
            How many other rows the guess is the mean of. Then a guess that is right fails about once in a thousand.
        risk : float, optional
            Your probability that the check fails, from other rows. By default what `guess_rows` says.
        stake : float, optional
            Part of the failure probability for this question, out of what is left for exploring: for one that matters.
        key : str, optional
            A name for the question: the same key returns the stored answer free of cost, rows unread.
        weights : None
            Weighted rows are refused: their bound is not known here.

        Returns
        -------
        Answer
            A pass has `value = guess` and the interval within `tolerance` of it. A failure has the midpoint of a cell
            and the interval of the whole cell; with `show="bit"`, and after the last planned failure, neither. `price`
            says what it did to later intervals, and `cost` is the length of the message in bits.

        Raises
        ------
        InvalidParameter
            Wrong input, values that leave the range, NaN, the wrong number of rows, a guess outside the range, or a
            tolerance that no rows can reach; the message names the least one that some rows can. Nothing is spent.
        BudgetExhausted
            The planned questions or failures are used up, or the run has ended.
        """
        refuse_weights(weights)
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess(guess, tolerance, show, grid, side, guess_rows)
        weighed = _weighed(risk, stake)
        if risk is None and guess_rows is not None:
            weighed["risk"] = partial(question.risk, asked)
        described = question.describe(asked)
        known = self._run.stored(described, key)
        if known is not None:
            return known
        self._run.open()
        read = partial(self._read_question, question, holdout_values, "holdout_values")
        impossible = partial(question.refuse_impossible, asked)
        reading = self._read(read, [described], stake=weighed["stake"], impossible=impossible)
        return self._run.ask(Ask(described, reading.decide(asked), key, **weighed))

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
        side: Side = "both",
        guess_rows: int | None = None,
    ) -> list[Answer]:
        """Check several guesses that were all fixed before the first of them is checked.

        `holdout_values` has one array for each question: a list of arrays, or a matrix with one line for each question.
        What one check of the batch shows makes only questions after the batch more expensive, not the other checks of
        the batch.

        Examples
        --------
        >>> holdout = ReusableHoldout(4, questions=2)
        >>> [answer.passed for answer in holdout.check_batch([[0, 1, 1, 1], [0, 0, 1, 1]], [0.75, 0.5])]
        [True, True]
        """
        question = self._mean("check", family, spread, low, high, binary)
        asked = [
            question.guess(guess, tolerance, show, grid, side, guess_rows)
            for guess in arguments.reals("guesses", guesses)
        ]
        if asked:
            self._run.open(len(asked))
        columns = list(holdout_values)
        if len(columns) != len(asked):
            raise InvalidParameter(f"guesses must have one entry per question, {len(columns)}, got {len(asked)}")

        def impossible(log_share: float) -> None:
            for claim in asked:
                question.refuse_impossible(claim, log_share)

        readers = [partial(self._read_question, question, values, "holdout_values") for values in columns]
        described = [question.describe(claim) for claim in asked]
        rows = self._read(partial(_read_all, readers), described, impossible=impossible) if asked else []
        asks = [
            Ask(question.describe(claim), reading.decide(claim), risk=partial(question.risk, claim))
            for reading, claim in zip(rows, asked, strict=True)
        ]
        return self._run.ask_batch(asks) if asks else []

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
        risk: float | None = None,
        stake: float | None = None,
        key: str | None = None,
        weights: object = None,
    ) -> Answer:
        """Check the claim that the mean, or a metric, is at least (or at most) a given number. The answer is yes or
        no.

        The whole error probability of the question is used for one side. If the claim passes, its interval is the
        claimed part of the range. If it fails, there is no interval, and the failure is no evidence against the claim.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> holdout.claim([True] * 8000 + [False] * 2000, at_least=0.78).interval
        (0.78, 1.0)
        """
        refuse_weights(weights)
        if (at_least is None) == (at_most is None):
            raise InvalidParameter("exactly one of at_least and at_most must be given")
        name, bound = ("at_least", at_least) if at_least is not None else ("at_most", at_most)
        weighed = _weighed(risk, stake)
        if isinstance(values, Procedure):
            metric = self._metric(values)
            asked = metric.claim(name, bound)
            return self._ask(metric.describe(asked), key, lambda: metric, asked, **weighed)
        question = self._mean("claim", family, spread, low, high, binary)
        asked = question.claim(name, bound)
        read = partial(self._read_question, question, values, "values")
        impossible = partial(question.refuse_impossible, asked)
        return self._ask(question.describe(asked), key, read, asked, **weighed, impossible=impossible)

    def compare(
        self,
        values_b: Rows,
        values_a: Rows,
        guess: float | None = None,
        tolerance: float | None = None,
        *,
        margin: float | None = None,
        family: str = "auto",
        spread: float | None = None,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        show: Show = "value",
        grid: float | None = None,
        other: tuple[Any, Any] | None = None,
        risk: float | None = None,
        stake: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Compare B with A on the same rows: ask whether the mean of B is larger, or check how much larger it is.

        Without a guess the question is whether B is better than A by at least `margin` (by default 0), and the answer
        is yes or no. With a `guess` of the difference, that guess is checked as in `check`. Differences lie in `[low -
        high, high - low]`.

        The method is chosen before the rows are read. For 0/1 values and margin 0 it is the exact sign test on the rows
        where the two differ. Otherwise it is betting, whose interval is narrow if A and B agree on most rows.

        Parameters
        ----------
        values_b, values_a : array or iterator of arrays
            One number per row for each.
        guess, tolerance
            As for `check`, about the mean of B minus A.
        margin : float, optional
            By how much B is claimed to be better.
        family : str
            "auto", "sign-test", or one of the families of `check`.
        spread, low, high, show, grid
            As for `check`; the range is that of B and of A.
        binary : bool
            Declare the values 0/1. Arrays of type bool declare themselves.
        other : pair of arrays, optional
            B and A on other rows, such as your validation rows: they say how likely the claim is to fail, which makes
            comparisons that come out as expected nearly free. With a guess, it is taken for the mean of these rows.
        risk, stake, key
            As for `check`.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=100)
        >>> a = [True] * 8000 + [False] * 2000
        >>> b = [True] * 8100 + [False] * 1900
        >>> holdout.compare(b, a).passed
        True
        """
        low, high = self._range(low, high)
        weighed = _weighed(risk, stake)
        if guess is not None and margin is not None:
            raise InvalidParameter("guess and margin must not both be given: a guess is checked, a margin is claimed")
        signs = guess is None and self._is_sign_test(family, margin, low, high, binary, values_b, values_a)
        gaps = None
        if other is not None:
            gaps = np.concatenate([*differences(other[0], other[1], low, high), np.empty(0)])
            if np.isnan(gaps).any():
                raise InvalidParameter(
                    f"other must have one number in [{low:g}, {high:g}] for each row without missing values, but some "
                    "values are not; nothing was spent"
                )
        if risk is None and gaps is not None and guess is None:
            weighed["risk"] = partial(comparison_risk, gaps, self._n, margin or 0.0, signs)
        if signs:
            described = {"kind": "compare", "family": "sign-test", "margin": 0.0}
            return self._ask_signs(described, key, values_b, values_a, weighed)
        chosen = self._paired_family(family, spread)
        question = self._question("compare", chosen, spread, low - high, high - low, False)
        asked: Guess | OneSided
        if guess is None:
            asked = question.claim("at_least", 0.0 if margin is None else margin, "margin")
        else:
            asked = question.guess(guess, tolerance, show, grid, guess_rows=None if gaps is None else len(gaps))
            if risk is None:
                weighed["risk"] = partial(question.risk, asked)

        def read() -> _Readable:
            pairs = differences(self._explored(values_b, "values_b"), self._explored(values_a, "values_a"), low, high)
            return question.read(pairs, "values")

        impossible = partial(question.refuse_impossible, asked)
        return self._ask(question.describe(asked), key, read, asked, **weighed, impossible=impossible)

    def check_metric(
        self,
        procedure: Procedure,
        guess: float,
        tolerance: float,
        *,
        show: Show = "value",
        grid: float | None = None,
        risk: float | None = None,
        stake: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Check your guess of a metric that is not a mean, such as the AUC, F1 or the rate of a group
        (`holdfast.holdout.metrics`).

        A failed check shows both ends of the metric's interval, rounded outward to a grid. The step of the grid is half
        the tolerance, or twice `grid` if that is given (with at most 64 steps).

        The width of the interval depends on the rows, for example on how many are in a group or a class. Therefore,
        unlike in `check`, a tolerance that these rows cannot reach is not refused: the check fails, which uses up a
        failure and shows the two ends. `least_tolerance(family="hoeffding")` is what a mean over all rows could reach.
        A metric over a part of the rows needs a larger tolerance.
        """
        metric = self._metric(procedure)
        asked = metric.guess(guess, tolerance, show, grid)
        return self._ask(metric.describe(asked), key, lambda: metric, asked, **_weighed(risk, stake))

    def best(
        self,
        candidates: Mapping[str, Rows],
        guesses: Mapping[str, float] | None = None,
        *,
        show: Literal["name", "value"] = "name",
        greater_is_better: bool = True,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        key: str | None = None,
    ) -> Answer:
        """Find which of several candidates is best on the rows. The answer is its name and, if you ask for it, its
        value.

        Use this for a round of a search in which only the winner matters. A name alone claims nothing and spends no
        part of the failure probability. But it makes later questions more expensive: by at most `ln 2` nats if the
        winner also had the best guess, and by about the logarithm of the number of candidates if the guesses do not
        tell the candidates apart.

        Parameters
        ----------
        candidates : mapping
            Names and one number per row for each.
        guesses : mapping, optional
            Scores without the holdout, which say who is expected to win. By default in the order of the mapping.
        show : str
            "name": the winner's name and no interval. "value": the winner's guess is checked too, which spends as much
            as one question. Every candidate needs a guess then.
        greater_is_better : bool
            Whether the best has the largest mean.
        low, high, binary, key
            As for `check`.

        Returns
        -------
        Answer
            `value` is the winner's name. With `show="value"` there is an interval for the winner's mean, and `passed`
            says whether its guess passes. Ask `final` for exact numbers.

        Examples
        --------
        >>> holdout = ReusableHoldout(1000, questions=10)
        >>> columns = {"a": [1, 0] * 500, "b": [1, 1, 1, 0] * 250}
        >>> guesses = {"a": 0.5, "b": 0.74}
        >>> holdout.best(columns, guesses).value
        'b'
        >>> answer = holdout.best(columns, guesses, show="value", binary=True)
        >>> answer.value, answer.passed, [round(end, 2) for end in answer.interval]
        ('b', True, [0.6, 0.88])
        """
        shows_value = arguments.choice("show", show, ("name", "value")) == "value"
        names = _names(candidates, 2)
        expected = _by_guess(names, guesses, greater_is_better)
        described: dict[str, Any] = {"kind": "best", "candidates": names, "greater_is_better": greater_is_better}
        described["expected"] = [names[index] for index in expected]
        checked = self._winner_guesses(names, guesses, low, high) if shows_value else {}
        described |= {"show": show, "guesses": checked} if shows_value else {}
        known = self._run.stored(described, key)
        if known is not None:
            return known
        self._run.open(int(shows_value))
        if shows_value and any(isinstance(candidate, Procedure) for candidate in candidates.values()):
            raise InvalidParameter(
                "show must be 'name' for metrics; to get a value, check the winner with check_metric, or ask final"
            )
        read = partial(self._scores, candidates, low, high, binary)
        scores, rows = self._read(read, [described], spends=shows_value)
        winner = best_of(scores, greater_is_better)
        weight = log_winner_weight(expected.index(winner) + 1, len(names))

        def decide(log_share: float) -> Outcome:
            if not shows_value:
                return Outcome(None, names[winner], None, "best", weight)
            question = self._mean("best", "auto", None, low, high, all(row.binary for row in rows))
            outcome = check_winner(
                question, rows[winner], checked[names[winner]], len(names), greater_is_better, log_share
            )
            interval = None if outcome.exact is None else outcome.exact.interval
            return dataclass_replace(
                outcome,
                value=names[winner],
                log_weight=outcome.log_weight + weight,
                exact=Exact(names[winner], interval),
            )

        return self._run.ask(Ask(described, decide, key, spends=shows_value))

    def _winner_guesses(
        self,
        names: Sequence[str],
        guesses: Mapping[str, float] | None,
        low: float | None,
        high: float | None,
    ) -> dict[str, float]:
        """A guess for each candidate, within the range: whichever wins is checked against its own."""
        missing = [name for name in names if guesses is None or name not in guesses]
        if missing:
            raise InvalidParameter(
                f"to show values, guesses must have one guess for each candidate, but {missing[0]!r} has none"
            )
        assert guesses is not None
        lowest, highest = self._range(low, high)
        return {
            name: arguments.real(f"guess of {name!r}", guesses[name], at_least=lowest, at_most=highest)
            for name in names
        }

    # --- The end of a run ---------------------------------------------------------------------------------------------

    def final(
        self,
        candidates: Mapping[str, Rows],
        claims: Any = "intervals",
        *,
        greater_is_better: bool = True,
        low: float | None = None,
        high: float | None = None,
        binary: bool = False,
        other: Mapping[str, Any] | None = None,
    ) -> FinalResult:
        """End the run. Show the exact values of the finalists, the claims about them, and the exact values behind
        all earlier answers.

        Parameters
        ----------
        candidates : mapping
            Names and one number per row for each finalist, or a metric of `holdfast.holdout.metrics` for each. All are
            fixed before the first is read.
        claims : str, list or mapping
            What is claimed, fixed before the rows are read: "intervals" (one for each finalist), "winner" (an interval
            of the best, and what the choice may have lost), "ranks" (who is certainly better than whom); or a list or
            the parts of several.
        greater_is_better : bool
            Whether the winner has the largest mean.
        low, high, binary
            As for `check`.
        other : mapping, optional
            The same candidates on other rows: they say where differences are expected, which sharpens ranks.

        Returns
        -------
        FinalResult
            `values`, `winner`, `interval`, `winner_interval`, `loss_at_most`, `ranks`, `better`, `revealed`; None where
            not claimed.

        Raises
        ------
        ValuesRefused
            Some values are missing or leave the range. This depends on rows, so it is recorded and makes later
            intervals wider, as for `check`. The run goes on: another final may be asked, and all finals together spend
            the part of the failure probability that is kept for one.

        Examples
        --------
        >>> holdout = ReusableHoldout(3000)
        >>> grid = {f"depth {d}": [True] * (2400 + 20 * d) + [False] * (600 - 20 * d) for d in range(1, 6)}
        >>> result = holdout.final(grid, claims="winner")
        >>> result.winner, [round(end, 3) for end in result.winner_interval], round(result.loss_at_most, 4)
        ('depth 5', [0.815, 0.847], 0.0)
        """
        split = split_of(claims)
        phase = self._phase
        self._final_level(phase)
        names = _names(candidates, 1)
        others = None if other is None else self._other_rows(other, names, low, high)
        described = {"kind": "final", "candidates": names, "claims": split, "greater_is_better": greater_is_better}
        read = partial(self._read_finalists, candidates, low, high, binary, "ranks" in split)
        finalists, known = self._read(read, [described], spends=False)
        known = known if others is None else others
        with self._run.deciding():
            log_level = self._final_level(phase)
            forecast = None if known is None or "ranks" not in split else pair_forecast(known, finalists.n, log_level)
            guarantee = self._run.guarantee(log_level, "final", self._run.course)
            result = decide_final(
                finalists, names, log_level, split, guarantee, greater_is_better=greater_is_better, forecast=forecast
            )
            self._phase += 1
            return dataclass_replace(result, revealed=self._run.reveal())

    def _final_level(self, phase: int) -> float:
        """`ln` of the level of the final of this phase; an error where none may be asked."""
        self._run._check_owner()
        phases = 0 if self._split is None else len(self._split.reserved)
        if phase != self._phase or (phase >= phases if phases else self._run.ended):
            raise BudgetExhausted(ENDED)
        level = self._run.log_final_share
        if level == -math.inf:
            raise BudgetExhausted(
                "no part of the failure probability is left for a final; when you make a holdout, plan one with final="
            )
        return level

    def close(self) -> tuple[Answer, ...]:
        """End the run, and show for every earlier answer the exact value and the exact interval at the level of its
        question.

        After this no question about these rows is answered, because the exact values are known. The intervals were
        certified when the questions were asked; only showing them was postponed.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> answer = holdout.check([True] * 8000 + [False] * 2000, guess=0.81)
        >>> (exact,) = holdout.close()
        >>> exact.value, round(answer.half_width, 4), round(exact.half_width, 4)
        (0.8, 0.0478, 0.0169)
        """
        with self._run.deciding():
            if self._run.ended:
                raise BudgetExhausted(ENDED)
            return self._run.reveal()

    # --- What is public -----------------------------------------------------------------------------------------------

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
        """Return the smallest tolerance with which the next question can pass. The number is public, and asking for
        it spends nothing.

        Without a guess the number is for a guess in the middle of the range, where it is largest. For families whose
        interval depends on the spread of the values, give `spread`, your guess of the standard deviation. Without it a
        spread of 0 is assumed.

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> round(holdout.least_tolerance(family="hoeffding"), 4), round(holdout.least_tolerance(0.95, binary=True), 4)
        (0.0238, 0.0092)
        """
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess((question.low + question.high) / 2 if guess is None else guess, None, "value", None)
        return question.least_tolerance(asked.guess, self._require_share())

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
        side: Side = "both",
        guess_rows: int | None = None,
        risk: float | None = None,
        procedure: Procedure | None = None,
    ) -> Bits:
        """Return the most that a `check` with these arguments can cost if it is asked next.

        A privacy filter needs this number before the answer is known. Set `binary` if the values will be of type bool.
        With `procedure` the number is for `check_metric`, and only the public range of the procedure is used. For a
        `claim` give `show="bit"`, which costs the same. For a `compare` with a guess give the range of the differences
        and its family ("betting" if you name none).

        Examples
        --------
        >>> holdout = ReusableHoldout(10_000, questions=1000)
        >>> most = holdout.most_cost(0.9, binary=True)
        >>> holdout.check([True] * 8000 + [False] * 2000, 0.9).cost.bits <= most.bits
        True
        """
        if procedure is not None:
            metric = self._metric(procedure)
            return Bits(self._run.most_bits(metric.least_weight(metric.guess(guess, tolerance, show, grid)), risk))
        question = self._mean("check", family, spread, low, high, binary)
        asked = question.guess(guess, tolerance, show, grid, side, guess_rows)
        share = self._require_share()
        stated = _weighed(risk, None)["risk"] if risk is not None else question.risk(asked, share)
        return Bits(self._run.most_bits(question.least_weight(asked, share), stated))

    # --- Inside -------------------------------------------------------------------------------------------------------

    def _require_share(self) -> float:
        share = self._run.log_share
        if share == -float("inf"):
            self._run.open()
        return share

    def _range(self, low: float | None, high: float | None) -> tuple[float, float]:
        if low is None and high is None:
            return self._low, self._high
        return arguments.value_range(self._low if low is None else low, self._high if high is None else high)

    def _mean(
        self, kind: str, family: str, spread: float | None, low: float | None, high: float | None, binary: bool
    ) -> MeanQuestion:
        return self._question(kind, family, spread, *self._range(low, high), self._units is None and binary)

    def _explored(self, values: Rows, name: str) -> Rows:
        """The values of the units that may be explored: reserved ones are not read."""
        if self._units is not None:
            values = self._units.means(values, name)
        if self._split is None:
            return values
        inside = np.zeros(self._rows_in_all, dtype=np.bool_)
        inside[self._split.explored] = True
        return _masked(values, inside, name)

    def _scores(
        self, candidates: Mapping[str, Any], low: float | None, high: float | None, binary: bool
    ) -> tuple[npt.NDArray[np.float64], list[Summary]]:
        """The exact values of several candidates, with their sums where they are columns. Secret."""
        if any(isinstance(candidate, Procedure) for candidate in candidates.values()):
            return MetricFinalists.of(
                [self._metric(candidate).procedure for candidate in candidates.values()]
            ).means, []
        rows = None if self._split is None else self._split.explored
        columns, whole, _ = self._columns(candidates, low, high, binary, rows)
        lowest, highest = self._range(low, high)
        sums = [
            summarise(column, n=len(column), low=lowest, high=highest, binary=whole, name=str(name))
            for name, column in zip(candidates, columns, strict=True)
        ]
        return np.array([summary.mean for summary in sums]), sums

    def _read_finalists(
        self, candidates: Mapping[str, Any], low: float | None, high: float | None, binary: bool, ranks: bool
    ) -> tuple[Finalists, npt.NDArray[np.float64] | None]:
        """Columns of one value per row, or metrics that bring their own intervals.

        For ranks also the columns on the rows that this final does not test and that were read before, if any.
        """
        if any(isinstance(candidate, Procedure) for candidate in candidates.values()):
            return MetricFinalists.of([self._metric(candidate).procedure for candidate in candidates.values()]), None
        before = None
        if ranks and self._split is not None:
            before = np.concatenate([self._split.explored, *self._split.reserved[: self._phase]])
        columns, declared, known = self._columns(candidates, low, high, binary, self._final_rows(), before)
        return self._finalists(columns, *self._range(low, high), declared), known

    def _final_rows(self) -> npt.NDArray[np.intp] | None:
        """The rows that the next final reads; None for all."""
        if self._split is None:
            return None
        if self._phase >= len(self._split.reserved):
            raise BudgetExhausted(ENDED)
        return self._split.reserved[self._phase]

    def _columns(
        self,
        candidates: Mapping[str, Rows],
        low: float | None,
        high: float | None,
        binary: bool,
        rows: npt.NDArray[np.intp] | None,
        before: npt.NDArray[np.intp] | None = None,
    ) -> tuple[npt.NDArray[np.float64], bool, npt.NDArray[np.float64] | None]:
        """The checked columns of several candidates on `rows`, whether all are 0/1, and the same on `before`.

        Each column is read once, so that it may come in chunks.
        """
        lowest, highest = self._range(low, high)
        binary = binary and self._units is None
        read = []  # lengths and types of all columns are checked before the values of any
        for name, values in candidates.items():
            if self._units is None:
                column = np.concatenate([*chunks(values, str(name)), np.empty(0, dtype=np.bool_)])
            else:
                column = self._units.means(values, str(name))
            if len(column) != self._rows_in_all:
                raise InvalidParameter(
                    f"{name} must have one number per row, {self._rows_in_all} in all, got {len(column)}"
                )
            read.append([column if rows is None else column[rows]] + ([] if before is None else [column[before]]))

        def checked(part: npt.NDArray[Any]) -> tuple[npt.NDArray[np.float64], bool]:
            # The error names no column: which one it was would be a message too.
            summary = summarise(part, n=len(part), low=lowest, high=highest, binary=binary, name="candidates")
            return np.asarray(part, dtype=np.float64), summary.binary

        found = [[checked(part) for part in parts] for parts in read]
        known = None if before is None else np.stack([parts[1][0] for parts in found])
        return np.stack([parts[0][0] for parts in found]), all(parts[0][1] for parts in found), known

    def _other_rows(
        self, other: Mapping[str, Any], names: Sequence[str], low: float | None, high: float | None
    ) -> npt.NDArray[np.float64]:
        """The candidates on rows that the analyst brings."""
        missing = [name for name in names if not isinstance(other, Mapping) or name not in other]
        if missing:
            raise InvalidParameter(
                f"other must have values on other rows for each candidate, but {missing[0]!r} has none"
            )
        lowest, highest = self._range(low, high)
        columns = [np.asarray(column(other[name], f"other[{name!r}]"), dtype=np.float64) for name in names]
        for name, values in zip(names, columns, strict=True):
            summarise(values, n=len(columns[0]), low=lowest, high=highest, name=f"other[{name!r}]")
        return np.stack(columns)

    def _is_sign_test(
        self, family: str, margin: float | None, low: float, high: float, binary: bool, *columns: Rows
    ) -> bool:
        """Whether a comparison is decided by the sign test: by what is declared, never by the values."""
        arguments.choice("family", family, ("auto", "sign-test", *self._families()))
        if family not in ("auto", "sign-test"):
            return False
        fits = (margin or 0.0) == 0.0 and (low, high) == (0.0, 1.0) and self._has_sign_test()
        declared = self._units is None and (binary or all(_is_bool(values) for values in columns))
        if family == "sign-test" and not (fits and declared):
            raise InvalidParameter(
                "family 'sign-test' is allowed only if values are declared 0/1 and the margin is 0; choose another "
                "family"
            )
        return fits and declared

    def _ask_signs(
        self, described: dict[str, Any], key: str | None, values_b: Rows, values_a: Rows, weighed: dict[str, Any]
    ) -> Answer:
        known = self._run.stored(described, key)
        if known is not None:
            return known
        self._run.open()
        read = partial(self._signs, values_b, values_a)
        signs = self._read(read, [described], stake=weighed["stake"])
        return self._run.ask(Ask(described, signs.decide, key, **weighed))

    def _signs(self, values_b: Rows, values_a: Rows) -> Signs:
        """On how many rows each of two 0/1 columns beats the other."""
        won = lost = rows = 0
        allowed = True
        explored_b, explored_a = self._explored(values_b, "values_b"), self._explored(values_a, "values_a")
        for gaps in differences(explored_b, explored_a, 0.0, 1.0):
            won, lost, rows = won + int((gaps == 1).sum()), lost + int((gaps == -1).sum()), rows + gaps.size
            allowed = allowed and int((gaps == 0).sum()) + int((np.abs(gaps) == 1).sum()) == gaps.size
        if rows != self._n:
            raise InvalidParameter(f"values must have one number per row, {self._rows_in_all} in all")
        if not allowed:
            raise ValuesRefused("values must be 0 or 1 for a sign test, but some are not")
        return Signs(won, lost, rows)

    def _read_question(self, question: MeanQuestion, values: Rows, name: str) -> Reading:
        return question.read(self._explored(values, name), name)

    def _read(
        self,
        read: Callable[[], _Read],
        questions: Sequence[Mapping[str, Any]],
        *,
        spends: bool = True,
        stake: float | None = None,
        impossible: Callable[[float], None] | None = None,
    ) -> _Read:
        """Read rows for questions; that their values are missing or out of range is a message, which is charged.

        `impossible` raises where the questions would be refused whatever the rows are: that costs nothing.
        """
        try:
            return read()
        except ValuesRefused as error:
            said = str(error)
        if impossible is not None:
            impossible(self._require_share())
        # Outside of the handler: what the error came from goes by the rows too, and is not chained to it.
        raise self._run.refuse(questions, said, spends, stake)

    # Where rows are not independent other intervals take the place of these.

    def _question(
        self, kind: str, family: str, spread: float | None, low: float, high: float, binary: bool
    ) -> MeanQuestion:
        return MeanQuestion(kind, family, spread, low, high, binary, self._n)

    def _metric(self, procedure: Procedure) -> ProcedureQuestion:
        if self._units is not None:
            raise QuestionRefused(
                "a metric cannot be checked here, because its units are rows and in this holdout groups of rows are "
                "the units; check means of one value per row instead"
            )
        if self._split is not None:
            raise QuestionRefused(
                "a metric cannot be checked here, because it is computed from all rows and some rows of this holdout "
                "are reserved; check means instead"
            )
        return ProcedureQuestion(procedure, self._n)

    def _families(self) -> tuple[str, ...]:
        return self._question("compare", "auto", None, -1.0, 1.0, False).families

    def _has_sign_test(self) -> bool:
        return True

    def _paired_family(self, family: str, spread: float | None) -> str:
        """How differences are decided: by betting, unless something else is asked for."""
        return "betting" if family == "auto" and spread is None else family

    def _finalists(self, columns: npt.NDArray[np.float64], low: float, high: float, binary: bool) -> Finalists:
        return Finalists.of_columns(columns, low, high, binary)

    def _ask(
        self,
        question: dict[str, Any],
        key: str | None,
        read: Callable[[], _Readable],
        asked: Guess | OneSided,
        risk: Any = None,
        stake: float | None = None,
        impossible: Callable[[float], None] | None = None,
    ) -> Answer:
        stored = self._run.stored(question, key)
        if stored is not None:
            return stored
        self._run.open()
        rows = self._read(read, [question], stake=stake, impossible=impossible)
        return self._run.ask(Ask(question, rows.decide(asked), key, risk, stake))


def _read_all(readers: Sequence[Callable[[], _Read]]) -> list[_Read]:
    """Read several columns; that values of some are refused is raised after all were read, for all of them."""
    found, refused = [], None
    for reader in readers:
        try:
            found.append(reader())
        except ValuesRefused as error:
            refused = error
    if refused is not None:
        raise refused
    return found


def _names(candidates: Any, least: int) -> list[str]:
    """The names of candidates, checked before any of their values is read."""
    if not isinstance(candidates, Mapping) or not least <= len(candidates) <= MOST_FINALISTS:
        given = f"{len(candidates)} names" if isinstance(candidates, Mapping) else f"a {type(candidates).__name__}"
        raise InvalidParameter(
            f"candidates must map {least} to {MOST_FINALISTS} names to one number for each row, got {given}"
        )
    names = [str(name) for name in candidates]
    if len(set(names)) < len(names):
        raise InvalidParameter("candidates must have different names")
    return names


def _weighed(risk: Any, stake: Any) -> dict[str, Any]:
    """How a question is weighed, checked: the analyst's risk, and a spending of its own."""
    risk = None if risk is None else arguments.real("risk", risk, at_least=0, at_most=1)
    stake = None if stake is None else arguments.real("stake", stake, above=0, at_most=1)
    return {"risk": risk, "stake": stake}


def _by_guess(names: Sequence[str], guesses: Mapping[str, float] | None, greater_is_better: bool) -> list[int]:
    """The candidates in the order in which they are expected: by their guesses, ties and missing ones as listed."""
    if guesses is None:
        return list(range(len(names)))
    unknown = set(guesses) - set(names)
    if unknown:
        raise InvalidParameter(
            f"guesses must be for candidates only, but {sorted(map(str, unknown))[0]!r} is not a candidate"
        )
    given = {name: arguments.real(f"guess of {name!r}", guess) for name, guess in guesses.items()}
    sign = -1.0 if greater_is_better else 1.0
    return sorted(range(len(names)), key=lambda i: (sign * given[names[i]] if names[i] in given else float("inf"), i))


def _masked(values: Rows, inside: npt.NDArray[np.bool_], name: str) -> Iterator[npt.NDArray[Any]]:
    """The chunks of a column without the rows that are not to be read."""
    start = 0
    for chunk in chunks(values, name):
        part = inside[start : start + len(chunk)]
        if len(part) != len(chunk):
            raise InvalidParameter(f"{name} must have one number per row, {len(inside)} in all, got more")
        start += len(chunk)
        yield chunk[part]
    if start != len(inside):
        raise InvalidParameter(f"{name} must have one number per row, {len(inside)} in all, got {start}")


def _is_bool(values: Any) -> bool:
    """Whether a column declares itself 0/1 by its type."""
    if isinstance(values, (list, tuple)):
        return all(isinstance(value, (bool, np.bool_)) for value in values)
    return getattr(getattr(values, "dtype", None), "kind", "") == "b" or str(getattr(values, "dtype", "")) == "Boolean"


def refuse_weights(weights: object) -> None:
    """Weighted rows have no bound here; say what to do instead."""
    if weights is not None:
        raise InvalidParameter(
            "weights must be None, because the interval of a weighted mean needs a bound on the weights; use "
            "check_metric with holdfast.holdout.metrics.weighted_mean, which takes one"
        )
