"""Thresholdout for dependent records (Algorithm 1 of Zhao 2017), with noise scales sigma, 2 sigma and 4 sigma."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.bounds.correlated.thresholdout import DWORK, ZHAO, NoiseRatios, least_records, log_failure, run_parameters
from holdfast.bounds.numerics.exact import down, left_to_chance, up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.holdout.thresholdout import Claim, Draws, NoiseScales, Side, Thresholdout, ThresholdRules
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.grid import Grid

#: Steps that the grid may add to what is compared or released, as for independent rows (`holdout.thresholdout`).
_ROUNDING_STEPS = 4
_RESTS_ON = "mean questions; training rows independent of the holdout; the declared quilts"
_HEURISTIC = (
    "heuristic: the run is private, but no accuracy is certified on these records; DependentHoldout certifies at "
    "ordinary sizes"
)


@dataclass(frozen=True)
class CorrelatedRules(ThresholdRules):
    """Parameters of a run of Algorithm 1, with what is known about the quilts of its records.

    Examples
    --------
    >>> from holdfast.holdout.thresholdout import NoiseScales
    >>> scales = NoiseScales(0.01, 0.02, 0.04)
    >>> rules = CorrelatedRules(5000, 0.075, 0.01, 10, scales=scales, quilt=QuiltTerms(9, 0.002))
    >>> rules.cost, round(rules.epsilon_bdp, 9), rules.certified
    (PureDP(epsilon=0.45), 4.054, False)
    """

    quilt: QuiltTerms | None = None

    def __post_init__(self) -> None:
        if self.quilt is not None and not isinstance(self.quilt, QuiltTerms):
            raise InvalidParameter(f"quilt must be QuiltTerms or None, got a {type(self.quilt).__name__}")
        if self.claim is not None and self.quilt is None:
            raise InvalidParameter(
                "claim must be None if no quilt is declared, because then nothing is known about the dependence of "
                "the records"
            )
        if self.claim is not None and self.sensitivity is not None:
            raise InvalidParameter(
                "claim must be None if a sensitivity is declared, because for dependent records only means are covered"
            )
        super().__post_init__()

    @property
    def epsilon_bdp(self) -> float:
        """Bayesian differential privacy of the whole run under the declared quilts, `K epsilon + w`."""
        if self.quilt is None:
            return math.inf
        return self.quilt.epsilon_bdp(self.cost.epsilon)

    @cached_property
    def certified(self) -> bool:
        """Whether the claim holds by `failure`."""
        return self.claim is not None and self.claim.certified and self.failure <= self.claim.beta

    @cached_property
    def failure(self) -> float:
        """Probability that some answer among the claimed questions is off by the claimed `tau`; rounded up.

        Zhao 2017, Theorem 2, with Theorem 1 as repaired and with the noise that is drawn, grid included. Write
        `tau' = (tau - T)/2` for how far a question's holdout value may be from the truth. A passing answer is within
        `T`, one threshold draw, one comparison draw and `tau'` of the truth; a released one within its draw and `tau'`.
        Threshold and comparison share `tau - T - tau'` in proportion to their scales, at most `B` threshold and release
        draws and `m` comparison draws are used, and every one of the `m` questions must generalise. With Theorem 2's
        `T` and `sigma` the allowances are those of its proof. Derived.
        """
        if self.claim is None or self.quilt is None:
            return 1.0
        unit, scales = self.unit, self.on_grid.realised
        tau, threshold = self.claim.tau / unit, self.threshold / unit
        room = down((tau - threshold) / 2)
        slack = _ROUNDING_STEPS * float(self.on_grid.grid.step) / unit
        if not 0 < room < 1 or not room > slack or self.claim.questions < self.budget:
            return 1.0
        between = down((room - slack) / ((scales.threshold + scales.comparison) / unit), 8)
        last = down((tau - room - slack) / (scales.release / unit), 8)
        noise = (self.budget + self.claim.questions) * exp_up(-between) + self.budget * exp_up(-last)
        # Algorithm 1 with this sigma costs at least what this run costs.
        sigma = down(9 * self.budget / (4 * self.n * self.cost.epsilon), 16)
        each = exp_up(log_failure(self.n, self.budget, sigma, room, self.quilt))
        return min(1.0, up(noise + self.claim.questions * each, 16))

    @cached_property
    def _guarantees(self) -> dict[bool, Guarantee]:
        public: dict[str, Any] = {"n": self.n, "threshold": self.threshold, "sigma": self.sigma, "budget": self.budget}
        if self.quilt is not None:
            public["epsilon_bdp"] = self.epsilon_bdp
        guarantees = {False: Guarantee("correlated.algorithm-1-epsilon", public, _HEURISTIC, certified=False)}
        if self.claim is not None and self.quilt is not None:
            wanted = {"tau": self.claim.tau, "beta": self.claim.beta, "questions": self.claim.questions}
            terms = self.quilt.to_dict()
            terms["blanket"] = terms.pop("size")
            guarantees[True] = Guarantee("correlated.holdout-size", wanted | public | terms, _RESTS_ON)
        return guarantees

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, which `from_dict` reads back exactly."""
        return super().to_dict() | {"quilt": None if self.quilt is None else self.quilt.to_dict()}

    @classmethod
    def from_dict(cls, plain: Any) -> Self:
        """Return the rules that `to_dict()` described."""
        if not isinstance(plain, dict) or "quilt" not in plain:
            raise InvalidParameter("parameters must be what CorrelatedRules.to_dict() returned")
        claim, quilt = plain["claim"], plain["quilt"]
        bare = super().from_dict(plain | {"quilt": None, "claim": None})
        if claim is None and quilt is None:
            return bare
        from holdfast.holdout.thresholdout import Claim

        return replace(
            bare,
            quilt=None if quilt is None else QuiltTerms(**quilt),
            claim=None if claim is None else Claim(**claim),
        )


Profile = Literal["zhao", "dwork"]
PROFILES: dict[str, NoiseRatios] = {"zhao": ZHAO, "dwork": DWORK}
#: Noise on the grid is larger by less than this; a plan asks for that much less, and for that many more rows.
_GRID_ROOM = 2.0**-9


class CorrelatedThresholdout(Thresholdout):
    """Algorithm 1 of Zhao 2017: Thresholdout for dependent records.

    The answer to a question is its training value, unless the holdout value differs from it by more than a noisy
    threshold. Then the training value is overruled: the answer is the holdout value plus noise, and one unit of the
    budget `B` is used. When the budget is used up, questions get no answer. The whole run is `9 B/(4 sigma
    n)`-differentially private.

    To say something about dependent records, the algorithm needs bounds on their Markov quilts (`QuiltTerms`), which
    `DependenceModel` objects compute. `epsilon_bdp` is the run's Bayesian differential privacy. If `claim` has
    parameters that satisfy the repaired Theorem 2, every answer carries an interval of half-width tau. Otherwise
    answers are marked `certified=False` and "heuristic". At ordinary sizes there are no such parameters, because the
    theorem needs millions of rows; use `DependentHoldout` there.

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
    The rule is Thresholdout's with other noise: with `T_hat = T + Lap(sigma)` kept until an overruling and a
    fresh `gamma ~ Lap(2 sigma)` for each question, the answer is the training value unless `|holdout - training|
    + gamma > T_hat`, strictly; then it is the holdout value plus `Lap(4 sigma)`, one unit of the budget is gone
    and `T_hat` is drawn anew. After the last unit every answer is bottom. The privacy of the run is printed,
    verified.

    Noise is drawn as `Thresholdout` draws it: the release before the new threshold, and gamma on the threshold's side,
    which for a symmetric noise is the same distribution. Injected comparison draws (tests) therefore have the opposite
    sign of the printed gamma.

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
            raise InvalidParameter(
                "claim must be left out if the noise is given by hand, because no theorem covers such noise"
            )
        ratios = PROFILES[arguments.choice("profile", profile, PROFILES)]
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
        """Return a run whose answers are all within `tau` of their population values with probability at least
        `confidence`.

        The guarantee is for the questions that get an answer. The budget lasts as long as the training data were
        overfitted by `c tau` for fewer than `budget` questions.

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

        Notes
        -----
        Theorem 2 of Zhao 2017: `sigma = (1-c) tau/(12 ln(4m/beta))`, `T = (1+c) tau/2`, with `beta = 1 -
        confidence`, the repaired Theorem 1 at `(1-c) tau/4` and the exact union bound for the noise.

        Examples
        --------
        >>> run = CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms())
        >>> run.certified, run.query_means(0.7, 0.72).interval
        (True, (0.6, 0.7999999999999999))
        >>> CorrelatedThresholdout.plan(0.1, 1000, 10, quilt=QuiltTerms(1, 3.58))
        Traceback (most recent call last):
        ...
        holdfast.errors.GuaranteeUnavailable: no number of records is enough for Algorithm 1 (Thresholdout) to ...
        """
        low, high = arguments.value_range(low, high)
        unit, beta = high - low, left_to_chance(arguments.probability("confidence", confidence))
        quilts = tuple(quilt) if isinstance(quilt, Iterable) else (quilt,)
        if not quilts or not all(isinstance(terms, QuiltTerms) for terms in quilts):
            raise InvalidParameter("quilt must be QuiltTerms, or a list of them")
        parameters = run_parameters(arguments.real("tau", tau, above=0) / unit, beta, questions, budget, split)
        sigma = parameters.sigma * (1 - _GRID_ROOM)
        needed = [least_records(budget, sigma, parameters.tau, parameters.beta, terms) for terms in quilts]
        least, known = min(zip(needed, quilts, strict=True), key=lambda pair: pair[0])
        if not math.isfinite(least) or least > 10**15:
            raise GuaranteeUnavailable(
                f"no number of records is enough for Algorithm 1 (Thresholdout) to certify {tau:g}: the influence "
                f"{known.influence:g} is too strong for it, because each question must keep the error "
                f"{parameters.tau:.4g}; use Markov quilts that reach farther, or DependentHoldout"
            )
        enough = math.ceil(least * (1 + _GRID_ROOM))
        rows = enough if n is None else arguments.whole("n", n, at_least=1, at_most=10**15)
        run = cls(
            rows,
            parameters.threshold * unit,
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
                f"{rows} records are too few for Algorithm 1 (Thresholdout) to certify {tau:g} at "
                f"{100 * (1 - beta):.6g}% for {questions} questions and {budget} overrulings: it needs about {enough}; "
                "DependentHoldout needs far fewer"
            )
        return run

    @property
    def quilt(self) -> QuiltTerms | None:
        """The bounds that were declared on the Markov quilts of the records, or None.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        return self._rules.quilt

    @property
    def epsilon_bdp(self) -> float:
        """The level of Bayesian differential privacy of the whole run under the declared Markov quilts.

        If no quilts are declared, it is infinite.
        """
        return self._rules.epsilon_bdp

    @property
    def failure(self) -> float:
        """The probability that some answer misses the claim; 1 if nothing is claimed or nothing is proved."""
        return self._rules.failure
