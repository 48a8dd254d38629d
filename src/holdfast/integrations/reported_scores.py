"""Scores that an evaluation harness reports: one value an item of a benchmark, told on only through a guard.

The items of a benchmark are the hidden sample. Whoever picks models by their plain score on it fits the items; so
a harness hands the per-item values over here and shows what comes back. The three harness modules beside this one
are thin over `GuardedScores`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from holdfast import check
from holdfast.data.values import column, summarise
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.extras import named_extras
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.score_keepers import (
    CHECKED,
    LADDER,
    GuardKeeper,
    HoldoutKeeper,
    Keeper,
    ReportedScore,
    answer_sheet,
    boards,
)
from holdfast.mechanisms.shared import Shared


class GuardedScores(Shared):
    """The scores of models on one benchmark, each checked before it is told.

    `report` takes one value in [0, 1] for each item, by the item's id, and a guess of the score that did not come from
    the benchmark: the score on a development split, say. If the guess is confirmed it is the score that is reported;
    if not, a corrected value is. So thousands of models can be compared on the same items, and with the keeper's
    confidence every reported interval holds the score on the population that the items were drawn from, however the
    models were chosen, as long as they were chosen by reported numbers alone.

    Parameters
    ----------
    keeper : ReusableHoldout, Guard or RemoteGuard
        Who holds the budget: a plan in this process, or a guard with boards, here or on a server (`hf.connect`). `open`
        makes a guard on a ledger.
    board : str or sequence of str
        For a guard, its boards: one of intervals, a ladder, or both.
    guess : float, optional
        For reports that bring none of their own. Without any, a holdout is asked about the best score shown so far, at
        first one half: only what is clearly better or worse costs. A guard's ladder shows improvements only.
    tolerance : float, optional
        What a confirmation certifies; by default the keeper's choice.
    answers : bool
        For a guard that has the labels: values are a model's answers, which it compares with them. By default values
        say how right the answers were, and the guard trusts the harness.
    analyst : str, optional
        For a guard of this process: who asks.
    ids : iterable, optional
        The ids of all items; a report with others is then refused from the first one on. To a guard an id that none of
        its rows has is nothing, and an item without a value is wrong.
    prefix : str
        For a guard: what stands before an item's id in its row's key.

    Examples
    --------
    >>> scores = GuardedScores(ReusableHoldout(n=1000, questions=200))
    >>> right = {f"item {i}": i % 4 > 0 for i in range(1000)}
    >>> score = scores.report(right.keys(), right.values(), guess=0.76)
    >>> score.value, score.confirmed, round(score.high - score.value, 3)
    (0.76, True, 0.124)
    >>> scores.report(right.keys(), right.values(), guess=0.76).left == score.left    # the same again is free
    True
    """

    _not_pickled = (
        "guarded scores are not pickled: a copy in another process would spend the same budget twice; "
        "GuardedScores.open the same ledger there"
    )

    def __init__(
        self,
        keeper: Any,
        *,
        board: str | Sequence[str] = (CHECKED, LADDER),
        guess: float | None = None,
        tolerance: float | None = None,
        answers: bool = False,
        analyst: str | None = None,
        ids: Iterable[object] | None = None,
        prefix: str = "",
    ) -> None:
        tolerance = None if tolerance is None else check.real("tolerance", tolerance, above=0)
        if isinstance(keeper, ReusableHoldout):
            if answers or analyst is not None or prefix:
                raise InvalidParameter("answers, analyst and prefix must be left out with a holdout: it has no rows")
            self._keeper: Keeper = HoldoutKeeper(keeper, tolerance)
        elif hasattr(type(keeper), "ask") and hasattr(type(keeper), "policy"):
            named = [board] if isinstance(board, str) else list(board)
            self._keeper = GuardKeeper(
                keeper, named, analyst=analyst, tolerance=tolerance, answers=answers, prefix=prefix
            )
        else:
            raise InvalidParameter(f"keeper must be a ReusableHoldout or a guard, got a {type(keeper).__name__}")
        self._guess = None if guess is None else check.real("guess", guess, at_least=0, at_most=1)
        self._ids = None if ids is None else tuple(sorted(_names(ids)))
        if self._ids is not None and len(self._ids) != self.n:
            raise InvalidParameter(f"ids must name all items, {self.n} in all, got {len(self._ids)}")

    @classmethod
    @named_extras()
    def open(
        cls,
        ledger: str | Path | None,
        benchmark: str,
        ids: Iterable[object],
        *,
        questions: int | None = None,
        failures: int | None = None,
        confidence: float = 0.95,
        graded: bool = False,
        step: float | None = None,
        guess: float | None = None,
        tolerance: float | None = None,
        analyst: str | None = None,
    ) -> Self:
        """Scores whose budget is a ledger, which all processes and users of it share: begin it, or go on with it.

        The guard's sample is the list of items, each with the label "right": it trusts the harness about which answers
        were. Everything else is a guard's: durable answers, receipts, `holdfast verify`.

        Parameters
        ----------
        ledger : str, path or None
            A SQLite file, a `postgresql://` address, or None for memory.
        benchmark : str
            Its name, which tells its items from those of another in the same ledger.
        ids : iterable
            The ids of all items, as the harness will report them.
        questions, failures, confidence
            The budget, as in `Policy`; fixed when the ledger is begun.
        graded : bool
            Values are numbers in [0, 1]; by default 0 or 1.
        step : float, optional
            By how much a score without a guess must beat the best so far to be shown; by default 0.01.
        guess, tolerance, analyst
            As in the constructor.

        Examples
        --------
        >>> scores = GuardedScores.open(None, "sums", range(1000), questions=200)
        >>> score = scores.report(range(1000), [i % 4 > 0 for i in range(1000)])     # no guess: the ladder
        >>> score.value, score.improved
        (0.755, True)
        >>> scores.report(range(1000), [i % 4 > 1 for i in range(1000)]).improved
        False
        """
        from holdfast.data.tables import table
        from holdfast.guard.guard import Guard
        from holdfast.guard.policy import Policy

        if not isinstance(benchmark, str) or not benchmark or not benchmark.isprintable():
            raise InvalidParameter("benchmark must be a printable name")
        names, prefix = _names(ids), f"{benchmark}/"
        policy = Policy(
            confidence=confidence,
            questions=questions,
            failures=failures,
            kinds=("score",),
            boards=tuple(boards(graded=graded, step=step)),
        )
        sample = table(answer_sheet(names, prefix, graded=graded), engine="numpy", row_key="item")
        guard = Guard.open(ledger, sample, policy)
        return cls(guard, guess=guess, tolerance=tolerance, analyst=analyst, ids=names, prefix=prefix)

    @property
    def n(self) -> int:
        """Items of the benchmark."""
        return self._keeper.n

    @property
    def answers(self) -> bool:
        """Whether values are a model's answers, or say how right they were."""
        return self._keeper.answers

    def promise(self) -> dict[str, Any]:
        """What is promised, in plain public data: for the log of a harness."""
        return self._keeper.promise()

    def report(self, ids: Iterable[object], values: Iterable[Any], guess: float | None = None) -> ReportedScore:
        """Check a model's score and say what may be shown of it.

        Parameters
        ----------
        ids : iterable
            The items' ids, each once, as text or as what `str` makes of them; their order is free. Where they were not
            given before, the first report fixes which they are.
        values : iterable
            One number in [0, 1] an item: 1 or True for right. Or an answer an item, where the guard has the labels.
        guess : float, optional
            A guess of the score that did not come from these items.

        Returns
        -------
        ReportedScore
            What was said before where this was reported before, free of cost. Where the keeper refuses or cannot be
            reached the value is NaN and `refused` says why: an evaluation that took hours is not lost.

        Raises
        ------
        InvalidParameter
            Other ids than before, a wrong number of them, or values outside [0, 1]. Nothing is spent.
        """
        guess = self._guess if guess is None else check.real("guess", guess, at_least=0, at_most=1)
        names, found = self._matched(_names(ids), list(values))
        try:
            return self._keeper.ask(names, found, guess)
        except InvalidParameter:
            raise
        except HoldfastError as error:
            return ReportedScore.refusal(error)

    def _matched(self, names: list[str], values: list[Any]) -> tuple[list[str], Any]:
        """Ids in order with their values; checked, and the same ids as before."""
        if len(names) != self.n or len(values) != self.n:
            raise InvalidParameter(
                f"ids and values must have one entry an item, {self.n} in all, got {len(names)} and {len(values)}: "
                "a score is checked on the whole benchmark"
            )
        if self.answers:
            found = np.empty(self.n, dtype=object)
            found[:] = values
        else:
            found = column(values, "values").astype(np.float64)
            summarise(found, n=self.n, name="values")
        order = sorted(range(self.n), key=names.__getitem__)
        names = [names[place] for place in order]
        if self._ids is None:
            self._ids = tuple(names)
        elif self._ids != tuple(names):
            raise InvalidParameter("ids must be those of the benchmark: a budget belongs to one set of items")
        return names, found[order]

    def _repr_params_(self) -> dict[str, Any]:
        """What Inspect writes into a log in place of the object."""
        return self.promise()

    def __repr__(self) -> str:
        return f"GuardedScores(n={self.n})"


def _names(ids: Iterable[object]) -> list[str]:
    names = [str(one) for one in ids]
    if len(names) != len(set(names)):
        raise InvalidParameter("ids must name each item once, and some come twice")
    return names


__all__ = ["GuardedScores", "ReportedScore"]
