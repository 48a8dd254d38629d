"""Input that a private test refuses before any noise is drawn, and plans that refuse theirs: the message names it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests import binomial_power, independence_tests, local, statistic_noise, t_test
from holdfast.inference.private_tests.independence_tests import independence_batch, simulate_tables
from holdfast.inference.private_tests.local.collected import shaped
from holdfast.inference.private_tests.minimum_chi_square import fit_model, independence_fit
from holdfast.inference.private_tests.null_models import NullModel
from holdfast.inference.private_tests.power import gof_moments
from holdfast.inference.private_tests.statistic_noise import LARGEST_PERMUTED_N
from holdfast.mechanisms.local import RandomizedResponse
from holdfast.noise.entropy import Source

U4 = [0.25] * 4
LAW = pt.gaussian(0.01)
RAGGED = [[0.5, 0.2], [0.3]]
NOISY = pt.NoisyCounts(np.array([[250.0, 260.0], [240.0, 250.0]]), 1000, LAW)
NOISY_ROW = pt.NoisyCounts(np.array([500.0, 500.0]), 1000, LAW)
LOCAL = local.Collected(np.array([400.0, 200.0, 400.0]), 1000, RandomizedResponse(3, 2))
HARDY_WEINBERG = pt.HardyWeinberg()
MANY = np.zeros(LARGEST_PERMUTED_N + 1)


class Untouchable(Source):
    """A source that must not be asked: nothing may be drawn before the input is checked."""

    __slots__ = ()

    def word(self) -> int:
        raise AssertionError("noise was drawn")

    def words(self, count: int) -> Any:
        raise AssertionError("noise was drawn")


class Saturated(NullModel):
    """Every histogram of three cells fits it."""

    name = "a model of everything"
    cells = 3
    simplices = (3,)

    def probabilities(self, theta: Any) -> Any:
        return theta[..., None, :]

    def jacobian(self, theta: Any) -> Any:
        return np.broadcast_to(np.eye(3), (*theta.shape[:-1], 1, 3, 3))

    def start(self, noisy: Any) -> Any:
        return noisy[..., 0, :] / noisy.sum(axis=-1)


RELEASES: dict[str, tuple[Callable[..., Any], str]] = {
    "a cube of counts": (
        lambda **k: pt.gof(np.ones((2, 2, 2)), [1 / 8] * 8, rho=1, **k),
        "counts must be a list of counts, one per cell",
    ),
    "noise for noisy counts": (
        lambda **k: pt.homogeneity(NOISY, sizes=[510, 490], rho=0.1, **k),
        "rho, epsilon and noise must be left out with noisy counts",
    ),
    "a noisy row for a table": (
        lambda **k: pt.independence(NOISY_ROW, **k),
        r"counts must be a table of at least 2 by 2 cells, got shape \(2,\)",
    ),
    "a noisy row for a table, by its method": (
        lambda **k: independence_tests.asymptotic_independence(NOISY_ROW, **k),
        r"counts must be a table of at least 2 by 2 cells, got shape \(2,\)",
    ),
    "noisy counts of another unit": (
        lambda **k: independence_tests.asymptotic_independence(NOISY, public_margins="both", unit="swap", **k),
        "the noisy counts protect a person, but the test is about a swap",
    ),
    "no model": (
        lambda **k: pt.minimum_chi_square([400, 200, 400], "Hardy-Weinberg", rho=0.1, **k),  # type: ignore[arg-type]
        "model must be a null model, got a str",
    ),
    "a model of everything": (
        lambda **k: pt.minimum_chi_square([400, 200, 400], Saturated(), rho=0.1, **k),
        "a model of everything leaves no degree of freedom, because every table fits it",
    ),
    "rows of different lengths": (
        lambda **k: pt.minimum_chi_square([[400, 200], [400]], HARDY_WEINBERG, rho=0.1, **k),
        "counts must be a list of counts, or of rows of equal length",
    ),
    "sizes for one group": (
        lambda **k: pt.minimum_chi_square([400, 200, 400], HARDY_WEINBERG, rho=0.1, sizes=[1000], **k),
        "sizes must be left out for a model of one group",
    ),
    "too many records for an analysis of variance": (
        lambda **k: pt.anova(MANY[1:], MANY[:1], low=0, high=1, epsilon=1, **k),
        f"samples must hold at most {LARGEST_PERMUTED_N} records in all, got {LARGEST_PERMUTED_N + 1}",
    ),
    "too many records for one mean": (
        lambda **k: t_test.one_sample(MANY, half_range=1, epsilon=1, **k),
        f"there must be at most {LARGEST_PERMUTED_N} records, got {LARGEST_PERMUTED_N + 1}",
    ),
    "too many records for two means": (
        lambda **k: t_test.two_sample(MANY[1:], MANY[:1], low=0, high=1, epsilon=1, **k),
        f"there must be at most {LARGEST_PERMUTED_N} records, got {LARGEST_PERMUTED_N + 1}",
    ),
}


@pytest.mark.parametrize("name", RELEASES)
def test_a_test_refuses_before_it_draws_noise(name: str) -> None:
    run, message = RELEASES[name]
    with pytest.raises(InvalidParameter, match=message):
        run(source=Untouchable())


def test_rank_tests_have_a_largest_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit itself would need gigabytes, so it is lowered here."""
    monkeypatch.setattr(statistic_noise, "LARGEST_N", 10)
    monkeypatch.setattr(import_module("holdfast.inference.private_tests.rank_tests"), "LARGEST_N", 10)
    x, y, source = np.arange(6.0), np.arange(5.0), Untouchable()
    for run in (pt.mann_whitney, pt.kruskal_wallis, pt.kolmogorov_smirnov):
        with pytest.raises(InvalidParameter, match="samples must hold at most 10 records in all, got 11"):
            run(x, y, epsilon=1, source=source)
        assert run(x, y[1:], epsilon=1).n == 10
    with pytest.raises(InvalidParameter, match="x must hold at most 10 records, got 11"):
        pt.signed_rank(np.arange(11.0), epsilon=1, source=source)
    assert pt.signed_rank(np.arange(10.0), epsilon=1).n == 10


PLANS: dict[str, tuple[Callable[[], Any], str]] = {
    "gof: ragged p1": (lambda: pt.gof_power(U4, RAGGED, 100, rho=0.1), "p1 must be a list of numbers, or of rows"),
    "independence: ragged p": (lambda: pt.independence_power(RAGGED, 100, rho=0.1), "p must be a list of numbers, or"),
    "homogeneity: ragged p": (
        lambda: pt.homogeneity_power(RAGGED, [50, 50], rho=0.1),
        "p must be a list of numbers, or of rows of equal length",
    ),
    "homogeneity: one row": (
        lambda: pt.homogeneity_power([0.5, 0.5], [50, 50], rho=0.1),
        "p must be a table with one row of probabilities",
    ),
    "model: words": (
        lambda: pt.model_power(HARDY_WEINBERG, ["AA", "Aa", "aa"], 100, rho=0.1),
        "p must be a list of numbers, or of rows of equal length",
    ),
    "model: four cells": (
        lambda: pt.model_power(HARDY_WEINBERG, U4, 100, rho=0.1),
        "p must have 3 cells for Hardy-Weinberg equilibrium of 2 alleles",
    ),
    "trials of exact counts": (
        lambda: pt.independence_power([[0.25, 0.25], [0.25, 0.25]], 100, method="classical", trials=10),
        "trials must be left out here",
    ),
    "moments: two cells": (
        lambda: gof_moments(U4, [0.5, 0.5], 100, rho=0.1),
        "p1 must have one entry per cell, 4 in all, got 2",
    ),
    "moments: Laplace noise": (
        lambda: gof_moments(U4, U4, 100, noise=pt.laplace(1)),
        "noise must be Gaussian, because the variance",
    ),
    "proportion: no number of records": (
        lambda: binomial_power.rows_for_power(1e-13, 2e-13, epsilon=1, target=0.99),
        "the power target 0.99 is not reached with 10000000000 records",
    ),
    "which randomizer: two directions": (
        lambda: local.which_randomizer(3, 1, delta=[0.1, -0.1]),
        "delta must have one entry per category, 3 in all, got 2",
    ),
    "crossovers of a huge epsilon": (
        lambda: local.crossovers(401),
        r"epsilon must be a number in \(0, 400\], got 401: the formulas overflow",
    ),
    "local: a model of everything": (
        lambda: local.general(LOCAL, Saturated()),
        "a model of everything leaves no degree of freedom, because every histogram fits it",
    ),
    "shape of three sides": (lambda: shaped(np.arange(8), (2, 2, 2)), r"shape must be a pair \(r, c\)"),  # type: ignore[arg-type]
    "shape of one number": (lambda: shaped(np.arange(8), 8), r"shape must be a pair \(r, c\)"),  # type: ignore[arg-type]
    "simulated tables: a row": (
        lambda: simulate_tables(100, [0.5, 0.5], LAW, 3, np.random.default_rng(1)),
        "p must be a table of probabilities that sum to one",
    ),
    "simulated tables: half the mass": (
        lambda: simulate_tables(100, [[0.1, 0.1], [0.1, 0.2]], LAW, 3, np.random.default_rng(1)),
        "p must be a table of probabilities that sum to one",
    ),
    "a batch of one table": (
        lambda: independence_batch(np.full((2, 2), 50.0), 200, LAW),
        r"noisy must have shape \(trials, r, c\), got \(2, 2\)",
    ),
    "weights: one row": (
        lambda: independence_tests.weights([1.0], [0.5, 0.5], 100, 1),
        "rows must be positive margins of at least two entries",
    ),
    "weights: an empty column": (
        lambda: independence_tests.weights([0.5, 0.5], [1.0, 0.0], 100, 1),
        "columns must be positive margins of at least two entries",
    ),
    "fit: n and sizes": (
        lambda: fit_model([40, 20, 40], HARDY_WEINBERG, n=100, sizes=[100], variance=1),
        "exactly one of n and sizes must be given",
    ),
    "fit: no n": (
        lambda: fit_model([40, 20, 40], HARDY_WEINBERG, variance=1),
        "exactly one of n and sizes must be given",
    ),
    "fit: two sizes": (
        lambda: fit_model([40, 20, 40], HARDY_WEINBERG, sizes=[50, 50], variance=1),
        "sizes must be 1 whole numbers, at least 1",
    ),
    "fit: four cells": (
        lambda: fit_model([40, 20, 20, 20], HARDY_WEINBERG, n=100, variance=1),
        "noisy must have 1 by 3 counts for Hardy-Weinberg equilibrium of 2 alleles",
    ),
    "fit: a row for a table": (lambda: independence_fit([40, 60], 100, 1), r"noisy must be tables, got shape \(2,\)"),
    "bounds of three": (
        lambda: pt.UserModel(lambda t: [t[0], t[0], 1 - 2 * t[0]], lambda h: [0.3], 3, 1, bounds=(0, 1, 2)),  # type: ignore[arg-type]
        "bounds must be a pair of numbers or of lists of 1 numbers",
    ),
    "start without an estimate": (
        lambda: pt.UserModel(lambda t: [t[0], t[0], 1 - 2 * t[0]], lambda h: [np.nan], 3, 1),
        "start must return finite numbers",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_names_what_is_wrong(name: str) -> None:
    run, message = PLANS[name]
    with pytest.raises(InvalidParameter, match=message):
        run()
