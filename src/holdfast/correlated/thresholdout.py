"""Algorithm 1 of Zhao 2017: Thresholdout for dependent records, with noise scales sigma, 2 sigma and 4 sigma."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from holdfast import check
from holdfast.bounds.correlated.algorithm1 import DWORK, ZHAO, NoiseRatios, run_parameters
from holdfast.bounds.correlated.question import least_records
from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.bounds.exact import left_to_chance
from holdfast.correlated.threshold_rules import CorrelatedRules
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.noise_scales import NoiseScales
from holdfast.holdout.threshold_claim import Claim
from holdfast.holdout.threshold_rules import Side, ThresholdRules
from holdfast.holdout.threshold_run import Draws
from holdfast.holdout.thresholdout import Thresholdout
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.grid import Grid

Profile = Literal["zhao", "dwork"]
PROFILES: dict[str, NoiseRatios] = {"zhao": ZHAO, "dwork": DWORK}
#: Noise on the grid is larger by less than this; a plan asks for that much less, and for that many more rows.
_GRID_ROOM = 2.0**-9


class CorrelatedThresholdout(Thresholdout):
    """Algorithm 1: a holdout of dependent records that speaks only when the training value disagrees with it.

    The rule is Thresholdout's with other noise: with `T_hat = T + Lap(sigma)` kept until an overruling and a fresh
    `gamma ~ Lap(2 sigma)` for each question, the answer is the training value unless
    `|holdout - training| + gamma > T_hat`, strictly; then it is the holdout value plus `Lap(4 sigma)`, one unit of the
    budget is gone and `T_hat` is drawn anew. After the last unit every answer is bottom. The whole run is
    `9 B/(4 sigma n)`-differentially private (printed, verified).

    What it says about dependent records needs their quilts (`QuiltTerms`: nearby records, influence, colours), which
    `DependenceModel` objects compute: `epsilon_bdp` is its Bayesian differential privacy. With a `claim` whose
    parameters satisfy Theorem 2, repaired, every answer carries an interval of half-width tau; otherwise answers are
    marked `certified=False` and say "heuristic". At ordinary sizes no parameters do: the theorem asks for millions of
    rows. `DependentHoldout` certifies there.

    Parameters
    ----------
    n : int
        Records in the holdout.
    threshold : float
        `T`. On correlated records `4/sqrt(n)`, tuned on independent ones, lets the holdout overfit: take
        `holdfast.bounds.correlated.recommended_threshold` with the variance inflation and the number of questions.
    sigma : float
        Laplace scale for answers of range 1.
    budget : int
        Overrulings, at least 1.
    quilt : QuiltTerms, optional
        What the declared model says about every record's quilt. Needed for a claim.
    claim : Claim, optional
        The accuracy to certify. Only means are covered.
    profile : str
        "zhao": 1, 2, 4 times sigma for threshold, comparison, release. "dwork": 2, 4, 1, at `2 B/(sigma n)`.
    scales : NoiseScales, optional
        Other scales, instead of those of `profile`.
    side, low, high, sensitivity, clamp, grid, source, draws
        As for `Thresholdout`.

    Notes
    -----
    Noise is drawn as `Thresholdout` draws it: the release before the new threshold, and gamma on the threshold's side,
    which for a symmetric noise is the same law. Injected comparison draws (tests) therefore have the opposite sign of
    the printed gamma.

    Examples
    --------
    >>> holdout = CorrelatedThresholdout(n=5000, threshold=0.075, sigma=0.01, budget=10)
    >>> holdout.cost, holdout.certified
    (PureDP(epsilon=0.45), False)
    >>> print(holdout.query_means(0.52, 0.50).guarantee.assumption)
    heuristic: the run is private, but no accuracy is certified on these records; DependentHoldout certifies at ordinary
    sizes
    """

    _rules_type: ClassVar[type[ThresholdRules]] = CorrelatedRules
    _rules: CorrelatedRules

    def __init__(
        self,
        n: int,
        threshold: float,
        sigma: float,
        budget: int,
        *,
        quilt: QuiltTerms | None = None,
        claim: Claim | None = None,
        profile: Profile = "zhao",
        scales: NoiseScales | None = None,
        side: Side = "two-sided",
        low: float = 0.0,
        high: float = 1.0,
        sensitivity: float | Fraction | None = None,
        clamp: bool = False,
        grid: Grid | None = None,
        source: Source | None = None,
        draws: Draws | None = None,
    ) -> None:
        if draws is not None and claim is not None:
            raise InvalidParameter("claim must be left out when noise is injected: no theorem covers it")
        ratios = PROFILES[check.choice("profile", profile, PROFILES)]
        bare = ThresholdRules(n, threshold, sigma, budget, low=low, high=high, sensitivity=sensitivity)
        if scales is None:
            base = bare.sigma * bare.unit
            scales = NoiseScales(ratios.threshold * base, ratios.comparison * base, ratios.release * base)
        rules = CorrelatedRules(
            n, threshold, sigma, budget, side, low, high, sensitivity, clamp, "figure-1", claim, scales, grid, quilt
        )
        self._begin(rules, resolve(source), draws)
        self._secret = rules.index + self._draws(rules.on_grid.threshold)

    @classmethod
    def plan(  # type: ignore[override]  # dependent records need their quilts to be declared
        cls,
        tau: float,
        questions: int,
        budget: int,
        *,
        confidence: float = 0.95,
        quilt: QuiltTerms | Sequence[QuiltTerms],
        n: int | None = None,
        split: float = 0.5,
        side: Side = "two-sided",
        low: float = 0.0,
        high: float = 1.0,
        clamp: bool = False,
        source: Source | None = None,
    ) -> CorrelatedThresholdout:
        """A run whose answers are all within `tau` of the truth, with probability at least `confidence = 1 - beta`.

        Theorem 2 of Zhao 2017: `sigma = (1-c) tau/(12 ln(4m/beta))`, `T = (1+c) tau/2`, with the repaired Theorem 1 at
        `(1-c) tau/4` and the exact union bound for the noise. The guarantee covers the questions that are answered;
        the budget lasts while the training data were overfitted by `c tau` fewer than `budget` times.

        Parameters
        ----------
        tau : float
            Accuracy of every answer.
        questions, budget : int
            Questions `m` and overrulings `B`, at most as many.
        confidence : float
            Probability that no answer is worse.
        quilt : QuiltTerms or list of them
            What the declared model says about every record's quilt (`MarkovChain.terms`); of several the one that needs
            fewest records is taken.
        n : int, optional
            Records at hand. If not given, the least that suffices, to a fraction of a per cent.
        split : float
            The constant `c` in (0, 1).
        side, low, high, clamp, source
            As for `Thresholdout`.

        Raises
        ------
        GuaranteeUnavailable
            No number of records suffices, or `n` are too few; the message says how many are enough.

        Examples
        --------
        >>> run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms())
        >>> run.certified, run.query_means(0.7, 0.72).interval
        (True, (0.6, 0.7999999999999999))
        >>> CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms(1, 3.58))
        Traceback (most recent call last):
        ...
        holdfast.errors.GuaranteeUnavailable: no number of records is enough for Algorithm 1 to certify 0.1: ...
        """
        low, high = check.value_range(low, high)
        unit, beta = high - low, left_to_chance(check.probability("confidence", confidence))
        quilts = tuple(quilt) if isinstance(quilt, Iterable) else (quilt,)
        if not quilts or not all(isinstance(one, QuiltTerms) for one in quilts):
            raise InvalidParameter("quilt must be QuiltTerms, or a list of them")
        found = run_parameters(check.real("tau", tau, above=0) / unit, beta, questions, budget, split)
        sigma = found.sigma * (1 - _GRID_ROOM)
        needed = [least_records(budget, sigma, found.tau, found.beta, one) for one in quilts]
        least, known = min(zip(needed, quilts, strict=True), key=lambda pair: pair[0])
        if not math.isfinite(least) or least > 10**15:
            raise GuaranteeUnavailable(
                f"no number of records is enough for Algorithm 1 to certify {tau:g}: influence {known.influence:g} is "
                f"too strong for it (a question must keep {found.tau:.4g}); use quilts that reach farther, or "
                "DependentHoldout"
            )
        enough = math.ceil(least * (1 + _GRID_ROOM))
        rows = enough if n is None else check.whole("n", n, at_least=1, at_most=10**15)
        run = cls(
            rows,
            found.threshold * unit,
            sigma,
            budget,
            quilt=known,
            claim=Claim(tau, beta, questions),
            side=side,
            low=low,
            high=high,
            clamp=clamp,
            source=source,
        )
        if not run.certified:
            raise GuaranteeUnavailable(
                f"{rows} records are too few for Algorithm 1 to certify {tau:g} at {100 * (1 - beta):.6g}% for "
                f"{questions} questions and {budget} overrulings: it needs about {enough}; "
                "DependentHoldout needs far fewer"
            )
        return run

    @property
    def quilt(self) -> QuiltTerms | None:
        """What was declared about the records' quilts."""
        return self._rules.quilt

    @property
    def epsilon_bdp(self) -> float:
        """Bayesian differential privacy of the whole run under the declared quilts; infinite where none is declared."""
        return self._rules.epsilon_bdp

    @property
    def failure(self) -> float:
        """Probability that some answer misses the claim; 1 where nothing is claimed or proved."""
        return self._rules.failure


__all__ = ["PROFILES", "CorrelatedThresholdout", "Profile"]
