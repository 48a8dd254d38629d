"""The questions of a typical report on Census-Income and German credit, in SQL and in Python, on several engines.

    python docs/report_questions.py                       # every question over CSV and DuckDB: answered, or why not
    python docs/report_questions.py --postgres ADDRESS    # the same over PostgreSQL too, in a table of its own
    python docs/report_questions.py --coverage 500        # how often any interval of a run misses its population

The data are those of `HOLDFAST_DATA`. A coverage run draws a fresh sample of Census-Income with replacement, so that
the whole file is the population and its truth is known, asks every private question of the report, and counts the runs
in which any interval about the population misses. The wrong version takes the noisy share of rich people for an exact
one and gives it the classical interval of one question; it must miss far more often than the confidence allows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import HoldfastError
from holdfast.guard import Guard, Policy

CENSUS_COLUMNS: dict[str, Any] = {
    "age": {"low": 0, "high": 90},
    "wage_per_hour": {"low": 0, "high": 3000},
    "capital_gains": {"low": 0, "high": 20000},
    "weeks_worked_in_year": {"low": 0, "high": 52},
    "sex": {"categories": ["Female", "Male"]},
    "race": {
        "categories": ["White", "Black", "Asian or Pacific Islander", "Amer Indian Aleut or Eskimo", "Other"],
    },
    "year": {"categories": [94, 95]},
    "income": {"categories": ["- 50000.", "50000+."]},
}
RICH = "income = '50000+.'"
CENSUS: list[Any] = [
    "select count(*) from people",
    "select avg(age), median(age) from people",
    f"select avg({RICH}) from people",
    "select sex, count(*) from people group by sex",
    "select race, count(*) from people group by race",
    "select sex, avg(weeks_worked_in_year) from people group by sex",
    f"select sex, avg({RICH}) from people where age >= 18 group by sex",
    f"select race, avg({RICH}), count(*) from people group by race",
    "select sex, race, avg(age) from people group by sex, race",
    "select sex, median(age) from people group by sex",
    f"select year, avg({RICH}) from people group by year",
    "select year, sex, count(*) from people group by year, sex",
    "select avg(weeks_worked_in_year) from people where age between 25 and 54",
    "select count(*) from people where weeks_worked_in_year = 52 and sex = 'Female'",
    "select quantile(age, 0.9) from people where sex = 'Male'",
    "select corr(age, weeks_worked_in_year) from people",
    "select avg(wage_per_hour) from people where wage_per_hour > 0",
    f"select avg(case when {RICH} then 1 else 0 end) from people where race = 'Black'",
    hf.guard.difference("weeks_worked_in_year", "sex", ["Male", "Female"]),
    hf.guard.difference(RICH, "sex", ["Male", "Female"], where="age between 25 and 54"),
    hf.guard.top("race", 2),
    hf.guard.mean(RICH, where="weeks_worked_in_year = 52"),
    "select education, count(*) from people group by education",
    "select max(capital_gains) from people",
    "select sum(capital_gains) from people",
    "select avg(dividends_from_stocks) from people",
    "select p.age, q.age from people p join people q on p.sex = q.sex",
]
"""27 questions; the last five are refused, each with the reason."""
GERMAN_COLUMNS: dict[str, Any] = {
    "months": {"low": 0, "high": 72},
    "amount": {"low": 0, "high": 20000},
    "age": {"low": 18, "high": 80},
    "housing": {"categories": ["A151", "A152", "A153"]},
    "bad": {"categories": [1, 2]},
}
GERMAN: list[Any] = [
    hf.guard.check("bad = 2", guess=0.3),
    hf.guard.check("months", guess=21),
    hf.guard.table("housing", "bad = 2", guesses={"A151": 0.4, "A152": 0.26, "A153": 0.4}, tolerance=0.3),
]
"""A thousand rows are too few for noise: guesses are checked without it."""


def census(folder: Path) -> pl.DataFrame:
    """The rows of Census-Income that the report is about."""
    frame = pl.read_parquet(folder / "census-income-kdd" / "census_income_train.parquet")
    return frame.select([*CENSUS_COLUMNS, "education", "dividends_from_stocks"])


def german(folder: Path) -> pl.DataFrame:
    """The columns of German credit that the report is about."""
    names = {1: "months", 4: "amount", 12: "age", 14: "housing", 20: "bad"}
    lines = (folder / "german-credit" / "german.data").read_text().split("\n")
    rows = [line.split(" ") for line in lines if line.strip()]
    return pl.DataFrame(
        {name: [row[at] if name == "housing" else int(row[at]) for row in rows] for at, name in names.items()}
    )


def engines(frame: pl.DataFrame, name: str, place: Path, postgres: str | None) -> Iterator[tuple[str, hf.data.Sample]]:
    """The same rows behind each engine."""
    csv = place / f"{name}.csv"
    frame.write_csv(csv)
    yield "csv", hf.data.table(csv)
    database = place / f"{name}.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.register("frame", frame.to_arrow())
        connection.execute(f"create table {name} as select * from frame")
    yield "duckdb", hf.data.table(database, table=name)
    if postgres is not None:
        load_postgres(frame, name, csv, postgres)
        yield "postgres", hf.data.table(postgres, table=name)


def load_postgres(frame: pl.DataFrame, name: str, csv: Path, address: str) -> None:
    """Put the rows into a table of their own, in the place of one of the same name."""
    import psycopg
    from psycopg import sql

    kinds = [sql.SQL("bigint" if frame[column].dtype.is_integer() else "text") for column in frame.columns]
    columns = sql.SQL(", ").join(
        sql.SQL("{} {} not null").format(sql.Identifier(column), kind)
        for column, kind in zip(frame.columns, kinds, strict=True)
    )
    table = sql.Identifier(name)
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(sql.SQL("drop table if exists {}").format(table))
        cursor.execute(sql.SQL("create table {} ({})").format(table, columns))
        with cursor.copy(sql.SQL("copy {} from stdin (format csv, header)").format(table)) as copy:
            copy.write(csv.read_bytes())


def census_policy() -> Policy:
    """A budget for one report: a small part of it for each statement."""
    return Policy(questions=40, privacy=PureDP(0.1), spend=PureDP(0.003), columns=CENSUS_COLUMNS)


def report(guard: Guard, questions: list[Any]) -> list[str]:
    """What became of each question, one line each."""
    lines = []
    for asked in questions:
        words = asked if isinstance(asked, str) else asked.question_words(_bound(guard, asked))
        try:
            found: Any = guard.sql(asked) if isinstance(asked, str) else guard.ask(asked)
            shown = " ; ".join(str(found).splitlines()[1:]) if isinstance(asked, str) else _shown(found)
        except HoldfastError as error:
            shown = f"REFUSED: {error}"
        lines.append(f"{words}\n    {shown}")
    return lines


def _bound(guard: Guard, asked: Any) -> Any:
    from holdfast.data.schema import Schema

    facts = guard.describe()
    return asked.bind(Schema.from_dict(facts["schema"]), facts["n"], guard.policy).question


def _shown(found: Any) -> str:
    head = "" if found.passed is None else "passed: " if found.passed else "failed: "
    return f"{head}{found.value} in {found.interval}"


def truths(frame: pl.DataFrame) -> dict[str, dict[tuple[Any, ...], tuple[Any, ...]]]:
    """What each statement says about the whole file, by DuckDB: for each group the numbers after its name.

    Numbers are clipped to their declared ranges, as the guard clips them. DuckDB averages no truth values, so they are
    made numbers first, and its `median` lies between two values, where the guard's is one of them.
    """
    clipped = [
        pl.col(name).clip(one["low"], one["high"]) if "low" in one else pl.col(name)
        for name, one in CENSUS_COLUMNS.items()
    ]
    found = {}
    with duckdb.connect() as connection:
        connection.register("people", frame.select(clipped).to_arrow())
        for text in (one for one in CENSUS[:18] if isinstance(one, str)):
            query = text.replace(f"avg({RICH})", f"avg(({RICH})::int)").replace("median(age)", "quantile(age, 0.5)")
            many = text.count(" group by ") and text.rpartition(" group by ")[2].count(",") + 1
            rows = connection.execute(query.replace("quantile(", "quantile_disc(")).fetchall()
            found[text] = {row[:many]: row[many:] for row in rows}
    return found


def pairs(guard: Guard, exact: Mapping[str, Mapping[tuple[Any, ...], tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    """The statement, the truth of the population, the noisy value and its interval, for every mean and quantile."""
    for text, groups in exact.items():
        found = guard.sql(text)
        many = len(next(iter(groups)))
        for row, ends in zip(found.rows, found.intervals, strict=True):
            label = tuple(row[name] for name in found.columns[:many])
            for name, truth in zip(found.columns[many:], groups.get(label, ()), strict=False):
                if row[name] is not None and not name.startswith("count"):
                    yield text, float(truth), row[name], ends[name]


def coverage(frame: pl.DataFrame, runs: int, n: int = 20_000) -> tuple[int, int]:
    """In how many runs any interval about the population misses, and in how many the wrong version does."""
    exact, rng, missed, wrong = truths(frame), np.random.default_rng(20), 0, 0
    for _ in range(runs):
        drawn = frame[rng.integers(0, len(frame), n)]
        policy = Policy(questions=40, privacy=PureDP(0.4), spend=PureDP(0.01), columns=CENSUS_COLUMNS)
        found = list(pairs(Guard.open(None, hf.data.table(drawn), policy), exact))
        missed += any(not low <= truth <= high for _, truth, _, (low, high) in found)
        truth, value = next((truth, value) for text, truth, value, _ in found if text == CENSUS[2])
        wrong += abs(truth - value) > 1.96 * (max(value * (1 - value), 0.0) / n) ** 0.5
    return missed, wrong


def main() -> None:
    """Print the report, or how often its intervals miss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres")
    parser.add_argument("--coverage", type=int, default=0)
    given = parser.parse_args()
    folder = Path(os.environ.get("HOLDFAST_DATA", "../shared/data"))
    if given.coverage:
        missed, wrong = coverage(census(folder), given.coverage)
        print(f"{given.coverage} runs: {missed} with an interval that misses; the wrong version misses in {wrong}")
        return
    with tempfile.TemporaryDirectory() as place:
        for name, frame, questions in (("census", census(folder), CENSUS), ("german", german(folder), GERMAN)):
            for engine, sample in engines(frame, name, Path(place), given.postgres):
                policy = census_policy() if name == "census" else Policy(questions=10, columns=GERMAN_COLUMNS)
                guard = Guard.open(None, sample, policy)
                print(f"== {name} over {engine}: {sample.n:,} rows")
                print("\n".join(report(guard, questions)))
                guard.shut()


if __name__ == "__main__":
    main()
