"""The Tulap distribution: its cdf, its exact sampler, its privacy; each check also fails a distribution that is wrong
on purpose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from holdfast.accounting.costs import ApproxDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.binomial_test import Tulap
from holdfast.mechanisms.auditor import audit
from holdfast.noise.entropy import Seeded

LAWS = [(1, 0), (0.1, 0), (5, 0), (1, 0.01), (0.1, 0.01), (0.5, 1e-6), (3, 0.3), (3, 0.9), (0.01, 0.001)]
DRAWS = 400_000
#: Dvoretzky-Kiefer-Wolfowitz: the empirical cdf of 400,000 draws is this near, except with probability 1e-6.
NEAR = math.sqrt(math.log(2e6) / (2 * DRAWS))


def _distance(values: Any, law: Tulap) -> float:
    ordered = np.sort(values)
    above = np.arange(1, ordered.size + 1) / ordered.size
    cdf = law.cdf(ordered)
    return float(max(np.max(above - cdf), np.max(cdf - above + 1 / ordered.size)))


@pytest.mark.parametrize(("epsilon", "delta"), LAWS)
def test_sampler_follows_the_cdf(epsilon: float, delta: float) -> None:
    law = Tulap(epsilon, delta)
    whole, fraction = law.draw(DRAWS, Seeded(11))
    assert _distance(whole + fraction, law) <= NEAR
    assert np.abs(whole + fraction).max() <= law.cut
    assert np.abs(fraction).max() < 0.5
    # Fractions are odd multiples of 2**-53: middles of cells, never an end.
    assert np.all((fraction * 2**53) % 2 == 1)


def test_a_wrong_law_is_found() -> None:
    whole, fraction = Tulap(1).draw(DRAWS, Seeded(11))
    for wrong in (Tulap(1.1), Tulap(0.9), Tulap(1, 0.05)):
        assert _distance(whole + fraction, wrong) > NEAR
    assert _distance(whole.astype(float), Tulap(1)) > NEAR  # the uniform part forgotten


@pytest.mark.parametrize(("epsilon", "delta"), LAWS)
def test_cdf_is_a_symmetric_continuous_cdf(epsilon: float, delta: float) -> None:
    law = Tulap(epsilon, delta)
    x = np.linspace(-12, 12, 48_001)
    cdf = law.cdf(x)
    assert np.all(np.diff(cdf) >= 0)
    assert np.all(np.diff(cdf) <= 0.0005 * math.tanh(epsilon / 2) / (1 - law.q) * (1 + 1e-9) + 1e-15)  # Lipschitz
    np.testing.assert_allclose(cdf + law.cdf(-x), 1.0, atol=1e-14)
    ends = np.arange(-5, 5)
    np.testing.assert_allclose(law.cdf_at(ends, 0.5), law.cdf_at(ends + 1, -0.5), atol=1e-14)


@pytest.mark.parametrize(("epsilon", "delta"), LAWS)
def test_privacy_by_exact_integration(epsilon: float, delta: float) -> None:
    """`delta(epsilon)` of a shift by one, from the cdf of cells: at most the claim, and all of it but a hair."""
    law = Tulap(epsilon, delta)
    reach = math.ceil(min(law.cut, 60 / epsilon)) + 2
    cells = 64
    edges = np.arange(-reach * cells, reach * cells + 1) / cells
    if law.delta:  # the ends of the support are edges too, for both neighbours
        ends = np.array([-law.cut, law.cut])
        edges = np.unique(np.concatenate([edges, ends, ends + 1, ends - 1]))
    first, second = np.diff(law.cdf(edges)), np.diff(law.cdf(edges - 1))
    for p, q in ((first, second), (second, first)):
        lost = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert lost <= delta + 1e-12
        if delta:
            assert lost >= delta * (1 - 1e-3)
            assert float(np.maximum(p - math.exp(0.9 * epsilon) * q, 0).sum()) > delta


def _simulate(law: Tulap, seed: int) -> Any:
    source = Seeded(seed)

    def simulate(count: int, runs: int) -> Any:
        whole, fraction = law.draw(runs, source)
        return count + whole + fraction

    return simulate


def test_audit_finds_nothing_in_the_release_and_finds_a_claim_that_is_too_small() -> None:
    pure, cut = Tulap(1), Tulap(1, 0.01)
    assert not audit(_simulate(pure, 1), [(4, 5), (0, 1)], PureDP(1.0)).caught
    assert not audit(_simulate(cut, 2), [(4, 5)], ApproxDP(1.0, 0.01)).caught
    assert audit(_simulate(pure, 3), [(4, 5)], PureDP(0.8)).caught
    assert audit(_simulate(cut, 4), [(4, 5)], PureDP(1.0), bins=256).caught  # a cut-off is not free
    assert audit(_simulate(cut, 5), [(4, 5)], ApproxDP(1.0, 0.003), bins=256).caught


def test_cost_and_cut() -> None:
    assert Tulap(0.5).cost == PureDP(0.5)
    assert Tulap(0.5, 1e-6).cost == ApproxDP(0.5, 1e-6)
    for epsilon, delta in LAWS:
        law = Tulap(epsilon, delta)
        b = math.exp(-epsilon)
        ideal = 2 * delta * b / (1 - b + 2 * delta * b)
        assert law.q <= ideal
        assert law.q == pytest.approx(ideal, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0,), "epsilon"), ((-1,), "epsilon"), ((1e-7,), "epsilon"), ((1e4,), "epsilon"), (("1",), "epsilon"),
     ((1, -0.1), "delta"), ((1, 1), "delta"), ((1, float("nan")), "delta"), ((1e-6, 0.5), "delta")],
)  # fmt: skip
def test_wrong_input(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Tulap(*arguments)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.5), (1, 0.8), (1, 0.999), (3, 0.9), (30, 0.999999)])
def test_a_cut_leaves_the_middle_cell_and_both_sides_alike(epsilon: float, delta: float) -> None:
    law = Tulap(epsilon, delta)
    assert law.cut >= 0.5
    whole, fraction = law.draw(4000, Seeded(3))
    value = whole + fraction
    assert np.abs(value).max() <= law.cut
    assert min(-value.min(), value.max()) > 0.98 * law.cut
