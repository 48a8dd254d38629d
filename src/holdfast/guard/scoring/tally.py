"""What rows add up to under a metric: a few whole numbers, the same on every engine and in any order of the rows.

A row's loss is a function of its label and its prediction, in whole steps of `2**-30` of the metric's range. What can
be computed before a row is read is, so that no engine's arithmetic enters.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.expressions import Expression, expression, numpy_columns
from holdfast.data.fingerprint import Held, Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Column, Kind, Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.board import OF_CLASSES, Board
from holdfast.guard.scoring.predictions import Predictions, predictions

PREDICTION = "prediction"
"""What an expression calls the prediction."""

# --- Tally ------------------------------------------------------------------------------------------------------------


class Tally(ABC):
    """Adds rows up, a batch at a time. `start()` is nothing; `add` counts a batch in. Secret."""

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        self.label: Column = schema[board.label]
        key = schema[board.key]
        self.given: Predictions = predictions(given, board.key, key.kind, self.kind(board, self.label.kind))
        self.board = board

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return what a prediction is, by what a label is."""
        return label

    @property
    def places(self) -> int:
        """How many numbers the rows add up to."""
        return 1

    def start(self) -> NDArray[np.int64]:
        """No rows."""
        return np.zeros(self.places + 1, dtype=np.int64)

    def add(self, before: NDArray[np.int64], keys: Held, labels: Held) -> NDArray[np.int64]:
        """Some more rows; the last number counts them."""
        places = self.given.places(keys)
        before[-1] += len(places)
        self._add(before, places, labels)
        return before

    @abstractmethod
    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None: ...


class RowTally(Tally):
    """A metric that is a mean of one whole number per row: 0 or 1 for a count, steps of `2**-30` for a loss."""

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        sums[0] += int(self._values(places, labels).sum(dtype=np.int64))

    def values(self, keys: Held, labels: Held) -> NDArray[np.int64]:
        """Return the number of each row of a batch. Secret."""
        return self._values(self.given.places(keys), labels)

    @abstractmethod
    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]: ...


class Hits(RowTally):
    """Rows whose prediction is their label; a row without a prediction or a label is none."""

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        return same(self.given, places, labels).astype(np.int64)


class Positives(Tally):
    """For F1: rows that are predicted positive; those of them, and those of the others, whose label is positive."""

    @property
    def places(self) -> int:
        """Predicted positive, rightly so, and missed."""
        return 3

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        self._positive = board.positive_as(self.label.kind)
        self._predicted = np.append(self.given.values == self._positive, False)

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        predicted, positive = self._predicted[places], equal(labels, self._positive)
        sums[0] += int(np.count_nonzero(predicted))
        sums[1] += int(np.count_nonzero(predicted & positive))
        sums[2] += int(np.count_nonzero(~predicted & positive))


class ProbabilityLoss(RowTally):
    """A loss of a probability: one table of whole steps for positive labels and one for the others."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return a probability."""
        return "number"

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        self._positive = board.positive_as(self.label.kind)
        shares = self.given.values
        if shares.min() < 0 or shares.max() > 1:
            raise InvalidParameter("predictions must be probabilities in [0, 1], and some are not")
        if board.metric == "brier":
            if_one, if_zero = (1 - shares) ** 2, shares**2
        else:
            # One logarithm after the other: a vectorised one may round differently from place to place.
            clipped = np.clip(shares, board.eps, 1 - board.eps).tolist()
            most = board.range[1]
            if_one = np.array([-math.log(share) / most for share in clipped])
            if_zero = np.array([-math.log1p(-share) / most for share in clipped])
        self._table = np.stack([_steps(if_zero), _steps(if_one)])

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        steps = self._table[equal(labels, self._positive).astype(np.intp), places]
        missing = _missing(labels)
        return np.asarray(steps if missing is None else np.where(missing, UNIT, steps), dtype=np.int64)


class AbsoluteError(RowTally):
    """The distance of prediction and label, both clipped to the declared range."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return a number, also where labels are whole."""
        return "number"

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        assert board.low is not None
        assert board.high is not None
        self._low, self._high = board.low, board.high
        self._scale = UNIT / (self._high - self._low)
        self._clipped = np.append(np.clip(self.given.values, self._low, self._high), 0.0)

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        missing = _missing(labels)
        values = np.asarray(labels[0]).astype(np.float64)
        values = np.clip(values if missing is None else np.where(missing, self._low, values), self._low, self._high)
        steps = np.minimum(np.floor(np.abs(self._clipped[places] - values) * self._scale), UNIT).astype(np.int64)
        worst = places == len(self.given)
        steps[worst if missing is None else worst | missing] = UNIT
        return steps


class SquaredError(AbsoluteError):
    """The squared distance of prediction and label, both clipped to the declared range."""

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        part = super()._values(places, labels) / UNIT
        return np.minimum(np.floor(part * part * UNIT), UNIT).astype(np.int64)


class Parts(SquaredError):
    """For R²: squared errors, labels, and squared distances of labels from the middle, each in steps of its range."""

    @property
    def places(self) -> int:
        """Three sums."""
        return 3

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        values = np.clip(np.asarray(labels[0]).astype(np.float64), self._low, self._high)
        part = (values - self._low) / (self._high - self._low)
        sums[0] += int(self._values(places, labels).sum(dtype=np.int64))
        sums[1] += int(np.floor(part * UNIT).astype(np.int64).sum())
        sums[2] += int(np.floor((2 * part - 1) ** 2 * UNIT).astype(np.int64).sum())


class Classes(Tally):
    """How many rows of each declared class are predicted as each; the last line and column are all other labels."""

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        self._classes = list(board.classes or ())
        predicted = np.full(len(self.given.values) + 1, len(self._classes), dtype=np.int64)
        for place, one in enumerate(self._classes):
            predicted[:-1][self.given.values == one] = place
        self._predicted = predicted

    @property
    def places(self) -> int:
        """A square of counts."""
        return (len(self._classes) + 1) ** 2

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        count = len(self._classes) + 1
        actual = np.full(len(places), count - 1, dtype=np.int64)
        for place, one in enumerate(self._classes):
            actual[equal(labels, one)] = place
        sums[:-1] += np.bincount(actual * count + self._predicted[places], minlength=count * count)


class Among(RowTally):
    """Rows whose label is one of the few that were predicted, a text such as `cat|dog`."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return a text."""
        return "text"

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        named = [text.split("|") for text in self.given.values]
        most = board.k or 1
        if max(map(len, named)) > most:
            raise InvalidParameter(f"predictions must each have at most {most} labels, with | between them")
        self._named = np.full((len(named) + 1, most), None, dtype=object)
        for place, labels in enumerate(named):
            self._named[place, : len(labels)] = labels

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        values, missing = labels
        texts = values.distinct if isinstance(values, Texts) else values.tolist()
        spelled = [str(one).lower() if isinstance(one, bool) else str(one) for one in texts]
        column = np.array(spelled, dtype=object)
        column = column[values.codes] if isinstance(values, Texts) else column
        hit = (self._named[places] == column[:, None]).any(axis=1)
        return np.asarray(hit if missing is None else hit & ~missing, dtype=np.int64)


class Expressed(RowTally):
    """The value of an expression over prediction and label, clipped to the declared range; null is the worst."""

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        assert board.low is not None
        assert board.high is not None
        self._low, self._high = board.low, board.high
        kind = self.kind(board, self.label.kind)
        self._columns = Schema([replace(self.label, nullable=False), Column(PREDICTION, kind, nullable=True)])
        self._expression = self._read("expression")

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return a number where labels are numbers."""
        return "number" if label in ("integer", "number") else label

    def _read(self, name: str) -> Expression:
        parsed = expression(getattr(self.board, name), self._columns)
        if parsed.kind not in ("number", "integer", "boolean"):
            raise InvalidParameter(
                f"{name} of board {self.board.name!r} must be an expression that is a number or a condition"
            )
        return parsed

    def _worst(self) -> float:
        return self._low if self.board.greater_is_better else self._high

    def _evaluated(self, made: Expression, places: NDArray[np.intp], labels: Held, null: float) -> NDArray[np.float64]:
        values, missing = labels
        held = np.array(values.distinct, dtype=object)[values.codes] if isinstance(values, Texts) else values
        absent = places == len(self.given)
        predicted = self.given.values[np.where(absent, 0, places)]
        columns = {
            self.label.name: numpy_columns.read(self._columns[self.label.name], held, missing),
            PREDICTION: numpy_columns.read(self._columns[PREDICTION], predicted, absent),
        }
        evaluated = numpy_columns.evaluate(made, columns, len(places))
        numbers = evaluated.array.astype(np.float64)
        return numbers if evaluated.null is None else np.where(evaluated.null, null, numbers)

    def _values(self, places: NDArray[np.intp], labels: Held) -> NDArray[np.int64]:
        values = np.clip(self._evaluated(self._expression, places, labels, self._worst()), self._low, self._high)
        return np.floor((values - self._low) / (self._high - self._low) * UNIT).astype(np.int64)


class Quotient(Expressed):
    """Two expressions: the denominator in steps of its largest value, and the numerator above its least likewise."""

    @property
    def places(self) -> int:
        """Two sums."""
        return 2

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        assert board.max_denominator is not None
        self._most = board.max_denominator
        self._denominator = self._read("denominator")

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        den = np.clip(self._evaluated(self._denominator, places, labels, self._most), 0.0, self._most)
        num = self._evaluated(self._expression, places, labels, math.nan)
        num = np.clip(np.where(np.isnan(num), self._worst() * den, num), self._low * den, self._high * den)
        over = (num - self._low * den) / (self._high - self._low)
        below = np.floor(den / self._most * UNIT).astype(np.int64)
        sums[0] += int(np.minimum(np.floor(over / self._most * UNIT).astype(np.int64), below).sum())
        sums[1] += int(below.sum())


class Ranks(Tally):
    """For the AUC: how many rows of either class have each different score; the lowest place is no prediction."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """Return a score."""
        return "number"

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        self._positive = board.positive_as(self.label.kind)
        different, ranks = np.unique(self.given.values, return_inverse=True)
        self._rank = np.append(ranks + 1, 0).astype(np.intp)
        self._many = len(different) + 1

    @property
    def places(self) -> int:
        """Two counts a score."""
        return 2 * self._many

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        cells = self._rank[places] + self._many * equal(labels, self._positive)
        sums[:-1] += np.bincount(cells, minlength=2 * self._many)


def prediction_kind(board: Board, label: Kind) -> Kind:
    """Return what a prediction is on a board, by what its label is.

    Examples
    --------
    >>> prediction_kind(Board("b", key="id", label="y", metric="brier"), "boolean")
    'number'
    """
    return _tally_of(board).kind(board, label)


def _tally_of(board: Board) -> type[Tally]:
    tallies: dict[str, type[Tally]] = {
        "accuracy": Hits,
        "f1": Positives,
        "auc": Ranks,
        "mae": AbsoluteError,
        "rmse": SquaredError,
        "r2": Parts,
        "top-k": Among,
        "mean": Expressed,
        "ratio": Quotient,
        **dict.fromkeys(OF_CLASSES, Classes),
    }
    return tallies.get(board.metric, ProbabilityLoss)


def tally(board: Board, schema: Schema, given: Any) -> Tally:
    """Return what a board adds up.

    Examples
    --------
    >>> board = Board("b", key="id", label="y", metric="accuracy")
    >>> counted = tally(board, Schema({"id": "integer", "y": "integer"}), {1: 0, 2: 1})
    >>> counted.add(counted.start(), (np.array([1, 2, 3]), None), (np.array([0, 0, 1]), None))
    array([1, 3])
    """
    return _tally_of(board)(board, schema, given)


def same(given: Predictions, places: NDArray[np.intp], labels: Held) -> NDArray[np.bool_]:
    """Return which rows' labels are what was predicted."""
    values, _ = labels
    known = places < len(given)
    predicted = given.values[np.where(known, places, 0)]
    if isinstance(values, Texts):
        alike = np.array(values.distinct, dtype=object)[values.codes] == predicted
    else:
        alike = values == predicted
    missing = _missing(labels)
    hit: NDArray[np.bool_] = known & alike.astype(np.bool_)
    return hit if missing is None else hit & ~missing


def equal(labels: Held, wanted: Any) -> NDArray[np.bool_]:
    """Return which rows have this label."""
    values, missing = labels
    if isinstance(values, Texts):
        distinct = np.array([text == wanted for text in values.distinct], dtype=np.bool_)
        matches: NDArray[np.bool_] = distinct[values.codes]
    else:
        matches = np.asarray(values == wanted, dtype=np.bool_)
    return matches if missing is None else matches & ~missing


def _missing(labels: Held) -> NDArray[np.bool_] | None:
    """Rows without a label; NaN is none."""
    values, missing = labels
    if isinstance(values, Texts) or values.dtype.kind != "f":
        return missing
    nan = np.isnan(values)
    return nan if missing is None else nan | missing


def _steps(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Losses as shares of the range in whole steps; the last place, no prediction, is the whole range."""
    return np.append(np.minimum(np.floor(shares * UNIT), UNIT), UNIT).astype(np.int64)


# --- Making -----------------------------------------------------------------------------------------------------------
# Predictions that are yet to be made from hidden rows, by something that was submitted in their place.

_SOME: dict[Kind, Any] = {"boolean": False, "integer": 0, "number": 0.5, "text": ""}


class Making(ABC):
    """Something that predicts, such as a model.

    `digest` and `count` are what the ledger says of it; they go by what was submitted and by nothing in a row.
    """

    digest: str
    count: int

    @abstractmethod
    def make(self, sample: Sample, board: Board) -> Predictions | None:
        """Predict for every row, after the submission was let in; None where that could not be finished.

        No error and no time may go by what a row holds: a row without a usable prediction has none, which counts as
        the worst. A prediction must go by its row alone, as the interval of a score assumes. Whether it was finished
        may go by all rows: it is shown, and paid for as one more thing that a failure could have shown.
        """

    def told(self, made: Predictions) -> Predictions:
        """Return the same predictions under the digest and the count of what was submitted."""
        return replace(made, digest=self.digest, count=self.count)

    def stand_in(self, board: Board, schema: Schema) -> Predictions:
        """Return a prediction that is never scored, for checking a submission before any row is read."""
        key, kind = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
        return self.told(predictions({_SOME[key]: _SOME[kind]}, board.key, key, kind))
