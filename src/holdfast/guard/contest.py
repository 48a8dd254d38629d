"""A contest on a board: where it stands, what the host should know in time, and the result of each final.

A contest has an exploring phase, in which its board shows scores by its rule, and finals on reserved rows, one for each
phase. All of it is in the ledger, so everything here is read from there and is public to whoever reaches the guard.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape, unescape
from typing import Any, Self

from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter
from holdfast.guard.guard_budget import budget_of
from holdfast.guard.leaderboard import csv_text
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.contest_final import Intake, finalists, intake_of
from holdfast.guard.questions.reveal import exact_name
from holdfast.guard.questions.words import number
from holdfast.guard.scoring.board import Board, chosen
from holdfast.guard.scoring.metrics import metric_of
from holdfast.guard.state import GuardState, read_account
from holdfast.holdout.error_budget import Course
from holdfast.holdout.final import MOST_FINALISTS

WARN_BELOW = 0.2
"""The host is warned where no more than this part of the questions or of the failures is left, or one."""
WARN_WIDER = 2.0
"""The host is warned where a score is as much less sharp than at the beginning."""

# --- Results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ContestPlace:
    """One submission in the result of a final.

    Attributes
    ----------
    label, analyst, name, sequence
        What it is called in the result, whose it is, its own name and its entry.
    value, interval
        Its exact score on the reserved rows, and the interval that holds together with all others.
    rank : (int, int)
        The best and the worst rank that it can have.
    better_than : int
        How many others it is certainly better than.
    shown : float or None
        The score that was shown for it before the final.
    """

    label: str
    analyst: str
    name: str
    sequence: int
    value: float | None
    interval: tuple[float, float]
    rank: tuple[int, int]
    better_than: int
    shown: float | None

    @property
    def rank_text(self) -> str:
        """The ranks that it can have, in words."""
        return "–".join(str(end) for end in dict.fromkeys(self.rank))


@dataclass(frozen=True)
class ContestResult:
    """The result of one final of a contest. Everything that it claims holds at once with its confidence.

    Attributes
    ----------
    board, metric, rising
        The board, what it scores by, and whether more is better.
    phase, phases
        Which final it was, and how many there are.
    n, confidence
        The reserved rows that it was decided on, and the confidence of the whole guard.
    places : tuple of ContestPlace
        Best score first.
    better : tuple of (str, str)
        Pairs of labels of which the first is certainly better than the second.
    certified : bool
        False after a steward's override, or where another guard has some of the same rows.
    assumption : str
        What it assumes.
    also : mapping
        By further metrics of the board, and by its metric in each group of its column `by`: exact values and intervals
        by label, which hold with all the rest.
    time, dataset, sequence, hash
        When it was made, and the ledger's entry that holds it.
    receipt : mapping or None
        The server's signature over that entry, where the ledger is signed. `holdfast verify` checks it. None for a
        final of an earlier version that shows exact values of earlier answers, which are not everybody's to see.
    late : int
        How many submissions and choices came in while it was computed: they take part in the next phase.
    groups : str or None
        The column of groups, where the board has groups: `n` counts them then.
    small_groups : tuple of str
        The board's metric in groups that have fewer than 10 reserved rows, which is not shown.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy", rule="open")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(boards=[board], reserve=0.5, final=1.0))
    >>> for who, says in (("ann", False), ("bob", True)):
    ...     _ = guard.ask(hf.guard.score("income", dict.fromkeys(range(4000), says)), analyst=who)
    >>> _ = guard.ask(hf.guard.contest_final("income"), analyst="host")
    >>> (result,) = guard.contest("income").results
    >>> [(place.label, place.rank) for place in result.places], result.better
    ([('ann', (1, 1)), ('bob', (2, 2))], (('ann', 'bob'),))
    """

    board: str
    metric: str
    rising: bool
    phase: int
    phases: int
    n: int
    confidence: float
    places: tuple[ContestPlace, ...]
    better: tuple[tuple[str, str], ...]
    certified: bool
    assumption: str
    time: str
    dataset: str
    sequence: int
    hash: str
    also: Mapping[str, Any] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = field(default=None, repr=False)
    late: int = 0
    groups: str | None = None
    small_groups: tuple[str, ...] = ()

    @property
    def units(self) -> str:
        """What its scores are the mean of, and how many, in words."""
        if self.groups is None:
            return f"{self.n:,} reserved rows"
        return f"{self.n:,} reserved groups of rows by {self.groups}"

    @property
    def pairs(self) -> int:
        """How many pairs of submissions there are."""
        return len(self.places) * (len(self.places) - 1) // 2

    def __str__(self) -> str:
        lines = [self.summary]
        for place in self.places:
            value = "no score" if place.value is None else number(place.value)
            low, high = place.interval
            lines.append(f"{place.rank_text:>7}  {value} in [{low:.4g}, {high:.4g}]  {place.label}")
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """The result in one or two sentences."""
        first = self.places[0]
        beaten = {second for better, second in self.better if better == first.label}
        rivals = [place for place in self.places[1:] if place.label not in beaten]
        lead = f"{first.label} has the best score on {self.units}"
        if len(self.places) == 1:
            return f"{lead}, and is alone."
        if not rivals:
            return f"{lead} and is certainly better than all others."
        names = ", ".join(place.label for place in rivals[:3]) + (" and others" if len(rivals) > 3 else "")
        pairs_words = f"{len(self.better)} of {self.pairs} pairs are told apart"
        return f"{lead}. It cannot be told apart from {names}. {pairs_words}."

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["places"] = [
            {name: getattr(place, name) for name in place.__dataclass_fields__}
            | {"interval": list(place.interval), "rank": list(place.rank)}
            for place in self.places
        ]
        plain["better"] = [list(pair) for pair in self.better]
        plain["small_groups"] = list(self.small_groups)
        plain["receipt"] = None if self.receipt is None else dict(self.receipt)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read a result back."""
        try:
            places = tuple(
                ContestPlace(**{**one, "interval": tuple(one["interval"]), "rank": tuple(one["rank"])})
                for one in plain["places"]
            )
            better = tuple((str(first), str(second)) for first, second in plain["better"])
            small = tuple(str(name) for name in plain.get("small_groups", ()))
            return cls(**{**plain, "places": places, "better": better, "small_groups": small})
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidParameter("a contest's result must have the fields that `to_dict` returned") from error

    def to_csv(self) -> str:
        """One line for each submission, best score first, with its values and intervals by further metrics."""
        ends = [f"{metric} {what}" for metric in self.also for what in ("score", "low", "high")]
        head = ("best rank", "worst rank", "participant", "submission", "score", "low", "high", "certainly better than")
        lines = []
        for place in self.places:
            line = [*place.rank, place.analyst, place.name, place.value, *place.interval, place.better_than]
            for found in self.also.values():
                line += [found["values"][place.label], *found["interval"][place.label]]
            lines.append([*line, place.shown])
        return csv_text([*head, *ends, "shown before"], lines)

    def to_html(self) -> str:
        """One page that needs nothing else: the places, who is certainly better than whom, and the signature.

        With more than 60 submissions the page has counts of the pairs, and no receipt; `to_json()` has both.
        """
        return self._html

    def to_json(self) -> str:
        """`to_dict()` as JSON."""
        return self._json

    @cached_property
    def _html(self) -> str:
        return _page(self)

    @cached_property
    def _json(self) -> str:
        return to_json(self.to_dict())


_RESULTS: dict[tuple[str, str | None, bool], ContestResult] = {}
"""Results of finals that were held, by the hash of the entry: with their page they take a while to make."""
_MOST_RESULTS = 8


def result_of(entry: Entry, state: GuardState, ledger: Ledger) -> ContestResult:
    """Return the result that an answered final holds; the same object again while it is kept."""
    doubt = bool(state.doubt(entry.sequence))
    name = entry.hash, None if ledger.key is None else ledger.key.public, doubt
    result = _RESULTS.get(name)
    if result is None:
        result = _result(entry, doubt, ledger)
        while len(_RESULTS) >= _MOST_RESULTS:
            _RESULTS.pop(next(iter(_RESULTS)), None)
        _RESULTS[name] = result
    return result


def _result(entry: Entry, doubt: bool, ledger: Ledger) -> ContestResult:
    answer = entry.body["answer"]
    signs = ledger.key is not None and not answer["details"].get("revealed")
    receipt = Receipt.of(entry, ledger.key).to_dict() if ledger.key is not None and signs else None
    result = _from_answer(answer, entry.dataset, entry.sequence, entry.hash, entry.time)
    return replace(result, certified=result.certified and not doubt, receipt=receipt)


def _from_answer(answer: Mapping[str, Any], dataset: str, sequence: int, hash_: str, time: str) -> ContestResult:
    """What the answer of a final says, as an entry or a receipt has it."""
    details = answer["details"]
    winners = Counter(first for first, _ in details["better"])
    rising, values = details["rising"], answer["value"]
    places = [
        ContestPlace(
            one["label"],
            one["analyst"],
            one["name"],
            one["sequence"],
            values[one["label"]],
            tuple(answer["interval"][one["label"]]),
            tuple(details["ranks"][one["label"]]),
            winners[one["label"]],
            one["shown"],
        )
        for one in details["finalists"]
    ]

    def order(place: ContestPlace) -> tuple[bool, float, int]:
        value = place.value
        return value is None, 0.0 if value is None else -value if rising else value, place.sequence

    return ContestResult(
        details["board"],
        details["metric"],
        rising,
        details["phase"],
        details["phases"],
        details["n"],
        answer["guarantee"]["parameters"]["confidence"],
        tuple(sorted(places, key=order)),
        tuple((first, second) for first, second in details["better"]),
        answer["guarantee"]["certified"],
        answer["guarantee"]["assumption"],
        time,
        dataset,
        sequence,
        hash_,
        details["also"],
        None,
        details.get("late", 0),
        details.get("groups"),
        tuple(details.get("small_groups", ())),
    )


def signed_result(plain: Mapping[str, Any] | str, public_key: str | None = None) -> tuple[ContestResult, list[str]]:
    """Read an exported result, and what is wrong with it: its signature, or what it says of the signed answer.

    Parameters
    ----------
    plain : mapping or str
        What `ContestResult.to_dict` wrote, or the text of a page that `to_html` wrote.
    public_key : str, optional
        The key that must have signed it.

    Returns
    -------
    ContestResult, list of str
        The result as its receipt says it, and findings: none where the signature is right and everything that the
        file shows is what was signed. The time is part of the entry, and is not in the receipt.

    Raises
    ------
    InvalidParameter
        It is no exported result, or it holds no receipt.

    Examples
    --------
    >>> signed_result({"places": []})
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: a contest's result must have the fields that `to_dict` returned
    """
    shown = None if isinstance(plain, str) else ContestResult.from_dict(plain)
    receipt = _receipt_on(plain) if isinstance(plain, str) else Receipt.from_dict(_signed_part(shown))
    try:
        signed = _from_answer(receipt.answer, receipt.dataset, receipt.sequence, receipt.hash, "")
    except (KeyError, TypeError, ValueError):
        raise InvalidParameter("the receipt must be the receipt of a contest's final") from None
    findings = []
    if not receipt.is_signed():
        findings.append("the signature of the receipt is not that of its key")
    if public_key is not None and receipt.public_key != public_key:
        findings.append("the receipt is signed with another key than --public-key")
    if isinstance(plain, str):
        time = re.search(r"</code>, ([0-9T:.+-]*)\.</p>", plain)
        exported = replace(signed, receipt=receipt.to_dict(), time="" if time is None else time[1])
        if plain not in (exported.to_html(), replace(exported, certified=False).to_html()):
            findings.append("the page is not the one that this version makes of its receipt; check the JSON form")
        return exported, findings
    assert shown is not None
    for name in ContestResult.__dataclass_fields__:
        if name not in ("time", "receipt", "certified") and getattr(shown, name) != getattr(signed, name):
            findings.append(f"{name} is another than the signed answer has")
    if shown.certified and not signed.certified:
        findings.append("it is called certified, and the signed answer is not")
    return shown, findings


def _signed_part(shown: ContestResult | None) -> Mapping[str, Any]:
    if shown is None or shown.receipt is None:
        raise InvalidParameter(
            "the result must contain a receipt, and it has none: its ledger had no key, so the result was not signed"
        )
    return shown.receipt


def _receipt_on(page: str) -> Receipt:
    """The receipt that a page holds."""
    match = re.search(r"<pre>(.*?)</pre>", page, re.DOTALL)
    if match is None:
        raise InvalidParameter(
            "the page must contain a receipt, and it has none; verify the JSON form of the result instead"
        )
    try:
        return Receipt.from_dict(json.loads(unescape(match[1])))
    except (ValueError, RecursionError):
        raise InvalidParameter(
            "the page must contain a receipt in JSON, and the text in its place is not JSON"
        ) from None


def revealed(ledger: Ledger, board: str | None = None) -> list[dict[str, Any]]:
    """Return every answer before the first final with its exact value and interval. For stewards alone.

    They hold exact scores on the explored rows of submissions of which the board showed less, and checks of others.

    Parameters
    ----------
    ledger : Ledger
        `guard.ledger`.
    board : str, optional
        The name of the board; may be left out where there is one.

    Returns
    -------
    list of dict
        `sequence`, `value` and `interval` of each; empty before the first final.
    """
    named = chosen(ledger.look(GuardState.of).policy.boards, board)

    def work(view: View) -> list[dict[str, Any]]:
        for entry in entries:
            one = intake_of(view, entry)
            if one is not None and one.kind == "contest_final" and one.board == named.name:
                body = entry.body
                shown = body["answer"]["details"].get("revealed")  # earlier versions had them in the answer
                kept = view.secret(exact_name(one.analyst, body["digest"])) if shown is None else {"revealed": shown}
                return list(kept["revealed"]) if kept is not None else []
        return []

    entries = list(ledger.entries(1))
    return ledger.look(work)


# --- Where a contest stands -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contest:
    """Where a contest stands.

    Attributes
    ----------
    board : Board
        The board.
    phase, phases : int
        The phase that is on, counted from 1, and how many finals there are; `phase` is `phases + 1` after the last.
    explored, reserved : int and tuple of int
        The rows that scores are shown of, and those of each final.
    submissions, participants : int
        How many submissions there were, and of how many participants.
    without_score : int
        How many of them were taken without showing a score, because there was no room.
    finalists : tuple of str
        The labels of what would take part in a final now.
    half_width : float or None
        How sharp a score in the middle of the range would be now; None where none is shown, or none is certified.
    questions_left, failures_left : int or None
        What is left until scores are not shown any more, where that is limited.
    warnings : tuple of str
        What the host should know while there is room.
    results : tuple of ContestResult
        The finals so far.
    """

    board: Board
    phase: int
    phases: int
    explored: int
    reserved: tuple[int, ...]
    submissions: int
    participants: int
    without_score: int
    finalists: tuple[str, ...]
    half_width: float | None
    questions_left: int | None
    failures_left: int | None
    warnings: tuple[str, ...]
    results: tuple[ContestResult, ...]

    @property
    def ended(self) -> bool:
        """Whether the last final was held."""
        return self.phase > self.phases

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        lists = {name: list(plain[name]) for name in ("reserved", "finalists", "warnings")}
        return plain | lists | {"board": self.board.to_dict(), "results": [one.to_dict() for one in self.results]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read it back."""
        try:
            lists = {name: tuple(plain[name]) for name in ("reserved", "finalists", "warnings")}
            results = tuple(ContestResult.from_dict(one) for one in plain["results"])
            return cls(**{**plain, **lists, "board": Board.from_dict(plain["board"]), "results": results})
        except (KeyError, TypeError) as error:
            raise InvalidParameter("a contest must have the fields that `to_dict` returned") from error


def contest(ledger: Ledger, board: str | None = None) -> Contest:
    """Read where a contest stands off its ledger.

    Parameters
    ----------
    ledger : Ledger
        `guard.ledger`.
    board : str, optional
        The name of its board; may be left out where there is one.

    Returns
    -------
    Contest
        Time: one reading of the ledger.

    Raises
    ------
    InvalidParameter
        There is no such board, or no rows are reserved for its final.
    """
    state = ledger.look(GuardState.of)
    named = chosen(state.policy.boards, board)
    if not state.policy.has_contest:
        raise InvalidParameter(
            f"board must be a leaderboard with a final, and {named.name!r} has none; to hold a contest, open a guard "
            "whose policy has reserve"
        )
    entries = list(ledger.entries(1))

    def work(view: View) -> Contest:
        taken = [(one, entry) for entry in entries if (one := intake_of(view, entry)) and one.board == named.name]
        finals = [entry for one, entry in taken if one.kind == "contest_final"]
        return _stands(view, state, named, [one for one, _ in taken], finals, ledger)

    return ledger.look(work)


def _stands(
    view: View,
    state: GuardState,
    board: Board,
    taken: list[Intake],
    finals: list[Entry],
    ledger: Ledger,
) -> Contest:
    sent = [one for one in taken if one.kind == "score"]
    policy, whole = state.policy, read_account(view.account, state.policy)[1]
    progress, most = whole.progress, policy.most_questions()
    phases = len(policy.reserve_parts)
    questions = None if most is None or board.rule == "open" else max(0, most - progress.admitted)
    failures = None if policy.failures is None else max(0, policy.failures - progress.failed)
    now, then = (_half_width(state, board, course) for course in (progress.course, Course()))
    ended = progress.finals >= phases
    over = progress.finals > 0 or (policy.failures is not None and progress.failed > policy.failures)
    labels = tuple(one.label for one in finalists(taken, board))
    warnings = [] if ended else _warnings(state, board, questions, failures, now, then, over)
    warnings += [] if ended else _crowded(labels, len({one.analyst for one in sent}))
    return Contest(
        board,
        progress.finals + 1,
        phases,
        state.explored,
        tuple(state.sizes[1:]),
        len(sent),
        len({one.analyst for one in sent}),
        sum(not one.shown for one in sent),
        labels,
        None if over or ended else now,
        questions,
        failures,
        tuple(warnings),
        tuple(result_of(entry, state, ledger) for entry in finals),
    )


def _half_width(state: GuardState, board: Board, course: Course) -> float | None:
    """How sharp a score in the middle of the range is; None where none is shown or certified."""
    share = budget_of(state).log_share(course)
    if board.rule == "open" or share == -math.inf:
        return None
    metric = metric_of(board, board.units(state.explored))
    return metric.half_width(None, metric.share(share))


def _crowded(labels: Sequence[str], participants: int) -> list[str]:
    """What the host should know of a final that has about as many submissions as can be compared."""
    most, count = MOST_FINALISTS, len(labels)
    if participants > (1 - WARN_BELOW) * most:
        return [
            f"{participants:,} participants take part. A final compares at most {most:,}: with more it is refused. "
            "Close the invitations, or split the contest into guards of other rows."
        ]
    if count > most:
        return [
            f"{count:,} submissions were chosen, and a final compares at most {most:,}: each participant takes part "
            "with the first one that they named."
        ]
    if count > (1 - WARN_BELOW) * most:
        return [
            f"{count:,} submissions take part, of at most {most:,}. With more, each participant takes part with the "
            "first one that they named alone. Fewer `finalists` on the board keep the comparisons sharp."
        ]
    return []


def _warnings(
    state: GuardState,
    board: Board,
    questions: int | None,
    failures: int | None,
    now: float | None,
    then: float | None,
    over: bool,
) -> list[str]:
    """What the host should know, most urgent first."""
    still = "Submissions are still taken for the final."
    if over or (board.rule != "open" and (questions == 0 or now is None)):
        return [f"Scores are not shown any more: there is no room left to show one. {still}"]
    warnings = []
    most, planned = state.policy.failures, state.policy.most_questions()
    if failures is not None and most is not None and failures <= max(1, WARN_BELOW * most):
        warnings.append(
            f"{failures} of {most} failed claims are left. After that no score is shown. {still} Hold the final, or "
            "publish a baseline that first submissions can claim."
        )
    if questions is not None and planned is not None and questions <= max(1, WARN_BELOW * planned):
        warnings.append(f"{questions} of {planned} scores are left to show. {still}")
    if now is not None and then is not None and now > WARN_WIDER * then:
        warnings.append(
            f"A score is good to ±{number(now)} now, and was to ±{number(then)} at the beginning: what was shown costs "
            "later intervals. The final on reserved rows is as sharp as it was."
        )
    return warnings


# --- The page of a result ---------------------------------------------------------------------------------------------

STYLE = """
:root{color-scheme:light dark;--ink:#1c1f26;--soft:#5b6472;--line:#d6dae1;--back:#fff;--in:#1f5fa8}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a3abb8;--line:#3a404b;--back:#15181d;--in:#7db3ee}}
body{margin:0 auto;max-width:960px;padding:24px 16px 48px;background:var(--back);color:var(--ink);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:32px}.soft{color:var(--soft);font-size:.9rem}
table{border-collapse:collapse;width:100%;font-size:.92rem}th,td{text-align:left;padding:5px 8px;
border-bottom:1px solid var(--line)}td,th{overflow-wrap:normal}td.n,th.n{text-align:right;
font-variant-numeric:tabular-nums}td{white-space:nowrap}
.wide{overflow-x:auto}svg{max-width:100%;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}
.cell{fill:var(--in)}.frame{fill:none;stroke:var(--line)}pre{white-space:pre-wrap;font-size:.75rem}
"""
"""The style of the page: readable in light, dark and on a phone; it loads nothing."""
_MOST_DRAWN = 60


def _page(result: ContestResult) -> str:
    rows = "\n".join(
        f"<tr><td>{place.rank_text}</td><th scope=row>{escape(place.label)}</th>"
        f"<td class=n>{'' if place.value is None else number(place.value)}</td>"
        f"<td class=n>{number(place.interval[0])} to {number(place.interval[1])}</td>"
        f"<td class=n>{place.better_than}</td>"
        f"<td class=n>{'' if place.shown is None else number(place.shown)}</td></tr>"
        for place in result.places
    )
    phase = f", phase {result.phase} of {result.phases}" if result.phases > 1 else ""
    certified = "" if result.certified else " <strong>It is not certified.</strong>"
    signed = "" if result.receipt is None else _signature(result.receipt, len(result.places) <= _MOST_DRAWN)
    more = "More is better." if result.rising else "Less is better."
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Result of {escape(result.board)}</title><style>{STYLE}</style></head><body><main>
<h1>Result of {escape(result.board)}{phase}</h1>
<p>{escape(result.summary)}{certified}</p>
<p class=soft>{escape(result.metric)} on {escape(result.units)} that no submission was scored on before. {more}
Scores are exact for these rows. Intervals, ranks and comparisons hold all at once with probability
{number(result.confidence)}. Assumes: {escape(result.assumption)}.</p>
<div class=wide tabindex=0><table><thead><tr><th>Rank</th><th>Who</th><th class=n>Score</th><th class=n>True score</th>
<th class=n>Certainly better than</th><th class=n>Shown before</th></tr></thead><tbody>
{rows}
</tbody></table></div>
{_also(result)}<h2>Who is certainly better than whom</h2>
{_graph(result)}
<h2>Where this comes from</h2>
<p class=soft>Entry {result.sequence} of the ledger <code>{escape(result.dataset)}</code>, hash
<code>{escape(result.hash)}</code>, {escape(result.time)}.</p>
{signed}</main></body></html>
"""


def _also(result: ContestResult) -> str:
    """The further metrics, one table each."""
    tables = []
    head = "<thead><tr><th>Who</th><th class=n>Score</th><th class=n>True score</th></tr></thead>"
    for metric, found in result.also.items():
        lines = []
        for place in result.places:
            low, high = found["interval"][place.label]
            ends = f"{number(low)} to {number(high)}"
            cells = f"<td class=n>{number(found['values'][place.label])}</td><td class=n>{ends}</td>"
            lines.append(f"<tr><th scope=row>{escape(place.label)}</th>{cells}</tr>")
        table = f"<table>{head}<tbody>{''.join(lines)}</tbody></table>"
        tables.append(f"<h2>By {escape(metric)}</h2><div class=wide tabindex=0>{table}</div>\n")
    if result.small_groups:
        names = escape(", ".join(result.small_groups))
        tables.append(f"<p class=soft>Not shown, because fewer than 10 reserved rows are in the group: {names}.</p>\n")
    return "".join(tables)


def _signature(receipt: Mapping[str, Any], whole: bool) -> str:
    signed = f"<p class=soft>Signed with the key <code>{escape(str(receipt['public_key']))}</code>. "
    if not whole:
        return (
            f"{signed}The receipt is in the JSON form of this result: save it and check it with <code>holdfast verify "
            "FILE</code>.</p>"
        )
    return (
        f"{signed}Save this page, or its JSON form, and check it with <code>holdfast verify FILE</code>: the signature "
        "and that the tables are what was signed.</p><details><summary>The receipt"
        f"</summary><pre>{escape(json.dumps(receipt, indent=1))}</pre></details>"
    )


def _graph(result: ContestResult) -> str:
    """A square for each pair: filled where the submission of the line is certainly better than that of the column."""
    labels = [place.label for place in result.places]
    if len(labels) < 2:
        return "<p>There is one submission.</p>"
    count = f"<p>{len(result.better)} of {result.pairs} pairs are told apart.</p>"
    if len(labels) > _MOST_DRAWN:
        return f"{count}<p class=soft>The JSON form of this result names them.</p>"
    place, size, left = {label: at for at, label in enumerate(labels)}, 14, 170
    width, height = left + size * len(labels) + 4, size * (len(labels) + 1) + 4
    names = "".join(
        f'<text x="{left - 6}" y="{size * (at + 1) + 11}" text-anchor="end">{escape(label[:24])}</text>'
        f'<text x="{left + size * at + 7}" y="11" text-anchor="middle">{at + 1}</text>'
        for label, at in place.items()
    )
    cells = "".join(
        _cell(left + size * place[second], size * (place[first] + 1), size, first, second)
        for first, second in result.better
    )
    frame = f'<rect class="frame" x="{left}" y="{size}" width="{size * len(labels)}" height="{size * len(labels)}"/>'
    legend = "Lines and columns are in the order of the scores. A filled square says that the line is certainly better."
    title = "Who is certainly better than whom"
    picture = (
        f'<svg role="img" aria-label="{title}" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"{frame}{names}{cells}</svg>"
    )
    return f"{count}<p class=soft>{legend}</p><div class=wide tabindex=0>{picture}</div>"


def _cell(x: int, y: int, size: int, first: str, second: str) -> str:
    title = f"{escape(first)} is certainly better than {escape(second)}"
    ends = f'x="{x + 1}" y="{y + 1}" width="{size - 2}" height="{size - 2}"'
    return f'<rect class="cell" {ends}><title>{title}</title></rect>'
