"""The privacy of a whole run of noisy means, as the transfer theorems need it.

An answer is a mean of [0,1] values over `n` rows, so replacing a row moves it by at most `1/n`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import erfcinv

from holdfast.bounds.conversions import gdp_delta, pure_to_zcdp, zcdp_delta
from holdfast.bounds.interval.width import Noise


def run_delta(n: int, questions: int, sigma: float, noise: Noise) -> Callable[[float], float]:
    """The delta of the whole run at a given epsilon.

    Gaussian: the exact curve of `sqrt(k)/(n sigma)`-Gaussian privacy, which holds for adaptive questions at a fixed
    deviation. Laplace: each answer is `1/(n sigma)`-private, hence `e tanh(e/2)`-zCDP, and the sum converts; from
    `k e` on delta is 0. The zCDP route is never worse than advanced composition.
    """
    if noise == "gaussian":
        mu = math.sqrt(questions) / (n * sigma)
        return lambda epsilon: gdp_delta(mu, epsilon)
    each = 1 / (n * sigma)
    rho = questions * pure_to_zcdp(each)
    return lambda epsilon: 0.0 if epsilon >= questions * each * (1 + 1e-12) else zcdp_delta(rho, epsilon)


def noise_bound(questions: int, beta: float, noise: Noise) -> float:
    """A bound on all `questions` noises of unit scale that fails with probability at most `beta`, by a union bound."""
    if noise == "gaussian":
        return math.sqrt(2) * float(erfcinv(beta / questions))
    return math.log(questions / beta)


def start_sigma(n: int, questions: int, noise: Noise) -> float:
    """A noise scale of the right size: shift `sqrt(k)/(n sigma)` and noise `4 sigma` balance near here."""
    return math.sqrt(math.sqrt(questions) / (2 * n)) * (1.0 if noise == "gaussian" else 0.7)


__all__ = ["noise_bound", "run_delta", "start_sigma"]
