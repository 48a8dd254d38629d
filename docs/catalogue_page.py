"""Writes the theorem catalogue page from the code, so that the page cannot disagree with it."""

import os
from pathlib import Path

from holdfast.bounds import catalogue


def write_catalogue_page(path: Path) -> None:
    lines = [
        "# Theorem catalogue",
        "",
        "Made from the code by `make docs`. `holdfast bound ID --help` shows the same.",
        "",
    ]
    area = ""
    for entry in catalogue().values():
        if entry.id.split(".")[0] != area:
            area = entry.id.split(".")[0]
            lines += [f"## {area}", ""]
        lines += [
            f"### {entry.id}",
            "",
            f"{_escape(entry.statement)}",
            "",
            f"- **Source:** {_escape(entry.source)} ({entry.provenance})",
            f"- **Conditions:** {_escape(entry.conditions)}",
            f"- **Unit:** {_escape(entry.unit)}",
            f"- **Code:** `{entry.function.__module__}.{entry.function.__qualname__}`",
            "",
            "| option | kind | default | meaning |",
            "|---|---|---|---|",
        ]
        for p in entry.parameters:
            kind = ", ".join(p.choices) or p.kind
            default = "required" if p.required else str(p.default)
            lines.append(f"| `{p.option}` | {kind} | {default} | {_escape(p.help)} |")
        lines.append("")
    text = "\n".join(lines)
    if not path.exists() or path.read_text() != text:  # several builds may run at once: replace in one step
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_text(text)
        fresh.replace(path)


def _escape(text: str) -> str:
    for character in "\\*_|<>[]$":
        text = text.replace(character, "\\" + character)
    return text
