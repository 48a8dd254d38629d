"""How far a guard's run has come: all that the next question's share depends on, in constant space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.errors import InvalidParameter

_COUNTS = ("admitted", "answered", "failed", "failed_at")
_LOGARITHMS = ("log_shown", "log_gaps")


@dataclass(frozen=True)
class Progress:
    """Questions admitted and answered, failed looks, and how surprising those failures were.

    A question that was admitted and whose answer was lost in a crash stays counted in `admitted`. Shares go by what
    was answered: only answers can inform later questions. `log_shown` is `ln` of what the failures could have shown;
    `failed_at` is the number of the last one, and `log_gaps` is `ln` of the product of `g (g + 1)` over the distances
    `g` from each failure to the one before, which codes where they were.

    Examples
    --------
    >>> Progress().admit().settle(passed=False, shown=20)
    Progress(admitted=1, answered=1, failed=1, log_shown=2.99..., failed_at=1, log_gaps=0.69...)
    """

    admitted: int = 0
    answered: int = 0
    failed: int = 0
    log_shown: float = 0.0
    failed_at: int = 0
    log_gaps: float = 0.0

    def admit(self) -> Self:
        """One more question was let in."""
        return replace(self, admitted=self.admitted + 1)

    def settle(self, passed: bool = True, shown: int = 1) -> Self:
        """One more question was answered; a failed look could have shown `shown` things.

        With `shown` 0 the answer came through noise, and its privacy has paid for it: whatever it said, it counts as
        a pass.
        """
        answered = self.answered + 1
        if passed or shown == 0:
            return replace(self, answered=answered)
        gap = answered - self.failed_at
        return replace(
            self,
            answered=answered,
            failed=self.failed + 1,
            log_shown=up(self.log_shown + up(math.log(shown))),
            failed_at=answered,
            log_gaps=up(self.log_gaps + up(math.log(gap * (gap + 1)))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return {name: getattr(self, name) for name in (*_COUNTS, *_LOGARITHMS)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read progress back."""
        if not isinstance(plain, Mapping) or set(plain) != {*_COUNTS, *_LOGARITHMS}:
            raise InvalidParameter(f"stored progress must have {', '.join((*_COUNTS, *_LOGARITHMS))}")
        values: dict[str, Any] = {name: check.whole(name, plain[name], at_least=0) for name in _COUNTS}
        return cls(**values | {name: check.real(name, plain[name], at_least=0) for name in _LOGARITHMS})


__all__ = ["Progress"]
