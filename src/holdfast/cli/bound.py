"""`holdfast bound`: lists the theorems, or evaluates one.

The options of a theorem are its parameters, so they are read from the catalogue and not declared here.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from holdfast.bounds.parameters import parse
from holdfast.bounds.registry import Evaluation, Theorem, catalogue, lookup, shown
from holdfast.bounds.tightest import forms
from holdfast.cli import output
from holdfast.errors import InvalidParameter

_WIDE = 130
_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    short = "List the theorems, or evaluate one."
    app.command("bound", short_help=short, context_settings=_SETTINGS, add_help_option=False)(bound)


def bound(context: typer.Context) -> None:
    """List the areas of the catalogue of theorems and how many theorems each has. `holdfast bound ID --parameter value
    ...` evaluates one theorem.
    """
    words = list(context.args)
    as_json = _flag(words, "--json")
    if _flag(words, "--defaults"):
        if words:
            raise InvalidParameter(f"`holdfast bound --defaults` takes no other option than --json, got {words[0]!r}")
        _defaults(as_json)
        return
    wants_help = _flag(words, "--help") or _flag(words, "-h")
    if not words:
        _list_help() if wants_help else _list(list(catalogue().values()), as_json) if as_json else _list_areas()
        return
    if words[0] == "--search":
        _search(" ".join(words[1:]), as_json)
        return
    name, options = words[0], words[1:]
    if name.startswith("-"):
        raise InvalidParameter(
            f"`holdfast bound` takes only --json, --search and --help before a theorem's id, got {name!r}"
        )
    if name in _areas():
        if options:
            raise InvalidParameter(
                f"{name} is an area and takes no options; `holdfast bound {name}` lists its theorems"
            )
        _list([entry for entry in catalogue().values() if entry.id.split(".")[0] == name], as_json)
        return
    if "." not in name:
        near = difflib.get_close_matches(name, _areas(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"the areas are {', '.join(_areas())}"
        raise InvalidParameter(f"no area of the catalogue is called {name!r}; {hint}")
    entry = lookup(name)
    if wants_help:
        _describe(entry, as_json)
        return
    evaluation = entry.evaluate(**_read_options(entry, options))
    if as_json:
        output.print_json(evaluation.to_dict())
        return
    given = {k.replace("_", "-"): v for k, v in evaluation.parameters.items()}
    none = ": no bound here" if evaluation.value == math.inf else ""
    value = evaluation.value
    if evaluation.unit == "rows" and math.isfinite(value):
        value = math.ceil(value)  # rows come whole; `--json` has the formula's own number
    rows: list[tuple[str, object]] = [("value", f"{shown(value)} {evaluation.unit}{none}")]
    rows += [(name.replace("_", " "), _cell(detail)) for name, detail in _new_details(evaluation)]
    rows += [("theorem", evaluation.theorem), ("source", evaluation.source), ("conditions", evaluation.conditions)]
    rows += [("given", _cell(given))]
    output.facts(entry.id, rows)


def _new_details(evaluation: Evaluation) -> list[tuple[str, Any]]:
    """The details that say something which the other lines do not."""
    stated = {"source", "provenance", "parameters", "conditions"} | set(evaluation.parameters)
    return [
        (name, detail)
        for name, detail in evaluation.details.items()
        if name not in stated and detail != evaluation.value and detail is not None and detail != {}
    ]


def _areas() -> list[str]:
    return sorted({id.split(".")[0] for id in catalogue()})


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={_cell(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return shown(value) if isinstance(value, (int, float)) else str(value)


def _flag(words: list[str], flag: str) -> bool:
    is_given = flag in words
    while flag in words:
        words.remove(flag)
    return is_given


def _read_options(entry: Theorem, words: Sequence[str]) -> dict[str, Any]:
    options = {p.option: p for p in entry.parameters}
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, text = word.partition("=")
        if option not in options:
            raise InvalidParameter(
                f"the theorem {entry.id} has no parameter {word[:60]!r}; its parameters are {', '.join(options)}"
            )
        parameter = options[option]
        if not equals:
            if not rest:
                raise InvalidParameter(f"{option} of the theorem {entry.id} must be followed by a value")
            text = rest.pop(0)
        if parameter.name in values:
            raise InvalidParameter(f"{option} must be given once for the theorem {entry.id}, and was given twice")
        values[parameter.name] = parse(parameter, text)
    return values


def _list_areas() -> None:
    """One line an area: how many theorems it has, and the first of them."""
    rows = []
    for area in _areas():
        names = [entry.id.partition(".")[2] for entry in catalogue().values() if entry.id.split(".")[0] == area]
        rows.append((area, len(names), ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")))
    output.table(f"{len(catalogue())} theorems in {len(rows)} areas", ("area", "theorems", "among them"), rows)
    output.say("`holdfast bound AREA` lists an area.")
    output.say("`holdfast bound --search TEXT` finds theorems.")
    output.say("`holdfast bound ID --help` names a theorem's parameters.")


def _search(text: str, as_json: bool) -> None:
    """List the theorems whose id, statement, source or conditions have every word of a text."""
    words = text.lower().split()
    if not words:
        raise InvalidParameter("--search must be followed by words to look for, such as `--search sparse vector`")
    entries = [entry for entry in catalogue().values() if all(word in _text(entry) for word in words)]
    if not entries:
        raise InvalidParameter(
            "--search must be followed by words that occur together in a theorem of the catalogue, and no theorem "
            f"has {text[:60]!r}"
        )
    _list(entries, as_json)


def _text(entry: Theorem) -> str:
    return f"{entry.id} {entry.statement} {entry.source} {entry.conditions}".lower()


def _list(entries: Sequence[Theorem], as_json: bool) -> None:
    if as_json:
        output.print_json({"theorems": [entry.to_dict() for entry in entries]})
        return
    title = f"{len(entries)} theorem{'s' if len(entries) > 1 else ''}"
    if output.width() >= _WIDE:
        rows = [(e.id, e.statement, e.source, e.conditions, e.unit) for e in entries]
        output.table(title, ("id", "statement", "source", "conditions", "unit"), rows)
    else:
        output.say(title)
        for e in entries:
            output.facts(e.id, [(e.unit, e.statement), ("source", e.source), ("conditions", e.conditions)])
    output.say("`holdfast bound ID --help` names a theorem's parameters.")


def _defaults(as_json: bool) -> None:
    """Every theorem that has several forms: its default, the others, and the tightest that is proved."""
    found = []
    with output.progress_bar("comparing forms", shown=not as_json) as progress:
        for each in forms():
            found.append(each)
            progress(min(len(found) / 90, 0.99), each.theorem)
        progress(1.0, "done")
    if as_json:
        output.print_json({"forms": [each.to_dict() for each in found]})
        return
    output.table(
        "default against tightest, at typical values",
        ("theorem", "option", "default", "value", "other proved forms", "tightest"),
        [each.cells() for each in found],
    )
    behind = sum(1 for each in found if each.excess)
    output.say(f"{behind} of {len(found)} defaults are not the tightest proved form.")


def _list_help() -> None:
    lines = [
        "Usage: holdfast bound [AREA] [--json]",
        "       holdfast bound --search TEXT [--json]",
        "       holdfast bound ID --parameter value ... [--json]",
        "       holdfast bound ID --help",
        "       holdfast bound --defaults [--json]",
        "",
        "Lists the areas, the theorems of one area such as composition, or those that have the words of TEXT;",
        "evaluates one theorem; or names its parameters. Numbers may be written 1e5, 100_000 or 100,000.",
        "--defaults compares the default of every theorem with its other proved forms.",
        "Example: holdfast bound max-information.pure-dp --epsilon 0.01 --n 1000 --beta 0.05",
    ]
    print("\n".join(lines))


def _describe(entry: Theorem, as_json: bool) -> None:
    if as_json:
        output.print_json(entry.to_dict())
        return
    output.say(f"{entry.id}: {entry.statement}")
    output.say(f"Source: {entry.source}. Conditions: {entry.conditions}. Unit: {entry.unit}.")
    rows = []
    for p in entry.parameters:
        kind = f"{p.allowed}, written a,b,c" if p.kind == "reals" else p.allowed
        rows.append((p.option, kind, "required" if p.required else f"default {p.default}", p.help))
    output.table("parameters", ("option", "allowed", "", "meaning"), rows)
