"""A batch of Thresholdout questions against the same questions one by one."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import Row, at_least, in_turn
from holdfast.holdout import GaussianThresholdout, Thresholdout

FACTOR = 20.0
"""How many times faster a batch of 10,000 questions is than asking one by one."""

_QUESTIONS = 10_000


def rows() -> list[Row]:
    """10,000 questions of which about 200 overfit, as in the paper's experiment, with the operating system's noise."""
    rng = np.random.default_rng(1)
    train, held = 0.5 + rng.normal(scale=0.005, size=(2, _QUESTIONS))
    held[::50] = train[::50] - 0.2
    pairs = list(zip(train.tolist(), held.tolist(), strict=True))

    def laplace() -> Thresholdout:
        return Thresholdout(10_000, 0.06, 0.001, _QUESTIONS)

    def alone(holdout: Thresholdout | GaussianThresholdout) -> None:
        for candidate, mean in pairs:
            holdout.query_means(candidate, mean)

    alone(laplace())  # the tables of the noise scales are made once
    alone(GaussianThresholdout(10_000))
    measured = []
    for name, make in (("Thresholdout", laplace), ("Gaussian form", lambda: GaussianThresholdout(10_000))):
        batch, one = in_turn(lambda make=make: make().query_batch(train, held), lambda make=make: alone(make()))  # type: ignore[misc]
        measured.append(
            at_least(f"{name}: {_QUESTIONS:,} questions in a batch", FACTOR, batch, "one by one", one),
        )
    return measured
