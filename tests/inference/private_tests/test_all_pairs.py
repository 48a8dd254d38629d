"""All pairs of columns: the budget, the correction, the merging, the level of the family, and Census-Income."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from holdfast.accounting import ZCDP, ZCDPFilter
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference import AfterLooking
from holdfast.inference import private_tests as pt
from holdfast.inference.private_tests.all_pairs import _down, _effect, merge_map
from holdfast.noise import Seeded
from holdfast.noise.entropy import Source

CATEGORIES = Path(__file__).parents[3] / "docs" / "census_income_categories.json"


class Untouchable(Source):
    """A source that must not be asked."""

    __slots__ = ()

    def word(self) -> int:
        raise AssertionError("noise was drawn")

    def words(self, count: int) -> Any:
        raise AssertionError("noise was drawn")


def synthetic(n: int, seed: int, linked: bool = True) -> tuple[dict[str, Any], dict[str, list[int]]]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    frame = {
        "a": a,
        "b": np.where(rng.random(n) < 0.3, a, rng.integers(0, 3, n)) if linked else rng.integers(0, 3, n),
        "c": rng.choice(5, n, p=[0.6, 0.38, 0.01, 0.005, 0.005]),
        "d": rng.integers(0, 2, n),
    }
    return frame, {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1, 2, 3, 4], "d": [0, 1]}


def test_finds_the_dependent_pair_only_and_stays_within_rho() -> None:
    frame, columns = synthetic(20_000, 11)
    told: list[float] = []
    found = pt.all_pairs(frame, columns, 0.05, source=Seeded(1), progress=lambda share, what: told.append(share))
    assert [(p.first, p.second) for p in found.pairs if p.reject] == [("a", "b")]
    assert found.pairs[0].effect == pytest.approx(0.3, abs=0.05)
    assert len(found.pairs) == 6
    assert found.inconclusive == 0
    assert 0.0499 < found.spent["rho"] <= 0.05
    assert found.rho_pair * 6 <= 0.045
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert found.categories == {"a": 3, "b": 3, "c": 2, "d": 2}  # the rare ones of c were merged
    listed = json.loads(json.dumps(found.to_dict()))
    assert listed["pairs_tested"] == 6
    assert listed["correction"] == "Holm over 6 pairs"
    assert "a ~ b" in str(found)
    assert all("noisy_counts" not in pair for pair in listed["pairs"])


def test_frames_of_every_kind_give_the_same_counts() -> None:
    frame, columns = synthetic(3000, 2)
    same = [pt.all_pairs(f, columns, 0.5, source=Seeded(3)).to_dict() for f in (frame, pl.DataFrame(frame))]
    assert same[0] == same[1]


def test_without_merging_rare_pairs_are_inconclusive() -> None:
    frame, columns = synthetic(2000, 3)
    found = pt.all_pairs(frame, columns, 0.5, merge=0, source=Seeded(4))
    assert found.categories["c"] == 5
    assert found.inconclusive == 3
    assert all(pair.adjusted == 1.0 for pair in found.pairs if pair.result.inconclusive)
    assert not any(pair.reject for pair in found.pairs if pair.result.inconclusive)
    assert found.spent["rho"] <= 0.5


def test_a_shared_filter_is_charged_and_refuses_before_anything_is_released() -> None:
    frame, columns = synthetic(2000, 4)
    ledger = ZCDPFilter(0.15)
    ledger.spend(ZCDP(0.05))
    found = pt.all_pairs(frame, columns, 0.1, budget=ledger, source=Seeded(5))
    assert found.spent["rho"] == pytest.approx(0.1, rel=1e-6)
    assert ledger.remaining()["rho"] < 1e-6
    with pytest.raises(BudgetExhausted, match="all pairs together cost rho"):
        pt.all_pairs(frame, columns, 0.1, budget=ledger, source=Untouchable())


def test_level_of_the_whole_family() -> None:
    # 120 runs of 6 true nulls: false rejections at all are Binomial(120, .06 at most), beyond 22 with probability 7e-7.
    # The same count finds out that uncorrected p-values, with about .26, do not keep the family's level.
    any_false = uncorrected = 0
    for seed in range(120):
        frame, columns = synthetic(1500, 100 + seed, linked=False)
        found = pt.all_pairs(frame, columns, 0.5, source=Seeded(seed))
        any_false += found.rejected > 0
        uncorrected += any((pair.result.p_value or 1.0) <= 0.05 for pair in found.pairs)
    assert any_false <= 22 < uncorrected


def test_holm_is_the_one_of_after_looking() -> None:
    p = [0.04, 0.001, 0.2, 0.01, 1.0, 0.01]
    assert pt.holm(p) == pytest.approx([c.adjusted for c in AfterLooking(100).correct_family(p)])
    assert pt.holm([]) == []


def test_merging_is_a_function_of_noisy_counts() -> None:
    assert merge_map(np.array([10.0, 10.0, 10.0]), 100.0).tolist() == [1, 1, 0]
    assert merge_map(np.array([200.0, 300.0, 150.0]), 100.0).tolist() == [0, 1, 2]
    for seed in range(200):
        rng = np.random.default_rng(seed)
        noisy = rng.normal(50, 80, rng.integers(2, 12))
        place = merge_map(noisy, 60.0)
        assert set(place.tolist()) == set(range(place.max() + 1))
        assert place.max() >= 1


def test_a_row_that_noise_has_emptied_has_no_effect_size() -> None:
    """The margins of the test are taken after the total is put right, and Cramer's V before."""
    emptied = pt.NoisyCounts(np.array([[-1.0, -1.0], [400.0, 400.0]]), 1000, pt.gaussian(1e-4))
    result = pt.independence(emptied, method="asymptotic")
    assert result.statistic is not None
    assert _effect(result, (2, 2)) is None
    whole = pt.NoisyCounts(np.array([[400.0, 100.0], [100.0, 400.0]]), 1000, pt.gaussian(1))
    assert _effect(pt.independence(whole), (2, 2)) == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("parts", [1, 3, 7, 595])
@pytest.mark.parametrize("total", [0.1, 1 / 3, 1e-7, 12.0])
def test_shares_never_add_up_to_more(total: float, parts: int) -> None:
    ledger, cost = ZCDPFilter(total), ZCDP(_down(total / parts))
    for _ in range(parts):
        ledger.spend(cost)
    assert ledger.spent()["rho"] >= total * (1 - 1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"a": [0, 1, 2]}}, "at least two columns"),
        ({"columns": {"a": [0, 1], "b": [0, 1, 2]}}, "a must have declared categories only"),
        ({"columns": {"a": [0, 1, 2], "z": [0, 1]}}, "z|frame"),
        ({"other": {"a": "none of them"}}, "other must map columns to categories that are declared"),
        ({"other": {"z": 0}}, "other must map columns to categories that are declared"),
        ({"rho": 0}, "rho must be"),
        ({"alpha": 0}, "alpha"),
        ({"merge": 1}, "merge"),
        ({"method": "monte-carlo-projected"}, "method must be"),
    ],
)
def test_wrong_input_spends_nothing(change: dict[str, Any], message: str) -> None:
    frame, columns = synthetic(100, 5)
    given: dict[str, Any] = {"columns": columns, "rho": 0.1}
    ledger = ZCDPFilter(1.0)
    with pytest.raises(InvalidParameter, match=message):
        pt.all_pairs(pl.DataFrame(frame), **(given | change), budget=ledger, source=Untouchable())
    assert ledger.spent()["rho"] == 0


def test_undeclared_values_count_in_a_declared_category() -> None:
    frame, columns = synthetic(2000, 7)
    gaps = {name: list(values) for name, values in frame.items()}
    last = columns["a"][-1]
    gaps["a"] = [None if value == last else value for value in np.asarray(frame["a"]).tolist()]
    straight = pt.all_pairs(frame, columns, 0.5, source=Seeded(1))
    filled = pt.all_pairs(gaps, columns, 0.5, other={"a": last}, source=Seeded(1))
    assert filled.to_dict() == straight.to_dict()
    with pytest.raises(InvalidParameter, match="a must have declared categories only"):
        pt.all_pairs(gaps, columns, 0.5, source=Untouchable())


def test_a_mapping_without_a_column() -> None:
    frame, columns = synthetic(100, 6)
    with pytest.raises(InvalidParameter, match="no column 'e'"):
        pt.all_pairs(frame, columns | {"e": [0, 1]}, 0.1, source=Untouchable())
    with pytest.raises(InvalidParameter, match="the same length"):
        pt.all_pairs(frame | {"d": [0, 1]}, columns, 0.1, source=Untouchable())


def census(columns: dict[str, list[str]]) -> tuple[pl.DataFrame, int]:
    """The survey's rows, or as many made-up ones in which education, sex and income go together, where it is absent."""
    folder = Path(os.environ.get("HOLDFAST_DATA", "../shared/data")) / "census-income-kdd"
    if folder.is_dir():
        frame = pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])
        return frame.select(pl.col(list(columns)).cast(pl.String)), 299_285
    rng, n = np.random.default_rng(1), 299_285
    drawn = {name: rng.integers(0, len(known), n) for name, known in columns.items()}
    for name in ("education", "sex"):
        told = rng.random(n) < 0.17
        drawn[name] = np.where(told, drawn["income"] % len(columns[name]), drawn[name])
    return pl.DataFrame({name: np.array(known)[drawn[name]] for name, known in columns.items()}), n


def test_census_income() -> None:
    names = ["class_of_worker", "education", "sex", "race", "income", "year", "veterans_benefits", "citizenship"]
    declared = json.loads(CATEGORIES.read_text())
    columns = {name: declared[name] for name in names}
    frame, rows = census(columns)
    found = pt.all_pairs(frame, columns, 0.1, source=Seeded(1))
    assert found.n == rows
    assert len(found.pairs) == 28
    assert found.inconclusive == 0
    assert found.spent["rho"] <= 0.1
    # Education, sex and income depend on each other beyond any doubt; the survey's year is a design variable.
    verdict = {(pair.first, pair.second): pair for pair in found.pairs}
    assert verdict["education", "income"].reject
    assert verdict["sex", "income"].reject
    assert not verdict["sex", "year"].reject
    assert verdict["education", "income"].effect == pytest.approx(0.33, abs=0.05)
