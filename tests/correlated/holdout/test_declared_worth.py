"""What a declaration is worth: norms of chains that are not reversible, unequal blocks, and every term of a failure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from holdfast.bounds.correlated import plan_run
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.correlated import CorrelatedThresholdout, DependentRows, IntervalChain, MarkovChain
from holdfast.correlated.chains.transition import RowChain
from holdfast.correlated.model import ListedModel, Quilt
from holdfast.correlated.model_overview import run_terms
from holdfast.correlated.series_model import MDependent
from holdfast.errors import GuaranteeUnavailable
from holdfast.holdout.thresholdout import Claim


@pytest.mark.parametrize("seed", range(6))
def test_operator_norm_is_the_largest_stretch_of_a_centred_function(seed: int) -> None:
    """Not the second eigenvalue: for a chain that is not reversible that one is smaller, and unsafe."""
    rng = np.random.default_rng(seed)
    matrix = 0.6 * np.roll(np.eye(4), 1, axis=1) + 0.4 * rng.dirichlet(np.full(4, 0.3), size=4)
    law = np.linalg.matrix_power(matrix, 5000)[0]
    found = RowChain(matrix).operator_norm
    # sup of |Pf|/|f| in L2(pi) over functions of mean zero, from a basis of them
    basis = np.linalg.svd(law[None])[2][1:].T
    stretched = matrix @ basis
    gram, image = basis.T @ (law[:, None] * basis), stretched.T @ (law[:, None] * stretched)
    exact = math.sqrt(np.linalg.eigvals(np.linalg.solve(gram, image)).real.max())
    second = sorted(np.abs(np.linalg.eigvals(matrix)))[-2]
    assert found == pytest.approx(exact, rel=1e-6)
    assert found >= exact
    assert second < 0.995 * exact
    for _ in range(200):
        f = rng.standard_normal(4)
        f -= law @ f
        assert math.sqrt(law @ (matrix @ f) ** 2) <= found * math.sqrt(law @ f**2) * (1 + 1e-9)


def test_only_equal_blocks_have_a_divergence_interval() -> None:
    """Means of unequal blocks are not values of one range each counts the same; their number may not enter a KL."""
    equal = DependentRows.blocks([4] * 10).routes["independent blocks"]
    unequal = DependentRows.blocks([4] * 10 + [3]).routes["independent blocks"]
    assert (equal.blocks, unequal.blocks) == (10, None)
    assert equal.effective_n == 10
    assert unequal.effective_n == pytest.approx(43**2 / 169)
    assert unequal.ends(0.97, 43, math.log(0.05), 0.0, 1.0)[1] == 1.0


@pytest.mark.parametrize("m", [0, 1, 4])
def test_rows_m_apart_are_still_dependent(m: int) -> None:
    assert DependentRows.m_dependent(1000, m).effective_n == pytest.approx(1000 / (m + 1))


@pytest.mark.parametrize(("budget", "questions"), [(10, 10), (3, 400)])
@pytest.mark.parametrize("profile", ["zhao", "dwork"])
def test_failure_counts_every_draw_and_every_question(budget: int, questions: int, profile: str) -> None:
    """Every term in turn is made to matter: threshold and comparison noise, release noise, generalisation."""
    quilt = QuiltTerms(5, 1e-4, 1.2e-4, 3)
    seen = set()
    for n, sigma, threshold in (
        (10**7, 4e-4, 0.07),
        (10**9, 4e-3, 0.05),
        (2 * 10**9, 1.5e-3, 0.001),
        (3 * 10**5, 1e-3, 0.03),
    ):
        run = CorrelatedThresholdout(
            n, threshold, sigma, budget, quilt=quilt, claim=Claim(0.1, 0.05, questions), profile=profile
        )
        scales, step = run._rules.on_grid.realised, float(run._rules.on_grid.grid.step)
        with mp.workdps(40):
            tau, slack = mp.mpf(0.1), 4 * mp.mpf(step)
            room = (tau - mp.mpf(threshold)) / 2
            between = mp.exp(-(room - slack) / (mp.mpf(scales.threshold) + mp.mpf(scales.comparison)))
            release = mp.exp(-(tau - room - slack) / mp.mpf(scales.release))
            epsilon = quilt.size * mp.mpf(run.cost.epsilon) + mp.mpf(quilt.surcharge)
            left = room - mp.tanh(mp.mpf(quilt.influence) / 4) - epsilon / 4
            each = 3 * 3 * mp.exp(-2 * (n // 3) * left**2) if left > 0 else mp.mpf(1)
            parts = [budget * between, questions * between, budget * release, questions * min(each, 1)]
            exact = min(mp.mpf(1), sum(parts))
            seen |= {j for j, part in enumerate(parts) if exact < 1 and part > exact / 1000}
            assert exact <= run.failure <= exact * (1 + mp.mpf(10) ** -6)
            assert run.certified == (run.failure <= 0.05)
    assert seen >= ({0, 1, 2} if profile == "zhao" else {0, 1})


def test_a_claim_that_rests_on_no_proof_is_never_certified() -> None:
    plan = CorrelatedThresholdout.plan(0.1, 100, 5, quilt=QuiltTerms())
    rules = plan._rules
    again = CorrelatedThresholdout(
        rules.n, rules.threshold, rules.sigma, 5, quilt=QuiltTerms(), claim=Claim(0.1, 0.05, 100, certified=False)
    )
    assert plan.certified
    assert not again.certified
    assert again.query_means(0.5, 0.5).interval is None


class Listed(ListedModel):
    """A model that is nothing but its list of quilts."""

    def __init__(self, quilts: list[Quilt]) -> None:
        self._quilts = quilts

    n = 1

    def describe(self) -> str:
        return "listed quilts"

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        return 0.0

    def effective_n(self) -> float:
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        return {}

    def quilts(self, record: int) -> Iterable[Quilt]:
        return iter(self._quilts)


def test_the_pruned_search_finds_the_best_of_any_list() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes = np.sort(rng.integers(1, 40, size=8))
        quilts = [Quilt(0, (1,), (), float(10 ** rng.uniform(-3, 0.5)), int(size)) for size in sizes]
        model = Listed([*quilts, Quilt(0, (), (), 0.0, 41)])
        for level in (0.1, 1.0, 5.0):
            best = max(quilt.epsilon_dp(level, "two") for quilt in model.quilts(0))
            least = min(quilt.epsilon_bdp(level, "two") for quilt in model.quilts(0))
            assert model.best_quilt(0, level, "two").epsilon_dp(level, "two") == best
            assert model.cheapest_quilt(0, level, "two").epsilon_bdp(level, "two") == least


def test_training_rows_m_steps_earlier_are_not_independent() -> None:
    with pytest.raises(GuaranteeUnavailable, match="gap must be above m = 3"):
        MDependent(3).rows(100, gap=3)
    assert MDependent(3).rows(100, gap=4).effective_n == pytest.approx(25)


def test_a_plan_does_not_take_a_short_chain_for_blocks() -> None:
    """Five records have a trivial quilt without influence; the millions that a plan asks for have not."""
    meter = [[0.9, 0.1], [0.4, 0.6]]
    needed = {}
    for start in ("stationary", [1.0, 0.0]):
        for n in (2, 5, 30, 100_000):
            terms = run_terms(MarkovChain(meter, n, start))
            needed[str(start), n] = plan_run(0.1, 0.05, 1000, 10, terms).n
            assert all(one.influence > 0 for one in terms)
        assert len({value for (kind, _), value in needed.items() if kind == str(start)}) == 1
    assert min(needed.values()) > 3 * 10**7
    # bounds that do not look at the ends, but for the size: a quilt as large as the chain is not whole
    short = run_terms(IntervalChain(meter, meter, 9))
    assert max(one.size for one in short) < 9
    # a distribution that never settles is known for its own length only
    assert run_terms(MarkovChain([[0, 1], [1, 0]], 50, [1.0, 0.0])) == ()
