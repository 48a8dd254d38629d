"""What one analyst may do with a guard, whether the guard is in this process or on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from holdfast.accounting import Cost
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.epochs import EpochName
from holdfast.guard.estimates import Estimate
from holdfast.guard.leaderboard import Leaderboard
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.sql import SqlAnswer, SqlEstimate

QuestionLike = Question | Mapping[str, Any]
"""A question, or its plain data."""


class AnalystGuard(Protocol):
    """A guard as one analyst sees it; the analyst's name is fixed.

    `Guard.for_analyst` makes one from a guard in this process. `Connection` and `RemoteGuard` of the HTTP client are
    such guards too: the guard is on a server, and the access token says who asks. Agents' tools, commands and
    integrations work with this interface, so it makes no difference to them where the guard is.

    Examples
    --------
    >>> import holdfast as hf
    >>> def share_of_young(guard: AnalystGuard) -> bool:
    ...     return bool(guard.ask(hf.guard.check("age < 40", guess=0.5)).passed)
    >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 2500})
    >>> share_of_young(hf.Guard.open(None, sample, hf.guard.Policy(questions=100)).for_analyst("ann"))
    True
    """

    @property
    def dataset(self) -> str:
        """The name of the data set in its ledger."""

    @property
    def policy(self) -> Policy:
        """The policy that is in force, without the quotas of other analysts."""

    def describe(self) -> dict[str, Any]:
        """Return everything about the guard that this analyst may see: schema, number of rows, policy, status, progress
        and remaining budget.
        """

    def ask(self, question: QuestionLike, *, key: str | None = None, epoch: EpochName = None) -> GuardedAnswer:
        """Answer one question. If it is asked again with the same `key`, it is answered and charged only once.

        If the guard was extended with new rows, the question goes to the latest epoch, to the epoch with the number
        `epoch`, or to "all" epochs.
        """

    def ask_all(
        self, questions: Sequence[QuestionLike], *, key: str | None = None, epoch: EpochName = None
    ) -> Sequence[GuardedAnswer]:
        """Answer several questions that were chosen together. One idempotency `key` is given for all of them
        (`batch_keys`).
        """

    def estimate(self, question: QuestionLike, *, epoch: EpochName = None) -> Estimate:
        """Return what a question would cost, and how wide its interval would be, if it were asked next. Nothing is
        spent.
        """

    def sql(self, statement: str, *, key: str | None = None, spend: Cost | None = None) -> SqlAnswer:
        """Answer an SQL statement. The statement is translated into questions of the guard's own kinds, which are asked
        together.
        """

    def explain(self, statement: str, *, spend: Cost | None = None) -> SqlEstimate:
        """Return the total cost that an SQL statement would have, and how wide its intervals would be. Nothing is
        spent.
        """

    def practice(self, variant: int = 0) -> AnalystGuard:
        """Return a guard with the same schema and policy but made-up rows, on which questions can be tried at no cost.
        Its answers are marked as practice.
        """

    def submit(
        self,
        given: Any,
        *,
        board: str | None = None,
        keys: Any = None,
        guess: float | None = None,
        tolerance: float | None = None,
        name: str = "",
        output: str | None = None,
        entry: int | None = None,
        key: str | None = None,
    ) -> GuardedAnswer:
        """Submit predictions, or a model, to a leaderboard, which scores them against the hidden labels.

        Parameters
        ----------
        given : mapping, data frame, series, sequence, or path
            Row keys to predictions; a frame of pandas or polars with the key's column and one called `prediction`; a
            series of pandas whose index are the keys; predictions in the order of `keys`; or the path of a .csv,
            .parquet or .json file with the same, or of an .onnx model where the board takes models.
        board : str, optional
            Which board; may be left out where the guard has one.
        keys : sequence, optional
            The row keys, where `given` is a sequence.
        guess, tolerance : float, optional
            On a board of intervals: the score on rows of your own, and what a guess that passes is certified within.
        name : str
            What the leaderboard calls the submission.
        output, entry : optional
            Of a model: which output is the prediction, and which entry of it.
        key : str, optional
            As for `ask`.
        """

    def leaderboard(self, board: str | None = None) -> Leaderboard:
        """Return a leaderboard, on which submissions with overlapping intervals count as tied. The name may be left out
        if there is only one board.
        """

    def remaining(self) -> dict[str, Any]:
        """Return the budget that is left for this analyst, and for all analysts together."""

    def level(self, alpha: float = 0.05) -> float:
        """Return the level for the next p-value from these rows: a test that rejects at this level keeps `alpha` after
        all answers so far.
        """

    def adjusted(self, p: float) -> float:
        """Return the p-value `p` of a test on these rows, adjusted for everything that was released before; never below
        `p`.
        """


def batch_keys(key: str | None, number: int) -> list[str] | None:
    """Make the key of each question of a batch from the key of the batch.

    Examples
    --------
    >>> batch_keys("k", 2)
    ['k/0', 'k/1']
    """
    return None if key is None else [f"{key}/{i}" for i in range(number)]
