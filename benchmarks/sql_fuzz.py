"""Mutated SQL statements: each becomes questions of a guard's kinds or is refused; nothing else happens to any.

    python -m benchmarks.sql_fuzz [STATEMENTS]

No engine is there that a statement could reach: statements are read against a schema and a policy alone. Prints how
many of 100,000 were read; about eight minutes on one core.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard import Policy
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
]
WORDS = (
    "select from where group by order having limit offset join left on union all with as distinct over partition "
    "avg count sum min max median quantile corr ( ) ( ) , . ; * + - / % = <> < > ' \" ` -- /* */ case when then else "
    "end null true not and or in between like is cast :: int exists read_csv pragma sex race age income gap free "
    "member x people 0 1 0.5 1e400 -1 'f' '' \0 \u2028 \ud83d \U0001f418 [ ] { } ? : @ # $ \\"
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


def main() -> None:
    """Read as many statements as were asked for."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    read = fuzzed(runs, seed=20)
    print(f"{runs:,} mutated statements: {read:,} read into questions, {runs - read:,} refused, no other error")


if __name__ == "__main__":
    main()
