"""Half-widths that hold for k adaptively chosen means at once, one file a family of proofs.

Every function takes `n, questions, beta, noise` and returns a `Width`: the half-width, the noise scale that buys it and
what it depends on. `best` is the one to use; the others are there to compare, to cite and to check.
"""

from holdfast.bounds.interval.mutual_information import minimisation, russo_zou, russo_zou_kl, xu_raginsky
from holdfast.bounds.interval.open_end import sign_comparison_open
from holdfast.bounds.interval.planning import Plan, best, best_noise, max_questions, required_n
from holdfast.bounds.interval.posterior_shift import (
    Schedule,
    discrete_noise_cost,
    filtered_width,
    low_sensitivity,
    posterior_shift,
    scheduled,
    shift_bound,
)
from holdfast.bounds.interval.private_means import private_means, total_mu
from holdfast.bounds.interval.published import bns, dfh, jung
from holdfast.bounds.interval.rates import rate_plan, sign_comparison_rates
from holdfast.bounds.interval.rounds import best_rounds, sign_comparison_rounds, splitting_rounds, winner_only
from holdfast.bounds.interval.sample_splitting import kl_width, non_adaptive, splitting
from holdfast.bounds.interval.signs import sign_comparison, sign_comparison_independent
from holdfast.bounds.interval.small_variance import small_variance, small_variance_plan
from holdfast.bounds.interval.width import Width

__all__ = [
    "Plan",
    "Schedule",
    "Width",
    "best",
    "best_noise",
    "best_rounds",
    "bns",
    "dfh",
    "discrete_noise_cost",
    "filtered_width",
    "jung",
    "kl_width",
    "low_sensitivity",
    "max_questions",
    "minimisation",
    "non_adaptive",
    "posterior_shift",
    "private_means",
    "rate_plan",
    "required_n",
    "russo_zou",
    "russo_zou_kl",
    "scheduled",
    "shift_bound",
    "sign_comparison",
    "sign_comparison_independent",
    "sign_comparison_open",
    "sign_comparison_rates",
    "sign_comparison_rounds",
    "small_variance",
    "small_variance_plan",
    "splitting",
    "splitting_rounds",
    "total_mu",
    "winner_only",
    "xu_raginsky",
]
