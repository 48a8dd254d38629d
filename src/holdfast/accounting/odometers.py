"""Privacy odometers: a bound on what has been spent, valid at every moment at once.

`BasicOdometer` adds epsilons. The odometers of the privacy loss differ in the boundary that the loss crosses with
probability at most delta: `RogersOdometer`, `InversionOdometer`, `LineOdometer`, `MixtureOdometer` and
`StitchedOdometer`. `ZCDPOdometer` and `RenyiOdometer` take concentrated costs, `MinimumOdometer` the smallest of
several readings, and `default_odometer` is the one to start with.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, ClassVar, Literal

from holdfast.accounting.account import Account, Joint, State, Tally
from holdfast.accounting.costs import GDP, RDP, ZCDP, Cost, PointwiseDP, PureDP, budget_delta, flag, orders_of
from holdfast.accounting.totals import (
    HALF,
    ZERO,
    above,
    at_orders,
    charged,
    double_down,
    double_up,
    exact,
    gaussian_rho,
    mean_loss,
    plus,
    pure_rho,
    read_down,
    read_up,
    split,
    square,
    times,
)
from holdfast.bounds.filters import SPARSE_ORDERS
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.odometers import (
    delta_split,
    factor_reading,
    inversion_factor,
    line_reading,
    mixture_reading,
    pointwise_drift,
    printed_delta,
    range_of,
    renyi_reading,
    rogers_reading,
    stitched_reading,
)
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class Odometer(Account):
    """A privacy odometer: it adds up costs without a limit and bounds the privacy loss at every moment. This is the
    base class of all odometers.

    With probability at least `1 - delta` over the answers, the privacy loss of everything recorded so far is at most
    `reading()`, **at all moments together**. So you may look at the reading after each answer, stop because of what you
    see, and report the reading. Filters and composition theorems do not guarantee this, and an odometer therefore needs
    a larger bound. Composition theorems for fixed parameters cannot be used as odometers: if advanced composition is
    evaluated after each answer, it fails about four times too often.

    The reading bounds the privacy loss itself, so a cost with a delta must bound the loss too: use `PointwiseDP` and
    not `ApproxDP`. The loss of an (epsilon, delta)-DP mechanism can exceed epsilon with a probability far above delta.

    `two_sided` says whether the reading bounds the loss in both directions or only from above. A privacy guarantee
    needs only the bound from above, once for each order of the two neighbouring data sets.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, PureDP
    >>> odometer = BasicOdometer()
    >>> odometer.record(PureDP(0.25))
    >>> odometer.reading()
    0.25
    """

    role: ClassVar[str] = "odometer"
    two_sided: bool = True
    _slack: Decimal
    _room: Decimal

    @property
    def delta(self) -> float:
        """The probability that any reading is ever too small. It includes the deltas of the costs."""
        return read_up(plus(self._slack, self._room))

    @property
    def delta_sum(self) -> float:
        """The part of `delta` that is reserved for the deltas of the costs. If their sum exceeds it, the reading is
        infinite.
        """
        return read_up(self._room)

    @abstractmethod
    def _read(self, state: State) -> float:
        """The reading in `state`, rounded up."""

    def record(self, cost: Cost) -> None:
        """Record `cost`, however large it is. A kind of cost that this odometer does not accept raises
        `InvalidParameter`.
        """
        with self._lock:
            self._state = self._after(self._state, cost)

    def reading(self) -> float:
        """Return a bound on the privacy loss of everything that was recorded so far, rounded up. It is infinite if
        there is no bound.
        """
        return self._read(self._state)

    def reading_after(self, cost: Cost) -> float:
        """Return what `reading()` would be if `cost` were recorded next. Nothing is recorded."""
        return self._read(self._after(self._state, cost))

    def guarantee(self) -> Guarantee:
        """Return the guarantee that the reading gives."""
        stated: dict[str, Any] = (
            {"name": self.name} | self.parameters() | {"delta": self.delta, "two_sided": self.two_sided}
        )
        return Guarantee(
            "odometer.reading",
            stated,
            "neighbours replace one of n rows, n public; costs and the moment of reading may be chosen adaptively",
        )


class LossOdometer(Tally, Odometer):
    """Base of the odometers that read drift and variance of the loss of pure and point-wise costs.

    The loss minus its mean is a martingale `M` whose increments have range `2 epsilon`, so `exp(x M - x^2 V/2)` is a
    supermartingale for every real `x`, with `V` the sum of squared epsilons (Hoeffding's lemma). Each odometer is one
    boundary `u(V)` that such a process crosses with probability at most the slack.

    A boundary that is valid for every such pair `(M, V)` may be read ahead: `M_t <= u(v)` for every `v >= V_t` at once.
    For the pair that stops `M` at `t` and then lets `V` alone grow to `v` is such a pair too. So a boundary that begins
    at some `V` needs no infinite readings before it. Derived here.
    """

    totals = ("epsilon", "squares", "drift", "delta")
    accepts = (PureDP, PointwiseDP)
    _drift: Literal["tight", "paper"] = "tight"

    def __init__(self, slack: Decimal, room: Decimal, *, two_sided: bool = True) -> None:
        super().__init__()
        self._slack, self._room = slack, room
        self.two_sided = flag("two_sided", two_sided)
        self._double_slack = double_down(slack)

    @property
    def _slack_a_side(self) -> float:
        """The slack of a one-sided boundary: half of all where both sides are to be bounded."""
        return self._double_slack / 2 if self.two_sided else self._double_slack

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability, and the part of it that is
        kept for the deltas of the costs.
        """
        return {"delta": self.delta, "delta_sum": self.delta_sum}

    def _increments(self, cost: PureDP | PointwiseDP) -> tuple[Decimal, ...]:
        epsilon = cost.epsilon
        drift = mean_loss(epsilon, self._drift)
        if isinstance(cost, PureDP) or not cost.delta:
            return exact(epsilon), square(epsilon), drift, ZERO
        drift = plus(drift, charged(pointwise_drift(cost.delta), cost.delta))
        return exact(epsilon), square(epsilon), drift, exact(cost.delta)

    def _read(self, state: State) -> float:
        epsilon, squares, drift, delta = state
        if delta > self._room:
            return math.inf
        if not epsilon and not delta:
            return 0.0
        totals = double_up(drift), double_up(squares)
        return math.inf if math.inf in totals else self._bound(*totals)

    @abstractmethod
    def _bound(self, drift: float, squares: float) -> float:
        """The reading at a drift and a variance, both rounded up and finite."""


class BasicOdometer(Tally, Odometer):
    """An odometer whose reading is the sum of the epsilons (Rogers' dissertation, Theorem 5.3.7). For pure costs the
    reading is always valid, not only with high probability. The deltas of point-wise costs may add up to at most
    `delta`; beyond that the reading is infinite. The reading bounds the loss in both directions. Ordinary (epsilon,
    delta)-DP costs are refused, because for them the published theorem is false.

    Parameters
    ----------
    delta : float
        Room for the costs' own deltas, in [0, 1); 0 by default, for pure costs.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, PureDP
    >>> odometer = BasicOdometer()
    >>> for _ in range(3):
    ...     odometer.record(PureDP(0.1))
    >>> odometer.reading()
    0.3
    """

    name = "basic"
    totals = ("epsilon", "delta")
    accepts = (PureDP, PointwiseDP)

    def __init__(self, delta: float = 0.0) -> None:
        super().__init__()
        self._slack = ZERO
        self._room = exact(budget_delta("delta", delta, zero=True))

    def parameters(self) -> dict[str, Any]:
        """Return the argument with which the odometer was made: the room for the deltas of the costs."""
        return {"delta": self.delta}

    def _increments(self, cost: PureDP | PointwiseDP) -> tuple[Decimal, ...]:
        return exact(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _read(self, state: State) -> float:
        return math.inf if state[1] > self._room else read_up(state[0])


class RogersOdometer(LossOdometer):
    """An odometer whose reading is the bound of Theorem 5.6.5 of Rogers' dissertation as published: (5.17) inside its
    range and (5.18) outside. The reading bounds the loss in both directions.

    The published `delta` is not the true total: `delta/2` for the deltas of the costs, `delta/2` inside the range of
    `V` (the sum of squared epsilons) and `delta/(4 log2 n)` outside it add up to slightly more. The attribute `delta`
    is the true total. Below `V = 1/n^2` the published reading is larger than just above that point. `InversionOdometer`
    corrects both and has smaller readings.

    One thing differs from the publication: a point-wise delta also adds `log(1/(1 - delta))` to the drift
    (`bounds.odometers.pointwise_drift`). Without this term the published reading is false for such costs.

    Parameters
    ----------
    delta : float
        The printed delta, in (0, 1/e).
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RogersOdometer
    >>> odometer = RogersOdometer(1e-6, n=10_000)
    >>> for _ in range(50):
    ...     odometer.record(PureDP(0.1))
    >>> round(odometer.reading(), 9)
    6.340992426
    """

    name = "rogers"
    _drift: Literal["tight", "paper"] = "paper"

    def __init__(self, delta: float, n: int = 10_000) -> None:
        self.n = range_of(n)
        self.nominal_delta = budget_delta("delta", delta, below=math.exp(-1))
        parts = delta_split(self.n, self.nominal_delta, "paper")
        super().__init__(above(up(parts.inside + parts.outside)), exact(parts.sum))

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the parameters of the published theorem."""
        return {"delta": self.nominal_delta, "n": self.n}

    def _bound(self, drift: float, squares: float) -> float:
        return rogers_reading(drift, squares, self.n, self.nominal_delta)


class InversionOdometer(LossOdometer):
    """An odometer whose reading is `drift + s sqrt(V)` for `V <= 1`. Here `drift` is a bound on the mean of the loss,
    `V` the sum of squared epsilons, and `s` solves a concentration inequality exactly. The reading bounds the loss in
    both directions.

    It was derived and reviewed: it inverts the inequality behind Theorem 5.6.5 of Rogers' dissertation. For `V > 1` it
    uses formula (5.18) of that theorem. For `V < 1/n^2` the reading is the boundary at `V = 1/n^2`, which is valid too
    (`LossOdometer`). Its readings are about a quarter below those of the published odometer.

    Its readings are smaller than those of `bounds.odometers.reading("inversion-sharp")` at the same delta. That
    function keeps half of delta for point-wise deltas, as published. This odometer counts the room for point-wise
    deltas separately (`printed_delta`) and uses all the rest.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    n : int
        Sets the range of V, `[1/n^2, 1]`; at least 6.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    method : str
        "sharp": cells of log-width 2/s (proof in `bounds.odometers.inversion_factor`), called "inversion-sharp" among
        the bounds; "reviewed": the constant of the dissertation's source, called "inversion" there.

    Examples
    --------
    >>> from holdfast.accounting import InversionOdometer, PureDP
    >>> odometer = InversionOdometer(1e-6, n=10_000)
    >>> for _ in range(50):
    ...     odometer.record(PureDP(0.1))
    >>> round(odometer.reading(), 6)
    4.540...
    """

    name = "inversion"

    def __init__(
        self,
        delta: float,
        n: int = 10_000,
        *,
        delta_sum: float = 0.0,
        method: Literal["sharp", "reviewed"] = "sharp",
    ) -> None:
        super().__init__(*split(delta, delta_sum))
        self.n = range_of(n)
        self.method = arguments.choice("method", method, ("sharp", "reviewed"))
        self._printed = printed_delta(self._double_slack, self.n)
        self._factor = inversion_factor(self.n, self._printed / 2, method)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability, the range and the
        constant.
        """
        return super().parameters() | {"n": self.n, "method": self.method}

    def _bound(self, drift: float, squares: float) -> float:
        return factor_reading(drift, max(squares, 1 / self.n**2), self.n, self._printed, self._factor)


class LineOdometer(LossOdometer):
    """An odometer whose reading is a straight line in `V`, the sum of squared epsilons. The line touches the bound of
    advanced composition where the reading is `target`.

    The source is Whitehouse, Ramdas, Rogers and Wu 2023, who use Ville's inequality at one argument. It is the best
    odometer near its target, and poor far from it.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    target : float
        The reading near which it should be sharp, above 0; fixed in advance.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    two_sided : bool
        Bound the loss in both directions, each with half of the slack.

    Examples
    --------
    >>> from holdfast.accounting import LineOdometer, PureDP
    >>> odometer = LineOdometer(1e-6, target=1.0)
    >>> for _ in range(100):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    0.6369
    """

    name = "line"

    def __init__(self, delta: float, target: float = 1.0, *, delta_sum: float = 0.0, two_sided: bool = False) -> None:
        super().__init__(*split(delta, delta_sum), two_sided=two_sided)
        self.target = arguments.real("target", target, above=0)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability, the target and the sides."""
        return super().parameters() | {"target": self.target, "two_sided": self.two_sided}

    def _bound(self, drift: float, squares: float) -> float:
        return line_reading(drift, squares, self._slack_a_side, self.target)


class MixtureOdometer(LossOdometer):
    """An odometer whose reading is Robbins' mixture boundary, `drift + sqrt(2 (V + g) log(sqrt((V + g)/g)/slack))`.
    Here `drift` is a bound on the mean of the loss, `V` the sum of squared epsilons, `g` a parameter that is fixed in
    advance, and `slack` the failure probability. The reading bounds the loss in both directions.

    The source is Whitehouse, Ramdas, Rogers and Wu 2023, after Robbins 1970; the proof was derived again. It needs no
    range for `V` and no largest number of answers.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    gamma : float
        `g`, above 0, fixed in advance: sharpest where V is ten to twenty times as large.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import MixtureOdometer, PureDP
    >>> odometer = MixtureOdometer(1e-6)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    1.8447
    """

    name = "mixture"

    def __init__(self, delta: float, gamma: float = 0.005, *, delta_sum: float = 0.0) -> None:
        super().__init__(*split(delta, delta_sum))
        self.gamma = arguments.real("gamma", gamma, above=0)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability and the parameter of the
        mixture.
        """
        return super().parameters() | {"gamma": self.gamma}

    def _bound(self, drift: float, squares: float) -> float:
        return mixture_reading(drift, squares, self._double_slack, self.gamma)


class StitchedOdometer(LossOdometer):
    """An odometer whose reading is `drift + 1.7 sqrt(V (log log(2V/v0) + 0.72 log(5.2/slack)))` for `V >= v0`. Here
    `drift` is a bound on the mean of the loss, `V` the sum of squared epsilons, `v0` a start that is fixed in advance,
    and `slack` the failure probability.

    The source is Howard, Ramdas, McAuliffe and Sekhon 2021, as used by Whitehouse et al. 2023. The constants are
    theirs; they were tested here against exact crossing probabilities, and not derived again. For `V < v0` the
    published form has no reading. Here the reading is then the boundary at `V = v0`, which is valid too
    (`LossOdometer`).

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    start : float
        `v0`, above 0, fixed in advance: about the square of the first epsilon.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    two_sided : bool
        Bound the loss in both directions, each with half of the slack.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, StitchedOdometer
    >>> odometer = StitchedOdometer(1e-6, start=1e-4)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 4)
    2.0004
    """

    name = "stitched"

    def __init__(self, delta: float, start: float = 1e-4, *, delta_sum: float = 0.0, two_sided: bool = False) -> None:
        super().__init__(*split(delta, delta_sum), two_sided=two_sided)
        self.start = arguments.real("start", start, above=0)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability, the start `v0` and
        the sides.
        """
        return super().parameters() | {"start": self.start, "two_sided": self.two_sided}

    def _bound(self, drift: float, squares: float) -> float:
        return stitched_reading(drift, max(squares, self.start), self._slack_a_side, self.start)


class ZCDPOdometer(Tally, Odometer):
    """An odometer whose reading is `R + sqrt(4R (log(48e) + 2 log(log(n)/d)))`. Here `R` is the sum of the rhos, `n`
    sets the range of `2R` in which the formula is used, and `d` is the failure probability. The reading bounds the loss
    from above only.

    It is Theorem 5.7.5 of Rogers' dissertation, for plain rho-zCDP. The dissertation defines "zCDP+" and claims a
    moment bound for all real arguments, which is false. The bound from above needs it for positive arguments only, and
    plain zCDP satisfies it there. For `2R > 1` the reading is formula (5.18) at `V = 2R`. For `2R < 1/n^2` it is the
    boundary at `2R = 1/n^2`, which is valid too (`LossOdometer`).

    Pure costs count as rho = `epsilon tanh(epsilon/2)`, and Gaussian costs as `mu^2/2`. A point-wise cost counts as a
    pure cost of `epsilon + c` plus a fixed loss of `c = log(1/(1 - delta))`, because its two output distributions are
    that close, given that the output is not one of the bad ones. `RenyiOdometer` accepts the same costs, and its
    readings are about a third smaller. This odometer exists because it is the one in the dissertation.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    n : int
        Sets the range of 2R, `[1/n^2, 1]`; at least 6.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, ZCDPOdometer
    >>> odometer = ZCDPOdometer(1e-6, n=10_000)
    >>> for _ in range(100):
    ...     odometer.record(ZCDP(1e-3))
    >>> round(odometer.reading(), 6)
    3.87...
    """

    name = "zcdp"
    totals = ("rho", "certain", "delta")
    accepts = (PureDP, PointwiseDP, ZCDP, GDP)
    two_sided = False

    def __init__(self, delta: float, n: int = 10_000, *, delta_sum: float = 0.0) -> None:
        super().__init__()
        self.n = range_of(n)
        self._slack, self._room = split(delta, delta_sum)
        self._printed = printed_delta(double_down(self._slack), self.n)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability and the range."""
        return {"delta": self.delta, "delta_sum": self.delta_sum, "n": self.n}

    def _increments(self, cost: PureDP | PointwiseDP | ZCDP | GDP) -> tuple[Decimal, ...]:
        if isinstance(cost, ZCDP):
            return exact(cost.rho), ZERO, ZERO
        if isinstance(cost, GDP):
            return gaussian_rho(cost.mu), ZERO, ZERO
        if isinstance(cost, PureDP) or not cost.delta:
            return pure_rho(cost.epsilon), ZERO, ZERO
        certain = charged(pointwise_drift(cost.delta), cost.delta)
        epsilon = double_up(plus(exact(cost.epsilon), certain))
        return pure_rho(epsilon), certain, exact(cost.delta)

    def _read(self, state: State) -> float:
        rho, certain, delta = state
        if delta > self._room:
            return math.inf
        if not rho and not certain:
            return 0.0
        drift, squares = double_up(plus(rho, certain)), double_up(plus(rho, rho))
        if squares == math.inf or drift == math.inf:
            return math.inf
        return rogers_reading(drift, max(squares, 1 / self.n**2), self.n, self._printed)


class RenyiOdometer(Tally, Odometer):
    """An odometer whose reading is the minimum, over `m` Renyi orders `a`, of `S(a) + log(m/slack)/(a - 1)`. Here
    `S(a)` is the sum of the divergences at order `a`, and `slack` the failure probability. The reading bounds the loss
    from above only.

    It uses Ville's inequality for `exp((a-1)(L_t - S_t(a)))` at each order of a fixed grid, and divides the slack
    equally among the orders. This was derived and checked here; it is simpler than the doubling form of Lecuyer 2021,
    and its readings are smaller. It is the odometer for Gaussian and other concentrated costs.

    A point-wise cost counts as a pure cost of `epsilon + c` plus a fixed loss of `c = log(1/(1 - delta))`, because its
    two output distributions are that close, given that the output is not one of the bad ones.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    orders : sequence of float
        The grid, fixed in advance, increasing, above 1. Time per cost is linear in its length.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, RenyiOdometer
    >>> odometer = RenyiOdometer(1e-6, orders=(1.5, 2, 3, 4, 6, 8, 16, 32, 64))
    >>> odometer.record(ZCDP(0.05))
    >>> round(odometer.reading(), 9)
    1.867515676
    """

    name = "renyi"
    accepts = (PureDP, PointwiseDP, ZCDP, GDP, RDP)
    two_sided = False
    listed = True

    def __init__(self, delta: float, orders: Sequence[float] = SPARSE_ORDERS, *, delta_sum: float = 0.0) -> None:
        self.orders = orders_of(orders)
        self.totals = (*(f"order {order:g}" for order in self.orders), "delta")
        super().__init__()
        self._slack, self._room = split(delta, delta_sum)
        self._double_slack = double_down(self._slack)
        self._weight = 1 / len(self.orders)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments with which the odometer was made: the failure probability and the grid of orders."""
        return {"delta": self.delta, "delta_sum": self.delta_sum, "orders": list(self.orders)}

    def _increments(self, cost: PureDP | PointwiseDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        if not isinstance(cost, PointwiseDP):
            return (*at_orders(cost, self.orders), ZERO)
        if not cost.delta:
            return (*at_orders(PureDP(cost.epsilon), self.orders), ZERO)
        certain = charged(pointwise_drift(cost.delta), cost.delta)
        pure = PureDP(double_up(plus(exact(cost.epsilon), certain)))
        return (*(plus(certain, each) for each in at_orders(pure, self.orders)), exact(cost.delta))

    def _read(self, state: State) -> float:
        *totals, delta = state
        if delta > self._room:
            return math.inf
        if not any(totals):
            return 0.0
        known = [(order, double_up(total)) for order, total in zip(self.orders, totals, strict=True)]
        known = [(order, total) for order, total in known if total < math.inf]
        if not known:
            return math.inf
        orders, sums = zip(*known, strict=True)
        return renyi_reading(orders, sums, self._double_slack, [self._weight] * len(orders)).value


class MinimumOdometer(Joint[Odometer], Odometer):
    """An odometer whose reading is the smallest reading of several odometers. The probabilities that their readings are
    ever too small add up.

    Its delta is the sum of the slacks of the odometers (a union bound), plus the largest room for the deltas of the
    costs, which is counted only once. The reason is that outside the event that some cost exceeds its point-wise bound,
    whose probability is at most that room, only the slacks can fail. The basic odometer has no slack, so it can be
    added at no price. The reading bounds the loss in both directions if the readings of all odometers do.

    Parameters
    ----------
    odometers : sequence of Odometer
        At least two, and fresh: an odometer that has not seen a cost reads too little. The given odometers themselves
        are left alone.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, MinimumOdometer, MixtureOdometer, PureDP
    >>> odometer = MinimumOdometer([BasicOdometer(), MixtureOdometer(1e-6)])
    >>> odometer.record(PureDP(0.1))
    >>> odometer.reading(), odometer.delta
    (0.1, 1e-06)
    """

    name = "minimum"
    kind = Odometer
    parts_name = "odometers"

    def __init__(self, odometers: Sequence[Odometer]) -> None:
        super().__init__(odometers)
        self._require_fresh()
        self.accepts = self._shared_kinds()
        self.two_sided = all(part.two_sided for part in self._parts)
        self._slack = reduce(plus, (part._slack for part in self._parts))
        self._room = max(part._room for part in self._parts)
        if not self.delta < 1:
            raise InvalidParameter(f"odometers must have deltas that add up to less than 1, got {self.delta}")

    def _read(self, state: State) -> float:
        return min(part._read(held) for part, held in zip(self._parts, state, strict=True))


def default_odometer(delta: float, *, delta_sum: float = 0.0, n: int = 10_000, gamma: float = 0.005) -> MinimumOdometer:
    """Make the default odometer for pure and point-wise costs. Its reading is the smallest one of the basic, the
    inversion and the mixture odometer, and bounds the loss in both directions.

    The basic odometer is best for few costs and needs no slack. The other two odometers get half of the slack each. For
    Gaussian and other concentrated costs use `RenyiOdometer`. After rounds with equal pure costs, the reading equals
    what `bounds.odometers.reading("combined")` returns.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.
    n : int
        Sets the range of the inversion, V in `[1/n^2, 1]`.
    gamma : float
        The mixture's parameter: sharpest where V is ten to twenty times as large.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, default_odometer
    >>> odometer = default_odometer(1e-6)
    >>> for _ in range(1000):
    ...     odometer.record(PureDP(0.01))
    >>> round(odometer.reading(), 3)
    1.88...
    """
    slack, room = split(delta, delta_sum)
    share = read_down(plus(times(HALF, slack), room))
    return MinimumOdometer(
        [
            BasicOdometer(delta_sum),
            InversionOdometer(share, n, delta_sum=delta_sum),
            MixtureOdometer(share, gamma, delta_sum=delta_sum),
        ]
    )
