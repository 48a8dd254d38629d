"""What coherence costs: group sizes, epsilons and tolerances, each theorem with its inverses.

A release about a random half of `n` rows is (alpha, beta)-coherent for groups of a size if no predictor made from it
treats the halves of any such group differently by more than `alpha` (1-Wasserstein distance of predictions in [-1, 1]),
except with probability `beta`. Three modes: "paper" as printed, "corrected" with slips repaired, "sharp" without
rounded constants.
"""

from holdfast.bounds.coherence.group_size import (
    MODES,
    POPULATIONS,
    GroupSize,
    Mode,
    Population,
    hypergeometric_tail,
    log_ratio,
    max_information_size,
    sample_mean_tail,
    sampling_noise_failure,
    sampling_noise_size,
    swap_tail,
)
from holdfast.bounds.coherence.planning import (
    LargestEpsilon,
    approx_dp_epsilon,
    epsilon_ceiling,
    flipped_share,
    pure_dp_alpha,
    pure_dp_epsilon,
    pure_dp_groups,
    pure_dp_rows,
)
from holdfast.bounds.coherence.release import (
    add_remove_to_replace,
    approx_dp_size,
    column_release_size,
    count_release_size,
    finite_release_size,
    pure_dp_size,
)

__all__ = [
    "MODES",
    "POPULATIONS",
    "GroupSize",
    "LargestEpsilon",
    "Mode",
    "Population",
    "add_remove_to_replace",
    "approx_dp_epsilon",
    "approx_dp_size",
    "column_release_size",
    "count_release_size",
    "epsilon_ceiling",
    "finite_release_size",
    "flipped_share",
    "hypergeometric_tail",
    "log_ratio",
    "max_information_size",
    "pure_dp_alpha",
    "pure_dp_epsilon",
    "pure_dp_groups",
    "pure_dp_rows",
    "pure_dp_size",
    "sample_mean_tail",
    "sampling_noise_failure",
    "sampling_noise_size",
    "swap_tail",
]
