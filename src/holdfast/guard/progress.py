"""How far a guard's run has come: all that the next question's share depends on, in constant space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Progress:
    """Questions admitted, questions answered, failed checks, and `ln` of what those failures could have shown.

    A question that was admitted and whose answer was lost in a crash stays counted in `admitted`. Shares go by what
    was answered: only answers can inform later questions.

    Examples
    --------
    >>> Progress().admit().settle(passed=False, shown=20)
    Progress(admitted=1, answered=1, failed=1, log_shown=2.99...)
    """

    admitted: int = 0
    answered: int = 0
    failed: int = 0
    log_shown: float = 0.0

    def admit(self) -> Self:
        """One more question was let in."""
        return replace(self, admitted=self.admitted + 1)

    def settle(self, passed: bool = True, shown: int = 1) -> Self:
        """One more question was answered; a failed check could have shown `shown` things."""
        if passed:
            return replace(self, answered=self.answered + 1)
        logarithm = up(self.log_shown + up(math.log(shown)))
        return replace(self, answered=self.answered + 1, failed=self.failed + 1, log_shown=logarithm)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return {
            "admitted": self.admitted,
            "answered": self.answered,
            "failed": self.failed,
            "log_shown": self.log_shown,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read progress back."""
        if not isinstance(plain, Mapping) or set(plain) != {"admitted", "answered", "failed", "log_shown"}:
            raise InvalidParameter("stored progress must have admitted, answered, failed and log_shown")
        counts = {k: check.whole(k, plain[k], at_least=0) for k in ("admitted", "answered", "failed")}
        return cls(**counts, log_shown=check.real("log_shown", plain["log_shown"], at_least=0))


__all__ = ["Progress"]
