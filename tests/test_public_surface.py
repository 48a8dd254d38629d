"""Every public name is described: a docstring with an example that runs, and a place in the API reference."""

from __future__ import annotations

import doctest
import importlib
import inspect
import operator
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import holdfast as hf

DOCS = Path(__file__).parent.parent / "docs"
sys.path.insert(0, str(DOCS))

import api_pages  # noqa: E402
import cli_page  # noqa: E402

OUTSIDE = ("holdfast.integrations.", "holdfast.server")
NAMES = [(package, name) for package in api_pages.PACKAGES for name in api_pages.names(package)]


@pytest.mark.parametrize(("package", "name"), NAMES, ids=[f"{package}.{name}" for package, name in NAMES])
def test_has_a_docstring_with_an_example(package: str, name: str) -> None:
    """An error needs a docstring only: what raises it has the example. `make test` runs every example."""
    found = getattr(importlib.import_module(package), name)
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        assert api_pages.text_of(package, name), "a value or a type alias without a text"
        return
    told = inspect.getdoc(found) if not inspect.isclass(found) else found.__doc__
    assert told, "no docstring"
    if inspect.isclass(found) and issubclass(found, BaseException):
        return
    own = [told]
    if inspect.isclass(found):
        own += [inspect.getdoc(member) or "" for key, member in vars(found).items() if not key.startswith("_")]
    assert any(doctest.DocTestParser().get_examples(text) for text in own), "no example"


def test_every_public_package_has_a_page() -> None:
    """What `import holdfast` offers, and every package below it that lists names for users."""
    for package in api_pages.PACKAGES:
        module = importlib.import_module(package)
        assert module.__all__, package
        below = {f"{package}.{name}" for name in module.__all__ if isinstance(getattr(module, name), ModuleType)}
        assert below <= set(api_pages.PACKAGES)


def test_the_name_of_a_page_is_enough_after_one_import() -> None:
    """`import holdfast as hf; hf.bounds.interval`: only what needs an extra of its own is imported by name."""
    library = [package for package in api_pages.PACKAGES if not package.startswith(OUTSIDE)]
    program = "import holdfast\n" + "\n".join(f"print({package}.__name__)" for package in library)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == library


def test_every_theorem_is_where_the_catalogue_says_after_one_import() -> None:
    named = {entry.code: entry.id for entry in hf.bounds.catalogue().values()}
    program = "import holdfast\n" + "\n".join(f"print({code}.__name__)" for code in named)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [code.rpartition(".")[2] for code in named]
    for code, id in named.items():
        assert operator.attrgetter(code.removeprefix("holdfast."))(hf) is hf.bounds.lookup(id).function


#: What pages import to explain how it works, and nobody needs in order to use Holdfast.
INSIDE = (
    "holdfast.bounds.",  # the catalogue lists every theorem and where its code is
    "holdfast.cli.",
    "holdfast.data.expressions.python_rows",
    "holdfast.simulation.",
    "holdfast_papers.",
    "holdfast.guard.guard_budget.",
    "holdfast.holdout.error_budget.",
    "holdfast.guard.state.",
    "holdfast.guard.scoring.onnx.",
    "holdfast.inference.private_tests.independence_tests.",
    "holdfast.inference.private_tests.gwas.",
    "holdfast.server.",
)


def test_what_pages_teach_to_import_is_in_the_reference() -> None:
    """`docs/extend.md` is left out: whoever adds a mechanism meets what is inside."""
    taught = [DOCS.parent / "README.md", *DOCS.rglob("*.md"), *(DOCS / "notebooks").glob("*.py")]
    missing = []
    for path in taught:
        if path.name == "extend.md" or path.parent.name == "api":
            continue
        for package, names in re.findall(r"from (holdfast[.\w]*) import ([\w, ]+)", path.read_text()):
            for name in re.findall(r"\w+(?: as \w+)?", names):
                called = f"{package}.{name.split()[0]}"
                listed = package in api_pages.PACKAGES and name.split()[0] in importlib.import_module(package).__all__
                if not (listed or called.startswith(INSIDE)):
                    missing.append(f"{path.name}: {called}")
    assert not missing


def test_pages_hold_every_name(tmp_path: Path) -> None:
    api_pages.write_api_pages(tmp_path)
    for package, name in NAMES:
        page = (tmp_path / f"{package}.md").read_text()
        assert f"## {name}\n" in page
        assert f":: {package}.{name}\n" in page or f".{name}`](#" in page, "described or linked"
    index = (tmp_path / "index.md").read_text()
    assert all(f"({package}.md)" in index for package in api_pages.PACKAGES)
    (tmp_path / "holdfast.gone.md").write_text("stale")
    api_pages.write_api_pages(tmp_path)
    assert not (tmp_path / "holdfast.gone.md").exists()


def test_the_test_notices_a_name_without_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain() -> None:
        """Does nothing."""

    monkeypatch.setattr(hf.errors, "plain", plain, raising=False)
    with pytest.raises(AssertionError, match="no example"):
        test_has_a_docstring_with_an_example("holdfast.errors", "plain")


def test_command_line_page_holds_every_command_and_option(tmp_path: Path) -> None:
    cli_page.write_cli_page(tmp_path / "cli.md")
    page = (tmp_path / "cli.md").read_text()
    from holdfast.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"`holdfast {name}" in page, name
    for words, command in cli_page.commands().items():
        assert f" `holdfast {words}`\n" in page
        for parameter in getattr(command, "params", []):
            if "--help" not in parameter.opts and not getattr(parameter, "hidden", False):
                assert any(option in page for option in (*parameter.opts, parameter.name.upper())), parameter.name


def test_catalogue_page_compares_printed_with_best(tmp_path: Path) -> None:
    import catalogue_page

    catalogue_page.write_catalogue_page(tmp_path / "catalogue.md")
    page = (tmp_path / "catalogue.md").read_text()
    entries = hf.bounds.catalogue()
    for entry in entries.values():
        area = entry.id.split(".")[0]
        assert f"## {entry.id}\n" in (tmp_path / "theorems" / f"{area}.md").read_text()
        assert f"| [{entry.id}](theorems/{area}.md#" in page
    compared = [line for line in page.partition("## All theorems")[0].splitlines() if line.startswith("| [")]
    both = [entry for entry in entries.values() if any("paper" in parameter.choices for parameter in entry.parameters)]
    assert len(compared) >= 0.9 * len(both)
    row = next(line for line in compared if "[interval.russo-zou](" in line)
    assert "| n = 6400, questions = 640, beta = 0.05 | 0.499502 | 0.300773 | `--method best`, the default |" in row


#: Modules of theorems that pass on names of the modules that they are computed with.
PASSING_ON = {f"holdfast.bounds.{name}" for name in ("conversions", "filters", "holdout.ranges", "odometers")}


def test_only_packages_and_pages_list_their_names() -> None:
    """A module without a page of its own has no `__all__`: what is public is what its package lists."""
    source = Path(hf.__file__).parent
    modules = {
        ".".join(("holdfast", *path.relative_to(source).with_suffix("").parts))
        for path in source.rglob("*.py")
        if path.name != "__init__.py" and re.search(r"^__all__ = ", path.read_text(), re.MULTILINE)
    }
    assert modules <= {*api_pages.PACKAGES, *PASSING_ON}


@pytest.mark.parametrize("package", api_pages.PACKAGES)
def test_a_listed_name_is_there_and_listed_once(package: str) -> None:
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
