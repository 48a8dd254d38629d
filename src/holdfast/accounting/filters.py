"""Privacy filters: whether a cost may still be spent, asked before an answer is released.

`BasicFilter`, `RogersFilter` and `WhitehouseFilter` add epsilons; `ZCDPFilter`, `GDPFilter`, `RenyiFilter` and
`RenyiCurveFilter` add other costs; `BitsFilter` adds description lengths. `AllOf` and `AnyOf` combine filters,
`FilterFromOdometer` uses an odometer as a filter, and `default_filter` is the one to start with.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Self

from holdfast.accounting.account import Account, Joint, State, Tally, amounts, named, shown
from holdfast.accounting.costs import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Bits,
    Cost,
    PointwiseDP,
    PureDP,
    budget,
    budget_delta,
    orders_of,
)
from holdfast.accounting.odometers import Odometer
from holdfast.accounting.totals import (
    HALF,
    NONE,
    ZERO,
    at_orders,
    below,
    double_down,
    double_up,
    exact,
    gaussian_rho,
    mean_loss,
    minus,
    plus,
    pure_rho,
    read_down,
    read_up,
    root_down,
    root_up,
    slack_of,
    square,
    times,
)
from holdfast.bounds.conversions import gdp_budget, gdp_to_dp, zcdp_budget, zcdp_to_dp
from holdfast.bounds.filters import SPARSE_ORDERS, renyi_constant, rogers_left_side, rogers_offset, whitehouse_left_side
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import first_at_least
from holdfast.bounds.zcdp import Method
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import BudgetExhausted, InvalidParameter

REPLACE_ONE = "neighbours replace one of n rows, n public; costs may be chosen adaptively"

REREAD = 64
"""Units in the last place by which a stored promise may differ from its budget: another machine's `exp` may."""

_SMALLEST = math.ulp(0.0)
_LARGEST = sys.float_info.max / 2
"""Beyond, the search for what is left would leave the floating range; a cost of that size is nobody's question."""


class Promise(NamedTuple):
    """What a filter promises about the whole interaction as `(epsilon, delta)`, with the two parts of delta apart.

    `slack` is the chance that the concentration argument fails, `room` is kept for the costs' own deltas. They are
    kept apart because a combination pays every slack but the deltas of the costs only once.
    """

    epsilon: float
    slack: Decimal
    room: Decimal

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return read_up(plus(self.slack, self.room))


class Filter(Account):
    """A privacy filter: a budget that admits or refuses each cost. This is the base class of all filters.

    Call `spend(cost)` *before* a mechanism runs, and run the mechanism only if `spend` does not raise an error. Then
    the whole interaction has the property that `guarantee()` states, however the costs were chosen. If a mechanism
    fails after its cost was spent, the cost stays charged. A refused cost changes nothing, and smaller costs may still
    be admitted, because a refused question counts as a round of cost 0. Each call takes constant time, and the filter
    constant memory, however many costs were spent. Spending takes microseconds. A refusal may take a millisecond,
    because the amount that is left may have to be searched for.

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter, PureDP
    >>> budget = BasicFilter(1.0)
    >>> budget.spend(PureDP(0.75))
    >>> budget.admits(PureDP(0.5)), budget.admits(PureDP(0.25))
    (False, True)
    """

    role: ClassVar[str] = "filter"

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the privacy guarantee of the whole interaction. It is valid however the costs are chosen and whenever
        the interaction stops.
        """

    @abstractmethod
    def _fits(self, state: State) -> bool:
        """Whether `state` is inside the budget."""

    @abstractmethod
    def _spent(self, state: State) -> dict[str, Any]:
        """What `state` has spent, in the names of the accepted costs."""

    @abstractmethod
    def _left(self, state: State) -> dict[str, Any]:
        """The largest amounts that `state` still admits."""

    def _take(self, state: State) -> None:
        if not self._fits(state):
            spent = amounts(self._spent(state)) or "all of it"
            raise InvalidParameter(
                f"the {self.name} filter must have a budget that covers what is already spent, which is {spent}"
            )
        super()._take(state)

    def _stated(self, parameters: dict[str, Any]) -> Guarantee:
        """A guarantee under the catalogue's entry for filters, with this filter's name."""
        return Guarantee("filter.rounds", {"name": self.name} | parameters, REPLACE_ONE)

    def _promise(self) -> Promise | None:
        """The guarantee as (epsilon, delta), where it is one."""
        return None

    def admits(self, cost: Cost) -> bool:
        """Return whether `spend(cost)` would succeed now. Nothing is spent. A kind of cost that this filter does not
        accept raises `InvalidParameter`.
        """
        return self._fits(self._after(self._state, cost))

    def spend(self, cost: Cost) -> None:
        """Charge `cost` to the budget. If it does not fit, `BudgetExhausted` is raised and nothing is charged."""
        with self._lock:
            before = self._state
            after = self._after(before, cost)
            if self._fits(after):
                self._state = after
                return
        # outside the lock: what is left may have to be searched for, and nobody should wait for a message
        spent, left = amounts(self._spent(before)), amounts(self._left(before))
        hint = self._hint(before, cost)
        raise BudgetExhausted(
            f"the {self.name} filter refuses a cost of {shown(cost)}: spent so far {spent}; left {left}{hint}"
        )

    def _hint(self, state: State, cost: Cost) -> str:
        """What else explains a refusal of `cost` at `state`; nothing where the amounts say it all."""
        return ""

    def spent(self) -> dict[str, Any]:
        """Return what has been spent so far, rounded up. It describes the state of the filter and is not a guarantee.

        If the costs of this filter are simply added, the result has their sums, such as `epsilon`. Filters that do not
        add costs show the quantities that they compare with the budget: `RogersFilter` and `WhitehouseFilter` show the
        sum of squared epsilons and the left side of their inequality.
        """
        return self._spent(self._state)

    def remaining(self) -> dict[str, Any]:
        """Return the largest amounts that the filter would still admit, rounded down. Amounts of different kinds of
        cost fit one at a time; the epsilon and the delta of one cost fit together.
        """
        return self._left(self._state)

    def _largest(self, state: State) -> float:
        """The largest pure epsilon that fits, to the last double; for filters whose rule has no simple inverse."""

        def refused(epsilon: float) -> bool:
            return not self._fits(self._after(state, PureDP(epsilon)))

        if refused(_SMALLEST):
            return 0.0
        return math.nextafter(first_at_least(refused, True, _SMALLEST, _LARGEST), 0.0)


class BasicFilter(Tally, Filter):
    """A filter that admits a cost if the sum of all epsilons stays at most `epsilon`, and the sum of all deltas at most
    `delta`.

    The source is Theorem 5.3.7 of Rogers' dissertation (with the rule "halt if the deltas exceed the budget"; the
    printed proof mixes up two letters). The interaction is `(epsilon, delta)`-DP for ordinary DP deltas. With `delta =
    0` the guarantee is pure DP, without a failure probability. The sums are computed exactly.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        Room for the costs' own deltas, in [0, 1); 0 by default, for pure costs.

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter, PureDP
    >>> budget = BasicFilter(1.0)
    >>> for _ in range(10):
    ...     budget.spend(PureDP(0.1))
    >>> budget.remaining()
    {'epsilon': 0.0, 'delta': 0.0}
    >>> budget.spend(PureDP(0.1))
    Traceback (most recent call last):
        ...
    holdfast.errors.BudgetExhausted: the basic filter refuses a cost of PureDP(epsilon=0.1): spent so far epsilon=1,
    delta=0;
    left epsilon=0, delta=0
    """

    name = "basic"
    totals = ("epsilon", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon)
        self.delta = budget_delta("delta", delta, zero=True)
        self._caps = exact(self.epsilon), exact(self.delta)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: its budget."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee by basic composition."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, ZERO, self._caps[1])

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        return exact(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._caps[0] and state[1] <= self._caps[1])

    def _spent(self, state: State) -> dict[str, Any]:
        return {"epsilon": read_up(state[0]), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        epsilon, delta = map(minus, self._caps, state)
        return {"epsilon": read_down(epsilon), "delta": read_down(delta)}


_COUNTED = "everything that leaves a step is counted, errors and refusals that depend on the data included"


class BitsFilter(Tally, Filter):
    """A filter that admits a cost if the sum of all bits stays at most `bits`. Then at most `2^bits` different
    transcripts are possible.

    On every path, the product of the numbers of possible answers is at most `2^bits`, where each number is determined
    by the transcript before it. So the transcript has at most `2^bits` values. This is condition (i) of the theorem
    that mixes bits and privacy in any order (`transfer.interleaved`), and the description length of
    `max-information.description-length`.

    Everything that a step can reveal counts as a possible answer: errors, timeouts, and a decision to stop that depends
    on the data. This is not a privacy guarantee.

    Parameters
    ----------
    bits : float
        The budget, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import Bits, BitsFilter
    >>> budget = BitsFilter(10)
    >>> budget.spend(Bits(9.5))
    >>> budget.admits(Bits(1)), budget.remaining()
    (False, {'bits': 0.5})
    """

    name = "bits"
    totals = ("bits",)
    accepts = (Bits,)

    def __init__(self, bits: float) -> None:
        super().__init__()
        self.bits = budget("bits", bits)
        self._cap = exact(self.bits)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: its budget."""
        return {"bits": self.bits}

    def guarantee(self) -> Guarantee:
        """Return the guarantee that at most `2^bits` transcripts are possible."""
        return Guarantee("max-information.description-length", self.parameters(), _COUNTED)

    def _increments(self, cost: Bits) -> tuple[Decimal, ...]:
        return (exact(cost.bits),)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"bits": read_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"bits": read_down(minus(self._cap, state[0]))}


class GDPFilter(Tally, Filter):
    """A filter that admits a cost if the sum of all squared mu stays at most `mu^2`. The whole interaction is then
    mu-GDP.

    The sources are Koskela, Tobaben and Honkela 2022 and Smith and Thakurta 2022. The proof was derived again: any
    mu_i-GDP mechanism is a post-processing of an increment of a Brownian motion with drift. All increments are read up
    to a time of at most `mu^2`, so together they are a post-processing of the endpoint of that motion.

    The filter admits as much as composition with costs that are fixed in advance, so it is the best filter if all
    answers are Gaussian. Concurrent use is covered as for f-DP (Haney et al. 2023).

    Parameters
    ----------
    mu : float
        The budget, at least 0.
    epsilon, delta : float, optional
        The (epsilon, delta) that this budget is meant to keep; checked against `mu`. `GDPFilter.from_dp` fills them.

    Examples
    --------
    >>> from holdfast.accounting import GDP, GDPFilter
    >>> budget = GDPFilter(0.5)
    >>> budget.spend(GDP(0.3))
    >>> budget.remaining()
    {'mu': 0.4}
    >>> budget.admits(GDP(0.4)), budget.admits(GDP(0.41))
    (True, False)
    """

    name = "gdp"
    totals = ("mu_squared",)
    accepts = (GDP,)

    def __init__(self, mu: float, *, epsilon: float | None = None, delta: float | None = None) -> None:
        super().__init__()
        self.mu = budget("mu", mu)
        if (epsilon is None) != (delta is None):
            raise InvalidParameter("epsilon and delta must both be given, or neither of them")
        self.epsilon = None if epsilon is None else budget("epsilon", epsilon)
        self.delta = None if delta is None else budget_delta("delta", delta)
        self._cap = square(self.mu)
        if self.epsilon is not None and self.delta is not None:
            needed = gdp_to_dp(math.nextafter(self.mu, math.inf) if self.mu else 0.0, self.delta)
            if not needed <= up(self.epsilon, REREAD):
                raise InvalidParameter(
                    f"epsilon must be at least {needed} at this delta, because mu is {self.mu}, got {self.epsilon}"
                )

    @classmethod
    def from_dp(cls, epsilon: float, delta: float) -> Self:
        """Make the filter with the largest mu for which the interaction is `(epsilon, delta)`-DP. The conversion is
        exact.
        """
        epsilon, delta = budget("epsilon", epsilon), budget_delta("delta", delta)
        mu = gdp_budget(epsilon, delta)
        mu = math.nextafter(mu, 0.0)  # a float is read as its shortest decimal, which may lie above it
        return cls(mu, epsilon=epsilon, delta=delta)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the budget, and the (epsilon, delta) that it keeps, if
        that was given.
        """
        return {"mu": self.mu} | ({} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta})

    def guarantee(self) -> Guarantee:
        """Return the mu-GDP guarantee, and the (epsilon, delta)-DP guarantee if epsilon and delta were given."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise | None:
        if self.epsilon is None or self.delta is None:
            return None
        return Promise(self.epsilon, exact(self.delta), ZERO)

    def _increments(self, cost: GDP) -> tuple[Decimal, ...]:
        return (square(cost.mu),)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"mu": root_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"mu": root_down(minus(self._cap, state[0]))}


class RogersFilter(Tally, Filter):
    """A filter that admits a cost if the drift plus the deviation of the privacy loss stays at most `epsilon` (Rogers'
    dissertation, Theorem 5.5.1).

    Let `V` be the sum of squared epsilons. A cost is admitted if the deltas then sum to at most `delta/2` and `drift +
    sqrt(2 (V + x)(1 + log(1 + V/x)/2) log(2/delta)) <= epsilon`. The interaction is `(epsilon, delta)`-DP for ordinary
    deltas. The offset `x` may have any positive value that is fixed in advance. `ZCDPFilter` admits about three times
    as much. This filter exists because it is the one in the publication.

    Parameters
    ----------
    epsilon : float
        The budget, above 0.
    delta : float
        In (0, 1/e); half of it is room for the costs' own deltas, as printed.
    method : str
        "tuned" (default): the tuned offset and the tight drift `e tanh(e/2)`. "paper": the offset
        `epsilon^2 / (28.04 log(1/delta))` and the drift `e(e^e - 1)/2`, as printed.
    offset : float, optional
        An offset `x` of one's own, fixed before the first cost.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RogersFilter
    >>> def rounds(budget):
    ...     count = 0
    ...     while budget.admits(PureDP(0.01)):
    ...         budget.spend(PureDP(0.01))
    ...         count += 1
    ...     return count
    >>> rounds(RogersFilter(1.0, 1e-6, method="paper")), rounds(RogersFilter(1.0, 1e-6))
    (147, 150)
    """

    name = "rogers"
    totals = ("drift", "squares", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(
        self, epsilon: float, delta: float, *, method: Literal["tuned", "paper"] = "tuned", offset: float | None = None
    ) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon, above=0)
        self.delta = budget_delta("delta", delta, below=math.exp(-1))
        self.method = arguments.choice("method", method, ("tuned", "paper"))
        self._own_offset = None if offset is None else arguments.real("offset", offset, above=0)
        self.offset = self._own_offset or rogers_offset(self.epsilon, self.delta, method)
        self._drift: Literal["tight", "paper"] = "tight" if method == "tuned" else "paper"
        self._half = times(HALF, exact(self.delta))
        self._slack = double_down(self._half)
        if not self._fits(self._state):
            if self._own_offset is None:
                raise InvalidParameter(
                    f"epsilon must be larger than {self.epsilon}, with which this filter would refuse even a cost of 0"
                )
            raise InvalidParameter(
                f"offset must be smaller than {self.offset}, with which this filter would refuse even a cost of 0"
            )

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the budget and the choice of constants."""
        own = {} if self._own_offset is None else {"offset": self._own_offset}
        return {"epsilon": self.epsilon, "delta": self.delta, "method": self.method} | own

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee."""
        stated = {"epsilon": self.epsilon, "delta": self.delta, "offset": self.offset, "method": self.method}
        return self._stated(stated)

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._half, self._half)

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        drift = mean_loss(cost.epsilon, self._drift)
        return drift, square(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _left_side(self, state: State) -> float:
        drift, squares = double_up(state[0]), double_up(state[1])
        if drift == math.inf or squares == math.inf:
            return math.inf
        return rogers_left_side(drift, squares, self.offset, self._slack)

    def _fits(self, state: State) -> bool:
        return bool(state[2] <= self._half) and self._left_side(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"squares": read_up(state[1]), "left_side": self._left_side(state), "delta": read_up(state[2])}

    def _left(self, state: State) -> dict[str, Any]:
        largest = self._largest(state)
        return {"epsilon": largest, "delta": read_down(minus(self._half, state[2]))}


class WhitehouseFilter(Tally, Filter):
    """A filter that admits a cost if `sqrt(2 V log(1/slack)) + V/2` stays at most `epsilon`, where `V` is the sum of
    squared epsilons.

    The source is Whitehouse et al. 2023, on fully adaptive composition. Here `slack = delta - delta_sum`, and the
    deltas of the costs may sum to at most `delta_sum`. The interaction is `(epsilon, delta)`-DP for ordinary deltas.
    The proof was derived again from zCDP, by the simple conversion of zCDP to (epsilon, delta). `ZCDPFilter.from_dp`
    uses the tight conversion and admits more.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        In (0, 1), for everything.
    delta_sum : float
        The part of `delta` that is room for the costs' own deltas.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, WhitehouseFilter
    >>> budget = WhitehouseFilter(1.0, 1e-6)
    >>> for _ in range(349):
    ...     budget.spend(PureDP(0.01))
    >>> budget.admits(PureDP(0.01)), budget.admits(PureDP(0.001))
    (False, True)
    """

    name = "whitehouse"
    totals = ("squares", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(self, epsilon: float, delta: float, *, delta_sum: float = 0.0) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon)
        self.delta, self.delta_sum = budget_delta("delta", delta), budget_delta("delta_sum", delta_sum, zero=True)
        self._exact_slack = slack_of(self.delta, self.delta_sum)
        self._slack = double_down(self._exact_slack)
        self._room = exact(self.delta_sum)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the budget and how its delta is split."""
        return {"epsilon": self.epsilon, "delta": self.delta, "delta_sum": self.delta_sum}

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._exact_slack, self._room)

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        return square(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _left_side(self, state: State) -> float:
        squares = double_up(state[0])
        return math.inf if squares == math.inf else whitehouse_left_side(squares, self._slack)

    def _fits(self, state: State) -> bool:
        return bool(state[1] <= self._room) and self._left_side(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"squares": read_up(state[0]), "left_side": self._left_side(state), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        largest = self._largest(state)
        return {"epsilon": largest, "delta": read_down(minus(self._room, state[1]))}


class ZCDPFilter(Tally, Filter):
    """A filter that admits a cost if the sum of all rhos stays at most `rho`. The whole interaction is then rho-zCDP.

    Feldman and Zrnic 2021 prove this for one Renyi order. The same stopping rule is valid for all orders at once, so
    the interaction satisfies the whole zCDP curve. Every conversion of zCDP can be applied to it, including the tight
    one of Canonne, Kamath and Steinke 2020. Proof: `exp((a-1)(L_t - a R_t))` is a supermartingale for every order `a >
    1`, and whether the next cost is admitted is known before it is charged.

    A pure cost counts as rho = `epsilon tanh(epsilon/2)`, and a Gaussian cost as `mu^2/2`; both are exact. An
    approximate cost counts as the pure cost of its epsilon, and its delta is charged to `delta_sum`. The interaction is
    then rho-zCDP outside an event with probability at most `delta_sum`. The costs may be chosen adaptively. Interactive
    mechanisms may run at the same time if their costs have no delta (Haney et al. 2023). With approximate costs, finish
    one interaction before the next begins.

    Parameters
    ----------
    rho : float
        The budget, at least 0.
    delta_sum : float
        Room for the costs' own deltas, in [0, 1).
    epsilon, delta : float, optional
        The (epsilon, delta) that this budget is meant to keep, `delta_sum` included; checked against `rho`.
        `ZCDPFilter.from_dp` fills them.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, PureDP, ZCDPFilter
    >>> budget = ZCDPFilter.from_dp(epsilon=1.0, delta=1e-6)
    >>> rounds = 0
    >>> while budget.admits(PureDP(0.01)):
    ...     budget.spend(PureDP(0.01))
    ...     rounds += 1
    >>> rounds
    487
    >>> print(budget.guarantee())
    filter.rounds (name=zcdp, rho=0.02435..., epsilon=1.0, delta=1e-06); neighbours replace one of n rows, n public; ...
    """

    name = "zcdp"
    totals = ("rho", "delta")
    accepts = (PureDP, ZCDP, GDP, ApproxDP, PointwiseDP)

    def __init__(
        self, rho: float, *, delta_sum: float = 0.0, epsilon: float | None = None, delta: float | None = None
    ) -> None:
        super().__init__()
        self.rho = budget("rho", rho)
        self.delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
        if (epsilon is None) != (delta is None):
            raise InvalidParameter("epsilon and delta must both be given, or neither of them")
        self.epsilon = None if epsilon is None else budget("epsilon", epsilon)
        self.delta = None if delta is None else budget_delta("delta", delta)
        self._caps = exact(self.rho), exact(self.delta_sum)
        if self.epsilon is not None and self.delta is not None:
            slack = double_down(slack_of(self.delta, self.delta_sum))
            needed = zcdp_to_dp(math.nextafter(self.rho, math.inf) if self.rho else 0.0, slack)
            if not needed <= up(self.epsilon, REREAD):
                raise InvalidParameter(
                    f"epsilon must be at least {needed} at this delta, because rho is {self.rho}, got {self.epsilon}"
                )

    @classmethod
    def from_dp(cls, epsilon: float, delta: float, *, delta_sum: float = 0.0, method: Method = "best") -> Self:
        """Make the filter with the largest rho for which the interaction is `(epsilon, delta)`-DP.

        Parameters
        ----------
        epsilon, delta : float
            The promise for the whole interaction.
        delta_sum : float
            The part of `delta` kept for the costs' own deltas; the conversion uses the rest.
        method : str
            The conversion, as in `bounds.conversions.zcdp_to_dp`; the best by default.
        """
        epsilon, delta = budget("epsilon", epsilon), budget_delta("delta", delta)
        delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
        slack = double_down(slack_of(delta, delta_sum))
        rho = zcdp_budget(epsilon, slack, method)
        rho = math.nextafter(rho, 0.0)  # a float is read as its shortest decimal, which may lie above it
        return cls(rho, delta_sum=delta_sum, epsilon=epsilon, delta=delta)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the budget, and the (epsilon, delta) that it keeps, if
        that was given.
        """
        stated = {} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta}
        return {"rho": self.rho, "delta_sum": self.delta_sum} | stated

    def guarantee(self) -> Guarantee:
        """Return the rho-zCDP guarantee (outside an event of probability `delta_sum`), and the (epsilon, delta)-DP
        guarantee if epsilon and delta were given.
        """
        stated = self.parameters()
        if not self.delta_sum:
            del stated["delta_sum"]
        return self._stated(stated)

    def _promise(self) -> Promise | None:
        if self.epsilon is None or self.delta is None:
            return None
        return Promise(self.epsilon, slack_of(self.delta, self.delta_sum), self._caps[1])

    def _increments(self, cost: PureDP | ZCDP | GDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        if isinstance(cost, ZCDP):
            return exact(cost.rho), ZERO
        if isinstance(cost, GDP):
            return gaussian_rho(cost.mu), ZERO
        return pure_rho(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._caps[0] and state[1] <= self._caps[1])

    def _spent(self, state: State) -> dict[str, Any]:
        return {"rho": read_up(state[0]), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        rho, delta = map(minus, self._caps, state)
        return {"rho": read_down(rho), "delta": read_down(delta)}


class RenyiFilter(Tally, Filter):
    """A filter that admits a cost if the sum of the Renyi divergences at one `order` stays at most `epsilon`. The
    interaction is then (order, epsilon)-RDP.

    The source is Theorem 3.1 of Feldman and Zrnic 2021. The proof was derived again: `exp((a-1)(L_t - S_t(a)))` is a
    supermartingale, and whether the next cost is admitted is known before it is charged. The order must be fixed in
    advance. To choose the best order afterwards, use `RenyiCurveFilter`.

    Parameters
    ----------
    order : float
        The order, above 1.
    epsilon : float
        The budget at that order, in nats, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import RDP, ZCDP, RenyiFilter
    >>> budget = RenyiFilter(order=8, epsilon=1.0)
    >>> budget.spend(ZCDP(0.1))
    >>> budget.spend(RDP(orders=(2, 8), epsilons=(0.01, 0.05)))
    >>> budget.remaining()
    {'order': 8.0, 'epsilon': 0.15}
    """

    name = "renyi"
    totals = ("epsilon",)
    accepts = (PureDP, ZCDP, GDP, RDP)

    def __init__(self, order: float, epsilon: float) -> None:
        super().__init__()
        self.order = arguments.real("order", order, above=1)
        self.epsilon = budget("epsilon", epsilon)
        self._cap = exact(self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the order and its budget."""
        return {"order": self.order, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """Return the (order, epsilon)-RDP guarantee."""
        return self._stated(self.parameters())

    def _increments(self, cost: PureDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        (divergence,) = at_orders(cost, (self.order,))
        if divergence == NONE:
            raise InvalidParameter(f"cost must have a Renyi order of at least {self.order:g}, got {shown(cost)}")
        return (divergence,)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"order": self.order, "epsilon": read_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"order": self.order, "epsilon": read_down(minus(self._cap, state[0]))}


class RenyiCurveFilter(Tally, Filter):
    """A filter that admits a cost if, for at least one Renyi order `a` of a fixed grid, the sum of the divergences
    stays at most the limit of that order.

    The limit is `epsilon - (log(1/delta) + log C)/(a - 1)`, where `C` is the sum of `(a-1)^(a-1)/a^a` over all orders
    of the grid. The interaction is `(epsilon, delta)`-DP. Lecuyer 2021 gives the rule without `C`. That is not valid on
    every grid, because the answers decide which order is used in the end. The form here was derived and reviewed: `(1 -
    e^(g-L))_+ <= c_a e^((a-1)(L-g))` at every order, summed over the orders that may be used. On the default grid `C`
    is below 1, so the factor costs nothing, and the rule without `C` is valid there too. With one order it is the
    filter for that order with the tight conversion to (epsilon, delta). No published statement covers mechanisms that
    run at the same time, so ask one question at a time.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        In (0, 1).
    orders : sequence of float
        The grid, fixed in advance, increasing, above 1. Time per cost is linear in its length.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RenyiCurveFilter
    >>> budget = RenyiCurveFilter(1.0, 1e-6)
    >>> for _ in range(360):
    ...     budget.spend(PureDP(0.01))
    >>> budget.admits(PureDP(0.01))
    False
    """

    name = "renyi-curve"
    accepts = (PureDP, ZCDP, GDP, RDP)
    listed = True

    def __init__(self, epsilon: float, delta: float, orders: Sequence[float] = SPARSE_ORDERS) -> None:
        self.epsilon = budget("epsilon", epsilon)
        self.delta = budget_delta("delta", delta)
        self.orders = orders_of(orders)
        self.totals = tuple(f"order {order:g}" for order in self.orders)
        price = max(up(renyi_constant(self.orders) - math.log(self.delta), 8), 0.0)
        self._caps = tuple(_cap(self.epsilon, price, order) for order in self.orders)
        if max(self._caps) < 0:
            raise InvalidParameter(
                f"orders must include higher Renyi orders: at epsilon {self.epsilon} the filter would refuse even a "
                "cost of 0 at every given order"
            )
        super().__init__()

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the budget and the grid of orders."""
        return {"epsilon": self.epsilon, "delta": self.delta, "orders": list(self.orders)}

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, exact(self.delta), ZERO)

    def _increments(self, cost: PureDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        return at_orders(cost, self.orders)

    def _fits(self, state: State) -> bool:
        return any(map(Decimal.__le__, state, self._caps))

    def _spent(self, state: State) -> dict[str, Any]:
        return {"orders": list(self.orders), "epsilons": [read_up(total) for total in state]}

    def _left(self, state: State) -> dict[str, Any]:
        left = [
            0.0 if total == NONE else read_down(minus(cap, total)) for cap, total in zip(self._caps, state, strict=True)
        ]
        return {"orders": list(self.orders), "epsilons": left}


def _cap(epsilon: float, price: float, order: float) -> Decimal:
    """The budget at one order, rounded down; below zero the order admits nothing."""
    rest = minus(exact(epsilon), exact(up(price / (order - 1), 8)))
    return below(down(float(rest), 2)) if rest > 0 else (rest if rest < 0 else ZERO)


class AllOf(Joint[Filter], Filter):
    """A filter that admits a cost if all of `filters` admit it.

    The interaction stops no later than each single filter would stop it, so the guarantees of all filters are valid
    without change. Every cost must be of a kind that all filters accept.

    Parameters
    ----------
    filters : sequence of Filter
        At least two. What they have spent is taken over; the given filters themselves are left alone. A promise is
        then about the history of the filter that makes it: its own costs before, and the common ones since.

    Examples
    --------
    >>> from holdfast.accounting import AllOf, BasicFilter, PureDP, ZCDPFilter
    >>> both = AllOf([BasicFilter(2.0), ZCDPFilter(0.1)])
    >>> both.admits(PureDP(0.4)), both.admits(PureDP(0.5))
    (True, False)
    """

    name = "all-of"
    kind = Filter
    parts_name = "filters"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters)
        self.accepts = self._shared_kinds()
        if not self.accepts:
            raise InvalidParameter("filters must all accept at least one kind of cost in common, such as PureDP")
        self._take(tuple(part._state for part in self._parts))

    def guarantee(self) -> Guarantee:
        """Return the guarantees of all filters. `epsilon` and `delta` are those of the filter with the smallest
        delta.
        """
        promise = self._promise()
        stated: dict[str, Any] = {} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta}
        stated["filters"] = [dict(part.guarantee().parameters) for part in self._parts]
        return self._stated(stated)

    def _promise(self) -> Promise | None:
        promises = [p for p in (part._promise() for part in self._parts) if p is not None]
        return min(promises, key=lambda p: (p.delta, p.epsilon), default=None)

    def _fits(self, state: State) -> bool:
        return all(part._fits(held) for part, held in zip(self._parts, state, strict=True))

    def _spent(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._spent(held)) for part, held in zip(self._parts, state, strict=True)])

    def _left(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._left(held)) for part, held in zip(self._parts, state, strict=True)])


class AnyOf(Joint[Filter], Filter):
    """A filter that admits a cost if at least one of `filters` admits it together with everything that was spent
    before.

    The delta of the combination is the **sum** of the filters' deltas. The combination stops when the last of the
    filters would stop, and there the hockey-stick integrand is at most the sum of the individual ones. In general the
    delta cannot be smaller: two valid Renyi filters that are combined at a single delta reach 1.8 times that delta
    (`tests/accounting/test_unsound_or.py`).

    A part of the deltas is counted only once. Each filter's delta is the sum of a slack (for its concentration
    argument) and a room (for the deltas of the costs). The delta of the combination is the sum of the slacks plus the
    largest room, because outside an event of at most that probability, in which some mechanism reveals its input, no
    cost has a delta. Basic composition has no slack, so "basic OR one other filter" costs no more than the other
    filter.

    The rule of the sum was reviewed. The split into slacks and one room is derived here; it contains the reviewed
    special case "basic and one other filter with the same room". Proof: replace each mechanism by the randomized
    response with its epsilon and delta, of which the mechanism is a post-processing. (zCDP, GDP and Renyi costs have no
    delta and stay as they are.) Such a response reveals its input with probability delta, and the deltas of all
    executed mechanisms sum to at most the largest room. If nothing is revealed, no cost has a delta, and the last stop
    adds at most the sum of what the single stops add, which are the slacks.

    No published statement covers several interactive mechanisms that run at the same time, so ask one question at a
    time.

    If a cost is spent that one of the filters does not admit or cannot account for, that filter is closed from then on.
    A cost of zero closes no filter.

    Parameters
    ----------
    filters : sequence of Filter
        At least two, each with an (epsilon, delta) promise: build zCDP and GDP filters with `from_dp`. They must be
        fresh: a filter that has not seen what another has admitted would admit it again. The given filters themselves
        are left alone.

    Examples
    --------
    >>> from holdfast.accounting import AnyOf, BasicFilter, PureDP, ZCDPFilter
    >>> both = AnyOf([BasicFilter(1.0), ZCDPFilter.from_dp(1.0, 1e-6)])
    >>> both.admits(PureDP(1.0)), ZCDPFilter.from_dp(1.0, 1e-6).admits(PureDP(1.0))
    (True, False)
    >>> both.guarantee().parameters["delta"]
    1e-06
    """

    name = "any-of"
    kind = Filter
    parts_name = "filters"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters)
        self._require_fresh()
        promises = [_promised(part) for part in self._parts]
        self._whole = Promise(
            max(p.epsilon for p in promises), reduce(plus, (p.slack for p in promises)), max(p.room for p in promises)
        )
        if not self._whole.delta < 1:
            raise InvalidParameter(f"filters must have deltas that add up to less than 1, got {self._whole.delta}")
        self.accepts = tuple(dict.fromkeys(kind for part in self._parts for kind in part.accepts))

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee: epsilon is the largest of the filters, and delta the sum of the
        slacks plus the largest room for the costs' deltas.
        """
        parts = [dict(part.guarantee().parameters) for part in self._parts]
        return self._stated({"epsilon": self._whole.epsilon, "delta": self._whole.delta, "filters": parts})

    def _promise(self) -> Promise:
        return self._whole

    def _next(self, state: State, cost: Cost) -> State:
        return tuple(
            None if held is None else _part_after(part, held, cost)
            for part, held in zip(self._parts, state, strict=True)
        )

    def _fits(self, state: State) -> bool:
        return any(held is not None for held in state)

    def _open(self, state: State) -> list[tuple[Filter, State]]:
        return [(part, held) for part, held in zip(self._parts, state, strict=True) if held is not None]

    def _spent(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._spent(held)) for part, held in self._open(state)])

    def _left(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._left(held)) for part, held in self._open(state)])

    def _hint(self, state: State, cost: Cost) -> str:
        if any(isinstance(cost, part.accepts) for part, _ in self._open(state)):
            return ""
        shut = [part.name for part, held in zip(self._parts, state, strict=True) if held is None]
        still = [part.name for part, _ in self._open(state)]
        kind = type(cost).__name__
        return f"; {', '.join(shut)} was closed by an earlier cost, and {', '.join(still)} cannot account for {kind}"

    def _plain(self, state: State) -> dict[str, Any]:
        written = tuple(blank if held is None else held for blank, held in zip(self._blank(), state, strict=True))
        return super()._plain(written) | {"closed": [held is None for held in state]}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        closed = plain.pop("closed", None)
        if not isinstance(closed, list) or not all(isinstance(shut, bool) for shut in closed):
            raise InvalidParameter(
                "a stored any-of filter must have two lists: filters, and closed, which has true or false for each "
                "filter"
            )
        account = super()._restored(plain)
        if len(closed) != len(account._parts):
            raise InvalidParameter("a stored any-of filter must have as many entries in closed as it has filters")
        account._take(tuple(None if shut else held for shut, held in zip(closed, account._state, strict=True)))
        return account


def _promised(part: Filter) -> Promise:
    promise = part._promise()
    if promise is None:
        raise InvalidParameter(
            f"filters that are joined by OR must each guarantee an (epsilon, delta), and the {part.name} filter does "
            "not; make it with from_dp, if it has that method"
        )
    return promise


def _part_after(part: Filter, held: State, cost: Cost) -> State | None:
    if not isinstance(cost, part.accepts):
        return held if cost.is_zero else None
    after = part._after(held, cost)
    return after if part._fits(after) else None


class FilterFromOdometer(Filter):
    """A filter that admits a cost if the odometer's reading, including that cost, stays at most `epsilon`.

    The interaction is `(epsilon, delta)`-DP with the odometer's delta (Rogers' dissertation, Lemma 5.3.3). An odometer
    guarantees more than a filter needs, so the other filters admit more costs. Use this filter if you also want to read
    the privacy loss during the interaction.

    Parameters
    ----------
    odometer : Odometer
        Its parameters and what it has recorded are taken over; the given odometer itself is left alone. One that
        already reads more than `epsilon` is refused.
    epsilon : float
        The budget, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, FilterFromOdometer, PureDP
    >>> budget = FilterFromOdometer(BasicOdometer(), epsilon=1.0)
    >>> budget.spend(PureDP(0.9))
    >>> budget.admits(PureDP(0.1)), budget.admits(PureDP(0.2))
    (True, False)
    """

    name = "from-odometer"

    def __init__(self, odometer: Odometer, epsilon: float) -> None:
        if not isinstance(odometer, Odometer):
            raise InvalidParameter(f"odometer must be an Odometer, got a {type(odometer).__name__}")
        self.epsilon = budget("epsilon", epsilon)
        self._odometer = odometer
        self.accepts = odometer.accepts
        super().__init__()
        self._take(odometer._state)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the filter was made: the odometer, without recorded costs, and the budget."""
        odometer = {self._odometer.role: self._odometer.name} | self._odometer.parameters()
        return {"odometer": odometer, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """Return the (epsilon, delta)-DP guarantee."""
        stated = {"epsilon": self.epsilon, "delta": self._odometer.delta, "odometer": self._odometer.name}
        return self._stated(stated)

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._odometer._slack, self._odometer._room)

    def _blank(self) -> State:
        return self._odometer._blank()

    def _is_blank(self, state: State) -> bool:
        return self._odometer._is_blank(state)

    def _next(self, state: State, cost: Cost) -> State:
        return self._odometer._next(state, cost)

    def _fits(self, state: State) -> bool:
        return self._odometer._read(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"epsilon": self._odometer._read(state)}

    def _left(self, state: State) -> dict[str, Any]:
        return {"epsilon": self._largest(state)}

    def _plain(self, state: State) -> dict[str, Any]:
        return {self.role: self.name, "odometer": self._odometer._plain(state), "epsilon": self.epsilon}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        if set(plain) != {"odometer", "epsilon"}:
            raise InvalidParameter(
                "a stored from-odometer filter must have the fields odometer and epsilon, and no others"
            )
        return cls(Odometer.from_dict(plain["odometer"]), plain["epsilon"])

    def __repr__(self) -> str:
        return f"FilterFromOdometer({self._odometer!r}, epsilon={self.epsilon!r})"


def default_filter(epsilon: float, delta: float, *, delta_sum: float = 0.0) -> AnyOf:
    """Make the default filter, which admits a cost by basic composition OR by the sum of rhos. Together they cost no
    more than the sum of rhos alone.

    Basic composition is better for few large costs, and the sum of rhos for many small ones. With this filter you need
    not know in advance which costs will come. The interaction is `(epsilon, delta)`-DP, because basic composition needs
    no slack, and both rules share the room for the costs' deltas (see `AnyOf`). If every answer is Gaussian,
    `GDPFilter.from_dp` admits a little more.

    The costs may be chosen adaptively. No published statement covers several interactive mechanisms that run at the
    same time under such an OR, so finish one interaction before the next begins.

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
