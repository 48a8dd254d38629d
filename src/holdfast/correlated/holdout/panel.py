"""Questions about a table of dependent rows: time, group and value columns in, answers with intervals out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.core.copying import NoCopy
from holdfast.correlated.holdout.dependent_rows import DependentRows
from holdfast.correlated.holdout.model_check import ModelReport, model_report
from holdfast.correlated.holdout.reusable import DependentHoldout
from holdfast.correlated.holdout.splits import Split, places, split_groups, split_time
from holdfast.correlated.series_model import AnyDependence, Independent, SeriesModel, declared
from holdfast.data.frames import Frame, as_array
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, QuestionRefused
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source

Question = str | Callable[[Any], npt.ArrayLike]
"""A column's name, or a function of the data frame that gives one value per row, each from that row alone."""
Misfit = Literal["refuse", "uncertified"]
_STATE = 1


class Panel(NoCopy):
    """A table of dependent rows, divided into a public part and a holdout that answers questions.

    With a `group` column whole groups go to one part or the other. Groups must be independent of each other. Inside a
    group rows depend on each other as `model` declares, or in any way. Without a `group` column the table is a single
    series: it is cut at a point in time, and `model` must declare how fast the series forgets. Use the public part for
    fitting, guessing and looking. The declared model is tested on the public part (`report`), and a model that is
    rejected there is refused.

    A question is a mean of one value per row. Its guess is the mean on the public part unless you give another one. The
    holdout checks the guess (`DependentHoldout`). With probability at least `confidence` the intervals of all answers
    hold together, whatever is asked next.

    Parameters
    ----------
    frame : data frame
        pandas, polars or anything that narwhals reads; a lazy frame is collected.
    group : str, optional
        Column of the independent groups: person, household, site.
    time : str, optional
        Column of times; it orders the rows of a group or of the series. Without it they are in the order of the table.
        Where `model` declares a dependence along time, no two rows of a group (of the series) may share one.
    values : sequence of str
        Number columns on which the model is tested.
    model : SeriesModel or list of float, optional
        What is declared inside a group: `series_model.Autoregressive`, `Markov`, `Mixing`, `MDependent`, `Independent`;
        a list bounds the mixing coefficients; None stands for any dependence, which needs groups.
    share : float
        Share of the groups, or of the times, in the holdout.
    gap : int
        For a single series: steps from the last public time to the first one of the holdout.
    questions, confidence, failures
        As for `ReusableHoldout`.
    level : float
        Probability with which a true model may be refuted by the public part.
    misfit : str
        What to do when it is: "refuse", or "uncertified": answer, and mark every answer as not certified.
    source : noise.Source, optional
        For the deal of the groups and the signs of the model check; `noise.Seeded` in simulations.

    Raises
    ------
    GuaranteeUnavailable
        The model is refuted by the public part, or it has no bound for this split.

    Notes
    -----
    Tests can refute a model and never certify one: with two columns tested a third may be related in ways that nobody
    declared. A function that answers a question is called with the holdout's rows. It must be yours: one that stores or
    prints what it sees would look behind the guard. That each value comes from its own row is tried on the public part.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({"person": [i // 4 for i in range(4000)], "ill": [i % 4 == 0 for i in range(4000)]})
    >>> panel = Panel(visits, group="person", questions=20)
    >>> panel
    Panel(2000 public rows, 2000 holdout rows worth 500 independent ones: 0 of 20 questions asked)
    >>> answer = panel.ask("ill")
    >>> answer.passed, answer.value, [round(end, 3) for end in answer.interval]
    (True, 0.25, [0.053, 0.447])
    """

    _not_copied = "a Panel holds guarded rows and is not pickled; hand it over with state() and from_state()"

    def __init__(
        self,
        frame: Any,
        *,
        group: str | None = None,
        time: str | None = None,
        values: Sequence[str] = (),
        model: SeriesModel | Sequence[float] | None = None,
        share: float = 0.5,
        gap: int = 1,
        questions: int | None = None,
        confidence: float = 0.95,
        failures: int | None = None,
        level: float = 0.01,
        misfit: Misfit = "refuse",
        source: Source | None = None,
    ) -> None:
        table = Frame(frame).whole()
        inside = declared(model)
        level, kind = (
            arguments.probability("level", level),
            arguments.choice("misfit", misfit, ("refuse", "uncertified")),
        )
        if group is not None:
            split = split_groups(table.column(group), share, source=source)
        elif time is not None:
            split = split_time(table.column(time), share, gap=gap)
        else:
            raise InvalidParameter(
                "group or time must be given, because without them the rows have no declared dependence"
            )
        if time is not None and not isinstance(inside, (AnyDependence, Independent)):
            _one_row_a_time(table.column(time), None if group is None else table.column(group))
        rows = _declared_rows(split, inside)
        self._table, self._split, self._group, self._time = table, split, group, time
        self._holdout = DependentHoldout(rows, questions, confidence, failures)
        self._report = self._checked(values, inside, level, source)
        self._certified = self._report.passed
        if not self._certified and kind == "refuse":
            raise GuaranteeUnavailable(
                f"{self._report}: declare a weaker dependence (blocks: model=None with groups), or take answers that "
                'are not certified with misfit="uncertified"'
            )

    def _checked(self, values: Sequence[str], inside: SeriesModel, level: float, source: Source | None) -> ModelReport:
        train = self._split.train
        columns = {name: self._table.column(name)[train] for name in _names(values)}
        groups = None if self._group is None else places(self._table.column(self._group), "group")[0][train]
        times = None if self._time is None else places(self._table.column(self._time), "time")[0][train]
        if not columns:
            return ModelReport(level, (), ("no value columns were named",))
        return model_report(columns, inside, groups=groups, times=times, level=level, source=source)

    # What is public ---------------------------------------------------------------------------------------------------

    @property
    def public(self) -> Any:
        """The public part of the table, as a data frame of the type that was given."""
        return self._table.part(self._split.train)

    @property
    def report(self) -> ModelReport:
        """The result of the test of the declared model on the public part."""
        return self._report

    @property
    def rows(self) -> DependentRows:
        """The declared dependence of the holdout's rows, with their effective number."""
        return self._holdout.rows

    @property
    def certified(self) -> bool:
        """Whether answers are certified, because the public part did not reject the model."""
        return self._certified

    @property
    def remaining(self) -> dict[str, float]:
        """The number of questions and of failures that are left."""
        return self._holdout.remaining

    @property
    def transcript(self) -> tuple[Answer, ...]:
        """All answers so far, in order."""
        return tuple(self._marked(answer) for answer in self._holdout.transcript)

    # Questions --------------------------------------------------------------------------------------------------------

    def ask(
        self,
        question: Question,
        *,
        guess: float | None = None,
        tolerance: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        default: float | None = None,
        where_present: bool = False,
        show: Literal["value", "bit"] = "value",
        key: str | None = None,
    ) -> Answer:
        """Ask for the mean of a column, or of a function of the rows.

        Parameters
        ----------
        question : str or callable
            A column's name, or a function of the data frame that gives one value per row.
        guess : float, optional
            By default the mean on the public part.
        tolerance, show, key
            As for `ReusableHoldout.check`.
        low, high : float
            Range of the values, known without looking. Public values must lie in it, and the holdout's are clipped to
            it row by row.
        default : float, optional
            What a row without a value counts as.
        where_present : bool
            The mean among the rows that have a value. Where values can be missing, this or `default` must be said: for
            a column with missing values, and for any function where some column of the table has them or the function
            gives none on a row of the public part. A function of complete rows must give a number: where it gives none,
            the row counts as `low`.

        Returns
        -------
        Answer
            A pass has the guess as its value; its interval lies within the tolerance of it. A failure has a corrected
            value.
        """
        public, held = self._both(question, *arguments.value_range(low, high), default, where_present)
        if guess is None:
            if np.isnan(public).all():
                raise InvalidParameter(
                    "guess must be given, because no row of the public part has a value from which to take it"
                )
            guess = float(np.nanmean(public))
        given: dict[str, Any] = {"low": low, "high": high, "show": show, "key": key}
        if where_present and (callable(question) or self._may_be_missing(question, public)):
            answer = self._holdout.check_present(held, ~np.isnan(held), guess, tolerance, **given)
        else:
            answer = self._holdout.check(held, guess, tolerance, **given)
        return self._marked(answer)

    def claim(
        self,
        question: Question,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        low: float = 0.0,
        high: float = 1.0,
        default: float | None = None,
        where_present: bool = False,
        key: str | None = None,
    ) -> Answer:
        """Claim that a mean is at least (or at most) a number. The answer is yes or no, and a yes proves the claim.

        The range and the meaning of missing values are declared as in `ask`.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"who": [i // 2 for i in range(4000)], "x": [0.5] * 4000})
        >>> Panel(table, group="who", questions=5).claim("x", at_least=0.4).passed
        True
        """
        public, held = self._both(question, *arguments.value_range(low, high), default, where_present)
        given: dict[str, Any] = {"at_least": at_least, "at_most": at_most, "low": low, "high": high, "key": key}
        if where_present and (callable(question) or self._may_be_missing(question, public)):
            answer = self._holdout.claim_present(held, ~np.isnan(held), **given)
        else:
            answer = self._holdout.claim(held, **given)
        return self._marked(answer)

    def close(self) -> tuple[Answer, ...]:
        """End the run, and show every answer so far with its exact value and interval. No more questions can be
        asked.

        The intervals were certified when the questions were asked; only showing them was postponed.

        Examples
        --------
        >>> import polars as pl
        >>> table = pl.DataFrame({"who": [i // 2 for i in range(4000)], "x": [0.5] * 4000})
        >>> panel = Panel(table, group="who", questions=5)
        >>> answer = panel.ask("x", guess=0.52)
        >>> (exact,) = panel.close()
        >>> exact.value, exact.half_width < answer.half_width
        (0.5, True)
        """
        return tuple(self._marked(answer) for answer in self._holdout.close())

    def _both(
        self, question: Question, low: float, high: float, default: float | None, where_present: bool
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The question's values on the public part, checked, and on the holdout, clipped; NaN where they do not count.

        Whatever is refused is refused by the public part and by which columns of the table have missing values, which
        is public too: never by a row of the holdout. So a function of complete rows that has a value on every row of
        the public part and none on some row of the holdout is not refused: it counts as `low` there.
        """
        if where_present and default is not None:
            raise InvalidParameter(
                "default and where_present must not both be given: rows without a value either count as the default "
                "or are left out"
            )
        public = self._values(question, self._split.train)
        if default is not None:
            default = arguments.real("default", default, at_least=low, at_most=high)
        elif not where_present and self._may_be_missing(question, public):
            raise InvalidParameter(
                "the question's values can be missing; say what that means: where_present=True (the mean among the "
                "rows that have a value), default=NUMBER (the value that the other rows count as), or a function "
                "that fills them in; nothing was spent"
            )
        known = public[~np.isnan(public)]
        if known.size and not (known.min() >= low and known.max() <= high):
            raise InvalidParameter(
                f"the question's values must be in [{low:g}, {high:g}], but some values of the public part are not; "
                "give low and high, the range that is known without looking; nothing was spent"
            )
        held = np.clip(self._values(question, self._split.holdout, public), low, high)
        if default is not None:
            public, held = (np.where(np.isnan(column), default, column) for column in (public, held))
        elif not where_present:
            held = np.where(np.isnan(held), low, held)
        return public, held

    def _may_be_missing(self, question: Question, public: npt.NDArray[np.float64]) -> bool:
        if isinstance(question, str):
            return bool(np.isnan(_numbers(self._table.column(question))).any())
        return self._table.has_gaps or bool(np.isnan(public).any())

    def _values(
        self, question: Question, rows: npt.NDArray[np.intp], public: npt.NDArray[np.float64] | None = None
    ) -> npt.NDArray[np.float64]:
        """The question's values on these rows, NaN where there is none; with `public` it was asked there before and is
        tried as a function.
        """
        if isinstance(question, str):
            return _numbers(self._table.column(question)[rows])
        if not callable(question):
            raise InvalidParameter(
                f"question must be the name of a column or a function, got a {type(question).__name__}"
            )
        if public is None:
            values = as_array(question(self._table.part(rows)))
        else:
            self._alone(question, public)
            try:
                values = as_array(question(self._table.part(rows)))
            except Exception as error:  # its message may quote a guarded row
                raise QuestionRefused(
                    f"the question's function raised {type(error).__name__} on the holdout, although it did not on "
                    "the public part"
                ) from None
        if values.shape != (len(rows),):
            raise InvalidParameter(f"question must give one value for each row, got the shape {values.shape}")
        return _numbers(values)

    def _alone(self, question: Callable[[Any], npt.ArrayLike], public: npt.NDArray[np.float64]) -> None:
        """Refuse a function whose values change when other rows are left out: it is not a mean over rows."""
        some = np.arange(0, len(public), 2)
        again = as_array(question(self._table.part(self._split.train[some])))
        if again.shape != some.shape or not np.array_equal(_numbers(again), public[some], equal_nan=True):
            raise QuestionRefused(
                "a question must compute each row's value from that row alone, but on the public part the values of "
                "this question change when other rows are left out (a lag, a rank, a centred value); compute such "
                "parts from the public part first"
            )

    def _marked(self, answer: Answer) -> Answer:
        if self._certified:
            return answer
        words = f"{answer.guarantee.assumption}; the public rows refute this model"
        return replace(answer, guarantee=replace(answer.guarantee, assumption=words, certified=False))

    # Saving -----------------------------------------------------------------------------------------------------------

    def state(self, *, secrets: bool = False) -> dict[str, Any]:
        """Return the split, the report and the transcript as plain data for JSON. The rows themselves are not part
        of the data.

        The data say which rows are in the holdout. With `secrets=True` they also have what `close` would reveal. Only
        one run may continue from a state.
        """
        report, split = self._report, self._split
        return {
            "format": _STATE,
            "group": self._group,
            "time": self._time,
            "kind": split.kind,
            "train": split.train.tolist(),
            "holdout": split.holdout.tolist(),
            "sizes": None if split.sizes is None else list(split.sizes),
            "gap": split.gap,
            "report": report.to_dict(),
            "run": self._holdout.state(secrets=secrets),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], frame: Any) -> Panel:
        """Return the panel that `state()` described. Give the same table again."""
        from holdfast.correlated.holdout.model_check import Finding

        panel = cls.__new__(cls)
        try:
            if state["format"] != _STATE:
                raise InvalidParameter(f"state must have the format {_STATE}, got {state['format']!r}")
            table = Frame(frame).whole()
            train, held = (np.array(state[side], dtype=np.intp) for side in ("train", "holdout"))
            if max(train.max(), held.max()) >= len(table):
                raise InvalidParameter(f"frame must be the same table as before, got one of {len(table)} rows")
            sizes = None if state["sizes"] is None else tuple(state["sizes"])
            report = state["report"]
            panel._table, panel._group, panel._time = table, state["group"], state["time"]
            panel._split = Split(train, held, state["kind"], sizes, state["gap"])
            panel._holdout = DependentHoldout.from_state(state["run"])
            panel._report = ModelReport(
                report["level"], tuple(Finding(**finding) for finding in report["findings"]), tuple(report["untested"])
            )
            panel._certified = panel._report.passed
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter(f"state must be unchanged since state() returned it: {error}") from error
        return panel

    def __repr__(self) -> str:
        holdout = self._holdout
        asked = (
            f"{holdout.asked} asked"
            if holdout.questions is None
            else (f"{holdout.asked} of {holdout.questions} questions asked")
        )
        return (
            f"Panel({len(self._split.train)} public rows, {holdout.n} holdout rows worth "
            f"{holdout.rows.effective_n:.4g} independent ones: {asked})"
        )


def _declared_rows(split: Split, inside: SeriesModel) -> DependentRows:
    if split.kind == "time":
        return inside.rows(len(split.holdout), split.gap)
    assert split.sizes is not None
    if isinstance(inside, AnyDependence):
        return split.blocks()
    return DependentRows.groups(split.sizes, inside.rows)


def _one_row_a_time(times: npt.NDArray[Any], groups: npt.NDArray[Any] | None) -> None:
    """Refuse several rows of one time where a dependence along time is declared.

    Such a declaration bounds what a row says about the rows `t` times later. With ten rows a time the row `t` places
    later is hardly later at all, so that every width would be far too small.
    """
    when = places(times, "time")[0]
    who = np.zeros_like(when) if groups is None else places(groups, "group")[0]
    if len(np.unique(np.stack([who, when]), axis=1).T) < len(when):
        raise InvalidParameter(
            "time must differ between the rows of a "
            + ("series" if groups is None else "group")
            + " whose dependence along time is declared, and some share one; name the group column, make one row of "
            "them, or declare blocks (model=None with groups)"
        )


def _numbers(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Numbers or truth values as doubles, NaN where they are missing."""
    if values.dtype.kind == "O":
        gone = [value is None or value != value or type(value).__name__ == "NAType" for value in values]
        values = np.where(gone, np.nan, values)
    try:
        if values.dtype.kind not in "biufO":
            raise ValueError
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("question must give one number or truth value for each row") from None


def _names(values: Any) -> list[str]:
    if isinstance(values, str):
        return [values]
    return [str(name) for name in values]
