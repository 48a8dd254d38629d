"""Power where a distribution has no spread left: the statistic is one number, and the test finds it or does not."""

from __future__ import annotations

import pytest

from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import classical
from holdfast.inference.private_tests.counts import histogram, probabilities
from holdfast.inference.private_tests.question import Setting


@pytest.mark.parametrize("n", [2, 3, 4, 10, 100])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_a_truth_of_one_cell_is_found_always_or_never(n: int, alpha: float) -> None:
    """All records in one of two even cells: the statistic is n itself, at every draw."""
    found = pt.gof_power([0.5, 0.5], [1.0, 0.0], n, method="classical", alpha=alpha)
    assert found.power == float(bool(classical.gof([n, 0], [0.5, 0.5], alpha=alpha).reject))


def test_a_question_of_fit_knows_its_ratio_of_noise_to_sample() -> None:
    law = pt.gaussian(0.01)
    asked = Setting(histogram([300, 200]), law, 0.05, probabilities("p0", [0.5, 0.5]))
    assert asked.c == law.variance / 500
