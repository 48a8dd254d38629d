"""`by` of a board: the final shows its metric in declared groups of the reserved rows too. All of it holds at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Guard, Policy, contest_final, score
from holdfast.guard.contest import signed_result
from holdfast.guard.ledger import open_store
from holdfast.guard.questions.contest_final import CONTEST_SPLIT
from holdfast.guard.scoring.metrics import metric_of
from holdfast.server.pages.policy_form import BOARD_DEFAULTS, board_of
from tests.guard.questions.ends import adds_up

N = 3000
_RNG = np.random.default_rng(12)
LABELS = _RNG.random(N) < 0.4
REGION = _RNG.choice(["north", "south", "east"], N, p=[0.7, 0.298, 0.002])
ROWS: dict[str, Any] = {"id": _RNG.permutation(N), "y": LABELS, "region": REGION, "old": _RNG.random(N) < 0.3}


def board(**more: Any) -> Board:
    given = {"metric": "accuracy", "rule": "open", "by": "region", "by_values": ["north", "south", "east"]} | more
    return Board("b", key="id", label="y", **given)


def opened(where: Any = None, engine: str = "numpy", rows: Any = None, **more: Any) -> Guard:
    plan: dict[str, Any] = {"boards": [board()], "reserve": 0.5, "final": 1.0} | more
    return Guard.open(where, hf.data.table(ROWS if rows is None else rows, engine=engine), Policy(**plan))


def reserved(guard: Guard) -> Any:
    """Which rows are those of the final."""
    keys = guard._rows.sample.reserves[0].fold(["id"], set, lambda before, batch: before | set(batch["id"][0].tolist()))
    return np.isin(ROWS["id"], list(keys))


def right_on(part: float, seed: int) -> dict[int, bool]:
    right = np.random.default_rng(seed).random(N) < part
    return dict(zip(ROWS["id"].tolist(), np.where(right, LABELS, ~LABELS).tolist(), strict=True))


@pytest.mark.parametrize("engine", ["numpy", "polars", "duckdb"])
def test_the_final_shows_each_group_with_its_part_of_the_level(engine: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db") as store:
        rows: Any = ROWS
        if engine == "duckdb":
            rows = tmp_path / "rows.parquet"
            pl.DataFrame(ROWS).write_parquet(rows)
        guard = opened(store, engine, rows, boards=[board(also=["f1"])])
        inside = reserved(guard)
        sent = {"ann": right_on(0.9, 1), "bob": right_on(0.6, 2)}
        for who, predicted in sent.items():
            guard.ask(score("b", predicted), analyst=who)
        result = guard.ask(contest_final("b"), analyst="host")
        also = result.details["also"]
        assert sorted(also) == ["accuracy where region is north", "accuracy where region is south", "f1"]
        assert result.details["small_groups"] == ["accuracy where region is east"]
        parts = guard.policy.error_budget()
        # the score, F1 and three groups have equal parts of what is for intervals, and the two finalists halves of it
        level = np.exp(parts.log_beta) * parts.reserve_spending * CONTEST_SPLIT["intervals"] / 5 / 2
        for region in ("north", "south"):
            held, found = inside & (region == REGION), also[f"accuracy where region is {region}"]
            assert found["rows"] == held.sum()
            for who, predicted in sent.items():
                hits = np.array([predicted[int(key)] for key in ROWS["id"][held]]) == LABELS[held]
                assert found["values"][who] == hits.mean()
                metric = metric_of(board(by=None, by_values=None), int(held.sum()))
                ends = metric.read((int(hits.sum()),)).ends(metric.share(float(np.log(level))))
                assert found["interval"][who] == pytest.approx(list(ends), abs=1e-9)
        assert adds_up(store)
        (shown,) = guard.contest().results
        assert "accuracy where region is north low" in shown.to_csv()
        assert "fewer than 10 reserved rows are in the group: accuracy where region is east" in shown.to_html()
        for text in (shown.to_dict(), shown.to_html()):
            again, wrong = signed_result(text)
            assert (wrong, again.small_groups) == ([], ("accuracy where region is east",))


@pytest.mark.parametrize("metric", ["auc", "brier", "balanced-accuracy"])
def test_metrics_that_are_no_counts_have_groups_too(metric: str) -> None:
    more = {"classes": [False, True]} if metric == "balanced-accuracy" else {}
    guard = opened(boards=[board(metric=metric, by="old", by_values=None, **more)])
    inside = reserved(guard)
    says = right_on(0.8, 3)
    predicted: dict[int, Any] = says if more else {key: 0.2 + 0.6 * value for key, value in says.items()}
    guard.ask(score("b", predicted), analyst="ann")
    also = guard.ask(contest_final("b"), analyst="host").details["also"]
    for old in (False, True):
        rows = inside & (ROWS["old"] == old)
        values = np.array([predicted[int(key)] for key in ROWS["id"][rows]], dtype=float)
        true = LABELS[rows]
        if metric == "auc":
            above = values[true][:, None] - values[~true][None, :]
            right = float(np.mean((above > 0) + 0.5 * (above == 0)))
        elif metric == "brier":
            right = float(np.mean((values - true) ** 2))
        else:
            right = float((np.mean(values[true] == 1) + np.mean(values[~true] == 0)) / 2)
        found = also[f"{metric} where old is {str(old).lower()}"]
        assert found["values"]["ann"] == pytest.approx(right, abs=1e-6)
        low, high = found["interval"]["ann"]
        assert low < right < high


def test_all_groups_of_all_finalists_hold_at_once() -> None:
    """Contests with ten groups and three teams: runs in which any interval misses its group's true accuracy are at most
    those of the level, at an error rate of 1e-6; intervals whose level is not divided are caught."""
    rng, runs, groups, confidence = np.random.default_rng(3), 40, 10, 0.8
    truth = np.linspace(0.5, 0.95, groups)
    missed, wrong = 0, 0
    for _ in range(runs):
        n = 1200
        group, y = rng.integers(0, groups, n), rng.random(n) < 0.5
        rows = {"id": np.arange(n), "y": y, "region": group}
        one = board(by_values=list(range(groups)))
        guard = opened(rows=rows, boards=[one], confidence=confidence)
        for who in ("ann", "bob", "cat"):
            right = rng.random(n) < truth[group]
            guard.ask(score("b", dict(enumerate(np.where(right, y, ~y).tolist()))), analyst=who)
        also = guard.ask(contest_final("b"), analyst="host").details["also"]
        assert len(also) == groups
        misses = undivided = 0
        for place in range(groups):
            found = also[f"accuracy where region is {place}"]
            metric = metric_of(board(by=None, by_values=None), found["rows"])
            for who, (low, high) in found["interval"].items():
                misses += not low <= truth[place] <= high
                hits = round(found["values"][who] * found["rows"])
                low, high = metric.read((hits,)).ends(metric.share(float(np.log(1 - confidence))))
                undivided += not low <= truth[place] <= high
        missed, wrong = missed + (misses > 0), wrong + (undivided > 0)
    most = binom.isf(1e-6, runs, 1 - confidence)
    assert missed <= most < wrong, (missed, most, wrong)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"by": "y"}, "by must be another column than the key and the label"),
        ({"by": ""}, "by must be the name of a column"),
        ({"by": None}, "by_values must be left out"),
        ({"by_values": "north"}, "by_values must be a list"),
        ({"by_values": []}, "by_values must be 1 to 50 different"),
        ({"by_values": ["north", "north"]}, "by_values must be 1 to 50 different"),
        ({"by_values": list(range(51))}, "by_values must be 1 to 50 different"),
        ({"groups": "region"}, "by must be left out where groups is given"),
    ],
)
def test_wrong_boards(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        board(**more)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"by": "town"}, "must name a column of the sample, got 'town'"),
        ({"by_values": None}, "by_values of board 'b' must list the values of 'region', a text"),
        ({"by_values": ["north", 3]}, "by_values of board 'b' must be values of 'region', a text"),
        ({"by": "old", "by_values": [0, 1]}, "by_values of board 'b' must be values of 'old', a boolean"),
    ],
)
def test_boards_that_do_not_fit_the_rows(more: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        opened(boards=[board(**more)])


def test_groups_need_a_final() -> None:
    with pytest.raises(InvalidParameter, match="reserve must be above 0 for the board 'b', which has by"):
        Policy(boards=[board(rule="checked")], questions=10)


def test_the_form_of_a_new_guard_has_them() -> None:
    filled = BOARD_DEFAULTS | {"board": "b", "board_key": "id", "board_label": "y"}
    made = board_of(filled | {"board_by": "region", "board_by_values": "1, 2"}, {"region": "integer", "y": "boolean"})
    assert made is not None
    assert (made["by"], made["by_values"]) == ("region", [1, 2])
    grouped = board_of(filled | {"board_groups": "region"}, {})
    assert grouped is not None
    assert grouped["groups"] == "region"
