"""Widths from mutual information: Russo and Zou, with the monitor of the thesis, and Xu and Raginsky."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.maxima import normal_quantile
from holdfast.bounds.numerics.search import minimise
from holdfast.bounds.parameters import MOST, Candidates, Domain, FailureProbability, Questions, Rows, Sensitivity
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee

# --- Mutual information -----------------------------------------------------------------------------------------------

Information = Literal["quarter", "zcdp"]


def information_nats(n: int, questions: int, sigma: float, information: Information = "quarter") -> float:
    """Mutual information between the rows and `questions` Gaussian answers, an upper bound in nats.

    *zcdp*: `k/(2 n sigma^2)`; each answer is `1/(2 n^2 sigma^2)`-zCDP and `rho`-zCDP bounds the information by
    `rho n` (thesis, Lemma 3.4.4). *quarter*: `k/(8 n sigma^2)`.

    *Proof of the quarter form* (re-derived for this library). Rows independent, so
    `I(X; a) <= sum_i I(X_i; a | X_{-i})`. By the chain rule over the answers, each term is a sum of
    `I(X_i; a_j | a_{<j}, coins, X_{-i})`, and given all of `X`, the coins and the past, `a_j` is
    `N(phi_j(X), sigma^2)`. A conditional mutual information is at most the expected divergence to any reference
    distribution that does not see `X_i`. Take `N(m, sigma^2)` with `m` the mean of `phi_j` when row `i` scores 1/2: the
    two means differ by at most `1/(2n)`, so the divergence is at most `1/(8 n^2 sigma^2)`. Sum over rows and answers.

    Examples
    --------
    >>> information_nats(1000, 16, 0.125), information_nats(1000, 16, 0.125, "zcdp")
    (0.128, 0.512)
    """
    share = 1.0 if information == "zcdp" else 0.25
    return share * questions / (2 * n * sigma * sigma)


def information_sigma(n: int, questions: int, nats: float, information: Information) -> float:
    """Return the deviation at which `information_nats` equals `nats`."""
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
    nats = arguments.real("nats", nats, at_least=0)
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
    nats = arguments.real("nats", nats, above=1)
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
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    method: Literal["best", "sum", "paper"] = "best",
    information: Annotated[
        Information | None, "Which bound on the mutual information; 'zcdp' is the default of method 'paper'."
    ] = None,
) -> Width:
    """Half-width of `k` adaptive means from the mutual information `B` that the answers carry about the rows.

    The method selects the form. `F` is the function of the theorem that bounds a second moment by the information:

    - *best*: `tau = sqrt(F(B)/(4 n b1)) + sigma q`, where `q` is the exact `b2` quantile of the largest of `k` absolute
      normals and `b1 + b2 = beta`. It is the smallest over `B` and over the split of `beta`.
    - *sum*: the same with `b1 = b2 = beta/2` and the sub-Gaussian tail `q = sqrt(2 ln(4k/beta))`.
    - *paper* (Theorem 3.4.1): the smallest `tau` with `tau >= sqrt(2 G(B)/(n beta))` and `tau >= 2 sigma sqrt(2
      ln(4k/beta))`, with the information of zCDP. It is valid.

    The width grows like `beta^(-1/2)`. For a small `beta` use `interval.jung` or `interval.posterior-shift`.

    Returns
    -------
    Width
        Time: about 10 ms; "paper" well below 1 ms.

    Notes
    -----
    Second moment of the monitor's choice, then Chebyshev. The monitor outputs the worst question of the run; it
    reads the answers only, so its information about the rows is at most `B` (`information_nats`). Its empirical mean
    is off by `t` with probability at most `F(B)/(4 n t^2)`.

    Examples
    --------
    >>> round(russo_zou(6400, 640, 0.05, method="paper").value, 10)
    0.4995018879
    >>> round(russo_zou(6400, 640, 0.05, information="zcdp").value, 10)
    0.4181449097
    >>> round(russo_zou(6400, 640, 0.05).value, 6)
    0.300773
    """
    gaussian_only("interval.russo-zou", noise)
    known: Information = information or ("zcdp" if method == "paper" else "quarter")
    arguments.choice("information", known, ("quarter", "zcdp"))
    tail = math.sqrt(2 * (math.log(4 * questions) - math.log(beta)))
    share = 0.5
    if method == "paper":
        tau, nats = _monitor(n, questions, beta, tail, known)
    else:

        def width(b: float, part: float) -> float:
            quantile = tail if method == "sum" else normal_quantile(questions, (1 - part) * beta)
            shift = math.sqrt(second_moment_factor(b) / (4 * n * part * beta))
            return shift + information_sigma(n, questions, b, known) * quantile

        free = (
            (lambda x: width(math.exp(x[0]), 0.5))
            if method == "sum"
            else (lambda x: width(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))))
        )
        start = [math.log(_start(questions))] + ([] if method == "sum" else [1.0])
        tau, point = minimise(free, [start])
        nats = math.exp(point[0])
        share = 0.5 if method == "sum" else 1 / (1 + math.exp(-point[1]))
    return Width(
        up(tau, 16),
        information_sigma(n, questions, nats, known),
        "gaussian",
        "interval.russo-zou",
        method,
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
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    method: Literal["best", "paper"] = "best",
) -> Width:
    """Half-width of `k` adaptive means from mutual information, in the form of Xu and Raginsky.

    It is `sqrt((2/n)(2B/beta + ln(4/beta))) + sigma sqrt(2 ln(4k/beta))`, the smallest over the information `B` that
    the answers carry about the rows. `interval.russo-zou-kl` is always smaller.

    Returns
    -------
    Width
        Time: a few ms.

    Notes
    -----
    *Transfer*: for a choice of information `B` nats among [0,1] means, `P[|q(X) - q(D)| > t] <= b` when
    `n >= (2/t^2)(B/b + ln(2/b))`; used at `b = beta/2`. *Check* (ours): with `p <= 2 exp(-2 n t^2)` under
    independence, data processing gives `kl(P || p) <= B`. At `P = b` and `2 n t^2 = 4 B/b + 4 ln(2/b)` the divergence
    is at least `b ln(b/p) - b >= 4B + b (3 ln(2/b) - 1) > B`, so `P < b`: the statement holds, loosely, which is why
    `interval.russo-zou-kl` is always smaller.

    Examples
    --------
    >>> round(xu_raginsky(6400, 640, 0.05, method="paper").value, 10)
    0.6844148793
    """
    gaussian_only("interval.xu-raginsky", noise)
    known: Information = "zcdp" if method == "paper" else "quarter"
    tail = math.sqrt(2 * (math.log(4 * questions) - math.log(beta)))

    def width(b: float) -> float:
        shift = math.sqrt(2 / n * (2 * b / beta + math.log(4 / beta)))
        return shift + information_sigma(n, questions, b, known) * tail

    tau, point = minimise(lambda x: width(math.exp(x[0])), [[math.log(_start(questions))]])
    nats = math.exp(point[0])
    sigma = information_sigma(n, questions, nats, known)
    tuning = {"information_nats": nats}
    return Width(up(tau, 16), sigma, "gaussian", "interval.xu-raginsky", method, n, questions, beta, tuning=tuning)


# --- Event divergence -------------------------------------------------------------------------------------------------
# Mutual information by data processing on the bad event itself: no second moment, no Chebyshev.


def shift_by_divergence(n: int, nats: float, beta: float) -> float:
    """Return how far a choice of information `nats` among [0,1] means is off with probability at most `beta`.

    Under independence the event has probability `p <= 2 exp(-2 n t^2)`; its probability `P` under the joint
    distribution obeys `kl(P || p) <= B`, and `kl` rises in `P` above `p`. So `t = sqrt(ln(2/p)/(2n))` with `p < beta`
    the solution of `kl(beta || p) = B`.

    Examples
    --------
    >>> round(shift_by_divergence(6400, 10.0, 0.05), 6)
    0.126449
    """
    entropy = -beta * math.log(beta) - (1 - beta) * math.log1p(-beta)
    # In y = ln(1/p) the equation is beta y - (1-beta) ln(1 - e^-y) = B + entropy: convex, and Newton from the right
    # end stays at or right of the root, which is the safe side.
    y = (nats + entropy) / beta
    for _ in range(100):
        p = math.exp(-y)
        slope = beta - (1 - beta) * p / -math.expm1(-y)
        if slope <= 0:
            break
        step = (beta * y - (1 - beta) * math.log1p(-p) - nats - entropy) / slope
        if step <= 1e-15 * y:
            break
        y -= step
    return math.sqrt((math.log(2) + y) / (2 * n))


@theorem(
    "interval.russo-zou-kl",
    statement="Half-width of k adaptive means from mutual information, by data processing for the bad event.",
    source="Holdfast: Russo-Zou's information bound with binary divergence on the bad event; proof in the docstring",
    conditions="rows independent; k and noise fixed in advance; Gaussian noise; means of [0,1] values",
    unit="half-width",
    provenance="derived",
)
def russo_zou_kl(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    method: Literal["best", "paper"] = "best",
) -> Width:
    """Half-width of `k` adaptive means from mutual information, with the divergence inverted exactly.

    It is `t1 + sigma q`, the smallest over the information `B` that the answers carry about the rows and over the split
    `b1 + b2 = beta`. `t1` bounds the error of the empirical means with failure probability `b1`
    (`shift_by_divergence`). `q` is the exact `b2` quantile of the noise.

    Returns
    -------
    Width
        Time: about 10 ms.

    Notes
    -----
    The monitor's question `q*` is a function of the answers (the population is a constant), so `I(X; q*) <= B` for all
    k adaptive rounds together. Under the product distribution `q*` is independent of the rows and Hoeffding applies.
    Then `max_j |q_j(D) - a_j| = |q*(D) - a*| <= t1 + max_j |noise_j|` with probability `1 - b1 - b2`. The width is the
    least over `B` and the split `b1 + b2 = beta`. Reviewed.

    Examples
    --------
    >>> round(russo_zou_kl(100_000, 1000, 0.05).value, 11)
    0.08273836201
    >>> round(russo_zou_kl(6400, 640, 0.05, method="paper").value, 10)
    0.4089368075
    """
    gaussian_only("interval.russo-zou-kl", noise)
    known: Information = "zcdp" if method == "paper" else "quarter"

    def width(b: float, part: float) -> float:
        quantile = normal_quantile(questions, (1 - part) * beta)
        return shift_by_divergence(n, b, part * beta) + information_sigma(n, questions, b, known) * quantile

    start = [math.log(1.0 + 2.0 * math.log1p(questions)), 1.0]
    tau, (log_nats, logit) = minimise(lambda x: width(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))), [start])
    nats = math.exp(log_nats)
    return Width(
        up(tau, 16),
        information_sigma(n, questions, nats, known),
        "gaussian",
        "interval.russo-zou-kl",
        method,
        n,
        questions,
        beta,
        tuning={"information_nats": nats, "shift_share": 1 / (1 + math.exp(-logit))},
    )


# --- Minimisation -----------------------------------------------------------------------------------------------------
# Minimisation questions: which of several candidates has the least loss, and how far from the best it can be.


@dataclass(frozen=True)
class Excess:
    """How far the chosen candidates' population losses are above the least ones, all at once, and what buys it.

    `epsilon` is the privacy parameter of each selection by the exponential mechanism.

    Examples
    --------
    >>> Excess(0.1, 0.02, 1000, 5, 10, 0.05, 0.001).value
    0.1
    """

    half_width: float
    epsilon: float
    n: int
    questions: int
    candidates: int
    beta: float
    sensitivity: float
    certified: bool = True

    @property
    def value(self) -> float:
        """The excess."""
        return self.half_width

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind it."""
        return Guarantee("interval.minimisation", self.to_dict(), "rows independent; questions fixed in number")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "value": self.half_width,
            "epsilon": self.epsilon,
            "n": self.n,
            "questions": self.questions,
            "candidates": self.candidates,
            "beta": self.beta,
            "sensitivity": self.sensitivity,
        }


@theorem(
    "interval.minimisation",
    statement="Excess population loss of k adaptive selections among T candidates by the exponential mechanism.",
    source="Holdfast: definition of Bassily et al. 2016; mutual information with a quarter of the range",
    conditions="rows independent; replacing one row moves any loss by at most c; k, T, beta fixed in advance; "
    "exponential mechanism; nothing else computed from the rows is released, unless it is charged elsewhere",
    unit="excess",
    provenance="derived",
)
def minimisation(
    n: Rows,
    questions: Questions,
    candidates: Annotated[
        Candidates, Domain("The largest number of candidates of a question.", at_least=2, at_most=MOST)
    ],
    beta: FailureProbability,
    sensitivity: Annotated[
        Sensitivity,
        Domain("How far replacing one row can move a loss; `1/n` if left out.", at_least=1e-100, at_most=1e100),
    ]
    | None = None,
) -> Excess:
    """Bound the excess population loss of `k` adaptive selections among `T` candidates.

    Question `j` asks for the candidate with the smallest loss `L_j(x; t)`. Replacing one row moves a loss by at most
    `c`. The exponential mechanism with parameter `epsilon` chooses. With probability `1 - beta` every choice has a
    population loss that exceeds the smallest one by at most

        (2c/eps) ln((T-1) k/b2) + c sqrt(2 n y),   kl(b1 || e^-y) = n k eps^2/32,   b1 + b2 = beta,

    the smallest over `eps` and the split of `beta`.

    Returns
    -------
    Excess
        Time: about 10 ms.

    Notes
    -----
    *Derivation* (ours). The first term bounds how far each choice is from the best on the sample. For the second,
    let `j*` be the worst question and `t*` its best candidate on the population: both are functions of the
    transcript, and `q = L_{j*}(.; choice) - L_{j*}(.; t*)` has sensitivity `2c`. On fresh rows it is `t` below its
    mean with probability at most `exp(-t^2/(2 n c^2))` (McDiarmid), and data processing bounds the probability on
    these rows by the information, as in `interval.russo-zou-kl`. *Information.* Given the other rows, each loss lies
    in an interval of length `c`; compare the choice with the one whose scores are the middles. Their log-ratio has a
    range of at most `eps/2`, so the divergence is at most `(eps/2)^2/8` (Hoeffding's lemma): in all `n k eps^2/32`
    nats.

    Examples
    --------
    >>> found = minimisation(100_000, 10, 50, 0.05)
    >>> round(found.value, 4)
    0.0597
    """
    c = 1 / n if sensitivity is None else sensitivity

    def excess(epsilon: float, part: float) -> float:
        nats = n * questions * epsilon * epsilon / 32
        s = shift_by_divergence(n, nats, part * beta)  # sqrt((ln 2 + y)/(2 n)); one side needs no ln 2
        shift = math.sqrt(2 * n * max(2 * n * s * s - math.log(2), 0.0))
        return 2 / epsilon * math.log((candidates - 1) * questions / ((1 - part) * beta)) + shift

    start = [0.5 * math.log(32 * (1 + math.log(questions)) / (n * questions)), 1.0]
    value, point = minimise(lambda x: excess(math.exp(x[0]), 1 / (1 + math.exp(-x[1]))), [start])
    return Excess(up(c * value, 16), math.exp(point[0]), n, questions, candidates, beta, c)
