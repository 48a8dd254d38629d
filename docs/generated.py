"""Pages that are made from the code: written only when they change, in one step, for several builds may run at once."""

import os
from pathlib import Path

written = False
"""Whether this process has written them all."""


def replace(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(text)
    fresh.replace(path)


def escape(text: str) -> str:
    """Text with nothing in it that Markdown reads as markup."""
    for character in "\\*_|<>[]$`":
        text = text.replace(character, "\\" + character)
    return text
