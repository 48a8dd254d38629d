"""The report as one HTML file that works offline: no script, no font, no address of anything outside.

Whatever comes from the user (names of groups, lenses, learners and files, messages of failures) is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from holdfast.coherence.report import svg, svg_order
from holdfast.coherence.report.content import Report, corrected_p, plain_number, probability
from holdfast.coherence.report.style import STYLE
from holdfast.coherence.report.words import CAN, CANNOT
from holdfast.coherence.verdict import INCOHERENT, LEAK, LEAK_ONCE, NO_EVIDENCE, GroupFinding

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


def html(report: Report) -> str:
    """The whole page.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence.verdict import verdict
    >>> from holdfast.coherence.report import build
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> tested = significance(trials, permutations=999)
    >>> report = build(trials, tested, verdict(tested, 0.5), title="people")
    >>> page = html(report)
    >>> page.startswith("<!DOCTYPE html>"), page.count("<section"), "<script" in page
    (True, 8, False)
    """
    made = {
        "verdict": _verdict(report),
        "offenders": _offenders(report),
        "heat-map": _heat_map(report),
        "distributions": _distributions(report),
        "splits": _splits(report),
        "sensitivity": _sensitivity(report),
        "limits": _limits(report),
        "setting": _setting(report),
    }
    body = "".join(f'<section id="{key}"><h2>{escape(heading)}</h2>{made[key]}</section>' for key, heading in SECTIONS)
    mark = " (PARTIAL)" if report.partial else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>Coherence audit of {escape(report.title)}{mark}</title><style>{STYLE}</style></head><body>{svg.HATCH}"
        f'<h1>Demographic-coherence audit{mark}</h1><p class="soft">{escape(report.title)}</p>{body}'
        "</body></html>\n"
    )


def _verdict(report: Report) -> str:
    kind = {INCOHERENT: "incoherent", LEAK: "leak", LEAK_ONCE: "leak", NO_EVIDENCE: "none"}.get(
        report.verdict.outcome, "other"
    )
    parts = [f'<div class="verdict {kind}"><strong class="label">{escape(report.label)}</strong>']
    parts.append(f"<p>{escape(report.verdict.paragraph)}</p></div>")
    if report.partial:
        said = "".join(f"<li>{escape(line)}</li>" for line in report.problems)
        parts.append(
            '<div class="partial" id="partial"><strong>This report is partial.</strong> Some distances are '
            "missing. What they would have shown is not known, and nothing here counts them as passed."
            f"<ul>{said}</ul></div>"
        )
    rows = [
        (case.learner, case.lens, case.outcome, probability(case.omnibus_adjusted), f"{case.splits} of {case.asked}")
        for case in report.verdict.cases
    ]
    parts.append(_table(("learner", "lens", "verdict", "omnibus p", "splits measured"), rows, (3, 4)))
    told = "".join(f"<li>{escape(case.sentence)}</li>" for case in report.verdict.cases)
    return "".join(parts) + f'<ul class="small soft">{told}</ul>'


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
    none = "" if report.verdict.offenders() else "<p>No group was found. These have the largest excess:</p>"
    return (
        f"{none}<p>Groups by excess: the mean distance over what chance alone gives these same predictors. A distance "
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
    found = {(f.group, f.learner, f.lens): f for f in report.verdict.findings}
    groups = report.shown_groups
    largest = max((f.excess for f in report.verdict.findings if f.excess is not None), default=0.0)
    scale = max(largest, report.verdict.alpha)
    shades = []
    for group in groups:
        row: list[tuple[float | None, str, str, bool]] = []
        for learner, lens in columns:
            finding = found[group, learner, lens]
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
    more = f" The {left} groups with less excess are in the files beside this page." if left > 0 else ""
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
        f'<div class="wide">{svg.heat_map(groups, names, shades)}</div>{listed}'
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
        "says nothing."
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
            bars = svg.overlay(shown.edges, shown.inside, shown.outside, f"Predictions, {name}")
            running = svg.cumulative(shown.edges, shown.inside, shown.outside, f"Cumulative shares, {name}")
            ordered = svg_order.sorted_pair(shown.edges, shown.inside, shown.outside, f"Sorted predictions, {name}")
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
        for one in report.repeats:
            name = f"{one.group} · {one.learner} · {one.lens}"
            chart = svg_order.sorted_distances(one.distances, one.chance, alpha, f"Sorted distances, {name}")
            caption = f"{name}; {one.size:,} members, {len(one.distances)} splits"
            drawn.append(f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>")
        parts.append(f'<div class="charts">{"".join(drawn)}</div>')
    else:
        parts.append("<p>There are not enough splits to compare with each other.</p>")
    if report.utilities:
        several = len({one.lens for one in report.utilities}) > 1
        points = [(u.auc, u.excess, f"{u.learner} · {u.lens}" if several else u.learner) for u in report.utilities]
        chart = svg_order.scatter(points, alpha, "Largest excess against held-out AUC")
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
            chart = svg.lines(
                curve.alphas, curve.above, curve.noise, report.verdict.alpha, f"Share above alpha, {name}"
            )
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
        "<tr>" + "".join(f"<td{kind(i)}>{escape(cell)}</td>" for i, cell in enumerate(row)) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


__all__ = ["SECTIONS", "html"]
