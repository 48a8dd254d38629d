"""`holdfast sql`: asking a guard in SQL. The statement becomes questions of the guard's kinds and reaches no engine."""

from __future__ import annotations

from typing import Any

import typer

from holdfast.cli import ledgers, output
from holdfast.cli.ask import guarantee_words
from holdfast.errors import BudgetExhausted

_LEDGER = typer.Argument(
    ...,
    help="The ledger in which the guard's questions are recorded (a file or a postgresql:// address), or the "
    "http(s):// address of a server.",
)
_SAMPLE = typer.Argument(
    ...,
    help="The guarded data set: a file, or a database table as ADDRESS#TABLE. With a server, the name of the guard.",
)
_STATEMENT = typer.Argument(
    ...,
    help="One SQL select with avg, count, sum, median, quantile or corr. The table always means the guarded "
    "data, whatever its name in the statement.",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql")(sql)


def sql(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    statement: str = _STATEMENT,
    analyst: str = typer.Option(
        None, "--analyst", help="With a ledger: the name of the analyst who asks (default: analyst)."
    ),
    key: str = typer.Option(
        None,
        "--key",
        help="Idempotency key, a text of your choice: if you repeat the command with the same key, for example after "
        "a lost connection, the statement is answered and charged only once.",
    ),
    spend: str = typer.Option(
        None,
        "--spend",
        metavar="COST",
        help="The privacy cost of each question that the statement asks: pure-dp:EPSILON or zcdp:RHO.",
    ),
    practice: bool = typer.Option(
        False,
        "--practice",
        help="Practise at no cost: the answer is computed from made-up rows of the declared schema, not from the "
        "data, and is marked as practice.",
    ),
    explain: bool = typer.Option(
        False, "--explain", help="Show only what the statement would cost, without asking it."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Ask a guard in SQL: averages, counts, sums, medians, quantiles and correlations, with where and group by.

    The ranges of numbers and the categories of columns are those that the guard's policy declares. If a statement
    cannot be answered, it is refused with the reason and the nearest question that can be asked, and nothing is spent.
    """
    from holdfast.inference.after_looking.spent import parse

    cost = None if spend is None else parse(spend)
    with ledgers.analyst_guard(ledger, sample, analyst) as real:
        guard = real.practice() if practice else real
        result: Any = guard.explain(statement, spend=cost) if explain else guard.sql(statement, key=key, spend=cost)
    if as_json:
        output.print_json(result.to_dict())
    elif explain:
        _priced(result)
    else:
        _answered(result)
    if explain and not result.admitted:
        raise BudgetExhausted(result.reason)


def _priced(found: Any) -> None:
    from holdfast.guard.questions.words import plain_words

    price = "nothing" if found.cost is None else str(found.cost)
    rows: list[tuple[str, object]] = [("would be", "answered" if found.admitted else "refused"), ("cost", price)]
    totals = found.totals or [None] * len(found.questions)
    for question, estimate, total in zip(found.questions, found.estimates, totals, strict=True):
        rows.append(
            (plain_words(question), str(estimate) + ("" if total is None else f"; in all rows within {total:.6g}"))
        )
    output.facts("Statement", rows)


def _answered(found: Any) -> None:
    from holdfast.guard.sql import cell_words

    rows = []
    for row, ends, about in zip(found.rows, found.intervals, found.about_rows, strict=True):
        cells = []
        for name in found.columns:
            cells.append(cell_words(row[name], ends.get(name), about.get(name)))
        rows.append(cells)
    output.table("Answer", list(found.columns), rows)
    if found.note:
        output.say(found.note)
    price = "nothing" if found.cost is None else str(found.cost)
    output.say(
        f"Cost: {price}. After each value: the interval about the population, then (rows ...) about these rows alone."
    )
    if any(answer.details.get("practice") for answer in found.answers):
        output.say("PRACTICE: made-up rows. This is not about the guarded rows, and nothing was spent.")
    for answer in found.answers[:1]:
        output.say(f"Guarantee: {guarantee_words(answer.guarantee, verbose=False)}")
