"""The demographic-coherence audit: what a release does to each group, and which epsilon a tolerance allows."""

from holdfast.coherence.audit import Audit, with_curator
from holdfast.coherence.distance import group_distances, rank, wasserstein
from holdfast.coherence.experiment import run, single_shot
from holdfast.coherence.failures import Failure
from holdfast.coherence.groups import GroupPlan, Groups
from holdfast.coherence.lenses import Lens
from holdfast.coherence.table import Table
from holdfast.coherence.target import Target
from holdfast.coherence.trials import Trials

__all__ = [
    "Audit",
    "Failure",
    "GroupPlan",
    "Groups",
    "Lens",
    "Table",
    "Target",
    "Trials",
    "group_distances",
    "rank",
    "run",
    "single_shot",
    "wasserstein",
    "with_curator",
]
