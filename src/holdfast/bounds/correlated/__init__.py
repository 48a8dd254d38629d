"""Bounds for rows that depend on each other: effective sizes, widths, influence, and how large a holdout must be."""

from holdfast.bounds.correlated.algorithm1 import (
    DWORK,
    ZHAO,
    NoiseRatios,
    RunParameters,
    algorithm_1_epsilon,
    noise_failure,
    run_parameters,
)
from holdfast.bounds.correlated.effective_size import (
    effective_n_blocks,
    effective_n_chain,
    effective_n_chain_summary,
    effective_n_colours,
    effective_n_stationary,
)
from holdfast.bounds.correlated.fixed_question import (
    beta_mixing_width,
    fixed_question_half_width,
    fixed_question_width,
)
from holdfast.bounds.correlated.mixing import (
    autoregressive_start_ratio,
    mixing_coefficients,
    mixing_sum,
    time_split_bias,
    two_state_coefficients,
)
from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.bounds.correlated.theorem1 import (
    question_accuracy,
    question_budget,
    question_failure,
    question_size,
    rate,
    terms,
)
from holdfast.bounds.correlated.theorem2 import RunPlan, holdout_accuracy, holdout_budget, holdout_size, plan_run

__all__ = [
    "DWORK",
    "ZHAO",
    "NoiseRatios",
    "QuiltTerms",
    "RunParameters",
    "RunPlan",
    "algorithm_1_epsilon",
    "autoregressive_start_ratio",
    "beta_mixing_width",
    "effective_n_blocks",
    "effective_n_chain",
    "effective_n_chain_summary",
    "effective_n_colours",
    "effective_n_stationary",
    "fixed_question_half_width",
    "fixed_question_width",
    "holdout_accuracy",
    "holdout_budget",
    "holdout_size",
    "mixing_coefficients",
    "mixing_sum",
    "noise_failure",
    "plan_run",
    "question_accuracy",
    "question_budget",
    "question_failure",
    "question_size",
    "rate",
    "run_parameters",
    "terms",
    "time_split_bias",
    "two_state_coefficients",
]
