"""Intervals for one fixed question on independent rows, at a given share of the failure probability.

A holdout that fixes its questions by a short transcript may use any of them at the transcript's share. All take the
share by its natural logarithm, `log_share`, and return `(low, high)`, rounded outwards.
"""

from holdfast.bounds.one_question.known_predictions import auc_known_scores, f1_known_predictions, unlike_rows
from holdfast.bounds.one_question.means import (
    FAMILIES,
    SUMMARY_FAMILIES,
    Family,
    Limits,
    Side,
    binomial_limits,
    blaker,
    clopper_pearson,
    empirical_bernstein,
    expected_half_width,
    hoeffding,
    hoeffding_half_width,
    kl,
    least_tolerance,
    mean_interval,
    tightest,
    two_sample_u,
)

__all__ = [
    "FAMILIES",
    "SUMMARY_FAMILIES",
    "Family",
    "Limits",
    "Side",
    "auc_known_scores",
    "binomial_limits",
    "blaker",
    "clopper_pearson",
    "empirical_bernstein",
    "expected_half_width",
    "f1_known_predictions",
    "hoeffding",
    "hoeffding_half_width",
    "kl",
    "least_tolerance",
    "mean_interval",
    "tightest",
    "two_sample_u",
    "unlike_rows",
]
