"""Exact noise: integer samplers without floating point, on a declared grid.

`Secure` words from the operating system in production; `Seeded` words, the same samplers, in simulations.
"""

from holdfast.noise.coins import bernoulli, bernoulli_exp, bernoulli_exp_each, bernoulli_logistic, uniform_below
from holdfast.noise.entropy import Secure, Seeded, Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import (
    Grid,
    GridGaussian,
    GridLaplace,
    discrete_gaussian_tail,
    discrete_gaussian_variance,
    discrete_laplace_tail,
    discrete_laplace_variance,
    gaussian_on_grid,
    laplace_on_grid,
)
from holdfast.noise.laplace import discrete_laplace, geometric
from holdfast.noise.local import (
    flip_bits,
    leaky_response,
    local_gaussian,
    local_laplace,
    one_hot_gaussian,
    one_hot_laplace,
    randomized_response,
)
from holdfast.noise.rounded_gaussian import rounded_gaussian
from holdfast.noise.selection import exponential_choice, noisy_max, permute_and_flip

__all__ = [
    "Grid",
    "GridGaussian",
    "GridLaplace",
    "Secure",
    "Seeded",
    "Source",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_each",
    "bernoulli_logistic",
    "discrete_gaussian",
    "discrete_gaussian_tail",
    "discrete_gaussian_variance",
    "discrete_laplace",
    "discrete_laplace_tail",
    "discrete_laplace_variance",
    "exponential_choice",
    "flip_bits",
    "gaussian_on_grid",
    "geometric",
    "laplace_on_grid",
    "leaky_response",
    "local_gaussian",
    "local_laplace",
    "noisy_max",
    "one_hot_gaussian",
    "one_hot_laplace",
    "permute_and_flip",
    "randomized_response",
    "rounded_gaussian",
    "uniform_below",
]
