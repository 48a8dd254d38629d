"""The Inspect metric in real evaluations, offline: what the log shows, what it costs, and what is refused."""

from __future__ import annotations

import gc
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import SampleScore, Score, accuracy, match

from holdfast.errors import InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.inspect_ai import guarded
from holdfast.integrations.reported_scores import GuardedScores
from tests.integrations.noise_models import ALARM, MODELS, TRUE, NoiseModels, plain_interval

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning"),
]
N = 300


@pytest.fixture(autouse=True)
def _left_as_found() -> Iterator[None]:
    """Inspect puts a handler on the root logger and one for errors, and leaves streams open: other tests see none."""
    root = logging.getLogger()
    handlers, level, hook = list(root.handlers), root.level, sys.excepthook
    yield
    root.handlers[:], sys.excepthook = handlers, hook
    root.setLevel(level)
    gc.collect()


def _items(n: int = N, first: int = 0) -> MemoryDataset:
    return MemoryDataset([Sample(f"{i} + 1 =", target=str(i + 1), id=f"sum {i}") for i in range(first, first + n)])


def _run(folder: Path, right: Callable[[int], bool], *metrics: Any, items: Any = None, **options: Any) -> EvalLog:
    """Evaluate a model that has those sums right that it should."""

    def answer(messages: Any, *_: Any) -> ModelOutput:
        i = int(messages[-1].text.split()[0])
        found = ModelOutput.from_content("mockllm/model", str(i + 1) if right(i) else "unknown")
        found.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it loads a tokenizer
        return found

    task = Task(items or _items(), scorer=match(), metrics=list(metrics))
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    (log,) = eval(task, model=model, display="none", log_dir=str(folder), log_samples=False, **options)
    return log


def _metrics(log: EvalLog) -> dict[str, float]:
    assert log.status == "success", log.error
    assert log.results is not None
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


def test_the_log_has_the_guarded_number_and_the_same_model_again_is_free(tmp_path: Path) -> None:
    n, items = 100, _items(100)
    scores = GuardedScores.open(tmp_path / "scores.db", "sums", [one.id for one in items], questions=100)
    metric = guarded(scores, guess=0.78, name="accuracy")
    first = _run(tmp_path, lambda i: i % 4 > 0, metric, items=items)
    found = _metrics(first)
    assert (found["accuracy"], found["accuracy_confirmed"], found["accuracy_left"]) == (0.78, 1, 99)
    assert found["accuracy_low"] < 0.75 < found["accuracy_high"]
    assert _metrics(_run(tmp_path, lambda i: i % 4 > 0, metric, items=items)) == found
    assert first.results is not None
    promise = first.results.scores[0].metrics["accuracy"].params["scores"]
    assert (promise["n"], promise["confidence"], promise["questions"]) == (n, 0.95, 100)


def test_a_wrong_guess_is_corrected_never_shown(tmp_path: Path) -> None:
    scores = GuardedScores(ReusableHoldout(20, questions=100))
    found = _metrics(_run(tmp_path, lambda i: i < 2, guarded(scores, guess=0.99), items=_items(20)))
    assert found["score_confirmed"] == 0
    assert found["score_high"] < 0.99


def test_a_run_on_some_items_shows_nothing_and_costs_nothing(tmp_path: Path) -> None:
    holdout = ReusableHoldout(N, questions=100)
    found = _metrics(_run(tmp_path, lambda i: True, guarded(GuardedScores(holdout), guess=0.9), limit=10))
    why = "no score: 10 of 300 items have a score, and all must; nothing was asked"
    assert list(found) == ["score", why]
    assert math.isnan(found["score"])
    assert found[why] == 10
    assert holdout.asked == 0


def test_a_budget_that_is_used_up_is_told_in_the_log(tmp_path: Path) -> None:
    scores = GuardedScores(ReusableHoldout(20, questions=1))
    first = _metrics(_run(tmp_path, lambda i: i < 15, guarded(scores, guess=0.75), items=_items(20)))
    assert not math.isnan(first["score"])
    found = _metrics(_run(tmp_path, lambda i: i < 14, guarded(scores, guess=0.75), items=_items(20)))
    assert math.isnan(found["score"])
    (why,) = [name for name in found if name.startswith("no score: ")]
    assert "BudgetExhausted: " in why


def test_nothing_is_asked_before_every_epoch_is_done(tmp_path: Path) -> None:
    """Inspect computes metrics while samples run, after a first epoch of all items too: one question all the same."""
    scores = GuardedScores.open(None, "sums", [one.id for one in _items(20)], questions=100, graded=True)
    tries: dict[int, int] = {}

    def sometimes(i: int) -> bool:
        time.sleep(0.025)  # so that it does compute them: about once a second
        tries[i] = tries.get(i, 0) + 1
        return tries[i] + i % 2 != 2

    found = _metrics(_run(tmp_path, sometimes, guarded(scores, 0.75, epochs=4), items=_items(20), epochs=4))
    assert (found["score"], found["score_confirmed"], found["score_left"]) == (0.75, 1, 99)
    assert found["score_low"] <= 0.75 <= found["score_high"]
    other = _metrics(_run(tmp_path, lambda i: True, guarded(scores, 0.75, epochs=3), items=_items(20), epochs=2))
    assert math.isnan(other["score"])  # a task with other epochs than were said
    assert "no score: 0 of 20 items have 3 scores, one an epoch, and all must; nothing was asked" in other
    with pytest.raises(InvalidParameter, match="epochs must be"):
        guarded(scores, epochs=0)


def _named(i: int, epoch: int, value: float) -> SampleScore:
    return SampleScore(score=Score(value=value), sample_id=f"sum {i}")


def test_an_item_is_worth_the_mean_of_its_epochs_and_parts_of_them_nothing() -> None:
    holdout = ReusableHoldout(20, questions=100)
    metric: Any = guarded(GuardedScores(holdout), guess=0.9, epochs=2)
    done = [_named(i, epoch, float(i >= 10 + epoch)) for epoch in range(2) for i in range(20)]
    for part in (done[:20], done[:30], done + done[:1]):
        assert math.isnan(metric(part)["score"])
    assert holdout.asked == 0
    found = metric(done)
    assert holdout.asked == 1
    same = ReusableHoldout(20, questions=100).check([0.0] * 10 + [0.5] + [1.0] * 9, 0.9, low=0, high=1)
    assert found["score"] == same.value


def test_other_items_and_wrong_values_are_one_clear_error(tmp_path: Path) -> None:
    holdout = ReusableHoldout(20, questions=100)
    scores = GuardedScores(holdout)
    _metrics(_run(tmp_path, lambda i: True, guarded(scores, guess=0.9), items=_items(20)))
    log = _run(tmp_path, lambda i: True, guarded(scores, guess=0.9), items=_items(20, first=1))
    assert log.status == "error"
    assert log.error is not None
    assert "ids must be those of the benchmark" in log.error.message
    log = _run(tmp_path, lambda i: True, guarded(scores, to_float=lambda value: 7.0), items=_items(20))
    assert log.error is not None
    assert "values must lie in [0, 1]" in log.error.message
    assert holdout.asked == 2  # values out of range are charged


def test_noise_picked_greedily_is_not_believed(tmp_path: Path) -> None:
    """Wrong with probability at most ALARM; the plain accuracy of the same models is believed wrongly."""
    n = 150
    holdout = ReusableHoldout(n, questions=MODELS + 1, confidence=1 - ALARM)
    metric: Any = guarded(GuardedScores(holdout))

    def reported(right: Any) -> float:
        found = metric([SampleScore(score=Score(value=bool(one)), sample_id=f"sum {i}") for i, one in enumerate(right)])
        assert found["score_low"] <= TRUE <= found["score_high"]
        return float(found["score"])

    last = NoiseModels(n).greedy(reported)
    found = _metrics(_run(tmp_path, lambda i: bool(last[i]), metric, items=_items(n)))
    assert found["score_low"] <= TRUE <= found["score_high"]
    assert found["score_left"] == 0
    fooled = NoiseModels(n).greedy(lambda right: float(np.mean(right)))
    plain = _metrics(_run(tmp_path, lambda i: bool(fooled[i]), accuracy(), items=_items(n)))["accuracy"]
    assert plain > 0.6
    assert not plain_interval(plain, n)[0] <= TRUE


def test_a_guard_with_the_labels_is_sent_answers(tmp_path: Path) -> None:
    import holdfast as hf

    rows = {"id": [f"sum {i}" for i in range(20)], "sum": [str(i + 1) for i in range(20)]}
    board = hf.guard.Board("sums", key="id", label="sum", metric="accuracy")
    guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=10, boards=[board]))
    scores = GuardedScores(guard.for_analyst(), board="sums", answers=True)
    found = _metrics(_run(tmp_path, lambda i: i > 0, guarded(scores, guess=0.95), items=_items(20)))
    assert (found["score"], found["score_confirmed"]) == (0.95, 1)

    with pytest.raises(InvalidParameter, match="answers cannot be averaged"):
        guarded(scores, epochs=2)


def test_the_budget_is_a_guarded_one() -> None:
    with pytest.raises(InvalidParameter, match="scores must be a GuardedScores"):
        guarded(ReusableHoldout(20))  # type: ignore[arg-type]
