"""Draws the layers and the walk of a question; a test holds both to the code.

The layers are read from the import contract in pyproject.toml, which CI enforces. The steps of a question name the
functions that take them; `tests/test_architecture.py` follows a real question and compares.
"""

import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent

STEPS = (
    ("holdfast.guard.guard.Guard.ask", "a question comes in", "guard"),
    ("holdfast.guard.pipeline.bind", "checked against the schema and the policy; no row was touched", "guard"),
    ("holdfast.guard.pipeline.find_answer", "answered before? then the stored answer, free", "guard"),
    ("holdfast.guard.pipeline.admit", "the filters say whether its cost still fits; else it is refused", "accounting"),
    ("holdfast.data.sample.Sample.measure", "the exact statistic, in whole numbers; secret", "data"),
    ("holdfast.guard.ledger.ledger.Ledger.submit", "alone on the ledger, with others who wait", "guard"),
    ("holdfast.guard.pipeline.settle", "let in again, by what is true now, and charged", "guard"),
    ("holdfast.guard.questions.noiseless.Look.settle", "a holdout or a mechanism makes the answer", "holdout"),
    ("holdfast.guard.ledger.transaction.Transaction.append", "answer and cost go into one entry", "guard"),
    ("holdfast.guard.ledger.sql.SQLBackend.commit", "durable: the disk has it", "guard"),
    ("holdfast.guard.pipeline.release", "released, with a signed receipt", "guard"),
)
"""The functions that a new question passes, in order, what each does, and the package that does the work."""

WIDTH, ROW, GAP = 720, 44, 14
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1c2733}.small{font-size:12px;fill:#46566a}"
    ".box{fill:#eef4f7;stroke:#1f5a7a;stroke-width:1.2}.paid{fill:#fbeee6;stroke:#b3541e}"
    ".line{stroke:#1f5a7a;stroke-width:1.2;fill:none}"
)


def layers() -> list[list[str]]:
    """The packages of each layer, highest first, as the import contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[name.strip(" ()") for name in layer.split(":")] for layer in contract["layers"]]


def layers_svg() -> str:
    """Boxes in rows; a package imports only from rows below its own."""
    rows, parts = layers(), []
    for place, names in enumerate(rows):
        y, wide = place * (ROW + GAP), (WIDTH - GAP * (len(names) - 1)) / len(names)
        for column, name in enumerate(names):
            x = column * (wide + GAP)
            parts.append(f'<rect class="box" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{ROW}" rx="6"/>')
            parts.append(f'<text x="{x + wide / 2:.1f}" y="{y + 27}" text-anchor="middle">{escape(name)}</text>')
    return _svg("Layers, highest first", len(rows) * (ROW + GAP) - GAP, parts)


def way_svg() -> str:
    """Steps in a column; what is paid for is coloured from the commit on."""
    parts = []
    names = [name for name, _, _ in STEPS]
    durable = next(place for place, name in enumerate(names) if name.endswith("SQLBackend.commit"))
    for place, (name, words, package) in enumerate(STEPS):
        y = place * (ROW + GAP)
        kind = "box paid" if place >= durable else "box"
        parts.append(f'<rect class="{kind}" x="0" y="{y}" width="{WIDTH}" height="{ROW}" rx="6"/>')
        parts.append(f'<text x="14" y="{y + 19}">{place + 1}. {escape(words)}</text>')
        parts.append(f'<text class="small" x="14" y="{y + 36}">{escape(name)}</text>')
        parts.append(f'<text class="small" x="{WIDTH - 14}" y="{y + 19}" text-anchor="end">{escape(package)}</text>')
        if place:
            parts.append(f'<path class="line" d="M 24 {y - GAP} V {y}"/>')
    return _svg("The walk of a question", len(STEPS) * (ROW + GAP) - GAP, parts)


def write_architecture_diagrams(folder: Path) -> None:
    """Both pictures, next to the page that shows them."""
    for name, text in (("architecture-layers.svg", layers_svg()), ("architecture-walk.svg", way_svg())):
        path = folder / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def _svg(title: str, height: float, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {WIDTH + 4} {height + 4}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect x="-2" y="-2" width="{WIDTH + 4}" height="{height + 4}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )
