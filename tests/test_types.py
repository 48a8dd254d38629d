"""The types hold, in the strictest reading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_types_hold() -> None:
    """As a test, because it uses one core: side by side with the others it costs `make test` half as long."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy"], cwd=Path(__file__).parent.parent, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
