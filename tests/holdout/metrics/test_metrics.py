"""The metrics: exact coverage over every table of counts, the usual point values, and doors that hold."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference  # type: ignore[import-untyped]

from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals.procedure import Procedure
from holdfast.holdout.metrics import (
    auc,
    f1,
    f_beta,
    group_mean,
    mean,
    precision,
    ratio,
    recall,
    weighted_mean,
    win_share,
)
from holdfast.holdout.metrics.classification import _area
from holdfast.holdout.metrics.means import Moments, _bernstein_limit, _kl_limit
from tests.bounds.one_question.coverage import miss_probability

#: (label, prediction) of the four cells of a table of counts
CELLS = np.array([(1, 1), (0, 1), (1, 0), (0, 0)])
LAWS = [(0.25, 0.25, 0.25, 0.25), (0.6, 0.1, 0.1, 0.2), (0.02, 0.03, 0.05, 0.9), (0.9, 0.04, 0.05, 0.01)]
SCORES: dict[str, tuple[Callable[..., Any], Callable[[float, float, float], float]]] = {
    "precision": (precision, lambda both, false, missed: both / (both + false)),
    "recall": (recall, lambda both, false, missed: both / (both + missed)),
    "f1": (f1, lambda both, false, missed: 2 * both / (2 * both + false + missed)),
    "f2": (lambda y, z: f_beta(y, z, 2.0), lambda both, false, missed: 5 * both / (5 * both + 4 * missed + false)),
}


def _columns(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    cells = np.repeat(CELLS, counts, axis=0)
    return cells[:, 0], cells[:, 1]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_scores_of_tables_are_covered(score: str, law: tuple[float, ...], share: float) -> None:
    """Exact: every table of eleven rows. The metric is a function of the counts."""
    question, truth = SCORES[score]

    def interval(counts: tuple[int, ...]) -> tuple[float, float]:
        return question(*_columns(counts)).interval(math.log(share))

    assert miss_probability(11, law, truth(*law[:3]), interval) <= share


@pytest.mark.parametrize("score", ["precision", "recall", "f1"])
def test_a_narrower_score_would_miss(score: str) -> None:
    """The same sum rejects limits at four times the share somewhere."""
    question, truth = SCORES[score]

    def interval(counts: tuple[int, ...]) -> tuple[float, float]:
        return question(*_columns(counts)).interval(math.log(0.4))

    assert max(miss_probability(11, law, truth(*law[:3]), interval) for law in LAWS) > 0.1


@pytest.mark.parametrize("family", ["kl", "empirical-bernstein"])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_ratios_and_weighted_means_are_covered(family: Any, share: float) -> None:
    """Exact: rows of four kinds, eleven of them."""
    value, weight = np.array([0.0, 1.0, 0.3, 0.8]), np.array([1.0, 3.0, 0.0, 2.0])
    for law in LAWS:
        truth = float(np.array(law) @ (value * weight)) / float(np.array(law) @ weight)

        def interval(counts: tuple[int, ...]) -> tuple[float, float]:
            v, w = np.repeat(value, counts), np.repeat(weight, counts)
            found = weighted_mean(v, w, 3.0, family=family).interval(math.log(share))
            assert found == ratio(v * w, w, 3.0, family=family).interval(math.log(share))
            return found

        assert miss_probability(11, law, truth, interval) <= share


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_wins_among_differing_rows_are_covered(share: float) -> None:
    """Exact: rows won by B, won by A, even; and the mean difference decides less of the same rows."""
    for law in ((0.1, 0.05, 0.85), (0.3, 0.3, 0.4), (0.6, 0.39, 0.01)):

        def interval(counts: tuple[int, ...]) -> tuple[float, float]:
            return win_share(np.repeat([1, 0, 1], counts), np.repeat([0, 1, 1], counts)).interval(math.log(share))

        assert miss_probability(12, law, law[0] / (law[0] + law[1]), interval) <= share


def test_the_sign_decides_where_the_mean_difference_does_not() -> None:
    b, a = np.repeat([1.0, 0.0, 1.0], [200, 100, 9_700]), np.repeat([0.0, 1.0, 1.0], [200, 100, 9_700])
    assert win_share(b, a).interval(-14.0, "lower")[0] > 0.5
    for family in ("hoeffding", "kl", "empirical-bernstein"):
        assert mean(b - a, family, -1.0, 1.0).interval(-14.0, "lower")[0] < 0  # type: ignore[arg-type]


def test_a_ratio_for_more_rows_would_miss() -> None:
    value, weight = np.array([0.0, 1.0, 0.3, 0.8]), np.array([1.0, 3.0, 0.0, 2.0])
    law = LAWS[1]
    truth = float(np.array(law) @ (value * weight)) / float(np.array(law) @ weight)

    def interval(counts: tuple[int, ...]) -> tuple[float, float]:
        v, w = np.tile(np.repeat(value, counts), 30), np.tile(np.repeat(weight, counts), 30)
        return weighted_mean(v, w, 3.0).interval(math.log(0.05))

    assert miss_probability(11, law, truth, interval) > 0.05


@pytest.mark.parametrize("family", ["hoeffding", "kl", "clopper-pearson", "empirical-bernstein", "betting"])
def test_groups_are_covered_at_their_realised_size(family: Any) -> None:
    """Exact for every count of members and hits; a group without rows says nothing."""
    for law in ((0.2, 0.1, 0.7), (0.01, 0.01, 0.98), (0.5, 0.4, 0.1)):

        def interval(counts: tuple[int, ...]) -> tuple[float, float]:
            values = np.repeat([1.0, 0.0, 1.0], counts)
            return group_mean(values, np.repeat([1, 1, 0], counts), family).interval(math.log(0.1))

        if family == "betting":  # depends on the order, which this table does not draw; only the empty group is exact
            assert interval((0, 0, 12)) == (0.0, 1.0)
            continue
        assert miss_probability(12, law, law[0] / (law[0] + law[1]), interval) <= 0.1


def test_a_group_taken_for_all_rows_would_miss() -> None:
    law = (0.06, 0.14, 0.8)

    def interval(counts: tuple[int, ...]) -> tuple[float, float]:
        if counts[0] + counts[1] == 0:
            return 0.0, 1.0
        share = counts[0] / (counts[0] + counts[1])
        padded = np.repeat([1.0, 0.0], [round(1_000 * share), 1_000 - round(1_000 * share)])
        return mean(padded).interval(math.log(0.1))

    assert miss_probability(12, law, 0.3, interval) > 0.1


@settings(deadline=None, derandomize=True, max_examples=50)
@given(rows=st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40))
def test_auc_is_the_usual_one(rows: list[tuple[bool, int]]) -> None:
    labels, scores = np.array([r[0] for r in rows]), np.array([r[1] for r in rows], dtype=float)
    area = _area(scores[labels], scores[~labels])
    if labels.all() or not labels.any():
        assert area is None
        assert auc(labels, scores).interval(-1.0) == (0.0, 1.0)
    else:
        assert area == pytest.approx(reference.roc_auc_score(labels, scores), abs=1e-12)
        low, high = auc(labels, scores).interval(-3.0)
        assert low <= area <= high


@settings(deadline=None, derandomize=True, max_examples=50)
@given(rows=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_points_are_the_usual_ones(rows: list[tuple[bool, bool]]) -> None:
    """At a share near 1 both limits close on the point value."""
    labels, predictions = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    usual = {
        "precision": (precision, reference.precision_score, predictions.any()),
        "recall": (recall, reference.recall_score, labels.any()),
        "f1": (f1, reference.f1_score, labels.any() or predictions.any()),
    }
    for ours, theirs, defined in usual.values():
        question = ours(labels, predictions)
        assert isinstance(question, Procedure)
        if not defined:
            assert question.interval(-1.0) == (0.0, 1.0)
            continue
        point = theirs(labels, predictions)
        assert question.interval(-1e-9, "lower")[0] == pytest.approx(point, abs=1e-8)
        assert question.interval(-1e-9, "upper")[1] == pytest.approx(point, abs=1e-8)
    if labels.any() or predictions.any():
        low, high = f_beta(labels, predictions, 2.0).interval(-1.0)
        assert low <= reference.fbeta_score(labels, predictions, beta=2.0) <= high


def _auc_misses(runs: int, sizes: Callable[[int, int], tuple[int, int]] | None = None) -> int:
    from holdfast.bounds.one_question import two_sample_u

    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(runs):
        labels = rng.random(200) < 0.3
        scores = rng.random(200) + 0.4 * labels  # uniform scores shifted by 0.4: AUC = 1 - 0.6**2 / 2
        if sizes is None:
            low, high = auc(labels, scores).interval(math.log(0.1))
        else:
            ones = int(labels.sum())
            area = _area(scores[labels], scores[~labels])
            assert area is not None
            low, high = two_sample_u(area, *sizes(ones, 200 - ones), math.log(0.1))
        missed += not low <= 1 - 0.6**2 / 2 <= high
    return missed


def test_simulated_auc_holds_and_counting_pairs_would_not() -> None:
    """Error rate below 1e-6: 1,000 runs at share 0.1 have more than 150 misses with probability 3e-7."""
    assert _auc_misses(1_000) <= 150
    assert _auc_misses(1_000, lambda a, b: (a * b, a * b)) > 150


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30),
    log_share=st.floats(-30, -0.1),
)
def test_no_candidate_below_the_limit_survives(rows: list[tuple[float, float]], log_share: float) -> None:
    """The proof that bisection is right, tried: everything below the limit is refuted, a little above is not."""
    num, den = np.array([v * w for v, w in rows]), np.array([w for _, w in rows])
    m = Moments.of(num, den)

    from holdfast.bounds.numerics.binomial import binary_kl
    from holdfast.bounds.one_question.means import bernstein_half_width

    limit = _kl_limit(m, log_share)
    for c in np.linspace(1e-9, 1 - 1e-9, 60):
        y = m.num + c * (1 - m.den)
        refuted = y > c and m.n * binary_kl(y, float(c)) >= -log_share
        assert refuted or c >= limit - 1e-9
        assert not refuted or c <= limit + 1e-6 * (1 + 1 / max(m.den, 1e-3))
    limit = _bernstein_limit(m, log_share, 3)
    for c in np.linspace(0, 1, 60):
        variance = max(m.num_variance - 2 * c * m.covariance + c * c * m.den_variance, 0.0)
        refuted = m.num - c * m.den > bernstein_half_width(math.sqrt(variance), m.n, log_share, 1.0, 3)
        assert refuted or c >= limit - 1e-9


def test_ratios_are_scaled_to_their_range() -> None:
    rng = np.random.default_rng(8)
    value, weight = rng.uniform(-1, 3, 400), rng.uniform(0, 5, 400)
    low, high = weighted_mean((value + 1) / 4, weight, 5.0).interval(-5.0)
    moved = weighted_mean(value, weight, 5.0, -1.0, 3.0).interval(-5.0)
    assert moved == pytest.approx((4 * low - 1, 4 * high - 1), abs=1e-8)
    assert low <= np.average((value + 1) / 4, weights=weight) <= high
    lower = weighted_mean((value + 1) / 4, weight, 5.0).interval(-5.0 - math.log(2), "lower")
    assert lower == (pytest.approx(low, abs=1e-9), 1.0)
    assert weighted_mean([0.5, 0.7], [0.0, 0.0], 1.0).interval(-5.0) == (0.0, 1.0)


def test_empirical_bernstein_ratios_are_narrower_where_residuals_are_small() -> None:
    rng = np.random.default_rng(9)
    weight = rng.uniform(0.5, 1, 20_000)
    value = 0.5 + 0.02 * rng.standard_normal(20_000).clip(-3, 3)
    wide = weighted_mean(value, weight, 1.0).interval(-10.0)
    narrow = weighted_mean(value, weight, 1.0, family="empirical-bernstein").interval(-10.0)
    assert narrow[1] - narrow[0] < 0.2 * (wide[1] - wide[0])


def test_a_group_counts_all_rows_and_uses_its_own() -> None:
    values, members = np.array([0.2, 5.0, 0.4, 0.3]), np.array([1, 0, 1, 1])
    question = group_mean(values, members)
    assert question.n == 4
    assert question.interval(-1.0) == pytest.approx(mean(values[[0, 2, 3]]).interval(-1.0), abs=1e-12)


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: auc([0, 1, 2], [0.1, 0.2, 0.3]), "labels"),
        (lambda: auc([0, 1], [0.1, math.nan]), "scores"),
        (lambda: auc([0, 1], [0.1, 0.2, 0.3]), "scores"),
        (lambda: f1([0, 1], [0, 0.5]), "predictions"),
        (lambda: f_beta([0, 1], [0, 1], 0.0), "beta"),
        (lambda: f_beta([0, 1], [0, 1], 1.0, "guess"), "family must be one of kl, empirical-bernstein, got 'guess'"),
        (
            lambda: mean([0, 1], "clopper-pearson", 0, 2),
            r"low and high must be 0 and 1 for clopper-pearson, got \[0, 2\]",
        ),
        (lambda: precision([0, 1], [[0, 1]]), "predictions"),
        (lambda: recall([], []), "labels"),
        (lambda: ratio([2.0, 0.1], [1.0, 1.0], 1.0), "numerators"),
        (lambda: ratio([0.5, 0.1], [1.0, 1.7], 1.0), "denominators"),
        (lambda: ratio([0.5, 0.1], [1.0, 1.0], 0.0), "max_denominator"),
        (lambda: ratio([0.5], [1.0], 1.0, family="student"), "family"),  # type: ignore[arg-type]
        (lambda: weighted_mean([0.5], [1.0]), "max_weight"),
        (lambda: weighted_mean([0.5], [2.0], 1.0), "weights"),
        (lambda: weighted_mean([1.7], [0.5], 1.0), "values"),
        (lambda: group_mean([0.5, 1.7], [1, 1]), "values"),
        (lambda: group_mean([0.5, 0.7], [1, 2]), "members"),
        (lambda: group_mean([0.5, 0.7], [1, 1], "clopper-pearson"), "values"),
        (lambda: win_share([0.5, math.nan], [0, 1]), "values_b"),
        (lambda: win_share([0.5, 1.7], [0]), "values_a"),
        (lambda: mean([0.5], "student"), "family"),  # type: ignore[arg-type]
        (lambda: mean([0.5], low=1.0, high=0.0), "high"),
    ],
)
def test_wrong_input_names_the_parameter_and_shows_no_row(make: Callable[[], Any], parameter: str) -> None:
    with pytest.raises(InvalidParameter, match=parameter) as caught:
        make()
    assert "1.7" not in str(caught.value)


def test_nothing_secret_is_shown() -> None:
    questions = [
        auc([0, 1], [0.123, 0.456]),
        f1([0, 1], [1, 1]),
        weighted_mean([0.123, 0.1], [1.0, 0.5], 1.0),
        group_mean([0.123, 0.1], [1, 0]),
        mean([0.123, 0.1]),
    ]
    for question in questions:
        assert "0.123" not in repr(question) + str(question)
        assert "2" in repr(question)  # n is public
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(question)
        with pytest.raises(InvalidParameter, match="log_share"):
            question.interval(1.0)
        with pytest.raises(InvalidParameter, match="side"):
            question.interval(-1.0, "left")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda hidden, whole: auc(hidden, whole),
        lambda hidden, whole: auc(whole, hidden),
        lambda hidden, whole: f1(whole, hidden),
        lambda hidden, whole: precision(hidden, whole),
        lambda hidden, whole: group_mean(hidden, whole),
        lambda hidden, whole: group_mean(whole, hidden),
        lambda hidden, whole: mean(hidden),
        lambda hidden, whole: mean(hidden, "betting"),
        lambda hidden, whole: ratio(hidden, whole, 1.0),
        lambda hidden, whole: weighted_mean(whole, hidden, 1.0),
        lambda hidden, whole: win_share(whole, hidden),
    ],
)
def test_masked_rows_are_refused(ask: Callable[[Any, Any], Any]) -> None:
    """What lies under a mask must not be counted as if it were there."""
    whole = np.array([0.0, 1.0, 1.0, 0.0])
    ask(whole, whole)
    with pytest.raises(InvalidParameter, match="masked"):
        ask(np.ma.MaskedArray(whole, mask=[0, 0, 1, 0]), whole)


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_a_ratio_to_one_is_a_mean(side: Any) -> None:
    """With all denominators 1 the interval by empirical Bernstein is that of the mean: same events, same width."""
    values = np.tile([0.2, 0.5, 0.9, 0.4], 200)
    found = ratio(values, np.ones(800), 1.0, family="empirical-bernstein").interval(-7.0, side)
    assert found == pytest.approx(mean(values, "empirical-bernstein").interval(-7.0, side), abs=1e-6)


def test_a_metric_is_described_in_public_words() -> None:
    """What the transcript keeps of a question: its words, its range and what was claimed."""
    from holdfast.holdout.intervals.procedure import OnRows
    from holdfast.holdout.questions import OneSided, ProcedureQuestion

    asked = ProcedureQuestion(OnRows(-1.0, 2.0, 100, "a constant", lambda log_share, side: (0.25, 0.5)), 100)
    assert asked.describe(OneSided(0.1, True)) == {
        "kind": "metric",
        "description": "a constant",
        "low": -1.0,
        "high": 2.0,
        "at_least": 0.1,
    }
    for name, bound in (("at_least", -1.1), ("at_most", 2.1)):
        with pytest.raises(InvalidParameter, match=name):
            asked.claim(name, bound)
    assert asked.claim("at_most", 2.0) == OneSided(2.0, False)


def test_a_mean_by_bets_is_the_interval_of_its_bets() -> None:
    from holdfast.holdout.intervals.betting import Bets
    from holdfast.holdout.metrics import mean

    column = np.random.default_rng(4).beta(2, 5, 400)
    question = mean(column, "betting")
    assert question.interval(-5.0) == Bets.on(column, 0.0, 1.0, "values").interval(-5.0, "both")
    assert question.interval(-5.0) != mean(column, "kl").interval(-5.0)


def test_f_of_one_is_f1():
    labels, predictions = [1, 1, 0, 0] * 50, [1, 0, 1, 0] * 50
    for share in (-1.0, -10.0):
        assert f_beta(labels, predictions, 1.0).interval(share) == f1(labels, predictions).interval(share)
