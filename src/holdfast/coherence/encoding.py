"""Numbers for learners, fitted on the report alone: nothing here may know a value that only the other half has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.table import Column, Table, missing

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Values:
    """The distinct values of one column of the report; code 0 is missing, -1 a value that the report does not have."""

    text: bool
    distinct: NDArray[Any]
    boolean: bool = False

    @classmethod
    def of(cls, values: Column) -> Values:
        """Return the values of a column."""
        text = values.dtype.kind == "O"
        present = values[~missing(values)]
        return cls(text, np.unique(present.astype(str) if text else present.astype(np.float64)))

    def codes(self, values: Column) -> Ints:
        """Return the code of each value."""
        out = np.zeros(len(values), dtype=np.int64)
        there = ~missing(values)
        if not there.any():
            return out
        present: NDArray[Any] = values[there].astype(str)
        if not self.text:
            try:
                present = values[there].astype(np.float64)
            except ValueError:  # text where the report has numbers: no value is known
                out[there] = -1
                return out
        if not self.distinct.size:
            out[there] = -1
            return out
        at = np.minimum(np.searchsorted(self.distinct, present), self.distinct.size - 1)
        out[there] = np.where(self.distinct[at] == present, at + 1, -1)
        return out


@dataclass(frozen=True, eq=False)
class Cells:
    """Which rows look alike through a lens: the cells that occur in the report, and the cell of any row.

    Examples
    --------
    >>> cells, own = Cells.of(Table.of({"a": [1, 1, 2], "b": ["x", "y", "x"]}), ("a", "b"))
    >>> own.tolist(), cells.find(Table.of({"a": [2, 2, 3], "b": ["x", "y", "x"]})).tolist()
    ([0, 1, 2], [2, -1, -1])
    """

    columns: tuple[str, ...]
    values: tuple[Values, ...]
    levels: tuple[Ints, ...]

    @classmethod
    def of(cls, report: Table, columns: Sequence[str]) -> tuple[Cells, Ints]:
        """Return the cells of a report, and the cell of each of its rows."""
        values, levels = [], []
        own = np.zeros(report.rows, dtype=np.int64)
        for name in columns:
            known = Values.of(report[name])
            level, own = np.unique(own * (known.distinct.size + 1) + known.codes(report[name]), return_inverse=True)
            values.append(known)
            levels.append(level)
        return cls(tuple(columns), tuple(values), tuple(levels)), own

    @property
    def count(self) -> int:
        """How many cells the report fills."""
        return int(self.levels[-1].size)

    def find(self, rows: Table) -> Ints:
        """Return the cell of each row; -1 where the report has no such row."""
        cell = np.zeros(rows.rows, dtype=np.int64)
        for name, known, level in zip(self.columns, self.values, self.levels, strict=True):
            code = known.codes(rows[name])
            key = cell * (known.distinct.size + 1) + code
            at = np.minimum(np.searchsorted(level, key), level.size - 1) if level.size else np.zeros_like(key)
            there = (cell >= 0) & (code >= 0) & (level[at] == key if level.size else False)
            cell = np.where(there, at, -1)
        return cell


@dataclass(frozen=True, eq=False)
class Matrix:
    """Columns as numbers: numbers as they are, text as codes or as one column a value.

    A missing number becomes the mean of the report, with one more column that says so if the report has any missing.
    `standard=True` takes off the mean of the report and divides by its standard deviation.
    """

    columns: tuple[str, ...]
    known: tuple[Values, ...]
    fills: tuple[float, ...]
    flags: tuple[bool, ...]
    one_hot: bool
    centre: NDArray[np.float64] | None = None
    spread: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, report: Table, columns: Sequence[str], *, one_hot: bool = False, standard: bool = False) -> Matrix:
        """Fit on the report."""
        known, fills, flags = [], [], []
        for name in columns:
            values = report[name]
            coded = Values.of(values)
            known.append(coded)
            there = ~missing(values)
            fills.append(float(values[there].astype(np.float64).mean()) if not coded.text and there.any() else 0.0)
            flags.append(bool(not coded.text and not there.all()))
        plain = cls(tuple(columns), tuple(known), tuple(fills), tuple(flags), one_hot)
        if not standard:
            return plain
        seen = plain(report)
        spread = seen.std(axis=0)
        return cls(
            *(plain.columns, plain.known, plain.fills, plain.flags, one_hot),
            centre=seen.mean(axis=0),
            spread=np.where(spread > 0, spread, 1.0),
        )

    def __call__(self, rows: Table) -> NDArray[np.float64]:
        """One row of numbers for each row of the table."""
        parts: list[NDArray[np.float64]] = []
        for name, known, fill, flag in zip(self.columns, self.known, self.fills, self.flags, strict=True):
            values = rows[name]
            if known.text:
                codes = known.codes(values)
                if self.one_hot:
                    parts.append((codes[:, None] == np.arange(1, known.distinct.size + 1)).astype(np.float64))
                else:
                    parts.append(codes[:, None].astype(np.float64))
                continue
            gone = missing(values)
            filled = np.full(rows.rows, fill)
            if values.dtype.kind != "O":
                filled[~gone] = values[~gone]
            parts.append(filled[:, None])
            if flag:
                parts.append(gone[:, None].astype(np.float64))
        matrix = np.concatenate(parts, axis=1)
        return matrix if self.centre is None or self.spread is None else (matrix - self.centre) / self.spread
