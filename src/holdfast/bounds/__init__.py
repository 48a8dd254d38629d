"""Theorems as functions: numbers in, numbers out; no data, no state, no randomness.

`catalogue()` lists every theorem; each module holds one family and can be imported on its own.
"""

from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.registry import Evaluation, Theorem, catalogue, lookup

__all__ = ["Evaluation", "Guarantee", "Theorem", "catalogue", "lookup"]
