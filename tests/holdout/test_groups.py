"""Rows that belong together: the unit is the group, everywhere, and taking rows as units is caught."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier

import holdfast as hf
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout.reusable import Units
from holdfast.integrations.sklearn import ReusableHoldoutSearch

PATIENTS, VISITS = 60, 20
GROUPS = np.repeat(np.arange(PATIENTS), VISITS)


def visits(rng: np.random.Generator, spread: float = 0.4) -> np.ndarray:
    """Right or wrong a visit: visits of one patient come out alike."""
    chance = np.clip(0.6 + rng.normal(0, spread, PATIENTS), 0, 1)
    return rng.random(PATIENTS * VISITS) < np.repeat(chance, VISITS)


def test_groups_are_the_units_and_taking_rows_as_units_is_caught() -> None:
    """Final intervals at 95% in 300 runs: misses beyond those of probability 1e-6 fail; rows as units miss far more."""
    rng = np.random.default_rng(1)
    true = float(np.mean([visits(rng).mean() for _ in range(4000)]))
    missed, wrong = 0, 0
    for _ in range(300):
        column = visits(rng)
        for groups in (GROUPS, None):
            run = hf.ReusableHoldout(len(column), groups=groups, final=1.0)
            low, high = run.final({"model": column}).winner_interval
            missed += (groups is not None) and not low <= true <= high
            wrong += (groups is None) and not low <= true <= high
    most = int(binom.isf(1e-6, 300, 0.05))
    assert missed <= most
    assert wrong > 2 * most


def test_every_verb_takes_one_value_a_row() -> None:
    rng = np.random.default_rng(2)
    worse, better = visits(rng, 0.1), np.ones(PATIENTS * VISITS)
    run = hf.ReusableHoldout(PATIENTS * VISITS, questions=20, groups=GROUPS)
    assert (run.n, run.units, run.explored) == (PATIENTS * VISITS, PATIENTS, PATIENTS)
    assert "in 60 groups" in repr(run)
    mean = float(Units.of(GROUPS, len(GROUPS)).means(worse, "values").mean())
    answer = run.check(worse, guess=mean)
    assert answer.passed
    assert run.check_batch([worse, better], [mean, 0.9])[0].passed
    assert run.claim(better, at_least=0.7).passed
    comparison = run.compare(better, worse)
    assert comparison.passed
    assert run.best({"a": worse, "b": better}, {"a": 0.5, "b": 0.9}).value == "b"
    with pytest.raises(InvalidParameter, match="sign-test"):
        run.compare(better > 0, worse, family="sign-test")
    with pytest.raises(QuestionRefused, match="groups of rows are"):
        run.check_metric(hf.holdout.metrics.auc(worse, better), 0.5, 0.4)
    with pytest.raises(InvalidParameter, match="one number per row, 1200 in all, got 60"):
        run.check(worse[:60], 0.5)
    twin = hf.ReusableHoldout.from_state(json.loads(json.dumps(run.state(secrets=True))))
    result, again = (one.final({"a": worse, "b": better}, "ranks") for one in (run, twin))
    assert result.values == again.values == {"a": pytest.approx(mean), "b": 1.0}
    assert result.n == PATIENTS
    assert result.better == {("b", "a")}


def test_groups_of_unequal_size_count_alike() -> None:
    groups, values = [*["a"] * 9, "b"], [1.0] * 9 + [0.0]
    assert hf.ReusableHoldout(10, groups=groups).final({"x": values}).values["x"] == 0.5


def test_a_reserve_keeps_groups_whole() -> None:
    run = hf.ReusableHoldout(PATIENTS * VISITS, groups=GROUPS, reserve=0.5, seed=3)
    assert run.explored == PATIENTS // 2
    column = np.repeat(np.arange(PATIENTS) % 2, VISITS)
    result = run.final({"x": column})
    assert result.n == PATIENTS // 2


def test_wrong_groups() -> None:
    for groups in ([1, 2], [[1] * 10]):
        with pytest.raises(InvalidParameter, match="groups must have one label per row, 10 in all"):
            hf.ReusableHoldout(10, groups=groups)


def test_a_search_keeps_groups_whole_and_certifies_their_mean() -> None:
    rng = np.random.default_rng(5)
    features = rng.normal(size=(PATIENTS * VISITS, 3)) + np.repeat(rng.normal(size=(PATIENTS, 3)), VISITS, axis=0)
    labels = features.sum(axis=1) + rng.normal(size=len(features)) > 0
    tree = DecisionTreeClassifier(random_state=0)
    for more in ({}, {"rounds": 2, "guess": "cross-validation"}, {"rounds": 2}):
        search = ReusableHoldoutSearch(
            DecisionTreeClassifier(random_state=0), {"max_depth": [1, 3]}, random_state=0, **more
        )
        search.fit(features, labels, groups=GROUPS)
        assert search.holdout_.units == round(0.3 * PATIENTS)
        assert search.holdout_.n == search.holdout_.units * VISITS
        low, high = search.best_interval_
        assert low <= search.best_score_ <= high
    plain = ReusableHoldoutSearch(tree, {"max_depth": [1, 3]}, random_state=0)
    narrow = plain.fit(features, labels).best_interval_
    assert high - low > narrow[1] - narrow[0], "visits of a patient are no independent rows"
    with pytest.raises(InvalidParameter, match="groups must not share a group with groups_holdout"):
        plain.fit(
            features[:600],
            labels[:600],
            groups=GROUPS[:600],
            X_holdout=features[600:].copy(),
            y_holdout=labels[600:],
            groups_holdout=GROUPS[:600],
        )
    with pytest.raises(InvalidParameter, match="groups must have one label per row"):
        plain.fit(features, labels, groups=[1, 2])
