"""The Adult data set as numbers: 48,842 people, 14 columns, and whether an income is above 50,000."""

from __future__ import annotations

import csv
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.real_data import data_file

ADULT = "adult"
COLUMNS = (
    "age",
    "workclass",
    "weight",
    "education",
    "education years",
    "marital status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital gain",
    "capital loss",
    "hours",
    "country",
)
_NUMBERS = (0, 2, 4, 10, 11, 12)


@dataclass(frozen=True)
class Adult:
    """One line per person; words are numbered in alphabetical order."""

    columns: NDArray[np.float64]
    rich: NDArray[np.bool_]


def load_adult() -> Adult:
    """Both published files, one after the other."""
    lines: list[list[str]] = []
    for name in ("adult.data", "adult.test"):
        with data_file(ADULT, name).open(newline="", encoding="utf-8") as file:
            lines += [line for line in csv.reader(file, skipinitialspace=True) if len(line) == len(COLUMNS) + 1]
    table = np.array(lines)
    columns = [
        table[:, i].astype(float) if i in _NUMBERS else np.unique(table[:, i], return_inverse=True)[1].astype(float)
        for i in range(len(COLUMNS))
    ]
    return Adult(np.column_stack(columns), np.char.startswith(table[:, -1], ">50K"))


__all__ = ["ADULT", "COLUMNS", "Adult", "load_adult"]
