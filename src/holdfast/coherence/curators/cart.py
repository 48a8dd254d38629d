"""Synthetic rows by classification and regression trees, one column after the other. Not differentially private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast import check
from holdfast.coherence.encoding import Matrix, Values
from holdfast.coherence.table import Column, Table
from holdfast.extras import named_extras


@dataclass(frozen=True)
class Cart:
    """Synthetic rows: each column is drawn from the rows of the half that fall into the same leaf of a tree.

    The first column is drawn with replacement. For each further column a tree is grown that predicts it from the
    columns before; a synthetic row takes the value of a random real row of its leaf. With leaves of one row it nearly
    copies people; larger leaves blur. Needs scikit-learn.

    Parameters
    ----------
    leaf : int
        Least number of rows in a leaf.
    columns : sequence of str, optional
        The order in which columns are made; default: as in the data.
    rows : int, optional
        How many rows to make; default: as many as the half has.

    Examples
    --------
    >>> half = Table.of({"age": [30, 41, 30, 41] * 25, "ill": [0, 1, 0, 1] * 25})
    >>> made = Cart(leaf=5)(half, np.random.default_rng(1))
    >>> made.rows, bool((made["ill"] == (made["age"] == 41)).all())
    (100, True)
    """

    leaf: int = 5
    columns: Sequence[str] | None = None
    rows: int | None = None
    name: str = "cart"

    def __post_init__(self) -> None:
        check.whole("leaf", self.leaf, at_least=1)
        if self.rows is not None:
            check.whole("rows", self.rows, at_least=1)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        with named_extras():
            from sklearn import tree
        names = tuple(self.columns or half.names)
        rows = half.rows if self.rows is None else self.rows
        made: dict[str, Column] = {names[0]: half[names[0]][rng.integers(half.rows, size=rows)]}
        for place, name in enumerate(names[1:], start=1):
            matrix = Matrix.of(half, names[:place])
            wanted: Any = Values.of(half[name]).codes(half[name])
            grow = tree.DecisionTreeClassifier
            if half[name].dtype.kind != "O":
                wanted, grow = np.nan_to_num(half[name].astype(np.float64), nan=-1.0), tree.DecisionTreeRegressor
            grown = grow(min_samples_leaf=self.leaf, random_state=int(rng.integers(2**31 - 1)))
            grown.fit(matrix(half), wanted)
            made[name] = half[name][
                _donors(grown.apply(matrix(half)), grown.apply(matrix(Table(made, rows))), rng.random(rows))
            ]
        return Table(made, rows)


def _donors(real: Any, synthetic: Any, chance: Any) -> Any:
    """For each synthetic row a real row of the same leaf."""
    order = np.argsort(real, kind="stable")
    leaves, starts, counts = np.unique(real[order], return_index=True, return_counts=True)
    at = np.searchsorted(leaves, synthetic)  # every leaf holds a real row
    return order[starts[at] + np.minimum((chance * counts[at]).astype(np.int64), counts[at] - 1)]


__all__ = ["Cart"]
