"""Lenses: which columns a predictor sees when it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.coherence.table import Table
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Lens:
    """A named set of columns (Definition D3 of the coherence specification).

    It limits what is seen when predicting. The curator may use every column, and the learner everything in the report.

    Examples
    --------
    >>> Lens("street", ("sex", "age"))
    Lens(name='street', columns=('sex', 'age'))
    """

    name: str
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        if not columns or not all(isinstance(c, str) and c for c in columns) or len(set(columns)) != len(columns):
            raise InvalidParameter(f"lens {self.name!r} must name one or more distinct columns")
        object.__setattr__(self, "columns", columns)


Lenses = Lens | Sequence[Lens] | Mapping[str, Iterable[str]] | Sequence[str] | None
"""One lens, several, a mapping of names to columns, or a list of columns (one lens); None for all but the target."""


def family(lenses: Any, table: Table, target: str | None = None) -> tuple[Lens, ...]:
    """The lenses of an audit, each checked against the columns of the table.

    Examples
    --------
    >>> people = Table.of({"sex": [1, 2], "age": [30, 41], "ill": [0, 1]})
    >>> [lens.columns for lens in family(None, people, "ill")]
    [('sex', 'age')]
    >>> [lens.name for lens in family({"sex": ["sex"], "both": ["sex", "age"]}, people)]
    ['sex', 'both']
    """
    if lenses is None:
        found = [Lens("everything but the target" if target else "everything", _all_but(table, target))]
    elif isinstance(lenses, Lens):
        found = [lenses]
    elif isinstance(lenses, Mapping):
        found = [Lens(str(name), tuple([c] if isinstance(c, str) else c)) for name, c in lenses.items()]
    elif isinstance(lenses, Sequence) and not isinstance(lenses, str) and len(lenses):
        if all(isinstance(lens, Lens) for lens in lenses):
            found = list(lenses)
        elif all(isinstance(lens, str) for lens in lenses):
            found = [Lens(", ".join(lenses), tuple(lenses))]
        else:
            raise InvalidParameter("lenses must be all Lens objects or all column names")
    else:
        raise InvalidParameter("lenses must be a Lens, a list of lenses or columns, or a mapping of names to columns")
    if len({lens.name for lens in found}) != len(found):
        raise InvalidParameter("lenses must have distinct names")
    for lens in found:
        for column in lens.columns:
            if column not in table:
                raise InvalidParameter(
                    f"lens {lens.name!r} names column {column!r}, which is not in the table ({', '.join(table.names)})"
                )
            if column == target:
                raise InvalidParameter(f"lens {lens.name!r} shows the target column {column!r} itself")
    return tuple(found)


def path(columns: Sequence[str]) -> tuple[Lens, ...]:
    """Lenses that open one column at a time, in the order given, to see which column opens the leak.

    Examples
    --------
    >>> [lens.name for lens in path(["sex", "age"])]
    ['sex', 'sex + age']
    """
    return tuple(Lens(" + ".join(columns[: i + 1]), tuple(columns[: i + 1])) for i in range(len(columns)))


def subsets(columns: Sequence[str], size: int) -> tuple[Lens, ...]:
    """Every lens of exactly `size` of the columns.

    Examples
    --------
    >>> [lens.columns for lens in subsets(["a", "b", "c"], 2)]
    [('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    from itertools import combinations

    return tuple(Lens(" + ".join(chosen), chosen) for chosen in combinations(columns, size))


def _all_but(table: Table, target: str | None) -> tuple[str, ...]:
    return tuple(name for name in table.names if name != target)


__all__ = ["Lens", "Lenses", "family", "path", "subsets"]
