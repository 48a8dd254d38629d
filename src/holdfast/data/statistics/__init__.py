"""What can be asked of a sample: frozen requests whose exact results are whole numbers, the same on every engine.

Each has `plan(schema)`, what an engine adds up, and a meaning, `of_rows`, by the interpreter row by row. Categories are
declared, never found in the rows: what a row holds besides them counts in a last cell, "other".
"""

from holdfast.data.statistics.counts import Contingency, Count, GroupBy, Histogram, Present, QuantileCounts
from holdfast.data.statistics.fixed_sum import UNIT, FixedSum, PowerSum
from holdfast.data.statistics.request import MOST_ROWS, Exact, Plan, Statistic, of_rows

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
    "PowerSum",
    "Present",
    "QuantileCounts",
    "Statistic",
    "of_rows",
]
