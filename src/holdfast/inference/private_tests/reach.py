"""How to run a test so that its p-value can reach a level, and what no data could make it show; all of it public.

A test of rows that were asked about before must reject at a level far below the one asked for. A Monte Carlo p-value is
never below `1/(m + 1)`, a limit distribution is not to be trusted far out, and a bound on tails always holds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from holdfast.core import arguments
from holdfast.inference.private_tests import cell_bounds
from holdfast.inference.private_tests.classical import chi_square_sf
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.minimum_chi_square import MINIMUM_EXPECTED, degrees_of_freedom
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.null_models import Independence
from holdfast.inference.private_tests.result import Level

GOF_CELLS = 2_000_000
"""Cells that a simulated goodness-of-fit test may draw: about half a second."""
INDEPENDENCE_CELLS = 400_000
"""The same for independence, where every replicate is fitted: about a second."""
LEAST_LIMIT_LEVEL = 1e-3
"""Below this level no limit distribution is used: at .001 such thresholds were measured at two to three times their
level."""
_ROOM = 10
"""Replicates above the level, on average: the threshold is then the tenth largest, and next to no power is lost."""
_OFTEN = 0.05
_TABLES = 1000
_TRIED_TABLES = 200
"""For each setting that is tried in the search for one that works: estimates are free, so they must be quick."""
_DRAWN_CELLS = 144
_TIMES = tuple(2**k for k in range(1, 11))


@dataclass(frozen=True)
class Reach:
    """The test to run for a level, and what it could show.

    Attributes
    ----------
    level : float
        What the test's own p-value must reach; 0 where nothing may be rejected.
    method : str
        Of `gof` or `independence`.
    m : int
        Replicates, for a Monte Carlo method.
    least_p_value : float
        The smallest p-value that the test can give: `1/(m + 1)` where it is simulated, otherwise that of the most
        extreme counts where the noise happens to be zero; noise may take it a little further.
    proved : {"exact", "asymptotic", "empirical"}
        How its level is known, as in `TestResult`.
    inconclusive : float
        With which probability the rule of thumb fires where all categories are equally frequent, the best case; 0 for
        a test without one.
    advice : tuple of str
        What would work where this does not, or not often.

    Examples
    --------
    >>> from holdfast.inference.private_tests import discrete_laplace
    >>> found = gof_reach(50_000, [0.25] * 4, discrete_laplace(0.1), 4.7e-41)
    >>> found.method, found.can_reject, found.proved
    ('cell-bounds', True, 'exact')
    """

    level: float
    method: str
    m: int
    least_p_value: float
    proved: Level
    inconclusive: float = 0.0
    advice: tuple[str, ...] = ()

    @property
    def can_reject(self) -> bool:
        """Whether any data could be rejected."""
        return 0 < self.least_p_value <= self.level and self.inconclusive < 1

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "level": self.level,
            "least_p_value": self.least_p_value,
            "can_reject": self.can_reject,
            "method": self.method,
            "replicates": self.m if self.method.startswith("monte-carlo") else None,
            "proved": self.proved,
            "certified": self.proved == "exact",
            "inconclusive": self.inconclusive,
            "advice": list(self.advice),
        }


def gof_reach(n: int, p0: Any, noise: NoiseLaw, level: float) -> Reach:
    """Return the goodness-of-fit test for a level; its own level is exact either way.

    Simulated as long as the replicates that the level needs are quickly drawn, and by cell bounds below. Null and noise
    are known entirely, so replicates are exchangeable with the released counts and `(1 + #)/(1 + m)` is exact.

    Examples
    --------
    >>> from holdfast.inference.private_tests import discrete_laplace
    >>> found = gof_reach(50_000, [0.25] * 4, discrete_laplace(0.01), 0.0017)
    >>> found.method, found.m, found.can_reject
    ('monte-carlo-projected', 5882, True)
    """
    return _gof_reach(n, tuple(probabilities("p0", p0).tolist()), noise, level)


@lru_cache(maxsize=512)
def _gof_reach(n: int, p0: tuple[float, ...], noise: NoiseLaw, level: float) -> Reach:
    m = _replicates(level, GOF_CELLS // len(p0))
    if _reached(m, level):
        return Reach(level, "monte-carlo-projected", m, 1 / (m + 1), "exact")

    def least_p(law: NoiseLaw) -> float:
        return cell_bounds.gof_least_p(n, np.array(p0), law)

    return _advised(Reach(level, "cell-bounds", m, least_p(noise), "exact"), (), least_p, noise)


@lru_cache(maxsize=512)
def independence_reach(n: int, shape: tuple[int, int], noise: NoiseLaw, level: float) -> Reach:
    """Return the test of independence for a level: with the most power where levels are ordinary, by cell bounds below.

    With Laplace noise a simulated null, whose level is empirical: it is drawn from margins fitted to the same noisy
    table. With Gaussian noise the limit distribution, whose level is asymptotic. Cell bounds are exact.

    Examples
    --------
    >>> from holdfast.inference.private_tests import discrete_laplace
    >>> [independence_reach(50_000, (2, 2), discrete_laplace(0.1), level).proved for level in (0.01, 1e-30)]
    ['empirical', 'exact']
    """
    m = _replicates(level, INDEPENDENCE_CELLS // math.prod(shape))

    def least_p(law: NoiseLaw) -> float:
        return cell_bounds.independence_least_p(n, shape, law)

    if noise.is_gaussian and level >= LEAST_LIMIT_LEVEL:
        least = _limit_least_p(n, shape, noise)
        reach = Reach(level, "projected", m, least, "asymptotic", inconclusive_share(n, shape, noise))
    elif not noise.is_gaussian and _reached(m, level):
        share = inconclusive_share(n, shape, noise)
        reach = Reach(level, "monte-carlo-projected", m, 1 / (m + 1), "empirical", share)
    else:
        reach = Reach(level, "cell-bounds", m, least_p(noise), "exact")
    return _advised(reach, _small_cells(reach, n, shape, noise), least_p, noise)


@lru_cache(maxsize=512)
def inconclusive_share(n: int, shape: tuple[int, int], noise: NoiseLaw, tables: int = _TABLES) -> float:
    """How often an expected count is at most 5 where all categories are equally frequent: simulated, same every time.

    It is the best case: a rare category makes the rule fire more often. Time: about 10 ms for 1,000 tables.

    Examples
    --------
    >>> from holdfast.inference.private_tests import discrete_gaussian
    >>> inconclusive_share(100_000, (2, 2), discrete_gaussian(0.01))
    0.0
    """
    n, (r, c) = arguments.whole("n", n, at_least=1), shape
    rng = np.random.default_rng(20170)
    if r * c <= _DRAWN_CELLS:
        drawn = rng.multinomial(n, np.full(r * c, 1 / (r * c)), size=tables) + noise.sample(rng, (tables, r * c))
        drawn = drawn.reshape(tables, r, c)
        rows, columns = drawn.sum(axis=2), drawn.sum(axis=1)
    else:  # the sum of so many noises is nearly normal, and drawing each of them would take long
        rows, columns = (
            rng.multinomial(n, np.full(many, 1 / many), size=tables)
            + rng.normal(0.0, math.sqrt(noise.variance * other), (tables, many))
            for many, other in ((r, c), (c, r))
        )
    total = rows.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        least = n * rows.min(axis=1) / total * columns.min(axis=1) / total
    conclusive = (total > 0) & (rows.min(axis=1) > 0) & (columns.min(axis=1) > 0) & (least > MINIMUM_EXPECTED)
    return float(1 - conclusive.mean())


def _replicates(level: float, most: int) -> int:
    """As many as the level needs, at least the usual number, at most what is quickly drawn."""
    wanted = math.ceil(_ROOM / level) - 1 if level > _ROOM / 1e9 else 10**9
    return max(DEFAULT_REPLICATES, min(wanted, most))


def _reached(m: int, level: float) -> bool:
    return 1 / (m + 1) <= level


def _limit_least_p(n: int, shape: tuple[int, int], noise: NoiseLaw) -> float:
    """Of a perfect association of equally frequent categories, without noise; 1 where even that is inconclusive.

    The margins are uniform there, so the projected statistic is `sum (h - n p)^2 / (n p + variance)` at `p = 1/(r c)`.
    """
    r, c = shape
    if n / (r * c) <= MINIMUM_EXPECTED:
        return 1.0
    statistic = n * (1 / max(r, c) - 1 / (r * c)) / (1 / (r * c) + noise.c(n))
    return max(float(chi_square_sf(statistic, degrees_of_freedom(Independence(r, c)))), sys.float_info.min)


def _small_cells(found: Reach, n: int, shape: tuple[int, int], noise: NoiseLaw) -> tuple[str, ...]:
    """What to say where the rule of thumb will often fire."""
    if found.inconclusive < _OFTEN:
        return ()
    warning = (
        f"with {n:,} rows in {shape[0]} by {shape[1]} cells and noise of standard deviation "
        f"{math.sqrt(noise.variance):.3g} on each, an expected count is at most {MINIMUM_EXPECTED:g} with probability "
        f"about {found.inconclusive:.3g} even where all categories are equally frequent; the test then decides "
        "nothing, and what it cost is spent"
    )
    smaller = _tables_below(shape)
    fewer = _first(lambda i: inconclusive_share(n, smaller[i], noise, _TRIED_TABLES) < _OFTEN, len(smaller))
    more = _first(
        lambda i: inconclusive_share(n, shape, _scaled(noise, _TIMES[i]), _TRIED_TABLES) < _OFTEN, len(_TIMES)
    )
    rows = _first(lambda i: inconclusive_share(n * _TIMES[i], shape, noise, _TRIED_TABLES) < _OFTEN, len(_TIMES))
    ways = [] if fewer is None else [f"fewer categories, about {smaller[fewer][0]} by {smaller[fewer][1]}"]
    ways += [] if more is None else [f"{_TIMES[more]} times the {'rho' if noise.is_gaussian else 'epsilon'}"]
    ways += [] if rows is None else [f"{_TIMES[rows]} times the rows"]
    return (warning, f"what brings that below {_OFTEN:g}: {', or '.join(ways) or 'nothing near this setting'}")


def _first(works: Callable[[int], bool], many: int) -> int | None:
    """The first of so many settings, each better than the one before, that works; by bisection."""
    low, high = -1, many
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high if high < many else None


def _tables_below(shape: tuple[int, int]) -> list[tuple[int, int]]:
    """Smaller and smaller tables, the longer side made shorter by one each time, down to 2 by 2."""
    r, c = shape
    shapes = []
    while max(r, c) > 2:
        r, c = (r - 1, c) if r >= c else (r, c - 1)
        shapes.append((r, c))
    return shapes


def _scaled(noise: NoiseLaw, factor: int) -> NoiseLaw:
    return NoiseLaw(noise.kind, noise.parameter * factor, noise.unit)


def _advised(found: Reach, said: tuple[str, ...], least_p_at: Callable[[NoiseLaw], float], noise: NoiseLaw) -> Reach:
    """The reach with what would work where nothing could be rejected: less noise, or a smaller cap."""
    if found.can_reject or found.inconclusive >= 1:
        return replace(found, advice=said)
    if found.level == 0:
        said += ("no p-value is small enough after this privacy cap: only a smaller cap would let any test reject",)
    else:
        enough = _first(lambda i: least_p_at(_scaled(noise, _TIMES[i])) <= found.level, len(_TIMES))
        name = "rho" if noise.is_gaussian else "epsilon"
        said += (
            f"with {_TIMES[enough]} times the {name} for this test some data could be rejected, and under a smaller "
            "privacy cap less would do"
            if enough is not None
            else "only a smaller privacy cap would let it reject",
        )
    return replace(found, advice=said)
