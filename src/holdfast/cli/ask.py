"""`holdfast ask`: asking a guard as an analyst, one sub-command for each kind of question.

The commands are made from the declared fields of the kinds, when one of them is first needed: the kinds take longer to
import than most other commands take to run.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from holdfast.cli import ledgers, output
from holdfast.cli.examples import finish
from holdfast.errors import BudgetExhausted, InvalidParameter

if TYPE_CHECKING:
    from holdfast.data.schema import Schema
    from holdfast.guard.analyst import AnalystGuard
    from holdfast.guard.questions.base import Question
    from holdfast.guard.questions.fields import Field

_LEDGER = typer.Argument(
    ...,
    help="The ledger in which the guard's questions are recorded (a file or a postgresql:// address), or the "
    "http(s):// address of a server. May be left out if the environment variable HOLDFAST_LEDGER names it.",
)
_SAMPLE = typer.Argument(
    ...,
    help="The guarded data set: a file, or a database table as ADDRESS#TABLE. With a server, the name of the guard. "
    "May be left out if the guard was opened with a file, because the ledger remembers the file.",
)
_FILE = typer.Argument(
    ...,
    help="A JSON file with one question, or with a list of questions that are asked together. A dash (-) means "
    "standard input.",
)
_ANALYST = typer.Option(None, "--analyst", help="With a ledger: the name of the analyst who asks (default: analyst).")
_KEY = typer.Option(
    None,
    "--key",
    help="Idempotency key, a text of your choice: if you repeat the command with the same key, for example after a "
    "lost connection, the question is answered and charged only once.",
)
_ESTIMATE = typer.Option(
    False,
    "--estimate",
    help="Show only what the answer would cost and how wide its interval would be, without asking the question.",
)
_PRACTICE = typer.Option(
    False,
    "--practice",
    help="Practise at no cost: the answer is computed from made-up rows of the declared schema, not from the data, "
    "and is marked as practice.",
)
_EPOCH = typer.Option(
    None,
    "--epoch",
    help="For a guard that was extended with new rows: the number of the epoch (set of rows) to ask about, or "
    "all (default: the latest epoch).",
)
_ROWS = typer.Option(
    [],
    "--rows",
    metavar="FILE",
    help="The file with the rows of another epoch, needed with a ledger and --epoch all. May be repeated, once for "
    "each epoch.",
)
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")
_VERBOSE = typer.Option(
    False,
    "--verbose",
    help="Show every number of the answer's guarantee. With --json, also show the whole receipt (the ledger's "
    "signed proof of the answer).",
)


_GROUPS = {
    "Asking": ("analyst", "key", "estimate", "practice", "epoch", "rows"),
    "Output": ("verbose", "as_json"),
}
"""The options that every question has, in groups, as the help lists them after those of the question."""


class KindCommands(typer.core.TyperGroup):
    """A group whose commands are made when they are first needed."""

    _made: dict[str, Any] | None = None

    @property
    def commands(self) -> Any:
        """A command for each kind of question, and the one that reads questions from a file."""
        if self._made is None:
            self._made = _commands()
        return self._made

    @commands.setter
    def commands(self, commands: Any) -> None:
        """Nothing is set: the kinds say what there is."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    ask = typer.Typer(
        cls=KindCommands,
        help="Ask a guard a question as an analyst. Estimates of the cost (--estimate) and repetitions of a "
        "question are free.",
    )
    app.add_typer(ask, name="ask", no_args_is_help=True)


def _commands() -> dict[str, Any]:
    from holdfast.guard.questions.base import Question

    app = typer.Typer(rich_markup_mode=None)
    for name, kind in Question.kinds().items():
        if not kind.needs_board:  # submissions have a command of their own
            groups = {"Question": [field.name for field in kind.fields()]} | _GROUPS
            words = output.short_help(kind.summary())
            app.command(name, short_help=words, cls=output.grouped(groups))(_command(kind))
    app.command("question", short_help="Ask what a file says.")(question)
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        finish(f"ask {name}", command)
    return dict(sorted(group.commands.items()))


def _command(kind: type[Question]) -> Any:
    """The command of a kind: its arguments and options are the declared fields."""
    offered = [field for field in kind.fields() if field.input.offered]
    parameters = [_parameter("ledger", str, _LEDGER), _parameter("sample", str, _SAMPLE)]
    parameters += [_field_parameter(field) for field in sorted(offered, key=lambda field: not field.input.argument)]
    parameters += [
        _parameter("analyst", str, _ANALYST),
        _parameter("key", str, _KEY),
        _parameter("estimate", bool, _ESTIMATE),
        _parameter("practice", bool, _PRACTICE),
        _parameter("verbose", bool, _VERBOSE),
        _parameter("epoch", str, _EPOCH),
        _parameter("rows", list[str], _ROWS),
        _parameter("as_json", bool, _JSON),
    ]

    def command(**given: Any) -> None:
        typed = {field: given.pop(field.name) for field in offered}

        def plain(schema: Schema | None) -> dict[str, Any]:
            return _question(kind, typed, schema)

        needs_schema = any(field.input.needs_schema and typed[field] for field in offered)
        try:
            _ask(plain=plain if needs_schema else plain(None), **given)
        except InvalidParameter as error:
            raise InvalidParameter(_as_options(str(error), offered)) from None

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = kind.summary()
    return command


def _as_options(words: str, offered: Sequence[Field]) -> str:
    """An error that shows how fields are given, in the words of the command line: `--default 0` for `default=0`."""
    for field in offered:
        if not field.input.argument:
            words = re.sub(rf"\b{field.name}=true\b", field.option, words)
            words = re.sub(rf"\b{field.name}=(?=[\w'\"])", f"{field.option} ", words)
    return words


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _field_parameter(field: Field) -> inspect.Parameter:
    given = field.input
    annotation: Any = list[str] if given.repeated else given.typed
    default = ... if field.required else [] if given.repeated else field.default
    if given.argument:
        return _parameter(field.name, annotation, typer.Argument(default, help=given.help))
    choices = getattr(given, "choices", {})
    metavar = given.metavar or (f"[{'|'.join(choices)}]" if choices else None)
    option = typer.Option(default, field.option, help=given.help, metavar=metavar)
    return _parameter(field.name, annotation, option)


def _question(kind: type[Question], typed: dict[Field, Any], schema: Schema | None) -> dict[str, Any]:
    """The question that the words of a command line ask; numbers and flags were read by the command line."""
    from holdfast.guard.questions.fields import Place

    values: dict[str, Any] = {"kind": kind.kind}
    for field, given in typed.items():
        if not isinstance(given, (str, list)):
            value = given or None if isinstance(given, bool) else given
        else:
            name = field.name if field.input.argument else field.option
            value = field.input.read(given if isinstance(given, list) else [given], Place(name, schema, values))
        if value is not None:
            values[field.name] = value
    return values


def question(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    file: Path = _FILE,
    analyst: str = _ANALYST,
    key: str = _KEY,
    estimate: bool = _ESTIMATE,
    practice: bool = _PRACTICE,
    verbose: bool = _VERBOSE,
    epoch: str = _EPOCH,
    rows: list[str] = _ROWS,
    as_json: bool = _JSON,
) -> None:
    """Ask one question, or several together, from a JSON file."""
    try:
        plain = json.loads(sys.stdin.read() if str(file) == "-" else file.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        read = "standard input" if str(file) == "-" else file.name
        raise InvalidParameter(f"{read} must contain JSON: one question as an object, or a list of questions") from None
    _ask(ledger, sample, plain, analyst, key, estimate, practice, verbose, epoch, rows, as_json)


def _ask(
    ledger: str,
    sample: str,
    plain: Any,
    analyst: str | None,
    key: str | None,
    estimate: bool,
    practice: bool,
    verbose: bool,
    epoch: str | None,
    rows: Sequence[str],
    as_json: bool,
) -> None:
    """Ask what `plain` says; a function of the schema says it once the guard is open, which knows the columns."""
    from holdfast.guard.epochs import check_epoch

    answers: list[Any]
    named = check_epoch(epoch)
    with ledgers.analyst_guard(ledger, sample, analyst, steward=True, more=rows) as real:
        guard = real.practice() if practice else real
        questions = _listed(plain, guard)
        if estimate:
            answers = [guard.estimate(question, epoch=named) for question in questions]
        elif len(questions) == 1:
            answers = [guard.ask(questions[0], key=key, epoch=named)]
        else:
            answers = list(guard.ask_all(questions, key=key, epoch=named))
    if as_json:
        several = isinstance(plain, list)
        plain_answers = [_plain_answer(answer, verbose) for answer in answers]
        output.print_json({"answers": plain_answers} if several else plain_answers[0])
    else:
        for asked, answer in zip(questions, answers, strict=True):
            _show(asked, answer, estimate, verbose)
    refused = [answer.reason for answer in answers if estimate and not answer.admitted]
    if refused:
        raise BudgetExhausted(refused[0])


def _plain_answer(found: Any, verbose: bool) -> dict[str, Any]:
    """An answer as plain data; without --verbose its receipt leaves out what the answer says already."""
    plain: dict[str, Any] = found.to_dict()
    if verbose or "receipt" not in plain:
        return plain
    from holdfast.guard.ledger.receipts import without_repetition

    return without_repetition(plain)


def guarantee_words(guarantee: Any, verbose: bool) -> str:
    """Return a guarantee in one line; the numbers inside it only with --verbose."""
    if verbose:
        return str(guarantee)
    return f"{guarantee.theorem}; {guarantee.assumption}{'' if guarantee.certified else '; not certified'}"


def _listed(plain: Any, guard: AnalystGuard) -> list[Any]:
    """The questions: a list as it is, one question, or what a function makes of the schema that the guard shows."""
    if callable(plain):
        from holdfast.data.schema import Schema

        plain = plain(Schema.from_dict(guard.describe()["schema"]))
    return plain if isinstance(plain, list) else [plain]


def _show(asked: Any, found: Any, estimate: bool, verbose: bool) -> None:
    rows: list[tuple[str, object]] = _understood(asked)
    if estimate:
        rows += [("would be", "admitted" if found.admitted else "refused"), *_costs(found)]
        advice: list[tuple[str, object]] = [("note", found.advice)] if found.advice else []
        output.facts("Estimate", rows + test_facts(found.test) + advice)
        return
    from holdfast.mechanisms.answer import wider_words

    rows.append(("answer", found.sentence))
    if isinstance(found.value, dict):
        ends = found.interval or {}
        rows += [
            (label, f"{value:.6g} in {_ends(ends[label])}" if label in ends else f"{value:.6g}")
            for label, value in found.value.items()
        ]
    elif found.value is not None:
        rows.append(("value", f"{found.value:.6g}" if isinstance(found.value, float) else found.value))
    if isinstance(found.interval, list):
        rows.append(("interval", _ends(found.interval)))
    rows += _about_rows(found.details)
    rows += [(name.replace("_", " "), f"{v:.6g}" if isinstance(v, float) else v) for name, v in _plain(found.details)]
    rows += _revealed(found.details)
    price = "" if found.repeated else wider_words(found.widening, found.final_widening)
    if price:
        released = " and its value was released" if found.value is not None else ""
        why = f", because this check failed{released}" if found.passed is False else ""
        rows.append(("later intervals", price + why))
    elif found.passed and not found.repeated and found.widening is not None:
        rows.append(("later intervals", "as they were"))
    rows += [*_costs(found), ("guarantee", guarantee_words(found.guarantee, verbose)), ("entry", found.sequence)]
    title = "Stored answer, free" if found.repeated else "Answer"
    output.facts(f"PRACTICE {title.lower()}: made-up rows" if found.details.get("practice") else title, rows)


def _understood(asked: Any) -> list[tuple[str, object]]:
    """What each label of a question was understood to stand for."""
    candidates = asked.get("candidates") if isinstance(asked, dict) else None
    if not isinstance(candidates, dict):
        return []
    return [(f"candidate {label}", text) for label, text in candidates.items() if isinstance(text, str)]


def _about_rows(details: Any) -> list[tuple[str, object]]:
    """The interval about these rows, where the answer has one, and groups that are not reported."""
    rows: list[tuple[str, object]] = []
    about = details.get("about_rows")
    if about is not None:
        name = f"about these rows alone ({about['what']})"
        interval = about["interval"]
        if isinstance(interval, dict):
            rows += [(f"{name}, {label}", _ends(ends)) for label, ends in interval.items()]
        else:
            rows.append((name, _ends(interval)))
    if details.get("not_reportable"):
        rows.append(("not reportable", "; ".join(details["not_reportable"])))
    return rows


def _revealed(details: Any) -> list[tuple[str, object]]:
    """The ranks at the end of a run, and every earlier answer with its exact interval."""
    rows: list[tuple[str, object]] = []
    for label, (first, last) in (details.get("ranks") or {}).items():
        rows.append((f"rank of {label}", str(first) if first == last else f"{first} to {last}"))
    for line in details.get("revealed") or ():
        if line.get("too_few_rows"):
            rows.append((f"entry {line['sequence']} exactly", "not shown: it is about too few rows"))
            continue
        if isinstance(line["interval"], dict):
            for label, ends in line["interval"].items():
                known = f"{line['value'][label]:.6g}" if label in line["value"] else "no rows"
                rows.append((f"entry {line['sequence']} exactly, {label}", f"{known} in {_ends(ends)}"))
            continue
        value = f"{line['value']:.6g}" if isinstance(line["value"], float) else str(line["value"])
        where = "" if line["interval"] is None else f" in {_ends(line['interval'])}"
        if where and line.get("direction_only"):
            where = ", in direction only"
        rows.append((f"entry {line['sequence']} exactly", value + where))
    return rows


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
    within, price = getattr(found, "passes_within", None), getattr(found, "failure_price", None)
    if within is not None:
        rows.append(("passes if", f"the rows give a value in [{within[0]:.4g}, {within[1]:.4g}]"))
    if price is not None:
        from holdfast.mechanisms.answer import wider_words

        wider = wider_words(price.questions, price.final) or "as they were"
        rows.append(("if it just fails", f"later intervals are {wider}, or more if it is further off"))
    # What was left when an answer was stored is not what is left now.
    stored = found.repeated and hasattr(found, "sequence")
    for who, left in () if stored else found.remaining.items():
        if isinstance(left, dict) and left:
            rows.append((f"left ({who})", ", ".join(f"{v} {k}" for k, v in left.items())))
    return rows


def test_facts(test: Any) -> list[tuple[str, object]]:
    """Return what a test could show, as lines of a table."""
    if test is None:
        return []
    how = f"{test['method']}, {test['replicates']:,} replicates" if test["replicates"] else test["method"]
    rows: list[tuple[str, object]] = [
        ("its p-value must reach", f"{test['level']:.3g}"),
        ("smallest it can give", f"about {test['least_p_value']:.3g}"),
        ("can reject", "yes" if test["can_reject"] else "no, whatever the rows hold"),
        ("method", f"{how}; level {test['proved']}, {'certified' if test['certified'] else 'not certified'}"),
    ]
    if test["inconclusive"]:
        rows.append(("inconclusive", f"with probability {test['inconclusive']:.3g} at best"))
    return rows + [("note", advice) for advice in test["advice"]]


def _ends(ends: Any) -> str:
    return f"[{ends[0]:.6g}, {ends[1]:.6g}]"
