"""Predictions that are yet to be made from hidden rows, by something that was submitted in their place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from holdfast.data.sample import Sample
from holdfast.data.schema import Kind, Schema
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.predictions import Predictions, predictions
from holdfast.guard.scoring.tally import prediction_kind

_SOME: dict[Kind, Any] = {"boolean": False, "integer": 0, "number": 0.5, "text": ""}


class Making(ABC):
    """Something that predicts, such as a model.

    `digest` and `count` are what the ledger says of it; they go by what was submitted and by nothing in a row.
    """

    digest: str
    count: int

    @abstractmethod
    def make(self, sample: Sample, board: Board) -> Predictions:
        """Predict for every row, after the submission was let in.

        No error and no time may go by what a row holds: a row without a usable prediction has none, which counts as
        the worst. A prediction must go by its row alone, as the interval of a score assumes.
        """

    def told(self, made: Predictions) -> Predictions:
        """The same predictions under the digest and the count of what was submitted."""
        return replace(made, digest=self.digest, count=self.count)

    def stand_in(self, board: Board, schema: Schema) -> Predictions:
        """A prediction that is never scored, for checking a submission before any row is read."""
        key, kind = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
        return self.told(predictions({_SOME[key]: _SOME[kind]}, board.key, key, kind))


__all__ = ["Making"]
