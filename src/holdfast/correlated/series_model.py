"""Declared dependence along one series: what it makes of `k` rows, and what it says about their autocorrelation.

A panel declares one of these for the rows inside a group. Each is a promise about complete rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from holdfast.bounds.correlated.effective_size import Tail, mixing_coefficients
from holdfast.core import arguments
from holdfast.correlated.chains.transition import RowChain
from holdfast.correlated.holdout.dependent_rows import BLOCKS, DependentRows, MeanBound
from holdfast.errors import GuaranteeUnavailable


@runtime_checkable
class SeriesModel(Protocol):
    """A declaration of how rows depend on each other along a series.

    Examples
    --------
    >>> isinstance(MDependent(3), SeriesModel), isinstance((0.9, 0.8), SeriesModel)
    (True, False)
    """

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return the declaration for `k` rows. With `gap`, it is for rows that follow earlier rows of the same
        series.
        """

    def correlation(self, lag: int) -> float:
        """Return the largest correlation of any function of a row with any function of a row `lag` later; 1 if
        unknown.
        """

    def covariance(self, lag: int) -> float:
        """Return a bound on the covariance at this lag, in units of (range) x (mean absolute deviation); infinite if
        unknown.
        """


@dataclass(frozen=True)
class AnyDependence:
    """Rows of a group may depend on each other in any way, so the group counts as one block.

    Examples
    --------
    >>> AnyDependence().rows(5).effective_n
    1.0
    """

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of one block, which has an effective number of one row."""
        if gap is not None:
            raise GuaranteeUnavailable(
                "if rows may depend on the training rows in any way, no bound is possible; for one series declare a "
                "model that forgets, such as Markov, Autoregressive, Mixing or MDependent; for several series name "
                "their group column"
            )
        return DependentRows(k, f"{k} rows with any dependence", {BLOCKS: MeanBound(BLOCKS, 1.0)})

    def correlation(self, lag: int) -> float:
        """Return 1, because nothing is assumed about the dependence."""
        return 1.0

    def covariance(self, lag: int) -> float:
        """Return infinity, because nothing is assumed about the dependence."""
        return float("inf")


@dataclass(frozen=True)
class Independent:
    """Rows of a group are independent of each other.

    Examples
    --------
    >>> Independent().rows(100).effective_n
    100.0
    """

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of independent rows."""
        return DependentRows.independent(k)

    def correlation(self, lag: int) -> float:
        """Return 0 for every lag."""
        return 0.0

    def covariance(self, lag: int) -> float:
        """Return 0 for every lag."""
        return 0.0


@dataclass(frozen=True)
class MDependent:
    """Rows more than `m` steps apart are independent.

    Examples
    --------
    >>> round(MDependent(3).rows(100).effective_n, 6), MDependent(3).correlation(4)
    (25.0, 0.0)
    """

    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", arguments.whole("m", self.m, at_least=0, at_most=10**9))

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of `m`-dependent rows. Training rows of the same series must be more than `m` steps
        earlier.
        """
        if gap is not None and gap <= self.m:
            raise GuaranteeUnavailable(
                f"gap must be above m = {self.m}, because nearer training rows are not independent of the holdout"
            )
        return DependentRows.m_dependent(k, self.m)

    def correlation(self, lag: int) -> float:
        """Return a bound on the correlation: 0 for lags beyond `m`."""
        return 0.0 if lag > self.m else 1.0

    def covariance(self, lag: int) -> float:
        """Return a bound on the covariance: 0 for lags beyond `m`."""
        return 0.0 if lag > self.m else float("inf")


@dataclass(frozen=True)
class Autoregressive:
    """A stationary Gaussian AR(1), or a stationary chain of any kind whose operator norm is `|coefficient|`.

    Examples
    --------
    >>> model = Autoregressive(0.5)
    >>> round(model.rows(30).effective_n, 6), model.correlation(3)
    (10.0, 0.125)
    """

    coefficient: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", arguments.real("coefficient", self.coefficient, above=-1, below=1))

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of a stationary series.

        With a gap it raises an error, because then the last training row would be needed in standard units.
        """
        if gap is not None:
            raise GuaranteeUnavailable(
                "an autoregressive series that is cut in time needs its last training row in standard units; use "
                "DependentRows.autoregressive(n, coefficient, gap=..., last=...) and DependentHoldout"
            )
        return DependentRows.autoregressive(k, self.coefficient)

    def correlation(self, lag: int) -> float:
        """Return `|coefficient|^lag`. The operator norm bounds the correlation of all functions, not only of linear
        ones.
        """
        return float(abs(self.coefficient) ** lag)

    def covariance(self, lag: int) -> float:
        """Return a bound on the covariance that follows from the correlation."""
        return float("inf")


@dataclass(frozen=True)
class Markov:
    """A stationary Markov chain of complete rows, with finitely many states and a known transition matrix.

    Examples
    --------
    >>> model = Markov(((0.9, 0.1), (0.2, 0.8)))
    >>> round(model.rows(1000).effective_n, 4), round(model.correlation(2), 6)
    (176.4706, 0.49)
    """

    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        clean = RowChain(self.matrix).matrix
        object.__setattr__(self, "matrix", tuple(tuple(float(p) for p in line) for line in clean))

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of the stationary chain."""
        return DependentRows.markov(k, self.matrix, gap=gap)

    def correlation(self, lag: int) -> float:
        """Return a bound on the correlation: the operator norm to the power of the lag."""
        return float(RowChain(self.matrix).operator_norm ** lag)

    def covariance(self, lag: int) -> float:
        """Return a bound on the covariance that follows from the correlation."""
        return float("inf")


@dataclass(frozen=True)
class Mixing:
    """Rows with bounds on their mixing coefficients `delta_1, delta_2, ...`; see `DependentRows.chain`.

    Examples
    --------
    >>> round(Mixing((0.9,)).rows(4000).effective_n, 4), round(Mixing((0.9,)).covariance(2), 6)
    (111.447, 0.405)
    """

    deltas: tuple[float, ...]
    tail: Tail = "markov"

    def __post_init__(self) -> None:
        object.__setattr__(self, "deltas", arguments.reals("deltas", self.deltas, at_least=0, at_most=1))

    def rows(self, k: int, gap: int | None = None) -> DependentRows:
        """Return a declaration of a chain that may start anywhere."""
        return DependentRows.chain(k, self.deltas, tail=self.tail, gap=gap)

    def correlation(self, lag: int) -> float:
        """Return 1, because mixing coefficients bound covariances but not correlations."""
        return 1.0

    def covariance(self, lag: int) -> float:
        """Return a bound on the covariance, `delta_lag / 2`.

        Given a row, the mean of a later value moves by at most `delta` times the range of the value.

        Notes
        -----
        `cov = E[(f - Ef)(g - m)]` for any constant m; with m the middle of that interval `|g - m| <= delta
        range/2`.
        """
        return float(mixing_coefficients(self.deltas, lag, self.tail)[-1]) / 2


def declared(model: SeriesModel | Sequence[float] | None) -> SeriesModel:
    """Return a model in the forms in which a user may give it: None means any dependence, and a list means mixing
    coefficients.

    Examples
    --------
    >>> declared(None), declared([0.9])
    (AnyDependence(), Mixing(deltas=(0.9,), tail='markov'))
    """
    if model is None:
        return AnyDependence()
    if isinstance(model, SeriesModel):
        return model
    return Mixing(arguments.reals("model", model, at_least=0, at_most=1))


__all__ = [
    "AnyDependence",
    "Autoregressive",
    "Independent",
    "MDependent",
    "Markov",
    "Mixing",
    "SeriesModel",
    "declared",
]
