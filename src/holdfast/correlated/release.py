"""Noise for one release under a dependence model: the ordinary mechanisms, run at the converted level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.correlated.certificate import Certificate, certify
from holdfast.correlated.model import DependenceModel
from holdfast.correlated.quilt import Surcharge
from holdfast.mechanisms.exponential import Selection
from holdfast.mechanisms.laplace import Laplace
from holdfast.noise.grid import Grid

M = TypeVar("M", Laplace, Selection)


@dataclass(frozen=True)
class BayesianMechanism(Generic[M]):
    """A mechanism and what it promises under the model; `mechanism.release(...)` draws from the system's entropy."""

    mechanism: M
    certificate: Certificate


def laplace(
    model: DependenceModel,
    epsilon_bdp: float,
    sensitivity: float,
    *,
    dimension: int = 1,
    surcharge: Surcharge = "sharp",
    grid: Grid | None = None,
) -> BayesianMechanism[Laplace]:
    """The Laplace mechanism whose release is `epsilon_bdp`-Bayesian-DP under the model.

    Scale `sensitivity * max_i min_quilt size / (epsilon_bdp - surcharge)` (Zhao 2017, Lemma 2, as repaired). The noise
    is discrete Laplace noise on a grid, which is epsilon-DP exactly on the full product domain.

    Parameters
    ----------
    model : DependenceModel
        The declared model of the records.
    epsilon_bdp : float
        The Bayesian level.
    sensitivity : float
        How far replacing one record moves the value; for vectors in the sum of absolute changes.
    dimension : int
        How many numbers are released together.
    surcharge : str
        "sharp", "two" or "paper".
    grid : Grid, optional
        As for `mechanisms.Laplace`.

    Examples
    --------
    How often the meter was on, of a million readings:

    >>> from holdfast.correlated import MarkovChain
    >>> meter = MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=1_000_000)
    >>> count = laplace(meter, epsilon_bdp=1.0, sensitivity=1)
    >>> round(count.mechanism.epsilon, 6), round(count.mechanism.half_width(0.05))
    (0.075242, 40)
    >>> abs(count.mechanism.release(200_000.0) - 200_000) < count.mechanism.half_width(1e-12)
    True
    """
    certificate = certify(model, epsilon_bdp=epsilon_bdp, surcharge=surcharge)
    return BayesianMechanism(Laplace(sensitivity, certificate.epsilon_dp, dimension, grid), certificate)


def exponential(
    model: DependenceModel,
    epsilon_bdp: float,
    sensitivity: float,
    *,
    surcharge: Surcharge = "sharp",
    grid: Grid | None = None,
) -> BayesianMechanism[Selection]:
    """The exponential mechanism whose choice is `epsilon_bdp`-Bayesian-DP under the model.

    Candidate `y` is chosen with probability proportional to `exp(epsilon_dp u(y) / (2 sensitivity))`.

    Parameters
    ----------
    model : DependenceModel
        The declared model of the records.
    epsilon_bdp : float
        The Bayesian level.
    sensitivity : float
        How far replacing one record moves any score.
    surcharge : str
        "sharp", "two" or "paper".
    grid : Grid, optional
        As for `mechanisms.Selection`.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> best = exponential(Blocks([4] * 250), epsilon_bdp=2.0, sensitivity=1 / 1000)
    >>> round(best.mechanism.epsilon, 9), best.mechanism.release([0.1, 0.9])
    (0.5, 1)
    """
    certificate = certify(model, epsilon_bdp=epsilon_bdp, surcharge=surcharge)
    chosen = Selection(sensitivity, certificate.epsilon_dp, method="exponential", grid=grid)
    return BayesianMechanism(chosen, certificate)


__all__ = ["BayesianMechanism", "exponential", "laplace"]
