"""`holdfast ask`: asking a guard as an analyst, one sub-command a kind of question."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from holdfast.cli import output, remote
from holdfast.cli.count_input import numbers
from holdfast.cli.guard_input import cost_of, open_sample, store_at
from holdfast.errors import BudgetExhausted, InvalidParameter

_LEDGER = typer.Argument(..., help="The ledger: a file or a postgresql:// address; or a server's http(s):// address.")
_SAMPLE = typer.Argument(..., help="The .csv or .parquet file with the rows; with a server, the guard's name.")
_EXPRESSION = typer.Argument(..., help='A row expression, e.g. "income > 50000 and age < 30".')
_FILE = typer.Argument(
    ..., help="A JSON file with one question, or a list of questions asked together; - reads standard input."
)
_LOW = typer.Option(None, "--low", help="Least value of a number; rows are clipped to it.")
_HIGH = typer.Option(None, "--high", help="Greatest value of a number; rows are clipped to it.")
_DEFAULT = typer.Option(
    None, "--default", help="What a row counts as where the expression has no value; the least if not given."
)
_SPEND = typer.Option(
    None, "--spend", help="What it may cost: pure-dp:EPSILON or zcdp:RHO; what the policy says if not given."
)
_TOLERANCE = typer.Option(
    None, "--tolerance", help="How near the truth a pass certifies the guess; twice the half-width if not given."
)
_ANALYST = typer.Option("analyst", "--analyst", help="Who asks.")
_KEY = typer.Option(None, "--key", help="Makes a retry the same question: answered and paid once.")
_ESTIMATE = typer.Option(False, "--estimate", help="Only say what it would cost and how wide it would be.")
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    ask = typer.Typer(help="Ask a guard as an analyst: estimates are free, repeated questions are free.")
    for command in (mean, check, claim, compare, validate, histogram, select, question):
        ask.command(command.__name__)(command)
    ask.command("test")(private_test)
    app.add_typer(ask, name="ask", no_args_is_help=True)


def mean(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    expression: str = _EXPRESSION,
    low: float = _LOW,
    high: float = _HIGH,
    default: float = _DEFAULT,
    spend: str = _SPEND,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """The mean of an expression, answered with noise."""
    plain = {"kind": "mean", "expression": expression, "low": low, "high": high, "default": default}
    _ask(ledger, sample, plain | _spend(spend), analyst, key, estimate, as_json)


def check(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    expression: str = _EXPRESSION,
    guess: float = typer.Option(..., "--guess", help="Your guess of the mean; not from these rows."),
    tolerance: float = _TOLERANCE,
    show: str = typer.Option("value", "--show", help="value, or bit: a failure then shows nothing else."),
    low: float = _LOW,
    high: float = _HIGH,
    default: float = _DEFAULT,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Check a guess of a mean, without noise."""
    plain = {"kind": "check", "expression": expression, "guess": guess, "tolerance": tolerance, "show": show}
    _ask(ledger, sample, plain | {"low": low, "high": high, "default": default}, analyst, key, estimate, as_json)


def claim(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    expression: str = _EXPRESSION,
    at_least: float = typer.Option(None, "--at-least", help="Claim that the mean is at least this."),
    at_most: float = typer.Option(None, "--at-most", help="Claim that the mean is at most this."),
    low: float = _LOW,
    high: float = _HIGH,
    default: float = _DEFAULT,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Claim a bound on a mean, without noise."""
    plain = {"kind": "claim", "expression": expression, "at_least": at_least, "at_most": at_most}
    _ask(ledger, sample, plain | {"low": low, "high": high, "default": default}, analyst, key, estimate, as_json)


def compare(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    b: str = typer.Argument(..., help="The expression that may be larger."),
    a: str = typer.Argument(..., help="The expression it is compared with."),
    margin: float = typer.Option(None, "--margin", help="Claim that B is larger by at least this; shows a bit."),
    guess: float = typer.Option(0.0, "--guess", help="Without a margin: your guess of the difference."),
    tolerance: float = _TOLERANCE,
    low: float = _LOW,
    high: float = _HIGH,
    default: float = _DEFAULT,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Compare two expressions on the same rows, without noise."""
    plain = {"kind": "compare", "b": b, "a": a, "margin": margin, "guess": guess, "tolerance": tolerance}
    _ask(ledger, sample, plain | {"low": low, "high": high, "default": default}, analyst, key, estimate, as_json)


def validate(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    condition: str = typer.Argument(..., help="A row expression that is true or false."),
    at_least: float = typer.Option(..., "--at-least", help="The share of the population it should hold for."),
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Ask whether a condition holds for a share of the population: yes, or not shown."""
    plain = {"kind": "validate", "condition": condition, "at_least": at_least}
    _ask(ledger, sample, plain, analyst, key, estimate, as_json)


def histogram(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    column: str = typer.Argument(..., help="The column."),
    categories: str = typer.Option(
        None, "--categories", help="Its categories, with commas between them, or a JSON list."
    ),
    edges: str = typer.Option(None, "--edges", help="Edges of bins, with commas between them."),
    spend: str = _SPEND,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """How the rows spread over declared cells, with noise."""
    bins = None if edges is None else numbers("--edges", edges)
    plain = {
        "kind": "histogram",
        "column": column,
        "categories": None if categories is None else _categories(categories),
        "edges": bins,
    }
    _ask(ledger, sample, plain | _spend(spend), analyst, key, estimate, as_json)


def select(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    candidate: list[str] = typer.Option(  # noqa: B008
        ..., "--candidate", metavar="LABEL=EXPRESSION", help="One of those to choose from; repeat."
    ),
    low: float = _LOW,
    high: float = _HIGH,
    default: float = _DEFAULT,
    spend: str = _SPEND,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Which of several expressions has the largest mean, nearly; privately."""
    named = [text.partition("=") for text in candidate]
    if not all(map(all, named)):
        wrong = next(text for text, parts in zip(candidate, named, strict=True) if not all(parts))
        raise InvalidParameter(f"--candidate must be LABEL=EXPRESSION, got {wrong[:60]!r}")
    plain = {"kind": "select", "candidates": {label: expression for label, _, expression in named}}
    plain |= {"low": low, "high": high, "default": default}  # type: ignore[dict-item]
    _ask(ledger, sample, plain | _spend(spend), analyst, key, estimate, as_json)


def private_test(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    name: str = typer.Argument(..., help="gof or independence."),
    column: list[str] = typer.Option(  # noqa: B008
        ..., "--column", metavar="COLUMN", help="One column for gof, two for independence."
    ),
    categories: list[str] = typer.Option(  # noqa: B008
        [], "--categories", metavar="A,B,C", help="The categories of each column, in order: one --categories a column."
    ),
    p0: str = typer.Option(None, "--p0", help="The null probabilities for gof, with commas between them."),
    alpha: float = typer.Option(0.05, "--alpha", help="The level."),
    spend: str = _SPEND,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """A private test; its p-value is corrected for everything that was released before."""
    plain = {
        "kind": "test",
        "name": name,
        "columns": list(column),
        "categories": [_categories(text) for text in categories] or None,
        "p0": None if p0 is None else numbers("--p0", p0),
        "alpha": alpha,
    }
    _ask(ledger, sample, plain | _spend(spend), analyst, key, estimate, as_json)


def question(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    file: Path = _FILE,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    as_json: bool = _JSON,
) -> None:
    """Ask what a file says: a question as plain data, or several at once."""
    try:
        plain = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        read = "standard input" if str(file) == "-" else file.name
        raise InvalidParameter(f"{read} must hold one JSON object or a list of them") from None
    _ask(ledger, sample, plain, analyst, key, estimate, as_json)


def _ask(ledger: str, sample: str, plain: Any, analyst: str, key: str | None, estimate: bool, as_json: bool) -> None:
    listed = plain if isinstance(plain, list) else [plain]
    ask = remote.ask if remote.is_address(ledger) else _ask_here
    found = ask(ledger, sample, listed, analyst, key, estimate=estimate)
    if as_json:
        output.print_json(found[0].to_dict() if plain is not listed else {"answers": [one.to_dict() for one in found]})
    else:
        for one in found:
            _show(one, estimate)
    refused = [one.reason for one in found if estimate and not one.admitted]
    if refused:
        raise BudgetExhausted(refused[0])


def _ask_here(
    ledger: str, sample: str, listed: Sequence[Any], analyst: str, key: str | None, *, estimate: bool
) -> list[Any]:
    from holdfast.guard import Guard

    with store_at(ledger) as store, open_sample(sample) as rows:
        guard = Guard.open(store, rows)
        if estimate:
            return [guard.estimate(one, analyst=analyst) for one in listed]
        keys = None if key is None else [key] if len(listed) == 1 else [f"{key}-{i}" for i in range(len(listed))]
        return list(guard.ask_all(listed, analyst=analyst, keys=keys))


def _show(found: Any, estimate: bool) -> None:
    if estimate:
        output.facts("Estimate", [("would be", "admitted" if found.admitted else "refused"), *_costs(found)])
        return
    rows: list[tuple[str, object]] = []
    if found.passed is not None:
        rows.append(("outcome", "passed" if found.passed else "failed"))
    if isinstance(found.value, dict):
        rows += [(label, f"{one:.6g} in {_ends(found.interval[label])}") for label, one in found.value.items()]
    elif found.value is not None:
        rows.append(("answer", f"{found.value:.6g}" if isinstance(found.value, float) else found.value))
    if isinstance(found.interval, list):
        rows.append(("interval", _ends(found.interval)))
    rows += [(name.replace("_", " "), f"{v:.6g}" if isinstance(v, float) else v) for name, v in _plain(found.details)]
    rows += [*_costs(found), ("rests on", str(found.guarantee)), ("entry", found.sequence)]
    output.facts("Stored answer, free" if found.repeated else "Answer", rows)


def _plain(details: Any) -> list[tuple[str, Any]]:
    """Details in one line each; the table of a test is in the JSON form."""
    shown = [(name, value) for name, value in details.items() if isinstance(value, (str, int, float, bool))]
    test = details.get("test")
    if test:
        shown += [("test", f"{test['test']}: p = {test['p_value']}, alone")]
    return shown


def _costs(found: Any) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    if found.cost is not None:
        rows.append(("cost", "nothing" if found.repeated else str(found.cost)))
    width = found.half_width
    if width is not None:
        rows.append(("half-width", f"{width:.4g}"))
    least = getattr(found, "least_tolerance", None)
    if least is not None:
        rows.append(("least tolerance", f"{least:.4g}"))
    for who, left in found.remaining.items():
        if isinstance(left, dict) and left:
            rows.append((f"left ({who})", ", ".join(f"{v} {k}" for k, v in left.items())))
    return rows


def _ends(ends: Any) -> str:
    return f"[{ends[0]:.6g}, {ends[1]:.6g}]"


def _spend(text: str | None) -> dict[str, Any]:
    return {} if text is None else {"spend": cost_of("--spend", text)}


def _categories(text: str) -> list[Any]:
    """`a,b` as texts, or a JSON list of texts, whole numbers or truth values."""
    if text.strip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            raise InvalidParameter(
                f"--categories must be a JSON list or words with commas, got {text[:60]!r}"
            ) from None
        return list(found)
    return [part.strip() for part in text.split(",")]


__all__ = ["register"]
