"""The gallery: everything that `holdfast reproduce` has found, on one page, papers' numbers next to ours.

`page` is one HTML file that loads nothing, with every plot inside; `text` is the same in Markdown, without plots.
"""

from __future__ import annotations

import base64
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from holdfast.bounds.registry import shown
from holdfast.core.processes import cores
from holdfast_papers.kept import Entry
from holdfast_papers.papers import BESIDE, PAPERS, Item, Paper
from holdfast_papers.running import Finished

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1f26;--soft:#5b6472;--line:#d6dae1;--back:#fff;--bad:#8c1c3c}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a3abb8;--line:#3a404b;--back:#15181d;--bad:#f58aa8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:28px 20px 60px;background:var(--back);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.7rem;margin:0 0 4px}
h2{font-size:1.25rem;margin:42px 0 8px;border-top:1px solid var(--line);padding-top:22px}
h3{font-size:1.02rem;margin:34px 0 2px}p{margin:6px 0;max-width:90ch}.soft{color:var(--soft)}.bad{color:var(--bad)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.86rem}
th,td{text-align:left;padding:4px 10px;border-bottom:1px solid var(--line);vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
img{max-width:100%;background:#fff;border-radius:4px;margin:8px 0}summary{cursor:pointer;color:var(--soft)}
@media print{body{max-width:none}h3{break-after:avoid}img{break-inside:avoid}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Run:
    """What a page says about itself."""

    quick: bool
    seed: int
    version: str
    machine: str


def machine() -> str:
    """The machine in words: system, processor kind and cores, Python."""
    return (
        f"{platform.system()}, {platform.machine()}, {cores()} core{'s' if cores() > 1 else ''}, "
        f"Python {platform.python_version()}"
    )


def page(found: Sequence[Finished], run: Run) -> str:
    """The whole page as HTML."""
    entries = _entries(found)
    body = [
        "<h1>Gallery</h1>",
        f"<p class='soft'>{escape(_about(found, run))}</p>",
        '<section id="printed"><h2>Numbers that the papers print</h2>',
        _html_table(("paper", "place", "what", "printed", "ours"), _printed(entries)),
        "</section>",
    ]
    for paper in PAPERS:
        body.append(f'<section id="{paper.key}"><h2>{escape(paper.name)}</h2>')
        if paper.items:
            body.append(_html_table(("", "shows", "here"), [_place(item) for item in paper.items], links=True))
        body += [_card(name, entries.get(name)) for name in _names(paper)]
        body.append("</section>")
    others = [name for name in entries if name not in {n for paper in PAPERS for n in _names(paper)}]
    if others:
        body.append('<section id="others"><h2>Further</h2>')
        body += [_card(name, entries[name]) for name in others]
        body.append("</section>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>Holdfast: gallery</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def text(found: Sequence[Finished], run: Run) -> str:
    """The same as Markdown: what stands for each figure and table, numbers next to each other, findings and times."""
    entries = _entries(found)
    lines = ["# Gallery", "", _about(found, run), "", "## Numbers that the papers print", ""]
    lines += _text_table(("paper", "place", "what", "printed", "ours"), _printed(entries))
    for paper in PAPERS:
        lines += ["", f"## {paper.name}", ""]
        if paper.items:
            lines += [*_text_table(("", "shows", "here"), [_place(item, quote="`") for item in paper.items]), ""]
        told = [(f"`{name}`", *_told(entries[name])) for name in _names(paper) if name in entries]
        lines += _text_table(("experiment", "checks passed", "seconds", "finding"), told)
    return "\n".join(lines).rstrip() + "\n"


def _entries(found: Sequence[Finished]) -> dict[str, Entry]:
    return {one.experiment.name: one.entry for one in found if one.entry is not None}


def _names(paper: Paper) -> list[str]:
    """The experiments of a paper, each once."""
    return list(dict.fromkeys([item.experiment for item in paper.items if item.experiment] + list(paper.more)))


def _about(found: Sequence[Finished], run: Run) -> str:
    entries = _entries(found)
    checks = [check for entry in entries.values() for check in entry.result["checks"]]
    passed, seconds = sum(check["passed"] for check in checks), sum(entry.seconds for entry in entries.values())
    what = "quick" if run.quick else "full"
    missing = [one.experiment.name for one in found if one.absent is not None]
    return (
        f"Made by `holdfast reproduce all{' --quick' if run.quick else ''}`: {len(entries)} experiments, {what} runs, "
        f"seed {run.seed}, version {run.version}. {passed} of {len(checks)} checks passed. The experiments took "
        f"{_duration(seconds)} in all, one after the other. Machine: {run.machine}."
        + (f" Not run, for their data are not here: {', '.join(missing)}." if missing else "")
    )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.1f} minutes"


def _printed(entries: Mapping[str, Entry]) -> list[tuple[str, ...]]:
    names = {paper.key: paper.short for paper in PAPERS}
    return [
        (names[beside.paper], beside.place, what, _cell(printed), _cell(ours))
        for beside in BESIDE
        if beside.experiment in entries
        for what, printed, ours in beside.pairs(entries[beside.experiment].result)
    ]


def _place(item: Item, quote: str = "") -> tuple[str, str, str]:
    return item.label, item.shows, f"{quote}{item.experiment or item.code}{quote}"


def _told(entry: Entry) -> tuple[str, str, str]:
    checks = entry.result["checks"]
    passed = sum(check["passed"] for check in checks)
    return f"{passed} of {len(checks)}", f"{entry.seconds:.1f}", entry.result["finding"]


def _card(name: str, entry: Entry | None) -> str:
    """One experiment: what it found, its plot, and its tables to open."""
    if entry is None:
        return f'<h3 id="{escape(name)}">{escape(name)}</h3><p class="soft">Not among those that were run.</p>'
    result = entry.result
    passed, seconds, finding = _told(entry)
    parts = [
        f'<h3 id="{escape(name)}">{escape(name)}</h3><p class="soft">{escape(result["source"])}</p>',
        f"<p><strong>{escape(result['title'])}.</strong> {escape(finding)}</p>",
    ]
    if "plot.svg" in entry.files:
        data = base64.b64encode((entry.folder / "plot.svg").read_bytes()).decode()
        parts.append(f'<img alt="{escape(result["title"])}" loading="lazy" src="data:image/svg+xml;base64,{data}">')
    elif entry.note:
        parts.append(f'<p class="soft">{escape(entry.note)}</p>')
    parts.append(f"<p class='soft'>Checks: {passed} passed; {seconds} seconds.</p>")
    parts += [
        f'<p class="bad">Failed: {escape(check["name"])}: {escape(check["detail"])}</p>'
        for check in result["checks"]
        if not check["passed"]
    ]
    for table in result["tables"]:
        rows = [tuple(_cell(row.get(column)) for column in table["columns"]) for row in table["rows"]]
        parts.append(
            f"<details><summary>{escape(table['title'])}</summary>{_html_table(table['columns'], rows)}</details>"
        )
    return "".join(parts)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return shown(round(value, 6)) if isinstance(value, float) and abs(value) > 1e-4 else str(value)


def _html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, links: bool = False) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    known = {name for paper in PAPERS for name in _names(paper)}
    body = []
    for row in rows:
        cells = []
        for cell in row:
            inner = f'<a href="#{escape(cell)}">{escape(cell)}</a>' if links and cell in known else escape(cell)
            cells.append(f"<td{' class=n' if _is_number(cell) else ''}>{inner}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows]


def _plain(cell: str) -> str:
    """A cell of a Markdown table, nothing in it read as markup but a name in code quotes."""
    if cell.startswith("`"):
        return cell
    for character in "\\*_|<>[]$`":
        cell = cell.replace(character, "\\" + character)
    return cell


__all__ = ["Run", "machine", "page", "text"]
