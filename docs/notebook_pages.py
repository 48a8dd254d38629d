"""Writes a page for each notebook, with its text, its code, and what the code printed and drew when it was run."""

import json
from pathlib import Path
from typing import Any

from generated import replace

FOLDER = Path(__file__).parent / "notebooks"


def write_notebook_pages(folder: Path = FOLDER) -> None:
    """One Markdown page next to each notebook, and a picture for each that the notebook holds."""
    for notebook in sorted(FOLDER.glob("*.ipynb")):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        lines: list[str] = []
        for number, cell in enumerate(cells):
            lines += _cell(cell, f"{notebook.stem}-{number}", folder)
            if number == 0:
                lines += [f"{{download}}`Download this notebook <{notebook.name}>` to run it yourself.", ""]
        replace(folder / f"{notebook.stem}.md", "\n".join(lines).rstrip() + "\n")


def _cell(cell: dict[str, Any], name: str, folder: Path) -> list[str]:
    """The lines of one cell: prose as it is, code in a block, and then each output."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source, ""]
    lines = ["```python", source, "```", ""]
    for place, output in enumerate(cell["outputs"]):
        lines += _output(output, f"{name}-{place}", folder)
    return lines


def _output(output: dict[str, Any], name: str, folder: Path) -> list[str]:
    data = {kind: "".join(text) for kind, text in output.get("data", {}).items()}
    if "image/svg+xml" in data:
        replace(folder / f"{name}.svg", data["image/svg+xml"])
        return [f"![What the code above draws]({name}.svg)", ""]
    if "text/html" in data:
        return ["```{raw} html", f'<div class="notebook-output">{data["text/html"]}</div>', "```", ""]
    return ["```text", ("".join(output["text"]) if "text" in output else data["text/plain"]).rstrip(), "```", ""]
