"""Rogers's figures and the gap below our width, in their quick form: every check passes, and would fail if wrong."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast_papers.registry import Outcome, Settings
from holdfast_papers.widths import posterior_shift_gap, rogers_figures


@pytest.fixture(scope="module")
def figure_3() -> Outcome:
    return rogers_figures.figure_3(Settings(quick=True))


def test_figure_3(figure_3: Outcome) -> None:
    assert [check for check in figure_3.checks if not check.passed] == []
    rows = {(row["n"], row["k"], row["method"]): row["ours"] for row in figure_3.tables[2].rows}
    assert rows[6400, 640, "Russo-Zou with monitor"] == pytest.approx(0.4995, abs=5e-5)
    assert rows[6400, 640, "scheduled noise"] == pytest.approx(0.1738, abs=5e-5)
    assert rows[100_000, 1000, "scheduled noise"] <= 0.0498
    assert figure_3.chart is not None
    assert len(figure_3.chart().to_dict()["hconcat"]) == 2


def test_figure_4() -> None:
    seen: list[float] = []
    outcome = rogers_figures.figure_4(Settings(quick=True, progress=lambda share, what: seen.append(share)))
    assert outcome.passed
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert outcome.chart is not None
    outcome.chart().to_dict()


def test_a_wrong_recorded_number_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rogers_figures.RECORDED, (6400, 640, "Jung et al."), 0.4793)
    assert not rogers_figures.figure_3(Settings(quick=True)).checks[0].passed


def test_gap() -> None:
    outcome = posterior_shift_gap.run(Settings(quick=True))
    assert outcome.passed
    assert outcome.tables[1].rows[0]["joint"] == pytest.approx(0.90, abs=0.03)


def test_joint_law_of_comonotone_noise_is_theorem_a() -> None:
    """When shift and noise rise together the computation gives back Theorem A: it can see the whole width."""
    rng = np.random.default_rng(3)
    largest = np.sort(np.abs(rng.standard_normal((200_000, 1))).max(axis=1))
    # one question: the pool's two entries are the same draw, so that |R| = |w|
    ratio = posterior_shift_gap.joint_ratio(1, 0.05, 200_000, rng, (largest, largest))
    assert ratio == pytest.approx(1.0, abs=0.02)
