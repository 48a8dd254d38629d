"""Holdouts: stateful answerers over a guess and a guarded sample, and the plans that say what each can certify.

Names are imported when they are first used, so that asking for one holdout does not load the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

_PACKAGES = ("metrics",)
#: Each name and the module of this package that it lives in.
_HOME = {
    "Claim": "threshold_claim",
    "GaussianThresholdout": "gaussian_thresholdout",
    "HoldoutPlan": "planning_result",
    "Ladder": "ladder",
    "MedianMechanism": "median",
    "NoiseScales": "noise_scales",
    "Procedure": "procedure",
    "RejectionCompressor": "compressor",
    "ReusableHoldout": "reusable",
    "SparseValidate": "sparse_validate",
    "Thresholdout": "thresholdout",
    "betting_interval": "betting",
    "plan": "planning",
}

if TYPE_CHECKING:
    from holdfast.holdout import metrics
    from holdfast.holdout.betting import betting_interval
    from holdfast.holdout.compressor import RejectionCompressor
    from holdfast.holdout.gaussian_thresholdout import GaussianThresholdout
    from holdfast.holdout.ladder import Ladder
    from holdfast.holdout.median import MedianMechanism
    from holdfast.holdout.noise_scales import NoiseScales
    from holdfast.holdout.planning import plan
    from holdfast.holdout.planning_result import HoldoutPlan
    from holdfast.holdout.procedure import Procedure
    from holdfast.holdout.reusable import ReusableHoldout
    from holdfast.holdout.sparse_validate import SparseValidate
    from holdfast.holdout.threshold_claim import Claim
    from holdfast.holdout.thresholdout import Thresholdout


__getattr__, __dir__ = lazy(__name__, _HOME, _PACKAGES)

__all__ = [
    "Claim",
    "GaussianThresholdout",
    "HoldoutPlan",
    "Ladder",
    "MedianMechanism",
    "NoiseScales",
    "Procedure",
    "RejectionCompressor",
    "ReusableHoldout",
    "SparseValidate",
    "Thresholdout",
    "betting_interval",
    "metrics",
    "plan",
]
