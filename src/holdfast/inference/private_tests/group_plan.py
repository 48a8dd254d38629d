"""How many groups, and at which level in each: the plan of a Test of Tests, made before the data are seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.noisy_binomial import acceptance
from holdfast.inference.private_tests.tulap import Tulap
from holdfast.noise.inputs import Rational

GROUP_ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Levels that the planner tries inside a group."""

MOST_GROUPS = 10_000
_STEPS = 24  # numbers of groups that the planner tries


@dataclass(frozen=True)
class GroupPlan:
    """The plan of a Test of Tests. It depends on n and on what is looked for, never on the records.

    Attributes
    ----------
    n : int
        Records (the smallest sample, where there are several).
    groups : int
        Into how many groups they are dealt.
    group_alpha : float
        The level at which the public test runs in each group.
    epsilon, delta, alpha : float
        The cost and the level of the whole.
    group_power, power, public_power : float
        What was planned for: the power in one group, of the whole test, and of the public test on all records at
        alpha. NaN where nothing was planned.
    effect : float or None
        The smallest effect a record, in standard deviations, that reaches the planner's target; None where the caller
        gave a power of its own.

    Examples
    --------
    >>> print(plan_groups(2000, epsilon=1))
    10 groups of 200 or more, each tested at 0.15: power 0.80 for an effect of 0.121 standard deviations, where the
    public test on all 2000 records has 1.00
    """

    n: int
    groups: int
    group_alpha: float
    epsilon: float
    delta: float
    alpha: float
    group_power: float
    power: float
    public_power: float
    effect: float | None = None

    def __post_init__(self) -> None:
        check.whole("n", self.n, at_least=1)
        check.whole("groups", self.groups, at_least=1, at_most=min(self.n, MOST_GROUPS))
        check.probability("group_alpha", self.group_alpha)
        check.probability("alpha", self.alpha)
        Tulap(self.epsilon, self.delta)

    @property
    def group_size(self) -> int:
        """Records in the smallest group."""
        return self.n // self.groups

    def to_dict(self) -> dict[str, Any]:
        """Plain data; None where nothing was planned."""
        return {name: None if value != value else value for name, value in asdict(self).items()}

    def __str__(self) -> str:
        what = "" if self.effect is None else f" for an effect of {self.effect:.3g} standard deviations"
        return (
            f"{self.groups} groups of {self.group_size} or more, each tested at {self.group_alpha:g}: power "
            f"{self.power:.2f}{what}, where the\npublic test on all {self.n} records has {self.public_power:.2f}"
        )


def plan_groups(
    n: int,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    alpha: float = 0.05,
    power: Callable[[int, float], float] | None = None,
    df: int = 1,
    target: float = 0.8,
    smallest_group: int = 10,
) -> GroupPlan:
    """Choose the number of groups and the level in each before the data (Kazan, Shi, Groce and Bray 2023).

    For each pair the power of the whole is exact: `sum_x Bin(x; m, beta) phi(x)`, where `beta` is the power of the
    public test in one group and `phi` the most powerful private test of `Bin(m, group_alpha)`. The best pair is taken.

    Parameters
    ----------
    n : int
        Records; of the smallest sample where there are several.
    epsilon, delta, alpha
        The cost and the level of the whole test.
    power : callable, optional
        `power(size, level)` of the public test in one group, at the alternative that matters to you; from a formula or
        from simulation on made-up data. Without it, that of a chi-square test with `df` degrees of freedom and
        noncentrality `size * effect**2` (a two-sided z-test for `df=1`), at the smallest effect that reaches `target`.
    df : int
        Degrees of freedom of the default power.
    target : float
        Power that fixes the effect of the default.
    smallest_group : int
        Groups are at least this large. The public test must hold its level at that size.

    Returns
    -------
    GroupPlan
        Time: about 0.2 s.

    Examples
    --------
    >>> plan = plan_groups(1000, epsilon=1, power=lambda size, level: min(1.0, level + 0.004 * size))
    >>> plan.groups, plan.group_alpha, round(plan.power, 3)
    (4, 0.01, 0.911)
    """
    n = check.whole("n", n, at_least=1)
    alpha, target = check.probability("alpha", alpha), check.probability("target", target)
    smallest_group, df = check.whole("smallest_group", smallest_group, at_least=1), check.whole("df", df, at_least=1)
    noise = Tulap(epsilon, delta)
    most = min(n // smallest_group, MOST_GROUPS)
    if most < 1:
        raise InvalidParameter(f"n must be at least smallest_group = {smallest_group}, got {n}")
    counts = sorted({round(m) for m in np.geomspace(1, most, _STEPS)})
    table = [(m, a, acceptance(m, a, alpha, noise)) for m in counts for a in GROUP_ALPHAS]

    def best(of: Callable[[int, float], float]) -> tuple[float, float, int, float]:
        found = (-1.0, 0.0, 1, 0.5)
        for m, level, phi in table:
            beta = check.probability("power", of(n // m, level), zero=True, one=True)
            whole = float(_binomial(m, beta) @ phi)
            if whole > found[0]:
                found = (whole, beta, m, level)
        return found

    effect = None
    if power is None:
        effect = _smallest_effect(best, target, n, df)
        power = _chi_square_power(effect, df)
    whole, beta, m, level = best(power)
    spent = {"epsilon": float(noise.epsilon), "delta": float(noise.delta)}
    return GroupPlan(
        n, m, level, **spent, alpha=alpha, group_power=beta, power=whole, public_power=power(n, alpha), effect=effect
    )


def whole_power(
    groups: int, group_alpha: float, group_power: float, *, epsilon: Rational, delta: Rational = 0, alpha: float = 0.05
) -> float:
    """Exact power of a Test of Tests whose public test rejects in each group with probability `group_power`.

    With `group_power` equal to the true level in a group it is the true level of the whole: see what an approximate
    public test does to it.

    Examples
    --------
    A chi-square test with groups of five that rejects with .414 where .3 is claimed (spec 8, reviewed):

    >>> round(whole_power(40, 0.3, 0.3, epsilon=1), 6), round(whole_power(80, 0.3, 0.414, epsilon=1), 2)
    (0.05, 0.66)
    """
    groups = check.whole("groups", groups, at_least=1, at_most=MOST_GROUPS)
    level, alpha = check.probability("group_alpha", group_alpha), check.probability("alpha", alpha)
    beta = check.probability("group_power", group_power, zero=True, one=True)
    return float(_binomial(groups, beta) @ acceptance(groups, level, alpha, Tulap(epsilon, delta)))


def _smallest_effect(
    best: Callable[[Callable[[int, float], float]], tuple[float, float, int, float]], target: float, n: int, df: int
) -> float:
    """The effect at which the best plan just reaches the target, to one part in a thousand; an infinite one may not."""
    high = 1.0 / math.sqrt(n)
    while best(_chi_square_power(high, df))[0] < target:
        high *= 2
        if high > 1e4:
            raise InvalidParameter(
                f"target must be within reach: {target:g} is not, at any effect, with so few records and this epsilon"
            )
    low = high / 2
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if best(_chi_square_power(middle, df))[0] >= target else (middle, high)
    return high


def _chi_square_power(effect: float, df: int) -> Callable[[int, float], float]:
    from scipy.special import chdtri, chndtr

    def power(size: int, level: float) -> float:
        return float(min(max(1 - chndtr(chdtri(df, level), df, size * effect**2), 0.0), 1.0))

    return power


def _binomial(m: int, theta: float) -> NDArray[np.float64]:
    from scipy.stats import binom

    with np.errstate(under="ignore"):
        masses: NDArray[np.float64] = binom.pmf(np.arange(m + 1), m, theta)
    return masses


__all__ = ["GROUP_ALPHAS", "GroupPlan", "plan_groups", "whole_power"]
