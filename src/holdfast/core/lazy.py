"""Names of a package that are imported when they are first used, so that one of them does not load the others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy(
    package: str,
    homes: Mapping[str, str],
    packages: Iterable[str] = (),
    elsewhere: Mapping[str, Callable[[], Iterable[str]]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping
        Each name, and the module or package below this one that it lives in; or a full name that begins with
        "holdfast.".
    packages : iterable of str
        Modules and packages that are names themselves.
    elsewhere : mapping, optional
        Names that people look for here, by the package below this one that has them: the error says where they are.
        Each is a function, called for an error alone.

    Examples
    --------
    >>> get, names = lazy("holdfast", {"plan": "holdout"}, ("errors",))
    >>> [name for name in names() if not name.startswith("_")], get("plan").__module__
    (['errors', 'plan'], 'holdfast.holdout.planning.plan')
    """
    below = frozenset(packages)

    def __getattr__(name: str) -> Any:
        if name in below:
            return importlib.import_module(f"{package}.{name}")
        if name in homes:
            home = homes[name] if homes[name].startswith("holdfast.") else f"{package}.{homes[name]}"
            return getattr(importlib.import_module(home), name)
        asked = {} if name.startswith("_") else elsewhere or {}  # Python itself asks whether there are private names
        there = next((f"; it is {package}.{place}.{name}" for place, names in asked.items() if name in names()), "")
        raise AttributeError(f"module {package!r} has no attribute {name!r}{there}")

    def __dir__() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *below, *homes})

    return __getattr__, __dir__
