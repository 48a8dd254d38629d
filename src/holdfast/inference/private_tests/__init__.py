"""Private tests of counts: goodness of fit, independence and more, each with its p-value, cost and known level."""

from holdfast.inference.private_tests import binomial_power, local, t_test
from holdfast.inference.private_tests.all_pairs import AllPairs, all_pairs, holm
from holdfast.inference.private_tests.alternatives import alternative, worst_direction
from holdfast.inference.private_tests.anova import anova
from holdfast.inference.private_tests.binomial_test import (
    NoisyCount,
    proportion,
    release_count,
)
from holdfast.inference.private_tests.binomial_test import interval as proportion_interval
from holdfast.inference.private_tests.composite_power import homogeneity_power, independence_power, model_power
from holdfast.inference.private_tests.counts import Counts, column, cross, histogram, table, tally
from holdfast.inference.private_tests.gof_methods import gof
from holdfast.inference.private_tests.gof_simulation import GofBatch, gof_batch, simulate_noisy
from holdfast.inference.private_tests.group_plan import GroupPlan, plan_groups, whole_power
from holdfast.inference.private_tests.gwas import gwas
from holdfast.inference.private_tests.gwas_power import gwas_power
from holdfast.inference.private_tests.independence_methods import hardy_weinberg, homogeneity, independence, symmetry
from holdfast.inference.private_tests.independence_simulation import independence_batch, simulate_tables
from holdfast.inference.private_tests.kolmogorov_smirnov import kolmogorov_smirnov
from holdfast.inference.private_tests.kruskal_wallis import kruskal_wallis
from holdfast.inference.private_tests.local_power import local_gof_power, local_independence_power
from holdfast.inference.private_tests.mann_whitney import mann_whitney
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
from holdfast.inference.private_tests.null_plot import null_chart, null_law, power_chart
from holdfast.inference.private_tests.planning import Planned, budget, power_curve, sample_size
from holdfast.inference.private_tests.power import Power, gof_power
from holdfast.inference.private_tests.released import NoisyCounts, release
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.signed_rank import signed_rank
from holdfast.inference.private_tests.test_of_tests import any_test
from holdfast.inference.private_tests.tulap import Tulap
from holdfast.inference.private_tests.user_model import UserModel
from holdfast.inference.private_tests.which_test import WhichTest, which_gof, which_independence

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
