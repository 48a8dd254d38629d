"""What Algorithm 1 on dependent records may claim, and when: the public half of `CorrelatedThresholdout`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.bounds.correlated.theorem1 import log_failure
from holdfast.bounds.exact import down, up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.holdout.threshold_rules import ThresholdRules

#: Steps that the grid may add to what is compared or released, as for independent rows (`threshold_claim`).
_ROUNDING_STEPS = 4
_RESTS_ON = "mean questions; training rows independent of the holdout; the declared quilts"
_HEURISTIC = (
    "heuristic: the run is private, but no accuracy is certified on these records; DependentHoldout certifies at "
    "ordinary sizes"
)


@dataclass(frozen=True)
class CorrelatedRules(ThresholdRules):
    """Parameters of a run of Algorithm 1, with what is known about the quilts of its records.

    Examples
    --------
    >>> from holdfast.holdout.noise_scales import NoiseScales
    >>> scales = NoiseScales(0.01, 0.02, 0.04)
    >>> rules = CorrelatedRules(5000, 0.075, 0.01, 10, scales=scales, quilt=QuiltTerms(9, 0.002))
    >>> rules.cost, round(rules.epsilon_bdp, 9), rules.certified
    (PureDP(epsilon=0.45), 4.054, False)
    """

    quilt: QuiltTerms | None = None

    def __post_init__(self) -> None:
        if self.quilt is not None and not isinstance(self.quilt, QuiltTerms):
            raise InvalidParameter(f"quilt must be QuiltTerms or None, got a {type(self.quilt).__name__}")
        if self.claim is not None and self.quilt is None:
            raise InvalidParameter("claim must be None where no quilt is declared: nothing is known of the records")
        if self.claim is not None and self.sensitivity is not None:
            raise InvalidParameter(
                "claim must be None where a sensitivity is declared: on dependent records only means are covered"
            )
        super().__post_init__()

    @property
    def epsilon_bdp(self) -> float:
        """Bayesian differential privacy of the whole run under the declared quilts, `K epsilon + w`."""
        if self.quilt is None:
            return math.inf
        return self.quilt.epsilon_bdp(self.cost.epsilon)

    @cached_property
    def certified(self) -> bool:
        """Whether the claim holds by `failure`."""
        return self.claim is not None and self.claim.certified and self.failure <= self.claim.beta

    @cached_property
    def failure(self) -> float:
        """Probability that some answer among the claimed questions is off by the claimed `tau`; rounded up.

        Zhao 2017, Theorem 2, with Theorem 1 as repaired and with the noise that is drawn, grid included. Write
        `tau' = (tau - T)/2` for how far a question's holdout value may be from the truth. A passing answer is within
        `T`, one threshold draw, one comparison draw and `tau'` of the truth; a released one within its draw and `tau'`.
        Threshold and comparison share `tau - T - tau'` in proportion to their scales, at most `B` threshold and release
        draws and `m` comparison draws are used, and every one of the `m` questions must generalise. With Theorem 2's
        `T` and `sigma` the allowances are those of its proof. Derived.
        """
        if self.claim is None or self.quilt is None:
            return 1.0
        unit, scales = self.unit, self.on_grid.realised
        tau, threshold = self.claim.tau / unit, self.threshold / unit
        room = down((tau - threshold) / 2)
        slack = _ROUNDING_STEPS * float(self.on_grid.grid.step) / unit
        if not 0 < room < 1 or not room > slack or self.claim.questions < self.budget:
            return 1.0
        between = down((room - slack) / ((scales.threshold + scales.comparison) / unit), 8)
        last = down((tau - room - slack) / (scales.release / unit), 8)
        noise = (self.budget + self.claim.questions) * exp_up(-between) + self.budget * exp_up(-last)
        # Algorithm 1 with this sigma costs at least what this run costs.
        sigma = down(9 * self.budget / (4 * self.n * self.cost.epsilon), 16)
        each = exp_up(log_failure(self.n, self.budget, sigma, room, self.quilt))
        return min(1.0, up(noise + self.claim.questions * each, 16))

    @cached_property
    def _guarantees(self) -> dict[bool, Guarantee]:
        public: dict[str, Any] = {"n": self.n, "threshold": self.threshold, "sigma": self.sigma, "budget": self.budget}
        if self.quilt is not None:
            public["epsilon_bdp"] = self.epsilon_bdp
        found = {False: Guarantee("correlated.algorithm-1-epsilon", public, _HEURISTIC, certified=False)}
        if self.claim is not None and self.quilt is not None:
            wanted = {"tau": self.claim.tau, "beta": self.claim.beta, "questions": self.claim.questions}
            terms = self.quilt.to_dict()
            terms["blanket"] = terms.pop("size")
            found[True] = Guarantee("correlated.holdout-size", wanted | public | terms, _RESTS_ON)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return super().to_dict() | {"quilt": None if self.quilt is None else self.quilt.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read back from `to_dict()`."""
        if not isinstance(plain, dict) or "quilt" not in plain:
            raise InvalidParameter("parameters must be what CorrelatedRules.to_dict() gave")
        claim, quilt = plain["claim"], plain["quilt"]
        bare = super().from_dict(plain | {"quilt": None, "claim": None})
        if claim is None and quilt is None:
            return bare
        from holdfast.holdout.threshold_claim import Claim

        return replace(
            bare,
            quilt=None if quilt is None else QuiltTerms(**quilt),
            claim=None if claim is None else Claim(**claim),
        )


__all__ = ["CorrelatedRules"]
