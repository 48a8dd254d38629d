"""Tests of a declared dependence on public rows. They can refute a model; nothing can certify one.

Two things are tested, each by a test that is stated in full:

- *along a series*: no covariance of a value with itself some steps later exceeds what the model allows. Products are
  summed within each group (a single series is cut into batches of consecutive rows), and the sums of the excess over
  the allowed amount are compared with zero by a one-sided t-test over groups;
- *between groups*: rows of different groups at the same time are unrelated. Values are centred within each group;
  the squared sums over groups at each time are compared with those after flipping the signs of whole groups at random,
  which leaves any dependence inside a group as it is.

Both are approximate (the first needs many groups, the second groups whose centred values are about symmetric). All
p-values are corrected by Bonferroni, each kind of test on its own half of the level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from holdfast.core import arguments
from holdfast.correlated.series_model import SeriesModel
from holdfast.noise.entropy import Source, resolve

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
_LAGS = 10
_FLIPS = 1999
#: Up to this many groups every pattern of signs is tried.
_ALL = 12
#: Fewer groups than this leave a t-test over groups without meaning.
_LEAST_GROUPS = 8


@dataclass(frozen=True)
class Finding:
    """One test on one column: what was looked at and how likely that is under the declared model, corrected."""

    column: str
    what: str
    p_value: float

    def __str__(self) -> str:
        return f"{self.column}: {self.what}, p = {self.p_value:.3g}"


@dataclass(frozen=True)
class ModelReport:
    """What the public rows say about a declared model.

    `passed` is whether no corrected p-value is at or below `level`. `untested` says what could not be tested and why.

    Examples
    --------
    >>> print(ModelReport(0.01, (Finding("x", "lag 1", 0.4),), ("between groups: no time column",)))
    the public rows do not refute the model at level 0.01 (least p = 0.4, x: lag 1; not tested: between groups: no time
    column)
    """

    level: float
    findings: tuple[Finding, ...]
    untested: tuple[str, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The finding that speaks most against the model."""
        return min(self.findings, key=lambda finding: finding.p_value, default=None)

    @property
    def passed(self) -> bool:
        """Whether the model stands."""
        return all(finding.p_value > self.level for finding in self.findings)

    def __str__(self) -> str:
        worst = self.worst
        if worst is None:
            return f"the model was not tested ({'; '.join(self.untested)})"
        verdict = "do not refute" if self.passed else "refute"
        evidence = f"least p = {worst.p_value:.3g}, {worst.column}: {worst.what}"
        rest = f"; not tested: {'; '.join(self.untested)}" if self.untested else ""
        return f"the public rows {verdict} the model at level {self.level:g} ({evidence}{rest})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "passed": self.passed,
            "level": self.level,
            "findings": [{"column": f.column, "what": f.what, "p_value": f.p_value} for f in self.findings],
            "untested": list(self.untested),
        }


def model_report(
    columns: Mapping[str, npt.ArrayLike],
    model: SeriesModel,
    *,
    groups: Index | None = None,
    times: Index | None = None,
    level: float = 0.01,
    source: Source | None = None,
) -> ModelReport:
    """Put a declared model to the test on public rows.

    Parameters
    ----------
    columns : mapping of str to array
        Public values, one a row, by name.
    model : SeriesModel
        What is declared inside a group.
    groups, times : array of int, optional
        Group and time of each row, as whole numbers. Without groups the rows are one series in time order.
    level : float
        Probability with which a true model may be refuted.
    source : noise.Source, optional
        For the random signs.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.correlated.series_model import Independent
    >>> copied = np.repeat(np.arange(200) % 7, 2)  # every value twice in a row: not independent
    >>> model_report({"x": copied}, Independent()).passed
    False
    """
    level = arguments.probability("level", level)
    clean = {name: _clean(values) for name, values in columns.items()}
    along: list[Finding] = []
    between: list[Finding] = []
    untested: list[str] = []
    for name, values in clean.items():
        if values is None:
            untested.append(f"{name}: not a column of numbers that vary")
            continue
        along += _along(name, values, model, groups, times)
        if groups is not None and times is not None:
            between += _between(name, values, groups, times, resolve(source))
    if groups is not None and times is None:
        untested.append("between groups: no time column")
    kinds = [kind for kind in (along, between) if kind]
    corrected = tuple(
        Finding(f.column, f.what, min(1.0, f.p_value * len(kind) * len(kinds))) for kind in kinds for f in kind
    )
    return ModelReport(level, corrected, tuple(untested))


def _clean(values: npt.ArrayLike) -> Array | None:
    column = np.asarray(values)
    if column.dtype.kind not in "biuf" or column.ndim != 1 or column.size < 2:
        return None
    clean = column.astype(np.float64)
    return clean if np.isfinite(clean).all() and clean.min() < clean.max() else None


def _along(
    name: str, values: Array, model: SeriesModel, groups: Index | None, times: Index | None
) -> Iterator[Finding]:
    """Test whether a covariance at some lag exceeds what the model allows."""
    order = _order(len(values), groups, times)
    x = values[order] - values.mean()
    inside = None if groups is None else groups[order]
    span, absolute = float(values.max() - values.min()), np.abs(x)
    for lag in range(1, min(_LAGS, len(x) - 1) + 1):
        share, fixed = model.correlation(lag), model.covariance(lag)
        if share >= 1 and not math.isfinite(fixed):
            continue
        first, later = x[:-lag], x[lag:]
        allowed = np.full(len(first), math.inf)
        if share < 1:
            allowed = share * (first**2 + later**2) / 2
        if math.isfinite(fixed):
            allowed = np.minimum(allowed, fixed * span * (absolute[:-lag] + absolute[lag:]) / 2)
        product = first * later
        if inside is None:
            batches = max(2, math.isqrt(len(product)) // 2)
            units = np.arange(len(product)) * batches // len(product)
        else:
            same = inside[:-lag] == inside[lag:]
            units, product, allowed = inside[:-lag][same], product[same], allowed[same]
        for sign, word in ((1, "above"), (-1, "below")):
            p = _t_test(sign * product - allowed, units)
            if p is not None:
                yield Finding(name, f"autocovariance at lag {lag} {word} the declared bound", p)


def _t_test(excess: Array, units: Index) -> float | None:
    """One-sided p-value of "the sums of a unit have mean at most 0", over units."""
    if not excess.size:
        return None
    _, codes = np.unique(units, return_inverse=True)
    sums = np.bincount(codes, weights=excess)
    count = len(sums)
    if count < _LEAST_GROUPS:
        return None
    spread = float(sums.std(ddof=1))
    mean = float(sums.mean())
    if spread == 0:
        return 1.0 if mean <= 0 else 0.0
    return float(stdtr(count - 1, -mean / spread * math.sqrt(count)))


def _between(name: str, values: Array, groups: Index, times: Index, source: Source) -> Iterator[Finding]:
    """Test whether groups move together: sign flips of whole groups keep everything but that."""
    _, who = np.unique(groups, return_inverse=True)
    _, when = np.unique(times, return_inverse=True)
    count = np.bincount(who)
    centred = values - (np.bincount(who, weights=values) / count)[who]
    if len(count) < _LEAST_GROUPS or not np.any(centred):
        return
    cells = np.zeros((len(count), int(when.max()) + 1))
    np.add.at(cells, (who, when), centred)
    observed = float((cells.sum(axis=0) ** 2).sum())
    flipped = ((_signs(len(count), source) @ cells) ** 2).sum(axis=1)
    # Where every pattern was tried the observed one is among them; random ones are joined by it.
    tried, as_large = len(flipped), int(np.count_nonzero(flipped >= observed * (1 - 1e-12)))
    p = as_large / tried if len(count) <= _ALL else (1 + as_large) / (1 + tried)
    yield Finding(name, "groups move together in time", p)


def _signs(groups: int, source: Source) -> Array:
    """Patterns of signs: every one up to a common sign if there are few, random ones otherwise."""
    if groups <= _ALL:
        bits = (np.arange(1 << (groups - 1))[:, None] >> np.arange(groups) & 1).astype(np.uint8)
    else:
        words = source.words(-(-_FLIPS * groups // 64)).copy()
        bits = np.unpackbits(words.view(np.uint8))[: _FLIPS * groups].reshape(_FLIPS, groups)
    return 1.0 - 2.0 * bits.astype(np.float64)


def _order(n: int, groups: Index | None, times: Index | None) -> Index:
    """Rows by group and, inside a group, by time; in their given order where there is none."""
    keys: Sequence[Index] = [key for key in (times, groups) if key is not None]
    return np.arange(n) if not keys else np.lexsort((np.arange(n), *keys))
