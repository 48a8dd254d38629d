"""Learners and curators that hold the data under audit, or look beyond their lens, are caught."""

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
        assert "rows predicted beside it" in trials.failures[0].message


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
