"""A budget for every row: rows that have given enough are left out, the others go on."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from holdfast.accounting.account import Fixed
from holdfast.accounting.costs import budget as read_budget
from holdfast.core import arguments
from holdfast.core.copying import NoCopy
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter

_ADD_REMOVE = "neighbours add or remove one row; row sums stay secret; costs may be chosen adaptively"
_REPLACE_ONE = "neighbours replace one row; Gaussian noise on sums of rows; row sums stay secret"


class IndividualFilter(NoCopy, Fixed):
    """A filter that keeps one privacy budget (at one Renyi order, or in zCDP) for each row, and decides which rows may
    still take part in the next answer.

    This is the individual privacy filter of Feldman and Zrnic 2021. The proof is that of the Renyi filter for each row:
    for a fixed row, only answers in which the row takes part add to the privacy loss between "row present" and "row
    absent".

    This is not a `Filter`. Whether a row is left out depends on the row, so the sums and the mask are **private
    state**. `admit` returns the mask to the mechanism that asked. The mechanism computes on the rows in the mask and
    releases only its noisy answer. Neither `repr` nor `to_dict` shows anything about sums or masks, and no error is
    raised if the budget of a row is used up: that row is simply not used. You may publish `to_dict()`, but keep
    `secret_state()` where the rows are kept.

    The guarantee is for neighbouring data sets of which one has an **added or removed** row. For data sets that differ
    in a replaced row, both rows have contributions and leave at different times. Then, for Gaussian noise on sums, `sum
    |a_t - b_t|^2 <= (|a| + |b|)^2` gives four times the budget, or twice the budget for scalar rows of one sign, where
    `(a - b)^2 <= a^2 + b^2`. Always say for which definition of neighbours a number is valid.

    The sums are double-precision numbers that are rounded up if they are not exact, so a row is never charged too
    little.

    Parameters
    ----------
    rows : int
        The number of rows, at least 1; public.
    budget : float
        The budget of each row: rho of zCDP, or the divergence in nats when `order` is given.
    order : float, optional
        A single Renyi order; without it costs are rho and the guarantee is zCDP, every order at once.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.accounting import IndividualFilter, gaussian_row_costs
    >>> budgets = IndividualFilter(rows=3, budget=1.25)
    >>> costs = gaussian_row_costs(np.array([0.0, 0.5, 1.0]), sigma=1.0)
    >>> for _ in range(2):
    ...     inside = budgets.admit(costs)
    >>> inside, budgets.admit(costs)
    (array([ True, True, True]), array([ True, True, False]))
    >>> budgets
    IndividualFilter(rows=3, budget=1.25)
    """

    _not_copied = "an IndividualFilter holds secret sums; store secret_state() with the rows instead"

    name = "individual"

    def __init__(self, rows: int, budget: float, *, order: float | None = None) -> None:
        self.rows = arguments.whole("rows", rows, at_least=1)
        self.budget = read_budget("budget", budget)
        self.order = None if order is None else arguments.real("order", order, above=1)
        self._sums: NDArray[np.float64] = np.zeros(self.rows)
        self._lock = threading.Lock()

    def admit(self, costs: ArrayLike) -> NDArray[np.bool_]:
        """Charge all rows whose remaining budget covers their cost, and return these rows as a mask, which only the
        mechanism may see.

        Parameters
        ----------
        costs : array of float
            What each row would pay for this answer, one number per row, at least 0. For Gaussian noise on a sum of
            rows, `gaussian_row_costs`, with `order` the filter's own.

        Returns
        -------
        array of bool
            The rows to compute on. Time and memory are linear in the number of rows, whatever the number of answers.
        """
        asked = _numbers(costs)
        if asked is None or asked.shape != (self.rows,):
            raise InvalidParameter(f"costs must be a list with one number for each of the {self.rows} rows")
        if not np.all(np.isfinite(asked)) or np.any(asked < 0):
            raise InvalidParameter("costs must be numbers in [0, inf)")
        with self._lock:
            after = _sum_up(self._sums, asked)
            inside = after <= self.budget
            self._sums = np.where(inside, after, self._sums)
        return inside

    def guarantee(
        self, neighbours: Literal["add-remove", "replace-one"] = "add-remove", *, one_sign: bool = False
    ) -> Guarantee:
        """Return the guarantee of the whole interaction, for the given definition of neighbouring data sets.

        Parameters
        ----------
        neighbours : str
            "add-remove", or "replace-one": then only for zCDP budgets and Gaussian noise on sums of rows.
        one_sign : bool
            Under "replace-one": every row's contribution is one number and all have the same sign, such as values in
            [0, 1]; the factor is then 2 instead of 4.
        """
        arguments.choice("neighbours", neighbours, ("add-remove", "replace-one"))
        stated: dict[str, Any] = {"name": self.name} | ({} if self.order is None else {"order": self.order})
        key = "rho" if self.order is None else "epsilon"
        if neighbours == "add-remove":
            return Guarantee("filter.rounds", stated | {key: self.budget}, _ADD_REMOVE)
        if self.order is not None:
            raise InvalidParameter('neighbours must be "add-remove" if the budget is at a single Renyi order')
        factor = 2 if one_sign else 4
        return Guarantee("filter.rounds", stated | {"rho": factor * self.budget, "factor": factor}, _REPLACE_ONE)

    def to_dict(self) -> dict[str, Any]:
        """Return the public part of the state: the arguments with which the filter was made. It does not contain what
        rows have spent.
        """
        return {"filter": self.name, "rows": self.rows, "budget": self.budget, "order": self.order}

    def secret_state(self) -> dict[str, Any]:
        """Return the complete state, including what each row has spent. Keep it as secret as the rows, and never show
        or log it.
        """
        return self.to_dict() | {"secret_sums": self._sums.tolist()}

    @classmethod
    def from_secret_state(cls, state: Mapping[str, Any]) -> IndividualFilter:
        """Make a filter from the state that `secret_state()` returned."""
        if not isinstance(state, Mapping) or state.get("filter") != cls.name or "secret_sums" not in state:
            raise InvalidParameter("state must be a mapping that secret_state() returned for this kind of filter")
        individual = cls(state.get("rows"), state.get("budget"), order=state.get("order"))  # type: ignore[arg-type]
        sums = _numbers(state["secret_sums"])
        if sums is None or sums.shape != (individual.rows,) or not np.all((sums >= 0) & (sums <= individual.budget)):
            raise InvalidParameter("state must have one sum for each row, and each sum must be within the budget")
        individual._sums = sums
        return individual

    def __repr__(self) -> str:
        order = "" if self.order is None else f", order={self.order!r}"
        return f"IndividualFilter(rows={self.rows}, budget={self.budget!r}{order})"


def _numbers(values: ArrayLike) -> NDArray[np.float64] | None:
    """The values as an array of doubles, or None where they are not numbers or not a regular array."""
    try:
        given = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # numpy's own messages may show rows
        return None
    if not (np.issubdtype(given.dtype, np.floating) or np.issubdtype(given.dtype, np.integer)):
        return None
    with np.errstate(over="ignore"):
        return given.astype(np.float64)


def _sum_up(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add two arrays of numbers at least 0, rounding up where the sum is not exact (Knuth's two-sum finds where)."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        lost = (a - (total - part)) + (b - part)
        return np.where(lost > 0, np.nextafter(total, np.inf), total)


def gaussian_row_costs(values: ArrayLike, sigma: float, order: float | None = None) -> NDArray[np.float64]:
    """Return the privacy cost of each row for an answer that is a sum over rows with Gaussian noise, rounded up.

    The cost is `rho = |value|^2 / (2 sigma^2)` for a filter whose budget is a rho. If `order` is given, the cost is the
    divergence at that order, `order * rho`, for a filter at that order. A cost that is too large for a floating-point
    number becomes the largest such number.

    Parameters
    ----------
    values : array of float
        One number per row, or one vector per row in a two-dimensional array.
    sigma : float
        The noise's standard deviation, above 0.
    order : float, optional
        The `order` of the `IndividualFilter` that is to be charged, above 1; none for rho.

    Examples
    --------
    >>> gaussian_row_costs([[3.0, 4.0], [0.0, 0.0]], sigma=5.0).round(12).tolist()
    [0.5, 0.0]
    >>> gaussian_row_costs([3.0], sigma=3.0, order=8).round(12).tolist()
    [4.0]
    """
    rows = _numbers(values)
    if rows is None or rows.ndim not in (1, 2) or not np.all(np.isfinite(rows)):
        raise InvalidParameter("values must be finite numbers, with one number (or one vector) for each row")
    sigma = arguments.real("sigma", sigma, above=0)
    factor = 1.0 if order is None else arguments.real("order", order, above=1)
    rows = rows[:, np.newaxis] if rows.ndim == 1 else rows
    width = rows.shape[1]
    growth = 1 + width * 2.0**-52 + 2.0**-49  # a dozen rounded operations and a sum of `width` squares
    with np.errstate(over="ignore", under="ignore"):
        halves = 0.5 * np.square(rows / sigma).sum(axis=1)
        # each square may have lost half a smallest double, which only a tiny cost can notice
        costs = np.nextafter((halves * growth + (width + 2) * math.ulp(0.0)) * factor, np.inf)
    return np.where(np.any(rows != 0, axis=1), np.minimum(costs, sys.float_info.max), 0.0)
