"""The form that makes a policy, and what each choice would buy: the same numbers that a run would show."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from holdfast.core import arguments
from holdfast.data.schema import Column, Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.error_budget import GuardBudget
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.scoring.board import Board
from holdfast.guard.state import Progress
from holdfast.holdout.error_budget import Course
from holdfast.holdout.planning.plan import plan

# --- Policy form ------------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[str, str]] = {
    "looks": ("Checks only", "Analysts bring guesses; the guard says whether they stand. No noise, narrow intervals."),
    "mixed": ("Checks and private answers", "Also answers with noise and private tests, from a privacy budget."),
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
    "repeats": "",
}
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?")
_CONDITION = Schema([Column("condition", "boolean", nullable=False)])
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
            made[name] = arguments.whole(name, number_of(name, fields[name]), at_least=0, at_most=10**9)
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
    if fields.get("repeats") == "everyone":
        made["repeats"] = "everyone"
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
    budget, most = GuardBudget(n, policy), policy.questions
    found = []
    for kind, name, more in (("check", "a check", {"guess": 0.5}), ("mean", "a noisy mean", {})):
        if kind not in (policy.kinds or ()):
            continue
        try:
            bound = Question.from_dict({"kind": kind, "expression": "condition", **more}).bind(_CONDITION, n, policy)
            ends = [Progress()]
            if most is not None:
                ends.append(Progress(most, most - 1, 0, Course(most - 1, most - 1)))
            widths = [bound.half_width(Situation(budget, progress)) for progress in ends]
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


# --- Board form -------------------------------------------------------------------------------------------------------
# The part of the picker that sets a leaderboard up.

RULES: dict[str, tuple[str, str]] = {
    "intervals": (
        "Intervals",
        "Who submits says what score they expect. It is confirmed, or corrected with an interval.",
    ),
    "ladder": ("Ladder", "A score is shown only if, rounded to steps, it beats the best so far. No guess needed."),
}
"""The rules to pick from."""

BOARD_DEFAULTS = {
    "board": "",
    "board_key": "",
    "board_label": "",
    "board_metric": "accuracy",
    "board_rule": "intervals",
    "board_step": "",
    "board_positive": "",
    "board_low": "",
    "board_high": "",
    "board_models": "",
    "board_public_keys": "",
}


def board_of(fields: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, Any] | None:
    """The board that a filled form asks for, as plain data; None where its name is left empty.

    `kinds` are those of the sample's columns: the positive label is read as the label's kind.

    Examples
    --------
    >>> fields = BOARD_DEFAULTS | {"board": "churn", "board_key": "id", "board_label": "gone"}
    >>> made = board_of(fields, {"gone": "boolean"})
    >>> made["metric"], made["rule"], made["models"], board_of(BOARD_DEFAULTS, {})
    ('accuracy', 'intervals', False, None)
    """
    given = {name: fields.get(name) or usual for name, usual in BOARD_DEFAULTS.items()}
    if not given["board"]:
        if given["board_key"] or given["board_label"]:
            raise InvalidParameter("the leaderboard must have a name")
        return None
    made: dict[str, Any] = {
        "name": given["board"],
        "key": given["board_key"],
        "label": given["board_label"],
        "metric": given["board_metric"],
        "rule": given["board_rule"],
    }
    if given["board_step"] and given["board_rule"] == "ladder":
        made["step"] = number_of("step", given["board_step"])
    if given["board_positive"]:
        made["positive"] = _value(given["board_positive"], kinds.get(given["board_label"], "text"))
    if given["board_metric"] == "mae":
        made |= {name: number_of(name, given[f"board_{name}"]) for name in ("low", "high")}
    for name in ("models", "public_keys"):
        if given[f"board_{name}"]:
            made[name] = True
    return Board.from_dict(made).to_dict()


def _value(text: str, kind: str) -> Any:
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise InvalidParameter("the positive label must be true or false")
        return text.lower() == "true"
    return text if kind == "text" else number_of("the positive label", text)


# --- Override form ----------------------------------------------------------------------------------------------------
# The form with which a steward puts another policy in the place of the one that was fixed, and what that costs.

FIELDS = ("questions", "failures", "budget", "analysts", "expires", "reason", "sure")


def filled(policy: Mapping[str, Any]) -> dict[str, str]:
    r"""The form as it stands before anything is changed.

    Examples
    --------
    >>> plain = Policy(questions=50, analysts={"ann": 0.5}).to_dict()
    >>> filled(plain)["questions"], filled(plain)["analysts"]
    ('50', 'ann 50%')
    """
    cap = policy["privacy"] or {}
    budget = cap.get("epsilon", cap.get("rho"))
    shares = policy["analysts"] or {}
    return {
        "questions": "" if policy["questions"] is None else str(policy["questions"]),
        "failures": "" if policy["failures"] is None else str(policy["failures"]),
        "budget": "" if budget is None else f"{budget:.12g}",
        "analysts": "\n".join(f"{name} {share * 100:.10g}%" for name, share in shares.items()),
        "expires": (policy["expires"] or "")[:16],
        "reason": "",
        "sure": "",
    }


def overriding_policy(fields: Mapping[str, str], before: Mapping[str, Any]) -> Policy:
    """The policy that the form asks for: the one before it, with what was changed."""
    if not fields["reason"]:
        raise InvalidParameter("a reason must be given: it is recorded for good")
    if fields["sure"] != "yes":
        raise InvalidParameter("tick the box: after an override no later answer is certified")
    made = dict(before)
    for name in ("questions", "failures"):
        text = fields[name]
        made[name] = arguments.whole(name, number_of(name, text), at_least=0, at_most=10**9) if text else None
    if before["privacy"] is not None:
        unit = "epsilon" if before["privacy"].get("epsilon") is not None else "rho"
        made["privacy"] = before["privacy"] | {unit: number_of("privacy budget", fields["budget"])}
    made["analysts"] = shares_of(fields["analysts"]) or None
    made["expires"] = fields["expires"] or None
    changed = Policy.from_dict(made)
    if changed == Policy.from_dict(before):
        raise InvalidParameter("something must be changed: this is the policy that is in place")
    return changed
