"""Mutual information by data processing on the bad event itself: no second moment, no Chebyshev."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.maxima import normal_quantile
from holdfast.bounds.interval.mutual_information import Information, information_sigma
from holdfast.bounds.interval.width import Noise, Width, door, gaussian_only
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import minimise


def shift_by_divergence(n: int, nats: float, beta: float) -> float:
    """How far a choice of information `nats` among [0,1] means is off with probability at most `beta`.

    Under independence the event has probability `p <= 2 exp(-2 n t^2)`; its probability `P` under the joint law obeys
    `kl(P || p) <= B`, and `kl` rises in `P` above `p`. So `t = sqrt(ln(2/p)/(2n))` with `p < beta` the solution of
    `kl(beta || p) = B`.

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
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "paper"] = "best",
) -> Width:
    """Half-width `t1 + sigma q`: `t1` by `shift_by_divergence` at `b1`, `q` the exact noise quantile at `b2`.

    The monitor's question `q*` is a function of the answers (the population is a constant), so `I(X; q*) <= B` for all
    k adaptive rounds together. Under the product law `q*` is independent of the rows and Hoeffding applies. Then
    `max_j |q_j(D) - a_j| = |q*(D) - a*| <= t1 + max_j |noise_j|` with probability `1 - b1 - b2`. The width is the
    least over `B` and the split `b1 + b2 = beta`. Reviewed.

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
        "best" with `B = k/(8 n sigma^2)`; "paper" with the zCDP value `k/(2 n sigma^2)` of the thesis.

    Returns
    -------
    Width
        Time: about 10 ms.

    Examples
    --------
    >>> round(russo_zou_kl(100_000, 1000, 0.05).value, 11)
    0.08273836201
    >>> round(russo_zou_kl(6400, 640, 0.05, method="paper").value, 10)
    0.4089368075
    """
    n, questions, beta = door(n, questions, beta, noise)
    gaussian_only("interval.russo-zou-kl", noise)
    variant = check.choice("method", method, ("best", "paper"))
    known: Information = "zcdp" if variant == "paper" else "quarter"

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
        variant,
        n,
        questions,
        beta,
        tuning={"information_nats": nats, "shift_share": 1 / (1 + math.exp(-logit))},
    )


__all__ = ["russo_zou_kl", "shift_by_divergence"]
