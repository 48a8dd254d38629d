"""Holdfast: a data set behind a guard, and adaptively chosen questions whose answers stay true.

`import holdfast as hf` is light: packages are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PACKAGES = ("accounting", "bounds", "errors", "mechanisms", "noise")

if TYPE_CHECKING:
    from holdfast import accounting, bounds, errors, mechanisms, noise


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"holdfast.{name}")
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PACKAGES, "__version__"])


__all__ = ["__version__", "accounting", "bounds", "errors", "mechanisms", "noise"]
