"""Posterior sensitivity: Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld 2020, and a sharper form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from holdfast import check
from holdfast.bounds.conversions import pure_to_zcdp, zcdp_to_dp
from holdfast.bounds.exact import up
from holdfast.bounds.interval.privacy import noise_bound, run_delta, start_sigma
from holdfast.bounds.interval.width import Noise, Width, door
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise


def posterior_gap(epsilon: float, method: Literal["best", "paper"] = "best") -> float:
    """How far an (epsilon, 0)-private transcript can move a row's posterior mean: `tanh(eps/4)`, printed `e^eps - 1`.

    **Statement.** Rows independent and identically distributed, a transcript that is (eps, delta)-private, [0,1]-valued
    questions that are functions of it. With `pi` the posterior of a random row given the transcript and any `d > 0`,
    `P[max_j |pi(q_j) - D(q_j)| > tanh(eps/4) + d] <= delta/d`.

    **Proof** (found in review, re-derived here). Let `w` be the transcript, `K_x` its law given that row `i` is `x`,
    and `h_w` the worst question or one minus it, so that its gap `g = pi(h_w) - D(h_w)` is not negative. On a set
    `A` of transcripts put `f(w, x) = h_w(x)`, elsewhere 0. With `x, x'` independent from `D`,

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
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "exact", "paper"] = "best",
) -> Width:
    """Half-width `sigma q + gap(eps) + excess`, least over noise scale, privacy level and sample failure.

    Write `a - q(D) = (a - E[q(X)|w]) + (E[q(X)|w] - q(D))`. All k noises are within `sigma q` with probability
    `1 - b`; given the transcript the first bracket is then at most `sigma q + c` except with probability `b/c`
    (Markov, answers clipped so that no error exceeds 1). The second is the posterior gap of `posterior_gap`. The best
    `c` and `d` give

    - *best*: `sigma q(b) + tanh(eps/4) + (sqrt(b) + sqrt(delta))^2 / beta`;
    - *exact*: `sigma q(b) + e^eps - 1 + (sqrt(b) + sqrt(2 delta))^2 / beta`, the published transfer theorem with the
      exact privacy curve;
    - *paper*: the same with the thesis's zCDP conversion of epsilon.

    The published statement was re-proved; its constants are quoted from secondary sources.

    Parameters
    ----------
    n : int
        Rows in the sample.
    questions : int
        Number of adaptive questions, fixed in advance.
    beta : float
        Probability that any answer is off by more than the half-width.
    noise : str
        "gaussian" or "laplace".
    method : str
        "best", "exact" or "paper"; all three hold.

    Returns
    -------
    Width
        With `clip` True. Time: tens of ms.

    Examples
    --------
    >>> round(jung(6400, 640, 0.05).value, 8)
    0.24547188
    >>> round(jung(6400, 640, 0.05, method="exact").value, 8)
    0.47829887
    """
    n, questions, beta = door(n, questions, beta, noise)
    variant = check.choice("method", method, ("best", "exact", "paper"))
    twice, printed = (1.0, False) if variant == "best" else (2.0, True)

    def width(sigma: float, epsilon: float, delta: float, failure: float) -> float:
        gap = posterior_gap(epsilon, "paper" if printed else "best")
        excess = (math.sqrt(failure) + math.sqrt(twice * delta)) ** 2 / beta
        return sigma * noise_bound(questions, failure, noise) + gap + excess

    def unpack(x: Sequence[float]) -> tuple[float, float, float, float]:
        sigma, failure = math.exp(x[0]), math.exp(x[1])
        if variant == "paper":
            delta = math.exp(x[2])
            rho = questions * (0.5 / (n * sigma) ** 2 if noise == "gaussian" else pure_to_zcdp(1 / (n * sigma)))
            return sigma, zcdp_to_dp(rho, delta, method="paper"), delta, failure
        epsilon = math.exp(x[2])
        return sigma, epsilon, run_delta(n, questions, sigma, noise)(epsilon), failure

    sigma = start_sigma(n, questions, noise) * (1.5 if printed else 1.0)
    mu = math.sqrt(questions) / (n * sigma)
    small = math.log(beta * 1e-3 * min(1.0, sigma))
    third = small - 1 if variant == "paper" else math.log(5 * mu + mu * mu / 2)
    tau, point = minimise(lambda x: width(*unpack(x)), [[math.log(sigma), small, third]])
    sigma, epsilon, delta, failure = unpack(point)
    tuning = {"epsilon": epsilon, "delta": delta, "sample_failure": failure}
    return Width(
        up(tau, 16),
        sigma,
        noise,
        "interval.jung",
        variant,
        n,
        questions,
        beta,
        clip=True,
        assumption="rows i.i.d.; questions, beta and noise fixed before the first answer; answers clipped to [0, 1]",
        tuning=tuning,
    )


__all__ = ["jung", "posterior_gap"]
