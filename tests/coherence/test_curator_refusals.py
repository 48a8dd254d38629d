"""Curators of other libraries, as they are called; and what private curators refuse."""

import sys
import types

import numpy as np
import pytest

from holdfast.coherence import Lens, Table, Target
from holdfast.coherence import curators as cur
from holdfast.errors import InvalidParameter

RNG = np.random.default_rng(1)
HALF = Table.of({"age": RNG.integers(1, 3, 400), "pay": RNG.normal(size=400), "ill": RNG.integers(0, 2, 400)})
ILL = Target("ill = 1")
DOMAINS = {"age": [1, 2], "ill": [0, 1]}


def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("library", ["sdv", "synthcity", "smartnoise"])
def test_each_library_is_fitted_on_the_half_and_asked_for_as_many_rows(library, monkeypatch):
    """Stand-ins with the calls that the libraries document: what is passed on, and that the release is a table."""
    told = {}

    class Model:
        def __init__(self, *given, **options):
            told["given"], told["options"] = given, options

        def fit(self, frame):
            self.frame = frame

        def sample(self, rows=None, num_rows=None):
            return self.frame.sample(rows or num_rows, replace=True)

        def generate(self, count):
            return types.SimpleNamespace(dataframe=lambda: self.sample(count))

    class Metadata:
        def detect_from_dataframe(self, frame):
            told["columns"] = list(frame.columns)

    found = {
        "sdv.metadata": {"SingleTableMetadata": Metadata},
        "sdv.single_table": {"Generator": Model},
        "synthcity.plugins": {"Plugins": lambda: types.SimpleNamespace(get=Model)},
        "snsynth": {"Synthesizer": types.SimpleNamespace(create=Model)},
    }
    for name, parts in found.items():
        for full in (name.partition(".")[0], name):
            there = types.ModuleType(full)
            there.__spec__ = types.SimpleNamespace(name=full)
            monkeypatch.setitem(sys.modules, full, there)
        vars(there).update(parts)
    made = cur.Library(library, "Generator", {"epsilon": 1.0})(HALF, rng())
    assert (made.rows, made.names) == (HALF.rows, HALF.names)
    assert told["options"] == {"epsilon": 1.0}
    if library == "sdv":
        assert told["columns"] == list(HALF.names)
    else:
        assert told["given"] == ("Generator",)


class TestPrivateRefusals:
    @pytest.mark.parametrize(
        ("marginals", "options", "words"),
        [
            ([], {}, "each of the marginals must name at least one column"),
            ([()], {}, "each of the marginals must name at least one column"),
            ([("age", "age")], {}, "each of the marginals must name a column only once, got 'age' \\+ 'age'"),
            ([("pay",)], {}, "domains must declare the values of column 'pay'"),
            ([("age",)], {"release": "rows"}, "release must be one of table, counts, got 'rows'"),
            ([("age",)], {"epsilon": 0}, "epsilon must be"),
        ],
    )
    def test_wrong_marginals(self, marginals, options, words):
        with pytest.raises(InvalidParameter, match=words):
            cur.NoisyMarginals(DOMAINS, marginals, **({"epsilon": 1} | options))

    def test_counts_that_were_not_released_teach_nothing(self):
        report = cur.NoisyMarginals(DOMAINS, [("ill", "age")], None, release="counts")(HALF, rng())
        assert repr(report) == "Marginals(ill x age)"
        with pytest.raises(InvalidParameter, match="the report has no counts of the target 'ill' by column 'pay'"):
            report.naive_bayes(Lens("x", ("pay",)), ILL, 1.0)
        with pytest.raises(InvalidParameter, match="this learner predicts a target, but the audit has no target"):
            report.naive_bayes(Lens("x", ("age",)), None, 1.0)

    def test_a_marginal_that_adds_no_column_is_passed_over(self):
        report = cur.NoisyMarginals(DOMAINS, [("ill", "age"), ("age",)], None, release="counts")(HALF, rng())
        assert report.sample(50, rng()).names == ("ill", "age")
