"""The wheel and the sdist as users get them: what they hold, and that each extra brings what its part needs.

Installing takes minutes, which is what `tools/packaging-check` does. Here the wheel is installed for real into empty
environments, and what its requirements would bring, no more, is linked from the environment of the tests.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import venv
import zipfile
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.xdist_group("packaging")

ROOT = Path(__file__).parent.parent


def _load() -> ModuleType:
    loader = SourceFileLoader("packaging_check", str(ROOT / "tools" / "packaging-check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("packaging_check", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    return module


check = _load()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Built with what builds wheels here; `tools/packaging-check` fetches that into an environment of its own."""
    found: tuple[Path, Path] = check.build(tmp_path_factory.mktemp("dist"), "--no-isolation")
    return found


@pytest.fixture(scope="module")
def base(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, installed, and what it requires without any extra; its interpreter."""
    place = tmp_path_factory.mktemp("base") / "env"
    python = _empty(place)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", built[0]]
    subprocess.run([str(word) for word in install], check=True, cwd=place)
    _fill(_site(python), _required(python, ""))
    return python


def test_wheel_and_sdist_hold_what_they_must(built: tuple[Path, Path]) -> None:
    check.contents(*built)
    assert "server" in check.extras(built[0])


def test_the_metadata_is_what_an_index_takes(built: tuple[Path, Path]) -> None:
    """What `twine check --strict` looks at: valid metadata, and a description of a kind that an index can draw."""
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(wheel.read(name), validate=True)
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description is not None
    assert metadata.description.startswith("# Holdfast")
    assert metadata.license_expression == "Apache-2.0"
    with pytest.raises(ExceptionGroup):
        Metadata.from_email(b"Metadata-Version: 2.4\nName: holdfast\nVersion: one\n", validate=True)


def test_contents_notices_what_is_missing(built: tuple[Path, Path], tmp_path: Path) -> None:
    poor = tmp_path / built[0].name
    with zipfile.ZipFile(built[0]) as whole, zipfile.ZipFile(poor, "w") as file:
        for name in whole.namelist():
            if not name.endswith("py.typed"):
                file.writestr(name, whole.read(name))
    with pytest.raises(SystemExit, match=r"py\.typed"):
        check.contents(poor, built[1])


def test_without_an_extra_it_imports_and_its_commands_work(base: Path, tmp_path: Path) -> None:
    check.try_base(base, tmp_path)


def test_reproduce_says_how_to_install_the_papers_and_then_lists_them(base: Path, tmp_path: Path) -> None:
    done = subprocess.run([base.parent / "holdfast", "reproduce", "all"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install ./papers" in done.stderr
    wheel, _ = check.build(tmp_path / "papers", "--no-isolation", source=ROOT / "papers")
    # The environment is shared by this file's tests: the papers are put on the path of this one alone.
    with zipfile.ZipFile(wheel) as papers:
        papers.extractall(tmp_path / "site")
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); sys.argv[0] = 'holdfast'\n"
    program += "from holdfast.cli.main import main; main()"
    said = check.run([base, "-c", program, "reproduce", "--json"], tmp_path)
    assert len(json.loads(said)["experiments"]) > 40


def test_a_missing_extra_is_named(base: Path, tmp_path: Path) -> None:
    done = subprocess.run([base.parent / "holdfast", "serve"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'holdfast[server]'" in done.stderr


def test_a_type_checker_sees_the_types_of_an_installed_wheel(base: Path, tmp_path: Path) -> None:
    check.try_types(base, tmp_path)


@pytest.mark.parametrize("extra", sorted(set(check.EXTRAS) - {"test"}))
def test_an_extra_brings_what_its_part_needs(extra: str, base: Path, tmp_path: Path) -> None:
    try:
        needed = _required(base, extra)
    except importlib.metadata.PackageNotFoundError as error:
        pytest.skip(f"{error.name} is not installed here")
    python = _empty(tmp_path / "env")
    for file in _site(base).glob("holdfast*"):
        (_site(python) / file.name).symlink_to(file)
    _fill(_site(python), needed)
    check.run([python, "-c", check.EXTRAS[extra]], tmp_path)


def _empty(place: Path) -> Path:
    venv.create(place, symlinks=True, with_pip=False)
    return place / "bin" / "python"


def _site(python: Path) -> Path:
    (site,) = python.parent.parent.glob("lib/python3.*/site-packages")
    return site


def _required(python: Path, extra: str) -> set[str]:
    """The distributions that an installer would bring with the wheel in this environment and one of its extras."""
    (own,) = importlib.metadata.distributions(name="holdfast", path=[str(_site(python))])
    if extra and extra not in own.metadata.get_all("Provides-Extra", ()):
        raise AssertionError(f"the wheel has no extra {extra}")
    seen: dict[str, set[str]] = {}

    def need(name: str, extras: set[str]) -> None:
        news = extras - seen.setdefault(name, set())
        seen[name] |= news
        for one in map(Requirement, own.requires or ()) if name == "holdfast" else _listed(name):
            if any(_applies(one, part) for part in news):
                need(canonicalize_name(one.name), {"", *one.extras})

    need("holdfast", {"", *([extra] if extra else [])})
    return set(seen) - {"holdfast"}


@cache
def _listed(name: str) -> tuple[Requirement, ...]:
    return tuple(map(Requirement, importlib.metadata.requires(name) or ()))


@cache
def _applies(one: Requirement, extra: str) -> bool:
    """Whether a requirement is there because of this extra; because of none, where the extra is empty."""
    plain = one.marker is None or one.marker.evaluate({"extra": ""})
    return plain if not extra else not plain and one.marker.evaluate({"extra": extra})  # type: ignore[union-attr]


def _fill(site: Path, names: set[str]) -> None:
    """Link the files of distributions that are installed where the tests run."""
    for name in names:
        for source in _tops(name):
            if not (site / source.name).exists():
                (site / source.name).symlink_to(source)


@cache
def _tops(name: str) -> tuple[Path, ...]:
    """The files and folders of a distribution that lie in `site-packages` itself."""
    found = importlib.metadata.distribution(name)
    names = {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")}
    return tuple(path for path in (Path(str(found.locate_file(top))) for top in names) if path.exists())
