"""Private tests of counts: goodness of fit, independence and more, each with its p-value, cost and known level."""

from holdfast.inference.private_tests.counts import Counts, column, cross, histogram, table, tally
from holdfast.inference.private_tests.noise_law import (
    NoiseLaw,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
)
from holdfast.inference.private_tests.result import TestResult

__all__ = [
    "Counts",
    "NoiseLaw",
    "TestResult",
    "column",
    "cross",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "histogram",
    "laplace",
    "table",
    "tally",
]
