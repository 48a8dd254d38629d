"""The form that makes a policy, and what each choice would buy: the same numbers that a run would show."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from holdfast.accounting import GDP, Cost, PureDP
from holdfast.core import arguments
from holdfast.data.schema import Column, Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.columns import declared_columns
from holdfast.guard.estimates import next_widths
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Situation
from holdfast.guard.questions.fields import CategoriesInput, Place
from holdfast.guard.questions.planned import PlannedAnswers, answers_of
from holdfast.guard.scoring.board import OF_EXPRESSIONS, WITH_RANGE, Board
from holdfast.guard.state import Progress
from holdfast.guard.study import Study, StudyPlan
from holdfast.holdout.error_budget import Course
from holdfast.holdout.planning.plan import plan
from holdfast.server.pages import words

# --- Policy form ------------------------------------------------------------------------------------------------------

SHAPES: dict[str, tuple[str, str]] = {
    "looks": ("Checks only", "Analysts bring guesses; the guard says whether they pass. No noise, narrow intervals."),
    "mixed": (
        "Checks and private answers",
        "Besides checks: answers with noise and private tests, which spend a privacy budget.",
    ),
    "private": (
        "Private answers only",
        "Every answer has noise, and all answers together cost at most the privacy budget. No exact values at the end.",
    ),
    "means": (
        "Means only",
        "Every mean is answered with noise and without a guess. This gives the narrowest intervals for many means.",
    ),
}
"""The plans to pick from."""

DEFAULTS = {
    "shape": "looks",
    "confidence": "0.95",
    "questions": "500",
    "failures": "",
    "epsilon": "0.05",
    "spend": "0.01",
    "mu": "",
    "columns": "",
    "study": "",
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
        """Whether the interval is vacuous for a proportion."""
        return not self.half_width < 0.5


def policy_of(fields: Mapping[str, str]) -> dict[str, Any]:
    r"""Return the policy that a filled form asks for, as plain data.

    Examples
    --------
    >>> made = policy_of(DEFAULTS | {"analysts": "ann 0.5\nbob 25%"})
    >>> made["questions"], made["analysts"], "privacy" in made
    (500, {'ann': 0.5, 'bob': 0.25}, False)
    """
    shape = fields.get("shape", "looks")
    if shape not in SHAPES:
        raise InvalidParameter(f"plan must be one of {', '.join(SHAPES)}")
    policy: dict[str, Any] = {"confidence": number_of("confidence", fields["confidence"])}
    for name in ("questions", "failures"):
        if fields.get(name):
            policy[name] = arguments.whole(name, number_of(name, fields[name]), at_least=0, at_most=10**9)
    if shape in ("mixed", "private"):
        policy["privacy"] = {"kind": "pure-dp", "epsilon": number_of("privacy budget", fields.get("epsilon", ""))}
        if fields.get("spend"):
            policy["spend"] = {"kind": "pure-dp", "epsilon": number_of("cost of a question", fields["spend"])}
        if shape == "private":
            policy["all_private"] = True
            policy.pop("failures", None)
    elif shape == "means":
        policy |= {"answers": "means"}
        policy.pop("failures", None)
        if fields.get("mu"):
            policy["privacy"] = {"kind": "gdp", "mu": number_of("privacy cap", fields["mu"])}
    analysts = shares_of(fields.get("analysts", ""))
    if analysts:
        policy["analysts"] = analysts
    if fields.get("expires"):
        policy["expires"] = fields["expires"]
    if fields.get("repeats") == "everyone":
        policy["repeats"] = "everyone"
    Policy.from_dict(policy)
    return policy


def shares_of(text: str) -> dict[str, float]:
    """Analysts and their shares, a line each."""
    shares: dict[str, float] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, share = line.rpartition(" ")
        percent = share.endswith("%")
        if not name.strip():
            raise InvalidParameter(
                "analysts must be given in lines with a name and a quota each, such as `ann 0.5` or `ann 50%`"
            )
        if name.strip() in shares:
            raise InvalidParameter(f"analysts must each be named once, and {name.strip()[:60]!r} is named twice")
        shares[name.strip()] = number_of("share", share.rstrip("%")) / (100 if percent else 1)
    return shares


_RANGE = re.compile(r"\s*(?P<low>\S+)\s+to\s+(?P<high>\S+)\s*")


def columns_of(text: str, schema: Schema) -> dict[str, Any]:
    r"""Return what is declared about columns, a line each: a range `age: 0 to 120`, or categories `sex: f, m`.

    Examples
    --------
    >>> columns_of("age: 0 to 120\nsex: f, m", Schema({"age": "integer", "sex": "text"}))
    {'age': {'low': 0, 'high': 120}, 'sex': {'categories': ['f', 'm']}}
    """
    declared: dict[str, Any] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, said = (part.strip() for part in line.rpartition(":") if part is not None)
        if not colon or not name or not said:
            raise InvalidParameter("columns must be declared in lines such as `age: 0 to 120` or `sex: f, m`")
        if name not in schema:
            raise InvalidParameter(f"columns must be names of columns of the data set, got {name[:60]!r}")
        given = declared.setdefault(name, {})
        ends = _RANGE.fullmatch(said)
        if ends is not None and schema[name].kind in ("number", "integer"):
            given |= {end: number_of(f"{end} of {name[:60]}", ends[end]) for end in ("low", "high")}
        else:
            place = Place("categories", schema, {"column": name})
            given["categories"] = CategoriesInput(label="", help="").read([said], place)
    return declared


def lines_of(columns: Mapping[str, Any]) -> str:
    r"""Return the declarations of a policy as the form takes them.

    Examples
    --------
    >>> lines_of({"age": {"low": 0, "high": 120}, "sex": {"categories": ["f", "m"]}})
    'age: 0 to 120\nsex: f,m'
    """
    lines = []
    for name, about in columns.items():
        if about.get("low") is not None:
            lines.append(f"{name}: {about['low']:.15g} to {about['high']:.15g}")
        if about.get("categories") is not None:
            lines += [f"{name}: {text}" for text in CategoriesInput(label="", help="").write(about["categories"])]
    return "\n".join(lines)


def number_of(name: str, text: str) -> float:
    """A finite number that somebody typed; whole ones are whole. Commas group thousands: `0,05` is not read as 5."""
    try:
        if len(text) > 40 or ("," in text and not _GROUPED.fullmatch(text.strip())):
            raise ValueError
        number = float(text.replace(",", ""))
        if not math.isfinite(number):
            raise ValueError
    except ValueError:
        raise InvalidParameter(f"{name} must be a number, got {text[:40]!r}") from None
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def comparison(n: int, fields: Mapping[str, str]) -> tuple[list[Line], int]:
    """Return what the form's policy promises, then every known method for the same use, narrowest first.

    The number is of the failed checks after which those methods are compared.
    """
    policy = Policy.from_dict({k: v for k, v in policy_of(fields).items() if k not in ("analysts", "expires")})
    questions = policy.questions or 1000
    failed = min(10, questions) if policy.failures is None else min(policy.failures, questions)
    lines = promised(n, policy)
    for name, half_width, certified, reference in methods(n, questions, failed, policy.confidence):
        remark = "not valid for questions chosen after looking" if reference else "" if certified else "not proved"
        lines.append(Line(_METHODS.get(name, name), half_width, "limit" if reference else "other", remark))
    return lines, failed


@dataclass(frozen=True)
class Offer:
    """What one of the plans to pick from would give for the same rows, confidence and number of questions."""

    title: str
    chosen: bool
    check: str
    mean: str
    needs_guess: str
    noise: str


def offers(n: int, fields: Mapping[str, str]) -> list[Offer]:
    """The plans side by side, each with what the form says; one that the form does not fit gives nothing.

    Examples
    --------
    >>> [(one.title, one.chosen, one.check) for one in offers(10_000, DEFAULTS)][:2]
    [('Checks only', True, '±0.058'), ('Checks and private answers', False, '±0.089')]
    """
    chosen, plans = fields.get("shape", "looks"), []
    for shape, (title, _) in SHAPES.items():
        widths: dict[str, str] = {}
        try:
            policy = Policy.from_dict(
                {k: v for k, v in policy_of({**fields, "shape": shape}).items() if k not in ("analysts", "expires")}
            )
            widths = {line.name.rpartition(" ")[2]: words.width(line.half_width) for line in promised(n, policy)}
        except HoldfastError:
            pass
        check, mean = (f"±{widths[name]}" if name in widths else "not offered" for name in ("check", "mean"))
        needs = {"looks": "yes", "mixed": "for checks", "private": "no", "means": "no"}[shape]
        every = dict.fromkeys(("private", "means"), "every answer")
        noise = ({"looks": "none", "mixed": "private answers only"} | every)[shape]
        plans.append(Offer(title, shape == chosen, check, mean, needs, noise))
    return plans


def promised(n: int, policy: Policy) -> list[Line]:
    """Return the widths of this very policy: of the first answer, and of the last one if no check ever fails."""
    budget, most = GuardBudget(n, policy), policy.questions

    def widths(progress: Progress) -> dict[str, float]:
        return next_widths(policy, _CONDITION, n, lambda _: Situation(budget, progress))

    first = widths(Progress())
    last = {} if most is None else widths(Progress(most, most - 1, 0, Course(most - 1, most - 1)))
    promises = []
    for kind, width in first.items():
        if policy.plan == "open":
            remark = f"the next one; ±{last[kind]:.2g} at question {most:,}" if kind in last else "the next one"
        elif policy.answers == "means":
            remark = spending_words(answers_of(policy, n), policy.privacy)
        elif kind not in last:
            remark = ""
        elif f"{width:.2g}" == f"{last[kind]:.2g}":
            remark = "from the first to the last, while no check fails"
        else:
            remark = f"±{last[kind]:.2g} at the last, if no check fails"
        promises.append(Line(f"This guard: {words.NEXT[kind].lower()}", width, "this", remark))
    return promises


def spending_words(answers: PlannedAnswers, cap: Cost | None) -> str:
    """Return what all answers of a plan cost together, next to the cap.

    Examples
    --------
    >>> from holdfast.inference import GaussianAnswers
    >>> spending_words(GaussianAnswers(10_000, 20, 0.95), None)
    'all of them; together they cost μ 0.1'
    >>> spending_words(GaussianAnswers(10_000, 20, 0.95, privacy=GDP(1.0)), GDP(1.0))
    'all of them; together they cost μ 0.1, less than the cap: spending more would only widen the intervals'
    """
    words = f"all of them; together they cost μ {answers.mu:.2g}"
    less = isinstance(cap, GDP) and answers.mu < cap.mu * 0.999
    return words + (", less than the cap: spending more would only widen the intervals" if less else "")


@lru_cache(maxsize=256)
def methods(n: int, questions: int, failures: int, confidence: float) -> tuple[tuple[str, float, bool, bool], ...]:
    """Return every method of `holdfast plan`: name, half-width, whether it is proved, whether it is only a limit."""
    rows = plan(n, questions, failures, confidence).methods
    return tuple((row.name, row.half_width, row.certified, row.reference) for row in rows)


# --- Study ------------------------------------------------------------------------------------------------------------
# Intended questions, from which the form is filled in.


def study_of(text: str, fields: Mapping[str, str], schema: Schema, n: int) -> Study:
    """The study that somebody typed, about a sample; its columns are those of the form where it declares none."""
    study = Study.from_text(text, schema=schema, n=n)
    if study.columns is not None or not fields.get("columns"):
        return study
    return replace(study, columns=declared_columns(columns_of(fields["columns"], schema)))


def filled_by(plan: StudyPlan) -> dict[str, str]:
    """Return the form that makes the policy of a plan.

    Examples
    --------
    >>> asked = [{"kind": "check", "expression": "anything", "low": 0, "high": 1, "guess": 0.5, "count": 10}]
    >>> from holdfast.guard import plan_study
    >>> plan = plan_study(Study.from_dict({"n": 10_000, "questions": asked}), changes=False)
    >>> filled_by(plan)["shape"], filled_by(plan)["questions"]
    ('looks', '10')
    """
    policy = plan.policy
    filled = {
        "shape": "means" if policy.answers == "means" else "looks" if policy.privacy is None else "mixed",
        "confidence": f"{policy.confidence:.12g}",
        "questions": str(policy.questions or sum(width.count for width in plan.widths)),
    }
    if policy.all_private:
        filled["shape"] = "private"
    if policy.columns is not None:
        filled["columns"] = lines_of({name: column.to_dict() for name, column in policy.columns.items()})
    if isinstance(policy.privacy, GDP):
        filled["mu"] = f"{policy.privacy.mu:.12g}"
    if isinstance(policy.privacy, PureDP) and isinstance(policy.spend, PureDP):
        filled |= {"epsilon": f"{policy.privacy.epsilon:.12g}", "spend": f"{policy.spend.epsilon:.12g}"}
    return filled


# --- Board form -------------------------------------------------------------------------------------------------------
# The part of the picker that sets a leaderboard up.

RULES: dict[str, tuple[str, str]] = {
    "intervals": (
        "Intervals",
        "Who submits says what score they expect. It is confirmed, or corrected with an interval.",
    ),
    "ladder": ("Ladder", "A score is shown only if, rounded to steps, it beats the best so far. No guess needed."),
    "open": (
        "Open",
        "Every plain score is shown and certifies nothing. Rows that are kept for a final decide.",
    ),
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
    "board_reserve": "",
    "board_baseline": "",
    "board_deadline": "",
    "board_zone": "",
    "board_quota": "",
    "board_daily": "",
    "board_public": "",
    "board_classes": "",
    "board_k": "",
    "board_expression": "",
    "board_denominator": "",
    "board_max_denominator": "",
    "board_greater": "",
    "board_also": "",
    "board_by": "",
    "board_by_values": "",
    "board_groups": "",
}


def board_of(fields: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the board that a filled form asks for, as plain data; None where its name is left empty.

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
    board: dict[str, Any] = {
        "name": given["board"],
        "key": given["board_key"],
        "label": given["board_label"],
        "metric": given["board_metric"],
        "rule": given["board_rule"],
    }
    if given["board_step"] and given["board_rule"] == "ladder":
        board["step"] = number_of("step", given["board_step"])
    if given["board_positive"]:
        board["positive"] = _value(given["board_positive"], kinds.get(given["board_label"], "text"))
    if given["board_metric"] in WITH_RANGE or given["board_metric"] in OF_EXPRESSIONS:
        board |= {name: number_of(name, given[f"board_{name}"]) for name in ("low", "high")}
    if given["board_classes"]:
        board["classes"] = _values(given["board_classes"], kinds.get(given["board_label"], "text"))
    for name in ("expression", "denominator"):
        if given[f"board_{name}"]:
            board[name] = given[f"board_{name}"]
    for name in ("max_denominator", "k"):
        if given[f"board_{name}"]:
            board[name] = number_of(name, given[f"board_{name}"])
    if given["board_greater"]:
        board["greater_is_better"] = True
    if given["board_also"]:
        board["also"] = [part.strip() for part in given["board_also"].split(",") if part.strip()]
    for name in ("by", "groups"):
        if given[f"board_{name}"]:
            board[name] = given[f"board_{name}"]
    if given["board_by_values"]:
        board["by_values"] = _values(given["board_by_values"], kinds.get(given["board_by"], "text"))
    if given["board_baseline"]:
        board["baseline"] = number_of("baseline", given["board_baseline"])
    if given["board_deadline"]:
        board["deadline"] = f"{given['board_deadline']} {given['board_zone']}".strip()
    for name in ("quota", "daily"):
        if given[f"board_{name}"]:
            board[name] = number_of(name, given[f"board_{name}"])
    for name in ("models", "public_keys", "public"):
        if given[f"board_{name}"]:
            board[name] = True
    return Board.from_dict(board).to_dict()


def contest_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """What the form adds to the policy of a contest: the rows that are kept for its finals; nothing where it has none.

    An open board certifies nothing before the final, so the final has all of the failure probability.

    Examples
    --------
    >>> contest_of({"board_reserve": "0.3, 0.3", "board_rule": "open"}), contest_of({"board_reserve": ""})
    ({'reserve': [0.3, 0.3], 'final': 1.0}, {})
    """
    text = fields.get("board_reserve", "")
    if not text:
        return {}
    parts = [number_of("the part of the rows for the final", part.strip()) for part in text.split(",")]
    return {"reserve": parts} | ({"final": 1.0} if fields.get("board_rule") == "open" else {})


def _values(text: str, kind: str) -> list[Any]:
    """The values of a column that somebody typed, with commas between them."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(_value(part, kind)) if kind == "integer" else _value(part, kind) for part in parts]


def _value(text: str, kind: str) -> Any:
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise InvalidParameter("the positive label must be true or false")
        return text.lower() == "true"
    return text if kind == "text" else number_of("the positive label", text)


# --- Override form ----------------------------------------------------------------------------------------------------
# The form with which a steward puts another policy in the place of the one that was fixed, and what that costs.

_UNITS = ("epsilon", "rho", "mu")
FIELDS = ("questions", "failures", "budget", "analysts", "expires", "reason", "sure")


def filled(policy: Mapping[str, Any]) -> dict[str, str]:
    r"""Return the form as it stands before anything is changed.

    Examples
    --------
    >>> plain = Policy(questions=50, analysts={"ann": 0.5}).to_dict()
    >>> filled(plain)["questions"], filled(plain)["analysts"]
    ('50', 'ann 50%')
    """
    cap = policy["privacy"] or {}
    budget = next((cap[unit] for unit in _UNITS if cap.get(unit) is not None), None)
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
    """Return the policy that the form asks for: the one before it, with what was changed."""
    if not fields["reason"]:
        raise InvalidParameter("a reason must be given, which the ledger records permanently")
    if fields["sure"] != "yes":
        raise InvalidParameter("tick the box to confirm that no answer after this override is certified")
    policy = dict(before)
    for name in ("questions", "failures"):
        text = fields[name]
        policy[name] = arguments.whole(name, number_of(name, text), at_least=0, at_most=10**9) if text else None
    if before["privacy"] is not None:
        unit = next(unit for unit in _UNITS if before["privacy"].get(unit) is not None)
        policy["privacy"] = before["privacy"] | {unit: number_of("privacy budget", fields["budget"])}
    policy["analysts"] = shares_of(fields["analysts"]) or None
    policy["expires"] = fields["expires"] or None
    changed = Policy.from_dict(policy)
    if changed == Policy.from_dict(before):
        raise InvalidParameter("the new policy must differ from the policy that is in force, and it is the same")
    return changed
