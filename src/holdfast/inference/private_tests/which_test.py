"""Which test for me: every test that fits a setting, with its predicted power, before any record is touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import GuaranteeUnavailable, HoldfastError, InvalidParameter
from holdfast.inference.private_tests.alternatives import SMALL_EFFECT, alternative, dependent_table
from holdfast.inference.private_tests.binomial_power import power as binomial_power
from holdfast.inference.private_tests.composite_power import independence_power
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.gof_methods import METHODS
from holdfast.inference.private_tests.independence_methods import INDEPENDENCE_METHODS
from holdfast.inference.private_tests.local.channel import KINDS
from holdfast.inference.private_tests.local_power import local_gof_power, local_independence_power
from holdfast.inference.private_tests.noise_law import noise_of
from holdfast.inference.private_tests.planning import Planned, budget, sample_size
from holdfast.inference.private_tests.power import Power, distribution, gof_power
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]
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
        """Plain data for JSON."""
        return self.predicted.to_dict() | {
            "trust": self.trust,
            "call": self.call,
            "n_needed": self.n_needed,
            "budget_needed": self.budget_needed,
        }


@dataclass(frozen=True)
class WhichTest:
    """Every applicable test, most powerful first within central and local; the non-private one last.

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
        """The first central test: the most powerful one."""
        return self.candidates[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "question": self.question,
            "recommended": self.recommended.predicted.test,
            "target": self.target,
            "tests": [candidate.to_dict() for candidate in self.candidates],
            "left_out": [{"test": name, "why": why} for name, why in self.left_out],
        }

    def __str__(self) -> str:
        lines = [self.question]
        for found in self.candidates:
            p = found.predicted
            more = "" if found.n_needed is None else f", power {self.target:g} from n = {found.n_needed}"
            lines.append(f"{found.trust:<8}{p.test:<50}power {p.power:.3f}, level {p.level}{more}")
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
    """Compare every goodness-of-fit test for one setting.

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
        The level.
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
    check.whole("n", n, at_least=1)
    check.probability("alpha", alpha)
    if p0 is None and d is None:
        raise InvalidParameter("give d, the number of cells, or p0, the null probabilities")
    cells = check.whole("d", d, at_least=2, at_most=10_000) if p0 is None else 0
    null = np.full(cells, 1 / cells) if p0 is None else probabilities("p0", p0, d)
    law = noise_of(rho=rho, epsilon=epsilon)
    truth = alternative(null, effect, law.c(n)) if p1 is None else distribution("p1", p1)
    if truth.size != null.size:
        raise InvalidParameter(f"p1 must have one entry a cell, {null.size} in all, got {truth.size}")
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
    """Compare every test of independence for one setting.

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
    check.whole("n", n, at_least=1)
    check.probability("alpha", alpha)
    if p is None and shape is None:
        raise InvalidParameter("give shape, the numbers of rows and columns, or p, a table of probabilities")
    if p is None:
        assert shape is not None
        try:
            r, c = (check.whole("shape", size, at_least=2, at_most=100) for size in shape)
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
        self.n = check.whole("n", n, at_least=1)
        self.target = None if target is None else check.probability("target", target)
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
        found = sorted(self.found, key=lambda c: (order[c.trust], -round(c.predicted.power, 6)))
        return WhichTest(question, tuple(found), self.target, tuple(self.left_out))


def _or_none(solve: Callable[[], Planned]) -> float | None:
    try:
        return solve().value
    except GuaranteeUnavailable:
        return None


def _binomial(n: int, theta0: float, theta1: float, epsilon: Rational, alpha: float) -> Power:
    from holdfast.accounting.costs import PureDP

    found = binomial_power(n, theta0, theta1, epsilon=epsilon, alpha=alpha)
    return Power("binomial (two-sided)", found, n, alpha, PureDP(float(epsilon)), None, "exact", "exact")


def _pure(rho: Any) -> float:
    """The epsilon whose pure guarantee implies rho-zCDP."""
    return float(np.sqrt(2 * float(rho)))


def _words(n: int, w: float, spent: dict[str, Any], alpha: float) -> str:
    (name, amount), *_ = spent.items()
    return f"n = {n}, Cohen's w = {w:.3g}, {name} = {float(amount):g}, alpha = {alpha:g}"


__all__ = [
    "Candidate",
    "WhichTest",
    "which_gof",
    "which_independence",
]
