"""Inspect: a metric that tells a benchmark's score on only through a guard."""

from __future__ import annotations

import math

from holdfast.core import arguments
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter
from holdfast.integrations.reported_scores import GuardedScores

with named_extras():
    from inspect_ai.scorer import Metric, SampleScore, Value, ValueToFloat, metric, value_to_float


def _guarded(
    scores: GuardedScores,
    guess: float | None = None,
    name: str = "score",
    to_float: ValueToFloat | None = None,
    epochs: int = 1,
) -> Metric:
    """The guarded mean of a scorer's values. Use it in `Task(metrics=[...])` in place of the plain metrics.

    The log has `score` (the guess if it was confirmed, otherwise a corrected value), `score_low` and `score_high` (the
    ends of the interval), `score_confirmed` and `score_left`. Each has in `params` what is guaranteed. If the guard has
    the labels, it gets each score's `answer` and grades it. Otherwise it gets the scorer's grades.

    Inspect also computes metrics while samples are still running. Until every item has a score of every epoch, the
    value is NaN and nothing is asked. So it stays NaN for a run with `limit`, a run with failed samples, or a run with
    another number of `epochs` than given here, because a score is checked on the whole benchmark. Next to a NaN the log
    has a second metric whose name says why, because the value of a metric must be a number. The value of an item is the
    mean over its epochs, whatever reducer the task has.

    The log also has the score of every sample. The guarantee does not cover choosing models by these scores. `eval(...,
    log_samples=False)` leaves them out of the log.

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
    epochs : int
        The task's epochs. More than one need scores that are opened with `graded=True`, and a guard without labels.

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
            f"scores must be a GuardedScores, got a {type(scores).__name__}; a log shows the earlier scores but does "
            "not contain the budget, so open the GuardedScores again and repeat the evaluation, which is free"
        )
    epochs = arguments.whole("epochs", epochs, at_least=1)
    if scores.answers and epochs > 1:
        raise InvalidParameter(
            "epochs must be 1 if the guard has the labels, because answers cannot be averaged over epochs"
        )
    benchmark, number = scores, value_to_float() if to_float is None else to_float

    def guarded_mean(scores: list[SampleScore]) -> Value:
        items: dict[object, list[SampleScore]] = {}
        for sample in scores:
            items.setdefault(sample.sample_id, []).append(sample)
        # A part of the epochs has a mean for every item too; to ask about it would spend the budget while samples run.
        done = sum(len(item) == epochs for item in items.values())
        if done < max(benchmark.n, len(items)):
            scored = "a score" if epochs == 1 else f"{epochs} scores, one an epoch"
            why = f"{done} of {max(benchmark.n, len(items))} items have {scored}, and all must; nothing was asked"
            return {name: math.nan, f"no {name}: {why}": float(done)}
        values = [
            item[0].score.answer or ""
            if benchmark.answers
            else math.fsum(number(sample.score.value) for sample in item) / epochs
            for item in items.values()
        ]
        score = benchmark.report(items, values, guess)
        return score.numbers(name) | ({f"no {name}: {score.refused}": math.nan} if score.refused else {})

    return guarded_mean


guarded = metric(name="guarded", scores="unreduced")(_guarded)
guarded.__doc__ = _guarded.__doc__  # which Inspect drops

__all__ = ["guarded"]
