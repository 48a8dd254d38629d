"""Mutual-information widths: the factors, the information bound against exact integrals, and their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import lambertw
from scipy.stats import binom

from holdfast.bounds.interval.mutual_information import (
    information_nats,
    information_sigma,
    printed_moment_factor,
    russo_zou,
    russo_zou_kl,
    second_moment_factor,
    shift_by_divergence,
    xu_raginsky,
)
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize("nats", [1e-12, 1e-6, 0.01, 0.5, 1.0, 3.0, 17.0, 200.0])
def test_factor_is_the_least_of_its_family(nats: float) -> None:
    found = second_moment_factor(nats)
    shares = np.linspace(1e-7, 1 - 1e-7, 200_001)
    assert found <= np.min((2 * nats - np.log1p(-shares)) / shares) * (1 + 1e-12)
    assert (found - 1) - math.log1p(found - 1) == pytest.approx(2 * nats, rel=1e-9)
    if 1e-3 < nats < 300:
        assert found == pytest.approx(-float(lambertw(-math.exp(-1 - 2 * nats), -1).real), rel=1e-12)


def test_factor_edges() -> None:
    assert second_moment_factor(0) == 1.0
    with pytest.raises(InvalidParameter):
        second_moment_factor(-1)
    with pytest.raises(InvalidParameter):
        printed_moment_factor(1.0)


@pytest.mark.parametrize("nats", [1.001, 1.1, 1.5, 1.929457235, 3.0, 10.0, 100.0, 1e4])
def test_printed_factor_is_larger(nats: float) -> None:
    assert printed_moment_factor(nats) >= second_moment_factor(nats)


def test_where_the_printed_factor_is_least() -> None:
    """The specification prints 1.929457206; the root of 2B^2 - 3B - 1 = ln B is 1.929457235."""
    at = 1.9294572349021866
    assert 2 * at * at - 3 * at - 1 == pytest.approx(math.log(at), abs=1e-12)
    assert printed_moment_factor(at) == pytest.approx(9.375067678, rel=1e-9)
    assert 2 * 1.929457206**2 - 3 * 1.929457206 - 1 - math.log(1.929457206) < -1e-8


def _exact_information(n: int, k: int, sigma: float, p: float) -> float:
    """Mutual information of n Bernoulli(p) rows and k answers to "the mean", by quadrature over their average."""
    counts = np.arange(n + 1)
    prior = binom.pmf(counts, n, p)
    s = sigma / math.sqrt(k)
    b = np.linspace(-9 * s, 1 + 9 * s, 20_001)
    log_kernel = -0.5 * ((b[None, :] - counts[:, None] / n) / s) ** 2
    marginal = prior @ np.exp(log_kernel)
    with np.errstate(divide="ignore"):
        log_marginal = np.where(marginal > 0, np.log(np.maximum(marginal, 1e-300)), -700.0)
    integrand = prior[:, None] * np.exp(log_kernel) * (log_kernel - log_marginal[None, :])
    return float(np.trapezoid(integrand.sum(axis=0), b) / (s * math.sqrt(2 * math.pi)))


CASES = [
    (n, k, relative * math.sqrt(k / n), p)
    for n in (1, 3, 20)
    for k in (1, 5)
    for relative in (0.1, 1.0, 8.0)
    for p in (0.5, 0.2)
]


def _within(share: float) -> bool:
    """Whether `share k/(n sigma^2)` bounds the exact information in every case."""
    return all(_exact_information(n, k, s, p) <= share * k / (n * s * s) * (1 + 1e-9) for n, k, s, p in CASES)


def test_a_quarter_of_the_information_suffices_and_no_less() -> None:
    for n, k, s, _ in CASES:
        assert information_nats(n, k, s) == pytest.approx(k / (8 * n * s * s))
        assert information_nats(n, k, s, "zcdp") == pytest.approx(k / (2 * n * s * s))
        assert information_nats(n, k, information_sigma(n, k, 2.5, "quarter")) == pytest.approx(2.5)
    assert _within(1 / 8)
    assert not _within(1 / 8.1)  # wrong on purpose: the same check sees it


def test_divergence_solution() -> None:
    for nats in (1e-6, 0.1, 3.0, 50.0):
        for beta in (1e-4, 0.05, 0.4):
            t = shift_by_divergence(1000, nats, beta)
            log_p = math.log(2) - 2 * 1000 * t * t
            rest = math.log1p(-beta) - math.log1p(-math.exp(log_p))
            divergence = beta * (math.log(beta) - log_p) + (1 - beta) * rest
            assert divergence == pytest.approx(nats, rel=1e-6)
            assert divergence >= nats * (1 - 1e-9)


def test_order_of_the_family() -> None:
    for n, k, beta in [(1000, 20, 0.1), (6400, 640, 0.05), (10**6, 10**4, 0.001)]:
        kl = russo_zou_kl(n, k, beta).half_width
        assert kl <= russo_zou(n, k, beta).half_width
        assert kl <= xu_raginsky(n, k, beta).half_width
        assert russo_zou(n, k, beta, method="paper", information="quarter").half_width < (
            russo_zou(n, k, beta, method="paper").half_width
        )
