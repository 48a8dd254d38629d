"""The NIST excerpts of the American Community Survey as a table of numbers: the columns of the paper's section 5.

Source: NIST Diverse Communities Data Excerpts, national 2019, doi 10.18434/mds2-2895. 27,253 people.
"""

from __future__ import annotations

import numpy as np

from holdfast.coherence.table import Table
from holdfast.coherence.target import Target
from holdfast_papers.real_data import DataAbsent, data_file

ACS = "nist-acs-excerpts"
FILE = "national2019.csv"
LENS = ("AGEP", "DENSITY", "INDP_CAT", "INDP", "SEX", "EDU", "HISP", "RAC1P")
"""What a predictor sees: age, density of the area, industry coarse and fine, sex, education, Hispanic origin, race."""
DISABILITY = "DREM"
"""Cognitive difficulty: 1 yes, 2 no. It is not asked about children under five."""
NOT_APPLICABLE = -10
"""How the authors' script writes "N", does not apply, in every column. No column has this value otherwise."""
TARGET = Target(f"{DISABILITY} = 1", not_applicable=f"{DISABILITY} = {NOT_APPLICABLE}")
"""The statement "has a cognitive disability", about those who were asked."""


def load_acs() -> Table:
    """The nine columns as numbers, "N" as `NOT_APPLICABLE`. Raises `DataAbsent` where the file is not there."""
    read = Table.read(data_file(ACS, FILE))
    for name in (*LENS, DISABILITY):
        if name not in read:
            raise DataAbsent(f"{FILE} of {ACS} must have a column {name!r}")
    return Table.of({name: _numbers(read[name]) for name in (*LENS, DISABILITY)}, FILE)


def _numbers(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind != "O":
        return values
    return np.array([NOT_APPLICABLE if value == "N" else float(value) for value in values], dtype=np.float64)


__all__ = ["ACS", "DISABILITY", "FILE", "LENS", "NOT_APPLICABLE", "TARGET", "load_acs"]
