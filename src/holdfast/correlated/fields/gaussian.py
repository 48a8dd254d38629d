"""Gaussian Markov fields and linear queries: exact noise for sums and means of tied records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from holdfast.bounds.correlated.effective_size import effective_n_blocks, effective_n_stationary
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.correlated.fields.precision import Array, Precision, autoregression_precision, precision_of
from holdfast.correlated.fields.shift import Leak, shift, worst_leak
from holdfast.correlated.model import check_record, check_records
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


class GaussianField:
    """Records with a joint normal distribution. Only linear queries `w.X` with Laplace noise are covered.

    For an adversary who knows the records `S`, a query `w.X + Lap(scale)` leaks exactly `reach_i * shift(i, S) / scale`
    about record `i`. `reach_i` is how far apart two values of the record may be, which is public knowledge. `shift` is
    how far the expected query moves when the record moves by 1. Clipped records, other queries and other noise are not
    covered. The values are unbounded, so max-influence is infinite, and these numbers do not imply any level of
    differential privacy.

    Parameters
    ----------
    precision : array or scipy sparse matrix, optional
        Inverse of the covariance; sparse for long series and maps.
    covariance : array, optional
        The covariance instead; exactly one of the two.

    Notes
    -----
    Yang, Sato and Nakagawa 2015 treat sums of positively tied records; the general statement is 2.8 of the
    specification (derived, reviewed), with `shift(i, S) = |w_i - w_U' (J_UU)^-1 J_Ui|`.

    Examples
    --------
    Five records, each pair correlated by 0.3; a sum moves by 2.2 when one record moves by 1:

    >>> field = GaussianField(covariance=0.7 * np.eye(5) + 0.3)
    >>> round(field.worst_shift().value, 9), round(field.noise_scale(0.5), 9)
    (2.2, 4.4)
    """

    def __init__(self, precision: Any = None, *, covariance: Any = None) -> None:
        if (precision is None) == (covariance is None):
            raise InvalidParameter("exactly one of precision and covariance must be given")
        self._precision = Precision(precision) if precision is not None else precision_of(covariance)
        self._operator_norm: float | None = None
        self._label = "Gaussian field"

    @classmethod
    def autoregressive(cls, n: int, coefficients: float | Sequence[float], *, deviation: float = 1.0) -> GaussianField:
        """Return a stationary Gaussian autoregression `X_t = a_1 X_{t-1} + ... + a_p X_{t-p} + noise`.

        Parameters
        ----------
        n : int
            Length, at least the order.
        coefficients : float or sequence of float
            `a_1, ..., a_p`; one number is a first-order autoregression.
        deviation : float
            Standard deviation of a record.

        Examples
        --------
        >>> series = GaussianField.autoregressive(10, 0.5)
        >>> series.worst_shift().value, round(series.noise_scale(0.5), 9)
        (2.90625..., 5.8125)
        >>> round(GaussianField.autoregressive(100_000, 0.5).worst_shift().value, 9)
        3.0
        """
        a = [coefficients] if isinstance(coefficients, (int, float)) else list(coefficients)
        field = cls(autoregression_precision(n, a, deviation))
        field._label = f"stationary Gaussian autoregression of order {len(a)}"
        field._operator_norm = abs(float(a[0])) if len(a) == 1 else None
        return field

    @property
    def n(self) -> int:
        """The number of records."""
        return self._precision.n

    @property
    def is_first_order(self) -> bool:
        """Whether the field was declared as a first-order autoregression, for which an effective number of rows is
        proved.
        """
        return self._operator_norm is not None

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        ties = (self._precision.matrix.nnz - self.n) // 2
        return f"{self._label}, {self.n} records, {ties} ties"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data. The upper triangle of the precision matrix appears as rows, columns
        and values.
        """
        upper = sparse.triu(self._precision.matrix).tocoo()
        return {
            "model": "gaussian field",
            "n": self.n,
            "rows": upper.row.tolist(),
            "columns": upper.col.tolist(),
            "values": upper.data.tolist(),
        }

    def shift(self, record: int, known: Collection[int] = (), weights: npt.ArrayLike | None = None) -> float:
        """Return how far the expected query moves when `record` moves by 1 while the records of `known` stay.

        All other records follow their conditional distribution.

        Examples
        --------
        >>> field = GaussianField(covariance=[[1, 0.5, -0.4], [0.5, 1, 0.1], [-0.4, 0.1, 1]])
        >>> round(field.shift(0), 9), round(field.shift(0, known=[2]), 9)
        (1.1, 1.642857143)
        """
        i = check_record(record, self.n)
        fixed = check_records("known", known, self.n)
        if i in fixed:
            raise InvalidParameter(f"known must not contain the record itself, which is {i}")
        return shift(self._precision, self._weights(weights)[:, 0], i, np.array(fixed, dtype=np.int64))

    def worst_shift(self, weights: npt.ArrayLike | None = None, reach: npt.ArrayLike = 1.0) -> Leak:
        """Return the largest `reach_i * shift(i, S)` over every record `i` and every set `S` of records that an
        adversary may know.

        `reach_i` is how far apart two values of record `i` may be. `shift(i, S)` is how far the expected query moves
        when record `i` moves by 1.

        Parameters
        ----------
        weights : array, optional
            Of the query; all 1 (a sum) unless given.
        reach : float or array
            How far each record may move, from public knowledge.

        Raises
        ------
        GuaranteeUnavailable
            If the signs are mixed, a part has more than 15 records and no bound applies.
        """
        return worst_leak(self._precision, self._weights(weights), np.ones(1), self._reach(reach))

    def linear_noise_scale(
        self, epsilon_bdp: float, weights: npt.ArrayLike | None = None, reach: npt.ArrayLike = 1.0
    ) -> float:
        """Return the Laplace scale at which a linear query has the Bayesian level `epsilon_bdp`: `worst_shift /
        epsilon_bdp`.
        """
        epsilon_bdp = arguments.real("epsilon_bdp", epsilon_bdp, above=0)
        return up(self.worst_shift(weights, reach).value / epsilon_bdp)

    def noise_scale(self, epsilon_bdp: float, sensitivity: float = 1.0, surcharge: str = "sharp") -> float:
        """Return the Laplace scale for an equally weighted sum or mean in which one record counts at most
        `sensitivity`.

        A mean of `n` records that may each move by `M` has `sensitivity = M / n`. `surcharge` is accepted but has no
        effect here.
        """
        return up(arguments.real("sensitivity", sensitivity, above=0) * self.linear_noise_scale(epsilon_bdp))

    def leakage(self, releases: Iterable[tuple[npt.ArrayLike, float]], reach: npt.ArrayLike = 1.0) -> Leak:
        """Return the level of Bayesian differential privacy of several linear releases together.

        It is `max_{i,S} sum_q reach_i shift_q(i,S) / scale_q`, where the maximum is over the records `i` and the sets
        `S` of records that an adversary may know. `reach_i` is how far apart two values of record `i` may be,
        `shift_q(i,S)` is how far query `q` moves when record `i` moves by 1, and `scale_q` is its noise scale. For
        linear queries of a Gaussian field the levels add up, even if a query was chosen from earlier answers. The
        result is never more than the sum of the single levels.

        Parameters
        ----------
        releases : iterable of (weights, scale)
            The queries released so far, or planned.
        reach : float or array
            How far each record may move.

        Notes
        -----
        2.8 of the specification, added and derived in its review: given record and known values the unknown
        records are a linear shift plus a residual whose distribution does not depend on the record, and for every
        residual each Laplace density changes by at most its own factor.

        Examples
        --------
        >>> series = GaussianField.autoregressive(10, 0.5)
        >>> round(series.leakage([(np.ones(10), 5.8125), (np.ones(10) / 10, 0.58125)]).value, 9)
        1.0
        """
        pairs = list(releases)
        if not pairs:
            return Leak(0.0, 0, (), "nothing known")
        columns = np.concatenate([self._weights(weights) for weights, _ in pairs], axis=1)
        scales = np.array([arguments.real(f"releases[{j}].scale", s, above=0) for j, (_, s) in enumerate(pairs)])
        return worst_leak(self._precision, columns, scales, self._reach(reach))

    def variance_inflation(self, weights: npt.ArrayLike | None = None) -> float:
        """Return the variance of `w.X` divided by that of independent records with the same variances. This is only
        a diagnostic.

        The number of rows divided by this factor is the effective sample size of a normal approximation. It guarantees
        nothing for questions with bounded values.

        Examples
        --------
        >>> round(GaussianField.autoregressive(2000, 0.7).variance_inflation(), 2)
        5.66
        """
        w = self._weights(weights)[:, 0]
        return float(w @ self._precision.solve(w) / (w**2 @ self._precision.inverse_diagonal))

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        For a stationary first-order autoregression with coefficient `phi` it is `n (1 - |phi|)/(1 + |phi|)`. Parts of
        the field that are independent of each other count as blocks. For anything else nothing is proved, and an error
        is raised.

        Notes
        -----
        Rows D and A of 3.9 of the specification.
        """
        if self._operator_norm is not None:
            return effective_n_stationary(self.n, self._operator_norm)
        count, labels = connected_components(self._precision.matrix, directed=False)
        if count > 1:
            return effective_n_blocks([int(k) for k in np.bincount(labels)])
        raise GuaranteeUnavailable(
            "no effective number of rows is proved for this field; it is proved only for a first-order "
            "autoregression and for independent parts; declare blocks or a chain of discretised values, or use "
            "variance_inflation(), which is only a diagnostic"
        )

    def truncated_influence(self, record: int, quilt: Collection[int], radius: float) -> float:
        """Return the max-influence of a record on a set of records when all values are within `radius` of their
        means.

        The max-influence is the largest log ratio of the probabilities of what the set shows, given two values of the
        record. Without the limit it is infinite. So the number is only a diagnostic and guarantees nothing. For unit
        variance and lag `t` of an autoregression with coefficient `phi` it is `2 R^2 phi^t / (1 - phi^(2t))`, with `R =
        radius`.

        Notes
        -----
        The log ratio of two distributions of `X_Q` is linear in `x_Q`; this is its largest value in the box.

        Examples
        --------
        >>> series = GaussianField.autoregressive(30, 0.5)
        >>> round(series.truncated_influence(5, [15], radius=3.0), 11)
        0.01757814176
        """
        i = check_record(record, self.n)
        q = np.array(check_records("quilt", quilt, self.n), dtype=np.int64)
        radius = arguments.real("radius", radius, above=0)
        if i in q:
            raise InvalidParameter(f"quilt must not contain the record itself, which is {i}")
        if not len(q):
            return 0.0
        units = np.zeros((self.n, len(q) + 1))
        units[q, np.arange(len(q))] = 1.0
        units[i, -1] = 1.0
        columns = self._precision.solve(units)
        slope = columns[q, -1] / columns[i, -1]
        given = columns[q][:, :-1] - np.outer(slope, columns[q, -1])
        pull = np.linalg.solve(given, slope)
        size, bend = float(np.abs(pull).sum()), float(pull @ slope)
        x = radius if bend <= 0 else min(radius, radius * size / bend)
        return (x + radius) * (radius * size + (radius - x) * bend / 2)

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Raise an error, because the max-influence of a Gaussian field is infinite.

        Examples
        --------
        >>> GaussianField.autoregressive(5, 0.5).influence(0, [1])
        Traceback (most recent call last):
            ...
        holdfast.errors.GuaranteeUnavailable: max-influence is infinite for Gaussian records, whose values are ...
        """
        self._unbounded()

    def best_quilt(self, record: int, epsilon: float, surcharge: str = "sharp") -> NoReturn:
        """Raise an error, because the max-influence of a Gaussian field is infinite."""
        self._unbounded()

    def worst_quilt(self, epsilon: float, surcharge: str = "sharp") -> NoReturn:
        """Raise an error, because the max-influence of a Gaussian field is infinite."""
        self._unbounded()

    def epsilon_dp(self, epsilon_bdp: float, surcharge: str = "sharp") -> NoReturn:
        """Raise an error, because a linear query of unbounded records has no level of differential privacy."""
        self._unbounded()

    def epsilon_bdp(self, epsilon_dp: float, surcharge: str = "sharp") -> NoReturn:
        """Raise an error, because a linear query of unbounded records has no level of differential privacy; see
        `leakage`.
        """
        self._unbounded()

    def _unbounded(self) -> NoReturn:
        raise GuaranteeUnavailable(
            "max-influence is infinite for Gaussian records, whose values are unbounded, so Markov quilts and DP "
            "levels do not help; for linear queries use linear_noise_scale and leakage, or declare a chain of "
            "discretised values in a bounded domain"
        )

    def _weights(self, weights: npt.ArrayLike | None) -> Array:
        if weights is None:
            return np.ones((self.n, 1))
        try:
            array = np.array(weights, dtype=float)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.shape != (self.n,) or not np.isfinite(array).all():
            raise InvalidParameter(f"weights must be a list of {self.n} finite numbers")
        return array[:, None]

    def _reach(self, reach: npt.ArrayLike) -> Array:
        try:
            array = np.broadcast_to(np.array(reach, dtype=float), (self.n,))
        except (TypeError, ValueError):
            array = np.array([np.nan])
        if not (np.isfinite(array) & (array >= 0)).all():
            raise InvalidParameter(f"reach must be a finite number, at least 0, or {self.n} of them")
        return np.asarray(array)
