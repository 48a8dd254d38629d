"""A made-up table with the columns of the ACS excerpt, for what can be tested without the real file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from holdfast_papers.coherence.acs_data import ACS, DISABILITY, FILE, LENS


def small_file(folder: Path, rows: int = 1_200, seed: int = 1) -> Path:
    """Write the file where `load_acs` looks for it under `folder`: every tenth row is a child who was not asked."""
    rng = np.random.default_rng(seed)
    child = np.arange(rows) % 10 == 3
    idle = child | (rng.random(rows) < 0.3)
    work = rng.integers(0, 19, rows)
    columns = {
        "AGEP": np.where(child, rng.integers(0, 5, rows), rng.integers(5, 90, rows)).astype(str),
        "DENSITY": rng.choice(["16.3", "2731.2", "33632.6"], rows),
        "INDP_CAT": np.where(idle, "N", work.astype(str)),
        "INDP": np.where(idle, "N", (1000 + 40 * work + rng.integers(0, 4, rows)).astype(str)),
        "SEX": rng.integers(1, 3, rows).astype(str),
        "EDU": np.where(child, "N", rng.integers(1, 13, rows).astype(str)),
        "HISP": rng.integers(0, 2, rows).astype(str),
        "RAC1P": rng.choice(["1", "2", "6", "8"], rows),
        DISABILITY: np.where(child, "N", np.where(rng.random(rows) < 0.25, "1", "2")),
        "PWGTP": rng.integers(1, 90, rows).astype(str),
    }
    assert set(LENS) < set(columns)
    path = folder / ACS / FILE
    path.parent.mkdir(parents=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path
