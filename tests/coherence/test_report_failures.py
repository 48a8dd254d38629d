"""Reports of audits in which something went wrong or was never measured: marked partial, and never a pass."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from holdfast.coherence import Audit, GroupPlan, Target, Trials, curators, learners, run, single_shot
from holdfast.coherence.report import Report, build, html
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import INCOHERENT, LEAK, NO_EVIDENCE, NOT_MEASURED, UNDERPOWERED, judge, splits_without
from holdfast.errors import InvalidParameter

ILL = Target("ill = 1")


def _people(rows: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {"id": rng.permutation(rows), "sex": rng.integers(1, 3, rows), "ill": rng.integers(0, 2, rows)}


def _trials(learner: Any, **options: Any) -> Trials:
    given = {"curator": curators.Clear(), "target": ILL, "splits": 8, "seed": 1, **options}
    return run(Audit(_people(), learners=learner, **given))


def _report(trials: Trials, alpha: float = 0.5, min_cell: int = 2) -> Report:
    found = assess(trials, permutations=1999)
    return build(trials, found, judge(found, alpha), min_cell=min_cell)


def _pair() -> GroupPlan:
    """A group of two people: about every other split puts both in one half."""
    return GroupPlan({"pair": np.arange(600) < 2}, min_size=1)


class TestEmptiedGroup:
    def test_an_audit_that_would_pass_is_partial_and_does_not(self) -> None:
        whole = _report(_trials(learners.Constant()))
        assert (whole.verdict.outcome, whole.partial) == (NO_EVIDENCE, False)
        trials = _trials(learners.Constant(), groups=_pair())
        emptied = int(trials.emptied[1])
        assert 0 < emptied < 8
        report = _report(trials)
        assert report.partial
        assert report.label == "UNDERPOWERED, PARTIAL"
        assert report.verdict.exit_status == 3
        said = f"group 'pair' had no member in one of the halves in {emptied} of 8 splits; there is no distance there"
        assert f"PARTIAL: {said}" in report.problems
        page = html(report)
        assert "This report is partial." in page
        assert said.replace("'", "&#x27;") in page
        assert "(PARTIAL)" in page
        assert report.to_dict()["partial"]

    def test_its_missing_splits_count_against_either_claim(self) -> None:
        trials = _trials(learners.Constant(), groups=_pair())
        finding = next(f for f in _report(trials).verdict.findings if f.group == "pair")
        assert finding.measured == 8 - trials.emptied[1]
        whole = next(f for f in _report(trials).verdict.findings if f.group == "everyone")
        assert finding.upper > whole.upper
        assert finding.lower == 0

    def test_one_that_is_always_empty_was_not_measured(self) -> None:
        people = _people()
        where = np.random.default_rng(4).permutation(600) < 300
        plan = GroupPlan({"all in": where}, min_size=1)
        release = {name: values[where] for name, values in people.items()}
        trials = single_shot(people, release, where, learners.Constant(), target=ILL, groups=plan)
        report = _report(trials)
        assert {f.group: f.status for f in report.verdict.findings}["all in"] == NOT_MEASURED
        assert report.partial
        assert report.verdict.exit_status == 3
        assert "1 group could not be judged" in report.verdict.paragraph

    def test_what_was_found_elsewhere_stays_found(self) -> None:
        report = _report(_trials(learners.Linkage(), groups=_pair(), lenses=["id"]))
        assert report.partial
        assert report.label == "INCOHERENT, PARTIAL"
        assert report.verdict.exit_status == 1


class TestPeeking:
    def test_a_predictor_that_looks_outside_its_lens(self) -> None:
        looks = {"looks": lambda report: lambda rows: 2.0 * rows["ill"] - 1, "fine": learners.Constant()}
        report = _report(_trials(looks, lenses=["sex"]))
        assert report.label == "UNDERPOWERED, PARTIAL"
        assert report.verdict.exit_status == 3
        said = "PARTIAL: peeked in 8 of 8 splits, learner looks, lens sex: the predictor asked for column 'ill'"
        assert any(line.startswith(said) for line in report.problems)
        assert "peeked in 8 of 8 splits, learner looks" in html(report)
        assert {f.status for f in report.verdict.findings if f.learner == "looks"} == {NOT_MEASURED}
        assert {failure["kind"] for failure in report.failures} == {"peeked"}

    def test_a_predictor_fitted_on_the_rows_it_predicts(self) -> None:
        def learner(report: Any) -> Any:
            return lambda rows: np.tanh((rows["id"] - rows["id"].mean()) / rows["id"].std())

        report = _report(_trials({"fits": learner}))
        assert report.verdict.exit_status == 3
        assert "rows that are predicted with it" in html(report)
        assert report.offenders == ()

    def test_a_learner_that_holds_the_data_is_refused_before_anything_runs(self) -> None:
        people, ran = _people(), []

        def learner(report: Any) -> Any:
            return lambda rows: 2.0 * people["ill"] - 1

        def curator(half: Any) -> Any:
            ran.append(half)
            return half

        with pytest.raises(InvalidParameter, match=r"learner 'learner' holds the data under audit \(variable 'people'"):
            run(Audit(people, curator, learner, ILL))
        assert ran == []

    def test_a_peek_in_some_splits_is_no_pass(self) -> None:
        calls: list[int] = []

        def sometimes(report: Any) -> Any:
            calls.append(1)
            return (lambda rows: rows["id"] / 600) if len(calls) == 3 else (lambda rows: np.zeros(rows.rows))

        report = _report(_trials({"sometimes": sometimes}, lenses=["sex"]))
        assert report.label == "UNDERPOWERED, PARTIAL"
        assert any("peeked in 1 of 8 splits" in line for line in report.problems)


class TestLearnerTimeLimit:
    def test_one_that_hangs_is_ended_told_and_never_a_pass(self) -> None:
        def hangs(report: Any) -> Any:
            time.sleep(60)

        started = time.monotonic()
        both = {"hangs": hangs, "linkage": learners.Linkage()}
        trials = _trials(both, splits=2, learner_time_limit=3.0, lenses=["id"])
        assert time.monotonic() - started < 30
        assert {(f.learner, f.kind) for f in trials.failures} == {("hangs", "learner-hung")}
        report = _report(trials)
        assert report.partial
        assert "the learner ran past its limit of 3 s and was ended" in html(report)
        alone = _report(_trials({"hangs": hangs}, splits=1, learner_time_limit=0.2))
        assert alone.verdict.exit_status == 3

    def test_one_that_hangs_when_it_predicts(self) -> None:
        trials = _trials({"slow": lambda report: lambda rows: time.sleep(60)}, splits=1, learner_time_limit=0.3)
        assert [f.kind for f in trials.failures] == ["learner-hung"]

    @pytest.mark.parametrize("mode", ["retrain", "mask"])
    def test_a_limit_changes_no_number(self, mode: str) -> None:
        options: dict[str, Any] = {"splits": 2, "lens_mode": mode, "lenses": {"sex": ["sex"], "both": ["id", "sex"]}}
        free = _trials(["linkage", "tree", learners.CoinFlip()], **options)
        limited = _trials(["linkage", "tree", learners.CoinFlip()], learner_time_limit=60.0, **options)
        assert not limited.partial
        np.testing.assert_array_equal(free.predictions, limited.predictions)
        np.testing.assert_array_equal(free.distance, limited.distance)

    def test_failures_keep_their_kind(self) -> None:
        bad = {
            "out": lambda report: lambda rows: np.full(rows.rows, -10.0),
            "looks": lambda report: lambda rows: rows["ill"],
            "raises": lambda report: 1 / 0,
        }
        trials = _trials(bad, splits=1, learner_time_limit=60.0, lenses=["sex"])
        kinds = {f.learner: f.kind for f in trials.failures}
        assert kinds == {"out": "out-of-range", "looks": "peeked", "raises": "learner-crashed"}
        assert any("the learner raised ZeroDivisionError" in line for line in trials.messages())

    @pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
    def test_a_limit_is_a_positive_number(self, limit: float) -> None:
        with pytest.raises(InvalidParameter, match="learner_time_limit must be"):
            _trials("constant", learner_time_limit=limit)


class TestFewSplits:
    """Five splits have 120 orders: over 32 groups and 2 lenses no corrected p-value can reach 0.05."""

    @staticmethod
    def _many(splits: int, learner: Any = "linkage") -> Report:
        part = np.random.default_rng(5).permutation(600) // 20
        plan = GroupPlan({f"part {i}": part == i for i in range(30)} | {"ill": "ill = 1"}, min_size=1)
        lenses = {"id": ["id"], "sex": ["sex"]}
        return _report(_trials(learner, groups=plan, lenses=lenses, splits=splits), alpha=0.9)

    def test_no_group_is_said_to_show_no_dependence_where_none_could_be_shown(self) -> None:
        report = self._many(5)
        page = html(report)
        assert all(f.least_p > 0.05 and not f.depends for f in report.verdict.findings)
        assert "too few splits to see such a dependence of a single group in any column" in page
        assert "was not seen to depend" not in page
        assert "cannot be tested with so few splits" in page
        assert report.verdict.outcome in (LEAK, INCOHERENT)  # the omnibus has one p-value for all, and rejects

    def test_incoherent_groups_are_never_hatched(self) -> None:
        report = self._many(5)
        worst = {f.group for f in report.verdict.findings if f.status == INCOHERENT and f.lens == "id"}
        assert "ill" in worst
        cell = html(report).split("<title>ill, linkage, id:")[1].split("</g>")[0]
        assert "#hatch" not in cell
        assert "INCOHERENT" in cell

    def test_enough_splits_say_it_plainly(self) -> None:
        report = _report(_trials(learners.CoinFlip(), splits=8))
        page = html(report)
        assert "too few splits to see" not in page
        assert "was not seen to depend" in page

    @pytest.mark.parametrize("splits", [3, 20])
    def test_too_few_splits_never_say_that_beta_is_kept(self, splits: int) -> None:
        report = _report(_trials(learners.Constant(), splits=splits))
        least = splits_without(0.05, 3, 0.05)
        words = f"within beta = 0.05 is not shown: {splits} splits are too few for that, {least} is the least"
        assert all(words in " ".join(f.sentences) for f in report.verdict.findings)
        assert "verdict holds" not in html(report)
        assert report.verdict.outcome == (UNDERPOWERED if splits == 3 else NO_EVIDENCE)

    def test_the_least_number_of_splits_is_the_least(self) -> None:
        least = splits_without(0.05, 3, 0.05)
        for splits, kept in ((least - 1, False), (least, True)):
            finding = _report(_trials(learners.Constant(), splits=splits)).verdict.findings[0]
            assert (finding.upper <= 0.05) == kept
            assert ("is not shown" in " ".join(finding.sentences)) != kept
