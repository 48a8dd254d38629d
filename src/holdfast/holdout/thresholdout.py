"""Thresholdout: answers with the candidate while it agrees with the holdout, with a noisy holdout value when not."""

from __future__ import annotations

from fractions import Fraction

import numpy.typing as npt

from holdfast import check
from holdfast.bounds.exact import left_to_chance
from holdfast.data.values import Rows
from holdfast.errors import InvalidParameter
from holdfast.holdout.noise_scales import NoiseScales, Variant
from holdfast.holdout.threshold_answers import ThresholdAnswers
from holdfast.holdout.threshold_claim import Claim, Method, planned
from holdfast.holdout.threshold_rules import Side, ThresholdRules
from holdfast.holdout.threshold_run import Draws, ThresholdRun
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.grid import Grid


class Thresholdout(ThresholdRun):
    """Figure 1 of Dwork et al. 2015: a holdout that speaks only when the candidate value disagrees with it.

    A question comes with a candidate value, usually the training mean, and with the holdout's values. With
    `gamma ~ Lap(2 sigma)` kept until an overfit and `eta ~ Lap(4 sigma)` fresh for each question: if
    `|holdout mean - candidate| > threshold + gamma + eta`, strictly, the answer is the holdout mean plus a fresh
    `Lap(sigma)`, one unit of the budget is gone and gamma is drawn anew; otherwise the answer is the candidate itself,
    unchanged and free. Noise is drawn in the order of the figure: gamma when the holdout is made; then for each
    question eta, and after an overfit xi, then gamma. When the budget is gone every question is answered with bottom,
    an `Answer` whose value and `passed` are None, and nothing is drawn.

    The whole run is `2B/(sigma n)`-differentially private, so the branch and the remaining budget may be shown. The
    candidate may depend on everything but the holdout. A question asked twice is two questions, unless it has a
    name (`key`).

    What it certifies is in `claim`: with a claim whose parameters satisfy the theorem, every answer carries an interval
    of half-width tau; without, answers are marked `certified=False`. Use `Thresholdout.plan` for parameters that do. At
    ordinary sizes there are none (docs/thresholdout.md): `ReusableHoldout` certifies there.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    threshold : float
        The threshold `T`, in the unit of the answers, at least 0.
    sigma : float
        Laplace scale for answers of range 1; all noise is multiplied by the length of the range.
    budget : int
        Overfits, at least 1.
    side : str
        "two-sided"; "holdout_above" catches holdout mean above the candidate (for losses: training too optimistic);
        "train_above" catches the candidate above the holdout mean (for accuracies). Only that side is caught and only
        that side spends.
    low, high : float
        Range of the values.
    sensitivity : float, optional
        For statistics that are not means: how far replacing one row moves them. Then `low` and `high` are not used and
        the noise is multiplied by `sensitivity * n`.
    clamp : bool
        Clip released values into the range. Post-processing; the answer is then biased near the ends.
    variant : str
        How the same epsilon is divided: "figure-1", "single-threshold" or "numeric-sparse" (`NoiseScales.of`).
    claim : Claim, optional
        The accuracy to certify.
    scales : NoiseScales, optional
        Other noise scales, in the unit of the answers, instead of those of `variant`.
    grid : noise.Grid, optional
        Where noise and statistics lie; by default at least 2048 steps in every scale and in the sensitivity.
    source : noise.Source, optional
        `noise.Seeded` in simulations; the operating system's randomness unless given.
    draws : callable, optional
        Integer noise injected by tests, `draws(scale_in_steps, size or None)`; replaces `source`.

    Notes
    -----
    Noise is exact discrete Laplace on a grid of step `2**k`, and comparisons are comparisons of integers. The mean is
    rounded to the grid, so a row moves its index by at most `ceil((range/n + rounding of sums)/step)` steps, and scales
    are rounded up so that no epsilon exceeds the continuous one; they grow by less than 0.1%. `scales_on_grid` holds
    the integers.

    The sparse-vector run of `mechanisms` is not used, because Figure 1 draws in another order (threshold first and
    again right after the release, where the run draws it with the next question), releases the holdout mean and not the
    value that was compared, and adds eta to the threshold. The scan for the next overfit is shared.

    Time: a question costs the sum over its rows and some microseconds; a batch one vectorised draw and a scan from each
    overfit to the next.

    Examples
    --------
    >>> holdout = Thresholdout(n=10_000, threshold=0.1, sigma=0.001, budget=3)
    >>> holdout.query_means(candidate=0.70, holdout_mean=0.69).value
    0.7
    >>> answer = holdout.query_means(candidate=0.90, holdout_mean=0.60)
    >>> answer.passed, abs(answer.value - 0.60) < 0.05, answer.remaining
    (False, True, {'overfits': 2})
    >>> holdout
    Thresholdout(n=10000, threshold=0.1, budget=3, asked=2, overfits=1)
    >>> holdout.cost
    PureDP(epsilon=0.6)
    """

    def __init__(
        self,
        n: int,
        threshold: float,
        sigma: float,
        budget: int,
        *,
        side: Side = "two-sided",
        low: float = 0.0,
        high: float = 1.0,
        sensitivity: float | Fraction | None = None,
        clamp: bool = False,
        variant: Variant = "figure-1",
        claim: Claim | None = None,
        scales: NoiseScales | None = None,
        grid: Grid | None = None,
        source: Source | None = None,
        draws: Draws | None = None,
    ) -> None:
        rules = ThresholdRules(
            n, threshold, sigma, budget, side, low, high, sensitivity, clamp, variant, claim, scales, grid
        )
        if draws is not None and claim is not None:
            raise InvalidParameter("claim must be left out when noise is injected: no theorem covers it")
        self._begin(rules, resolve(source), draws)
        self._secret = rules.index + self._draws(rules.on_grid.threshold)

    @classmethod
    def plan(
        cls,
        tau: float,
        questions: int,
        budget: int | None = None,
        *,
        confidence: float = 0.95,
        n: int | None = None,
        method: Method = "best",
        low: float = 0.0,
        high: float = 1.0,
        side: Side = "two-sided",
        clamp: bool = False,
        source: Source | None = None,
    ) -> Thresholdout:
        """A holdout whose answers are all within `tau` of the truth, with probability at least `confidence`.

        Parameters
        ----------
        tau : float
            Accuracy of every answer, in the unit of the answers.
        questions : int
            Questions at most; later ones are answered but not certified.
        budget : int, optional
            Overfits. If not given, the most that `n` affords.
        confidence : float
            Probability that no answer is worse.
        n : int, optional
            Rows at hand. If not given, the least that suffices.
        method : str
            "best" (Figure 1, constants of the proof chosen freely), "single-threshold" (one threshold draw for the
            run, which needs about a third of the rows), "theorem-25" (exact constants) or "paper" (printed ones).
        low, high, side, clamp, source
            As for `Thresholdout`.

        Raises
        ------
        GuaranteeUnavailable
            When `n` rows are too few; the message says how many suffice.

        Examples
        --------
        >>> holdout = Thresholdout.plan(tau=0.1, questions=1000, budget=10)
        >>> holdout.n, holdout.certified
        (1737317, True)
        >>> print(holdout.query_means(0.7, 0.72).interval)
        (0.6, 0.7999999999999999)
        >>> Thresholdout.plan(tau=0.1, questions=1000, budget=10, method="single-threshold").n
        515506
        >>> Thresholdout.plan(tau=0.1, questions=1000, budget=10, n=10_000)
        Traceback (most recent call last):
        ...
        holdfast.errors.GuaranteeUnavailable: 10000 rows are too few for Thresholdout to certify 0.1 at 95% for 1000 ...
        """
        beta = left_to_chance(check.probability("confidence", confidence))
        found = planned(tau, beta, questions, budget, n, method, low, high)
        return cls(
            found.n,
            found.threshold,
            found.sigma,
            found.budget,
            side=side,
            low=low,
            high=high,
            clamp=clamp,
            variant="figure-1" if found.scales is None else "single-threshold",
            scales=found.scales,
            claim=found.claim,
            source=source,
        )

    # Questions --------------------------------------------------------------------------------------------------------

    def query(
        self, train_values: Rows, holdout_values: Rows, *, train_n: int | None = None, key: str | None = None
    ) -> Answer:
        """Ask for the mean of a function, given its values on the training and on the holdout rows.

        Parameters
        ----------
        train_values : array
            One number a training row, in the range.
        holdout_values : array or iterator of chunks
            One number a holdout row, in the range; `n` in all.
        train_n : int, optional
            Number of training rows, needed only if `train_values` is an iterator of chunks.
        key : str, optional
            A name for the question. Asked again under the same name it gets the same answer, free, also when the
            budget is gone; without a name the same question is a new one.

        Returns
        -------
        Answer
            `passed` is True where the candidate stands, False after an overfit, None for bottom.

        Examples
        --------
        >>> holdout = Thresholdout(n=4, threshold=0.5, sigma=0.001, budget=1)
        >>> holdout.query([1, 0, 1, 1, 1], [1, 1, 0, 1]).value
        0.8
        """
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.mean(train_values, train_n, "train_values")
        return self._ask(candidate, self._rules.mean(holdout_values, self.n, "holdout_values"), key)

    def query_values(self, candidate: float, holdout_values: Rows, *, key: str | None = None) -> Answer:
        """Ask with any candidate value: a training mean, a cross-validation score, a guess; never from the holdout."""
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.number("candidate", candidate)
        return self._ask(candidate, self._rules.mean(holdout_values, self.n, "holdout_values"), key)

    def query_means(self, candidate: float, holdout_mean: float, *, key: str | None = None) -> Answer:
        """Ask with the holdout's value computed elsewhere; with `sensitivity`, any statistic of the holdout."""
        if (known := self._recall(key)) is not None:
            return known
        candidate = self._rules.number("candidate", candidate)
        return self._ask(candidate, self._rules.number("holdout_mean", holdout_mean, hide=True), key)

    def query_batch(self, candidates: npt.ArrayLike, holdout: npt.ArrayLike) -> ThresholdAnswers:
        """Ask many questions at once, with the law of asking them one after the other.

        Comparison noise is drawn for the whole batch; then, from each overfit to the next, one scan.

        Parameters
        ----------
        candidates : array of float
            One candidate a question.
        holdout : array of float
            One holdout mean a question, or one row a question with a value for each of the `n` holdout rows.

        Examples
        --------
        >>> holdout = Thresholdout(n=10_000, threshold=0.04, sigma=0.0005, budget=1)
        >>> answers = holdout.query_batch([0.7, 0.9, 0.6], [0.7, 0.6, 0.6])
        >>> answers.overfit.tolist(), answers.answered, [a.passed for a in answers]
        ([False, True, False], 2, [True, False, None])
        """
        guesses = self._rules.numbers("candidates", candidates)
        means = self._rules.means(holdout, len(guesses))
        return self._ask_all(guesses, means)

    def __repr__(self) -> str:
        rules = self._rules
        return (
            f"{type(self).__name__}(n={rules.n}, threshold={rules.threshold:g}, budget={rules.budget}, "
            f"asked={self._asked}, overfits={rules.budget - self._left})"
        )


__all__ = ["Draws", "Thresholdout"]
