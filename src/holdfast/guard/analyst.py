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
    """A guard that answers one analyst, whose name is fixed beforehand.

    `Guard.for_analyst` makes one of a guard in this process. `Connection` and `RemoteGuard` of the HTTP client are one
    for a guard on a server, where the token says who asks. The agent's tools, the commands and the integrations take
    it, so they need not know where the guard is.

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
        """The name of the sample's ledger."""

    @property
    def policy(self) -> Policy:
        """What is allowed now. It holds no other analyst's quota."""

    def describe(self) -> dict[str, Any]:
        """Everything that this analyst may see: schema, rows, policy, status, progress, what is left."""

    def ask(self, question: QuestionLike, *, key: str | None = None, epoch: EpochName = None) -> GuardedAnswer:
        """Answer one question. A retry with the same `key` is answered and paid once.

        Of a guard that was extended it goes to the latest epoch, to that of a number, or to "all" of them.
        """

    def ask_all(
        self, questions: Sequence[QuestionLike], *, key: str | None = None, epoch: EpochName = None
    ) -> Sequence[GuardedAnswer]:
        """Answer several questions that were chosen together. One `key` covers all of them (`batch_keys`)."""

    def estimate(self, question: QuestionLike, *, epoch: EpochName = None) -> Estimate:
        """Return what a question would cost and how wide its answer would be, if it were asked next. Spends nothing."""

    def sql(self, statement: str, *, key: str | None = None, spend: Cost | None = None) -> SqlAnswer:
        """Answer a question in SQL: it becomes questions of the guard's own kinds, asked together."""

    def explain(self, statement: str, *, spend: Cost | None = None) -> SqlEstimate:
        """Return what a statement would cost in all, and how wide its answers would be. Spends nothing."""

    def practice(self, variant: int = 0) -> AnalystGuard:
        """Return a guard of the same schema and policy over made-up rows: the same questions at no cost, marked."""

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
        """Have predictions, or a model, scored against the hidden labels.

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
        """Who is where on a board, as far as the intervals show. The name may be left out where there is one board."""

    def remaining(self) -> dict[str, Any]:
        """Return what this analyst, and all together, may still ask."""

    def level(self, alpha: float = 0.05) -> float:
        """The level at which a further p-value from these rows must reject to keep `alpha` after all answers so far."""

    def adjusted(self, p: float) -> float:
        """Return what a further p-value from these rows is worth after all that was released; never below `p`."""


def batch_keys(key: str | None, number: int) -> list[str] | None:
    """Make the key of each question of a batch from the key of the batch.

    Examples
    --------
    >>> batch_keys("k", 2)
    ['k/0', 'k/1']
    """
    return None if key is None else [f"{key}/{i}" for i in range(number)]
