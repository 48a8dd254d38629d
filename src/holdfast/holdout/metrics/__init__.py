"""Metrics that are more than a mean of the rows, each as a `Procedure`: an interval for a fixed question at any share.

`ReusableHoldout.check_metric` and `ReusableHoldout.claim` take any of them.
"""

from holdfast.holdout.metrics.classification import auc, f1, f_beta, precision, recall, win_share
from holdfast.holdout.metrics.means import group_mean, mean, ratio, weighted_mean

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
