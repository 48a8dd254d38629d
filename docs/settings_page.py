"""Writes the table of a server's settings from the settings themselves."""

from pathlib import Path
from typing import Any

from generated import escape, replace

HEAD = """# Settings of a server

Made from the code by `make docs`. Each is a variable; the most common ones are options of `holdfast serve` as well,
which win ([command line](cli.md)). Lists and maps are JSON. A value that does not fit ends the start with a message.

| variable | default | meaning |
|---|---|---|
"""


def write_settings_page(path: Path) -> None:
    from holdfast.server import Settings

    own = [name for name in Settings.model_fields if not name.startswith("oidc_")]
    names = [*own, *(name for name in Settings.model_fields if name not in own)]
    replace(path, HEAD + "".join(_row(name, Settings.model_fields[name]) for name in names))


def _row(name: str, field: Any) -> str:
    parts = (field.description or "").split("`")
    meaning = "`".join(part if i % 2 else escape(part) for i, part in enumerate(parts))
    default = _default(field.get_default(call_default_factory=True))
    return f"| `HOLDFAST_SERVER_{name.upper()}` | {default} | {meaning} |\n"


def _default(value: object) -> str:
    if value is None or value == "" or value == () or value == {}:
        return ""
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return f"`{value}`"
