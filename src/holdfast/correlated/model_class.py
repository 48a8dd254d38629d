"""A class of models: the release must be private under each of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from holdfast.correlated.model import QuiltModel
from holdfast.correlated.quilt import Quilt, Surcharge
from holdfast.errors import InvalidParameter


class ModelClass(QuiltModel):
    """Finitely many models of the same records, any of which may be the true one.

    Every model is searched with its own best quilts and the worst result counts. That is tight; taking the largest
    influence of each quilt over the class first, as Song, Wang and Chaudhuri (2017) do, is also safe and never less
    noisy (specification 2.9).

    Parameters
    ----------
    models : sequence of QuiltModel
        At least one, all with the same number of records.

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
        """How many records."""
        return self.models[0].n

    @property
    def confidence(self) -> float:
        """The least confidence of a member."""
        return float(min(getattr(model, "confidence", 1.0) for model in self.models))

    def describe(self) -> str:
        """One line."""
        return f"any of {len(self.models)} models: " + "; ".join(model.describe() for model in self.models[:3])

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """The largest over the class."""
        return max(model.influence(record, quilt, known) for model in self.models)

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The best quilt under the model in which the record needs most noise."""
        found = (model.best_quilt(record, epsilon, surcharge) for model in self.models)
        return min(found, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The cheapest quilt under the model in which the record leaks most."""
        found = (model.cheapest_quilt(record, epsilon_dp, surcharge) for model in self.models)
        return max(found, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The worst over the class."""
        found = (model.worst_quilt(epsilon, surcharge) for model in self.models)
        return min(found, key=lambda quilt: quilt.epsilon_dp(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The worst over the class."""
        found = (model.dearest_quilt(epsilon_dp, surcharge) for model in self.models)
        return max(found, key=lambda quilt: quilt.epsilon_bdp(epsilon_dp, surcharge))

    def markov_quilt(self, epsilon: float) -> Quilt:
        """The worst over the class."""
        found = (model.markov_quilt(epsilon) for model in self.models)
        return max(found, key=lambda quilt: quilt.size / max(epsilon - quilt.influence, 5e-324))

    def effective_n(self) -> float:
        """The least over the class."""
        return min(model.effective_n() for model in self.models)

    def notes(self) -> tuple[str, ...]:
        """All of the members' notes, each once."""
        return tuple(dict.fromkeys(note for model in self.models for note in model.notes()))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"model": "class", "n": self.n, "models": [model.to_dict() for model in self.models]}


__all__ = ["ModelClass"]
