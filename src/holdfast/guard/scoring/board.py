"""A board: what submissions are scored by and how much of a score is shown. Part of the policy, fixed at opening."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from holdfast.core import arguments
from holdfast.data.fingerprint import Batch
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring import deadlines_and_quotas

Metric = Literal[
    "accuracy",
    "log-loss",
    "brier",
    "mae",
    "auc",
    "f1",
    "balanced-accuracy",
    "macro-f1",
    "kappa",
    "top-k",
    "rmse",
    "r2",
    "mean",
    "ratio",
]
Rule = Literal["intervals", "ladder", "open"]
Best = Literal["analyst", "board"]

METRICS: tuple[Metric, ...] = get_args(Metric)
RISING = ("accuracy", "auc", "f1", "balanced-accuracy", "macro-f1", "kappa", "top-k", "r2")
"""Metrics of which more is better; of "mean" and "ratio" the board says it, and of the others less is."""
MEANS = ("accuracy", "top-k", "log-loss", "brier", "mae", "mean")
"""Metrics that are a mean over the rows."""
COUNTS = ("accuracy", "top-k")
"""Metrics that count rows."""
OF_CLASSES = ("balanced-accuracy", "macro-f1", "kappa")
"""Metrics of several declared classes."""
WITH_RANGE = ("mae", "rmse", "r2")
"""Metrics of a number whose range must be declared."""
OF_EXPRESSIONS = ("mean", "ratio")
"""Metrics of one's own."""
MOST_CLASSES = 200
_BINARY = ("log-loss", "brier", "auc", "f1")
_LONGEST_NAME = 100
MOST_BY = 50
"""Groups in which the final of a board can show its metric."""
MOST_CHOSEN = 10
"""Submissions of one participant that a board can let take part in a final."""
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class Board:
    """A leaderboard: the hidden labels, the metric and the rule by which submissions are scored.

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
        prediction clipped to `[low, high]`), "auc", "f1", "balanced-accuracy", "macro-f1" and "kappa" (Cohen's) over
        `classes`, "top-k" (share of rows whose label is among the `k` that were predicted), "rmse" and "r2" (labels and
        predictions clipped to `[low, high]`), "mean" (of an expression) or "ratio" (of two). scikit-learn's names of
        these, such as "accuracy_score" or "neg_log_loss", are understood; a loss is not negated.
    rule : str
        "intervals": a submission claims its score, which is checked ("checked" means the same). "ladder": only
        improvements show a score (Blum and Hardt 2015). "open": every submission shows its plain score on the explored
        rows, which is not certified; it needs `reserve` in the policy, whose rows decide at the end.
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
        For "mae", "rmse" and "r2": the range of the label. For "mean" and "ratio": the range of the score, to which
        every row's value is clipped.
    classes : sequence, optional
        For "balanced-accuracy", "macro-f1" and "kappa": the labels that there are, at least two.
    k : int, optional
        For "top-k": how many labels a prediction may name, as a text with `|` between them. By default 5.
    expression, denominator : str, optional
        For "mean": a row expression over `prediction` and the label's column, such as "abs(prediction - y)". For
        "ratio": its mean divided by that of the denominator, which is clipped to `[0, max_denominator]`.
    max_denominator : float, optional
        For "ratio": the largest value of the denominator.
    greater_is_better : bool
        For "mean" and "ratio": whether more is better.
    also : sequence of str
        Further metrics of the same predictions that the final of a contest shows next to the main one.
    by : str, optional
        A column of groups of people or things, such as "sex". The final of a contest shows the metric in each of its
        groups too, with intervals that hold together with all others. It needs `reserve` in the policy.
    by_values : sequence, optional
        The groups of that column: its values, at most 50. They are needed unless it is a column of truth values, and
        are public.
    models : bool
        Whether a model may be submitted in the place of predictions, to a server that evaluates it on the hidden rows
        (docs/onnx.md).
    public_keys : bool
        Whether analysts may know which keys there are, because they have the rows without their labels. Then a
        submission that names none of them is refused, and nothing is spent. By default keys are secret, and such a
        submission is scored: to refuse it would tell that these keys are not there.
    baseline : float, optional
        The public score of a baseline. It stands for the claimed score of a submission that claims none, where one is
        needed: of every submission by "intervals", and of the first one on a ladder.
    known_rows : bool
        Whether submitters may know the rows, so that only the labels are left to chance. By default the final of a
        contest assumes that rows are drawn independently from one population, and compares submissions by exact sign
        tests. With this it assumes less, and its comparisons are wider.
    deadline : str, datetime or sequence of these, optional
        Until when submissions are taken and participants choose among theirs: "2026-12-01T23:59 Europe/Berlin", a time
        with an offset, or a time in UTC. A list has one for each phase. The final can be held after it.
    quota, daily : int, optional
        How many submissions each participant may make in all, and on one day of UTC. The same submission again is
        free and counts once.
    finalists : int
        How many submissions each participant may choose for a final, at most 10. Every one more makes the final's
        comparisons a little wider for everybody.
    groups : str, optional
        The column that says which rows belong together, such as the patient of a visit. Then each group counts once,
        with the mean of its rows, and groups in place of rows are assumed to be independent. For metrics that are a
        mean: "accuracy", "top-k", "log-loss", "brier", "mae" and "mean". A reserve takes groups as a whole.
    group_counts : sequence of int, optional
        How many groups the explored rows and each reserve have; counted when the guard is opened.
    public : bool
        Whether a server shows the board and the results of its finals to everybody, without a token. Names of
        participants are public then.

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
    baseline: float | None = None
    known_rows: bool = False
    classes: Sequence[Any] | None = None
    k: int | None = None
    expression: str | None = None
    denominator: str | None = None
    max_denominator: float | None = None
    greater_is_better: bool = False
    also: Sequence[Metric] = ()
    by: str | None = None
    by_values: Sequence[Any] | None = None
    deadline: Sequence[str] | str | None = None
    quota: int | None = None
    daily: int | None = None
    finalists: int = 2
    public: bool = False
    groups: str | None = None
    group_counts: Sequence[int] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("name", "key", "label"):
            value = getattr(self, name)
            if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
                raise InvalidParameter(f"{name} of a board must be a printable text of at most {_LONGEST_NAME} letters")
        if ":" in self.name:
            raise InvalidParameter("name of a board must have no colon")
        for name in ("models", "public_keys", "known_rows", "greater_is_better", "public"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name} must be true or false")
        if self.key == self.label:
            raise InvalidParameter("key and label of a board must be two different columns")
        put(self, "metric", arguments.metric(self.metric, METRICS))
        put(self, "rule", "intervals" if self.rule == "checked" else self.rule)  # type: ignore[comparison-overlap]
        arguments.choice("rule", self.rule, get_args(Rule))
        arguments.choice("best", self.best, get_args(Best))
        if self.positive is not None and not isinstance(self.positive, (str, int, float)):
            raise InvalidParameter("positive must be a text, a number or a truth value")
        put(self, "eps", arguments.real("eps", self.eps, at_least=1e-12, below=0.5))
        also = self.also
        if isinstance(also, str) or not isinstance(also, Sequence):
            raise InvalidParameter("also must be a list of metrics")
        put(self, "also", tuple(dict.fromkeys(arguments.metric(one, METRICS) for one in also)))
        if self.metric in self.also:
            raise InvalidParameter(f"also must not contain the main metric of the board, {self.metric}")
        put(self, "deadline", None if self.deadline is None else deadlines_and_quotas.stored_deadlines(self.deadline))
        for name in ("quota", "daily"):
            most = getattr(self, name)
            put(self, name, None if most is None else arguments.whole(name, most, at_least=1, at_most=10**6))
        put(self, "finalists", arguments.whole("finalists", self.finalists, at_least=1, at_most=MOST_CHOSEN))
        self._check_groups()
        self._check_by()
        self._check_range()
        self._check_classes()
        self._check_expressions()
        if self.rule == "ladder":
            length = self.range[1] - self.range[0]
            step = length / 100 if self.step is None else self.step
            put(self, "step", arguments.real("step", step, at_least=length / _MOST_STEPS, at_most=length))
        elif self.step is not None:
            raise InvalidParameter("step must be left out unless rule is ladder")
        if self.baseline is not None:
            low, high = self.range
            put(self, "baseline", arguments.real("baseline", self.baseline, at_least=low, at_most=high))
            if self.rule == "open":
                raise InvalidParameter(
                    "baseline must be left out if rule is open, because an open board does not check scores"
                )

    def _check_groups(self) -> None:
        if self.groups is None:
            if self.group_counts is not None:
                raise InvalidParameter("group_counts must be left out if groups is not given")
            return
        if not isinstance(self.groups, str) or not 0 < len(self.groups) <= _LONGEST_NAME:
            raise InvalidParameter("groups must be the name of a column")
        if self.groups == self.label:
            raise InvalidParameter("groups must be a different column from the label")
        other = next((one for one in (self.metric, *self.also) if one not in MEANS), None)
        if other is not None:
            raise InvalidParameter(
                f"groups must be left out for {other}, which is not a mean over rows; metrics that can be averaged "
                f"over groups are {', '.join(MEANS)}"
            )
        if self.models:
            raise InvalidParameter("groups must be left out if the board accepts models")
        if self.group_counts is not None:
            counts = [arguments.whole("group_counts", one, at_least=1) for one in self.group_counts]
            object.__setattr__(self, "group_counts", tuple(counts))

    def _check_by(self) -> None:
        if self.by is None:
            if self.by_values is not None:
                raise InvalidParameter("by_values must be left out unless by names a column")
            return
        if not isinstance(self.by, str) or not 0 < len(self.by) <= _LONGEST_NAME:
            raise InvalidParameter("by must be the name of a column")
        if self.by in (self.key, self.label):
            raise InvalidParameter("by must be another column than the key and the label")
        if self.groups is not None:
            raise InvalidParameter("by must be left out where groups is given: a group's rows may be in several of by")
        values = self.by_values
        if values is None:
            return
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise InvalidParameter("by_values must be a list of values of the column")
        different = {(type(one), one) for one in values if isinstance(one, (str, int, bool))}
        if len(different) < len(values) or not 1 <= len(values) <= MOST_BY:
            raise InvalidParameter(f"by_values must be 1 to {MOST_BY} different texts, whole numbers or truth values")
        object.__setattr__(self, "by_values", tuple(values))

    @property
    def by_groups(self) -> tuple[Any, ...]:
        """Return the groups that the final shows the metric of."""
        if self.by is None:
            return ()
        return (False, True) if self.by_values is None else tuple(self.by_values)

    def units(self, rows: int, phase: int = 0) -> int:
        """Return the number of values (rows, or groups of rows) whose mean a score is: of the explored rows, or of the
        rows that are reserved for a phase.
        """
        if self.groups is None:
            return rows
        if self.group_counts is None:
            raise InvalidParameter(
                f"groups of board {self.name!r} must be counted first, which happens when a guard is opened"
            )
        return self.group_counts[phase]

    def _asks(self, *metrics: str) -> str | None:
        """The first of the board's metrics that is one of these."""
        return next((one for one in (self.metric, *self.also) if one in metrics), None)

    def _check_range(self) -> None:
        asks = self._asks(*WITH_RANGE, *OF_EXPRESSIONS)
        if asks is None:
            if self.low is not None or self.high is not None:
                raise InvalidParameter(
                    f"low and high must be left out unless metric is one of {', '.join((*WITH_RANGE, *OF_EXPRESSIONS))}"
                )
            return
        if self.low is None or self.high is None:
            raise InvalidParameter(f"low and high must be given for {asks}, because values are clipped to them")
        low, high = arguments.value_range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _check_classes(self) -> None:
        asks, given = self._asks(*OF_CLASSES), self.classes
        if asks is None and given is not None:
            raise InvalidParameter(f"classes must be left out unless metric is one of {', '.join(OF_CLASSES)}")
        if asks is not None:
            if given is None or isinstance(given, str) or not isinstance(given, Sequence):
                raise InvalidParameter(f"classes must be given for {asks}: the list of all labels")
            known = {(type(one), one) for one in given if isinstance(one, (str, int, bool))}
            if len(known) < len(given) or not 2 <= len(given) <= MOST_CLASSES:
                raise InvalidParameter(
                    f"classes must be 2 to {MOST_CLASSES} different texts, whole numbers or truth values"
                )
            object.__setattr__(self, "classes", tuple(given))
        if self._asks("top-k") is not None:
            k = 5 if self.k is None else arguments.whole("k", self.k, at_least=1, at_most=1000)
            object.__setattr__(self, "k", k)
        elif self.k is not None:
            raise InvalidParameter("k must be left out unless metric is top-k")

    def _check_expressions(self) -> None:
        for name, metrics in (
            ("expression", OF_EXPRESSIONS),
            ("denominator", ("ratio",)),
            ("max_denominator", ("ratio",)),
        ):
            asks, given = self._asks(*metrics), getattr(self, name)
            if asks is None and given is not None:
                raise InvalidParameter(f"{name} must be left out unless metric is {' or '.join(metrics)}")
            if asks is not None and given is None:
                raise InvalidParameter(f"{name} must be given for {asks}")
        if self._asks("mean") and self._asks("ratio"):
            raise InvalidParameter(
                "also must not have both a mean and a ratio of expressions, because a board has only one expression"
            )
        if self.max_denominator is not None:
            most = arguments.real("max_denominator", self.max_denominator, above=0, at_most=1e100)
            object.__setattr__(self, "max_denominator", most)
        for name in ("expression", "denominator"):
            text = getattr(self, name)
            if text is not None and (not isinstance(text, str) or not 0 < len(text) <= 1000):
                raise InvalidParameter(f"{name} must be a text of at most 1,000 letters")

    def of(self, metric: Metric) -> Board:
        """Return the same board with one of its other metrics as the main one."""
        return replace(self, metric=metric, also=(), **self._without(metric))

    def _without(self, metric: str) -> dict[str, Any]:
        """What the other metric does not take."""
        takes = {
            ("low", "high"): (*WITH_RANGE, *OF_EXPRESSIONS),
            ("classes",): OF_CLASSES,
            ("k",): ("top-k",),
            ("expression",): OF_EXPRESSIONS,
            ("denominator", "max_denominator"): ("ratio",),
        }
        unused = {name: None for names, metrics in takes.items() if metric not in metrics for name in names}
        return unused | {"rule": "intervals", "step": None, "baseline": None}

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest possible score."""
        if self.metric == "log-loss":
            return 0.0, -math.log(self.eps)
        if self.metric in ("kappa", "r2"):
            return -1.0, 1.0
        if self.metric in ("mae", "rmse", *OF_EXPRESSIONS):
            assert self.low is not None
            assert self.high is not None
            return (self.low, self.high) if self.metric in OF_EXPRESSIONS else (0.0, self.high - self.low)
        return 0.0, 1.0

    @property
    def rising(self) -> bool:
        """Whether a larger score is better."""
        return self.greater_is_better if self.metric in OF_EXPRESSIONS else self.metric in RISING

    @property
    def counts(self) -> bool:
        """Whether the score is computed from counts of rows."""
        return self.metric in COUNTS and self.groups is None

    def check_schema(self, schema: Schema) -> None:
        """Raise an error if the data has not all columns of the board, or if they have kinds that the board cannot
        score.
        """
        for name in (self.key, self.label, *(() if self.groups is None else (self.groups,))):
            if name not in schema:
                raise InvalidParameter(f"board {self.name!r} must use columns of the data set, got {name!r}")
        if schema[self.key].kind not in ("integer", "text"):
            raise InvalidParameter(f"key of board {self.name!r} must be a column of whole numbers or texts")
        if self.groups is not None and schema[self.groups].kind not in ("integer", "text"):
            raise InvalidParameter(f"groups of board {self.name!r} must be a column of whole numbers or texts")
        if self.groups is not None and schema[self.groups].nullable:
            raise InvalidParameter(
                f"column {self.groups!r} of board {self.name!r} must have a value (the group) in every row"
            )
        for name in (self.key, self.label):
            if schema[name].nullable:
                raise InvalidParameter(
                    f"column {name!r} of board {self.name!r} must have a value in every row, and some are missing; "
                    "rows without one would lower the score of every submission, so open the guard without these rows"
                )
        self._check_by_column(schema)
        kind = schema[self.label].kind
        if kind in ("date", "timestamp", "timestamptz"):
            raise InvalidParameter(
                f"label of board {self.name!r} must be a number, a truth value or a text, got a {kind}"
            )
        numeric = self._asks(*WITH_RANGE)
        if numeric is not None and kind not in ("integer", "number"):
            raise InvalidParameter(f"label of board {self.name!r} must be a column of numbers for {numeric}")
        if self._asks(*_BINARY) is not None:
            self.positive_as(kind)
        takes = {one: _takes(one, kind) for one in (self.metric, *self.also)}
        if len(set(takes.values())) > 1:
            kinds_words = ", ".join(f"{one} takes a {what}" for one, what in takes.items())
            raise InvalidParameter(
                f"also of board {self.name!r} must have metrics of the same kind of prediction as the main metric: "
                f"{kinds_words}"
            )
        fits: Any = {"boolean": bool, "integer": int, "text": str}.get(kind)
        for one in self.classes or ():
            if fits is None or not isinstance(one, fits) or (isinstance(one, bool) and kind != "boolean"):
                raise InvalidParameter(
                    f"classes of board {self.name!r} must be values of its label column, whose kind is {kind}"
                )

    def _check_by_column(self, schema: Schema) -> None:
        if self.by is None:
            return
        if self.by not in schema:
            raise InvalidParameter(f"by of board {self.name!r} must name a column of the sample, got {self.by!r}")
        kind = schema[self.by].kind
        fits: Any = {"boolean": bool, "integer": int, "text": str}.get(kind)
        if fits is None:
            raise InvalidParameter(
                f"by of board {self.name!r} must be a column of texts, whole numbers or truth values, got a {kind}"
            )
        if self.by_values is None and kind != "boolean":
            raise InvalidParameter(f"by_values of board {self.name!r} must list the values of {self.by!r}, a {kind}")
        for one in self.by_values or ():
            if not isinstance(one, fits) or (isinstance(one, bool) and kind != "boolean"):
                raise InvalidParameter(f"by_values of board {self.name!r} must be values of {self.by!r}, a {kind}")

    def check_sample(self, sample: Sample) -> None:
        """Raise an error if the board does not fit the columns, or if `positive` is missing although the label has
        other values than 0 and 1.

        It is called only when a guard is opened, because the error can reveal something about the labels, which whoever
        opens a guard may know.
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
                f"positive of board {self.name!r} must be given, because its label has other values than 0 and 1, and "
                f"{self.metric} needs one of them as the positive label"
            )

    def lacks_positive(self, schema: Schema) -> bool:
        """Return whether the positive label must still be given: it is 1 by default, and the schema does not say that
        all labels are 0 and 1.
        """
        column = schema[self.label]
        if self._asks(*_BINARY) is None or self.positive is not None or column.kind not in ("integer", "number"):
            return False
        return column.values is None or not set(column.values) <= {0, 1}

    def positive_as(self, kind: str) -> str | int | float | bool:
        """Return the positive label as a value of the same kind as the label column."""
        given = self.positive
        fits: Any = {"boolean": bool, "integer": int, "number": (int, float), "text": str}[kind]
        if given is None and kind in ("boolean", "integer", "number"):
            return True if kind == "boolean" else 1
        if given is None or not isinstance(given, fits) or (isinstance(given, bool) and kind != "boolean"):
            raise InvalidParameter(
                f"positive of board {self.name!r} must be a value of its label column, whose kind is {kind}"
            )
        return given

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        lists: dict[str, Any] = {
            "classes": None if self.classes is None else list(self.classes),
            "also": list(self.also),
            "by_values": None if self.by_values is None else list(self.by_values),
        }
        lists["group_counts"] = None if self.group_counts is None else list(self.group_counts)
        return plain | lists | {"deadline": None if self.deadline is None else list(self.deadline)}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Make a board from the plain data that `to_dict` returned."""
        names = [one.name for one in fields(cls)]
        if not isinstance(plain, Mapping) or not set(plain) <= set(names):
            raise InvalidParameter(f"a board must be a mapping with no other fields than {', '.join(names)}")
        missing = [name for name in ("name", "key", "label", "metric") if name not in plain]
        if missing:
            raise InvalidParameter(
                f"a board must have the fields name, key, label and metric, and this one has no {', '.join(missing)}"
            )
        return cls(**plain)


def _takes(metric: str, label: str) -> str:
    """What kind of value a metric takes as a prediction, by what a label is."""
    if metric in ("log-loss", "brier"):
        return "probability"
    if metric in ("auc", *WITH_RANGE) or (metric in OF_EXPRESSIONS and label == "integer"):
        return "number"
    return "text of labels" if metric == "top-k" else label


def checked_boards(given: Any) -> tuple[Board, ...] | None:
    """Return the boards of a policy, each under a name of its own."""
    if given is None:
        return None
    if isinstance(given, (str, Mapping)) or not isinstance(given, (list, tuple)) or not 0 < len(given) <= 100:
        raise InvalidParameter("boards must be a list of 1 to 100 boards")
    boards = tuple(one if isinstance(one, Board) else Board.from_dict(one) for one in given)
    if len({board.name for board in boards}) < len(boards):
        raise InvalidParameter("boards must have different names")
    return boards


def chosen(boards: Sequence[Board] | None, name: str | None) -> Board:
    """Return the board of this name, or the only one there is where none is named.

    Examples
    --------
    >>> boards = [Board(name, key="id", label="y", metric="accuracy") for name in ("a", "b")]
    >>> chosen(boards, "b").name, chosen(boards[:1], None).name
    ('b', 'a')
    """
    fitting = [board for board in boards or () if name in (None, board.name)]
    if len(fitting) != 1:
        if not boards:
            raise InvalidParameter(
                "this guard has no leaderboard; a steward can declare leaderboards (boards) in its policy"
            )
        raise InvalidParameter(f"board must name one of the guard's boards: {', '.join(one.name for one in boards)}")
    return fitting[0]
