"""What all coherence bounds share: the modes, the logarithm of groups over beta, and the form of an answer.

Number of groups and failure probability enter every bound only through `Lambda = ln(groups / beta)`. Everything is
written in Lambda, so a failure probability of `exp(-1000)` is as good as any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import (
    AuditedRows,
    AuditFailureProbability,
    DeviationSize,
    Domain,
    Eta,
    GroupRows,
    Groups,
    Mu,
    Nats,
    Sensitivity,
    Tolerance,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Ratio ------------------------------------------------------------------------------------------------------------

Mode = Literal["paper", "corrected", "sharp"]
"""Which form of a theorem: as printed, with slips repaired, or without rounded constants."""
MODES = ("paper", "corrected", "sharp")
"""Every `Mode`."""
Population = Annotated[
    Literal["large", "finite"],
    "'large' as printed; 'finite' with the factor `kappa` of sampling half of the rows; if left out, the tighter one "
    "that `mode` has: finite in sharp mode.",
]
"""How the half that is released is counted: as drawn from a large population, or from these `n` rows."""
POPULATIONS = ("large", "finite")
"""Every `Population`."""


def tightest_population(mode: str, population: Population | None = None) -> Population:
    """Return the population to count with: the one asked for, and otherwise the tightest that a mode has.

    The printed form is for a large population. Mode "sharp" counts these very rows.

    Examples
    --------
    >>> tightest_population("sharp"), tightest_population("paper"), tightest_population("sharp", "large")
    ('finite', 'large', 'large')
    """
    return population or ("finite" if mode == "sharp" else "large")


SPLIT = "n even, uniform half split, groups fixed before the split"
RELEASE = f"{SPLIT}; curator order-invariant; neighbours replace one row; any lens and learner"


@dataclass(frozen=True)
class GroupSize:
    """The smallest group size for which a bound holds, and the terms that the size is the largest of.

    `size` is the number that the formula gives, and `rows` is that number rounded up to a whole number of rows.
    `vacuous` is True if the size is larger than the whole data set, so that the bound covers no group. If there is no
    bound, `size` is `inf`.

    Examples
    --------
    >>> print(GroupSize(34_225.2, "paper", n=1_000_000))
    groups of at least 34,226 rows (paper)
    """

    size: float
    mode: str
    n: int | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The main number of the result."""
        return self.size

    @property
    def rows(self) -> int | None:
        """The smallest whole number of rows for which the bound holds; None where there is no bound."""
        return math.ceil(self.size) if math.isfinite(self.size) else None

    @property
    def binding(self) -> str | None:
        """The name of the largest term. This term determines the size."""
        return max(self.terms, key=self.terms.__getitem__) if self.terms and math.isfinite(self.size) else None

    @property
    def vacuous(self) -> bool:
        """Whether the bound is useless because the size is infinite or larger than the data set."""
        return not math.isfinite(self.size) or (self.n is not None and self.size > self.n)

    def __str__(self) -> str:
        if self.rows is None:
            return f"no group size is covered ({self.mode})"
        return f"groups of at least {self.rows:,} rows ({self.mode})" + ("; larger than n" if self.vacuous else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        plain: dict[str, Any] = {"value": self.size, "rows": self.rows, "mode": self.mode, "vacuous": self.vacuous}
        if self.terms:
            plain |= {"binding": self.binding, "terms": dict(self.terms)}
        return plain | dict(self.details)


def log_ratio(beta: float, groups: int, lenses: int = 1, predictors: int = 1) -> float:
    """Return `ln(groups * lenses * predictors / beta)`, rounded up. The formulas of the coherence bounds call it
    `Lambda`.

    A coherence theorem is about one lens (the columns that a predictor sees) and about one predictor made from one
    report. A promise about several lenses and predictors at once follows by a union bound. Therefore their numbers
    multiply the number of groups.

    Notes
    -----
    This bound is derived here and was reviewed.

    Examples
    --------
    >>> round(log_ratio(0.05, 20), 12) == round(math.log(400), 12)
    True
    """
    beta = arguments.probability("beta", beta, one=True)
    total = math.fsum(
        math.log(arguments.whole(name, count, at_least=1))
        for name, count in (("groups", groups), ("lenses", lenses), ("predictors", predictors))
    )
    return up(total - math.log(beta), 2)


def even_rows(n: int) -> int:
    """Return `n` if it is even and at least 4: the experiment cuts the rows into two equal halves.

    Examples
    --------
    >>> even_rows(100)
    100
    >>> even_rows(101)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n must be even, because the rows are cut into two equal halves, got 101; ...
    """
    n = arguments.whole("n", n, at_least=4)
    if n % 2:
        raise InvalidParameter(
            f"n must be even, because the rows are cut into two equal halves, got {n}; drop one random row"
        )
    return n


def tolerance(alpha: float, mode: str) -> float:
    """Return `alpha` if it is a distance on [-1, 1] that `mode` covers: (0, 2], and below 2 in sharp mode."""
    alpha = arguments.real("alpha", alpha, above=0, at_most=2)
    if mode == "sharp" and alpha == 2:
        raise arguments.refused("alpha", alpha, "a number in (0, 2) in the mode 'sharp'")
    return alpha


# --- Sharp ------------------------------------------------------------------------------------------------------------
# The sharp sampling bound: how far two halves of a group drift apart by chance, without rounded constants.
#
# For a group of `m` of `n` rows and a predictor fixed before the split, let `V` be the members in the first half. Given
# `V = v`, Serfling's inequality for sampling without replacement bounds each side of `F_a(y) - F_b(y)` beyond `a`; the
# complement of the sample is a sample too, so the larger half `M` may be used. Averaged over `V`:
#
#     q(n, m, a) = sum_v Pr[V = v] min{1, 2 exp(-2 a^2 (v (m-v)/m) M/(M+1))},    M = max(v, m - v).
#
# Between neighbouring prediction values the difference is constant and at both ends it is 0, so `m - 1` thresholds
# decide, and `W1 <= 2 sup |F_a - F_b|` on [-1, 1]: `Pr[W1 > alpha] <= (m - 1) q(n, m, alpha/2)`. An empty half counts
# as a failure. Derived, reviewed.
#
# The definition asks for every group size from some size on, so the decay of `(m - 1) q` beyond a size has to be
# proved, not sampled. `log_envelope` does that. `V` is a sum of `m` draws without replacement from zeros and ones in
# equal number, so a convex function of it has at most the mean that it has under `Bin(m, 1/2)` (Hoeffding 1963, Theorem
# 4), whose deviation is sub-Gaussian with variance proxy `m/4`. With `M/(M+1) >= m/(m+2)` and `E exp(s X^2) <= (1 - s
# m/2)^(-1/2)` at `s = 2 a^2/(m+2)`,
#
#     q(n, m, a) <= 2 exp(-(a^2/2) m^2/(m+2)) (1 - a^2)^(-1/2)    for a < 1,
#
# and `(m - 1)` times that decreases in `m` once `m - 1 >= 8/(3 a^2)`. Holdfast's own; exact sums in the tests.

_EXPONENT = 80.0  # terms beyond the window weigh less than exp(-80) of a bound on the sum
_MOST_STEPS = 200_000


def log_pointwise(n: int, size: int, gap: float) -> float:
    """Return `ln q(n, m, a)`, rounded up: a bound on `Pr[|F_a(y) - F_b(y)| >= a]` for a predictor fixed in advance.

    Cost: about `18 sqrt(m / (1 - a^2))` terms; what the window leaves out is bounded and added.

    Parameters
    ----------
    n : int
        Rows in the data set, even.
    size : int
        Rows of the group, in [1, n].
    gap : float
        The gap `a` between the distribution functions, in (0, 1).

    Examples
    --------
    >>> round(log_pointwise(400, 100, 0.3), 10)
    -3.6897791963
    """
    n = even_rows(n)
    size = arguments.whole("size", size, at_least=1, at_most=n)
    return _log_pointwise(n, size, arguments.real("gap", gap, above=0, below=1))


@lru_cache(maxsize=65536)
def _log_pointwise(n: int, m: int, a: float) -> float:
    half = n // 2
    first, last = max(0, m - half), min(m, half)
    spread = math.sqrt(_EXPONENT * m / (1 - a * a))
    low, high = max(first, math.floor(m / 2 - spread)), min(last, math.ceil(m / 2 + spread))
    v = np.arange(low, high + 1, dtype=np.float64)
    steps = np.log((m - v[:-1]) / (v[:-1] + 1)) + np.log((half - v[:-1]) / (half - m + v[:-1] + 1))
    weight = np.concatenate(([0.0], np.cumsum(steps)))
    # Normalised inside the window: what lies outside only makes the weights here larger. All terms are positive, so
    # plain sums lose some 1e-15 of themselves; the 1e-12 at the end covers that and the running sum.
    weight -= weight.max()
    weight -= math.log(float(np.exp(weight).sum()))
    larger = np.maximum(v, m - v)
    exponent = np.minimum(0.0, math.log(2) - 2 * a * a * (v * (m - v) / m) * (larger / (larger + 1)))
    terms = weight + exponent
    top = float(terms.max())
    log_mean = top + math.log(float(np.exp(terms - top).sum()))
    if low > first or high < last:
        # E[exp(s X^2); |X| > w] <= exp(-(t - s) w^2) (1 - t m/2)^(-1/2), t midway between s = 2 a^2/m and 2/m
        width = min(m / 2 - low, high - m / 2)
        left_out = _log_peak(m, a) + 0.5 * math.log(2 / (1 - a * a)) - (1 - a * a) * width * width / m
        log_mean = float(np.logaddexp(log_mean, left_out))
    return min(0.0, log_mean + 1e-12 * (1 + abs(log_mean)))


def _log_peak(m: int, a: float) -> float:
    return math.log(2) - 0.5 * a * a * m * (m / (m + 2))


def log_envelope(size: int, gap: float) -> float:
    """Return `ln` of the closed bound on `(m - 1) q(n, m, a)`, whatever `n`; decreasing once `m - 1 >= 8/(3 a^2)`.

    Examples
    --------
    >>> log_envelope(100, 0.3) >= math.log(99) + log_pointwise(400, 100, 0.3)
    True
    """
    return math.log(max(size - 1, 1)) + _log_peak(size, gap) - 0.5 * math.log1p(-gap * gap)


def log_failure(n: int, size: int, gap: float) -> float:
    """Return `ln` of the bound on `Pr[W1 > 2 a]` at exactly this group size: `ln((m - 1) q)`. Arguments not checked."""
    return math.log(max(size - 1, 1)) + _log_pointwise(n, size, gap)


def log_failure_beyond(n: int, size: int, gap: float, thresholds: float | None = None) -> float:
    """Return the largest `ln((m' - 1) q(n, m', a))` over every group size `m'` from `size` to `n`, rigorously.

    Sizes are taken one by one until the decreasing envelope falls below what was found. That takes about
    `ln(1/(1-a^2))/a^2` sizes where the bound is of any use. With `thresholds` (in place of `m - 1`), for predictors
    that see few profiles.

    Examples
    --------
    >>> round(log_failure_beyond(5_000_000, 250_000, 0.1), 6)
    -1236.862884
    """
    fixed = None if thresholds is None else math.log(thresholds)
    turning = 1 + 8 / (3 * gap * gap)
    worst = -math.inf
    for m in range(size, n + 1):
        here = log_failure(n, m, gap) if fixed is None else fixed + _log_pointwise(n, m, gap)
        worst = max(worst, here)
        if m + 1 < turning and worst < math.log(0.5) and m - size < _MOST_STEPS:
            continue
        rest = log_envelope(m + 1, gap)
        if fixed is not None:
            rest += fixed - math.log(m)  # the envelope without its factor m - 1 decreases as well
        if m + 1 >= turning and rest <= worst:
            return worst
        if worst >= math.log(0.5) or m - size >= _MOST_STEPS:
            return max(worst, 0.0)  # no use: every promise needs less than one half
    return worst


def holds_beyond(n: int, size: int, gap: float, log_target: float, thresholds: float | None = None) -> bool:
    """Whether `(m' - 1) q(n, m', a)` is at most the target at every size from `size` to `n`. Arguments not checked."""
    fixed = None if thresholds is None else math.log(thresholds)
    here = log_failure(n, size, gap) if fixed is None else fixed + _log_pointwise(n, size, gap)
    return here <= log_target and log_failure_beyond(n, size, gap, thresholds) <= log_target


def smallest_size(n: int, gap: float, log_target: float, thresholds: float | None = None) -> float:
    """Return the smallest size that `holds_beyond` accepts; `inf` if not even `n` does. About 40 evaluations.

    Examples
    --------
    >>> smallest_size(1_000_000, 0.1, -math.log(20) - math.log(2))
    2440
    """
    if log_target >= 0 or not holds_beyond(n, n, gap, log_target, thresholds):
        return math.inf
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2 if high < 4 * max(low, 1) else max(low + 1, math.isqrt(max(low, 1) * high))
        if holds_beyond(n, middle, gap, log_target, thresholds):
            high = middle
        else:
            low = middle
    return high


# --- Group size -------------------------------------------------------------------------------------------------------
# From max-information to coherence: Claim 2, Lemma 1 and Theorem 3, and Theorem 3 without rounded constants.

SHARE = 0.5
"""The share of `beta/groups` that pays for the slack of max-information; the rest pays for chance. The paper's."""


def fixed_terms(alpha: float, mode: str) -> dict[str, float]:
    """Return the terms of Theorem 3 that depend on the tolerance alone."""
    step = 10.6 if mode == "paper" else 32 / 3
    return {
        "resolution": up(144 * math.log(6 / alpha) / alpha / alpha),
        "step": up(step / alpha),
        "floor": 80.0,
    }


def closed_size(alpha: float, load: float, mode: str) -> dict[str, float]:
    """Return the five terms of Theorem 3, `load = zeta + ln(16 r)` or what a sharper count puts there. Not checked.

    Examples
    --------
    >>> {name: round(term, 4) for name, term in closed_size(0.5, 22.6762, "paper").items()}["chance"]
    3011.3994
    """
    terms = {"chance": up(33.2 * load / alpha / alpha), "halves": up(16.6 * load)}
    return terms | fixed_terms(alpha, mode)


def closed_load(alpha: float, size: float, mode: str) -> float | None:
    """The largest load that a group of `size` rows carries; None if the tolerance alone already needs more rows."""
    if size < max(fixed_terms(alpha, mode).values()):
        return None
    return min(size * alpha * alpha / 33.2, size / 16.6)


def size_at(alpha: float, lam: float, nats: float, n: int | None, mode: str) -> GroupSize:
    """Theorem 3 at `Lambda = lam`, in any mode. Arguments are not checked."""
    closed = closed_size(alpha, nats + math.log(16) + lam, mode)
    if mode != "sharp":
        return GroupSize(max(closed.values()), mode, n, closed)
    if n is None:
        raise InvalidParameter(
            "n must be given in sharp mode, because the bound uses how evenly a random split cuts a group"
        )
    target = math.log1p(-SHARE) - lam - nats
    exact = smallest_size(n, alpha / 2, target)
    return GroupSize(min(exact, max(closed.values())), mode, n)


@theorem(
    "coherence.max-information-size",
    statement="least group size at which a release with bounded max-information enforces coherence",
    source="Enforcing Demographic Coherence, Theorem 3; sharp: derived, holdfast.bounds.coherence.group_size",
    conditions=f"{SPLIT}; max-information at slack beta/(2 groups) below nats; any lens and learner; sharp: alpha < 2",
    unit="rows",
    provenance="mixed",
)
def max_information_size(
    alpha: Tolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    nats: Annotated[Nats, "The max-information at slack `beta/(2 groups)`, in nats."],
    n: AuditedRows | None = None,
    mode: Mode | None = None,
) -> GroupSize:
    """Return the smallest group size at which a release with bounded max-information is (alpha, beta)-coherent.

    (alpha, beta)-coherent means that, with probability at least `1 - beta`, the predictions for the released half and
    for the other half of each group differ by at most `alpha` in 1-Wasserstein distance. Below, `zeta` is the
    max-information `nats`, and `r = groups/beta`. `mode` selects the formula:

    - "paper": `max{33.2 (zeta + ln(16 r))/alpha^2, 144 ln(6/alpha)/alpha^2, 16.6 (zeta + ln(16 r)), 10.6/alpha, 80}`,
      as published. The paper states it for beta in (0, 2). Here beta must be in (0, 1].
    - "corrected": the same formula with `32/(3 alpha)` in place of `10.6/alpha`. This term is never the largest.
    - "sharp": the smallest `m` with `exp(zeta) (m'-1) q(n, m', alpha/2) <= beta/(2 groups)` for every `m' >= m`, or the
      "corrected" size if that is smaller. `q` is the exact tail of a random half split. This mode needs `n`.

    Examples
    --------
    >>> found = max_information_size(0.5, 1e-3, 20, 10.0)
    >>> round(found.size, 6), found.binding
    (3011.382929, 'chance')
    >>> max_information_size(0.2, 0.05, 1, 0.0, 1_000_000, "sharp").rows
    2440
    """
    mode = mode or ("corrected" if n is None else "sharp")
    alpha = tolerance(alpha, mode)
    return size_at(alpha, log_ratio(beta, groups), nats, None if n is None else even_rows(n), mode)


@theorem(
    "coherence.sampling-noise-size",
    statement="group size from which two halves differ pointwise by a gap with probability at most mu, by chance alone",
    source="Enforcing Demographic Coherence, Claim 2 and Lemma 1",
    conditions="n even, uniform half split; predictor fixed before the split; gap in (0, 1)",
    unit="rows",
)
def sampling_noise_size(
    gap: Annotated[float, Domain("The gap `a` of the distribution functions.", above=0, below=1, typical=0.1)],
    mu: Annotated[Mu, Domain("Failure probability at one point.", above=0, at_most=1)],
) -> GroupSize:
    """Return the group size from which chance alone rarely makes two random halves of a group differ at a given point.

    With `a = gap` the size is `max{4.15 ln(4/mu)/a^2, 16/(3a), 8.3 ln(4/mu), 40}`, the size condition of Claim 2. In
    groups of at least this size, `Pr[|F_a(y) - F_b(y)| >= a] <= mu` for each point `y`. `F_a` and `F_b` are the
    distribution functions of the predictions in the two halves.

    Notes
    -----
    Claim 2 prints `5.3/a`; Lemma 1 and the proof have `16/3`. The condition was compared with exact hypergeometric
    sums and never violated. It was not proved again.

    Examples
    --------
    >>> found = sampling_noise_size(0.1, 1e-6)
    >>> round(found.size, 6), found.binding
    (6308.749041, 'chance')
    """
    slack = math.log(4) - math.log(mu)
    terms = {
        "chance": up(4.15 * slack / gap / gap),
        "step": up(16 / (3 * gap)),
        "halves": up(8.3 * slack),
        "floor": 40.0,
    }
    return GroupSize(max(terms.values()), "paper", None, terms)


@theorem(
    "coherence.sampling-noise-failure",
    statement="probability that the distance in one group exceeds twice the gap, after a release",
    source="Enforcing Demographic Coherence, Lemma 1 (Claim 2 at nats = eta = 0)",
    conditions="size at least coherence.sampling-noise-size; max-information at slack eta below nats",
    unit="probability",
)
def sampling_noise_failure(
    size: Annotated[GroupRows, "Rows of the group."],
    mu: Annotated[Mu, Domain("Failure probability at one point.", above=0, at_most=1)],
    nats: Annotated[Nats, "The max-information of the release, in nats."] = 0.0,
    eta: Annotated[Eta, Domain(at_least=0)] = 0.0,
    mode: Annotated[Mode, "'paper' keeps the factor 2."] = "sharp",
) -> float:
    """Bound the probability that, after a release, the distance in one group exceeds twice the gap.

    The mode "paper" returns Lemma 1's `2 mu (m + 1) exp(zeta) + eta`. The other modes return `mu (m + 1) exp(zeta) +
    eta`. Here `m` is the size of the group, and `zeta` is the max-information `nats` of the release with slack `eta`.

    Notes
    -----
    The result bounds `Pr[W1 > 2a]`. Claim 2 prints `a` for `2a`; a gap of `a` at every point of [-1, 1] integrates
    to `2a`. The factor 2 in front is not needed.

    Examples
    --------
    >>> round(sampling_noise_failure(7000, 1e-6, 2.0, 1e-3), 10)
    0.0527307817
    >>> round(sampling_noise_failure(7000, 1e-6, 2.0, 1e-3, "paper"), 10)
    0.1044615635
    """
    log_mu = math.log(mu)
    exponent = log_mu + math.log(size + 1) + nats + (math.log(2) if mode == "paper" else 0.0)
    return 1.0 if exponent >= 0 else min(1.0, up(math.exp(exponent)) + eta)


# --- Without replacement ----------------------------------------------------------------------------------------------
# Tails of sampling without replacement that the coherence theorems depend on.


@theorem(
    "coherence.hypergeometric-tail",
    statement="probability that a hypergeometric count is off its mean by a deviation, each side",
    source="Hush-Scovel 2005; Enforcing Demographic Coherence, Theorem 4",
    conditions="deviation at least 2",
    unit="probability",
)
def hypergeometric_tail(
    rows: Annotated[UnboundedRows, "Rows `b` in all."],
    marked: Annotated[int, Domain("Rows `a` that count.", at_least=0, typical=40)],
    sample: Annotated[int, Domain("Rows `s` drawn.", at_least=0, typical=50)],
    deviation: Annotated[DeviationSize, Domain("The deviation `g`.", at_least=2, typical=8)],
) -> float:
    """Bound each tail of a hypergeometric count: the probability that the count is above its mean by `deviation`.

    The bound is `exp(-2 c (g^2 - 1))` with `g = deviation` and `c = max{1/(s+1) + 1/(b-s+1), 1/(a+1) + 1/(b-a+1)}`. Of
    `b` rows `a` are marked, and `s` rows are drawn. The same bound holds for the lower tail.

    Examples
    --------
    >>> round(hypergeometric_tail(100, 40, 50, 8.0), 12)
    0.005865048648
    """
    marked = arguments.whole("marked", marked, at_least=0, at_most=rows)
    sample = arguments.whole("sample", sample, at_least=0, at_most=rows)
    c = max(1 / (sample + 1) + 1 / (rows - sample + 1), 1 / (marked + 1) + 1 / (rows - marked + 1))
    return exp_up(-2 * c * (deviation - 1) * (deviation + 1))


@theorem(
    "coherence.sample-mean-tail",
    statement="probability that a mean of rows drawn without replacement exceeds the mean of all by a gap",
    source="Hoeffding 1963; Enforcing Demographic Coherence, Theorem 10",
    conditions="values in [0, 1], sample without replacement; one-sided",
    unit="probability",
)
def sample_mean_tail(
    sample: Annotated[int, Domain("Rows drawn.", at_least=1, typical=100)],
    gap: Annotated[float, Domain("The gap.", at_least=0, typical=0.1)],
) -> float:
    """Bound the probability that the mean of a sample exceeds the mean of all rows by `gap`, at `exp(-2 m a^2)`.

    `m` is the number of rows drawn without replacement, `a` is the gap, and the values are in [0, 1].

    Examples
    --------
    >>> round(sample_mean_tail(100, 0.1), 9)
    0.135335283
    """
    return exp_up(-2 * sample * gap * gap)


@theorem(
    "coherence.swap-tail",
    statement="probability that a function of a random sample of the rows exceeds its mean",
    source="Enforcing Demographic Coherence, Theorem 12",
    conditions="order-invariant function, sample without replacement, swapping one row moves it by at most sensitivity",
    unit="probability",
)
def swap_tail(
    deviation: Annotated[DeviationSize, Domain("The deviation `t`.", at_least=0)],
    sensitivity: Annotated[Sensitivity, "How far swapping a sampled row for another moves the function."],
    sample: Annotated[int, Domain("Rows `m` drawn, at most `n - 1`.", at_least=1, typical=50)],
    n: Annotated[UnboundedRows, Domain(at_least=2)],
) -> float:
    """Bound the probability that a function of a random sample of the rows exceeds its mean by `deviation`.

    The bound is `exp(-(2 t^2/(m D^2)) ((n - 1/2)/(n - m)) (1 - 1/(2 max(m, n - m))))`, where `t` is the deviation, `m`
    of `n` rows are drawn, and swapping one sampled row for another changes the function by at most `D`.

    Notes
    -----
    The tail was re-proved in review: exposing the sample row by row, step i moves the conditional mean by at most
    `D (n - m)/(n - i)`. For `m = n/2` it is `exp(-4 kappa t^2/(n D^2))`; the paper uses `kappa = 1`.

    Examples
    --------
    >>> round(swap_tail(5.0, 1.0, 50, 100), 10)
    0.1394429112
    """
    m = arguments.whole("sample", sample, at_least=1, at_most=n - 1)
    ratio = deviation / sensitivity
    finite = ((n - 0.5) / (n - m)) * (1 - 1 / (2 * max(m, n - m)))
    return exp_up(-2 * ratio * ratio / m * finite)
