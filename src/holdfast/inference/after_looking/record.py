"""Tests chosen after looking: a record of what was run on the rows, and the correction of every p-value that follows.

The idea. Before choosing a test you looked at the data, through private mechanisms, through answers that take few
values, or both. On fresh rows a true null's p-value is at most `u` with probability at most `u`; after looking, with
probability at most `2**k u + beta`, where `(k, beta)` follows from what was run (Rogers, Roth, Smith and Thakkar 2016,
Theorem 1.3, with the transfer bounds of docs/max-information.md). So reject when `p <= (alpha - beta) / 2**k`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from holdfast.accounting.costs import ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.max_information_ledger import MaxInformationLedger
from holdfast.bounds.p_value import Level
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict
from holdfast.inference.after_looking.correction import NONE, Correction, Nulls, Route, routes
from holdfast.inference.after_looking.spent import (
    Entry,
    charged,
    check_caps,
    readings,
    require_replace_one,
    require_room,
    supported,
)


def p_values_of(result: Any) -> tuple[float, ...]:
    """Read the p-values of a test's result, each checked to lie in [0, 1].

    A number is itself. An object is asked for `pvalue` (SciPy, statsmodels' contrasts), then `pvalues` (statsmodels'
    fitted models, one p-value a coefficient), then `p_value`. A plain pair or triple is `(statistic, p-value, ...)`, as
    older SciPy and many statsmodels functions return it. A list or an array is one p-value an entry.

    Examples
    --------
    >>> p_values_of(0.03), p_values_of((2.2, 0.03)), p_values_of([0.03, 0.5])
    ((0.03,), (0.03,), (0.03, 0.5))
    """
    for name in ("pvalue", "pvalues", "p_value"):
        attribute = getattr(result, name, None)
        if attribute is not None and not callable(attribute):
            return _checked(attribute)
    if isinstance(result, tuple):
        if len(result) < 2:
            raise InvalidParameter("a tuple of a test must hold the statistic and the p-value, in this order")
        return _checked(result[1])
    return _checked(result)


def _checked(value: Any) -> tuple[float, ...]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (str, bytes)) or not (
        isinstance(value, (int, float, np.number, Sequence)) or hasattr(value, "__array__")
    ):
        raise InvalidParameter(
            "a test must return a p-value: a number, an object with pvalue or pvalues, or a pair (statistic, p-value), "
            f"got a {type(value).__name__}"
        )
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.ndim > 1 or array.size == 0:
        raise InvalidParameter(f"p must be a number in [0, 1] or a list of such numbers, got a {type(value).__name__}")
    return tuple(arguments.probability("p", float(p), zero=True, one=True) for p in array.reshape(-1))


_ASSUMPTIONS = {
    "product": "rows independent, neighbours replace one row",
    "any": "any distribution of the sample, neighbours replace one row",
}


class AfterLooking:
    """A record of everything that was run on `n` rows before a test, in order. It corrects the p-value of the test
    for it.

    The correction depends on the costs of the recorded steps. These costs must be fixed before the data are seen,
    because a cost that the data chose reveals something itself. If steps and costs are chosen along the way, give
    `caps`, limits on their totals: the caps are charged from the start, and a step that exceeds them is refused.
    Recording the whole budget of a privacy filter once has the same effect.

    Parameters
    ----------
    n : int
        The number of rows, public.
    nulls : str
        "product" (default): under the null the rows are independent. "any": they may have any joint distribution, which
        only looks and very small privacy parameters survive.
    alpha : float
        The level to keep, in (0, 1); 0.05 by default.
    caps : sequence of Cost, optional
        At most one of each kind. What the steps of that kind may cost together; fixed before the data.

    Examples
    --------
    >>> from holdfast.accounting import Bits, PureDP
    >>> looking = AfterLooking(n=1000)
    >>> looking.record(PureDP(0.02), what="noisy-max choice of a feature")
    AfterLooking(n=1000, nulls='product', steps=1)
    >>> round(looking.level(0.05).value, 4), round(looking.adjusted(0.001), 4)
    (0.0219, 0.0031)
    >>> round(looking.record(Bits(1)).level(0.05).value, 4)      # one raw yes/no look as well
    0.0101
    >>> capped = AfterLooking(1000, caps=[PureDP(0.02), Bits(1)])
    >>> round(capped.level(0.05).value, 4), round(capped.record(PureDP(0.001)).level(0.05).value, 4)
    (0.0101, 0.0101)
    """

    def __init__(
        self,
        n: int,
        *,
        nulls: Nulls = "product",
        alpha: float = 0.05,
        caps: Sequence[Cost] | None = None,
    ) -> None:
        self._n = arguments.whole("n", n, at_least=1)
        self._nulls: Nulls = arguments.choice("nulls", nulls, ("product", "any"))  # type: ignore[assignment]
        self._alpha = arguments.probability("alpha", alpha)
        self._caps = None if caps is None else check_caps(caps)
        self._entries: tuple[Entry, ...] = ()

    @property
    def caps(self) -> tuple[Cost, ...] | None:
        """The limits on what the steps may cost together, one for each kind of cost; None if the recorded costs are
        charged.
        """
        return self._caps

    @property
    def n(self) -> int:
        """The number of rows."""
        return self._n

    @property
    def nulls(self) -> Nulls:
        """The kind of null hypotheses that the correction covers."""
        return self._nulls

    @property
    def alpha(self) -> float:
        """The level to keep, unless a call gives another one."""
        return self._alpha

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All recorded steps, in order."""
        return self._entries

    def record(self, step: Any, *, what: str = "", values: int | None = None, neighbours: str = "replace-one") -> Self:
        """Record one step that was run on the rows, and return this record.

        Parameters
        ----------
        step : Cost, or anything with a `cost`
            A cost, a mechanism of `holdfast.mechanisms`, an answer or a private choice. A SparseValidate or any other
            method whose answers take few values is recorded by its `Bits`.
        what : str
            A note for people.
        values : int, optional
            How many values the step's output could take, everything shown included. A private choice among `values`
            candidates is then also priced as a noiseless step with that many outcomes, whichever is better.
        neighbours : str
            What the step's privacy is certified for. Only "replace-one" is accepted; for "add-remove" the error says
            which cost to record instead.

        Raises
        ------
        InvalidParameter
            For anything else; nothing is recorded then.
        BudgetExhausted
            Where there are caps and the step does not fit; nothing is recorded then.
        """
        cost = step if isinstance(step, Cost) else getattr(step, "cost", None)
        if not isinstance(cost, Cost):
            raise InvalidParameter(f"a step must be a cost or an object with a cost, got a {type(step).__name__}")
        cost = supported(cost)
        if values is None and not isinstance(step, Cost):
            values = getattr(step, "values", None)
        values = None if values is None else arguments.whole("values", values, at_least=1)
        if not isinstance(what, str):
            raise InvalidParameter(f"what, the name of the step, must be a text, got a {type(what).__name__}")
        require_replace_one(neighbours, cost)
        if self._caps is not None:
            require_room(self._caps, self._entries, cost)
        self._entries = (*self._entries, Entry(cost, values, what))
        return self

    def level(self, alpha: float | None = None) -> Level:
        """Return the largest level at which a test may reject so that the probability of a false rejection is at
        most `alpha`.
        """
        return self._best_level(self._level_to_keep(alpha))[0]

    def adjusted(self, p: float) -> float:
        """Return the adjusted p-value: the smallest `alpha` at which `p` is rejected, or 1 if there is none.

        The adjusted p-value does not decrease when `p` grows, and it is never below `p`.

        Notes
        -----
        Time: microseconds after noiseless steps, milliseconds after pure privacy, about a second after
        approximate or concentrated privacy.
        """
        p = arguments.probability("p", p, zero=True, one=True)
        smallest = min((route.adjusted(p) for route in self._routes()), default=1.0)
        return min(1.0, max(p, smallest))

    def correct(self, p: float, alpha: float | None = None) -> Correction:
        """Correct one p-value and return the result, with the theorem that was used."""
        p = arguments.probability("p", p, zero=True, one=True)
        return self._correction(self._level_to_keep(alpha), p)

    def plan(self, alpha: float | None = None) -> Correction:
        """Return how small a p-value would have to be to be rejected. No p-value is needed yet."""
        return self._correction(self._level_to_keep(alpha), None)

    def test(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Correction:
        """Run a test that gives one p-value, and correct the p-value.

        Any SciPy or statsmodels test works: the result may be a number, a pair `(statistic, p-value)` or an object with
        `pvalue`. `function` is called with the other arguments unchanged. Its p-value must be valid for a test that is
        fixed in advance. A published result reveals something about the data. If you choose further steps from it, use
        `decide`, or record what was shown.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import ttest_1samp
        >>> from holdfast.accounting import PureDP
        >>> rows = np.random.default_rng(5).normal(0.2, 1.0, 1000)
        >>> found = AfterLooking(1000).record(PureDP(0.02)).test(ttest_1samp, rows, 0.0)
        >>> found.rejected, found.adjusted > found.p
        (True, True)
        """
        if not callable(function):
            raise InvalidParameter(f"function must be a test to call, got a {type(function).__name__}")
        return self.correct_result(function(*args, **kwargs))

    def correct_result(self, result: Any) -> Correction:
        """Correct the p-value in the result of a test. The result may be a number, a pair, or an object with
        `pvalue`.
        """
        p_values = p_values_of(result)
        if len(p_values) != 1:
            raise InvalidParameter(
                f"the result holds {len(p_values)} p-values; choose one, or use correct_family, which also corrects "
                "for their number"
            )
        return self.correct(p_values[0])

    def correct_family(self, result: Any) -> tuple[Correction, ...]:
        """Correct several p-values at once, also for their number (with Holm's method).

        Give a fitted statsmodels model, an object with `pvalues`, or a list. The probability of any false rejection
        among them is at most `alpha`, whatever their dependence. The family of tests, its size included, may be chosen
        from what was recorded, but all of it at once. If one test is chosen by the p-value of another, use levels fixed
        in advance or `decide`. A plain tuple of numbers is refused, because elsewhere it means a statistic and its
        p-value.

        Notes
        -----
        For a fixed family a false rejection is one event of probability at most `u` when Holm rejects at `u`, and
        it is this event that what was run can make likelier.

        Examples
        --------
        >>> [round(c.adjusted, 4) for c in AfterLooking(100).correct_family([0.01, 0.04, 0.5])]
        [0.03, 0.08, 0.5]
        """
        named = hasattr(result, "pvalue") or hasattr(result, "pvalues") or hasattr(result, "p_value")
        if isinstance(result, tuple) and not named and len(result) > 1 and np.ndim(result[1]) == 0:
            raise InvalidParameter("a family of p-values must be a list, not a tuple, which is read as a test's result")
        p_values = p_values_of(result)
        order = sorted(range(len(p_values)), key=p_values.__getitem__)
        stepped, running = [0.0] * len(p_values), 0.0
        for place, i in enumerate(order):
            running = max(running, min(1.0, (len(p_values) - place) * p_values[i]))
            stepped[i] = running
        return tuple(self.correct(p) for p in stepped)

    def decide(self, result: Any, alpha: float | None = None) -> bool:
        """Correct a p-value, publish only whether it is rejected, and record this one bit.

        After that the analysis may go on: whatever follows is corrected for this answer too.
        """
        p_values = p_values_of(result)
        if len(p_values) != 1:
            raise InvalidParameter(f"the result must hold one p-value, got {len(p_values)}")
        rejected = p_values[0] <= self.level(alpha).value
        self.record(Bits(1.0), what="a published decision", values=2)
        return rejected

    def max_information(self, beta: float) -> MaxInformation:
        """Return the max-information of everything that was recorded. Private steps must have come first.

        You need this only for max-information itself. Levels and adjusted p-values use a smaller bound (the transfer
        bound), which does not depend on the order. An approximately private step after a noiseless one is refused.

        Raises
        ------
        LedgerConflict
            For a noiseless step followed by an approximately private step; the message names what the interleaved
            bound gives.

        Examples
        --------
        >>> from holdfast.accounting import ApproxDP, Bits
        >>> looking = AfterLooking(10_000).record(Bits(4)).record(ApproxDP(0.001, 1e-12))
        >>> looking.max_information(0.025)
        Traceback (most recent call last):
            ...
        holdfast.errors.LedgerConflict: an approximately private step cannot be added after a noiseless step: ...
        >>> round(looking.level(0.05).value, 6)
        0.001585
        """
        beta = arguments.probability("beta", beta)
        ledger = MaxInformationLedger(self._n)
        try:
            for cost in self._caps or [entry.cost for entry in self._entries]:
                ledger = _enter(ledger, cost)
        except LedgerConflict as error:
            plan = self.plan()
            if plan.level.is_vacuous:
                offer = (
                    "Here that bound rejects nothing: delta times n times the outcomes of the noiseless steps is not "
                    "below alpha"
                )
            else:
                offer = f"Here that bound (AfterLooking.level) rejects at {plan.level.value:.4g} to keep {plan.alpha:g}"
            raise LedgerConflict(f"{error}. {offer}") from None
        bound = ledger.max_information(beta)
        if self._nulls == "any" and bound.scope == "product":
            raise GuaranteeUnavailable(
                "this max-information is valid for independent rows only, but the record is for null hypotheses of any "
                "distribution"
            )
        return bound

    def bonferroni(self, candidates: int, alpha: float | None = None) -> float:
        """Return the level of Bonferroni's correction for a list of `candidates` tests that was fixed in advance."""
        candidates = arguments.whole("candidates", candidates, at_least=1)
        return self._level_to_keep(alpha) / candidates

    def state(self) -> dict[str, Any]:
        """Return the whole record as plain data, which `from_state` reads back."""
        return {
            "version": 1,
            "n": self._n,
            "nulls": self._nulls,
            "alpha": self._alpha,
            "caps": None if self._caps is None else [cap.to_dict() for cap in self._caps],
            "entries": [entry.to_dict() for entry in self._entries],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> AfterLooking:
        """Return the record that `state()` described.

        Examples
        --------
        >>> from holdfast.accounting import Bits
        >>> before = AfterLooking(100).record(Bits(3))
        >>> AfterLooking.from_state(before.state()).entries == before.entries
        True
        """
        if not isinstance(state, Mapping) or state.get("version") != 1:
            raise InvalidParameter("a stored record must be a dict with version 1")
        missing = {"n", "nulls", "alpha", "caps", "entries"} - set(state)
        if missing or not isinstance(state["entries"], list):
            raise InvalidParameter(
                "a stored record must have n, nulls, alpha, caps and entries, and entries must be a list"
            )
        caps = state["caps"]
        if caps is not None:
            caps = [Cost.from_dict(cap) for cap in caps] if isinstance(caps, list) else caps
        looking = cls(state["n"], nulls=state["nulls"], alpha=state["alpha"], caps=caps)
        for entry in map(Entry.from_dict, state["entries"]):
            looking.record(entry.cost, what=entry.what, values=entry.values)
        return looking

    def __repr__(self) -> str:
        return f"AfterLooking(n={self._n}, nulls={self._nulls!r}, steps={len(self._entries)})"

    def __str__(self) -> str:
        steps = "\n".join(f"  {i}. {entry}" for i, entry in enumerate(self._entries, 1)) or "  nothing was run"
        return f"{self!r}\n{steps}"

    def _level_to_keep(self, alpha: float | None) -> float:
        return self._alpha if alpha is None else arguments.probability("alpha", alpha)

    def _routes(self) -> Iterable[Route]:
        for totals in readings(self._entries if self._caps is None else charged(self._caps)):
            yield from routes(totals, self._n, self._nulls)

    def _best_level(self, alpha: float) -> tuple[Level, Route | None]:
        best: tuple[Level, Route | None] = (NONE, None)
        for route in self._routes():
            candidate = route.level(alpha)
            if best[1] is None or candidate.log2_level > best[0].log2_level:
                best = (candidate, route)
        level, taken = best
        if level.value > alpha:  # no correction gives anything for free
            level = Level(alpha, level.log2_level, level.bits, level.beta, level.parameters)
        return level, taken

    def _correction(self, alpha: float, p: float | None) -> Correction:
        level, route = self._best_level(alpha)
        name = route.name if route is not None else "no theorem covers this"
        theorem = route.theorem if route is not None else ""
        parameters = ({k: v for k, v in route.parameters.items() if v} if route is not None else {}) | {"n": self._n}
        guarantee = Guarantee(theorem, parameters, _ASSUMPTIONS[self._nulls])
        adjusted = None if p is None else self.adjusted(p)
        return Correction(alpha, level, name, guarantee, p, adjusted)


def _enter(ledger: MaxInformationLedger, cost: Cost) -> MaxInformationLedger:
    match cost:
        case Bits(bits):
            return ledger.with_look(bits)
        case PureDP(epsilon):
            return ledger.with_private(epsilon)
        case ApproxDP(epsilon, delta) | PointwiseDP(epsilon, delta):
            return ledger.with_private(epsilon, delta)
    raise GuaranteeUnavailable(
        f"max-information is computed from PureDP, ApproxDP and Bits, not from {type(cost).__name__}; "
        "convert it to ApproxDP first"
    )
