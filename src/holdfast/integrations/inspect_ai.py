"""Inspect: a metric that tells a benchmark's score on only through a guard."""

from __future__ import annotations

import math
from importlib.util import find_spec

from holdfast.errors import InvalidParameter
from holdfast.integrations.reported_scores import GuardedScores

if find_spec("inspect_ai") is None:
    raise ImportError("Inspect is not installed: `pip install 'holdfast[inspect]'`", name="inspect_ai")

from inspect_ai.scorer import Metric, SampleScore, Value, ValueToFloat, metric, value_to_float


@metric(name="guarded", scores="reduced")
def guarded(
    scores: GuardedScores, guess: float | None = None, name: str = "score", to_float: ValueToFloat | None = None
) -> Metric:
    """The guarded mean of a scorer's values, for `Task(metrics=[...])`, which takes the place of the plain metrics.

    In the log are `score`, which is the guess where it was confirmed and a corrected value where not, `score_low` and
    `score_high`, the interval, `score_confirmed` and `score_left`. What is promised stands with each in `params`. Where
    the guard has the labels it is sent each score's `answer` and grades by itself; else the scorer's grades.

    Inspect also computes metrics while samples still run, to show them; until all items have a score it is NaN and
    nothing is asked. So it stays for a run with `limit`, or in which samples failed: a score is checked on the whole
    benchmark. Epochs are reduced to one value an item first.

    The log also holds every sample's own score. Who reads those to pick models leaves the guarantee;
    `eval(..., log_samples=False)` does not write them.

    Parameters
    ----------
    scores : GuardedScores
        The benchmark and its budget.
    guess : float, optional
        The score expected, from other samples than these; by default as `scores` says.
    name : str
        What the number is called in the log.
    to_float : callable, optional
        How a score's value becomes a number in [0, 1]; by default Inspect's own: C is 1, P is 0.5, I and N are 0.

    Examples
    --------
    >>> from inspect_ai import Task
    >>> from inspect_ai.dataset import MemoryDataset, Sample
    >>> from inspect_ai.scorer import match
    >>> from holdfast.holdout import ReusableHoldout
    >>> scores = GuardedScores(ReusableHoldout(n=500, questions=100))
    >>> items = MemoryDataset([Sample(f"{i} + 1 =", target=str(i + 1), id=f"sum {i}") for i in range(500)])
    >>> task = Task(items, scorer=match(), metrics=[guarded(scores, guess=0.9)])
    """
    if not isinstance(scores, GuardedScores):
        raise InvalidParameter(
            f"scores must be a GuardedScores, got a {type(scores).__name__}; a log says what was promised and does not "
            "hold the budget, so open it and evaluate again, which is free"
        )
    benchmark, number = scores, value_to_float() if to_float is None else to_float

    def guarded_mean(scores: list[SampleScore]) -> Value:
        if len(scores) < benchmark.n:
            return {name: math.nan}
        values = [one.score.answer or "" if benchmark.answers else number(one.score.value) for one in scores]
        return benchmark.report([one.sample_id for one in scores], values, guess).numbers(name)

    return guarded_mean


__all__ = ["guarded"]
