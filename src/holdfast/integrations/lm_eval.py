"""lm-evaluation-harness: an aggregation that tells a task's score on only through a guard."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from holdfast.core.extras import require
from holdfast.errors import InvalidParameter
from holdfast.integrations.reported_scores import GuardedScores, ReportedScore

require("lm_eval")  # tasks come from the caller, so nothing else here would notice

PARTS = ("", "_low", "_high")
"""What a guarded metric shows, as ends of its name."""


def guarded(scores: GuardedScores, guess: float | None = None) -> Callable[[Sequence[float]], float]:
    """Return an aggregation that computes the guarded mean. Use it in a task's `metric_list` in place of `mean`.

    The aggregation gets one number for each document, in the order of the documents, but no ids, so it takes the places
    of the documents as ids. Therefore all runs must use the same documents in the same order, in one process. When the
    budget is used up, the result is NaN with a warning. `guard_task` has no such limits, and it shows the interval too.
    In a YAML file write `aggregation: !function my_module.my_aggregation`.

    Parameters
    ----------
    scores : GuardedScores
        The benchmark and its budget.
    guess : float, optional
        The score expected, from other documents than these; by default as `scores` says.

    Examples
    --------
    >>> from holdfast.holdout import ReusableHoldout
    >>> scores = GuardedScores(ReusableHoldout(n=500, questions=100))
    >>> metric_list = [{"metric": "acc", "aggregation": guarded(scores, guess=0.8), "higher_is_better": True}]
    >>> metric_list[0]["aggregation"]([1.0] * 390 + [0.0] * 110)
    0.8
    """
    _check(scores)

    def guarded_mean(items: Sequence[float]) -> float:
        score = scores.report(range(len(items)), items, guess)
        if score.refused:
            warnings.warn(f"there is no score: {score.refused}", RuntimeWarning, stacklevel=2)
        return score.value

    return guarded_mean


def guard_task(
    task: Any,
    scores: GuardedScores,
    *,
    metric: str = "acc",
    guess: float | None = None,
    key: str | Callable[[Any], object] | None = None,
) -> Any:
    """Make a task show one metric, guarded. The same task object is returned, ready for `simple_evaluate`.

    The results have the metric under its name: the guess if it was confirmed, otherwise a corrected value. The ends of
    its interval are under the name with `_low` and `_high`. There is no standard error, and the task's other metrics
    are not computed, because each would show something about the same documents without a guard. What is guaranteed and
    the last answer are in the results' `configs` under `metadata`.

    `simple_evaluate` keeps the score of every document unless you give `log_samples=False`. The guarantee does not
    cover choosing models by these scores.

    Parameters
    ----------
    task : lm_eval.api.task.Task
        The task, as `TaskManager` loads it or as an object of your own class.
    scores : GuardedScores
        The benchmark and its budget.
    metric : str
        One of the task's metrics whose value for each document is a number in [0, 1] and whose score is their mean.
    guess : float, optional
        The score expected, from other documents than these; by default as `scores` says.
    key : str or callable, optional
        What names a document: one of its fields, or a function of it. By default a digest of its content.

    Raises
    ------
    InvalidParameter
        The task has no such metric, or it is not a mean.

    Examples
    --------
    >>> from holdfast.holdout import ReusableHoldout
    >>> class Parity:                                   # a task of one's own; `TaskManager` loads those of the harness
    ...     aggregation = staticmethod(lambda: {"acc": mean})
    ...     higher_is_better = staticmethod(lambda: {"acc": True})
    ...     process_results = staticmethod(lambda doc, results: {"acc": float(results[0] == doc["parity"])})
    >>> from lm_eval.api.metrics import mean
    >>> scores = GuardedScores(ReusableHoldout(n=300, questions=100))
    >>> task = guard_task(Parity(), scores, metric="acc", guess=0.9, key="id")
    >>> sorted(task.aggregation())
    ['acc', 'acc_high', 'acc_low']
    """
    _check(scores)
    known = sorted(task.aggregation())
    if metric not in known:
        raise InvalidParameter(f"metric must be one of the task's metrics, {', '.join(known)}, got {metric!r}")
    if getattr(task.aggregation()[metric], "__name__", "") not in ("mean", "nanmean"):
        raise InvalidParameter(f"metric must be a mean over documents, but {metric!r} of this task is not")
    plain, better = task.process_results, task.higher_is_better().get(metric)
    name = _naming(key)

    def process_results(doc: Any, results: Any) -> dict[str, _Named]:
        reported = plain(doc, results)
        if metric not in reported:
            raise InvalidParameter(
                f"metric must have a value for every document, but {metric!r} has none for one document"
            )
        return {metric + part: _Named(reported[metric], name(doc)) for part in PARTS}

    last: list[tuple[list[str], list[float], ReportedScore]] = []

    def report(items: Sequence[_Named]) -> ReportedScore:
        names, values = _apart([item.name for item in items]), [float(item) for item in items]
        if last and last[0][:2] == (names, values):  # value and interval are read one after the other
            return last[0][2]
        reported = scores.report(names, values, guess)
        last[:] = [(names, values, reported)]
        metrics = {metric: {"promise": scores.promise(), "score": reported.to_dict()}}
        task.set_config("metadata", (task.config.metadata or {}) | {"holdfast": metrics})
        return reported

    def aggregate(part: str) -> Callable[[Sequence[_Named]], float]:
        return lambda items: report(items).numbers(metric)[metric + part]

    task.process_results = process_results
    task.aggregation = lambda: {metric + part: aggregate(part) for part in PARTS}
    task.higher_is_better = lambda: {metric + part: better for part in PARTS}
    return task


class _Named(float):
    """A document's number that remembers whose it is; everywhere else a number."""

    name: str

    def __new__(cls, value: Any, name: str) -> _Named:
        score = super().__new__(cls, value)
        score.name = name
        return score

    def __reduce__(self) -> Any:
        return _Named, (float(self), self.name)


def _naming(key: str | Callable[[Any], object] | None) -> Callable[[Any], str]:
    if key is None:
        return lambda doc: hashlib.sha256(json.dumps(doc, sort_keys=True, default=str).encode()).hexdigest()
    if isinstance(key, str):
        return lambda doc: str(doc[key])
    return lambda doc: str(key(doc))


def _apart(names: Sequence[str]) -> list[str]:
    """Names of documents that occur more than once, told apart by counting."""
    seen: Counter[str] = Counter()
    parts = []
    for name in names:
        seen[name] += 1
        parts.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return parts


def _check(scores: Any) -> None:
    if not isinstance(scores, GuardedScores):
        raise InvalidParameter(f"scores must be a GuardedScores, got a {type(scores).__name__}")
    if scores.answers:
        raise InvalidParameter(
            "scores must be made for correctness values, because the harness compares answers with the targets itself"
        )


__all__ = ["guard_task", "guarded"]
