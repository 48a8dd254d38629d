"""Every method of many means on one plan, and one question of whatever kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.inference import (
    FilteredAnswers,
    GaussianAnswers,
    LaplaceAnswers,
    LowSensitivityAnswers,
    MinimisationAnswers,
    SmallVarianceAnswers,
    SplitAnswers,
)
from holdfast.noise import Source

N, K = 400, 40

Make = Callable[[Source], Any]
MEANS: dict[str, Make] = {
    "gaussian": lambda source: GaussianAnswers(N, K, 0.95, source=source),
    "constant": lambda source: GaussianAnswers(N, K, 0.95, method="posterior-shift", source=source),
    "laplace": lambda source: LaplaceAnswers(N, K, 0.95, source=source),
    "filtered": lambda source: FilteredAnswers(N, K, 0.95, source=source),
    "split": lambda source: SplitAnswers(N, K, 0.95, source=source),
    "small-variance": lambda source: SmallVarianceAnswers(N, K, 0.95, 0.5, source=source),
}
ALL: dict[str, Make] = MEANS | {
    "low-sensitivity": lambda source: LowSensitivityAnswers(N, K, 0.95, 1 / N, source=source),
    "minimisation": lambda source: MinimisationAnswers(N, K, 5, 0.95, source=source),
}


def ask(answerer: Any, values: Any = None) -> Any:
    """One question of whatever kind."""
    if isinstance(answerer, LowSensitivityAnswers):
        return answerer.statistic(0.25)
    if isinstance(answerer, MinimisationAnswers):
        return answerer.minimise([0.5, 0.1])
    return answerer.mean(np.arange(N) % 4 == 0 if values is None else values)
