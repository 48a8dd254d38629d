"""`holdfast epsilon`: tables, JSON, plots and honest exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.cli.main import run

ACS = "epsilon --alpha 0.2 --beta 9.357622968840175e-14 --groups 100 --n 5000000 --size 250000"


def test_json_of_table_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ACS.split(), "--mode", "paper", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["epsilon"] == pytest.approx(0.0120906597, abs=1e-10)
    assert said["feasible"] is True
    assert {"name", "epsilon", "mode", "population"} <= set(said["methods"][0])
    assert run([*ACS.split(), "--mode", "sharp", "--finite", "--json"]) == 0
    sharp = capsys.readouterr().out
    assert run([*ACS.split(), "--json"]) == 0
    default = capsys.readouterr().out
    assert default == sharp, "the default is the tightest that is proved"
    assert max(route["epsilon"] for route in json.loads(default)["methods"]) == json.loads(default)["epsilon"]
    assert run([*ACS.split(), "--large", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"] < json.loads(sharp)["epsilon"]
    assert json.loads(sharp)["epsilon"] == pytest.approx(0.0402159355, abs=1e-10)


def test_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ACS.split(), "--mode", "paper"]) == 0
    text = capsys.readouterr().out
    assert "Theorem 7, printed" in text
    assert "may use epsilon up to 0.0120906" in text
    assert "10^-54.2" in text  # Theorem 8's delta, 10^-54.18, rounded down


def test_an_epsilon_that_was_printed_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ACS.split()) == 0
    said = capsys.readouterr().out.split("may use epsilon up to ")[1].split()[0]
    assert run([*ACS.split(), "--epsilon", said]) == 0


def test_a_plot_counts_the_lenses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = []
    for lenses in ("1", "50"):
        path = tmp_path / f"{lenses}.json"
        assert run([*ACS.split(), "--lenses", lenses, "--plot", str(path)]) == 0
        drawn.append(path.read_text())
    assert drawn[0] != drawn[1].replace(" through 50 lenses", "")
    assert "100 groups through 50 lenses" in drawn[1]


def test_infeasible_is_status_3_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("epsilon --alpha 0.2 --beta 0.01 --groups 20 --n 30000 --size 1500 --mode paper --json".split()) == 3
    caught = capsys.readouterr()
    assert json.loads(caught.out)["feasible"] is False
    assert caught.err.startswith("holdfast: No epsilon is allowed")
    assert "at least 12,245 are needed" in caught.err
    assert caught.err.count("\n") == 1


def test_a_theorem_that_shows_nothing_does_not_blame_chance(capsys: pytest.CaptureFixture[str]) -> None:
    """Simulated, a balanced predictor moves one of these groups by more than alpha in .016 of splits, below beta."""
    assert run("epsilon --alpha 0.2 --n 7214 --size 1000 --groups 8 --mode sharp".split()) == 3
    caught = capsys.readouterr()
    assert caught.err == (
        "holdfast: No epsilon is allowed by Theorem 7, sharp, finite population: its bound on how often chance alone "
        "moves a group of 1,000 rows by more than alpha = 0.2 is above beta; the bound is rough and chance may do so "
        "less often, so nothing is shown either way.\n"
    )
    # 1,000 members, half of them predicted +1 and half -1: how many of each are in the released half of 7,214 rows.
    splits = 100_000
    drawn = np.random.default_rng(1).multivariate_hypergeometric([500, 500, 6214], 3607, size=splits)
    positive, negative = drawn[:, 0], drawn[:, 1]
    inside, outside = positive / (positive + negative), (500 - positive) / (1000 - positive - negative)
    moved = int(np.count_nonzero(2 * abs(inside - outside) > 0.2))
    assert binom.cdf(moved, splits, 0.05 / 8) < 1e-6, "all eight groups together stay below beta"


def test_which_groups_at_this_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    base = "epsilon --alpha 0.2 --rows 500000 --epsilon 0.01 --mode sharp --finite"
    assert run([*base.split(), "--group", "women=510000", "--group", "rare=2000", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [g["protected"] for g in said["protected"]] == [True, False]
    assert said["n"] == 1_000_000
    assert run([*base.split(), "--group", "rare=2000"]) == 3
    caught = capsys.readouterr()
    assert "every listed group is smaller" in caught.err
    assert "rare" in caught.out
    assert run([*base.split(), "--size", "100000"]) == 0
    assert run([*base.split(), "--size", "100"]) == 3
    assert run("epsilon --alpha 0.2 --n 1000 --epsilon 1".split()) == 3
    assert "protects no group" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--alpha 0.2 --n 1001 --size 10", "even"),
        ("--alpha 0.2 --n 1000 --rows 500 --size 10", "either --n"),
        ("--alpha 0.2 --size 10", "either --n"),
        ("--alpha 0.2 --n 1000", "--size (the number of rows of the smallest group"),
        ("--alpha 0.2 --n 1000 --size 10 --mode best", "--mode"),
        ("--alpha 2 --n 1000 --size 10", "alpha"),
        ("--alpha 0.2 --n 1000 --size 10 --groups 0", "--groups must be a whole number, at least 1, got 0"),
        ("--alpha 0.2 --n 1000 --size 10 --lenses 0", "--lenses must be a whole number, at least 1, got 0"),
        ("--alpha 0.2 --n 1000 --size 10 --group a=3", "--epsilon"),
        ("--alpha 0.2 --n 1000 --epsilon 0.1 --group a", "NAME=ROWS"),
        ("--alpha 0.2 --n 1000 --epsilon 0.1 --group a=3 --group a=4", "occurs twice"),
        (
            "--alpha 0.2 --n 1000 --epsilon 0.1 --group a=\u00b2",
            "--group must be NAME=ROWS, where ROWS is a whole number, got 'a=\u00b2'",
        ),
        (
            "--alpha 0.2 --n 1000 --epsilon 0.1 --group a=_",
            "--group must be NAME=ROWS, where ROWS is a whole number, got 'a=_'",
        ),
        (
            "--alpha 0.2 --n 1000 --epsilon 0.1 --group a=" + "9" * 5000,
            "--group must be NAME=ROWS, where ROWS is a whole number, got 'a=9",
        ),
        (
            "--alpha 0.2 --n 1000 --epsilon 0.1 --group a=3 --groups 2",
            "--groups must be the number of --group options, which is 1",
        ),
        ("--alpha 0.2 --n 1000 --size 10 --plot /nowhere/x.svg", "folder"),
    ],
)
def test_wrong_usage_is_status_2(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["epsilon", *words.split()]) == 2
    assert said in capsys.readouterr().err


def test_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("altair")
    path = tmp_path / "frontier.json"
    assert run([*ACS.split(), "--plot", str(path)]) == 0
    assert "Plot in" in capsys.readouterr().out
    assert json.loads(path.read_text())["layer"]
