"""What a newcomer may type: the examples that stand below each command's help, in the reference, and in a test.

Files that are named here are the reader's own: `rows.csv` with the columns `id`, `age`, `income` and `arm`.
"""

from __future__ import annotations

import re
from typing import Any

from holdfast.cli import typed_words

_SERVER = "https://holdfast.example"
_AT_THE_GUARD = "ledger.db rows.csv"

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": ("demo --once", "plan --n 10000 --questions 1000", "guard open ledger.db rows.csv --questions 500"),
    "ask choose": ("ask choose contest.db rows.csv climb 2",),
    "ask contest_final": ("ask contest_final contest.db rows.csv climb --estimate",),
    "ask question": (f"ask question {_AT_THE_GUARD} question.json --key first-question",),
    "audit": (
        "audit people.csv --target ill=1 --by sex --out report.html",
        'audit people.csv --target ill=1 --by sex --curator "python $PWD/generator.py {train} {release}"',
    ),
    "bound": ("bound max-information.pure-dp --epsilon 0.01 --n 1000 --beta 0.05",),
    "contest": ("contest contest.db", f"contest {_SERVER} --dataset climb --out result.html"),
    "correct": ("correct --n 1000 --p 0.001 --spent pure-dp:0.02 --candidates 100",),
    "correlated": ("correlated docs/models/meter.toml",),
    "demo": ("demo --once",),
    "epsilon": (
        "epsilon --alpha 0.2 --n 2000000 --size 100000 --groups 20 --mode sharp",
        "epsilon --alpha 0.2 --n 2000000 --epsilon 0.01 --group everyone=1000000 --group deaf=3500",
    ),
    "guard close": ('guard close ledger.db --yes --reason "the study is over"',),
    "guard list": ("guard list ledger.db",),
    "guard log": ("guard log ledger.db --last 5",),
    "guard extend": (
        "guard extend ledger.db december.csv",
        "guard extend ledger.db december.csv --rows rows.csv",
    ),
    "guard open": (
        "guard open ledger.db rows.csv --questions 500",
        "guard open ledger.db rows.csv --questions 500 --privacy pure-dp:0.1 --spend pure-dp:0.005",
        f"guard open {_SERVER} rows.csv --policy policy.json --name contest",
    ),
    "guard override": ('guard override ledger.db --policy policy.json --reason "a second wave of questions"',),
    "guard pause": ('guard pause ledger.db --reason "an audit"',),
    "guard resume": ("guard resume ledger.db",),
    "guard show": ("guard show ledger.db",),
    "leaderboard": ("leaderboard board.db", f"leaderboard {_SERVER} --dataset contest"),
    "mcp": ("mcp ledger.db rows.csv",),
    "plan": ("plan 10000 1000", "plan --n 10000 --questions 1000", "plan --half-width 0.05 --questions 1000"),
    "report list": (f"report list {_SERVER}",),
    "report upload": (f"report upload {_SERVER} report.json",),
    "reproduce": ("reproduce", "reproduce dwork-figure-2 --quick", "reproduce all --quick"),
    "serve": ("serve --folder records",),
    "simulate": ("simulate --analyst adversarial --against all --runs 10", "simulate --list"),
    "sql": (
        'sql ledger.db rows.csv "select avg(age < 40), count(*) from people where income > 50000" --explain',
        'sql ledger.db rows.csv "select avg(age < 40), count(*) from people where income > 50000"',
    ),
    "submit": (
        'submit board.db rows.csv predictions.csv --guess 0.81 --name "my first"',
        f'submit {_SERVER} contest predictions.csv --name "my first"',
    ),
    "test all-pairs": ("test all-pairs rows.csv --categories categories.json --rho 0.1",),
    "test gof": ("test gof --counts 520,150,170,160 --p0 1/2,1/6,1/6,1/6 --rho 0.01",),
    "test gwas": ("test gwas --counts '250,167;125,167;125,166' --rho 0.5",),
    "test independence": ("test independence --counts '255,193;301,251' --rho 0.01",),
    "test local-gof": ("test local-gof --answers 2900,2350,2420,2330 --randomizer randomized-response --epsilon 1",),
    "test local-independence": ("test local-independence --counts '2550,1930;3010,2510' --epsilon 1",),
    "test which": ("test which --n 20000 --d 4 --rho 0.00125",),
    "token issue": (f"token issue {_SERVER} ann", f"token issue {_SERVER} bob --guard contest --expires 2030-01-31"),
    "token list": (f"token list {_SERVER}",),
    "token revoke": (f"token revoke {_SERVER} 0123456789abcdef",),
    "verify": ("verify ledger.db",),
}


def examples(words: str) -> tuple[str, ...]:
    """Return the examples of a command; those of `ask KIND` are made from the kind's own example.

    Examples
    --------
    >>> examples("ask check")
    ('ask check ledger.db rows.csv "age < 40" --guess 0.3 --estimate', 'ask check ledger.db rows.csv "age < 40" ...')
    """
    if words.startswith("ask ") and words not in EXAMPLES:
        line = _ask_line(words.removeprefix("ask "))
        return f"{line} --estimate", line
    return EXAMPLES.get(words, ())


def _ask_line(kind: str) -> str:
    from holdfast.guard.questions.base import Question

    kind_class = Question.kinds()[kind]
    arguments, options = [], []
    for field in kind_class.fields():
        for text in field.input.write(kind_class.example[field.name]) if field.name in kind_class.example else ():
            if field.input.argument:
                arguments.append(_quoted(text))
            else:
                options += [field.option] if field.input.typed is bool else [field.option, _quoted(text)]
    return " ".join(["ask", kind, _AT_THE_GUARD, *arguments, *options])


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.,:/-]+", text) else f'"{text}"'


def finish(words: str, command: Any) -> None:
    """Put the examples below a command's help, and let its arguments be typed and called as people do: LEDGER."""
    command.epilog = epilog(words)
    for parameter in command.params:
        if parameter.opts == ["--n"]:
            parameter.opts.append("--rows")
        if parameter.opts == ["--questions"]:
            parameter.opts.append("-q")
        if parameter.param_type_name == "argument" and parameter.metavar is None:
            parameter.metavar = "DATA" if parameter.name == "sample" else str(parameter.name).upper()
    typed_words.understand(command)


def epilog(words: str) -> str | None:
    """Return the examples of a command as they stand below its help, each on a line of its own.

    Examples
    --------
    >>> epilog("verify").splitlines()[-1]
    '  holdfast verify ledger.db'
    """
    lines = examples(words)
    if not lines:
        return None
    head = "Example:" if len(lines) == 1 else "Examples:"
    return "\n".join(["\b", head, *(f"  holdfast {line}" for line in lines)])
