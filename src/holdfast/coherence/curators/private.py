"""Differentially private curators: noisy histogram, noisy marginals, naive Bayes. Neighbours replace one row.

Domains are declared, because the values that happen to occur are themselves private. A value outside its declared
domain counts as missing. Replacing a row moves one count up and one down, so the counts of one table have an L1
sensitivity of 2; discrete Laplace noise of scale 2/epsilon makes them epsilon-differentially private (the geometric
mechanism, `noise.discrete_laplace`), and everything after is post-processing. The number of rows is public.

The noise is secure: no seed repeats it, and an audit of these curators differs from run to run. For simulations pass
`source=simulated`, which draws from the seed of the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.accounting.costs import PureDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.coherence.encoding import Values
from holdfast.coherence.learners.attackers import Predictor
from holdfast.coherence.learners.tabular import bayes_predictor
from holdfast.coherence.table import Column, Table
from holdfast.coherence.target import Lens, Target
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Seeded, Source
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace

LARGEST_TABLE = 1_000_000
"""Cells beyond which a table of counts is refused."""

Counts = NDArray[np.int64]
SourceOf = Callable[[np.random.Generator], Source]


def simulated(rng: np.random.Generator) -> Source:
    """Return a seeded source of randomness, made from the random generator of the split.

    Use it for simulations only: whoever knows the seed can remove the noise.

    Examples
    --------
    >>> simulated(np.random.default_rng(1)).word() == simulated(np.random.default_rng(1)).word()
    True
    """
    return Seeded(int(rng.integers(2**63 - 1)))


@dataclass(frozen=True)
class NoisyHistogram:
    """A curator that counts the rows in every cell of the declared domains and adds noise to the counts.

    It releases rows: for each cell with a positive noisy count, as many rows as the count. It is epsilon-differentially
    private for replacing one row. With `epsilon=None` it adds no noise and is not private.

    Parameters
    ----------
    domains : mapping of column to values
        The public values of each column.
    epsilon : number or None
        Privacy of the release.
    missing : bool
        Whether a missing or undeclared value has a cell of its own. Without, it counts as the least declared value:
        fewer cells, so less noise, where no value is missing.
    source : callable, optional
        `simulated` in simulations; None for secure noise.

    Examples
    --------
    >>> half = Table.of({"sex": [1, 2] * 500})
    >>> made = NoisyHistogram({"sex": [1, 2]}, epsilon=1, source=simulated)(half, np.random.default_rng(1))
    >>> made.rows, NoisyHistogram({"sex": [1, 2]}, epsilon=1).cost
    (1006, PureDP(epsilon=1.0))
    """

    domains: Mapping[str, Sequence[Any]]
    epsilon: Rational | None
    source: SourceOf | None = None
    missing: bool = True
    name: str = "noisy-histogram"

    def __post_init__(self) -> None:
        _check(self.domains, [tuple(self.domains)], self.epsilon)

    @property
    def cost(self) -> PureDP | None:
        """The privacy cost of one release; None if no noise is added."""
        return _cost(self.epsilon)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table:
        """The report on this half."""
        known = _known(self.domains, half)
        least = 0 if self.missing else 1
        counts = _noisy(half, known, tuple(self.domains), self.epsilon, 1, _draw(self.source, rng), least)
        cells = np.repeat(np.arange(counts.size), np.maximum(counts.ravel(), 0))
        codes = np.unravel_index(rng.permutation(cells), counts.shape)
        return _table(known, {name: code + least for name, code in zip(self.domains, codes, strict=True)})


@dataclass(frozen=True)
class NoisyMarginals:
    """A curator that releases noisy counts of several marginals, as synthetic rows or as counts.

    Each marginal gets an equal part of epsilon. For synthetic rows the marginals are used in order. The columns of a
    marginal that have no value yet are drawn from its counts (negative counts as 0), given the columns that already
    have values. Columns that never occur in a common marginal come out independent of each other.

    Parameters
    ----------
    domains : mapping of column to values
        The public values of each column.
    marginals : list of tuples of columns
        Which tables of counts. Together they should name every column.
    epsilon : number or None
        Privacy of the whole release; None for no noise.
    release : str
        "table" for synthetic rows, as many as the half has; "counts" for a `Marginals` report.
    source : callable, optional
        `simulated` in simulations; None for secure noise.

    Examples
    --------
    >>> half = Table.of({"sex": [1, 2] * 500, "ill": [0, 0, 0, 1] * 250})
    >>> curator = NoisyMarginals({"sex": [1, 2], "ill": [0, 1]}, [("sex", "ill")], epsilon=1, source=simulated)
    >>> curator(half, np.random.default_rng(1)).rows, curator.cost
    (1000, PureDP(epsilon=1.0))
    """

    domains: Mapping[str, Sequence[Any]]
    marginals: Sequence[tuple[str, ...]]
    epsilon: Rational | None
    release: str = "table"
    source: SourceOf | None = None
    name: str = "noisy-marginals"

    def __post_init__(self) -> None:
        tables = [(table,) if isinstance(table, str) else tuple(table) for table in self.marginals]
        object.__setattr__(self, "marginals", tuple(tables))
        _check(self.domains, tables, self.epsilon)
        if self.release not in ("table", "counts"):
            raise InvalidParameter(f"release must be one of table, counts, got {self.release!r}")

    @property
    def cost(self) -> PureDP | None:
        """The privacy cost of one release; None if no noise is added."""
        return _cost(self.epsilon)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table | Marginals:
        """The report on this half."""
        known = _known(self.domains, half)
        source = _draw(self.source, rng)
        share = len(self.marginals)
        tables = {names: _noisy(half, known, names, self.epsilon, share, source) for names in self.marginals}
        report = Marginals(known, tables, half.rows)
        return report if self.release == "counts" else report.sample(half.rows, rng)


@dataclass(frozen=True)
class PrivateNaiveBayes:
    """A curator that releases a naive Bayes model with noisy counts: one table of each column by the target.

    Each table gets an equal part of epsilon. `release="counts"` publishes the counts, which `learners.NaiveBayes` reads
    as a classifier. `release="table"` publishes synthetic rows drawn from the model, for any learner.

    Parameters
    ----------
    target : str
        The column of the target; in `domains` too.
    domains : mapping of column to values
        The public values of each column.
    epsilon : number or None
        Privacy of the whole release; None for no noise.

    Examples
    --------
    >>> half = Table.of({"sex": [1, 2] * 500, "ill": [0, 0, 0, 1] * 250})
    >>> curator = PrivateNaiveBayes("ill", {"sex": [1, 2], "ill": [0, 1]}, epsilon=1, source=simulated)
    >>> curator(half, np.random.default_rng(1)).rows, curator.cost
    (1000, PureDP(epsilon=1.0))
    """

    target: str
    domains: Mapping[str, Sequence[Any]]
    epsilon: Rational | None
    release: str = "counts"
    source: SourceOf | None = None
    name: str = "private-naive-bayes"

    def __post_init__(self) -> None:
        if self.target not in self.domains or len(self.domains) < 2:
            raise InvalidParameter("domains must declare the target and at least one other column")
        _ = self.inner

    @property
    def inner(self) -> NoisyMarginals:
        """The marginals that are released."""
        pairs = [(self.target, name) for name in self.domains if name != self.target]
        return NoisyMarginals(self.domains, pairs, self.epsilon, self.release, self.source)

    @property
    def cost(self) -> PureDP | None:
        """The privacy cost of one release; None if no noise is added."""
        return _cost(self.epsilon)

    def __call__(self, half: Table, rng: np.random.Generator) -> Table | Marginals:
        """The report on this half."""
        return self.inner(half, rng)


@dataclass(frozen=True, eq=False, repr=False)
class Marginals:
    """A report that consists of (noisy) counts of rows by the values of columns.

    Examples
    --------
    >>> exact = NoisyMarginals({"sex": [1, 2]}, [("sex",)], epsilon=None, release="counts")
    >>> report = exact(Table.of({"sex": [1, 2, 2]}), np.random.default_rng(1))
    >>> report.rows, report.tables
    (3, {('sex',): array([0, 1, 2])})
    """

    known: Mapping[str, Values]
    tables: Mapping[tuple[str, ...], Counts]
    rows: int
    note: str = field(default="")

    def sample(self, rows: int, rng: np.random.Generator) -> Table:
        """Return synthetic rows, drawn from the counts."""
        codes: dict[str, NDArray[np.int64]] = {}
        for names, counts in self.tables.items():
            fresh = [name for name in names if name not in codes]
            if not fresh:
                continue
            order = [name for name in names if name in codes] + fresh
            turned = np.maximum(counts.transpose([names.index(name) for name in order]), 0).astype(np.float64)
            given = turned.shape[: len(order) - len(fresh)]
            weights = turned.reshape(int(np.prod(given, dtype=int)), -1)
            weights[weights.sum(axis=1) == 0] = 1.0  # noise emptied this row: nothing is known, so all are alike
            steps = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
            row = np.zeros(rows, dtype=np.int64)
            if given:
                row = np.ravel_multi_index(tuple(codes[name] for name in order[: len(given)]), given)
            chance = rng.random(rows)
            drawn = np.empty(rows, dtype=np.int64)
            for value in np.unique(row):  # rows that agree on what is given share one distribution
                here = row == value
                drawn[here] = np.searchsorted(steps[value], chance[here], side="right")
            shape = turned.shape[len(given) :]
            drawn = np.minimum(drawn, int(np.prod(shape, dtype=int)) - 1)
            codes.update(zip(fresh, np.unravel_index(drawn, shape), strict=True))
        return _table(self.known, codes)

    def naive_bayes(self, lens: Lens, target: Target | None, smoothing: float) -> Predictor:
        """Return the naive Bayes classifier of these counts, for the columns of the lens."""
        if target is None:
            raise InvalidParameter(
                "this learner predicts a target, but the audit has no target; give one, or choose another learner"
            )
        counts: dict[str, NDArray[np.float64]] = {}
        prior: NDArray[np.float64] | None = None
        for name in lens.columns:
            table = self.tables.get((target.column, name))
            if table is None:
                raise InvalidParameter(f"the report has no counts of the target {target.column!r} by column {name!r}")
            labels = _table(self.known, {target.column: np.arange(table.shape[0])})
            truth, applies = target.truth(labels), target.applies(labels)
            positive = np.maximum(table, 0).astype(np.float64)
            counts[name] = np.stack([positive[applies & ~truth].sum(axis=0), positive[truth].sum(axis=0)])
            prior = counts[name].sum(axis=1) if prior is None else prior
        assert prior is not None
        return bayes_predictor({name: self.known[name] for name in lens.columns}, counts, prior, smoothing)

    def __repr__(self) -> str:
        return f"Marginals({', '.join(' x '.join(names) for names in self.tables)})"


def _check(domains: Mapping[str, Sequence[Any]], tables: Sequence[tuple[str, ...]], epsilon: Any) -> None:
    if epsilon is not None:
        rational("epsilon", epsilon, above=0)
    if not tables or not all(tables):
        raise InvalidParameter("each of the marginals must name at least one column")
    for names in tables:
        if len(set(names)) < len(names):
            raise InvalidParameter(
                f"each of the marginals must name a column only once, got {' + '.join(map(repr, names))}"
            )
        cells = 1
        for name in names:
            if name not in domains:
                raise InvalidParameter(f"domains must declare the values of column {name!r}")
            cells *= len(domains[name]) + 1
        if cells > LARGEST_TABLE:
            raise InvalidParameter(
                f"a table of {cells} cells is too large; the limit is {LARGEST_TABLE} cells; declare fewer values or "
                "fewer columns"
            )


def _cost(epsilon: Rational | None) -> PureDP | None:
    return None if epsilon is None else PureDP(float_up(rational("epsilon", epsilon, above=0)))


def _known(domains: Mapping[str, Sequence[Any]], half: Table) -> dict[str, Values]:
    """The declared values of each column as values of its kind, so that what is released is of that kind too."""
    known = {}
    for name, values in domains.items():
        declared = [value for value in values if value is not None]
        if half.is_text(name):
            known[name] = Values(True, np.unique(np.array([str(value) for value in declared], dtype=str)))
            continue
        boolean = half.is_boolean(name)
        words = {"true": 1.0, "false": 0.0} if boolean else {}
        try:
            numbers = [words[value] if value in words else float(value) for value in declared]
        except (TypeError, ValueError):
            kind = "truth values" if boolean else "numbers"
            raise InvalidParameter(
                f"domains must declare {kind} for column {name!r}, because that column holds {kind}"
            ) from None
        known[name] = Values(False, np.unique(np.array(numbers, dtype=np.float64)), boolean)
    return known


def _draw(source: SourceOf | None, rng: np.random.Generator) -> Source | None:
    return None if source is None else source(rng)


def _noisy(
    half: Table,
    known: Mapping[str, Values],
    names: tuple[str, ...],
    epsilon: Rational | None,
    share: int,
    source: Source | None,
    least: int = 0,
) -> Counts:
    """Counts of one table by codes from `least` on, with noise for epsilon/share. Lower codes count as `least`."""
    shape = tuple(known[name].distinct.size + 1 - least for name in names)
    codes = [np.maximum(known[name].codes(half[name]), least) - least for name in names]
    counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape))).reshape(shape)
    if epsilon is None:
        return counts
    scale = 2 * share / Fraction(rational("epsilon", epsilon, above=0))
    return np.asarray(counts + discrete_laplace(scale, counts.size, source=source).reshape(shape))


def _table(known: Mapping[str, Values], codes: Mapping[str, NDArray[Any]]) -> Table:
    """Rows from the codes of their values; code 0 is missing."""
    columns: dict[str, Column] = {}
    for name, code in codes.items():
        if known[name].text:
            columns[name] = np.append(np.array([None], dtype=object), known[name].distinct.astype(object))[code]
        else:
            columns[name] = np.append(np.nan, known[name].distinct)[code]
    booleans = frozenset(name for name in codes if known[name].boolean)
    return Table(columns, len(next(iter(columns.values()))), booleans)
