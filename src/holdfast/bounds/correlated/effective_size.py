"""How fast a chain forgets: the sums of its mixing coefficients, and what an earlier row leaves behind.

`delta_t` is the largest total variation distance between the distributions of row `i + t` given two values of row `i`
(over all values and start times; the state is the whole row). For a process that is no Markov chain the two values are
two pasts. `G = sum_{t >= 1} delta_t` is what the widths for chains need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.one_question import means
from holdfast.bounds.parameters import MOST, Deltas, Domain, MissProbability, Rows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

# --- Mixing -----------------------------------------------------------------------------------------------------------

Tail = Annotated[
    Literal["markov", "hold"],
    "How coefficients continue after the declared ones: 'markov' multiplies, 'hold' repeats the last one.",
]
TAILS = ("markov", "hold")
#: Coefficients are written out up to this lag; beyond it their sum is bounded in closed form.
HORIZON = 1_000_000


@theorem(
    "correlated.mixing-sum",
    statement="Bound on G, the sum over lags of the mixing coefficients of a chain, from one declared number.",
    source="Holdfast; sub-multiplicativity of the coefficients (Dobrushin)",
    conditions="Markov chain of complete rows, any start, also inhomogeneous; the number holds for every start time",
    unit="rows",
    provenance="derived",
)
def mixing_sum(
    lag: Annotated[
        int, Domain("The lag `l`; a mixing time with the default coefficient.", at_least=1, at_most=MOST, typical=10)
    ],
    coefficient: Annotated[float, Domain("A bound on `delta_l`; at 1 there is no bound.", at_least=0, at_most=1)] = 0.5,
) -> float:
    """Bound `G`, the sum of the mixing coefficients of a chain over all lags, from the coefficient at one lag.

    The coefficient `delta_l` is the largest total variation distance between the distributions of a row given two
    different values of the row `l` steps before it. If `d` is a bound on `delta_l` at one lag `l`, then `G` is at most
    `l - 1 + l d/(1 - d)`. With the default `d` of 1/2, `lag` is a mixing time: the number of steps after which, from
    every start, the chain is within 1/4 of its stationary distribution. Then `G <= 2 t_mix - 1`.

    Returns
    -------
    float
        Rounded up; `inf` at coefficient 1.

    Notes
    -----
    Derived, reviewed. Coefficients are at most 1 and `delta_{s+t} <= delta_s delta_t`, so lags 1 to `l - 1` add at
    most `l - 1`, and the `l` lags from `j l` on add at most `l d^j` each round. At `l = 1` this is Dobrushin's `d/(1
    - d)`.

    Examples
    --------
    >>> mixing_sum(10), round(mixing_sum(1, 0.9), 9)
    (19.0..., 9.0)
    """
    if coefficient == 1:
        return math.inf
    return up(lag - 1 + lag * coefficient / (1 - coefficient), 8)


def mixing_coefficients(deltas: Sequence[float], lags: int, tail: Tail = "markov") -> NDArray[np.float64]:
    """Return bounds on the mixing coefficients of lags 1 to `lags`. Only the first few need to be declared.

    `tail` says how to bound the coefficients after the declared ones. "markov" uses `delta_{j l + r} <= delta_l^j
    delta_r`, which needs a Markov chain. "hold" repeats the last declared coefficient, which needs only that
    coefficients do not increase. No coefficient is filled in with 0.

    Notes
    -----
    Time and memory are `O(lags)`.

    Examples
    --------
    >>> mixing_coefficients([0.5, 0.2], 5).round(6).tolist()
    [0.5, 0.2, 0.1, 0.04, 0.02]
    >>> mixing_coefficients([0.5, 0.2], 4, "hold").tolist()
    [0.5, 0.2, 0.2, 0.2]
    """
    declared = declared_coefficients(deltas)
    lags = arguments.whole("lags", lags, at_least=0, at_most=100 * HORIZON)
    arguments.choice("tail", tail, TAILS)
    length = len(declared)
    if lags <= length:
        return declared[:lags]
    if tail == "hold":
        return np.concatenate([declared, np.full(lags - length, declared[-1])])
    rounds, rest = np.divmod(np.arange(1, lags + 1), length)
    with np.errstate(under="ignore"):
        extended: NDArray[np.float64] = declared[-1] ** rounds * np.concatenate([[1.0], declared])[rest]
    # rounding of powers is upwards enough: coefficients count for their sum, which callers raise
    return np.minimum(np.minimum.accumulate(extended), 1.0)


def declared_coefficients(deltas: Sequence[float]) -> NDArray[np.float64]:
    """Check declared coefficients: in [0, 1], and made non-increasing, which true coefficients are.

    Examples
    --------
    >>> declared_coefficients([0.5, 0.25]).tolist()
    [0.5, 0.25]
    """
    values = np.array(arguments.reals("deltas", deltas, at_least=0, at_most=1))
    return np.minimum.accumulate(values)


def tail_sum(deltas: Sequence[float], tail: Tail = "markov") -> float:
    """Bound on `sum_{t >= 1} delta_t` from declared coefficients; `inf` where they do not vanish.

    Examples
    --------
    >>> round(tail_sum([0.9]), 9), tail_sum([0.9], "hold"), round(tail_sum([1.0, 0.5]), 9)
    (9.0, inf, 3.0)
    """
    declared = declared_coefficients(deltas)
    arguments.choice("tail", tail, TAILS)
    last = float(declared[-1])
    total = math.fsum(declared.tolist())
    if last == 0:
        return up(total)
    if last == 1 or tail == "hold":
        return math.inf
    before = total - last  # the lags 1 to l - 1; each later round of l lags is at most `last` times 1 plus these
    return up(before + (1 + before) * last / (1 - last), 16)


def lags_that_count(deltas: Sequence[float], tail: Tail = "markov") -> int:
    """Lags after which the coefficients add less than a double shows; at most a million, and at least the declared.

    Examples
    --------
    >>> lags_that_count([0.5]), lags_that_count([0.5], "hold")
    (61, 1000000)
    """
    declared = declared_coefficients(deltas)
    last, length = float(declared[-1]), len(declared)
    if last == 0:
        return min(length, HORIZON)
    if last == 1 or tail == "hold":
        return HORIZON
    return max(length, min(HORIZON, length * math.ceil(1 - 41 / math.log(last))))


@theorem(
    "correlated.time-split-bias",
    statement="How far the mean of a question given earlier training rows of the same series is from its mean.",
    source="Holdfast; definition of the mixing coefficients",
    conditions="all training rows lie before the holdout; values in [0, 1]; Markov chain for tail markov",
    unit="bias",
    provenance="derived",
)
def time_split_bias(
    n: Rows,
    gap: Annotated[
        int,
        Domain(
            "The index of the first holdout row minus that of the last training row.",
            at_least=1,
            at_most=1000000,
            typical=20,
        ),
    ],
    deltas: Annotated[
        Deltas, Domain("Bounds on `delta_1, delta_2` and so on, the total variations at each lag.", at_most=1)
    ],
    tail: Tail = "markov",
) -> float:
    """Bound how far earlier training rows of the same series move the expected mean of a question on the holdout.

    The bound is `(1/n) sum_{t=0}^{n-1} delta_{g+t}`, where `g = gap` is the number of steps from the last training row
    to the first holdout row and `delta_l` is the mixing coefficient at lag `l`. Leaving a gap makes this bias smaller.
    A gap is not needed for validity.

    Notes
    -----
    Derived, reviewed. Given the training rows, holdout row number `t` (from 0) has a distribution within
    `delta_{g+t}` of its own distribution in total variation, and a value in [0, 1] moves by at most that. Beyond a
    million lags the rest is bounded by the sum of the coefficients.

    Examples
    --------
    >>> f"{time_split_bias(4000, 20, [0.9]):.9e}"
    '3.039416365e-04'
    """
    lags = min(n, HORIZON)
    coefficients = mixing_coefficients(deltas, gap - 1 + lags, tail)
    total = math.fsum(coefficients[gap - 1 :].tolist())
    if lags < n:
        rest = tail_sum(deltas, tail) - math.fsum(coefficients.tolist())
        total += min(max(rest, 0.0) + 1e-9, (n - lags) * float(coefficients[-1]))
    return up(min(total * (1 + 1e-13) / n, 1.0))


def autoregressive_start_ratio(last: float, coefficient: float, gap: int = 1) -> float:
    """Return how much more likely a state is at the first holdout row, at most, once the last training row is known.

    The series is a standardised Gaussian AR(1) with coefficient `phi`, the last training row has the value `x`, and the
    first holdout row comes `g` steps later. The largest ratio to the stationary density is `c = exp(x^2/2)/sqrt(1 -
    phi^(2g))`. An interval from the stationary theorem with this `c` depends on `x`, so the last training row must be
    public.

    Notes
    -----
    Derived. Given `x`, the row `g` steps later is normal with mean `phi^g x` and variance `1 - phi^(2g)`. Its
    density over the standard normal density is largest at `x/phi^g`, with this value.

    Examples
    --------
    >>> round(autoregressive_start_ratio(0.0, 0.5), 9)
    1.154700538
    """
    last = arguments.real("last", last, at_least=-1e6, at_most=1e6)
    coefficient = arguments.real("coefficient", coefficient, above=-1, below=1)
    gap = arguments.whole("gap", gap, at_least=1, at_most=MOST)
    exponent = last * last / 2 - 0.5 * math.log1p(-math.exp(2 * gap * math.log(abs(coefficient)))) if coefficient else 0
    return up(math.exp(exponent), 64) if exponent < 700 else math.inf


def two_state_coefficients(p: float, q: float, lags: int) -> NDArray[np.float64]:
    """Return the mixing coefficients `delta_t = |1 - p - q|^t` of a chain with two states.

    The chain leaves state 0 with probability `p` and state 1 with probability `q`.

    Examples
    --------
    >>> two_state_coefficients(0.05, 0.05, 2).round(9).tolist()
    [0.9, 0.81]
    """
    p, q = arguments.probability("p", p, zero=True, one=True), arguments.probability("q", q, zero=True, one=True)
    lags = arguments.whole("lags", lags, at_least=1, at_most=HORIZON)
    with np.errstate(under="ignore"):
        powers: NDArray[np.float64] = abs(1 - p - q) ** np.arange(1.0, lags + 1)
    return powers


# --- Effective size ---------------------------------------------------------------------------------------------------
# How many independent rows dependent rows are worth, for a question that is fixed before the data.
#
# A question is a mean of `n` values in [0, 1], one a row; the i-th is a function of row i and may depend on i. Its mean
# over the sample is within `sqrt(ln(2/p)/(2 n_eff))` of its expectation except with probability `p`, for every `p`. The
# declared model of the rows fixes `n_eff`, before anybody looks. Every bound here is sub-Gaussian with proxy `n^2/(4
# n_eff)` for the sum, so `n_eff` may go into Hoeffding's width and into no other: not into a binomial, a Bernstein or a
# Chernoff-KL width (one exception: equal independent blocks, whose means are independent [0, 1] values).

Sums = NDArray[np.float64]
_EVERY = 64  # run lengths up to this are all tried; longer ones on a grid of 2 per cent
_SLACK = 1e-12


@theorem(
    "correlated.effective-n-blocks",
    statement="Effective number of rows of independent blocks with anything inside: n^2 / sum k_g^2.",
    source="Hoeffding 1963, Theorem 2, on block sums",
    conditions="blocks independent of each other and fixed before the data; values in [0, 1]",
    unit="rows",
    provenance="derived",
)
def effective_n_blocks(
    sizes: Annotated[Sequence[float], Domain("The number of rows in each block.", at_least=1, typical=(10, 10))],
) -> float:
    """Return the effective number of rows of independent blocks whose rows may depend on each other in any way.

    With `k_g` rows in block `g` it is `n^2 / sum k_g^2`. Equal blocks of size `k` give `n/k`. A single block gives 1
    effective row, with which every interval is too wide to be useful.

    Returns
    -------
    float
        Rounded down.

    Notes
    -----
    Derived, reviewed. The sum of block `g` is one independent value in `[0, k_g]`, so Hoeffding's inequality has
    `sum k_g^2` in place of `n`.

    Examples
    --------
    >>> round(effective_n_blocks([10] * 50 + [1] * 500), 7)
    181.8181818
    """
    counts = [arguments.whole(f"sizes[{i}]", size, at_least=1, at_most=MOST) for i, size in enumerate(sizes)]
    return down(sum(counts) ** 2 / sum(k * k for k in counts))


@theorem(
    "correlated.effective-n-colours",
    statement="Effective number of rows of a dependency graph with a colouring: n over the number of colours.",
    source="Hoeffding 1963, section 5d; Janson 2004 for fractional colourings",
    conditions="rows of one colour mutually independent; values in [0, 1]; m-dependent rows: m + 1 colours",
    unit="rows",
    provenance="derived",
)
def effective_n_colours(
    n: Rows,
    colours: Annotated[
        float, Domain("Colours of a proper colouring of the dependency graph.", at_least=1, at_most=MOST, typical=4)
    ],
) -> float:
    """Return the effective number of rows, `n/colours`, of rows whose dependence is described by a graph.

    Rows of the same colour must be independent of each other. For example, rows that are independent if they are more
    than `m` steps apart need `m + 1` colours: the row number modulo `m + 1`.

    Returns
    -------
    float
        Rounded down.

    Notes
    -----
    Let class `C` have `k_C` rows and give it weight `p_C` proportional to `sqrt(k_C)`. By convexity `E exp(l S) <= sum
    p_C E exp(l S_C/p_C) <= exp(l^2 (sum sqrt(k_C))^2/8)`, and `(sum sqrt(k_C))^2 <= colours n`. Derived, reviewed. A
    fractional chromatic number may be given (Janson; recalled).

    Examples
    --------
    >>> effective_n_colours(1000, 4)
    249.99...
    """
    return down(n / colours)


@theorem(
    "correlated.effective-n-chain",
    statement="Effective number of rows of a Markov chain with any start: max over s of n^2 / sum_b (s_b + G_b)^2.",
    source="Holdfast; Doob martingale over runs of s rows, Azuma-Hoeffding (compare Paulin 2015, Cor. 2.10)",
    conditions="Markov chain of complete rows (tail markov) or any process (tail hold); values in [0, 1]; coefficients "
    "declared before the data",
    unit="rows",
    provenance="derived",
)
def effective_n_chain(
    n: Rows,
    deltas: Annotated[
        Deltas, Domain("Bounds on `delta_1, delta_2` and so on, the total variations at each lag.", at_most=1)
    ],
    tail: Tail = "markov",
    run: Annotated[int, Domain("One run length instead of the best.", at_least=1, at_most=MOST)] | None = None,
) -> float:
    """Return the effective number of rows of a Markov chain, computed from its mixing coefficients.

    The chain may start anywhere, and it need be neither homogeneous nor reversible. Cut the `n` rows into consecutive
    runs of length `s`. Then the effective number of rows is `n_eff = n^2/sum_b (s_b + G_b)^2`, where run `b` has `s_b`
    rows, ends at row `e_b`, and `G_b = sum_{t=1}^{n-e_b} delta_t`. This holds for every `s`. The best `s` is used, and
    it depends on the declared model only. The result is at least 1.

    Returns
    -------
    float
        Rounded down. Time: milliseconds; up to a second for a chain that needs a million lags to forget. Lags
        beyond those enter by their sum.

    Notes
    -----
    Derived, reviewed against exact distributions. Given the past, the increment of the Doob martingale over run `b`
    is (own sum), in an interval of length `s_b`, plus (expected rest), which depends on the last state alone and
    moves by at most `G_b`. Azuma-Hoeffding gives the formula. `s = n` gives 1.

    Examples
    --------
    >>> round(effective_n_chain(4000, [0.9]), 7), round(effective_n_chain(4000, [0.9], run=1), 8)
    (111.4469945, 40.1378418)
    """
    all_lags = tail_sum(deltas, tail)
    coefficients = mixing_coefficients(deltas, min(n - 1, lags_that_count(deltas, tail)), tail)
    near = np.concatenate([[0.0], np.cumsum(coefficients)]) * (1 + _SLACK)
    last = float(coefficients[-1]) if len(coefficients) else 1.0
    far = min(all_lags, float(near[-1]) + (n - len(near)) * last) * (1 + _SLACK)
    return _over_runs(n, near, far, run)


@theorem(
    "correlated.effective-n-chain-summary",
    statement="Effective number of rows of a Markov chain from G, the sum of its mixing coefficients, alone.",
    source="Holdfast; correlated.effective-n-chain with G_b <= min(G, n - e_b)",
    conditions="as correlated.effective-n-chain; G declared before the data",
    unit="rows",
    provenance="derived",
)
def effective_n_chain_summary(
    n: Rows,
    mixing: Annotated[float, Domain("A bound on the sum of all coefficients.", at_least=0, at_most=MOST, typical=9.0)],
    run: Annotated[int, Domain("One run length instead of the best.", at_least=1, at_most=MOST)] | None = None,
) -> float:
    """Return the effective number of rows of a Markov chain of which only `G`, the sum of its mixing coefficients, is
    known.

    It is about `n/(4G)`, and `n` at `G = 0`. `mixing_sum` bounds `G` from one declared number.

    Returns
    -------
    float
        Rounded down.

    Examples
    --------
    >>> round(effective_n_chain_summary(4000, 9.0), 4)
    111.3299
    """
    lags = min(n, HORIZON, math.ceil(mixing) + 1)
    return _over_runs(n, np.minimum(np.arange(float(lags)), mixing) * (1 + _SLACK), mixing * (1 + _SLACK), run)


def _over_runs(n: int, near: Sums, far: float, run: int | None) -> float:
    """The best `n^2/sum (s_b + G_b)^2`; `near[r]` is G with `r` rows to come, `far` bounds it for more rows."""

    def value(s: int) -> float:
        runs = -(-n // s)
        last = n - (runs - 1) * s
        rests = near[last : min(n, len(near)) : s]  # G of the runs whose rest is short enough, from the last but one
        rests = rests[: runs - 1]
        square = float(np.sum((s + rests) ** 2)) + (runs - 1 - len(rests)) * (s + far) ** 2 + float(last) ** 2
        return n * (n / square)

    if run is not None:
        return down(value(arguments.whole("run", run, at_least=1, at_most=n)) * (1 - _SLACK))
    top = n if not math.isfinite(far) else min(n, 2 * math.ceil(far) + 1)
    return max(down(max(map(value, _lengths(value, top))) * (1 - _SLACK)), 1.0)


def _lengths(value: Callable[[int], float], top: int) -> list[int]:
    """Run lengths to try: all short ones, a grid of longer ones, and the neighbours of the best of these."""
    if top <= _EVERY:
        return list(range(1, top + 1))
    steps = np.arange(math.ceil(math.log(top / _EVERY) / math.log(1.02)) + 1)
    grid = sorted({*range(1, _EVERY + 1), *(min(top, round(_EVERY * 1.02**k)) for k in steps), top})
    best = max(range(len(grid)), key=lambda j: value(grid[j]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return [grid[best], *range(low, high + 1, max(1, (high - low) // 64))]


@theorem(
    "correlated.effective-n-stationary",
    statement="Effective number of rows of a stationary Markov chain: n (1 - lambda)/(1 + lambda).",
    source="Fan, Jiang, Sun 2021 (JMLR 22), Theorem 1",
    conditions="stationary Markov chain; lambda its operator norm on mean-zero functions of L2(pi), below 1 (the "
    "absolute gap); other start: start_ratio in the width and the stationary mean as target",
    unit="rows",
)
def effective_n_stationary(
    n: Rows, operator_norm: Annotated[float, Domain("The operator norm `lambda`.", at_least=0, below=1, typical=0.9)]
) -> float:
    """Return the effective number of rows of a stationary Markov chain, `n (1 - lambda)/(1 + lambda)`.

    `lambda` is the second largest singular value of `diag(sqrt pi) P diag(1/sqrt pi)`, where `P` is the transition
    matrix and `pi` the stationary distribution. For a reversible chain it is one minus the absolute spectral gap. For a
    Gaussian AR(1) series it is `|phi|`, although such a series never mixes in total variation. If the chain starts from
    another distribution `nu`, multiply the error probability by `c = max nu/pi`.

    Returns
    -------
    float
        Rounded down.

    Notes
    -----
    The theorem, taken from the publication, is that the sum is sub-Gaussian with proxy `(1 + lambda)/(1 - lambda)
    n/4`. It was checked here against the exact distribution of sums on small chains. Only the absolute gap is
    allowed, as questions may vary with the row. The factor `c` is a change of measure.

    Examples
    --------
    >>> round(effective_n_stationary(4000, 0.9), 7)
    210.5263158
    """
    norm = operator_norm
    return down(n * ((1 - norm) / (1 + norm)), 8)


# --- Fixed question ---------------------------------------------------------------------------------------------------
# The width of one fixed question on dependent rows: Hoeffding's, with the effective number of rows.
#
# This is all that guess and check needs under dependence. Given the transcript before it a question is fixed, so a tail
# bound for a fixed question at the transcript's share of the failure probability is enough. No privacy, no quilt and no
# colouring enters.


@theorem(
    "correlated.fixed-question-width",
    statement="Half-width of a fixed question on dependent rows: bias + sqrt(ln(2c/p) / (2 n_eff)).",
    source="Holdfast; the sub-Gaussian bounds of the correlated.effective-n entries",
    conditions="mean of [0, 1] values, the i-th a function of row i; model, effective_n, start_ratio and bias fixed "
    "before the data; two-sided",
    unit="half-width",
    provenance="derived",
)
def fixed_question_width(
    effective_n: Annotated[
        float,
        Domain(
            "The effective number of rows, the largest of the `correlated.effective-n` theorems that apply.",
            above=0,
            at_most=MOST,
            typical=210.0,
        ),
    ],
    share: MissProbability,
    start_ratio: Annotated[
        float,
        Domain(
            "How much likelier a state may be at the start than under the stationary distribution.",
            at_least=1,
            infinite=True,
        ),
    ] = 1.0,
    bias: Annotated[
        float, Domain("How far the expectation given the training rows may be from the target.", at_least=0)
    ] = 0.0,
) -> float:
    """Return the half-width of the interval for one fixed question on dependent rows: `bias + sqrt(ln(2 c/p)/(2
    n_eff))`.

    `p = share` is the probability with which the interval may miss, `n_eff` is the effective number of rows, and `c =
    start_ratio`. The formula is valid for every `p`.

    Returns
    -------
    float
        Rounded up; 0.5 or more is vacuous. Time: microseconds.

    Notes
    -----
    Derived, reviewed.

    Examples
    --------
    >>> round(fixed_question_width(210.5263158, 1e-6), 7), round(fixed_question_width(4000, 1e-6), 7)
    (0.1856288, 0.0425862)
    """
    return fixed_question_half_width(effective_n, math.log(share), start_ratio, bias)


def fixed_question_half_width(
    effective_n: float, log_share: float, start_ratio: float = 1.0, bias: float = 0.0
) -> float:
    """Return `fixed_question_width` for an error probability given by its natural logarithm.

    Use this form for probabilities that are too small for a floating-point number.

    Examples
    --------
    >>> round(fixed_question_half_width(1000.0, -100.0), 7)
    0.2243804
    """
    effective_n = arguments.real("effective_n", effective_n, above=0, at_most=1e18)
    log_share = means.share(log_share)
    start_ratio = arguments.real("start_ratio", start_ratio, at_least=1, infinite=True)
    bias = arguments.real("bias", bias, at_least=0)
    return up(bias + up(math.sqrt((math.log(2) + math.log(start_ratio) - log_share) / (2 * effective_n)), 16))


@theorem(
    "correlated.beta-mixing-width",
    statement="Half-width of a fixed question on beta-mixing rows: sqrt(a ln(4/p)/(2n)) at the least a with "
    "n beta(a) <= p/2.",
    source="Berbee 1979 (coupling); Hoeffding 1963",
    conditions="beta(a) bounds the mixing coefficient between the past and what comes a rows later, for every row; "
    "values in [0, 1]",
    unit="half-width",
    provenance="derived",
)
def beta_mixing_width(
    n: Rows,
    share: MissProbability,
    coefficients: Annotated[
        Sequence[float],
        Domain("Bounds on the coefficients `beta(1), beta(2)` and so on.", at_least=0, at_most=1, typical=(1.0, 0.5)),
    ],
) -> float:
    """Return the half-width of the interval for one fixed question on rows with declared beta-mixing coefficients.

    It is `sqrt(a ln(4/p)/(2n))` at the smallest lag `a` with `n beta(a) <= p/2`. `p = share` is the probability with
    which the interval may miss, and `beta(1), beta(2), ...` are the declared coefficients. If none of them is small
    enough the result is `inf`. Alpha-mixing coefficients are not accepted, because we know of no theorem with explicit
    constants for them.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    Derived. Rows `a` apart form `a` classes. Berbee's coupling replaces each row of a class by a copy that is
    independent of the class's earlier rows. The coupling fails with probability at most `beta(a)` per row, `n
    beta(a)` in all. Every class then has independent rows, and `a` colours have `n_eff = n/a`. Half of `p` pays for
    the coupling, half for the tail.

    Examples
    --------
    >>> round(beta_mixing_width(10**6, 0.05, [2.0**-a for a in range(60)]), 7)
    0.0076914
    >>> beta_mixing_width(10**6, 0.05, [0.1])
    inf
    """
    declared = coefficients
    for apart, coefficient in enumerate(declared, start=1):
        if up(n * coefficient) <= share / 2:
            if apart >= n:
                break
            return up(math.sqrt(apart * (math.log(4) - math.log(share)) / (2 * n)), 16)
    return math.inf
