"""Adversaries of the error budget: analysts who learn the rows from what they are shown, and ask what is flattered.

Everything that they ask about is noise, so that the truth of every column is one half. A run fails when anything that
was said of it is false: an answer on the way, what is revealed at the end, or the final. Each adversary meets the
library as it is, which may fail as often as planned and no more, and versions that are wrong on purpose, which leave
out one charge and must be caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.one_question.means import blaker, clopper_pearson
from holdfast.core.guarantee import Guarantee
from holdfast.data import tables
from holdfast.data.values import ValuesRefused
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.best import Best
from holdfast.guard.questions.check import Check
from holdfast.guard.questions.final import Final
from holdfast.guard.questions.mean import Mean
from holdfast.holdout import ReusableHoldout
from holdfast.holdout.error_budget import Course, ErrorBudget, Message
from holdfast.holdout.final import Finalists, decide_final
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.reusable import Split
from holdfast.holdout.transcript import Transcript

Columns = NDArray[np.bool_]
Weights = NDArray[np.float64]
Generator = np.random.Generator
Run = Callable[[Generator], bool]
"""One run of an adversary: whether something false was said."""

CONFIDENCE = 0.95
BETA = 0.05
ROWS = 400
TRUTH = 0.5
CANDIDATES, MODELS = 60, 16
GAP = 0.03
"""How much better than the others one of sixteen models is."""
RUNS = 2_000
BITS = (4, 12, 60)
SPREAD = 0.5 / math.sqrt(ROWS)
"""The standard deviation of the mean of a column."""
SURE = 1 - 1e-9
REFUSALS = 100
"""How often an adversary has a question refused, at most."""
FORESEEN = 20
"""Failures that earn trust in risks."""


# --- Wrong on purpose -------------------------------------------------------------------------------------------------


class NothingCharged(ErrorBudget):
    """A budget that forgets what was shown."""

    def log_prior(self, course: Course) -> float:
        """As if nothing had been shown."""
        return 0.0


class CellsFree(ErrorBudget):
    """A budget that charges passes, failures and no corrected value."""

    def _after(self, course: Course, message: Message, spends: bool = False) -> Course:
        return super()._after(course, Message(message.passed, 0.0, message.risk), spends)


class WinnersFree(ErrorBudget):
    """A budget that charges passes, failures and cells, and not which of several candidates was best."""

    def _after(self, course: Course, message: Message, spends: bool = False) -> Course:
        shown = message if message.passed is not None else Message(None)
        return super()._after(course, shown, spends)


class BetterForecast(ErrorBudget):
    """A budget that takes the better of two forecasts of every message anew, and pays nothing for having two."""

    def log_prior(self, course: Course) -> float:
        """The weight by the plan, with all that stated risks have gained."""
        return super().log_prior(replace(course, log_risk=0.0)) + course.log_risk

    def _after(self, course: Course, message: Message, spends: bool = False) -> Course:
        after = super()._after(course, message, spends)
        return replace(after, log_risk=max(course.log_risk, after.log_risk))


class StakesFree(ErrorBudget):
    """A budget from which stakes take nothing."""

    def extra(self, course: Course, spending: float) -> float:
        """Nothing beyond the turn."""
        return 0.0


def holdout_with(budget: type[ErrorBudget]) -> type[ReusableHoldout]:
    """The reusable holdout with another budget."""

    class Wrong(ReusableHoldout):
        def _transcript(self, plan: ErrorBudget, failures: int | None) -> Transcript:
            other = budget(plan.confidence, plan.questions, plan.final, plan.phases, plan.expected_failures)
            return Transcript(other, failures)

    return Wrong


class ReserveExplored(ReusableHoldout):
    """A holdout whose questions before the final read the reserved rows too."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        assert self._split is not None
        split = self._split
        self._split = Split(split.seed, split.parts, np.arange(self._rows_in_all), split.reserved)
        self._n = self._rows_in_all


class FirstReserveAgain(ReusableHoldout):
    """A holdout whose second final reads the rows of the first."""

    def _final_rows(self) -> NDArray[np.intp] | None:
        super()._final_rows()
        assert self._split is not None
        return self._split.reserved[0]


class RefusalsFree(Transcript):
    """A run in which a refusal for missing values leaves no trace, as that of any other wrong input."""

    def refuse(
        self, questions: Sequence[Mapping[str, Any]], said: str, spends: bool = True, stake: float | None = None
    ) -> ValuesRefused:
        """The error alone."""
        return ValuesRefused(said)


class HoldoutRefusesFreely(ReusableHoldout):
    """A holdout that charges no refusal."""

    def _transcript(self, plan: ErrorBudget, failures: int | None) -> Transcript:
        return RefusalsFree(plan, failures)


# --- What every adversary does ----------------------------------------------------------------------------------------


def noise(rng: Generator, columns: int, rows: int = ROWS) -> Columns:
    """Columns of fair coins."""
    drawn = np.unpackbits(np.frombuffer(rng.bytes(columns * rows // 8 + 1), dtype=np.uint8))
    return drawn[: columns * rows].reshape(columns, rows).astype(np.bool_)


def vote(columns: Columns, weights: Weights, rng: Generator) -> Columns:
    """The weighted vote of columns, ties by a coin.

    Whatever the weights, its truth is one half. When the weights come from the rows it is as flattered as can be.
    """
    score = weights @ (2.0 * columns - 1.0)
    return np.where(np.abs(score) < 1e-12, noise(rng, 1, columns.shape[1])[0], score > 0)


def misses(interval: Sequence[float] | None, truth: float = TRUTH) -> bool:
    """Whether an interval, where there is one, does not hold the truth."""
    return interval is not None and not interval[0] <= truth <= interval[1]


def any_misses(answers: Iterable[Any], truth: float = TRUTH) -> bool:
    """Whether the interval of some answer does not hold the truth."""
    return any(misses(answer.interval, truth) for answer in answers)


def named(columns: Columns) -> dict[str, Columns]:
    """The columns under names."""
    return {f"{place}": column for place, column in enumerate(columns)}


def learned_bits(holdout: ReusableHoldout, columns: Columns) -> Weights:
    """The sign of each column's deviation from one half, learned from one bit each."""
    found = [holdout.best({"yes": column, "no": ~column}).value == "yes" for column in columns]
    return np.where(found, 1.0, -1.0)


# --- Adversaries of the holdout ---------------------------------------------------------------------------------------


def bits_to_final(rng: Generator, bits: int, kind: type[ReusableHoldout] = ReusableHoldout, **plan: Any) -> bool:
    """Learn signs by bits, and bring their vote to the final."""
    holdout = kind(ROWS, confidence=CONFIDENCE, **plan)
    columns = noise(rng, bits)
    signs = learned_bits(holdout, columns)
    return misses(holdout.final({"vote": vote(columns, signs, rng)}).winner_interval)


def cells_to_final(rng: Generator, checks: int, kind: type[ReusableHoldout] = ReusableHoldout, **plan: Any) -> bool:
    """Learn values from checks that are sure to fail, in cells of half a standard deviation; everything is revealed.

    That they fail is announced by their risk, so only the cells tell something.
    """
    holdout = kind(ROWS, questions=checks, confidence=CONFIDENCE, **plan)
    columns = noise(rng, checks)
    spread = 0.5 / math.sqrt(holdout.explored)
    weights = np.zeros(checks)
    answers = []
    for place, column in enumerate(columns):
        width = holdout.least_tolerance(0.7, binary=True)
        guess = min(TRUTH + 4.5 * spread + 1.5 * width, 1.0)
        answer = holdout.check(column, guess, grid=spread / 4, side="below", risk=0.999)
        answers.append(answer)
        weights[place] = 0.0 if answer.passed else answer.value - TRUTH
    result = holdout.final({"vote": vote(columns, weights, rng)})
    return any_misses(answers) or any_misses(result.revealed) or misses(result.winner_interval)


def equal_candidates(rng: Generator, divided: bool = True) -> bool:
    """Sixty equal candidates in one final: the interval of the winner.

    Wrong on purpose: the winner has the interval of a final of its own, as if it had been the only one.
    """
    columns = noise(rng, CANDIDATES)
    finalists = named(columns)
    if not divided:
        best = max(finalists, key=lambda name: int(finalists[name].sum()))
        finalists = {best: finalists[best]}
    result = ReusableHoldout(ROWS, confidence=CONFIDENCE).final(finalists, claims={"winner": 1.0})
    return misses(result.winner_interval)


def one_is_better(rng: Generator, divided: bool = True) -> bool:
    """Sixteen models, one a little better than the others, and everything that a final can claim of them at once.

    Most often a lucky one wins, and the loss of that choice is more than nothing. Wrong on purpose: the loss is that of
    a final between the winner and the truly best one, as if these two had been all.
    """
    truths = np.full(MODELS, TRUTH)
    truths[0] += GAP
    columns = rng.random((MODELS, ROWS)) < truths[:, None]
    finalists, truth = named(columns), dict(zip(named(columns), truths, strict=True))
    if not divided:
        best = max(finalists, key=lambda name: int(finalists[name].sum()))
        finalists = {name: finalists[name] for name in {"0", best}}
    claims = ["intervals", "winner", "loss", "ranks"] if divided else ["loss"]
    result = ReusableHoldout(ROWS, confidence=CONFIDENCE).final(finalists, claims)
    assert result.loss_at_most is not None
    false = truths.max() - truth[result.winner] > result.loss_at_most
    if not divided:
        return bool(false)
    assert result.interval is not None
    assert result.better is not None
    false = false or any(misses(ends, truth[name]) for name, ends in result.interval.items())
    false = false or misses(result.winner_interval, truth[result.winner])
    return bool(false or any(truth[i] <= truth[j] for i, j in result.better))


def models_in_steps(rng: Generator, at_once: bool = True) -> bool:
    """Eight equal models far above eight equal ones: what the clear pairs set free must not go too far.

    Wrong on purpose: every pair of equal ones has the whole level, as if nothing else were left to reject.
    """
    truths = np.repeat([0.8, 0.2], MODELS // 2)
    models = named(rng.random((MODELS, ROWS)) < truths[:, None])
    if not at_once:
        pairs = [(i, j) for side in (0, MODELS // 2) for i in range(side, side + 8) for j in range(side, i)]
        finals = ({f"{i}": models[f"{i}"], f"{j}": models[f"{j}"]} for i, j in pairs)
        return any(ReusableHoldout(ROWS, confidence=CONFIDENCE).final(pair, "ranks").better for pair in finals)
    better = ReusableHoldout(ROWS, confidence=CONFIDENCE).final(models, claims="ranks").better
    assert better is not None
    return any(truths[int(i)] <= truths[int(j)] for i, j in better)


def equal_models(rng: Generator, weighted: str = "evenly") -> bool:
    """Sixteen equal models: whether any is said to be better than another.

    The weights of the pairs are even, from other rows, or, wrong on purpose, from the rows that are tested.
    """
    models = named(noise(rng, MODELS))
    other = {"evenly": None, "other rows": named(noise(rng, MODELS)), "tested rows": models}[weighted]
    result = ReusableHoldout(ROWS, confidence=CONFIDENCE).final(models, claims="ranks", other=other)
    return bool(result.better)


def models_on_a_reserve(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """Half of the rows reserved; on the others the best are found by `best`, and weights come from all of them."""
    holdout = kind(ROWS, confidence=CONFIDENCE, reserve=0.5, seed=int(rng.integers(1 << 32)))
    models = named(noise(rng, MODELS))
    holdout.best(models)
    return bool(holdout.final(models, claims="ranks").better)


def winner_to_final(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """Which of sixty equal candidates is best? The winner alone goes to the final."""
    holdout = kind(ROWS, confidence=CONFIDENCE)
    columns = named(noise(rng, CANDIDATES))
    best = holdout.best(columns).value
    return misses(holdout.final({best: columns[best]}).winner_interval)


def rounds_with_values(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout, divided: bool = True) -> bool:
    """Four rounds of sixty candidates by `best` with values, and the vote of the winners.

    Wrong on purpose: the winner is found by name, free of charge, and checked as if it had been the only candidate.
    """
    rounds = 4
    holdout = kind(ROWS, questions=rounds, confidence=CONFIDENCE)
    winners, answers = [], []
    for _ in range(rounds):
        columns = named(noise(rng, CANDIDATES))
        if divided:
            answer = holdout.best(columns, dict.fromkeys(columns, TRUTH), show="value")
            winner = answer.value
        else:
            winner = holdout.best(columns).value
            answer = holdout.check(columns[winner], TRUTH)
        winners.append(columns[winner])
        answers.append(answer)
    chosen = vote(np.array(winners), np.ones(rounds), rng)
    result = holdout.final({"vote": chosen})
    return any_misses(answers) or any_misses(result.revealed) or misses(result.winner_interval)


def risks_to_final(rng: Generator, bits: int, how: str, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """Learn signs from claims that are true of about half of all samples, with risks that are stated to gain by them.

    "half": every claim fails with probability one half, as is true. "liar": every claim is said to fail for sure, so
    that failures would be free, and passes are what the plan expects. "whim": sure to fail or sure to pass, by a coin,
    without a plan. "bank": first failures that everybody could have foreseen, which earn trust in risks, and then lies.
    """
    holdout = kind(ROWS, questions=None if how == "whim" else 1000, confidence=CONFIDENCE)
    columns = noise(rng, bits)
    signs = np.zeros(bits)
    answers = []
    if how == "bank":
        never = np.zeros(ROWS, dtype=np.bool_)
        for _ in range(FORESEEN):
            holdout.check(never, 0.9, show="bit", risk=SURE)
    for place, column in enumerate(columns):
        middle = clopper_pearson(ROWS // 2, ROWS, holdout.log_share, "lower").low
        stated = {"half": 0.5, "liar": SURE, "bank": SURE, "whim": float(rng.integers(2))}[how]
        answer = holdout.claim(column, at_least=max(0.0, middle - 1e-9), risk=stated)
        answers.append(answer)
        signs[place] = 1.0 if answer.passed else -1.0
    result = holdout.final({"vote": vote(columns, signs, rng)})
    foreseen = FORESEEN if how == "bank" else 0
    revealed = any_misses(result.revealed[:foreseen], 0.0) or any_misses(result.revealed[foreseen:])
    return any_misses(answers) or revealed or misses(result.winner_interval)


def stakes(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """Up to twenty questions that stake half of what they are told is left, and a final with the rest.

    Nothing is learned here: it is the spendings of a path that must not add up to more than was planned.
    """
    holdout = kind(ROWS, questions=1000, confidence=CONFIDENCE)
    answers = []
    for _ in range(20):
        left = holdout.budget.left(holdout._run.course)
        try:
            answers.append(holdout.check(noise(rng, 1)[0], TRUTH, stake=left / 2))
        except BudgetExhausted:  # stakes have left less than the next turn
            break
    result = holdout.final({"another": noise(rng, 1)[0]})
    return any_misses(answers) or any_misses(result.revealed) or misses(result.winner_interval)


def two_phases(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """Bits, a first final that shows thirty exact values, and a second one on the vote that follows from these."""
    rows = 600
    holdout = kind(rows, confidence=CONFIDENCE, reserve=[0.3, 0.3], seed=int(rng.integers(1 << 32)))
    columns = noise(rng, 30, rows)
    signs = learned_bits(holdout, columns[:12])
    first = vote(columns[:12], signs, rng)
    finalists = named(columns) | {"vote": first}
    result = holdout.final(finalists)
    assert result.interval is not None
    exact = np.array([result.values[name] for name in named(columns)]) - TRUTH
    second = holdout.final({"vote": vote(columns, exact, rng)})
    return any(map(misses, result.interval.values())) or misses(second.winner_interval)


def unlike_rows(rng: Generator, alike: bool = False) -> bool:
    """Two columns with equal means of means on rows that are not alike: each is favoured by one half of the rows.

    Wrong on purpose: bets with predictable sizes, in the order of the rows, which need rows that are drawn alike.
    """
    half = np.arange(ROWS) < ROWS // 2
    first = rng.random(ROWS) < np.where(half, 0.9, 0.1)
    second = rng.random(ROWS) < np.where(half, 0.1, 0.9)
    columns = np.array([first, second], dtype=np.float64)
    if alike:
        lower = Bets.on(columns[0] - columns[1], -1.0, 1.0).interval(math.log(BETA), "lower")[0]
        return lower > 0
    result = decide_final(
        Finalists.of_columns(columns, 0.0, 1.0, True),
        ("first", "second"),
        math.log(BETA),
        {"ranks": 0.5, "intervals": 0.5},
        Guarantee("holdout.error-allocation", {}, ""),
        alike=False,
    )
    assert result.interval is not None
    return bool(result.better) or any(map(misses, result.interval.values()))


# --- Adversaries of the guard -----------------------------------------------------------------------------------------

FEATURES = 8
GUARDED = 200
_PATTERNS = np.arange(1 << FEATURES)


@dataclass(frozen=True)
class People:
    """Rows with a label and eight features that have nothing to do with it; `agrees` says where they agree with it."""

    pattern: NDArray[np.int64]
    label: Columns

    @classmethod
    def draw(cls, rng: Generator) -> People:
        """Fair coins."""
        return cls(rng.integers(0, len(_PATTERNS), GUARDED), noise(rng, 1, GUARDED)[0])

    def open(self, policy: Policy) -> Guard:
        """A guard of these rows."""
        return Guard.open(None, tables.table({"p": self.pattern, "y": self.label}, engine="numpy"), policy)

    def right(self, chosen: Columns) -> Columns:
        """On which rows a rule, a label for each pattern, is right."""
        return np.asarray(chosen[self.pattern] == self.label)


def expression(chosen: Columns) -> dict[str, Any]:
    """The row expression that says whether a rule, a label for each pattern, is right."""
    return {"=": [{"column": "y"}, {"in": [{"column": "p"}, *_PATTERNS[chosen].tolist()]}]}


def feature(place: int) -> Columns:
    """The rule that says what a feature says."""
    return np.asarray((_PATTERNS >> place) & 1 == 1)


def rule_of(weights: Weights) -> Columns:
    """The rule that is the weighted vote of the first features; ties by the last one, which nobody asked about."""
    given = np.append(weights, np.zeros(FEATURES - len(weights)))
    score = given @ np.array([2.0 * feature(place) - 1.0 for place in range(FEATURES)])
    return np.where(np.abs(score) < 1e-12, feature(FEATURES - 1), score > 0)


def guard_bits(guard: Guard, places: Sequence[int], analyst: str = "ann") -> Weights:
    """The signs of features, learned from one bit each, asked together."""
    asked = [Best({"yes": expression(feature(place)), "no": expression(~feature(place))}) for place in places]
    found = guard.ask_all(asked, analyst=analyst)
    return np.array([1.0 if answer.value == "yes" else -1.0 for answer in found])


def guard_final(guard: Guard, rule: Columns, analyst: str = "ann") -> bool:
    """Whether the final's interval of a rule, or one that it reveals, misses; not where there is nothing to certify."""
    try:
        answer = guard.ask(Final({"vote": expression(rule)}), analyst=analyst)
    except (GuaranteeUnavailable, BudgetExhausted):
        return False
    revealed = any(misses(line["interval"]) for line in answer.details["revealed"])
    return revealed or misses(answer.interval["vote"])


def guard_checks(rng: Generator, charged: bool = True) -> bool:
    """Failed checks with values in a guard, the vote that follows from these, and everything revealed.

    Wrong on purpose: the final is that of a guard of the same rows that knows nothing of the checks.
    """
    people = People.draw(rng)
    guard = people.open(Policy(confidence=CONFIDENCE, questions=FEATURES))
    weights = np.zeros(FEATURES - 1)
    missed = False
    for place in range(FEATURES - 1):
        answer = guard.ask(Check(expression(feature(place)), guess=0.95, risk=0.999, side="below"), analyst="ann")
        missed = missed or misses(answer.interval)
        weights[place] = 0.0 if answer.passed else answer.value - TRUTH
    if not charged:
        guard = people.open(Policy(confidence=CONFIDENCE, questions=FEATURES))
    return missed or guard_final(guard, rule_of(weights))


def private_answers(people: People, cap: PureDP | ZCDP, bits: int) -> tuple[Guard, Weights, bool]:
    """A guard after private answers about all features but the first few, and bits about these; whether one missed."""
    private = FEATURES - 1 - bits
    spend = PureDP(cap.epsilon / private) if isinstance(cap, PureDP) else ZCDP(cap.rho / private)
    guard = people.open(Policy(confidence=CONFIDENCE, privacy=cap, questions=FEATURES))
    weights = np.zeros(FEATURES - 1)
    missed = False
    for place in range(FEATURES - 1):
        if place < bits:
            weights[place] = guard_bits(guard, [place])[0] * SPREAD
        else:
            answer = guard.ask(Mean(expression(feature(place)), spend=spend), analyst="ann")
            weights[place] = answer.value - TRUTH
            missed = missed or misses(answer.interval)
    return guard, weights, missed


def private_to_final(rng: Generator, cap: PureDP | ZCDP, bits: int = 2, corrected: bool = True) -> bool:
    """Private answers and bits in turn, and the vote of what they told.

    Wrong on purpose: the final is that of a guard of the same rows that knows nothing of the private answers.
    """
    people = People.draw(rng)
    guard, weights, missed = private_answers(people, cap, bits)
    if not corrected:
        guard = people.open(Policy(confidence=CONFIDENCE, questions=FEATURES))
    return missed or guard_final(guard, rule_of(weights))


def p_value(ones: int, rows: int) -> float:
    """The exact one-sided p-value of "right no more often than by chance"."""
    from scipy.stats import binom

    return float(binom.sf(ones - 1, rows, TRUTH))


def chosen_moment(rng: Generator, adjusted: bool = True) -> bool:
    """Bits while they come out as expected, and then a test of their vote: at the moment that promises most.

    Each is the cheaper of two messages for as long as the run goes on. Wrong on purpose: the p-value as it stands.
    """
    people = People.draw(rng)
    guard = people.open(Policy(confidence=CONFIDENCE, questions=FEATURES))
    signs: list[float] = []
    while len(signs) < FEATURES - 1 and (not signs or signs[-1] > 0):
        signs.append(float(guard_bits(guard, [len(signs)])[0]))
    p = p_value(int(people.right(rule_of(np.array(signs))).sum()), GUARDED)
    return (guard.adjusted(p) if adjusted else p) <= BETA


def private_moment(rng: Generator, cap: PureDP, adjusted: bool = True) -> bool:
    """The same test after private answers and bits; the guard's level must agree with its adjusted p-value."""
    people = People.draw(rng)
    guard, weights, _ = private_answers(people, cap, 2)
    p = p_value(int(people.right(rule_of(weights)).sum()), GUARDED)
    return (p <= guard.level(BETA) or guard.adjusted(p) <= BETA) if adjusted else p <= BETA


def several_analysts(rng: Generator, histories: str, share: bool) -> bool:
    """Ann and Bob on the same rows: both learn and end their own run, or Bob ends it with what Ann was told."""
    people = People.draw(rng)
    analysts = {"ann": 0.5, "bob": 0.5}
    policy = Policy(confidence=CONFIDENCE, questions=20, analysts=analysts, histories=histories)  # type: ignore[arg-type]
    guard = people.open(policy)
    places = range(FEATURES - 1)
    told = guard_bits(guard, places, "ann")
    if share:
        return guard_final(guard, rule_of(told), "bob")
    heard = guard_bits(guard, places, "bob")
    return guard_final(guard, rule_of(told), "ann") | guard_final(guard, rule_of(heard), "bob")


# --- The experiment ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adversary:
    """One adversary: what was planned for its run, the run, and the versions of it that are wrong on purpose.

    `caught_in` is how many runs a wrong version gets.
    """

    name: str
    planned: float
    run: Run
    wrong: tuple[tuple[str, Run], ...] = ()
    caught_in: int = 400


def _adversaries() -> tuple[Adversary, ...]:
    uncharged, free, unnamed = holdout_with(NothingCharged), holdout_with(CellsFree), holdout_with(WinnersFree)
    half = BETA / 2
    lines: list[Adversary] = []
    for bits in BITS:
        lines.append(
            Adversary(
                f"{bits} bits, vote to the final",
                BETA,
                lambda rng, k=bits: bits_to_final(rng, k),  # type: ignore[misc]
                (("messages not charged", lambda rng, k=bits: bits_to_final(rng, k, uncharged)),),  # type: ignore[misc]
            )
        )
    for bits in BITS:
        lines.append(
            Adversary(
                f"{bits} failed checks with cells, vote to the final, everything revealed",
                BETA,
                lambda rng, k=bits: cells_to_final(rng, k),  # type: ignore[misc]
                (("cells not charged", lambda rng, k=bits: cells_to_final(rng, k, free)),),  # type: ignore[misc]
                RUNS if bits < 10 else 100,
            )
        )
    for bits in BITS:
        lines.append(
            Adversary(
                f"{bits} bits, vote to the final on a reserve",
                half,
                lambda rng, k=bits: on_a_reserve(rng, k),  # type: ignore[misc]
                (("reserve explored too", lambda rng, k=bits: on_a_reserve(rng, k, ReserveExplored)),),  # type: ignore[misc]
                RUNS if bits < 10 else 400,
            )
        )
    lines += [
        Adversary(
            "12 failed checks with cells, vote to the final on a reserve, everything revealed",
            BETA,
            lambda rng: cells_to_final(rng, 12, reserve=0.5, seed=int(rng.integers(1 << 32))),
        ),
        Adversary(
            "sixty equal candidates, winner's interval",
            BETA,
            equal_candidates,
            (("lower limit not divided", lambda rng: equal_candidates(rng, divided=False)),),
        ),
        Adversary(
            "sixty equal candidates, winner by name to the final",
            BETA,
            winner_to_final,
            (("messages not charged", lambda rng: winner_to_final(rng, uncharged)),),
        ),
        Adversary(
            "sixteen models, one a little better: intervals, winner, loss and ranks",
            BETA,
            one_is_better,
            (("loss not divided", lambda rng: one_is_better(rng, divided=False)),),
        ),
        Adversary("sixteen equal models, ranks", BETA, equal_models),
        Adversary(
            "eight equal models far above eight equal ones, ranks",
            BETA,
            models_in_steps,
            (("every pair at the whole level", lambda rng: models_in_steps(rng, at_once=False)),),
            100,
        ),
        Adversary(
            "sixteen equal models, ranks weighted by other rows",
            BETA,
            lambda rng: equal_models(rng, "other rows"),
            (("weights from the tested rows", lambda rng: equal_models(rng, "tested rows")),),
            1000,
        ),
        Adversary(
            "sixteen equal models on a reserve, ranks weighted by the explored rows",
            half,
            models_on_a_reserve,
            (("weights from the tested rows too", lambda rng: models_on_a_reserve(rng, ReserveExplored)),),
            1000,
        ),
        Adversary(
            "four rounds of best with values, vote of the winners",
            BETA,
            rounds_with_values,
            (
                ("messages not charged", lambda rng: rounds_with_values(rng, uncharged)),
                ("lower limit not divided", lambda rng: rounds_with_values(rng, unnamed, divided=False)),
            ),
        ),
    ]
    better = holdout_with(BetterForecast)
    lines += [
        Adversary("12 bits with a risk of one half", BETA, lambda rng: risks_to_final(rng, 12, "half")),
        Adversary("4 bits with a risk of one half", BETA, lambda rng: risks_to_final(rng, 4, "half")),
        Adversary(
            "12 bits, every one announced as sure to fail",
            BETA,
            lambda rng: risks_to_final(rng, 12, "liar"),
            (("the better forecast of each", lambda rng: risks_to_final(rng, 12, "liar", better)),),
        ),
        Adversary(
            "12 bits, sure to fail or to pass by a coin",
            BETA,
            lambda rng: risks_to_final(rng, 12, "whim"),
            (("the better forecast of each", lambda rng: risks_to_final(rng, 12, "whim", better)),),
            60_000,  # it errs in 58 runs of 1,000
        ),
        Adversary(
            f"12 bits announced as sure to fail, after {FORESEEN} failures that were foreseen",
            BETA,
            lambda rng: risks_to_final(rng, 12, "bank"),
            (("the better forecast of each", lambda rng: risks_to_final(rng, 12, "bank", better)),),
        ),
        Adversary(
            "stakes of half of what is left",
            BETA,
            stakes,
            (("stakes not taken from what is left", lambda rng: stakes(rng, holdout_with(StakesFree))),),
        ),
        Adversary(
            "two phases: 30 exact values, vote to the second final",
            half,
            two_phases,
            (("second final on the rows of the first", lambda rng: two_phases(rng, FirstReserveAgain)),),
            100,
        ),
        Adversary(
            "rows that are not alike, ranks and intervals",
            BETA,
            unlike_rows,
            (("predictable bets in the order of the rows", lambda rng: unlike_rows(rng, alike=True)),),
            100,
        ),
    ]
    pure, concentrated = PureDP(1.0), ZCDP(0.01)
    lines += [
        Adversary(
            "7 failed checks in a guard, vote to the final, everything revealed",
            BETA,
            guard_checks,
            (("messages not charged", lambda rng: guard_checks(rng, charged=False)),),
            600,
        ),
        Adversary(
            "private answers (pure cap) and bits, vote to the final",
            BETA,
            lambda rng: private_to_final(rng, pure),
            (("private answers not corrected for", lambda rng: private_to_final(rng, pure, corrected=False)),),
            600,
        ),
        Adversary(
            "private answers (concentrated cap) and bits, vote to the final",
            BETA,
            lambda rng: private_to_final(rng, concentrated),
            (("private answers not corrected for", lambda rng: private_to_final(rng, concentrated, corrected=False)),),
            RUNS,
        ),
        Adversary(
            "p-value at a moment chosen by bits",
            BETA,
            chosen_moment,
            (("the p-value as it stands", lambda rng: chosen_moment(rng, adjusted=False)),),
            600,
        ),
        Adversary(
            "p-value after private answers and bits",
            BETA,
            lambda rng: private_moment(rng, pure),
            (("the p-value as it stands", lambda rng: private_moment(rng, pure, adjusted=False)),),
            600,
        ),
        Adversary(
            "two analysts with separate histories who keep apart",
            BETA,
            lambda rng: several_analysts(rng, "separate", share=False),
            (("they share answers", lambda rng: several_analysts(rng, "separate", share=True)),),
        ),
        Adversary(
            "two analysts with one history who share answers",
            BETA,
            lambda rng: several_analysts(rng, "together", share=True),
        ),
    ]
    unrefused = HoldoutRefusesFreely
    lines += [
        Adversary(
            f"{REFUSALS} labels from refusals for missing values, prediction to the final",
            BETA,
            lambda rng: refused_labels(rng, "array"),
            (("refusals free", lambda rng: refused_labels(rng, "array", unrefused)),),
            100,
        ),
        Adversary(
            f"{REFUSALS} labels of reserved rows from refusals, prediction to the final on the reserve",
            half,
            lambda rng: refused_labels(rng, "list", reserve=0.5, seed=int(rng.integers(1 << 32))),
            (("refusals free", lambda rng: refused_labels(rng, "list", unrefused, reserve=0.5, seed=1)),),
            100,
        ),
        Adversary(
            "finals that are refused unless they would be false",
            BETA,
            refused_finals,
            (("refusals free", lambda rng: refused_finals(rng, unrefused)),),
            100,
        ),
        Adversary(
            "finals on a reserve that are refused unless they would be false",
            half,
            lambda rng: refused_finals(rng, reserve=0.5, seed=int(rng.integers(1 << 32))),
            (("refusals free", lambda rng: refused_finals(rng, unrefused, reserve=0.5, seed=1)),),
            100,
        ),
    ]
    return tuple(lines)


def refused_labels(rng: Generator, how: str, kind: type[ReusableHoldout] = ReusableHoldout, **plan: Any) -> bool:
    """Learn the labels of rows one by one, and bring a prediction that knows them to the final.

    The column that is asked about has no value on the row if the row's label is 1, so that a refusal tells the label.
    "list": of reserved rows, whose values no question reads; that a list has something else among its numbers shows.
    """
    holdout = kind(ROWS, questions=REFUSALS, confidence=CONFIDENCE, **plan)
    labels, predicted = noise(rng, 2)
    rows = np.arange(ROWS) if holdout._split is None else holdout._split.reserved[0]
    for row in rows[:REFUSALS]:
        values: list[float | None] = [TRUTH] * ROWS
        values[row] = None if labels[row] else TRUTH
        column: Any = values if how == "list" else np.array(values, dtype=np.float64)
        try:
            holdout.check(column, TRUTH)
            predicted[row] = False
        except ValuesRefused:
            predicted[row] = True
    return misses(holdout.final({"memorised": predicted == labels}).winner_interval)


def refused_finals(rng: Generator, kind: type[ReusableHoldout] = ReusableHoldout, **plan: Any) -> bool:
    """A final of a column that has missing values unless what would be said of it is false, until one is answered."""
    holdout = kind(ROWS, confidence=CONFIDENCE, **plan)
    rows = np.arange(ROWS) if holdout._split is None else holdout._split.reserved[0]
    for column in noise(rng, REFUSALS):
        limits = blaker(int(column[rows].sum()), rows.size, holdout._run.log_final_share)
        values = column.astype(np.float64)
        if limits.low <= TRUTH <= limits.high:
            values[:] = np.nan
        try:
            return misses(holdout.final({"flattered": values}, binary=True).winner_interval)
        except ValuesRefused:
            continue
    return False


def on_a_reserve(rng: Generator, bits: int, kind: type[ReusableHoldout] = ReusableHoldout) -> bool:
    """The vote of bits, on a reserve of half of the rows."""
    return bits_to_final(rng, bits, kind, reserve=0.5, seed=int(rng.integers(1 << 32)))


ADVERSARIES = _adversaries()
