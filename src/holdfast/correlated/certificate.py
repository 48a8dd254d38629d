"""What a release or a run may claim under a declared model, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.correlated.conversion import BAYESIAN, to_dp
from holdfast.correlated.model import DependenceModel, check_model
from holdfast.correlated.quilt import Quilt, Surcharge, check_surcharge
from holdfast.errors import InvalidParameter

HEURISTIC_EPSILON = 10.0
"""A DP level beyond this promises nothing of use; the certificate says so."""

_PROVENANCE: dict[Surcharge, str] = {
    "sharp": "derived and reviewed: Zhao 2017, Lemma 2, with the smallest surcharge proved for this kind of model",
    "two": "derived and reviewed: Zhao 2017, Lemma 2, with constant 2",
    "paper": "Zhao 2017, Lemma 2 as printed, constant 4: safe and loose",
}


@dataclass(frozen=True)
class Certificate:
    """The claim, the model that it is relative to, and what it rests on.

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
        """Where the conversion comes from."""
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
        """Plain data."""
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
    """A certificate from one of the two levels.

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
        raise InvalidParameter("give one of epsilon_bdp and epsilon_dp")
    if epsilon_bdp is None:
        level = check.real("epsilon_dp", epsilon_dp, above=0)
        bayesian = model.epsilon_bdp(level, surcharge)
        quilt = to_dp(model, bayesian, surcharge).quilt
    else:
        bayesian = check.real("epsilon_bdp", epsilon_bdp, above=0)
        found = to_dp(model, bayesian, surcharge)
        level, quilt = found.epsilon_dp, found.quilt
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


__all__ = ["Certificate", "certify"]
