"""The conversion is safe against every DP mechanism on small chains; one times the influence is not."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from holdfast.accounting import ApproxDP, PureDP
from holdfast.correlated import (
    BayesianAccountant,
    Blocks,
    MarkovChain,
    ModelClass,
    certify,
    markov_quilt_noise,
    to_bdp,
    to_dp,
)
from holdfast.correlated.bayesian_privacy import exponential, laplace
from holdfast.correlated.chains.transition import stationary_law
from holdfast.correlated.model import Quilt
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter
from tests.correlated.chains import oracles as oracle
from tests.correlated.chains.test_chain import CH1, random_chain


def test_worst_mechanism_of_a_small_chain() -> None:  # V30 and the figures of specification 3.2
    chain = MarkovChain([[0.7, 0.3], [0.3, 0.7]], 4)
    table = oracle.joint([chain.matrix] * 3, np.array([0.5, 0.5]))
    worst = oracle.worst_mechanism(table, 6.0)
    assert worst == pytest.approx(8.001734287, rel=1e-6)
    bounds = [chain.epsilon_bdp(6.0, rule) for rule in ("sharp", "two", "paper")]
    assert bounds == pytest.approx([8.01737, 9.38919, 12.77838], abs=1e-5)
    one = max(
        min(size * 6.0 + oracle.influence(table, i, _records(i, a, b)) for a, b, size in oracle.all_quilts(4, i))
        for i in range(4)
    )
    assert one == pytest.approx(7.69460, abs=1e-5)
    assert one < worst < bounds[0]


def _records(i: int, a: int | None, b: int | None) -> list[int]:
    return ([] if a is None else [i - a]) + ([] if b is None else [i + b])


@pytest.mark.parametrize("seed", range(5))
def test_no_mechanism_beats_the_sharp_surcharge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_chain(rng, 2)
    law = rng.dirichlet([1, 1]) if seed % 2 else stationary_law(matrix)
    chain = MarkovChain(matrix, 3, law)
    table = oracle.joint([chain.matrix] * 2, law)
    for level in (0.2, 1.5):
        assert oracle.worst_mechanism(table, level) <= chain.epsilon_bdp(level) * (1 + 1e-7)


def test_bayesian_levels_do_not_add() -> None:  # V39
    table = oracle.joint([np.array([[0.85, 0.15], [0.43, 0.57]])], np.array([0.43, 0.15]) / 0.58)
    chance = np.array([[0.87, 0.77], [0.80, 0.39]])
    levels = []
    for runs in (1, 2, 6):
        counts = np.arange(runs + 1)
        law = np.array([math.comb(runs, int(c)) for c in counts])
        mechanism = law * chance[..., None] ** counts * (1 - chance[..., None]) ** (runs - counts)
        levels.append(oracle.leakage(table, mechanism))
    assert levels == pytest.approx([1.156455851, 2.445103723, 7.672179685], rel=1e-9)
    assert levels[1] > 2 * levels[0]
    # the accountant composes at the DP level, which is safe
    chain = MarkovChain([[0.85, 0.15], [0.43, 0.57]], 2)
    odds = [np.log(c) for c in (chance, 1 - chance)]
    single = max(float(np.abs(np.diff(o, axis=axis)).max()) for o in odds for axis in (0, 1))
    for runs, level in zip((1, 2, 6), levels, strict=True):
        assert level <= chain.epsilon_bdp(runs * single) * (1 + 1e-12)


def test_accountant() -> None:
    chain = MarkovChain(CH1, 1000)
    account = BayesianAccountant(chain, 1.0)
    for _ in range(7):
        account.spend(PureDP(0.01))
    assert account.spent() == 0.07
    assert account.epsilon_bdp() == pytest.approx(chain.epsilon_bdp(0.07))
    assert account.epsilon_bdp() < 1.0
    assert account.certificate().epsilon_bdp == pytest.approx(account.epsilon_bdp())
    with pytest.raises(BudgetExhausted):
        account.spend(PureDP(0.01))
    assert account.spent() == 0.07
    # the surcharge is paid once: seven releases together cost far less than seven conversions
    assert account.epsilon_bdp() < 0.75 * 7 * chain.epsilon_bdp(0.01)
    for wrong in (0.1, ApproxDP(0.1, 1e-6), None):
        with pytest.raises(InvalidParameter):
            account.spend(wrong)
    again = BayesianAccountant.from_state(chain, json.loads(json.dumps(account.state())))
    assert (again.spent(), again.remaining()) == (account.spent(), account.remaining())
    with pytest.raises(InvalidParameter, match="another model"):
        BayesianAccountant.from_state(MarkovChain([[0.99, 0.01], [0.01, 0.99]], 1000), account.state())
    with pytest.raises(InvalidParameter, match="nothing has been spent"):
        BayesianAccountant(chain, 1.0).certificate()


def test_certificates_are_data() -> None:
    for model in (MarkovChain(CH1, 100), Blocks([4] * 25), ModelClass([MarkovChain(CH1, 100), Blocks([4] * 25)])):
        plain = certify(model, epsilon_bdp=1.0).to_dict()
        assert json.loads(json.dumps(plain)) == plain
        assert set(plain) == {
            "notion", "epsilon_bdp", "epsilon_dp", "surcharge", "quilt", "model", "description", "confidence",
            "certified", "provenance", "warnings",
        }  # fmt: skip
        back = certify(model, epsilon_dp=plain["epsilon_dp"])
        assert back.epsilon_bdp == pytest.approx(1.0, rel=1e-9)
    assert not certify(Blocks([1, 1]), epsilon_bdp=20.0).certified
    for wrong in ({}, {"epsilon_dp": 1.0, "epsilon_bdp": 1.0}):
        with pytest.raises(InvalidParameter, match="one of"):
            certify(Blocks([2]), **wrong)


def test_releases_run_at_the_converted_level() -> None:
    chain = MarkovChain(CH1, 1000)
    count = laplace(chain, 1.0, 1)
    assert count.mechanism.cost.epsilon == count.certificate.epsilon_dp == chain.epsilon_dp(1.0)
    scale = count.mechanism.to_dict()
    assert count.mechanism.half_width(0.05) == pytest.approx(13.2904 * math.log(20), rel=0.01), scale
    pick = exponential(chain, 1.0, 1)
    assert pick.mechanism.method == "exponential"
    assert pick.mechanism.cost.epsilon == chain.epsilon_dp(1.0)
    assert laplace(chain, 1.0, 1, surcharge="paper").certificate.epsilon_dp < count.certificate.epsilon_dp


def test_markov_quilt_mechanism_is_another_notion() -> None:
    first = MarkovChain(CH1, 100, [1, 0], respect_support=False)
    second = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 100, [0.9, 0.1])
    noise = markov_quilt_noise(ModelClass([first, second]), 1.0, sensitivity=2.0)  # V22 as a class
    assert noise.score == pytest.approx(13.02192350, rel=1e-9)
    assert noise.scale == pytest.approx(26.043847, rel=1e-9)
    assert "not Bayesian" in noise.notion
    assert "not Bayesian" in noise.to_dict()["notion"]
    assert noise.score < to_dp(first, 1.0).quilt.score(1.0)
    with pytest.raises(InvalidParameter, match="surcharge must be one of"):
        to_dp(first, 1.0, "one")


def test_classes_take_the_worst_member() -> None:
    members = [MarkovChain(CH1, 50), MarkovChain([[0.6, 0.4], [0.3, 0.7]], 50), Blocks([2] * 25)]
    together = ModelClass(members)
    for epsilon in (0.3, 1.0):
        assert together.epsilon_dp(epsilon) == min(m.epsilon_dp(epsilon) for m in members)
        assert together.epsilon_bdp(epsilon) == max(m.epsilon_bdp(epsilon) for m in members)
    assert together.effective_n() == min(m.effective_n() for m in members)
    assert together.best_quilt(20, 1.0).score(1.0) == max(m.best_quilt(20, 1.0).score(1.0) for m in members)
    with pytest.raises(InvalidParameter, match="same number of records"):
        ModelClass([MarkovChain(CH1, 50), MarkovChain(CH1, 51)])
    with pytest.raises(InvalidParameter, match="at least one"):
        ModelClass([])
    for record in (0, 20, 49):
        assert together.influence(record, [10, 30]) == max(m.influence(record, [10, 30]) for m in members)
        dearest = max(m.cheapest_quilt(record, 0.1).epsilon_bdp(0.1) for m in members)
        assert together.cheapest_quilt(record, 0.1).epsilon_bdp(0.1) == dearest
    assert repr(together).startswith("<any of 3 models: ")


def test_asking_what_fits_changes_nothing() -> None:
    account = BayesianAccountant(Blocks([4] * 25), 1.0)
    before = account.state()
    assert account.admits(PureDP(account.remaining()))
    assert not account.admits(PureDP(0.26))
    with pytest.raises(InvalidParameter, match="has no conversion to Bayesian"):
        account.admits(ApproxDP(0.1, 1e-6))
    assert account.state() == before
    assert account.budget == 1.0
    account.spend(PureDP(0.125))
    assert repr(account) == "<1-Bayesian-DP budget, 0.125 of 0.25 DP spent>"


def test_what_depends_on_no_record_leaks_nothing() -> None:
    for model in (MarkovChain(CH1, 50), Blocks([4] * 25), ModelClass([MarkovChain(CH1, 50), Blocks([2] * 25)])):
        assert model.epsilon_bdp(0.0) == to_bdp(model, 0.0) == 0.0
        with pytest.raises(InvalidParameter, match="epsilon_dp must be"):
            model.epsilon_bdp(-0.1)


def test_a_conversion_is_told_in_words_and_as_data() -> None:
    found = to_dp(Blocks([4] * 25), 1.0)
    assert str(found).startswith("0.25-DP gives 1-Bayesian-DP (sharp); ")
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert (plain["epsilon_dp"], plain["epsilon_bdp"], plain["surcharge"]) == (found.epsilon_dp, 1.0, "sharp")
    assert plain["quilt"]["size"] == 4


def test_the_other_notion_is_refused_where_no_quilt_leaves_any_epsilon() -> None:
    """A model may list quilts without the trivial one under this protocol; then nothing may be promised."""

    class Tight:
        def markov_quilt(self, epsilon: float) -> Quilt:
            return Quilt(record=0, quilt=(1,), nearby=(), influence=epsilon, size=1)

    with pytest.raises(GuaranteeUnavailable, match="no Markov quilt leaves any of epsilon"):
        markov_quilt_noise(Tight(), 1.0)
    noise = markov_quilt_noise(Blocks([4] * 25), 1.0)
    assert (noise.score, noise.quilt.quilt) == (pytest.approx(4.0), ())
