"""Widths from mutual information: Russo and Zou, with the monitor of the thesis, and Xu and Raginsky."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.maxima import normal_quantile
from holdfast.bounds.interval.width import Noise, Width, door, gaussian_only
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise

Information = Literal["quarter", "zcdp"]


def information_nats(n: int, questions: int, sigma: float, information: Information = "quarter") -> float:
    """Mutual information between the rows and `questions` Gaussian answers, an upper bound in nats.

    *zcdp*: `k/(2 n sigma^2)`; each answer is `1/(2 n^2 sigma^2)`-zCDP and `rho`-zCDP bounds the information by
    `rho n` (thesis, Lemma 3.4.4). *quarter*: `k/(8 n sigma^2)`.

    *Proof of the quarter form* (re-derived for this library). Rows independent, so
    `I(X; a) <= sum_i I(X_i; a | X_{-i})`. By the chain rule over the answers, each term is a sum of
    `I(X_i; a_j | a_{<j}, coins, X_{-i})`, and given all of `X`, the coins and the past, `a_j` is
    `N(phi_j(X), sigma^2)`. A conditional mutual information is at most the expected divergence to any reference law
    that does not see `X_i`. Take `N(m, sigma^2)` with `m` the mean of `phi_j` when row `i` scores 1/2: the two means
    differ by at most `1/(2n)`, so the divergence is at most `1/(8 n^2 sigma^2)`. Sum over rows and answers.

    Examples
    --------
    >>> information_nats(1000, 16, 0.125), information_nats(1000, 16, 0.125, "zcdp")
    (0.128, 0.512)
    """
    share = 1.0 if information == "zcdp" else 0.25
    return share * questions / (2 * n * sigma * sigma)


def information_sigma(n: int, questions: int, nats: float, information: Information) -> float:
    """The deviation at which `information_nats` equals `nats`."""
    share = 1.0 if information == "zcdp" else 0.25
    return math.sqrt(share * questions / (2 * n * nats))


def second_moment_factor(nats: float) -> float:
    """`F(B)`: among `s`-sub-Gaussian means a choice of information `B` has `E (q(X) - q(D))^2 <= s^2 F(B)`.

    `F(B) = min_{0<l<1} (2B - ln(1-l))/l`, from the Donsker-Varadhan inequality with `exp(l y^2/(2 s^2))`; the minimum
    is the root `w > 1` of `w - ln w = 1 + 2B`, that is `-W_{-1}(-exp(-1-2B))`, and `F(0) = 1`.

    Examples
    --------
    >>> round(second_moment_factor(17), 8), round(second_moment_factor(0.5), 9), second_moment_factor(0)
    (38.65466753, 3.146193221, 1.0)
    """
    nats = check.real("nats", nats, at_least=0)
    if nats == 0:
        return 1.0
    # w = 1 + x with x - log1p(x) = 2B: convex in x, so Newton descends to the root from any point right of it.
    x = 2 * nats + math.log1p(2 * nats) + 2 * math.sqrt(nats)
    for _ in range(100):
        step = (x - math.log1p(x) - 2 * nats) * (1 + x) / x
        x -= step
        if abs(step) <= 1e-15 * x:
            break
    return 1.0 + x


def printed_moment_factor(nats: float) -> float:
    """`G(B) = (2B + ln B) B/(B - 1)`, the thesis's factor (Theorem 3.4.2), for `B > 1`; `F` at `l = 1 - 1/B`.

    Examples
    --------
    >>> round(printed_moment_factor(17), 8)
    39.13528918
    """
    nats = check.real("nats", nats, above=1)
    return (2 * nats + math.log(nats)) * nats / (nats - 1)


#: Where `G` is least: the root of `2B^2 - 3B - 1 = ln B`. `G` there is 9.375067677534970.
_G_ARGMIN = 1.9294572349021866


@theorem(
    "interval.russo-zou",
    statement="Half-width of k adaptive means from the mutual information of Gaussian answers, by Chebyshev.",
    source="Russo and Zou 2016 with the monitor of Rogers 2017 (thesis), Theorem 3.4.1; default: best factor F and a "
    "quarter of the information",
    conditions="rows independent; k and noise fixed in advance; Gaussian noise; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def russo_zou(
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "sum", "paper"] = "best",
    information: Information | None = None,
) -> Width:
    """Half-width from mutual information `B`: second moment of the monitor's choice, then Chebyshev.

    The monitor outputs the worst question of the run; it reads the answers only, so its information about the rows is
    at most `B` (`information_nats`). Its empirical mean is off by `t` with probability at most `F(B)/(4 n t^2)`.

    - *best*: `tau = sqrt(F(B)/(4 n b1)) + sigma q`, `q` the exact `b2` quantile of the largest of `k` absolute
      normals, `b1 + b2 = beta`, least over `B` and the split.
    - *sum*: the same with `b1 = b2 = beta/2` and the sub-Gaussian tail `q = sqrt(2 ln(4k/beta))`.
    - *paper* (Theorem 3.4.1): the least `tau` with `tau >= sqrt(2 G(B)/(n beta))` and
      `tau >= 2 sigma sqrt(2 ln(4k/beta))`, with the zCDP information. Valid.

    The width grows like `beta^(-1/2)`: for small `beta` see `interval.jung` and `interval.posterior-shift`.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian"; Laplace noise is refused, the information bound is about Gaussian answers.
    method : str
        "best", "sum" or "paper".
    information : str
        "quarter" (default) or "zcdp" (default of method "paper"): which bound on the mutual information.

    Returns
    -------
    Width
        Time: about 10 ms; "paper" well below 1 ms.

    Examples
    --------
    >>> round(russo_zou(6400, 640, 0.05, method="paper").value, 10)
    0.4995018879
    >>> round(russo_zou(6400, 640, 0.05, information="zcdp").value, 10)
    0.4181449097
    >>> round(russo_zou(6400, 640, 0.05).value, 6)
    0.300773
    """
    n, questions, beta = door(n, questions, beta, noise)
    gaussian_only("interval.russo-zou", noise)
    variant = check.choice("method", method, ("best", "sum", "paper"))
    known: Information = information or ("zcdp" if variant == "paper" else "quarter")
    check.choice("information", known, ("quarter", "zcdp"))
    tail = math.sqrt(2 * (math.log(4 * questions) - math.log(beta)))
    share = 0.5
    if variant == "paper":
        tau, nats = _monitor(n, questions, beta, tail, known)
    else:

        def width(b: float, part: float) -> float:
            quantile = tail if variant == "sum" else normal_quantile(questions, (1 - part) * beta)
            shift = math.sqrt(second_moment_factor(b) / (4 * n * part * beta))
            return shift + information_sigma(n, questions, b, known) * quantile

        free = (
            (lambda x: width(math.exp(x[0]), 0.5))
            if variant == "sum"
            else (lambda x: width(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))))
        )
        start = [math.log(_start(questions))] + ([] if variant == "sum" else [1.0])
        tau, point = minimise(free, [start])
        nats = math.exp(point[0])
        share = 0.5 if variant == "sum" else 1 / (1 + math.exp(-point[1]))
    return Width(
        up(tau, 16),
        information_sigma(n, questions, nats, known),
        "gaussian",
        "interval.russo-zou",
        variant,
        n,
        questions,
        beta,
        tuning={"information_nats": nats, "shift_share": share},
    )


def _start(questions: int) -> float:
    """A number of nats near the usual optimum: it grows with the logarithm of k, since shift and noise balance."""
    return 1.0 + 2.0 * math.log1p(questions)


def _monitor(n: int, questions: int, beta: float, tail: float, information: Information) -> tuple[float, float]:
    """The printed program: the larger of two constraints, one rising in `B` from the least `G` on, one falling."""
    from scipy.optimize import brentq

    def shift(b: float) -> float:
        return math.sqrt(2 * printed_moment_factor(b) / (n * beta))

    def noise(b: float) -> float:
        return 2 * information_sigma(n, questions, b, information) * tail

    nats = _G_ARGMIN
    if noise(nats) > shift(nats):
        high = nats
        while noise(high) > shift(high):
            high *= 4
        nats = float(brentq(lambda b: shift(b) - noise(b), nats, high, xtol=1e-13, rtol=8.9e-16))
    return max(shift(nats), noise(nats)), nats


@theorem(
    "interval.xu-raginsky",
    statement="Half-width of k adaptive means from mutual information by the Xu-Raginsky tail.",
    source="Xu and Raginsky 2017, in the form of Rogers et al. 2020; default: a quarter of the information",
    conditions="rows independent; k and noise fixed in advance; Gaussian noise; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def xu_raginsky(
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "paper"] = "best",
) -> Width:
    """Half-width `sqrt((2/n)(2B/beta + ln(4/beta))) + sigma sqrt(2 ln(4k/beta))`, least over `B`.

    *Transfer*: for a choice of information `B` nats among [0,1] means, `P[|q(X) - q(D)| > t] <= b` when
    `n >= (2/t^2)(B/b + ln(2/b))`; used at `b = beta/2`. *Check* (ours): with `p <= 2 exp(-2 n t^2)` under
    independence, data processing gives `kl(P || p) <= B`. At `P = b` and `2 n t^2 = 4 B/b + 4 ln(2/b)` the divergence
    is at least `b ln(b/p) - b >= 4B + b (3 ln(2/b) - 1) > B`, so `P < b`: the statement holds, loosely, which is why
    `interval.russo-zou-kl` is always smaller.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian"; Laplace noise is refused.
    method : str
        "best" with `B = k/(8 n sigma^2)`; "paper" with the zCDP value, four times larger.

    Returns
    -------
    Width
        Time: a few ms.

    Examples
    --------
    >>> round(xu_raginsky(6400, 640, 0.05, method="paper").value, 10)
    0.6844148793
    """
    n, questions, beta = door(n, questions, beta, noise)
    gaussian_only("interval.xu-raginsky", noise)
    variant = check.choice("method", method, ("best", "paper"))
    known: Information = "zcdp" if variant == "paper" else "quarter"
    tail = math.sqrt(2 * (math.log(4 * questions) - math.log(beta)))

    def width(b: float) -> float:
        shift = math.sqrt(2 / n * (2 * b / beta + math.log(4 / beta)))
        return shift + information_sigma(n, questions, b, known) * tail

    tau, point = minimise(lambda x: width(math.exp(x[0])), [[math.log(_start(questions))]])
    nats = math.exp(point[0])
    sigma = information_sigma(n, questions, nats, known)
    tuning = {"information_nats": nats}
    return Width(up(tau, 16), sigma, "gaussian", "interval.xu-raginsky", variant, n, questions, beta, tuning=tuning)


__all__ = [
    "Information",
    "information_nats",
    "information_sigma",
    "printed_moment_factor",
    "russo_zou",
    "second_moment_factor",
    "xu_raginsky",
]
