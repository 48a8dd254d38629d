"""Curators: from one half of the rows to a report."""

from holdfast.coherence.curators.plain import Bootstrap, Clear, Count, RandomSubset, ShuffledColumn

__all__ = ["Bootstrap", "Clear", "Count", "RandomSubset", "ShuffledColumn"]
