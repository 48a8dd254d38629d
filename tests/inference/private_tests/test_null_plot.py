"""The distribution that a statistic was compared with, as a picture needs it: where a test has one, and refused
elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import local
from holdfast.inference.private_tests.null_plot import null_law, power_chart
from holdfast.mechanisms.local import RandomizedResponse
from holdfast.noise import Seeded

S4 = [1 / 2, 1 / 6, 1 / 6, 1 / 6]
X, Y = np.linspace(0, 1, 60), np.linspace(0.2, 1.4, 50)
EVEN = pt.NoisyCounts(np.array([[252.0, 249.0], [248.0, 251.0]]), 1000, pt.gaussian(0.1))
FOUR = pt.NoisyCounts(np.array([505.0, 165.0, 168.0, 162.0]), 1000, pt.gaussian(0.1))


def drawn() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize(
    "result",
    [
        *(pt.gof(FOUR, S4, method=method, rng=drawn()) for method in pt.goodness_of_fit.METHODS),
        *(pt.independence(EVEN, method=method, rng=drawn()) for method in pt.independence_tests.INDEPENDENCE_METHODS),
        pt.gwas([[250, 250], [125, 125], [125, 125]], rho=0.5, source=Seeded(1)),
    ],
    ids=lambda result: result.test,
)
def test_the_law_is_a_density_and_puts_alpha_beyond_the_critical_value(result: pt.TestResult) -> None:
    law = null_law(result, p0=S4, rng=drawn())
    assert np.all(law.density >= 0)
    width = np.diff(law.x, append=2 * law.x[-1] - law.x[-2])
    assert result.critical_value is not None
    beyond = float((law.density * width)[law.x > result.critical_value].sum())
    assert 0.02 < beyond < 0.08  # 0.05 but for the grid, the draws, and what lies outside the picture


@pytest.mark.parametrize(
    "run",
    [
        lambda: pt.symmetry([[300, 200], [150, 350]], epsilon=1, source=Seeded(1)),
        lambda: pt.proportion(620, 1000, 0.5, epsilon=1, source=Seeded(1)),
        lambda: pt.any_test(lambda part: 0.5, X, epsilon=1, groups=5, group_alpha=0.2, source=Seeded(1)),
        lambda: pt.mann_whitney(X, Y, epsilon=1, source=Seeded(1)),
        lambda: pt.kolmogorov_smirnov(X, Y, epsilon=1, source=Seeded(1)),
        lambda: pt.anova(X, Y, low=0, high=2, epsilon=1, source=Seeded(1)),
    ],
)
def test_a_conclusive_test_without_such_a_law_is_not_called_inconclusive(run: Callable[[], pt.TestResult]) -> None:
    result = run()
    assert result.null_returned is None
    with pytest.raises(InvalidParameter) as error:
        null_law(result)
    assert str(error.value) == f"this plot does not support the test {result.test}"


@pytest.mark.parametrize("model", [pt.Symmetry(2), pt.HardyWeinberg()], ids=repr)
def test_replicates_of_another_local_model_are_not_drawn_as_those_of_independence(model: Any) -> None:
    sums = np.array([[400, 200], [200, 200]]) if model.cells == 4 else np.array([400, 300, 300])
    answers = local.Collected(sums, 1000, RandomizedResponse(model.cells, 2))
    result = local.general(answers, model, method="monte-carlo", rng=drawn())
    with pytest.raises(InvalidParameter, match=f"this plot does not support the model {model}"):
        null_law(result)


def test_an_inconclusive_result_has_no_picture() -> None:
    result = pt.independence([[1, 0], [0, 1]], rho=0.01, source=Seeded(1))
    with pytest.raises(
        GuaranteeUnavailable, match="no statistic to draw, because the test is inconclusive: an expected count"
    ):
        null_law(result)


def test_a_law_that_is_simulated_again_asks_for_what_the_result_does_not_hold() -> None:
    gof = pt.gof(FOUR, S4, method="monte-carlo", rng=drawn())
    with pytest.raises(InvalidParameter, match="p0 must be given, because the plot simulates"):
        null_law(gof)
    answers = local.Collected(np.array([400.0, 200.0, 200.0, 200.0]), 1000, RandomizedResponse(4, 2))
    pairs = local.general(answers, pt.Independence(2, 2), method="monte-carlo", rng=drawn())
    with pytest.raises(InvalidParameter, match="shape must be given, because the plot simulates"):
        null_law(pairs)
    assert null_law(pairs, shape=(2, 2), rng=drawn()).draws == 2000


def test_a_chart_of_no_curve_is_refused() -> None:
    pytest.importorskip("altair")
    none: list[dict[str, list[pt.Power]]] = [{}, {"projected": []}]
    for curves in none:
        with pytest.raises(InvalidParameter, match="curves must hold at least one point"):
            power_chart(curves)
