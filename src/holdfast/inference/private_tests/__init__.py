"""Private tests of counts: goodness of fit, independence and more, each with its p-value, cost and known level."""

from holdfast.inference.private_tests.counts import Counts, column, cross, histogram, table, tally
from holdfast.inference.private_tests.gof_methods import gof
from holdfast.inference.private_tests.gof_simulation import GofBatch, gof_batch, simulate_noisy
from holdfast.inference.private_tests.noise_law import (
    NoiseLaw,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
)
from holdfast.inference.private_tests.released import NoisyCounts, release
from holdfast.inference.private_tests.result import TestResult

__all__ = [
    "Counts",
    "GofBatch",
    "NoiseLaw",
    "NoisyCounts",
    "TestResult",
    "column",
    "cross",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "gof",
    "gof_batch",
    "histogram",
    "laplace",
    "release",
    "simulate_noisy",
    "table",
    "tally",
]
