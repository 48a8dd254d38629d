"""The kind `final`: exact values of the finalists, what is claimed about them, and the end of the run."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.means import Side
from holdfast.core import arguments
from holdfast.data.expressions import tree
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, Count, Statistic
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.questions.base import BoundQuestion, Question, Settled, Situation
from holdfast.guard.questions.best import CandidateList, SmallerIsBetter, candidate_rows
from holdfast.guard.questions.expressions import BoundExpression
from holdfast.guard.questions.fields import Default, High, Low, NumberInput, WeightsInput
from holdfast.guard.questions.noiseless import power_bets, power_sums, with_default
from holdfast.guard.questions.reveal import Ending, revealed_words
from holdfast.guard.questions.words import number
from holdfast.holdout.final import CLAIMS, Finalists, decide_final, split_of
from holdfast.holdout.intervals.power_sums import NumberMean, PowerBets
from holdfast.holdout.ranks import Forecast, Ranks, forecast_from, rank, sign_statistics
from holdfast.holdout.transcript import THEOREM

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress

_MOST_RANKED = 60
_HALF = 0.5
"""The part of the rows that is recommended as a reserve."""


@dataclass(frozen=True)
class Final(Question):
    """End the run of a guard: show the exact means of the finalists (the given candidates) and certify claims about
    them.

    All finalists are fixed before the rows are read for the first of them. All statements of the final are certified
    together with the rest of the run, and every earlier answer is shown with its exact value. Nothing can be asked
    afterwards. If analysts share one history, the steward asks the final. If histories are separate, each analyst ends
    their own run.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> result = guard.ask(hf.guard.final({"young": "age < 30", "not old": "age < 50"}, claims="winner"))
    >>> result.value, result.details["winner"], [round(end, 3) for end in result.details["winner_interval"]]
    ({'not old': 0.75, 'young': 0.25}, 'not old', [0.743, 0.756])
    """

    kind: ClassVar[str] = "final"
    title: ClassVar[str] = "Final"
    purpose: ClassVar[str] = "The numbers you report: exact values of the finalists. Ends the run."
    place: ClassVar[int] = 17
    ends_run: ClassVar[bool] = True
    is_final: ClassVar[bool] = True
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "final",
        "candidates": {"young": "age < 30", "rich": "income > 3000"},
        "claims": "winner",
    }

    candidates: CandidateList
    claims: Annotated[
        str | Sequence[str] | Mapping[str, float],
        WeightsInput(
            label="Claim",
            help="What to certify: intervals (one for the mean of each finalist), winner (an interval for the best "
            "finalist, and how much better another one could be) or ranks (which finalists are certainly better than "
            "which others). Several claims share the failure probability by weights, e.g. winner=1,ranks=1.",
            choices={
                "intervals": "an interval of each",
                "winner": "the winner, and what the choice may have lost",
                "ranks": "who is certainly better than whom",
                "winner=1,ranks=1": "the winner and who is better than whom, half of the level each",
            },
            names=CLAIMS,
            metavar="[intervals|winner|ranks|CLAIM=WEIGHT,...]",
        ),
    ] = "intervals"
    smaller_is_better: SmallerIsBetter = False
    low: Low = None
    high: High = None
    default: Default = None
    phase: Annotated[
        int | None,
        NumberInput(
            label="Phase",
            help="If rows are reserved for several phases: the number of the phase that this final ends, counted "
            "from 1 (default: the current phase). Each phase has its own reserved rows.",
            at_least=1,
        ),
    ] = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        if not policy.final:
            raise QuestionRefused(
                "this guard answers no final, because its policy keeps no part of the failure probability for one "
                "(final=0)"
            )
        rows = candidate_rows(self, schema, policy, 1)
        if "ranks" in split_of(self.claims) and len(rows) > _MOST_RANKED:
            raise InvalidParameter(
                f"claims must not contain ranks for more than {_MOST_RANKED} candidates, got {len(rows)}, because "
                "ranks compare every pair; leave out some candidates, or claim the winner; nothing was spent"
            )
        phases = max(1, len(policy.reserve_parts))
        phase = None if self.phase is None else arguments.whole("phase", self.phase, at_least=1, at_most=phases)
        return Finale(rows, _spelled_claims(self.claims), bool(self.smaller_is_better), schema, n, policy, phase)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the finalists."""
        return f"final of {', '.join(asked['candidates'])}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the winner and with the certified claims."""
        details, values = answer["details"], answer["value"]
        sentence = f"“{details['winner']}” is best with {number(values[details['winner']])}."
        if details["winner_interval"] is not None:
            low, high = details["winner_interval"]
            sentence += f" The truth is between {number(low)} and {number(high)}."
        return f"{sentence} {revealed_words(details['revealed'])}"


class Finale(Ending):
    """Finalists, ready to be shown."""

    def __init__(
        self,
        rows: Mapping[str, BoundExpression],
        claims: str | dict[str, float],
        smaller: bool,
        schema: Schema,
        n: int,
        policy: Policy,
        phase: int | None = None,
    ) -> None:
        super().__init__(schema, n, policy)
        self.question = {
            "kind": "final",
            "candidates": {label: one.to_dict() for label, one in rows.items()},
            "claims": claims,
            "smaller_is_better": smaller,
        }
        self._rows, self._labels, self._claims, self._smaller = list(rows.values()), tuple(rows), claims, smaller
        self._split = split_of(claims)
        self._binary = all(one.binary for one in self._rows)
        for one in self._rows:
            one.fixed_sum.plan(schema)
            for power in () if self._binary else power_sums([one.fixed_sum]):
                power.plan(schema)
        self._phase = phase
        if phase is not None and phase > 1:  # earlier versions knew no phases: the first one is not named
            self.question["phase"] = phase

    def phases(self) -> Sequence[BoundQuestion]:
        """Return it in the phase that was named, or else in each."""
        if self._phase is not None:
            return (self,)
        earlier = []
        for phase in range(1, max(1, len(self._policy.reserve_parts)) + 1):
            one = copy.copy(self)
            one._phase, one.question = phase, {**self.question, **({"phase": phase} if phase > 1 else {})}
            earlier.append(one)
        return earlier

    def read_history(self, ledger: Ledger, progress: Progress) -> None:
        """Find the answers that will be revealed; refuse another phase than the one under way."""
        super().read_history(ledger, progress)
        if self._phase not in (None, self._finals + 1):
            raise QuestionRefused(
                f"phase must be the number of the current phase, {self._finals + 1}, got {self._phase}; nothing was "
                "spent"
            )

    def gather(self, sample: Sample) -> Any:
        """The columns of earlier questions, those of the finalists on the rows that the final is about, and a forecast.

        Where reserved rows are ranked, the explored ones say which pairs are likely to be told apart.
        """
        rows = sample.reserves[self._finals] if self._policy.reserve_parts else sample
        likely = None
        if self._policy.reserve_parts and "ranks" in self._split and len(self._rows) > 1:
            explored = self._finalists(sample)
            if isinstance(explored, NumberFinalists):
                likely = explored.statistics, sample.n
            else:
                assert explored.wins is not None
                likely = sign_statistics(explored.wins, sample.n), sample.n
        return super().gather(sample), self._finalists(rows), likely

    def _finalists(self, sample: Sample) -> Finalists:
        """What the finalists add up to: one by one, and in pairs as far as they are compared."""
        return self._conditions(sample) if self._binary else self._numbers(sample)

    def _conditions(self, sample: Sample) -> Finalists:
        count = len(self._rows)
        ones = [total // UNIT for (total,) in sample.measure([one.fixed_sum for one in self._rows])]
        pairs = self._pairs(ones)
        nodes = [with_default(one) for one in self._rows]
        counts = sample.measure([Count(tree.And((nodes[i], tree.Not(nodes[j])))) for i, j in pairs])
        wins = np.zeros((count, count), dtype=np.int64)
        for (i, j), (won,) in zip(pairs, counts, strict=True):
            wins[i, j] = won
        return Finalists(sample.n, 0.0, 1.0, True, np.array(ones, dtype=np.int64), wins)

    def _numbers(self, sample: Sample) -> Finalists:
        rows, n = self._rows, sample.n
        measured = _measured(sample, [(one,) for one in rows])
        singles = tuple(power_bets((one,), found, n) for one, found in zip(rows, measured, strict=True))
        pairs = [(i, j) for i, j in self._pairs([found[0][0] for found in measured]) if i < j]
        both = [(rows[i], rows[j]) for i, j in pairs]
        gaps = [power_bets(two, found, n) for two, found in zip(both, _measured(sample, both), strict=True)]
        return NumberFinalists(
            n, rows[0].low, rows[0].high, False, rows=singles, gaps=dict(zip(pairs, gaps, strict=True))
        )

    def _pairs(self, totals: Sequence[int]) -> list[tuple[int, int]]:
        """The ordered pairs that are compared: all of them for ranks, those with the best for what a choice lost."""
        pairs = _ordered_pairs(len(totals))
        if "ranks" in self._split:
            return pairs
        best = totals.index(min(totals) if self._smaller else max(totals))
        return [pair for pair in pairs if best in pair] if "loss" in self._split else []

    def half_width(self, situation: Situation) -> float | None:
        """Of a condition that half of the rows fulfil, where it is the winner if that is claimed.

        None for ranks, for numbers, and where the final is about reserved rows.
        """
        if not {"intervals", "winner"} & set(self._split) or not self._binary or self._policy.reserve_parts:
            return None
        return self._even_half_width(situation.n, self._log_level(situation), situation)

    def advice(self, situation: Situation) -> str:
        """Recommend a reserve where a privacy cap makes a final on all rows more than twice as wide as one on half."""
        width = None if self._policy.privacy is None else self.half_width(situation)
        if width is None:
            return ""
        try:
            reserved = replace(self._policy, reserve=_HALF).error_budget(situation.budget.analyst)
        except InvalidParameter:  # what else the policy has does not go with a reserve
            return ""
        log_level = reserved.log_beta + math.log(reserved.reserve_spending) - 1e-12
        other = self._even_half_width(situation.n // 2, log_level, situation)
        if 2 * other > width:
            return ""
        return (
            f"A final on rows that were reserved would be within about {other:.2g}: the privacy budget does not widen "
            f"it. Reserve rows when a guard is opened (reserve={_HALF:g})."
        )

    def _even_half_width(self, n: int, log_level: float, situation: Situation) -> float:
        """Of conditions that half of so many rows fulfil."""
        count, each = len(self._rows), np.full(len(self._rows), n // 2, dtype=np.int64)
        even = Finalists(n, 0.0, 1.0, True, each, np.zeros((count, count), dtype=np.int64))
        claims = {name: part for name, part in self._split.items() if name != "loss"}
        decision = decide_final(even, self._labels, log_level, claims, situation.guarantee(THEOREM))
        assert decision.winner_interval is not None
        return (decision.winner_interval[1] - decision.winner_interval[0]) / 2

    def _log_level(self, situation: Situation) -> float:
        """`ln` of the level of the final."""
        budget = situation.budget
        if self._policy.reserve_parts:
            return budget.budget.log_beta + math.log(budget.budget.reserve_spending) - 1e-12
        return budget.require(budget.final_log_share(situation.course, situation.spent))

    def settle(self, prepared: Any, situation: Situation) -> Settled:
        """Exact values, claims and every earlier answer."""
        past, finalists, likely = prepared
        log_level = self._log_level(situation)
        guarantee = situation.guarantee(THEOREM, log_share=round(log_level, 6), interval="final")
        decision = decide_final(
            finalists,
            self._labels,
            log_level,
            self._split,
            guarantee,
            greater_is_better=not self._smaller,
            forecast=None if likely is None else forecast_from(likely[0], finalists.n, likely[1], log_level),
        )
        plain = decision.to_dict()
        details = {name: plain[name] for name in ("winner", "winner_interval", "loss_at_most", "ranks", "better", "n")}
        details["claims"] = self._claims
        if len(self._policy.reserve_parts) > 1:
            details |= {"phase": self._finals + 1, "phases": len(self._policy.reserve_parts)}
        details["revealed"] = self.revealed(past, situation)
        return Settled(plain["values"], plain["interval"], guarantee, None, None, details, asked=0, finishes=True)


def _spelled_claims(claims: Any) -> str | dict[str, float]:
    """Claims in one spelling: a word where it says the same, else the part of the level of each, in one order."""
    split = split_of(claims)
    if isinstance(claims, str):
        return claims
    for word in ("intervals", "winner", "ranks"):
        if split_of(word) == split:
            return word
    return {name: split[name] for name in CLAIMS if name in split}


def _measured(sample: Sample, wanted: Sequence[tuple[BoundExpression, ...]]) -> list[Sequence[tuple[int, ...]]]:
    """The sums and the powers of each, one reading for all."""
    sums = ([one.fixed_sum for one in rows] for rows in wanted)
    statistics: list[list[Statistic]] = [[*some, *power_sums(some)] for some in sums]
    sums_in_turn = iter(sample.measure([one for some in statistics for one in some]))
    return [[next(sums_in_turn) for _ in some] for some in statistics]


@dataclass(frozen=True, repr=False, eq=False)
class NumberFinalists(Finalists):
    """Numbers that are known by what their powers add up to, and those of their differences where they are compared."""

    rows: tuple[PowerBets, ...] = ()
    gaps: Mapping[tuple[int, int], PowerBets] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many finalists there are."""
        return len(self.rows)

    @property
    def means(self) -> Any:
        """The mean of each."""
        return np.array([one.value for one in self.rows])

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """By bets that need no order, whether the rows are alike or not."""
        return NumberMean(self.rows[index]).interval(log_share, side)

    def gap_at_most(self, better: int, worse: int, log_share: float, alike: bool) -> float:
        """Return the same for a difference."""
        return NumberMean(self._gap(better, worse)).interval(log_share, "upper")[1]

    def ranks(self, log_level: float, forecast: Forecast | None, alike: bool) -> Ranks:
        """By Holm's method over bets on all differences."""
        count = self.count
        if count < 2:
            return Ranks(frozenset(), count)
        logs, each = np.zeros((count, count)), log_level - math.log(count * (count - 1))
        for i, j in _ordered_pairs(count):
            logs[i, j] = self._gap(i, j).log_p_value(0.0, each)
        return rank(logs, log_level, forecast)

    @property
    def statistics(self) -> npt.NDArray[np.float64]:
        """How much better each is than each other, in standard errors of the difference."""
        table = np.zeros((self.count, self.count))
        for i, j in _ordered_pairs(self.count):
            gap = self._gap(i, j)
            table[i, j] = (gap.mean - 0.5) * math.sqrt(max(self.n - 1, 1) / gap.central[0])
        return table

    def _gap(self, i: int, j: int) -> PowerBets:
        """The difference of two; each pair was read once."""
        return self.gaps[i, j] if (i, j) in self.gaps else self.gaps[j, i].mirrored


def _ordered_pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(count) if i != j]
