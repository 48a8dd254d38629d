"""The separation table: a reduced one on the real file where it is there, on a made-up one where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.coherence import Table
from holdfast.coherence.verdict import INCOHERENT
from holdfast_papers.coherence import predictors as separation
from holdfast_papers.coherence.acs_data import ACS, FILE, load_acs
from holdfast_papers.coherence.predictors_audits import ALPHA, PATH, Row, auc, compare, sweep
from holdfast_papers.coherence.predictors_pairs import CONTROL, MEMORISING, PARTIAL, REGULARISED, pairs, with_cells
from holdfast_papers.real_data import DataAbsent, folder
from holdfast_papers.registry import Settings
from tests.papers.acs_small import small_file

CHOSEN = (
    "linkage",
    "1-NN",
    "full tree",
    "forest",
    "histogram, no noise",
    "histogram, epsilon 1",
    "forest, leaves of 50",
    "tree of depth 4",
    "logistic regression",
    "naive Bayes, epsilon 1",
    "coin flips",
    "constant",
)
SPLITS = 4


def _present() -> bool:
    return (folder() / ACS / FILE).is_file()


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The excerpt, or a made-up table of its columns."""
    if _present():
        return with_cells(load_acs())
    place = tmp_path_factory.mktemp("acs")
    small_file(place, rows=2_400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_DATA", str(place))
        return with_cells(load_acs())


@pytest.fixture(scope="module")
def rows(people: Table) -> list[Row]:
    return compare(people, [pair for pair in pairs(people) if pair.name in CHOSEN], SPLITS, seed=1)


def test_absent_data_is_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with pytest.raises(DataAbsent, match=r"nist-acs-excerpts, and .* is not there; HOLDFAST_DATA names the folder"):
        separation.run(Settings(quick=True))


def test_memorisers_stand_apart_from_everything_else(rows: list[Row]) -> None:
    assert [row.pair.name for row in rows] == list(CHOSEN)
    far = [row for row in rows if row.pair.kind == MEMORISING]
    near = [row for row in rows if row.pair.kind not in (MEMORISING, PARTIAL)]
    assert min(row.above for row in far) > max(row.above for row in near)
    assert all(row.judged.outcome == INCOHERENT for row in far)
    assert all(row.judged.outcome != INCOHERENT for row in rows if row.pair.kind == CONTROL)
    if _present():
        failed = [check for check in (*separation.checks(rows), *separation.findings(rows)) if not check.passed]
        assert not failed
    else:  # hundreds of made-up people, not tens of thousands: floors are wide
        assert min(row.above for row in far) > 3


def test_close_to_what_was_measured_before(rows: list[Row]) -> None:
    """The specification's figures, a quarter either way where the signal is; a made-up table has its own."""
    for row in rows:
        if _present() and row.pair.kind in (MEMORISING, PARTIAL):
            assert row.mean == pytest.approx(row.pair.specified, rel=0.25), row.pair.name
        assert 0 <= row.mean <= 2
        assert row.floor >= 0


def test_controls_know_nothing(rows: list[Row]) -> None:
    named = {row.pair.name: row for row in rows}
    assert named["constant"].mean == named["constant"].floor == named["constant"].above == 0
    assert named["constant"].auc_outside == 0.5
    assert named["coin flips"].raw == 1, "by chance alone some group exceeds alpha in every split"
    assert named["coin flips"].largest == pytest.approx(named["coin flips"].largest_floor, rel=0.25)
    assert abs(named["coin flips"].auc_outside - 0.5) < 0.08


def test_all_pairs_have_kinds_and_distinct_names(people: Table) -> None:
    every = pairs(people)
    assert len({pair.name for pair in every}) == len(every) == 21
    assert {pair.kind for pair in every} == set(separation.KINDS)
    for pair in every:
        assert set(pair.lens.columns) <= set(people.names)


def test_a_wider_lens_opens_the_leak(people: Table) -> None:
    opened = sweep(people, 2, seed=1)
    assert [row["lens"] for row in opened] == [lens.name for lens in PATH]
    assert [row["profiles"] for row in opened] == sorted(row["profiles"] for row in opened)
    assert opened[-1]["full tree"] > 10 * opened[0]["full tree"] or not _present()
    assert opened[-1]["full tree"] > opened[-1]["forest"] > opened[-1]["tree, leaves of 50"]
    if _present():
        for row in opened[1:]:
            for name in ("full tree", "forest"):
                assert row[name] == pytest.approx(row[f"specification, {name}"], rel=0.2)


def test_checks_notice_what_they_are_for(rows: list[Row]) -> None:
    """Power: a memoriser at the floor, a regularised one far from it, and an order turned round each fail."""

    def failed(changed: list[Row]) -> set[str]:
        return {check.name for check in separation.checks(changed) if not check.passed}

    quiet = [replace(row, mean=row.floor) if row.pair.name == "forest" else row for row in rows]
    assert "memorising predictors are at least 10 floors above noise" in failed(quiet)
    loud = [replace(row, mean=1.0) if row.pair.kind == REGULARISED else row for row in rows]
    assert {
        "regularised and private ones and controls are within 3",
        "kinds are in the order that was measured before",
    } <= failed(loud)
    worst = rows[0].judged
    judged = [replace(row, judged=worst) if row.pair.name == "constant" else row for row in rows]
    assert "no group is INCOHERENT for a regularised or private predictor or a control" in failed(judged)
    turned = [replace(row, mean=1 / (1 + row.mean)) for row in rows]
    assert "distances agree with the specification in rank" in failed(turned)


def test_the_outcome_holds_tables_and_never_a_distance_without_its_floor(rows: list[Row]) -> None:
    opened = [{"lens": "x", "profiles": 1, "full tree": 0.1, "floor, full tree": 0.1}]
    found = separation.outcome(rows, opened, SPLITS, 1)
    first, more, _ = found.tables
    assert {"W1", "floor"} <= set(first.columns)
    assert {"W1 everyone", "floor everyone", "largest of all groups", "floor of largest"} <= set(more.columns)
    assert f"alpha = {ALPHA}" in found.finding
    assert found.chart is not None
    drawn = str(found.chart().to_dict()).count("'what': 'floor: chance alone'")
    assert drawn == len(rows) - 1, "the constant is 0, which has no place on a log axis"


def test_auc_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(2)
    scores, truth = rng.integers(0, 5, 60).astype(float), rng.random(60) < 0.4
    gaps = scores[truth][:, None] - scores[~truth][None, :]
    assert auc(scores, truth) == pytest.approx(((gaps > 0) + 0.5 * (gaps == 0)).mean(), abs=1e-12)
