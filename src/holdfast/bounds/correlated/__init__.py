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
from holdfast.bounds.correlated.gaussian import autoregressive_shift, equicorrelation_shift, windowed_influence
from holdfast.bounds.correlated.influence import (
    birkhoff_influence,
    ising_influence,
    spectral_influence,
    two_state_influence,
    two_state_log_ratios,
)
from holdfast.bounds.correlated.lemma4 import ChainLevel, chain_level
from holdfast.bounds.correlated.max_information import bayesian_max_information, lemma_1_failure
from holdfast.bounds.correlated.mixing import (
    autoregressive_start_ratio,
    mixing_coefficients,
    mixing_sum,
    time_split_bias,
    two_state_coefficients,
)
from holdfast.bounds.correlated.question import question_accuracy, question_budget, question_failure, question_size
from holdfast.bounds.correlated.quilt_terms import QuiltTerms, drift
from holdfast.bounds.correlated.run_plan import RunPlan, plan_run, printed_run_terms
from holdfast.bounds.correlated.theorem1 import Terms, log_failure, printed_terms, rate, terms
from holdfast.bounds.correlated.theorem2 import holdout_accuracy, holdout_budget, holdout_size
from holdfast.bounds.correlated.threshold_advice import recommended_threshold, variance_inflation

__all__ = [
    "DWORK",
    "ZHAO",
    "ChainLevel",
    "NoiseRatios",
    "QuiltTerms",
    "RunParameters",
    "RunPlan",
    "Terms",
    "algorithm_1_epsilon",
    "autoregressive_shift",
    "autoregressive_start_ratio",
    "bayesian_max_information",
    "beta_mixing_width",
    "birkhoff_influence",
    "chain_level",
    "drift",
    "effective_n_blocks",
    "effective_n_chain",
    "effective_n_chain_summary",
    "effective_n_colours",
    "effective_n_stationary",
    "equicorrelation_shift",
    "fixed_question_half_width",
    "fixed_question_width",
    "holdout_accuracy",
    "holdout_budget",
    "holdout_size",
    "ising_influence",
    "lemma_1_failure",
    "log_failure",
    "mixing_coefficients",
    "mixing_sum",
    "noise_failure",
    "plan_run",
    "printed_run_terms",
    "printed_terms",
    "question_accuracy",
    "question_budget",
    "question_failure",
    "question_size",
    "rate",
    "recommended_threshold",
    "run_parameters",
    "spectral_influence",
    "terms",
    "time_split_bias",
    "two_state_coefficients",
    "two_state_influence",
    "two_state_log_ratios",
    "variance_inflation",
    "windowed_influence",
]
