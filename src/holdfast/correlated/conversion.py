"""Differential privacy and Bayesian differential privacy, converted both ways; and the Markov Quilt Mechanism apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.correlated.model import DependenceModel
from holdfast.correlated.quilt import Quilt, Surcharge, check_surcharge
from holdfast.errors import GuaranteeUnavailable

BAYESIAN = "Bayesian differential privacy (adversary knows any other records)"
PUFFERFISH = "Pufferfish privacy (adversary knows the model only); not Bayesian differential privacy"


class HasMarkovQuilt(Protocol):
    """A model that can price quilts for the Markov Quilt Mechanism."""

    def markov_quilt(self, epsilon: float) -> Quilt:
        """The worst record's best quilt."""


@dataclass(frozen=True)
class Conversion:
    """Two levels that belong together under a model, and the record that decides.

    Attributes
    ----------
    epsilon_dp, epsilon_bdp : float
        Every `epsilon_dp`-DP mechanism is `epsilon_bdp`-Bayesian-DP.
    surcharge : str
        The rule by which influence was charged.
    quilt : Quilt
        The best quilt of the record that decides.
    """

    epsilon_dp: float
    epsilon_bdp: float
    surcharge: Surcharge
    quilt: Quilt
    notion: str = BAYESIAN

    def __str__(self) -> str:
        return f"{self.epsilon_dp:.6g}-DP gives {self.epsilon_bdp:.6g}-Bayesian-DP ({self.surcharge}); {self.quilt}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "epsilon_dp": self.epsilon_dp,
            "epsilon_bdp": self.epsilon_bdp,
            "surcharge": self.surcharge,
            "quilt": self.quilt.to_dict(),
            "notion": self.notion,
        }


def to_dp(model: DependenceModel, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> Conversion:
    """The DP level at which every mechanism is `epsilon_bdp`-Bayesian-DP under the model.

    Zhao 2017, Lemma 2, read in its valid direction and with the surcharge of L2-R or 3.3 of the specification
    (derived, reviewed). The mechanism must be DP between *all* databases of the full product domain: the argument walks
    through databases that may be impossible under the model.

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=1000)
    >>> for rule in ("sharp", "two", "paper"):
    ...     print(rule, round(to_dp(chain, 1.0, rule).epsilon_dp, 9))
    sharp 0.075242295
    two 0.065041589
    paper 0.056310354
    """
    epsilon_bdp = check.real("epsilon_bdp", epsilon_bdp, above=0)
    quilt = model.worst_quilt(epsilon_bdp, check_surcharge(surcharge))
    return Conversion(quilt.epsilon_dp(epsilon_bdp, surcharge), epsilon_bdp, surcharge, quilt)


def to_bdp(model: DependenceModel, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
    """The Bayesian level of any `epsilon_dp`-DP mechanism: the inverse of `to_dp`.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> to_bdp(Blocks([4] * 25), 0.25)
    1.0...
    """
    epsilon_dp = check.real("epsilon_dp", epsilon_dp, at_least=0)
    return model.epsilon_bdp(epsilon_dp, check_surcharge(surcharge))


@dataclass(frozen=True)
class MarkovQuiltNoise:
    """Noise of the Markov Quilt Mechanism, under its own notion of privacy.

    `score` is the largest over records of the least `size / (epsilon - influence)`; the noise scale of a query is
    `sensitivity * score`. It must not be quoted as Bayesian differential privacy.
    """

    epsilon: float
    score: float
    sensitivity: float
    quilt: Quilt
    notion: str = PUFFERFISH

    @property
    def scale(self) -> float:
        """The Laplace scale."""
        return up(self.sensitivity * self.score)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "epsilon": self.epsilon,
            "score": self.score,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "quilt": self.quilt.to_dict(),
            "notion": self.notion,
        }


def markov_quilt_noise(model: HasMarkovQuilt, epsilon: float, sensitivity: float = 1.0) -> MarkovQuiltNoise:
    """The noise of Song, Wang and Chaudhuri's Markov Quilt Mechanism (SIGMOD 2017).

    Their score of a quilt is `card(X_N)/(epsilon - e)`, `card` counting the record itself and `e` the influence with
    nothing known. From knowledge of the paper; both scores of its running example are reproduced. The adversary knows
    the model and nothing else, so this is a weaker promise than Bayesian differential privacy: one times the influence
    does not suffice there (specification 3.2).

    Parameters
    ----------
    model : dependence model
        A chain, a class of them, blocks or a network.
    epsilon : float
        The Pufferfish level.
    sensitivity : float
        The query's Lipschitz constant in the sum of absolute changes.

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 100, start=[0.9, 0.1])
    >>> noise = markov_quilt_noise(chain, 1.0)
    >>> round(noise.score, 4), noise.quilt.record, noise.quilt.quilt
    (10.6402, 5, (9,))
    """
    epsilon = check.real("epsilon", epsilon, above=0)
    sensitivity = check.real("sensitivity", sensitivity, above=0)
    quilt = model.markov_quilt(epsilon)
    left = epsilon - quilt.influence
    if not left > 0:
        raise GuaranteeUnavailable("no quilt leaves any of epsilon; declare blocks")
    return MarkovQuiltNoise(epsilon, up(quilt.size / left), sensitivity, quilt)


__all__ = [
    "BAYESIAN",
    "PUFFERFISH",
    "Conversion",
    "MarkovQuiltNoise",
    "markov_quilt_noise",
    "to_bdp",
    "to_dp",
]
