"""The kind `best`: which of several candidates is best on the rows. Shows its name, and its value if asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from holdfast.core import arguments
from holdfast.core.checkpoint import checkpoint
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.expressions import BoundExpression, spelled
from holdfast.guard.questions.fields import CandidatesInput, ChoiceInput, Default, FlagInput, GuessesInput, High, Low
from holdfast.guard.questions.noiseless import shown
from holdfast.guard.questions.words import number
from holdfast.holdout.error_budget import Message, log_winner_weight
from holdfast.holdout.questions import MeanQuestion, check_winner
from holdfast.holdout.transcript import THEOREM, Exact, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

MOST_CANDIDATES = 1000


def candidate_rows(
    question: Question, schema: Schema, policy: Policy, least: int, most: int = MOST_CANDIDATES, *, mixed: bool = False
) -> dict[str, BoundExpression]:
    """The expressions of a question's candidates, checked: labels, and one range for all of them.

    `mixed` allows conditions next to numbers in [0, 1].
    """
    candidates, *given = (getattr(question, name) for name in ("candidates", "low", "high", "default"))
    if not isinstance(candidates, Mapping) or not least <= len(candidates) <= most:
        got = f"{len(candidates)} labels" if isinstance(candidates, Mapping) else f"a {type(candidates).__name__}"
        raise InvalidParameter(
            f"candidates must be a mapping from {least} to {most} labels to row expressions, got {got}"
        )
    if not all(isinstance(label, str) and 0 < len(label) <= 200 and label.isprintable() for label in candidates):
        raise InvalidParameter("candidates must have printable labels of at most 200 characters")
    rows: dict[str, BoundExpression] = {}
    for label, one in candidates.items():
        checkpoint()
        rows[label] = spelled(one, schema, *given, ratios=False, columns=policy.columns)
    if len({(one.low, one.high, one.binary and not mixed) for one in rows.values()}) > 1:
        raise InvalidParameter(
            "candidates must all have the same range: either all are conditions, or all are numbers with the same "
            "low and high"
        )
    return rows


CandidateList = Annotated[
    Mapping[str, Any],
    CandidatesInput(
        label="Candidates, one per line",
        help="A candidate, as LABEL=EXPRESSION. Give the option once for each candidate. Either all expressions are "
        "conditions, or all are numbers with the same range.",
        option="--candidate",
        metavar="LABEL=EXPRESSION",
        placeholder="first: age < 30",
    ),
]
SmallerIsBetter = Annotated[
    bool,
    FlagInput(
        label="Smaller is better",
        help="The candidate with the smallest mean is the best, as for an error rate (default: the largest mean).",
    ),
]


@dataclass(frozen=True)
class Best(Question):
    """Ask which of several candidates has the best mean on the rows. The answer is the name of that candidate and, on
    request, its value.

    Use it for a round of a search. The name alone certifies nothing, so it uses no failure probability and does not
    count as a question. It widens later intervals only little if the winner was the expected one. Ask `final` for exact
    values.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.best({"young": "age < 30", "not old": "age < 50"})).value
    'not old'
    """

    kind: ClassVar[str] = "best"
    title: ClassVar[str] = "Which is best"
    purpose: ClassVar[str] = "Which of several candidates is best? For a round of a search, where its name is enough."
    place: ClassVar[int] = 14
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "best",
        "candidates": {"young": "age < 30", "rich": "income > 3000"},
        "guesses": {"young": 0.2, "rich": 0.4},
    }

    candidates: CandidateList
    guesses: Annotated[
        Mapping[str, float] | None,
        GuessesInput(
            label="Your guess for each, one per line",
            help="Your guess of one candidate's mean, from other rows, as LABEL=NUMBER; may be repeated. The "
            "candidate with the best guess is the expected winner. Without guesses, the first candidate is.",
            option="--guess",
            metavar="LABEL=NUMBER",
            placeholder="first: 0.3",
        ),
    ] = None
    show: Annotated[
        Literal["name", "value"],
        ChoiceInput(
            label="Show",
            help="What to show: name (only the name of the best candidate), or value (also check the guess of its "
            "mean, which counts as one more question). With value, every candidate needs a guess.",
            choices={"name": "its name alone", "value": "its name, and whether its guess passes"},
        ),
    ] = "name"
    smaller_is_better: SmallerIsBetter = False
    low: Low = None
    high: High = None
    default: Default = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema."""
        rows = candidate_rows(self, schema, policy, 2)
        guesses = self.guesses or {}
        if not isinstance(guesses, Mapping) or set(guesses) - set(rows):
            raise InvalidParameter("guesses must be a mapping from labels of candidates to guesses, which are numbers")
        shows_value = arguments.choice("show", self.show, ("name", "value")) == "value"
        first = next(iter(rows.values()))
        low, high = (first.low, first.high) if shows_value else (None, None)
        given = {
            label: arguments.real(f"guess of {label!r}", guess, at_least=low, at_most=high)
            for label, guess in guesses.items()
        }
        if not shows_value:
            return BestOf(rows, given, bool(self.smaller_is_better))
        missing = [label for label in rows if label not in given]
        if missing:
            raise InvalidParameter(
                f"guesses must have a guess for each candidate if show is 'value'; {missing[0]!r} has none"
            )
        return BestWithValue(rows, given, bool(self.smaller_is_better), n)

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question | None:
        """Return the stored question again, with its candidates and guesses. None if only the name was shown, which has
        no exact value.
        """
        if stored.get("show") != "value":
            return None
        rows = stored["candidates"]
        first = next(iter(rows.values()))
        return cls(
            {label: one["expression"] for label, one in rows.items()},
            stored["guesses"],
            "value",
            stored["smaller_is_better"],
            **{name: first[name] for name in ("low", "high", "default") if name in first},
        )

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line that says which candidates are compared."""
        return f"best of {', '.join(asked['candidates'])}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the label of the best candidate, and with the interval of its mean if one was asked
        for.
        """
        if answer["interval"] is None:
            return f"“{answer['value']}” is best on the rows. Nothing is claimed about its value."
        low, high = answer["interval"]
        stands = "The guess of its mean passed" if answer["passed"] else "The guess of its mean failed"
        return f"“{answer['value']}” is best on the rows. {stands}: it is between {number(low)} and {number(high)}."


class BestOf(BoundQuestion):
    """The label of the candidate with the best exact sum; the first of equals."""

    counts = False

    def __init__(self, rows: Mapping[str, BoundExpression], guesses: Mapping[str, float], smaller: bool) -> None:
        self.cost = None
        self.question = {
            "kind": "best",
            "candidates": {label: one.to_dict() for label, one in rows.items()},
            "guesses": dict(guesses),
            "smaller_is_better": smaller,
        }
        self.statistics = tuple(one.fixed_sum for one in rows.values())
        self._labels, self._smaller = tuple(rows), smaller
        sign = 1.0 if smaller else -1.0
        self._expected = sorted(
            range(len(self._labels)),
            key=lambda i: (sign * guesses[self._labels[i]] if self._labels[i] in guesses else float("inf"), i),
        )

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the winner, weighed by the rank that its guess had."""
        winner, weight = self._winner(prepared)
        guarantee = situation.guarantee(THEOREM, interval="none")
        return Settled(self._labels[winner], None, guarantee, None, Message(None, weight), asked=0)

    def _winner(self, measured: Measured) -> tuple[int, float]:
        """The place of the winner, and `ln` of the prior weight that it is this one."""
        totals = [total for (total,) in measured]
        winner = totals.index(min(totals) if self._smaller else max(totals))
        return winner, log_winner_weight(self._expected.index(winner) + 1, len(self._labels))

    def half_width(self, situation: Situation) -> float | None:
        """None: nothing is claimed."""
        return None


class BestWithValue(BestOf):
    """The winner, and a check of its guess: what it claims is one question."""

    counts = True

    def __init__(
        self, rows: Mapping[str, BoundExpression], guesses: Mapping[str, float], smaller: bool, n: int
    ) -> None:
        super().__init__(rows, guesses, smaller)
        self.question = {**self.question, "show": "value"}
        self._rows, self._guesses = tuple(rows.values()), [guesses[label] for label in rows]
        first = self._rows[0]
        self._mean = MeanQuestion("best", "auto", None, first.low, first.high, first.binary, n)

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the winner, and whether its guess passes or in which cell its mean is."""
        share = situation.log_share
        return shown(self._decide(prepared, situation.n, share), share, situation)

    def reveal(self, prepared: Measured, n: int, log_share: float) -> Exact | None:
        """Return the winner's name and the exact interval of its mean."""
        return self._decide(prepared, n, log_share).exact

    def _decide(self, measured: Measured, n: int, share: float) -> Outcome:
        winner, weight = self._winner(measured)
        label, among = self._labels[winner], len(self._labels)
        sums = self._rows[winner].summary(measured[winner][0], n)
        outcome = check_winner(self._mean, sums, self._guesses[winner], among, not self._smaller, share)
        interval = None if outcome.exact is None else outcome.exact.interval
        return replace(outcome, value=label, log_weight=outcome.log_weight + weight, exact=Exact(label, interval))

    def half_width(self, situation: Situation) -> float | None:
        """Return the largest tolerance of the guesses: how far the truth can be from one that stands."""
        each = situation.log_share - math.log(len(self._labels))
        tolerances = [self._mean.tolerance(self._mean.guess(one, None, "value", None), each) for one in self._guesses]
        return max(tolerances)
