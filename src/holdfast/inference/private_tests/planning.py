"""Plans for private tests: alternatives, the records or the budget for a target power, and which test to use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.search import first_whole
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, HoldfastError, InvalidParameter
from holdfast.inference.private_tests.binomial_power import power as binomial_power
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import METHODS
from holdfast.inference.private_tests.independence_tests import INDEPENDENCE_METHODS
from holdfast.inference.private_tests.local.channel import KINDS
from holdfast.inference.private_tests.local.power import local_gof_power, local_independence_power
from holdfast.inference.private_tests.noise_law import noise_of
from holdfast.inference.private_tests.power import Power, distribution, gof_power, independence_power, multinomial
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]

SMALL_EFFECT = 0.1
"""Cohen's w of a small effect: `sqrt(sum delta^2 / p0)`."""


def worst_direction(p0: Any, c: float = 0.0) -> Array:
    """Return the direction of a change of `p0` that the projected test detects least, as a vector of length one.

    It is the eigenvector with the largest eigenvalue of the covariance matrix `Diag(p0) - p0 p0' + c I`, where `c` is
    the variance of the noise divided by the number of records. Its entries sum to zero up to rounding.

    Notes
    -----
    Section 7.2.5 of the dissertation; the largest eigenvalue gives the smallest noncentrality (erratum 22: print
    gives both readings).

    Examples
    --------
    >>> found = worst_direction([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    >>> (found / found[0]).round(6).tolist()
    [1.0, -0.333333, -0.333333, -0.333333]
    """
    null = probabilities("p0", p0)
    # c I moves every eigenvalue alike; only what sums to zero is a change of p0.
    centre = np.eye(null.size) - 1 / null.size
    _, vectors = np.linalg.eigh(centre @ (multinomial(null) + c * np.eye(null.size)) @ centre)
    direction: Array = vectors[:, -1] - vectors[:, -1].mean()
    direction = direction / np.linalg.norm(direction)
    return direction


def alternative(p0: Any, effect: float, c: float = 0.0) -> Array:
    """Return `p0` moved by `effect` (Cohen's w) in the direction that the projected test detects least.

    The result is a probability vector.

    Examples
    --------
    >>> alternative([0.5, 0.5], 0.1).round(6).tolist() in ([0.55, 0.45], [0.45, 0.55])
    True
    """
    null, w = probabilities("p0", p0), arguments.real("effect", effect, above=0)
    if np.all(null == null[0]):  # every direction is the worst: half of the cells up, half down
        step = np.where(np.arange(null.size) % 2 == 0, 1.0, -1.0)
        step -= step.mean()
    else:
        step = worst_direction(null, c)
    step = step * w / np.sqrt((np.square(step) / null).sum())
    for signed in (step, -step):
        if np.all(null + signed >= 0):
            law: Array = null + signed
            return np.asarray(law / law.sum())
    raise InvalidParameter(
        f"effect must be smaller, got {w:g}, because it makes a probability negative or larger than 1; or give p1 "
        "instead"
    )


def dependent_table(rows: Array, columns: Array, effect: float) -> Array:
    """A table with these margins and a dependence of size `effect` (Cohen's w), the same sign pattern in both."""
    w = arguments.real("effect", effect, above=0)

    def pattern(margin: Array) -> Array:
        step = np.where(np.arange(margin.size) % 2 == 0, 1.0, -1.0)
        tilt: Array = margin * (step - step @ margin)
        return tilt

    product, delta = np.outer(rows, columns), np.outer(pattern(rows), pattern(columns))
    table: Array = product + delta * w / np.sqrt((np.square(delta) / product).sum())
    if not np.all(table >= 0):
        raise InvalidParameter(
            f"effect must be smaller, got {w:g}, because it makes a probability negative or larger than 1; or give p "
            "instead"
        )
    return table


Predict = Callable[..., Power]

_MOST_RECORDS = 10**12
_RANGES = {"rho": (1e-12, 1e4), "epsilon": (1e-6, 60.0)}


@dataclass(frozen=True)
class Planned:
    """The smallest number of records, or the smallest privacy cost, with which a test reaches a target power.

    Attributes
    ----------
    what : {"n", "rho", "epsilon"}
        Which number.
    value : int or float
        The number; a budget is rounded up to four digits.
    target : float
        The power asked for.
    predicted : Power
        What is predicted there, at least the target.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> print(sample_size(gof_power, 0.8, p0=p0, p1=p1, rho=0.00125))
    n = 29561 for power 0.8: projected GOF: power 0.8 at n = 29561, alpha 0.05 (limit); cost ZCDP(rho=0.00125)
    """

    what: str
    value: float
    target: float
    predicted: Power

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"what": self.what, "value": self.value, "target": self.target, "predicted": self.predicted.to_dict()}

    def __str__(self) -> str:
        return f"{self.what} = {self.value:.10g} for power {self.target:g}: {self.predicted}"


def sample_size(predict: Predict, power: float = 0.8, *, at_most: int = _MOST_RECORDS, **setting: Any) -> Planned:
    """Return the smallest number of records with which a test reaches `power`.

    Parameters
    ----------
    predict : callable
        `gof_power`, `independence_power`, `gwas_power`, `local_gof_power`, `local_independence_power`, or any function
        that takes `n` and returns a `Power`.
    power : float
        The target, in (0, 1).
    at_most : int
        Where to give up.
    **setting
        Everything else that `predict` takes: the null, the alternative, the budget, the method, the level.

    Returns
    -------
    Planned
        By doubling and bisection: about 40 predictions. The limit is a limit: check what you build on with
        `predict(..., trials=20_000)`.

    Raises
    ------
    GuaranteeUnavailable
        Where no `n` up to `at_most` is enough: the null is true, or the budget falls with n.

    Examples
    --------
    The printed formula's n, 29475.706 before rounding (spec TV-41):

    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> sample_size(gof_power, 0.8, p0=p0, p1=p1, rho=0.00125, at="null").value
    29476
    """
    target = arguments.probability("power", power)
    most = arguments.whole("at_most", at_most, at_least=2)

    def reached(n: int) -> bool:
        return predict(n=n, **setting).power >= target

    fewest = first_whole(reached, 2, limit=most)
    if fewest is None:
        raise GuaranteeUnavailable(
            f"no n up to {most} gives the power {target:g}; give an alternative further from the null, or a smaller "
            "target"
        )
    return Planned("n", fewest, target, predict(n=fewest, **setting))


def budget(
    predict: Predict, power: float = 0.8, *, spend: Literal["rho", "epsilon"] = "rho", **setting: Any
) -> Planned:
    """Return the smallest rho or epsilon with which a test of `n` records reaches `power`.

    Parameters
    ----------
    predict : callable
        As in `sample_size`; it must take `spend` as a keyword.
    power : float
        The target, in (0, 1).
    spend : {"rho", "epsilon"}
        Which budget to solve for.
    **setting
        Everything else that `predict` takes, `n` included.

    Returns
    -------
    Planned
        Rounded up to four digits.

    Raises
    ------
    GuaranteeUnavailable
        Where no budget is enough, because not even the exact counts have that power.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> p0, p1 = [0.25] * 4, [0.26, 0.24, 0.24, 0.26]
    >>> budget(gof_power, 0.8, p0=p0, p1=p1, n=10_000).value
    0.000855
    >>> budget(gof_power, 0.8, p0=p0, p1=p1, n=1_000)
    Traceback (most recent call last):
        ...
    holdfast.errors.GuaranteeUnavailable: no rho up to 10000 gives the power 0.8, and not even exact counts would; ...
    """
    target = arguments.probability("power", power)
    arguments.choice("spend", spend, tuple(_RANGES))
    low, high = _RANGES[spend]

    def reached(amount: float) -> bool:
        return predict(**{spend: amount}, **setting).power >= target

    if not reached(high):
        raise GuaranteeUnavailable(
            f"no {spend} up to {high:g} gives the power {target:g}, and not even exact counts would; more records are "
            "needed"
        )
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
    value = _four_digits_up(high)
    below = _four_digits_up(low)  # the last bracket may straddle a shorter number
    value = below if below < value and reached(below) else value
    return Planned(spend, value, target, predict(**{spend: value}, **setting))


def power_curve(predict: Predict, ns: Sequence[int], **setting: Any) -> list[Power]:
    """Return the power at each of the numbers of records `ns`. `power_chart` draws them.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gof_power
    >>> found = power_curve(gof_power, [1000, 10_000], p0=[0.25] * 4, p1=[0.26, 0.24, 0.24, 0.26], rho=0.00125)
    >>> [round(point.power, 3) for point in found]
    [0.073, 0.844]
    """
    return [predict(n=n, **setting) for n in ns]


def _four_digits_up(x: float) -> float:
    digits = 3 - math.floor(math.log10(x))
    return float(f"{math.ceil(x * 10.0**digits * (1 - 1e-12)) / 10.0**digits:.4g}")


Trust = Literal["central", "local", "none"]


@dataclass(frozen=True)
class Candidate:
    """One test in the table.

    Attributes
    ----------
    predicted : Power
        Its name, power, cost and how its level is known.
    trust : {"central", "local", "none"}
        "central": a curator sees the records. "local": each person randomizes. "none": not private at all, the bound
        that no private test passes.
    call : str
        How to run it.
    predict : callable
        Its power as a function of `n`; for `power_chart`.
    n_needed, budget_needed : int or float, or None
        Records for the target power with this budget, and rho or epsilon for it with these records; None where none is
        enough or it was not asked for.
    """

    predicted: Power
    trust: Trust
    call: str
    predict: Callable[..., Power] = field(repr=False, compare=False)
    n_needed: int | None = None
    budget_needed: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return self.predicted.to_dict() | {
            "trust": self.trust,
            "call": self.call,
            "n_needed": self.n_needed,
            "budget_needed": self.budget_needed,
        }


@dataclass(frozen=True)
class WhichTest:
    """A comparison of every applicable test. Central tests come first, then local ones, each kind ordered by power.

    The test without privacy is the last.

    Attributes
    ----------
    question : str
        What is tested, in words.
    candidates : tuple of Candidate
        In order.
    target : float or None
        The power that `n_needed` is for.
    left_out : tuple of (str, str)
        Tests that do not apply, with the reason.

    Examples
    --------
    >>> found = which_gof(10_000, d=4, rho=0.00125, effect=0.04)
    >>> found.recommended.predicted.power > 0.8, len(found.candidates)
    (True, 8)
    """

    question: str
    candidates: tuple[Candidate, ...]
    target: float | None
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def recommended(self) -> Candidate:
        """The first central test, which is the most powerful one."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "question": self.question,
            "recommended": self.recommended.predicted.test,
            "target": self.target,
            "tests": [candidate.to_dict() for candidate in self.candidates],
            "left_out": [{"test": name, "why": why} for name, why in self.left_out],
        }

    def __str__(self) -> str:
        lines = [self.question]
        for candidate in self.candidates:
            p = candidate.predicted
            more = "" if candidate.n_needed is None else f", power {self.target:g} from n = {candidate.n_needed}"
            lines.append(f"{candidate.trust:<8}{p.test:<50}power {p.power:.3f}, level {p.level}{more}")
        return "\n".join(lines)


def which_gof(
    n: int,
    *,
    d: int | None = None,
    p0: Any = None,
    p1: Any = None,
    effect: float = SMALL_EFFECT,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    alpha: float = 0.05,
    target: float | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> WhichTest:
    """Compare the power of every goodness-of-fit test in one setting.

    Parameters
    ----------
    n : int
        Number of records.
    d, p0
        The number of cells, for a uniform null, or the null itself.
    p1 : list, optional
        The alternative. None: the direction that is hardest to see (`worst_direction`), of size `effect`.
    effect : float
        Cohen's `w = sqrt(sum delta^2 / p0)`; .1 is small, .3 medium, .5 large.
    rho, epsilon
        Exactly one. With rho the tests have Gaussian noise, and Laplace noise of `epsilon = sqrt(2 rho)`, which is
        rho-zCDP too. With epsilon they have Laplace noise; Gaussian noise cannot promise it.
    alpha : float
        The significance level.
    target : float, optional
        Also say how many records, or what budget, each test needs for this power; some seconds.
    progress : callable, optional
        Called with a share of the work done and the test at hand.

    Examples
    --------
    >>> print(which_gof(10_000, d=4, rho=0.00125, effect=0.04))
    goodness of fit of 4 cells, n = 10000, Cohen's w = 0.04, rho = 0.00125, alpha = 0.05
    central projected GOF                                     power 0.844, level asymptotic
    central MCGOF (projected)                                 power 0.843, level exact
    ...
    none    classical GOF                                     power 0.934, level asymptotic
    """
    arguments.whole("n", n, at_least=1)
    arguments.probability("alpha", alpha)
    if p0 is None and d is None:
        raise InvalidParameter("give d, the number of cells, or p0, the probabilities under the null hypothesis")
    cells = arguments.whole("d", d, at_least=2, at_most=10_000) if p0 is None else 0
    null = np.full(cells, 1 / cells) if p0 is None else probabilities("p0", p0, d)
    law = noise_of(rho=rho, epsilon=epsilon)
    truth = alternative(null, effect, law.c(n)) if p1 is None else distribution("p1", p1)
    if truth.size != null.size:
        raise InvalidParameter(f"p1 must have one entry per cell, {null.size} in all, got {truth.size}")
    shared: dict[str, Any] = {"p0": null, "p1": truth, "alpha": alpha}
    table = _Table(n, target, progress)
    spent = {"rho": rho} if epsilon is None else {"epsilon": epsilon}
    for method in METHODS:
        if epsilon is None or method.startswith("monte-carlo"):
            table.add("central", gof_power, f"gof(..., method={method!r})", **shared, **spent, method=method)
    if epsilon is None:
        pure = _pure(law.parameter)
        call = f"gof(..., epsilon={pure:.4g})"
        table.add("central", gof_power, call, **shared, epsilon=pure, note="Laplace noise")
    else:
        table.left_out.append(("projected GOF", "its limit needs Gaussian noise, which gives zCDP and not epsilon-DP"))
    if null.size == 2 and epsilon is not None:
        table.add(
            "central", _binomial, "proportion(...)", theta0=null[0], theta1=truth[0], epsilon=epsilon, alpha=alpha
        )
    for kind in KINDS:
        if (kind == "gaussian") == (epsilon is None):
            table.add("local", local_gof_power, f"local.gof, {kind}", **shared, **spent, randomizer=kind)
    table.add("none", gof_power, "classical.gof(...)", **shared, method="classical")
    w = float(np.sqrt((np.square(truth - null) / null).sum()))
    return table.sorted(f"goodness of fit of {null.size} cells, {_words(n, w, spent, alpha)}")


def which_independence(
    n: int,
    *,
    shape: tuple[int, int] | None = None,
    p: Any = None,
    effect: float = SMALL_EFFECT,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    alpha: float = 0.05,
    target: float | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> WhichTest:
    """Compare the power of every test of independence in one setting.

    Parameters
    ----------
    n : int
        Number of records.
    shape, p
        `(r, c)` for uniform margins and a dependence of size `effect`, or the table of probabilities itself.
    effect : float
        Cohen's `w = sqrt(sum delta^2 / (rows columns))`.
    rho, epsilon, alpha, target, progress
        As in `which_gof`.

    Examples
    --------
    >>> found = which_independence(5000, shape=(2, 2), rho=0.00125, effect=0.04)
    >>> print(found.recommended.predicted)
    projected independence: power 0.598 at n = 5000, alpha 0.05 (limit); cost ZCDP(rho=0.00125)
    """
    arguments.whole("n", n, at_least=1)
    arguments.probability("alpha", alpha)
    if p is None and shape is None:
        raise InvalidParameter("give shape, the numbers of rows and columns, or p, a table of probabilities")
    if p is None:
        assert shape is not None
        try:
            r, c = (arguments.whole("shape", size, at_least=2, at_most=100) for size in shape)
        except (TypeError, ValueError):
            raise InvalidParameter("shape must be a pair (r, c) of whole numbers from 2 to 100") from None
        p = dependent_table(np.full(r, 1 / r), np.full(c, 1 / c), effect)
    truth = distribution("p", p).reshape(np.shape(p))
    if truth.ndim != 2 or min(truth.shape) < 2:
        raise InvalidParameter(f"p must be a table of at least 2 by 2 probabilities, got shape {truth.shape}")
    law = noise_of(rho=rho, epsilon=epsilon)
    table = _Table(n, target, progress)
    spent = {"rho": rho} if epsilon is None else {"epsilon": epsilon}
    for method in INDEPENDENCE_METHODS:
        if epsilon is None or method.startswith("monte-carlo"):
            call = f"independence(..., method={method!r})"
            table.add("central", independence_power, call, p=truth, alpha=alpha, **spent, method=method)
    if epsilon is None:
        pure = _pure(law.parameter)
        call = f"independence(..., epsilon={pure:.4g})"
        table.add("central", independence_power, call, p=truth, alpha=alpha, epsilon=pure, note="Laplace noise")
    else:
        why = "its limit needs Gaussian noise, which gives zCDP and not epsilon-DP"
        table.left_out.append(("projected independence", why))
    for kind in KINDS:
        if (kind == "gaussian") == (epsilon is None):
            call = f"local.independence, {kind}"
            table.add("local", local_independence_power, call, p=truth, alpha=alpha, **spent, randomizer=kind)
    table.add("none", independence_power, "classical.independence(...)", p=truth, alpha=alpha, method="classical")
    product = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    w = float(np.sqrt((np.square(truth - product) / product).sum()))
    return table.sorted(f"independence in a {truth.shape[0]} by {truth.shape[1]} table, {_words(n, w, spent, alpha)}")


class _Table:
    """Collects candidates; a test that does not apply is left out with its reason."""

    def __init__(self, n: int, target: float | None, progress: Callable[[float, str], None] | None) -> None:
        self.report = progress or (lambda done, what: None)
        self.n = arguments.whole("n", n, at_least=1)
        self.target = None if target is None else arguments.probability("target", target)
        self.found: list[Candidate] = []
        self.left_out: list[tuple[str, str]] = []

    def add(self, trust: Trust, predict: Callable[..., Power], call: str, note: str = "", **setting: Any) -> None:
        self.report(1 - 0.85 ** (len(self.found) + len(self.left_out)), call)
        try:
            power = predict(n=self.n, **setting)
        except HoldfastError as error:
            self.left_out.append((call, str(error)))
            return
        if note:
            power = replace(power, test=f"{power.test}, {note}")
        needed = spent = None
        if self.target is not None:
            needed = _or_none(partial(sample_size, predict, self.target, **setting))
            for name in ("rho", "epsilon"):
                if name in setting and not note:
                    others = {key: value for key, value in setting.items() if key != name}
                    spent = _or_none(partial(budget, predict, self.target, spend=name, n=self.n, **others))
        at = partial(predict, **setting)
        self.found.append(Candidate(power, trust, call, at, None if needed is None else int(needed), spent))

    def sorted(self, question: str) -> WhichTest:
        order = {"central": 0, "local": 1, "none": 2}
        candidates = sorted(self.found, key=lambda c: (order[c.trust], -round(c.predicted.power, 6)))
        return WhichTest(question, tuple(candidates), self.target, tuple(self.left_out))


def _or_none(solve: Callable[[], Planned]) -> float | None:
    try:
        return solve().value
    except GuaranteeUnavailable:
        return None


def _binomial(n: int, theta0: float, theta1: float, epsilon: Rational, alpha: float) -> Power:
    from holdfast.accounting.costs import PureDP

    power = binomial_power(n, theta0, theta1, epsilon=epsilon, alpha=alpha)
    return Power("binomial (two-sided)", power, n, alpha, PureDP(float(epsilon)), None, "exact", "exact")


def _pure(rho: Any) -> float:
    """The epsilon whose pure guarantee implies rho-zCDP."""
    return float(np.sqrt(2 * float(rho)))


def _words(n: int, w: float, spent: dict[str, Any], alpha: float) -> str:
    (name, amount), *_ = spent.items()
    return f"n = {n}, Cohen's w = {w:.3g}, {name} = {float(amount):g}, alpha = {alpha:g}"
