"""Every example in docs/ is run, and the site builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def _build(builder: str, folder: Path) -> Path:
    """What a builder makes, from pages that the first of them has read: a page is the same to all of them."""
    made, pages = folder / builder, folder / "pages"
    words = ["-q", "-W", "--keep-going", "-b", builder, "-d", str(pages), "docs", str(made)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


def test_the_site_builds_without_a_warning(folder: Path) -> None:
    assert "max-information.pure-dp" in (_build("html", folder) / "catalogue.html").read_text()


def test_every_example_runs(folder: Path) -> None:
    ran = re.search(r"(\d+) tests\n\s+0 failures in tests", (_build("doctest", folder) / "output.txt").read_text())
    assert ran
    assert int(ran.group(1)) > 1000
