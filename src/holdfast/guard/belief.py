"""What an interval or a p-value of a guard's next question may spend, whatever was asked before.

The answers to looks could have been guessed; a run with guessed ones is a private interaction under the policy's cap,
and the real run is at most `1/w` times as likely as the guessed one. So a question may treat itself as fixed in advance
at a share of the failure probability that the weight `w` of the guess gives it, corrected for the private interaction
(docs/guard-proof.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from scipy.special import zeta

from holdfast import check
from holdfast.accounting import GDP, Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.exact import down, up
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress
from holdfast.holdout.shares import Shares
from holdfast.inference.after_looking import AfterLooking
from holdfast.inference.gaussian_answers import GaussianAnswers

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

    @cached_property
    def _p_values(self) -> dict[tuple[int, float], float]:
        return {}

    @cached_property
    def _by_class(self) -> bool:
        """Whether the private part is bounded only for sets of outputs of one share: no bound holds output by output.

        A pure cap's bound does, so the share may vary with the run; a concentrated one's has a delta, which does not.
        """
        return isinstance(self.policy.privacy, ZCDP) or self.policy.answers == "means"

    def log_share(self, progress: Progress, spent: Cost | None = None) -> float:
        """`ln` of the level at which the next question's interval may be computed as if it had been fixed in advance.

        `spent` is what private questions have cost, this one included; an odometer's cap depends on it.
        """
        log_share = math.log(self._shares.beta) + self._log_turn(progress) - 1e-12
        if self.policy.has_looks:
            log_shown, log_class = self._classed(progress.log_shown) if self._by_class else (progress.log_shown, 0.0)
            log_share = self._shares.log_share(progress.answered + 1, progress.failed, log_shown) + log_class
        if self.policy.privacy is None:
            return log_share
        place, log_weight = self._cap_place(spent)
        return self._after_privacy(log_share + math.log1p(-NOISE_PART) + log_weight - 1e-12, place)

    def noise_share(self, progress: Progress) -> float:
        """With what probability the next question's noise may leave its tails; it is fresh, so only its turn counts."""
        part = NOISE_PART if self.policy.overfits is None else NOISE_PART / 2
        return down(math.exp(math.log(self._shares.beta * part) + self._log_turn(progress)), 8)

    @property
    def threshold_share(self) -> float:
        """With what probability one threshold of a Thresholdout run may leave its tails; there are `overfits` of them.

        A threshold outlasts a question, so it has a share of its own: the other half of the part for noise.
        """
        return down(self._shares.beta * NOISE_PART / 2 / (self.policy.overfits or 1), 8)

    def adjusted(self, p: float, progress: Progress, spent: Cost | None = None) -> float:
        """The smallest level at which a p-value of the next question is significant after all that was released.

        Valid for this test alone; a family of tests needs Holm or an online procedure on these values.
        """
        p = check.probability("p", p, zero=True, one=True)
        log_weight = self._log_path_weight(progress)
        if self._has_private:
            place, log_cap = self._cap_place(spent)
            p, log_weight = self._adjusted(place, p), log_weight + log_cap
        if log_weight == 0 or p == 0:
            return p
        grown = math.exp(-log_weight) if log_weight > -700 else math.inf
        return min(1.0, p * grown * (1 + 1e-12))

    def level(self, alpha: float, progress: Progress, spent: Cost | None = None) -> float:
        """The level at which a further test on these rows must reject to keep `alpha`; 0 where none would do."""
        alpha = check.probability("alpha", alpha)
        log_alpha = math.log(alpha) + self._log_path_weight(progress)
        if not self._has_private:
            return down(math.exp(log_alpha), 8)
        place, log_cap = self._cap_place(spent)
        log_alpha += log_cap
        return self._looking(place).level(down(math.exp(log_alpha), 8)).value if log_alpha > _LEAST else 0.0

    def transcript(self, progress: Progress, spent: Cost | None = None) -> tuple[Cost | None, float]:
        """What all answers so far amount to: the cap that holds the private ones, and `ln(1/w)` of the looks.

        `w` weighs one course of the looks among all courses of all lengths: they add up to at most one, whoever decides
        by whatever was answered how long to go on. It includes the weight of an odometer's cap.
        """
        log_weight = self._log_path_weight(progress)
        if self.policy.has_looks:
            most = self.policy.questions
            log_weight += _SERIES - 2 * math.log(progress.answered + 1) if most is None else -math.log(most + 1)
        if not self._has_private:
            return None, -log_weight
        place, log_cap = self._cap_place(spent)
        return self._cap(place), -(log_weight + log_cap)

    @property
    def _has_private(self) -> bool:
        return self.policy.privacy is not None or self.policy.answers == "means"

    def _classed(self, log_inverse: float) -> tuple[float, float]:
        """`ln(1/w)` rounded up to a power of two, and `ln` of what that power weighs among all of them."""
        power = math.ceil(log_inverse / math.log(2) - 1e-12) if log_inverse > 0 else 0
        return power * math.log(2) * (1 + 1e-15), -math.log((power + 1) * (power + 2)) - 1e-12

    def _log_path_weight(self, progress: Progress) -> float:
        """`ln` of the probability that one guess of all answers to looks, made before the run, begins as the run did.

        Guess how many will fail (`c_f`), the distances between them (`g` with probability `1/(g (g+1))`), and what each
        shows. Runs that differ exclude each other, so the analyst may choose from the answers when to test. A cap on
        failures counts those that show a value: one more, which ends the run, may come, and must have its place in
        the guess. An interval's share need not know of it, since none follows it; a test may.
        """
        if not self.policy.has_looks:
            return 0.0
        f, most = progress.failed, self.policy.failures
        if most is None:
            exactly, more = math.exp(_SERIES) / (f + 1) ** 2, math.exp(_SERIES) * float(zeta(2, f + 2))
        else:
            exactly, more = 1 / (most + 2), max(0, most + 1 - f) / (most + 2)
        since = progress.answered - progress.failed_at
        begins = min(1.0, exactly + more / (since + 1))
        if f == 0 and since == 0:
            return 0.0
        log_weight = min(0.0, math.log(begins) - progress.log_gaps - progress.log_shown - 1e-12)
        if not self._by_class:
            return log_weight
        log_inverse, log_class = self._classed(-log_weight)
        return log_class - log_inverse

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
        if self.policy.answers == "means":
            return _planned_cost(self.n, self.policy.questions or 1, self.policy.confidence)
        match self.policy.privacy:
            case PureDP(epsilon):
                return PureDP(math.ldexp(epsilon, place))
            case ZCDP(rho):
                return ZCDP(math.ldexp(rho, place))
        raise GuaranteeUnavailable("the policy has no privacy cap")

    def _looking(self, place: int) -> AfterLooking:
        return AfterLooking(self.n, caps=[self._cap(place)])

    def _adjusted(self, place: int, p: float) -> float:
        """A p-value after the private part alone; kept, because a concentrated cap takes a second."""
        found = self._p_values.get((place, p))  # looked up once: another thread may clear them meanwhile
        if found is None:
            if len(self._p_values) >= 256:
                self._p_values.clear()
            found = self._p_values[place, p] = self._looking(place).adjusted(p)
        return found

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


@lru_cache(maxsize=64)
def _planned_cost(n: int, questions: int, confidence: float) -> GDP:
    """What all answers of a plan of means cost together."""
    plan = GaussianAnswers(n, questions, confidence)
    total = math.fsum(plan.cost(question).mu ** 2 for question in range(1, questions + 1))
    return GDP(up(math.sqrt(up(total, 8)), 4))


def _amount(cost: Cost | None) -> float:
    match cost:
        case PureDP(epsilon):
            return epsilon
        case ZCDP(rho):
            return rho
    raise GuaranteeUnavailable("an odometer's cap is read in the kind of the policy's privacy")


__all__ = ["NOISE_PART", "Belief"]
