"""Attackers that look people up in the release, and the controls to compare them with."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.encoding import Cells, Matrix
from holdfast.coherence.peeking import checked
from holdfast.coherence.table import Table
from holdfast.coherence.target import Lens, Target
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter

Predictor = Callable[[Table], NDArray[np.float64]]


def _rows_of(report: Any) -> Table:
    try:
        return Table.of(report, "the report")
    except InvalidParameter as error:
        raise InvalidParameter(
            "this learner learns from rows, and the report is not a table of rows: choose a learner that reads such a "
            "report"
        ) from error


def report_table(report: Any, lens: Lens, target: Target | None) -> tuple[Table, NDArray[np.bool_]]:
    """The report as a table that shows the lens and the target, with the rows the target applies to and its truth."""
    if target is None:
        raise InvalidParameter("this learner predicts a target, and the audit has none")
    table = _rows_of(report)
    for name in (*lens.columns, target.column):
        if name not in table:
            raise InvalidParameter(f"the report has no column {name!r}, so this learner cannot learn from it")
    table = table.take(np.flatnonzero(target.applies(table)))
    if not table.rows:
        raise InvalidParameter("the report has no row that the target applies to")
    return table, target.truth(table)


@dataclass(frozen=True)
class Linkage:
    """Predicts for a person the mean of the target among rows of the report that look the same through the lens.

    Someone whom no row looks like gets the base rate of the report. On data in the clear this is the attack of linking
    a release with what is known about a person.

    Examples
    --------
    >>> report = {"town": ["A", "A", "B", "B"], "ill": [1, 1, 1, 0]}
    >>> h = Linkage()(report, Lens("town", ("town",)), Target("ill = 1"))
    >>> h(Table.of({"town": ["A", "B", "C"]}))
    array([1. , 0. , 0.5])
    """

    name: str = "linkage"

    def __call__(self, report: Any, lens: Lens, target: Target | None) -> Predictor:
        """The predictor that the report gives for this lens."""
        table, truth = report_table(report, lens, target)
        cells, own = Cells.of(table, lens.columns)
        totals = np.bincount(own, minlength=cells.count)
        means = 2 * np.bincount(own, weights=truth, minlength=cells.count) / totals - 1
        known = np.append(means, 2 * truth.mean() - 1)  # the last entry, -1, is for people nobody looks like
        return lambda rows: known[cells.find(rows)]


@dataclass(frozen=True)
class Membership:
    """Predicts 1 if a row of the report looks like the person through the lens, and -1 otherwise.

    The strongest general attack on data in the clear. It needs no target: it says who was in the release.

    Examples
    --------
    >>> h = Membership()({"town": ["A", "B"]}, Lens("town", ("town",)), None)
    >>> h(Table.of({"town": ["A", "C"]}))
    array([ 1., -1.])
    """

    name: str = "membership"

    def __call__(self, report: Any, lens: Lens, target: Target | None) -> Predictor:
        """The predictor that the report gives for this lens."""
        cells, _ = Cells.of(_rows_of(report).select(lens.columns), lens.columns)
        return lambda rows: np.where(cells.find(rows) >= 0, 1.0, -1.0)


@dataclass(frozen=True)
class NearestRecord:
    """Predicts `1 - 2 min(d, s) / s`: near 1 for people close to a row of the report, -1 from the scale s on.

    d is the distance to the nearest row of the report in standardised columns; s is twice the median distance within
    the report from a row to the nearest other row. The usual attack on synthetic tables. Needs scikit-learn.

    Examples
    --------
    >>> report = {"age": [30, 40, 50]}
    >>> h = NearestRecord()(report, Lens("age", ("age",)), None)
    >>> h(Table.of({"age": [30, 90]}))
    array([ 1., -1.])
    """

    name: str = "nearest-record"

    def __call__(self, report: Any, lens: Lens, target: Target | None) -> Predictor:
        """The predictor that the report gives for this lens."""
        neighbors = _sklearn("neighbors")
        table = _rows_of(report).select(lens.columns)
        if table.rows < 2:
            raise InvalidParameter("the report must have at least 2 rows, so that distances can be measured")
        matrix = Matrix.of(table, lens.columns, one_hot=True, standard=True)
        known = matrix(table)
        index = neighbors.NearestNeighbors(n_neighbors=1).fit(known)
        within = neighbors.NearestNeighbors(n_neighbors=2).fit(known).kneighbors(known)[0][:, 1]
        scale = 2 * float(np.median(within)) or 1e-12
        return lambda rows: 1 - 2 * np.minimum(index.kneighbors(matrix(rows))[0][:, 0] / scale, 1.0)


@dataclass(frozen=True)
class Constant:
    """Predicts the same for everyone: a control whose distance is 0.

    Examples
    --------
    >>> Constant(0.5)(None)(Table.of({"town": ["A", "B"]}))
    array([0.5, 0.5])
    """

    value: float = 0.0
    name: str = "constant"

    def __call__(self, report: Any) -> Predictor:
        """The predictor that the report gives for this lens."""
        value = float(checked([self.value], 1)[0])
        return lambda rows: np.full(rows.rows, value)


@dataclass(frozen=True)
class CoinFlip:
    """Predicts 1 or -1 by a coin that depends on the lens and on chance, not on the report: the control for floors.

    Examples
    --------
    >>> h = CoinFlip()(None, Lens("town", ("town",)), None, np.random.default_rng(1))
    >>> set(np.abs(h(Table.of({"town": ["A", "B", "C"]}))).tolist())
    {1.0}
    """

    name: str = "coin-flip"

    def __call__(self, report: Any, lens: Lens, target: Target | None, rng: np.random.Generator) -> Predictor:
        """The predictor that the report gives for this lens."""
        key = rng.bytes(16)

        def flip(rows: Table) -> NDArray[np.float64]:
            shown = zip(*(rows[name].tolist() for name in lens.columns), strict=True)
            return np.array([_coin(key, row) for row in shown])

        return flip


@dataclass(frozen=True, eq=False, repr=False)
class Given:
    """Predictions already made: one number per row of the data, or such a list for each lens by name.

    The same predictions serve every split, so repeated splits of one set of predictions measure sampling noise only;
    they speak about a release in the single-shot mode.

    Examples
    --------
    >>> Given([0.5, -1.0])
    Given(2 rows)
    """

    predictions: Any
    name: str = "given"
    _kept: dict[str | None, NDArray[np.float64]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        given = self.predictions if isinstance(self.predictions, Mapping) else {None: self.predictions}
        for lens, values in given.items():
            array = np.asarray(values)
            self._kept[lens] = checked(array, array.shape[0] if array.ndim else 1)

    def fits(self, rows: int) -> None:
        """Refuse predictions that are not one for each of `rows` rows of the data."""
        if any(values.size != rows for values in self._kept.values()):
            raise InvalidParameter(f"predictions given must be one number for each of {rows} rows of the data")

    def for_rows(self, rows: NDArray[np.int64], lens: Lens) -> NDArray[np.float64]:
        """Return the predictions for these rows of the data."""
        predictions = self._kept.get(lens.name, self._kept.get(None))
        if predictions is None:
            raise InvalidParameter(f"predictions for lens {lens.name!r} were not given")
        if rows.size and int(rows.max()) >= predictions.size:
            raise InvalidParameter("predictions given must be one number for each row of the data")
        return predictions[rows]

    def __call__(self, report: Any) -> Predictor:
        """The predictor that the report gives for this lens."""
        raise InvalidParameter("predictions that are given belong to rows and cannot be asked about others")

    def __repr__(self) -> str:
        return f"Given({max(values.size for values in self._kept.values())} rows)"


def _coin(key: bytes, row: tuple[Any, ...]) -> float:
    return 1.0 if hashlib.blake2b(repr(row).encode(), key=key, digest_size=1).digest()[0] & 1 else -1.0


def _sklearn(module: str) -> Any:
    with named_extras():
        return importlib.import_module(f"sklearn.{module}")
