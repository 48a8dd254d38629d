"""scikit-learn over a reusable holdout: a scorer for `scoring=`, and a search that scores through the holdout."""

from holdfast.core.extras import named_extras
from holdfast.integrations.sklearn.metric import Metric, RowMetric, StatisticMetric, metric
from holdfast.integrations.sklearn.scorer import HoldoutScorer

with named_extras():
    from holdfast.integrations.sklearn.search import ReusableHoldoutSearch

__all__ = ["HoldoutScorer", "Metric", "ReusableHoldoutSearch", "RowMetric", "StatisticMetric", "metric"]
