"""Learners: from a report to a predictor in [-1, 1]."""

from holdfast.coherence.learners.attackers import CoinFlip, Constant, Given, Linkage, Membership, NearestRecord
from holdfast.coherence.learners.tabular import (
    Estimator,
    NaiveBayes,
    from_labels,
    from_log_odds,
    from_probability,
    from_scores,
    learner_of,
    named,
)

__all__ = [
    "CoinFlip",
    "Constant",
    "Estimator",
    "Given",
    "Linkage",
    "Membership",
    "NaiveBayes",
    "NearestRecord",
    "from_labels",
    "from_log_odds",
    "from_probability",
    "from_scores",
    "learner_of",
    "named",
]
