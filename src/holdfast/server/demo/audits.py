"""Two audits of the demo's rows: the customer list as it is, and noisy counts in its place.

The shop wonders what it may hand to a partner. Each audit takes a fraction of a second; its report is drawn from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.server.demo import sample

if TYPE_CHECKING:
    from holdfast.coherence.report import Report

ROWS, SPLITS = 1_500, 60
ALPHA = 0.3
"""How differently a group may be treated: as if the prediction for 15% of its members turned over."""
_SEED = 8321
Column = list[Any]


def reports() -> dict[str, Report]:
    """The reports by name, the worse one last, so that it is the first that a page lists."""
    from holdfast.coherence import curators, learners

    few = sample.rows(ROWS)
    known: dict[str, Column] = {
        "plan": [row["plan"] for row in few],
        "is_new": [row["months"] < 6 for row in few],
        "calls_often": [row["calls"] > 3 for row in few],
        "gone": [row["gone"] for row in few],
    }
    domains = {"plan": sample.PLANS} | dict.fromkeys(("is_new", "calls_often", "gone"), (False, True))
    marginals = [("gone", "plan"), ("gone", "is_new"), ("gone", "calls_often")]
    counts = curators.NoisyMarginals(domains, marginals, 1, source=curators.simulated)
    listed = {"customer": [row["customer"] for row in few]} | known
    return {
        "Noisy counts": _audited("noisy counts of customers, epsilon 1", known, counts, learners.NaiveBayes(), known),
        "Customer list": _audited("the customer list as it is", listed, curators.Clear(), learners.Linkage(), listed),
    }


def _audited(title: str, people: dict[str, Column], curator: Any, learner: Any, seen: dict[str, Column]) -> Report:
    from holdfast.coherence import Audit, GroupPlan, Target, run
    from holdfast.coherence.report import build
    from holdfast.coherence.significance import significance
    from holdfast.coherence.verdict import verdict

    columns = [name for name in seen if name != "gone"]
    groups = GroupPlan(columns=["plan", "is_new"])
    audit = Audit(
        people,
        curator,
        learner,
        Target("gone", equals=True),
        groups,
        lenses={"all but gone": columns},
        splits=SPLITS,
        seed=_SEED,
    )
    trials = run(audit)
    found = significance(trials, permutations=999)
    return build(trials, found, verdict(found, ALPHA), title=title, setting=[("release", title)])


__all__ = ["ALPHA", "ROWS", "SPLITS", "reports"]
