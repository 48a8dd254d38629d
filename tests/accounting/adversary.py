"""The strongest adversary that mixes two randomized responses, by exact dynamic programming.

In every round it picks one of two epsilons, `unit` and `factor * unit`, from everything it has seen, or stops. The loss
of a round is `+epsilon` with probability `e^epsilon/(1 + e^epsilon)`, else `-epsilon`, so the loss so far is a whole
number of units and the state is (rounds of the first, rounds of the second, loss). Accounts are symmetric in their
costs, so what they say depends on the first two only. No sampling, no error but rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting import Filter, Odometer, PureDP

Table = NDArray[np.float64]


def admitted_region(make: Callable[[], Filter], unit: float, factor: int, most: int = 400) -> list[int]:
    """`region[b]` is how many rounds of the small epsilon fit after `b` rounds of the large one."""
    large, small = PureDP(factor * unit), PureDP(unit)
    region: list[int] = []
    while len(region) <= most:
        account = make()
        for _ in range(len(region)):
            if not account.admits(large):
                return region
            account.spend(large)
        count = 0
        while count < most and account.admits(small):
            account.spend(small)
            count += 1
        region.append(count)
    return region


def worst_delta(region: list[int], unit: float, factor: int, epsilon: float) -> float:
    """The largest `E (1 - e^(epsilon - L))_+` that an adversary inside the region reaches: the interaction's delta.

    Both directions of indistinguishability are the same by symmetry. The loss-dependent gain is a submartingale, so
    only the choice of the next epsilon matters, not when to stop.
    """
    reach = max(a + factor * b for b, a in enumerate(region)) + factor
    losses = unit * np.arange(-reach, reach + 1)
    gain = np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0.0)
    after_large: list[Table] = []
    for b in range(len(region) - 1, -1, -1):
        row: list[Table] = [gain] * (region[b] + 1)
        for a in range(region[b], -1, -1):
            value = gain
            if a < region[b]:
                value = np.maximum(value, _expected(row[a + 1], unit, 1))
            if a < len(after_large):
                value = np.maximum(value, _expected(after_large[a], unit, factor))
            row[a] = value
        after_large = row
    return float(after_large[0][reach])


def readings(make: Callable[[], Odometer], unit: float, factor: int, rounds: int) -> Table:
    """`table[a, b]` is the reading after `a` rounds of the small and `b` of the large epsilon, for a + b <= rounds."""
    table = np.full((rounds + 1, rounds + 1), math.inf)
    for b in range(rounds + 1):
        odometer = make()
        for _ in range(b):
            odometer.record(PureDP(factor * unit))
        table[0, b] = odometer.reading()
        for a in range(1, rounds + 1 - b):
            odometer.record(PureDP(unit))
            table[a, b] = odometer.reading()
    return table


def worst_crossing(table: Table, unit: float, factor: int, rounds: int) -> float:
    """The largest probability with which an adversary ever makes the loss exceed the reading, within `rounds`."""
    reach = factor * rounds + factor
    losses = unit * np.arange(-reach, reach + 1)
    later: dict[int, Table] = {}
    for done in range(rounds, -1, -1):
        now: dict[int, Table] = {}
        for b in range(done + 1):
            a = done - b
            value = np.zeros(2 * reach + 1)
            if done < rounds:
                value = np.maximum(_expected(later[b], unit, 1), _expected(later[b + 1], unit, factor))
            now[b] = np.where(losses > table[a, b] * (1 + 1e-12), 1.0, value)
        later = now
    return float(later[0][reach])


def _expected(values: Table, unit: float, steps: int) -> Table:
    """The mean of `values` after a round whose loss is plus or minus `steps` units; outside the table it is 0."""
    top = 1 / (1 + math.exp(-unit * steps))
    mean: Any = np.zeros_like(values)
    mean[:-steps] += top * values[steps:]
    mean[steps:] += (1 - top) * values[:-steps]
    return mean
