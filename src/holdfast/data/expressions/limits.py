"""How large expressions and their numbers may be. Everything here is public and the same for every sample.

The limits on numbers make every operation total: with them no sum, product or quotient of an accepted expression can
overflow or underflow on any row, which the checker proves before a row is read (`sizes`).
"""

from __future__ import annotations

LONGEST_TEXT = 20_000
"""Characters of an expression as text."""

MOST_TOKENS = 8_000
DEEPEST = 100
"""Nodes on the way from the root to a leaf. A sum of a hundred terms is as deep."""

MOST_BRACKETS = 30
"""Brackets, calls and cases inside each other in text, and signs before each other: the parser recurses there."""

MOST_NODES = 2_000
MOST_COPIES = 2_000
"""Nodes after compilation: some functions mention an argument twice in SQL, and so it doubles with each level."""

LARGEST_EXPONENT = 100
LARGEST = 2.0**LARGEST_EXPONENT
"""A number of a column that is larger in size, about 1.27e30, is NULL; a literal that is larger is refused."""

SMALLEST = 2.0**-LARGEST_EXPONENT
"""A number of a column that is smaller in size, about 7.9e-31, is zero; a literal that is smaller is refused."""

LARGEST_RESULT_EXPONENT = 1_000
"""No intermediate result may be able to exceed two to this power, nor to be nonzero below two to minus this."""

__all__ = [
    "DEEPEST",
    "LARGEST",
    "LARGEST_EXPONENT",
    "LARGEST_RESULT_EXPONENT",
    "LONGEST_TEXT",
    "MOST_BRACKETS",
    "MOST_COPIES",
    "MOST_NODES",
    "MOST_TOKENS",
    "SMALLEST",
]
