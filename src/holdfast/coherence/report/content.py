"""What a report says, as plain data: page, files and terminal all read it from here, so that they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.coherence.report.distributions import MIN_CELL, Distribution, distribution
from holdfast.coherence.report.repeats import Repeats, Utility, own_and_chance, repeats, utilities
from holdfast.coherence.report.words import PARTIAL, SINGLE
from holdfast.coherence.significance import Significance
from holdfast.coherence.trials import Trials
from holdfast.coherence.verdict import GroupFinding, Verdict
from holdfast.errors import InvalidParameter

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
        """Plain data."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


@dataclass(frozen=True, repr=False)
class Report:
    """Everything a report shows. Made by `build`; it holds no row and no single prediction.

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
        Of each learner and lens: held-out AUC beside the largest excess.
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
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence.verdict import verdict
    >>> from holdfast.coherence.report import build
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> tested = significance(trials, permutations=999)
    >>> report = build(trials, tested, verdict(tested, 0.5), title="people")
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
        """Whether something failed."""
        return self.verdict.partial

    @property
    def label(self) -> str:
        """The outcome, marked if partial."""
        return self.verdict.outcome + (", PARTIAL" if self.partial else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the JSON file: every number of the page."""
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
    """The report of an audit that was run, tested and judged.

    Parameters
    ----------
    trials, found, judged
        What `run` or `single_shot`, `significance` and `verdict` returned, for the same audit.
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
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence.verdict import verdict
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(1200), "ill": rng.integers(0, 2, 1200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> tested = significance(trials, permutations=999)
    >>> build(trials, tested, verdict(tested, 0.5), title="people")
    Report(INCOHERENT, 3 findings)
    """
    min_cell = check.whole("min_cell", min_cell, at_least=1)
    smallest = min(found.sizes)
    if smallest < min_cell:
        raise InvalidParameter(
            f"groups must have at least min_cell = {min_cell} members to be reported, got {smallest}"
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
    """A distance for people.

    Examples
    --------
    >>> plain_number(0.97912), plain_number(-0.0001), plain_number(None)
    ('0.979', '0.000', 'none')
    """
    text = "none" if value is None else f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def probability(value: float | None) -> str:
    """A p-value for people.

    Examples
    --------
    >>> probability(0.00002), probability(0.0312), probability(None)
    ('< 0.0001', '0.0312', 'none')
    """
    if value is None:
        return "none"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def corrected_p(finding: GroupFinding, level: float) -> str:
    """The corrected p-value for people, or that no splits so few could have given one at the level."""
    if finding.p_adjusted is not None and finding.least_p > level:
        return "too few splits"
    return probability(finding.p_adjusted)


__all__ = ["GROUPS", "OFFENDERS", "SCHEMA", "Curve", "Report", "build", "corrected_p", "plain_number", "probability"]
