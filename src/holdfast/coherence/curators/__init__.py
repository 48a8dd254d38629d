"""Curators: from one half of the rows to a report."""

from holdfast.coherence.curators.commands import Function, Shell
from holdfast.coherence.curators.plain import Bootstrap, Clear, Count, RandomSubset, ShuffledColumn
from holdfast.coherence.curators.private import (
    Marginals,
    NoisyHistogram,
    NoisyMarginals,
    PrivateNaiveBayes,
    simulated,
)
from holdfast.coherence.curators.synthetic import Cart, Library, installed

__all__ = [
    "Bootstrap",
    "Cart",
    "Clear",
    "Count",
    "Function",
    "Library",
    "Marginals",
    "NoisyHistogram",
    "NoisyMarginals",
    "PrivateNaiveBayes",
    "RandomSubset",
    "Shell",
    "ShuffledColumn",
    "installed",
    "simulated",
]
