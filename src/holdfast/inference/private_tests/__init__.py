"""Private tests of counts: goodness of fit, independence and more, each with its p-value, cost and known level."""

from holdfast.inference.private_tests.counts import Counts, column, cross, histogram, table, tally
from holdfast.inference.private_tests.gof_methods import gof
from holdfast.inference.private_tests.gof_simulation import GofBatch, gof_batch, simulate_noisy
from holdfast.inference.private_tests.gwas import gwas
from holdfast.inference.private_tests.independence_methods import hardy_weinberg, homogeneity, independence, symmetry
from holdfast.inference.private_tests.independence_simulation import independence_batch, simulate_tables
from holdfast.inference.private_tests.mc_gen_chi import mc_minimum_chi_square
from holdfast.inference.private_tests.minimum_chi_square import minimum_chi_square
from holdfast.inference.private_tests.noise_law import (
    NoiseLaw,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
)
from holdfast.inference.private_tests.null_models import HardyWeinberg, Homogeneity, Independence, Simple, Symmetry
from holdfast.inference.private_tests.released import NoisyCounts, release
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.user_model import UserModel

__all__ = [
    "Counts",
    "GofBatch",
    "HardyWeinberg",
    "Homogeneity",
    "Independence",
    "NoiseLaw",
    "NoisyCounts",
    "Simple",
    "Symmetry",
    "TestResult",
    "UserModel",
    "column",
    "cross",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "gof",
    "gof_batch",
    "gwas",
    "hardy_weinberg",
    "histogram",
    "homogeneity",
    "independence",
    "independence_batch",
    "laplace",
    "mc_minimum_chi_square",
    "minimum_chi_square",
    "release",
    "simulate_noisy",
    "simulate_tables",
    "symmetry",
    "table",
    "tally",
]
