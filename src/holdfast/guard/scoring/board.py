"""A board: what submissions are scored by and how much of a score is shown. Part of the policy, fixed at opening."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Self, get_args

import numpy as np

from holdfast.core import arguments
from holdfast.data.fingerprint import Batch
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter

Metric = Literal["accuracy", "log-loss", "brier", "mae", "auc", "f1"]
Rule = Literal["intervals", "ladder"]
Best = Literal["analyst", "board"]

METRICS: tuple[Metric, ...] = get_args(Metric)
RISING = ("accuracy", "auc", "f1")
"""Metrics of which more is better; of the others less is."""
MEANS = ("accuracy", "log-loss", "brier", "mae")
"""Metrics that are a mean over the rows."""
_BINARY = ("log-loss", "brier", "auc", "f1")
_LONGEST_NAME = 100
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class Board:
    """What submissions are scored by.

    Parameters
    ----------
    name : str
        What submissions call it.
    key : str
        The column that names a row: whole numbers or texts. Predictions are given by it.
    label : str
        The column with the hidden labels.
    metric : str
        "accuracy" (share of rows whose prediction is the label), "log-loss" (nats, probabilities clipped to
        `[eps, 1 - eps]`), "brier" (mean squared error of a probability), "mae" (mean absolute error, label and
        prediction clipped to `[low, high]`), "auc", or "f1". scikit-learn's names of these, such as "accuracy_score" or
        "neg_log_loss", are understood; a loss is not negated.
    rule : str
        "intervals": a submission states a guess of its score, which is checked. "ladder": only improvements show a
        score (Blum and Hardt 2015).
    step : float, optional
        For the ladder: scores are rounded to steps of this length, or a little less so that a whole number of them
        is the metric's range. One is shown if, so rounded, it beats the best so far by a step or more; a score that
        beats the best by a step before rounding does so after it, unless the best was the worst possible one. For AUC
        and F1 the rounded score is the middle of the interval that is shown. By default a hundredth of the range.
    best : str
        For the ladder: whether a submission must beat the best of its "analyst" or of the whole "board".
    positive : optional
        The label that a probability is about, for log-loss, Brier, AUC and F1. By default true, or 1 where labels are
        0 and 1; where there are others it must be given.
    eps : float
        For log-loss: probabilities are clipped to `[eps, 1 - eps]`, so that a loss is at most `-ln(eps)`.
    low, high : float, optional
        For the mean absolute error: the range of the label.
    models : bool
        Whether a model may be submitted in the place of predictions, to a server that evaluates it on the hidden rows
        (docs/onnx.md).
    public_keys : bool
        Whether analysts may know which keys there are, because they have the rows without their labels. Then a
        submission that names none of them is refused, and nothing is spent. By default keys are secret, and such a
        submission is scored: to refuse it would tell that these keys are not there.

    Examples
    --------
    >>> board = Board("income", key="id", label="rich", metric="log-loss", eps=0.01)
    >>> board.range, board.rising
    ((0.0, 4.605...), False)
    >>> Board.from_dict(board.to_dict()) == board
    True
    """

    name: str
    key: str
    label: str
    metric: Metric
    rule: Rule = "intervals"
    step: float | None = None
    best: Best = "analyst"
    positive: str | int | float | bool | None = None
    eps: float = 0.01
    low: float | None = None
    high: float | None = None
    models: bool = False
    public_keys: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("name", "key", "label"):
            value = getattr(self, name)
            if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
                raise InvalidParameter(f"{name} of a board must be a printable text of at most {_LONGEST_NAME} letters")
        if ":" in self.name:
            raise InvalidParameter("name of a board must have no colon")
        for name in ("models", "public_keys"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name} must be true or false")
        if self.key == self.label:
            raise InvalidParameter("key and label of a board must be two columns")
        put(self, "metric", arguments.metric(self.metric, METRICS))
        arguments.choice("rule", self.rule, get_args(Rule))
        arguments.choice("best", self.best, get_args(Best))
        if self.positive is not None and not isinstance(self.positive, (str, int, float)):
            raise InvalidParameter("positive must be a text, a number or a truth value")
        put(self, "eps", arguments.real("eps", self.eps, at_least=1e-12, below=0.5))
        if self.metric == "mae":
            if self.low is None or self.high is None:
                raise InvalidParameter("low and high must be given for mae: labels and predictions are clipped to them")
            low, high = arguments.value_range(self.low, self.high)
            put(self, "low", low)
            put(self, "high", high)
        elif self.low is not None or self.high is not None:
            raise InvalidParameter("low and high must be left out unless metric is mae")
        if self.rule == "ladder":
            length = self.range[1] - self.range[0]
            step = length / 100 if self.step is None else self.step
            put(self, "step", arguments.real("step", step, at_least=length / _MOST_STEPS, at_most=length))
        elif self.step is not None:
            raise InvalidParameter("step must be left out unless rule is ladder")

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest score."""
        if self.metric == "log-loss":
            return 0.0, -math.log(self.eps)
        if self.metric == "mae":
            assert self.low is not None
            assert self.high is not None
            return 0.0, self.high - self.low
        return 0.0, 1.0

    @property
    def rising(self) -> bool:
        """Whether more is better."""
        return self.metric in RISING

    def check_schema(self, schema: Schema) -> None:
        """Refuse a board whose columns are not there, or not of a kind that it can score."""
        for name in (self.key, self.label):
            if name not in schema:
                raise InvalidParameter(f"board {self.name!r} must name columns of the sample, got {name!r}")
        if schema[self.key].kind not in ("integer", "text"):
            raise InvalidParameter(f"key of board {self.name!r} must be a column of whole numbers or texts")
        for name in (self.key, self.label):
            if schema[name].nullable:
                raise InvalidParameter(
                    f"column {name!r} of board {self.name!r} must have a value in every row, and some are missing: "
                    "such rows would count against every submission; guard the rows that have one"
                )
        kind = schema[self.label].kind
        if kind in ("date", "timestamp", "timestamptz"):
            raise InvalidParameter(
                f"label of board {self.name!r} must be a number, a truth value or a text, got a {kind}"
            )
        if self.metric == "mae" and kind not in ("integer", "number"):
            raise InvalidParameter(f"label of board {self.name!r} must be a column of numbers for mae")
        if self.metric in _BINARY:
            self.positive_as(kind)

    def check_sample(self, sample: Sample) -> None:
        """Refuse a board that does not fit the columns, or whose label has more classes than it says what to do with.

        For opening: it reads the labels, and whoever opens a guard may know what it says.
        """
        self.check_schema(sample.schema)
        if not self.lacks_positive(sample.schema):
            return

        def others(before: bool, batch: Batch) -> bool:
            values, missing = batch[self.label]
            plain = np.asarray(values)
            other = ~np.isin(plain, (0, 1)) & ~np.isnan(plain.astype(np.float64))
            return before or bool(np.any(other if missing is None else other & ~missing))

        if sample.fold([self.label], bool, others):
            raise InvalidParameter(
                f"positive of board {self.name!r} must be given: its label has other values than 0 and 1, and "
                f"{self.metric} is about one of them"
            )

    def lacks_positive(self, schema: Schema) -> bool:
        """Whether the positive label is 1 by default, and the columns do not say that labels are 0 and 1."""
        column = schema[self.label]
        if self.metric not in _BINARY or self.positive is not None or column.kind not in ("integer", "number"):
            return False
        return column.values is None or not set(column.values) <= {0, 1}

    def positive_as(self, kind: str) -> str | int | float | bool:
        """The positive label as a value of the label's kind."""
        given = self.positive
        fits: Any = {"boolean": bool, "integer": int, "number": (int, float), "text": str}[kind]
        if given is None and kind in ("boolean", "integer", "number"):
            return True if kind == "boolean" else 1
        if given is None or not isinstance(given, fits) or (isinstance(given, bool) and kind != "boolean"):
            raise InvalidParameter(f"positive of board {self.name!r} must be a value of its label, a {kind}")
        return given

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Read a board back."""
        names = [one.name for one in fields(cls)]
        if not isinstance(plain, Mapping) or not set(plain) <= set(names):
            raise InvalidParameter(f"a board must be a mapping with {', '.join(names)}")
        missing = [name for name in ("name", "key", "label", "metric") if name not in plain]
        if missing:
            raise InvalidParameter(f"a board must have {', '.join(missing)}")
        return cls(**plain)


def checked_boards(given: Any) -> tuple[Board, ...] | None:
    """The boards of a policy, each under a name of its own."""
    if given is None:
        return None
    if isinstance(given, (str, Mapping)) or not isinstance(given, (list, tuple)) or not 0 < len(given) <= 100:
        raise InvalidParameter("boards must be a list of 1 to 100 boards")
    boards = tuple(one if isinstance(one, Board) else Board.from_dict(one) for one in given)
    if len({board.name for board in boards}) < len(boards):
        raise InvalidParameter("boards must have names of their own")
    return boards


def chosen(boards: Sequence[Board] | None, name: str | None) -> Board:
    """The board of this name, or the only one there is where none is named.

    Examples
    --------
    >>> boards = [Board(name, key="id", label="y", metric="accuracy") for name in ("a", "b")]
    >>> chosen(boards, "b").name, chosen(boards[:1], None).name
    ('b', 'a')
    """
    fitting = [board for board in boards or () if name in (None, board.name)]
    if len(fitting) != 1:
        if not boards:
            raise InvalidParameter("this guard has no board: a steward declares boards in its policy")
        raise InvalidParameter(f"board must name one of the guard's boards: {', '.join(one.name for one in boards)}")
    return fitting[0]
