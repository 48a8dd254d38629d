from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import bdtr, bdtrc

from holdfast.accounting.costs import ApproxDP, PureDP
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import audit, clopper_pearson
from holdfast.mechanisms.auditor import _Evidence


def response(epsilon: float, seed: int) -> Any:
    """Randomized response on a bit."""
    rng = np.random.default_rng(seed)
    lie = 1 / (1 + math.exp(epsilon))
    return lambda bit, runs: bit ^ (rng.random(runs) < lie).astype(np.int64)


class TestClopperPearson:
    @pytest.mark.parametrize("level", [0.2, 1e-3, 5e-7])
    @pytest.mark.parametrize("trials", [1, 40, 100_000])
    def test_limits_solve_their_equations(self, level: float, trials: int) -> None:
        counts = np.unique(np.linspace(0, trials, 9).astype(int))
        low, high = clopper_pearson(counts, trials, level)
        for k, a, b in zip(counts.tolist(), low.tolist(), high.tolist(), strict=True):
            if k > 0:  # P(Bin(a) >= k) = level
                assert bdtrc(k - 1, trials, a) == pytest.approx(level, rel=1e-4)
            if k < trials:
                assert bdtr(k, trials, b) == pytest.approx(level, rel=1e-4)
        assert low[0] == 0
        assert high[-1] == 1
        assert (np.diff(low) > 0).all()

    def test_coverage_is_exact_over_all_counts(self) -> None:
        trials, level = 60, 0.01
        low, high = clopper_pearson(np.arange(trials + 1), trials, level)
        for p in np.linspace(0.001, 0.999, 97):
            mass = np.array([math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)])
            assert mass[low > p].sum() <= level
            assert mass[high < p].sum() <= level

    @pytest.mark.parametrize("wrong", [[-5, 200], [0.5], ["1"], [math.nan]])
    def test_counts_are_checked(self, wrong: Any) -> None:
        with pytest.raises(InvalidParameter, match="successes must be whole numbers from 0 to 100"):
            clopper_pearson(wrong, 100, 0.1)


class TestAudit:
    def test_finds_most_of_a_known_epsilon(self) -> None:
        result = audit(response(1.0, 1), [(0, 1)], claimed=1.0)
        assert 0.9 < result.lower_bound <= 1.0
        assert not result.caught
        assert audit(response(1.0, 1), [(0, 1)], claimed=0.9).verdict == "violated"

    def test_exceeds_the_truth_far_less_often_than_when_it_tests_on_the_runs_that_chose(self) -> None:
        # At confidence 0.5 about a tenth of honest audits of pure noise exceed 0, and 300 of them stay below 90 but for
        # a chance below 1e-18. An auditor that tests on the half that chose the event exceeds in about 200.
        def exceeded(same_half: bool) -> int:
            count = 0
            for seed in range(300):
                rng = np.random.default_rng(1000 + seed)
                outputs = [rng.integers(0, 40, 2000) for _ in range(2)]
                if same_half:
                    outputs = [np.concatenate([x[:1000], x[500:1000], x[500:1000]]) for x in outputs]
                result = audit(lambda bit, _, held=outputs: held[bit], [(0, 1)], 0.0, runs=2000, confidence=0.5)
                count += result.caught
            return count

        assert exceeded(same_half=False) < 90
        assert exceeded(same_half=True) > 150

    def test_each_limit_has_its_share_of_the_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        levels: set[float] = set()

        def recorded(successes: Any, trials: int, level: float) -> Any:
            levels.add(level)
            return clopper_pearson(successes, trials, level)

        monkeypatch.setattr("holdfast.mechanisms.auditor.clopper_pearson", recorded)
        for pairs, events in ((1, 1), (3, 2)):
            levels.clear()
            audit(response(1.0, 4), [(0, 1)] * pairs, claimed=1.0, runs=1000, confidence=0.9, events=events)
            # Two limits a test, and every test of every pair at once.
            assert list(levels) == pytest.approx([0.1 / (2 * pairs * events)], rel=1e-12)

    def test_the_parts_that_order_choose_and_test_share_no_run(self) -> None:
        outputs = np.arange(1001) % 7
        evidence = _Evidence(outputs, outputs, 1001, 32, ())
        parts = [set(range(*part)) for part in (evidence.order, evidence.pick, evidence.test)]
        assert sum(map(len, parts)) == len(set.union(*parts)) == 1001
        assert evidence.tested == len(parts[2])

    def test_bins_are_made_of_the_first_quarter_alone(self) -> None:
        # What comes later lies beyond the last edge, so all of it is one outcome, however varied it is.
        outputs = np.concatenate([np.linspace(0, 1, 500), np.linspace(2, 1000, 1500)])
        evidence = _Evidence(outputs, outputs, 2000, 32, ())
        for start in (0, 2000):
            assert len(set(evidence.ids[start + 500 : start + 2000].tolist())) == 1
            assert len(set(evidence.ids[start : start + 500].tolist())) == 32

    def test_many_pairs_share_the_confidence(self) -> None:
        pairs = [(0, 0), (0, 0), (0, 1)]
        result = audit(response(2.0, 3), pairs, claimed=1.0, events=2)
        assert result.tests == 6
        assert result.pair == 2
        assert result.caught
        alone = audit(response(2.0, 3), [(0, 1)], claimed=1.0)
        assert alone.tests == 1

    def test_both_directions_are_tried(self) -> None:
        def rare(bit: int, runs: int) -> npt.NDArray[Any]:
            return np.random.default_rng(5 + bit).random(runs) < (0.2 if bit else 0.002)

        assert audit(rare, [(0, 1)], claimed=1.0).direction == "second"
        assert audit(rare, [(1, 0)], claimed=1.0).direction == "first"

    def test_delta_is_taken_off(self) -> None:
        def leaky(bit: int, runs: int) -> npt.NDArray[Any]:
            rng = np.random.default_rng(11 + bit)
            return np.where(rng.random(runs) < 0.05, 10 + bit, rng.integers(0, 2, runs))

        assert audit(leaky, [(0, 1)], claimed=PureDP(1.0)).caught
        assert not audit(leaky, [(0, 1)], claimed=ApproxDP(1.0, 0.05)).caught
        assert audit(leaky, [(0, 1)], claimed=1.0, delta=0.03).caught
        assert audit(leaky, [(0, 1)], claimed=ApproxDP(0.1, 0.05)).lower_bound == 0

    def test_transcripts_as_tuples_and_as_rows(self) -> None:
        def rows(bit: int, runs: int) -> npt.NDArray[Any]:
            return np.random.default_rng(21 + bit).random((runs, 3)) < (0.7 if bit else 0.3)

        as_rows = audit(rows, [(0, 1)], claimed=1.0, runs=20_000)
        as_tuples = audit(lambda bit, runs: [tuple(r) for r in rows(bit, runs).tolist()], [(0, 1)], 1.0, runs=20_000)
        assert as_rows.caught
        assert as_tuples.lower_bound == pytest.approx(as_rows.lower_bound, rel=0.1)
        ragged = audit(lambda bit, runs: [("stop",) * (1 + bit)] * runs, [(0, 1)], claimed=3.0, runs=20_000)
        assert ragged.caught
        assert ragged.event == ("('stop',)",) or ragged.event == ("('stop', 'stop')",)

    def test_long_transcripts_that_never_repeat(self) -> None:
        def bits(bit: int, runs: int) -> npt.NDArray[Any]:
            return np.random.default_rng(31 + bit).random((runs, 60)) < (0.45 if bit else 0.55)

        assert audit(bits, [(0, 1)], claimed=3.0, runs=40_000).caught

    def test_continuous_columns_and_special_values(self) -> None:
        def release(shift: float, runs: int) -> npt.NDArray[Any]:
            rng = np.random.default_rng(41 + int(shift))
            values = shift + rng.laplace(scale=0.25, size=(runs, 2))
            values[rng.random(runs) < 0.1] = np.nan
            values[:, 1] = np.inf
            return values

        result = audit(release, [(0.0, 1.0)], claimed=2.0)
        assert result.caught
        assert result.lower_bound < 4

    def test_a_statistic_of_ones_own(self) -> None:
        def release(shift: float, runs: int) -> npt.NDArray[Any]:
            return np.random.default_rng(51 + int(shift)).normal(shift, 4, (runs, 400))

        plain = audit(release, [(0.0, 1.0)], claimed=3.0, runs=4000)
        told = audit(release, [(0.0, 1.0)], claimed=3.0, runs=4000, statistics=[lambda rows: rows.mean(axis=1)])
        assert told.caught
        assert told.lower_bound >= plain.lower_bound

    def test_result_prints_and_converts(self) -> None:
        result = audit(response(3.0, 61), [(0, 1)], claimed=1.0, runs=10_000)
        assert "violated: epsilon >= " in str(result)
        assert result.to_dict()["verdict"] == "violated"
        assert "delta" in str(audit(response(3.0, 61), [(0, 1)], claimed=1.0, runs=10_000, delta=1e-3))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"pairs": []}, "pairs must be a list of at least one pair"),
            ({"pairs": iter([(0, 1)])}, "pairs must be a list of at least one pair"),
            ({"pairs": [(0, 1, 2)]}, "pairs must be a list of at least one pair"),
            ({"simulate": lambda bit, runs: [{bit}] * runs}, "hashable"),
            ({"runs": 10}, "runs must be a whole number, at least 1000"),
            ({"confidence": 1.0}, "confidence"),
            ({"claimed": -1}, "claimed"),
            ({"delta": 1.0}, "delta"),
            ({"simulate": lambda bit, runs: [0] * (runs - 1)}, "must return 1000 outputs on the first input, got 999"),
            ({"simulate": lambda bit, runs: 3}, "must return an array or a list"),
            ({"statistics": [lambda outputs: 1.0]}, "one number for each of the 1000 runs"),
        ],
    )
    def test_wrong_input(self, change: dict[str, Any], message: str) -> None:
        good: dict[str, Any] = {"simulate": response(1.0, 0), "pairs": [(0, 1)], "claimed": 1.0, "runs": 1000}
        with pytest.raises(InvalidParameter, match=message):
            audit(**good | change)
