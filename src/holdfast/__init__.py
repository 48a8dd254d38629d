"""Holdfast: a data set behind a guard, and adaptively chosen questions whose answers stay true.

`import holdfast as hf` is light: packages are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

__version__ = "0.2.0"

_PACKAGES = (
    "accounting",
    "bounds",
    "client",
    "coherence",
    "correlated",
    "data",
    "errors",
    "guard",
    "holdout",
    "inference",
    "mechanisms",
    "noise",
)
#: Names that users type first, and the package that each comes from.
_HOMES = {
    "Guard": "guard",
    "Ladder": "holdout",
    "ReusableHoldout": "holdout",
    "SparseValidate": "holdout",
    "Thresholdout": "holdout",
    "connect": "client",
    "mean": "guard",
    "plan": "holdout",
}


def _of_guards() -> tuple[str, ...]:
    kinds = import_module("holdfast.guard.questions").Question.kinds()  # by name: nothing here needs the guard
    return ("Policy", *kinds)


#: Names that people look for here too. The error says where they are.
_ELSEWHERE = {"data": lambda: ("table",), "holdout": lambda: ("workflow",), "guard": _of_guards}

if TYPE_CHECKING:
    from holdfast import (
        accounting,
        bounds,
        client,
        coherence,
        correlated,
        data,
        errors,
        guard,
        holdout,
        inference,
        mechanisms,
        noise,
    )
    from holdfast.client import connect
    from holdfast.guard import Guard, mean
    from holdfast.holdout import Ladder, ReusableHoldout, SparseValidate, Thresholdout, plan


__getattr__, __dir__ = lazy(__name__, _HOMES, _PACKAGES, _ELSEWHERE)

__all__ = [
    "Guard",
    "Ladder",
    "ReusableHoldout",
    "SparseValidate",
    "Thresholdout",
    "__version__",
    "accounting",
    "bounds",
    "client",
    "coherence",
    "connect",
    "correlated",
    "data",
    "errors",
    "guard",
    "holdout",
    "inference",
    "mean",
    "mechanisms",
    "noise",
    "plan",
]
