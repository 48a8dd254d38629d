"""Choose a hypothesis privately, then test it on the same rows at a corrected level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.p_value_planning import largest_epsilon
from holdfast.errors import InvalidParameter
from holdfast.inference.after_looking import AfterLooking
from holdfast.inference.scores import Scores
from holdfast.mechanisms.exponential import Method, Selection
from holdfast.noise.entropy import Source


@dataclass(frozen=True)
class Selected:
    """A candidate that was chosen privately, what it cost, and among how many it was chosen.

    Record it before testing: `looking.record(choice)`. `values` lets the record read it as a look with that many
    outcomes too, so that its level is never below Bonferroni's.

    Examples
    --------
    >>> from holdfast.inference.scores import products
    >>> from holdfast.noise import Seeded
    >>> print(choose(products([[1, -1], [1, 1]] * 500, [1, 1] * 500, names=["dose", "age"]), 1.0, source=Seeded(1)))
    candidate 0 dose of 2, chosen with PureDP(epsilon=1.0) (mechanism.selection)
    """

    index: int
    cost: PureDP
    values: int
    guarantee: Guarantee
    name: str = ""

    def __str__(self) -> str:
        called = f" {self.name}" if self.name else ""
        return f"candidate {self.index}{called} of {self.values:,}, chosen with {self.cost} ({self.guarantee.theorem})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "index": self.index,
            "name": self.name,
            "values": self.values,
            "cost": self.cost.to_dict(),
            "guarantee": self.guarantee.to_dict(),
        }


def choose(
    scores: Scores,
    epsilon: float,
    *,
    method: Method = "permute-and-flip",
    looking: AfterLooking | None = None,
    source: Source | None = None,
) -> Selected:
    """Choose a candidate whose score is nearly the largest, with epsilon-differential privacy.

    By default permute-and-flip, which is never worse than the exponential mechanism; "laplace" and "geometric" are
    report-noisy-max. With `looking` the choice is recorded there too, before it is returned.

    Parameters
    ----------
    scores : Scores
        From `products`, `covariances`, `mean_differences`, or your own with a sensitivity that you can prove.
    epsilon : float
        The privacy parameter, above 0. What it costs the test is governed by `epsilon * sqrt(n)`; `affordable_epsilon`
        inverts it.
    method : str
        "permute-and-flip", "exponential", "geometric" or "laplace".
    looking : AfterLooking, optional
        Where to record the choice. It must be for as many rows.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import binomtest
    >>> from holdfast.inference.scores import products
    >>> from holdfast.noise import Seeded
    >>> rng = np.random.default_rng(1)
    >>> label = rng.choice([-1, 1], 2000)
    >>> features = rng.choice([-1, 1], (2000, 50))
    >>> features[:, 7] = np.where(rng.random(2000) < 0.7, label, -label)     # one that matters
    >>> looking = AfterLooking(2000)
    >>> choice = choose(products(features, label), 0.1, looking=looking, source=Seeded(1))
    >>> choice.index
    7
    >>> agree = int((features[:, choice.index] == label).sum())
    >>> looking.test(binomtest, agree, 2000).rejected
    True
    """
    if not isinstance(scores, Scores):
        raise InvalidParameter(f"scores must be Scores, with their sensitivity, got a {type(scores).__name__}")
    if looking is not None and looking.n != scores.n:
        raise InvalidParameter(f"looking must be for the {scores.n} rows of the scores, got one for {looking.n}")
    mechanism = Selection(scores.sensitivity, check.real("epsilon", epsilon, above=0), method=method)
    made = len(scores)
    if looking is not None:
        looking.record(mechanism, what=f"a private choice among {made}", values=made)
    index = mechanism.release(scores.values, source)
    name = scores.names[index] if scores.names else ""
    return Selected(index, mechanism.cost, made, mechanism.guarantee, name)


def affordable_epsilon(n: int, level: float, alpha: float = 0.05) -> float:
    """Return the largest epsilon after which an ordinary p-value of `level` still rejects at `alpha`.

    Examples
    --------
    >>> round(affordable_epsilon(10_000, level=0.005), 4)
    0.016
    """
    return largest_epsilon(alpha, level, n)


@dataclass(frozen=True)
class Alternatives:
    """The levels that four ways of testing a chosen hypothesis have to meet, and on how many rows they test.

    `corrected` is what a private choice leaves, by the private route alone; `bonferroni` needs all candidates listed in
    advance and allows choosing the very best; `splitting` chooses on half of the rows and tests on the other;
    `naive` ignores the choosing and is not valid.
    """

    n: int
    candidates: int
    alpha: float
    corrected: float
    bonferroni: float
    splitting: float
    naive: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "n": self.n,
            "candidates": self.candidates,
            "alpha": self.alpha,
            "corrected": {"level": self.corrected, "rows": self.n, "valid": True},
            "bonferroni": {"level": self.bonferroni, "rows": self.n, "valid": True},
            "splitting": {"level": self.splitting, "rows": self.n - self.n // 2, "valid": True},
            "naive": {"level": self.naive, "rows": self.n, "valid": False},
        }

    def __str__(self) -> str:
        half = self.n - self.n // 2
        return (
            f"private choice: p <= {self.corrected:.4g} on {self.n:,} rows\n"
            f"Bonferroni over {self.candidates:,}: p <= {self.bonferroni:.4g} on {self.n:,} rows\n"
            f"splitting: p <= {self.splitting:.4g} on {half:,} rows\n"
            f"naive, not valid: p <= {self.naive:.4g} on {self.n:,} rows"
        )


def alternatives(n: int, candidates: int, epsilon: float, alpha: float = 0.05) -> Alternatives:
    """Compare what a private choice among `candidates` leaves of `alpha` with the other ways to test after choosing.

    Examples
    --------
    >>> print(alternatives(n=10_000, candidates=1000, epsilon=0.01))
    private choice: p <= 0.01298 on 10,000 rows
    Bonferroni over 1,000: p <= 5e-05 on 10,000 rows
    splitting: p <= 0.05 on 5,000 rows
    naive, not valid: p <= 0.05 on 10,000 rows
    """
    candidates = check.whole("candidates", candidates, at_least=1)
    looking = AfterLooking(n, alpha=alpha).record(PureDP(check.real("epsilon", epsilon, at_least=0)))
    bonferroni = looking.bonferroni(candidates)
    level = looking.level().value
    return Alternatives(looking.n, candidates, looking.alpha, level, bonferroni, looking.alpha, looking.alpha)


__all__ = ["Alternatives", "Selected", "affordable_epsilon", "alternatives", "choose"]
