"""Questions, answers and budgets in plain words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.data.expressions import from_json, to_text
from holdfast.errors import HoldfastError

KINDS: dict[str, tuple[str, str]] = {
    "check": ("Check a guess", "Is this mean about what I think? A right guess costs next to nothing."),
    "claim": ("Make a claim", "Is this mean at least, or at most, a number? The answer is one bit."),
    "validate": ("Validate a rule", "Does a condition hold for at least this share? Yes, or not shown."),
    "compare": ("Compare two", "How much larger is one mean than the other, on the same rows?"),
    "mean": ("Ask for a mean", "No guess needed. The answer carries noise and spends from the privacy budget."),
    "histogram": ("Histogram", "Shares of declared categories or bins, with noise."),
    "select": ("Pick the best", "Which of several candidates has the largest mean, nearly?"),
    "test": ("Private test", "Does a column follow given shares; are two columns independent?"),
}
"""What each kind of question is called, and what it is for."""

_STATUS = {
    "open": "Open: questions are answered.",
    "paused": "Paused: nothing is answered until a steward resumes it.",
    "closed": "Closed for good.",
    "expired": "Expired: its time is up.",
}
_ACTS = {
    "opened": "the guard was opened",
    "paused": "paused",
    "resumed": "resumed",
    "closed": "closed for good",
    "override": "the policy was overridden",
    "reserved": "paid for, not answered yet",
    "analyst": "an analyst was added",
    "refreshed": "the sample was refreshed",
    "refused": "refused",
}


def number(value: Any) -> str:
    """A number in few digits.

    Examples
    --------
    >>> number(0.123456), number(12345), number(0.5), number(True)
    ('0.123', '12,345', '0.5', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3g}"
    return str(value)


def width(value: float) -> str:
    """A half-width in two digits, rounded up: it is a promise.

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


def expression(source: Any) -> str:
    """A row expression as text, whichever form it is stored in.

    Examples
    --------
    >>> expression({"<": [{"column": "age"}, 40.0]})
    'age < 40'
    """
    try:
        return source if isinstance(source, str) else _tidy(to_text(from_json(source)))
    except HoldfastError:
        return "an expression"


def _tidy(text: str) -> str:
    """Whole numbers without `.0`; texts in quotes stay as they are."""
    parts = text.split("'")
    for i in range(0, len(parts), 2):
        words = parts[i].split(" ")
        parts[i] = " ".join(_whole(word) for word in words)
    return "'".join(parts)


def _whole(word: str) -> str:
    bare = word.rstrip("),")
    return bare[:-2] + word[len(bare) :] if bare.endswith(".0") and bare[:-2].lstrip("(-").isdigit() else word


def question(asked: Mapping[str, Any]) -> str:
    """What a stored question asks, in one line.

    Examples
    --------
    >>> question({"kind": "check", "rows": [{"expression": {"<": [{"column": "age"}, 40.0]}}], "guess": 0.5})
    'age < 40: about 0.5?'
    """
    kind = asked["kind"]
    rows = [expression(one["expression"]) for one in asked.get("rows", ())]
    if "expression" in asked:
        rows = [expression(asked["expression"])]
    match kind:
        case "check":
            return f"{rows[0]}: about {number(asked['guess'])}?"
        case "claim" | "validate":
            name = "at_least" if "at_least" in asked else "at_most"
            return f"{rows[0]}: {name.replace('_', ' ')} {number(asked[name])}?"
        case "compare":
            margin = asked.get("at_least")
            end = f"about {number(asked['guess'])}?" if margin is None else f"at least {number(margin)}?"
            return f"{rows[0]} minus {rows[1]}: {end}"
        case "mean":
            return f"mean of {rows[0]}"
        case "histogram":
            return f"histogram of {_cells(asked['cells'])}"
        case "select":
            return f"best of {', '.join(asked['candidates'])}"
        case "test":
            return f"{'independence of' if asked['name'] == 'independence' else 'shares of'} " + " and ".join(
                asked["columns"]
            )
        case "score":
            claimed = "" if asked["guess"] is None else f", about {number(asked['guess'])}?"
            called = asked["name"] or ("1 prediction" if asked["count"] == 1 else f"{asked['count']:,} predictions")
            return f"{called}: {asked['metric']} on {asked['board']}{claimed}"
    return str(kind)


def _cells(cells: Mapping[str, Any]) -> str:
    return ", ".join(cells["columns"]) if "columns" in cells else expression(cells["expression"])


def act(kind: str) -> str:
    """What an entry that is no answer records."""
    return _ACTS.get(kind, kind)


def status(name: str) -> str:
    """A guard's status in a sentence."""
    return _STATUS.get(name, name)


def cost(plain: Mapping[str, Any] | None) -> str:
    """A cost.

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
    return str(plain.get("kind"))


def outcome(answer: Mapping[str, Any]) -> tuple[str, str]:
    """A mark and a word for what became of a question."""
    improved = answer["details"].get("improved")
    if improved is not None:  # a ladder: its step passes where nothing is shown
        return ("✓", "passed") if improved else ("–", "not better")
    if answer["passed"] is True:
        return "✓", "passed"
    if answer["passed"] is False:
        return "✗", "failed"
    return "≈", "with noise"


def value(answer: Mapping[str, Any]) -> str:
    """What an answer says, in one line."""
    found, ends = answer["value"], answer["interval"]
    if isinstance(found, Mapping):
        return f"{len(found)} cells"
    if found is None:
        return "no value shown"
    if isinstance(found, (int, float)) and isinstance(ends, (list, tuple)):
        return f"{number(found)}, between {number(ends[0])} and {number(ends[1])}"
    return number(found)


def sentence(answer: Mapping[str, Any], asked: Mapping[str, Any], whose: str = "Your") -> str:
    """What an answer means, for somebody who has not seen one before."""
    kind, passed, ends = asked["kind"], answer["passed"], answer["interval"]
    found = answer["value"]
    if kind == "score" and asked["rule"] == "ladder":
        if answer["details"]["improved"]:
            return f"A new best: {number(found)}. The truth is between {_ends(ends)}."
        return "Not better than the best so far by a whole step. Nothing more is shown."
    if kind == "score":
        if passed:
            return f"{whose} score of {number(asked['guess'])} stands: the truth is between {_ends(ends)}."
        if ends is None:
            return f"{whose} score of {number(asked['guess'])} does not stand. Nothing more is shown."
        return f"{whose} score of {number(asked['guess'])} does not stand: it is between {_ends(ends)}."
    if kind == "check" or (kind == "compare" and "guess" in asked):
        if passed:
            return f"{whose} guess of {number(asked['guess'])} stands: the truth is between {_ends(ends)}."
        if ends is None:
            return f"{whose} guess of {number(asked['guess'])} does not stand. Nothing more is shown."
        return f"{whose} guess of {number(asked['guess'])} does not stand. The truth is between {_ends(ends)}."
    if kind in ("claim", "validate", "compare"):
        return "The claim holds." if passed else "The claim is not shown to hold. That says nothing against it."
    if kind == "mean":
        return f"The mean is between {_ends(ends)}. The value in the middle carries noise."
    if kind == "histogram":
        return "Shares of the population, each between the ends that are drawn."
    if kind == "select":
        return f"“{found}” has the largest mean, or nearly."
    rejected = answer["details"].get("rejected")
    after = "" if found is None else f" The p-value, corrected for everything asked before, is {number(found)}."
    said = {True: "The null hypothesis is rejected.", False: "The null hypothesis is not rejected."}
    return said.get(rejected, "The test decided nothing.") + after


def aside(answer: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """What else to know about an answer."""
    if asked["kind"] == "score" and asked["rule"] == "ladder":
        return "Only improvements show a score: that is what keeps a ladder honest." if answer["passed"] else ""
    if answer["passed"] is False and asked["kind"] in ("check", "compare", "score"):
        return "Failures like this one make later intervals a little wider, for everybody."
    if answer["passed"] is True and "guess" not in asked:
        return "Claims that hold cost next to nothing: later intervals stay as they are."
    if answer["passed"] is True:
        return "Guesses that stand cost next to nothing: later intervals stay as they are."
    if asked["kind"] in ("mean", "histogram"):
        return "The noise was drawn once. Asking again gives this same answer, free."
    return ""


def example(columns: Sequence[Mapping[str, Any]]) -> str:
    """A condition over some column, to show how one is written.

    Examples
    --------
    >>> example([{"name": "home town", "kind": "text"}, {"name": "age", "kind": "integer"}])
    'age > 0'
    """
    kinds = ("boolean", "integer", "number", "text")
    one = min(columns, key=lambda column: kinds.index(column["kind"]))
    name = one["name"] if one["name"].isascii() and one["name"].isidentifier() else f'"{one["name"]}"'
    return {"boolean": name, "text": f"{name} = 'x'"}.get(one["kind"], f"{name} > 0")


def _ends(ends: Any) -> str:
    return "unknown bounds" if ends is None else f"{number(ends[0])} and {number(ends[1])}"


def policy(plain: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A policy, a line for each thing that it fixes."""
    rows = [("All intervals hold together with probability", f"{plain['confidence']:.6g}")]
    rows.append(("Questions", "no cap" if plain["questions"] is None else f"at most {plain['questions']:,}"))
    if plain["failures"] is not None:
        rows.append(("Failed checks", f"at most {plain['failures']:,}"))
    if plain["answers"] == "means":
        rows.append(("Answers", "noisy means only, with the narrowest intervals known for many of them"))
    elif plain["privacy"] is None:
        rows.append(("Private questions", "none: only looks without noise"))
    else:
        each = "" if plain["spend"] is None else f", {cost(plain['spend'])} each unless asked otherwise"
        kept = "in all" if plain["accounting"] == "filter" else "as the unit of an odometer"
        rows.append(("Private questions", f"{cost(plain['privacy'])} {kept}{each}"))
    if plain["holdout"] == "thresholdout":
        rows.append(("Checks", f"by Thresholdout, {plain['overfits']} overfits, {cost(plain['holdout_spend'])} paid"))
    if plain["analysts"] is not None:
        rows.append(("Shares", ", ".join(f"{name} {share:.0%}" for name, share in plain["analysts"].items())))
    if plain["expires"] is not None:
        rows.append(("Until", plain["expires"][:16].replace("T", " ") + " UTC"))
    for board in plain.get("boards") or ():
        rule = "an interval each" if board["rule"] == "intervals" else f"a ladder with steps of {number(board['step'])}"
        rows.append((f"Board {board['name']}", f"{board['metric']} of {board['label']} by {board['key']}, {rule}"))
    rows.append(("Kinds", ", ".join(plain["kinds"])))
    return rows


__all__ = [
    "KINDS",
    "act",
    "aside",
    "cost",
    "example",
    "expression",
    "number",
    "outcome",
    "policy",
    "question",
    "sentence",
    "status",
    "value",
]
