"""Scores that an evaluation harness reports: one value an item of a benchmark, told on only through a guard.

The items of a benchmark are the hidden sample. Whoever picks models by their plain score on it fits the items; so
a harness hands the per-item values over here and shows what comes back. The three harness modules beside this one
are thin over `GuardedScores`.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np

from holdfast import check
from holdfast.data.values import column, summarise
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.strict_json import to_canonical_json

FIRST_GUESS = 0.5
"""What a score is checked against before anything was shown and where no guess is given."""


@dataclass(frozen=True)
class ReportedScore:
    """What a harness may show of a score: numbers for its table, words for its log.

    Attributes
    ----------
    value : float
        The guess if it was confirmed, the corrected value if not; NaN where nothing was shown.
    low, high : float
        The interval. All intervals of one guard hold at once, with its confidence.
    passed : bool or None
        Whether the guess was confirmed.
    left : float
        Questions that may still be asked; infinite without a cap.
    guarantee : mapping
        The theorem, its parameters and the assumption.
    refused : str
        Why there is no number, where there is none.
    entry : int or None
        The ledger's entry, where there is a ledger.

    Examples
    --------
    >>> ReportedScore(0.8, 0.77, 0.83, True, 99).numbers("accuracy")
    {'accuracy': 0.8, 'accuracy_low': 0.77, 'accuracy_high': 0.83, 'accuracy_confirmed': 1.0, 'accuracy_left': 99}
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    passed: bool | None = None
    left: float = math.inf
    guarantee: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    entry: int | None = None

    @classmethod
    def of(cls, answer: Any, left: float) -> Self:
        """Read an answer of a holdout, a guard or a server."""
        low, high = answer.interval or (math.nan, math.nan)
        value = math.nan if answer.value is None else float(answer.value)
        entry = getattr(answer, "sequence", None)
        return cls(value, float(low), float(high), answer.passed, left, answer.guarantee.to_dict(), "", entry)

    @classmethod
    def refusal(cls, error: HoldfastError) -> Self:
        """No number, and why."""
        return cls(math.nan, refused=f"{type(error).__name__}: {error}")

    def numbers(self, name: str) -> dict[str, float]:
        """What fits into a table of numbers, under `name` and names made of it."""
        confirmed = math.nan if self.passed is None else float(self.passed)
        parts = {"": self.value, "_low": self.low, "_high": self.high, "_confirmed": confirmed}
        if math.isfinite(self.left):
            parts["_left"] = self.left
        return {name + part: number for part, number in parts.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: numbers that are none are None."""
        plain = {name.strip("_") or "value": number for name, number in self.numbers("").items()}
        return {name: number if math.isfinite(number) else None for name, number in plain.items()} | {
            "guarantee": dict(self.guarantee),
            "refused": self.refused,
            "entry": self.entry,
        }


class Keeper(ABC):
    """Who holds the budget of a benchmark and answers for it."""

    n: int

    @abstractmethod
    def told(self, digest: str) -> ReportedScore | None:
        """What was said about these values before; None if they are new."""

    @abstractmethod
    def best(self) -> float | None:
        """The best score shown so far."""

    @abstractmethod
    def ask(self, digest: str, ids: Sequence[str], values: Any, guess: float) -> ReportedScore:
        """Check a guess of the mean of the values, which are in the order of the ids."""

    @abstractmethod
    def promise(self) -> dict[str, Any]:
        """What is promised, in plain public data."""


class HoldoutKeeper(Keeper):
    """A `ReusableHoldout` of this process."""

    def __init__(self, holdout: ReusableHoldout, tolerance: float | None, binary: bool) -> None:
        self.n, self._holdout, self._tolerance, self._binary = holdout.n, holdout, tolerance, binary

    def told(self, digest: str) -> ReportedScore | None:
        """By the keys of the transcript."""
        for place, entry in enumerate(self._holdout.state()["transcript"]):
            if (entry["key"] or "").startswith(digest):
                return self._read(self._holdout.transcript[place])
        return None

    def best(self) -> float | None:
        """The largest value of the transcript."""
        return max((one.value for one in self._holdout.transcript if one.value is not None), default=None)

    def ask(self, digest: str, ids: Sequence[str], values: Any, guess: float) -> ReportedScore:
        """`ReusableHoldout.check`, under a key that says what was asked."""
        key = f"{digest} {guess!r}"
        found = self._holdout.check(values, guess, self._tolerance, low=0, high=1, binary=self._binary, key=key)
        return self._read(found)

    def promise(self) -> dict[str, Any]:
        """The plan."""
        plan = self._holdout
        return {"n": plan.n, "confidence": plan.confidence, "questions": plan.questions, "failures": plan.failures}

    def _read(self, answer: Any) -> ReportedScore:
        return ReportedScore.of(answer, answer.remaining["questions"])


class GuardedScores:
    """The scores of models on one benchmark, each checked before it is told.

    `report` takes one value in [0, 1] for each item, by the item's id, and a guess of the score that did not come from
    the benchmark: the score on a development split, say. If the guess is confirmed it is the score that is reported;
    if not, a corrected value is. So thousands of models can be compared on the same items, and with the keeper's
    confidence every reported interval holds the score on the population that the items were drawn from, however the
    models were chosen, as long as they were chosen by reported numbers alone.

    Parameters
    ----------
    keeper : ReusableHoldout
        Who holds the budget.
    guess : float, optional
        For reports that bring none of their own; without it the best score shown so far, at first one half. A score
        close to the best is then confirmed as no better than it, and only what is clearly better or worse costs.
    tolerance : float, optional
        What a confirmation certifies; by default the keeper's choice.
    binary : bool
        Declare that values are 0 or 1, which makes intervals a little narrower.

    Examples
    --------
    >>> scores = GuardedScores(ReusableHoldout(n=1000, questions=200))
    >>> right = {f"item {i}": i % 4 > 0 for i in range(1000)}
    >>> score = scores.report(right.keys(), right.values(), guess=0.76)
    >>> score.value, score.passed, round(score.high - score.value, 3)
    (0.76, True, 0.124)
    >>> scores.report(right.keys(), right.values(), guess=0.76).left == score.left    # the same again is free
    True
    """

    def __init__(
        self,
        keeper: ReusableHoldout,
        *,
        guess: float | None = None,
        tolerance: float | None = None,
        binary: bool = False,
    ) -> None:
        if not isinstance(keeper, ReusableHoldout):
            raise InvalidParameter(f"keeper must be a ReusableHoldout, got a {type(keeper).__name__}")
        self._keeper: Keeper = HoldoutKeeper(keeper, tolerance, binary)
        self._guess = None if guess is None else check.real("guess", guess, at_least=0, at_most=1)
        self._items: str | None = None

    @property
    def n(self) -> int:
        """Items of the benchmark."""
        return self._keeper.n

    def promise(self) -> dict[str, Any]:
        """What is promised, in plain public data: for the log of a harness."""
        return self._keeper.promise()

    def report(self, ids: Iterable[object], values: Iterable[Any], guess: float | None = None) -> ReportedScore:
        """Check a model's score and say what may be shown of it.

        Parameters
        ----------
        ids : iterable
            The items' ids, each once, as text or as what `str` makes of them. The first report fixes which they are;
            their order is free.
        values : iterable
            One number in [0, 1] an item: 1 or True for right.
        guess : float, optional
            A guess of the score that did not come from these items.

        Returns
        -------
        ReportedScore
            What was said before where these very values were reported before, free of cost. Where the keeper refuses
            or cannot be reached the value is NaN and `refused` says why: an evaluation that took hours is not lost.

        Raises
        ------
        InvalidParameter
            Other ids than before, a wrong number of them, or values outside [0, 1]. Nothing is spent.
        """
        names, numbers = self._matched(ids, values)
        if guess is None:
            guess = self._guess
        else:
            guess = check.real("guess", guess, at_least=0, at_most=1)
        digest = hashlib.sha256(to_canonical_json([names, numbers.tolist()]).encode()).hexdigest()
        try:
            if guess is None:
                known = self._keeper.told(digest)
                if known is not None:
                    return known
                best = self._keeper.best()
                guess = FIRST_GUESS if best is None else best
            return self._keeper.ask(digest, names, numbers, guess)
        except InvalidParameter:
            raise
        except HoldfastError as error:
            return ReportedScore.refusal(error)

    def _matched(self, ids: Iterable[object], values: Iterable[Any]) -> tuple[list[str], Any]:
        """Ids in order with their values; checked, and the same ids as before."""
        names = [str(one) for one in ids]
        numbers = column(list(values), "values")
        if len(names) != len(set(names)):
            raise InvalidParameter("ids must name each item once, and some come twice")
        if len(names) != self.n or numbers.shape != (self.n,):
            raise InvalidParameter(
                f"ids and values must have one entry an item, {self.n} in all, got {len(names)} and {len(numbers)}: "
                "a score is checked on the whole benchmark"
            )
        summarise(numbers, n=self.n, name="values")
        order = sorted(range(self.n), key=names.__getitem__)
        names = [names[place] for place in order]
        items = hashlib.sha256(to_canonical_json(names).encode()).hexdigest()
        if self._items is None:
            self._items = items
        elif self._items != items:
            raise InvalidParameter("ids must be those of the first report: a budget belongs to one set of items")
        return names, numbers[order].astype(np.float64)

    def _repr_params_(self) -> dict[str, Any]:
        """What Inspect writes into a log in place of the object."""
        return self.promise()

    def __repr__(self) -> str:
        return f"GuardedScores(n={self.n})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("guarded scores are not pickled: a copy in another process would spend the same budget twice")


__all__ = ["FIRST_GUESS", "GuardedScores", "Keeper", "ReportedScore"]
