"""What every dependence model answers, and how the answers follow from its quilts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, Protocol, runtime_checkable

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.correlated.quilt import Quilt, Surcharge
from holdfast.errors import InvalidParameter

ZEROS = (
    "some value of a record rules out a value of another, so that influence is infinite and no quilt separates them: "
    "declare blocks of records that may depend on each other in any way (correlated.Blocks) and pay the block's size"
)
"""What to say where zero probabilities leave nothing but the trivial quilt."""


@runtime_checkable
class DependenceModel(Protocol):
    """A declared joint law of the records, or a class of laws; records count from 0.

    Every number is relative to the declared model: no data can certify it.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> model = Blocks([4, 3, 4, 2])
    >>> isinstance(model, DependenceModel), model.n, model.describe()
    (True, 13, '4 independent blocks of at most 4 records, 13 in all')
    """

    @property
    def n(self) -> int:
        """How many records."""

    def describe(self) -> str:
        """One line that says what is declared."""

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Max-influence `I(X_quilt <- X_record | X_known)` in nats; infinite where a value rules another out."""

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` with the least noise at the Bayesian level `epsilon`."""

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The best quilt of the record that needs most noise at the Bayesian level `epsilon`."""

    def epsilon_dp(self, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> float:
        """The largest DP level whose mechanisms are all `epsilon_bdp`-Bayesian-DP by this model's quilts."""

    def epsilon_bdp(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
        """The Bayesian DP level of any `epsilon_dp`-DP mechanism by this model's quilts."""

    def noise_scale(self, epsilon_bdp: float, sensitivity: float = 1.0, surcharge: Surcharge = "sharp") -> float:
        """The Laplace scale for a query of that (substitution) sensitivity."""

    def effective_n(self) -> float:
        """How many independent rows the check of a fixed mean question is worth (specification 3.9)."""

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data, for certificates."""


class QuiltModel(ABC):
    """The conversions of 2.2 of the specification for a model that finds the best quilt of each record.

    A subclass gives `n`, `describe`, `influence`, `effective_n`, `to_dict` and the searches `best_quilt`,
    `cheapest_quilt` and `markov_quilt`; one that knows a faster way to the worst record overrides `worst_quilt` and
    `dearest_quilt` too. A model that can list its quilts is a `ListedModel` and needs no search of its own. Fewer
    quilts are always safe.

    Examples
    --------
    >>> from holdfast.correlated import MarkovChain
    >>> chain = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 1000)
    >>> isinstance(chain, QuiltModel), round(chain.epsilon_dp(1.0), 6)
    (True, 0.075242)
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """How many records."""

    @abstractmethod
    def describe(self) -> str:
        """One line that says what is declared."""

    @abstractmethod
    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Max-influence in nats."""

    @abstractmethod
    def effective_n(self) -> float:
        """Rows that the check of a fixed mean question is worth."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""

    def notes(self) -> tuple[str, ...]:
        """What a certificate must say about the model; nothing by default."""
        return ()

    @abstractmethod
    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` that maximises `(epsilon - surcharge) / size`."""

    @abstractmethod
    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` that minimises `size * epsilon_dp + surcharge`: the other direction of `best_quilt`."""

    @abstractmethod
    def markov_quilt(self, epsilon: float) -> Quilt:
        """The worst record's best quilt for the Markov Quilt Mechanism, another notion of privacy: see `conversion`."""

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The best quilt of the record that needs most noise; the first such record."""
        found = (self.best_quilt(record, epsilon, surcharge) for record in range(self.n))
        return min(found, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The cheapest quilt of the record that leaks most at `epsilon_dp`; the first such record."""
        found = (self.cheapest_quilt(record, epsilon_dp, surcharge) for record in range(self.n))
        return max(found, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def epsilon_dp(self, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> float:
        """`min_i max_quilt (epsilon_bdp - surcharge) / size`, rounded down.

        Zhao 2017, Lemma 2, as repaired in L2-R of the specification. The mechanism must be that DP between all
        databases of the full product domain, also those that are impossible under the model.
        """
        return self.worst_quilt(epsilon_bdp, surcharge).epsilon_dp(epsilon_bdp, surcharge)

    def epsilon_bdp(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
        """`max_i min_quilt (size * epsilon_dp + surcharge)`, rounded up: the inverse of `epsilon_dp`."""
        if check.real("epsilon_dp", epsilon_dp, at_least=0) == 0:
            return 0.0  # the output does not depend on the records at all
        return self.dearest_quilt(epsilon_dp, surcharge).epsilon_bdp(epsilon_dp, surcharge)

    def noise_scale(self, epsilon_bdp: float, sensitivity: float = 1.0, surcharge: Surcharge = "sharp") -> float:
        """`sensitivity / epsilon_dp(epsilon_bdp)`, rounded up."""
        sensitivity = check.real("sensitivity", sensitivity, above=0)
        return up(sensitivity / self.epsilon_dp(epsilon_bdp, surcharge))


def check_model(model: Any) -> DependenceModel:
    """A dependence model.

    Examples
    --------
    >>> check_model(0.3)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: model must be a dependence model, got a float
    """
    if not isinstance(model, DependenceModel):
        raise InvalidParameter(f"model must be a dependence model, got a {type(model).__name__}")
    return model


def check_record(record: Any, n: int) -> int:
    """A record's number, from 0 to n - 1.

    Examples
    --------
    >>> check_record(3, 3)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: record must be a whole number, at least 0 and at most 2, got 3
    """
    return check.whole("record", record, at_least=0, at_most=n - 1)


def check_records(name: str, records: Any, n: int) -> tuple[int, ...]:
    """Sorted distinct numbers of records."""
    return tuple(sorted({check.whole(f"{name}[{j}]", r, at_least=0, at_most=n - 1) for j, r in enumerate(records)}))


__all__ = ["ZEROS", "DependenceModel", "QuiltModel", "check_model", "check_record", "check_records"]
