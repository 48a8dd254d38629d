"""Every broken mechanism is caught by our own auditor, by its exact distribution where it has one; every correct one is
not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from holdfast.bounds.conversions import rdp_to_dp
from holdfast.mechanisms import (
    BitFlip,
    Gaussian,
    GaussianSparseVector,
    Laplace,
    RandomizedResponse,
    SparseVector,
    above_threshold,
    audit,
    numeric_sparse,
    sparse,
    sparse_vector,
)
from holdfast.noise import Grid, Seeded
from tests.mechanisms.zoo import SPARSE_ZOO, STEP, ZOO, Sparse, Specimen, max_log_ratio

WHOLE = Grid(0)
S = STEP


def _id(value: Any) -> str:
    return value.name if isinstance(value, Specimen) else str(value)


@pytest.mark.parametrize("specimen", ZOO, ids=_id)
def test_broken_is_caught(specimen: Specimen) -> None:
    source = Seeded(100 + ZOO.index(specimen))
    result = audit(
        lambda value, runs: specimen.simulate(value, runs, source),
        [specimen.pair],
        specimen.claimed,
        runs=specimen.runs,
    )
    assert result.caught, f"{specimen.name} ({specimen.wrong}): {result}"
    assert result.confidence == 1 - 1e-6


@pytest.mark.parametrize(
    "specimen", [s for s in SPARSE_ZOO if s.member and s.member.release is None and len(s.pair[0]) <= 14], ids=_id
)
def test_broken_is_broken_by_its_exact_law(specimen: Specimen) -> None:
    assert specimen.member is not None
    exact = max_log_ratio(*(specimen.member.law(values) for values in specimen.pair))
    assert exact > 1.3 * specimen.claimed


@pytest.mark.parametrize(
    ("member", "first", "second"),
    [
        (Sparse(2 * S, 4 * S, 6, "above"), [-1, 0] * 6, [0, -1] * 6),
        (Sparse(2 * S, 4 * S, 6), [0, 1] * 6, [1, 0] * 6),
    ],
    ids=["refresh-without-paying", "single-threshold-without-the-cap"],
)
def test_a_shorter_form_of_the_long_ones_is_broken_by_its_exact_law(
    member: Sparse, first: list[int], second: list[int]
) -> None:
    assert max_log_ratio(member.law([S * v for v in first]), member.law([S * v for v in second])) > 2


CORRECT: dict[str, SparseVector] = {
    "above-threshold": above_threshold(0, S, 1, grid=WHOLE),
    "sparse": sparse(0, S, 1, 3, grid=WHOLE),
    "lyu-su-li": sparse_vector(0, S, 1, 3, grid=WHOLE),
    "lyu-su-li-refresh": sparse_vector(0, S, 1, 3, refresh=True, grid=WHOLE),
    "equal-shares": SparseVector(0, S, 1, 4, grid=WHOLE),
    "thresholdout": SparseVector(
        0, S, 1, 3, (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), refresh=True, grid=WHOLE
    ),
    "numeric-sparse": numeric_sparse(0, S, 1, 3, grid=WHOLE),
    "lyu-su-li-values": sparse_vector(0, S, 1, 2, release_share=Fraction(1, 3), grid=WHOLE),
}
# What breaks the broken ones: the last questions move against the first, all move together, signs alternate.
PAIRS = [
    ([0] * 8, [1] * 4 + [-1] * 4),
    ([-1, 0] * 5, [0, -1] * 5),
    ([0] * 10 + [1], [-1] * 10 + [2]),
    ([3] * 4, [4] * 4),
]


@pytest.mark.parametrize("name", CORRECT)
def test_correct_sparse_vector_is_not_caught(name: str) -> None:
    mechanism, source = CORRECT[name], Seeded(7)
    pairs = [([S * v for v in first], [S * v for v in second]) for first, second in PAIRS]
    result = audit(lambda v, runs: mechanism.replicate(v, runs, source), pairs, mechanism.cost, runs=100_000)
    assert not result.caught, str(result)
    assert result.lower_bound > 0  # the pairs do tell something, so the audit is not empty


def _asked(mechanism: SparseVector, one_by_one: bool, source: Seeded) -> Any:
    """Transcripts of real runs, not of `replicate`: the value, NaN below, infinity not answered."""

    def simulate(values: list[int], runs: int) -> Any:
        transcripts = np.full((runs, len(values)), np.inf)
        for row in transcripts:
            if one_by_one:
                run = mechanism.start(source)
                answers = [run.ask(value) for value in values if not run.exhausted]
            else:
                answers = list(mechanism.release(values, source))
            row[: len(answers)] = [np.nan if answer.value is None else answer.value for answer in answers]
        return transcripts

    return simulate


@pytest.mark.parametrize("one_by_one", [False, True])
def test_real_runs_that_release_values_are_not_caught(one_by_one: bool) -> None:
    # Power: values with noise of one step are caught. (Values with the noise of the comparison are told apart by
    # their distribution in test_sparse_mechanisms; to refute them here takes hundreds of thousands of runs, as for
    # "roth-notes".)
    mechanism, pair = numeric_sparse(0, S, 1, 1, grid=WHOLE), ([0] * 3, [-S] * 3)
    assert not audit(_asked(mechanism, one_by_one, Seeded(12)), [pair], mechanism.cost, runs=5000).caught
    threshold, question = (law.scale_steps for law in mechanism.laws[:2])
    quiet = Sparse(threshold, question, 1, "above", 1)
    assert audit(lambda v, runs: quiet.simulate(v, runs, Seeded(13 - v[0])), [pair], mechanism.cost, runs=5000).caught


def test_correct_monotone_form_is_not_caught_on_monotone_questions_and_is_on_others() -> None:
    mechanism, source = sparse_vector(0, S, 1, 1, monotone=True, grid=WHOLE), Seeded(8)

    def simulate(values: list[int], runs: int) -> Any:
        return mechanism.replicate(values, runs, source)

    rising = [
        ([S * v for v in first], [S * v for v in second]) for first, second in (([0] * 4, [1] * 4), ([0, 1], [0, 2]))
    ]
    assert not audit(simulate, rising, mechanism.cost).caught
    assert audit(simulate, [([0] * 4, [S] * 3 + [-S])], mechanism.cost).caught


def test_gaussian_sparse_vector_is_not_caught() -> None:
    mechanism, source = GaussianSparseVector(0, S, 4 * S, 8 * S, cap=2, length=8, grid=WHOLE), Seeded(9)
    delta = 1e-3
    epsilon = rdp_to_dp(mechanism.cost.orders, mechanism.cost.epsilons, delta)
    pairs = [([S * v for v in first], [S * v for v in second]) for first, second in PAIRS]
    result = audit(lambda v, runs: mechanism.replicate(v, runs, source), pairs, epsilon, delta=delta)
    assert not result.caught, str(result)


def test_laplace_and_gaussian_are_not_caught() -> None:
    source = Seeded(10)
    laplace = Laplace(S, 1, grid=WHOLE)
    result = audit(lambda v, runs: laplace.law.release(np.full(runs, v), source=source), [(0, S)], laplace.cost)
    assert not result.caught
    assert result.lower_bound > 0.9

    gaussian = Gaussian(S, rho=0.5, grid=WHOLE)
    delta = 1e-2
    epsilon = rdp_to_dp([2.0, 3.0, 4.0, 6.0], [0.5 * a for a in (2.0, 3.0, 4.0, 6.0)], delta)
    result = audit(
        lambda v, runs: gaussian.law.release(np.full(runs, v), source=source),
        [(0, S)],
        epsilon,
        delta=delta,
        runs=200_000,
    )
    assert not result.caught
    assert result.lower_bound > 0.5 * epsilon


def test_local_randomizers_are_not_caught() -> None:
    source = Seeded(11)
    for mechanism in (RandomizedResponse(4, 1), BitFlip(4, 1)):
        result = audit(lambda v, runs, m=mechanism: m.release(np.full(runs, v), source), [(0, 1)], mechanism.cost)
        assert not result.caught
        assert result.lower_bound > 0.7
