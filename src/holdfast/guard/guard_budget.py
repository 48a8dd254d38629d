"""The error budget of a guard: that of the holdout, corrected for the private answers between the questions.

The answers to noiseless questions could have been guessed. A run in which they are drawn from the prior instead of the
rows is a private interaction under the policy's cap, and the real run is at most `1/Q` times as likely as that one. So
a question may treat itself as fixed in advance at the share of Theorem E, corrected for the private interaction
(docs/guard-proof.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.accounting import GDP, Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import down
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.policy import Policy
from holdfast.guard.questions.planned import answers_of
from holdfast.guard.state import GuardState, PooledState
from holdfast.holdout.error_budget import Course, ErrorBudget, Price, final_width
from holdfast.inference.after_looking.record import AfterLooking

NOISE_PART = 0.1
"""Part of the failure probability kept for the tails of noise, where there is noise; it enters by a logarithm."""

_STEP = 0.25
"""Shares are rounded down to `exp(-k/4)` before they are corrected, so that few corrections are computed."""
_LEAST = -660.0
"""Below, a share leaves the range in which corrections are computed."""


@dataclass(frozen=True)
class GuardBudget:
    """Shares of the failure probability for a guard over `n` rows; public, a function of policy and course.

    `analyst` is whose history it is where histories are separate; then the budget is that analyst's part. `others` is
    what was shown of the epochs after the first, where the budget is that of a question about all of them
    (docs/epochs.md): their prior weights are multiplied.

    Examples
    --------
    >>> plain = GuardBudget(10_000, Policy(questions=1000))
    >>> round(math.exp(plain.log_share(Course())), 8)                       # nothing private: Theorem E as it stands
    2.5e-05
    >>> mixed = GuardBudget(10_000, Policy(questions=1000, privacy=PureDP(0.01)))
    >>> round(mixed.log_share(Course()), 1)
    -13.2
    """

    n: int
    policy: Policy
    analyst: str | None = None
    others: tuple[Course, ...] = ()

    @cached_property
    def budget(self) -> ErrorBudget:
        """The error budget: the plan that divides the failure probability among the questions."""
        return self.policy.error_budget(self.analyst)

    @cached_property
    def _memory(self) -> dict[tuple[int, int], float]:
        return {}

    @cached_property
    def _p_values(self) -> dict[tuple[int, float], float]:
        return {}

    @cached_property
    def _levels(self) -> dict[tuple[int, float], float]:
        return {}

    @cached_property
    def _widths(self) -> dict[tuple[Course, Cost | None], float]:
        return {}

    @cached_property
    def by_class(self) -> bool:
        """Whether the private part is bounded only for sets of outputs of one share: no bound holds output by output.

        A pure cap's bound does, so the share may vary with the run; a concentrated one's has a delta, which does not.
        """
        return isinstance(self.policy.privacy, ZCDP) or self.policy.answers == "means"

    def log_prior(self, course: Course) -> float:
        """`ln Q`, the prior weight of all that noiseless questions have shown; with its class where that is needed."""
        if not self.policy.has_looks:
            return 0.0
        log_prior = self.budget.log_prior(course) + sum(map(self.budget.log_prior, self.others))
        if not self.by_class:
            return log_prior
        power = math.ceil(-log_prior / math.log(2) - 1e-12) if log_prior < 0 else 0
        return -power * math.log(2) * (1 + 1e-15) - math.log((power + 1) * (power + 2)) - 1e-12

    def log_share(
        self,
        course: Course,
        spent: Cost | None = None,
        *,
        prior: Course | None = None,
        spending: float | None = None,
    ) -> float:
        """`ln` of the level at which the next question's interval may be computed as if it had been fixed in advance.

        `spent` is what private questions have cost, this one included; an odometer's cap depends on it. `prior` is the
        course whose messages count, where that is not the whole: all questions of a batch have that of its beginning.
        """
        part = self.budget.spending(course) if spending is None else spending
        if part <= 0:
            return -math.inf
        log_share = self.budget.log_beta + math.log(part) + self.log_prior(course if prior is None else prior) - 1e-12
        if self.policy.privacy is None or self.policy.answers == "means":  # a plan has intervals of its own
            return log_share
        place, log_weight = self._cap_place(spent)
        return self._after_privacy(log_share + math.log1p(-NOISE_PART) + log_weight - 1e-12, place)

    def final_log_share(self, course: Course, spent: Cost | None = None) -> float:
        """`ln` of the level of a terminal batch on the explored rows."""
        spending = self.budget.final if self.by_class else self.budget.final_spending(course)
        return self.log_share(course, spent, spending=spending)

    def price_between(self, before: Course, after: Course, spent: Cost | None = None) -> Price:
        """By what part later intervals and that of a final are wider because of what was shown between two points.

        Under a concentrated cap a final's share is dominated by the cap, and computing it takes a quarter of a second,
        so its price is left out.
        """
        nats = max(0.0, self.log_prior(before) - self.log_prior(after))
        width = self._final_width(before, spent)
        return Price.of(self.log_share(before, spent), nats, width, self._final_width(after, spent))

    def _final_width(self, course: Course, spent: Cost | None) -> float:
        known = self._widths.get((course, spent))  # a question begins where the one before it ended
        if known is not None:
            return known
        level = -math.inf
        if self.policy.reserve_parts:
            level = self.budget.log_final_share(course)
        elif self.policy.final and not self.by_class:
            level = self.final_log_share(course, spent)
        if len(self._widths) >= 256:
            self._widths.clear()
        self._widths[course, spent] = width = final_width(level)
        return width

    def noise_share(self, course: Course) -> float:
        """With what probability the next question's noise may leave its tails; it is fresh, so only its turn counts."""
        part = NOISE_PART if self.policy.overfits is None else NOISE_PART / 2
        turn = self.budget.turn(course.asked + 1)
        return down(math.exp(self.budget.log_beta + math.log(part)) * turn, 8)

    @property
    def threshold_share(self) -> float:
        """With what probability one threshold of a Thresholdout run may leave its tails; there are `overfits` of them.

        A threshold outlasts a question, so it has a share of its own: the other half of the part for noise.
        """
        part = self.budget.explore * NOISE_PART / 2
        return down(self.budget.beta * part / (self.policy.overfits or 1), 8)

    def adjusted(self, p: float, course: Course, spent: Cost | None = None) -> float:
        """Return the smallest level at which a p-value of the next question is significant after all that was released.

        Valid for this test alone, at whatever moment it is asked: nodes of which none lies below another have prior
        weights of sum at most one. A family of tests that are chosen one after the other needs levels that are fixed in
        advance and add up to at most alpha: Bonferroni's `alpha / m` each, or alpha spending. Holm's method and others
        that raise the level of one test by the outcome of another are not valid on these values: whoever chooses the
        second test by the first can make Holm err with probability 0.073 at 0.05 (docs/errata/max-information.md).
        """
        p = arguments.probability("p", p, zero=True, one=True)
        log_weight = self.log_prior(course)
        if self._has_private:
            place, log_cap = self._cap_place(spent)
            p, log_weight = self._adjusted(place, p), log_weight + log_cap
        if log_weight == 0 or p == 0:
            return p
        grown = math.exp(-log_weight) if log_weight > -700 else math.inf
        return min(1.0, p * grown * (1 + 1e-12))

    def level(self, alpha: float, course: Course, spent: Cost | None = None) -> float:
        """Return the level at which a further test on these rows must reject to keep `alpha`; 0 where none would do."""
        alpha = arguments.probability("alpha", alpha)
        log_alpha = math.log(alpha) + self.log_prior(course)
        if not self._has_private:
            return down(math.exp(log_alpha), 8)
        place, log_cap = self._cap_place(spent)
        log_alpha += log_cap
        return self._level(place, down(math.exp(log_alpha), 8)) if log_alpha > _LEAST else 0.0

    def transcript(self, course: Course, spent: Cost | None = None) -> tuple[Cost | None, float]:
        """Return what all answers so far amount to: the cap that holds the private ones, and `ln(1/Q)` of the others.

        `Q` weighs one course of the noiseless answers among all that exclude each other, whoever decides by whatever
        was answered how long to go on. It includes the weight of an odometer's cap.
        """
        log_weight = self.log_prior(course)
        if not self._has_private:
            return None, -log_weight
        place, log_cap = self._cap_place(spent)
        return self._cap(place), -(log_weight + log_cap)

    @property
    def _has_private(self) -> bool:
        return self.policy.privacy is not None or self.policy.answers == "means"

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
            return GDP(answers_of(self.policy, self.n).mu)
        match self.policy.quota(self.analyst):
            case PureDP(epsilon):
                return PureDP(math.ldexp(epsilon, place))
            case ZCDP(rho):
                return ZCDP(math.ldexp(rho, place))
        raise GuaranteeUnavailable("the policy of this guard has no privacy budget")

    def _looking(self, place: int) -> AfterLooking:
        return AfterLooking(self.n, caps=[self._cap(place)])

    def _adjusted(self, place: int, p: float) -> float:
        """A p-value after the private part alone; kept, because a concentrated cap takes a second."""
        adjusted = self._p_values.get((place, p))  # looked up once: another thread may clear them meanwhile
        if adjusted is None:
            if len(self._p_values) >= 256:
                self._p_values.clear()
            adjusted = self._p_values[place, p] = self._looking(place).adjusted(p)
        return adjusted

    def _level(self, place: int, alpha: float) -> float:
        """The level after the private part alone; kept, as an adjusted p-value is."""
        level = self._levels.get((place, alpha))
        if level is None:
            if len(self._levels) >= 256:
                self._levels.clear()
            level = self._levels[place, alpha] = self._looking(place).level(alpha).value
        return level

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
        """Return the share itself, or an error where nothing is left of it."""
        if log_share == -math.inf and not self.budget.explore:
            raise GuaranteeUnavailable(
                "no question before the final can have an interval, because the policy keeps all of the failure "
                "probability for the final (final=1); ask `best` for the name of the best candidate alone, or ask "
                "the final"
            )
        if log_share == -math.inf:
            raise GuaranteeUnavailable(
                "no interval is possible any more, because the failed checks so far and the privacy budget use up "
                "the failure probability; open a guard with a smaller privacy budget, or with other rows"
            )
        return log_share

    def to_dict(self) -> dict[str, Any]:
        """Return what the shares depend on."""
        privacy = self.policy.quota(self.analyst)
        return {"confidence": self.policy.confidence, "privacy": None if privacy is None else privacy.to_dict()}


def _amount(cost: Cost | None) -> float:
    match cost:
        case PureDP(epsilon):
            return epsilon
        case ZCDP(rho):
            return rho
    raise GuaranteeUnavailable("the limit of an odometer must be of the same kind of cost as the policy's privacy")


_budgets: dict[tuple[int, str, str | None], GuardBudget] = {}


def budget_of(state: GuardState, analyst: str | None = None) -> GuardBudget:
    """Return the error budget of a guard; kept, because its corrections take milliseconds and never change.

    Where histories are together it is the same for every analyst.
    """
    if isinstance(state, PooledState):  # it changes with every answer
        return GuardBudget(state.explored, state.policy, None, state.others)
    whose = analyst if state.policy.histories == "separate" else None
    name = state.explored, state.policy_name, whose
    budget = _budgets.get(name)  # looked up once: another thread may clear them meanwhile
    if budget is None:
        if len(_budgets) >= 256:
            _budgets.clear()
        budget = _budgets[name] = GuardBudget(state.explored, state.policy, whose)
    return budget
