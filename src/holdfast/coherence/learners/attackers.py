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
            "this learner needs a report that is a table of rows, and this report is not; choose a learner that "
            "reads such a report"
        ) from error


def report_table(report: Any, lens: Lens, target: Target | None) -> tuple[Table, NDArray[np.bool_]]:
    """The report as a table that shows the lens and the target, with the rows the target applies to and its truth."""
    if target is None:
        raise InvalidParameter(
            "this learner predicts a target, but the audit has no target; give one, or choose another learner"
        )
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
    """A learner that predicts, for a person, the mean target of the report's rows that look the same through the lens.

    If no row of the report looks like the person, the prediction is the mean target of the whole report. For data
    released unchanged this is a linkage attack: it links the release with what is known about a person.

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
    """A learner that predicts 1 if a row of the report looks like the person through the lens, and -1 otherwise.

    This is the strongest general attack on data released unchanged. It needs no target, because it predicts who was in
    the release.

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
    """A learner that predicts how close a person is to the nearest row of the report, as `1 - 2 min(d, s) / s`.

    `d` is the distance to the nearest row in standardised columns. `s` is a scale: twice the median distance, within
    the report, from a row to its nearest other row. The prediction is near 1 for people close to a row and -1 from the
    distance `s` on. This is the usual attack on synthetic tables. Needs scikit-learn.

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
    """A learner that predicts the same number for everyone. It is a control whose distance is always 0.

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
    """A learner that predicts 1 or -1 by the toss of a coin, which depends on the lens but not on the report.

    It is a control: it shows the distances that chance alone gives.

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
    """A learner whose predictions were made before the audit: one number for each row of the data.

    Give one list of predictions, or a mapping with one list for each lens by name. Every split uses the same
    predictions, so repeated splits measure only the noise of sampling. To learn about a release from such predictions,
    use `single_shot`.

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
        """Raise an error unless there is one prediction for each of `rows` rows of the data."""
        if any(values.size != rows for values in self._kept.values()):
            raise InvalidParameter(f"predictions must be a list of one number for each of {rows} rows of the data")

    def for_rows(self, rows: NDArray[np.int64], lens: Lens) -> NDArray[np.float64]:
        """Return the given predictions for these rows of the data."""
        predictions = self._kept.get(lens.name, self._kept.get(None))
        if predictions is None:
            raise InvalidParameter(f"no predictions were given for lens {lens.name!r}; give a list for each lens")
        if rows.size and int(rows.max()) >= predictions.size:
            raise InvalidParameter("predictions must be a list of one number for each row of the data")
        return predictions[rows]

    def __call__(self, report: Any) -> Predictor:
        """The predictor that the report gives for this lens."""
        raise InvalidParameter(
            "this attack uses the predictions that you gave, and they cover only the rows of the data; for other rows, "
            "give a learner that can predict"
        )

    def __repr__(self) -> str:
        return f"Given({max(values.size for values in self._kept.values())} rows)"


def _coin(key: bytes, row: tuple[Any, ...]) -> float:
    return 1.0 if hashlib.blake2b(repr(row).encode(), key=key, digest_size=1).digest()[0] & 1 else -1.0


def _sklearn(module: str) -> Any:
    with named_extras():
        return importlib.import_module(f"sklearn.{module}")
