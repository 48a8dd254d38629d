"""The verdict of an audit in plain words: per group, per learner and lens, and for the whole.

Decision rule of section 4.6 of the coherence specification, as reviewed. A group's verdict rests on the numbers of that
group alone: its significance is never joined with the size of another. A raw distance is never shown without its floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast import check
from holdfast.bounds.one_question import clopper_pearson
from holdfast.coherence.significance import MAX_T, CaseSignificance, Significance
from holdfast.coherence.significance_cross import noise_share
from holdfast.coherence.verdict_findings import (
    EXIT_STATUS,
    INCOHERENT,
    LEAK,
    LEAK_ONCE,
    NO_EVIDENCE,
    NOT_MEASURED,
    TOO_SMALL,
    UNDERPOWERED,
    UNJUDGED,
    AlphaPoint,
    CaseFinding,
    GroupFinding,
)
from holdfast.coherence.verdict_words import case_sentence, group_sentences, paragraph

_WORST_FIRST = (INCOHERENT, LEAK, LEAK_ONCE, UNDERPOWERED, NO_EVIDENCE)
_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict of an audit. Made by `verdict`; prints as its paragraph.

    Attributes
    ----------
    outcome : str
        INCOHERENT, LEAK BELOW ALPHA (LEAK for one split), UNDERPOWERED or NO EVIDENCE: the worst over learners and
        lenses.
    exit_status : int
        2, 1, 3 or 0, in that order.
    partial : bool
        Whether something failed. A partial audit never ends with 0.
    alpha, beta, level : float
        Tolerance, allowed probability, and the error probability of the whole verdict.
    findings : tuple of GroupFinding
        One for each learner, lens and group, worst first.
    cases : tuple of CaseFinding
        One for each learner and lens.
    sensitivity : tuple of AlphaPoint
        What other alphas would have given.
    paragraph : str
        The verdict in plain words.
    messages : tuple of str
        What a reader must know: failures, rows left out, groups too small.

    Examples
    --------
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> judged = verdict(significance(trials, permutations=999), alpha=0.5)
    >>> judged.outcome, judged.exit_status, judged.partial
    ('INCOHERENT', 2, False)
    """

    outcome: str
    exit_status: int
    partial: bool
    alpha: float
    beta: float
    level: float
    findings: tuple[GroupFinding, ...]
    cases: tuple[CaseFinding, ...]
    sensitivity: tuple[AlphaPoint, ...]
    paragraph: str
    messages: tuple[str, ...]

    def offenders(self) -> tuple[GroupFinding, ...]:
        """Groups that are incoherent, or that depend on who was released; worst first."""
        return tuple(f for f in self.findings if f.status == INCOHERENT or f.depends)

    def __str__(self) -> str:
        return self.paragraph

    def __repr__(self) -> str:
        return f"Verdict({self.outcome}{', PARTIAL' if self.partial else ''}, exit status {self.exit_status})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "outcome": self.outcome,
            "exit_status": self.exit_status,
            "partial": self.partial,
            "alpha": self.alpha,
            "beta": self.beta,
            "level": self.level,
            "paragraph": self.paragraph,
            "findings": [finding.to_dict() for finding in self.findings],
            "cases": [case.to_dict() for case in self.cases],
            "sensitivity": [point.to_dict() for point in self.sensitivity],
            "messages": list(self.messages),
        }


def verdict(
    found: Significance, alpha: float, beta: float = 0.05, *, level: float = 0.05, alphas: Sequence[float] | None = None
) -> Verdict:
    """Judge an audit at a tolerance that was fixed before it.

    For each learner, lens and group (section 4.6 of the coherence specification, reviewed):

    1. INCOHERENT if the lower Clopper-Pearson limit of the probability of a distance above alpha exceeds both beta and
       the group's noise share. The limit has error level / (groups x learners x lenses), so the probability of any
       false claim against beta is at most `level`. This, and no permutation test, tests the definition.
    2. TOO SMALL FOR ALPHA if the noise share exceeds beta: then a distance above alpha says nothing about the release.
       UNDERPOWERED if the floor exceeds alpha / 2.
    3. LEAK BELOW ALPHA if the omnibus test of the learner and lens, corrected for their number, is at most `level`. A
       group is named only if its own p-value, corrected by Holm's method, is too.
    4. NO EVIDENCE otherwise. Never "safe": other learners and other data are not covered.

    An audit with failures, with a group that could not be judged (one declared by name but below the size limit
    included), or with too few splits for any finding never ends
    with 0: without a finding it is UNDERPOWERED. One split (a release already made) can only give 3, as LEAK, or 4.

    Parameters
    ----------
    found : Significance
        From `significance`.
    alpha : float
        Tolerance: distance in (0, 2].
    beta : float
        Probability over splits with which a distance above alpha is tolerated.
    level : float
        Probability of any false claim.
    alphas : list of float, optional
        For the sensitivity table. Default: multiples of alpha.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> from holdfast.coherence.significance import significance
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(1200), "ill": rng.integers(0, 2, 1200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> judged = verdict(significance(trials, permutations=999), alpha=0.5)
    >>> judged
    Verdict(INCOHERENT, exit status 2)
    >>> judged.findings[0].group, judged.findings[0].above, judged.findings[0].asked
    ('ill = 1', 12, 12)
    """
    alpha = check.real("alpha", alpha, above=0, at_most=2)
    beta, level = check.probability("beta", beta), check.probability("level", level)
    if alphas is None:
        alphas = sorted({min(2.0, float(f"{alpha * factor:.6g}")) for factor in _FACTORS})
    points = tuple(_point(found, value, beta, level) for value in check.reals("alphas", list(alphas)))
    cases, findings = _judged(found, alpha, beta, level)
    outcome = _worst([case.outcome for case in cases])
    ordered = tuple(sorted(findings, key=_severity))
    words = paragraph(outcome, ordered, cases, found, alpha, beta, level)
    return Verdict(
        outcome=outcome,
        exit_status=EXIT_STATUS[outcome],
        partial=found.partial,
        alpha=alpha,
        beta=beta,
        level=level,
        findings=ordered,
        cases=tuple(cases),
        sensitivity=points,
        paragraph=words,
        messages=found.messages,
    )


def _judged(
    found: Significance, alpha: float, beta: float, level: float
) -> tuple[list[CaseFinding], list[GroupFinding]]:
    cases: list[CaseFinding] = []
    findings: list[GroupFinding] = []
    for case in found.cases:
        groups = _groups(found, case, alpha, beta, level)
        cases.append(_case(found, case, groups, alpha, beta, level))
        findings += groups
    return cases, findings


def _groups(found: Significance, case: CaseSignificance, alpha: float, beta: float, level: float) -> list[GroupFinding]:
    log_share = math.log(level / found.tests)
    shares = None if case.cross is None else noise_share(case.cross, alpha)
    one = 1 / (found.permutations + 1) if found.mode == "single" else case.least_p
    least = min(1.0, one * found.tests)  # Holm's first step
    listed = []
    for g, (name, size) in enumerate(zip(found.groups, found.sizes, strict=True)):
        known = case.distance[np.isfinite(case.distance[:, g]), g]
        above, measured = int((known > alpha).sum()), int(known.size)
        lower, upper = _limits(found, above, measured, case.asked, log_share)
        share = None if shares is None else _known(shares[g])
        floor, adjusted = _known(case.floor[g]), _known(case.p_adjusted[g])
        depends = adjusted is not None and adjusted <= level
        if not measured or floor is None:
            status = NOT_MEASURED
        elif share is not None and lower > max(beta, share):
            status = INCOHERENT
        elif share is not None and share > beta:
            status = TOO_SMALL
        elif floor > alpha / 2:
            status = UNDERPOWERED
        else:
            status = _leak(found) if depends else NO_EVIDENCE  # never without the omnibus: its gate is in p_adjusted
        needed = None
        if floor is not None and floor > alpha / 2:
            needed = math.ceil(size * (2 * floor / alpha) ** 2)
        finding = GroupFinding(
            group=name,
            size=size,
            learner=case.learner,
            lens=case.lens,
            status=status,
            mean=_known(case.mean[g]),
            floor=floor,
            excess=_known(case.excess[g]),
            excess_low=_known(case.excess_low[g]),
            excess_high=_known(case.excess_high[g]),
            largest=None if floor is None or not measured else float(known.max()),
            above=above,
            measured=measured,
            asked=case.asked,
            lower=lower,
            upper=upper,
            noise_share=share,
            p_value=_known(case.p_values[g]),
            p_adjusted=adjusted,
            least_p=least,
            depends=depends,
            membership_p=_known(case.membership[g]),
            size_needed=needed,
        )
        words = group_sentences(finding, alpha, beta, level, found.mode, found.tests)
        listed.append(GroupFinding(**{**vars(finding), "sentences": words}))
    return listed


def _case(
    found: Significance, case: CaseSignificance, groups: list[GroupFinding], alpha: float, beta: float, level: float
) -> CaseFinding:
    # Could these splits have shown anything? All of them above alpha must refute beta, and p must reach the level.
    most = clopper_pearson(case.asked, case.asked, math.log(level / found.tests), side="lower").low
    powerless = case.least_p * len(found.cases) > level or (case.test != MAX_T and most <= beta)
    unjudged = bool(found.unmeasured) or any(finding.status in UNJUDGED for finding in groups)
    if any(finding.status == INCOHERENT for finding in groups):
        outcome = INCOHERENT
    elif case.omnibus_adjusted <= level:
        outcome = _leak(found)
    elif powerless or unjudged or found.partial:
        outcome = UNDERPOWERED
    else:
        outcome = NO_EVIDENCE
    above, log_share = int(_above(case.distance, alpha).sum()), math.log(level / len(found.cases))
    share = None
    if case.cross is not None:
        share = float(_above(case.cross[~np.eye(case.crossed, dtype=bool)], alpha).mean())
    lower, upper = _limits(found, above, case.splits, case.asked, log_share)
    made = CaseFinding(
        learner=case.learner,
        lens=case.lens,
        outcome=outcome,
        omnibus=_known(case.omnibus),
        omnibus_adjusted=_known(case.omnibus_adjusted),
        test=case.test,
        least_p=case.least_p,
        splits=case.splits,
        asked=case.asked,
        above=above,
        lower=lower,
        upper=upper,
        noise_share=share,
    )
    words = case_sentence(made, len(found.groups), len(found.cases), alpha, level, powerless)
    return CaseFinding(**{**vars(made), "sentence": words})


def _leak(found: Significance) -> str:
    """One split cannot show that a leak stays below alpha, nor that it does not."""
    return LEAK_ONCE if found.mode == "single" else LEAK


def _limits(found: Significance, above: int, measured: int, asked: int, log_share: float) -> tuple[float, float]:
    """Limits of the probability of a split above alpha. Splits without a distance count against either claim."""
    if found.mode == "single":
        return 0.0, 1.0  # one split is no estimate of a probability over splits
    lower = clopper_pearson(above, asked, log_share, side="lower").low
    return lower, clopper_pearson(above + asked - measured, asked, log_share, side="upper").high


def _above(distances: Any, alpha: float) -> Any:
    """Which splits have a group above alpha; a group without a distance is skipped."""
    return (np.where(np.isfinite(distances), distances, -np.inf) > alpha).any(axis=-1)


def _point(found: Significance, alpha: float, beta: float, level: float) -> AlphaPoint:
    alpha = check.real("alphas", alpha, above=0, at_most=2)
    cases, findings = _judged(found, alpha, beta, level)
    incoherent = dict.fromkeys(f.group for f in sorted(findings, key=_severity) if f.status == INCOHERENT)
    unjudged = {f.group for f in findings if f.status in UNJUDGED}
    return AlphaPoint(alpha, _worst([case.outcome for case in cases]), tuple(incoherent), len(unjudged))


def _severity(finding: GroupFinding) -> tuple[Any, ...]:
    """Incoherent groups first, then named ones, each by excess; raw distances are largest where groups are smallest."""
    excess = -math.inf if finding.excess is None else finding.excess
    return (finding.status != INCOHERENT, not finding.depends, -excess, finding.group, finding.learner, finding.lens)


def _worst(outcomes: Sequence[str]) -> str:
    return min(outcomes, key=_WORST_FIRST.index)


def _known(value: Any) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


__all__ = [
    "EXIT_STATUS",
    "INCOHERENT",
    "LEAK",
    "LEAK_ONCE",
    "NOT_MEASURED",
    "NO_EVIDENCE",
    "TOO_SMALL",
    "UNDERPOWERED",
    "AlphaPoint",
    "CaseFinding",
    "GroupFinding",
    "Verdict",
    "verdict",
]
