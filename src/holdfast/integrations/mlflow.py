"""MLflow: an evaluator that tells a model's score on an evaluation set on only through a guard."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter
from holdfast.integrations.reported_scores import GuardedScores

with named_extras():
    from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator
    from mlflow.tracking.client import MlflowClient

NAME = "holdfast"
"""What `mlflow.models.evaluate(evaluators=...)` calls it."""
_KNOWN = ("scores", "guess", "name", "values", "key")


class GuardedEvaluator(ModelEvaluator):
    """An MLflow evaluator that logs a guarded score.

    Use it with `mlflow.models.evaluate(..., evaluators="holdfast", evaluator_config={"scores": scores})`. It logs to
    the run:

    - under `name` the guess if it was confirmed, otherwise a corrected value;
    - under the name with `_low` and `_high` the ends of the interval;
    - as `holdfast_<name>.json` what is guaranteed and the whole answer;
    - as the tag `holdfast.<name>` the guarantee.

    Do not run MLflow's own evaluators with it, because they log plain scores of the same rows. Installing the package
    registers the evaluator, but it takes part in an evaluation only if it is configured. The configuration has these
    entries:

    - `scores` (GuardedScores): the benchmark and its budget.
    - `guess` (float, optional): the score that you expect from other rows, such as the model's score on its validation
      split. By default it is that of `scores`.
    - `name` (str): the name of the logged number, by default "guarded_score".
    - `values` (function, optional): `values(predictions, targets)` returns one number in [0, 1] for each row. By
      default it is 1 where the two are equal. If the guard has the labels it is not used: then the predictions are
      sent, and the data needs no targets.
    - `key` (str, optional): the column of the data that names each row. By default rows are named by their places.

    Examples
    --------
    >>> from holdfast.holdout import ReusableHoldout
    >>> config = {"scores": GuardedScores(ReusableHoldout(n=300, questions=100)), "guess": 0.9}
    >>> GuardedEvaluator.can_evaluate(model_type="classifier", evaluator_config=config)
    True
    >>> GuardedEvaluator.can_evaluate(model_type="classifier", evaluator_config={})   # only where it is configured
    False
    """

    @classmethod
    def can_evaluate(cls, *, model_type: Any, evaluator_config: Any, **_: Any) -> bool:
        """Return whether the evaluator is configured."""
        return isinstance(evaluator_config, Mapping) and "scores" in evaluator_config

    def evaluate(
        self,
        *,
        model_type: Any,
        dataset: Any,
        run_id: str,
        evaluator_config: Any,
        model: Any = None,
        extra_metrics: Any = None,
        custom_artifacts: Any = None,
        predictions: Any = None,
        **_: Any,
    ) -> EvaluationResult:
        """Check the model's score, log what may be shown of it, and return what was logged."""
        scores, name, guess, values = _configured(evaluator_config)
        result = (
            dataset.predictions_data if model is None else _outputs(model.predict(dataset.features_data), predictions)
        )
        sent = np.asarray(result) if scores.answers else values(np.asarray(result), np.asarray(dataset.labels_data))
        score = scores.report(_ids(dataset, evaluator_config.get("key")), np.asarray(sent).tolist(), guess)
        shown = score.numbers(name)
        client = MlflowClient()
        for key, value in shown.items():
            client.log_metric(run_id, key, value)
        client.set_tag(run_id, f"holdfast.{name}", score.refused or _words(score.guarantee))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"holdfast_{name}.json"
            path.write_text(json.dumps({"promise": scores.promise(), "score": score.to_dict()}, indent=2))
            client.log_artifact(run_id, str(path))
        result_class: Callable[..., EvaluationResult] = EvaluationResult
        return result_class(metrics=shown, artifacts={}, run_id=run_id)


def _configured(config: Mapping[str, Any]) -> tuple[GuardedScores, str, float | None, Callable[[Any, Any], Any]]:
    unknown = [str(name) for name in config if name not in _KNOWN]
    if unknown:
        raise InvalidParameter(
            f"evaluator_config has the unknown entries {', '.join(unknown)}; it may have {', '.join(_KNOWN)}"
        )
    scores = config["scores"]
    if not isinstance(scores, GuardedScores):
        raise InvalidParameter(f"scores must be a GuardedScores, got a {type(scores).__name__}")
    return scores, str(config.get("name", "guarded_score")), config.get("guess"), config.get("values", np.equal)


def _ids(dataset: Any, key: str | None) -> Any:
    rows = dataset.features_data
    if key is None:
        return range(len(rows))
    if key not in getattr(rows, "columns", ()):
        raise InvalidParameter(f"key must be a column of the data other than targets and predictions, got {key!r}")
    return rows[key]


def _outputs(found: Any, column: str | None) -> Any:
    """A model's predictions, one a row."""
    if column is not None and column in getattr(found, "columns", ()):
        return found[column]
    if getattr(found, "ndim", 1) == 2 and found.shape[1] == 1:
        return np.asarray(found)[:, 0]
    return found


def _words(guarantee: Mapping[str, Any]) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in guarantee["parameters"].items())
    return f"{guarantee['theorem']} ({parameters}); {guarantee['assumption']}"


__all__ = ["NAME", "GuardedEvaluator"]
