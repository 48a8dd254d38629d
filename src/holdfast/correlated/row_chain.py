"""A finite-state chain as the check of a fixed question needs it: how fast it forgets and its operator norm."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.correlated.transition import Array, check_transition, stationary_law

#: Coefficients are computed up to this lag, or until they have fallen to `_ENOUGH`; sub-multiplicativity goes on.
_LAGS, _ENOUGH = 4096, 1e-3
#: Rounding of products of stochastic matrices, with a wide margin; every coefficient is raised by it.
_ROUNDING = 1e-11


class RowChain:
    """The transition matrix of complete rows."""

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix: Array = check_transition("matrix", matrix)

    def coefficients(self, n: int) -> list[float] | None:
        """`delta_1, delta_2, ...`, rounded up: total variation between two lines of `P^t`; None if none is below 1."""
        power, found = self.matrix, [self._spread(self.matrix)]
        while len(found) < min(n, _LAGS) and found[-1] > _ENOUGH:
            power = power @ self.matrix
            power = power / power.sum(axis=1, keepdims=True)
            found.append(min(found[-1], self._spread(power)))
        return found if found[-1] < 1 else None

    @staticmethod
    def _spread(power: Array) -> float:
        worst = max(float(np.abs(power - line).sum(axis=1).max()) for line in power) / 2
        return 0.0 if worst == 0 else min(1.0, worst + _ROUNDING)

    @cached_property
    def stationary(self) -> Array:
        """The stationary law; the chain must have one only."""
        return stationary_law(self.matrix)

    @cached_property
    def operator_norm(self) -> float:
        """Norm on mean-zero functions of L2(pi): the second largest singular value of `D^(1/2) P D^(-1/2)`, rounded up.

        States that the stationary law never visits are left out.
        """
        law = self.stationary
        kept = law > 0
        root = np.sqrt(law[kept])
        if len(root) == 1:
            return 0.0
        scaled = root[:, None] * self.matrix[np.ix_(kept, kept)] / root
        centred = scaled - np.outer(root, root)  # the constant function's part, with singular value 1
        norm = float(np.linalg.svd(centred, compute_uv=False)[0])
        return min(1.0, norm + 1e-9)

    def start_ratio(self, last: int, gap: int) -> float:
        """`max_y P^g(x, y) / pi(y)`: how likely a state is `g` steps after `x`, over how likely it is in the long run.

        Examples
        --------
        >>> round(RowChain([[0.95, 0.05], [0.05, 0.95]]).start_ratio(0, 1), 6)
        1.9
        """
        last = check.whole("last", last, at_least=0, at_most=len(self.matrix) - 1)
        gap = check.whole("gap", gap, at_least=1, at_most=10**9)
        line, law = np.linalg.matrix_power(self.matrix, gap)[last], self.stationary
        reached = line > 0
        if np.any(law[reached] == 0):
            return float("inf")
        return max(1.0, up(float((line[reached] / law[reached]).max()) * (1 + _ROUNDING)))


__all__ = ["RowChain"]
