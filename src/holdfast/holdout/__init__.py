"""Holdouts: stateful methods over a guess and a guarded sample, and the plans that say what each can certify.

Names are imported when they are first used, so that asking for one holdout does not load the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_PACKAGES = ("metrics",)
#: Each name and the module of this package that it lives in.
_HOME = {
    "Claim": "thresholdout",
    "Course": "error_budget",
    "ErrorBudget": "error_budget",
    "FinalResult": "final",
    "GaussianThresholdout": "gaussian_thresholdout",
    "HoldoutPlan": "planning.plan",
    "Ladder": "ladder",
    "MedianMechanism": "median",
    "Message": "error_budget",
    "NoiseScales": "thresholdout",
    "Procedure": "intervals.procedure",
    "RejectionCompressor": "compressor",
    "ReusableHoldout": "reusable",
    "SparseValidate": "sparse_validate",
    "Thresholdout": "thresholdout",
    "Workflow": "planning.workflows",
    "betting_interval": "intervals.betting",
    "plan": "planning.plan",
    "workflow": "planning.workflows",
}

if TYPE_CHECKING:
    from holdfast.holdout import metrics
    from holdfast.holdout.compressor import RejectionCompressor
    from holdfast.holdout.error_budget import Course, ErrorBudget, Message
    from holdfast.holdout.final import FinalResult
    from holdfast.holdout.gaussian_thresholdout import GaussianThresholdout
    from holdfast.holdout.intervals.betting import betting_interval
    from holdfast.holdout.intervals.procedure import Procedure
    from holdfast.holdout.ladder import Ladder
    from holdfast.holdout.median import MedianMechanism
    from holdfast.holdout.planning.plan import HoldoutPlan, plan
    from holdfast.holdout.planning.workflows import Workflow, workflow
    from holdfast.holdout.reusable import ReusableHoldout
    from holdfast.holdout.sparse_validate import SparseValidate
    from holdfast.holdout.thresholdout import Claim, NoiseScales, Thresholdout


__getattr__, __dir__ = lazy(__name__, _HOME, _PACKAGES)

__all__ = [
    "Claim",
    "Course",
    "ErrorBudget",
    "FinalResult",
    "GaussianThresholdout",
    "HoldoutPlan",
    "Ladder",
    "MedianMechanism",
    "Message",
    "NoiseScales",
    "Procedure",
    "RejectionCompressor",
    "ReusableHoldout",
    "SparseValidate",
    "Thresholdout",
    "Workflow",
    "betting_interval",
    "metrics",
    "plan",
    "workflow",
]
