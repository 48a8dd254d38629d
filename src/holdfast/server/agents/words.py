"""Answers and refusals in plain words, for readers who act on sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.client.errors import NotAllowed, NotFound, ReceiptInvalid, ServerUnavailable
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    LedgerUnavailable,
    NotInstalled,
    QuestionRefused,
    SampleUnavailable,
)
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate

_NOTHING = "Nothing was spent and nothing about the rows was shown."
_TELL = f"{_NOTHING} Only the people who run this can change that: tell them."
_SAME_KEY = "Nothing was released. Ask the same question again with the same `key`: it is answered and paid once."
_REFUSALS: tuple[tuple[type[HoldfastError], str, str], ...] = (
    (
        InvalidParameter,
        "invalid-parameter",
        f"{_NOTHING} Correct the call and send it again; `describe` shows the form.",
    ),
    (
        BudgetExhausted,
        "budget-exhausted",
        f"{_NOTHING} Asking the same again will be refused again. A cheaper or coarser question may still fit: "
        "`estimate` is free and says so. Questions that were answered before stay free.",
    ),
    (QuestionRefused, "question-refused", f"{_NOTHING} `describe` lists what may be asked here."),
    (
        GuaranteeUnavailable,
        "guarantee-unavailable",
        f"{_NOTHING} No theorem covers this, so no number is given. Ask something that `describe` lists.",
    ),
    (LedgerConflict, "ledger-conflict", f"{_NOTHING} Use a new `key` for a new question."),
    (LedgerUnavailable, "ledger-unavailable", _SAME_KEY),
    (SampleUnavailable, "sample-unavailable", _SAME_KEY),
    (ServerUnavailable, "unavailable", _SAME_KEY),
    (NotInstalled, "not-installed", _TELL),
    (NotAllowed, "not-allowed", _TELL),
    (NotFound, "not-found", _TELL),
    (
        ReceiptInvalid,
        "receipt-invalid",
        "Do not use this answer. Tell the people who run this: the server may be false.",
    ),
)


def refusal(error: HoldfastError) -> tuple[str, dict[str, Any]]:
    """A refusal in words and as data: what, why, and what to do about it.

    Examples
    --------
    >>> print(refusal(BudgetExhausted("all 5 questions were asked"))[0][:61])
    Refused: all 5 questions were asked. Nothing was spent and no
    """
    for kind, code, advice in _REFUSALS:
        if isinstance(error, kind):
            found = {"refused": True, "code": code, "reason": str(error), "advice": advice}
            key = getattr(error, "key", None)
            return f"Refused: {_sentence(str(error))} {advice}", found | ({} if key is None else {"key": key})
    return f"Refused: {_sentence(str(error))} {_NOTHING}", {
        "refused": True,
        "code": "error",
        "reason": str(error),
        "advice": _NOTHING,
    }


def answer_words(answer: GuardedAnswer, confidence: float | None = None) -> str:
    """An answer in words.

    Examples
    --------
    >>> from holdfast.bounds.guarantee import Guarantee
    >>> print(answer_words(GuardedAnswer(0.81, [0.78, 0.84], Guarantee("t"), passed=True, sequence=3), 0.95))
    The guess passed. The value is 0.81, and the truth of the population lies in [0.78, 0.84]. All intervals of this
    guard hold at once with probability 0.95. Entry 3 of the ledger.
    """
    parts = []
    if answer.repeated:
        parts.append("This was asked before: the stored answer, free.")
    if "improved" in answer.details:
        parts.append(_ladder_words(answer))
    elif answer.passed is not None and answer.value is not None:
        parts.append("The guess passed." if answer.passed else "The guess did not pass; this is the corrected value.")
    parts.append(_value_words(answer))
    if answer.half_width is not None and confidence is not None and answer.guarantee.certified:
        parts.append(f"All intervals of this guard hold at once with probability {confidence:g}.")
    if not answer.guarantee.certified:
        parts.append("It is NOT certified: the policy was changed after answers had been seen.")
    if answer.cost is not None and not answer.repeated:
        parts.append(f"It cost {answer.cost}.")
    if not answer.repeated:  # what was left when it was stored may have been somebody else's
        parts.append(left_words(answer.remaining))
    return " ".join([part for part in parts if part] + [f"Entry {answer.sequence} of the ledger."])


def _ladder_words(answer: GuardedAnswer) -> str:
    if answer.details["improved"]:
        return "It beats the best score so far."
    return "It does not beat the best score so far, and nothing else is shown."


def _value_words(answer: GuardedAnswer) -> str:
    if answer.value is None:
        if "improved" in answer.details:
            return ""
        if answer.passed:
            return "Passed: it holds for the population."
        return "Not shown to hold, which says nothing against it. No value is shown." if answer.passed is False else ""
    if answer.half_width is not None:
        low, high = answer.interval
        return f"The value is {answer.value:.6g}, and the truth of the population lies in [{low:.6g}, {high:.6g}]."
    return f"The value is {answer.value}; intervals, if any, are in the data."


def estimate_words(estimate: Estimate) -> str:
    """An estimate in words."""
    if not estimate.admitted:
        return f"It would be refused: {_sentence(estimate.reason)} Nothing was spent by asking this."
    if estimate.repeated:
        return "It was asked before: the stored answer would come back, free."
    parts = ["It would be answered."]
    parts += [] if estimate.cost is None else [f"It would cost {estimate.cost}."]
    parts += [] if estimate.half_width is None else [f"The answer would be within {estimate.half_width:.4g}."]
    least = estimate.least_tolerance
    parts += [] if least is None else [f"The least tolerance that the guess could pass with is {least:.4g}."]
    parts += [left_words(estimate.remaining, "Left after it"), "Nothing was spent by asking this."]
    return " ".join(part for part in parts if part)


def left_words(remaining: Mapping[str, Any], then: str = "Left") -> str:
    """What is left, in words.

    Examples
    --------
    >>> left_words({"yours": {"questions": 4, "epsilon": 0.25}})
    'Left for you: 4 questions, 0.25 epsilon.'
    """
    own = remaining.get("yours")
    if not isinstance(own, Mapping):
        return ""
    parts = [f"{v:g} {name[:-1] if v == 1 and name == 'questions' else name}" for name, v in own.items() if _number(v)]
    return f"{then} for you: {', '.join(parts)}." if parts else ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


__all__ = ["answer_words", "estimate_words", "left_words", "refusal"]
