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

from holdfast.data.fingerprint import Held, Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Column, Kind, Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.predictions import Predictions, predictions

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
        """What a prediction is, by what a label is."""
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


class Hits(Tally):
    """Rows whose prediction is their label; a row without a prediction or a label is none."""

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        sums[0] += int(np.count_nonzero(same(self.given, places, labels)))


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


class ProbabilityLoss(Tally):
    """A loss of a probability: one table of whole steps for positive labels and one for the others."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """A probability."""
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

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        steps = self._table[equal(labels, self._positive).astype(np.intp), places]
        missing = _missing(labels)
        sums[0] += int((steps if missing is None else np.where(missing, UNIT, steps)).sum(dtype=np.int64))


class AbsoluteError(Tally):
    """The distance of prediction and label, both clipped to the declared range."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """A number, also where labels are whole."""
        return "number"

    def __init__(self, board: Board, schema: Schema, given: Any) -> None:
        super().__init__(board, schema, given)
        assert board.low is not None
        assert board.high is not None
        self._low, self._high = board.low, board.high
        self._scale = UNIT / (self._high - self._low)
        self._clipped = np.append(np.clip(self.given.values, self._low, self._high), 0.0)

    def _add(self, sums: NDArray[np.int64], places: NDArray[np.intp], labels: Held) -> None:
        missing = _missing(labels)
        values = np.asarray(labels[0]).astype(np.float64)
        values = np.clip(values if missing is None else np.where(missing, self._low, values), self._low, self._high)
        steps = np.minimum(np.floor(np.abs(self._clipped[places] - values) * self._scale), UNIT).astype(np.int64)
        worst = places == len(self.given)
        steps[worst if missing is None else worst | missing] = UNIT
        sums[0] += int(steps.sum(dtype=np.int64))


class Ranks(Tally):
    """For the AUC: how many rows of either class have each different score; the lowest place is no prediction."""

    @staticmethod
    def kind(board: Board, label: Kind) -> Kind:
        """A score."""
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
    """What a prediction is on a board, by what its label is.

    Examples
    --------
    >>> prediction_kind(Board("b", key="id", label="y", metric="brier"), "boolean")
    'number'
    """
    return _tally_of(board).kind(board, label)


def _tally_of(board: Board) -> type[Tally]:
    made: dict[str, type[Tally]] = {"accuracy": Hits, "f1": Positives, "auc": Ranks, "mae": AbsoluteError}
    return made.get(board.metric, ProbabilityLoss)


def tally(board: Board, schema: Schema, given: Any) -> Tally:
    """What a board adds up.

    Examples
    --------
    >>> board = Board("b", key="id", label="y", metric="accuracy")
    >>> counted = tally(board, Schema({"id": "integer", "y": "integer"}), {1: 0, 2: 1})
    >>> counted.add(counted.start(), (np.array([1, 2, 3]), None), (np.array([0, 0, 1]), None))
    array([1, 3])
    """
    return _tally_of(board)(board, schema, given)


def same(given: Predictions, places: NDArray[np.intp], labels: Held) -> NDArray[np.bool_]:
    """Which rows' labels are what was predicted."""
    values, _ = labels
    known = places < len(given)
    predicted = given.values[np.where(known, places, 0)]
    if isinstance(values, Texts):
        found = np.array(values.distinct, dtype=object)[values.codes] == predicted
    else:
        found = values == predicted
    missing = _missing(labels)
    hit: NDArray[np.bool_] = known & found.astype(np.bool_)
    return hit if missing is None else hit & ~missing


def equal(labels: Held, wanted: Any) -> NDArray[np.bool_]:
    """Which rows have this label."""
    values, missing = labels
    if isinstance(values, Texts):
        distinct = np.array([text == wanted for text in values.distinct], dtype=np.bool_)
        found: NDArray[np.bool_] = distinct[values.codes]
    else:
        found = np.asarray(values == wanted, dtype=np.bool_)
    return found if missing is None else found & ~missing


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
        """The same predictions under the digest and the count of what was submitted."""
        return replace(made, digest=self.digest, count=self.count)

    def stand_in(self, board: Board, schema: Schema) -> Predictions:
        """A prediction that is never scored, for checking a submission before any row is read."""
        key, kind = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
        return self.told(predictions({_SOME[key]: _SOME[kind]}, board.key, key, kind))
