"""`holdfast bound`: lists the theorems, or evaluates one.

The options of a theorem are its parameters, so they are read from the catalogue and not declared here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from holdfast.bounds.registry import Theorem, catalogue, lookup, parse, shown
from holdfast.cli import output
from holdfast.errors import InvalidParameter

_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bound", context_settings=_SETTINGS, add_help_option=False)(bound)


def bound(context: typer.Context) -> None:
    """List every theorem; `holdfast bound ID --parameter value ...` evaluates one."""
    words = list(context.args)
    as_json = _flag(words, "--json")
    wants_help = _flag(words, "--help")
    if not words:
        _list_help() if wants_help else _list(as_json)
        return
    name, options = words[0], words[1:]
    if name.startswith("-"):
        raise InvalidParameter(f"`holdfast bound` takes --json and --help before an id, got {name!r}")
    if not options and name in {id.split(".")[0] for id in catalogue()}:
        _list(as_json, area=name)
        return
    entry = lookup(name)
    if wants_help:
        _describe(entry, as_json)
        return
    evaluation = entry.evaluate(**_read_options(entry, options))
    if as_json:
        output.print_json(evaluation.to_dict())
        return
    given = {k.replace("_", "-"): v for k, v in evaluation.parameters.items()}
    rows: list[tuple[str, object]] = [("value", f"{shown(evaluation.value)} {evaluation.unit}")]
    rows += [
        (name.replace("_", " "), _cell(detail))
        for name, detail in evaluation.details.items()
        if detail != evaluation.value and detail != evaluation.parameters.get(name)
    ]
    rows += [("theorem", evaluation.theorem), ("source", evaluation.source), ("conditions", evaluation.conditions)]
    rows += [("given", _cell(given))]
    output.facts(entry.id, rows)


def _cell(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k}={_cell(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_cell, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return shown(value) if isinstance(value, (int, float)) else str(value)


def _flag(words: list[str], flag: str) -> bool:
    found = flag in words
    while flag in words:
        words.remove(flag)
    return found


def _read_options(entry: Theorem, words: Sequence[str]) -> dict[str, Any]:
    options = {p.option: p for p in entry.parameters}
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option, equals, text = word.partition("=")
        if option not in options:
            raise InvalidParameter(f"{entry.id} has no option {word[:60]!r}; it takes {', '.join(options)}")
        parameter = options[option]
        if not equals:
            if not rest:
                raise InvalidParameter(f"{option} of {entry.id} needs a value")
            text = rest.pop(0)
        if parameter.name in values:
            raise InvalidParameter(f"{option} of {entry.id} is given twice")
        values[parameter.name] = parse(parameter, text)
    return values


def _list(as_json: bool, area: str | None = None) -> None:
    entries = [entry for entry in catalogue().values() if area in (None, entry.id.split(".")[0])]
    if as_json:
        output.print_json({"theorems": [entry.to_dict() for entry in entries]})
        return
    rows = [(e.id, e.statement, e.source, e.conditions, e.unit) for e in entries]
    output.table(f"{len(entries)} theorems", ("id", "statement", "source", "conditions", "unit"), rows)
    output.console().print("`holdfast bound ID --help` names a theorem's parameters.", markup=False)


def _list_help() -> None:
    lines = [
        "Usage: holdfast bound [AREA] [--json]",
        "       holdfast bound ID --parameter value ... [--json]",
        "       holdfast bound ID --help",
        "",
        "Lists every theorem, or those of one area such as composition; evaluates one; or names its parameters.",
        "Example: holdfast bound max-information.pure-dp --epsilon 0.01 --n 1000 --beta 0.05",
    ]
    print("\n".join(lines))


def _describe(entry: Theorem, as_json: bool) -> None:
    if as_json:
        output.print_json(entry.to_dict())
        return
    output.console().print(f"{entry.id}: {entry.statement}", markup=False)
    output.console().print(f"Source: {entry.source}. Conditions: {entry.conditions}. Unit: {entry.unit}.", markup=False)
    rows = []
    for p in entry.parameters:
        kind = "one of " + ", ".join(p.choices) if p.choices else {"reals": "numbers, a,b,c"}.get(p.kind, p.kind)
        rows.append((p.option, kind, "required" if p.required else f"default {p.default}", p.help))
    output.table("parameters", ("option", "kind", "", "meaning"), rows)
