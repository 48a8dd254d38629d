"""Corrections of a p-value: the theorems that price what was run, of which the best may be used, and the result.

Looks with `2**bits` outcomes in all multiply every failure probability of the private part by `2**bits`
(`transfer.interleaved`), so with `b = bits`

    level(alpha)  = level of the private part at alpha / 2**b,      adjusted(p) = 2**b * adjusted p of the private part.

A noiseless step alone is Bonferroni's correction. Every route is a curve of true statements fixed by the costs, all
true at once, so taking the best one costs nothing, also after seeing the p-value: each rejects when `p <= u` for a
`u` that no data enter, such regions are nested, and their union is that of the largest `u`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from holdfast.bounds.conversions import pure_to_zcdp
from holdfast.bounds.currency import corrected
from holdfast.bounds.gdp import gdp_to_dp
from holdfast.bounds.max_information import LOG2E, group_delta
from holdfast.bounds.numerics.exact import decimal_sum, down, float_up, up
from holdfast.bounds.numerics.search import best_level, best_probability
from holdfast.bounds.p_value import (
    Level,
    adjusted,
    adjusted_after_approx_dp,
    adjusted_after_pure_dp,
    level_after_approx_dp,
    level_after_pure_dp,
    level_from_log2,
)
from holdfast.bounds.zcdp import zcdp_to_dp
from holdfast.core.guarantee import Guarantee
from holdfast.inference.after_looking.spent import Totals


@dataclass(frozen=True)
class Correction:
    """A p-value corrected for everything that was run on the rows before its test was chosen.

    `rejected` says whether the original p-value is at most `level`. This means that the adjusted p-value is at most
    `alpha`. Only for a p-value within one per cent of the level may the two differ, because both numbers come from
    numerical searches that stay on the safe side. Either rule is valid. If only a level was asked for, `p` and
    `adjusted` are None.

    Notes
    -----
    The two rules together are valid too: every route and every beta rejects when `p <= u`, and such regions are
    nested.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> from holdfast.inference import AfterLooking
    >>> print(AfterLooking(1000).record(PureDP(0.02)).correct(0.001))
    adjusted p 0.003081 (ordinary 0.001): rejected at 0.05
      reject when the ordinary p is at most 0.02193 (pure privacy)
      guarantee: p-value.level-after-pure-dp (epsilon=0.02, n=1000); rows independent, neighbours replace one row
    """

    alpha: float
    level: Level
    route: str
    guarantee: Guarantee
    p: float | None = None
    adjusted: float | None = None

    @property
    def rejected(self) -> bool | None:
        """Whether the null hypothesis is rejected at `alpha`; None if no p-value was given."""
        return None if self.p is None else self.p <= self.level.value

    @property
    def hopeless(self) -> bool:
        """Whether even the smallest p-value that a computer can store would not be rejected."""
        return self.level.value == 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "p": self.p,
            "adjusted": self.adjusted,
            "alpha": self.alpha,
            "level": self.level.to_dict(),
            "rejected": self.rejected,
            "route": self.route,
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        lines = []
        if self.p is not None:
            verdict = "rejected" if self.rejected else "not rejected"
            lines.append(f"adjusted p {self.adjusted:.4g} (ordinary {self.p:.4g}): {verdict} at {self.alpha:g}")
        if self.level.is_vacuous:
            lines.append(f"no p-value rejects at {self.alpha:g} after what was run ({self.route})")
        elif self.hopeless:
            where = f"2**{self.level.log2_level:.1f}"
            lines.append(f"reject when the ordinary p is at most {where}, below any float ({self.route})")
        else:
            lines.append(f"reject when the ordinary p is at most {self.level.value:.4g} ({self.route})")
        lines.append(f"guarantee: {self.guarantee}")
        return "\n  ".join(lines)


Nulls = Literal["product", "any"]
NONE = Level(0.0, -math.inf, math.inf, 1.0)
"""Nothing may ever be rejected."""


@dataclass(frozen=True)
class Route:
    """One theorem applied to one reading: a corrected level, an adjusted p-value, and what they depend on."""

    name: str
    theorem: str
    level: Callable[[float], Level]
    adjusted: Callable[[float], float]
    parameters: dict[str, float] = field(default_factory=dict)


def routes(totals: Totals, n: int, nulls: Nulls) -> Iterator[Route]:
    """Every theorem that covers these totals; none where nothing is known."""
    bits = totals.bits
    if not totals.private:
        yield Route(
            "looks alone" if bits else "nothing was run",
            "transfer.interleaved" if bits else "p-value.corrected-level",
            lambda alpha: Level(*corrected(alpha, bits, 0.0), bits, 0.0),
            lambda p: adjusted(p, bits, 0.0),
            {"bits": bits},
        )
        return
    if nulls == "any":
        yield _any_law(totals, n)
        return
    if totals.only_pure:
        yield _pure(totals, n)
        if sum(1 for epsilon in totals.pure if epsilon) > 1:
            yield _concentrated(totals, n, pure_too=True)
        return
    yield _concentrated(totals, n, pure_too=False)
    if totals.pure and (totals.rho or totals.mus or len(totals.pure) > 1):
        yield _concentrated(totals, n, pure_too=True)
    yield _any_law(totals, n)  # the better one while n times the privacy parameter is small


def _pure(totals: Totals, n: int) -> Route:
    bits, epsilon = totals.bits, totals.epsilon

    def level(alpha: float) -> Level:
        # Two lines: the best point of the product curve, and the line without a failure probability, in logarithms.
        inner = _shared(alpha, bits)
        curved = NONE
        if inner:
            curved = _with_bits(level_after_pure_dp(inner, epsilon, n), bits)
        plain = math.log2(alpha) - bits - up(epsilon * n * LOG2E, 4)
        plain -= 4 * math.ulp(plain)
        if plain > curved.log2_level:
            return level_from_log2(plain, up(bits + up(epsilon * n * LOG2E, 4), 2), 0.0)
        return curved

    def adjust(p: float) -> float:
        return adjusted(adjusted_after_pure_dp(p, epsilon, n), bits, 0.0)

    name = "looks and pure privacy, interleaved" if bits else "pure privacy"
    theorem = "transfer.interleaved" if bits else "p-value.level-after-pure-dp"
    return Route(name, theorem, level, adjust, {"bits": bits, "epsilon": epsilon})


def _any_law(totals: Totals, n: int) -> Route:
    """Group privacy against a fixed sample, `transfer.any-law`."""
    bits, epsilon = totals.bits, totals.epsilon
    rho = up(n * n * float_up(decimal_sum([totals.rho, totals.mu_rho])))
    lost = math.fsum(group_delta(n, e, d) for e, d in totals.approx)
    lost = up(lost) if lost else 0.0
    base = up(epsilon * n)

    def curve(slack: float) -> float:
        if rho == 0:
            return base
        delta = math.exp(-slack) if slack < 690 else 0.0
        return base + zcdp_to_dp(rho, min(delta, 1 - 1e-16)) if delta else math.inf

    at_zero = base if rho == 0 else math.inf

    def level(alpha: float) -> Level:
        inner = _shared(alpha, bits)
        left = down(inner - lost, 1) if inner > lost else 0.0
        if not left:
            if lost or rho:
                return NONE
            plain = math.log2(alpha) - bits - up(base * LOG2E, 4)
            return level_from_log2(plain - 4 * math.ulp(plain), up(bits + base * LOG2E), 0.0)
        point = best_level(curve, left, at_zero)
        log2_level = point.log_value * LOG2E
        beta = up(math.exp(-point.slack) + lost)
        composed = level_from_log2(log2_level - 16 * math.ulp(log2_level), up(point.nats * LOG2E, 4), beta)
        return _with_bits(composed, bits)

    def adjust(p: float) -> float:
        if p == 0:
            return min(1.0, adjusted(min(1.0, lost), bits, 0.0))
        point = best_probability(curve, math.log(p), at_zero)
        return adjusted(min(1.0, up(math.exp(point.log_value) + lost, 16)), bits, 0.0)

    given = {"bits": bits, "epsilon": epsilon, "delta": totals.delta, "rho": totals.rho + totals.mu_rho}
    return Route("group privacy against a fixed sample", "transfer.any-law", level, adjust, given)


def _concentrated(totals: Totals, n: int, pure_too: bool) -> Route:
    """Compose as private steps, convert to (epsilon, delta) once, then Theorem S+; delta from a fixed grid."""
    bits = totals.bits
    rhos = [totals.rho, totals.mu_rho]
    basic = [e for e, _ in totals.approx]
    if pure_too:
        rhos += [pure_to_zcdp(epsilon) for epsilon in totals.pure]
    else:
        basic += list(totals.pure)
    rho = float_up(decimal_sum(rhos))
    only_gaussian = bool(totals.mus) and not totals.rho and not (pure_too and totals.pure)
    mu = up(math.sqrt(2 * totals.mu_rho), 8)
    epsilon, delta = float_up(decimal_sum(basic)), totals.delta
    last = 0 if rho == 0 else _GRID - 1

    def pair(j: int) -> tuple[float, float]:
        if rho == 0:
            return epsilon, delta
        share = 10.0 ** (-j / 2 - 0.5) / n
        converted = _gaussian(mu, share) if only_gaussian else _zcdp(rho, share)
        return up(epsilon + converted, 1), min(up(delta + share, 1), 1 - 1e-16) if delta else share

    def at(j: int, inner: float) -> Level:
        e, d = pair(j)
        if not n * d < inner:
            return NONE
        return level_after_approx_dp(inner, e, d, n)

    def best(inner: float, start: int | None = None) -> tuple[int, Level]:
        """Climb the grid of deltas: one peak is assumed for speed, not for validity."""
        if start is None:
            start = round(2 * (3.5 - math.log10(inner))) if rho else 0
        j = min(max(start, 0), last)
        highest = at(j, inner)
        for step in (1, -1):
            while 0 <= j + step <= last:
                candidate = at(j + step, inner)
                if not candidate.log2_level > highest.log2_level:
                    break
                j, highest = j + step, candidate
        return j, highest

    def level(alpha: float) -> Level:
        inner = _shared(alpha, bits)
        return _with_bits(best(inner)[1], bits) if inner else NONE

    def adjust(p: float) -> float:
        """Take the grid's delta that is best at the answer itself; then no other delta gives a smaller one."""
        if rho == 0:
            return adjusted(adjusted_after_approx_dp(p, epsilon, delta, n), bits, 0.0)
        guess = min(max(100 * p, 1e-6), 0.5)
        answer, j = 1.0, None
        for _ in range(6):
            j_new, _ = best(guess, j)
            if j_new == j:
                break
            j = j_new
            value = adjusted_after_approx_dp(p, *pair(j), n)
            answer = min(answer, value)
            guess = min(max(value, 1e-300), 1 - 1e-9)
        return adjusted(answer, bits, 0.0)

    name = "private steps composed, then Theorem S+" if not bits else "looks and private steps, interleaved"
    theorem = "transfer.interleaved" if bits else "p-value.level-after-approx-dp"
    given = {"bits": bits, "epsilon": epsilon, "delta": delta} | ({"rho": rho} if rho else {})
    return Route(name, theorem, level, adjust, given)


_GRID = 40  # deltas from 0.3/n down to 1e-20/n, by a factor of sqrt(10)


@lru_cache(maxsize=512)
def _gaussian(mu: float, delta: float) -> float:
    return gdp_to_dp(mu, delta)


@lru_cache(maxsize=512)
def _zcdp(rho: float, delta: float) -> float:
    return zcdp_to_dp(rho, delta)


def _shared(alpha: float, bits: float) -> float:
    """Alpha over the outcomes of the noiseless steps, rounded down; 0 below the range that the searches handle."""
    inner = corrected(alpha, bits, 0.0)[0]
    return inner if inner > 1e-290 else 0.0


def _with_bits(level: Level, bits: float) -> Level:
    """The level of the private part, charged with the noiseless steps' bits and the failure probability."""
    if not bits or level.is_vacuous or level.bits is None or level.beta is None:
        return level
    beta = up(math.ldexp(level.beta, math.ceil(bits)) * 2.0 ** (bits - math.ceil(bits)))
    return Level(level.value, level.log2_level, up(level.bits + bits, 1), min(beta, 1.0), level.parameters)
