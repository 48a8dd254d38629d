"""Metrics that are more than a mean of the rows, each as a `Procedure`: an interval for a fixed question at any share.

`ReusableHoldout.check_metric` and `ReusableHoldout.claim` take any of them.
"""

from holdfast.holdout.metrics.auc import auc
from holdfast.holdout.metrics.f1 import f1, f_beta
from holdfast.holdout.metrics.group import group_mean
from holdfast.holdout.metrics.mean import mean
from holdfast.holdout.metrics.precision_recall import precision, recall
from holdfast.holdout.metrics.ratio import ratio
from holdfast.holdout.metrics.weighted import weighted_mean
from holdfast.holdout.metrics.win_share import win_share

__all__ = [
    "auc",
    "f1",
    "f_beta",
    "group_mean",
    "mean",
    "precision",
    "ratio",
    "recall",
    "weighted_mean",
    "win_share",
]
