"""A class of chains from public history: bounds that hold together with a stated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy

from holdfast import check
from holdfast.bounds.exact import left_to_chance
from holdfast.correlated.interval_chain import IntervalChain
from holdfast.errors import InvalidParameter

#: Beyond these a double no longer tells the probability from 0 or 1; the bound is then that end.
_EDGE = 1e-300


def chain_from_history(
    history: Sequence[npt.ArrayLike], n: int, states: int, confidence: float = 0.99
) -> IntervalChain:
    """All chains that public history does not rule out, with their confidence carried along.

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
    level = left_to_chance(check.probability("confidence", confidence))
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
    """How often each state followed each, summed over paths.

    Examples
    --------
    >>> transition_counts([[0, 0, 1], [1, 1]], 2).tolist()
    [[1, 1], [0, 1]]
    """
    states = check.whole("states", states, at_least=1, at_most=10_000)
    counts = np.zeros((states, states), dtype=np.int64)
    if isinstance(history, np.ndarray) and history.ndim == 1:
        raise InvalidParameter("history must be a list of paths; put one path into a list")
    for j, path in enumerate(history):
        values = np.asarray(path)
        if values.ndim != 1 or not np.issubdtype(values.dtype, np.integer):
            raise InvalidParameter(f"history[{j}] must be a sequence of whole numbers, the states from 0")
        if len(values) and (values.min() < 0 or values.max() >= states):
            raise InvalidParameter(f"history[{j}] must hold states from 0 to {states - 1}")
        np.add.at(counts, (values[:-1], values[1:]), 1)
    return counts


def move_interval(successes: int, trials: int, level: float) -> tuple[float, float]:
    """The probabilities that a mixture martingale does not rule out, at any time, with `level` left to chance.

    Krichevsky and Trofimov's mixture (the Beta(1/2, 1/2) law) in Ville's inequality; see `chain_from_history`.

    Examples
    --------
    >>> low, high = move_interval(100, 1000, 0.01)
    >>> round(low, 4), round(high, 4)
    (0.0658, 0.143)
    >>> move_interval(0, 0, 0.01)
    (0.0, 1.0)
    """
    trials = check.whole("trials", trials, at_least=0)
    successes = check.whole("successes", successes, at_least=0, at_most=trials)
    level = check.real("level", level, at_least=1e-200, below=1)
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


__all__ = ["chain_from_history", "move_interval", "transition_counts"]
