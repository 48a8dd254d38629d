"""Exact private selection: which candidate is best, without floating point.

Scores are whole numbers, for example counts or indices on a grid; neighbours move each by at most D.
Three distributions:

- `exponential_choice`: the exponential mechanism (McSherry and Talwar 2007), probability proportional to
  `exp(rate * score)`. `2 D rate`-differentially private. It is also the distribution of the largest score after Gumbel
  noise; as it is sampled exactly, no Gumbel noise is needed.
- `permute_and_flip` (McKenna and Sheldon 2020): the same privacy, and its expected score is never lower.
- `noisy_max`: the largest score after geometric or discrete Laplace noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.coins import below, below_each, bernoulli_exp_each, exp_coin
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.inputs import Rational, plain_array, rational
from holdfast.noise.laplace import discrete_laplace, geometric
from holdfast.noise.table import EXP_ERROR, Table, Weights, exp_lower

_SCORE_LIMIT = 1 << 61
_NEGLIGIBLE = 1 << 32
_WHOLE = "a list of at least one whole number; put real scores on a noise.Grid"


@overload
def exponential_choice(scores: Any, rate: Rational, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def exponential_choice(
    scores: Any, rate: Rational, size: int, *, source: Source | None = None
) -> NDArray[np.int64]: ...
def exponential_choice(
    scores: Any, rate: Rational, size: int | None = None, *, source: Source | None = None
) -> int | NDArray[np.int64]:
    """Return a candidate chosen by the exponential mechanism: candidate `i` with probability proportional to
    `exp(rate * scores[i])`.

    The probabilities are exact. If replacing one row changes a score by at most `D`, then `rate = epsilon / (2 D)`
    makes the choice epsilon-differentially private. If it can change all scores only in the same direction, `rate =
    epsilon / D` is enough.

    Parameters
    ----------
    scores : array of whole numbers
        At least one, each within 2**61 of zero. Larger is better.
    rate : Fraction, int or float
        At least 0; a float means the decimal it prints as.
    size : int or None
        None for one index, otherwise an array of that many independent ones (for simulations: each is a release).
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    McSherry and Talwar 2007.

    With gaps `x_i = rate * (best - scores[i])`, candidates are put into buckets by `floor(x_i)`. One table draw chooses
    a bucket with weight `count * exp(-floor)`, a uniform draw a member, and the member is kept with probability
    `exp(-(x_i - floor))`, at least 1/e: at most e proposals are needed on average, whether one candidate dominates
    or all are equal. Time O(n log n) for the buckets.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> chosen = exponential_choice([10, 7, 3], Fraction(1, 2), 10_000, source=Seeded(1))
    >>> (np.bincount(chosen) / 10_000).round(2)
    array([0.8 , 0.18, 0.02])
    """
    tops, d = _exponents(scores, rate)
    origin = resolve(source)
    buckets = tops // d
    order = np.argsort(buckets, kind="stable")
    levels, starts, counts = np.unique(buckets[order], return_index=True, return_counts=True)
    rests = tops - buckets * d
    table = _bucket_table([int(level) for level in levels], [int(count) for count in counts])
    if size is None:
        while True:
            bucket = table.draw(origin)
            member = int(order[int(starts[bucket]) + below(origin, int(counts[bucket]))])
            if exp_coin(origin, int(rests[member]), d):
                return member
    result = np.empty(arguments.whole("size", size, at_least=0), dtype=np.int64)
    filled = 0
    while filled < result.size:
        bucket_each = table.draws(origin, result.size - filled)
        places = below_each(origin, counts[bucket_each].astype(np.uint64)).astype(np.int64)
        members = order[starts[bucket_each] + places]
        accepted = members[bernoulli_exp_each(rests[members], d, source=origin)]
        result[filled : filled + accepted.size] = accepted
        filled += accepted.size
    return result


def permute_and_flip(scores: Any, rate: Rational, *, source: Source | None = None) -> int:
    """Return the candidate chosen by permute-and-flip, with exact probabilities.

    The candidates are visited in random order. Each is chosen with probability `exp(-rate * (best - score))`, and the
    first success ends the search. If replacing one row changes a score by at most `D`, then `rate = epsilon / (2 D)`
    makes the choice epsilon-differentially private. The expected score is at least that of the exponential mechanism.

    Parameters
    ----------
    scores : array of whole numbers
        At least one, each within 2**61 of zero. Larger is better.
    rate : Fraction, int or float
        At least 0.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    McKenna and Sheldon 2020. As the coins do not depend on the order, the first success is a uniform choice among
    all successes, and so it is drawn.

    One coin a candidate, in O(n). The best candidate's coin always succeeds.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> permute_and_flip([10, 7, 3], 5, source=Seeded(1))
    0
    """
    tops, d = _exponents(scores, rate)
    origin = resolve(source)
    successes = np.flatnonzero(bernoulli_exp_each(tops, d, source=origin))
    return int(successes[below(origin, successes.size)])


def noisy_max(
    scores: Any,
    scale: Rational,
    *,
    noise: Literal["geometric", "laplace"] = "geometric",
    source: Source | None = None,
) -> int:
    """Return the candidate whose score is largest after integer noise. Ties are broken uniformly at random.

    If replacing one row changes a score by at most `D`, then `scale = 2 D / epsilon` makes the choice
    epsilon-differentially private, for both kinds of noise. If it can change all scores only in the same direction,
    `scale = D / epsilon` is enough.

    Parameters
    ----------
    scores : array of whole numbers
        At least one, each within 2**61 of zero. Larger is better.
    scale : Fraction, int or float
        Positive, at most 2**48.
    noise : str
        "geometric": P[k] proportional to `exp(-k/scale)` for k >= 0, more accurate; or "laplace": both signs.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    The proof of Dwork and Roth 2014, Claim 3.9, on the integers, with ties: a uniform choice among tied candidates is a
    fixed order of preference drawn beforehand, without the data, so let the order be fixed. Fix also the noise of all
    candidates but i. Then i wins exactly if its noise is at least some whole number r. On a neighbour the other scores
    rise by at most D and that of i falls by at most D, so `r + 2 D` is enough there, and for both distributions
    `P[Z >= r + 2 D] >= exp(-2 D / scale) P[Z >= r]` for every whole r. (For the continuous distribution, exponential
    noise gives permute-and-flip, Ding et al. 2021; on the integers the two distributions differ by how they treat
    ties.)

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> noisy_max([10, 7, 3], Fraction(1, 10), source=Seeded(1))
    0
    """
    array = _scores(scores)
    kind = arguments.choice("noise", noise, ("geometric", "laplace"))
    origin = resolve(source)
    sampler = geometric if kind == "geometric" else discrete_laplace
    noisy = array + sampler(scale, array.size, source=origin)
    tied = np.flatnonzero(noisy == noisy.max())
    return int(tied[below(origin, tied.size)])


def _scores(scores: Any) -> NDArray[np.int64]:
    array = plain_array("scores", scores, "iu", _WHOLE)
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter(f"scores must be {_WHOLE}")
    if max(-int(array.min()), int(array.max())) > _SCORE_LIMIT:
        raise InvalidParameter("scores must be within 2**61 of zero")
    return array.astype(np.int64)


def _exponents(scores: Any, rate: Rational) -> tuple[NDArray[Any], int]:
    """`rate * (best - score)` as numerators over one denominator; Python integers where 63 bits might not do."""
    array = _scores(scores)
    speed = rational("rate", rate, at_least=0)
    gaps = array.max() - array
    if max(int(gaps.max()), 1) * speed.numerator >= 1 << 63 or speed.denominator >= 1 << 63:
        gaps = gaps.astype(object)
    return gaps * speed.numerator, speed.denominator


def _bucket_table(levels: list[int], counts: list[int]) -> Table:
    """The distribution of weights `counts[j] * exp(-levels[j])`, levels rising from 0."""
    beyond = [0] * len(counts)
    for j in range(len(counts) - 2, -1, -1):
        beyond[j] = beyond[j + 1] + counts[j + 1]

    def weights(precision: int) -> Weights:
        lower = []
        for level, count, left in zip(levels, counts, beyond, strict=True):
            power = exp_lower(Fraction(level), precision)
            lower.append(count * power)
            if left and left * (power + EXP_ERROR) <= _NEGLIGIBLE:
                return Weights(lower, EXP_ERROR * max(counts), left * (power + EXP_ERROR))
        return Weights(lower, EXP_ERROR * max(counts))

    return Table(weights)
