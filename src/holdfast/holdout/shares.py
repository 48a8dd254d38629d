"""How much of the failure probability each question of a guess-and-check run may spend.

The shares form a code of the transcript: over all questions and all transcripts they add up to at most the whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.bounds.exact import left_to_chance
from holdfast.bounds.holdout.counting import log_choose
from holdfast.bounds.interval.width import MOST

_LOG_SERIES = math.log(6 / math.pi**2)
#: Exact binomial coefficients stay cheap up to this many factors; beyond it log-gamma takes over.
_EXACT = 64
#: Bound on the relative rounding error of a sum of a few logarithms, with room to spare.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Shares:
    """The weights of a run: `beta a_t c_f / (C(t-1, f) prod K)` at question `t` after `f` failures.

    `prod K` is the product, over the failures so far, of the number of things that each could have shown. With
    `questions` fixed and enforced `a_t = 1/questions`, otherwise `a_t = 6/(pi^2 t^2)`. With `failures` fixed and
    enforced `c_f = 1/(failures + 1)`, otherwise `c_f = 6/(pi^2 (f+1)^2)`. Rogers et al. 2020 with the number of shown
    values corrected and these weights added (derived, reviewed; `bounds.holdout.guess_and_check_share` is the same
    number and has the proof). Here everything is a logarithm, because a long run leaves the floating range, and no
    history is walked: the caller keeps `ln prod K`.

    Examples
    --------
    >>> plan = Shares(0.95, questions=1000)
    >>> round(math.exp(plan.log_share(1, 0, 0.0)), 8)
    3.04e-05
    """

    confidence: float
    questions: int | None = None
    failures: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", check.probability("confidence", self.confidence))
        for name, least in (("questions", 1), ("failures", 0)):
            value: Any = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check.whole(name, value, at_least=least, at_most=MOST))

    @cached_property
    def beta(self) -> float:
        """What the confidence leaves to chance."""
        return left_to_chance(self.confidence)

    def log_share(self, question: int, failures: int, log_shown: float) -> float:
        """`ln` of what question number `question` may spend after `failures` failures; rounded down.

        `log_shown` is `ln prod K`, rounded up. Time: constant.
        """
        t, f = question, failures
        when = _LOG_SERIES - 2 * math.log(t) if self.questions is None else -math.log(self.questions)
        often = _LOG_SERIES - 2 * math.log(f + 1) if self.failures is None else -math.log(self.failures + 1)
        parts = (math.log(self.beta), when, often, -_log_choose(t - 1, f), -log_shown)
        return math.fsum(parts) - _ROUNDING * math.fsum(abs(part) for part in parts)

    def left(self, question: int, failures: int) -> dict[str, float]:
        """How many questions may follow number `question`, and how many failures may still show a value."""
        if self.failures is not None and failures > self.failures:
            return {"questions": 0, "failures": 0}
        return {
            "questions": math.inf if self.questions is None else self.questions - question,
            "failures": math.inf if self.failures is None else self.failures - failures,
        }


def _log_choose(n: int, k: int) -> float:
    if min(k, n - k) <= _EXACT:
        return log_choose(n, k)
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + _ROUNDING * math.lgamma(n + 1)


__all__ = ["Shares"]
