"""A declared dependence between rows, and what follows for a mean: effective sizes, start ratios and biases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import (
    Tail,
    autoregressive_start_ratio,
    effective_n_blocks,
    effective_n_chain,
    effective_n_colours,
    effective_n_stationary,
    fixed_question_half_width,
    time_split_bias,
)
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import MeanFamily, Side, kl, outwards
from holdfast.bounds.parameters import MOST
from holdfast.core import arguments
from holdfast.correlated.chains.transition import RowChain
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

if TYPE_CHECKING:
    from holdfast.correlated.model import DependenceModel


@dataclass(frozen=True)
class MeanBound:
    """The tail of a mean of dependent rows, for one fixed question.

    On each side, with probability at least `1 - tail`, the mean of values in [0, 1] is within
    `bias + sqrt(ln(start_ratio / tail) / (2 effective_n))` of the truth (section 3.9 of the specification; which row of
    its table is in `name`). With `blocks` the rows are that many independent blocks of one size, and the tighter
    Chernoff-Hoeffding interval of their means is used instead; block means are not 0/1 values, so binomial intervals
    stay out, and no other effective size may enter a divergence.

    Parameters
    ----------
    name : str
        Which bound it is.
    effective_n : float
        Independent rows that the rows are worth.
    start_ratio : float
        How many times likelier than under the stationary distribution a first row can be: `c` of the specification.
    bias : float
        How far the conditional mean, given the training rows, may be from the target.
    blocks : int, optional
        Number of independent blocks of one size.

    Examples
    --------
    >>> route = MeanBound("stationary chain", effective_n=4000 * 0.1 / 1.9)
    >>> round(route.half_width(math.log(1e-6)), 9)
    0.185628829
    """

    name: str
    effective_n: float
    start_ratio: float = 1.0
    bias: float = 0.0
    blocks: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("name must be a text that says which bound this is")
        clean: dict[str, Any] = {
            "effective_n": arguments.real("effective_n", self.effective_n, above=0, at_most=MOST),
            "start_ratio": arguments.real("start_ratio", self.start_ratio, at_least=1, at_most=1e300),
            "bias": arguments.real("bias", self.bias, at_least=0, at_most=1),
        }
        if self.blocks is not None:
            clean["blocks"] = arguments.whole("blocks", self.blocks, at_least=1, at_most=MOST)
            if self.start_ratio != 1 or self.bias != 0:
                raise InvalidParameter("blocks must be None if there is a start_ratio or a bias")
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def half_width(self, log_share: float, side: Side = "both") -> float:
        """How far the mean of [0, 1] values may be from the truth; with both sides each has half of the share."""
        means.tails(log_share, side)
        if side != "both":  # one tail at the whole share is half of a two-sided bound at twice the share
            log_share = min(log_share + math.log(2) * (1 - 1e-12), -1e-300)
        return fixed_question_half_width(self.effective_n, log_share, self.start_ratio, self.bias)

    def ends(
        self, mean: float, n: int, log_share: float, low: float, high: float, side: Side = "both"
    ) -> tuple[float, float]:
        """Limits at this mean, within the range; `n` counts rows and is not used, since dependence fixed their worth.

        Examples
        --------
        >>> low, high = MeanBound("blocks", 50.0, blocks=50).ends(0.9, 500, math.log(0.05), 0.0, 1.0)
        >>> round(low, 3), round(high, 3)
        (0.748, 0.977)
        """
        if self.blocks is not None:
            return kl(mean, self.blocks, log_share, low, high, side)
        below, above = means.tails(means.share(log_share), side)
        reach = (high - low) * self.half_width(log_share, side)
        return outwards(low if below is None else mean - reach, high if above is None else mean + reach, low, high)

    @property
    def family(self) -> MeanFamily:
        """The interval as a question of a reusable holdout takes it."""
        return MeanFamily(self.name, self.ends, curved=self.blocks is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which `from_dict` reads back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> MeanBound:
        """Return the bound that `to_dict()` described."""
        return cls(**{name: plain[name] for name in cls.__dataclass_fields__})


GROUPS = "independent groups"


def group_sizes(sizes: Any) -> Counter[int]:
    """Return how many groups have each size.

    Examples
    --------
    >>> group_sizes([3, 1, 3])
    Counter({3: 2, 1: 1})
    """
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise InvalidParameter(f"sizes must be a list of numbers of rows, got a {type(sizes).__name__}")
    counted = Counter(arguments.whole(f"sizes[{i}]", size, at_least=1, at_most=MOST) for i, size in enumerate(sizes))
    if not counted:
        raise InvalidParameter("sizes is empty, but it must have at least one number of rows")
    return counted


def total_rows(counted: Mapping[int, int]) -> int:
    """Return rows of all groups."""
    return arguments.whole("n", sum(size * many for size, many in counted.items()), at_least=1, at_most=MOST)


def together(routes: Mapping[int, MeanBound], counted: Mapping[int, int]) -> MeanBound:
    """Return the route of independent groups, `counted[k]` of which have `k` rows and the bound `routes[k]`.

    A group's sum is sub-Gaussian with proxy `k^2 / (4 effective_k)`, times its start ratio, about a mean that is off by
    at most `k bias_k`. For independent groups proxies add, ratios multiply, and biases average. Derived.

    Examples
    --------
    >>> round(together({20: MeanBound("chain", 5.0)}, {20: 100}).effective_n, 6)
    500.0
    """
    n = total_rows(counted)
    proxy = math.fsum(many * size * size / routes[size].effective_n for size, many in counted.items())
    bias = math.fsum(many * size * routes[size].bias for size, many in counted.items()) / n
    log_ratio = math.fsum(many * math.log(routes[size].start_ratio) for size, many in counted.items())
    if log_ratio > 690:
        raise GuaranteeUnavailable(
            "the first rows of the groups are too far from the stationary distribution, so no bound applies here"
        )
    ratio = 1.0 if log_ratio == 0 else math.exp(log_ratio) * (1 + 1e-12)
    return MeanBound(GROUPS, down(n * (n / proxy), 8), ratio, min(1.0, up(bias, 8)))


BLOCKS, COLOURS, MODEL = "independent blocks", "colours", "declared model"
CHAIN, STATIONARY = "chain by total variation", "stationary chain by its gap"


@dataclass(frozen=True)
class DependentRows:
    """A declaration of how the rows of a holdout depend on each other. Its owner makes it before looking at the
    rows.

    Make one with a class method: `independent`, `blocks`, `m_dependent`, `coloured`, `chain`, `stationary`, `markov`,
    `autoregressive`, `groups`, or `of` for a dependence model. If several bounds are proved for a declaration, all are
    kept, and each question uses the one that gives the narrowest interval at its error probability. This choice depends
    on the declaration alone.

    The state of a chain is the complete row. A model that was fitted to one column is only valid for questions about
    that column.

    Parameters
    ----------
    n : int
        Rows.
    model : str
        The declaration in words; it goes into every certificate.
    routes : mapping of str to MeanBound
        The proved bounds.

    Notes
    -----
    Section 3.9 of the specification (derived and reviewed; the stationary bound is Fan, Jiang and Sun 2021).

    Examples
    --------
    >>> rows = DependentRows.markov(4000, [[0.95, 0.05], [0.05, 0.95]])
    >>> {name: round(route.effective_n, 1) for name, route in rows.routes.items()}
    {'chain by total variation': 111.4, 'stationary chain by its gap': 210.5}
    >>> rows.narrowest(math.log(1e-6)).name, round(rows.effective_n, 1)
    ('stationary chain by its gap', 210.5)
    """

    n: int
    model: str
    routes: Mapping[str, MeanBound]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _rows(self.n))
        if not isinstance(self.model, str) or not self.model:
            raise InvalidParameter("model must be a text that says what is declared")
        if not self.routes or any(not isinstance(r, MeanBound) or r.name != name for name, r in self.routes.items()):
            raise InvalidParameter("routes must be a mapping from names to one or more MeanBound objects")

    # Declarations -----------------------------------------------------------------------------------------------------

    @classmethod
    def independent(cls, n: int) -> DependentRows:
        """Declare independent rows, which may have the same distribution or different ones."""
        n = _rows(n)
        return cls._of(n, f"{n} independent rows", MeanBound(BLOCKS, float(n), blocks=n))

    @classmethod
    def blocks(cls, sizes: Sequence[int]) -> DependentRows:
        """Declare blocks that are independent of each other, such as families, households, users or repeated
        measurements.

        Inside a block rows may depend on each other in any way. The effective number of rows is `n^2 / sum k^2` for
        blocks of `k` rows. If all blocks have the same size it is the number of blocks. Then the block means are
        independent values, and a tighter interval (Chernoff-Hoeffding) is used.

        Examples
        --------
        >>> round(DependentRows.blocks([10] * 50 + [1] * 500).effective_n, 7)
        181.8181818
        """
        counted = group_sizes(sizes)
        n, blocks = total_rows(counted), sum(counted.values())
        if blocks < 2:
            raise GuaranteeUnavailable(
                "with a single block nothing can be certified about the population; use more blocks, or declare how "
                "the rows depend on each other, for example as a chain"
            )
        equal = len(counted) == 1
        least, most = min(counted), max(counted)
        size = f"{most} row{'s' * (most > 1)}" if equal else f"{least} to {most} rows"
        effective = float(blocks) if equal else effective_n_blocks(list(counted.elements()))
        words = f"{blocks} independent blocks of {size}, any dependence inside"
        return cls._of(n, words, MeanBound(BLOCKS, effective, blocks=blocks if equal else None))

    @classmethod
    def m_dependent(cls, n: int, m: int) -> DependentRows:
        """Declare rows that are independent if they are more than `m` steps apart, such as moving averages or
        overlapping windows.

        Examples
        --------
        >>> round(DependentRows.m_dependent(1000, 4).effective_n, 6)
        200.0
        """
        n, m = _rows(n), arguments.whole("m", m, at_least=0, at_most=MOST)
        words = f"{n} rows in order, those more than {m} apart mutually independent"
        return cls._of(n, words, MeanBound(COLOURS, effective_n_colours(n, m + 1)))

    @classmethod
    def coloured(cls, n: int, colours: float) -> DependentRows:
        """Declare rows with a dependency graph that can be coloured with this (fractional) number of colours.

        Rows of one colour are independent of each other.
        """
        n = _rows(n)
        route = MeanBound(COLOURS, effective_n_colours(n, colours))
        return cls._of(n, f"{n} rows whose dependency graph has {colours:g} colours", route)

    @classmethod
    def chain(cls, n: int, deltas: Sequence[float], *, tail: Tail = "markov", gap: int | None = None) -> DependentRows:
        """Declare a chain of rows by bounds on its mixing coefficients. The chain may start anywhere and may be
        inhomogeneous.

        Parameters
        ----------
        n : int
            Rows.
        deltas : sequence of float
            `deltas[t-1]` bounds the total variation between the distributions of row `i + t` given two values of row
            `i` (given two pasts, if the rows are no Markov chain). For one lag only, repeat 1 before it: `[1, 1, 0.4]`.
        tail : str
            "markov": later coefficients by sub-multiplicativity; "hold": the last one forever.
        gap : int, optional
            Where the training rows are earlier rows of the same chain: the index of the first holdout row minus that of
            the last training row, 1 when they are adjacent. It makes a bias.

        Examples
        --------
        >>> rows = DependentRows.chain(4000, [0.9], gap=20)
        >>> round(rows.effective_n, 4), f"{rows.routes['chain by total variation'].bias:.9e}"
        (111.447, '3.039416365e-04')
        """
        n = _rows(n)
        bias = 0.0 if gap is None else time_split_bias(n, gap, deltas, tail)
        words = f"{n} rows of a chain with declared mixing coefficients{_after(gap)}"
        return cls._of(n, words, MeanBound(CHAIN, effective_n_chain(n, deltas, tail), bias=bias))

    @classmethod
    def stationary(cls, n: int, operator_norm: float, *, start_ratio: float = 1.0) -> DependentRows:
        """Declare a stationary chain by its operator norm on mean-zero functions, which is one minus the absolute
        spectral gap.

        If the chain does not start in its stationary distribution, give `start_ratio`: how much more likely a state of
        its first row may be than under the stationary distribution. The target of a question is then the stationary
        mean.

        Examples
        --------
        >>> round(DependentRows.stationary(4000, 0.9).effective_n, 7)
        210.5263158
        """
        n = _rows(n)
        route = MeanBound(STATIONARY, effective_n_stationary(n, operator_norm), start_ratio)
        words = f"{n} rows of a stationary chain with operator norm {operator_norm:g}"
        if route.start_ratio != 1:
            words += f", started within a factor {start_ratio:g} of it"
        return cls._of(n, words, route)

    @classmethod
    def markov(cls, n: int, matrix: npt.ArrayLike, *, gap: int | None = None, last: int | None = None) -> DependentRows:
        """Declare a stationary chain with finitely many states by its transition matrix.

        Parameters
        ----------
        n : int
            Rows.
        matrix : array
            Transition matrix of the complete rows; each line sums to 1.
        gap : int, optional
            As for `chain`: the training rows are earlier rows of the same chain.
        last : int, optional
            State of the last training row, with `gap`. It is public, and lets the stationary bound be used too.

        Raises
        ------
        GuaranteeUnavailable
            The chain never forgets its start: no bound is known.

        Examples
        --------
        >>> rows = DependentRows.markov(4000, [[0.95, 0.05], [0.05, 0.95]], gap=1, last=0)
        >>> rows.routes["stationary chain by its gap"].start_ratio
        1.9...
        """
        n, model = _rows(n), RowChain(matrix)
        routes = []
        if (deltas := model.coefficients(n)) is not None:
            bias = 0.0 if gap is None else time_split_bias(n, gap, deltas)
            routes.append(MeanBound(CHAIN, effective_n_chain(n, deltas), bias=bias))
        ratio = 1.0
        if gap is not None:
            ratio = math.inf if last is None else model.start_ratio(last, gap)
        elif last is not None:
            raise InvalidParameter("last must be None if no gap to the training rows is given")
        norm = model.operator_norm
        if norm < 1 and math.isfinite(ratio):
            routes.append(MeanBound(STATIONARY, effective_n_stationary(n, norm), ratio))
        if not routes:
            raise GuaranteeUnavailable(
                "this chain never forgets its start, because it is periodic or in parts that do not meet, so no "
                "bound is known; declare blocks"
            )
        states = len(model.matrix)
        return cls._of(n, f"{n} rows of a stationary Markov chain of {states} states{_after(gap)}", *routes)

    @classmethod
    def autoregressive(
        cls, n: int, coefficient: float, *, gap: int | None = None, last: float | Sequence[float] | None = None
    ) -> DependentRows:
        """Declare a stationary Gaussian AR(1) series. It may have several independent columns with the same
        coefficient.

        The operator norm of the series is `|coefficient|`. If there are earlier training rows of the same series, give
        `last`, the last training row in standard units: one number for each column that any question uses. It is needed
        because the series never forgets an earlier row completely. The start ratios of the columns multiply.

        Examples
        --------
        >>> round(DependentRows.autoregressive(4000, 0.9).effective_n, 3)
        210.526
        >>> rows = DependentRows.autoregressive(4000, 0.5, gap=1, last=[0.0, 0.0])
        >>> round(rows.routes["stationary chain by its gap"].start_ratio, 6)
        1.333333
        """
        n, phi = _rows(n), arguments.real("coefficient", coefficient, above=-1, below=1)
        if (gap is None) != (last is None):
            raise InvalidParameter("gap and last must be given together, or both left out")
        ratio = 1.0
        if gap is not None and last is not None:
            row = arguments.reals("last", last) if isinstance(last, Iterable) else (last,)
            ratio = up(math.prod(autoregressive_start_ratio(value, phi, gap) for value in row), 4 * len(row))
        if not ratio <= 1e300:
            raise GuaranteeUnavailable(
                "last is too far from 0, so that the first holdout row is not near the stationary distribution; use "
                "a larger gap"
            )
        words = f"{n} rows of a stationary Gaussian AR(1) with coefficient {phi:g}{_after(gap)}"
        return cls._of(n, words, MeanBound(STATIONARY, effective_n_stationary(n, abs(phi)), ratio))

    @classmethod
    def groups(cls, sizes: Sequence[int], inside: Callable[[int], DependentRows]) -> DependentRows:
        """Declare groups of rows that are independent of each other, each with its own dependence, such as panels of
        users over time.

        Parameters
        ----------
        sizes : sequence of int
            Rows in each group.
        inside : callable
            The declaration for a group of `k` rows, e.g. `lambda k: DependentRows.autoregressive(k, 0.5)`.

        Notes
        -----
        Every bound here says that a group's sum is sub-Gaussian with proxy `k^2 / (4 effective_k)`, times `c`. Groups
        are independent, so proxies add and ratios multiply: `effective_n = n^2 / sum k^2/effective_k`. A group counts
        at least as one row. Derived. Where no group has a bias or a ratio the blocks' bound is kept next to it.

        Examples
        --------
        >>> rows = DependentRows.groups([20] * 100, lambda k: DependentRows.autoregressive(k, 0.5))
        >>> {name: round(route.effective_n, 6) for name, route in rows.routes.items()}
        {'independent groups': 666.666667, 'independent blocks': 100.0}
        """
        counted = group_sizes(sizes)
        if not callable(inside):
            raise InvalidParameter(f"inside must be a function of the number of rows, got a {type(inside).__name__}")
        n, groups = total_rows(counted), sum(counted.values())
        kinds = {size: _one(inside(size), size) for size in counted}
        routes = [together({size: _best(rows) for size, rows in kinds.items()}, counted)]
        every = [route for rows in kinds.values() for route in rows.routes.values()]
        if groups > 1 and all(route.bias == 0 and route.start_ratio == 1 for route in every):
            routes += cls.blocks(list(counted.elements())).routes.values()
        return cls._of(n, f"{groups} independent groups, the largest: {kinds[max(counted)].model}", *routes)

    @classmethod
    def of(cls, model: DependenceModel) -> DependentRows:
        """Declare the rows of a dependence model, with the model's effective number of rows.

        The training rows must be independent of these rows.

        Examples
        --------
        >>> from holdfast.correlated import MarkovChain
        >>> rows = DependentRows.of(MarkovChain([[0.9, 0.1], [0.4, 0.6]], 3000))
        >>> round(rows.effective_n), rows.model
        (1000, 'Markov chain of 3000 records, 2 states, stationary start')
        """
        from holdfast.correlated.blocks.blocks import Blocks
        from holdfast.correlated.model import check_model

        if isinstance(model, Blocks):
            return cls.blocks(model.sizes.tolist())
        model = check_model(model)
        return cls._of(_rows(model.n), model.describe(), MeanBound(MODEL, model.effective_n()))

    @classmethod
    def _of(cls, n: int, model: str, *routes: MeanBound) -> DependentRows:
        return cls(n, model, {route.name: route for route in routes})

    # What follows from it ---------------------------------------------------------------------------------------------

    def narrowest(self, log_share: float) -> MeanBound:
        """Return the bound with the smallest half-width at this error probability. It depends on the declaration
        alone.
        """
        return min(self.routes.values(), key=lambda route: route.half_width(log_share))

    @property
    def effective_n(self) -> float:
        """The effective number of rows by the best bound: so many independent rows would give one fixed mean the
        same interval.

        The start ratio and the bias of the bound are not included.
        """
        return max(route.effective_n for route in self.routes.values())

    def half_width(self, share: float) -> float:
        """Return the half-width for one fixed question with values in [0, 1] whose interval may miss with
        probability `share`.

        Examples
        --------
        >>> round(DependentRows.stationary(4000, 0.9).half_width(1e-6), 9)
        0.185628829
        """
        log_share = math.log(arguments.probability("share", share))
        return self.narrowest(log_share).half_width(log_share)

    def terms(self, route: str) -> dict[str, Any]:
        """Return what the guarantee of an answer states about the rows if its interval came from the bound `route`."""
        if route not in self.routes:
            raise InvalidParameter(f"route must be one of {', '.join(self.routes)}, got {route!r}")
        used = self.routes[route]
        return {"effective_n": round(used.effective_n, 6), "start_ratio": used.start_ratio, "bias": used.bias}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which `from_dict` reads back."""
        return {"n": self.n, "model": self.model, "routes": [route.to_dict() for route in self.routes.values()]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> DependentRows:
        """Return the declaration that `to_dict()` described."""
        try:
            return cls._of(plain["n"], plain["model"], *(MeanBound.from_dict(route) for route in plain["routes"]))
        except (KeyError, TypeError) as error:
            raise InvalidParameter(
                f"rows must be unchanged since DependentRows.to_dict() returned them: {error}"
            ) from error

    def __str__(self) -> str:
        ways = "; ".join(f"{r.name}: worth {r.effective_n:.6g}" for r in self.routes.values())
        return f"{self.model} ({ways})"


def _rows(n: Any) -> int:
    return arguments.whole("n", n, at_least=1, at_most=MOST)


def _one(rows: Any, size: int) -> DependentRows:
    if not isinstance(rows, DependentRows) or rows.n != size:
        raise InvalidParameter(f"inside must return DependentRows of {size} rows when it is called with {size}")
    return rows


def _best(rows: DependentRows) -> MeanBound:
    """The route for a group: the largest effective size, without a start ratio if one comes without; never below 1."""
    plain = [route for route in rows.routes.values() if route.start_ratio == 1] or list(rows.routes.values())
    best = max(plain, key=lambda route: route.effective_n)
    whole = best.effective_n < 1 and best.start_ratio == 1 and best.bias == 0
    return MeanBound(BLOCKS, 1.0) if whole else best


def _after(gap: int | None) -> str:
    return "" if gap is None else f", {gap} after the last training row"
