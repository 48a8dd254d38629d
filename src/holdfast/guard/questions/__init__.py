"""Questions that a guard answers, one kind a file. `hf.guard.mean`, `hf.guard.check` and the others make them.

Every module of this package is imported here: a new file with a kind is found without being named anywhere. The
parameters in the docstring of a kind are made from its fields.
"""

from __future__ import annotations

import importlib
import pkgutil

from holdfast.guard.questions.base import BoundQuestion, Question, Settled, Situation
from holdfast.guard.questions.fields import documented

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
for _kind in Question.kinds().values():
    _kind.__doc__ = documented(_kind)

__all__ = ["BoundQuestion", "Question", "Settled", "Situation"]
