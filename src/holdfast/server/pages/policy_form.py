"""The form that makes a policy, and what each choice would buy: the same numbers that a run would show."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from holdfast import check
from holdfast.data.schema import Column, Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.belief import Belief
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress
from holdfast.guard.questions.base import Question, Situation
from holdfast.holdout.planning import plan

SHAPES: dict[str, tuple[str, str]] = {
    "looks": ("Checks only", "Analysts bring guesses; the guard says whether they stand. No noise, narrow intervals."),
    "mixed": ("Checks and private answers", "Also noisy means, histograms and tests, from a privacy budget."),
    "means": ("Means only", "Every mean is answered with noise; no guess needed, the narrowest for many means."),
}
"""The plans to pick from."""

DEFAULTS = {
    "shape": "looks",
    "confidence": "0.95",
    "questions": "500",
    "failures": "",
    "epsilon": "0.05",
    "spend": "0.01",
    "analysts": "",
    "expires": "",
}
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")
_CONDITION = Schema([Column("condition", "boolean")])
_METHODS = {
    "guess-and-check": "Guess and check, after failures",
    "sparse-validate": "SparseValidate (bits only)",
    "splitting-by-failures": "A fresh part of the rows for each failure",
    "ladder": "Ladder (best score only)",
    "gaussian-answers": "Noisy means",
    "splitting": "A fresh part of the rows for each question",
    "thresholdout-single": "Thresholdout, one threshold",
    "thresholdout-paper": "Thresholdout, as printed",
    "thresholdout-exact": "Thresholdout, exact constants",
    "thresholdout-tightened": "Thresholdout, tightened",
    "non-adaptive": "Limit: all questions written down before looking",
}


@dataclass(frozen=True)
class Line:
    """One line of the comparison: half of the interval's width, and whether it is what the form would make."""

    name: str
    half_width: float
    kind: str
    remark: str = ""

    @property
    def vacuous(self) -> bool:
        """Whether the interval says nothing about a share."""
        return not self.half_width < 0.5


def policy_of(fields: Mapping[str, str]) -> dict[str, Any]:
    r"""The policy that a filled form asks for, as plain data.

    Examples
    --------
    >>> made = policy_of(DEFAULTS | {"analysts": "ann 0.5\nbob 25%"})
    >>> made["questions"], made["analysts"], "privacy" in made
    (500, {'ann': 0.5, 'bob': 0.25}, False)
    """
    shape = fields.get("shape", "looks")
    if shape not in SHAPES:
        raise InvalidParameter(f"plan must be one of {', '.join(SHAPES)}")
    made: dict[str, Any] = {"confidence": number_of("confidence", fields["confidence"])}
    for name in ("questions", "failures"):
        if fields.get(name):
            made[name] = check.whole(name, number_of(name, fields[name]), at_least=0, at_most=10**9)
    if shape == "mixed":
        made["privacy"] = {"kind": "pure-dp", "epsilon": number_of("privacy budget", fields.get("epsilon", ""))}
        if fields.get("spend"):
            made["spend"] = {"kind": "pure-dp", "epsilon": number_of("cost of a question", fields["spend"])}
    elif shape == "means":
        made |= {"answers": "means"}
        made.pop("failures", None)
    analysts = shares_of(fields.get("analysts", ""))
    if analysts:
        made["analysts"] = analysts
    if fields.get("expires"):
        made["expires"] = fields["expires"]
    Policy.from_dict(made)
    return made


def shares_of(text: str) -> dict[str, float]:
    """Analysts and their shares, a line each."""
    found: dict[str, float] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, share = line.rpartition(" ")
        percent = share.endswith("%")
        if not name.strip():
            raise InvalidParameter("analysts must be lines of a name and a share, such as `ann 0.5` or `ann 50%`")
        if name.strip() in found:
            raise InvalidParameter(f"analysts must be named once each; {name.strip()[:60]!r} is there twice")
        found[name.strip()] = number_of("share", share.rstrip("%")) / (100 if percent else 1)
    return found


def number_of(name: str, text: str) -> float:
    """A finite number that somebody typed; whole ones are whole. Commas group thousands: `0,05` is not read as 5."""
    try:
        if len(text) > 40 or ("," in text and not _GROUPED.fullmatch(text.strip())):
            raise ValueError
        found = float(text.replace(",", ""))
        if not math.isfinite(found):
            raise ValueError
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {text[:40]!r}") from None
    return int(found) if found == int(found) and abs(found) < 2**53 else found


def comparison(n: int, fields: Mapping[str, str]) -> tuple[list[Line], int]:
    """What the form's policy promises, then every known method for the same use, narrowest first.

    The number is of the failed checks after which those methods are compared.
    """
    policy = Policy.from_dict({k: v for k, v in policy_of(fields).items() if k not in ("analysts", "expires")})
    questions = policy.questions or 1000
    failed = min(10, questions) if policy.failures is None else min(policy.failures, questions)
    lines = promised(n, policy)
    for name, half_width, certified, reference in methods(n, questions, failed, policy.confidence):
        remark = "does not hold after looking" if reference else "" if certified else "not proved"
        lines.append(Line(_METHODS.get(name, name), half_width, "limit" if reference else "other", remark))
    return lines, failed


def promised(n: int, policy: Policy) -> list[Line]:
    """The widths of this very policy: of the first answer, and of the last one if no check ever fails."""
    belief, most = Belief(n, policy), policy.questions
    found = []
    for kind, name, more in (("check", "a check", {"guess": 0.5}), ("mean", "a noisy mean", {})):
        if kind not in (policy.kinds or ()):
            continue
        try:
            bound = Question.from_dict({"kind": kind, "expression": "condition", **more}).bind(_CONDITION, n, policy)
            ends = [Progress()] + ([] if most is None else [Progress(most, most - 1)])
            widths = [bound.half_width(Situation(belief, progress)) for progress in ends]
        except HoldfastError:
            continue
        if most is None or widths[-1] is None or widths[0] is None:
            remark = ""
        elif f"{widths[0]:.2g}" == f"{widths[-1]:.2g}":
            remark = "from the first to the last, while no check fails"
        else:
            remark = f"±{widths[-1]:.2g} at the last, if no check fails"
        if widths[0] is not None:
            found.append(Line(f"This guard: {name}", widths[0], "this", remark))
    return found


@lru_cache(maxsize=256)
def methods(n: int, questions: int, failures: int, confidence: float) -> tuple[tuple[str, float, bool, bool], ...]:
    """Every method of `holdfast plan`: name, half-width, whether it is proved, whether it is only a limit."""
    rows = plan(n, questions, failures, confidence).methods
    return tuple((row.name, row.half_width, row.certified, row.reference) for row in rows)


__all__ = ["DEFAULTS", "SHAPES", "Line", "comparison", "methods", "number_of", "policy_of", "promised", "shares_of"]
