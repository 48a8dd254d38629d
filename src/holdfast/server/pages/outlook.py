"""What a glance at a guard shall tell: what is left, how sharp the next answer would be, and what happened last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.guard.accounts import read
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.settling import belief_of
from holdfast.guard.standing import Standing
from holdfast.server.pages import words
from holdfast.server.roles import Caller

_SHOWN = 25
_LOOKED_AT = 2000
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
    """The budgets of a policy, of which `share` is this party's.

    Examples
    --------
    >>> gauges({"questions": 10, "privacy": None}, {"questions": 4})[0].words
    '4 of 10 left'
    """
    found = []
    if policy["questions"] is not None:
        most, left = int(round(policy["questions"] * share, 9)), remaining.get("questions", 0)
        found.append(Gauge("Questions", left, most, f"{left:,} of {most:,} left", "Each new question takes one."))
    cap = policy["privacy"]
    if cap is not None and "spent" not in remaining:
        name, sign = ("epsilon", "ε") if cap.get("epsilon") is not None else ("rho", "ρ")
        whole, left = cap[name] * share, remaining.get(name, 0.0)
        text = f"{sign} {left:.3g} of {whole:.3g} left"
        found.append(Gauge("Privacy", left, whole, text, "Noisy answers spend it; checks do not."))
    return found


def failures(policy: Mapping[str, Any], progress: Mapping[str, Any]) -> Gauge | None:
    """How many more failed checks the whole guard takes; None where they are not capped."""
    most = policy["failures"]
    if most is None:
        return None
    left = max(0, most - progress["failed"])
    return Gauge("Failed checks", left, most, f"{left:,} of {most:,} left", "Wrong guesses take one, for everybody.")


def sharpness(ledger: Ledger) -> list[tuple[str, float]]:
    """How wide the next answer would be, for a condition that holds for half of the rows, where that is widest.

    A check is one that names no tolerance, and whose guess stands.
    """
    return ledger.look(_sharpness)


def _sharpness(view: View) -> list[tuple[str, float]]:
    standing = Standing.of(view)
    policy = standing.policy
    whole = read(view.account, policy)[1]
    condition = f'"{standing.schema.columns[0].name}" is null'
    asked = {"check": ("A check", {"guess": 0.5}), "mean": ("A noisy mean", {})}
    found = []
    for kind, (name, more) in asked.items():
        if kind not in (policy.kinds or ()):
            continue
        situation = Situation(belief_of(standing), whole.progress, whole.spent)
        try:
            question = Question.from_dict({"kind": kind, "expression": condition, **more})
            width = question.bind(standing.schema, standing.n, policy).half_width(situation)
        except HoldfastError:  # nothing is left, or the policy names no cost: then there is nothing to say
            continue
        if width is not None:
            found.append((name, width))
    return found


def place(text: str) -> int | None:
    """The number of an entry as an address gives it; None for what is none.

    Examples
    --------
    >>> place("17"), place("x"), place("9" * 5000)
    (17, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None


def history(ledger: Ledger, caller: Caller, before: int | None = None) -> tuple[list[dict[str, Any]], int | None]:
    """The latest entries that the caller may see, newest first; and where the page before them begins."""
    end = ledger.head().sequence if before is None else max(0, min(before - 1, ledger.head().sequence))
    found: list[dict[str, Any]] = []
    # A slow question is paid for in one entry and answered in a later one: where both are there, the later says it all.
    answered = {entry.body.get("paid") for entry in ledger.entries(end + 1, end + 200)} if before is not None else set()
    last = max(0, end - _LOOKED_AT)  # an analyst with few entries among many turns pages, and nobody waits for a scan
    while end > last and len(found) < _SHOWN:
        first = max(1, end - 199)
        for entry in reversed(list(ledger.entries(first, end))):
            end = entry.sequence - 1
            answered.add(entry.body.get("paid"))
            if entry.sequence not in answered and caller.sees(entry.analyst):
                found.append(item(entry))
                if len(found) == _SHOWN:
                    break
    return found, end + 1 if end > 0 else None


def item(entry: Entry) -> dict[str, Any]:
    """An entry as a page shows it: nothing but what was released."""
    body = entry.body
    shown = item_of(body.get("question"), body.get("answer"), entry.sequence, entry.time, entry.analyst)
    return shown | {"kind": entry.kind, "reason": str(body.get("reason") or "")}


def item_of(
    asked: Mapping[str, Any] | None, answer: Mapping[str, Any] | None, sequence: int, time: str, analyst: str | None
) -> dict[str, Any]:
    """A question and its answer as a page shows them."""
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
    if asked["kind"] == "score":
        return _score_scale(asked, answer)
    rows = asked.get("rows") or ([asked] if "low" in asked else [])
    if not rows:
        return 0.0, 1.0
    low, high = float(rows[0]["low"]), float(rows[0]["high"])
    return (low - high, high - low) if asked["kind"] == "compare" else (low, high)


def _score_scale(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
    """From 0 to the greatest score, or where that is not a part of the entry, to a round number beyond all of it."""
    if asked["metric"] not in ("log-loss", "mae"):
        return 0.0, 1.0
    seen = [*(answer["interval"] or ()), asked["guess"] or 0.0, 1e-9]
    return 0.0, float(f"{1.25 * max(seen):.1g}")


def strip_points(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Answers as `pictures.strip` draws them, oldest first."""
    found = []
    for one in items:
        answer = one["answer"]
        if answer is None:
            continue
        low, high = one["scale"]
        kind = {True: "passed", False: "failed", None: "noisy"}[answer["details"].get("improved", answer["passed"])]
        point: dict[str, Any] = {"kind": kind, "low": None, "high": None, "guess": None}
        ends = answer["interval"]
        if isinstance(ends, list) and len(ends) == 2 and high > low:
            point |= {"low": (ends[0] - low) / (high - low), "high": (ends[1] - low) / (high - low)}
            if one["asked"].get("guess") is not None:
                point["guess"] = (one["asked"]["guess"] - low) / (high - low)
        found.append(point)
    return found[::-1][-_STRIP:]


def verdict(left: Iterable[Gauge], status: str) -> str:
    """One sentence about a guard for whoever has no time."""
    if status != "open":
        return words.status(status)
    shares = {one.name: 0.0 if one.whole <= 0 else one.left / one.whole for one in left}
    gone = [name.lower() for name, share in shares.items() if share <= 0]
    low = [name.lower() for name, share in shares.items() if 0 < share < 0.15]
    if gone:
        return f"Used up: {', '.join(gone)}."
    if low:
        return f"Nearly used up: {', '.join(low)}."
    return "There is plenty left."


__all__ = ["Gauge", "failures", "gauges", "history", "item", "item_of", "place", "sharpness", "strip_points", "verdict"]
