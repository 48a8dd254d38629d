"""The drawings of the architecture match the code, and no modules import each other in a circle."""

from __future__ import annotations

import importlib.util
import sys
import threading
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

import holdfast as hf

ROOT = Path(__file__).parent.parent


def load(name: str, path: Path) -> ModuleType:
    """A file of this repository that is no module of a package."""
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def diagrams() -> ModuleType:
    return load("architecture_diagrams", ROOT / "docs" / "architecture_diagrams.py")


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Read by the same code as `tools/architecture`: imports in functions count, and names that a package lists.

    What only a type checker reads does not: no module waits for it.
    """
    architecture = load("architecture", ROOT / "tools" / "architecture")
    circle = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert architecture.cycles(circle) == [["a", "b", "c"]]
    graph = architecture.import_graph()
    assert "holdfast.guard.ledger.sqlite" in graph["holdfast.guard.ledger.opening"], "an import inside of a function"
    assert "holdfast.accounting.costs" in graph["holdfast.guard.estimates"], "a name that a package lists"
    assert architecture.cycles(graph) == []


def test_every_package_is_in_the_picture(diagrams: ModuleType) -> None:
    there = {path.parent.name for path in (ROOT / "src" / "holdfast").glob("*/__init__.py")}
    drawn = {name for layer in diagrams.layers() for name in layer}
    assert there <= drawn
    assert all(f">{name}<" in diagrams.layers_svg() for name in drawn)
    table = (ROOT / "docs" / "architecture.md").read_text()
    assert all(f"`{name}`" in table for name in there)


def test_a_question_goes_the_way_that_is_drawn(diagrams: ModuleType, tmp_path: Path) -> None:
    sample = hf.data.table({"age": [20, 30, 40, 50] * 1000})
    guard = hf.Guard.open(tmp_path / "ledger.db", sample, hf.guard.Policy(questions=10))
    steps = [name for name, _, _ in diagrams.STEPS]
    passed: list[str] = []

    def follow(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
            if name in steps and name not in passed:
                passed.append(name)

    before = sys.getprofile()
    threading.setprofile(follow)
    sys.setprofile(follow)
    try:
        guard.ask(hf.guard.check("age < 40", guess=0.5))
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]
    guard.shut()
    assert passed == steps
