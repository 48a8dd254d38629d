"""The verdict of an audit in plain words: per group, per learner and lens, and for the whole.

Decision rule of section 4.6 of the coherence specification, as reviewed. A group's verdict depends on the numbers of
that group alone: its significance is never joined with the size of another. A raw distance is never shown without its
floor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.bounds.one_question import clopper_pearson
from holdfast.coherence.significance import MAX_T, NONE, CaseSignificance, Significance, noise_share
from holdfast.core import arguments

# What a verdict says of one group, of one learner through one lens, and at another alpha.

INCOHERENT = "INCOHERENT"
"""Shown: some group is treated differently by more than alpha, more often than allowed."""
LEAK = "LEAK BELOW ALPHA"
"""Shown: some group depends on who was released; not shown: by more than alpha."""
LEAK_ONCE = "LEAK"
"""A leak seen in the one split there is, which may well be above alpha: how often it is, one split cannot say."""
NO_EVIDENCE = "NO EVIDENCE"
"""Nothing was shown, by a test that could have shown it. No proof of safety."""
UNDERPOWERED = "UNDERPOWERED"
"""Nothing was shown, and the splits were too few to show it."""
TOO_SMALL = "TOO SMALL FOR ALPHA"
"""A group in which chance alone exceeds alpha."""
NOT_MEASURED = "NOT MEASURED"
"""A group without a distance."""

EXIT_STATUS = {NO_EVIDENCE: 0, LEAK: 1, LEAK_ONCE: 1, INCOHERENT: 1, UNDERPOWERED: 3}
"""Exit status of each outcome, by the rule of every command: 1 is a finding, 3 that nothing could be found."""

UNJUDGED = (TOO_SMALL, UNDERPOWERED, NOT_MEASURED)
"""A group with one of these was not judged at alpha: without a finding the audit does not pass."""


@dataclass(frozen=True)
class GroupFinding:
    """The finding about one group, for one learner and one lens. Every number is about this group alone; None means not
    known.

    Attributes
    ----------
    group, size, learner, lens
        Who, how many members, through what.
    status : str
        INCOHERENT, TOO SMALL FOR ALPHA, UNDERPOWERED, LEAK BELOW ALPHA (LEAK for one split), NO EVIDENCE or NOT
        MEASURED.
    mean, floor, excess, excess_low, excess_high : float or None
        Mean distance, what chance alone gives these predictors, the difference, its interval over splits.
    largest : float or None
        The largest distance of any split. Show it with `floor` or not at all.
    above, measured, asked : int
        Splits whose distance is above alpha, splits with a distance, splits asked for.
    lower, upper : float
        Clopper-Pearson limits of the probability of a distance above alpha, at `confidence` for all groups, learners
        and lenses together, each side for itself. Splits without a distance count as below alpha in the lower limit and
        as above in the upper one.
    noise_share : float or None
        How often chance alone exceeds alpha in a group of this size.
    p_value, p_adjusted : float or None
        Does the group depend on who was released? And corrected for all groups, learners and lenses by Holm's method.
    least_p : float
        The least corrected p-value that so few splits and permutations could have given. Above the level the group
        could not have been seen to depend, whatever it does.
    depends : bool
        Whether `p_adjusted` is at most the level. Dependence of any size: not a statement about alpha.
    membership_p : float or None
        Within-group permutation on one split; small for nearly every trained predictor.
    size_needed : int or None
        Members that would bring the floor to alpha / 2, if it is above.
    sentences : tuple of str
        The finding in plain words.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> judged = judge(assess(trials, permutations=999), alpha=0.5)
    >>> worst = judged.findings[0]
    >>> worst.status, worst.above, worst.asked
    ('INCOHERENT', 12, 12)
    """

    group: str
    size: int
    learner: str
    lens: str
    status: str
    mean: float | None
    floor: float | None
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    largest: float | None
    above: int
    measured: int
    asked: int
    lower: float
    upper: float
    noise_share: float | None
    p_value: float | None
    p_adjusted: float | None
    least_p: float
    depends: bool
    membership_p: float | None
    size_needed: int | None
    sentences: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return dict(vars(self)) | {"sentences": list(self.sentences)}


@dataclass(frozen=True)
class CaseFinding:
    """The finding about one learner through one lens: the outcome over all groups, its omnibus test and the split
    counts.

    `above` is the number of splits in which the distance of some group exceeded alpha. `noise_share` is how often
    chance alone does this with the same predictors. `lower` and `upper` are Clopper-Pearson limits of the probability
    that some group exceeds alpha, for all learners and lenses together. With small groups chance alone exceeds alpha.
    Therefore the outcome depends on each group by itself and not on this count.
    """

    learner: str
    lens: str
    outcome: str
    omnibus: float | None
    omnibus_adjusted: float | None
    test: str
    least_p: float
    splits: int
    asked: int
    above: int = 0
    lower: float = 0.0
    upper: float = 1.0
    noise_share: float | None = None
    sentence: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return dict(vars(self))


@dataclass(frozen=True)
class AlphaPoint:
    """The outcome that another alpha would have given.

    It is only a description. The verdict is for the alpha that was fixed beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence.verdict import judge
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> judged = judge(assess(trials, permutations=999), alpha=0.5)
    >>> [point.outcome for point in judged.sensitivity][::3]
    ['INCOHERENT', 'INCOHERENT', 'LEAK BELOW ALPHA']
    """

    alpha: float
    outcome: str
    incoherent: tuple[str, ...]
    unjudged: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return dict(vars(self)) | {"incoherent": list(self.incoherent)}


# The sentences of a verdict: each says what was tested, with the numbers of that group alone.


def splits_without(beta: float, tests: int, level: float) -> int:
    """Splits, none of them above alpha, that would show a probability of at most beta in all of so many tests.

    Examples
    --------
    >>> splits_without(0.05, 1, 0.05), splits_without(0.05, 90, 0.05)
    (59, 147)
    """
    return math.ceil(math.log(level / tests) / math.log1p(-beta))


def group_sentences(
    found: GroupFinding, alpha: float, beta: float, level: float, mode: str, tests: int
) -> tuple[str, ...]:
    """Return a group in plain words (wording of section 4.6 of the coherence specification)."""
    if found.mean is None or found.floor is None:
        return ("There is no distance with a floor to hold it against: nothing is said about this group.",)
    sentences = [_distance(found, mode)]
    if mode == "repeated":
        sentences.append(_probability(found, alpha, beta, level, tests))
    sentences += _dependence(found, level, mode)
    if found.status in (TOO_SMALL, UNDERPOWERED) and found.size_needed is not None:
        sentences.append(
            f"With {found.size:,} members the floor alone is above alpha / 2 = {alpha / 2:.3g}; "
            f"about {found.size_needed:,} members would bring it down to that."
        )
    elif found.status == TOO_SMALL:
        sentences.append(
            f"Chance alone exceeds alpha too often here: a distance above {alpha:g} is no evidence by itself."
        )
    return tuple(sentences)


def _distance(found: GroupFinding, mode: str) -> str:
    assert found.mean is not None
    assert found.excess is not None
    if mode == "single":
        return (
            f"Distance {found.mean:.3g} on the one split there is; chance alone gives {found.floor:.3g} for the same "
            f"predictor; excess {found.excess:.3g}."
        )
    interval = ""
    if found.excess_low is not None and found.excess_high is not None:
        interval = f" (95% interval {found.excess_low:.3g} to {found.excess_high:.3g}, over splits of this data set)"
    return (
        f"Mean distance {found.mean:.3g} over splits; chance alone gives {found.floor:.3g} for these same predictors "
        f"on splits they were not trained on; excess {found.excess:.3g}{interval}."
    )


def _probability(found: GroupFinding, alpha: float, beta: float, level: float, tests: int) -> str:
    missing = found.asked - found.measured
    gone = f" ({missing} splits gave no distance and are counted against either claim)" if missing else ""
    sentences = (
        f"In {found.above} of {found.asked} independent random splits the distance exceeded alpha = {alpha:g} in this "
        f"group{gone}; with {1 - level:.0%} confidence, all groups together, the probability is "
    )
    share = "an unknown share" if found.noise_share is None else f"{found.noise_share:.3g}"
    if found.status == INCOHERENT:
        return (
            sentences
            + f"at least {found.lower:.3g}, against beta = {beta:g} allowed and {share} explained by group size."
        )
    sentences += (
        f"at most {found.upper:.3g}, where {share} is explained by group size; other learners and other data are not "
        "covered."
    )
    if found.upper > beta:
        least = splits_without(beta, tests, level)
        few = f": {found.asked} splits are too few for that, {least} is the least" if found.asked < least else ""
        sentences += f" That the probability is within beta = {beta:g} is not shown{few}."
    return sentences


def _dependence(found: GroupFinding, level: float, mode: str) -> list[str]:
    if found.p_value is None or found.p_adjusted is None:
        return []
    if mode == "single":
        return [
            "If this predictor carried no information about which members of the group were in the released half, a "
            f"distance of at least {found.mean:.3g} (floor {found.floor:.3g}) would occur in {found.p_value:.3g} of "
            "random re-assignments. A small p shows dependence on membership, not its size. A large p shows that none "
            f"was seen with {found.size:,} members, not that there is none."
        ]
    if found.least_p > level:
        return [
            f"Whether what is predicted for this group depends on which of its members were released cannot be tested "
            f"with so few splits: the least corrected p they could give is {found.least_p:.3g}, level {level:g}."
        ]
    seen = "depends" if found.depends else "was not seen to depend"
    return [
        f"What is predicted for this group {seen} on which of its members were released (p = {found.p_value:.3g}, "
        f"corrected for all groups {found.p_adjusted:.3g}, level {level:g}). This is about dependence of any size, "
        "not about alpha."
    ]


def case_sentence(case: CaseFinding, groups: int, cases: int, alpha: float, level: float, powerless: bool) -> str:
    """Return a learner and lens in plain words."""
    where = f"{case.learner}, lens {case.lens}"
    if case.test == NONE or case.omnibus_adjusted is None:
        return f"{where}: {case.splits} of {case.asked} splits gave predictions; no test was possible."
    how = (
        "re-assigning the rows of the one split there is (max-T)"
        if case.test == MAX_T
        else "measuring every predictor on every split"
    )
    over = f"{groups} groups" if cases == 1 else f"{groups} groups and {cases} pairs of learner and lens"
    seen = case.omnibus_adjusted <= level
    sentence = f"{where}: p = {case.omnibus_adjusted:.3g} by {how}, adjusted over {over}; "
    sentence += "some group depends on the split." if seen else "no dependence on the split was seen."
    if case.noise_share is not None:
        sentence += (
            f" Some group exceeded alpha = {alpha:g} in {case.above} of {case.asked} splits (probability "
            f"{case.lower:.3g} to {case.upper:.3g}, each limit at {1 - level:.0%}); chance alone does that in a share "
            f"of {case.noise_share:.3g}."
        )
    if case.splits < case.asked:
        sentence += f" PARTIAL: only {case.splits} of {case.asked} splits gave predictions."
    if powerless and not seen:
        sentence += f" So few splits could hardly have shown any: the least possible p is {case.least_p:.3g}."
    return sentence


def paragraph(
    outcome: str,
    findings: Sequence[GroupFinding],
    cases: Sequence[CaseFinding],
    found: Significance,
    alpha: float,
    beta: float,
    level: float,
) -> str:
    """Return the verdict in one paragraph. Every number of a group stands with that group's name and floor."""
    sentences = ["PARTIAL RESULT: something failed or was never measured; see the messages."] if found.partial else []
    incoherent = [f for f in findings if f.status == INCOHERENT]
    named = [f for f in findings if f.depends and f.status != INCOHERENT]
    unjudged = list(dict.fromkeys(f.group for f in findings if f.status in UNJUDGED))
    if incoherent:
        worst = incoherent[0]
        others = len({f.group for f in incoherent}) - 1
        sentences.append(
            f"INCOHERENT: the release lets a predictor treat released and held-out members of {worst.group!r} "
            f"differently by more than alpha = {alpha:g}, more often than beta = {beta:g} and more often than chance."
        )
        sentences += [_told(worst), _flipped(worst), worst.sentences[1]]
        if others:
            sentences.append(f"{others} more group{'s are' if others > 1 else ' is'} incoherent too.")
    elif outcome in (LEAK, LEAK_ONCE):
        sentences.append(
            f"{outcome}: what is predicted depends on who was released" + ("." if outcome == LEAK_ONCE else ",")
        )
        if outcome == LEAK:
            sentences.append(
                f"but no group was shown to exceed alpha = {alpha:g} more often than beta = {beta:g} and than chance."
            )
        if named:
            sentences += [_told(named[0]), _flipped(named[0])]
            if outcome == LEAK_ONCE:
                where = "above" if named[0].above else "not above"
                sentences.append(
                    f"On this split it is {where} alpha = {alpha:g}; how often it is, one split cannot say."
                )
        else:
            sentences.append("Some group depends on it; no single one can be named at this level.")
    elif not any(f.measured for f in findings):
        sentences.append("UNDERPOWERED: nothing was measured, so nothing is known about any group.")
        return " ".join(sentences)
    elif outcome == UNDERPOWERED:
        sentences.append(
            "UNDERPOWERED: nothing was found, and this audit could not have found everything it asks about."
        )
    else:
        sentences.append(
            f"NO EVIDENCE: in {_counted(len(found.groups), 'group')} no dependence on who was released was seen, and "
            f"no group was shown to exceed alpha = {alpha:g}. This is no proof of coherence: other learners and other "
            "data are not covered."
        )
    if unjudged:
        count, first = len(unjudged), [repr(name) for name in unjudged[:3]]
        listed = ", ".join(first) + (" …" if count > 3 else "")
        sentences.append(
            f"{count} group{'s' if count > 1 else ''} could not be judged at alpha = {alpha:g} ({listed}): too small, "
            "or not measured."
        )
    if found.too_small:
        sentences.append(f"{len(found.too_small)} more were below the size limit and not measured.")
    if found.mode == "single":
        sentences.append(
            "One split only: valid if a uniformly random choice decided who was in the release, and no estimate of any "
            "probability."
        )
    elif outcome != INCOHERENT:
        asked = max(case.asked for case in cases)
        least = 1 - (level / found.tests) ** (1 / asked)
        sentences.append(
            f"With {_counted(asked, 'split')} no probability of exceeding alpha below {least:.2g} can be excluded for "
            "any group, all together."
        )
    return " ".join(sentences)


def _counted(many: int, what: str) -> str:
    return f"{many} {what}" if many == 1 else f"{many} {what}s"


def _told(found: GroupFinding) -> str:
    """The distance of a group with its floor, in a sentence that names the group."""
    sentence = found.sentences[0]
    group = f"{found.group!r} ({found.size:,} members; {found.learner}, lens {found.lens})"
    return f"In {group}: {sentence[0].lower()}{sentence[1:]}"


def _flipped(found: GroupFinding) -> str:
    """The excess as people: the reading of a distance that needs no mathematics."""
    assert found.excess is not None
    return (
        f"That is as if being released turned the prediction for {max(found.excess, 0.0) / 2:.1%} of its members from "
        "a sure no to a sure yes, or back."
    )


_WORST_FIRST = (INCOHERENT, LEAK, LEAK_ONCE, UNDERPOWERED, NO_EVIDENCE)
_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict of an audit, made by `judge`. When printed it is a paragraph in plain words.

    Attributes
    ----------
    outcome : str
        INCOHERENT, LEAK BELOW ALPHA (LEAK for one split), UNDERPOWERED or NO EVIDENCE: the worst over learners and
        lenses.
    exit_status : int
        1, 1, 3 or 0, in that order.
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
    >>> from holdfast.coherence.significance import assess
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> judged = judge(assess(trials, permutations=999), alpha=0.5)
    >>> judged.outcome, judged.exit_status, judged.partial
    ('INCOHERENT', 1, False)
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
        """The groups that are incoherent or that depend on who was released, the worst first."""
        return tuple(f for f in self.findings if f.status == INCOHERENT or f.depends)

    def __str__(self) -> str:
        return self.paragraph

    def __repr__(self) -> str:
        return f"Verdict({self.outcome}{', PARTIAL' if self.partial else ''}, exit status {self.exit_status})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
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


def check_tolerance(alpha: float, beta: float) -> tuple[float, float]:
    """Check the tolerance alpha and the probability with which it may be exceeded, and return both.

    `judge` does this too. Call it before a run of hours, so that a wrong value is found at once.

    Examples
    --------
    >>> check_tolerance(0.2, 0.05)
    (0.2, 0.05)
    """
    return arguments.real("alpha", alpha, above=0, at_most=2), arguments.probability("beta", beta)


def judge(
    found: Significance, alpha: float, beta: float = 0.05, *, level: float = 0.05, alphas: Sequence[float] | None = None
) -> Verdict:
    """Judge an audit at a tolerance alpha that was fixed before the audit.

    For each learner, lens and group the outcome is the first of these that applies:

    - INCOHERENT: the probability of a distance above alpha is larger than beta and larger than the group's noise share
      (the probability that chance alone gives such a distance). The lower Clopper-Pearson limit must show it, at the
      error level `level / (groups x learners x lenses)`. So the probability of any false claim against beta is at most
      `level`.
    - TOO SMALL FOR ALPHA: the noise share exceeds beta. Then a distance above alpha is no evidence about the release.
    - UNDERPOWERED: the floor (the mean distance that chance alone gives) exceeds alpha / 2.
    - LEAK BELOW ALPHA: the omnibus test of the learner and lens, corrected for their number, has a p-value of at most
      `level`. A group is named only if its own p-value, corrected by Holm's method, is at most `level` too.
    - NO EVIDENCE: none of the above. It never means "safe", because other learners and other data are not covered.

    The exit status is 0 only for NO EVIDENCE. An audit is never 0 if something failed, if a group could not be judged
    (for example one declared by name but below the size limit), or if it had too few splits for any finding. Without a
    finding such an audit is UNDERPOWERED. With one split (a release that was made before the audit) the audit never
    finds INCOHERENT, and a leak is reported as LEAK.

    Parameters
    ----------
    found : Significance
        From `significance.assess`.
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
    >>> from holdfast.coherence.significance import assess
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(1200), "ill": rng.integers(0, 2, 1200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=12, seed=1))
    >>> judged = judge(assess(trials, permutations=999), alpha=0.5)
    >>> judged
    Verdict(INCOHERENT, exit status 1)
    >>> judged.findings[0].group, judged.findings[0].above, judged.findings[0].asked
    ('ill = 1', 12, 12)
    """
    alpha, beta = check_tolerance(alpha, beta)
    level = arguments.probability("level", level)
    if alphas is None:
        others = sorted({min(2.0, float(f"{alpha * factor:.6g}")) for factor in _FACTORS})
    else:
        others = [arguments.real("alphas", other, above=0, at_most=2) for other in alphas]
    points = tuple(_point(found, other, beta, level) for other in others)
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
    single = 1 / (found.permutations + 1) if found.mode == "single" else case.least_p
    least = min(1.0, single * found.tests)  # Holm's first step
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
    draft = CaseFinding(
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
    words = case_sentence(draft, len(found.groups), len(found.cases), alpha, level, powerless)
    return CaseFinding(**{**vars(draft), "sentence": words})


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
    "check_tolerance",
    "judge",
]
