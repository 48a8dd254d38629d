"""Every notebook is made from the source next to it, has outputs, and runs from its first cell to its last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast_papers.real_data import folder

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.stem for path in (ROOT / "docs" / "notebooks").glob("*.py"))


def test_there_are_three_stories() -> None:
    assert len(NAMES) == 3


@pytest.mark.parametrize("name", NAMES)
def test_runs(name: str) -> None:
    surroundings = {"HOLDFAST_DATA": str(folder().resolve()), "OPENBLAS_NUM_THREADS": "1"}
    words = [sys.executable, "tools/notebooks", "--check", name]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=600, env={**os.environ, **surroundings}
    )
    if not folder().is_dir():  # the data are not part of the package; without them a notebook says so and ends
        assert "HOLDFAST_DATA names the folder" in done.stderr
        return
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name", NAMES)
def test_is_stored_with_its_outputs_and_without_a_path_of_the_machine(name: str) -> None:
    text = (ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text()
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert any("image/svg+xml" in output.get("data", {}) for cell in code for output in cell["outputs"])
    assert not any(output["output_type"] in ("error", "stderr") for cell in code for output in cell["outputs"])
    assert str(ROOT) not in text
