"""Gaussian fields: vectors, brute force over known sets, bounds, composition, long series."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from holdfast.bounds.correlated.influence import autoregressive_shift, equicorrelation_shift
from holdfast.correlated import DependenceModel, GaussianField
from holdfast.correlated.fields.precision import Precision, autoregression_precision
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

MIXED = [[1, 0.5, -0.4], [0.5, 1, 0.1], [-0.4, 0.1, 1]]


def brute(covariance, weights, record, known):
    """The shift from the conditional covariance: the other formula of the specification."""
    covariance = np.asarray(covariance, dtype=float)
    n = len(covariance)
    free = [j for j in range(n) if j not in known]
    known = list(known)
    given = covariance[np.ix_(free, free)]
    if known:
        cross = covariance[np.ix_(free, known)]
        given = given - cross @ np.linalg.solve(covariance[np.ix_(known, known)], cross.T)
    i = free.index(record)
    return abs(sum(weights[j] * given[k, i] / given[i, i] for k, j in enumerate(free)))


def brute_worst(covariance, weights, reach=None):
    n = len(covariance)
    reach = np.ones(n) if reach is None else reach
    best = (-1.0, 0, ())
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for known in itertools.combinations(others, size):
                value = reach[i] * brute(covariance, weights, i, known)
                if value > best[0] + 1e-12:
                    best = (value, i, known)
    return best


def random_covariance(rng, n):
    root = rng.normal(size=(n, n + 2))
    return root @ root.T


def random_positive_ties(rng, n):
    ties = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
    ties = ties + ties.T
    return np.diag(ties.sum(axis=1) + 0.2) - ties


def test_v23_autoregression():
    series = GaussianField.autoregressive(10, 0.5)
    worst = series.worst_shift()
    assert worst.value == pytest.approx(2.906250000, abs=1e-10)
    assert worst.record in (4, 5)
    assert worst.known == ()
    assert series.noise_scale(0.5) == pytest.approx(5.812500000, abs=1e-9)
    for i in range(10):
        assert series.shift(i) == pytest.approx(autoregressive_shift(10, 0.5, i + 1), rel=1e-12)


def test_v24_equicorrelation():
    field = GaussianField(covariance=0.7 * np.eye(5) + 0.3)
    assert field.worst_shift().value == pytest.approx(2.2, abs=1e-10)
    assert field.worst_shift().value == pytest.approx(equicorrelation_shift(5, 0.3), rel=1e-10)


def test_v25_mixed_signs_are_worst_for_someone_who_knows_something():
    field = GaussianField(covariance=MIXED)
    worst = field.worst_shift()
    assert worst.value == pytest.approx(1.642857143, abs=5e-10)
    assert (worst.record, worst.known, worst.method) == (0, (2,), "every known set")
    assert [round(field.shift(i), 9) for i in range(3)] == [1.1, 1.6, 0.7]


def test_v38_diagnostic():
    series = GaussianField.autoregressive(40, 0.5)
    assert series.truncated_influence(10, [20], 3.0) == pytest.approx(0.01757814176, abs=5e-12)


def test_the_diagnostic_of_no_record_is_nothing():
    assert GaussianField.autoregressive(30, 0.5).truncated_influence(5, [], radius=3.0) == 0.0


def test_the_diagnostic_is_the_largest_log_ratio_in_the_box():
    rng = np.random.default_rng(2)
    for _ in range(20):
        covariance = random_covariance(rng, 4)
        field, radius = GaussianField(covariance=covariance), 1.5
        q = [1, 3]
        slope = covariance[q, 0] / covariance[0, 0]
        given = covariance[np.ix_(q, q)] - np.outer(slope, covariance[q, 0])
        pull = np.linalg.solve(given, slope)
        xs = np.linspace(-radius, radius, 201)
        corner = radius * np.abs(pull).sum()
        values = [(x - y) * corner - (x * x - y * y) / 2 * (pull @ slope) for x in xs for y in xs[::200]]
        found = field.truncated_influence(0, q, radius)
        assert max(values) <= found * (1 + 1e-9)
        assert found <= max(values) * (1 + 1e-3)


def test_both_formulas_agree_for_every_adversary():
    rng = np.random.default_rng(7)
    for _ in range(10):
        covariance, weights = random_covariance(rng, 5), rng.normal(size=5)
        field = GaussianField(covariance=covariance)
        for i in range(5):
            for known in itertools.combinations([j for j in range(5) if j != i], 2):
                assert field.shift(i, known, weights) == pytest.approx(brute(covariance, weights, i, known), rel=1e-9)


def test_the_worst_shift_is_the_worst_of_all_known_sets():
    rng = np.random.default_rng(8)
    for _ in range(15):
        covariance, weights, reach = random_covariance(rng, 5), rng.normal(size=5), rng.random(5)
        found = GaussianField(covariance=covariance).worst_shift(weights, reach)
        wanted = brute_worst(covariance, weights, reach)
        assert found.value == pytest.approx(wanted[0], rel=1e-9)
        assert found.record == wanted[1]


def test_with_positive_ties_whoever_knows_nothing_is_worst():
    rng = np.random.default_rng(9)
    for flipped in (False, True):
        for _ in range(10):
            precision = random_positive_ties(rng, 5)
            signs = rng.choice([-1.0, 1.0], 5) if flipped else np.ones(5)
            precision = signs[:, None] * precision * signs
            weights = signs * rng.random(5)
            found = GaussianField(precision).worst_shift(weights)
            assert found.method == "nothing known"
            assert found.value == pytest.approx(brute_worst(np.linalg.inv(precision), weights)[0], rel=1e-9)


def test_the_shortcut_would_be_wrong_without_its_check():
    # Power: nothing known is not the worst for these, so a search that skips the check of signs would be caught.
    rng = np.random.default_rng(10)
    wrong = 0
    for _ in range(10):
        covariance = random_covariance(rng, 5)
        alone = max(brute(covariance, np.ones(5), i, ()) for i in range(5))
        wrong += alone < brute_worst(covariance, np.ones(5))[0] - 1e-6
    assert wrong >= 5


def test_large_fields_of_mixed_sign_get_a_bound_that_covers_every_known_set():
    rng = np.random.default_rng(12)
    for _ in range(5):
        n = 17
        ties = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3), 1)
        ties = ties + ties.T
        precision = np.diag(np.abs(ties).sum(axis=1) * 1.2 + 0.3) + ties
        field = GaussianField(precision)
        found = field.worst_shift()
        assert found.method == "upper bound"
        assert found.known is None
        for _ in range(40):
            i = int(rng.integers(n))
            known = [j for j in range(n) if j != i and rng.random() < 0.5]
            assert field.shift(i, known) <= found.value * (1 + 1e-12)


def test_chains_of_any_sign_are_exact_at_any_length():
    rng = np.random.default_rng(14)
    for n in (1, 2, 5, 6):
        for _ in range(5):
            ties, weights, reach = rng.normal(size=n - 1), rng.normal(size=n), rng.random(n) + 0.1
            diagonal = np.abs(np.append(ties, 0)) + np.abs(np.append(0, ties)) + 0.1 + rng.random(n)
            precision = np.diag(diagonal) + np.diag(ties, 1) + np.diag(ties, -1)
            covariance = np.linalg.inv(precision)
            found = GaussianField(precision).worst_shift(weights, reach)
            assert found.value == pytest.approx(brute_worst(covariance, weights, reach)[0], rel=1e-9)
            assert reach[found.record] * brute(covariance, weights, found.record, found.known) == pytest.approx(
                found.value
            )
    alternating = GaussianField.autoregressive(50_000, -0.5)
    worst = alternating.worst_shift()
    assert worst.value == pytest.approx(1.0, rel=1e-9)
    assert worst.method == "every known set"
    both = alternating.leakage([(np.ones(50_000), 1.0), (np.ones(50_000), 2.0)])
    assert both.value == pytest.approx(1.5, rel=1e-9)
    assert both.method == "upper bound"


def test_strong_ties_of_mixed_sign_are_refused():
    with pytest.raises(GuaranteeUnavailable, match="positive and negative couplings"):
        GaussianField.autoregressive(100, [0.5, 0.2, -0.1]).worst_shift()


def test_several_releases_add_up_at_each_adversary():
    rng = np.random.default_rng(13)
    covariance = random_covariance(rng, 4)
    field = GaussianField(covariance=covariance)
    queries = [(rng.normal(size=4), float(rng.random() + 0.5)) for _ in range(3)]
    wanted = max(
        sum(brute(covariance, w, i, known) / s for w, s in queries)
        for i in range(4)
        for size in range(4)
        for known in itertools.combinations([j for j in range(4) if j != i], size)
    )
    found = field.leakage(queries)
    assert found.value == pytest.approx(wanted, rel=1e-9)
    assert found.value <= sum(field.worst_shift(w).value / s for w, s in queries) * (1 + 1e-12)
    assert field.leakage([]).value == 0


def test_the_leak_of_one_release_is_its_level():
    field = GaussianField.autoregressive(30, 0.6)
    scale = field.linear_noise_scale(0.4, reach=2.0)
    assert field.leakage([(np.ones(30), scale)], reach=2.0).value == pytest.approx(0.4, rel=1e-9)
    assert field.noise_scale(0.4, 2.0) == pytest.approx(scale, rel=1e-12)


def test_the_laplace_level_is_exact():
    # The log ratio of Normal * Laplace densities under two means approaches shift * reach / scale in the tail.
    field, scale = GaussianField.autoregressive(3, 0.5), 1.7
    shift = field.shift(1)
    spread = 0.8  # deviation of what stays unknown; any
    y = 60.0

    def log_density(mean):
        grid = np.linspace(-8, 8, 4001) * spread
        logs = -0.5 * (grid / spread) ** 2 - np.abs(y - mean - grid) / scale
        return float(np.logaddexp.reduce(logs))

    assert log_density(shift) - log_density(0.0) == pytest.approx(shift / scale, rel=1e-9)


@pytest.mark.parametrize("coefficients", [[0.5], [-0.4], [0.5, 0.2], [0.3, -0.5], [0.4, 0.2, 0.1]])
def test_autoregressions_have_their_stationary_covariance(coefficients):
    n = 12
    covariance = np.linalg.inv(autoregression_precision(n, coefficients, 1.5).toarray())
    assert np.diagonal(covariance) == pytest.approx(np.full(n, 2.25))
    first = covariance[0]
    p = len(coefficients)
    for lag in range(p, n):  # Yule-Walker
        assert first[lag] == pytest.approx(sum(a * first[lag - 1 - j] for j, a in enumerate(coefficients)), abs=1e-12)
    for lag in range(n):
        assert np.diagonal(covariance, lag) == pytest.approx(np.full(n - lag, first[lag]))


@pytest.mark.parametrize("kind", ["tridiagonal", "banded", "shuffled", "dense"])
def test_solves_and_variances_agree_with_dense_algebra(kind):
    rng = np.random.default_rng(17)
    n = 40
    width = {"tridiagonal": 1, "banded": 4, "shuffled": 2, "dense": n}[kind]
    ties = np.triu(np.tril(rng.normal(size=(n, n)), width), 1)
    matrix = ties + ties.T + np.diag(np.abs(ties + ties.T).sum(axis=1) + 0.5)
    if kind == "shuffled":
        order = rng.permutation(n)
        matrix = matrix[np.ix_(order, order)]
    found = Precision(sparse.csr_array(matrix))
    assert found.band <= width + 2
    inverse = np.linalg.inv(matrix)
    assert np.allclose(found.inverse_diagonal, np.diagonal(inverse), rtol=1e-11)
    right = rng.normal(size=(n, 3))
    assert np.allclose(found.solve(right), inverse @ right, atol=1e-11)
    assert np.allclose(found.solve(right[:, 0]), inverse @ right[:, 0], atol=1e-11)


def test_a_million_steps_are_planned_without_a_dense_matrix():
    series = GaussianField.autoregressive(1_000_000, 0.9)
    assert series.worst_shift().value == pytest.approx(19, rel=1e-9)
    assert series.effective_n() == pytest.approx(1_000_000 * 0.1 / 1.9)


def test_effective_size_and_variance_inflation():
    field = GaussianField(covariance=np.kron(np.eye(5), [[1, 0.5], [0.5, 1]]))
    assert field.effective_n() == pytest.approx(5)
    assert field.variance_inflation() == pytest.approx(1.5)
    with pytest.raises(GuaranteeUnavailable, match="variance_inflation"):
        GaussianField(covariance=0.7 * np.eye(5) + 0.3).effective_n()


def test_max_influence_of_a_gaussian_is_refused():
    field = GaussianField.autoregressive(5, 0.5)
    assert isinstance(field, DependenceModel)
    for call in (
        lambda: field.influence(0, [1]),
        lambda: field.best_quilt(0, 1.0),
        lambda: field.worst_quilt(1.0),
        lambda: field.epsilon_dp(1.0),
        lambda: field.epsilon_bdp(1.0),
    ):
        with pytest.raises(GuaranteeUnavailable, match="unbounded"):
            call()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GaussianField([[1.0, 2.0], [2.0, 1.0]]), "precision must be positive definite"),
        (lambda: GaussianField(np.diag([1.0, -1.0])), "positive definite"),
        (lambda: GaussianField(covariance=np.ones((3, 3))), "covariance must be positive definite"),
        (lambda: GaussianField([[1.0, 0.5], [0.2, 1.0]]), "symmetric"),
        (lambda: GaussianField([[1.0, math.nan], [math.nan, 1.0]]), "finite"),
        (lambda: GaussianField(np.ones((2, 3))), "square"),
        (lambda: GaussianField(), "exactly one"),
        (lambda: GaussianField("rows"), "numbers"),
        (lambda: GaussianField.autoregressive(10, 1.0), "stationary"),
        (lambda: GaussianField.autoregressive(1, [0.5, 0.1]), "n must"),
        (lambda: GaussianField.autoregressive(5, 0.5).worst_shift(np.ones(4)), "list of 5"),
        (lambda: GaussianField.autoregressive(5, 0.5).worst_shift(reach=-1.0), "reach"),
        (lambda: GaussianField.autoregressive(5, 0.5).worst_shift("all"), "weights must be a list of 5 finite numbers"),
        (
            lambda: GaussianField.autoregressive(5, 0.5).worst_shift(reach=[1, 2]),
            "reach must be a finite number, at least",
        ),
        (
            lambda: GaussianField.autoregressive(5, 0.5).worst_shift(reach="far"),
            "reach must be a finite number, at least",
        ),
        (
            lambda: GaussianField.autoregressive(5, 0.5).truncated_influence(2, [2], 3.0),
            "quilt must not contain the record",
        ),
        (lambda: GaussianField.autoregressive(5, 0.5).truncated_influence(2, [1], 0.0), "radius must be"),
        (lambda: GaussianField.autoregressive(5, 0.5).shift(0, [0]), "record itself"),
        (lambda: GaussianField.autoregressive(5, 0.5).noise_scale(0.0), "epsilon_bdp"),
    ],
)
def test_wrong_input_is_refused_with_the_reason(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()
