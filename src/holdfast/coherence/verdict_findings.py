"""What a verdict says of one group, of one learner through one lens, and at another alpha."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

EXIT_STATUS = {NO_EVIDENCE: 0, LEAK: 1, LEAK_ONCE: 1, INCOHERENT: 2, UNDERPOWERED: 3}
"""Exit status of each outcome; 64 is kept for wrong usage."""

UNJUDGED = (TOO_SMALL, UNDERPOWERED, NOT_MEASURED)
"""A group with one of these was not judged at alpha: without a finding the audit does not pass."""


@dataclass(frozen=True)
class GroupFinding:
    """One group, one learner, one lens: every number is this group's own. None: not known.

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
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence.verdict import verdict
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> judged = verdict(significance(trials, permutations=999), alpha=0.5)
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
        """Plain data."""
        return dict(vars(self)) | {"sentences": list(self.sentences)}


@dataclass(frozen=True)
class CaseFinding:
    """One learner through one lens: the outcome over its groups, its omnibus test, and the bit of the definition.

    `above` counts splits in which some group exceeded alpha, `noise_share` how often chance alone does that to the same
    predictors, and `lower` and `upper` are Clopper-Pearson limits of the failure probability of the definition, for all
    learners and lenses together. With small groups chance alone fails the definition: so the outcome does not rest on
    this count but on each group by itself.
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
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class AlphaPoint:
    """The outcome had alpha been this: a description. The verdict holds for the alpha that was fixed beforehand.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.coherence.significance import significance
    >>> from holdfast.coherence.verdict import verdict
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill", equals=1), splits=12, seed=1))
    >>> judged = verdict(significance(trials, permutations=999), alpha=0.5)
    >>> [point.outcome for point in judged.sensitivity][::3]
    ['INCOHERENT', 'INCOHERENT', 'LEAK BELOW ALPHA']
    """

    alpha: float
    outcome: str
    incoherent: tuple[str, ...]
    unjudged: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self)) | {"incoherent": list(self.incoherent)}


__all__ = [
    "EXIT_STATUS",
    "INCOHERENT",
    "LEAK",
    "LEAK_ONCE",
    "NOT_MEASURED",
    "NO_EVIDENCE",
    "TOO_SMALL",
    "UNDERPOWERED",
    "UNJUDGED",
    "AlphaPoint",
    "CaseFinding",
    "GroupFinding",
]
