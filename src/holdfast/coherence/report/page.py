"""The report as one HTML file that works offline: no script, no font, no address of anything outside.

Whatever comes from the user (names of groups, lenses, learners and files, messages of failures) is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from holdfast.coherence.report.content import CAN, CANNOT, Report, corrected_p, plain_number, probability
from holdfast.coherence.verdict import INCOHERENT, LEAK, LEAK_ONCE, NO_EVIDENCE, GroupFinding

# --- Style ------------------------------------------------------------------------------------------------------------
# The style sheet of the report: readable in light, dark and grey, on a phone and on paper. Loads nothing.

_CARDS = """@media (max-width:{below}px){{{table},{table} tbody{{display:block}}{table} thead{{display:none}}
{table} tr{{display:grid;grid-template-columns:repeat(auto-fill,minmax(165px,1fr));padding:8px 0;
border-bottom:1px solid var(--line)}}{table} td,{table} td.n{{border:0;padding:2px 12px 2px 0;text-align:left}}
{table} td::before{{content:attr(data-name);display:block;color:var(--soft);font-size:.8rem}}}}
"""
"""Where a window is too narrow for the words of a table, each of its rows becomes a card that names every value."""

STYLE = (
    """
:root{--ink:#1c1f26;--soft:#5b6472;--line:#d6dae1;--back:#fff;--card:#f6f7f9;--in:#1f5fa8;--out:#b3541e;--heat:#8c1c3c;
--bad:#8c1c3c;--warn:#8a6100;--fine:#20603d}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--soft:#a3abb8;--line:#3a404b;--back:#15181d;--card:#1e2229;
--in:#7db3ee;--out:#f0a36e;--heat:#e0567f;--bad:#f58aa8;--warn:#e6c15c;--fine:#85cfa4}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:28px 20px 60px;background:var(--back);color:var(--ink);
overflow-wrap:break-word;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
h1{font-size:1.7rem;margin:0 0 4px}
h2{font-size:1.2rem;margin:38px 0 10px;border-top:1px solid var(--line);padding-top:22px}
h3{font-size:1rem;margin:24px 0 4px}
p{margin:8px 0;max-width:76ch}.soft{color:var(--soft)}small,.small{font-size:.86rem}
.verdict{background:var(--card);border-left:6px solid var(--soft);padding:14px 20px;margin:18px 0}
.verdict.incoherent{border-color:var(--bad)}.verdict.leak{border-color:var(--warn)}.verdict.none{border-color:var(--fine)}
.verdict strong.label{display:block;font-size:1.1rem;letter-spacing:.02em}
.partial{border:2px solid var(--bad);padding:10px 16px;margin:14px 0}
.wide{overflow-x:auto}.wide .chart{max-width:none}table{border-collapse:collapse;font-size:.88rem;width:100%}
th,td{text-align:left;padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}
.many th,.many td{padding:5px 7px}.long{overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 18px;font-size:.9rem}dt{color:var(--soft)}
dd{margin:0}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(300px,100%),1fr));gap:14px 26px;align-items:end}
figure{margin:6px 0;min-width:0}figcaption{font-size:.82rem;color:var(--soft);max-width:430px}
.chart{max-width:100%;height:auto;overflow:visible}.chart text{fill:var(--ink);font-size:12px;font-family:inherit}
.chart text.axis{fill:var(--soft);font-size:11px}.chart text.on{fill:var(--back)}
.heat{fill:var(--heat)}.none{fill:none;stroke:var(--line)}.hatch{stroke:var(--soft);stroke-width:1.4;stroke-opacity:.55}
.in{fill:var(--in);fill-opacity:.32;stroke:var(--in);stroke-width:1.4}.line-in{fill:none;stroke:var(--in);stroke-width:1.8}
.out{fill:none;stroke:var(--out);stroke-width:1.8;stroke-dasharray:5 3}.area{fill:var(--soft);fill-opacity:.22}
.rule{stroke:var(--line)}.mark{stroke:var(--soft);stroke-dasharray:2 3}
.key{display:inline-block;width:22px;height:10px;margin-right:6px;border:1.5px solid var(--in)}
.key.a{background:color-mix(in srgb,var(--in) 32%,transparent)}
.key.b{border:0;border-top:2px dashed var(--out);height:0}
@media print{body{max-width:none;padding:0}h2{break-after:avoid}figure,tr{break-inside:avoid}}
"""
    + _CARDS.format(table="table", below=560)
    + _CARDS.format(table="table.many", below=900)
)


# --- Svg --------------------------------------------------------------------------------------------------------------
# Drawings as inline SVG text: a heat map, overlaid distributions, lines. Every text is escaped; nothing is loaded.
#
# Shapes carry class names and the style sheet of the page colours them, so that a page reads in light and dark and,
# with its hatching and dashes, on a grey printer.

# Drawings of things in order and of points: sorted predictions, sorted distances, distance against usefulness.

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 300.0, 170.0, 44.0, 26.0, 12.0


def _x(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 12)


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _BOTTOM - _TOP) * (1 - share)


def _path(points: Sequence[tuple[float, float]], kind: str) -> str:
    return f'<path d="M{"L".join(f"{number(_x(x))} {number(_y(y))}" for x, y in points)}" class="{kind}"/>'


def _ends(low: str, high: str, axis: str) -> list[str]:
    """What stands at the ends of both axes."""
    return [
        text(_LEFT - 6, _TOP + 8, high, "axis", "end"),
        text(_LEFT - 6, _HEIGHT - _BOTTOM, low, "axis", "end"),
        text(_x(0.5), _HEIGHT - 8, axis, "axis", "middle"),
    ]


def sorted_pair(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Predictions of both halves in order, lowest first, as in the paper's Figure 3; bins are drawn as slopes."""

    def points(counts: Sequence[float]) -> list[tuple[float, float]]:
        whole, seen = sum(counts) or 1.0, 0.0
        corners: list[tuple[float, float]] = []
        for i, count in enumerate(counts):
            if count > 0:
                corners.append((seen / whole, (edges[i] + 1) / 2))
                seen += count
                corners.append((min(1.0, seen / whole), (edges[i + 1] + 1) / 2))
        return corners or [(0.0, 0.5)]

    parts = [_path(points(inside), "line-in"), _path(points(outside), "out")]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("-1", "1", "share of the half, lowest first")])


def sorted_distances(distances: Sequence[float], chance: Sequence[float], alpha: float, title: str) -> str:
    """Distances of all splits in order (solid), what chance gives (dashed), and alpha (dotted), as in Figure 2."""
    most = max(*distances, *chance, alpha) * 1.05 or 1.0

    def points(values: Sequence[float]) -> list[tuple[float, float]]:
        last = max(len(values) - 1, 1)
        return [(i / last, value / most) for i, value in enumerate(values)]

    mark = f'<line x1="{number(_x(0))}" y1="{number(_y(alpha / most))}" x2="{number(_x(1))}" '
    parts = [
        f'{mark}y2="{number(_y(alpha / most))}" class="mark"/>',
        _path(points(chance), "out"),
        _path(points(distances), "line-in"),
    ]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("0", f"{most:.2g}", f"{len(distances)} splits in order")])


def scatter(points: Sequence[tuple[float, float, str]], alpha: float, title: str) -> str:
    """Points (AUC from one half to one, excess, name) with the names next to them, and alpha as a dotted line."""
    most = max([*(excess for _, excess, _ in points), alpha]) * 1.1
    low = min([0.5, *(auc for auc, _, _ in points)])

    def at(auc: float, excess: float) -> tuple[float, float]:
        return _x((auc - low) / (1 - low) if low < 1 else 1.0), _y(max(0.0, excess) / most)

    level = number(_y(alpha / most))
    parts = [f'<line x1="{number(_x(0))}" y1="{level}" x2="{number(_x(1))}" y2="{level}" class="mark"/>']
    room = {True: _HEIGHT, False: _HEIGHT}  # how far down the next name may stand, on either side of its point
    for auc, excess, name in sorted(points, key=lambda point: point[1]):
        x, y = at(auc, excess)
        parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="4" class="in"/>')
        right = x < _x(0.6)
        beside = min(y + 4, room[right])
        room[right] = beside - 11
        parts.append(text(x + (8 if right else -8), beside, clipped(name, 26), "axis", "start" if right else "end"))
    parts += [text(_x(0), _HEIGHT - 8, f"{low:.2g}", "axis", "middle"), text(_x(1), _HEIGHT - 8, "1", "axis", "middle")]
    return drawing(_WIDTH, _HEIGHT, title, [*parts, *_ends("0", f"{most:.2g}", "AUC, held out")])


HATCH = (
    '<svg width="0" height="0" aria-hidden="true"><defs><pattern id="hatch" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/>'
    "</pattern></defs></svg>"
)
"""The hatching that marks cells without significance; once a page, before the first heat map."""
#: Letters of a group's name in a heat map: names that differ only at their ends must stay apart.
_ROW_NAME = 64


def number(value: float) -> str:
    """Return a coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    """Return one line of text, escaped."""
    return f'<text x="{number(x)}" y="{number(y)}" class="{kind}" text-anchor="{anchor}">{escape(said)}</text>'


def drawing(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return an SVG element of the parts, named for screen readers."""
    return (
        f'<svg class="chart" viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def clipped(said: str, most: int) -> str:
    """Long names end in an ellipsis; the full name stands in the tables.

    Examples
    --------
    >>> clipped("women of 80 and more", 10)
    'women of …'
    """
    return said if len(said) <= most else said[: most - 2].rstrip() + " …"


def heat_map(
    rows: Sequence[str], columns: Sequence[str], shades: Sequence[Sequence[tuple[float | None, str, str, bool]]]
) -> str:
    """Return a heat map. Each cell: a shade in [0, 1] or None for no value, its text, its tooltip, whether it is solid.

    A cell that is not solid is hatched.
    """
    top = 30.0 + 7.0 * max((min(len(c), 34) for c in columns), default=0) * 0.62
    left, wide, high = 20.0 + 6.4 * max((min(len(r), _ROW_NAME) for r in rows), default=0), 84.0, 24.0
    parts: list[str] = []
    for j, name in enumerate(columns):
        x = left + (j + 0.35) * wide
        shown = escape(clipped(name, 34))
        parts.append(
            f'<text transform="translate({number(x)},{number(top - 8)}) rotate(-38)" class="axis">{shown}</text>'
        )
    for i, name in enumerate(rows):
        y = top + i * high
        parts.append(text(left - 8, y + 16, clipped(name, _ROW_NAME), "axis", "end"))
        for j in range(len(columns)):
            shade, label, tip, solid = shades[i][j]
            x = left + j * wide
            place = f'x="{number(x + 1)}" y="{number(y + 1)}" width="{number(wide - 2)}" height="{number(high - 2)}"'
            parts.append(f"<g><title>{escape(tip)}</title>")
            if shade is None:
                parts.append(f'<rect {place} class="none"/>')
            else:
                parts.append(f'<rect {place} class="heat" fill-opacity="{number(0.06 + 0.94 * shade)}"/>')
                if not solid:
                    parts.append(f'<rect {place} fill="url(#hatch)"/>')
            dark = "on" if shade is not None and shade > 0.55 else "off"
            parts.append(text(x + wide / 2, y + 16, label, f"value {dark}", "middle"))
            parts.append("</g>")
    room = 160.0 if columns else 0.0
    return drawing(left + len(columns) * wide + room, top + len(rows) * high + 6, "Group by lens heat map", parts)


def overlay(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Two histograms over each other: the released half filled, the held-out half dashed. Shares by width."""
    width, height, left, bottom = 330.0, 170.0, 44.0, 26.0
    tall = height - bottom - 12
    wides = [b - a for a, b in pairwise(edges)]
    narrow = min(wides)

    def levels(counts: Sequence[float]) -> list[float]:
        whole = sum(counts) or 1.0
        return [count / whole * narrow / wide for count, wide in zip(counts, wides, strict=True)]

    a, b = levels(inside), levels(outside)
    top = max([*a, *b, 1e-9])

    def x(value: float) -> float:
        return left + (value + 1) / 2 * (width - left - 10)

    def y(level: float) -> float:
        return 12 + tall * (1 - level / top)

    def outline(found: list[float]) -> str:
        steps = [f"M{number(x(edges[0]))} {number(y(0))}"]
        for i, level in enumerate(found):
            steps.append(f"L{number(x(edges[i]))} {number(y(level))}L{number(x(edges[i + 1]))} {number(y(level))}")
        return "".join(steps) + f"L{number(x(edges[-1]))} {number(y(0))}"

    parts = [
        f'<path d="{outline(a)}Z" class="in"/>',
        f'<path d="{outline(b)}" class="out"/>',
        f'<line x1="{number(left)}" y1="{number(y(0))}" x2="{number(width - 10)}" y2="{number(y(0))}" class="rule"/>',
        text(left - 6, 20, f"{top:.0%}", "axis", "end"),
        text(left - 6, y(0), "0", "axis", "end"),
    ]
    for value in (-1.0, 0.0, 1.0):
        parts.append(text(x(value), height - 8, f"{value:g}", "axis", "middle"))
    return drawing(width, height, title, parts)


def cumulative(edges: Sequence[float], inside: Sequence[float], outside: Sequence[float], title: str) -> str:
    """Cumulative shares of both halves; the shaded area between them is the distance of what is drawn."""
    width, height, left, bottom = 300.0, 170.0, 40.0, 26.0

    def running(counts: Sequence[float]) -> list[float]:
        whole, shares = sum(counts) or 1.0, [0.0]
        for count in counts:
            shares.append(shares[-1] + count / whole)
        return shares

    a, b = running(inside), running(outside)

    def point(i: int, level: float) -> str:
        x, y = left + (edges[i] + 1) / 2 * (width - left - 10), 12 + (height - bottom - 12) * (1 - level)
        return f"{number(x)} {number(y)}"

    up = [point(i, level) for i, level in enumerate(a)]
    back = [point(i, level) for i, level in enumerate(b)]
    parts = [
        f'<path d="M{"L".join(up)}L{"L".join(reversed(back))}Z" class="area"/>',
        f'<path d="M{"L".join(up)}" class="line-in"/>',
        f'<path d="M{"L".join(back)}" class="out"/>',
        text(left - 6, 20, "100%", "axis", "end"),
        text(left - 6, height - bottom, "0", "axis", "end"),
    ]
    for value, anchor in ((-1.0, "middle"), (0.0, "middle"), (1.0, "middle")):
        parts.append(text(left + (value + 1) / 2 * (width - left - 10), height - 8, f"{value:g}", "axis", anchor))
    return drawing(width, height, title, parts)


def lines(xs: Sequence[float], solid: Sequence[float], dashed: Sequence[float] | None, mark: float, title: str) -> str:
    """Shares in [0, 1] against x: a solid line, a dashed one where there is one, and a mark at one x."""
    width, height, left, bottom = 300.0, 170.0, 44.0, 26.0
    most = max(xs)

    def at(x: float) -> float:
        return left + x / most * (width - left - 12)

    def path(values: Sequence[float]) -> str:
        tall = height - bottom - 12
        return "M" + "L".join(f"{number(at(x))} {number(12 + tall * (1 - v))}" for x, v in zip(xs, values, strict=True))

    parts = [
        f'<line x1="{number(at(mark))}" y1="12" x2="{number(at(mark))}" y2="{number(height - bottom)}" class="mark"/>'
    ]
    if dashed is not None:
        parts.append(f'<path d="{path(dashed)}" class="out"/>')
    parts.append(f'<path d="{path(solid)}" class="line-in"/>')
    parts += [text(left - 6, 20, "100%", "axis", "end"), text(left - 6, height - bottom, "0", "axis", "end")]
    parts += [text(at(x), height - 8, f"{x:g}", "axis", "middle") for x in (0.0, most / 2, most)]
    return drawing(width, height, title, parts)


# --- Page -------------------------------------------------------------------------------------------------------------

SECTIONS = (
    ("verdict", "Verdict"),
    ("offenders", "Worst offenders"),
    ("heat-map", "Groups by lens"),
    ("distributions", "Distributions"),
    ("splits", "Split by split"),
    ("sensitivity", "Sensitivity to alpha"),
    ("limits", "What this audit can and cannot show"),
    ("setting", "How it was run"),
)
"""Identifier and heading of every section, in order."""

#: Letters of a word that a column of a table can hold.
_LONGEST_WORD = 20


def html(report: Report) -> str:
    """Return the whole report as one HTML page.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> from holdfast.coherence.report import build
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> tested = assess(trials, permutations=999)
    >>> report = build(trials, tested, judge(tested, 0.5), title="people")
    >>> page = html(report)
    >>> page.startswith("<!DOCTYPE html>"), page.count("<section"), "<script" in page
    (True, 8, False)
    """
    parts = {
        "verdict": _verdict(report),
        "offenders": _offenders(report),
        "heat-map": _heat_map(report),
        "distributions": _distributions(report),
        "splits": _splits(report),
        "sensitivity": _sensitivity(report),
        "limits": _limits(report),
        "setting": _setting(report),
    }
    headings = dict(SECTIONS) | {"offenders": report.offenders_heading}
    body = "".join(f'<section id="{key}"><h2>{escape(headings[key])}</h2>{parts[key]}</section>' for key in headings)
    mark = " (PARTIAL)" if report.partial else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Coherence audit of {escape(report.title)}{mark}</title><style>{STYLE}</style></head><body>{HATCH}"
        f'<main><h1>Demographic-coherence audit{mark}</h1><p class="soft">{escape(report.title)}</p>{body}'
        "</main></body></html>\n"
    )


def _verdict(report: Report) -> str:
    kind = {INCOHERENT: "incoherent", LEAK: "leak", LEAK_ONCE: "leak", NO_EVIDENCE: "none"}.get(
        report.verdict.outcome, "other"
    )
    parts = [f'<div class="verdict {kind}"><strong class="label">{escape(report.label)}</strong>']
    parts.append(f"<p>{escape(report.verdict.paragraph)}</p></div>")
    if report.partial:
        problems = "".join(f"<li>{escape(line)}</li>" for line in report.problems)
        parts.append(
            '<div class="partial" id="partial"><strong>This report is partial.</strong> Some distances are '
            "missing. What they would have shown is not known, and nothing here counts them as passed."
            f"<ul>{problems}</ul></div>"
        )
    rows = [
        (case.learner, case.lens, case.outcome, probability(case.omnibus_adjusted), f"{case.splits} of {case.asked}")
        for case in report.verdict.cases
    ]
    parts.append(_table(("learner", "lens", "verdict", "omnibus p", "splits measured"), rows, (3, 4)))
    cases = "".join(f"<li>{escape(case.sentence)}</li>" for case in report.verdict.cases)
    return "".join(parts) + f'<ul class="small soft">{cases}</ul>'


def _offenders(report: Report) -> str:
    if not report.offenders:
        return "<p>No group has a distance: nothing was measured.</p>"
    heading = (
        "group",
        "members",
        "learner",
        "lens",
        "mean distance",
        "floor",
        "excess",
        "share flipped",
        "above alpha",
        "p (Holm)",
        "finding",
    )
    rows = [_offender(finding, report.verdict.level) for finding in report.offenders]
    told = "".join(
        f"<li><strong>{escape(finding.group)}</strong> ({escape(finding.learner)}, {escape(finding.lens)}): "
        f"{escape(' '.join(finding.sentences))}</li>"
        for finding in report.offenders
    )
    return (
        "<p>Groups by excess: the mean distance over what chance alone gives these same predictors. A distance "
        "d can be read as a share d/2 of the group whose yes-or-no prediction flips between the halves.</p>"
        + _table(heading, rows, (1, 4, 5, 6, 7, 8, 9))
        + f'<ul class="small">{told}</ul>'
    )


def _offender(finding: GroupFinding, level: float) -> tuple[str, ...]:
    return (
        finding.group,
        f"{finding.size:,}",
        finding.learner,
        finding.lens,
        plain_number(finding.mean),
        plain_number(finding.floor),
        plain_number(finding.excess),
        "" if finding.excess is None else f"{max(0.0, finding.excess) / 2:.1%}",
        f"{finding.above} of {finding.asked}",
        corrected_p(finding, level),
        finding.status,
    )


def _heat_map(report: Report) -> str:
    columns = [(case.learner, case.lens) for case in report.verdict.cases]
    by_cell = {(f.group, f.learner, f.lens): f for f in report.verdict.findings}
    groups = report.shown_groups
    largest = max((f.excess for f in report.verdict.findings if f.excess is not None), default=0.0)
    scale = max(largest, report.verdict.alpha)
    shades = []
    for group in groups:
        row: list[tuple[float | None, str, str, bool]] = []
        for learner, lens in columns:
            finding = by_cell[group, learner, lens]
            if finding.excess is None:
                row.append((None, "none", f"{group}, {learner}, {lens}: not measured", False))
                continue
            tip = (
                f"{group}, {learner}, {lens}: mean {plain_number(finding.mean)}, floor {plain_number(finding.floor)}, "
                f"excess {plain_number(finding.excess)}, p {corrected_p(finding, report.verdict.level)}, "
                f"{finding.status}"
            )
            shade = min(1.0, max(0.0, finding.excess) / scale)
            solid = finding.depends or finding.status == INCOHERENT
            row.append((shade, plain_number(finding.excess), tip, solid))
        shades.append(row)
    names = [f"{learner} · {lens}" if len({lens for _, lens in columns}) > 1 else learner for learner, lens in columns]
    left = len({f.group for f in report.verdict.findings}) - len(groups)
    more = f" The {left} groups with less excess are in the files next to this page." if left > 0 else ""
    small = [f"{name} ({size})" for name, size in report.too_small[:40]]
    if len(report.too_small) > 40:
        small.append(f"and {len(report.too_small) - 40} more")
    if report.unnamed:
        small.append(f"{report.unnamed:,} of so few people that they are not named")
    listed = f"<p>Too small to judge and not measured: {escape('; '.join(small))}.</p>" if small else ""
    return (
        "<p>Excess of the mean distance over the noise floor. Hatched: the group is neither incoherent nor seen to "
        f"depend on who was released (Holm, level {report.verdict.level:g}). Darkest: {plain_number(scale)}. Point at "
        f"a cell for its floor.{_untested(report)}{more}</p>"
        f'<div class="wide">{heat_map(groups, names, shades)}</div>{listed}'
    )


def _untested(report: Report) -> str:
    """What hatching does not say, where so few splits or permutations could not have named a group."""
    findings = report.verdict.findings
    unable = {(f.learner, f.lens) for f in findings if f.least_p > report.verdict.level}
    if not unable:
        return ""
    where = (
        "any column"
        if len(unable) == len(report.verdict.cases)
        else "the columns " + ", ".join(f"{learner} · {lens}" for learner, lens in sorted(unable))
    )
    return (
        f" There are too few splits to see such a dependence of a single group in {escape(where)}, so hatching there "
        "shows nothing."
    )


def _distributions(report: Report) -> str:
    parts = [
        '<p><span class="key a"></span>people in the release &nbsp; <span class="key b"></span>people held out. '
        "Predictions run from -1 (surely not) over 0 (no idea) to 1 (surely yes). If being in the release made no "
        "difference the two would agree up to chance. Only counts in bins are shown, never single predictions.</p>"
    ]
    for shown in report.distributions:
        name = f"{shown.group} · {shown.learner} · {shown.lens}"
        parts.append(f"<h3>{escape(name)}</h3>")
        if shown.edges:
            bars = overlay(shown.edges, shown.inside, shown.outside, f"Predictions, {name}")
            running = cumulative(shown.edges, shown.inside, shown.outside, f"Cumulative shares, {name}")
            ordered = sorted_pair(shown.edges, shown.inside, shown.outside, f"Sorted predictions, {name}")
            parts.append(
                f'<div class="charts"><figure>{bars}<figcaption>Share of either half at each prediction.</figcaption>'
                f"</figure><figure>{running}<figcaption>Cumulative; the area between is the distance of these averages."
                f"</figcaption></figure><figure>{ordered}<figcaption>The same predictions in order, lowest first."
                "</figcaption></figure></div>"
            )
        parts.append(f'<p class="small soft">{escape(shown.note)}</p>')
    return "".join(parts) if report.distributions else "<p>Nothing was measured.</p>"


def _splits(report: Report) -> str:
    parts, alpha = [], report.verdict.alpha
    if report.repeats:
        parts.append(
            '<p class="small soft">Solid: the distance in each split, smallest first. Dashed: the floor, which is what '
            "the same predictors show on splits they were not trained on. Dotted: alpha.</p>"
        )
        drawn = []
        for repeat in report.repeats:
            name = f"{repeat.group} · {repeat.learner} · {repeat.lens}"
            chart = sorted_distances(repeat.distances, repeat.chance, alpha, f"Sorted distances, {name}")
            caption = f"{name}; {repeat.size:,} members, {len(repeat.distances)} splits"
            drawn.append(f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>")
        parts.append(f'<div class="charts">{"".join(drawn)}</div>')
    else:
        parts.append("<p>There are not enough splits to compare with each other.</p>")
    if report.utilities:
        several = len({utility.lens for utility in report.utilities}) > 1
        points = [(u.auc, u.excess, f"{u.learner} · {u.lens}" if several else u.learner) for u in report.utilities]
        chart = scatter(points, alpha, "Largest excess against held-out AUC")
        caption = (
            "Largest excess over the floor among the groups, against how well the predictor ranks people it was not "
            f"trained on (AUC, mean over the splits of {report.rows:,} rows; one half is guessing). Dotted: alpha."
        )
        parts.append(f'<div class="charts"><figure>{chart}<figcaption>{escape(caption)}</figcaption></figure></div>')
    return "".join(parts)


def _sensitivity(report: Report) -> str:
    parts = []
    if report.mode == "single":
        parts.append("<p>There is one split, so no probability of exceeding an alpha can be estimated.</p>")
    rows = [
        (
            f"{point.alpha:.4g}",
            point.outcome,
            str(len(point.incoherent)),
            ", ".join(point.incoherent[:6]) + (" …" if len(point.incoherent) > 6 else ""),
            str(point.unjudged),
        )
        for point in report.verdict.sensitivity
    ]
    parts.append(
        f"<p>The verdict is for alpha = {report.verdict.alpha:g}, which was fixed beforehand. The same runs at "
        "other values, as a description:</p>"
    )
    parts.append(_table(("alpha", "outcome", "incoherent", "worst first", "not judged"), rows, (0, 2, 4)))
    if report.curves:
        parts.append(
            '<p class="small soft">Solid: share of splits whose distance is above alpha. Dashed: the same for '
            "predictors on splits they were not trained on, which is what the size of the group alone explains. "
            "Dotted: the alpha of this audit.</p>"
        )
        drawn = []
        for curve in report.curves:
            name = f"{curve.group} · {curve.learner} · {curve.lens}"
            chart = lines(curve.alphas, curve.above, curve.noise, report.verdict.alpha, f"Share above alpha, {name}")
            drawn.append(f"<figure>{chart}<figcaption>{escape(name)}</figcaption></figure>")
        parts.append(f'<div class="charts">{"".join(drawn)}</div>')
    return "".join(parts)


def _limits(report: Report) -> str:
    can = "".join(f"<li>{escape(line)}</li>" for line in CAN)
    cannot = "".join(f"<li>{escape(line)}</li>" for line in (*report.limits, *CANNOT))
    theory = "".join(f"<li>{escape(line)}</li>" for line in report.theory)
    promised = f"<h3>What would promise this alpha, whatever the learner</h3><ul>{theory}</ul>" if theory else ""
    return f"<h3>It can show</h3><ul>{can}</ul><h3>It cannot show</h3><ul>{cannot}</ul>{promised}"


def _setting(report: Report) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.setting)
    notes = "".join(f"<li>{escape(line)}</li>" for line in report.notes)
    return f"<dl>{items}</dl>" + (f"<h3>Notes</h3><ul>{notes}</ul>" if notes else "")


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> str:
    def kind(i: int) -> str:
        return ' class="n"' if i in numbers else ""

    top = "".join(f"<th{kind(i)}>{escape(name)}</th>" for i, name in enumerate(heading))
    body = "".join(
        "<tr>"
        + "".join(
            f'<td{kind(i)} data-name="{escape(name)}">{_breakable(cell)}</td>'
            for i, (name, cell) in enumerate(zip(heading, row, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    many = ' class="many"' if len(heading) > 6 else ""
    return f'<div class="wide"><table{many}><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _breakable(cell: str) -> str:
    """A cell, escaped; a name without a space that is too long for any column may be broken, and no other word is."""
    return " ".join(
        f'<span class="long">{escape(word)}</span>' if len(word) > _LONGEST_WORD else escape(word)
        for word in cell.split(" ")
    )
