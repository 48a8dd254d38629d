"""What a report says, as plain data: page, files and terminal all read it from here, so that they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.experiment import Trials
from holdfast.coherence.significance import Significance
from holdfast.coherence.verdict import GroupFinding, Verdict
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Distributions ----------------------------------------------------------------------------------------------------
# Predictions of a group as counts in bins, for the released and the held-out half. Never a single prediction.

Bin = tuple[float, float, float]
"""Left end, members in the released half, members in the held-out half."""
BINS = 40
"""Equal bins of [-1, 1] before small ones are joined."""
MIN_CELL = 10
"""People below which a bin is joined with its neighbour; the default of `min_cell`."""


@dataclass(frozen=True)
class Distribution:
    """How the predictions for one group are distributed over [-1, 1], in the released half and in the held-out half.

    Attributes
    ----------
    learner, lens, group : str
        Whose predictions, through which lens, about whom.
    edges : tuple of float
        Ends of the bins, from -1 to 1; empty where the group is too small to show or nothing succeeded.
    inside, outside : tuple of float
        Members in each bin, mean over the splits: of the released half and of the held-out half.
    note : str
        What is shown, or why nothing is.

    Examples
    --------
    >>> halves = (40.0, 60.0), (52.0, 48.0)
    >>> shown = Distribution("linkage", "all", "women", (-1.0, 0.0, 1.0), *halves, note="Mean over 1 split.")
    >>> shown.to_dict()["inside"]
    [40.0, 60.0]
    """

    learner: str
    lens: str
    group: str
    edges: tuple[float, ...]
    inside: tuple[float, ...]
    outside: tuple[float, ...]
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "learner": self.learner,
            "lens": self.lens,
            "group": self.group,
            "edges": list(self.edges),
            "inside": list(self.inside),
            "outside": list(self.outside),
            "note": self.note,
        }


def distribution(trials: Trials, learner: int, lens: int, group: int, min_cell: int = MIN_CELL) -> Distribution:
    """Return the predictions for one group as counts in bins, averaged over the splits that gave predictions.

    A bin that has members but fewer than `min_cell` in both halves together is joined with others or left out, so that
    no bin shows a few people. A group with fewer than twice `min_cell` members is not shown at all.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=2))
    >>> shown = distribution(trials, 0, 0, 1)
    >>> len(shown.edges) == len(shown.inside) + 1, round(sum(shown.inside) + sum(shown.outside))
    (True, 200)
    """
    min_cell = arguments.whole("min_cell", min_cell, at_least=1)
    names = (trials.learners[learner], trials.lenses[lens].name, trials.groups.names[group])
    members = trials.groups.mask(group)
    size = int(members.sum())
    if size < 2 * min_cell:
        return Distribution(*names, (), (), (), f"Not shown: fewer than {2 * min_cell} members.")
    done = np.flatnonzero(trials.done[:, learner, lens])
    if trials.predictions is None or not done.size:
        return Distribution(*names, (), (), (), "Not shown: there are no predictions.")
    edges = np.linspace(-1.0, 1.0, BINS + 1)
    inside, outside = np.zeros(BINS), np.zeros(BINS)
    for k in done:
        values, where = trials.predictions[k, learner, lens][members], trials.inside[k][members]
        inside += np.histogram(values[where], edges)[0]
        outside += np.histogram(values[~where], edges)[0]
    bins, left_out = joined(edges, inside / done.size, outside / done.size, min_cell)
    note = f"Mean over {done.size} {'split' if done.size == 1 else 'splits'}; {size:,} members"
    note += f"; bins of at least {min_cell} people, sparse neighbours joined."
    if left_out:
        many = f"About {left_out:.0f}" if left_out >= min_cell else f"Fewer than {min_cell}"
        note += f" {many} people alone in sparse bins are not drawn."
    lefts, a, b = zip(*bins, strict=True)
    return Distribution(*names, (*lefts, 1.0), a, b, note)


def joined(edges: Any, inside: Any, outside: Any, least: float) -> tuple[tuple[Bin, ...], float]:
    """Bins that each hold `least` people or nobody, as (left end, inside, outside); and how many people are left out.

    Full bins stay as they are, so that a crowd at one prediction is drawn where it is. Sparse bins between full ones
    are joined from the left; where all of them together hold too few, these few are left out.

    Examples
    --------
    >>> joined([-1, -0.5, 0, 0.5, 1], [3, 9, 0, 10], [4, 9, 0, 2], 25)
    (((-1.0, 22.0, 15.0),), 0.0)
    >>> joined([-1, -0.5, 0, 0.5, 1], [3, 9, 0, 10], [4, 9, 0, 2], 10)
    (((-1.0, 0.0, 0.0), (-0.5, 9.0, 9.0), (0.0, 0.0, 0.0), (0.5, 10.0, 2.0)), 7.0)
    """
    bins: list[Bin] = []
    sparse: list[Bin] = []
    left_out = 0.0
    ends = [(float(e), float(a), float(b)) for e, a, b in zip(edges[:-1], inside, outside, strict=True)]
    for cell in [*ends, None]:
        if cell is not None and cell[1] + cell[2] < least:
            sparse.append(cell)
            continue
        merged, missed = _run(sparse, least)
        bins += merged
        left_out += missed
        sparse = []
        if cell is not None:
            bins.append(cell)
    return tuple(bins), left_out


def _run(sparse: list[Bin], least: float) -> tuple[list[Bin], float]:
    """Sparse bins joined; empty ones at either end stay."""
    held = [i for i, cell in enumerate(sparse) if cell[1] + cell[2] > 0]
    if not held:
        return sparse, 0.0
    first, last = held[0], held[-1] + 1
    parts: list[Bin] = []
    for cell in sparse[first:last]:
        if parts and parts[-1][1] + parts[-1][2] < least:
            parts[-1] = _added(parts[-1], cell)
        else:
            parts.append(cell)
    if len(parts) > 1 and parts[-1][1] + parts[-1][2] < least:
        rest = parts.pop()
        parts[-1] = _added(parts[-1], rest)
    missed = 0.0
    if parts[0][1] + parts[0][2] < least:
        missed, parts = parts[0][1] + parts[0][2], [(parts[0][0], 0.0, 0.0)]
    return [*sparse[:first], *parts, *sparse[last:]], missed


def _added(one: Bin, other: Bin) -> Bin:
    return one[0], one[1] + other[1], one[2] + other[2]


# --- Repeats ----------------------------------------------------------------------------------------------------------
# What repeated splits show next to a mean: every distance in order, and excess next to how well a learner predicts.


@dataclass(frozen=True)
class Repeats:
    """The distances of one group over the splits, in order, and what chance alone gives: Figure 2 of the paper.

    Attributes
    ----------
    learner, lens, group : str
        Whose predictions, through which lens, about whom.
    size : int
        Members of the group.
    distances : tuple of float
        One for each split, ascending.
    chance : tuple of float
        As many: of the same predictors on splits that they were not trained on, at equal steps of their order.
    """

    learner: str
    lens: str
    group: str
    size: int
    distances: tuple[float, ...]
    chance: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Utility:
    """One learner and lens: how well it predicts people who were held out, and its largest excess over the floor.

    Attributes
    ----------
    learner, lens : str
        Which predictor.
    auc : float
        Of the statement that is predicted, among held-out people, mean over the splits; one half is guessing.
    excess : float
        The largest mean excess over the floor among the groups.
    group : str
        Which group that is.
    """

    learner: str
    lens: str
    auc: float
    excess: float
    group: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return dict(vars(self))


def own_and_chance(
    found: Significance, finding: GroupFinding, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Distances of predictors on their own splits, and on the splits of others, which is chance; None without both."""
    case = found.case(finding.learner, finding.lens)
    if case.cross is None:
        return None
    table = case.cross[:, :, group]
    off = table[~np.eye(len(table), dtype=bool)]
    own, others = case.distance[np.isfinite(case.distance[:, group]), group], off[np.isfinite(off)]
    return (own, others) if own.size and others.size else None


def repeats(found: Significance, finding: GroupFinding, group: int) -> Repeats | None:
    """Return the distances of one finding in order; None where there are fewer than two, or no cross-evaluation."""
    known = own_and_chance(found, finding, group)
    if known is None or known[0].size < 2:
        return None
    own, others = known
    chance = np.quantile(others, np.linspace(0, 1, own.size))
    ordered = tuple(np.sort(own).tolist())
    return Repeats(finding.learner, finding.lens, finding.group, finding.size, ordered, tuple(chance.tolist()))


def utilities(trials: Trials, findings: tuple[GroupFinding, ...]) -> tuple[Utility, ...]:
    """Held-out AUC and largest excess of each learner and lens; empty where the target's two groups are not known.

    They are a group and the one called "not" and its name, as `Audit` makes them by default.
    """
    names = trials.groups.names
    pair = next(((name, f"not {name}") for name in names if f"not {name}" in names), None)
    if pair is None or trials.predictions is None:
        return ()
    true, false = (trials.groups.mask(name) for name in pair)
    measures = []
    for i, learner in enumerate(trials.learners):
        for j, lens in enumerate(trials.lenses):
            own = [f for f in findings if (f.learner, f.lens) == (learner, lens.name) and f.excess is not None]
            held = [
                auc(
                    trials.predictions[k, i, j][true & ~trials.inside[k]],
                    trials.predictions[k, i, j][false & ~trials.inside[k]],
                )
                for k in np.flatnonzero(trials.done[:, i, j])
            ]
            known = [value for value in held if value is not None]
            if own and known:
                worst = max(own, key=lambda f: f.excess or 0.0)
                measures.append(
                    Utility(learner, lens.name, float(np.mean(known)), float(worst.excess or 0.0), worst.group)
                )
    return tuple(measures)


def auc(true: NDArray[np.float64], false: NDArray[np.float64]) -> float | None:
    """How often a prediction from the first list is above one from the second, ties by half; None if one is empty.

    Examples
    --------
    >>> auc(np.array([0.5, 1.0]), np.array([0.5, -1.0]))
    0.875
    """
    if not true.size or not false.size:
        return None
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, side="left").sum() + np.searchsorted(ordered, true, side="right").sum()
    return float(below / (2 * true.size * false.size))


# --- Content ----------------------------------------------------------------------------------------------------------

# What an audit can and cannot show, in plain sentences that every report carries.

CAN = (
    "That the predictions for a group differ between people in the release and people held out by more than chance "
    "gives, for the learners, lenses and groups that were tried.",
    "How large that difference is, with the floor that chance alone gives at this group size next to it.",
    "With repeated splits: that the release breaks the tolerance alpha more often than beta allows, on this data.",
)
CANNOT = (
    "That a release is safe. Another learner, another lens or another group may show what these did not.",
    "Anything about other data, or about people who are not in this file.",
    "Whether predictions are right: accuracy never enters, only the difference that being released makes.",
    "Other harms, such as singling people out: coherence is one necessary condition next to others.",
    "Leaks in groups that are too small for this alpha: there, chance alone exceeds it.",
)
SINGLE = (
    "How often alpha is exceeded: the release was made once, so there is one split and no probability to estimate.",
    "Anything at all, if who was in the release was not decided by a uniformly random choice.",
)
PARTIAL = ("What is missing would have shown. It is listed above and counts neither as passed nor as failed.",)


SCHEMA = 1
"""Version of the JSON form."""
OFFENDERS, GROUPS = 8, 40
"""Findings told in full, and rows of the heat map, at most."""
_ALPHAS = tuple(round(0.05 * step, 2) for step in range(41))


@dataclass(frozen=True)
class Curve:
    """For one group: how often the distance is above each alpha, and how often chance alone is."""

    learner: str
    lens: str
    group: str
    alphas: tuple[float, ...]
    above: tuple[float, ...]
    noise: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True, repr=False)
class Report:
    """Everything that an audit report shows. `build` makes it. It contains no row and no single prediction.

    Attributes
    ----------
    title : str
        What was audited.
    verdict : Verdict
        The verdict, with every finding.
    mode : str
        "repeated", or "single" for a release already made.
    rows, splits : int
        Rows in the audit; splits asked for.
    offenders : tuple of GroupFinding
        Those told in full: offenders of the verdict, or else the largest excesses, with floors.
    shown_groups : tuple of str
        Rows of the heat map, worst first.
    too_small : tuple of (str, str)
        Groups that were not measured, with their sizes; small sizes as "<10".
    unnamed : int
        How many more were not measured and are not named, since their name may be about a few people.
    distributions, curves, repeats : tuple
        Of the offenders.
    utilities : tuple of Utility
        Of each learner and lens: held-out AUC next to the largest excess.
    problems, notes, limits : tuple of str
        What failed; what else a reader must know; what this very audit cannot show.
    theory : tuple of str
        Which epsilon would promise alpha for every group measured; empty where no theorem covers the audit.
    setting : tuple of (str, str)
        How it was run.
    failures : tuple of dict
        Each failure, without the output of the program that failed.

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
    >>> report.title, report.rows, report.splits, report.partial
    ('people', 400, 12, False)
    """

    title: str
    verdict: Verdict
    mode: str
    rows: int
    splits: int
    offenders: tuple[GroupFinding, ...]
    shown_groups: tuple[str, ...]
    too_small: tuple[tuple[str, str], ...]
    unnamed: int
    distributions: tuple[Distribution, ...]
    curves: tuple[Curve, ...]
    repeats: tuple[Repeats, ...]
    utilities: tuple[Utility, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    limits: tuple[str, ...]
    theory: tuple[str, ...]
    setting: tuple[tuple[str, str], ...]
    failures: tuple[dict[str, Any], ...]

    @property
    def partial(self) -> bool:
        """Whether something failed during the audit."""
        return self.verdict.partial

    @property
    def label(self) -> str:
        """The outcome of the audit, marked if the audit is partial."""
        return self.verdict.outcome + (", PARTIAL" if self.partial else "")

    @property
    def offenders_heading(self) -> str:
        """The heading of the report's table of `offenders`, the groups that are affected."""
        if not self.offenders:
            return "No group was measured"
        return "Worst offenders" if self.verdict.offenders() else "No group was found; these come closest"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for the JSON file: every number that the page shows."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            **self.verdict.to_dict(),
            "mode": self.mode,
            "rows": self.rows,
            "splits": self.splits,
            "too_small": [{"name": name, "size": size} for name, size in self.too_small],
            "too_small_unnamed": self.unnamed,
            "offenders": [[f.learner, f.lens, f.group] for f in self.offenders],
            "distributions": [shown.to_dict() for shown in self.distributions],
            "curves": [curve.to_dict() for curve in self.curves],
            "repeats": [repeat.to_dict() for repeat in self.repeats],
            "utilities": [utility.to_dict() for utility in self.utilities],
            "limits": list(self.limits),
            "theory": list(self.theory),
            "setting": dict(self.setting),
            "failures": list(self.failures),
        }

    def __repr__(self) -> str:
        return f"Report({self.label}, {len(self.verdict.findings)} findings)"


def build(
    trials: Trials,
    found: Significance,
    judged: Verdict,
    *,
    title: str = "a release",
    setting: Sequence[tuple[str, str]] = (),
    min_cell: int = MIN_CELL,
) -> Report:
    """Return the report of an audit that was run, tested and judged.

    Parameters
    ----------
    trials, found, judged
        What `run` or `single_shot`, `assess` and `judge` returned, for the same audit.
    title : str
        What was audited.
    setting : list of (str, str)
        How it was run, added to what is known here.
    min_cell : int
        No count of fewer people is shown: bins are joined, sizes of groups that were not measured hidden. Groups that
        were measured must be at least as large.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(1200), "ill": rng.integers(0, 2, 1200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> tested = assess(trials, permutations=999)
    >>> build(trials, tested, judge(tested, 0.5), title="people")
    Report(INCOHERENT, 3 findings)
    """
    min_cell = arguments.whole("min_cell", min_cell, at_least=1)
    smallest = min(found.sizes)
    if smallest < min_cell:
        raise InvalidParameter(
            f"every reported group must have at least min_cell = {min_cell} members, but the smallest has {smallest}"
        )
    named = judged.offenders()
    measured = tuple(f for f in judged.findings if f.excess is not None)
    chosen = (named or measured)[:OFFENDERS]
    where = [(trials.learners.index(f.learner), _lens(trials, f.lens), found.groups.index(f.group)) for f in chosen]
    problems = tuple(line for line in judged.messages if line.startswith("PARTIAL"))
    limits = (*(PARTIAL if judged.partial else ()), *(SINGLE if trials.mode == "single" else ()))
    facts = [
        ("rows in the audit", f"{trials.rows.size:,}"),
        ("splits", str(trials.splits)),
        ("learners", ", ".join(trials.learners)),
        ("lenses", "; ".join(f"{lens.name} ({', '.join(lens.columns)})" for lens in trials.lenses)),
        ("groups measured", str(len(found.groups))),
        ("distance", trials.metric),
        ("alpha, beta, level", f"{judged.alpha:g}, {judged.beta:g}, {judged.level:g}"),
        ("permutations", f"{found.permutations:,}"),
    ]
    return Report(
        title=title,
        verdict=judged,
        mode=trials.mode,
        rows=int(trials.rows.size),
        splits=trials.splits,
        offenders=chosen,
        shown_groups=tuple(dict.fromkeys(f.group for f in judged.findings))[:GROUPS],
        too_small=_too_small(found, min_cell),
        unnamed=sum(size < min_cell and name not in found.unmeasured for name, size in found.too_small),
        distributions=tuple(distribution(trials, i, j, g, min_cell) for i, j, g in where),
        curves=tuple(c for f, (_, _, g) in zip(chosen, where, strict=True) if (c := _curve(found, f, g)) is not None),
        repeats=tuple(r for f, (_, _, g) in zip(chosen, where, strict=True) if (r := repeats(found, f, g)) is not None),
        utilities=utilities(trials, judged.findings),
        problems=problems,
        notes=tuple(line for line in judged.messages if line not in problems),
        limits=limits,
        theory=_theory(trials, found, judged),
        setting=(*setting, *facts),
        failures=tuple(failure.to_dict() for failure in trials.failures),
    )


def _too_small(found: Significance, min_cell: int) -> tuple[tuple[str, str], ...]:
    """Groups that were not measured. One of few people is named only if the user named it: a value may be a person."""
    shown = [(n, size) for n, size in found.too_small if size >= min_cell or n in found.unmeasured]
    return tuple((name, f"<{min_cell}" if size < min_cell else str(size)) for name, size in shown)


def _theory(trials: Trials, found: Significance, judged: Verdict) -> tuple[str, ...]:
    """What the planner asks for this alpha, these groups, lenses and learners, in its sharpest form."""
    from holdfast.coherence.planner import plan_epsilon

    covered = trials.metric == "wasserstein" and trials.clusters is None and trials.weights is None
    if not covered or trials.mode == "single" or judged.alpha >= 2:
        return ()
    many = {"lenses": len(trials.lenses), "predictors": len(trials.learners)}
    rows, size = int(trials.rows.size), min(found.sizes)
    plan = plan_epsilon(judged.alpha, judged.beta, len(found.groups), rows, size, "sharp", "finite", **many)
    return tuple(plan.words())


def _lens(trials: Trials, name: str) -> int:
    return [lens.name for lens in trials.lenses].index(name)


def _curve(found: Significance, finding: GroupFinding, group: int) -> Curve | None:
    """Shares above each alpha: of predictors on their own splits, and on the splits of others, which is chance."""
    known = own_and_chance(found, finding, group)
    if known is None:
        return None
    own, others = known
    above = tuple(float((own > alpha).mean()) for alpha in _ALPHAS)
    noise = tuple(float((others > alpha).mean()) for alpha in _ALPHAS)
    return Curve(finding.learner, finding.lens, finding.group, _ALPHAS, above, noise)


def plain_number(value: float | None) -> str:
    """Return a distance for people.

    Examples
    --------
    >>> plain_number(0.97912), plain_number(-0.0001), plain_number(None)
    ('0.979', '0.000', 'none')
    """
    text = "none" if value is None else f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def probability(value: float | None) -> str:
    """Return a p-value for people.

    Examples
    --------
    >>> probability(0.00002), probability(0.0312), probability(None)
    ('< 0.0001', '0.0312', 'none')
    """
    if value is None:
        return "none"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def corrected_p(finding: GroupFinding, level: float) -> str:
    """Return the corrected p-value for people, or that no splits so few could have given one at the level."""
    if finding.p_adjusted is not None and finding.least_p > level:
        return "too few splits"
    return probability(finding.p_adjusted)
