"""Section 5: the reduced experiment on the real file where it is there, on a made-up one where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast.cli.main import run as command
from holdfast.coherence import Table, Trials
from holdfast_papers.coherence import section_5 as section_5
from holdfast_papers.coherence.acs_data import ACS, DISABILITY, FILE, LENS, NOT_APPLICABLE, TARGET, load_acs
from holdfast_papers.coherence.section_5 import ASKED, AUTHORS, CONFIDENCE, EVERYONE, GROUP, LABELS
from holdfast_papers.real_data import DataAbsent, folder
from holdfast_papers.registry import Settings
from tests.papers.acs_small import small_file

SPLITS = 4


def _present() -> bool:
    return (folder() / ACS / FILE).is_file()


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The excerpt, or a made-up table of its columns."""
    if _present():
        return load_acs()
    place = tmp_path_factory.mktemp("acs")
    small_file(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_DATA", str(place))
        return load_acs()


@pytest.fixture(scope="module")
def trials(people: Table) -> dict[str, Trials]:
    return section_5.measure(people, SPLITS, seed=1)


def test_absent_data_is_said_plainly(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    said = r"needs the data set nist-acs-excerpts, and .*national2019.csv is not there; HOLDFAST_DATA names the folder"
    with pytest.raises(DataAbsent, match=said):
        section_5.run(Settings(quick=True))
    assert command(["reproduce", "coherence-section-5", "--quick", "--out", str(tmp_path)]) != 0
    assert "nist-acs-excerpts" in capsys.readouterr().err


def test_the_loader_marks_what_does_not_apply(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = small_file(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    table = load_acs()
    assert table.names == (*LENS, DISABILITY)
    assert all(values.dtype.kind in "if" for values in table.columns.values())
    assert (table[DISABILITY] == NOT_APPLICABLE).sum() == 120
    assert TARGET.applies(table).sum() == 1_080
    path.write_text("AGEP,SEX\n1,2\n", encoding="utf-8")
    with pytest.raises(DataAbsent, match="must have a column 'DENSITY'"):
        load_acs()


def test_the_real_file_has_the_counts_of_the_paper(people: Table) -> None:
    if not _present():  # the made-up table stands in: its own counts
        assert people.rows == 1_200
        return
    counts = dict(zip(*np.unique(people[DISABILITY], return_counts=True), strict=True))
    assert counts == {1: 1_521, 2: 24_379, NOT_APPLICABLE: 1_353}
    assert people.rows == 27_253, "the paper says 27,254"


def test_figures_of_both_codings(people: Table, trials: dict[str, Trials]) -> None:
    found = section_5.outcome(people, trials, seed=1)
    mean = {(row["coding"], row["group"]): row["mean W1"] for row in found.tables[0].rows}
    named = {check.name: check for check in found.checks}
    assert named["the audit refuses predictions of -10"].passed
    assert "must lie in [-1, 1]" in named["the audit refuses predictions of -10"].detail
    assert named["no split failed"].passed
    assert mean[LABELS, GROUP] > mean[CONFIDENCE, GROUP], "labels and confidences are never mixed"
    assert all(row["floor"] < row["mean W1"] for row in found.tables[0].rows if row["group"] == GROUP)
    if _present():  # a mean of 4 splits: 0.03 is two standard deviations of it for the group, 0.02 for everyone
        assert mean[AUTHORS, GROUP] == pytest.approx(1.56, abs=0.03)
        assert mean[AUTHORS, EVERYONE] == pytest.approx(0.08, abs=0.02)
        assert mean[AUTHORS, ASKED] == pytest.approx(0.0644, abs=0.005)
        assert mean[LABELS, EVERYONE] == pytest.approx(0.0667, abs=0.005)
        assert mean[CONFIDENCE, GROUP] == pytest.approx(0.979, abs=0.03)


def test_dividing_by_ten_changes_no_distance(trials: dict[str, Trials]) -> None:
    """The authors' labels are measured divided by ten: multiplied back they give SciPy's distance of the labels."""
    from scipy.stats import wasserstein_distance

    found = trials[AUTHORS]
    assert found.predictions is not None
    labels = np.rint(10 * found.predictions[0, 0, 0])
    assert set(np.unique(labels)) == {-10.0, -1.0, 1.0}
    for group in (EVERYONE, GROUP, ASKED):
        member, inside = found.groups.mask(group), found.inside[0]
        exact = wasserstein_distance(labels[member & inside], labels[member & ~inside])
        assert section_5.distances(trials, AUTHORS, group)[0] == pytest.approx(exact, abs=1e-12)


def test_children_are_in_no_split_of_the_corrected_coding(people: Table, trials: dict[str, Trials]) -> None:
    assert (people[DISABILITY][trials[AUTHORS].rows] == NOT_APPLICABLE).any()
    assert (people[DISABILITY][trials[LABELS].rows] != NOT_APPLICABLE).all()
    assert any("does not apply to them" in note for note in trials[LABELS].notes)


def test_the_shares_called_disabled_are_the_distance(trials: dict[str, Trials]) -> None:
    inside, outside = section_5.shares(trials[AUTHORS])
    assert 2 * (inside - outside) == pytest.approx(section_5.distances(trials, AUTHORS, GROUP).mean(), abs=0.05)


def test_checks_notice_another_forest(people: Table, trials: dict[str, Trials]) -> None:
    """Power: half the distances of the authors' coding fail its two figures."""
    halved = replace(trials[AUTHORS], distance=trials[AUTHORS].distance / 2)
    found = section_5.outcome(people, trials | {AUTHORS: halved}, seed=1)
    failed = {check.name for check in found.checks if not check.passed}
    assert "cognitive disability, authors' coding: 1.56 within 0.03" in failed
    assert "everyone, authors' coding: 0.08 within 0.02" in failed
