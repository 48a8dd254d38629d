"""The model check: true models stand about as often as promised, wrong ones fall."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from holdfast.correlated.holdout.model_check import model_report
from holdfast.correlated.series_model import (
    AnyDependence,
    Autoregressive,
    Independent,
    Markov,
    MDependent,
    Mixing,
    SeriesModel,
    declared,
)
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.noise import Seeded
from holdfast_papers.binomial import exceeds

LEVEL = 0.05


def autoregressive(rng: np.random.Generator, groups: int, k: int, phi: float) -> np.ndarray:
    noise = rng.standard_normal((groups, k))
    noise[:, 1:] *= np.sqrt(1 - phi**2)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise, axis=1))


def flips(rng: np.random.Generator, groups: int, k: int, flip: float) -> np.ndarray:
    steps = rng.random((groups, k)) < flip
    steps[:, 0] = rng.random(groups) < 0.5
    return np.bitwise_xor.accumulate(steps, axis=1).astype(float)


def refuted(model: SeriesModel, table: np.ndarray, seed: int = 1) -> bool:
    groups, k = table.shape
    who, when = np.repeat(np.arange(groups), k), np.tile(np.arange(k), groups)
    report = model_report({"x": table.ravel()}, model, groups=who, times=when, level=LEVEL, source=Seeded(seed))
    return not report.passed


@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (Autoregressive(0.6), lambda rng: autoregressive(rng, 60, 12, 0.6)),
        (Markov(((0.8, 0.2), (0.2, 0.8))), lambda rng: flips(rng, 60, 12, 0.2)),
        (Mixing((0.6,)), lambda rng: flips(rng, 60, 12, 0.2)),
        (Independent(), lambda rng: rng.standard_normal((60, 12))),
        (AnyDependence(), lambda rng: autoregressive(rng, 60, 12, 0.99)),
        (MDependent(1), lambda rng: np.diff(rng.standard_normal((60, 13)), axis=1)),
    ],
)
def test_true_models_stand(model: SeriesModel, draw: object) -> None:
    """At level 5% a true model falls in at most 5% of runs, up to the approximation: tested at 8%, error 1e-6."""
    rng = np.random.default_rng(11)
    fallen = sum(refuted(model, draw(rng), seed) for seed in range(100))  # type: ignore[operator]
    assert not exceeds(fallen, 100, 0.08)


@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (Autoregressive(0.4), lambda rng: autoregressive(rng, 60, 12, 0.8)),
        (Markov(((0.6, 0.4), (0.4, 0.6))), lambda rng: flips(rng, 60, 12, 0.1)),
        (Mixing((0.2,)), lambda rng: flips(rng, 60, 12, 0.1)),
        (Independent(), lambda rng: autoregressive(rng, 60, 12, 0.4)),
        (Independent(), lambda rng: autoregressive(rng, 60, 12, -0.4)),
        (AnyDependence(), lambda rng: rng.standard_normal((60, 12)) + rng.standard_normal(12)),
        (MDependent(1), lambda rng: autoregressive(rng, 60, 12, 0.8)),
    ],
)
def test_wrong_models_fall(model: SeriesModel, draw: object) -> None:
    rng = np.random.default_rng(12)
    assert sum(refuted(model, draw(rng), seed) for seed in range(10)) >= 9  # type: ignore[operator]


def test_the_bounds_are_no_wider_than_declared() -> None:
    """Pairs of rows, so that lag 1 is all there is: correlation 0.7 against 0.5, and coefficient 0.8 against 0.4."""
    rng = np.random.default_rng(14)
    assert refuted(Autoregressive(0.5), autoregressive(rng, 2000, 2, 0.7))
    assert not refuted(Autoregressive(0.7), autoregressive(rng, 2000, 2, 0.7))
    assert refuted(Mixing((0.4,)), flips(rng, 2000, 2, 0.1))
    assert not refuted(Mixing((0.8,)), flips(rng, 2000, 2, 0.1))


def test_only_rows_of_one_group_are_compared() -> None:
    """The last row of each group is the first of the next one; inside a group all is independent."""
    values = np.random.default_rng(15).standard_normal(1001)
    pairs = np.column_stack([values[:-1], values[1:]])
    assert model_report({"x": pairs.ravel()}, Independent(), groups=np.repeat(np.arange(1000), 2)).passed


def test_one_series() -> None:
    rng = np.random.default_rng(13)
    series = autoregressive(rng, 1, 3000, 0.8).ravel()
    assert model_report({"x": series}, Autoregressive(0.8)).passed
    assert not model_report({"x": series}, Autoregressive(0.5)).passed
    shuffled = rng.permutation(3000)
    assert not model_report({"x": series[shuffled]}, Autoregressive(0.5), times=shuffled).passed, (
        "times put it in order"
    )


def test_what_cannot_be_tested_is_said() -> None:
    report = model_report({"x": np.array(["a", "b"]), "y": np.ones(2)}, Independent(), groups=np.arange(2))
    assert report.passed
    assert report.worst is None
    assert len(report.untested) == 3
    assert "not tested" in str(report)
    assert report.to_dict()["findings"] == []


def test_few_groups_try_every_sign() -> None:
    """Nine groups that move as one: exactly one of 256 patterns of signs is as extreme."""
    table = np.tile(np.array([0.0, 1.0, -1.0, 2.0]), (9, 1))
    who, when = np.repeat(np.arange(9), 4), np.tile(np.arange(4), 9)
    report = model_report({"x": table.ravel()}, AnyDependence(), groups=who, times=when)
    assert report.worst is not None
    assert report.worst.p_value == 1 / 256


def test_declarations() -> None:
    assert declared(None) == AnyDependence()
    assert declared([0.5]) == Mixing((0.5,))
    assert declared(Independent()) == Independent()
    for wrong in (
        lambda: declared([1.5]),
        lambda: Autoregressive(1.0),
        lambda: MDependent(-1),
        lambda: Markov(((1,),) * 2),
    ):
        with pytest.raises(InvalidParameter):
            wrong()


@pytest.mark.parametrize("model", [AnyDependence(), Autoregressive(0.5), MDependent(3)])
def test_gaps_that_have_no_bound(model: SeriesModel) -> None:
    with pytest.raises(GuaranteeUnavailable):
        model.rows(10, 1)


@pytest.mark.parametrize("model", [Independent(), Mixing((0.5,)), MDependent(2), Markov(((0.9, 0.1), (0.2, 0.8)))])
def test_gaps_that_have_one(model: SeriesModel) -> None:
    assert model.rows(10, 3).n == 10
    assert 0 <= model.correlation(4) <= 1
