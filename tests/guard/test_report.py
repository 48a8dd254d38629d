"""The report of `docs/report_questions.py` in a reduced run: the same over every engine, in SQL as in Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from holdfast.guard import Guard


@pytest.fixture(scope="module")
def script() -> ModuleType:
    place = Path(__file__).parents[2] / "docs" / "report_questions.py"
    found = importlib.util.spec_from_file_location("report_questions", place)
    assert found is not None
    assert found.loader is not None
    made = importlib.util.module_from_spec(found)
    sys.modules[found.name] = made
    found.loader.exec_module(made)
    return made


def credits(n: int = 1000) -> pl.DataFrame:
    """Rows like those of German credit."""
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "months": rng.integers(4, 73, n),
            "amount": rng.integers(250, 18_000, n),
            "age": rng.integers(19, 76, n),
            "housing": rng.choice(["A151", "A152", "A153"], n, p=[0.2, 0.7, 0.1]),
            "bad": rng.choice([1, 2], n, p=[0.7, 0.3]),
        }
    )


def test_a_report_is_the_same_over_every_engine(script: ModuleType, tmp_path: Path, postgres_url: str) -> None:
    """`report` itself refuses a question whose form in Python is not the one in SQL."""
    for policy, questions in (
        (script.german_policy(), script.GERMAN),
        (script.guesses_policy(), script.GERMAN_GUESSES),
    ):
        outcomes = []
        for _, sample in script.engines(credits(), "credits", tmp_path, postgres_url):
            lines = script.report(Guard.open(None, sample, policy), questions)
            outcomes.append([line.outcome for line in lines])
            (tmp_path / "credits.duckdb").unlink(missing_ok=True)
        assert len(outcomes) == 3
        assert outcomes[0] == outcomes[1] == outcomes[2]
        assert outcomes[0].count("refused") == (questions is script.GERMAN)


def test_intervals_of_a_report_hold_and_the_careless_ones_do_not(script: ModuleType) -> None:
    """More than `most` of the runs miss with probability below 1e-6 where each does with 0.05."""
    runs = 12
    found = script.german_coverage(credits(), runs)
    assert found.intervals > 10 * runs
    most = int(binom.isf(1e-6, runs, 0.05))
    assert found.missed <= most < found.wrong


def test_intervals_about_the_rows_hold_the_exact_values_of_the_rows(script: ModuleType) -> None:
    """Each misses with at most 0.05, and those of a run have fresh noise: so many miss with probability below 1e-6."""
    found = script.german_coverage(credits(), 12)
    most = int(binom.isf(1e-6, found.answers, 0.05))
    assert found.answers == 12 * 7
    assert found.answers_missed <= most < found.answers_wrong
