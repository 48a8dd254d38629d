"""scikit-learn over a reusable holdout: a scorer for `scoring=`, and a search that scores through the holdout."""

from holdfast.integrations.sklearn.metric import Metric, RowMetric, StatisticMetric, metric
from holdfast.integrations.sklearn.scorer import HoldoutScorer

try:
    from holdfast.integrations.sklearn.search import ReusableHoldoutSearch
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise ImportError("scikit-learn is not installed: `pip install 'holdfast[sklearn]'`", name="sklearn") from error

__all__ = ["HoldoutScorer", "Metric", "ReusableHoldoutSearch", "RowMetric", "StatisticMetric", "metric"]
