"""The filter to use when in doubt."""

from __future__ import annotations

from holdfast.accounting.filters.any_of import AnyOf
from holdfast.accounting.filters.basic import BasicFilter
from holdfast.accounting.filters.zcdp import ZCDPFilter


def default_filter(epsilon: float, delta: float, *, delta_sum: float = 0.0) -> AnyOf:
    """Make the default: basic composition OR the sum of rho, which together cost no more than the second alone.

    Basic composition is better for few large costs, the sum of rho for many small ones, and nobody needs to know in
    advance. The interaction is `(epsilon, delta)`-DP: basic has no slack, and both share the room for the costs' deltas
    (`AnyOf`). When every answer is Gaussian, `GDPFilter.from_dp` admits a little more.

    Adaptive use is covered; interleaving several interactive mechanisms is not covered by a published statement, since
    this is an OR. Finish one interaction before the next begins.

    Parameters
    ----------
    epsilon, delta : float
        The promise for the whole interaction; `delta` in (0, 1).
    delta_sum : float
        The part of `delta` that is room for the costs' own deltas; 0 when all costs are pure, zCDP or GDP.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, default_filter
    >>> budget = default_filter(1.0, 1e-6)
    >>> budget.admits(PureDP(1.0))
    True
    >>> for _ in range(487):
    ...     budget.spend(PureDP(0.01))
    >>> budget.admits(PureDP(0.01)), budget.guarantee().parameters["delta"]
    (False, 1e-06)
    """
    return AnyOf([BasicFilter(epsilon, delta_sum), ZCDPFilter.from_dp(epsilon, delta, delta_sum=delta_sum)])


__all__ = ["default_filter"]
