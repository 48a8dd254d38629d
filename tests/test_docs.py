"""Every example in docs/ is run, and the site builds without a warning: what `tools/docs` does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs")


@pytest.fixture(scope="module")
def said(folder: Path) -> str:
    """What was said while both were done, and how each ended: one is not kept from its end by the other's failure."""
    words = [sys.executable, str(ROOT / "tools" / "docs"), str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=900)
    return done.stdout + done.stderr


def test_the_site_builds_without_a_warning(folder: Path, said: str) -> None:
    assert "html ended with 0" in said.splitlines(), said
    assert "max-information.pure-dp" in (folder / "docs" / "catalogue.html").read_text()


def test_every_example_runs(folder: Path, said: str) -> None:
    assert "doctest ended with 0" in said.splitlines(), said
    output = (folder / "doctest" / "output.txt").read_text()
    ran = re.search(r"(\d+) tests\n\s+0 failures in tests", output)
    assert ran
    assert int(ran.group(1)) > 1000
