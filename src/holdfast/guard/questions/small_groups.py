"""Which groups are too small to be shown: a mean of one row is the row.

With noise the noisy number of rows decides, which was paid for. At the end of a run, where exact values are shown, the
exact number does. That a group is named as too small depends on rows then, as the exact values next to it do; nothing
is asked of these rows after it, so it has no price.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from holdfast.holdout.transcript import Exact

LEAST_ROWS = 10
"""A number about fewer rows than this is not reported: it would be noise, or the rows themselves."""


def too_few(rows: float, off: float) -> bool:
    """Return whether a noisy number of rows, which may be off by so many, leaves it open that there are hardly any.

    Examples
    --------
    >>> too_few(400.0, 30.0), too_few(35.0, 30.0)
    (False, True)
    """
    return rows - off < LEAST_ROWS


class TooFewRows(Exact):
    """In the place of an exact value that is about fewer than `LEAST_ROWS` rows: the answer stays as it was shown."""

    def __init__(self) -> None:
        super().__init__(None, None)

    def to_dict(self) -> dict[str, Any]:
        """Return what the line of such an answer says besides what was shown."""
        return {"too_few_rows": True}


def unless_few(rows: Iterable[int], exact: Callable[[], Exact | None]) -> Exact | None:
    """Return the exact value of a question about groups of so many rows each, where none of them is too small.

    Examples
    --------
    >>> unless_few([400, 9], lambda: Exact(0.5, (0.4, 0.6))).to_dict()
    {'too_few_rows': True}
    """
    return TooFewRows() if any(one < LEAST_ROWS for one in rows) else exact()
