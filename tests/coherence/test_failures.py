"""Curators and learners that crash, hang, leave or predict nonsense: the audit goes on and says so."""

import pickle
import time

import numpy as np
import pytest

from holdfast.coherence import Audit, run
from holdfast.coherence import curators as cur
from holdfast.coherence import learners as lrn
from holdfast.coherence.failures import CuratorFailed, LearnerFailed
from tests.coherence.people import ILL, people


@pytest.mark.parametrize("bad", [[-10.0], [np.nan], [1.1], ["yes"], [[0.5]]])
def test_predictions_outside_the_range_are_refused(bad):
    def learner(report, lens):
        return lambda rows: bad * rows.rows

    trials = run(Audit(people(), cur.Clear(), {"bad": learner, "good": "constant"}, ILL, splits=3))
    assert trials.partial
    assert {f.kind for f in trials.failures} == {"out-of-range"}
    assert np.isnan(trials.distance[:, 0]).all()
    assert not np.isnan(trials.distance[:, 1]).any()
    assert (trials.bits(0.5)[:, 0] == -1).all()
    assert any(m.startswith("PARTIAL: out-of-range in 3 of 3 splits, learner bad") for m in trials.messages())
    assert "PARTIAL" in repr(trials)


def test_rounding_at_the_ends_is_no_error():
    trials = run(Audit(people(), cur.Clear(), lambda report: lambda rows: np.full(rows.rows, 1 + 1e-12), ILL, splits=1))
    assert not trials.partial
    assert trials.predictions.max() == 1


class TestFailures:
    def test_a_curator_that_crashes_sometimes(self):
        calls = []

        def curator(half, rng):
            calls.append(1)
            if len(calls) in (2, 4):
                raise RuntimeError("row 17: John Smith")
            return half

        trials = run(Audit(people(), curator, "constant", ILL, splits=5))
        assert [f.split for f in trials.failures] == [1, 3]
        assert trials.failures[0].message == "the curator raised RuntimeError"
        assert "Smith" not in repr(trials.failures) + str(trials.to_dict()) + " ".join(trials.messages())
        assert "Smith" in trials.failures[0].detail
        assert np.isnan(trials.distance[[1, 3]]).all()
        assert np.isfinite(trials.distance[[0, 2, 4]]).all()
        assert trials.done[:, 0, 0].tolist() == [True, False, True, False, True]

    @pytest.mark.parametrize("workers", [1, 3])
    def test_a_curator_that_never_works_is_not_tried_for_ever(self, workers):
        def curator(half):
            raise CuratorFailed("no licence")

        trials = run(Audit(people(), curator, "constant", ILL, splits=9), workers=workers)
        assert [f.kind for f in trials.failures] == ["curator-crashed"] * 3 + ["not-run"] * 6
        assert (trials.bits(0.1) == -1).all()
        assert np.isnan(trials.mean()).all()

    def test_a_python_curator_that_hangs(self):
        curator = cur.Function(lambda half: time.sleep(60), time_limit=0.3)
        started = time.monotonic()
        trials = run(Audit(people(), curator, "constant", ILL, splits=1))
        assert time.monotonic() - started < 20
        assert trials.failures[0].kind == "curator-hung"
        assert "0.3 s" in trials.failures[0].message

    def test_a_learner_that_fails_for_one_lens(self):
        def learner(report, lens):
            if lens.name == "age":
                raise KeyError("secret")
            return lambda rows: np.zeros(rows.rows)

        lenses = {"town": ["town"], "age": ["age"]}
        trials = run(Audit(people(), cur.Clear(), {"x": learner}, ILL, lenses=lenses, splits=2))
        assert [(f.lens, f.kind) for f in trials.failures] == [("age", "learner-crashed")] * 2
        assert trials.done[:, 0].tolist() == [[True, False]] * 2

    def test_a_report_without_the_columns_of_the_lens(self):
        trials = run(Audit(people(), cur.Clear(["town"]), "linkage", ILL, splits=1))
        assert "the report has no column 'key'" in trials.failures[0].message


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_calls_exit_does_not_end_the_audit(workers):
    """`sys.exit(0)` inside a curator or learner would end the whole run with the status of a pass."""

    def leaves(*_):
        raise SystemExit(0)

    trials = run(Audit(people(), leaves, lrn.Linkage(), ILL, splits=2, patience=5), workers=workers)
    assert [failure.kind for failure in trials.failures] == ["curator-crashed"] * 2
    trials = run(Audit(people(), cur.Clear(), {"leaves": leaves, "stays": lrn.Linkage()}, ILL, splits=2))
    assert [failure.kind for failure in trials.failures] == ["learner-crashed"] * 2
    assert np.isfinite(trials.distance[:, 1]).all()


@pytest.mark.parametrize("kind", [CuratorFailed, LearnerFailed])
def test_a_failure_crosses_processes_with_its_kind_and_detail(kind):
    again = pickle.loads(pickle.dumps(kind("it failed", detail="row 17")))
    assert type(again) is kind
    assert (str(again), again.kind, again.detail) == ("it failed", kind.usual, "row 17")
