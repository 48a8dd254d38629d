"""The reusable holdout for rows that depend on each other: guess and check with intervals that know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from holdfast.correlated.dependent_rows import DependentRows
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout.families import MeanFamily
from holdfast.holdout.mean_question import MeanQuestion
from holdfast.holdout.procedure import Procedure
from holdfast.holdout.reusable import ReusableHoldout
from holdfast.holdout.shares import Shares
from holdfast.holdout.transcript import Transcript


@dataclass(frozen=True)
class DependentMean(MeanQuestion):
    """A question about a mean of dependent rows: the declared routes take the place of the families of i.i.d. rows."""

    rows: DependentRows

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.spread is not None:
            raise InvalidParameter("spread must be None: no interval for dependent rows uses it")

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the routes that the declaration allows."""
        return tuple(self.rows.routes)

    def mean_family(self, name: str) -> MeanFamily:
        """The route's interval."""
        return self.rows.routes[name].family

    def chosen(self, near: float, log_share: float, binary: bool) -> str:
        """The narrowest route at this share; it depends on the declaration alone, so it is known before the data."""
        return self.rows.narrowest(log_share).name if self.family == "auto" else self.family


class DependentHoldout(ReusableHoldout):
    """A `ReusableHoldout` whose rows may depend on each other in a declared way.

    The argument of guess and check needs one thing of the rows: for a *fixed* question, an interval that misses with a
    probability of at most the question's share. Given the transcript so far the question is fixed, whatever the
    dependence of the rows. So the intervals for independent rows are replaced by those of the declared dependence
    (`DependentRows`), and everything else stands: with probability at least `confidence` every interval of every answer
    holds, whatever the analyst does with the answers. No noise, no quilt and no influence enters.

    Questions are means of one value a row, each computed from that row alone (it may depend on the row's place). The
    target is the expected mean. Metrics that bring their own interval (`check_metric`) are refused: those intervals are
    for independent rows. The guarantee is relative to the declaration, which no data can certify; it must be made
    before the rows are looked at, and the training rows must be on the other side of a split that respects it
    (`holdfast.correlated.splitting`).

    Parameters
    ----------
    rows : DependentRows
        How the holdout's rows depend on each other.
    questions, confidence, failures, low, high
        As for `ReusableHoldout`.

    Examples
    --------
    A thousand families of four, any dependence inside a family:

    >>> from holdfast.correlated import DependentRows
    >>> holdout = DependentHoldout(DependentRows.blocks([4] * 1000), questions=100)
    >>> answer = holdout.check([1, 1, 1, 0] * 1000, guess=0.74)
    >>> answer.passed, round(answer.half_width, 4)
    (True, 0.1215)
    >>> print(answer.guarantee.assumption)
    1000 independent blocks of 4 rows, any dependence inside; the holdout was not used before
    """

    def __init__(
        self,
        rows: DependentRows,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        if not isinstance(rows, DependentRows):
            raise InvalidParameter(f"rows must be DependentRows, got a {type(rows).__name__}")
        self._rows = rows
        super().__init__(rows.n, questions, confidence, failures, low, high)

    @property
    def rows(self) -> DependentRows:
        """The declared dependence."""
        return self._rows

    def state(self) -> dict[str, Any]:
        """The declaration, the plan and the transcript as plain data for JSON; `from_state` reads it back exactly."""
        return super().state() | {"rows": self._rows.to_dict()}

    @classmethod
    def _planned(cls, state: Mapping[str, Any]) -> Self:
        plan = {name: state[name] for name in ("questions", "confidence", "failures", "low", "high")}
        holdout = cls(DependentRows.from_dict(state["rows"]), **plan)
        if holdout.n != state["n"]:
            raise InvalidParameter(f"state must be what state() returned: it has n = {state['n']!r} and other rows")
        return holdout

    def _transcript(self, shares: Shares) -> Transcript:
        return Transcript(shares, f"{self._rows.model}; the holdout was not used before", self._rows.terms)

    def _question(
        self, kind: str, family: str, spread: float | None, low: float, high: float, binary: bool
    ) -> DependentMean:
        return DependentMean(kind, family, spread, low, high, binary, self._n, self._rows)

    def _metric(self, procedure: Procedure) -> NoReturn:
        raise QuestionRefused(
            "only means of one value a row are certified for dependent rows: the interval of a metric is for "
            "independent ones"
        )


__all__ = ["DependentHoldout", "DependentMean"]
