"""Private tests of counts: goodness of fit, independence and more, each with its p-value, cost and known level."""

from holdfast.bounds.p_value import holm
from holdfast.inference.private_tests import binomial_power, local, t_test
from holdfast.inference.private_tests.all_pairs import AllPairs, all_pairs
from holdfast.inference.private_tests.binomial_test import NoisyCount, Tulap, proportion, release_count
from holdfast.inference.private_tests.binomial_test import interval as proportion_interval
from holdfast.inference.private_tests.counts import Counts, NoisyCounts, column, cross, histogram, release, table, tally
from holdfast.inference.private_tests.goodness_of_fit import GofBatch, gof, gof_batch, simulate_noisy
from holdfast.inference.private_tests.gwas import gwas, gwas_power
from holdfast.inference.private_tests.independence_tests import (
    hardy_weinberg,
    homogeneity,
    independence,
    independence_batch,
    simulate_tables,
    symmetry,
)
from holdfast.inference.private_tests.local.power import local_gof_power, local_independence_power
from holdfast.inference.private_tests.minimum_chi_square import UserModel, mc_minimum_chi_square, minimum_chi_square
from holdfast.inference.private_tests.noise_law import (
    NoiseLaw,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
)
from holdfast.inference.private_tests.null_models import HardyWeinberg, Homogeneity, Independence, Simple, Symmetry
from holdfast.inference.private_tests.null_plot import null_chart, null_law, power_chart
from holdfast.inference.private_tests.planning import (
    Planned,
    WhichTest,
    alternative,
    budget,
    power_curve,
    sample_size,
    which_gof,
    which_independence,
    worst_direction,
)
from holdfast.inference.private_tests.power import Power, gof_power, homogeneity_power, independence_power, model_power
from holdfast.inference.private_tests.rank_tests import kolmogorov_smirnov, kruskal_wallis, mann_whitney, signed_rank
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.t_test import anova
from holdfast.inference.private_tests.test_of_tests import GroupPlan, any_test, plan_groups, whole_power

__all__ = [
    "AllPairs",
    "Counts",
    "GofBatch",
    "GroupPlan",
    "HardyWeinberg",
    "Homogeneity",
    "Independence",
    "NoiseLaw",
    "NoisyCount",
    "NoisyCounts",
    "Planned",
    "Power",
    "Simple",
    "Symmetry",
    "TestResult",
    "Tulap",
    "UserModel",
    "WhichTest",
    "all_pairs",
    "alternative",
    "anova",
    "any_test",
    "binomial_power",
    "budget",
    "column",
    "cross",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "gof",
    "gof_batch",
    "gof_power",
    "gwas",
    "gwas_power",
    "hardy_weinberg",
    "histogram",
    "holm",
    "homogeneity",
    "homogeneity_power",
    "independence",
    "independence_batch",
    "independence_power",
    "kolmogorov_smirnov",
    "kruskal_wallis",
    "laplace",
    "local",
    "local_gof_power",
    "local_independence_power",
    "mann_whitney",
    "mc_minimum_chi_square",
    "minimum_chi_square",
    "model_power",
    "null_chart",
    "null_law",
    "plan_groups",
    "power_chart",
    "power_curve",
    "proportion",
    "proportion_interval",
    "release",
    "release_count",
    "sample_size",
    "signed_rank",
    "simulate_noisy",
    "simulate_tables",
    "symmetry",
    "t_test",
    "table",
    "tally",
    "which_gof",
    "which_independence",
    "whole_power",
    "worst_direction",
]
