"""What can be asked of a sample: frozen requests whose exact results are whole numbers, the same on every engine.

Each has `plan(schema)`, what an engine adds up, and a meaning, `of_rows`, by the interpreter row by row. Categories are
declared, never found in the rows: what a row holds besides them counts in a last cell, "other".
"""

from holdfast.data.statistics.by_rows import of_rows
from holdfast.data.statistics.contingency import Contingency
from holdfast.data.statistics.count import Count
from holdfast.data.statistics.fixed_sum import UNIT, FixedSum
from holdfast.data.statistics.group_by import GroupBy
from holdfast.data.statistics.histogram import Histogram
from holdfast.data.statistics.plan import MOST_ROWS, Exact, Plan
from holdfast.data.statistics.quantile_counts import QuantileCounts
from holdfast.data.statistics.request import Statistic

__all__ = [
    "MOST_ROWS",
    "UNIT",
    "Contingency",
    "Count",
    "Exact",
    "FixedSum",
    "GroupBy",
    "Histogram",
    "Plan",
    "QuantileCounts",
    "Statistic",
    "of_rows",
]
