"""Dependence models: Markov quilts, the questions that every model answers, and how the answers follow from its quilts.

A `Quilt` separates one record from the rest. A `QuiltModel` searches its quilts for the one that costs the least noise,
a `ListedModel` lists them, and a `ModelClass` is private under each of several models.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, Protocol, overload, runtime_checkable

from holdfast.bounds.numerics.exact import down, up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Surcharge = Literal["sharp", "two", "paper"]
"""How the influence of a quilt is charged: 3.3 of the specification on chains, twice, or four times as printed."""

SURCHARGES: tuple[Surcharge, ...] = ("sharp", "two", "paper")
_SHOWN = 8


@dataclass(frozen=True)
class Between(Sequence[int]):
    """The records from `start` up to but not including `stop`, without one of them; no list of them is made.

    Examples
    --------
    >>> near = Between(3, 8, without=5)
    >>> list(near), len(near), 5 in near, near[-1]
    ([3, 4, 6, 7], 4, False, 7)
    """

    start: int
    stop: int
    without: int

    def __len__(self) -> int:
        return max(self.stop - self.start - (self.start <= self.without < self.stop), 0)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Integral) and self.start <= int(item) < self.stop and int(item) != self.without

    def __iter__(self) -> Iterator[int]:
        return (j for j in range(self.start, self.stop) if j != self.without)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...

    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError("there is no such record among the nearby ones")
        j = self.start + place
        return j + 1 if self.start <= self.without <= j else j


@dataclass(frozen=True)
class Quilt:
    """A Markov quilt of one record, with the max-influence of the record on the quilt.

    The quilt separates the record and the records `nearby` from all other, remote records: every path of the moral
    graph from the record to a remote one crosses the quilt. Records are numbered from 0.

    Parameters
    ----------
    record : int
        The record that is protected.
    quilt : sequence of int
        What separates; empty for the trivial quilt, which costs no surcharge.
    nearby : sequence of int
        The other records that can be reached from `record` without crossing the quilt.
    influence : float
        Max-influence of the record on the quilt in nats, maximised over what is known nearby: the largest of
        `I(X_Q <- X_i | X_L)` over `L` inside `nearby`. Never below the true one; it may be infinite.
    size : int
        How many records of the database one change can drag along: the nearby ones that are rows of it, plus 1.
        (Hidden variables may sit nearby and do not count.)
    sharp : float, optional
        A surcharge below `2 * influence` that is proved for this quilt (specification 3.3 on chains), or None.

    Examples
    --------
    >>> quilt = Quilt(record=7, quilt=(2, 12), nearby=Between(3, 12, without=7), influence=0.3, size=9)
    >>> quilt.surcharge("two"), quilt.surcharge("paper"), round(quilt.epsilon_bdp(0.02, "two"), 9)
    (0.6, 1.2, 0.78)
    >>> round(quilt.epsilon_dp(0.78, "two"), 9)
    0.02
    """

    record: int
    quilt: Sequence[int]
    nearby: Sequence[int]
    influence: float
    size: int
    sharp: float | None = None

    def surcharge(self, rule: Surcharge = "sharp") -> float:
        """Return what the dependence between records adds to the level of Bayesian differential privacy, in nats.

        It is added once, whatever the number of releases. The method "two" is `2 * influence`. "paper" is `4 *
        influence`, which is valid and larger than needed. "sharp" is the smallest surcharge that is proved for this
        quilt, and `2 * influence` if no smaller one is.

        Notes
        -----
        "two": L2-R of the specification, derived and reviewed; "paper": Zhao 2017, Lemma 2. One times the
        influence is the price under another notion of privacy, so it is not offered here: see
        `conversion.markov_quilt_noise`.
        """
        rule = check_surcharge(rule)
        if rule == "paper":
            return 4 * self.influence
        if rule == "sharp" and self.sharp is not None:
            return min(self.sharp, 2 * self.influence)
        return 2 * self.influence

    def epsilon_bdp(self, epsilon_dp: float, rule: Surcharge = "sharp") -> float:
        """Return the level of Bayesian differential privacy of this record if the mechanism is
        `epsilon_dp`-differentially private.

        It is `size * epsilon_dp + surcharge`.
        """
        return up(self.size * epsilon_dp + self.surcharge(rule))

    def epsilon_dp(self, epsilon_bdp: float, rule: Surcharge = "sharp") -> float:
        """Return the level of differential privacy at which this record has the Bayesian level `epsilon_bdp`.

        It is `(epsilon_bdp - surcharge) / size`. If no mechanism reaches the Bayesian level, the result is 0.
        """
        left = epsilon_bdp - self.surcharge(rule)
        return down(left / self.size) if left > 0 else 0.0

    def score(self, epsilon_bdp: float, rule: Surcharge = "sharp") -> float:
        """Return the noise scale for a query of sensitivity 1: `size / (epsilon_bdp - surcharge)`.

        If the surcharge leaves nothing of `epsilon_bdp`, the result is infinite.
        """
        level = self.epsilon_dp(epsilon_bdp, rule)
        return up(1 / level) if level > 0 else math.inf

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.quilt[:_SHOWN])) + (", ..." if len(self.quilt) > _SHOWN else "")
        return f"record {self.record}: quilt {{{inside}}}, {self.size} records at once, influence {self.influence:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. Of the nearby records it has only their number."""
        plain = {"record": self.record, "quilt": list(self.quilt), "size": self.size, "influence": self.influence}
        return plain | ({"sharp": self.sharp} if self.sharp is not None else {})


def check_surcharge(rule: Any) -> Surcharge:
    """Return a known rule; one times the influence is refused with the reason.

    Examples
    --------
    >>> check_surcharge("one")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: surcharge must be one of sharp, two, paper, got 'one'
    """
    rule = arguments.choice("surcharge", rule, SURCHARGES)
    return next(known for known in SURCHARGES if known == rule)


ZEROS = (
    "some value of a record rules out a value of another, so that influence is infinite and no quilt separates them: "
    "declare blocks of records that may depend on each other in any way (correlated.Blocks) and pay the block's size"
)
"""What to say where zero probabilities leave nothing but the trivial quilt."""


@runtime_checkable
class DependenceModel(Protocol):
    """A declared joint distribution of the records, or a class of such distributions. Records are numbered from 0.

    Every result assumes the declared model, which no data can certify.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> model = Blocks([4, 3, 4, 2])
    >>> isinstance(model, DependenceModel), model.n, model.describe()
    (True, 13, '4 independent blocks of at most 4 records, 13 in all')
    """

    @property
    def n(self) -> int:
        """The number of records."""

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the max-influence of `record` on the records of `quilt`, in nats, for an adversary who knows the
        records of `known`.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`. If one value rules another one out, it is infinite.
        """

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach.
        """

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach.
        """

    def epsilon_dp(self, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> float:
        """Return the largest level of differential privacy that guarantees the Bayesian level `epsilon_bdp` under
        this model.

        Every mechanism with the returned level is `epsilon_bdp`-Bayesian differentially private.
        """

    def epsilon_bdp(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
        """Return the level of Bayesian differential privacy that every `epsilon_dp`-differentially private mechanism
        has under this model.
        """

    def noise_scale(self, epsilon_bdp: float, sensitivity: float = 1.0, surcharge: Surcharge = "sharp") -> float:
        """Return the Laplace scale for a query that changes by at most `sensitivity` when one record is replaced."""

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.
        """

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data, for certificates."""


class QuiltModel(ABC):
    """The base class of models that find the best Markov quilt of each record and convert between DP and Bayesian
    DP.

    A Markov quilt of a record is a set of records that separates it and the records nearby from all other records. A
    subclass defines `n`, `describe`, `influence`, `effective_n`, `to_dict` and the searches `best_quilt`,
    `cheapest_quilt` and `markov_quilt`. If it has a faster way to find the worst record, it overrides `worst_quilt` and
    `dearest_quilt` too. A model that can list its quilts should be a `ListedModel`, which needs no search of its own. A
    search that considers fewer quilts is always valid.

    Notes
    -----
    The conversions are those of 2.2 of the specification.

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
        """The number of records."""

    @abstractmethod
    def describe(self) -> str:
        """Return one line that describes the declared dependence."""

    @abstractmethod
    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the max-influence of `record` on the records of `quilt`, in nats.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`.
        """

    @abstractmethod
    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state about the model; by default nothing."""
        return ()

    @abstractmethod
    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The quilt maximises `(epsilon - surcharge) /
        size`.
        """

    @abstractmethod
    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`.
        """

    @abstractmethod
    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the Markov quilt that determines the noise of the Markov Quilt Mechanism (Song, Wang and Chaudhuri
        2017).

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The quilt belongs to the record that needs the most noise. That mechanism has another notion of privacy: see
        `conversion`.
        """

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. If several records need as much, it is the
        quilt of the first.
        """
        quilts = (self.best_quilt(record, epsilon, surcharge) for record in range(self.n))
        return min(quilts, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record about which an `epsilon_dp`-differentially private mechanism reveals
        the most.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        If it reveals as much about several records, it is the quilt of the first.
        """
        quilts = (self.cheapest_quilt(record, epsilon_dp, surcharge) for record in range(self.n))
        return max(quilts, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def epsilon_dp(self, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> float:
        """Return the largest level of differential privacy that guarantees the Bayesian level `epsilon_bdp`, rounded
        down.

        It is `min_i max_quilt (epsilon_bdp - surcharge) / size`, over the records `i` and the Markov quilts of each.
        The mechanism must have this level between all databases of the full product domain, including those that are
        impossible under the model.

        Notes
        -----
        Zhao 2017, Lemma 2, as repaired in L2-R of the specification.
        """
        return self.worst_quilt(epsilon_bdp, surcharge).epsilon_dp(epsilon_bdp, surcharge)

    def epsilon_bdp(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> float:
        """Return the level of Bayesian differential privacy of any `epsilon_dp`-differentially private mechanism,
        rounded up.

        It is `max_i min_quilt (size * epsilon_dp + surcharge)`, over the records `i` and the Markov quilts of each: the
        inverse of `epsilon_dp`.
        """
        if arguments.real("epsilon_dp", epsilon_dp, at_least=0) == 0:
            return 0.0  # the output does not depend on the records at all
        return self.dearest_quilt(epsilon_dp, surcharge).epsilon_bdp(epsilon_dp, surcharge)

    def noise_scale(self, epsilon_bdp: float, sensitivity: float = 1.0, surcharge: Surcharge = "sharp") -> float:
        """Return the Laplace scale of a query, `sensitivity / epsilon_dp(epsilon_bdp)`, rounded up."""
        sensitivity = arguments.real("sensitivity", sensitivity, above=0)
        return up(sensitivity / self.epsilon_dp(epsilon_bdp, surcharge))


def check_model(model: Any) -> DependenceModel:
    """Return a dependence model.

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
    """Return a record's number, from 0 to n - 1.

    Examples
    --------
    >>> check_record(3, 3)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: record must be a whole number, at least 0 and at most 2, got 3
    """
    return arguments.whole("record", record, at_least=0, at_most=n - 1)


def check_records(name: str, records: Any, n: int) -> tuple[int, ...]:
    """Sorted distinct numbers of records."""
    return tuple(sorted({arguments.whole(f"{name}[{j}]", r, at_least=0, at_most=n - 1) for j, r in enumerate(records)}))


class ListedModel(QuiltModel):
    """The base class of models that can list the Markov quilts of a record with `quilts(record)`. It does all
    searches.

    A Markov quilt of a record is a set of records that separates it and the records nearby from all other records. A
    list with fewer quilts is always valid.

    Examples
    --------
    >>> from holdfast.correlated import Blocks
    >>> Blocks([4, 3]).best_quilt(0, 1.0)
    Quilt(record=0, quilt=(), nearby=Between(start=0, stop=4, without=0), influence=0.0, size=4, sharp=0.0)
    """

    @abstractmethod
    def quilts(self, record: int) -> Iterable[Quilt]:
        """Return the Markov quilts of `record` by increasing size.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The trivial quilt, which is empty and has no surcharge, must be among them.
        """

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The quilt maximises `(epsilon - surcharge) /
        size`; of equal quilts it is the smallest.

        Notes
        -----
        The search stops at the size that could not win even without a surcharge. Ties go to the first, which is
        the smallest.
        """
        epsilon = arguments.real("epsilon", epsilon, above=0)
        rule, best, level = check_surcharge(surcharge), None, 0.0
        for quilt in self.quilts(check_record(record, self.n)):
            if best is not None and epsilon <= quilt.size * level:
                break
            here = quilt.epsilon_dp(epsilon, rule)
            if best is None or here > level:
                best, level = quilt, here
        assert best is not None, "every record has its trivial quilt"
        return best

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`.
        """
        epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, above=0)
        rule, best, level = check_surcharge(surcharge), None, 0.0
        for quilt in self.quilts(check_record(record, self.n)):
            if best is not None and quilt.size * epsilon_dp >= level:
                break
            here = quilt.epsilon_bdp(epsilon_dp, rule)
            if best is None or here < level:
                best, level = quilt, here
        assert best is not None, "every record has its trivial quilt"
        return best

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the Markov quilt that determines the noise of the Markov Quilt Mechanism (Song, Wang and Chaudhuri
        2017).

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The quilt belongs to the record that needs the most noise. That mechanism has another notion of privacy (see
        `conversion`), for which the influence is charged once.

        Notes
        -----
        The influence of a quilt here is the maximum over what is known nearby, so the result is safe for that
        notion too.
        """
        epsilon = arguments.real("epsilon", epsilon, above=0)

        def price(quilt: Quilt) -> float:
            left = epsilon - quilt.influence
            return quilt.size / left if left > 0 else float("inf")

        return max((min(self.quilts(record), key=price) for record in range(self.n)), key=price)


class ModelClass(QuiltModel):
    """A class of finitely many models of the same records. Any of them may be the true one.

    For every model its own best Markov quilts are found (sets of records that separate a record from the rest), and the
    worst result counts.

    Parameters
    ----------
    models : sequence of QuiltModel
        At least one, all with the same number of records.

    Notes
    -----
    That is tight; taking the largest influence of each quilt over the class first, as Song, Wang and Chaudhuri
    (2017) do, is also safe and never less noisy (specification 2.9).

    Examples
    --------
    The two chains of Song, Wang and Chaudhuri's running example, by their own notion of privacy:

    >>> from holdfast.correlated import MarkovChain
    >>> first = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 100, start=[1, 0], respect_support=False)
    >>> second = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 100, start=[0.9, 0.1])
    >>> quilt = ModelClass([first, second]).markov_quilt(1.0)
    >>> round(quilt.size / (1 - quilt.influence), 4)
    13.0219
    """

    def __init__(self, models: Sequence[QuiltModel]) -> None:
        self.models = tuple(models) if isinstance(models, Iterable) else ()
        if not self.models or not all(isinstance(model, QuiltModel) for model in self.models):
            raise InvalidParameter("models must be a list of at least one model that has quilts")
        sizes = sorted({model.n for model in self.models})
        if len(sizes) > 1:
            raise InvalidParameter(f"models must all have the same number of records, got {sizes}")

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def n(self) -> int:
        """The number of records."""
        return self.models[0].n

    @property
    def confidence(self) -> float:
        """The smallest confidence of any model in the class."""
        return float(min(getattr(model, "confidence", 1.0) for model in self.models))

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        return f"any of {len(self.models)} models: " + "; ".join(model.describe() for model in self.models[:3])

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the largest max-influence of `record` on the records of `quilt` over the models of the class.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`.
        """
        return max(model.influence(record, quilt, known) for model in self.models)

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The result is for the model of the class under
        which the record needs the most noise.
        """
        quilts = (model.best_quilt(record, epsilon, surcharge) for model in self.models)
        return min(quilts, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`. The
        result is for the model of the class under which the mechanism reveals the most about the record.
        """
        quilts = (model.cheapest_quilt(record, epsilon_dp, surcharge) for model in self.models)
        return max(quilts, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The result is for the model of the class that
        needs the most noise.
        """
        quilts = (model.worst_quilt(epsilon, surcharge) for model in self.models)
        return min(quilts, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record about which an `epsilon_dp`-differentially private mechanism reveals
        the most.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The result is for the model of the class under which the mechanism reveals the most.
        """
        quilts = (model.dearest_quilt(epsilon_dp, surcharge) for model in self.models)
        return max(quilts, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the Markov quilt that determines the noise of the Markov Quilt Mechanism (Song, Wang and Chaudhuri
        2017).

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The quilt belongs to the record that needs the most noise. The result is for the model of the class that needs
        the most noise.
        """
        quilts = (model.markov_quilt(epsilon) for model in self.models)
        return max(quilts, key=lambda quilt: quilt.size / max(epsilon - quilt.influence, 5e-324))

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        It is the smallest number over the models of the class.
        """
        return min(model.effective_n() for model in self.models)

    def notes(self) -> tuple[str, ...]:
        """Return the notes of all models in the class, each note once."""
        return tuple(dict.fromkeys(note for model in self.models for note in model.notes()))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"model": "class", "n": self.n, "models": [model.to_dict() for model in self.models]}
