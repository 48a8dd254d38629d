"""What an interval or a p-value of a guard's next question may spend, whatever was asked before.

The answers to looks are one string out of a weighted set; fix the string, and what remains is a private interaction
under the policy's cap. So a question may treat itself as fixed in advance at a share of the failure probability that
the string's weight gives it, corrected for the private interaction (docs/guard-proof.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.exact import down
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress
from holdfast.holdout.shares import Shares
from holdfast.inference.after_looking import AfterLooking

NOISE_PART = 0.1
"""Part of the failure probability kept for the tails of noise, where there is noise; it enters by a logarithm."""

_SERIES = math.log(6 / math.pi**2)
_STEP = 0.25
"""Shares are rounded down to `exp(-k/4)` before they are corrected, so that few corrections are computed."""
_LEAST = -660.0
"""Below, a share leaves the range in which corrections are computed."""


@dataclass(frozen=True)
class Belief:
    """Shares of the failure probability for a guard over `n` rows; public, a function of policy and progress.

    Examples
    --------
    >>> looks = Belief(10_000, Policy(questions=1000))
    >>> round(math.exp(looks.log_share(Progress())), 8)                     # nothing private: the plain share
    3.04e-05
    >>> mixed = Belief(10_000, Policy(questions=1000, privacy=PureDP(0.01)))
    >>> round(mixed.log_share(Progress()), 1)
    -13.2
    """

    n: int
    policy: Policy

    @cached_property
    def _shares(self) -> Shares:
        return Shares(self.policy.confidence, self.policy.questions, self.policy.failures)

    @cached_property
    def _memory(self) -> dict[tuple[int, int], float]:
        return {}

    def log_share(self, progress: Progress, spent: Cost | None = None) -> float:
        """`ln` of the level at which the next question's interval may be computed as if it had been fixed in advance.

        `spent` is what private questions have cost, this one included; an odometer's cap depends on it.
        """
        log_share = math.log(self._shares.beta) + self._log_turn(progress) - 1e-12
        if self.policy.has_looks:
            log_share = self._shares.log_share(progress.answered + 1, progress.failed, progress.log_shown)
        if self.policy.privacy is None:
            return log_share
        place, log_weight = self._cap_place(spent)
        return self._after_privacy(log_share + math.log1p(-NOISE_PART) + log_weight - 1e-12, place)

    def noise_share(self, progress: Progress) -> float:
        """With what probability the next question's noise may leave its tails; it is fresh, so only its turn counts."""
        return down(math.exp(math.log(self._shares.beta * NOISE_PART) + self._log_turn(progress)), 8)

    def adjusted(self, p: float, progress: Progress, spent: Cost | None = None) -> float:
        """The smallest level at which a p-value of the next question is significant after all that was released.

        Valid for this test alone; a family of tests needs Holm or an online procedure on these values.
        """
        p = check.probability("p", p, zero=True, one=True)
        log_weight = self._log_string_weight(progress)
        if self.policy.privacy is not None:
            place, log_cap = self._cap_place(spent)
            p, log_weight = self._looking(place).adjusted(p), log_weight + log_cap
        return p if log_weight == 0 else min(1.0, p * math.exp(min(-log_weight, 700.0)) * (1 + 1e-12))

    def level(self, alpha: float, progress: Progress, spent: Cost | None = None) -> float:
        """The level at which a further test on these rows must reject to keep `alpha`; 0 where none would do."""
        alpha = check.probability("alpha", alpha)
        log_alpha = math.log(alpha) + self._log_string_weight(progress)
        if self.policy.privacy is None:
            return down(math.exp(log_alpha), 8)
        place, log_cap = self._cap_place(spent)
        log_alpha += log_cap
        return self._looking(place).level(down(math.exp(log_alpha), 8)).value if log_alpha > _LEAST else 0.0

    def _log_string_weight(self, progress: Progress) -> float:
        """`ln` of the weight of the looks' answers so far, the number of the question apart."""
        if progress.answered == 0 or not self.policy.has_looks:
            return 0.0
        whole = self._shares.log_share(progress.answered + 1, progress.failed, progress.log_shown)
        return min(whole - math.log(self._shares.beta) - self._log_turn(progress), 0.0)

    def _log_turn(self, progress: Progress) -> float:
        """`ln` of the weight of the next question's number."""
        if self.policy.questions is not None:
            return -math.log(self.policy.questions)
        return _SERIES - 2 * math.log(progress.answered + 1)

    def _cap_place(self, spent: Cost | None) -> tuple[int, float]:
        """Which cap of the doubling series is paid for, and `ln` of its weight; a filter has one cap."""
        if self.policy.accounting == "filter":
            return 0, 0.0
        unit, used = _amount(self.policy.privacy), 0.0 if spent is None else _amount(spent)
        place = 0
        while math.ldexp(unit, place) < used:
            place += 1
        return place, -math.log((place + 1) * (place + 2)) - 1e-12

    def _cap(self, place: int) -> Cost:
        match self.policy.privacy:
            case PureDP(epsilon):
                return PureDP(math.ldexp(epsilon, place))
            case ZCDP(rho):
                return ZCDP(math.ldexp(rho, place))
        raise GuaranteeUnavailable("the policy has no privacy cap")

    def _looking(self, place: int) -> AfterLooking:
        return AfterLooking(self.n, caps=[self._cap(place)])

    def _after_privacy(self, log_share: float, place: int) -> float:
        """The share corrected for a private interaction under the cap, rounded down to a grid first."""
        cell = math.floor(log_share / _STEP)
        if cell * _STEP < _LEAST:
            return -math.inf
        if (place, cell) not in self._memory:
            level = self._looking(place).level(down(math.exp(cell * _STEP), 8))
            self._memory[place, cell] = -math.inf if level.is_vacuous else level.log2_level * math.log(2) - 1e-9
        return self._memory[place, cell]

    def require(self, log_share: float) -> float:
        """The share itself, or an error where nothing is left of it."""
        if log_share == -math.inf:
            raise GuaranteeUnavailable(
                "no interval is left at this point of the run: the failed checks and the privacy cap together leave no "
                "share of the failure probability; a smaller privacy cap or separate samples would"
            )
        return log_share

    def to_dict(self) -> dict[str, Any]:
        """What the shares rest on."""
        privacy = self.policy.privacy
        return {"confidence": self.policy.confidence, "privacy": None if privacy is None else privacy.to_dict()}


def _amount(cost: Cost | None) -> float:
    match cost:
        case PureDP(epsilon):
            return epsilon
        case ZCDP(rho):
            return rho
    raise GuaranteeUnavailable("an odometer's cap is read in the kind of the policy's privacy")


__all__ = ["NOISE_PART", "Belief"]
