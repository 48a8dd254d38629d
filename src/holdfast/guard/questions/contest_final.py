"""The kind `contest_final`: all participants' chosen submissions, compared on rows that none of them was scored on.

The host asks it at the end of a phase. Which submissions take part was fixed by what was shown on the explored rows and
by what participants chose, so on the reserved rows classical procedures are valid as they stand, at the constant part
of the failure probability that was kept for this phase (Theorem E, condition 6). Weights of the comparisons are
computed from the explored rows, which may be used in full for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question.means import Side
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch, Held, Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter, QuestionRefused, SampleUnavailable
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import BoundQuestion, Question, Settled, Situation
from holdfast.guard.questions.fields import ChoiceInput, NumberInput, TextInput
from holdfast.guard.questions.reveal import Ending, revealed_words
from holdfast.guard.questions.score import ASSUMES_GROUPS, ASSUMPTION
from holdfast.guard.questions.small_groups import LEAST_ROWS
from holdfast.guard.questions.words import ends, number
from holdfast.guard.scoring.board import MOST_CHOSEN, Board, Metric
from holdfast.guard.scoring.grouped import group_values
from holdfast.guard.scoring.kept import is_kept, kept_in
from holdfast.guard.scoring.metrics import PairMetric, metric_of
from holdfast.guard.scoring.tally import RowTally, Tally, equal, tally
from holdfast.holdout.final import (
    CONTEST_SPLIT,
    MOST_FINALISTS,
    Finalists,
    MetricFinalists,
    decide_final,
    pair_forecast,
)
from holdfast.holdout.transcript import THEOREM

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress

MOST_WEIGHED = 20_000
"""Explored rows that say which pairs are far apart."""
MOST_CELLS = 400_000_000
"""Submissions times reserved rows that are compared value by value; 0/1 values are only counted."""
DRAWN = (
    "reserved rows drawn independently from one population, and read by nothing before this final; what was submitted "
    "was fixed without them"
)
"""What a final assumes where rows are drawn."""
DRAWN_GROUPS = DRAWN.replace("reserved rows drawn", "groups of reserved rows drawn")
"""The same where groups are."""

Column = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Finalist:
    """One submission that takes part in a final.

    Attributes
    ----------
    label : str
        The participant's name, with the submission's where several take part.
    analyst, name, sequence
        Whose it is, what it is called, and its entry.
    predictions : str
        The digest of its predictions.
    shown : float or None
        The score that was shown for it before the final.
    """

    label: str
    analyst: str
    name: str
    sequence: int
    predictions: str
    shown: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the digest, which its entry has."""
        return {
            "label": self.label,
            "analyst": self.analyst,
            "name": self.name,
            "sequence": self.sequence,
            "shown": self.shown,
        }


@dataclass(frozen=True)
class ContestFinal(Question):
    """Compare the chosen submissions of all participants of a contest on the rows that are reserved for the final.
    Shows exact scores, intervals and ranks, and ends a phase of the contest.

    Each participant takes part with the submissions of their latest `choose`, or else with one submission that is
    chosen by default. All submissions are fixed before the first of the reserved rows is read.

    The final shows the exact score of each submission with an interval, which submissions are certainly better than
    which others, and the ranks that each can have. With the policy's confidence all of these statements are true
    together. Every earlier answer gets its exact value, which only a steward can read (`Guard.revealed`). A steward
    asks the final.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy", rule="open")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(boards=[board], reserve=0.5, final=1.0))
    >>> for who, says in (("ann", False), ("bob", True)):
    ...     _ = guard.ask(hf.guard.score("income", dict.fromkeys(range(4000), says)), analyst=who)
    >>> result = guard.ask(hf.guard.contest_final("income"), analyst="host")
    >>> result.details["winner"], result.details["ranks"]
    ('ann', {'ann': [1, 1], 'bob': [2, 2]})
    """

    kind: ClassVar[str] = "contest_final"
    title: ClassVar[str] = "Final of a contest"
    purpose: ClassVar[str] = "Compare everybody's submissions on the reserved rows. Ends the phase."
    place: ClassVar[int] = 21
    needs_contest: ClassVar[bool] = True
    ends_run: ClassVar[bool] = True
    is_final: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "contest_final", "board": "income"}

    board: Annotated[str, TextInput(label="Board", help="The name of the contest's leaderboard.", argument=True)]
    default: Annotated[
        Literal["best", "latest"],
        ChoiceInput(
            label="Who chose nothing takes part with",
            help="Which submission is compared for a participant who chose none: best (the one with the best score "
            "that was shown) or latest.",
            choices={"best": "the submission with the best score shown", "latest": "the latest submission"},
        ),
    ] = "best"
    phase: Annotated[
        int,
        NumberInput(
            label="Phase",
            help="The number of the phase that this final ends, counted from 1. Each phase has its own reserved rows.",
            at_least=1,
        ),
    ] = 1

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the policy of the guard."""
        if not policy.has_contest:
            raise QuestionRefused(
                "this guard reserves no rows for a final of its leaderboards; open a guard whose policy has reserve"
            )
        if self.default not in ("best", "latest"):
            raise InvalidParameter(f"default must be one of best, latest, got {str(self.default)[:60]!r}")
        phase = arguments.whole("phase", self.phase, at_least=1, at_most=len(policy.reserve_parts))
        return ContestFinale(policy.board(self.board), self.default, phase, schema, n, policy)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the name of the leaderboard."""
        return f"final of {asked['board']}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the winner, and with the number of pairs of submissions of which one is certainly
        better.
        """
        details, winner = answer["details"], answer["details"]["winner"]
        sentence = (
            f"“{winner}” is best with {number(answer['value'][winner])}, between {ends(answer['interval'][winner])}. "
        )
        count = len(details["finalists"])
        sentence += f"{len(details['better'])} of {count * (count - 1) // 2} pairs are told apart. "
        if "revealed" in details:  # earlier versions showed them here
            return sentence + revealed_words(details["revealed"])
        return sentence + ("The steward can read earlier answers with exact values." if details["reveals"] else "")


class ContestFinale(Ending):
    """The final of a board, ready to be read."""

    def __init__(self, board: Board, default: str, phase: int, schema: Schema, n: int, policy: Policy) -> None:
        super().__init__(schema, n, policy)
        self._board, self._default, self._phase = board, default, phase
        self._finalists: tuple[Finalist, ...] = ()
        self._tallies: list[Tally] = []
        self._others: dict[Metric, list[Tally]] = {}
        self.question = {"kind": "contest_final", "board": board.name, "default": default, "phase": phase}

    def read_history(self, ledger: Ledger, progress: Progress) -> None:
        """Find who takes part with what, and the predictions that were kept.

        What is submitted or chosen while the final is computed does not change it: no participant can put it off.
        """
        self._finals = progress.finals
        if self._phase != self._finals + 1:
            raise QuestionRefused(
                f"phase must be the number of the current phase, {self._finals + 1}, got {self._phase}; nothing was "
                "spent"
            )
        entries = list(ledger.entries(1))
        self._look_back(entries)
        taken = ledger.look(lambda view: [intake_of(view, entry) for entry in entries])
        self._finalists = finalists(taken, self._board, self._default)
        if len(self._finalists) > MOST_FINALISTS:
            self._finalists = finalists(taken, self._board, self._default, most=1)
        if not self._finalists:
            raise QuestionRefused(f"nobody submitted predictions to the board {self._board.name!r}; nothing was spent")
        if len(self._finalists) > MOST_FINALISTS:
            raise QuestionRefused(
                f"a final compares at most {MOST_FINALISTS:,} participants, got {len(self._finalists):,}; nothing was "
                "spent"
            )
        self._tallies, self._others = [], {}
        for one in self._finalists:
            predictions = ledger.look(partial(kept_in, digest=one.predictions))
            self._tallies.append(tally(self._board, self._schema, predictions))
            for metric in self._board.also:
                self._others.setdefault(metric, []).append(tally(self._board.of(metric), self._schema, predictions))

    def gather(self, sample: Sample) -> Any:
        """The columns of earlier questions, and those of the finalists on the reserved and on the explored rows."""
        reserve = sample.reserves[self._finals]
        also = {metric: self._sums(reserve, tallies) for metric, tallies in self._others.items()}
        units = self._board.units(reserve.n, self._phase)
        by = self._by_group(reserve) if self._board.by_groups else {}
        return super().gather(sample), self._compared(reserve), self._explored(sample), also, units, by

    def _compared(self, rows: Sample) -> Finalists:
        """The finalists on the rows that decide."""
        board, count = self._board, len(self._finalists)
        low, high = board.range
        metric = metric_of(board, rows.n)
        if isinstance(metric, PairMetric) and board.metric != "rmse":
            return MetricFinalists.of([metric.procedure(one) for one in self._sums(rows, self._tallies)])
        if board.groups is not None:
            values = self._grouped(rows, self._tallies, self._phase) / UNIT
            return Finalists.of_columns(values * (high - low) + low, low, high, False)
        if not board.counts:
            if count * rows.n > MOST_CELLS:
                raise QuestionRefused(
                    f"with this metric, at most {MOST_CELLS // rows.n} submissions can be compared on {rows.n:,} "
                    f"reserved rows, got {count}; open a guard that reserves fewer rows"
                )
            losses = self._columns(rows, rows.n) / UNIT
            if board.metric == "rmse":
                return RootFinalists(rows.n, 0.0, high**2, False, columns=losses * high**2)
            return Finalists.of_columns(losses * (high - low) + low, low, high, False)

        def start() -> list[Any]:
            return [0, np.zeros(count, dtype=np.int64), np.zeros((count, count), dtype=np.int64)]

        def add(before: list[Any], batch: Batch) -> list[Any]:
            read, ones, wins = before
            right = self._block(batch).astype(np.float32)  # a batch has too few rows for a sum to be rounded
            ones += right.sum(axis=1, dtype=np.float64).astype(np.int64)
            wins += np.rint(right @ (1 - right).T).astype(np.int64)
            return [read + right.shape[1], ones, wins]

        read, ones, wins = rows.fold((board.key, board.label), start, add)
        _require_rows(read, rows.n)
        return Finalists(rows.n, 0.0, 1.0, True, ones, wins)

    def _explored(self, rows: Sample) -> Column | None:
        """The finalists' columns on some explored rows; None for metrics that are compared by their intervals."""
        if len(self._tallies) < 2 or not all(isinstance(one, RowTally) for one in self._tallies):
            return None
        if self._board.groups is not None:
            return self._grouped(rows, self._tallies, 0).astype(np.float64)
        return self._columns(rows, MOST_WEIGHED)

    def _grouped(self, rows: Sample, tallies: Sequence[Tally], phase: int) -> npt.NDArray[np.int64]:
        """The mean of each group's rows, one line a finalist."""
        board, by_row = tallies[0].board, [one for one in tallies if isinstance(one, RowTally)]
        return group_values(rows, board, by_row, self._board.units(rows.n, phase))

    def _sums(self, rows: Sample, tallies: Sequence[Tally]) -> list[tuple[int, ...]]:
        """What each finalist's rows add up to."""
        board = self._board
        if board.groups is not None:
            return [(int(total),) for total in self._grouped(rows, tallies, self._phase).sum(axis=1)]

        def add(before: list[Any], batch: Batch) -> list[Any]:
            pairs = zip(tallies, before, strict=True)
            return [one.add(sums, batch[board.key], batch[board.label]) for one, sums in pairs]

        sums_of = rows.fold((board.key, board.label), lambda: [one.start() for one in tallies], add)
        _require_rows(int(sums_of[0][-1]), rows.n)
        return [tuple(one.tolist()[:-1]) for one in sums_of]

    def _by_group(self, rows: Sample) -> dict[Any, tuple[int, list[tuple[int, ...]]]]:
        """How many rows each group of the board's column `by` has, and what each finalist's add up to there."""
        board, tallies, column = self._board, self._tallies, self._board.by
        assert column is not None

        def start() -> list[list[Any]]:
            return [[one.start() for one in tallies] for _ in board.by_groups]

        def add(before: list[list[Any]], batch: Batch) -> list[list[Any]]:
            for group, sums in zip(board.by_groups, before, strict=True):
                inside = equal(batch[column], group)
                keys, labels = (_where(batch[name], inside) for name in (board.key, board.label))
                for place, one in enumerate(tallies):
                    sums[place] = one.add(sums[place], keys, labels)
            return before

        by_group = rows.fold((board.key, board.label, column), start, add)
        return {
            group: (int(sums[0][-1]), [tuple(one.tolist()[:-1]) for one in sums])
            for group, sums in zip(board.by_groups, by_group, strict=True)
        }

    def _columns(self, rows: Sample, most: int) -> Column:
        """One line a finalist with the whole number of each row, of at most so many rows."""

        def add(before: tuple[int, list[Column]], batch: Batch) -> tuple[int, list[Column]]:
            (read, blocks), block = before, self._block(batch)
            if read < most:
                blocks.append(block[:, : most - read].astype(np.float64))
            return read + block.shape[1], blocks

        read, blocks = rows.fold((self._board.key, self._board.label), lambda: (0, []), add)
        _require_rows(read, rows.n)
        return np.concatenate(blocks, axis=1)

    def _block(self, batch: Batch) -> npt.NDArray[np.int64]:
        """The whole numbers of one batch, one line a finalist."""
        keys, labels = batch[self._board.key], batch[self._board.label]
        return np.stack([one.values(keys, labels) for one in self._tallies if isinstance(one, RowTally)])

    def prepare(self, measured: Any, n: int, source: Any = None) -> Any:
        """Exact scores, intervals, comparisons and ranks: their level is a constant of the policy."""
        past, compared, explored, also, rows, by = measured
        board, plan = self._board, self._policy.error_budget()
        log_level = plan.log_beta + math.log(plan.reserve_spending) - 1e-12
        forecast = (
            None if explored is None else pair_forecast(explored, rows, log_level + math.log(CONTEST_SPLIT["ranks"]))
        )
        labels = [one.label for one in self._finalists]
        # The intervals of every metric have an equal part of what is for intervals, and so have those of every group.
        parts = 1 + len(also) + len(by)
        split = CONTEST_SPLIT | {"intervals": CONTEST_SPLIT["intervals"] / parts}
        found = decide_final(
            compared,
            labels,
            log_level,
            split,
            Guarantee(THEOREM),
            greater_is_better=board.rising,
            alike=not board.known_rows,
            forecast=forecast,
        )
        each = log_level + math.log(split["intervals"]) - math.log(len(labels)) - 1e-12
        plain = found.to_dict()
        details = {name: plain[name] for name in ("winner", "ranks", "better", "n", "claims")}
        details |= {
            "board": board.name,
            "metric": board.metric,
            "rising": board.rising,
            "phase": self._phase,
            "phases": len(self._policy.reserve_parts),
            "groups": board.groups,
            "finalists": [one.to_dict() for one in self._finalists],
            "against_winner": _against(compared, labels, labels.index(found.winner)),
            "also": {metric: self._other(metric, sums, labels, rows, each) for metric, sums in also.items()},
        }
        if by:
            shown = {group: found for group, found in by.items() if found[0] >= LEAST_ROWS}
            details["also"] |= {
                self._group_name(group): self._other(board.metric, sums, labels, count, each) | {"rows": count}
                for group, (count, sums) in shown.items()
            }
            details["small_groups"] = [self._group_name(group) for group in by if group not in shown]
        return past, plain["values"], plain["interval"], details, log_level

    def settle(self, prepared: Any, situation: Situation) -> Settled:
        """The result, and every earlier answer with its exact value: as a secret, since some are not everybody's."""
        past, values, interval, details, log_level = prepared
        guarantee = situation.guarantee(THEOREM, log_share=round(log_level, 6), interval="final")
        drawn, known = (DRAWN, ASSUMPTION) if self._board.groups is None else (DRAWN_GROUPS, ASSUMES_GROUPS)
        guarantee = replace(guarantee, assumption=known if self._board.known_rows else drawn)
        late = sum(_is_intake(entry.body["question"], self._board) for entry in self.since(situation))
        revealed = self.revealed(past, situation)
        details = details | {"late": late, "reveals": len(revealed)}
        secret = {"revealed": revealed} if revealed else None
        return Settled(values, interval, guarantee, None, None, details, asked=0, finishes=True, secret=secret)

    def _group_name(self, group: Any) -> str:
        """How a result calls the metric in a group."""
        value = str(group).lower() if isinstance(group, bool) else group
        return f"{self._board.metric} where {self._board.by} is {value}"

    def _other(
        self, metric: Metric, sums: Sequence[tuple[int, ...]], labels: Sequence[str], n: int, log_share: float
    ) -> dict[str, Any]:
        """The score of each finalist by another metric of the board, and its interval at a share."""
        metric_procedure = metric_of(self._board.of(metric), n)
        read = {label: metric_procedure.read(one) for label, one in zip(labels, sums, strict=True)}
        return {
            "values": {label: found.value for label, found in read.items()},
            "interval": {label: list(found.ends(metric_procedure.share(log_share))) for label, found in read.items()},
        }


def _where(held: Held, inside: npt.NDArray[np.bool_]) -> Held:
    """The rows of a column for which it holds."""
    values, missing = held
    values_inside = Texts(values.codes[inside], values.distinct) if isinstance(values, Texts) else values[inside]
    return values_inside, None if missing is None else missing[inside]


@dataclass(frozen=True, repr=False, eq=False)
class RootFinalists(Finalists):
    """Squared errors, compared as they are; scores and limits are their roots."""

    @property
    def means(self) -> Column:
        """The roots of the means."""
        return np.asarray(np.sqrt(super().means))

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """Return the roots of the limits."""
        low, high = super().limits(index, log_share, side, alike)
        return math.sqrt(max(0.0, low)), math.sqrt(high)


def _against(compared: Finalists, labels: Sequence[str], winner: int) -> dict[str, list[int]] | None:
    """On how many rows the winner is right and each other wrong, and the other way round; None for other metrics."""
    if compared.wins is None:
        return None
    wins = compared.wins
    return {
        label: [int(wins[winner, place]), int(wins[place, winner])]
        for place, label in enumerate(labels)
        if place != winner
    }


def _is_intake(question: Mapping[str, Any], board: Board) -> bool:
    """Whether a question is a submission to this board, or a choice of one."""
    return question["kind"] in ("score", "choose") and question["board"] == board.name


def _require_rows(read: int, n: int) -> None:
    if read != n:
        raise SampleUnavailable(CHANGED)


@dataclass(frozen=True)
class Intake:
    """What a contest needs of one answered entry: a submission, a choice or a final.

    `predictions` is the digest of those that were kept, None for a model's, and `shown` is False for a submission that
    was taken without a score.
    """

    kind: str
    board: str
    analyst: str
    sequence: int
    chosen: tuple[int, ...] = ()
    name: str = ""
    predictions: str | None = None
    value: float | None = None
    shown: bool = True


_READ: dict[str, Intake | None] = {}
"""By the hash of the entry: a contest is read often, its entries never change, and to parse them takes long."""
_MOST_READ = 200_000


def intake_of(view: View, entry: Entry) -> Intake | None:
    """Return what a contest needs of an entry; None for all others. Public."""
    if entry.hash not in _READ:
        if len(_READ) >= _MOST_READ:
            _READ.clear()
        _READ[entry.hash] = _read(view, entry)
    return _READ.get(entry.hash)


def _read(view: View, entry: Entry) -> Intake | None:
    if entry.kind != "answered" or entry.analyst is None:
        return None
    body = entry.body
    question, answer = body["question"], body["answer"]
    kind = question["kind"]
    if kind not in ("score", "choose", "contest_final"):
        return None
    intake = Intake(kind, question["board"], entry.analyst, entry.sequence)
    if kind == "choose":
        return replace(intake, chosen=tuple(question["submissions"]))
    if kind == "contest_final":
        return intake
    digest = question["predictions"]
    return replace(
        intake,
        name=question["name"],
        predictions=digest if is_kept(view, digest) else None,
        value=answer["value"],
        shown=answer["details"].get("shown") is not False,
    )


def finalists(
    taken: Iterable[Intake | None], board: Board, default: str = "best", most: int = MOST_CHOSEN
) -> tuple[Finalist, ...]:
    """Return who takes part in the next final of a board with which submissions, by what was chosen so far. Public.

    Of each participant at most the first `most` that they chose take part: one, where all would be too many to compare.
    A submission of predictions takes part; a model does not, because its predictions are not kept.
    """
    sent: dict[str, dict[int, Intake]] = {}
    chosen: dict[str, tuple[int, ...]] = {}
    for one in taken:
        if one is None or one.board != board.name:
            continue
        if one.kind == "choose":
            chosen[one.analyst] = one.chosen
        elif one.predictions is not None:
            sent.setdefault(one.analyst, {})[one.sequence] = one
    found: list[Finalist] = []
    for analyst, own in sorted(sent.items()):
        numbers = (chosen.get(analyst) or (_default(own, board, default),))[:most]
        for number_ in numbers:
            entry = own[number_]
            label = analyst if len(numbers) == 1 else f"{analyst}: {entry.name or f'entry {number_}'}"
            assert entry.predictions is not None
            found.append(Finalist(label, analyst, entry.name, number_, entry.predictions, entry.value))
    return tuple(_with_own_labels(found))


def _with_own_labels(found: Sequence[Finalist]) -> list[Finalist]:
    """Labels that no two finalists share."""
    seen: set[str] = set()
    named: list[Finalist] = []
    for one in found:
        label = one.label if one.label not in seen else f"{one.label} (entry {one.sequence})"
        seen.add(label)
        named.append(replace(one, label=label))
    return named


def _default(own: Mapping[int, Intake], board: Board, default: str) -> int:
    """The submission with the best score shown, the earliest of equals; the latest where none is shown."""
    shown = {number: one.value for number, one in own.items() if one.value is not None}
    if default == "latest" or not shown:
        return max(own)
    sign = -1.0 if board.rising else 1.0
    return min(shown, key=lambda number: (sign * shown[number], number))
