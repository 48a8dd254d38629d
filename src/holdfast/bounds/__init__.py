"""Theorems as functions: numbers in, numbers out; no data, no state, no randomness.

`catalogue()` lists every theorem and where its code is; modules are imported when they are used.

Examples
--------
>>> import holdfast as hf
>>> round(hf.bounds.transfer.event(0.0001, k_bits=5, beta=0.01), 4)
0.0132
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {
    "Evaluation": "registry",
    "Guarantee": "holdfast.core.guarantee",
    "Theorem": "registry",
    "catalogue": "registry",
    "lookup": "registry",
    "solve": "inverse",
}
_MODULES = tuple(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))

if TYPE_CHECKING:
    from holdfast.bounds import coherence, correlated, holdout, interval, one_question
    from holdfast.bounds.inverse import solve
    from holdfast.bounds.registry import Evaluation, Theorem, catalogue, lookup
    from holdfast.core.guarantee import Guarantee

__getattr__, __dir__ = lazy(__name__, _HOMES, _MODULES)

__all__ = [
    "Evaluation",
    "Guarantee",
    "Theorem",
    "catalogue",
    "coherence",
    "correlated",
    "holdout",
    "interval",
    "lookup",
    "one_question",
    "solve",
]
