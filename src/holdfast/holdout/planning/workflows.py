"""What a way of working certifies at the end: a fixed list, rounds of search, checks and a final, a contest, pairs.

Each workflow is planned with the verbs of the holdout, and compared with the best valid thing that a statistician would
do with the same rows. Half-widths are for 0/1 values with the mean that is expected, by exact binomial intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scipy.special import ndtri, ndtri_exp

from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.bounds.one_question.means import Side, blaker, clopper_pearson
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.holdout.error_budget import Course, ErrorBudget, log_cell_weight, reserve_parts
from holdfast.holdout.final import CONTEST_SPLIT
from holdfast.holdout.intervals.mean import ROOM
from holdfast.holdout.intervals.winner import winner_limits

NAMES = ("fixed", "rounds", "checks", "contest", "pairs")
_APPLIES: dict[str, tuple[str, ...]] = {
    "fixed": ("candidates",),
    "rounds": ("candidates", "rounds", "reserve"),
    "checks": ("candidates", "questions", "failures", "reserve"),
    "contest": ("teams", "submissions", "reserve", "rule"),
    "pairs": ("candidates",),
}
"""What may be said about each workflow."""
_USUAL: dict[str, dict[str, int]] = {
    "fixed": {"candidates": 60},
    "rounds": {"candidates": 12, "rounds": 5},
    "checks": {"candidates": 1, "questions": 1000, "failures": 0},
    "contest": {"teams": 40, "submissions": 150},
    "pairs": {"candidates": 29},
}
_LEAST = {"candidates": 1, "rounds": 1, "questions": 1, "failures": 0, "teams": 2, "submissions": 1}
_DISAGREE = 0.2
"""Part of the rows on which two models are taken to differ, where a gap is planned."""
_POWER = 0.8
RULES = ("open", "ladder", "checked")
"""What a contest may show before its final."""
_CONTEST_FINAL = 0.9
"""The part of the failure probability for the finals of a contest that certifies scores before them too."""
_WINNER, _LOSS = 0.9, 0.1


@dataclass(frozen=True)
class Workflow:
    """What a workflow on a holdout certifies, next to the best valid alternative.

    Attributes
    ----------
    workflow : str
        Its name.
    half_width : float
        What is certified at the end; for pairs, the smallest gap that is shown in four of five runs.
    alternative : str
        The best valid alternative on the same rows.
    alternative_half_width : float
        What that certifies.
    policy : mapping
        How to plan the holdout, or a guard's policy.
    verbs : tuple of str
        What to call, in order.
    claims : str
        What the final claims.
    more : mapping
        Other widths that are worth knowing.
    says : str
        One sentence.

    Examples
    --------
    >>> plan = workflow("fixed", n=3000, candidates=60, guess=0.86)
    >>> round(plan.half_width, 4), plan.alternative, round(plan.alternative_half_width, 4), round(plan.ratio, 2)
    (0.0175, 'Bonferroni', 0.0213, 0.82)
    """

    workflow: str
    half_width: float
    alternative: str
    alternative_half_width: float
    policy: Mapping[str, Any]
    verbs: tuple[str, ...]
    claims: str
    says: str
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The half-width of the workflow divided by the half-width of the alternative."""
        return self.half_width / self.alternative_half_width

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "workflow": self.workflow,
            "half_width": self.half_width,
            "alternative": {"name": self.alternative, "half_width": self.alternative_half_width},
            "ratio": self.ratio,
            "policy": dict(self.policy),
            "verbs": list(self.verbs),
            "claims": self.claims,
            "more": dict(self.more),
            "says": self.says,
        }


@dataclass(frozen=True)
class _Use:
    n: int
    confidence: float
    guess: float
    reserve: tuple[float, ...] | None
    candidates: int = 1
    questions: int = 1
    rounds: int = 1
    failures: int = 0
    teams: int = 2
    submissions: int = 1
    rule: str = "open"

    @property
    def part(self) -> float:
        """The part of the rows that is reserved for a final, or would be."""
        return self.reserve[0] if self.reserve else 0.5

    @property
    def reserved(self) -> int:
        """The rows of that part."""
        return min(max(1, round(self.n * self.part)), self.n - 1)

    def reserves(self, on_all: float, on_reserve: float) -> tuple[float, ...]:
        """Return the reserve that was asked for; if nothing was said, the one that leaves the final narrower."""
        if self.reserve is not None:
            return self.reserve
        return (0.5,) if on_reserve < on_all else ()

    @property
    def beta(self) -> float:
        return left_to_chance(self.confidence)

    def half_width(self, log_share: float, n: int | None = None, side: Side = "both") -> float:
        """Of an exact binomial interval at the expected mean; for one side, the distance of that limit."""
        rows = self.n if n is None else n
        ones = round(self.guess * rows)
        low, high = clopper_pearson(ones, rows, log_share, side)
        mean = ones / rows
        return {"both": (high - low) / 2, "lower": mean - low, "upper": high - mean}[side]

    def final(self, log_share: float, n: int | None = None) -> float:
        """Of the interval that a final claims for each finalist, which is also the best that Bonferroni can have."""
        rows = self.n if n is None else n
        low, high = blaker(round(self.guess * rows), rows, log_share)
        return (high - low) / 2

    def winner(self, log_level: float, finalists: int, n: int | None = None) -> float:
        """Half of the winner's interval, where the loss of the choice is claimed too."""
        rows = self.n if n is None else n
        if finalists == 1:  # by a choice among one nothing is lost
            return self.final(log_level, rows)
        parts = log_level + math.log(_WINNER), log_level + math.log(_LOSS)
        limits = winner_limits(round(self.guess * rows), rows, finalists, *parts)
        return (limits.high - limits.low) / 2

    def gap_at_most(self, log_level: float) -> float:
        """Return the upper limit at a level of the gap between two models that are equally good on the rows."""
        return min(1.0, float(-ndtri_exp(log_level)) * math.sqrt(_DISAGREE / self.n))

    def gap(self, log_level: float, n: int | None = None) -> float:
        """Return the smallest paired gap that a one-sided test at a level shows in four of five runs."""
        rows = self.n if n is None else n
        return min(1.0, float((-ndtri_exp(log_level) + ndtri(_POWER)) * math.sqrt(_DISAGREE / rows)))


def workflow(
    name: str,
    n: int,
    *,
    candidates: int | None = None,
    questions: int | None = None,
    rounds: int | None = None,
    failures: int | None = None,
    teams: int | None = None,
    submissions: int | None = None,
    reserve: Any = None,
    rule: str | None = None,
    guess: float = 0.85,
    confidence: float = 0.95,
) -> Workflow:
    """Plan a workflow on a holdout, and compare it with the best valid alternative on the same rows.

    Parameters
    ----------
    name : str
        "fixed": a list of candidates that is written down before. "rounds": rounds of search that show their winners.
        "checks": guesses checked one by one, then a final. "contest": teams that submit, then a final on reserved rows.
        "pairs": all comparisons of several models.
    n : int
        Rows.
    candidates : int, optional
        Candidates of a list, of a round or of the final; models for pairs. By default 60, 12 in a round, one final of
        checks, and 29 models.
    questions, failures : int, optional
        For "checks": how many checks, and how many of them fail; 1,000 and none by default.
    rounds : int, optional
        For "rounds"; 5 by default.
    teams, submissions : int, optional
        For "contest"; 40 teams with 150 submissions in all by default.
    reserve : float or list of float, optional
        Part of the rows that is kept for the final, for "rounds", "checks" and "contest". By default half in a contest,
        and elsewhere half where that makes the final narrower, else none.
    rule : str, optional
        For "contest": what is shown before the final. "open", by default: plain scores, which certify nothing.
        "ladder": improvements. "checked": claimed scores.
    guess : float
        The mean that is expected.
    confidence : float
        Probability that everything holds.

    Raises
    ------
    InvalidParameter
        A value is out of its range, or says something that this workflow does not have.

    Examples
    --------
    >>> plan = workflow("checks", n=10_000, questions=1000)
    >>> round(plan.half_width, 4), plan.verbs
    (0.009, ('check', 'final'))
    >>> plan = workflow("checks", n=10_000, questions=1000, failures=1)
    >>> round(plan.half_width, 4), plan.policy["reserve"]
    (0.0114, [0.5])
    """
    name = arguments.choice("workflow", name, NAMES)
    said = {
        "candidates": candidates,
        "questions": questions,
        "rounds": rounds,
        "failures": failures,
        "teams": teams,
        "submissions": submissions,
        "reserve": reserve,
        "rule": rule,
    }
    for option, value in said.items():
        if value is not None and option not in _APPLIES[name]:
            raise InvalidParameter(
                f"{option} must not be given for the workflow {name}, which takes {', '.join(_APPLIES[name])}"
            )
    least = _LEAST | ({"candidates": 2} if name == "pairs" else {})
    counts = {
        option: usual if said[option] is None else arguments.whole(option, said[option], at_least=least[option])
        for option, usual in _USUAL[name].items()
    }
    if counts.get("failures", 0) > counts.get("questions", 0):
        raise InvalidParameter(
            f"failures must be at most the number of questions, {counts['questions']}, got {counts['failures']}"
        )
    reserved = 0.5 if name == "contest" and reserve is None else reserve
    use = _Use(
        arguments.whole("n", n, at_least=2),
        arguments.probability("confidence", confidence),
        arguments.real("guess", guess, at_least=0, at_most=1),
        None if reserved is None else reserve_parts(reserved),
        rule=arguments.choice("rule", "open" if rule is None else rule, RULES),
        **counts,
    )
    if name == "contest" and not use.reserve:
        raise InvalidParameter(
            "reserve must be above 0 for a contest, because its final uses rows that no submission used"
        )
    return _PLANS[name](use)


def _fixed(use: _Use) -> Workflow:
    log_beta, m = math.log(use.beta), use.candidates
    ours = use.winner(log_beta, m)
    each = use.final(log_beta - math.log(m))
    return Workflow(
        "fixed",
        ours,
        "Bonferroni",
        each,
        {"final": 1.0, "confidence": use.confidence},
        ("final",),
        "winner",
        f"The winner of {_count(m, 'candidate')} is certified to within {ours:.3g}. All of them at once are certified "
        f"to within {each:.3g}.",
        {
            "each_candidate": each,
            "loss_of_the_choice": 0.0 if m == 1 else use.gap_at_most(log_beta + math.log(_LOSS / (m - 1))),
            "with_twice_the_candidates": use.winner(log_beta, 2 * m),
        },
    )


def _rounds(use: _Use) -> Workflow:
    m, r, log_beta = use.candidates, use.rounds, math.log(use.beta)

    def on_all(rounds: int, each: float) -> float:
        return use.winner(log_beta - rounds * each, rounds)

    unknown = on_all(r, math.log(m))  # where guesses cannot tell candidates apart
    expected = on_all(r, min(math.log(2), math.log(m)))
    on_reserve = use.winner(log_beta - math.log(max(1, len(use.reserve or ()))), r, use.reserved)
    reserve = use.reserves(unknown, on_reserve)
    ours = on_reserve if reserve else unknown
    where = f"on the {use.part:.0%} of the rows that are reserved" if reserve else "on all rows"
    return Workflow(
        "rounds",
        ours,
        f"{use.part:.0%} of the rows kept apart for the winners, with Bonferroni",
        use.final(log_beta - math.log(r), use.reserved),
        {"final": 1.0, "reserve": list(reserve), "confidence": use.confidence},
        ("best",) * r + ("final",),
        "winner",
        f"After {_count(r, 'round')} of {_count(m, 'candidate')} the winner is certified to within {ours:.3g} {where}. "
        f"The final on all rows is within {unknown:.3g}, and {expected:.3g} where guesses knew who would win.",
        {
            "final_on_all_rows": unknown,
            "final_if_winners_were_expected": expected,
            "final_on_a_reserve": on_reserve,
            "on_all_rows_with_one_round_more": on_all(r + 1, math.log(m)),
        },
    )


def _checks(use: _Use) -> Workflow:
    m, phases = use.candidates, max(1, len(use.reserve or ()))
    budget = ErrorBudget(use.confidence, use.questions)

    def log_prior(failures: int) -> float:
        course = Course(use.questions, use.questions, failures, 0.0, failures * log_cell_weight(1))
        return budget.log_prior(course)

    def on_all(failures: int) -> float:
        return use.final(math.log(use.beta / 2) + log_prior(failures) - math.log(m))

    on_reserve = use.final(math.log(use.beta / 2 / phases) - math.log(m), use.reserved)
    reserve = use.reserves(on_all(use.failures), on_reserve)
    ours = on_reserve if reserve else on_all(use.failures)
    explored = use.n - sum(max(1, round(use.n * part)) for part in reserve)
    each = use.half_width(math.log(use.beta / 2 / use.questions) + log_prior(use.failures), max(1, explored))
    where = f"on the {use.part:.0%} of the rows that are reserved" if reserve else "on all rows"
    better = "reserve rows for the final" if on_reserve < on_all(use.failures) else "keep all rows for exploring"
    more = {
        "final_on_all_rows": on_all(use.failures),
        "final_on_a_reserve": on_reserve,
        "each_check_after_close": each,
    }
    if use.failures < use.questions:
        more["on_all_rows_with_one_failure_more"] = on_all(use.failures + 1)
    return Workflow(
        "checks",
        ours,
        f"{use.part:.0%} of the rows kept apart for the end",
        use.final(math.log(use.beta / m), use.reserved),
        {"questions": use.questions, "final": 0.5, "reserve": list(reserve), "confidence": use.confidence},
        ("check", "final"),
        "intervals",
        f"After {_count(use.questions, 'check')} with {_count(use.failures, 'failure')} the final is within {ours:.3g} "
        f"{where}. With this many failures it is better to {better}.",
        more,
    )


def _contest(use: _Use) -> Workflow:
    assert use.reserve
    rows, teams, is_open = use.reserved, use.teams, use.rule == "open"
    final = 1.0 if is_open else _CONTEST_FINAL
    log_level = math.log(use.beta * final / len(use.reserve))
    pairs = teams * (teams - 1) / 2
    ours = use.final(log_level + math.log(CONTEST_SPLIT["intervals"]) - math.log(teams), rows)
    apart = math.log(use.beta / len(use.reserve))
    explored = use.n - sum(max(1, round(use.n * part)) for part in use.reserve)
    # Without a reserve every submission is a check of a claimed score, and each team is corrected once.
    corrected = min(teams, use.submissions)
    course = Course(use.submissions, use.submissions, corrected, 0.0, corrected * log_cell_weight(1))
    budget = ErrorBudget(use.confidence, use.submissions, 0.0 if is_open else final)
    on_all = use.final(math.log(use.beta / 2) + budget.log_prior(course) - math.log(teams))
    policy: dict[str, Any] = {"final": final, "reserve": list(use.reserve), "confidence": use.confidence}
    more = {
        "gap_shown": use.gap(log_level + math.log(CONTEST_SPLIT["ranks"]) - math.log(2 * pairs), rows),
        "gap_shown_by_bonferroni": use.gap(apart - math.log(2 * pairs), rows),
        "without_a_reserve": on_all,
        "rows_explored": float(explored),
    }
    if not is_open:
        policy = {"questions": use.submissions} | policy
        each = math.log(use.beta * (1 - final) / use.submissions)
        more["a_passed_claim_before_the_end"] = ROOM * use.half_width(each, explored)
        more["the_same_score_after_the_end"] = use.half_width(each, explored)
        more["after_one_failed_claim_of_each_team"] = use.half_width(each + budget.log_prior(course), explored)
    return Workflow(
        "contest",
        ours,
        f"{use.part:.0%} of the rows kept apart, with Bonferroni for scores and pairs",
        use.final(apart + math.log(CONTEST_SPLIT["intervals"]) - math.log(teams), rows),
        policy,
        ("score", "contest_final"),
        "ranks",
        f"Each of {teams} teams is certified to within {ours:.3g} on {rows:,} reserved rows, whatever "
        f"{_count(use.submissions, 'submission')} showed on a board with the rule {use.rule}. Ranks by paired tests, "
        "with weights from the explored rows, tell more pairs apart than Bonferroni does.",
        more,
    )


def _pairs(use: _Use) -> Workflow:
    m = use.candidates
    pairs = m * (m - 1) // 2
    bonferroni = use.gap(math.log(use.beta) - math.log(2 * pairs))
    holm = use.gap(math.log(use.beta) - math.log(pairs))
    return Workflow(
        "pairs",
        holm,
        "Bonferroni",
        bonferroni,
        {"final": 1.0, "confidence": use.confidence},
        ("final",),
        "ranks",
        f"Of {_count(pairs, 'pair')}, a gap of {holm:.3g} is shown in four of five runs once half of them are told "
        f"apart, for models that differ on {_DISAGREE:.0%} of the rows.",
        {"first_gap_shown": bonferroni},
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_PLANS: dict[str, Callable[[_Use], Workflow]] = {
    "fixed": _fixed,
    "rounds": _rounds,
    "checks": _checks,
    "contest": _contest,
    "pairs": _pairs,
}
