"""Questions that a guard answers, one kind a file. `hf.guard.mean`, `hf.guard.check` and the others make them.

Every module of this package is imported here: a new file with a kind is found without being named anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil

from holdfast.guard.questions.base import Bound, Question, Settled, Situation

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["Bound", "Question", "Settled", "Situation"]
