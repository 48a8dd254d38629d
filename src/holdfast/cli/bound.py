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
from holdfast.cli import output
from holdfast.errors import InvalidParameter

_WIDE = 130
_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def register(app: typer.Typer) -> None:
    """Add the command."""
    short = "List the theorems, or evaluate one."
    app.command("bound", short_help=short, context_settings=_SETTINGS, add_help_option=False)(bound)


def bound(context: typer.Context) -> None:
    """List every theorem; `holdfast bound ID --parameter value ...` evaluates one."""
    words = list(context.args)
    as_json = _flag(words, "--json")
    wants_help = _flag(words, "--help") or _flag(words, "-h")
    if not words:
        _list_help() if wants_help else _list(as_json)
        return
    name, options = words[0], words[1:]
    if name.startswith("-"):
        raise InvalidParameter(f"`holdfast bound` takes --json and --help before an id, got {name!r}")
    if name in _areas():
        if options:
            raise InvalidParameter(f"{name} is an area, not a theorem; `holdfast bound {name}` lists what is in it")
        _list(as_json, area=name)
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
    said = {"source", "provenance", "parameters", "conditions"} | set(evaluation.parameters)
    return [
        (name, detail)
        for name, detail in evaluation.details.items()
        if name not in said and detail != evaluation.value and detail is not None and detail != {}
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
    title = f"{len(entries)} theorem{'s' if len(entries) > 1 else ''}"
    if output.width() >= _WIDE:
        rows = [(e.id, e.statement, e.source, e.conditions, e.unit) for e in entries]
        output.table(title, ("id", "statement", "source", "conditions", "unit"), rows)
    else:
        output.say(title)
        for e in entries:
            output.facts(e.id, [(e.unit, e.statement), ("source", e.source), ("conditions", e.conditions)])
    output.say("`holdfast bound ID --help` names a theorem's parameters.")


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
    output.say(f"{entry.id}: {entry.statement}")
    output.say(f"Source: {entry.source}. Conditions: {entry.conditions}. Unit: {entry.unit}.")
    rows = []
    for p in entry.parameters:
        kind = f"{p.allowed}, written a,b,c" if p.kind == "reals" else p.allowed
        rows.append((p.option, kind, "required" if p.required else f"default {p.default}", p.help))
    output.table("parameters", ("option", "allowed", "", "meaning"), rows)
