"""The smallest proved width. Which theorem wins depends on n, k and beta only, so choosing costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.interval.mutual_information import russo_zou, russo_zou_kl, xu_raginsky
from holdfast.bounds.interval.posterior_shift import posterior_shift, posterior_shift_rows, scheduled, scheduled_rows
from holdfast.bounds.interval.published import bns, dfh, jung
from holdfast.bounds.interval.sample_splitting import splitting
from holdfast.bounds.interval.width import Noise, Width
from holdfast.bounds.numerics.search import turning_point
from holdfast.bounds.parameters import FailureProbability, HalfWidth, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

# --- Smallest ---------------------------------------------------------------------------------------------------------


@theorem(
    "interval.best",
    statement="The smallest proved half-width of k adaptive means: splitting, posterior shift or scheduled noise.",
    source="Holdfast: minimum over interval.splitting, interval.posterior-shift, interval.scheduled (Gaussian) or "
    "interval.splitting, interval.jung, interval.bns (Laplace)",
    conditions="those of the winner, which the result names; the choice looks at n, questions and beta only",
    unit="half-width",
    provenance="derived",
)
def best(n: Rows, questions: Questions, beta: FailureProbability, noise: Noise = "gaussian") -> Width:
    """The smallest certified half-width for `k` adaptive means, with the noise that gives it.

    The choice among theorems is made before any data is seen, so the winner's guarantee holds unchanged.

    Returns
    -------
    Width
        The winner's; `method` names it. Time: as `scheduled`.

    Examples
    --------
    >>> best(100_000, 1000, 0.05).method
    'interval.scheduled'
    >>> best(100_000, 1, 0.05).method
    'interval.splitting'
    """
    candidates = [splitting(n, questions, beta)] if questions <= n else []
    if noise == "laplace":
        candidates += [jung(n, questions, beta, noise), bns(n, questions, beta, noise)]
    else:
        candidates += [posterior_shift(n, questions, beta), scheduled(n, questions, beta)]
    return min(candidates, key=lambda width: width.half_width)


# --- Planning ---------------------------------------------------------------------------------------------------------
# Inverses of every width: how many questions fit, and how many rows are needed.

Method = Annotated[
    Literal[
        "best",
        "splitting",
        "dfh",
        "bns",
        "russo-zou",
        "russo-zou-kl",
        "xu-raginsky",
        "jung",
        "posterior-shift",
        "scheduled",
    ],
    "An interval theorem that holds for adaptive questions, by the last part of its id.",
]
METHODS: dict[str, Callable[..., Width]] = {
    "best": best,
    "splitting": splitting,
    "dfh": dfh,
    "bns": bns,
    "russo-zou": russo_zou,
    "russo-zou-kl": russo_zou_kl,
    "xu-raginsky": xu_raginsky,
    "jung": jung,
    "posterior-shift": posterior_shift,
    "scheduled": scheduled,
}
#: Neither count goes beyond this: past it the widths are still right, but the last units of a float are not.
LIMIT = 10**15


@dataclass(frozen=True)
class Plan:
    """A number of questions or of rows, and the width that it rests on.

    `width` names the theorem that wins there, its noise and its half-width; None when not even one question fits. With
    `capped` the search stopped at 10**15 and the true number is at least that.

    Examples
    --------
    >>> plan = max_questions(100_000, 0.05, 0.05)
    >>> plan.value, plan.method, plan.capped
    (1018, 'interval.scheduled', False)
    >>> print(max_questions(10, 0.01, 0.05))
    0: not even one question fits
    """

    value: int
    width: Width | None
    capped: bool = False

    @property
    def method(self) -> str | None:
        """The theorem behind the number."""
        return None if self.width is None else self.width.method

    @property
    def sigma(self) -> float | None:
        """The noise scale to use; of scheduled noise the first and largest, `width.schedule` holds all."""
        return None if self.width is None else self.width.sigma

    def __str__(self) -> str:
        if self.width is None:
            return f"{self.value}: not even one question fits"
        return f"{self.value}{' or more (the search stops there)' if self.capped else ''}: {self.width}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the number, the winning theorem, and everything about its width."""
        plain: dict[str, Any] = {"value": self.value, "winner": self.method, "capped": self.capped}
        if self.width is None:
            return plain | {"sigma": None, "certified": True}
        return plain | {name: entry for name, entry in self.width.to_dict().items() if name not in ("value", "method")}


@theorem(
    "interval.max-questions",
    statement="The largest number of adaptive questions that n rows answer within a half-width.",
    source="inverse of the interval theorems",
    conditions="those of the method",
    unit="questions",
    provenance="derived",
)
def max_questions(
    n: Rows,
    half_width: HalfWidth,
    beta: FailureProbability,
    method: Method = "best",
    noise: Noise = "gaussian",
) -> Plan:
    """The largest number of questions whose width is at most `half_width`; 0 when not even one fits.

    Returns
    -------
    Plan
        Its value is the number of questions, at most 10**15 (`capped` says when the search stopped there); `method`
        and `sigma` are the winner's. Time: a handful of evaluations of the method, one to three seconds for "best" and
        "scheduled". Those two are exact to one question up to about 100,000 and to a relative 1e-5 beyond.

    Examples
    --------
    >>> max_questions(100_000, 0.05, 0.05, method="posterior-shift").value
    642
    >>> max_questions(100_000, 0.1, 0.05, method="splitting").value
    219
    """
    width = METHODS[method]
    width(n, 1, beta, noise)  # refuses a noise that the method does not take
    found = _most(n, half_width, beta, method, noise)
    return Plan(found, width(n, found, beta, noise) if found > 0 else None, capped=found == LIMIT)


def _most(n: int, half_width: float, beta: float, method: Method, noise: Noise) -> int:
    width = METHODS[method]
    if method == "scheduled" or (method == "best" and noise == "gaussian"):
        return _max_scheduled(n, half_width, beta, with_splitting=method == "best")

    def excess(k: int) -> float:
        if method == "splitting" and k > n:
            return math.inf
        return math.log(width(n, k, beta, noise).half_width / half_width)

    return turning_point(excess, _guess_questions(n, half_width), LIMIT)


@theorem(
    "interval.required-n",
    statement="The smallest number of rows that answers k adaptive questions within a half-width.",
    source="inverse of the interval theorems",
    conditions="those of the method",
    unit="rows",
    provenance="derived",
)
def required_n(
    questions: Questions,
    half_width: HalfWidth,
    beta: FailureProbability,
    method: Method = "best",
    noise: Noise = "gaussian",
) -> Plan:
    """The least number of rows at which the width is at most `half_width`.

    Explicit for posterior-shift (`omega kappa sqrt(k)/tau^2`), scheduled and splitting; a search on `n` otherwise.

    Returns
    -------
    Plan
        Its value is the number of rows; `method` and `sigma` are the winner's. More than 10**15 rows raise
        `InvalidParameter`.

    Examples
    --------
    >>> required_n(1000, 0.05, 0.05, method="posterior-shift").value
    127783
    >>> plan = required_n(10, 0.05, 0.05)
    >>> plan.value, plan.method
    (7710, 'interval.scheduled')
    """
    k, width = questions, METHODS[method]
    width(max(k, 2), k, beta, noise)  # refuses a noise that the method does not take
    rows: int
    if method == "posterior-shift":
        rows = posterior_shift_rows(k, half_width, beta)
    elif method == "scheduled":
        rows = scheduled_rows(k, half_width, beta)
    elif method == "splitting":
        rows = _splitting_rows(k, half_width, beta)
    elif method == "best" and noise == "gaussian":
        rows = min(_splitting_rows(k, half_width, beta), scheduled_rows(k, half_width, beta))
    else:
        start = max(1, min(LIMIT, math.ceil(3 * math.sqrt(k) / half_width**2)))
        # the last n that is too small, and one more
        rows = 1 + turning_point(lambda n: _spare(width(n, k, beta, noise).half_width, half_width), start, LIMIT)
    if rows > LIMIT:
        raise InvalidParameter(f"half_width must be reachable with at most 10**15 rows, got {half_width}")
    return Plan(rows, width(rows, k, beta, noise))


def _spare(width: float, target: float) -> float:
    """Rises with `n` and is at most 0 exactly while `n` rows are too few."""
    left = math.log(target / width)
    return max(left, 1e-300) if width <= target else min(left, -1e-300)


def _guess_questions(n: int, half_width: float) -> int:
    """Near the posterior-shift bound: `tau^2 n` is about `10 sqrt(k)`."""
    return max(1, min(LIMIT, int((half_width**2 * n / 10) ** 2)))


def _splitting_rows(k: int, half_width: float, beta: float) -> int:
    """`k` parts of the least size that Hoeffding allows."""
    part = max(1, math.floor(math.log(2 * k / beta) / (2 * half_width**2)))
    if part * k > LIMIT:
        return part * k  # too many rows for anybody; the caller says so
    while splitting(part * k, k, beta).half_width > half_width:
        part += max(1, math.floor(part * 1e-15))
    return part * k


def _max_scheduled(n: int, half_width: float, beta: float, *, with_splitting: bool) -> int:
    """Search with the tuned numbers of one nearby schedule held fixed, then settle with the schedule's own."""
    few = _most(n, half_width, beta, "splitting", "gaussian") if with_splitting else 0
    start = max(1, _most(n, half_width, beta, "posterior-shift", "gaussian"))
    near = min(LIMIT, max(1, int(1.6 * start)))
    tuned = scheduled(n, near, beta).schedule
    found = start
    if tuned is not None and tuned.boundary is not None:
        free = tuned.boundary
        parameters = (free.horizon, free.noise_level, free.noise_share, free.shift_level)

        def excess(k: int) -> float:
            return math.log(scheduled(n, k, beta, parameters=parameters).half_width / half_width)

        found = max(1, turning_point(excess, near, LIMIT))
    # The search for a schedule's numbers leaves a relative 1e-6 in its width; beyond a few hundred thousand questions
    # that is more than one question, so the steps grow and their number is limited.
    step = max(1, found >> 17)
    while found > 0 and scheduled(n, found, beta).half_width > half_width:
        found = max(0, found - step)
    for _ in range(4):
        if found + step > LIMIT or scheduled(n, found + step, beta).half_width > half_width:
            break
        found += step
    return max(few, found)
