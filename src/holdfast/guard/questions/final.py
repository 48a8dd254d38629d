"""The kind `final`: exact values of the finalists, what is claimed about them, and the end of the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from holdfast.bounds.one_question.means import MEAN_FAMILIES, Side
from holdfast.data.expressions import tree
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, Count
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.questions.base import Bound, Question, Settled, Situation
from holdfast.guard.questions.best import CandidateList, SmallerIsBetter, candidate_rows
from holdfast.guard.questions.expressions import Spelled
from holdfast.guard.questions.fields import ChoiceInput, Default, High, Low
from holdfast.guard.questions.noiseless import with_default
from holdfast.guard.questions.reveal import Ending, revealed_words
from holdfast.guard.questions.words import number
from holdfast.holdout.final import Finalists, decide_final, split_of
from holdfast.holdout.intervals.mean import MeanInterval
from holdfast.holdout.ranks import Ranks, forecast_from, sign_statistics
from holdfast.holdout.transcript import THEOREM

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

_MOST_RANKED = 60


@dataclass(frozen=True)
class Final(Question):
    """End the run: show the exact values of the finalists and certify the chosen claims about them.

    All finalists are fixed before the first is read, and everything holds at once with the rest of the run. Every
    earlier answer is revealed. Nothing can be asked after it. Where analysts share their answers, the steward
    asks it; where histories are separate, everybody ends their own.

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
        Literal["intervals", "winner", "ranks"],
        ChoiceInput(
            label="Claim",
            help="What to certify: an interval for each finalist, the winner with a bound on what the choice lost, or "
            "ranks: who is certainly better than whom, for conditions.",
            choices={
                "intervals": "an interval of each",
                "winner": "the winner, and what the choice may have lost",
                "ranks": "who is certainly better than whom",
            },
        ),
    ] = "intervals"
    smaller_is_better: SmallerIsBetter = False
    low: Low = None
    high: High = None
    default: Default = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check the question against the schema and the policy."""
        if not policy.final:
            raise QuestionRefused("the policy keeps no part of the failure probability for a final here")
        rows = candidate_rows(self, schema, policy, 1)
        split_of(self.claims)
        binary = all(one.binary for one in rows.values())
        if self.claims == "ranks" and (not binary or len(rows) > _MOST_RANKED):
            raise InvalidParameter(f"claims must not contain ranks unless there are at most {_MOST_RANKED} conditions")
        return Finale(rows, self.claims, bool(self.smaller_is_better), schema, n, policy)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return the finalists."""
        return f"final of {', '.join(asked['candidates'])}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return the winner, and what was claimed."""
        details, values = answer["details"], answer["value"]
        said = f"“{details['winner']}” is best with {number(values[details['winner']])}."
        if details["winner_interval"] is not None:
            low, high = details["winner_interval"]
            said += f" The truth is between {number(low)} and {number(high)}."
        return f"{said} {revealed_words(details['revealed'])}"


class Finale(Ending):
    """Finalists, ready to be shown."""

    def __init__(
        self, rows: Mapping[str, Spelled], claims: str, smaller: bool, schema: Schema, n: int, policy: Policy
    ) -> None:
        super().__init__(schema, n, policy)
        self.question = {
            "kind": "final",
            "candidates": {label: one.to_dict() for label, one in rows.items()},
            "claims": claims,
            "smaller_is_better": smaller,
        }
        self._rows, self._labels, self._claims, self._smaller = list(rows.values()), tuple(rows), claims, smaller
        self._binary = all(one.binary for one in self._rows)
        for one in self._rows:
            one.fixed_sum.plan(schema)

    def gather(self, sample: Sample) -> Any:
        """The columns of earlier questions, those of the finalists on the rows that the final is about, and a forecast.

        Where reserved rows are ranked, the explored ones say which pairs are likely to be told apart.
        """
        rows = sample.reserves[self._finals] if self._policy.reserve_parts else sample
        likely = None
        if self._policy.reserve_parts and self._claims == "ranks" and len(self._rows) > 1:
            explored = self._finalists(self._sums(sample), sample.n)
            assert explored.wins is not None
            likely = sign_statistics(explored.wins, sample.n), sample.n
        return super().gather(sample), self._finalists(self._sums(rows), rows.n), likely

    def _sums(self, sample: Sample) -> Any:
        """The sums of the finalists, and on how many rows each beats each other where that is claimed."""
        sums = tuple(sample.measure([one.fixed_sum for one in self._rows]))
        if self._claims == "intervals" or len(self._rows) < 2 or not self._binary:
            return sums
        totals = [total for (total,) in sums]
        best = totals.index(min(totals) if self._smaller else max(totals))
        every = range(len(self._rows))
        pairs = [(i, j) for i in every for j in every if i != j and (self._claims == "ranks" or best in (i, j))]
        nodes = [with_default(one) for one in self._rows]
        wins = sample.measure([Count(tree.And((nodes[i], tree.Not(nodes[j])))) for i, j in pairs])
        return (*sums, tuple(pairs), tuple(count for (count,) in wins))

    def half_width(self, situation: Situation) -> float | None:
        """Of a condition that half of the rows fulfil, where it is the winner if that is claimed.

        None for ranks, for numbers, and where the final is about reserved rows.
        """
        if self._claims == "ranks" or not self._binary or self._policy.reserve_parts:
            return None
        count, each = len(self._rows), np.full(len(self._rows), situation.n // 2, dtype=np.int64)
        even = Finalists(situation.n, 0.0, 1.0, True, each, np.zeros((count, count), dtype=np.int64))
        claims = {name: part for name, part in split_of(self._claims).items() if name != "loss"}
        log_level = self._log_level(situation)
        found = decide_final(even, self._labels, log_level, claims, situation.guarantee(THEOREM))
        assert found.winner_interval is not None
        return (found.winner_interval[1] - found.winner_interval[0]) / 2

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
        found = decide_final(
            finalists,
            self._labels,
            log_level,
            split_of(self._claims),
            guarantee,
            greater_is_better=not self._smaller,
            forecast=None if likely is None else forecast_from(likely[0], finalists.n, likely[1], log_level),
        )
        plain = found.to_dict()
        details = {name: plain[name] for name in ("winner", "winner_interval", "loss_at_most", "ranks", "better", "n")}
        details["claims"] = self._claims
        details["revealed"] = self.revealed(past, situation)
        return Settled(plain["values"], plain["interval"], guarantee, None, None, details, asked=0, finishes=True)

    def _finalists(self, measured: Any, n: int) -> Finalists:
        count = len(self._rows)
        sums = [total for (total,) in measured[:count]]
        if not self._binary:
            low, high = self._rows[0].low, self._rows[0].high
            means = np.array([low + (high - low) * (total / (UNIT * n)) for total in sums])
            return MeanFinalists(n, low, high, False, columns=means[:, None])
        wins = np.zeros((count, count), dtype=np.int64)
        if len(measured) > count:
            for (i, j), won in zip(measured[count], measured[count + 1], strict=True):
                wins[i, j] = won
        return Finalists(n, 0.0, 1.0, True, np.array([total // UNIT for total in sums], dtype=np.int64), wins)


@dataclass(frozen=True, repr=False, eq=False)
class MeanFinalists(Finalists):
    """Numbers that are known by their means alone: limits are those of a mean of values in the range."""

    @property
    def means(self) -> Any:
        """The mean of each."""
        assert self.columns is not None
        return np.clip(self.columns[:, 0], self.low, self.high)

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """Chernoff's interval."""
        interval = MeanInterval(MEAN_FAMILIES["kl"], self.n, self.low, self.high)
        lower, upper = interval.at(float(self.means[index]), log_share, side)
        return max(self.low, lower - interval.hair), min(self.high, upper + interval.hair)

    def gap_at_most(self, better: int, worse: int, log_share: float, alike: bool) -> float:
        """Return the same for a difference."""
        length = self.high - self.low
        interval = MeanInterval(MEAN_FAMILIES["kl"], self.n, -length, length)
        gap = float(self.means[better] - self.means[worse])
        return min(length, interval.at(gap, log_share, "upper")[1] + interval.hair)

    def ranks(self, log_level: float, forecast: Any, alike: bool) -> Ranks:
        """Refused when the question is bound: sums do not say how often one beats the other."""
        raise QuestionRefused("ranks can only be claimed for conditions")
