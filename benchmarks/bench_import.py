"""`import holdfast` against the NumPy and SciPy it needs anyway, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import Row, at_most, best_of


def _import_seconds(statement: str) -> float:
    return best_of(lambda: subprocess.run([sys.executable, "-c", statement], check=True), repeats=7)


def rows() -> list[Row]:
    floor = _import_seconds("import numpy, scipy.special")
    whole = "import holdfast as hf; hf.bounds, hf.noise, hf.accounting, hf.mechanisms"
    return [
        at_most("import holdfast", 1.3, _import_seconds("import holdfast"), "import numpy, scipy.special", floor),
        at_most("... and every package of it", 2.0, _import_seconds(whole), "import numpy, scipy.special", floor),
    ]
