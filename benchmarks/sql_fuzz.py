"""Mutated SQL statements: each becomes questions of a guard's kinds or is refused; nothing else happens to any.

    python -m benchmarks.sql_fuzz [STATEMENTS]

Statements are read against a schema and a policy alone. One in fifty is also asked of two guards with other rows, which
must answer or refuse alike, with the same words, and hand no text of it to an engine. Prints how many of 100,000 were
read; about ten minutes on one core.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from typing import Any

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.sql import compile_sql

SCHEMA = Schema(
    {
        "sex": "text not null",
        "race": "text null",
        "age": "integer not null",
        "income": "number not null",
        "gap": "number null",
        "free": "number not null",
        "member": "boolean not null",
        "born": "date null",
        "code": "text not null",
    }
)
COLUMNS: dict[str, Any] = {
    "sex": {"categories": ["f", "m"]},
    "race": {"categories": ["a", "b"]},
    "income": {"low": 0, "high": 100},
    "gap": {"low": 0, "high": 10},
    "age": {"low": 0, "high": 120},
}
POLICY = Policy(questions=50, privacy=PureDP(1.0), spend=PureDP(0.02), columns=COLUMNS)

SEEDS = [
    "select sex, avg(income), count(*) from people where age between 20 and 30 group by sex",
    "select count(*) from people where sex in ('f', 'm') or not member",
    "select median(income), quantile(income, 0.9) from people where gap is not null",
    "select avg(case when age > 40 then 1 else 0 end) filter (where member) from people p",
    "select race, percentile_cont(0.5) within group (order by income) from people group by 1 order by 2 desc limit 3",
    "select corr(age, income) from people",
    "select avg(nullif(income, 0) + 1) from people where born >= date '2001-05-01' or born is null",
    "select count(*) from people where case race when 'a' then member when 'b' then not member else age > 40 end",
    "select avg(cast(age > 30 as int)), avg(extract(month from born)) from people where sex || code = 'fx'",
    "select sex, avg(member::int) from people where nullif(code, 'x') is distinct from race group by sex",
    "select count(*) from people where code::integer + year(born) % 4 > 2001 and lower(code) not like '_a%'",
]
WORDS = (
    "select from where group by order having limit offset join left on union all with as distinct over partition "
    "avg count sum min max median quantile corr ( ) ( ) , . ; * + - / % = <> < > ' \" ` -- /* */ case when then else "
    "end null true not and or in between like is cast :: int exists read_csv pragma sex race age income gap free "
    "member born code nullif extract date month || x people 0 1 0.5 1e400 -1 'f' '' \0 \u2028 \ud83d \U0001f418 [ ] { "
    "} ? : @ # $ \\"
).split(" ")


def mutated(draw: random.Random) -> str:
    """A statement with words taken out, put in, moved, doubled, or letters changed."""
    words = draw.choice(SEEDS).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    for _ in range(draw.choice([0, 1, 1, 2, 3, 6])):
        at = draw.randrange(len(words)) if words else 0
        match draw.randrange(6):
            case 0 if words:
                del words[at]
            case 1:
                words.insert(at, draw.choice(WORDS))
            case 2 if words:
                words[at] = draw.choice(WORDS)
            case 3 if words:
                words.insert(draw.randrange(len(words)), words.pop(at))
            case 4:
                words[at:at] = draw.choice(SEEDS).split()[: draw.randint(1, 8)]
            case _ if words:
                letters = list(words[at])
                letters[draw.randrange(len(letters))] = chr(
                    draw.choice([draw.randrange(32, 127), draw.randrange(0x3000)])
                )
                words[at] = "".join(letters)
    return draw.choice([" ", " ", "\n", "\t"]).join(words)


def fuzzed(runs: int, seed: int) -> int:
    """How many mutated statements become questions; whatever else happens to them is one of the library's errors."""
    draw, read = random.Random(seed), 0
    for _ in range(runs):
        text = mutated(draw)
        try:
            found = compile_sql(text, SCHEMA, POLICY, 1000)
        except (InvalidParameter, QuestionRefused):
            continue
        read += 1
        for question in found.questions:
            Question.from_dict(question).bind(SCHEMA, 1000, POLICY)
    return read


def guards(n: int = 500) -> tuple[Guard, Guard]:
    """Two guards of one size, schema and policy over rows that have no value in common, with a budget for thousands."""
    policy = Policy(questions=10**6, privacy=PureDP(100.0), spend=PureDP(0.001), columns=COLUMNS)
    return _guard(n, policy, 1), _guard(n, policy, 99)


def _guard(n: int, policy: Policy, value: int) -> Guard:
    first = value == 1
    columns: dict[str, Any] = {
        "sex": ["f" if first else "m"] * n,
        "race": ["a", None] * (n // 2) if first else ["b"] * n,
        "age": [value] * n,
        "income": [float(value)] * n,
        "gap": [None if first else 3.0] * n,
        "free": [float(value)] * n,
        "member": [first] * n,
        "born": [None if first else dt.date(2001, 5, 1)] * n,
        "code": ["x" if first else "12"] * n,
    }
    return Guard.open(None, hf.data.table(columns, schema=SCHEMA), policy)


def outcomes(text: str, pair: tuple[Guard, Guard]) -> list[tuple[str, Any]]:
    """What each of two guards says of a statement: its price and its answer's columns, or its error."""
    found: list[tuple[str, Any]] = []
    for guard in pair:
        try:
            priced = guard.explain(text)
            answer = guard.sql(text)
        except HoldfastError as error:
            found.append((type(error).__name__, str(error)))
            continue
        found.append(("answered", (priced.to_dict(), answer.columns, str(answer.cost), answer.note)))
    return found


def asked(runs: int, seed: int) -> int:
    """How many mutated statements two guards answer; raises where they do not say the same."""
    draw, pair, answered = random.Random(seed), guards(), 0
    for _ in range(runs):
        text = mutated(draw)
        one, two = outcomes(text, pair)
        if one != two:
            raise AssertionError(f"what is said depends on rows: {text!r}: {one} and {two}")
        answered += one[0] == "answered"
    return answered


def main() -> None:
    """Read as many statements as were asked for."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    read = fuzzed(runs, seed=20)
    print(f"{runs:,} mutated statements: {read:,} read into questions, {runs - read:,} refused, no other error")
    answered = asked(runs // 50, seed=21)
    print(f"{runs // 50:,} asked of two guards of other rows: {answered:,} answered, the others refused alike")


if __name__ == "__main__":
    main()
