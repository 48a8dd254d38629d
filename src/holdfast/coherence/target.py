"""What a predictor speaks about: a yes-or-no statement about a person, and to whom it applies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.table import Table, equal, missing
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Target:
    """The statement `column == equals`, or `column >= at_least`.

    Rows whose value is missing or listed in `not_applicable` are left out of the audit before the split. They are never
    a third label: coding them as a number is what inflates the whole-population figure of the paper's section 5
    (erratum E18 of the coherence specification).

    Parameters
    ----------
    column : str
        The column.
    equals : value, optional
        The statement is that the column has this value.
    at_least : float, optional
        The statement is that the column is at least this number.
    not_applicable : tuple
        Values of rows that the statement does not apply to.

    Examples
    --------
    >>> ill = Target("ill", equals=1, not_applicable=("N",))
    >>> rows = Table.of({"ill": ["1", "2", "N", None]})
    >>> ill.applies(rows).tolist(), ill.truth(rows).tolist()
    ([True, True, False, False], [True, False, False, False])
    """

    column: str
    equals: Any = None
    at_least: float | None = None
    not_applicable: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if (self.equals is None) == (self.at_least is None):
            raise InvalidParameter("target must state exactly one of equals and at_least")
        if self.at_least is not None:
            check.real("at_least", self.at_least)
        given = self.not_applicable
        object.__setattr__(self, "not_applicable", (given,) if isinstance(given, (str, int, float)) else tuple(given))

    @property
    def name(self) -> str:
        """The statement in words."""
        return f"{self.column} = {self.equals}" if self.at_least is None else f"{self.column} >= {self.at_least:g}"

    def applies(self, table: Table) -> NDArray[np.bool_]:
        """To which rows the statement applies."""
        values = table[self.column]
        out = missing(values)
        for value in self.not_applicable:
            out |= equal(values, value)
        return ~out

    def truth(self, table: Table) -> NDArray[np.bool_]:
        """For which rows the statement is true."""
        values = table[self.column]
        if self.at_least is None:
            return equal(values, self.equals) & self.applies(table)
        if values.dtype.kind == "O":
            raise InvalidParameter(f"target column {self.column!r} must hold numbers to be compared with at_least")
        with np.errstate(invalid="ignore"):
            return np.asarray(values >= self.at_least) & self.applies(table)


__all__ = ["Target"]
