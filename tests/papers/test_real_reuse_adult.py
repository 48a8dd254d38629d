"""Tuning on Adult: disjoint parts, a climb that is told what it should be, and intervals that hold."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast_papers.real_data import DataAbsent
from holdfast_papers.reuse.adult import FIT, GUESS, HOLDOUT, Told, guarded, plain, split
from holdfast_papers.reuse.adult_data import Adult, load_adult


@pytest.fixture(scope="module")
def adult() -> Adult:
    try:
        return load_adult()
    except DataAbsent as error:
        pytest.skip(str(error))


def test_the_file_is_read_whole(adult: Adult) -> None:
    assert adult.columns.shape == (48_842, 14)
    assert adult.rich.sum() == 7_841 + 3_846


def test_parts_do_not_overlap(adult: Adult) -> None:
    numbered = Adult(np.arange(len(adult.rich), dtype=float)[:, None], adult.rich)
    parts = split(numbered, np.random.default_rng(0))
    ids = [part.columns[:, 0] for part in (parts.fit, parts.guess, parts.holdout, parts.truth)]
    assert [len(part) for part in ids[:3]] == [FIT, GUESS, HOLDOUT]
    assert len(np.unique(np.concatenate(ids))) == len(adult.rich)


def test_plain_scores_flatter_and_guarded_intervals_hold(adult: Adult) -> None:
    parts = split(adult, np.random.default_rng(5))
    believed = plain(parts, 30, np.random.default_rng(1))
    assert believed.believed.score > believed.true
    certain = guarded(parts, 30, np.random.default_rng(1))
    assert (certain.asked, certain.missed) == (30, 0)
    assert certain.believed.holds(certain.true)


def test_absent_data_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with pytest.raises(DataAbsent, match="HOLDFAST_DATA names the folder"):
        load_adult()


def test_an_interval_holds_at_its_ends() -> None:
    assert Told(0.5, 0.4, 0.6).holds(0.6)
    assert not Told(0.5, 0.4, 0.6).holds(0.61)
