"""Learners and curators that hold the data under audit, or look beyond their lens, are caught."""

import functools

import numpy as np
import pytest

from holdfast.coherence import Audit, Table, run
from holdfast.coherence import curators as cur
from holdfast.errors import InvalidParameter
from tests.coherence.people import ILL, people

GLOBAL = people()


class TestPeeking:
    def test_a_closure_over_the_data(self):
        data = people()
        ill = data["ill"]
        table = Table.of(data)

        def by_column(report, lens):
            return lambda rows: 2.0 * ill - 1

        def by_table(half):
            return table

        with pytest.raises(InvalidParameter, match=r"'by_column' holds the data under audit \(variable 'ill'\)"):
            run(Audit(data, cur.Clear(), by_column, ILL))
        with pytest.raises(InvalidParameter, match="curator holds the data under audit"):
            run(Audit(table, by_table, "constant", ILL))

    def test_a_global_name_used_by_an_inner_function(self):
        def learner(report):
            return lambda rows: 2.0 * GLOBAL["ill"][: rows.rows] - 1

        with pytest.raises(InvalidParameter, match="global name 'GLOBAL'"):
            run(Audit(GLOBAL, cur.Clear(), learner, ILL))

    def test_a_copy_of_a_column_in_an_attribute(self):
        data = people()

        class Learner:
            def __init__(self):
                self.kept = data["key"].astype(float)

            def __call__(self, report):
                return lambda rows: np.zeros(rows.rows)

        with pytest.raises(InvalidParameter, match="attribute 'kept'"):
            run(Audit(data, cur.Clear(), Learner(), ILL))

    def test_an_argument_of_a_partial_and_the_object_of_a_method(self):
        data = people()

        def learner(report, lens, kept):
            return lambda rows: np.zeros(rows.rows)

        class Holder:
            def __init__(self):
                self.kept = data["key"]

            def learn(self, report):
                return lambda rows: np.zeros(rows.rows)

        held = functools.partial(learner, kept=data["key"])
        with pytest.raises(InvalidParameter, match=r"holds the data under audit \(an argument of partial\)"):
            run(Audit(data, cur.Clear(), {"x": held}, ILL, splits=1))
        with pytest.raises(InvalidParameter, match=r"holds the data under audit \(attribute 'kept'\)"):
            run(Audit(data, cur.Clear(), {"x": Holder().learn}, ILL, splits=1))

    def test_what_holds_only_other_things_is_let_through(self):
        """An array of its own, a name that is bound later, and an object that only looks like a data frame."""

        class NoFrame:
            columns = shape = ("a",)

            def __getitem__(self, name):
                raise RuntimeError("not a frame")

        own, odd = np.arange(7), NoFrame()

        def learner(report):
            return lambda rows: np.full(rows.rows, 0.0 if own.size and odd else late)

        assert not run(Audit(people(), cur.Clear(), {"x": learner}, ILL, splits=1)).partial
        late = 0.5

    def test_a_learner_that_returns_no_predictor(self):
        trials = run(Audit(people(), cur.Clear(), {"x": lambda report: 0.5}, ILL, splits=2))
        assert trials.partial
        assert "a learner must return a predictor: a function from a table" in trials.failures[0].message

    def test_a_column_outside_the_lens(self):
        learner = lambda report: lambda rows: 2.0 * rows["ill"] - 1  # noqa: E731
        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, lenses=["town"], splits=2))
        assert {f.kind for f in trials.failures} == {"peeked"}
        assert "asked for column 'ill', which its lens does not show" in trials.failures[0].message

    def test_a_predictor_fitted_on_what_it_predicts(self):
        def learner(report):
            def predict(rows):
                z = rows["z"]
                return np.tanh((z - z.mean()) / z.std())

            return predict

        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, splits=2))
        assert {f.kind for f in trials.failures} == {"peeked"}
        assert "rows that are predicted with it" in trials.failures[0].message


def test_a_copy_of_the_data_in_another_form_is_noticed():
    pandas = pytest.importorskip("pandas")
    data = people()
    for copy in (pandas.DataFrame(data), Table.of(data).copy(), {"inner": [Table.of(data).copy()]}):

        def holds(report, lens, target, rng, copy=copy):
            return lambda seen: np.zeros(seen.rows)

        with pytest.raises(InvalidParameter, match="holds the data under audit"):
            run(Audit(data, cur.Clear(), holds, ILL, splits=1))
    other = pandas.DataFrame(people(seed=9))

    def innocent(report, lens, target, rng, public=other):
        return lambda seen: np.zeros(seen.rows)

    assert not run(Audit(data, cur.Clear(), innocent, ILL, splits=1)).partial
