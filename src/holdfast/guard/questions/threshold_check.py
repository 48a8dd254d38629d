"""A check answered by Thresholdout: its noisy threshold is secret state in the ledger, its privacy was paid at opening.

The run of Figure 1 (Dwork et al. 2015) is purely private, so its answers are private answers like those of a noisy
mean: they pay no share of the looks, and their intervals are widened by the noise that can have entered them
(docs/guard-proof.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from holdfast.accounting import PureDP
from holdfast.data.statistics import UNIT
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict
from holdfast.guard.ledger.transaction import View
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Hidden, Measured, Settled, Situation
from holdfast.guard.questions.rows import Spelled
from holdfast.guard.questions.unit_interval import unit_interval
from holdfast.holdout.threshold_rules import ThresholdRules
from holdfast.holdout.thresholdout import Thresholdout

NAME = "thresholdout"
"""The account and the secret that a run is kept by."""
_ROUNDING = 2
"""Steps of the grid that rounding the mean and the guess to it can move their distance, with room."""


@lru_cache(maxsize=64)
def rules_of(n: int, threshold: float, overfits: int, epsilon: float) -> ThresholdRules:
    """The run that costs at most `epsilon` in all; about shares of a range, so of length 1.

    Examples
    --------
    >>> rules = rules_of(10_000, 0.04, 3, 0.6)
    >>> rules.sigma, rules.cost.epsilon <= 0.6
    (0.001..., True)
    """
    sigma = 2 * overfits / (epsilon * n)
    for _ in range(60):
        rules = ThresholdRules(n, threshold, sigma, overfits)
        if rules.cost.epsilon <= epsilon:
            return rules
        sigma *= 1 + 1e-9
    raise InvalidParameter("holdout_spend must leave room for the grid of the noise")


def run_of(policy: Policy, n: int) -> ThresholdRules | None:
    """The run that a policy declares; None where checks are looks."""
    if policy.holdout != "thresholdout":
        return None
    assert policy.threshold is not None
    assert policy.overfits is not None
    assert isinstance(policy.holdout_spend, PureDP)
    return rules_of(n, policy.threshold, policy.overfits, policy.holdout_spend.epsilon)


def begin(policy: Policy, n: int, hidden: Hidden) -> None:
    """Draw the first noisy threshold and keep it with the entry that opens the guard."""
    rules = run_of(policy, n)
    if rules is not None:
        _keep(hidden, Thresholdout(n, rules.threshold, rules.sigma, rules.budget))


class ThresholdCheck(Bound):
    """A guess that stands while the sample agrees with it up to noise; else the sample's mean, with noise."""

    def __init__(self, rows: Spelled, guess: float, rules: ThresholdRules) -> None:
        self.cost = PureDP(0.0)  # the whole run was charged when the guard was opened
        self.question = {"kind": "check", **rows.to_dict(), "guess": guess, "holdout": NAME}
        self.statistics = (rows.fixed_sum,)
        self._rows, self._guess, self._rules = rows, guess, rules
        self._share = (guess - rows.low) / (rows.high - rows.low)

    def require(self, view: View) -> None:
        """Raise where every overfit is used up; how many are left is public."""
        public = view.account(NAME)
        if public is not None and public["left"] < 1:
            raise BudgetExhausted(f"all {self._rules.budget} overfits of the holdout were used: it answers no check")

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """The guess, or a noisy value; the threshold goes on in the ledger, in the same commit as the answer."""
        assert situation.hidden is not None
        log_share, near, off = self._parts(situation)
        holdout = _resumed(situation.hidden)
        answer = holdout.query_means(self._share, prepared[0][0] / (situation.n * UNIT))
        _keep(situation.hidden, holdout)
        assert answer.value is not None
        half = near if answer.passed else off
        ends = unit_interval(situation.n).over(answer.value - half, answer.value + half, log_share)
        value = self._guess if answer.passed else self._rows.in_unit(min(max(answer.value, 0.0), 1.0))
        guarantee = situation.guarantee("transfer.interleaved", log_share=round(log_share, 6), interval="kl")
        details = {"holdout": NAME, "overfits_left": answer.remaining["overfits"]}
        return Settled(value, self._rows.outward(*ends), guarantee, answer.passed, 0, details)

    def half_width(self, situation: Situation) -> float:
        """Of a guess that stands, in the middle of the range."""
        log_share, near, _ = self._parts(situation)
        lower, upper = unit_interval(situation.n).over(0.5 - near, 0.5 + near, log_share)
        return (self._rows.high - self._rows.low) * (upper - lower) / 2

    def _parts(self, situation: Situation) -> tuple[float, float, float]:
        """The share, how far the sample's mean can be from a guess that stands, and from a noisy value."""
        scales, belief = self._rules.on_grid, situation.belief
        fresh = math.log(2 / situation.noise_share)  # half for the comparison, half for both tails of a shown value
        kept = math.log(1 / belief.threshold_share)
        step = float(scales.grid.step)
        near = self._rules.index + math.ceil(scales.threshold * kept) + math.ceil(scales.comparison * fresh) + _ROUNDING
        off = math.ceil(scales.release * (fresh + math.log(2))) + _ROUNDING
        return situation.log_share, near * step, off * step


def _resumed(hidden: Hidden) -> Thresholdout:
    """Go on from the stored state. A threshold that was lost is drawn anew, at the price of one overfit.

    A new epoch begins with every overfit, and each is paid for on its own; so a new epoch without a value released is
    paid for by the overfit that it takes away.
    """
    public, secret = hidden.read(NAME)
    if public is None:
        raise LedgerConflict("the ledger has lost the state of its holdout; run `holdfast verify`")
    if secret is not None:
        return Thresholdout.from_state(secret)
    if public["left"] <= 1:
        raise BudgetExhausted("the holdout's threshold was lost, and no overfit is left to pay for another")
    rules = ThresholdRules.from_dict(dict(public["parameters"]))
    drawn = Thresholdout(rules.n, rules.threshold, rules.sigma, rules.budget).state()
    left = public["left"] - 1
    # A run has as many questions as overfits at least; the one that was taken away may have had none.
    return Thresholdout.from_state(drawn | {"left": left, "asked": max(public["asked"], rules.budget - left)})


def _keep(hidden: Hidden, holdout: Thresholdout) -> None:
    state: Mapping[str, Any] = holdout.state()
    hidden.put(NAME, {name: state[name] for name in ("parameters", "asked", "left")}, state)


__all__ = ["NAME", "ThresholdCheck", "begin", "rules_of", "run_of"]
