"""What the theorems on dependent records need to know of a model: four numbers that hold for every record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.ranges import count

Method = Literal["sharp", "repaired", "paper"]
METHODS = ("sharp", "repaired", "paper")


@dataclass(frozen=True)
class QuiltTerms:
    """Bounds that hold for the quilts of all records at once.

    `size` is the number of records nearby, the record itself included (1 for Markov blankets and independent records).
    `influence` bounds the max-influence, in nats, of every record on its quilt. `surcharge` is what the conversion to
    Bayesian differential privacy adds (twice the influence unless a sharper one is known). `colours` is the number of
    classes, equal in size up to one record, in which no two records are nearby one another. By default it is `size`,
    which is right for chains (residue classes modulo the size) and for blocks; a general graph may need up to `2 size -
    1` and a check of its class sizes.

    Examples
    --------
    >>> QuiltTerms(9, 0.01)
    QuiltTerms(size=9, influence=0.01, surcharge=0.02, colours=9)
    """

    size: int = 1
    influence: float = 0.0
    surcharge: float | None = None
    colours: int | None = None

    def __post_init__(self) -> None:
        influence = check.real("influence", self.influence, at_least=0, infinite=True)
        surcharge = 2 * influence if self.surcharge is None else self.surcharge
        object.__setattr__(self, "size", count("blanket", self.size))
        object.__setattr__(self, "influence", influence)
        object.__setattr__(self, "surcharge", check.real("surcharge", surcharge, at_least=0, infinite=True))
        object.__setattr__(self, "colours", count("colours", self.size if self.colours is None else self.colours))

    @property
    def classes(self) -> int:
        """The number of colours."""
        assert self.colours is not None
        return self.colours

    @property
    def drift(self) -> float:
        """`drift(influence)`, for every record."""
        return drift(self.influence)

    def epsilon_bdp(self, epsilon_dp: float, method: Method = "sharp") -> float:
        """Bayesian differential privacy of an `epsilon_dp` release, `K epsilon + w`, rounded up; paper: `w = 4 b`."""
        surcharge = 4 * self.influence if method == "paper" else self.surcharge
        assert surcharge is not None
        return up(self.size * epsilon_dp + surcharge)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "size": self.size,
            "influence": self.influence,
            "surcharge": self.surcharge,
            "colours": self.colours,
        }


def drift(influence: float) -> float:
    """`tanh(influence/4)`: how far, in total variation, the rest of a record's class can move the record's law.

    By Bayes' rule the law of the record given the rest has a likelihood ratio to its own law with mean 1 whose largest
    and smallest values are at most a factor `e^influence` apart. Among such ratios the distance is largest for one with
    two values, `e^(b/2)` and `e^(-b/2)`, where it is `tanh(b/4)`. Derived, reviewed. Rounded up.

    Examples
    --------
    >>> round(drift(0.02), 12)
    0.004999958334
    """
    return up(math.tanh(check.real("influence", influence, at_least=0, infinite=True) / 4))


def declared_quilt(
    blanket: int, influence: float = 0.0, surcharge: float | None = None, colours: int | None = None
) -> QuiltTerms:
    """`QuiltTerms` from the parameters of a catalogue entry, which must be finite.

    Examples
    --------
    >>> declared_quilt(1)
    QuiltTerms(size=1, influence=0.0, surcharge=0.0, colours=1)
    """
    influence = check.real("influence", influence, at_least=0)
    if surcharge is not None:
        surcharge = check.real("surcharge", surcharge, at_least=0)
    return QuiltTerms(blanket, influence, surcharge, colours)


__all__ = ["METHODS", "Method", "QuiltTerms", "declared_quilt", "drift"]
