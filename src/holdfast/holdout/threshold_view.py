"""What everyone may see of a Thresholdout run: its parameters, its counts and what it has spent."""

from __future__ import annotations

from holdfast.accounting.costs import PureDP
from holdfast.bounds.exact import float_up
from holdfast.holdout.noise_scales import ScalesOnGrid
from holdfast.holdout.threshold_claim import Claim
from holdfast.holdout.threshold_rules import ThresholdRules


class ThresholdView:
    """The public side of a run; the other side holds the noisy threshold."""

    _rules: ThresholdRules
    _asked: int
    _left: int
    _fresh: bool  # no question since the threshold was drawn

    @property
    def rules(self) -> ThresholdRules:
        """All public parameters."""
        return self._rules

    @property
    def n(self) -> int:
        """Rows in the holdout."""
        return self._rules.n

    @property
    def threshold(self) -> float:
        """The public threshold; the noisy one is secret."""
        return self._rules.threshold

    @property
    def sigma(self) -> float:
        """Laplace scale for answers of range 1."""
        return self._rules.sigma

    @property
    def budget(self) -> int:
        """Overfits in all."""
        return self._rules.budget

    @property
    def claim(self) -> Claim | None:
        """The accuracy asked for."""
        return self._rules.claim

    @property
    def certified(self) -> bool:
        """Whether the parameters satisfy the theorem behind the claim."""
        return self._rules.certified

    @property
    def scales_on_grid(self) -> ScalesOnGrid:
        """Grid, sensitivity and noise scales in whole steps."""
        return self._rules.on_grid

    @property
    def left(self) -> int:
        """Overfits that are left."""
        return self._left

    @property
    def asked(self) -> int:
        """Questions answered so far; bottom does not count."""
        return self._asked

    @property
    def exhausted(self) -> bool:
        """Whether every further answer is bottom."""
        return self._left < 1

    @property
    def cost(self) -> PureDP:
        """What the whole run may spend: `2B/(sigma n)`."""
        return self._rules.cost

    @property
    def spent(self) -> PureDP:
        """What has been spent: the sum of the answers' costs.

        The first question of an epoch pays for the threshold, an overfit for its comparison and its value; what lies
        between is free. On every transcript the privacy loss is at most this sum, so it may be charged as it is, by
        basic composition. Whether an overfit happens depends on the data: a filter must reserve it beforehand.
        """
        on_grid = self._rules.on_grid
        overfits = self._rules.budget - self._left
        thresholds = overfits + (not self._fresh) if on_grid.refresh else int(not self._fresh or overfits > 0)
        return PureDP(float_up(thresholds * on_grid.first + overfits * on_grid.overfit))


__all__ = ["ThresholdView"]
