"""Noisy counts: the only thing a test sees of the records. Release them once and test them as often as you like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import Counts, histogram, replace_one_only
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit, noise_of, unprotected
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts with noise of a declared law, released already: everything computed from them is free.

    Attributes
    ----------
    values : array
        The noisy counts; `(d,)` or `(r, c)`. They may be negative and need not be whole.
    n : int
        The public number of records.
    noise : NoiseLaw
        The law of the noise on each cell. Its cost was paid by the release.
    secure : bool
        False where the noise came from a seeded source; every test of such counts says so.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> NoisyCounts([253.5, 234.75, 279.0, 251.25], 1000, gaussian(0.00125)).shape
    (4,)
    """

    values: NDArray[np.float64]
    n: int
    noise: NoiseLaw
    secure: bool = True

    def __post_init__(self) -> None:
        try:
            values = np.array(self.values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameter("values must be noisy counts: numbers") from None
        if values.ndim not in (1, 2) or values.size < 2 or not np.all(np.isfinite(values)):
            raise InvalidParameter("values must be finite noisy counts of at least two cells")
        if not isinstance(self.noise, NoiseLaw):
            raise InvalidParameter(f"noise must be a NoiseLaw, got a {type(self.noise).__name__}")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "n", check.whole("n", self.n, at_least=1))

    @property
    def shape(self) -> tuple[int, ...]:
        """`(d,)` for a histogram, `(r, c)` for a table."""
        return tuple(self.values.shape)

    @property
    def cost(self) -> Cost:
        """What the release spent."""
        return self.noise.cost


def release(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    unit: Unit = "person",
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
) -> NoisyCounts:
    """Release a histogram or a table once, with exact noise; the tests take the result at no further cost.

    Parameters
    ----------
    counts : Counts or array of whole numbers
        See `histogram` and `table`.
    rho, epsilon, noise
        Exactly one: `rho` for discrete Gaussian noise, `epsilon` for discrete Laplace noise, or any `NoiseLaw`.
    unit : {"person", "swap"}
        What neighbours change; "swap" only where both margins of a table are public.
    n, neighbours
        As in `histogram`.
    source : Source, optional
        None for the operating system.

    Examples
    --------
    >>> noisy = release([520, 150, 170, 160], rho=0.01)
    >>> noisy.shape, noisy.cost
    ((4,), ZCDP(rho=0.01))
    """
    law = noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    replace_one_only(neighbours)
    shape = counts.shape if isinstance(counts, (Counts, np.ndarray)) else np.shape(counts)
    checked = histogram(counts, n=n, neighbours=neighbours)
    return NoisyCounts(law.release(checked.values.reshape(shape), source), checked.n, law, not unprotected(source))


def source_warnings(counts: Counts | NoisyCounts, source: Source | None) -> tuple[str, ...]:
    """What a result must say about where the noise of its counts came from."""
    if isinstance(counts, NoisyCounts):
        return () if counts.secure else ("the counts were released with noise that protects nobody: for tests only",)
    return unprotected(source)


__all__ = ["NoisyCounts", "release", "source_warnings"]
