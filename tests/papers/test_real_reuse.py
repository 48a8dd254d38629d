"""Real reuse: the loaders on hand-made files, the replays on real data where it is there, and what they notice."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.cli.main import run
from holdfast.simulation.answerers import Design, answerer
from holdfast_papers import registry
from holdfast_papers.real_data import CIFAR, MMLU, DataAbsent, Mmlu, folder, load_cifar, load_mmlu
from holdfast_papers.registry import Outcome, Settings
from holdfast_papers.reuse import cifar10 as real_reuse_cifar10
from holdfast_papers.reuse import mmlu_pro as real_reuse_mmlu_pro
from holdfast_papers.reuse.cifar10 import Pair, Split, compare_all, last_told, public_guesses, replay, split
from holdfast_papers.reuse.mmlu_pro import Host, Search, hosts, search

EXPERIMENTS = {"cifar10": (CIFAR, real_reuse_cifar10.run), "mmlu-pro": (MMLU, real_reuse_mmlu_pro.run)}


def _needs(name: str) -> None:
    if not (folder() / name).is_dir():
        pytest.skip(f"not run: the data set {name} is absent; HOLDFAST_DATA names the folder")


@cache
def _quick(name: str) -> Outcome:
    return EXPERIMENTS[name][1](Settings(quick=True, seed=1))


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    return next(t.to_dict()["rows"] for t in _quick(name).tables if t.name == table)


# Without the data -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_absent_data_is_said_plainly(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with pytest.raises(DataAbsent, match=r"needs the data set .* is not there; HOLDFAST_DATA names the folder"):
        EXPERIMENTS[name][1](Settings(quick=True))


def test_all_runs_what_it_can_and_says_what_it_cannot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name: entry for name, entry in registry.experiments().items() if name == "real-reuse-cifar10"}
    monkeypatch.setattr(registry, "experiments", lambda: known)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "nowhere"))
    assert run(["reproduce", "all", "--quick", "--out", str(tmp_path)]) == 0
    assert "NOT RUN: real-reuse-cifar10: this experiment needs the data set" in capsys.readouterr().out
    assert run(["reproduce", "all", "--quick", "--json", "--out", str(tmp_path)]) == 0
    assert "needs the data set" in json.loads(capsys.readouterr().out)["experiments"][0]["not_run"]
    assert run(["reproduce", "real-reuse-cifar10", "--quick", "--out", str(tmp_path)]) != 0
    assert "needs the data set" in capsys.readouterr().err


def test_the_loaders_read_what_is_documented(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    (tmp_path / CIFAR).mkdir()
    (tmp_path / CIFAR / "cifar10_test.csv").write_text("label,a,b\n3,3,1\n8,8,8\n1,0,1\n")
    (tmp_path / CIFAR / "cifar10.1_v6.csv").write_text("label,a,b\n2,2,1\n")
    cifar = load_cifar()
    assert cifar.models == ("a", "b")
    assert cifar.old.tolist() == [[True, True, False], [False, True, True]]
    assert cifar.fresh.tolist() == [[True], [False]]
    (tmp_path / CIFAR / "cifar10.1_v6.csv").write_text("label,b,a\n2,2,1\n")
    with pytest.raises(DataAbsent, match="same models in the same order"):
        load_cifar()
    (tmp_path / MMLU).mkdir()
    (tmp_path / MMLU / "mmlu_pro_correctness.csv").write_text(
        "question_id,category,src,a,b\n7,math,x,1,-1\n8,law,x,0,1\n9,law,x,1,\n"
    )
    mmlu = load_mmlu()
    assert mmlu.right.tolist() == [[True, False], [False, True]], "-1 is wrong; a question missing for b is left out"
    assert (mmlu.categories, mmlu.category.tolist(), mmlu.question.tolist()) == (("law", "math"), [1, 0], [7, 8])
    assert mmlu.left_out == 1


def _models(rows: int, accuracies: tuple[float, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((len(accuracies), rows)) < np.array(accuracies)[:, None]


def test_replay_with_either_guess() -> None:
    right = _models(5_000, (0.9, 0.7, 0.71, 0.9), 2)
    told = replay(right, public_guesses(_models(5_000, (0.9, 0.7, 0.71, 0.9), 3)))
    assert all(a.passed for a in told)
    last = replay(right, last_told)
    assert [a.passed for a in last] == [False, False, True, False]
    for answers in (told, last):
        for answer, truth in zip(answers, (0.9, 0.7, 0.71, 0.9), strict=True):
            assert answer.interval is not None
            assert answer.interval[0] <= truth <= answer.interval[1]


def test_only_clear_orders_are_certified() -> None:
    accuracies = (0.9, 0.895, 0.7)
    public, held, fresh = (_models(9_000, accuracies, seed) for seed in (4, 5, 6))
    certified = {frozenset((p.better, p.worse)) for p in compare_all(public, held, fresh) if p.certified}
    assert certified == {frozenset((0, 2)), frozenset((1, 2))}


def test_the_checks_notice_wrong_certificates() -> None:
    """Power: orders that are not the holdout's own, reversed ones, and intervals that miss in most splits."""
    good = [Pair(0, 1, True, 0.1, 0.1)] * 20
    assert all(c.passed for c in real_reuse_cifar10._pair_checks(good))
    bad = [Pair(0, 1, True, -0.1, -0.1)] * 20
    assert [c.passed for c in real_reuse_cifar10._pair_checks(bad)] == [False, True, False]
    off = [Split(rows, 0.9, 0.8, 0.9, 0.8, 0.01, 3, 30) for rows in real_reuse_cifar10.SIZES for _ in range(6)]
    assert not any(c.passed for c in real_reuse_cifar10._split_checks(off))


def _matrix(seed: int) -> Mmlu:
    """Twelve equally good models on questions without structure: nothing can be gained by looking."""
    rng = np.random.default_rng(seed)
    right = rng.random((12, 9_000)) < 0.6
    category = rng.integers(0, 14, 9_000)
    return Mmlu(tuple("abcdefghijkl"), right, category, tuple(f"c{i}" for i in range(14)), np.arange(9_000), 0)


def test_a_greedy_search_overfits_the_naive_holdout_and_no_certified_one() -> None:
    design = Design(1_000, questions=400, failures=10)
    for host in hosts():
        found = search(_matrix(7), host, design, seed=8)
        assert abs(found.true - 0.6) < 0.03, "nothing is gained on questions never looked at"
        if host.name == "naive holdout":
            assert found.believed > 0.63
        if host.certified:
            assert found.missed == 0
            assert found.half_width < 0.3


def test_a_search_stops_when_the_host_does() -> None:
    host = Host("stops", answerer("thresholdout").make, lambda right, told: 0.0, certified=False)
    found = search(_matrix(9), host, Design(1_000, questions=50, failures=3), seed=10)
    assert found.asked == 3


def test_the_mmlu_checks_notice_an_interval_that_is_too_narrow() -> None:
    names = [host.name for host in hosts()]
    honest = {name: [Search(0.7, 0.77, 0.7, 0.1, 10, 5, 0, ())] * 6 for name in names}
    honest["certified, guess: last told"] = [Search(0.7, 0.71, 0.7, 0.1, 10, 5, 0, ())] * 6
    certified = {host.name: host.certified for host in hosts()}
    assert all(c.passed for c in real_reuse_mmlu_pro._checks(honest, certified))
    broken = {name: [Search(0.7, 0.7, 0.8, 0.01, 10, 5, 4, ())] * 6 for name in names}
    assert not any(c.passed for c in real_reuse_mmlu_pro._checks(broken, certified))


# With the data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_check_of_the_quick_run_passes(name: str) -> None:
    _needs(EXPERIMENTS[name][0])
    outcome = _quick(name)
    assert [c for c in outcome.checks if not c.passed] == []
    assert outcome.finding.endswith(".")
    assert outcome.chart is not None
    outcome.chart().to_dict()


def test_cifar10_models_are_those_of_the_readme() -> None:
    _needs(CIFAR)
    data = load_cifar()
    old, fresh = data.old.mean(axis=1), data.fresh.mean(axis=1)
    assert (data.old.shape, data.fresh.shape) == ((30, 10_000), (30, 2_000))
    assert (round(old.min(), 3), round(old.max(), 3)) == (0.820, 0.971)
    assert (round(fresh.min(), 3), round(fresh.max(), 3)) == (0.687, 0.931)
    assert real_reuse_cifar10._rank_correlation(data) == pytest.approx(0.971, abs=2e-3)


def test_certified_orders_carry_over_to_fresh_images() -> None:
    _needs(CIFAR)
    rows = {r["pairs"]: r for r in _rows("cifar10", "pairs")}
    assert rows["every pair, order of the old test set"]["count"] == 435
    assert rows["certified pairs"]["count"] > 150
    assert rows["certified pairs"]["reversed"] <= 1


def test_splits_use_every_row_once() -> None:
    """With one model the three means, each times its rows, add up to the whole."""
    old = np.random.default_rng(11).random((1, 6_000)) < 0.9
    found = split(old, 1_000, np.random.default_rng(12))
    right = found.told * real_reuse_cifar10.PUBLIC + found.naive * 1_000 + found.naive_true * 4_000
    assert right == pytest.approx(old.sum())


def test_mmlu_matrix_is_that_of_the_readme() -> None:
    _needs(MMLU)
    data = load_mmlu()
    assert len(data.models) == 29
    assert len(data.categories) == 14
    assert data.right.shape[1] + data.left_out == 12_032
    assert data.left_out >= 1_681
