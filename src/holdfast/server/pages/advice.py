"""Why a question was refused, and what would be admitted: every alternative is put to the guard before it is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.accounting import PureDP
from holdfast.errors import HoldfastError
from holdfast.guard.estimate import Estimate
from holdfast.guard.guard import Guard
from holdfast.guard.policy import PRIVATE
from holdfast.server.pages import words
from holdfast.server.pages.words import width

_WHERE = {
    "budget-exhausted": "The budget does not hold it.",
    "question-refused": "It may not be asked here, or not now.",
    "guarantee-unavailable": "No interval that could be promised is left.",
    "invalid-parameter": "The question does not fit this sample.",
}


@dataclass(frozen=True)
class Alternative:
    """A question that would be admitted, and the words for it."""

    title: str
    words: str
    question: Mapping[str, Any]


def heading(code: str) -> str:
    """The kind of a refusal in a sentence."""
    return _WHERE.get(code, "It could not be answered.")


def plain(guard: Guard, question: Mapping[str, Any], analyst: str) -> str:
    """Why a budget does not hold a private question, in its own unit; empty where the guard's words say it well."""
    name = {"pure-dp": "epsilon", "zcdp": "rho"}.get((guard.policy.privacy or PureDP(0.0)).kind, "epsilon")
    spend = question.get("spend") or (None if guard.policy.spend is None else guard.policy.spend.to_dict())
    left = guard.remaining(analyst)
    yours, whole = left["yours"].get(name), left["whole"].get(name)
    if question.get("kind") not in PRIVATE or not spend or spend.get(name) is None or yours is None or whole is None:
        return ""
    if spend[name] <= min(yours, whole):
        return ""
    sign = "ε" if name == "epsilon" else "ρ"
    return (
        f"It would spend {sign} {spend[name]:.3g}. You have {sign} {yours:.3g} left, "
        f"and all together {sign} {whole:.3g}."
    )


def alternatives(guard: Guard, question: Mapping[str, Any], analyst: str) -> list[Alternative]:
    """What would be admitted instead. Estimates spend nothing."""
    found = []
    for title, other in _candidates(guard, question, analyst):
        try:
            estimate = guard.estimate(other, analyst=analyst)
        except HoldfastError:
            continue
        if estimate.admitted:
            found.append(Alternative(title, promise(estimate), other))
    return found


def promise(estimate: Estimate) -> str:
    """What an admitted question would cost and give.

    Examples
    --------
    >>> promise(Estimate(None, 0.02, True))
    'Costs one question and no privacy, and is good to ±0.02.'
    >>> promise(Estimate(None, 0.04, True, least_tolerance=0.021))
    'Costs one question and no privacy, and is good to ±0.04 if the guess stands; ±0.021 is the least to ask for.'
    """
    if estimate.repeated:
        return "It was answered before: the stored answer is free."
    price = (
        "one question and no privacy"
        if estimate.cost is None
        else f"one question and {words.cost(estimate.cost.to_dict())}"
    )
    good = "" if estimate.half_width is None else f", and is good to ±{width(estimate.half_width)}"
    if estimate.least_tolerance is not None:
        good += f" if the guess stands; ±{width(estimate.least_tolerance)} is the least to ask for"
    return f"Costs {price}{good}."


def _candidates(guard: Guard, question: Mapping[str, Any], analyst: str) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = question.get("kind")
    kinds = guard.policy.kinds or ()
    rows = {name: question[name] for name in ("expression", "low", "high", "default") if name in question}
    left = guard.remaining(analyst)
    name = "epsilon" if "epsilon" in left["whole"] else "rho"
    least = min(left["yours"].get(name, 0.0), left["whole"].get(name, 0.0))
    if kind in ("mean", "histogram", "select", "test") and least > 0:
        unit = "pure-dp" if name == "epsilon" else "zcdp"
        spend = {"kind": unit, name: least}
        yield f"The same for what is left, {words.cost(spend)}", {**question, "spend": spend}
    if kind == "mean" and "expression" in rows:
        middle = (float(rows.get("low") or 0.0) + float(rows.get("high") or 1.0)) / 2
        if "check" in kinds:
            yield "Guess it instead, and have the guess checked", {"kind": "check", **rows, "guess": middle}
    if kind in ("check", "claim", "validate", "compare") and "mean" in kinds and "expression" in rows:
        yield "Ask for the mean with noise instead", {"kind": "mean", **rows}
    if kind == "check" and question.get("tolerance") is not None:
        yield "Leave the tolerance to the guard", {k: v for k, v in question.items() if k != "tolerance"}


__all__ = ["Alternative", "alternatives", "heading", "plain", "promise"]
