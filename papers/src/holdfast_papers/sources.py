"""The code that a module depends on, read from its import statements without running any.

Two files that differ in one character have different fingerprints, and so has every experiment that reaches one of
them. A module that no import statement names (the catalogue of theorems looks for its own) is not followed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ROOTS = ("holdfast", "holdfast_papers")


@dataclass(frozen=True)
class _Import:
    """`from module import name`, or `import module` with no name; `typing` where only a type checker reads it."""

    module: str
    name: str
    typing: bool


@dataclass(frozen=True)
class Sources:
    """Our modules that a module reaches, itself among them, and the foreign packages they import."""

    modules: frozenset[str]
    packages: frozenset[str]

    @property
    def fingerprint(self) -> str:
        """A hash of every file's text, and of the versions of Python and of the foreign packages."""
        digest = hashlib.sha256(f"{sys.version_info.major}.{sys.version_info.minor}".encode())
        for module in sorted(self.modules):
            path = _path(module)
            text = path.read_bytes() if path else b""
            digest.update(f"\n{module} {len(text)}\n".encode() + text)
        for package in sorted(self.packages):
            digest.update(f"\n{package} {_version(package)}".encode())
        return digest.hexdigest()


@cache
def sources(module: str) -> Sources:
    """What `module` depends on.

    A name that a package loads when it is first used is followed to its home alone; a package that is taken whole
    (`from holdfast import bounds`) brings every name it lists.

    Examples
    --------
    >>> found = sources("holdfast_papers.max_information.golay")
    >>> "holdfast_papers.max_information.codes" in found.modules, "holdfast.server.app" in found.modules
    (True, False)
    >>> "numpy" in found.packages
    True
    """
    seen: set[tuple[str, bool]] = set()
    foreign: set[str] = set()
    waiting = [(module, False)]
    while waiting:
        reached = waiting.pop()
        if reached in seen:
            continue
        seen.add(reached)
        name, whole = reached
        if "." in name:
            waiting.append((name.rpartition(".")[0], False))  # importing a module runs its parents
        for found in _imports(name):
            if found.typing and not whole:
                continue
            if found.module.partition(".")[0] not in _ROOTS:
                foreign.add(found.module.partition(".")[0])
            else:
                waiting += _homes(found)
    return Sources(frozenset(name for name, _ in seen), frozenset(foreign - set(sys.stdlib_module_names)))


def _homes(found: _Import) -> list[tuple[str, bool]]:
    """The modules behind one import, each with whether it is a package taken whole."""
    if not found.name:
        return [(found.module, _is_package(found.module))]
    below = f"{found.module}.{found.name}"
    if _path(below) is not None:
        return [(below, _is_package(below))]
    homes = [(found.module, False)]
    if _is_package(found.module):
        again = [other for other in _imports(found.module) if other.name == found.name and other.module != found.module]
        homes += [home for other in again if other.module.partition(".")[0] in _ROOTS for home in _homes(other)]
    return homes


@cache
def _imports(module: str) -> tuple[_Import, ...]:
    path = _path(module)
    if path is None:
        return ()
    imports: list[_Import] = []

    def walk(node: ast.AST, typing: bool) -> None:
        if isinstance(node, ast.Import):
            imports.extend(_Import(alias.name, "", typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports.extend(_Import(node.module, alias.name, typing) for alias in node.names)
        only = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in ast.iter_child_nodes(node):
            walk(child, typing or only)

    walk(ast.parse(path.read_bytes()), False)
    return tuple(imports)


@cache
def _path(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _is_package(module: str) -> bool:
    path = _path(module)
    return path is not None and path.name == "__init__.py"


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(importlib.metadata.packages_distributions())


def _version(package: str) -> str:
    names = sorted(set(_distributions().get(package, [])))
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names) or "absent"


__all__ = ["Sources", "sources"]
