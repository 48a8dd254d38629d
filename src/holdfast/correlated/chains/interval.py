"""Chains with bounds on the transition probabilities: declared, or estimated from public history with a confidence."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy

from holdfast.bounds.correlated.effective_size import effective_n_chain
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.bounds.numerics.exact import left_to_chance, up
from holdfast.core import arguments
from holdfast.correlated.chains.model import (
    TIE,
    TIMES,
    Charge,
    Found,
    Lags,
    LevelAt,
    NoiseAt,
    Objective,
    best_lags,
    worst_of,
)
from holdfast.correlated.chains.transition import Array, check_numbers
from holdfast.correlated.model import (
    ZEROS,
    Between,
    Quilt,
    QuiltModel,
    Surcharge,
    check_record,
    check_records,
    check_surcharge,
)
from holdfast.errors import InvalidParameter

#: Products of up to this many steps are bounded entry by entry; longer ones by contraction.
_STEPS = 12


class IntervalChain(QuiltModel):
    """A class of Markov chains: every chain whose transition matrices lie between `low` and `high`, entry by entry.

    Each step may use a different matrix of the class, so inhomogeneous chains are included. The first record may have
    any distribution.

    Parameters
    ----------
    low, high : matrix
        Bounds on the transition probabilities; some matrix of probabilities must lie between them.
    n : int
        Records.
    confidence : float
        The probability that the declared bounds hold, where they were estimated from public history; 1 otherwise.

    Notes
    -----
    Derived. Let `Delta_l` be the projective diameter `max ln K(x,u)K(x',u') / (K(x',u)K(x,u'))` over all products `K`
    of `l` steps, bounded through entrywise bounds on such products. By Birkhoff's theorem a further product of `l`
    steps shrinks Hilbert's distance between rows by `tanh(Delta_l/4)`, so at lag `t` it is at most

        `osc(t) = min_l Delta_l tanh(Delta_l/4)^(floor(t/l) - 1)`.

    The forward log ratio is at most that distance, since both rows sum to one. The backward one is too: a record's
    distribution is a mixture of the rows of the product that leads to it, so `ln P(u,x)/P(u,x') + ln pi(x')/pi(x)` is
    at most `max_u' ln P(u,x)P(u',x') / (P(u,x')P(u',x))`. Hence influence is at most `osc(a) + osc(b)`. The sharp
    surcharge is at most the same sum, not twice it: `F_b(x,x') + F_{b+1}(x',x) <= F_b(x,x') + F_b(x',x)`, which *is*
    Hilbert's distance between two rows, and likewise for columns.

    Examples
    --------
    >>> near = IntervalChain([[0.88, 0.08], [0.35, 0.55]], [[0.92, 0.12], [0.45, 0.65]], n=1000)
    >>> quilt = near.worst_quilt(1.0)
    >>> quilt.size, round(quilt.score(1.0), 4)
    (17, 20.7731)
    """

    def __init__(self, low: npt.ArrayLike, high: npt.ArrayLike, n: int, confidence: float = 1.0) -> None:
        self._low, self._high = _check_bounds(low, high)
        self._n = arguments.whole("n", n, at_least=1, at_most=10**15)
        self.confidence = arguments.probability("confidence", confidence, one=True)

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def n(self) -> int:
        """The number of records."""
        return self._n

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self._low)

    @property
    def low(self) -> Array:
        """The lower bounds of the transition probabilities."""
        return self._low

    @property
    def high(self) -> Array:
        """The upper bounds of the transition probabilities."""
        return self._high

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        sure = "" if self.confidence == 1 else f", with confidence {self.confidence:g}"
        return f"all Markov chains of {self.n} records with transition probabilities between bounds{sure}"

    def contains(self, transition: npt.ArrayLike) -> bool:
        """Return whether a transition matrix lies between the bounds of the class."""
        matrix = check_numbers("transition", transition)
        return bool(matrix.shape == self._low.shape and (matrix >= self._low).all() and (matrix <= self._high).all())

    @cached_property
    def _products(self) -> list[tuple[Array, Array]]:
        """Entrywise bounds on the products of 1, 2, ... steps."""
        products = [(self._low, self._high)]
        for _ in range(_STEPS - 1):
            low, high = products[-1]
            products.append((_least(self._low, self._high, low), -_least(self._low, self._high, -high)))
        return products

    @cached_property
    def diameters(self) -> tuple[float, ...]:
        """Return bounds on the projective diameters of the products of 1, 2, ... transition matrices of the class,
        rounded up.

        The projective diameter measures by how much two rows of a matrix can differ, as a log ratio.
        """
        return tuple(_diameter(low, high) for low, high in self._products)

    def oscillation(self, lags: Lags) -> Array:
        """Return bounds on Hilbert's projective distance between two rows of a transition matrix of `lag` steps.

        There is one bound for each of the given lags.

        This distance measures by how much two rows can differ, as a log ratio.
        """
        best = np.full(len(lags), np.inf)
        for steps, diameter in enumerate(self.diameters, start=1):
            if math.isfinite(diameter):
                rounds = lags // steps - 1
                with np.errstate(under="ignore"):
                    shrunk = diameter * np.tanh(diameter / 4) ** np.maximum(rounds, 0)
                best = np.minimum(best, np.where(rounds >= 0, shrunk, np.inf))
        return best

    @cached_property
    def _first(self) -> float:
        """A bound on the forward log ratio of one step, and so of every lag: `max ln high(x,v)/low(x',v)`."""
        states = range(self.states)
        ratios = [_log_ratio(self._high[x], self._low[y], self._high) for x in states for y in states if x != y]
        return max(ratios, default=0.0)

    def _influences(self, record: int | Lags, a: Lags, b: Lags) -> Array:
        left = np.where(a <= record, self.oscillation(a), 0.0)
        right = np.where(b < self.n - record, np.minimum(self.oscillation(b), self._first), 0.0)
        both: Array = left + right
        return both

    def _sharp(self, record: int | Lags, a: Lags, b: Lags) -> Array:
        right = np.where(b < self.n - record, self.oscillation(b), 0.0)
        both: Array = np.where(a <= record, self.oscillation(a), 0.0) + right
        return np.minimum(both, 2 * self._influences(record, a, b))

    def _surcharge(self, record: int | Lags, a: Lags, b: Lags, charge: Charge) -> Array:
        return self._sharp(record, a, b) if charge == "sharp" else TIMES[charge] * self._influences(record, a, b)

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return a bound on the max-influence of `record` on the records of `quilt`, whatever other records are
        known.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`.

        Notes
        -----
        Evidence leaves Hilbert's distance unchanged.
        """
        record = check_record(record, self.n)
        marked, seen = check_records("quilt", quilt, self.n), check_records("known", known, self.n)
        total = 0.0
        for before in (True, False):
            mine = [abs(j - record) for j in marked if j != record and (j < record) == before]
            theirs = [abs(j - record) for j in seen if j != record and (j < record) == before]
            if mine and not (theirs and min(theirs) < min(mine)):
                total += float(self.oscillation(np.array([min(mine)]))[0])
        return up(total)

    def _quilt(self, found: Found) -> Quilt:
        record, a, b = found.record, found.left, found.right
        lags = np.array([a]), np.array([b])
        plain, sharp = float(self._influences(record, *lags)[0]), float(self._sharp(record, *lags)[0])
        present = tuple(j for j in (record - a, record + b) if 0 <= j < self.n)
        plain, sharp = (up(w, 8) * (1 + 1e-12) for w in (plain, sharp))
        return Quilt(record, present, Between(record - a + 1, record + b, record), plain, a + b - 1, sharp)

    def _search(self, record: int, price: Objective, charge: Charge) -> Found:
        room = record + 1, self.n - record
        return best_lags(record, *room, lambda a, b: self._surcharge(record, a, b, charge), price)

    def _worst(self, price: Objective, charge: Charge) -> Found:
        middle = (self.n - 1) // 2
        optimum = self._search(middle, price, charge)
        ceiling = float(price(np.array([float(self.n)]), np.array([0.0]))[0])
        widest = price.largest_size(optimum.price)
        if optimum.price >= ceiling * (1 - TIE):
            return optimum
        if middle + 1 > widest and self.n - middle > widest:
            return optimum  # lags cut to the room of another record cost no more

        def prices(records: Lags, left: int, right: int) -> Array:
            sizes = np.minimum(left, records + 1) + np.minimum(right, self.n - records) - 1
            return price(
                sizes.astype(np.float64), self._surcharge(records, np.array([left]), np.array([right]), charge)
            )

        return worst_of(np.arange(self.n), optimum, prices, lambda record: self._search(record, price, charge), ceiling)

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The influences are
        bounded for all chains that this object describes.
        """
        price = NoiseAt(arguments.real("epsilon", epsilon, above=0))
        return self._quilt(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        For a mechanism that is `epsilon_dp`-differentially private, the level is `size * epsilon_dp + surcharge`. The
        influences are bounded for all chains that this object describes.
        """
        price = LevelAt(arguments.real("epsilon_dp", epsilon_dp, above=0))
        return self._quilt(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach.
        """
        return self._quilt(
            self._worst(NoiseAt(arguments.real("epsilon", epsilon, above=0)), check_surcharge(surcharge))
        )

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record about which an `epsilon_dp`-differentially private mechanism reveals
        the most.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        price = LevelAt(arguments.real("epsilon_dp", epsilon_dp, above=0))
        return self._quilt(self._worst(price, check_surcharge(surcharge)))

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the Markov quilt that determines the noise of the Markov Quilt Mechanism (Song, Wang and Chaudhuri
        2017).

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The quilt belongs to the record that needs the most noise.
        """
        return self._quilt(self._worst(NoiseAt(arguments.real("epsilon", epsilon, above=0)), "one"))

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        The number holds for every chain of the class.
        """
        deltas = [
            min(_overlap(low), math.tanh(diameter / 4))
            for (low, _), diameter in zip(self._products, self.diameters, strict=True)
        ]
        deltas = np.minimum.accumulate([min(up(d, 64), 1.0) for d in deltas]).tolist()
        return effective_n_chain(self.n, deltas) if deltas[-1] < 1 else 1.0

    def terms(self, left: int, right: int) -> QuiltTerms:
        """Return the four numbers about this model that the theorems on Thresholdout with dependent records need.

        For each record the Markov quilt consists of the records `left` places before and `right` places after it. Near
        an end of the chain one of the two may be missing.
        """
        left, right = (
            arguments.whole(name, lag, at_least=1, at_most=self.n) for name, lag in (("left", left), ("right", right))
        )
        osc = self.oscillation(np.array([left, right]))
        both = up(float(osc.sum()), 8) * (1 + 1e-12)
        plain = min(both, up(float(osc[0]) + self._first, 8) * (1 + 1e-12))
        return QuiltTerms(min(left + right - 1, self.n), plain, min(both, 2 * plain), min(max(left, right), self.n))

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state about the class."""
        notes = []
        if self.confidence < 1:
            notes.append(f"the bounds hold with probability {self.confidence:g} over the public history")
        if not math.isfinite(min(self.diameters)):
            notes.append(ZEROS)
        return tuple(notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "model": "interval chain",
            "n": self.n,
            "low": self._low.tolist(),
            "high": self._high.tolist(),
            "confidence": self.confidence,
        }


def _check_bounds(low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Array, Array]:
    least, most = (check_numbers(name, bound) for name, bound in (("low", low), ("high", high)))
    if least.ndim != 2 or least.shape[0] != least.shape[1] or least.shape != most.shape or not len(least):
        raise InvalidParameter(f"low and high must be square matrices of one size, got {least.shape}, {most.shape}")
    if not (np.isfinite(least).all() and np.isfinite(most).all() and (least >= 0).all() and (most <= 1).all()):
        raise InvalidParameter("low and high must have probabilities in [0, 1]")
    for x in range(len(least)):
        if (least[x] > most[x]).any():
            raise InvalidParameter(f"low must not be above high, but it is in row {x}")
        if least[x].sum() > 1 + 1e-12 or most[x].sum() < 1 - 1e-12:
            raise InvalidParameter(
                f"row {x} of low sums to {least[x].sum():.6g} and of high to {most[x].sum():.6g}, but no "
                "probabilities between them sum to 1; widen the bounds"
            )
    # a row's entries are also bounded by what the others leave
    rest_low, rest_high = 1 - (most.sum(axis=1, keepdims=True) - most), 1 - (least.sum(axis=1, keepdims=True) - least)
    least, most = (
        np.maximum(least, np.maximum(rest_low - 1e-15, 0.0)),
        np.minimum(most, np.minimum(rest_high + 1e-15, 1.0)),
    )
    most = np.maximum(most, least)
    least.setflags(write=False)
    most.setflags(write=False)
    return least, most


def _least(low: Array, high: Array, values: Array) -> Array:
    """The least of `sum_u p_u values[u, v]` over distributions `p` between each row's bounds, for every row and column
    `v`.

    Fill up from the smallest value: start at the lower bounds and hand out what is missing to 1.
    """
    states, others = low.shape[0], values.shape[1]
    sums = np.empty((states, others))
    for v in range(others):
        order = np.argsort(values[:, v])
        column = values[order, v]
        for x in range(states):
            base, room = low[x, order], high[x, order] - low[x, order]
            rest = np.clip(1 - base.sum() - np.concatenate([[0.0], np.cumsum(room)[:-1]]), 0.0, room)
            sums[x, v] = (base + rest) @ column
    slack: Array = sums - 1e-14 * np.abs(sums)
    return slack


def _diameter(low: Array, high: Array) -> float:
    """`max ln high(x,u) high(x',u') / (low(x',u) low(x,u'))`, infinite where a possible entry may vanish."""
    used = high.max(axis=0) > 0
    if (low[:, used] <= 0).any():
        return math.inf
    logs = np.log(high[:, used])[:, None, :] - np.log(low[:, used])[None, :, :]  # ln high(x,u)/low(x',u)
    ratio = logs.max(axis=2)
    pairs = ratio + ratio.T
    np.fill_diagonal(pairs, 0.0)
    return up(float(max(pairs.max(), 0.0)), 16)


def _log_ratio(top: Array, bottom: Array, high: Array) -> float:
    used = (high.max(axis=0) > 0) & (top > 0)
    if (bottom[used] <= 0).any():
        return math.inf
    return up(float(max(np.log(top[used] / bottom[used]).max(), 0.0)), 16)


def _overlap(low: Array) -> float:
    """One minus the least overlap of two rows: a bound on the total variation distance between them."""
    return max(
        (1 - float(np.minimum(low[x], low[y]).sum()) for x in range(len(low)) for y in range(x)),
        default=0.0,
    )


#: Beyond these a double no longer tells the probability from 0 or 1; the bound is then that end.
_EDGE = 1e-300


def chain_from_history(
    history: Sequence[npt.ArrayLike], n: int, states: int, confidence: float = 0.99
) -> IntervalChain:
    """Return the class of all chains that the public history does not rule out, with the confidence of this
    statement.

    Parameters
    ----------
    history : list of sequences of int
        Public paths of the same chain, states numbered from 0. They may have different lengths, and each may have been
        stopped for any reason that lies in its own past. They must not contain the private records: a model fitted to
        the private data leaks it.
    n : int
        Records of the private database.
    states : int
        How many states there are, the unseen included.
    confidence : float
        The probability, over the history, that the true transition matrix lies in the class.

    Returns
    -------
    IntervalChain
        Its `confidence` goes into every certificate.

    Notes
    -----
    Derived. The number of moves out of a state is itself random and depends on where the chain went, so an interval
    for a fixed number of trials would not do. Fix states `x, y`, let `p = P(x, y)` and, after `t` steps, let `m` be
    the moves out of `x` so far and `c` those that went to `y`. Consider

        `M_t = integral of th^c (1-th)^(m-c) dBeta(1/2, 1/2)(th) / (p^c (1-p)^(m-c))`.

    A step from another state leaves it alone. At a step from `x` the next state is `y` with probability `p` given the
    whole past, and for every `th` the factor `th/p` or `(1-th)/(1-p)` has conditional mean `th + (1-th) = 1` (less if
    `p` is 0 or 1). So `M` is a non-negative supermartingale that starts at 1, and by Ville's inequality it ever reaches
    `1/a` with probability at most `a`. Therefore `p` lies in `{p : M < 1/a}` at the end of the history, however often
    `x` was visited and whenever the history was stopped, except with probability `a`. Paths are laid end to end; the
    seam is no step. A union over the pairs gives `a = (1 - confidence)/pairs`, with `k^2` pairs, or 2 for two states,
    where a row has one free entry.

    A move never seen has lower bound 0: then one step gives no finite influence, and the class falls back on products
    of several steps, or on the trivial quilt; declare blocks instead if no lag helps.

    Examples
    --------
    >>> import numpy as np
    >>> rng, path = np.random.default_rng(1), [0]
    >>> for u in rng.random(20_000):
    ...     path.append(int(u < (0.1, 0.6)[path[-1]]))
    >>> found = chain_from_history([path], n=1000, states=2)
    >>> found.contains([[0.9, 0.1], [0.4, 0.6]]), found.confidence
    (True, 0.99)
    """
    counts = transition_counts(history, states)
    level = left_to_chance(arguments.probability("confidence", confidence))
    pairs = 2 if states == 2 else states * states
    low, high = np.zeros((states, states)), np.ones((states, states))
    for x in range(states):
        total = int(counts[x].sum())
        for y in range(states):
            low[x, y], high[x, y] = move_interval(int(counts[x, y]), total, level / pairs)
    if states == 2:  # the second entry is one minus the first
        low[:, 1], high[:, 1] = 1 - high[:, 0], 1 - low[:, 0]
    return IntervalChain(low, high, n, confidence)


def transition_counts(history: Sequence[npt.ArrayLike], states: int) -> NDArray[np.int64]:
    """Return how often each state followed each, summed over paths.

    Examples
    --------
    >>> transition_counts([[0, 0, 1], [1, 1]], 2).tolist()
    [[1, 1], [0, 1]]
    """
    states = arguments.whole("states", states, at_least=1, at_most=10_000)
    counts = np.zeros((states, states), dtype=np.int64)
    if isinstance(history, np.ndarray) and history.ndim == 1:
        raise InvalidParameter("history must be a list of paths; if there is one path, put it into a list")
    for j, path in enumerate(history):
        values = np.asarray(path)
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise InvalidParameter(f"history[{j}] must be a sequence of states, whole numbers from 0 on")
        if len(values) and (values.min() < 0 or values.max() >= states):
            raise InvalidParameter(f"history[{j}] must have states from 0 to {states - 1} only")
        np.add.at(counts, (values[:-1], values[1:]), 1)
    return counts


def move_interval(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Return the probabilities that a mixture martingale does not rule out, at any time, with `level` left to chance.

    Krichevsky and Trofimov's mixture (the Beta(1/2, 1/2) distribution) in Ville's inequality; see `chain_from_history`.

    Examples
    --------
    >>> low, high = move_interval(100, 1000, 0.01)
    >>> round(low, 4), round(high, 4)
    (0.0658, 0.143)
    >>> move_interval(0, 0, 0.01)
    (0.0, 1.0)
    """
    trials = arguments.whole("trials", trials, at_least=0)
    successes = arguments.whole("successes", successes, at_least=0, at_most=trials)
    level = arguments.real("level", level, at_least=1e-200, below=1)
    if not trials:
        return 0.0, 1.0
    c, m = float(successes), float(trials)
    mixture = float(betaln(c + 0.5, m - c + 0.5) - betaln(0.5, 0.5))
    threshold = -math.log(level)
    centre = c / m

    def excess(p: float) -> float:
        return mixture - float(xlogy(c, p) + xlog1py(m - c, -p)) - threshold

    low = 0.0 if successes == 0 else float(brentq(excess, _EDGE, centre, xtol=1e-300, rtol=1e-13))
    high = 1.0
    if successes < trials and excess(1 - 1e-16) > 0:
        high = float(brentq(excess, max(centre, _EDGE), 1 - 1e-16, rtol=1e-13))
    return max(low * (1 - 1e-9), 0.0), min(high * (1 + 1e-9), 1.0)
