"""What the combinations of filters share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.accounting.filters.base import Filter
from holdfast.errors import InvalidParameter


def read_children(filters: Any) -> tuple[Filter, ...]:
    """Check the list of filters of a combination."""
    if not isinstance(filters, (list, tuple)) or not all(isinstance(child, Filter) for child in filters):
        raise InvalidParameter("filters must be a list of filters")
    if len(filters) < 2:
        raise InvalidParameter(f"filters must be a list of at least two filters, got {len(filters)}")
    return tuple(filters)


def named(parts: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Gather amounts by filter name; a second filter of the same name becomes `name-2`.

    Examples
    --------
    >>> named([("renyi", {"epsilon": 1}), ("renyi", {"epsilon": 2})])
    {'renyi': {'epsilon': 1}, 'renyi-2': {'epsilon': 2}}
    """
    gathered: dict[str, Any] = {}
    for name, values in parts:
        count = sum(1 for known in gathered if known == name or known.startswith(name + "-"))
        gathered[name if not count else f"{name}-{count + 1}"] = values
    return gathered


__all__ = ["named", "read_children"]
