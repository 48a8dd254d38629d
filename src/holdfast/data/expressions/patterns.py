r"""Patterns of `like`: `%` stands for any text, `_` for one character, `\%`, `\_` and `\\` for themselves.

Databases differ in what the backslash does, whether a line end is a character, and how long a bad pattern can take.
Here a pattern is read once and becomes a regular expression of the small part that all engines understand alike.
"""

from __future__ import annotations

import re
from functools import cache

from holdfast.errors import InvalidParameter

LONGEST = 100
MOST_GAPS = 5
"""Runs of `%` in a pattern: some engines try all ways to place them."""


@cache
def regex(pattern: str) -> str:
    r"""Return the regular expression of a pattern, without anchors; a dot in it must match line ends too.

    Raises
    ------
    InvalidParameter
        A pattern that is too long, has too many `%`, or a backslash before anything else.

    Examples
    --------
    >>> regex("50\\% of _%")
    '50\\%\\ of\\ ..*'
    """
    if len(pattern) > LONGEST:
        raise InvalidParameter(
            f"expression must have patterns (after `like`) of at most {LONGEST} characters, got {len(pattern)}"
        )
    if len(re.findall(r"%+", pattern.replace("\\%", ""))) > MOST_GAPS:
        raise InvalidParameter(
            f"expression must have a pattern with at most {MOST_GAPS} % signs; join several patterns with `and`, or "
            "use contains"
        )
    pattern_text, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
            letter = pattern[at : at + 1]
            if letter not in ("%", "_", "\\"):
                raise InvalidParameter(r"expression must have %, _ or \ after a \ in a pattern; write \\ for one \ ")
            pattern_text += _literal(letter)
        elif letter == "%":
            pattern_text += "" if pattern_text.endswith(".*") and pattern[at - 1] == "%" else ".*"
        else:
            pattern_text += "." if letter == "_" else _literal(letter)
        at += 1
    return pattern_text


def _literal(letter: str) -> str:
    """A letter as itself: a backslash before a sign means that sign everywhere."""
    return f"\\{letter}" if letter.isascii() and letter.isprintable() and not letter.isalnum() else letter


@cache
def matcher(pattern: str) -> re.Pattern[str]:
    """Return the same for Python.

    Examples
    --------
    >>> bool(matcher("a_c%").fullmatch("abc")), bool(matcher("a_c%").fullmatch("ac"))
    (True, False)
    """
    return re.compile(regex(pattern), re.DOTALL)
