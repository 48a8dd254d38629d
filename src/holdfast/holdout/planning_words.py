"""Plain sentences about a plan: what to use, what says nothing at this size, what would work instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.holdout.planning_result import HoldoutPlan, PlannedMethod

_TITLES = {
    "guess-and-check": "guess-and-check",
    "guess-and-check-kl": "guess-and-check with KL intervals",
    "guess-and-check-binary": "guess-and-check with exact binomial intervals",
    "thresholdout-paper": "the paper's Thresholdout",
    "thresholdout-exact": "Thresholdout with exact constants",
    "thresholdout-tightened": "tightened Thresholdout",
    "thresholdout-single": "single-threshold Thresholdout",
    "gaussian-answers": "Gaussian answers",
    "ladder": "the Ladder",
    "splitting": "splitting by questions",
    "splitting-by-failures": "splitting by failures",
    "sparse-validate": "SparseValidate",
}


def words(plan: HoldoutPlan) -> list[str]:
    """One sentence a thing worth saying, the recommendation first."""
    said = [_advice(plan)]
    said += [_silent(plan, row) for row in plan.methods if row.vacuous and not row.reference]
    limit = next((row for row in plan.methods if row.reference), None)
    if limit is not None and plan.n is not None and not limit.vacuous:
        said.append(
            f"The limit is {limit.half_width:.3g}: Hoeffding's width for questions written down before looking. It "
            "does not hold for questions chosen after seeing answers."
        )
    return said


def about(n: int | None) -> str:
    """A number of rows in round words.

    Examples
    --------
    >>> about(17_341_106), about(514_501), about(None)
    ('17 million rows', '515 thousand rows', 'more than 10^15 rows')
    """
    if n is None:
        return "more than 10^15 rows"
    for size, name in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand")):
        if n >= 10 * size or (n >= size and size > 1000):
            return f"{n / size:.3g} {name} rows" if n < 10 * size else f"{n / size:.0f} {name} rows"
    return f"{n:,} rows"


def _title(row: PlannedMethod) -> str:
    return _TITLES.get(row.name, row.name)


def _advice(plan: HoldoutPlan) -> str:
    name = plan.recommended
    if name is None:
        return _instead(plan)
    row = plan[name]
    if plan.n is None:
        return f"Use {_title(row)}: it needs the fewest rows, {row.n_required:,}. {row.says}"
    if row.before_failures is None:
        return f"Use {_title(row)}: every answer within {row.half_width:.3g}, certified. {row.says}"
    after = f" and {row.half_width:.3g} after {plan.failures:,}" if plan.failures else ""
    shown = "" if row.corrected is None else f", and corrected values are within {row.corrected:.3g}"
    return (
        f"Use {_title(row)} (ReusableHoldout): a pass certifies a guess to as little as {row.before_failures:.3g} "
        f"before any failure{after}{shown}."
    )


def _instead(plan: HoldoutPlan) -> str:
    """What would work where nothing does what was asked for: the method that comes nearest, and what it needs."""
    wanted = "says anything" if plan.half_width is None else f"gives a half-width of {plan.half_width:g}"
    rows = "" if plan.n is None else f" with {plan.n:,} rows"
    head = f"No certified method {wanted}{rows}."
    offers = [
        row for row in plan.methods if plan.usable(row) and row.answers == "values" and row.n_required is not None
    ]
    if not offers:
        return head
    best = min(offers, key=lambda row: row.n_required or 0)
    ways = [f"with {best.n_required:,} rows"]
    ways += [f"with at most {best.max_questions:,} questions"] if best.max_questions else []
    ways += [f"with at most {best.max_failures:,} failures"] if best.max_failures is not None else []
    here = "" if best.vacuous else f"; here it gives {best.half_width:.3g}"
    title = _title(best)
    return f"{head} {title[0].upper()}{title[1:]} would {', or '.join(ways)}{here}."


def _silent(plan: HoldoutPlan, row: PlannedMethod) -> str:
    target = "to say anything" if plan.half_width is None else f"for {plan.half_width:g}"
    title = _title(row)
    say, it = ("say", "they") if row.name == "gaussian-answers" else ("says", "it")
    head = f"{title[0].upper()}{title[1:]} {say} nothing at this size"
    return f"{head}: {it} would need {about(row.n_required)} {target}."


__all__ = ["about", "words"]
