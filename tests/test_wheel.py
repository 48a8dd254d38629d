"""What is installed is everything below src/holdfast: templates, style, script, icon and migrations too."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = (
    "holdfast/py.typed",
    "holdfast/server/pages/static/holdfast.css",
    "holdfast/server/pages/static/holdfast.js",
    "holdfast/server/pages/static/icon.svg",
    "holdfast/server/pages/templates/base.html",
    "holdfast/server/pages/templates/board.html",
    "holdfast/server/pages/templates/report.html",
    "holdfast/server/migrations/env.py",
    "holdfast/server/migrations/versions/v0001_server.py",
    "holdfast/server/migrations/versions/v0002_reports.py",
)


def tree() -> set[str]:
    """Every file of the package, as a wheel would name it."""
    found = (path for path in (ROOT / "src" / "holdfast").rglob("*") if path.is_file())
    kept = (path for path in found if "__pycache__" not in path.parts and path.suffix not in (".pyc", ".so"))
    return {path.relative_to(ROOT / "src").as_posix() for path in kept}


def test_nothing_is_left_out_by_the_settings() -> None:
    """Hatchling packs what is below `packages`, unless it is excluded or git ignores it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert settings["targets"]["wheel"] == {"packages": ["src/holdfast"]}
    assert set(settings) == {"targets"}
    names = tree()
    assert set(NEEDED) <= names
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git here to ask what it ignores")
    asked = "\n".join(f"src/{name}" for name in sorted(names))
    done = subprocess.run(["git", "check-ignore", "--stdin"], cwd=ROOT, input=asked, capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")
def test_the_wheel_has_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as wheel:
        names = {name for name in wheel.namelist() if name.startswith("holdfast/")}
    assert names == tree()
