"""Streams of tests: levels for one p-value after the other, in constant time and memory a test.

- `AlphaSpending` keeps the probability of any false rejection below alpha, whatever the dependence.
- `LordPlusPlus`, `Saffron` and `Addis` keep the false discovery rate below alpha for independent p-values.
"""

from holdfast.inference.online.discount import LORD, SAFFRON, Discount, power_law
from holdfast.inference.online.stream import Addis, AlphaSpending, Decision, LordPlusPlus, Saffron, Stream

__all__ = [
    "LORD",
    "SAFFRON",
    "Addis",
    "AlphaSpending",
    "Decision",
    "Discount",
    "LordPlusPlus",
    "Saffron",
    "Stream",
    "power_law",
]
