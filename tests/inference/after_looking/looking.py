"""AfterLooking with steps already recorded."""

from __future__ import annotations

from typing import Any

from holdfast.accounting.costs import Cost
from holdfast.inference import AfterLooking


def looking(n: int, *costs: Cost, **more: Any) -> AfterLooking:
    made = AfterLooking(n, **more)
    for cost in costs:
        made.record(cost)
    return made
