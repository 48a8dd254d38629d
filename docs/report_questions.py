"""The questions of a typical report on Census-Income and German credit, in SQL and in Python, on several engines.

    python docs/report_questions.py                       # every question over CSV and DuckDB: answered, or why not
    python docs/report_questions.py --postgres ADDRESS    # the same over PostgreSQL too, in a table of its own
    python docs/report_questions.py --coverage 500        # how often any interval of a run misses its population

The data are those of `HOLDFAST_DATA`. Where a question has a form in SQL and one in Python, both are asked: the second
is the same question, so its stored answer comes back and nothing is paid. A coverage run draws fresh samples of both
files with replacement, so that each file is a population whose truth is known, asks every question of the report, and
counts the runs in which any interval about the population misses. The wrong versions are what a careless office would
print: the classical interval of one question around a noisy share of the census, and the intervals about the rows of
German credit as if they were about the population. They must miss far more often than the confidence allows.

Each interval about the rows is compared with the exact value of the rows that were drawn. It holds with the policy's
confidence for its answer by itself, so the answers whose intervals miss are counted, and at most 5% of them may. The
wrong version is an interval of a quarter of the width.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import HoldfastError, QuestionRefused
from holdfast.guard import Guard, Policy

kinds = hf.guard
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


@dataclass(frozen=True)
class Asked:
    """One question of a report: its form in SQL, its form in Python, or both."""

    sql: str | None = None
    python: Sequence[Any] = ()


CENSUS = [
    Asked("select count(*) from people"),
    Asked("select avg(age), median(age) from people", [hf.mean("age"), kinds.quantile("age", 0.5)]),
    Asked(f"select avg({RICH}) from people", [hf.mean(RICH)]),
    Asked("select sex, count(*) from people group by sex", [kinds.table(["sex"])]),
    Asked("select race, count(*) from people group by race", [kinds.table(["race"])]),
    Asked(
        "select sex, avg(weeks_worked_in_year) from people group by sex", [kinds.table(["sex"], "weeks_worked_in_year")]
    ),
    Asked(
        f"select sex, avg({RICH}) from people where age >= 18 group by sex",
        [kinds.table(["sex"], RICH, where="age >= 18")],
    ),
    Asked(f"select race, avg({RICH}), count(*) from people group by race", [kinds.table(["race"], RICH)]),
    Asked("select sex, race, avg(age) from people group by sex, race", [kinds.table(["sex", "race"], "age")]),
    Asked("select sex, median(age) from people group by sex", [kinds.table(["sex"], "age", q=0.5)]),
    Asked(f"select year, avg({RICH}) from people group by year", [kinds.table(["year"], RICH)]),
    Asked("select year, sex, count(*) from people group by year, sex", [kinds.table(["year", "sex"])]),
    Asked(f"select year, sex, avg({RICH}) from people group by year, sex", [kinds.table(["year", "sex"], RICH)]),
    Asked(
        "select avg(weeks_worked_in_year) from people where age between 25 and 54",
        [hf.mean("weeks_worked_in_year", where="age between 25 and 54")],
    ),
    Asked(
        "select count(*) from people where weeks_worked_in_year = 52 and sex = 'Female'",
        [hf.mean("weeks_worked_in_year = 52 and sex = 'Female'")],
    ),
    Asked(
        "select quantile(age, 0.9) from people where sex = 'Male'", [kinds.quantile("age", 0.9, where="sex = 'Male'")]
    ),
    Asked("select corr(age, weeks_worked_in_year) from people", [kinds.correlation("age", "weeks_worked_in_year")]),
    Asked(
        "select avg(wage_per_hour) from people where wage_per_hour > 0",
        [hf.mean("wage_per_hour", where="wage_per_hour > 0")],
    ),
    Asked(
        f"select avg(case when {RICH} then 1 else 0 end) from people where race = 'Black'",
        [hf.mean(f"case when {RICH} then 1 else 0 end", where="race = 'Black'")],
    ),
    Asked(
        f"select avg({RICH}) from people where weeks_worked_in_year = 52",
        [hf.mean(RICH, where="weeks_worked_in_year = 52")],
    ),
    Asked(python=[kinds.difference("weeks_worked_in_year", "sex", ["Male", "Female"])]),
    Asked(python=[kinds.difference(RICH, "sex", ["Male", "Female"], where="age between 25 and 54")]),
    Asked(python=[kinds.difference(RICH, "year", [95, 94])]),
    Asked(python=[kinds.top("race", 2)]),
    Asked("select sum(capital_gains) from people", [hf.mean("capital_gains")]),
    Asked("select education, count(*) from people group by education", [kinds.table(["education"])]),
    Asked("select max(capital_gains) from people"),
    Asked("select avg(dividends_from_stocks) from people", [hf.mean("dividends_from_stocks")]),
    Asked("select regr_slope(weeks_worked_in_year, age) from people"),
    Asked("select p.age, q.age from people p join people q on p.sex = q.sex"),
]
"""30 questions; the last five are refused, each with the reason."""
GERMAN_COLUMNS: dict[str, Any] = {
    "months": {"low": 0, "high": 72},
    "amount": {"low": 0, "high": 20000},
    "age": {"low": 18, "high": 80},
    "housing": {"categories": ["A151", "A152", "A153"]},
    "bad": {"categories": [1, 2]},
}
GERMAN = [
    Asked("select avg(bad = 2) from credits", [hf.mean("bad = 2")]),
    Asked("select avg(months), median(age) from credits", [hf.mean("months"), kinds.quantile("age", 0.5)]),
    Asked(
        "select housing, avg(bad = 2), count(*) from credits group by housing", [kinds.table(["housing"], "bad = 2")]
    ),
    Asked("select avg(amount) from credits where bad = 2", [hf.mean("amount", where="bad = 2")]),
    Asked(python=[kinds.difference("months", "bad", [2, 1])]),
    Asked("select avg(months) from credits join people on true"),
]
"""A thousand rows with noise: the intervals about the rows say something, those about the population hardly do."""
GERMAN_GUESSES = [
    Asked(python=[kinds.check("bad = 2", guess=0.3)]),
    Asked(python=[kinds.check("months", guess=21)]),
    Asked(python=[kinds.table("housing", "bad = 2", guesses={"A151": 0.4, "A152": 0.26, "A153": 0.4}, tolerance=0.3)]),
    Asked(python=[kinds.close()]),
]
"""The same thousand rows without noise: guesses are checked, and `close` shows every exact interval."""


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

    types = [sql.SQL("bigint" if frame[column].dtype.is_integer() else "text") for column in frame.columns]
    columns = sql.SQL(", ").join(
        sql.SQL("{} {} not null").format(sql.Identifier(column), type_)
        for column, type_ in zip(frame.columns, types, strict=True)
    )
    table = sql.Identifier(name)
    with psycopg.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute(sql.SQL("drop table if exists {}").format(table))
        cursor.execute(sql.SQL("create table {} ({})").format(table, columns))
        with cursor.copy(sql.SQL("copy {} from stdin (format csv, header)").format(table)) as copy:
            copy.write(csv.read_bytes())


def census_policy(epsilon: float = 0.2) -> Policy:
    """A budget for one report: a small part of it for each question."""
    spend = PureDP(epsilon / 40)
    return Policy(questions=40, privacy=PureDP(epsilon), spend=spend, columns=CENSUS_COLUMNS)


def german_policy() -> Policy:
    """The same for a thousand rows."""
    return Policy(questions=20, privacy=PureDP(4.0), spend=PureDP(0.5), columns=GERMAN_COLUMNS)


def guesses_policy() -> Policy:
    """No noise, and no part kept for a final: the report ends with `close`."""
    return Policy(questions=10, final=0.0, columns=GERMAN_COLUMNS)


@dataclass(frozen=True)
class Line:
    """What became of a question of a report; `outcome` is "answered" or "refused"."""

    words: str
    shown: str
    outcome: str


def report(guard: Guard, questions: Sequence[Asked]) -> list[Line]:
    """What became of each question; what is asked in both forms must be the same answer, paid once."""
    lines = []
    for asked in questions:
        words = asked.sql or asked.python[0].question_words(_bound(guard, asked.python[0]))
        try:
            shown = _table(guard.sql(asked.sql)) if asked.sql else ""
            for question in asked.python:
                answer = guard.ask(question)
                if asked.sql and not answer.repeated:
                    raise AssertionError(f"{words} is not the same question in Python")
                shown += "" if asked.sql else _answer(answer)
            lines.append(
                Line(words, shown + (" (in Python: the same, free)" if asked.sql and asked.python else ""), "answered")
            )
        except HoldfastError as error:
            for question in asked.python:
                _refused(guard, question)
            lines.append(Line(words, f"REFUSED: {error}", "refused"))
    return lines


def _refused(guard: Guard, question: Any) -> None:
    """What SQL refuses is refused in Python too."""
    try:
        guard.ask(question)
    except HoldfastError:
        return
    raise AssertionError(f"{question} is answered in Python and not in SQL")


def _bound(guard: Guard, asked: Any) -> Any:
    from holdfast.data.schema import Schema

    facts = guard.describe()
    return asked.bind(Schema.from_dict(facts["schema"]), facts["n"], guard.policy).question


def _table(found: Any) -> str:
    return " ; ".join(str(found).splitlines()[1:])


def _answer(found: Any) -> str:
    if "revealed" in found.details:
        return f"exactly: {[one['interval'] for one in found.details['revealed']]}"
    head = "" if found.passed is None else "passed: " if found.passed else "failed: "
    return f"{head}{found.value} in {found.interval}"


# --- Coverage ---------------------------------------------------------------------------------------------------------


def truths(frame: pl.DataFrame, questions: Sequence[Asked], columns: Mapping[str, Any], n: int) -> dict[str, Any]:
    """What each statement says about the whole file, by DuckDB: for each group the numbers after its name.

    Numbers are clipped to their declared ranges, as the guard clips them. DuckDB averages no truth values, so they are
    made numbers first, and its `median` lies between two values, where the guard's is one of them. Counts are those
    that are expected among `n` rows.
    """
    clipped = [
        pl.col(name).clip(about["low"], about["high"]) if "low" in about else pl.col(name)
        for name, about in columns.items()
    ]
    found: dict[str, Any] = {}
    with duckdb.connect() as connection:
        connection.register("people", frame.select(clipped).to_arrow())
        connection.register("credits", frame.select(clipped).to_arrow())
        for text in (asked.sql for asked in questions if asked.sql and asked.python):
            query = text
            for condition in (RICH, "bad = 2"):
                query = query.replace(f"avg({condition})", f"avg(({condition})::int)")
            query = query.replace("median(age)", "quantile(age, 0.5)").replace("quantile(", "quantile_disc(")
            query = query.replace("count(*)", f"count(*) * {n / len(frame)!r}")
            query = re.sub(r"\bsum\(\w+\)", rf"\g<0> * {n / len(frame)!r}", query)
            many = text.count(" group by ") and text.rpartition(" group by ")[2].count(",") + 1
            try:
                rows = connection.execute(query).fetchall()
            except duckdb.Error:
                continue  # a question that is refused
            found[text] = {row[:many]: row[many:] for row in rows}
    return found


def differences(frame: pl.DataFrame) -> list[tuple[Any, Any]]:
    """The questions in Python alone, and their truths in the whole file."""
    rich, worked = pl.col("income") == "50000+.", pl.col("weeks_worked_in_year")

    def mean(value: Any, *conditions: Any) -> float:
        return float(frame.filter(*conditions).select(value.cast(pl.Float64).mean()).item())

    men, women, adult = pl.col("sex") == "Male", pl.col("sex") == "Female", pl.col("age").is_between(25, 54)
    shares = frame["race"].value_counts(normalize=True).rows()
    questions = [asked.python[0] for asked in CENSUS if asked.sql is None]
    return list(
        zip(
            questions,
            [
                mean(worked, men) - mean(worked, women),
                mean(rich, men, adult) - mean(rich, women, adult),
                mean(rich, pl.col("year") == 95) - mean(rich, pl.col("year") == 94),
                dict(shares),
            ],
            strict=True,
        )
    )


@dataclass(frozen=True)
class Counted:
    """What a coverage run counts.

    `intervals` are those about the population, `missed` the runs in which any of them misses, and `wrong` those in
    which the wrong version does. `answers` have intervals about the rows; `answers_missed` of these miss the exact
    values of the rows, and `answers_wrong` do with a quarter of the width.
    """

    intervals: int
    missed: int
    wrong: int
    answers: int
    answers_missed: int
    answers_wrong: int


def pairs(guard: Guard, exact: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], float, float, Any, Any]]:
    """For every number of a table: the statement and the column, the truth, the noisy value, and both intervals.

    The interval about the population comes before that about the rows.
    """
    for text, groups in exact.items():
        try:
            found = guard.sql(text)
        except QuestionRefused:
            continue  # noise too large for this number of rows
        many = len(next(iter(groups)))
        for row, ends, about in zip(found.rows, found.intervals, found.about_rows, strict=True):
            label = tuple(row[name] for name in found.columns[:many])
            for name, truth in zip(found.columns[many:], groups.get(label, ()), strict=False):
                if row[name] is not None:
                    yield (text, name), float(truth), row[name], ends[name], about.get(name, ends[name])


def about_rows(guard: Guard, drawn: pl.DataFrame, exact: Mapping[str, Any], apart: Any) -> list[tuple[bool, bool]]:
    """For every answer, whether its interval about the rows misses their exact value, and whether the wrong one does.

    The rows are the population here: `exact` and `apart` are what `truths` and `differences` say of those drawn.
    """
    found: dict[Any, list[tuple[float, Any]]] = {}
    for key, truth, _, _, ends in pairs(guard, exact):
        if ends[0] != ends[1]:  # how many rows there are is public
            found.setdefault(key, []).append((truth, ends))
    for place, (question, truth) in enumerate(apart):
        ends = guard.ask(question).details["about_rows"]["interval"]
        many = isinstance(truth, Mapping)  # the shares of the most frequent categories, whose intervals are in rows
        found[place] = [(truth[one] * len(drawn), ends[one]) for one in ends] if many else [(truth, ends)]
    return [
        (
            any(_outside(truth, ends, 1.0) for truth, ends in cells),
            any(_outside(truth, ends, 0.25) for truth, ends in cells),
        )
        for cells in found.values()
    ]


def _outside(truth: float, ends: Sequence[float], part: float) -> bool:
    """Whether a truth is outside the middle part of an interval."""
    middle, half = (ends[0] + ends[1]) / 2, part * (ends[1] - ends[0]) / 2
    return abs(truth - middle) > half + 1e-9 * (1 + abs(truth))


def missing(guard: Guard, asked: Sequence[tuple[Any, Any]]) -> list[bool]:
    """For every interval of some questions, whether it misses the truth."""
    found = []
    for question, truth in asked:
        ends = guard.ask(question).interval
        inside = [(ends[label], truth[label]) for label in ends] if isinstance(truth, Mapping) else [(ends, truth)]
        found += [not low - 1e-9 <= value <= high + 1e-9 for (low, high), value in inside]
    return found


def census_coverage(frame: pl.DataFrame, runs: int, n: int = 20_000) -> Counted:
    """Draw samples of the census, and ask each for the report."""
    exact, apart = truths(frame, CENSUS, CENSUS_COLUMNS, n), differences(frame)
    rng, many, missed, wrong, about = np.random.default_rng(20), 0, 0, 0, list[tuple[bool, bool]]()
    for _ in range(runs):
        drawn = frame[rng.integers(0, len(frame), n)]
        guard = Guard.open(None, hf.data.table(drawn), census_policy(0.4))
        found = list(pairs(guard, exact))
        misses = [not low <= truth <= high for _, truth, _, (low, high), _ in found] + missing(guard, apart)
        many, missed = many + len(misses), missed + any(misses)
        truth, value = next((truth, value) for (text, _), truth, value, _, _ in found if text == CENSUS[2].sql)
        wrong += abs(truth - value) > _classical(value, n)
        about += about_rows(guard, drawn, truths(drawn, CENSUS, CENSUS_COLUMNS, n), differences(drawn))
    return Counted(many, missed, wrong, len(about), sum(one for one, _ in about), sum(one for _, one in about))


def german_coverage(frame: pl.DataFrame, runs: int) -> Counted:
    """The same of German credit: with noise, by guesses, and what `close` shows of these."""
    n, rng, many, missed, wrong = len(frame), np.random.default_rng(21), 0, 0, 0
    about = list[tuple[bool, bool]]()
    exact = truths(frame, GERMAN, GERMAN_COLUMNS, n)
    bad = (frame["bad"] == 2).cast(pl.Float64)
    homes = {
        name: float(bad.filter(frame["housing"] == name).mean()) for name in GERMAN_COLUMNS["housing"]["categories"]
    }  # type: ignore[arg-type]
    truth = [float(bad.mean()), float(frame["months"].mean()), homes]  # type: ignore[arg-type]
    apart = GERMAN[4].python[0], _longer(frame)
    for _ in range(runs):
        drawn = frame[rng.integers(0, n, n)]
        noisy = Guard.open(None, hf.data.table(drawn), german_policy())
        found = list(pairs(noisy, exact))
        misses = [not low <= real <= high for _, real, _, (low, high), _ in found] + missing(noisy, [apart])
        guard = Guard.open(None, hf.data.table(drawn), guesses_policy())
        guesses = [asked.python[0] for asked in GERMAN_GUESSES[:-1]]
        misses += missing(guard, list(zip(guesses, truth, strict=True)))
        for revealed, real in zip(guard.ask(kinds.close()).details["revealed"], truth, strict=True):
            ends = revealed["interval"]
            inside = [(ends[name], real[name]) for name in ends] if isinstance(real, Mapping) else [(ends, real)]
            misses += [not low - 1e-9 <= value <= high + 1e-9 for (low, high), value in inside]
        many, missed = many + len(misses), missed + any(misses)
        wrong += any(not low <= real <= high for _, real, _, _, (low, high) in found)
        of_rows = truths(drawn, GERMAN, GERMAN_COLUMNS, n)
        about += about_rows(noisy, drawn, of_rows, [(GERMAN[4].python[0], _longer(drawn))])
    return Counted(many, missed, wrong, len(about), sum(one for one, _ in about), sum(one for _, one in about))


def _longer(frame: pl.DataFrame) -> float:
    """By how many months bad credits are longer than good ones."""
    bad, good = (frame.filter(pl.col("bad") == value)["months"].to_numpy().mean() for value in (2, 1))
    return float(bad - good)


def _classical(value: float, n: int) -> float:
    return float(1.96 * (max(value * (1 - value), 0.0) / n) ** 0.5)


def main() -> None:
    """Print the report, or how often its intervals miss."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres")
    parser.add_argument("--coverage", type=int, default=0)
    given = parser.parse_args()
    folder = Path(os.environ.get("HOLDFAST_DATA", "../shared/data"))
    if given.coverage:
        for name, counted in (
            ("Census-Income", census_coverage(census(folder), given.coverage)),
            ("German credit", german_coverage(german(folder), given.coverage)),
        ):
            part = counted.answers_missed / counted.answers
            print(
                f"{name}: {given.coverage} runs, {counted.intervals:,} intervals: {counted.missed} runs with an "
                f"interval that misses; the wrong version misses in {counted.wrong}. Of {counted.answers:,} answers, "
                f"{counted.answers_missed} intervals about the rows miss ({part:.2%}); at a quarter of the width "
                f"{counted.answers_wrong} do",
                flush=True,
            )
        return
    with tempfile.TemporaryDirectory() as place:
        parts: list[tuple[str, pl.DataFrame, Policy, Sequence[Asked]]] = [
            ("census", census(folder), census_policy(), CENSUS),
            ("german", german(folder), german_policy(), GERMAN),
            ("guesses", german(folder), guesses_policy(), GERMAN_GUESSES),
        ]
        for name, frame, policy, questions in parts:
            outcomes = []
            for engine, sample in engines(frame, name, Path(place), given.postgres):
                guard = Guard.open(None, sample, policy)
                print(f"== {name} over {engine}: {sample.n:,} rows")
                lines = report(guard, questions)
                print("\n".join(f"{line.words}\n    {line.shown}" for line in lines))
                outcomes.append([line.outcome for line in lines])
                guard.shut()
            answered = outcomes[0].count("answered")
            alike = "" if all(one == outcomes[0] for one in outcomes) else "NOT "
            refused = len(questions) - answered
            print(f"== {name}: {answered} answered, {refused} refused, {alike}the same over {len(outcomes)} engines")


if __name__ == "__main__":
    main()
