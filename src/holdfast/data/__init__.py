"""Samples: the guarded rows, and the values that questions give to each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {
    "Column": "schema",
    "Sample": "sample",
    "Schema": "schema",
    "Summary": "values",
    "summarise": "values",
    "table": "tables",
}

if TYPE_CHECKING:
    from holdfast.data import expressions, statistics
    from holdfast.data.sample import Sample
    from holdfast.data.schema import Column, Schema
    from holdfast.data.tables import table
    from holdfast.data.values import Summary, summarise

__getattr__, __dir__ = lazy(__name__, _HOMES, ("expressions", "statistics"))

__all__ = ["Column", "Sample", "Schema", "Summary", "expressions", "statistics", "summarise", "table"]
