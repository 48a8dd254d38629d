"""What reusable holdouts promise: numbers in, numbers out.

The error allocation of a run, Thresholdout by its original theorem and with free constants, SparseValidate, guess and
check, the median mechanism and the Ladder, each with its inverses, and the sample-splitting baseline that a planner
must print next to them.
"""

from holdfast.bounds.holdout.coded_threshold import CodedPlan, coded_plan, coded_threshold_accuracy
from holdfast.bounds.holdout.error_allocation import error_allocation
from holdfast.bounds.holdout.guess_and_check import (
    guess_and_check_share,
    guess_and_check_width,
    hoeffding_tolerance,
    shown_values,
)
from holdfast.bounds.holdout.ladder import ladder_tail, ladder_width
from holdfast.bounds.holdout.single_threshold import single_threshold_accuracy, single_threshold_size
from holdfast.bounds.holdout.sparse_validate import (
    median_bits,
    median_rounds,
    median_size,
    sparse_validate_bits,
    sparse_validate_budget,
    sparse_validate_size,
    sparse_validate_transcripts,
    sparse_validate_width,
)
from holdfast.bounds.holdout.thresholdout import (
    ThresholdoutPlan,
    gaussian_threshold_accuracy,
    lemma24_size,
    noise_allowance,
    plan_tight,
    planned_threshold_accuracy,
    printed_constant_holds,
    split_size,
    split_width,
    theorem25_accuracy,
    theorem25_budget,
    theorem25_parameters,
    theorem25_questions,
    theorem25_size,
    thresholdout_accuracy,
    thresholdout_budget,
    thresholdout_epsilon,
    thresholdout_failure,
    thresholdout_information_width,
    thresholdout_size,
    tight_sigma,
)

__all__ = [
    "CodedPlan",
    "ThresholdoutPlan",
    "coded_plan",
    "coded_threshold_accuracy",
    "error_allocation",
    "gaussian_threshold_accuracy",
    "guess_and_check_share",
    "guess_and_check_width",
    "hoeffding_tolerance",
    "ladder_tail",
    "ladder_width",
    "lemma24_size",
    "median_bits",
    "median_rounds",
    "median_size",
    "noise_allowance",
    "plan_tight",
    "planned_threshold_accuracy",
    "printed_constant_holds",
    "shown_values",
    "single_threshold_accuracy",
    "single_threshold_size",
    "sparse_validate_bits",
    "sparse_validate_budget",
    "sparse_validate_size",
    "sparse_validate_transcripts",
    "sparse_validate_width",
    "split_size",
    "split_width",
    "theorem25_accuracy",
    "theorem25_budget",
    "theorem25_parameters",
    "theorem25_questions",
    "theorem25_size",
    "thresholdout_accuracy",
    "thresholdout_budget",
    "thresholdout_epsilon",
    "thresholdout_failure",
    "thresholdout_information_width",
    "thresholdout_size",
    "tight_sigma",
]
