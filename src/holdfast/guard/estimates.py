"""Answers that spend nothing: what a question would cost and give, and the level of a further test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from holdfast.accounting import Cost, PureDP
from holdfast.data.expressions import to_json, tree
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, HoldfastError, InvalidParameter, QuestionRefused
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.guard_budget import GuardBudget, budget_of
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.pipeline import (
    BoundRequest,
    Request,
    admit_followers,
    bind,
    charge,
    find_answer,
    in_phase,
    situation_of,
    state_of,
)
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import BoundQuestion, Question, Situation
from holdfast.guard.questions.final import Final
from holdfast.guard.state import Account, Accounts, GuardState, Progress, read_account
from holdfast.holdout.error_budget import Price
from holdfast.mechanisms.answer import wider_words


@dataclass(frozen=True)
class Estimate:
    """What a question would cost if it were asked now, how wide its interval would be, and whether the guard would
    answer it.

    Attributes
    ----------
    cost : Cost or None
        What a question with noise would spend; None for a noiseless one, which is paid in shares.
    half_width : float or None
        Half the width of the interval at most; for a check how near the truth the guess is if it passes, which is its
        tolerance. None where the answer has no interval, or where none is left. How many rows have a value is not
        shown, so a question with `where_present` is estimated as if all had one.
    admitted : bool
        Whether it would be let in.
    repeated : bool
        Whether a stored answer would come back, free.
    reason : str
        Why not, in plain words.
    remaining : mapping
        What would be left afterwards, or what is left where it would be refused.
    least_tolerance : float or None
        For a check, the smallest `tolerance` that the guess could pass with; the default is about twice as wide.
    test : mapping or None
        For a test what it could show, by public numbers alone: "level", which its own p-value must reach now;
        "least_p_value", the smallest that it can give; "can_reject", whether any rows could be rejected; "method",
        "replicates" and "proved" ("exact", "empirical" or "asymptotic"), how it would be run and how its own level is
        known; "certified"; "inconclusive", how often it decides nothing in the best case; "advice", what would work.
    passes_within : (float, float) or None
        For a check, between which values of the rows the guess passes; None where more than their mean decides.
    failure_price : Price or None
        For a check, by what part later intervals and that of a final become wider if the guess fails near its rows; one
        that is far off costs a little more.
    advice : str
        A sentence about another policy that would give a much narrower answer; empty where there is none. It recommends
        a reserve for a final that a privacy budget makes wide.

    Examples
    --------
    >>> print(Estimate(None, 0.02, True))
    admitted, within 0.02
    >>> print(Estimate(None, None, True, test={"level": 0.0017, "least_p_value": 0.00017, "inconclusive": 0.0}))
    admitted, rejects at p <= 0.0017 (smallest possible about 0.00017)
    """

    cost: Cost | None
    half_width: float | None
    admitted: bool
    repeated: bool = False
    reason: str = ""
    remaining: Mapping[str, Any] = field(default_factory=dict)
    least_tolerance: float | None = None
    test: Mapping[str, Any] | None = None
    passes_within: tuple[float, float] | None = None
    failure_price: Price | None = None
    advice: str = ""

    def __str__(self) -> str:
        if not self.admitted:
            return f"refused: {self.reason}"
        parts = ["stored, free" if self.repeated else "admitted"]
        parts += [] if self.cost is None or self.repeated else [f"cost {self.cost}"]
        parts += [] if self.half_width is None else [f"within {self.half_width:.4g}"]
        if self.test is not None:
            parts.append(
                f"rejects at p <= {self.test['level']:.2g} (smallest possible about {self.test['least_p_value']:.2g})"
            )
            parts += (
                [f"inconclusive with probability {self.test['inconclusive']:.2g}"] if self.test["inconclusive"] else []
            )
        return ", ".join(parts) + (f". {self.advice}" if self.advice else "")

    def check_sentences(self) -> list[str]:
        """Return sentences that say when the guess passes, and what it costs if it fails. An empty list for questions
        without a guess.

        Examples
        --------
        >>> found = Estimate(None, 0.05, True, passes_within=(0.78, 0.84), failure_price=Price(0.32, 1.23))
        >>> print(*found.check_sentences())
        The guess passes if the rows give a value in [0.78, 0.84]. If it only just fails, later intervals are 32% wider,
        a final's 123%; if it is further off, they are wider still.
        """
        sentences = []
        if self.passes_within is not None:
            low, high = self.passes_within
            sentences.append(f"The guess passes if the rows give a value in [{low:.4g}, {high:.4g}].")
        price = self.failure_price
        wider = "" if price is None else wider_words(price.questions, price.final)
        return sentences + (
            [f"If it only just fails, later intervals are {wider}; if it is further off, they are wider still."]
            if wider
            else []
        )

    def test_sentences(self) -> list[str]:
        """Return sentences that say what a test could show. An empty list for other kinds of question.

        Examples
        --------
        >>> from holdfast.inference.private_tests import discrete_laplace
        >>> from holdfast.inference.private_tests.reach import independence_reach
        >>> reach = independence_reach(50_000, (2, 2), discrete_laplace(0.01), 0.0017)
        >>> print(*Estimate(None, None, True, test=reach.to_dict()).test_sentences())
        It rejects where its own p-value is at most 0.0017; the smallest that it can give is about 0.00017. Its own
        level is empirical, so the answer will not be certified.
        """
        if self.test is None:
            return []
        sentences = [
            f"It rejects where its own p-value is at most {self.test['level']:.2g}; the smallest that it can give is "
            f"about {self.test['least_p_value']:.2g}."
        ]
        sentences += [] if self.test["can_reject"] else ["No rows could make it reject."]
        if self.test["proved"] != "exact":
            sentences.append(f"Its own level is {self.test['proved']}, so the answer will not be certified.")
        elif not self.test["certified"]:
            sentences.append("After what happened to this guard no answer of it is certified.")
        return sentences + [f"{one[:1].upper()}{one[1:]}." for one in self.test["advice"]]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "cost": None if self.cost is None else self.cost.to_dict(),
            "half_width": self.half_width,
            "admitted": self.admitted,
            "repeated": self.repeated,
            "reason": self.reason,
            "remaining": dict(self.remaining),
            "least_tolerance": self.least_tolerance,
            "test": None if self.test is None else dict(self.test),
            "passes_within": None if self.passes_within is None else list(self.passes_within),
            "failure_price": None if self.failure_price is None else self.failure_price.to_dict(),
            "advice": self.advice,
        }


def of_question(ledger: Ledger, request: Request, followers: tuple[Ledger, ...] = ()) -> Estimate:
    """What a question of a guard would cost and give; with the ledgers of later epochs, a question about all epochs."""
    state = ledger.look(partial(state_of, followers=followers))
    bound = ledger.look(partial(in_phase, state=state, request=bind(request, state)))
    return ledger.look(partial(estimate, request=bound))


def estimate(view: View, request: BoundRequest) -> Estimate:
    """Return what a question would cost and how wide its answer would be, if it were asked next."""
    state, bound = state_of(view, request.followers), request.bound
    accounts = Accounts.of(view, state.policy, request.analyst)
    left = accounts.remaining(state.policy)
    test: Mapping[str, Any] | None = None
    try:
        entry = find_answer(view, request)
        if entry is not None:
            width = GuardedAnswer.stored(entry.body["answer"], entry.sequence, True, None).half_width
            return Estimate(bound.cost, width, True, True, "", left)
        charged = charge(view, state, request)
        admit_followers(request)
        situation = replace(situation_of(state, charged), progress=accounts.acting(state.policy).progress)
        test = bound.prospect(situation)
        if test is not None and state.caveats:
            test = {**test, "certified": False}
        bound.require_useful(situation)
    except (BudgetExhausted, QuestionRefused) as refusal:
        return Estimate(bound.cost, None, False, reason=str(refusal), remaining=left, test=test)
    try:
        width, least = bound.half_width(situation), bound.least_tolerance(situation)
    except (GuaranteeUnavailable, InvalidParameter) as reason:
        return Estimate(bound.cost, None, False, reason=str(reason), remaining=left, test=test)
    left, within = charged.remaining(state.policy), bound.passes_within(situation)
    price, advice = _failure_price(bound, situation), bound.advice(situation)
    return Estimate(bound.cost, width, True, False, "", left, least, test, within, price, advice)


def _failure_price(bound: BoundQuestion, situation: Situation) -> Price | None:
    message = bound.near_failure(situation)
    if message is None:
        return None
    after = situation.budget.budget.after(situation.course, [message])
    return situation.budget.price_between(situation.course, after, situation.spent)


def level(ledger: Ledger, alpha: float, analyst: str | None = None) -> float:
    """The level at which a further p-value must reject; `GuaranteeUnavailable` after an override or an overlap."""
    budget, used = ledger.look(partial(_kept, analyst=analyst))
    return budget.level(alpha, used.progress.course, used.spent)


def adjusted(ledger: Ledger, p: float, analyst: str | None = None) -> float:
    """Return what a further p-value is worth; `GuaranteeUnavailable` after an override or an overlap."""
    budget, used = ledger.look(partial(_kept, analyst=analyst))
    return budget.adjusted(p, used.progress.course, used.spent)


def _kept(view: View, analyst: str | None) -> tuple[GuardBudget, Account]:
    """The budget of a guard whose caps were kept, and what was used of it: by all together, or by one analyst alone.

    A bare number could not say that it is not certified, so there is none where a cap was not kept.
    """
    state = GuardState.of(view)
    state.require_kept("a further p-value cannot be corrected; test on fresh rows")
    if state.policy.histories == "together":
        return budget_of(state), _not_ended(read_account(view.account, state.policy)[1])
    if analyst is None or analyst not in (state.policy.analysts or {}):
        raise GuaranteeUnavailable(
            "this guard keeps a separate history for each analyst, so a p-value is corrected for the analyst who "
            "chose the test; give the name of an analyst of the policy"
        )
    return budget_of(state, analyst), _not_ended(read_account(view.account, state.policy, analyst)[1])


def _not_ended(account: Account) -> Account:
    """The account itself; `GuaranteeUnavailable` where exact values were shown, which have no prior weight."""
    if account.progress.finals:
        raise GuaranteeUnavailable(
            "no more p-values of these rows can be corrected, because a final or `close` has shown exact values of "
            "the rows; use rows that no analysis has seen"
        )
    return account


_NEXT: dict[str, dict[str, Any]] = {"check": {"guess": 0.5}, "mean": {}}
"""The kinds whose next width says how sharp a guard is, and their fields besides the expression."""


def next_kinds(kinds: Sequence[str] | None, answers: str) -> list[str]:
    """Return of "check" and "mean" those that a policy allows; where it plans means, a check is as wide as a mean.

    Examples
    --------
    >>> next_kinds(("claim", "check", "mean"), "mixed"), next_kinds(("check", "mean"), "means")
    (['check', 'mean'], ['mean'])
    """
    return [kind for kind in _NEXT if kind in (kinds or ()) and (kind == "mean" or answers != "means")]


def next_widths(
    policy: Policy,
    schema: Schema,
    n: int,
    situation: Callable[[BoundQuestion], Situation],
    kinds: Sequence[str] | None = None,
) -> dict[str, float]:
    """Return the half-width of the next check and the next noisy mean, of a condition that half of the rows meet.

    That is where an interval is widest. The check names no tolerance, and its guess passes. A kind that would be
    refused is left out.

    Parameters
    ----------
    policy, schema, n
        What the questions are bound to; the columns decide nothing.
    situation : callable
        Where the run stands for a bound question. It raises where the question would be refused.
    kinds : sequence of str, optional
        Which kinds; by default all that the policy allows.

    Examples
    --------
    >>> policy = Policy(questions=500)
    >>> begun = Situation(GuardBudget(32_561, policy), Progress())
    >>> round(next_widths(policy, Schema({"age": "integer"}), 32_561, lambda _: begun)["check"], 3)
    0.032
    """
    condition = to_json(tree.IsNull(tree.Name(schema.columns[0].name)))
    widths = {}
    for kind in next_kinds(policy.kinds if kinds is None else kinds, policy.answers):
        try:
            question = Question.from_dict({"kind": kind, "expression": condition, **_NEXT[kind]})
            bound = question.bind(schema, n, policy)
            width = bound.half_width(situation(bound))
        except HoldfastError:  # nothing is left, or the policy names no cost: then there is nothing to say
            continue
        if width is not None:
            widths[kind] = width
    return widths


def private_width(policy: Policy, schema: Schema, n: int) -> float | None:
    """How wide the first noisy mean would be, as a part of its range; None where the policy allows none of that price.

    It is the half-width of a condition that half of the rows meet. A large privacy cap makes it wide: every interval
    is corrected for all that the cap may tell. A small one makes the noise large.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> schema = Schema({"age": "integer"})
    >>> for cap in (1.0, 0.1, 0.01):
    ...     policy = Policy(questions=500, privacy=PureDP(cap), spend=PureDP(cap / 20))
    ...     print(cap, round(private_width(policy, schema, 32_561), 3))
    1.0 0.252
    0.1 0.111
    0.01 0.5
    """
    if policy.privacy is None or policy.answers == "means" or "mean" not in (policy.kinds or ()):
        return None
    budget = GuardBudget(n, policy)
    widths = next_widths(policy, schema, n, lambda bound: Situation(budget, Progress(), bound.cost), ("mean",))
    return widths.get("mean")


def narrowest_privacy(policy: Policy, schema: Schema, n: int) -> tuple[Policy, float] | None:
    """The same number of noisy means under the smaller cap that makes the first of them narrowest; None for none."""
    if not isinstance(policy.privacy, PureDP) or not isinstance(policy.spend, PureDP):
        return None
    cap, spend = policy.privacy.epsilon, policy.spend.epsilon
    narrower = []
    for power in range(1, 13):
        smaller = replace(policy, privacy=PureDP(cap / 2**power), spend=PureDP(spend / 2**power))
        width = private_width(smaller, schema, n)
        narrower += [] if width is None else [(width, -power, smaller)]
    return None if not narrower else (min(narrower)[2], min(narrower)[0])


def final_advice(policy: Policy, schema: Schema, n: int) -> str:
    """Return a sentence that recommends a reserve, where the privacy cap would make a final wide; empty elsewhere.

    Examples
    --------
    >>> from holdfast.accounting.costs import ZCDP
    >>> wide = Policy(questions=50, privacy=ZCDP(0.005))
    >>> print(final_advice(wide, Schema({"age": "integer"}), 4000))
    A final on all rows would be within 0.26. A final on rows that were reserved would be within about 0.025: the
    privacy budget does not widen it. Reserve rows when a guard is opened (reserve=0.5).
    >>> final_advice(replace(wide, reserve=0.5), Schema({"age": "integer"}), 4000)
    ''
    """
    if policy.privacy is None or policy.answers == "means" or "final" not in (policy.kinds or ()):
        return ""
    condition = tree.IsNull(tree.Name(schema.columns[0].name))
    try:
        bound = Final({"one": to_json(condition)}).bind(schema, n, policy)
        situation = Situation(GuardBudget(n, policy), Progress())
        width, advice = bound.half_width(situation), bound.advice(situation)
    except HoldfastError:  # nothing is kept for a final
        return ""
    return f"A final on all rows would be within {width:.2g}. {advice}" if advice else ""
