"""Customers of a shop, made up: who has gone, and why as far as there is a why.

The rows are drawn from a written law with a fixed seed, so that they are the same everywhere and weigh nothing in the
package. `gone` depends on `months`, `calls` and `plan`. The twenty hints are fair coins, 0 or 1: they say nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

NAME = "demo customers"
ROW_KEY = "customer"
ROWS = 20_000
HINTS = tuple(f"hint_{i:02d}" for i in range(1, 21))
PLANS = ("basic", "plus", "pro")
_SEED = 8321
Row = Mapping[str, Any]


def rows(n: int, seed: int = _SEED) -> list[dict[str, Any]]:
    """Customers drawn from the law; another seed gives others of the same population.

    Examples
    --------
    >>> one = rows(1)[0]
    >>> list(one)[:8], one["plan"] in PLANS
    (['customer', 'age', 'plan', 'months', 'calls', 'bill', 'gone', 'hint_01'], True)
    """
    law = random.Random(seed)  # the same stream in every Python
    found = []
    for i in range(n):
        months, calls = int(60 * law.random() ** 2), int(10 * law.random() ** 2)
        plan = PLANS[min(2, int(3 * law.random() ** 1.4))]
        chance = 0.12 + (0.33 if months < 6 else 0.0) + (0.25 if calls > 3 else 0.0) - (0.07 if plan == "pro" else 0.0)
        one: dict[str, Any] = {
            "customer": i + 1,
            "age": 18 + int(52 * law.random()),
            "plan": plan,
            "months": months,
            "calls": calls,
            "bill": round(8 + 25 * law.random() + {"basic": 0, "plus": 15, "pro": 40}[plan], 2),
            "gone": law.random() < chance,
        }
        one |= {hint: int(law.random() < 0.5) for hint in HINTS}
        found.append(one)
    return found


@lru_cache(maxsize=1)
def customers() -> list[dict[str, Any]]:
    """The demo's rows."""
    return rows(ROWS)


def rows_csv() -> str:
    """The demo's rows as a CSV file."""
    made = customers()
    lines = [",".join(made[0])]
    lines += [",".join(_cell(value) for value in one.values()) for one in made]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


__all__ = ["HINTS", "NAME", "PLANS", "ROWS", "ROW_KEY", "customers", "rows", "rows_csv"]
