"""Tables of the documentation against the code: extras, variables, settings, limits, exit statuses, doors."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import holdfast as hf
from holdfast.cli import main
from holdfast.server import Settings

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import settings_page  # noqa: E402

INSTALL = (DOCS / "install.md").read_text()
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("**/*.md"), *DOCS.glob("examples/*")]


def _table(text: str, heading: str) -> list[list[str]]:
    """The rows of the table whose first column has this name."""
    lines = text[text.index(f"| {heading} |") :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _extras() -> set[str]:
    return set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def test_extras_are_listed_and_there() -> None:
    listed = [name for row in _table(INSTALL, "extra") for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(listed) == sorted(_extras())


def test_extras_that_prose_and_messages_name_are_there() -> None:
    told = [path.read_text() for path in (*PROSE, *(ROOT / "src").glob("**/*.py"))]
    named = [
        part
        for text in told
        for found in re.findall(r"(?:holdfast|'\.)\[([a-z,-]+)\]", text)
        for part in found.split(",")
    ]
    assert len(named) > 10
    assert set(named) <= _extras()


def test_variables_are_listed_and_read() -> None:
    source = "\n".join(path.read_text() for src in ("src", "papers") for path in (ROOT / src).glob("**/*.py"))
    read = {name for name in re.findall(r"\bHOLDFAST_[A-Z_]+\b", source) if not name.startswith("HOLDFAST_SERVER_")}
    assert read == set(re.findall(r"^\| `(HOLDFAST_[A-Z]+)`", INSTALL, flags=re.MULTILINE))


def test_settings_have_a_meaning_and_a_line(tmp_path: Path) -> None:
    settings_page.write_settings_page(tmp_path / "settings.md")
    rows = {row[0]: row for row in _table((tmp_path / "settings.md").read_text(), "variable")}
    assert set(rows) == {f"`HOLDFAST_SERVER_{name.upper()}`" for name in Settings.model_fields}
    assert [name for name, row in rows.items() if not row[2]] == []


def test_settings_that_prose_names_are_there() -> None:
    there = {f"HOLDFAST_SERVER_{name.upper()}" for name in Settings.model_fields}
    for path in PROSE:
        assert set(re.findall(r"\bHOLDFAST_SERVER_[A-Z_]*[A-Z]\b", path.read_text())) <= there, path


def test_limits_are_the_defaults() -> None:
    rows = _table((DOCS / "server.md").read_text(), "setting")
    assert len(rows) > 8
    for row in rows:
        names = re.findall(r"`(\w+)`", row[0])
        told = [float(number) * (1 << 20 if "MiB" in row[1] else 1) for number in re.findall(r"\d+(?:\.\d+)?", row[1])]
        assert told == [Settings.model_fields[name].default for name in names], row[0]


def test_exit_statuses_are_the_ones_of_the_command_line() -> None:
    rows = {int(row[0]): row[1:] for row in _table(INSTALL, "status")}
    assert set(rows) == {0, 1, 2, 3, 130}
    assert main.run(["plan", "--n", "0"]) == next(status for status, row in rows.items() if row[0] == "wrong usage")
    assert main.run(["audit", "rows.txt"]) == 2
    assert main.run(["plan", "--n", "100", "--half-width", "0.01"]) == 3


def test_the_door_is_whole() -> None:
    """What `dir(hf)` shows, what `from holdfast import *` brings and what the type checker sees are one list."""
    shown = {name for name in dir(hf) if not name.startswith("__")}
    assert shown == set(hf.__all__) - {"__version__"}
    source = Path(hf.__file__).read_text().partition("if TYPE_CHECKING:")[2].partition("\n\n\n")[0]
    assert set(re.findall(r"\b\w+\b", re.sub(r"from [\w.]+ import", "", source))) == shown
