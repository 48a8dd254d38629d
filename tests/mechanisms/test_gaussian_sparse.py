from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from holdfast.accounting.costs import RDP, Cost
from holdfast.bounds import catalogue
from holdfast.bounds.sparse_vector import gaussian_sparse_renyi
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import GaussianSparseVector, Mechanism
from holdfast.noise import Grid, Seeded
from tests.bounds.test_sparse_vector import divergence, first_above
from tests.mechanisms.statistics import fits

STEP = 2
MECHANISM = GaussianSparseVector(0, STEP, 3 * STEP, 6 * STEP, cap=1, length=4, grid=Grid(0))


def law(mechanism: GaussianSparseVector, values: list[int]) -> dict[tuple[int, ...], float]:
    """The exact distribution of one epoch."""
    threshold, question = (law.sigma_steps for law in mechanism.laws)
    chances = first_above(np.array(values), threshold, question).tolist()
    n = len(values)
    transcripts = [(0,) * i + (1,) + (-1,) * (n - i - 1) for i in range(n)] + [(0,) * n]
    return dict(zip(transcripts, chances, strict=True))


def test_sampled_law() -> None:
    values = [-4, 6, 0, 9]
    exact = law(MECHANISM, values)
    assert fits(map(tuple, MECHANISM.replicate(values, 100_000, Seeded(1)).tolist()), exact)
    source = Seeded(2)

    def one_by_one() -> tuple[int, ...]:
        run = MECHANISM.start(source)
        answers = []
        while not run.exhausted:
            answers.append(int(run.ask(values[run.asked]).above))
        return (*answers, *[-1] * (4 - len(answers)))

    assert fits((one_by_one() for _ in range(5000)), exact)
    batch = (MECHANISM.release(values, source).above.astype(int).tolist() for _ in range(5000))
    assert fits(((*above, *[-1] * (4 - len(above))) for above in batch), exact)
    wrong = law(GaussianSparseVector(0, STEP, 3 * STEP, 9 * STEP, cap=1, length=4, grid=Grid(0)), values)
    assert not fits(map(tuple, MECHANISM.replicate(values, 100_000, Seeded(3)).tolist()), wrong)


def test_cost_is_above_the_exact_divergence_of_the_sampled_law() -> None:
    curve = dict(zip(MECHANISM.cost.orders, MECHANISM.cost.epsilons, strict=True))
    rng = np.random.default_rng(4)
    closest = 0.0
    for _ in range(100):
        values = rng.integers(-20, 10, 4)
        moved = values + rng.choice([-STEP, STEP], 4)
        p, q = (np.array(list(law(MECHANISM, v.tolist()).values())) for v in (values, moved))
        for order in (1.25, 2.0, 5.0, 16.0):
            exact = divergence(p, q, order)
            assert exact <= curve[order]
            closest = max(closest, exact / curve[order])
    assert closest > 0.2  # the curve is not vacuous


def test_cost_is_the_theorem_times_the_epochs() -> None:
    mechanism = GaussianSparseVector(0.1, 1e-4, 0.005, 0.01, cap=7, length=100)
    threshold, question = mechanism.laws
    assert isinstance(mechanism.cost, RDP)
    for order, epsilon in zip(mechanism.cost.orders, mechanism.cost.epsilons, strict=True):
        epoch = gaussian_sparse_renyi(
            order, threshold.sensitivity_steps, threshold.sigma_steps, question.sigma_steps, 100
        )
        assert epsilon == pytest.approx(7 * epoch, rel=1e-12)
        assert epsilon == pytest.approx(7 * gaussian_sparse_renyi(order, 1e-4, 0.005, 0.01, 100), rel=2e-3)
    assert list(mechanism.cost.epsilons) == sorted(mechanism.cost.epsilons)
    assert Cost.from_dict(mechanism.cost.to_dict()) == mechanism.cost
    assert threshold.sigma >= 0.005
    assert question.sigma >= 0.01


def test_margin_covers_a_whole_run() -> None:
    mechanism = GaussianSparseVector(0.0, 1e-3, 0.01, 0.02, cap=2, length=2000)
    margin = mechanism.margin(0.05, 1001)
    wrong = 0
    for i in range(200):
        answers = mechanism.release([-margin] * 1000 + [margin], Seeded(1000 + i))
        wrong += answers.above.tolist() != [False] * 1000 + [True]
    assert wrong < 35
    assert margin < 0.02 * math.sqrt(2 * math.log(4 * 1001 / 0.05)) * 1.6


def test_says_what_it_is() -> None:
    assert isinstance(MECHANISM, Mechanism)
    assert MECHANISM.guarantee.theorem in catalogue()
    assert MECHANISM.to_dict()["sigma_steps"] == [6, 12]
    assert GaussianSparseVector(0, 1, 1, 1, monotone=True).guarantee.assumption.endswith("one direction")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threshold": math.inf}, "threshold"),
        ({"sensitivity": 0}, "sensitivity"),
        ({"threshold_sigma": -1}, "threshold_sigma"),
        ({"question_sigma": 0}, "question_sigma"),
        ({"cap": 0}, "cap"),
        ({"length": 0}, "length"),
        ({"monotone": "no"}, "monotone"),
        ({"grid": 1}, "grid"),
    ],
)
def test_wrong_parameters(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"threshold": 0, "sensitivity": 1, "threshold_sigma": 1, "question_sigma": 1}
    with pytest.raises(InvalidParameter, match=message):
        GaussianSparseVector(**good | change)
