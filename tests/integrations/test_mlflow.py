"""The MLflow evaluator, offline on a SQLite store: what a run shows, what it costs, and what is refused."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own type hints and loaders while it is loaded
    import mlflow
    from mlflow.models import evaluate
    from mlflow.models.evaluation import list_evaluators
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry
    from mlflow.tracking import MlflowClient

import numpy as np
import pandas as pd
import pytest

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.mlflow import NAME, GuardedEvaluator
from holdfast.integrations.reported_scores import GuardedScores
from tests.integrations.noise_models import ALARM, MODELS, TRUE, NoiseModels, plain_interval

N = 400
IDS = [f"row {i}" for i in range(N)]
# MLflow's own, from its database and from how it reads data frames.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
    pytest.mark.filterwarnings("ignore:.*Hint. Inferred schema contains integer column"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A store of our own, and the evaluator as the installed package registers it."""
    folder = tmp_path_factory.mktemp("mlflow")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'store.db'}")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("scores", (folder / "artifacts").as_uri()))
    if NAME not in list_evaluators():
        _model_evaluation_registry.register(NAME, GuardedEvaluator)
    yield
    mlflow.set_tracking_uri(before)


def _rows(right: Any) -> pd.DataFrame:
    labels = np.arange(N) % 2
    return pd.DataFrame({"id": IDS, "y": labels, "said": np.where(right, labels, 1 - labels)})


def _run(data: pd.DataFrame, **config: Any) -> Any:
    options = {"model_type": "classifier", "evaluators": NAME, "evaluator_config": {"key": "id"} | config}
    return evaluate(data=data, targets="y", predictions="said", **options)


QUARTER = np.arange(N) % 4 > 0


def test_the_run_has_the_guarded_number_and_the_same_model_again_is_free(tmp_path: Path) -> None:
    scores = GuardedScores.open(tmp_path / "scores.db", "rows", IDS, questions=100)
    with mlflow.start_run() as run:
        found = _run(_rows(QUARTER), scores=scores, guess=0.78, name="accuracy").metrics
    assert (found["accuracy"], found["accuracy_confirmed"], found["accuracy_left"]) == (0.78, 1, 99)
    assert found["accuracy_low"] < 0.75 < found["accuracy_high"]
    kept = MlflowClient().get_run(run.info.run_id).data
    assert kept.metrics == found
    assert "confidence=0.95" in kept.tags["holdfast.accuracy"]
    told = json.loads(mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/holdfast_accuracy.json"))
    assert told["score"]["confirmed"] is True
    assert told["promise"]["questions"] == 100
    shuffled = _rows(QUARTER).sample(frac=1, random_state=0)
    assert _run(shuffled, scores=scores, guess=0.78, name="accuracy").metrics == found


def test_a_model_is_asked_for_its_predictions() -> None:
    holdout = ReusableHoldout(N, questions=100)
    data = _rows(QUARTER).drop(columns="said").assign(x=np.arange(N, dtype=float))
    config = {"scores": GuardedScores(holdout), "guess": 0.4, "key": "id", "values": lambda said, y: 0.5 * (said == y)}
    found = evaluate(
        lambda rows: (rows["x"].to_numpy() % 2).astype(int) * (rows["x"].to_numpy() % 4 > 1),
        data,
        targets="y",
        model_type="classifier",
        evaluators=NAME,
        evaluator_config=config,
    )
    assert found.metrics["guarded_score"] == 0.4
    (answer,) = holdout.transcript
    assert answer.passed


def test_a_guard_with_the_labels_needs_no_targets() -> None:
    rows = _rows(QUARTER)
    sheet = {"id": IDS, "y": rows["y"].tolist()}
    board = hf.guard.Board("rows", key="id", label="y", metric="accuracy")
    guard = hf.Guard.open(None, hf.data.table(sheet), hf.guard.Policy(questions=10, boards=[board]))
    config = {"scores": GuardedScores(guard.for_analyst(), board="rows", answers=True), "guess": 0.74, "key": "id"}
    options = {"model_type": "text", "evaluators": NAME, "evaluator_config": config}  # a "classifier" needs targets
    found = evaluate(data=rows.drop(columns="y"), predictions="said", **options).metrics
    assert (found["guarded_score"], found["guarded_score_confirmed"]) == (0.74, 1)


def test_some_rows_other_rows_and_wrong_values_are_one_clear_error() -> None:
    holdout = ReusableHoldout(N, questions=100)
    scores = GuardedScores(holdout)
    _run(_rows(QUARTER), scores=scores, guess=0.75)
    with pytest.raises(InvalidParameter, match=r"one entry for each of 400 items, .*, got 10 and 10"):
        _run(_rows(QUARTER)[:10], scores=scores)
    with pytest.raises(InvalidParameter, match="ids must be those of the benchmark"):
        _run(_rows(QUARTER).assign(id=[f"other {i}" for i in range(N)]), scores=scores)
    with pytest.raises(InvalidParameter, match=r"values must lie in \[0, 1\]"):
        _run(_rows(QUARTER), scores=scores, values=lambda said, y: said + 5)
    with pytest.raises(InvalidParameter, match="evaluator_config has the unknown entries metric"):
        _run(_rows(QUARTER), scores=scores, metric="accuracy")
    with pytest.raises(InvalidParameter, match="scores must be a GuardedScores"):
        _run(_rows(QUARTER), scores=holdout)
    with pytest.raises(InvalidParameter, match="key must be a column"):
        _run(_rows(QUARTER), scores=scores, key="name")
    assert holdout.asked == 2  # values out of range are charged


def test_a_budget_that_is_used_up_is_told_in_the_run() -> None:
    scores = GuardedScores(ReusableHoldout(N, questions=1))
    _run(_rows(QUARTER), scores=scores, guess=0.75)
    with mlflow.start_run() as run:
        found = _run(_rows(~QUARTER), scores=scores, guess=0.25).metrics
    assert np.isnan(found["guarded_score"])
    tags = MlflowClient().get_run(run.info.run_id).data.tags
    assert tags["holdfast.guarded_score"].startswith("BudgetExhausted: ")


def test_it_takes_part_only_where_it_is_configured() -> None:
    assert not GuardedEvaluator.can_evaluate(model_type="classifier", evaluator_config={})
    assert not GuardedEvaluator.can_evaluate(model_type="classifier", evaluator_config=None)


def test_noise_picked_greedily_is_not_believed() -> None:
    """Wrong with probability at most ALARM; the plain accuracy of the same models is believed wrongly."""
    scores = GuardedScores(ReusableHoldout(N, questions=MODELS + 1, confidence=1 - ALARM))
    last = NoiseModels(N).greedy(lambda right: scores.report(IDS, right).value)
    found = _run(_rows(last), scores=scores).metrics
    assert found["guarded_score_low"] <= TRUE <= found["guarded_score_high"]
    fooled = NoiseModels(N).greedy(lambda right: float(np.mean(right)))
    options = {"model_type": "classifier", "evaluators": "classifier"}
    data = _rows(fooled).drop(columns="id").assign(x=1.0)
    plain = evaluate(data=data, targets="y", predictions="said", **options).metrics["accuracy_score"]
    assert plain > 0.6
    assert not plain_interval(plain, N)[0] <= TRUE


def test_the_package_names_it_to_mlflow() -> None:
    named = [one for one in entry_points(group="mlflow.model_evaluator") if one.name == NAME]
    assert [one.load() for one in named] == [GuardedEvaluator]
