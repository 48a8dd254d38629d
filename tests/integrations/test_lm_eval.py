"""Guarded tasks in lm-evaluation-harness, offline: what the results show, what they cost, and what is refused."""

from __future__ import annotations

import os

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1")

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import lm_eval
import numpy as np
import pytest
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.models.dummy import DummyLM
from lm_eval.tasks import TaskManager

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.lm_eval import _Named, guard_task, guarded
from holdfast.integrations.reported_scores import GuardedScores
from tests.integrations.noise_models import ALARM, MODELS, TRUE, NoiseModels, plain_interval

N = 400
CHOICES = ["even", "odd"]


class Model(LM):  # type: ignore[misc]
    """Has those documents right that it should."""

    def __init__(self, right: Callable[[int], bool]) -> None:
        super().__init__()
        self._right = right

    def loglikelihood(self, requests: Any) -> list[tuple[float, bool]]:
        found = []
        for request in requests:
            context, said = request.args
            i = int(context.split()[0])
            meant = CHOICES[i % 2 if self._right(i) else 1 - i % 2]
            found.append((0.0 if said.strip() == meant else -1.0, False))
        return found

    def generate_until(self, requests: Any) -> Any:
        raise NotImplementedError

    loglikelihood_rolling = generate_until


def _task(first: int = 0, n: int = N, **config: Any) -> ConfigurableTask:
    def rows(**_: Any) -> dict[str, Any]:
        documents = [{"number": str(i), "parity": i % 2, "id": f"doc {i}"} for i in range(first, first + n)]
        return {"test": datasets.Dataset.from_list(documents)}

    fixed = {
        "task": "parity",
        "custom_dataset": rows,
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{number}} is",
        "doc_to_choice": CHOICES,
        "doc_to_target": "parity",
    }
    return ConfigurableTask(config=fixed | config)


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    return TaskManager(include_defaults=False)


def _run(manager: TaskManager, task: Any, model: LM, **options: Any) -> dict[str, Any]:
    found = lm_eval.simple_evaluate(model=model, tasks=[task], task_manager=manager, **options)
    assert found is not None
    return dict(found)


def test_the_results_have_the_guarded_number_and_the_same_model_again_is_free(manager: TaskManager) -> None:
    scores = GuardedScores.open(None, "parity", [f"doc {i}" for i in range(N)], questions=100)
    model = Model(lambda i: i % 4 > 0)
    results = [_run(manager, guard_task(_task(), scores, guess=0.78, key="id"), model) for _ in range(2)]
    found = results[0]["results"]["parity"]
    assert found["acc,none"] == 0.78
    assert found["acc_low,none"] < 0.75 < found["acc_high,none"]
    assert found["acc_stderr,none"] == "N/A"
    assert not any(name.startswith("acc_norm") for name in found)
    told = [result["configs"]["parity"]["metadata"]["holdfast"]["acc"] for result in results]
    assert told[0]["score"]["confirmed"] is True
    assert told[0]["score"]["left"] == 99
    assert told[1] == told[0]
    assert told[0]["promise"]["confidence"] == 0.95
    assert json.loads(json.dumps(found))["acc,none"] == 0.78


def test_an_aggregation_takes_the_place_of_the_mean(manager: TaskManager) -> None:
    holdout = ReusableHoldout(N, questions=100)
    metric = {"metric": "acc", "aggregation": guarded(GuardedScores(holdout), guess=0.3), "higher_is_better": True}
    found = _run(manager, _task(metric_list=[metric]), Model(lambda i: i % 4 > 0), log_samples=False)
    (answer,) = holdout.transcript
    assert answer.passed is False
    assert found["results"]["parity"]["acc,none"] == answer.value
    assert "samples" not in found


def test_a_budget_that_is_used_up_is_told() -> None:
    aggregation = guarded(GuardedScores(ReusableHoldout(20, questions=1)), guess=0.75)
    assert not math.isnan(aggregation([1.0] * 15 + [0.0] * 5))
    with pytest.warns(RuntimeWarning, match="there is no score: BudgetExhausted: "):
        assert math.isnan(aggregation([1.0] * 14 + [0.0] * 6))


def test_a_task_in_a_file_names_the_aggregation(tmp_path: Path) -> None:
    (tmp_path / "our_scores.py").write_text(
        "import datasets\n"
        "from holdfast.holdout import ReusableHoldout\n"
        "from holdfast.integrations.lm_eval import guarded\n"
        "from holdfast.integrations.reported_scores import GuardedScores\n"
        "guarded_acc = guarded(GuardedScores(ReusableHoldout(50, questions=10)), guess=0.9)\n"
        "def rows(**_):\n"
        "    documents = [{'number': str(i), 'parity': i % 2} for i in range(50)]\n"
        "    return {'test': datasets.Dataset.from_list(documents)}\n"
    )
    (tmp_path / "parity.yaml").write_text(
        "task: filed_parity\ncustom_dataset: !function our_scores.rows\ntest_split: test\n"
        "output_type: multiple_choice\ndoc_to_text: '{{number}} is'\ndoc_to_choice: [even, odd]\n"
        "doc_to_target: parity\nmetric_list:\n"
        "  - {metric: acc, aggregation: !function our_scores.guarded_acc, higher_is_better: true}\n"
    )
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = _run(manager, "filed_parity", Model(lambda i: i > 4))
    assert found["results"]["filed_parity"]["acc,none"] == 0.9


def test_some_documents_other_documents_and_wrong_values_are_one_clear_error(manager: TaskManager) -> None:
    holdout = ReusableHoldout(N, questions=100)
    scores = GuardedScores(holdout)
    model = DummyLM()
    _run(manager, guard_task(_task(), scores, guess=0.5), model)
    with pytest.raises(InvalidParameter, match=r"one entry for each of 400 items, .*, got 10 and 10"):
        _run(manager, guard_task(_task(), scores, guess=0.5), model, limit=10)
    with pytest.raises(InvalidParameter, match="ids must be those of the benchmark"):
        _run(manager, guard_task(_task(first=1), scores, guess=0.5), model)
    with pytest.raises(InvalidParameter, match=r"values must lie in \[0, 1\]"):
        _run(manager, guard_task(_doubled(), scores, guess=0.5), model)
    assert holdout.asked == 2  # values out of range are charged


def _doubled() -> Any:
    task = _task()
    plain = task.process_results
    task.process_results = lambda doc, results: {"acc": 2 + plain(doc, results)["acc"]}
    return task


def test_documents_that_occur_twice_are_told_apart() -> None:
    scores = GuardedScores(ReusableHoldout(4, questions=10))
    task = guard_task(_task(n=2), scores, guess=0.5)
    item = task.process_results({"number": "0", "parity": 0, "id": "x"}, [(0.0, False), (-1.0, False)])["acc"]
    assert task.aggregation()["acc"]([item] * 4) == 0.5
    assert pickle.loads(pickle.dumps(item)).name == item.name
    assert isinstance(item, _Named)


def test_only_a_mean_of_the_task_can_be_guarded() -> None:
    scores = GuardedScores(ReusableHoldout(N))
    with pytest.raises(InvalidParameter, match="metric must be one of the task's metrics, acc, acc_norm, got 'bleu'"):
        guard_task(_task(), scores, metric="bleu")
    with pytest.raises(InvalidParameter, match="is not"):
        guard_task(_task(metric_list=[{"metric": "f1"}]), scores, metric="f1")
    with pytest.raises(InvalidParameter, match="scores must be a GuardedScores"):
        guard_task(_task(), ReusableHoldout(N))  # type: ignore[arg-type]


def test_the_harness_reports_how_right_answers_were_and_not_the_answers() -> None:
    rows = {"id": [str(i) for i in range(20)], "answer": ["A", "B"] * 10}
    board = hf.guard.Board("exam", key="id", label="answer", metric="accuracy")
    guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=10, boards=[board]))
    with pytest.raises(InvalidParameter, match="scores must be made for correctness values"):
        guard_task(_task(), GuardedScores(guard.for_analyst(), board="exam", answers=True))


def test_noise_picked_greedily_is_not_believed(manager: TaskManager) -> None:
    """Wrong with probability at most ALARM; the plain accuracy of the same models is believed wrongly."""
    scores = GuardedScores(ReusableHoldout(N, questions=MODELS + 1, confidence=1 - ALARM))
    shown = guard_task(_task(), scores, key="id").aggregation()

    def reported(right: Any) -> float:
        items = [_Named(float(one), f"doc {i}") for i, one in enumerate(right)]
        assert shown["acc_low"](items) <= TRUE <= shown["acc_high"](items)
        return float(shown["acc"](items))

    last = NoiseModels(N).greedy(reported)
    found = _run(manager, guard_task(_task(), scores, key="id"), Model(lambda i: bool(last[i])))
    found = found["results"]["parity"]
    assert found["acc_low,none"] <= TRUE <= found["acc_high,none"]
    fooled = NoiseModels(N).greedy(lambda right: float(np.mean(right)))
    plain = _run(manager, _task(), Model(lambda i: bool(fooled[i])))["results"]["parity"]["acc,none"]
    assert plain > 0.6
    assert not plain_interval(plain, N)[0] <= TRUE
