"""The smallest proved width. Which theorem wins depends on n, k and beta only, so choosing costs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from holdfast.bounds.interval.mutual_information import russo_zou, russo_zou_kl, xu_raginsky
from holdfast.bounds.interval.posterior_shift import posterior_shift, posterior_shift_rows, scheduled, scheduled_rows
from holdfast.bounds.interval.published import bns, dfh, jung
from holdfast.bounds.interval.sample_splitting import splitting
from holdfast.bounds.interval.signs import (
    RowLaw,
    sign_comparison,
    sign_comparison_independent,
    sign_estimate,
)
from holdfast.bounds.interval.width import Noise, Width
from holdfast.bounds.inverse import solve
from holdfast.bounds.numerics.search import turning_point
from holdfast.bounds.parameters import FailureProbability, HalfWidth, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

# --- Smallest ---------------------------------------------------------------------------------------------------------


@theorem(
    "interval.best",
    statement="The smallest proved half-width of k adaptive means: splitting, sign comparison or scheduled noise.",
    source="Holdfast: minimum over interval.splitting, interval.posterior-shift, interval.scheduled and "
    "interval.sign-comparison (Gaussian; its form for independent rows where rows are not promised to be identically "
    "distributed) or interval.splitting, interval.jung, interval.bns (Laplace)",
    conditions="those of the winner, which the result names; rows independent and identically distributed unless "
    "rows is independent; the choice looks at n, questions and beta only",
    unit="half-width",
    provenance="derived",
)
def best(
    n: Rows, questions: Questions, beta: FailureProbability, noise: Noise = "gaussian", rows: RowLaw = "identical"
) -> Width:
    """The smallest certified half-width for `k` adaptive means, with the noise scale that gives it.

    The theorem is chosen before any data are seen, so its guarantee holds unchanged. Rows must be independent and
    identically distributed. With `rows="independent"`, only theorems that need no common distribution of the rows are
    considered.

    Returns
    -------
    Width
        The winner's; `method` names it. Time: as `sign_comparison`, where it can win.

    Examples
    --------
    >>> best(100_000, 1000, 0.05).method, best(100, 10, 0.05).method
    ('interval.sign-comparison', 'interval.scheduled')
    >>> best(100_000, 1, 0.05).method
    'interval.splitting'
    """
    if noise == "laplace":
        candidates = _parts(n, questions, beta, rows)
        published = (jung, bns) if rows == "identical" else (dfh,)
        candidates += [width(n, questions, beta, noise) for width in published]
        return min(candidates, key=lambda width: width.half_width)
    return _best_gaussian(n, questions, beta, rows)


@lru_cache(maxsize=256)
def _best_gaussian(n: int, questions: int, beta: float, rows: RowLaw) -> Width:
    candidates = _parts(n, questions, beta, rows)
    smallest = min(candidates + _plain_noise(n, questions, beta), key=lambda width: width.half_width)
    return _or_signs(smallest, n, questions, beta, rows)


def _parts(n: int, questions: int, beta: float, rows: RowLaw) -> list[Width]:
    """Splitting, where a part of the rows stands for all of them: rows of one distribution, or a single part."""
    return [splitting(n, questions, beta)] if questions <= n and (rows == "identical" or questions == 1) else []


def best_noise(n: int, questions: int, beta: float, rows: RowLaw = "identical") -> Width:
    """Return the plan with the smallest half-width among those that answer with Gaussian noise on all rows.

    These are the plans of Theorems A, B and D. Sample splitting is not considered.

    Examples
    --------
    >>> best_noise(1000, 100, 0.05).method, best_noise(100, 10, 0.05).method
    ('interval.sign-comparison', 'interval.scheduled')
    """
    return _best_noise(n, questions, beta, rows)


@lru_cache(maxsize=256)
def _best_noise(n: int, questions: int, beta: float, rows: RowLaw) -> Width:
    smallest = min(_plain_noise(n, questions, beta), key=lambda width: width.half_width)
    return _or_signs(smallest, n, questions, beta, rows)


def _plain_noise(n: int, questions: int, beta: float) -> list[Width]:
    """Theorems A and B, which need rows to be independent only."""
    return [posterior_shift(n, questions, beta), scheduled(n, questions, beta)]


def _or_signs(smallest: Width, n: int, questions: int, beta: float, rows: RowLaw) -> Width:
    """The smaller of a width and Theorem D's; the sign comparison is searched only where it can win."""
    if _signs_lose(n, questions, beta, rows, smallest.half_width):
        return smallest
    signs = sign_comparison if rows == "identical" else sign_comparison_independent
    return min(smallest, signs(n, questions, beta), key=lambda width: width.half_width)


def _signs_lose(n: int, questions: int, beta: float, rows: RowLaw, half_width: float) -> bool:
    """Whether no search for a sign comparison's schedule can reach this half-width.

    A schedule that nobody tuned is some hundredths above the best one; here it is far above.
    """
    return sign_estimate(n, questions, beta, rows) > 1.5 * half_width


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
        "sign-comparison",
        "sign-comparison-independent",
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
    "sign-comparison": sign_comparison,
    "sign-comparison-independent": sign_comparison_independent,
}
_SIGNS = ("sign-comparison", "sign-comparison-independent")
#: Neither count goes beyond this: past it the widths are still right, but the last units of a float are not.
LIMIT = 10**15


@dataclass(frozen=True)
class Plan:
    """A number of questions or of rows, and the half-width that justifies it.

    `width` has the theorem that gives the best result, its noise scale and its half-width. It is None if not even one
    question fits. If `capped` is True, the search stopped at 10**15 and the true number is at least that large.

    Examples
    --------
    >>> plan = max_questions(100_000, 0.05, 0.05)
    >>> plan.value, plan.method, plan.capped
    (6378, 'interval.sign-comparison', False)
    >>> print(max_questions(10, 0.01, 0.05))
    0: not even one question fits
    """

    value: int
    width: Width | None
    capped: bool = False

    @property
    def method(self) -> str | None:
        """The name of the theorem behind the number."""
        return None if self.width is None else self.width.method

    @property
    def sigma(self) -> float | None:
        """The noise scale to use. If the scale changes from question to question, it is the first and largest one.

        `width.schedule` has all scales.
        """
        return None if self.width is None else self.width.sigma

    def __str__(self) -> str:
        if self.width is None:
            return f"{self.value}: not even one question fits"
        more = " or more (the search stops there)" if self.capped else ""
        return f"{self.value}{more}: {self.width}; assumes {self.width.assumption}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the number, the theorem behind it, and all fields of its width."""
        plain: dict[str, Any] = {"value": self.value, "winner": self.method, "capped": self.capped}
        if self.width is None:
            return plain | {"sigma": None, "certified": True}
        return plain | {name: entry for name, entry in self.width.to_dict().items() if name not in ("value", "method")}


@theorem(
    "interval.max-questions",
    statement="The largest number of adaptive questions that n rows answer within a half-width.",
    source="inverse of the interval theorems",
    conditions="those of the method; rows independent and identically distributed unless rows is independent",
    unit="questions",
    provenance="derived",
)
def max_questions(
    n: Rows,
    half_width: HalfWidth,
    beta: FailureProbability,
    method: Method = "best",
    noise: Noise = "gaussian",
    rows: RowLaw = "identical",
) -> Plan:
    """Return the largest number of adaptive questions whose half-width is at most `half_width`; 0 if not even one fits.

    Returns
    -------
    Plan
        Its value is the number of questions, at most 10**15 (`capped` says when the search stopped there); `method`
        and `sigma` are the winner's. Time: a handful of evaluations of the method, one to three seconds for "scheduled"
        and some more for "best" and the sign comparison. "scheduled" is exact to one question up to about 100,000 and
        to a relative 1e-5 beyond. Where a sign comparison wins, the number is certified and the half-width there is
        within a relative 2e-3 of the one asked for: its searched schedules are not smoother than that.

    Examples
    --------
    >>> max_questions(100_000, 0.05, 0.05, method="posterior-shift").value
    642
    >>> max_questions(100_000, 0.1, 0.05, method="splitting").value
    219
    """
    method = _under(rows, method)
    width = _width_of(method, rows)
    if noise != "gaussian":
        width(n, 1, beta, noise)  # refuses a noise that the method does not take
    questions = _most(n, half_width, beta, method, noise, rows)
    return Plan(questions, width(n, questions, beta, noise) if questions > 0 else None, capped=questions == LIMIT)


def _under(rows: RowLaw, method: Method) -> Method:
    """Return the method's form for rows with such distributions; refused where it has none."""
    if rows == "identical":
        return method
    if method in ("splitting", "jung", "bns"):
        raise InvalidParameter(
            f"method is {method!r}, but with rows 'independent' it must be a method that needs no common distribution "
            "of the rows, such as 'best' or 'scheduled'"
        )
    return "sign-comparison-independent" if method == "sign-comparison" else method


def _width_of(method: Method, rows: RowLaw) -> Callable[..., Width]:
    return partial(best, rows=rows) if method == "best" else METHODS[method]


def _most(n: int, half_width: float, beta: float, method: Method, noise: Noise, rows: RowLaw = "identical") -> int:
    if method == "scheduled":
        return _max_scheduled(n, half_width, beta)
    if method in _SIGNS:
        return _max_signs(n, half_width, beta, method)
    if method == "best" and noise == "gaussian":
        few = _most(n, half_width, beta, "splitting", "gaussian")
        few = few if rows == "identical" else min(few, 1)
        few = max(few, _max_scheduled(n, half_width, beta))
        if few == LIMIT or _signs_lose(n, max(few, 1), beta, rows, half_width):
            return few
        return max(few, _max_signs(n, half_width, beta, _under(rows, "sign-comparison")))

    at = _arguments(method, beta, noise, rows)
    try:
        most = solve(
            METHODS[method], for_="questions", target=half_width, n=n, near=_guess_questions(n, half_width), **at
        )
    except GuaranteeUnavailable:
        return 0
    return min(int(most), LIMIT)


def _arguments(method: Method, beta: float, noise: Noise, rows: RowLaw) -> dict[str, Any]:
    return {"beta": beta, "noise": noise} | ({"rows": rows} if method == "best" else {})


@theorem(
    "interval.required-n",
    statement="The smallest number of rows that answers k adaptive questions within a half-width.",
    source="inverse of the interval theorems",
    conditions="those of the method; rows independent and identically distributed unless rows is independent",
    unit="rows",
    provenance="derived",
)
def required_n(
    questions: Questions,
    half_width: HalfWidth,
    beta: FailureProbability,
    method: Method = "best",
    noise: Noise = "gaussian",
    rows: RowLaw = "identical",
) -> Plan:
    """Return the smallest number of rows at which `k` adaptive means have at most the given half-width.

    The methods "posterior-shift", "scheduled" and "splitting" have a closed form (`omega kappa sqrt(k)/tau^2` for
    "posterior-shift" with half-width `tau`). For every other method the function searches over `n`.

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
    (4829, 'interval.sign-comparison')
    >>> required_n(10, 0.05, 0.05, rows="independent").value
    5...
    """
    method = _under(rows, method)
    k, width = questions, _width_of(method, rows)
    if noise != "gaussian":
        width(max(k, 2), k, beta, noise)  # refuses a noise that the method does not take
    least: int
    if method == "posterior-shift":
        least = posterior_shift_rows(k, half_width, beta)
    elif method == "scheduled":
        least = scheduled_rows(k, half_width, beta)
    elif method == "splitting":
        least = _splitting_rows(k, half_width, beta)
    elif method in _SIGNS:
        least = _signs_rows(k, half_width, beta, method)
    elif method == "best" and noise == "gaussian":
        least = scheduled_rows(k, half_width, beta)
        if rows == "identical" or k == 1:
            least = min(least, _splitting_rows(k, half_width, beta))
        if not _signs_lose(least, k, beta, rows, half_width):
            least = min(least, _signs_rows(k, half_width, beta, _under(rows, "sign-comparison")))
    else:
        near = max(1, min(LIMIT, math.ceil(3 * math.sqrt(k) / half_width**2)))
        at = _arguments(method, beta, noise, rows)
        try:
            least = int(solve(METHODS[method], for_="n", target=half_width, questions=k, near=near, **at))
        except GuaranteeUnavailable:
            least = LIMIT + 1
    if least > LIMIT:
        raise InvalidParameter(f"half_width is {half_width}, which 10**15 rows do not reach; give a larger half_width")
    return Plan(least, width(least, k, beta, noise))


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


#: A searched schedule is not smoother than this: half-widths of neighbouring sizes may be out of order by as much.
_SMOOTH = 2e-3


def _max_signs(n: int, half_width: float, beta: float, method: Method) -> int:
    """A number of questions that fits, with a half-width just below the target: the width is about `k^(1/4)`."""
    law, width = _law(method), METHODS[method]
    guess = turning_point(
        lambda k: math.log(sign_estimate(n, k, beta, law) / half_width), _guess_questions(n, half_width), LIMIT
    )
    most, k = 0, max(1, guess)
    fits: tuple[float, float] | None = (
        None  # the logarithms of a number that fits and of its ratio, and of one too many
    )
    fails: tuple[float, float] | None = None
    for _ in range(8):
        ratio = half_width / width(n, k, beta).half_width
        if ratio >= 1:
            most, fits = max(most, k), (math.log(k), math.log(ratio))
            if ratio <= 1 + _SMOOTH or k == LIMIT:
                break
        else:
            fails = math.log(k), math.log(ratio)
        power = 4.0  # the width is about `k^(1/4)`; between two numbers that are known, it is what they say
        if fits is not None and fails is not None and fits[1] > fails[1]:
            power = max(0.5, (fails[0] - fits[0]) / (fits[1] - fails[1]))
        following = min(LIMIT, max(1, math.floor(k * ratio**power * (1 - _SMOOTH))))
        if following == k or (following < most):
            break
        k = following
    return most


def _signs_rows(k: int, half_width: float, beta: float, method: Method) -> int:
    """A number of rows that is enough, with a half-width just below the target: the width is about `1/sqrt(n)`."""
    law, width = _law(method), METHODS[method]
    start = max(1, min(LIMIT, math.ceil(3 * math.sqrt(k) / half_width**2)))
    spare = turning_point(lambda n: _spare(sign_estimate(n, k, beta, law), half_width), start, LIMIT)
    fewest, n = LIMIT + 1, min(LIMIT, max(1, spare))
    for _ in range(8):
        ratio = width(n, k, beta).half_width / half_width
        if ratio <= 1:
            fewest = min(fewest, n)
            if ratio >= 1 - _SMOOTH or n == 1:
                break
        following = min(LIMIT, max(1, math.ceil(n * ratio**2 * (1 + _SMOOTH))))
        if following == n or following > fewest:
            break
        n = following
    return fewest


def _law(method: Method) -> Literal["identical", "independent"]:
    return "identical" if method == "sign-comparison" else "independent"


def _max_scheduled(n: int, half_width: float, beta: float) -> int:
    """Search with the tuned numbers of one nearby schedule held fixed, then settle with the schedule's own."""
    start = max(1, _most(n, half_width, beta, "posterior-shift", "gaussian"))
    near = min(LIMIT, max(1, int(1.6 * start)))
    tuned = scheduled(n, near, beta).schedule
    most = start
    if tuned is not None and tuned.boundary is not None:
        free = tuned.boundary
        parameters = (free.horizon, free.noise_level, free.noise_share, free.shift_level)

        def excess(k: int) -> float:
            return math.log(scheduled(n, k, beta, parameters=parameters).half_width / half_width)

        most = max(1, turning_point(excess, near, LIMIT))
    # The search for a schedule's numbers leaves a relative 1e-6 in its width; beyond a few hundred thousand questions
    # that is more than one question, so the steps grow and their number is limited.
    step = max(1, most >> 17)
    while most > 0 and scheduled(n, most, beta).half_width > half_width:
        most = max(0, most - step)
    for _ in range(4):
        if most + step > LIMIT or scheduled(n, most + step, beta).half_width > half_width:
            break
        most += step
    return most
