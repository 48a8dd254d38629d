"""One page of a model agrees with the parts that it is made of, and says no where the honest answer is no."""

from __future__ import annotations

import math
from typing import Any

import pytest

from holdfast.bounds.correlated import QuiltTerms, holdout_size
from holdfast.correlated import (
    Blocks,
    DependentHoldout,
    GaussianField,
    HiddenChain,
    Ising,
    MarkovChain,
    ModelClass,
    Network,
    OrderChain,
)
from holdfast.correlated.model_overview import ONE_BLOCK, dependent_rows, overview, run_terms
from holdfast.errors import InvalidParameter

STEP = [[0.9, 0.1], [0.4, 0.6]]
CHAIN = MarkovChain(STEP, 30_000)
HIDDEN = HiddenChain([[0.8, 0.2], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]], n=2000)
KERNEL = [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]


@pytest.mark.parametrize("rule", ["sharp", "two", "paper"])
def test_levels_are_the_models(rule: Any) -> None:
    found = overview(CHAIN, epsilon_bdp=0.7, sensitivity=0.5, surcharge=rule).privacy
    assert found is not None
    assert found.epsilon_dp == CHAIN.epsilon_dp(0.7, rule)
    assert found.noise_scale == pytest.approx(CHAIN.noise_scale(0.7, 0.5, rule), rel=1e-12)
    assert found.quilt == CHAIN.worst_quilt(0.7, rule)
    back = overview(CHAIN, epsilon_dp=found.epsilon_dp, surcharge=rule).privacy
    assert back is not None
    assert back.epsilon_bdp == pytest.approx(0.7, rel=1e-9)


@pytest.mark.parametrize("model", [CHAIN, Blocks([4] * 500), Blocks([4, 2] * 300), HIDDEN], ids=lambda m: m.describe())
def test_half_width_is_what_the_holdout_asks_for(model: Any) -> None:
    found = overview(model, questions=50, confidence=0.9, failures=3).holdout
    holdout = DependentHoldout(dependent_rows(model)[0], 50, 0.9, 3)
    assert found is not None
    assert found.effective_n == pytest.approx(model.effective_n(), rel=1e-9)
    assert found.after_failures > found.half_width
    # passes cost a little, so that the last of the planned checks has the half-width that is reported
    column = [0.5] * model.n
    assert holdout.least_tolerance() < found.half_width
    answers = holdout.check_batch([column] * 49, [0.5] * 49)
    assert all(answer.passed for answer in answers)
    assert found.half_width == pytest.approx(holdout.least_tolerance(), rel=1e-6)
    # a real run that fails as often as it may, at once and by a little, ends no wider than planned
    holdout = DependentHoldout(dependent_rows(model)[0], 50, 0.9, 3)
    for _ in range(3):
        holdout.check(column, guess=0.5 - 2.5 * holdout.least_tolerance())
    assert holdout.failed == 3
    assert holdout.least_tolerance() <= found.after_failures * (1 + 1e-9)


def test_records_that_are_needed_are_enough() -> None:
    found = overview(CHAIN, tau=0.02, questions=100)
    assert found.holdout is not None
    assert found.holdout.after_failures > 0.02
    assert "would need about" in found.refusal
    more = MarkovChain(STEP, int(found.holdout.records or 0) + 1)
    again = overview(more, tau=0.02, questions=100)
    assert again.refusal == ""
    assert again.holdout is not None
    assert again.holdout.after_failures == pytest.approx(0.02, rel=1e-3)


def test_algorithm_1_is_planned_by_the_catalogue() -> None:
    found = overview(Blocks([4] * 250), tau=0.1, questions=1000, budget=10).run
    assert found is not None
    assert found.n == holdout_size(0.1, 0.05, 1000, 10, blanket=4).n
    chain = overview(CHAIN, tau=0.1, questions=1000).run
    assert chain is not None
    assert chain.certified
    one = chain.quilt
    assert chain.n == holdout_size(0.1, 0.05, 1000, 10, one.size, one.influence, one.surcharge, one.colours).n
    assert chain.n <= min(
        holdout_size(0.1, 0.05, 1000, 10, t.size, t.influence, t.surcharge, t.colours).n for t in run_terms(CHAIN)
    )
    # vector V35 asks for 73,685,824 by the repaired form; the sharp form of the same theorem for fewer
    assert chain.n < 73_685_824


def test_terms_cover_every_record() -> None:
    """Hidden and higher-order chains: no record's window is worse than what the planner is told."""
    given = OrderChain(KERNEL, n=40, start=[[0.495, 0.005], [0.005, 0.495]])
    for model in (HiddenChain([[0.8, 0.2], [0.3, 0.7]], [[0.7, 0.3], [0.2, 0.8]], n=40), OrderChain(KERNEL, 40), given):
        for lag in (3, 6, 9):
            terms = model.terms(lag, lag)
            for record in range(model.n):
                left, right = model._room(record)
                before, after = lag if lag <= left else None, lag if lag <= right else None
                quilt = model.quilt(record, before, after)
                assert quilt.influence <= terms.influence * (1 + 1e-12)
                assert quilt.size <= terms.size
                apart = [abs(other - record) for other in quilt.nearby]
                assert max(apart) < terms.classes


def test_terms_of_networks_and_classes() -> None:
    ring = Ising({(0, 1): 0.2, (1, 2): 0.2, (2, 3): 0.2, (3, 0): 0.2}, n=4)
    assert [(t.size, round(t.influence, 9), t.classes) for t in run_terms(ring)] == [(1, 0.8, 1), (4, 0.0, 4)]
    small = run_terms(ring.network())
    assert [(t.size, round(t.influence, 9)) for t in small] == [(1, 0.8), (4, 0.0)]
    second = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 30_000)
    both = run_terms(ModelClass([CHAIN, second]))
    for terms, one, two in zip(both, run_terms(CHAIN), run_terms(second), strict=False):
        assert terms.influence == max(one.influence, two.influence)
        assert isinstance(terms, QuiltTerms)
        assert terms.surcharge is not None
        assert terms.surcharge >= max(one.surcharge or 0, two.surcharge or 0)
    assert run_terms(GaussianField.autoregressive(10, 0.5)) == ()
    copies = Network.bayesian({"a": ((), [0.5, 0.5]), "b": (("a",), [[1.0, 0.0], [0.0, 1.0]])})
    assert [t.size for t in run_terms(copies)] == [2]
    homes = [Blocks([2] * 6), Blocks([4] * 3)]
    assert [(t.size, t.influence) for t in run_terms(ModelClass(homes))] == [(4, 0.0)]
    assert run_terms(ModelClass([*homes, MarkovChain(STEP, 12)])) == ()
    wide = Network.markov(
        {f"x{j}": 2 for j in range(9)},
        [((f"x{i}", f"x{j}"), [[2, 1], [1, 2]]) for i in range(9) for j in range(i)],
        cells=64,
    )
    assert [(t.size, t.influence) for t in run_terms(wide)] == [(9, 0.0)]  # no table of the blanket: one block


def test_rules_of_effective_sizes() -> None:
    assert dependent_rows(HIDDEN)[1] == "stationary chain by its gap"
    assert dependent_rows(MarkovChain(STEP, 50, start=[1, 0]))[1] == "chain by total variation"
    assert dependent_rows(GaussianField.autoregressive(100, 0.5))[1] == "stationary chain by its gap"
    assert dependent_rows(ModelClass([CHAIN, CHAIN]))[1] == "least of its models"
    assert dependent_rows(Ising({(0, 1): 0.2}, n=2))[1] == ONE_BLOCK


def test_one_block_is_said_plainly() -> None:
    flipping = MarkovChain([[0.0, 1.0], [1.0, 0.0]], 1000, start=[0.5, 0.5])
    found = overview(flipping, tau=0.1)
    assert found.holdout is not None
    assert found.holdout.records == math.inf
    assert "declare blocks" in found.refusal
    assert "Algorithm 1 (Thresholdout) cannot be planned here" in found.refusal
    assert any("rules out" in note for note in found.notes)
    plain = found.to_dict()
    assert plain["feasible"] is False
    assert plain["holdout"]["rule"] == ONE_BLOCK


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Blocks([50]), "with a single block nothing can be certified about the population"),
        (Blocks([50]), "Algorithm 1 cannot: more than 10^18 records"),
        (Ising({(0, 1): 0.2}, n=2), "Algorithm 1 cannot: the influence is too large for this accuracy"),
        (GaussianField.autoregressive(100, 0.5), "would need more than 10^18 independent records"),
        (
            GaussianField.autoregressive(100, 0.5),
            "Algorithm 1 (Thresholdout) cannot be planned for a Gaussian field, because it has no Markov quilts",
        ),
    ],
)
def test_what_no_number_of_records_buys_is_said_with_the_reason(model: Any, words: str) -> None:
    found = overview(model, tau=1e-9)
    assert found.refusal.startswith(f"{model.n:,} records of this model do not certify 1e-09: ")
    assert words in found.refusal
    assert found.to_dict()["feasible"] is False


def test_gaussian_fields_have_no_dp_level() -> None:
    series = GaussianField.autoregressive(10, 0.5)
    found = overview(series, epsilon_bdp=0.5)
    assert found.privacy is not None
    assert found.privacy.noise_scale == pytest.approx(5.8125)
    assert found.privacy.shift == pytest.approx(2.90625)
    mixed = GaussianField(covariance=[[1, 0.5, -0.4], [0.5, 1, 0.1], [-0.4, 0.1, 1]])
    spent = overview(mixed, epsilon_dp=1.0)
    assert spent.privacy is None
    assert spent.holdout is None
    assert "no DP level" in spent.refusal
    assert "no effective number of rows" in spent.refusal


def test_names_of_a_network() -> None:
    network = Network.bayesian({"i": ((), [0.5, 0.5]), "u": (("i",), [[0.98, 0.02], [0.8, 0.2]])})
    plain = overview(network, epsilon_bdp=9.0, record="u").to_dict()
    assert plain["privacy"]["quilt"]["record_name"] == "u"
    assert plain["privacy"]["quilt"]["names"] == ["i"]
    with pytest.raises(InvalidParameter, match="got 'z'"):
        overview(network, record="z")
    with pytest.raises(InvalidParameter, match="record must be a whole number"):
        overview(CHAIN, record="z")


def test_wrong_numbers_are_named() -> None:
    for words, options in {
        "epsilon_bdp must": {"epsilon_bdp": 0.0},
        "epsilon_dp must": {"epsilon_dp": -1.0},
        "must not both be given": {"epsilon_dp": 1.0, "epsilon_bdp": 1.0},
        "sensitivity must": {"sensitivity": 0.0},
        "surcharge must": {"surcharge": "one"},
        "questions must": {"questions": 0},
        "confidence must": {"confidence": 1.0},
        "tau must": {"tau": 1.0},
        "budget must": {"tau": 0.1, "budget": 101},
    }.items():
        with pytest.raises(InvalidParameter, match=words):
            overview(CHAIN, **options)  # type: ignore[arg-type]
