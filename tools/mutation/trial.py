"""Tests run in a child: once with a record of the lines that each runs, then against one changed module."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest

OPTIONS = ("-q", "-x", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov")

#: Imported before the forks, where they are there: the tests of the four packages use them, and importing takes long.
HEAVY = (
    "_pytest.assertion.rewrite",
    "_pytest.doctest",
    "dp_accounting",
    "hypothesis.extra.numpy",
    "hypothesis.internal.conjecture.engine",
    "hypothesis.strategies",
    "mpmath",
    "numpy.random",
    "numpy.testing",
    "opendp.prelude",
    "polars",
    "psycopg",
    "rich.console",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse",
    "scipy.special",
    "scipy.stats",
    "sklearn.linear_model",
    "sklearn.metrics",
    "typer",
)


def preload() -> None:
    """Import what is slow to import and is not under trial."""
    for name in HEAVY:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    from hypothesis import Phase, settings

    # A failing example is a kill: making it small would take longer than finding it.
    settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None, deadline=None)
    settings.load_profile("mutants")
    if any(name.partition(".")[0] in {"holdfast", "tests"} for name in sys.modules):
        raise SystemExit("holdfast was imported before the forks: no change would be seen")


class Record:
    """A pytest plugin that notes for each test its time and the lines of the packages that it runs."""

    def __init__(self, packages: Sequence[Path]) -> None:
        import coverage

        self.cover = coverage.Coverage(data_file=None, config_file=False, source=[str(p) for p in packages])
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Switch to the test's own context while it runs."""
        self.cover.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            self.cover.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note tests that fail as things stand: they can tell nothing."""
        if not report.passed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def record(target: str, packages: Sequence[Path], root: Path) -> dict[str, Any]:
    """Run a test file, or the examples in a package's docstrings, with each test's lines noted."""
    plugin = Record(packages)
    plugin.cover.start()
    code = pytest.main([target, *OPTIONS[:1], *OPTIONS[2:]], plugins=[plugin])
    plugin.cover.stop()
    data = plugin.cover.get_data()
    lines: dict[str, dict[str, list[int]]] = {}
    for file in data.measured_files():
        short = str(Path(file).relative_to(root))
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                if context:
                    lines.setdefault(context, {}).setdefault(short, []).append(line)
    return {"code": int(code), "seconds": plugin.seconds, "failed": plugin.failed, "lines": lines}


class _Changed(importlib.abc.Loader, importlib.abc.MetaPathFinder):
    """Gives one module from a changed tree, and leaves every other to the usual import."""

    def __init__(self, name: str, file: Path, tree: ast.Module) -> None:
        self.name, self.file, self.tree = name, file, tree
        self.loaded = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        places = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, self.file, loader=self, submodule_search_locations=places
        )

    def exec_module(self, module: ModuleType) -> None:
        self.loaded = True
        code: CodeType = compile(self.tree, str(self.file), "exec")
        exec(code, module.__dict__)


class Chosen:
    """A pytest plugin that keeps the chosen tests, in their order, and notes the first that fails."""

    def __init__(self, chosen: Sequence[str], changed: importlib.abc.MetaPathFinder) -> None:
        self.changed = changed
        self.order = {name: place for place, name in enumerate(chosen)}
        self.killer = ""
        self.ran = 0

    def pytest_sessionstart(self) -> None:
        """Put the changed module before pytest's own import of the files that it was asked to run."""
        sys.meta_path.insert(0, self.changed)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that no longer imports."""
        if report.failed and not self.killer:
            self.killer = report.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure."""
        self.ran += report.when == "call"
        if report.failed and not self.killer:
            self.killer = report.nodeid


def attempt(module: str, file: Path, tree: ast.Module, chosen: Sequence[str]) -> dict[str, Any]:
    """Run the chosen tests with one module changed; say which test noticed, if one did."""
    changed = _Changed(module, file, tree)
    sys.meta_path.insert(0, changed)
    plugin = Chosen(chosen, changed)
    files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
    code = pytest.main([*files, *OPTIONS], plugins=[plugin])
    return {"code": int(code), "killer": plugin.killer, "ran": plugin.ran, "loaded": changed.loaded}
