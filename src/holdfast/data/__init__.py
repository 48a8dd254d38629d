"""Samples: the guarded rows, and the values that questions give to each of them."""

from holdfast.data.values import Summary, summarise

__all__ = ["Summary", "summarise"]
