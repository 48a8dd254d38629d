"""Any test made private: deal the records into groups, run the public test in each, count rejections privately.

Kazan, Shi, Groce and Bray 2023, *The Test of Tests*. It is the fallback: it needs several times the records of a test
that was made private for its own statistic, and works for every test there is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.binomial_test import (
    Tulap,
    acceptance,
    critical_count,
    noisy_p_value,
    release_count,
    source_warning,
)
from holdfast.inference.private_tests.monte_carlo import generator, rejects
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

GROUP_ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Levels that the planner tries inside a group."""

MOST_GROUPS = 10_000
_STEPS = 24  # numbers of groups that the planner tries


@dataclass(frozen=True)
class GroupPlan:
    """The plan of a Test of Tests. It depends on the number of records and on the effect to find, never on the
    records.

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
        arguments.whole("n", self.n, at_least=1)
        arguments.whole("groups", self.groups, at_least=1, at_most=min(self.n, MOST_GROUPS))
        arguments.probability("group_alpha", self.group_alpha)
        arguments.probability("alpha", self.alpha)
        Tulap(self.epsilon, self.delta)

    @property
    def group_size(self) -> int:
        """The number of records in the smallest group."""
        return self.n // self.groups

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. Numbers that were not planned are None."""
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
    """Choose, before the data are seen, the number of groups of a Test of Tests and the level in each group.

    The pair of numbers with the largest power is chosen. The power is computed exactly.

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

    Notes
    -----
    Kazan, Shi, Groce and Bray 2023. For each pair the power of the whole is `sum_x Bin(x; m, beta) phi(x)`, where
    `beta` is the power of the public test in one group and `phi` the most powerful private test of `Bin(m,
    group_alpha)`.

    Examples
    --------
    >>> plan = plan_groups(1000, epsilon=1, power=lambda size, level: min(1.0, level + 0.004 * size))
    >>> plan.groups, plan.group_alpha, round(plan.power, 3)
    (4, 0.01, 0.911)
    """
    n = arguments.whole("n", n, at_least=1)
    alpha, target = arguments.probability("alpha", alpha), arguments.probability("target", target)
    smallest_group, df = (
        arguments.whole("smallest_group", smallest_group, at_least=1),
        arguments.whole("df", df, at_least=1),
    )
    noise = Tulap(epsilon, delta)
    most = min(n // smallest_group, MOST_GROUPS)
    if most < 1:
        raise InvalidParameter(f"n must be at least smallest_group = {smallest_group}, got {n}")
    counts = sorted({round(m) for m in np.geomspace(1, most, _STEPS)})
    table = [(m, a, acceptance(m, a, alpha, noise)) for m in counts for a in GROUP_ALPHAS]

    def best(of: Callable[[int, float], float]) -> tuple[float, float, int, float]:
        largest = (-1.0, 0.0, 1, 0.5)
        for m, level, phi in table:
            beta = arguments.probability("power", of(n // m, level), zero=True, one=True)
            whole = float(_binomial(m, beta) @ phi)
            if whole > largest[0]:
                largest = (whole, beta, m, level)
        return largest

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
    """Return the exact power of a Test of Tests whose public test rejects in each group with probability
    `group_power`.

    If `group_power` is the true level of the public test in a group, the result is the true level of the Test of Tests.
    Use this to see the effect of a public test whose level is only approximate.

    Examples
    --------
    A chi-square test with groups of five that rejects with .414 where .3 is claimed (spec 8, reviewed):

    >>> round(whole_power(40, 0.3, 0.3, epsilon=1), 6), round(whole_power(80, 0.3, 0.414, epsilon=1), 2)
    (0.05, 0.66)
    """
    groups = arguments.whole("groups", groups, at_least=1, at_most=MOST_GROUPS)
    level, alpha = arguments.probability("group_alpha", group_alpha), arguments.probability("alpha", alpha)
    beta = arguments.probability("group_power", group_power, zero=True, one=True)
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
                f"no effect reaches the target {target:g} with so few records and this epsilon; give a smaller "
                "target, more records or a larger epsilon"
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


PublicTest = Callable[..., Any]
"""`test(part)` or `test(part_1, part_2, ...)`: returns a p-value, or a SciPy result that has `pvalue`."""


def any_test(
    test: PublicTest,
    *samples: Any,
    epsilon: Rational | None = None,
    delta: Rational = 0,
    alpha: float | None = None,
    plan: GroupPlan | None = None,
    groups: int | None = None,
    group_alpha: float | None = None,
    group_level: Literal["exact", "asymptotic"] = "asymptotic",
    paired: bool = False,
    example: Sequence[Any] | None = None,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Make any public test private, by running it in many groups of the records (Kazan, Shi, Groce and Bray 2023).

    The records are divided at random into `groups` groups, and the public test runs in each. `R` is the number of
    groups with a p-value of at most `group_alpha`. A private binomial test then decides whether `R` is larger than
    chance would make it. Replacing one record changes one group, so `R` changes by at most one, whatever the public
    test does. A conservative public test keeps the level.

    Parameters
    ----------
    test : callable
        Takes one part of each sample, returns a p-value or an object with `pvalue`, such as any test of `scipy.stats`.
        It must be a function of its arguments alone. If it raises or returns NaN in a group, that group does not
        reject: an error would speak of records. Warnings inside it are silenced for the same reason.
    *samples : arrays, or data frames
        One or more, records along the first axis. Sizes are public; a neighbour replaces one record within its sample.
    epsilon, delta, alpha
        The cost and the level of the whole; alpha is 0.05 unless it or a plan is given.
    plan : GroupPlan, optional
        From `plan_groups`; it brings its epsilon, delta and alpha.
    groups, group_alpha
        Instead of a plan. With neither, `plan_groups` chooses for a small effect.
    group_level : {"exact", "asymptotic"}
        "exact" states that the public test holds its level at the group's size: a permutation test, a plus-one Monte
        Carlo p-value, `mannwhitneyu(method="exact")`. An approximate test is not so: errors of the groups add up. A
        chi-square test in groups of ten with small cells rejected in .262 of groups where .05 was claimed, and the
        whole test always (spec 8, reviewed).
    paired : bool
        Deal the samples alike, so that rows stay together: x and y of a regression, before and after.
    example : sequence of arrays, optional
        Public or made-up samples, on which the test is tried once so that a mistake in it shows. Without it a test that
        always raises is a test that never rejects.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the deal; None for a fresh one.

    Returns
    -------
    TestResult
        The statistic is the noisy number of rejections.

    Notes
    -----
    Under the null each group rejects with probability at most `group_alpha`, independently, so R is at most
    `Bin(groups, group_alpha)` in distribution; the best private test of that proportion, against larger ones,
    ends it (`binomial_test`). Its power grows with the proportion.

    Examples
    --------
    >>> from scipy import stats
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(0.6, 1, 2000)
    >>> result = any_test(lambda part: stats.wilcoxon(part), x, epsilon=1, groups=40, group_alpha=0.1)
    >>> result.reject, result.cost
    (True, PureDP(epsilon=1.0))
    >>> y = rng.normal(0, 1, 1500)
    >>> any_test(lambda a, b: stats.mannwhitneyu(a, b, method="exact"), x, y, epsilon=1, group_level="exact").level
    'exact'
    """
    if not callable(test):
        raise InvalidParameter(f"test must be a function, got a {type(test).__name__}")
    arguments.choice("group_level", group_level, ("exact", "asymptotic"))
    sizes = _sizes(samples, paired)
    stream = generator(rng)
    chosen = _plan(plan, min(sizes), epsilon, delta, alpha, groups, group_alpha)
    if example is not None:
        _try(test, example, len(samples))
    places = [stream.permutation(size) for size in (sizes[:1] if paired else sizes)]
    if paired:
        places = places * len(sizes)
    rejections = 0
    for group in range(chosen.groups):
        parts = [_take(sample, at[group :: chosen.groups]) for sample, at in zip(samples, places, strict=True)]
        rejections += _rejects(test, parts, chosen.group_alpha)
    seen = release_count(rejections, chosen.groups, epsilon=chosen.epsilon, delta=chosen.delta, source=source)
    p = noisy_p_value(seen, chosen.group_alpha, "greater")
    notes = source_warning(seen)
    if group_level == "asymptotic":
        notes += (
            f"the level holds only if the public test holds {chosen.group_alpha:g} in groups of {chosen.group_size}: "
            "use an exact or Monte Carlo p-value where you can",
        )
    return TestResult(
        test="Test of Tests",
        statistic=seen.value,
        p_value=p,
        critical_value=critical_count(chosen.groups, chosen.group_alpha, chosen.alpha, seen.noise),
        alpha=chosen.alpha,
        reject=p <= chosen.alpha,
        null_returned=None,
        cost=seen.cost,
        level=group_level,
        warnings=notes,
        n=sizes[0] if paired else sum(sizes),
        details={
            "groups": chosen.groups,
            "group_alpha": chosen.group_alpha,
            "group_size": chosen.group_size,
            "noise": seen.noise.to_dict(),
            "noisy_count": [seen.whole, seen.fraction],
        },
    )


def _plan(
    plan: Any, n: int, epsilon: Any, delta: Any, alpha: float | None, groups: int | None, group_alpha: float | None
) -> GroupPlan:
    if plan is not None:
        if not isinstance(plan, GroupPlan):
            raise InvalidParameter(f"plan must be what plan_groups returned, got a {type(plan).__name__}")
        if epsilon is not None or delta != 0 or any(given is not None for given in (alpha, groups, group_alpha)):
            raise InvalidParameter(
                "epsilon, delta, alpha, groups and group_alpha must be left out with a plan, which already has them"
            )
        if plan.groups > n:
            raise InvalidParameter(
                f"plan must have at most one group for each record, got {plan.groups} groups for {n} records"
            )
        return plan if plan.n == n else replace(plan, n=n)
    if epsilon is None:
        raise InvalidParameter("epsilon or a plan must be given")
    alpha = 0.05 if alpha is None else arguments.probability("alpha", alpha)
    if (groups is None) != (group_alpha is None):
        raise InvalidParameter(
            "groups and group_alpha must be given together; leave both out to let a plan choose them"
        )
    if groups is None or group_alpha is None:
        return plan_groups(n, epsilon=epsilon, delta=delta, alpha=alpha)
    groups = arguments.whole("groups", groups, at_least=1, at_most=min(n, MOST_GROUPS))
    level = arguments.probability("group_alpha", group_alpha)
    return GroupPlan(n, groups, level, epsilon, delta, alpha, math.nan, math.nan, math.nan)


def _sizes(samples: Sequence[Any], paired: bool) -> list[int]:
    if not samples:
        raise InvalidParameter("samples must hold at least one sample")
    sizes = []
    for sample in samples:
        if isinstance(sample, (str, bytes, Mapping)) or not (
            hasattr(sample, "__len__") and hasattr(sample, "__getitem__")
        ):
            raise InvalidParameter(f"samples must be arrays, lists or data frames, got a {type(sample).__name__}")
        sizes.append(len(sample))
    if min(sizes) < 1:
        raise InvalidParameter("each of the samples must have at least one record")
    if paired and len(set(sizes)) > 1:
        raise InvalidParameter(f"paired samples must have the same length, got the lengths {sizes}")
    return sizes


def _take(sample: Any, places: Any) -> Any:
    if hasattr(sample, "iloc"):
        return sample.iloc[places]
    if isinstance(sample, (list, tuple)):
        chosen = [sample[i] for i in places]
        try:
            return np.asarray(chosen)
        except ValueError:  # records of different lengths: an error here would speak of them, so the test sees a list
            return chosen
    return sample[places]


def _p_value(result: Any) -> float:
    number = getattr(result, "pvalue", result)
    return float(np.asarray(number, dtype=np.float64).reshape(()))


def _rejects(test: PublicTest, parts: list[Any], level: float) -> bool:
    """Whether the test rejects in a group. Nothing that happens inside may be seen outside."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return bool(rejects(_p_value(test(*parts)), level))
        except Exception:
            return False


def _try(test: PublicTest, example: Sequence[Any], count: int) -> None:
    if len(example) != count:
        raise InvalidParameter(
            f"example must have one public sample for each of the {count} samples, got {len(example)}"
        )
    try:
        p = _p_value(test(*example))
    except Exception as error:
        raise InvalidParameter(f"test must return a p-value for the example, but it raised {error!r}") from error
    if not 0 <= p <= 1:
        raise InvalidParameter(f"test must return a p-value in [0, 1] for the example, but it returned {p:g}")
