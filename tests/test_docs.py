"""Every example in docs/ is run, and the site builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("builder", ["doctest", "html"])
def test_site(builder: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder, "docs", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    if builder == "doctest":
        ran = re.search(r"(\d+) tests\n\s+0 failures in tests", (tmp_path / "output.txt").read_text())
        assert ran
        assert int(ran.group(1)) > 50
    else:
        assert "max-information.pure-dp" in (tmp_path / "catalogue.html").read_text()
