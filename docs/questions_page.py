"""Writes the page of question kinds from their declarations."""

import json
from pathlib import Path

from generated import escape, replace

from holdfast.cli.examples import examples
from holdfast.guard.questions.base import Question

HEAD = """# Kinds of question

Made from the kinds by `make docs`. Each kind is one file of `src/holdfast/guard/questions/`; its fields are the same in
Python (`hf.guard.KIND(...)`), in JSON (`POST /api/v1/guards/GUARD/ask` and the tools of an agent), on the command line
(`holdfast ask KIND`), in the form of the web page and in the client. [The guard](guard.md) says how questions are
answered, and [Add a kind of question](extend.md#a-kind-of-question) how another one is added.
"""
ANSWERED = {
    "noiseless": "without noise: a failure makes later intervals wider, a pass costs next to nothing",
    "private": "with noise, at a privacy cost",
    "either": "without noise where a guess is given, and with noise, at a privacy cost, where none is",
}


def write_questions_page(path: Path) -> None:
    lines = [HEAD]
    for name, kind in Question.kinds().items():
        lines += [f"## `{name}`", "", escape(kind.summary()), "", f"Answered {ANSWERED[kind.answered]}.", ""]
        lines += ["| field | must be given | meaning |", "|---|---|---|"]
        for field in kind.fields():
            needed = "yes" if field.required else "" if field.default in (None, False, "") else f"`{field.default}`"
            lines.append(f"| `{field.name}` | {needed} | {escape(field.input.help)} |")
        lines += ["", "```json", json.dumps(dict(kind.example)), "```", ""]
        if not kind.needs_board:
            lines += ["```text", f"holdfast {examples(f'ask {name}')[-1]}", "```", ""]
    replace(path, "\n".join(lines))
