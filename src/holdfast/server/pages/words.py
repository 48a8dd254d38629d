"""Questions, answers and budgets in plain words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.accounting import PureDP
from holdfast.errors import HoldfastError
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimates import Estimate, next_kinds, next_widths
from holdfast.guard.guard import Guard
from holdfast.guard.guard_budget import budget_of
from holdfast.guard.ledger.entry import Entry, number_of
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.seats import seat_entries, seat_page
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import BoundQuestion, Question, Situation
from holdfast.guard.questions.words import number
from holdfast.guard.scoring.deadlines_and_quotas import deadline_words
from holdfast.guard.state import GuardState, read_account
from holdfast.mechanisms.answer import wider_words
from holdfast.server.auth.tokens import Caller

# --- Words ------------------------------------------------------------------------------------------------------------

_STATUS = {
    "open": "Open: questions are answered.",
    "paused": "Paused: nothing is answered until a steward resumes it.",
    "closed": "Closed for good.",
    "expired": "Expired: the end that the policy sets has passed.",
    "ended": "Ended: the final was held, or one more check failed than the policy allows. Nothing further is answered.",
    "damaged": "Damaged: its ledger contradicts itself. The guard answers nothing.",
}
_ACTS = {
    "opened": "the guard was opened",
    "paused": "paused",
    "resumed": "resumed",
    "closed": "closed for good",
    "override": "the policy was overridden",
    "overlapped": "another guard has some of the same rows",
    "extended": "the next epoch was opened, over new rows",
    "reserved": "paid for, not answered yet",
    "analyst": "an analyst was added",
    "refreshed": "the fingerprints that find shared rows were recorded again",
    "refused": "refused",
}


def width(value: float) -> str:
    """Return a half-width in two digits, rounded up: it is a promise.

    Examples
    --------
    >>> width(0.04911), width(3.2), width(0.0)
    ('0.05', '3.2', '0')
    """
    if value <= 0 or not math.isfinite(value):
        return number(value)
    unit = 10 ** (math.floor(math.log10(value)) - 1)
    rounded = math.ceil(value / unit - 1e-9) * unit
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:.2g}"


def question(asked: Mapping[str, Any]) -> str:
    """Return what a stored question asks, in one line.

    Examples
    --------
    >>> question({"kind": "check", "rows": [{"expression": {"<": [{"column": "age"}, 40.0]}}], "guess": 0.5})
    'age < 40: about 0.5?'
    """
    kind = Question.kinds().get(asked["kind"])
    return str(asked["kind"]) if kind is None else kind.question_words(asked)


def wider(answer: Mapping[str, Any]) -> str:
    """By how much an answer made later intervals and that of a final wider; empty where that is next to nothing."""
    return wider_words(answer.get("widening"), answer.get("final_widening"))


def act(kind: str) -> str:
    """Return what an entry that is no answer records."""
    return _ACTS.get(kind, kind)


def status_words(name: str) -> str:
    """Return a guard's status in a sentence."""
    return _STATUS.get(name, name)


def cost(plain: Mapping[str, Any] | None) -> str:
    """Return a cost.

    Examples
    --------
    >>> cost({"kind": "pure-dp", "epsilon": 0.01}), cost(None)
    ('ε 0.01', 'no privacy')
    """
    if plain is None:
        return "no privacy"
    if plain.get("epsilon") is not None:
        return f"ε {plain['epsilon']:g}"
    if plain.get("rho") is not None:
        return f"ρ {plain['rho']:g}"
    if plain.get("mu") is not None:
        return f"μ {plain['mu']:g}"
    return str(plain.get("kind"))


def outcome(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return a mark and a word for what became of a question."""
    details = answer["details"]
    if details.get("finished") is False:
        return "✗", "not finished"
    if "improved" in details:  # a ladder: its step passes where nothing is shown
        return ("✓", "new best") if details["improved"] else ("–", "not better")
    if answer["passed"] is True:
        return "✓", "passed"
    if answer["passed"] is False:
        return "✗", "failed"
    return ("•", "without noise") if is_plain(answer) else ("≈", "with noise")


def is_plain(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer has neither noise nor an interval: a plain score, a choice, the end of a run.

    Examples
    --------
    >>> is_plain({"passed": None, "cost": None, "interval": None})
    True
    >>> is_plain({"passed": None, "cost": {"kind": "pure-dp", "epsilon": 0.1}, "interval": None})
    False
    """
    return answer["passed"] is None and answer["cost"] is None and answer["interval"] is None


def value(answer: Mapping[str, Any]) -> str:
    """Return what an answer says, in one line."""
    number_shown, ends = answer["value"], answer["interval"]
    if isinstance(number_shown, Mapping):
        return f"{len(number_shown)} cells"
    if number_shown is None:
        return "no value shown"
    if isinstance(number_shown, (int, float)) and isinstance(ends, (list, tuple)):
        return f"{number(number_shown)}, between {number(ends[0])} and {number(ends[1])}"
    return number(number_shown)


def sentence(answer: Mapping[str, Any], asked: Mapping[str, Any], whose: str = "Your") -> str:
    """Return what an answer means, for somebody who has not seen one before."""
    return Question.kinds()[asked["kind"]].answer_words(asked, answer, whose)


def aside(answer: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return what else to know about an answer."""
    return Question.kinds()[asked["kind"]].effect_words(asked, answer)


def example(columns: Sequence[Mapping[str, Any]]) -> str:
    """Return a condition over some column, to show how one is written.

    Examples
    --------
    >>> example([{"name": "home town", "kind": "text"}, {"name": "age", "kind": "integer"}])
    'age > 0'
    """
    kinds = ("boolean", "integer", "number", "text", "date", "timestamp", "timestamptz")
    column_named = min(columns, key=lambda column: kinds.index(column["kind"]))
    name = (
        column_named["name"]
        if column_named["name"].isascii() and column_named["name"].isidentifier()
        else f'"{column_named["name"]}"'
    )
    special = {"boolean": name, "text": f"{name} = 'x'"} | dict.fromkeys(kinds[4:], f"year({name}) > 2000")
    return special.get(column_named["kind"], f"{name} > 0")


def policy(plain: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a policy, a line for each thing that it fixes."""
    rows = [("All intervals hold together with probability", f"{plain['confidence']:.6g}")]
    rows.append(("Questions", "no cap" if plain["questions"] is None else f"at most {plain['questions']:,}"))
    if plain["failures"] is not None:
        rows.append(("Failed checks", f"at most {plain['failures']:,}"))
    if plain["answers"] == "means":
        capped = "" if plain["privacy"] is None else f"; all of them together cost at most {cost(plain['privacy'])}"
        capped += "" if plain["privacy"] is None else ". The plan spends less if that makes the intervals narrower"
        rows.append(("Answers", f"noisy means only, with the narrowest intervals known for many of them{capped}"))
    elif plain["privacy"] is None:
        rows.append(("Private questions", "none: every answer is without noise"))
    else:
        each = "" if plain["spend"] is None else f", {cost(plain['spend'])} each unless asked otherwise"
        counted = "in all" if plain["accounting"] == "filter" else "as the unit of an odometer"
        rows.append(("Private questions", f"{cost(plain['privacy'])} {counted}{each}"))
    if plain.get("all_private"):
        rows.append(("Questions without noise", "none: everything that is released has noise"))
    if plain["holdout"] == "thresholdout":
        rows.append(("Checks", f"by Thresholdout, {plain['overfits']} overfits, {cost(plain['holdout_spend'])} paid"))
    if plain["analysts"] is not None:
        rows.append(("Shares", ", ".join(f"{name} {share:.0%}" for name, share in plain["analysts"].items())))
    free = (
        "for the analyst who asked it"
        if plain["repeats"] == "asker"
        else "for everyone, so others can find out about it"
    )
    rows.append(("The same question again is free", free))
    for name, about in (plain.get("columns") or {}).items():
        limits = [f"{number(about['low'])} to {number(about['high'])}"] if "low" in about else []
        limits += [", ".join(map(str, about["categories"][:8]))] if "categories" in about else []
        more = max(0, len(about.get("categories", ())) - 8)
        rows.append((f"Declared: {name}", "; ".join(limits) + (f" and {more} more" if more else "")))
    if plain["expires"] is not None:
        rows.append(("Until", plain["expires"][:16].replace("T", " ") + " UTC"))
    for board in plain.get("boards") or ():
        rule = {
            "intervals": "claimed scores are checked",
            "open": "plain scores, which certify nothing",
            "ladder": f"a ladder with steps of {number(board['step'] or 0)}",
        }[board["rule"]]
        rows.append((f"Board {board['name']}", f"{board['metric']} of {board['label']} by {board['key']}, {rule}"))
        if board.get("deadline"):
            rows.append(("Submissions until", "; ".join(map(deadline_words, board["deadline"]))))
        quotas = [
            f"{board[name]} {when}" for name, when in (("quota", "in all"), ("daily", "a day")) if board.get(name)
        ]
        if quotas:
            rows.append(("Submissions of each participant", " and ".join(quotas)))
        if board.get("public"):
            rows.append(("Who may see the board", "everybody, without a token"))
    if plain.get("reserve"):
        parts = " and then ".join(f"{part:.0%}" for part in plain["reserve"])
        rows.append(("Rows kept for the final" if plain.get("boards") else "Rows kept apart", parts))
    return rows


def kinds(plain: Mapping[str, Any]) -> str:
    """The kinds of question that a policy allows, by the names that people see."""
    known = Question.kinds()
    return ", ".join(known[kind].title.lower() if kind in known else kind for kind in plain["kinds"])


# --- Advice -----------------------------------------------------------------------------------------------------------
# Why a question was refused, and what would be admitted: every alternative is put to the guard before it is named.

_WHERE = {
    "budget-exhausted": "What is left of the budget is not enough for this question.",
    "question-refused": "This question may not be asked here, or not at this time.",
    "guarantee-unavailable": "No interval can be guaranteed for this question any more.",
    "invalid-parameter": "The question does not fit this data set.",
}


@dataclass(frozen=True)
class Alternative:
    """A question that would be admitted, and the words for it."""

    title: str
    words: str
    question: Mapping[str, Any]


WRONG_FIELD = "A field of the form is not filled in correctly."
"""The heading of a refusal that names a field of the form."""


def heading(code: str) -> str:
    """Return the kind of a refusal in a sentence."""
    return _WHERE.get(code, "It could not be answered.")


def plain(guard: Guard, question: Mapping[str, Any], analyst: str) -> str:
    """Why a budget does not hold a private question, in its own unit; empty where the guard's words say it well."""
    name = {"pure-dp": "epsilon", "zcdp": "rho"}.get((guard.policy.privacy or PureDP(0.0)).kind, "epsilon")
    spend = question.get("spend") or (None if guard.policy.spend is None else guard.policy.spend.to_dict())
    left = guard.remaining(analyst)
    yours, whole = left["yours"].get(name), left["total"].get(name)
    kind = Question.kinds().get(str(question.get("kind")))
    private = kind is not None and kind.is_private(question)
    if not private or not spend or spend.get(name) is None or yours is None or whole is None:
        return ""
    if spend[name] <= min(yours, whole):
        return ""
    sign = "ε" if name == "epsilon" else "ρ"
    return (
        f"It would spend {sign} {spend[name]:.3g}. You have {sign} {yours:.3g} left, "
        f"and all together {sign} {whole:.3g}."
    )


def alternatives(guard: Guard, question: Mapping[str, Any], analyst: str) -> list[Alternative]:
    """Return what would be admitted instead. Estimates spend nothing."""
    alternatives_found = []
    for title, other in _candidates(guard, question, analyst):
        try:
            estimate = guard.estimate(other, analyst=analyst)
        except HoldfastError:
            continue
        if estimate.admitted:
            alternatives_found.append(Alternative(title, promise(estimate), other))
    return alternatives_found


def promise(estimate: Estimate) -> str:
    """Return what an admitted question would cost and give.

    Examples
    --------
    >>> promise(Estimate(None, 0.02, True))
    'Costs one question and no privacy. The answer is accurate to ±0.02.'
    >>> promise(Estimate(None, 0.04, True, least_tolerance=0.021))  # doctest: +ELLIPSIS
    'Costs one question and no privacy. If the guess passes, ... The smallest tolerance that can pass is ±0.021.'
    """
    if estimate.repeated:
        return "It was answered before: the stored answer is free."
    price = (
        "one question and no privacy" if estimate.cost is None else f"one question and {cost(estimate.cost.to_dict())}"
    )
    sentences = [f"Costs {price}."]
    checked = estimate.least_tolerance is not None
    if estimate.half_width is not None:
        sentences.append(
            f"{'If the guess passes, the' if checked else 'The'} answer is accurate to ±{width(estimate.half_width)}."
        )
    if estimate.least_tolerance is not None:
        sentences.append(f"The smallest tolerance that can pass is ±{width(estimate.least_tolerance)}.")
    sentences += [*estimate.check_sentences(), *estimate.test_sentences(), estimate.advice]
    return " ".join(filter(None, sentences))


def _candidates(guard: Guard, question: Mapping[str, Any], analyst: str) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = Question.kinds().get(str(question.get("kind")))
    if kind is None:
        return
    left = guard.remaining(analyst)
    name = "epsilon" if "epsilon" in left["total"] else "rho"
    least = min(left["yours"].get(name, 0.0), left["total"].get(name, 0.0))
    if kind.is_private(question) and least > 0:
        unit = "pure-dp" if name == "epsilon" else "zcdp"
        spend = {"kind": unit, name: least}
        yield f"The same for what is left, {cost(spend)}", {**question, "spend": spend}
    for title, other in kind.alternatives(question):
        if other["kind"] in (guard.policy.kinds or ()):
            yield title, other


# --- Outlook ----------------------------------------------------------------------------------------------------------
# What a glance at a guard will tell: what is left, how sharp the next answer would be, and what happened last.

_VACUOUS = 0.5
"""The half-width from which on an interval for a proportion is vacuous."""
NEXT = {"check": "A check", "mean": "A noisy mean"}
"""What the questions are called whose next width an outlook estimates."""
_SHOWN = 25
_READ = 200
_STRIP = 60


@dataclass(frozen=True)
class Gauge:
    """One budget: what is left of it, in numbers and in words."""

    name: str
    left: float
    whole: float
    words: str
    hint: str


def gauges(policy: Mapping[str, Any], remaining: Mapping[str, Any], share: float = 1.0) -> list[Gauge]:
    """Return the budgets of a policy, of which `share` is this party's.

    Examples
    --------
    >>> gauges({"questions": 10, "privacy": None}, {"questions": 4})[0].words
    '4 of 10 left'
    """
    meters = []
    if policy["questions"] is not None:
        most, left = int(round(policy["questions"] * share, 9)), remaining.get("questions", 0)
        meters.append(Gauge("Questions", left, most, f"{left:,} of {most:,} left", "Each new question takes one."))
    cap = policy["privacy"]
    if cap is not None and "spent" not in remaining and "mu" not in cap:  # a plan of means goes by questions alone
        name, sign = ("epsilon", "ε") if cap.get("epsilon") is not None else ("rho", "ρ")
        whole, left = cap[name] * share, remaining.get(name, 0.0)
        text = f"{sign} {left:.3g} of {whole:.3g} left"
        meters.append(Gauge("Privacy", left, whole, text, "Noisy answers spend it; checks do not."))
    return meters


def failures(policy: Mapping[str, Any], progress: Mapping[str, Any]) -> Gauge | None:
    """Return how many more failed checks the whole guard takes; None where they are not capped."""
    most = policy["failures"]
    if most is None:
        return None
    left = max(0, most - progress["failed"])
    return Gauge(
        "Failed checks", left, most, f"{left:,} of {most:,} left", "Each failed check of any analyst takes one."
    )


def sharpness(ledger: Ledger, analyst: str | None = None) -> list[tuple[str, float]]:
    """Return how wide the next answer would be, for a condition that holds for half of the rows, where that is widest.

    A check is one that names no tolerance, and whose guess passes. What would be refused is left out: what does not fit
    into what is left for all, or for `analyst`.
    """
    return ledger.look(lambda view: _sharpness(view, analyst))


def refused(policy: Mapping[str, Any], sharp: Sequence[tuple[str, float]]) -> list[str]:
    """Which of the two plain questions the policy allows, and would be refused now, as `sharpness` found."""
    given = {name for name, _ in sharp}
    return [NEXT[kind] for kind in next_kinds(policy["kinds"], policy["answers"]) if NEXT[kind] not in given]


def _sharpness(view: View, analyst: str | None) -> list[tuple[str, float]]:
    standing = GuardState.of(view)
    policy = standing.policy
    acting = read_account(view.account, policy, analyst if policy.histories == "separate" else None)[1]
    named = analyst is not None and (policy.analysts is None or analyst in policy.analysts)
    names = [None, analyst] if named else [None]
    if policy.histories == "separate" and named:
        names = [analyst]  # what others have used decides nothing

    def situation(bound: BoundQuestion) -> Situation:
        for name in names:
            account = read_account(view.account, policy, name)[1]
            account.charge(bound.cost, policy.most_questions(name), NEXT[bound.kind])
        return Situation(budget_of(standing, analyst), acting.progress, acting.spent)

    widths = next_widths(policy, standing.schema, standing.explored, situation)
    return [(NEXT[kind], width) for kind, width in widths.items()]


def place(text: str) -> int | None:
    """Return the number of an entry as an address gives it; None for what is none. Entries are counted from 1.

    Examples
    --------
    >>> place("17"), place("0"), place("x"), place("9" * 5000)
    (17, None, None, None)
    """
    return (int(text) or None) if text.isascii() and text.isdigit() and len(text) < 18 else None


def history(ledger: Ledger, caller: Caller, before: int | None = None) -> tuple[list[dict[str, Any]], int | None]:
    """Return the latest entries that the caller may see, newest first; and where the page before them begins.

    Entries of an analyst are found by an index, however many others there are: a page is full while there are as many.
    """
    whose = None if caller.steward else caller.name
    # A slow question is paid for in one entry and answered in a later one: where both are there, the later says it all.
    later = [] if before is None else ledger.page(_READ, first=before, analyst=whose)
    answered = {entry.body.get("paid") for entry in later}
    found: list[dict[str, Any]] = []
    state = ledger.look(GuardState.of)
    while True:
        entries = ledger.page(_READ, before=before, newest=True, analyst=whose)
        for entry in reversed(entries):
            if len(found) == _SHOWN:
                return found, before
            before = entry.sequence
            answered.add(entry.body.get("paid"))
            if before not in answered:
                found.append(item(entry, state))
        if len(entries) < _READ:
            return found, None


def answers(ledger: Ledger, analyst: str, before: int | None = None) -> tuple[list[dict[str, Any]], int | None]:
    """Return what an analyst asked last and was answered, newest first; and where the page before that begins."""
    state = ledger.look(GuardState.of)
    if state.policy.histories == "separate":
        end = before or len(seat_entries(ledger, analyst)) + 1
        mine, older = seat_page(ledger, analyst, _SHOWN, before=end)
        return [item(entry, state, own=True) for entry in reversed(mine)], older
    page = ledger.page(_SHOWN + 1, before=before, newest=True, analyst=analyst, kind="answered")
    shown = page[-_SHOWN:]
    return [item(entry, state) for entry in reversed(shown)], shown[0].sequence if len(page) > _SHOWN else None


def item(entry: Entry, state: GuardState, beaten: bool = False, *, own: bool = False) -> dict[str, Any]:
    """Return an entry as a page shows it: nothing but what was released, and what became of it since.

    A ladder's best may have been `beaten`, and a certificate ended because another guard has some of the same rows.
    With `own` it has the number that its analyst knows it by.
    """
    body = entry.body
    answer = body.get("answer")
    if answer is not None and (beaten or state.doubt(entry.sequence)):
        stored = GuardedAnswer.stored(answer, entry.sequence, True).doubted(state.doubt(entry.sequence))
        answer = (stored.beaten() if beaten else stored).to_dict()
    number = number_of(entry) if own else entry.sequence
    shown = item_of(body.get("question"), answer, number, entry.time, entry.analyst)
    return shown | {"kind": entry.kind, "reason": str(body.get("reason") or "")}


def item_of(
    asked: Mapping[str, Any] | None, answer: Mapping[str, Any] | None, sequence: int, time: str, analyst: str | None
) -> dict[str, Any]:
    """Return a question and its answer as a page shows them."""
    return {
        "sequence": sequence,
        "time": time,
        "kind": "answered",
        "analyst": analyst,
        "reason": "",
        "asked": asked,
        "answer": answer,
        "scale": _scale(asked, answer),
    }


def _scale(asked: Mapping[str, Any] | None, answer: Mapping[str, Any] | None) -> tuple[float, float]:
    """The range that an answer's interval is drawn on."""
    if asked is None or answer is None:
        return 0.0, 1.0
    kind = Question.kinds().get(asked["kind"])
    return (0.0, 1.0) if kind is None else kind.axis(asked, answer)


def plain_stroke(place: float) -> dict[str, float]:
    """Return the ends of a short stroke at a place from 0 to 1, for a value that has no interval.

    Examples
    --------
    >>> plain_stroke(0.5), plain_stroke(2.0)
    ({'low': 0.488, 'high': 0.512}, {'low': 0.976, 'high': 1.0})
    """
    half = 0.012
    middle = min(1 - half, max(half, place))
    return {"low": middle - half, "high": middle + half}


def strip_points(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Answers as `pictures.strip` draws them, oldest first."""
    points = []
    for item in items:
        answer = item["answer"]
        if answer is None:
            continue
        low, high = item["scale"]
        plain = "plain" if is_plain(answer) else "noisy"
        kind = {True: "passed", False: "failed", None: plain}[answer["details"].get("improved", answer["passed"])]
        point: dict[str, Any] = {"kind": kind, "low": None, "high": None, "guess": None, "time": item["time"]}
        ends = answer["interval"]
        if isinstance(ends, list) and len(ends) == 2 and high > low:
            point |= {"low": (ends[0] - low) / (high - low), "high": (ends[1] - low) / (high - low)}
            if item["asked"].get("guess") is not None:
                point["guess"] = (item["asked"]["guess"] - low) / (high - low)
        elif kind == "plain" and isinstance(answer["value"], float) and high > low:
            point |= plain_stroke((answer["value"] - low) / (high - low))
        points.append(point)
    return points[::-1][-_STRIP:]


def verdict(
    left: Iterable[Gauge], status: str, sharp: Sequence[tuple[str, float]] = (), refused: Sequence[str] = ()
) -> str:
    """One sentence about a guard for whoever has no time, from what `sharpness` and `refused` estimate.

    Examples
    --------
    >>> verdict([], "open", [("A check", 0.05)], ["A noisy mean"])
    'A check asked now is accurate to ±0.05; a noisy mean would be refused.'
    """
    if status != "open":
        return status_words(status)
    shares = {gauge.name: 0.0 if gauge.whole <= 0 else gauge.left / gauge.whole for gauge in left}
    gone = [name.lower() for name, share in shares.items() if share <= 0]
    low = [name.lower() for name, share in shares.items() if 0 < share < 0.15]
    if gone:
        return f"Used up: {', '.join(gone)}."
    if low:
        return f"Nearly used up: {', '.join(low)}."
    parts = [
        f"{name.lower()} asked now is accurate to ±{width(half_width)}"
        if half_width < _VACUOUS
        else f"{name.lower()} asked now would give no guarantee about a proportion: ±{width(half_width)}"
        for name, half_width in sharp
    ]
    parts += [f"{name.lower()} would be refused" for name in refused]
    text = "; ".join(parts) or "questions are left"
    return f"{text[:1].upper()}{text[1:]}."


# --- Outcomes ---------------------------------------------------------------------------------------------------------
# The verdicts of audits in plain words.

OUTCOMES: dict[str, tuple[str, str, str]] = {
    "INCOHERENT": (
        "bad",
        "✗",
        "Predictions about people depend on who was released, by more than the tolerance allows.",
    ),
    "LEAK BELOW ALPHA": ("warn", "!", "Predictions depend on who was released, but by less than the tolerance allows."),
    "LEAK": (
        "warn",
        "!",
        "Predictions depend on who was released. One split cannot show how large the dependence usually is.",
    ),
    "UNDERPOWERED": (
        "warn",
        "?",
        "No dependence was found, but the audit was too small to find every dependence that it looks for.",
    ),
    "NO EVIDENCE": (
        "good",
        "✓",
        "No dependence on who was released was found. This does not prove that there is none.",
    ),
}
"""Each verdict: its colour, its mark, and a sentence for somebody who has not read the paper."""
