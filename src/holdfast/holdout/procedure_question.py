"""A question about a metric that brings its own interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.holdout.decisions import Guess, OneSided, check_procedure, claim_procedure, pairs_for
from holdfast.holdout.mean_question import checked_guess
from holdfast.holdout.procedure import Procedure
from holdfast.holdout.transcript import Outcome


@dataclass(frozen=True, repr=False)
class ProcedureQuestion:
    """A metric's interval, bound to a holdout of `n` rows."""

    procedure: Procedure
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.procedure, Procedure):
            raise InvalidParameter(f"procedure must have an interval, got a {type(self.procedure).__name__}")
        if self.procedure.n != self.n:
            raise InvalidParameter(
                f"procedure must be computed from the holdout's {self.n} rows, got {self.procedure.n}"
            )

    def guess(self, guess: Any, tolerance: Any, show: Any, grid: Any) -> Guess:
        """Check the public parts of a guess; a tolerance is needed, since nothing is known before the data."""
        tolerance = check.real("tolerance", tolerance, above=0)
        return checked_guess(guess, tolerance, show, grid, self.procedure.low, self.procedure.high)

    def claim(self, name: str, bound: Any) -> OneSided:
        """Check a one-sided claim."""
        bound = check.real(name, bound, at_least=self.procedure.low, at_most=self.procedure.high)
        return OneSided(bound, name == "at_least")

    def describe(self, asked: Guess | OneSided) -> dict[str, Any]:
        """The question in plain public data: what a key stands for."""
        ends = {"low": self.procedure.low, "high": self.procedure.high}
        return {"kind": "metric", "description": self.procedure.description} | ends | asked.to_dict()

    def shown(self, asked: Guess) -> int:
        """How many things a failure could show. Public."""
        if not asked.show_value or asked.tolerance is None:
            return 1
        return pairs_for(asked.tolerance, asked.grid, self.procedure.low, self.procedure.high).count

    def decide(self, asked: Guess | OneSided) -> Callable[[float], Outcome]:
        """What to do with a share."""
        return partial(self._decide, asked)

    def _decide(self, asked: Guess | OneSided, log_share: float) -> Outcome:
        name = self.procedure.description
        if isinstance(asked, OneSided):
            return claim_procedure(self.procedure, asked, log_share, name)
        if asked.tolerance is None:
            raise InvalidParameter("tolerance must be given for a metric")
        return check_procedure(self.procedure, asked, log_share, asked.tolerance, name)


__all__ = ["ProcedureQuestion"]
