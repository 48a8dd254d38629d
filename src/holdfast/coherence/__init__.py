"""The demographic-coherence audit: what a release does to each group, and which epsilon a tolerance allows.

`run` measures an audit, `significance.significance` asks whether chance explains it, `verdict.verdict` judges,
`report.write` shows; `planner.plan_epsilon` plans.

Examples
--------
>>> import holdfast as hf
>>> people = {"id": list(range(400)), "ill": [0, 1] * 200}
>>> clear, linkage = hf.coherence.curators.Clear(), hf.coherence.learners.Linkage()
>>> audit = hf.coherence.Audit(people, clear, linkage, hf.coherence.Target("ill = 1"), splits=12, seed=1)
>>> tested = hf.coherence.significance.assess(hf.coherence.run(audit), permutations=999)
>>> hf.coherence.verdict.judge(tested, alpha=0.5)
Verdict(INCOHERENT, exit status 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {
    "Audit": "audit",
    "Failure": "failures",
    "GroupPlan": "groups",
    "Groups": "groups",
    "Lens": "target",
    "MadeRelease": "audit",
    "Table": "table",
    "Target": "target",
    "Trials": "experiment",
    "group_distances": "distance",
    "rank": "distance",
    "run": "experiment",
    "single_shot": "experiment",
    "wasserstein": "distance",
    "with_curator": "audit",
}
_PACKAGES = ("curators", "learners", "planner", "released", "report", "significance", "verdict")

if TYPE_CHECKING:
    from holdfast.coherence import curators, learners, planner, released, report, significance, verdict
    from holdfast.coherence.audit import Audit, MadeRelease, with_curator
    from holdfast.coherence.distance import group_distances, rank, wasserstein
    from holdfast.coherence.experiment import Trials, run, single_shot
    from holdfast.coherence.failures import Failure
    from holdfast.coherence.groups import GroupPlan, Groups
    from holdfast.coherence.table import Table
    from holdfast.coherence.target import Lens, Target

__getattr__, __dir__ = lazy(__name__, _HOMES, _PACKAGES)

__all__ = [
    "Audit",
    "Failure",
    "GroupPlan",
    "Groups",
    "Lens",
    "MadeRelease",
    "Table",
    "Target",
    "Trials",
    "curators",
    "group_distances",
    "learners",
    "planner",
    "rank",
    "released",
    "report",
    "run",
    "significance",
    "single_shot",
    "verdict",
    "wasserstein",
    "with_curator",
]
