"""The final of a run: exact values of several candidates at once, and what is claimed about them.

A final ends a run, so its message needs no prior: every finalist is shown with its exact value. Its part of the failure
probability is split, by a rule that is fixed before the rows are read, over what is claimed:

- *intervals*: one for each finalist, at an equal part of the level;
- *winner*: an interval for the best one. Its lower limit is at half of the level divided by the number `m` of
  finalists, since the winner is not a fixed question. Its upper limit is the largest of the upper limits of all
  finalists at half of the level, not divided: that of the truly best one, which is a fixed question, holds its mean,
  and so every mean. For 0/1 values the division of the level goes by how near the best value is
  (`holdout.intervals.winner`), so that Bonferroni's interval is not shorter;
- *loss*: what the choice may have lost against the truly best one, at most the largest of the `m - 1` paired upper
  limits against the winner, each at the level divided by `m - 1`: the truly best one is fixed, so there are `m - 1`
  pairs with it;
- *ranks*: who is certainly better than whom, by Holm's method (`holdout.ranks`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.one_question.known_predictions import unlike_rows
from holdfast.bounds.one_question.means import Limits, Side, blaker, clopper_pearson
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.intervals.paired import MixtureBets
from holdfast.holdout.intervals.procedure import Procedure, order
from holdfast.holdout.intervals.winner import LARGEST, winner_limits
from holdfast.holdout.ranks import (
    Forecast,
    Ranks,
    betting_p_values,
    forecast_from,
    names_of,
    pair_statistics,
    rank,
    sign_p_values,
)

Array = npt.NDArray[np.float64]
CLAIMS = ("intervals", "winner", "loss", "ranks")
_SPLITS: dict[str, dict[str, float]] = {
    "intervals": {"intervals": 1.0},
    "winner": {"winner": 0.9, "loss": 0.1},
    "ranks": {"ranks": 1.0},
}
"""How the level is split by what a final is for: a report, a search, a contest."""
CONTEST_SPLIT = {"ranks": 0.9, "intervals": 0.1}
"""How the level of a contest's final is split: comparisons decide, and every score has an interval next to it."""
MOST_FINALISTS = 2000


def split_of(claims: Any = "intervals") -> dict[str, float]:
    """Return how the level of a final is split over its claims: a name, or the part of each claim.

    Examples
    --------
    >>> split_of("winner"), split_of({"intervals": 1, "ranks": 1})
    ({'winner': 0.9, 'loss': 0.1}, {'intervals': 0.5, 'ranks': 0.5})
    >>> split_of(["intervals", "ranks"]) == split_of({"intervals": 1, "ranks": 1})
    True
    """
    if isinstance(claims, str):
        return dict(_SPLITS[arguments.choice("claims", claims, tuple(_SPLITS))])
    if not isinstance(claims, Mapping):
        if not isinstance(claims, Sequence):
            raise InvalidParameter(
                f"claims must be one of {', '.join(_SPLITS)}, a list of claims, or a mapping from each claim "
                "to its part of the failure probability"
            )
        claims = dict.fromkeys(claims, 1)
    if not claims:
        raise InvalidParameter(f"claims must name at least one of {', '.join(CLAIMS)}")
    parts = {
        arguments.choice("claims", name, CLAIMS): arguments.real(f"claims[{name!r}]", part, above=0)
        for name, part in claims.items()
    }
    total = math.fsum(parts.values())
    return {name: part / total for name, part in parts.items()}


@dataclass(frozen=True, repr=False, eq=False)
class Finalists:
    """The columns of a final, one line per candidate, and what they add up to. Secret until the final shows them.

    For 0/1 columns counts are enough: how many ones each has, and on how many rows each beats each other. Bets with
    predictable sizes are placed on the rows themselves, in an order that was fixed before them. Where only counts are
    known there is no such order (one that is made up for the counts is not the rows', and misses far too often), so
    bets of fixed sizes take their place, which need none.
    """

    n: int
    low: float
    high: float
    binary: bool
    ones: npt.NDArray[np.int64] | None = None
    wins: npt.NDArray[np.int64] | None = None
    columns: Array | None = None

    @classmethod
    def of_columns(cls, columns: Array, low: float, high: float, binary: bool) -> Finalists:
        """Columns that were checked against their range."""
        if not binary:
            return cls(columns.shape[1], low, high, False, columns=columns)
        wins = np.rint(columns @ (1.0 - columns).T).astype(np.int64)
        return cls(columns.shape[1], 0.0, 1.0, True, np.rint(columns.sum(axis=1)).astype(np.int64), wins, columns)

    @property
    def count(self) -> int:
        """How many finalists there are."""
        held = self.columns if self.ones is None else self.ones
        assert held is not None
        return len(held)

    @property
    def means(self) -> Array:
        """The mean of each column."""
        if self.ones is not None:
            return np.asarray(self.ones / self.n, dtype=np.float64)
        assert self.columns is not None
        return np.asarray(np.clip(self.columns.mean(axis=1), self.low, self.high))

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """Return the interval of one finalist at a share."""
        if self.ones is not None:
            ones = int(self.ones[index])
            if alike and side == "both":
                limits = _blaker(ones, self.n, log_share)
            else:
                limits = clopper_pearson(ones, self.n, log_share if alike else _unlike(log_share, side), side)
            return limits.low, limits.high
        assert self.columns is not None
        low, high = self._bets(self.columns[index], self.low, self.high, alike).interval(log_share, side)
        return min(low, high), max(low, high)  # limits by betting can cross: then they missed

    def gap_at_most(self, better: int, worse: int, log_share: float, alike: bool) -> float:
        """Return an upper limit of how much larger the mean of `better` is than that of `worse`."""
        length = self.high - self.low
        if self.columns is not None:
            gaps = self.columns[better] - self.columns[worse]
            return self._bets(gaps, -length, length, alike).interval(log_share, "upper")[1]
        assert self.wins is not None
        won, lost = int(self.wins[better, worse]), int(self.wins[worse, better])
        counts = {1.0: won, -1.0: lost, 0.0: self.n - won - lost}
        return MixtureBets.of_counts(counts, -1.0, 1.0).interval(log_share, "upper")[1]

    def _bets(self, values: Array, low: float, high: float, alike: bool) -> Bets | MixtureBets:
        """Bets on one value per row, in an order that was fixed before the rows and is not that of a sorted file."""
        return Bets.on(values[order(self.n)], low, high) if alike else MixtureBets.on(values, low, high)

    def ranks(self, log_level: float, forecast: Forecast | None, alike: bool) -> Ranks:
        """Return who is certainly better than whom."""
        count = self.count
        if count < 2:
            return Ranks(frozenset(), count)
        if self.wins is not None and alike:
            return rank(sign_p_values(self.wins), log_level, forecast)
        if self.wins is not None:
            each = log_level - math.log(count * (count - 1))
            logs = np.zeros((count, count))
            for i, j in zip(*np.nonzero(self.wins > self.wins.T), strict=True):
                won, lost = int(self.wins[i, j]), int(self.wins[j, i])
                bets = MixtureBets.of_counts({1.0: won, -1.0: lost, 0.0: self.n - won - lost}, -1.0, 1.0)
                logs[i, j] = bets.log_p_value(0.0, each)
            return rank(logs, log_level, forecast)
        assert self.columns is not None
        each = log_level - math.log(count * (count - 1))
        return rank(betting_p_values(self.columns, self.low, self.high, each), log_level, forecast)

    def __repr__(self) -> str:
        return f"Finalists({self.count} of {self.n} rows)"


@lru_cache(maxsize=4096)
def _blaker(ones: int, n: int, log_share: float) -> Limits:
    """Finalists with the same count have the same interval."""
    return blaker(ones, n, log_share)


def _unlike(log_share: float, side: Side) -> float:
    """The share for rows that are not alike: each tail has to be below one quarter, so a larger share is not used."""
    most = math.log(0.5) if side == "both" else math.log(0.25)
    return unlike_rows(min(log_share, most - 1e-9))


@dataclass(frozen=True, repr=False, eq=False)
class MetricFinalists(Finalists):
    """Finalists that bring their own intervals: AUC, F1, a group's rate. Secret until the final shows them."""

    procedures: tuple[Procedure, ...] = ()

    @classmethod
    def of(cls, procedures: Sequence[Procedure]) -> MetricFinalists:
        """Metrics of one range on the same rows."""
        first = procedures[0]
        if any(
            (procedure.low, procedure.high, procedure.n) != (first.low, first.high, first.n) for procedure in procedures
        ):
            raise InvalidParameter("candidates must be metrics with the same range, computed on the same rows")
        if not all(hasattr(procedure, "value") for procedure in procedures):
            raise InvalidParameter(
                "candidates must be metrics that have a value, such as those of holdfast.holdout.metrics"
            )
        return cls(first.n, first.low, first.high, False, procedures=tuple(procedures))

    @property
    def count(self) -> int:
        """How many finalists there are."""
        return len(self.procedures)

    @property
    def means(self) -> Array:
        """The value of each; NaN for one without enough rows. That is no error, since errors reveal nothing."""
        values = (getattr(procedure, "value", None) for procedure in self.procedures)
        return np.array([math.nan if value is None else float(value) for value in values])

    def limits(self, index: int, log_share: float, side: Side, alike: bool) -> tuple[float, float]:
        """Return its own interval."""
        return self.procedures[index].interval(log_share, side)

    def gap_at_most(self, better: int, worse: int, log_share: float, alike: bool) -> float:
        """Return the difference of the outer limits, each at half of the share."""
        half = log_share - math.log(2)
        upper = self.procedures[better].interval(half, "upper")[1]
        return upper - self.procedures[worse].interval(half, "lower")[0]

    def ranks(self, log_level: float, forecast: Forecast | None, alike: bool) -> Ranks:
        """By intervals that do not meet: all of them hold at once."""
        each = log_level - math.log(self.count)
        ends = [procedure.interval(each) for procedure in self.procedures]
        apart = [(i, j) for i, mine in enumerate(ends) for j, other in enumerate(ends) if mine[0] > other[1]]
        return Ranks(frozenset(apart), self.count)


@dataclass(frozen=True)
class FinalResult:
    """The result of `final`: the exact values of the candidates and the claims about them. All claims hold together.

    Attributes
    ----------
    values : mapping
        The exact value of each finalist on the rows; NaN for a metric that these rows do not determine.
    winner : str
        The finalist with the best value; the first of equals.
    interval : mapping or None
        The interval of each finalist, where intervals were claimed.
    winner_interval : tuple or None
        The interval of the winner, where that was claimed; that of the winner among all intervals otherwise.
    loss_at_most : float or None
        By how much the truly best finalist can be better than the winner, where that was claimed.
    ranks : mapping or None
        The best and the worst rank that each finalist can have, where ranks were claimed.
    better : frozenset or None
        Pairs of names of which the first is certainly better than the second, where ranks were claimed.
    claims : mapping
        How the level was split.
    n : int
        The rows that the values are of.
    guarantee : Guarantee
        What this depends on.
    revealed : tuple
        Every earlier answer of the run with its exact interval, in order.

    Examples
    --------
    >>> from holdfast.holdout import ReusableHoldout
    >>> result = ReusableHoldout(1000).final({"a": [1] * 900 + [0] * 100, "b": [1] * 700 + [0] * 300}, claims="ranks")
    >>> print(result)
    final of 2 on 1,000 rows: a is best
      a  0.9  rank 1
      b  0.7  rank 2
    """

    values: Mapping[str, float]
    winner: str
    interval: Mapping[str, tuple[float, float]] | None
    winner_interval: tuple[float, float] | None
    loss_at_most: float | None
    ranks: Mapping[str, tuple[int, int]] | None
    better: frozenset[tuple[str, str]] | None
    claims: Mapping[str, float]
    n: int
    guarantee: Guarantee
    revealed: tuple[Any, ...] = ()

    def __str__(self) -> str:
        lines = [f"final of {len(self.values)} on {self.n:,} rows: {self.winner} is best"]
        if self.winner_interval is not None:
            lines[0] += f", in [{self.winner_interval[0]:.4g}, {self.winner_interval[1]:.4g}]"
        if self.loss_at_most is not None:
            lines[0] += f", at most {self.loss_at_most:.3g} below the truly best one"
        wide = max(len(name) for name in self.values)
        for name in sorted(self.values, key=lambda one: (math.isnan(self.values[one]), -self.values[one])):
            text = f"  {name:<{wide}}  {self.values[name]:.6g}"
            if self.interval is not None:
                text += f" in [{self.interval[name][0]:.4g}, {self.interval[name][1]:.4g}]"
            if self.ranks is not None:
                first, last = self.ranks[name]
                text += f"  rank {first}" if first == last else f"  rank {first} to {last}"
            lines.append(text)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "values": {name: None if math.isnan(value) else value for name, value in self.values.items()},
            "winner": self.winner,
            "interval": None if self.interval is None else {name: list(ends) for name, ends in self.interval.items()},
            "winner_interval": None if self.winner_interval is None else list(self.winner_interval),
            "loss_at_most": self.loss_at_most,
            "ranks": None if self.ranks is None else {name: list(ends) for name, ends in self.ranks.items()},
            "better": None if self.better is None else _in_order(self.better),
            "claims": dict(self.claims),
            "n": self.n,
            "guarantee": self.guarantee.to_dict(),
            "revealed": [answer.to_dict() for answer in self.revealed],
        }


def _in_order(better: frozenset[tuple[str, str]]) -> list[list[str]]:
    """The pairs in the order of their names; each name is compared with those that lost to the same one alone."""
    beaten: dict[str, list[str]] = {}
    for first, second in better:
        beaten.setdefault(first, []).append(second)
    return [[first, second] for first in sorted(beaten) for second in sorted(beaten[first])]


def decide_final(
    finalists: Finalists,
    names: Sequence[str],
    log_level: float,
    claims: Mapping[str, float],
    guarantee: Guarantee,
    *,
    greater_is_better: bool = True,
    alike: bool = True,
    forecast: Forecast | None = None,
) -> FinalResult:
    """Show the finalists and claim what the split allows.

    Parameters
    ----------
    finalists : Finalists
        The columns.
    names : sequence of str
        What they are called.
    log_level : float
        `ln` of the level of the whole final: beta times its spending times the prior weight of the run.
    claims : mapping
        The part of the level for each claim, from `split_of`.
    guarantee : Guarantee
        What the result depends on.
    greater_is_better : bool
        Whether the winner has the largest value.
    alike : bool
        Whether the rows are drawn alike. Rows that are merely independent have wider paired claims.
    forecast : Forecast, optional
        What other rows say about the pairs, for ranks (`forecast_from`).
    """
    count, means = finalists.count, finalists.means
    claimed = dict(claims)
    if count == 1 and set(claims) > {"loss"}:  # a choice among one loses nothing: its part goes to the other claims
        claims = split_of({name: part for name, part in claims.items() if name != "loss"})
    at = {name: log_level + math.log(part) - 1e-12 for name, part in claims.items()}
    best = best_of(means, greater_is_better)
    interval: dict[str, tuple[float, float]] | None = None
    if "intervals" in at:
        share = at["intervals"] - math.log(count)
        interval = {name: finalists.limits(i, share, "both", alike) for i, name in enumerate(names)}
    winner_interval = None if interval is None else interval[names[best]]
    near = False
    if "winner" in at:
        winner_interval, near = _winner_interval(
            finalists, best, at["winner"], at.get("loss", -math.inf), greater_is_better, alike
        )
    loss: float | None = None
    if "loss" in claimed and near and winner_interval is not None:
        loss = 0.0 if count == 1 else winner_interval[1] - winner_interval[0]  # all means are below the upper limit
    elif "loss" in claimed:
        loss = 0.0
        for other in range(count):
            if other != best:
                pair = (other, best) if greater_is_better else (best, other)
                loss = max(loss, finalists.gap_at_most(*pair, at["loss"] - math.log(count - 1), alike))
    ranks: dict[str, tuple[int, int]] | None = None
    better: frozenset[tuple[str, str]] | None = None
    if "ranks" in at:
        ranking = finalists.ranks(at["ranks"], forecast, alike)
        if not greater_is_better:
            ranking = Ranks(frozenset((j, i) for i, j in ranking.better), count)
        ranks, better = names_of(ranking, names)
    values = {name: float(mean) for name, mean in zip(names, means, strict=True)}
    return FinalResult(
        values, names[best], interval, winner_interval, loss, ranks, better, dict(claims), finalists.n, guarantee
    )


def best_of(means: Array, greater_is_better: bool) -> int:
    """Return the place of the best value, the first of equals; one without a value is never better than another.

    Examples
    --------
    >>> best_of(np.array([0.4, math.nan, 0.7, 0.7]), True), best_of(np.array([math.nan, 0.4]), False)
    (2, 1)
    """
    signed = means if greater_is_better else -means
    return int(np.argmax(np.where(np.isnan(signed), -np.inf, signed)))


def _winner_interval(
    finalists: Finalists, best: int, log_share: float, log_loss: float, greater_is_better: bool, alike: bool
) -> tuple[tuple[float, float], bool]:
    """An interval of the best finalist, and whether its length is what is claimed about the loss.

    One limit pays for having chosen the winner, the other does not.
    """
    half, count = log_share - math.log(2), finalists.count
    if count == 1:
        return finalists.limits(best, log_share, "both", alike), False
    if finalists.ones is not None and alike and max(log_share, log_loss) <= LARGEST:
        n, ones = finalists.n, int(finalists.ones[best])
        found = winner_limits(ones if greater_is_better else n - ones, n, count, log_share, log_loss)
        ends = (found.low, found.high) if greater_is_better else (down(1 - found.high), up(1 - found.low))
        return (max(0.0, ends[0]), min(1.0, ends[1])), found.near
    chosen = half - math.log(count)
    everyone = range(count)
    if greater_is_better:
        lower = finalists.limits(best, chosen, "lower", alike)[0]
        upper = max(finalists.limits(i, half, "upper", alike)[1] for i in everyone)
    else:
        lower = min(finalists.limits(i, half, "lower", alike)[0] for i in everyone)
        upper = finalists.limits(best, chosen, "upper", alike)[1]
    return (lower, max(lower, upper)), False


def pair_forecast(columns: Array, n: int, log_level: float) -> Forecast | None:
    """What columns of other rows say about the pairs; None where they show nothing."""
    if len(columns) < 2 or columns.shape[1] < 2:
        return None
    return forecast_from(pair_statistics(columns), n, columns.shape[1], log_level)
