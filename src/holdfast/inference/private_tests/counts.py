"""Counts: a secret histogram, table or columns with declared categories; and their noisy release, all that tests see.

`n`, the number of records, is public and exact in every test here, and neighbours replace one record. Categories are
declared, never discovered: which values occur is itself private.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import Cost
from holdfast.core import arguments
from holdfast.core.copying import NoCopy
from holdfast.data.frames import Frame
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noise_law import UNITS, NoiseLaw, Unit, noise_of, unprotected
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

#: Beyond this a count is no longer exact as a float.
LARGEST_COUNT = 2**53
#: p0 may miss a sum of one by this much, as typed decimals such as 0.333333 do not; it is then divided by its sum.
_SUM_SLACK = 1e-9
#: A null probability below this overflows in a square.
_SMALLEST = 1e-250
Margins = Literal["none", "rows", "columns", "both"]


@dataclass(frozen=True, repr=False, eq=False)
class Counts(NoCopy):
    """The exact counts of `n` records in cells. They are secret: no repr and no error shows them, and they cannot be
    pickled.

    Examples
    --------
    >>> histogram([520, 150, 170, 160])
    Counts(n=1000, shape=(4,))
    """

    _not_copied = "exact counts are private and do not pickle; keep the records, or the noisy counts of a result"

    values: NDArray[np.int64]
    n: int

    def __post_init__(self) -> None:
        clean = _whole(self.values)
        if clean.ndim not in (1, 2) or arguments.whole("n", self.n, at_least=1) != int(clean.sum()):
            raise InvalidParameter("counts must be a histogram or a table whose cells sum to n")
        object.__setattr__(self, "values", clean)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the counts: `(d,)` for a histogram, `(r, c)` for a table."""
        return tuple(self.values.shape)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.values.size)

    def __repr__(self) -> str:
        return f"Counts(n={self.n}, shape={self.shape})"


def histogram(counts: Any, *, n: int | None = None, neighbours: str = "replace-one") -> Counts:
    """Return the counts of `d >= 2` cells as a histogram, after checking them.

    Parameters
    ----------
    counts : Counts, or a list of whole numbers
        At least two cells; none negative, not all zero. A table is flattened row by row.
    n : int, optional
        The public number of records; must be the sum of the counts. None takes the sum, which is thereby public.
    neighbours : str
        Only "replace-one". "add-remove" is refused, and the message says why.

    Examples
    --------
    >>> histogram([3, -1])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: counts must be whole numbers, at least 0, and some are not
    >>> histogram([3, 1], neighbours="add-remove")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: neighbours must be replace-one, got add-remove: every test here treats n as ...
    """
    return _counts(counts, n, neighbours, table=False)


def table(counts: Any, *, n: int | None = None, neighbours: str = "replace-one") -> Counts:
    """Return the counts of an `r` by `c` table with `r, c >= 2`, after checking them.

    A row or column may be empty. The tests are then inconclusive.

    Examples
    --------
    >>> table([[255, 193], [301, 251]])
    Counts(n=1000, shape=(2, 2))
    """
    return _counts(counts, n, neighbours, table=True)


def tally(
    values: Any, categories: Sequence[Hashable], *, other: Hashable = None, neighbours: str = "replace-one"
) -> Counts:
    """Count the records of one column in each of its declared categories.

    Parameters
    ----------
    values : array, list, or a pandas, polars or other Series
        One value per record.
    categories : sequence
        The cells, in order, at least two and different.
    other : category, optional
        The declared category that missing and undeclared values count in. Without it they are refused, and that refusal
        speaks of the records: give it wherever a person's value might lie outside and somebody sees whether it ran.
    neighbours : str
        Only "replace-one", as in `histogram`.

    Examples
    --------
    >>> tally(["a", "b", "a", "a"], ["a", "b", "c"])
    Counts(n=4, shape=(3,))
    >>> tally(["a", "z", None, "a"], ["a", "b", "rest"], other="rest")
    Counts(n=4, shape=(3,))
    """
    places = codes(values, categories, other=other)
    return histogram(np.bincount(places, minlength=len(categories)), neighbours=neighbours)


def cross(
    rows: Any,
    columns: Any,
    *,
    row_categories: Sequence[Hashable],
    column_categories: Sequence[Hashable],
    other_row: Hashable = None,
    other_column: Hashable = None,
    neighbours: str = "replace-one",
) -> Counts:
    """Count the records of two columns against each other, in a table of their declared categories.

    `rows` and `columns` are two columns of equal length, each an array, a list or a Series. `other_row` and
    `other_column` are declared categories that receive missing and undeclared values, like `other` in `tally`.

    Examples
    --------
    >>> cross([0, 1, 1, 0], ["x", "y", "y", "y"], row_categories=[0, 1], column_categories=["x", "y"])
    Counts(n=4, shape=(2, 2))
    """
    first = codes(rows, row_categories, "rows", other=other_row)
    second = codes(columns, column_categories, "columns", other=other_column)
    return cross_codes(first, second, len(row_categories), len(column_categories), neighbours=neighbours)


def cross_codes(
    rows: NDArray[np.int64], columns: NDArray[np.int64], r: int, c: int, *, neighbours: str = "replace-one"
) -> Counts:
    """`cross` for columns that `codes` has read already; for many pairs of the same columns. O(n)."""
    if rows.shape != columns.shape:
        raise InvalidParameter("rows and columns must have the same length: one value per record")
    cells = np.bincount(rows * c + columns, minlength=r * c)
    return table(cells.reshape(r, c), neighbours=neighbours)


def codes(
    values: Any, categories: Sequence[Hashable], name: str = "values", *, other: Hashable = None
) -> NDArray[np.int64]:
    """Return the place of each value in `categories`; with `other`, its place for all that is not declared.

    An error shows no value. Without `other`, that there is an error shows that a value was not declared.

    Examples
    --------
    >>> codes(["b", "a"], ["a", "b"]).tolist()
    [1, 0]
    >>> codes(["b", "z"], ["a", "b"])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: values must have declared categories only, but some values are missing or not ...
    """
    if isinstance(categories, (str, bytes)) or not isinstance(categories, (Sequence, np.ndarray)):
        raise InvalidParameter("categories must be a list of values; they are declared and never read from the records")
    declared = categories.tolist() if isinstance(categories, np.ndarray) else list(categories)
    try:
        place = {category: i for i, category in enumerate(declared)}
    except TypeError:
        raise InvalidParameter("categories must be hashable values such as texts or numbers") from None
    if len(place) < 2 or len(place) != len(declared):
        raise InvalidParameter("categories must be at least two different values")
    rest = -1
    if other is not None:
        if other not in place:
            raise InvalidParameter("other must be one of the declared categories")
        rest = place[other]
    records = _list(values, name)
    try:
        places = np.array([place.get(value, rest) for value in records], dtype=np.int64)
    except TypeError:  # an unhashable value
        if rest < 0:
            raise InvalidParameter(f"{name} must have one plain value for each record") from None
        places = np.array([place.get(v, rest) if isinstance(v, Hashable) else rest for v in records], dtype=np.int64)
    if places.size == 0:
        raise InvalidParameter(f"{name} must hold at least one record")
    if places.min() < 0:
        raise InvalidParameter(
            f"{name} must have declared categories only, but some values are missing or not declared; give other, a "
            "declared category that receives them"
        )
    return places


def column(frame: Any, name: str) -> Any:
    """Return one column of a pandas, polars or other data frame, eager or lazy, read with narwhals.

    Examples
    --------
    >>> import polars
    >>> column(polars.DataFrame({"age": [31, 45]}), "age").to_list()
    [31, 45]
    """
    return Frame(frame).native(name)


def probabilities(name: str, values: Any, cells: int | None = None) -> NDArray[np.float64]:
    """Check a probability vector: at least two entries, all positive, summing to one.

    Examples
    --------
    >>> probabilities("p0", [0.5, 0.4])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: p0 must sum to 1, got 0.9
    >>> probabilities("p0", [0.5, 0.5, 0])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: p0[2] must be a number in (0, inf), got 0; leave a cell that cannot occur out ...
    """
    if isinstance(values, np.ndarray):
        values = values.ravel()
    if hasattr(values, "__len__") and any(isinstance(v, (list, tuple, np.ndarray)) for v in values):
        values = [entry for row in values for entry in row]
    try:
        vector = np.array(arguments.reals(name, values, above=0))
    except InvalidParameter as error:
        more = (
            "; leave a cell that cannot occur out of the counts too"
            if str(error).endswith(("got 0", "got 0.0"))
            else ""
        )
        raise InvalidParameter(f"{error}{more}") from None
    if vector.size < 2:
        raise InvalidParameter(f"{name} must have at least two cells, got 1: a test needs at least two")
    if cells is not None and vector.size != cells:
        raise InvalidParameter(f"{name} must have one entry per cell, {cells} in all, got {vector.size}")
    if vector.min() < _SMALLEST:
        raise InvalidParameter(f"{name} must be at least {_SMALLEST:g} in every cell, got {vector.min():g}")
    total = float(vector.sum())
    if abs(total - 1) > _SUM_SLACK:
        raise InvalidParameter(f"{name} must sum to 1, got {total:.10g}")
    return vector / total


def protected_unit(public_margins: Margins, unit: Unit) -> Unit:
    """Return what the noise must protect, given which margins of a table are public (spec 1.2, reviewed).

    With one margin fixed by design a replaced record still moves two cells. With both public no single replacement
    keeps them: the smallest change is a swap of two records, four cells, and that is the unit of privacy.

    Examples
    --------
    >>> protected_unit("rows", "person")
    'person'
    >>> protected_unit("both", "person")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: unit must be 'swap' if both margins are public, got 'person': replacing one ...
    """
    arguments.choice("public_margins", public_margins, ("none", "rows", "columns", "both"))
    arguments.choice("unit", unit, UNITS)
    if public_margins == "both" and unit != "swap":
        raise InvalidParameter(
            f"unit must be 'swap' if both margins are public, got {unit!r}: replacing one record changes a margin, so "
            "what is protected is a 2x2 swap of records, with twice the variance; give unit='swap'"
        )
    if public_margins != "both" and unit == "swap":
        raise InvalidParameter("unit must be 'person' unless both margins are public, because a swap protects less")
    return unit


def _counts(counts: Any, n: Any, neighbours: str, *, table: bool) -> Counts:
    replace_one_only(neighbours)
    if isinstance(counts, Counts):
        array, given = counts.values, counts.n
    else:
        array, given = _whole(counts), 0
    if table and array.ndim != 2:
        raise InvalidParameter("counts must be a table: a list of rows of equal length")
    if table and min(array.shape) < 2:
        raise InvalidParameter(f"counts must have at least two rows and two columns, got shape {array.shape}")
    if not table:
        if array.ndim not in (1, 2):
            raise InvalidParameter("counts must be a list of counts, one per cell")
        array = array.ravel()
        if array.size < 2:
            raise InvalidParameter(f"counts must have at least two cells, got {array.size}: nothing can be tested")
    total = given or int(array.sum())
    if total < 1:
        raise InvalidParameter("counts must hold at least one record")
    if n is not None:
        if isinstance(n, str):
            raise InvalidParameter(
                f"n must be a public whole number, got {n!r}: every test here treats n as known and exact, and no "
                "test with a private total is proved here"
            )
        if arguments.whole("n", n, at_least=1) != total:
            raise InvalidParameter(
                f"n must be the public number of records, which is the sum of the counts, but {n} is not"
            )
    return Counts(array, total)


def replace_one_only(neighbours: str) -> None:
    """Refuse add/remove neighbours, and say why."""
    arguments.choice("neighbours", neighbours, ("replace-one", "add-remove"))
    if neighbours == "add-remove":
        raise InvalidParameter(
            "neighbours must be replace-one, got add-remove: every test here treats n as public, but adding or "
            "removing a record changes n, and no test with a private total is proved here"
        )


def _whole(counts: Any) -> NDArray[np.int64]:
    wrong = "counts must be whole numbers, at least 0, and some are not"
    if isinstance(counts, np.ma.MaskedArray):
        raise InvalidParameter("counts must not be a masked array; fill its gaps first")
    try:
        array = np.asarray(counts)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("counts must be a list of counts, or of rows of equal length") from None
    if array.dtype.kind not in "iuf" or array.size == 0:
        raise InvalidParameter(wrong if array.size else "counts must have at least two cells, got none")
    if not np.all(array >= 0) or not np.all(array <= LARGEST_COUNT) or not np.all(array == np.floor(array)):
        raise InvalidParameter(wrong)
    clean: NDArray[np.int64] = array.astype(np.int64)  # a copy: nobody else can write to it
    if float(clean.sum(dtype=np.float64)) > LARGEST_COUNT:
        raise InvalidParameter("counts must sum to at most 2**53")
    clean.setflags(write=False)
    return clean


def _list(values: Any, name: str) -> list[Any]:
    """One value per record as a list, whatever holds them."""
    if isinstance(values, (str, bytes)):
        raise InvalidParameter(f"{name} must be one value per record, got a text")
    records: list[Any] | None = None
    if isinstance(values, np.ndarray):
        records = values.tolist() if values.ndim == 1 else None
    elif isinstance(values, (list, tuple)):
        records = list(values)
    else:
        import narwhals as nw

        try:
            records = nw.from_native(values, series_only=True).to_list()
        except TypeError:
            records = None
    if records is None:
        raise InvalidParameter(f"{name} must be one column of values, got a {type(values).__name__}")
    return records


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts that were released with noise of a declared distribution. Everything computed from them costs nothing
    more.

    Attributes
    ----------
    values : array
        The noisy counts; `(d,)` or `(r, c)`. They may be negative and need not be whole.
    n : int
        The public number of records.
    noise : NoiseLaw
        The distribution of the noise on each cell. Its cost was paid by the release.
    secure : bool
        False where the noise came from a seeded source; every test of such counts says so.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> NoisyCounts([253.5, 234.75, 279.0, 251.25], 1000, gaussian(0.00125)).shape
    (4,)
    """

    values: NDArray[np.float64]
    n: int
    noise: NoiseLaw
    secure: bool = True

    def __post_init__(self) -> None:
        try:
            values = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("values must be noisy counts: numbers") from None
        if values.ndim not in (1, 2) or values.size < 2 or not np.all(np.isfinite(values)):
            raise InvalidParameter("values must be finite noisy counts of at least two cells")
        if not isinstance(self.noise, NoiseLaw):
            raise InvalidParameter(f"noise must be a NoiseLaw, got a {type(self.noise).__name__}")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "n", arguments.whole("n", self.n, at_least=1))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the counts: `(d,)` for a histogram, `(r, c)` for a table."""
        return tuple(self.values.shape)

    @property
    def cost(self) -> Cost:
        """The privacy cost of the release."""
        return self.noise.cost


def release(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    unit: Unit = "person",
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
) -> NoisyCounts:
    """Release a histogram or a table once, with exact noise. Tests of the result cost nothing more.

    Parameters
    ----------
    counts : Counts or array of whole numbers
        See `histogram` and `table`.
    rho, epsilon, noise
        Exactly one: `rho` for discrete Gaussian noise, `epsilon` for discrete Laplace noise, or any `NoiseLaw`.
    unit : {"person", "swap"}
        What neighbours change; "swap" only where both margins of a table are public.
    n, neighbours
        As in `histogram`.
    source : Source, optional
        None for the operating system.

    Examples
    --------
    >>> noisy = release([520, 150, 170, 160], rho=0.01)
    >>> noisy.shape, noisy.cost
    ((4,), ZCDP(rho=0.01))
    """
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    replace_one_only(neighbours)
    shape = counts.shape if isinstance(counts, (Counts, np.ndarray)) else np.shape(counts)
    checked = histogram(counts, n=n, neighbours=neighbours)
    return NoisyCounts(law.release(checked.values.reshape(shape), source), checked.n, law, not unprotected(source))


def source_warnings(counts: Counts | NoisyCounts, source: Source | None) -> tuple[str, ...]:
    """Return what a result must say about where the noise of its counts came from."""
    if isinstance(counts, NoisyCounts):
        return () if counts.secure else ("the counts were released with noise that protects nobody: for tests only",)
    return unprotected(source)
