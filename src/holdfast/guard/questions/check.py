"""The kind `check`: a guess of a mean is checked without noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.accounting import PureDP
from holdfast.core import arguments
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import BoundQuestion, Hidden, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, noisy_mean_of, rows_of
from holdfast.guard.questions.fields import (
    Default,
    Expression,
    Guess,
    GuessRows,
    High,
    Low,
    NumberInput,
    Risk,
    Show,
    Stake,
    Tolerance,
    Where,
    WherePresent,
    WrongSide,
)
from holdfast.guard.questions.noiseless import Look, look, stored_guess, stored_rows, weighed
from holdfast.guard.questions.noisy import unit_interval
from holdfast.guard.questions.planned import PlannedLook, answers_of, require_plain
from holdfast.guard.questions.words import guess_sentence, number, rows_text
from holdfast.holdout.questions import Guess as CheckedGuess
from holdfast.holdout.questions import MeanQuestion
from holdfast.holdout.thresholdout import Thresholdout, ThresholdRules

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


# --- Threshold check --------------------------------------------------------------------------------------------------
# A check answered by Thresholdout: its noisy threshold is secret state in the ledger, its privacy was paid at opening.
#
# The run of Figure 1 (Dwork et al. 2015) is purely private, so its answers are private answers like those of a noisy
# mean: they pay no share of the noiseless steps, and their intervals are widened by the noise that can have entered
# them
# (docs/guard-proof.md).

NAME = "thresholdout"
"""The account and the secret that a run is kept by."""
_ROUNDING = 2
"""Steps of the grid that rounding the mean and the guess to it can move their distance, with room."""


@lru_cache(maxsize=64)
def rules_of(n: int, threshold: float, overfits: int, epsilon: float) -> ThresholdRules:
    """Return the run that costs at most `epsilon` in all; about shares of a range, so of length 1.

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
    raise InvalidParameter(
        "holdout_spend must be a cost that noise on the grid of the means can keep, and this one is not; give a "
        "slightly different cost"
    )


def run_of(policy: Policy, n: int) -> ThresholdRules | None:
    """Return the run that a policy declares; None where checks are looks."""
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


class ThresholdCheck(BoundQuestion):
    """A guess that passes while the sample agrees with it up to noise; else the sample's mean, with noise."""

    def __init__(self, rows: BoundExpression, guess: float, rules: ThresholdRules) -> None:
        self.cost = PureDP(0.0)  # the whole run was charged when the guard was opened
        self.question = {"kind": "check", **rows.to_dict(), "guess": guess, "holdout": NAME}
        self.statistics = (rows.fixed_sum,)
        self._rows, self._guess, self._rules = rows, guess, rules
        self._share = (guess - rows.low) / (rows.high - rows.low)

    def require(self, view: View) -> None:
        """Raise where every overfit is used up; how many are left is public."""
        public = view.account(NAME)
        if public is not None and public["left"] < 1:
            raise BudgetExhausted(
                f"this guard answers no more checks: its Thresholdout run allows {self._rules.budget} overfits "
                "(failed checks), and all of them were used"
            )

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the guess, or a noisy value; the threshold goes on in the ledger, in the same commit as the answer."""
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
        return Settled(value, self._rows.outward(*ends), guarantee, answer.passed, details=details)

    def half_width(self, situation: Situation) -> float:
        """Of a guess that passes, in the middle of the range."""
        log_share, near, _ = self._parts(situation)
        lower, upper = unit_interval(situation.n).over(0.5 - near, 0.5 + near, log_share)
        return (self._rows.high - self._rows.low) * (upper - lower) / 2

    def _parts(self, situation: Situation) -> tuple[float, float, float]:
        """The share, how far the sample's mean can be from a guess that passes, and from a noisy value."""
        scales, budget = self._rules.on_grid, situation.budget
        fresh = math.log(2 / situation.noise_share)  # half for the comparison, half for both tails of a shown value
        log_kept = math.log(1 / budget.threshold_share)
        step = float(scales.grid.step)
        near = (
            self._rules.index
            + math.ceil(scales.threshold * log_kept)
            + math.ceil(scales.comparison * fresh)
            + _ROUNDING
        )
        off = math.ceil(scales.release * (fresh + math.log(2))) + _ROUNDING
        return situation.log_share, near * step, off * step


def _resumed(hidden: Hidden) -> Thresholdout:
    """Go on from the stored state. A threshold that was lost is drawn anew, at the price of one overfit.

    A new epoch begins with every overfit, and each is paid for on its own; so a new epoch without a value released is
    paid for by the overfit that it takes away.
    """
    public, secret = hidden.read(NAME)
    if public is None:
        raise LedgerConflict("the ledger has lost the state of its Thresholdout run; run `holdfast verify`")
    if secret is not None:
        return Thresholdout.from_state(secret)
    if public["left"] <= 1:
        raise BudgetExhausted(
            "the noisy threshold of this guard's Thresholdout run was lost, and no overfit is left to draw a new one"
        )
    rules = ThresholdRules.from_dict(dict(public["parameters"]))
    drawn = Thresholdout(rules.n, rules.threshold, rules.sigma, rules.budget).state()
    left = public["left"] - 1
    # A run has as many questions as overfits at least; the one that was taken away may have had none.
    return Thresholdout.from_state(drawn | {"left": left, "asked": max(public["asked"], rules.budget - left)})


def _keep(hidden: Hidden, holdout: Thresholdout) -> None:
    state: Mapping[str, Any] = holdout.state()
    hidden.put(NAME, {name: state[name] for name in ("parameters", "asked", "left")}, state)


_WHERE_SHARE = 0.25
"""The part of the rows that meet a condition, where nobody says: it sets the default tolerance and nothing else."""


# --- Check ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check(Question):
    """Check your guess of a mean. If the guess passes, later intervals are hardly affected. If it fails, a corrected
    value is shown, and later intervals are wider.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.check("age < 30", guess=0.25)).passed
    True
    """

    kind: ClassVar[str] = "check"
    title: ClassVar[str] = "Check a guess"
    purpose: ClassVar[str] = "Is this mean about what I think? A right guess costs next to nothing."
    place: ClassVar[int] = 10
    under_means: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "check", "expression": "age < 40", "guess": 0.3}

    expression: Expression
    guess: Guess
    tolerance: Annotated[
        Tolerance,
        "A guess that passes is certified to be within this distance of the population value (default: 2.5 "
        "half-widths of the interval at the guess, as if no value were missing; give a larger tolerance if many are).",
    ] = None
    show: Show = "value"
    low: Low = None
    high: High = None
    default: Default = None
    where_present: WherePresent = False
    guess_rows: GuessRows = None
    side: WrongSide = "both"
    risk: Risk = None
    stake: Stake = None
    where: Where = None
    where_share: Annotated[
        float | None,
        NumberInput(
            label="Part of the rows that meet it",
            help="With --where: your rough estimate of the proportion of rows that meet the condition (default: "
            "1/4). It is used only for the default tolerance. The interval does not depend on it.",
            placeholder="0.25",
            above=0,
        ),
    ] = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema."""
        rules, planned = run_of(policy, n), policy.answers == "means"
        rows = rows_of(self, schema, policy, ratios=rules is None and not planned)
        question = MeanQuestion(self.kind, "auto", None, rows.low, rows.high, rows.binary, n)
        asked = question.guess(self.guess, self.tolerance, self.show, None, self.side, self.guess_rows)
        if planned:
            require_plain(self.risk, self.stake)
            return PlannedLook(self.kind, (rows,), question, asked, answers_of(policy, n))
        share = self._where_share()
        if rules is None and share is not None:
            return self._look_among(rows, asked, n, share, schema, policy)
        if rules is None:
            return look(self.kind, (rows,), question, asked, schema).weighed(*weighed(self.risk, self.stake, policy))
        if self.tolerance is not None or self.show != "value" or self.risk is not None or self.stake is not None:
            raise InvalidParameter(
                "tolerance, show, risk and stake must be left out, because this guard answers checks with "
                "Thresholdout, whose threshold the policy sets"
            )
        return ThresholdCheck(rows, asked.guess, rules)

    def _where_share(self) -> float | None:
        """The part of the rows that the default tolerance goes by; None where it goes by all of them."""
        if self.where_share is not None and (self.where is None or self.tolerance is not None):
            raise InvalidParameter(
                "where_share must be left out unless `where` is given and tolerance is not, because it is used only "
                "for the default tolerance"
            )
        if self.where is None or self.tolerance is not None:
            return None
        given = _WHERE_SHARE if self.where_share is None else self.where_share
        return arguments.probability("where_share", given, one=True)

    def _look_among(
        self, rows: BoundExpression, asked: CheckedGuess, n: int, share: float, schema: Schema, policy: Policy
    ) -> Look:
        """The check among the rows that meet the condition, with the default tolerance of a public part of them."""
        among = MeanQuestion(self.kind, "auto", None, rows.low, rows.high, rows.binary, max(1, math.floor(n * share)))
        bound = look(self.kind, (rows,), among, asked, schema).weighed(*weighed(self.risk, self.stake, policy))
        bound.question = {**bound.question, "where_share": share}
        return bound

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the stored question again, with its guess. None if Thresholdout answered it, whose answers cannot be
        revealed.
        """
        if "rows" not in stored:
            return None
        return cls(stored["rows"][0]["expression"], **stored_rows(stored), **stored_guess(stored))

    @classmethod
    def with_noise(cls, question: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the question for the mean itself, which is answered with noise."""
        return {**question, "kind": "mean"}

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the expression and the guess."""
        return f"{rows_text(asked)[0]}: about {number(asked['guess'])}?"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the guess passed, with the interval."""
        return guess_sentence(asked, answer, whose)

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield alternatives to a refused check: the mean with noise, or the same guess with the tolerance that the
        guard suggests.
        """
        yield noisy_mean_of(question)
        if question.get("tolerance") is not None:
            yield "Leave the tolerance to the guard", {k: v for k, v in question.items() if k != "tolerance"}
