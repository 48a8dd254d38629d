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
    """Base of all filters.

    The rule of use: ask `spend(cost)` *before* the mechanism runs, and run it only if `spend` returns. Then the whole
    interaction has the property that `guarantee()` states, however the costs were chosen. A mechanism that fails after
    its cost was spent stays charged.

    A refused cost changes nothing, and smaller costs may still be asked for: a refused question is a round of cost 0.
    Every call takes constant time and the filter constant memory, however many costs were spent. A spend takes
    microseconds; a refusal may take a millisecond, because what is left may have to be searched for.

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
        """Return what holds for the whole interaction, whoever chose the costs and whenever it stops."""

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
        """Whether `spend(cost)` would succeed now; changes nothing. A wrong kind of cost raises `InvalidParameter`."""
        return self._fits(self._after(self._state, cost))

    def spend(self, cost: Cost) -> None:
        """Charge `cost`, or raise `BudgetExhausted` and change nothing."""
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
        """Return what has been spent, rounded up; a position in the ledger, not a guarantee.

        In the names of the costs where they simply add. Rules that do not add show what they compare instead: Rogers
        and Whitehouse the sum of squared epsilons and the left side of their inequality.
        """
        return self._spent(self._state)

    def remaining(self) -> dict[str, Any]:
        """The largest amounts that are still admitted, rounded down: each alone, and together where costs have both."""
        return self._left(self._state)

    def _largest(self, state: State) -> float:
        """The largest pure epsilon that fits, to the last double; for filters whose rule has no simple inverse."""

        def refused(epsilon: float) -> bool:
            return not self._fits(self._after(state, PureDP(epsilon)))

        if refused(_SMALLEST):
            return 0.0
        return math.nextafter(first_at_least(refused, True, _SMALLEST, _LARGEST), 0.0)


class BasicFilter(Tally, Filter):
    """Admit a cost while the epsilons sum to at most `epsilon` and the deltas to at most `delta`.

    Rogers' dissertation, Theorem 5.3.7 (with "halt if the deltas exceed the budget"; the printed proof mixes two
    letters). The interaction is `(epsilon, delta)`-DP for ordinary DP deltas; with `delta = 0` nothing is left to
    chance. Sums are exact.

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
        """Return the budget."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP by basic composition."""
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
    """Admit a cost while the bits sum to at most `bits`: at most `2^bits` transcripts are then possible.

    On every path the product of the alphabet sizes is at most `2^bits`, each size read off the past transcript, so the
    transcript takes at most `2^bits` values. That is the condition (i) of interleaving bits with privacy in any order
    (`transfer.interleaved`) and the description length of `max-information.description-length`. Everything that
    leaves a step counts in its alphabet: errors, timeouts, and the decision to stop if it depends on the data. It is
    not a privacy guarantee.

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
        """Return the budget."""
        return {"bits": self.bits}

    def guarantee(self) -> Guarantee:
        """At most `2^bits` possible transcripts."""
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
    """Admit a cost while the squares of mu sum to at most `mu^2`: the whole interaction is then mu-GDP.

    Koskela, Tobaben and Honkela 2022; Smith and Thakurta 2022. Re-derived: the answers are increments of one drifting
    Brownian motion, read up to a time that is at most `mu^2`, so they are a post-processing of its endpoint; any
    mu_i-GDP mechanism is a post-processing of such an increment. Nothing is lost against fixed parameters, so this is
    the best filter when all answers are Gaussian. It covers concurrent use as f-DP does (Haney et al. 2023).

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
                raise InvalidParameter(f"epsilon must be at least {needed} for mu {self.mu}, got {self.epsilon}")

    @classmethod
    def from_dp(cls, epsilon: float, delta: float) -> Self:
        """Make the filter whose interaction is `(epsilon, delta)`-DP, with the largest mu that allows; exact."""
        epsilon, delta = budget("epsilon", epsilon), budget_delta("delta", delta)
        mu = gdp_budget(epsilon, delta)
        mu = math.nextafter(mu, 0.0)  # a float is read as its shortest decimal, which may lie above it
        return cls(mu, epsilon=epsilon, delta=delta)

    def parameters(self) -> dict[str, Any]:
        """Return the budget, and the (epsilon, delta) it keeps where one was stated."""
        return {"mu": self.mu} | ({} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta})

    def guarantee(self) -> Guarantee:
        """mu-GDP; and (epsilon, delta)-DP where that was stated."""
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
    """Admit a cost while drift plus deviation of the loss stay below `epsilon` (dissertation, Theorem 5.5.1).

    With `V` the sum of squared epsilons: continue while the deltas sum to at most `delta/2` and `drift + sqrt(2 (V +
    x)(1 + log(1 + V/x)/2) log(2/delta)) <= epsilon`. The interaction is `(epsilon, delta)`-DP for ordinary deltas.
    Any offset `x` fixed in advance is valid. `ZCDPFilter` admits about three times as much; this one is here because
    it is the paper's.

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
                    f"epsilon must be larger than {self.epsilon}: this filter would refuse even a cost of 0"
                )
            raise InvalidParameter(
                f"offset must be smaller than {self.offset}: this filter would refuse even a cost of 0"
            )

    def parameters(self) -> dict[str, Any]:
        """Return the budget and the choice of constants."""
        own = {} if self._own_offset is None else {"offset": self._own_offset}
        return {"epsilon": self.epsilon, "delta": self.delta, "method": self.method} | own

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
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
    """Admit a cost while `sqrt(2 V log(1/slack)) + V/2 <= epsilon`, with `V` the sum of squared epsilons.

    Whitehouse et al. 2023, fully-adaptive composition, with `slack = delta - delta_sum`; the deltas of the costs sum to
    at most `delta_sum`. The interaction is `(epsilon, delta)`-DP for ordinary deltas. Re-derived through zCDP, of which
    it is the simple conversion; `ZCDPFilter.from_dp` makes the same argument with the tight one and admits more.

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
        """Return the budget and how its delta is split."""
        return {"epsilon": self.epsilon, "delta": self.delta, "delta_sum": self.delta_sum}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
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
    """Admit a cost while the sum of rho is at most `rho`: the whole interaction is then rho-zCDP.

    Feldman and Zrnic 2021 for one Renyi order; the same stopping rule serves every order at once, so the interaction
    satisfies the whole zCDP curve and any conversion of zCDP applies to it, the tight one of Canonne, Kamath and
    Steinke 2020 included. Proof: `exp((a-1)(L_t - a R_t))` is a supermartingale for every order `a > 1`, and whether
    the next cost is admitted is known before it is paid.

    A pure cost counts `epsilon tanh(epsilon/2)`, a Gaussian one `mu^2/2`, exactly. An approximate cost counts as its
    epsilon, and its delta goes against `delta_sum`: the interaction is then rho-zCDP up to an event of that
    probability. Adaptive use is covered. Interleaving interactive mechanisms is covered for costs without a delta
    (Haney et al. 2023); with approximate costs, finish one interaction before the next begins.

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
                raise InvalidParameter(f"epsilon must be at least {needed} for rho {self.rho}, got {self.epsilon}")

    @classmethod
    def from_dp(cls, epsilon: float, delta: float, *, delta_sum: float = 0.0, method: Method = "best") -> Self:
        """Make the filter whose interaction is `(epsilon, delta)`-DP, with the largest rho that allows.

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
        """Return the budget, and the (epsilon, delta) it keeps where one was stated."""
        stated = {} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta}
        return {"rho": self.rho, "delta_sum": self.delta_sum} | stated

    def guarantee(self) -> Guarantee:
        """rho-zCDP, up to an event of probability `delta_sum`; and (epsilon, delta)-DP where that was stated."""
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
    """Admit a cost while the divergences at one `order` sum to at most `epsilon`: the interaction is that RDP.

    Feldman and Zrnic 2021, Theorem 3.1 as cited; re-derived: `exp((a-1)(L_t - S_t(a)))` is a supermartingale, and
    whether the next cost is admitted is known before it is paid. The order is fixed in advance; picking the best order
    afterwards needs `RenyiCurveFilter`.

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
        """Return the order and its budget."""
        return {"order": self.order, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """(order, epsilon)-RDP."""
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
    """Admit a cost while at some order `a` of a fixed grid the divergences sum to at most that order's cap.

    The cap is `epsilon - (log(1/delta) + log C)/(a - 1)` with `C = sum over the grid of (a-1)^(a-1)/a^a`. The
    interaction is `(epsilon, delta)`-DP. Lecuyer 2021 prints the rule without `C`, which is not valid on every grid:
    the answers choose which order survives. This form is derived and reviewed: `(1 - e^(g-L))_+ <= c_a
    e^((a-1)(L-g))` at every order, summed over the order that survives. On the default grid `C` is below 1, so
    nothing is lost; on that grid the printed rule is covered too. With one order it is the single-order filter with
    the tight conversion.

    Concurrent interleaving is not covered by the published statements; ask one question at a time.

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
        """Return the budget and the grid."""
        return {"epsilon": self.epsilon, "delta": self.delta, "orders": list(self.orders)}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
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
    """Admit a cost while every one of `filters` admits it.

    Always sound: the interaction stops no later than each filter would stop it, so every guarantee holds, none of them
    weakened. Every cost must be of a kind that all of them account for.

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
        """Return every guarantee of every filter; epsilon and delta are those of the one with the smallest delta."""
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
    """Admit a cost while at least one of `filters` admits it together with all that was spent before.

    The price is the **sum** of the deltas. The combination stops at the latest of the individual stops, and there the
    hockey-stick integrand is at most the sum of the individual ones. Nothing smaller holds in general: two valid Renyi
    filters joined at a single delta reach 1.8 times that delta (`tests/accounting/test_unsound_or.py`).

    What is free. Write each filter's delta as a slack (its concentration argument) and a room for the costs' own
    deltas. Then the total is the sum of the slacks plus the largest room: the costs' deltas are paid once, because off
    the event that some mechanism reveals itself, of probability at most the largest room, no cost has a delta. Basic
    composition has no slack, so "basic OR one other filter" costs nothing.

    Provenance: the sum is reviewed; the split into slacks and one room is derived here and contains the reviewed
    special case "basic and one other with the same room". Proof: replace each mechanism by randomized response with
    its epsilon and delta, of which it is a post-processing; zCDP, GDP and Renyi costs have no delta and stay as they
    are. A response reveals its input with probability delta; the executed deltas sum to at most the largest room. Where
    nothing is revealed no cost has a delta, and there the latest stop gains at most the sum of what each stop gains,
    the slacks.

    Interleaving several interactive mechanisms at once is not covered by a published statement; ask one question at a
    time.

    A filter that cannot account for a cost, or does not admit it, is closed once that cost is spent on the strength of
    another. A cost of zero closes nothing.

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
        """(epsilon, delta)-DP: the largest epsilon; the sum of the slacks and the largest room for the costs."""
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
                "a stored any-of filter must have the list filters, and the list closed with true or false for each "
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
    """Admit a cost while the odometer's reading, the cost included, is at most `epsilon`.

    Rogers' dissertation, Lemma 5.3.3: the interaction is `(epsilon, delta)`-DP with the odometer's delta. An odometer
    promises more than a filter needs, so the direct filters admit more; this one is for those who want the readings
    along the way.

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
        """Return the odometer, as made, and the budget."""
        odometer = {self._odometer.role: self._odometer.name} | self._odometer.parameters()
        return {"odometer": odometer, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
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
