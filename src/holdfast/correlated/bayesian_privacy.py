"""Bayesian differential privacy under a dependence model: conversions, certificates, single releases and an accountant.

A release runs the ordinary mechanism at the differential-privacy level that the model's quilts convert to. Several
releases compose at that level, and the sum is converted once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from holdfast.accounting.costs import Cost, PureDP
from holdfast.accounting.filters import BasicFilter
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.correlated.model import DependenceModel, Quilt, Surcharge, check_model, check_surcharge
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.mechanisms.additive import Laplace
from holdfast.mechanisms.selection import Selection
from holdfast.noise.grid import Grid

BAYESIAN = "Bayesian differential privacy (adversary knows any other records)"
PUFFERFISH = "Pufferfish privacy (adversary knows the model only); not Bayesian differential privacy"


class HasMarkovQuilt(Protocol):
    """A model that can price quilts for the Markov Quilt Mechanism."""

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the worst record's best quilt."""


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
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "epsilon_dp": self.epsilon_dp,
            "epsilon_bdp": self.epsilon_bdp,
            "surcharge": self.surcharge,
            "quilt": self.quilt.to_dict(),
            "notion": self.notion,
        }


def to_dp(model: DependenceModel, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> Conversion:
    """Return the level of differential privacy at which every mechanism has the Bayesian level `epsilon_bdp` under
    the model.

    The mechanism must be differentially private between *all* pairs of databases of the full product domain, including
    databases that are impossible under the model.

    Notes
    -----
    Zhao 2017, Lemma 2, read in its valid direction and with the surcharge of L2-R or 3.3 of the specification
    (derived, reviewed). The argument walks through databases that may be impossible under the model.

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
    epsilon_bdp = arguments.real("epsilon_bdp", epsilon_bdp, above=0)
    quilt = model.worst_quilt(epsilon_bdp, check_surcharge(surcharge))
    return Conversion(quilt.epsilon_dp(epsilon_bdp, surcharge), epsilon_bdp, surcharge, quilt)


def to_bdp(model: DependenceModel, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
    """Return the level of Bayesian differential privacy of any `epsilon_dp`-differentially private mechanism.

    It is the inverse of `to_dp`.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> to_bdp(Blocks([4] * 25), 0.25)
    1.0...
    """
    epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, at_least=0)
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
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "epsilon": self.epsilon,
            "score": self.score,
            "scale": self.scale,
            "sensitivity": self.sensitivity,
            "quilt": self.quilt.to_dict(),
            "notion": self.notion,
        }


def markov_quilt_noise(model: HasMarkovQuilt, epsilon: float, sensitivity: float = 1.0) -> MarkovQuiltNoise:
    """Return the noise scale of the Markov Quilt Mechanism of Song, Wang and Chaudhuri (SIGMOD 2017).

    A Markov quilt of a record is a set of records that separates it and the records nearby from all other records. Its
    score is `card(X_N)/(epsilon - e)`, where `card(X_N)` is the number of nearby records, the record itself included,
    and `e` is the max-influence when nothing else is known. The privacy guarantee is for an adversary who knows the
    model and nothing else. So it is weaker than Bayesian differential privacy.

    Parameters
    ----------
    model : dependence model
        A chain, a class of them, blocks or a network.
    epsilon : float
        The Pufferfish level.
    sensitivity : float
        The query's Lipschitz constant in the sum of absolute changes.

    Notes
    -----
    From knowledge of the paper; both scores of its running example are reproduced. One times the influence does
    not suffice for Bayesian differential privacy (specification 3.2).

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 100, start=[0.9, 0.1])
    >>> noise = markov_quilt_noise(chain, 1.0)
    >>> round(noise.score, 4), noise.quilt.record, noise.quilt.quilt
    (10.6402, 5, (9,))
    """
    epsilon = arguments.real("epsilon", epsilon, above=0)
    sensitivity = arguments.real("sensitivity", sensitivity, above=0)
    quilt = model.markov_quilt(epsilon)
    left = epsilon - quilt.influence
    if not left > 0:
        raise GuaranteeUnavailable("no Markov quilt leaves any of epsilon; give a larger epsilon, or declare blocks")
    return MarkovQuiltNoise(epsilon, up(quilt.size / left), sensitivity, quilt)


HEURISTIC_EPSILON = 10.0
"""A DP level beyond this promises nothing of use; the certificate says so."""

_PROVENANCE: dict[Surcharge, str] = {
    "sharp": "derived and reviewed: Zhao 2017, Lemma 2, with the smallest surcharge proved for this kind of model",
    "two": "derived and reviewed: Zhao 2017, Lemma 2, with constant 2",
    "paper": "Zhao 2017, Lemma 2 as printed, constant 4: safe and loose",
}


@dataclass(frozen=True)
class Certificate:
    """A claim of Bayesian differential privacy, with the model that it assumes and its justification.

    Attributes
    ----------
    model : mapping
        The declaration as plain data.
    description : str
        The same in one line.
    epsilon_dp, epsilon_bdp : float
        The levels: every `epsilon_dp`-DP mechanism is `epsilon_bdp`-Bayesian-DP under the model.
    surcharge : str
        How influence was charged.
    quilt : Quilt
        The quilt of the record that decides.
    confidence : float
        The probability that the declared class holds the true model, where it was estimated from public history.
    certified : bool
        False where the numbers are too weak to be called a promise.
    warnings : tuple of str
        What the reader must know.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> found = certify(Blocks([4, 3, 4]), epsilon_bdp=1.0)
    >>> found.certified, found.description, found.quilt.size
    (True, '3 independent blocks of at most 4 records, 11 in all', 4)
    """

    model: Mapping[str, Any]
    description: str
    epsilon_dp: float
    epsilon_bdp: float
    surcharge: Surcharge
    quilt: Quilt
    confidence: float = 1.0
    certified: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def provenance(self) -> str:
        """The source of the conversion that justifies the claim."""
        return _PROVENANCE[self.surcharge]

    def __str__(self) -> str:
        lines = [
            f"{self.epsilon_bdp:.6g}-Bayesian-DP from {self.epsilon_dp:.6g}-DP"
            + ("" if self.certified else "; heuristic"),
            f"model: {self.description}",
            f"quilt: {self.quilt}",
            f"basis: {self.provenance}",
        ]
        return "\n".join(lines + [f"note: {warning}" for warning in self.warnings])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "notion": BAYESIAN,
            "epsilon_bdp": self.epsilon_bdp,
            "epsilon_dp": self.epsilon_dp,
            "surcharge": self.surcharge,
            "quilt": self.quilt.to_dict(),
            "model": dict(self.model),
            "description": self.description,
            "confidence": self.confidence,
            "certified": self.certified,
            "provenance": self.provenance,
            "warnings": list(self.warnings),
        }


def certify(
    model: DependenceModel,
    *,
    epsilon_bdp: float | None = None,
    epsilon_dp: float | None = None,
    surcharge: Surcharge = "sharp",
) -> Certificate:
    """Return a certificate of Bayesian differential privacy, given either its Bayesian level or its DP level.

    Parameters
    ----------
    model : DependenceModel
        The declared model.
    epsilon_bdp : float, optional
        The Bayesian level that is wanted: the certificate says at which DP level to run the mechanism.
    epsilon_dp : float, optional
        The DP level that was spent: the certificate says which Bayesian level that is.
    surcharge : str
        "sharp", "two" or "paper".

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> print(certify(MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=1000), epsilon_bdp=1.0))
    1-Bayesian-DP from 0.0752423-DP
    model: Markov chain of 1000 records, 2 states, stationary start
    quilt: record 499: quilt {493, 505}, 11 records at once, influence 0.152746
    basis: derived and reviewed: Zhao 2017, Lemma 2, with the smallest surcharge proved for this kind of model
    note: the promise is relative to the declared model, which no data can certify
    """
    surcharge, model = check_surcharge(surcharge), check_model(model)
    if (epsilon_bdp is None) == (epsilon_dp is None):
        raise InvalidParameter("exactly one of epsilon_bdp and epsilon_dp must be given")
    if epsilon_bdp is None:
        level = arguments.real("epsilon_dp", epsilon_dp, above=0)
        bayesian = model.epsilon_bdp(level, surcharge)
        quilt = to_dp(model, bayesian, surcharge).quilt
    else:
        bayesian = arguments.real("epsilon_bdp", epsilon_bdp, above=0)
        conversion = to_dp(model, bayesian, surcharge)
        level, quilt = conversion.epsilon_dp, conversion.quilt
    warnings = [
        "the promise is relative to the declared model, which no data can certify",
        *getattr(model, "notes", tuple)(),
    ]
    weak = level > HEURISTIC_EPSILON
    if weak:
        warnings.append(f"a DP level above {HEURISTIC_EPSILON:g} promises nothing of use")
    confidence = float(getattr(model, "confidence", 1.0))
    return Certificate(
        model.to_dict(), model.describe(), level, bayesian, surcharge, quilt, confidence, not weak, tuple(warnings)
    )


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
    """Return the Laplace mechanism whose release is `epsilon_bdp`-Bayesian-DP under the model.

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
    """Return the exponential mechanism whose choice is `epsilon_bdp`-Bayesian-DP under the model.

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


class BayesianAccountant:
    """A budget of Bayesian differential privacy that is spent by costs of differential privacy.

    The epsilons of the costs add up, and their sum is converted to a Bayesian level once. So the surcharge for
    dependence is paid once, whatever the number of releases. Bayesian levels must **not** be added: for example two
    releases of level 1.1565 can have level 2.4451 together. Only pure DP costs are accepted. Costs may be chosen
    adaptively.

    Parameters
    ----------
    model : DependenceModel
        The declared model.
    epsilon_bdp : float
        The budget.
    surcharge : str
        "sharp", "two" or "paper".

    Notes
    -----
    Specification 2.10, derived. Approximate and Renyi costs are not covered by any statement here.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> from holdfast.correlated import Blocks
    >>> account = BayesianAccountant(Blocks([4] * 25), epsilon_bdp=1.0)
    >>> account.spend(PureDP(0.1))
    >>> account.spend(PureDP(0.1))
    >>> round(account.epsilon_bdp(), 9), round(account.remaining(), 9)
    (0.8, 0.05)
    >>> account.spend(0.3)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: cost must be a PureDP cost of a DP mechanism: Bayesian levels do not add up, so
    they are not taken
    """

    def __init__(self, model: DependenceModel, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> None:
        self._model, self._surcharge = check_model(model), check_surcharge(surcharge)
        self._budget = arguments.real("epsilon_bdp", epsilon_bdp, above=0)
        self._filter = BasicFilter(model.epsilon_dp(self._budget, self._surcharge))

    def __repr__(self) -> str:
        return f"<{self._budget:g}-Bayesian-DP budget, {self.spent():.6g} of {self._filter.epsilon:.6g} DP spent>"

    @property
    def budget(self) -> float:
        """The level of Bayesian differential privacy that the releases together never exceed."""
        return self._budget

    def admits(self, cost: Cost) -> bool:
        """Return whether `spend(cost)` would succeed now. The call changes nothing."""
        return self._filter.admits(_pure(cost))

    def spend(self, cost: Cost) -> None:
        """Charge a pure DP cost before its mechanism runs.

        If the cost exceeds what is left, raise `BudgetExhausted` and change nothing.
        """
        self._filter.spend(_pure(cost))

    def spent(self) -> float:
        """Return the DP level spent so far, rounded up."""
        return float(self._filter.spent()["epsilon"])

    def remaining(self) -> float:
        """Return the largest DP cost that can still be spent, rounded down."""
        return float(self._filter.remaining()["epsilon"])

    def epsilon_bdp(self) -> float:
        """Return the level of Bayesian differential privacy of everything spent so far. The sum of the costs is
        converted once.
        """
        spent = self.spent()
        return min(self._model.epsilon_bdp(spent, self._surcharge), self._budget) if spent else 0.0

    def certificate(self) -> Certificate:
        """Return a certificate for everything spent so far."""
        spent = self.spent()
        if not spent:
            raise InvalidParameter("nothing has been spent, so there is nothing to certify")
        return certify(self._model, epsilon_dp=spent, surcharge=self._surcharge)

    def state(self) -> dict[str, Any]:
        """Return plain data that `from_state` reads back exactly. The model is not stored, so it must be declared
        again.
        """
        return {"epsilon_bdp": self._budget, "surcharge": self._surcharge, "filter": self._filter.to_dict()}

    @classmethod
    def from_state(cls, model: DependenceModel, state: Mapping[str, Any]) -> BayesianAccountant:
        """Return the accountant that `state()` described, under the same model.

        Examples
        --------
        >>> from holdfast.accounting import PureDP
        >>> from holdfast.correlated import Blocks
        >>> model = Blocks([4] * 25)
        >>> account = BayesianAccountant(model, 1.0)
        >>> account.spend(PureDP(0.1))
        >>> BayesianAccountant.from_state(model, account.state()).spent()
        0.1
        """
        try:
            budget, surcharge, filtered = state["epsilon_bdp"], state["surcharge"], state["filter"]
        except (KeyError, TypeError):
            raise InvalidParameter("state must be what BayesianAccountant.state() gave") from None
        accountant = cls(model, budget, surcharge)
        stored = BasicFilter.from_dict(filtered)
        if stored.epsilon > accountant._filter.epsilon * (1 + 1e-9):
            raise InvalidParameter(
                "state was taken under another model, because its DP budget is larger than this model allows; give "
                "that model"
            )
        accountant._filter = stored
        return accountant


def _pure(cost: Any) -> PureDP:
    if type(cost) is not PureDP:
        raise InvalidParameter(
            "cost must be a PureDP cost of a DP mechanism: Bayesian levels do not add up, so they are not taken"
            if not isinstance(cost, Cost)
            else f"cost must be a PureDP cost: a {cost.kind} cost has no conversion to Bayesian differential privacy"
        )
    return cost
