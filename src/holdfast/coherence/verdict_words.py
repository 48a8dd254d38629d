"""The sentences of a verdict: each says what was tested, with the numbers of that group alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from holdfast.coherence.significance import MAX_T, NONE, Significance
from holdfast.coherence.verdict_findings import (
    INCOHERENT,
    LEAK,
    LEAK_ONCE,
    TOO_SMALL,
    UNDERPOWERED,
    UNJUDGED,
    CaseFinding,
    GroupFinding,
)


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
    """A group in plain words (wording of section 4.6 of the coherence specification)."""
    if found.mean is None or found.floor is None:
        return ("There is no distance with a floor to hold it against: nothing is said about this group.",)
    said = [_distance(found, mode)]
    if mode == "repeated":
        said.append(_probability(found, alpha, beta, level, tests))
    said += _dependence(found, level, mode)
    if found.status in (TOO_SMALL, UNDERPOWERED) and found.size_needed is not None:
        said.append(
            f"With {found.size:,} members the floor alone is above alpha / 2 = {alpha / 2:.3g}; "
            f"about {found.size_needed:,} members would bring it down to that."
        )
    elif found.status == TOO_SMALL:
        said.append(f"Chance alone exceeds alpha too often here: a distance above {alpha:g} says nothing by itself.")
    return tuple(said)


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
    said = (
        f"In {found.above} of {found.asked} independent random splits the distance exceeded alpha = {alpha:g} in this "
        f"group{gone}; with {1 - level:.0%} confidence, all groups together, the probability is "
    )
    share = "an unknown share" if found.noise_share is None else f"{found.noise_share:.3g}"
    if found.status == INCOHERENT:
        return (
            said + f"at least {found.lower:.3g}, against beta = {beta:g} allowed and {share} explained by group size."
        )
    said += (
        f"at most {found.upper:.3g}, where {share} is explained by group size; other learners and other data are not "
        "covered."
    )
    if found.upper > beta:
        least = splits_without(beta, tests, level)
        few = f": {found.asked} splits are too few for that, {least} is the least" if found.asked < least else ""
        said += f" That the probability is within beta = {beta:g} is not shown{few}."
    return said


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
    """A learner and lens in plain words."""
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
    said = f"{where}: p = {case.omnibus_adjusted:.3g} by {how}, adjusted over {over}; "
    said += "some group depends on the split." if seen else "no dependence on the split was seen."
    if case.noise_share is not None:
        said += (
            f" Some group exceeded alpha = {alpha:g} in {case.above} of {case.asked} splits (probability "
            f"{case.lower:.3g} to {case.upper:.3g}, each limit at {1 - level:.0%}); chance alone does that in a share "
            f"of {case.noise_share:.3g}."
        )
    if case.splits < case.asked:
        said += f" PARTIAL: only {case.splits} of {case.asked} splits gave predictions."
    if powerless and not seen:
        said += f" So few splits could hardly have shown any: the least possible p is {case.least_p:.3g}."
    return said


def paragraph(
    outcome: str,
    findings: Sequence[GroupFinding],
    cases: Sequence[CaseFinding],
    found: Significance,
    alpha: float,
    beta: float,
    level: float,
) -> str:
    """The verdict in one paragraph. Every number of a group stands with that group's name and floor."""
    said = ["PARTIAL RESULT: something failed or was never measured; see the messages."] if found.partial else []
    incoherent = [f for f in findings if f.status == INCOHERENT]
    named = [f for f in findings if f.depends and f.status != INCOHERENT]
    unjudged = list(dict.fromkeys(f.group for f in findings if f.status in UNJUDGED))
    if incoherent:
        worst = incoherent[0]
        others = len({f.group for f in incoherent}) - 1
        said.append(
            f"INCOHERENT: the release lets a predictor treat released and held-out members of {worst.group!r} "
            f"differently by more than alpha = {alpha:g}, more often than beta = {beta:g} and more often than chance."
        )
        said += [_told(worst), _flipped(worst), worst.sentences[1]]
        if others:
            said.append(f"{others} more group{'s are' if others > 1 else ' is'} incoherent too.")
    elif outcome in (LEAK, LEAK_ONCE):
        said.append(
            f"{outcome}: what is predicted depends on who was released" + ("." if outcome == LEAK_ONCE else ",")
        )
        if outcome == LEAK:
            said.append(
                f"but no group was shown to exceed alpha = {alpha:g} more often than beta = {beta:g} and than chance."
            )
        if named:
            said += [_told(named[0]), _flipped(named[0])]
            if outcome == LEAK_ONCE:
                where = "above" if named[0].above else "not above"
                said.append(f"On this split it is {where} alpha = {alpha:g}; how often it is, one split cannot say.")
        else:
            said.append("Some group depends on it; no single one can be named at this level.")
    elif not any(f.measured for f in findings):
        said.append("UNDERPOWERED: nothing was measured, so nothing is known about any group.")
        return " ".join(said)
    elif outcome == UNDERPOWERED:
        said.append("UNDERPOWERED: nothing was found, and this audit could not have found everything it asks about.")
    else:
        said.append(
            f"NO EVIDENCE: in {_counted(len(found.groups), 'group')} no dependence on who was released was seen, and "
            f"no group was shown to exceed alpha = {alpha:g}. This is no proof of coherence: other learners and other "
            "data are not covered."
        )
    if unjudged:
        count, first = len(unjudged), [repr(name) for name in unjudged[:3]]
        listed = ", ".join(first) + (" …" if count > 3 else "")
        said.append(
            f"{count} group{'s' if count > 1 else ''} could not be judged at alpha = {alpha:g} ({listed}): too small, "
            "or not measured."
        )
    if found.too_small:
        said.append(f"{len(found.too_small)} more were below the size limit and not measured.")
    if found.mode == "single":
        said.append(
            "One split only: valid if a uniformly random choice decided who was in the release, and no estimate of any "
            "probability."
        )
    elif outcome != INCOHERENT:
        asked = max(case.asked for case in cases)
        least = 1 - (level / found.tests) ** (1 / asked)
        said.append(
            f"With {_counted(asked, 'split')} no probability of exceeding alpha below {least:.2g} can be excluded for "
            "any group, all together."
        )
    return " ".join(said)


def _counted(many: int, what: str) -> str:
    return f"{many} {what}" if many == 1 else f"{many} {what}s"


def _told(found: GroupFinding) -> str:
    """The distance of a group with its floor, in a sentence that names the group."""
    said = found.sentences[0]
    return (
        f"In {found.group!r} ({found.size:,} members; {found.learner}, lens {found.lens}): {said[0].lower()}{said[1:]}"
    )


def _flipped(found: GroupFinding) -> str:
    """The excess as people: the reading of a distance that needs no mathematics."""
    assert found.excess is not None
    return (
        f"That is as if being released turned the prediction for {max(found.excess, 0.0) / 2:.1%} of its members from "
        "a sure no to a sure yes, or back."
    )


__all__ = ["case_sentence", "group_sentences", "paragraph", "splits_without"]
