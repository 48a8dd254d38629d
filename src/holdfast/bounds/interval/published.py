"""Widths by the published transfer theorems: Dwork et al. 2015, Bassily et al. 2016, Jung et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from scipy.special import erfcinv

from holdfast.bounds.conversions import gdp_delta, pure_to_zcdp, zcdp_delta, zcdp_to_dp
from holdfast.bounds.interval.width import Noise, Width
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.search import first_at_least, minimise
from holdfast.bounds.parameters import FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem

# --- Privacy ----------------------------------------------------------------------------------------------------------
# The privacy of a whole run of noisy means, as the transfer theorems need it.
#
# An answer is a mean of [0,1] values over `n` rows, so replacing a row moves it by at most `1/n`.


def run_delta(n: int, questions: int, sigma: float, noise: Noise) -> Callable[[float], float]:
    """Return the delta of the whole run at a given epsilon.

    Gaussian: the exact curve of `sqrt(k)/(n sigma)`-Gaussian privacy, which holds for adaptive questions at a fixed
    deviation. Laplace: each answer is `1/(n sigma)`-private, hence `e tanh(e/2)`-zCDP, and the sum converts; from
    `k e` on delta is 0. The zCDP route is never worse than advanced composition.
    """
    if noise == "gaussian":
        mu = math.sqrt(questions) / (n * sigma)
        return lambda epsilon: gdp_delta(mu, epsilon)
    each = 1 / (n * sigma)
    rho = questions * pure_to_zcdp(each)
    return lambda epsilon: 0.0 if epsilon >= questions * each * (1 + 1e-12) else zcdp_delta(rho, epsilon)


def noise_bound(questions: int, beta: float, noise: Noise) -> float:
    """A bound on all `questions` noises of unit scale that fails with probability at most `beta`, by a union bound."""
    if noise == "gaussian":
        return math.sqrt(2) * float(erfcinv(beta / questions))
    return math.log(questions / beta)


def start_sigma(n: int, questions: int, noise: Noise) -> float:
    """Return a noise scale of the right size: shift `sqrt(k)/(n sigma)` and noise `4 sigma` balance near here."""
    return math.sqrt(math.sqrt(questions) / (2 * n)) * (1.0 if noise == "gaussian" else 0.7)


# --- First transfer ---------------------------------------------------------------------------------------------------
# The first transfer theorem: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, as a program for k means.


@theorem(
    "interval.dfh",
    statement="Half-width of k adaptive means from the first privacy transfer theorem (its constants are large).",
    source="Dwork et al. 2015 as Theorem 3.2.1 of Rogers 2017 (thesis); the Gaussian program corrected",
    conditions="rows independent; k and noise fixed in advance; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def dfh(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: Noise = "gaussian",
    method: Annotated[Literal["best", "paper"], "'best' is the corrected program; 'paper' is as printed."] = "best",
) -> Width:
    """Half-width of `k` adaptive means from the transfer theorem of 2015. It is of historical interest and never the
    smallest.

    With `method="paper"` the result is the published number for Gaussian noise. It is smaller, not proved and not
    certified. For Laplace noise both methods agree.

    Returns
    -------
    Width
        Time: about 0.1 ms.

    Notes
    -----
    *Transfer.* An (eps, delta)-private choice of a mean with `tau >= sqrt((48/n) ln(4/beta))`, `eps <= tau/4` and
    `delta = exp(-4 ln(8/beta)/tau)` has `P[|phi(D) - phi(X)| >= tau] <= beta` (thesis, Theorem 3.2.1).
    *Program for k questions* (put tau/2 and beta/(2k); the other half of tau and of beta pays for noise): the least
    tau with `tau >= 2 sqrt((48/n) ln(8k/beta))` and

    - Laplace of scale `1/(n e)`: `tau >= 2 ln(2k/beta)/(n e)`,
      `tau >= 8 (e k tanh(e/2) + 4 e sqrt(k ln(16k/beta)/tau))`;
    - Gaussian of deviation `1/(n sqrt(2r))`: `tau >= (2/n) sqrt(ln(4k/beta)/r)`,
      `tau >= 8 (k r + 2 sqrt(k r (ln sqrt(pi k r) + 8 ln(16k/beta)/tau)))`.

    The thesis prints the last line without the 8 before `ln(16k/beta)/tau`; the transfer theorem at (tau/2, beta/(2k))
    needs it.

    Examples
    --------
    >>> round(dfh(6400, 640, 0.05).value, 9)
    1.739185549
    >>> round(dfh(6400, 640, 0.05, noise="laplace").value, 9)
    2.40786961
    >>> print(dfh(6400, 640, 0.05, method="paper").certified)
    False
    """
    k, size = questions, math.log(16 * questions) - math.log(beta)
    laplace_tail, gaussian_tail = math.log(2 * k) - math.log(beta), math.log(4 * k) - math.log(beta)

    def laplace(tau: float) -> bool:
        e = 2 * laplace_tail / (n * tau)
        return tau >= 8 * (e * k * math.tanh(e / 2) + 4 * e * math.sqrt(k * size / tau))

    factor = 1.0 if method == "paper" else 8.0

    def gaussian(tau: float) -> bool:
        total = k * 4 * gaussian_tail / (n * tau) ** 2
        inside = max(0.0, 0.5 * math.log(math.pi * total) + factor * size / tau)
        return tau >= 8 * (total + 2 * math.sqrt(total * inside))

    holds = laplace if noise == "laplace" else gaussian
    tau = first_at_least(lambda t: float(holds(t)), 1.0, 1e-12, 1e9)
    tau = up(max(tau, 2 * math.sqrt(48 / n * (math.log(8 * k) - math.log(beta)))), 16)
    if noise == "laplace":
        e = 2 * laplace_tail / (n * tau)
        sigma, tuning = 1 / (n * e), {"epsilon_per_question": e}
    else:
        rho = 4 * gaussian_tail / (n * tau) ** 2
        sigma, tuning = 1 / (n * math.sqrt(2 * rho)), {"rho_per_question": rho}
    certified = method == "best" or noise == "laplace"
    return Width(tau, sigma, noise, "interval.dfh", method, n, k, beta, certified=certified, tuning=tuning)


# --- Posterior sensitivity --------------------------------------------------------------------------------------------
# Posterior sensitivity: Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld 2020, and a sharper form.


def posterior_gap(epsilon: float, method: Literal["best", "paper"] = "best") -> float:
    """How far an (epsilon, 0)-private transcript can move a row's posterior mean: `tanh(eps/4)`, printed `e^eps - 1`.

    **Statement.** Rows independent and identically distributed, a transcript that is (eps, delta)-private, [0,1]-valued
    questions that are functions of it. With `pi` the posterior of a random row given the transcript and any `d > 0`,
    `P[max_j |pi(q_j) - D(q_j)| > tanh(eps/4) + d] <= delta/d`.

    **Proof** (found in review, re-derived here). Let `w` be the transcript, `K_x` its distribution given that row `i`
    is `x`, and `h_w` the worst question or one minus it, so that its gap `g = pi(h_w) - D(h_w)` is not negative. On a
    set `A` of transcripts put `f(w, x) = h_w(x)`, elsewhere 0. With `x, x'` independent from `D`,

        E_joint f - E_product f = (1/2) E sum_w (K_x - K_x')(f_x - f_x').

    Collect the terms where `f` and `K` go the same way in `s` and the others in `s'`. Privacy gives
    `s <= e^eps s' + 2 delta`, that is `s - s' <= t (s + s') + 2 (1 - t) delta` with `t = tanh(eps/2)`. Since
    `|f - f'| <= f (1 - f') + f' (1 - f)`, averaging leaves, with `r = 1 - 2 D(h_w)`,

        sum_{w in A} P(w) [g (1 - t r) - t (1 - r^2)/2] <= (1 - t) delta.        (*)

    It is linear in `g`, so it also holds for the average over rows. The largest value of `t (1 - r^2)/(2 (1 - t r))`
    over `r` is `u = tanh(eps/4)`, at `r = u`. So on `A = {g > u + d}` every bracket is at least `d (1 - t)`. QED.
    A linear program over all mechanisms on one and two binary rows finds no violation, and for `delta = 0` the
    constant is attained (tests).

    Examples
    --------
    >>> round(posterior_gap(0.4), 6), round(posterior_gap(0.4, "paper"), 6)
    (0.099668, 0.491825)
    """
    return math.tanh(epsilon / 4) if method == "best" else math.expm1(epsilon)


@theorem(
    "interval.jung",
    statement="Half-width of k adaptive means from privacy by posterior sensitivity.",
    source="Jung et al. 2020 (transfer theorem), re-proved; default with the sharper posterior gap tanh(eps/4)",
    conditions="rows i.i.d.; k and noise fixed in advance; answers clipped to [0,1]; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def jung(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: Noise = "gaussian",
    method: Literal["best", "exact", "paper"] = "best",
) -> Width:
    """Half-width of `k` adaptive means from privacy, by the posterior sensitivity of Jung and others.

    It is `sigma q + gap(eps) + excess`, the smallest over the noise scale `sigma`, the privacy level `eps` and the
    failure probability `b` of the sample. `q(b)` bounds the largest of the `k` noises except with probability `b`. The
    method selects the other two terms:

    - *best*: `sigma q(b) + tanh(eps/4) + (sqrt(b) + sqrt(delta))^2 / beta`.
    - *exact*: `sigma q(b) + e^eps - 1 + (sqrt(b) + sqrt(2 delta))^2 / beta`, the published transfer theorem with the
      exact privacy curve.
    - *paper*: the same with the thesis's zCDP conversion of epsilon.

    Returns
    -------
    Width
        With `clip` True. Time: tens of ms.

    Notes
    -----
    Write `a - q(D) = (a - E[q(X)|w]) + (E[q(X)|w] - q(D))`. All k noises are within `sigma q` with probability `1 -
    b`; given the transcript the first bracket is then at most `sigma q + c` except with probability `b/c` (Markov,
    answers clipped so that no error exceeds 1). The second is the posterior gap of `posterior_gap`. The best `c` and
    `d` give *best*.

    The published statement was re-proved; its constants are quoted from secondary sources.

    Examples
    --------
    >>> round(jung(6400, 640, 0.05).value, 8)
    0.24547188
    >>> round(jung(6400, 640, 0.05, method="exact").value, 8)
    0.47829887
    """
    twice, printed = (1.0, False) if method == "best" else (2.0, True)

    def width(sigma: float, epsilon: float, delta: float, failure: float) -> float:
        gap = posterior_gap(epsilon, "paper" if printed else "best")
        excess = (math.sqrt(failure) + math.sqrt(twice * delta)) ** 2 / beta
        return sigma * noise_bound(questions, failure, noise) + gap + excess

    def unpack(x: Sequence[float]) -> tuple[float, float, float, float]:
        sigma, failure = math.exp(x[0]), math.exp(x[1])
        if method == "paper":
            delta = math.exp(x[2])
            rho = questions * (0.5 / (n * sigma) ** 2 if noise == "gaussian" else pure_to_zcdp(1 / (n * sigma)))
            return sigma, zcdp_to_dp(rho, delta, method="paper"), delta, failure
        epsilon = math.exp(x[2])
        return sigma, epsilon, run_delta(n, questions, sigma, noise)(epsilon), failure

    sigma = start_sigma(n, questions, noise) * (1.5 if printed else 1.0)
    mu = math.sqrt(questions) / (n * sigma)
    small = math.log(beta * 1e-3 * min(1.0, sigma))
    third = small - 1 if method == "paper" else math.log(5 * mu + mu * mu / 2)
    tau, point = minimise(lambda x: width(*unpack(x)), [[math.log(sigma), small, third]])
    sigma, epsilon, delta, failure = unpack(point)
    tuning = {"epsilon": epsilon, "delta": delta, "sample_failure": failure}
    return Width(
        up(tau, 16),
        sigma,
        noise,
        "interval.jung",
        method,
        n,
        questions,
        beta,
        clip=True,
        assumption="rows i.i.d.; questions, beta and noise fixed before the first answer; answers clipped to [0, 1]",
        tuning=tuning,
    )


# --- Extended monitor -------------------------------------------------------------------------------------------------
# The extended monitor: Bassily, Nissim, Smith, Steinke, Stemmer, Ullman 2016, as the thesis's appendix states it.

Point = tuple[float, ...]


@theorem(
    "interval.bns",
    statement="Half-width of k adaptive means from privacy by the extended monitor over s copies of the data.",
    source="Bassily et al. 2016, as (A.1) of Rogers 2017 (thesis), appendix A.2; default: all parameters free, gap "
    "tanh(eps/4)",
    conditions="rows i.i.d.; k and noise fixed in advance; answers clipped to [0,1]; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def bns(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: Noise = "gaussian",
    method: Literal["best", "optimised", "paper"] = "best",
) -> Width:
    """Half-width of `k` adaptive means from differential privacy, by an argument about `s` independent copies of the
    data.

    The half-width is a numerator divided by `1 - (1-beta)^s`, minimised over the free numbers. In the numerator `eps`
    and `delta` are the privacy of all answers, `sigma` is the noise scale, and `sigma q(b)` bounds the largest noise
    except with probability `b`. The method selects the numerator:

    - *paper*: that of (A.1) in the thesis, with `s = floor(1/beta)`.
    - *optimised*: `sigma q(b) + 2 s b + e^eps - 1 + s delta`, with the sub-Gaussian `q(b) = sqrt(2 ln(2k/b))`.
    - *best*: `sigma q(b) + s b + tanh(eps/4) + s delta`, with the exact tail of one normal in `q`.

    In the last two `s`, `b`, `sigma` and the point of the exact privacy curve are free.

    Returns
    -------
    Width
        With `clip` True. Time: a few tenths of a second; "paper" tens of ms.

    Notes
    -----
    Run the whole interaction on `s` independent copies and take the worst error of all. If one run fails with
    probability above `beta`, this worst error has mean above `tau (1 - (1-beta)^s)`. Its mean is also at most the
    sample error plus the gap that privacy allows, so the bound holds for every whole `s >= 1`, every sample failure
    `b` and every (eps, delta) of the run.

    *paper*, (A.1) with `b = delta/2`: the numerator is `e^eps - 1 + 2 s delta` plus `ln(2k/delta)/(n e)` for Laplace
    noise of scale `1/(n e)` with `eps = k e tanh(e/2) + e sqrt(2 k ln(1/delta))`, or plus `sqrt(ln(4k/delta)/r)/n` for
    Gaussian noise of deviation `1/(n sqrt(2r))` with `eps = k r + 2 sqrt(k r ln(sqrt(pi k r)/delta))`. The thesis's
    main text prints other logarithms, which are too small; only the appendix form is offered.

    *Why the last holds* (re-derived): with clipped answers a failed sample costs at most 1, once, hence `s b`. For the
    gap, apply (*) of `posterior_sensitivity.posterior_gap` to each copy `t` and the transcripts that pick it, keeping
    those whose gap exceeds `u = tanh(eps/4)` by some `e_w > 0`. Summed over copies, `(1 - tanh(eps/2)) sum P(w) e_w <=
    s (1 - tanh(eps/2)) delta`, so the mean gap is at most `u + s delta`.

    Examples
    --------
    >>> round(bns(6400, 640, 0.05, method="paper").value, 9)
    0.908171401
    >>> round(bns(6400, 640, 0.05, noise="laplace", method="paper").value, 8)
    1.61843279
    """
    if method == "paper":
        tau, sigma, tuning = _paper(n, questions, beta, noise)
    else:
        tau, sigma, tuning = _free(n, questions, beta, noise, sharp=method == "best")
    return Width(
        up(tau, 16),
        sigma,
        noise,
        "interval.bns",
        method,
        n,
        questions,
        beta,
        clip=True,
        assumption="rows i.i.d.; questions, beta and noise fixed before the first answer; answers clipped to [0, 1]",
        tuning=tuning,
    )


def _chance(beta: float, copies: int) -> float:
    """`1 - (1-beta)^s`, the probability that at least one of `s` runs fails."""
    return -math.expm1(copies * math.log1p(-beta))


def _paper(n: int, k: int, beta: float, noise: Noise) -> tuple[float, float, dict[str, float]]:
    copies = math.floor(1 / beta)
    chance = _chance(beta, copies)

    def laplace(x: Sequence[float]) -> float:
        e, delta = math.exp(x[0]), math.exp(x[1])
        epsilon = e * k * math.tanh(e / 2) + e * math.sqrt(2 * k * -math.log(delta))
        return math.expm1(epsilon) + 2 * copies * delta + math.log(2 * k / delta) / (e * n)

    def gaussian(x: Sequence[float]) -> float:
        r, delta = math.exp(x[0]), math.exp(x[1])
        inside = max(0.0, 0.5 * math.log(math.pi * k * r) - math.log(delta))
        epsilon = k * r + 2 * math.sqrt(k * r * inside)
        return math.expm1(epsilon) + 2 * copies * delta + math.sqrt(math.log(4 * k / delta) / r) / n

    first = math.log(1 / (n * math.sqrt(k)))
    starts = [[first, math.log(1e-3 * beta)], [math.log(1e-8), math.log(1e-6)]]
    bracket, (log_each, log_delta) = minimise(laplace if noise == "laplace" else gaussian, starts)
    each = math.exp(log_each)
    sigma = 1 / (n * each) if noise == "laplace" else 1 / (n * math.sqrt(2 * each))
    name = "epsilon_per_question" if noise == "laplace" else "rho_per_question"
    return bracket / chance, sigma, {"copies": copies, "delta": math.exp(log_delta), name: each}


def _free(n: int, k: int, beta: float, noise: Noise, *, sharp: bool) -> tuple[float, float, dict[str, float]]:
    def numerator(copies: int) -> Callable[[Sequence[float]], float]:
        def of(x: Sequence[float]) -> float:
            sigma, failure, epsilon = math.exp(x[0]), math.exp(x[1]), math.exp(x[2])
            delta = run_delta(n, k, sigma, noise)(epsilon)
            gap = posterior_gap(epsilon, "best" if sharp else "paper")
            if sharp or noise == "laplace":
                quantile = noise_bound(k, failure, noise)
            else:
                quantile = math.sqrt(2 * math.log(2 * k / failure))
            return sigma * quantile + (1 if sharp else 2) * copies * failure + gap + copies * delta

        return of

    sigma = start_sigma(n, k, noise) * (1.0 if sharp else 1.5)
    mu = math.sqrt(k) / (n * sigma)
    known: dict[int, tuple[float, Point]] = {}
    latest: Point = (math.log(sigma), math.log(beta * 1e-3 * min(1.0, sigma)), math.log(5 * mu + mu * mu / 2))

    def at(copies: int) -> float:
        nonlocal latest
        if copies not in known:
            value, latest = minimise(numerator(copies), [latest], tolerance=1e-11, restarts=0)
            known[copies] = (value / _chance(beta, copies), latest)
        return known[copies][0]

    copies = _best_copies(at, math.ceil(4 / beta))
    value, point = minimise(numerator(copies), [known[copies][1]])
    tau = min(value / _chance(beta, copies), known[copies][0])
    sigma, failure, epsilon = (math.exp(v) for v in point)
    tuning = {
        "copies": copies,
        "epsilon": epsilon,
        "delta": run_delta(n, k, sigma, noise)(epsilon),
        "sample_failure": failure,
    }
    return tau, sigma, tuning


def _best_copies(at: Callable[[int], float], start: int) -> int:
    """A whole number near the least value: steps that shrink from a factor of 1.5 to about 1%.

    Around the optimum the width is flat to second order, so a finer search would change the seventh digit.
    """
    copies, factor = max(1, start), 1.5
    while factor > 1.005:
        for other in (math.ceil(copies * factor), max(1, math.floor(copies / factor))):
            if other != copies and at(other) < at(copies):
                copies = other
                break
        else:
            factor = math.sqrt(factor)
    return copies
