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
from holdfast.bounds.one_question.means import Side, clopper_pearson
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.holdout.error_budget import Course, ErrorBudget, log_cell_weight, reserve_parts

NAMES = ("fixed", "rounds", "checks", "contest", "pairs")
_DISAGREE = 0.2
"""Part of the rows on which two models are taken to differ, where a gap is planned."""
_POWER = 0.8
_WINNER, _LOSS = 0.9, 0.1


@dataclass(frozen=True)
class Workflow:
    """What a way of working certifies, and what else would be valid.

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
    says: str
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Ours divided by the alternative's."""
        return self.half_width / self.alternative_half_width

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "workflow": self.workflow,
            "half_width": self.half_width,
            "alternative": {"name": self.alternative, "half_width": self.alternative_half_width},
            "ratio": self.ratio,
            "policy": dict(self.policy),
            "verbs": list(self.verbs),
            "more": dict(self.more),
            "says": self.says,
        }


@dataclass(frozen=True)
class _Use:
    n: int
    confidence: float
    guess: float
    candidates: int
    questions: int
    rounds: int
    failures: int
    teams: int
    submissions: int
    reserve: tuple[float, ...]

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

    def winner(self, log_level: float, finalists: int, n: int | None = None) -> float:
        """Half of the winner's interval: one limit pays for the choice, the other does not."""
        level = log_level + math.log(_WINNER) - math.log(2)
        lower = self.half_width(level - math.log(finalists), n, "lower")
        return (lower + self.half_width(level, n, "upper")) / 2

    def gap(self, log_level: float, n: int | None = None) -> float:
        """The smallest paired gap that a one-sided test at a level shows in four of five runs."""
        rows = self.n if n is None else n
        return float((-ndtri_exp(log_level) + ndtri(_POWER)) * math.sqrt(_DISAGREE / rows))


def workflow(
    name: str,
    n: int,
    *,
    candidates: int | None = None,
    questions: int = 1000,
    rounds: int = 5,
    failures: int = 0,
    teams: int = 40,
    submissions: int = 150,
    reserve: Any = None,
    guess: float = 0.85,
    confidence: float = 0.95,
) -> Workflow:
    """Plan a way of working, next to the best valid alternative on the same rows.

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
    questions, rounds, failures, teams, submissions
        How much is asked before the end, as it applies.
    reserve : float or list of float, optional
        Part of the rows that is kept for the final; half for a contest, else none.
    guess : float
        The mean that is expected.
    confidence : float
        Probability that everything holds.

    Examples
    --------
    >>> plan = workflow("checks", n=10_000, questions=1000)
    >>> round(plan.half_width, 4), plan.verbs
    (0.009, ('check', 'final'))
    """
    name = arguments.choice("workflow", name, NAMES)
    usual = {"fixed": 60, "rounds": 12, "checks": 1, "contest": 1, "pairs": 29}[name]
    use = _Use(
        arguments.whole("n", n, at_least=2),
        arguments.probability("confidence", confidence),
        arguments.real("guess", guess, at_least=0, at_most=1),
        usual if candidates is None else arguments.whole("candidates", candidates, at_least=1),
        arguments.whole("questions", questions, at_least=1),
        arguments.whole("rounds", rounds, at_least=1),
        arguments.whole("failures", failures, at_least=0),
        arguments.whole("teams", teams, at_least=2),
        arguments.whole("submissions", submissions, at_least=1),
        reserve_parts((0.5 if name == "contest" else 0.0) if reserve is None else reserve),
    )
    if use.failures > use.questions:
        raise InvalidParameter(f"failures ({use.failures}) must not exceed questions ({use.questions})")
    return _PLANS[name](use)


def _fixed(use: _Use) -> Workflow:
    log_beta, m = math.log(use.beta), use.candidates
    ours = use.winner(log_beta, m)
    each = use.half_width(log_beta - math.log(m))
    return Workflow(
        "fixed",
        ours,
        "Bonferroni",
        each,
        {"final": 1.0, "confidence": use.confidence},
        ("final",),
        f"The winner of {m} candidates is certified to within {ours:.3g}; all of them at once, to {each:.3g}.",
        {"each": each, "loss_about": use.gap(log_beta + math.log(_LOSS / max(m - 1, 1)))},
    )


def _rounds(use: _Use) -> Workflow:
    m, r = use.candidates, use.rounds
    shown = -r * math.log(m)  # where guesses cannot tell candidates apart
    ours = use.winner(math.log(use.beta) + shown, r)
    told = use.winner(math.log(use.beta) - r * math.log(2), r)
    split = use.half_width(math.log(use.beta) - math.log(r * m), use.n // r)
    return Workflow(
        "rounds",
        ours,
        "a fresh part of the rows for each round, with Bonferroni",
        split,
        {"final": 1.0, "confidence": use.confidence},
        ("best",) * r + ("final",),
        f"After {r} rounds of {m} the winner is certified to within {ours:.3g}; where guesses knew who would win, to "
        f"{told:.3g}.",
        {"expected_winners": told},
    )


def _checks(use: _Use) -> Workflow:
    budget = ErrorBudget(use.confidence, use.questions, 0.5, len(use.reserve))
    course = Course(use.questions, use.questions, use.failures, 0.0, use.failures * log_cell_weight(1))
    m = use.candidates
    kept = math.log(use.beta / 2)
    on_all = use.half_width(kept + budget.log_prior(course) - math.log(m))
    part = use.reserve[0] if use.reserve else 0.5
    on_reserve = use.half_width(kept - math.log(m), max(1, round(use.n * part)))
    ours = on_reserve if use.reserve else on_all
    each = use.half_width(math.log(use.beta / 2 / use.questions) + budget.log_prior(course))
    apart = use.half_width(math.log(use.beta / m), max(1, round(use.n * part)))
    better = "reserve rows for the final" if on_reserve < on_all else "keep all rows for exploring"
    return Workflow(
        "checks",
        ours,
        f"{part:.0%} of the rows kept apart for the end",
        apart,
        {"questions": use.questions, "final": 0.5, "reserve": list(use.reserve), "confidence": use.confidence},
        ("check", "final"),
        f"After {use.questions:,} checks and {use.failures} failures the final is within {ours:.3g}; with this many "
        f"failures it is better to {better}.",
        {"final_on_all_rows": on_all, "final_on_a_reserve": on_reserve, "each_check_after_close": each},
    )


def _contest(use: _Use) -> Workflow:
    part = use.reserve[0] if use.reserve else 0.5
    rows = max(2, round(use.n * part))
    log_beta = math.log(use.beta)
    pairs = use.teams * (use.teams - 1) / 2
    ours = use.half_width(log_beta - math.log(use.teams), rows)
    return Workflow(
        "contest",
        ours,
        f"{part:.0%} of the rows kept apart, with Bonferroni",
        ours,
        {"final": 1.0, "reserve": [part], "rule": "open", "confidence": use.confidence},
        ("submit", "final"),
        f"Each of {use.teams} teams is certified to within {ours:.3g} on {rows:,} reserved rows. Paired tests with "
        "weights from the explored rows tell more pairs apart than Bonferroni does.",
        {"gap_shown": use.gap(log_beta - math.log(2 * pairs), rows), "rows_explored": float(use.n - rows)},
    )


def _pairs(use: _Use) -> Workflow:
    m = use.candidates
    pairs = max(1, m * (m - 1) // 2)
    bonferroni = use.gap(math.log(use.beta) - math.log(2 * pairs))
    holm = use.gap(math.log(use.beta) - math.log(max(1, pairs)))
    return Workflow(
        "pairs",
        holm,
        "Bonferroni",
        bonferroni,
        {"final": 1.0, "confidence": use.confidence},
        ("final",),
        f"Of {pairs} pairs, a gap of {holm:.3g} is shown in four of five runs once half of them are told apart, for "
        f"models that differ on {_DISAGREE:.0%} of the rows.",
        {"first_step": bonferroni},
    )


_PLANS: dict[str, Callable[[_Use], Workflow]] = {
    "fixed": _fixed,
    "rounds": _rounds,
    "checks": _checks,
    "contest": _contest,
    "pairs": _pairs,
}
