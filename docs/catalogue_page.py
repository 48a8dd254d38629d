"""Writes the theorem catalogue page from the code, so that the page cannot disagree with it."""

import ast
import doctest
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generated import escape, replace

from holdfast.bounds import Theorem, catalogue
from holdfast.bounds.parameters import Parameter
from holdfast.bounds.registry import shown
from holdfast.bounds.tightest import forms
from holdfast.errors import HoldfastError

HEAD = """# Theorem catalogue

`holdfast bound ID --help` shows a theorem, and `holdfast bound ID --parameter value` evaluates it.

*paper* is the form as published, *derived* is ours, *mixed* means that the default improves on the published form;
`--method paper` (or `--mode`, `--form`) gives the published one. Where a published form does not hold, [the
errata](errata/index.md) say why.

There is a page for each area: max-information, interval, holdout and so on, with the formula of each theorem. Type
words into the box above the list of all theorems to see only those that contain every word.
"""

COMPARED = """## As published, and tightest known

The table compares the two for each theorem that has both, at the first example of its docstring. For sizes, bits,
widths and failure probabilities smaller is better; for budgets, levels and epsilons larger is better. Where our form
is the worse one, the published one does not hold.
"""


DEFAULTS = """## Default against tightest

Every theorem that has several forms, at typical values: which one is used when none is named, and which proved form is
the tightest there. `holdfast bound --defaults` prints the same. Forms that are not proved are left out, and choices
that say what is promised about rows or questions are not forms. Where the default is *chosen*, the theorem takes the
tightest form that its other options allow.
"""


@dataclass(frozen=True)
class Example:
    """Arguments taken from the first example of a docstring, and the value for each choice of form."""

    arguments: dict[str, Any]
    values: dict[str, float]


def write_catalogue_page(path: Path) -> None:
    """The list of all theorems, and a page for each area in the folder `theorems` next to it."""
    entries = catalogue()
    examples = {entry.id: found for entry in entries.values() if (found := example(entry))}
    areas = sorted({_area(entry) for entry in entries.values()})
    lines = [HEAD, "```{toctree}", ":hidden:", "", *(f"theorems/{area}" for area in areas), "```", ""]
    lines += [COMPARED, "| theorem | at | printed | best | the best is called |", "|---|---|---|---|---|"]
    lines += [row for entry in entries.values() if (row := _compared(entry, examples.get(entry.id)))]
    lines += [
        "",
        DEFAULTS,
        "| theorem | option | default | value | other proved forms | tightest |",
        "|---|" + "---|" * 5,
    ]
    lines += ["| " + " | ".join(escape(cell) for cell in each.cells()) + " |" for each in forms()]
    lines += ["", "## All theorems", "", "| theorem | statement | unit |", "|---|---|---|"]
    lines += [f"| {_linked(entry)} | {escape(entry.statement)} | {escape(entry.unit)} |" for entry in entries.values()]
    replace(path, "\n".join([*lines, ""]))
    for area in areas:
        members = [entry for entry in entries.values() if _area(entry) == area]
        sections = [line for entry in members for line in _section(entry, examples.get(entry.id))]
        count = f"{len(members)} theorems. `holdfast bound {area}` lists them."
        replace(path.parent / "theorems" / f"{area}.md", "\n".join([f"# Theorems: {area}", "", count, "", *sections]))


def _area(entry: Theorem) -> str:
    return entry.id.split(".")[0]


def _linked(entry: Theorem) -> str:
    return f"[{entry.id}](theorems/{_area(entry)}.md#{entry.id.replace('.', '-')})"


def example(entry: Theorem) -> Example | None:
    """The first call of the function in its own examples whose arguments are numbers, evaluated in every form."""
    arguments = _first_call(entry)
    if arguments is None:
        return None
    form = _form(entry)
    arguments = {name: value for name, value in arguments.items() if form is None or name != form.name}
    values: dict[str, float] = {}
    for choice in form.choices if form else ("value",):
        try:
            values[choice] = entry.evaluate(**arguments, **({form.name: choice} if form else {})).value
        except (HoldfastError, TypeError):  # a form that does not cover this place
            continue
    return Example(arguments, values) if values else None


def _form(entry: Theorem) -> Parameter | None:
    """The parameter that chooses between the printed form and others."""
    return next((p for p in entry.parameters if "paper" in p.choices), None)


def _first_call(entry: Theorem) -> dict[str, Any] | None:
    function = entry.function
    names = dict(vars(inspect.getmodule(function)))
    for step in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
        tree = ast.parse(step.source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.__name__:
                try:
                    given = [eval(ast.unparse(part), names) for part in node.args]
                    named = {part.arg: eval(ast.unparse(part.value), names) for part in node.keywords if part.arg}
                    return dict(inspect.signature(function).bind(*given, **named).arguments)
                except (NameError, TypeError):  # an argument of a loop, say
                    continue
        if all(isinstance(part, ast.Import | ast.ImportFrom | ast.Assign) for part in tree.body):
            exec(step.source, names)
    return None


def _at(found: Example) -> str:
    return ", ".join(f"{name} = {_number(value)}" for name, value in found.arguments.items())


def _number(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > 3 and len(set(value)) == 1:
        return f"[{value[0]}] * {len(value)}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _compared(entry: Theorem, found: Example | None) -> str:
    form = _form(entry)
    if form is None or found is None or "paper" not in found.values or len(found.values) < 2:
        return ""
    best = next(choice for choice in ("best", "sharp", "corrected", str(form.default)) if choice in found.values)
    called = f"`--{form.name} {best}`" + (", the default" if best == form.default else "")
    cells = (escape(_at(found)), _number(found.values["paper"]), _number(found.values[best]), called)
    return f"| {_linked(entry)} | " + " | ".join(cells) + " |"


def _formula(entry: Theorem) -> str:
    """The docstring up to its first formula; of a theorem that inverts or composes others, what it computes."""
    prose = re.split(r"\n\w[\w ]*\n---+", inspect.getdoc(entry.function) or "")[0].strip()
    paragraphs = [" ".join(paragraph.split()) for paragraph in prose.split("\n\n")]
    with_formula = (place for place, text in enumerate(paragraphs[:4]) if _FORMULA.search(text))
    text = " ".join(paragraphs[: next(with_formula, 0) + 1])
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(piece if piece.startswith("`") else escape(piece) for piece in pieces)


_FORMULA = re.compile(r"`[^`]*(?:[=+*/^<>]|sqrt|exp|ln|log|sum|max|min)[^`]*`")


def _section(entry: Theorem, found: Example | None) -> list[str]:
    lines = [
        f"({entry.id.replace('.', '-')})=",
        f"## {entry.id}",
        "",
        f"{escape(entry.statement)}",
        "",
        f"- **Formula:** {_formula(entry)}",
        f"- **Source:** {escape(entry.source)} ({entry.provenance})",
        f"- **Conditions:** {escape(entry.conditions)}",
        f"- **Unit:** {escape(entry.unit)}",
        f"- **Code:** `{entry.code}`",
    ]
    if found is not None:
        told = ", ".join(
            shown(value) if choice == "value" else f"{choice} {shown(value)}" for choice, value in found.values.items()
        )
        lines.append(f"- **For example:** {escape(_at(found))}: {told}")
    lines += ["", "| option | allowed | default | meaning |", "|---|---|---|---|"]
    for p in entry.parameters:
        allowed = ", ".join(p.choices) or escape(p.allowed)
        default = "required" if p.required else str(p.default)
        lines.append(f"| `{p.option}` | {allowed} | {default} | {escape(p.help)} |")
    return [*lines, ""]
