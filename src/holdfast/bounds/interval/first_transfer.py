"""The first transfer theorem: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, as a program for k means."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.interval.width import Noise, Width, door
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least


@theorem(
    "interval.dfh",
    statement="Half-width of k adaptive means from the first privacy transfer theorem (its constants are large).",
    source="Dwork et al. 2015 as Theorem 3.2.1 of Rogers 2017 (thesis); the Gaussian program corrected",
    conditions="rows independent; k and noise fixed in advance; means of [0,1] values",
    unit="half-width",
    provenance="mixed",
)
def dfh(
    n: int,
    questions: int,
    beta: float,
    noise: Noise = "gaussian",
    method: Literal["best", "paper"] = "best",
) -> Width:
    """Half-width from the transfer theorem of 2015: of historical interest, never the smallest.

    *Transfer.* An (eps, delta)-private choice of a mean with `tau >= sqrt((48/n) ln(4/beta))`, `eps <= tau/4` and
    `delta = exp(-4 ln(8/beta)/tau)` has `P[|phi(D) - phi(X)| >= tau] <= beta` (thesis, Theorem 3.2.1).
    *Program for k questions* (put tau/2 and beta/(2k); the other half of tau and of beta pays for noise): the least
    tau with `tau >= 2 sqrt((48/n) ln(8k/beta))` and

    - Laplace of scale `1/(n e)`: `tau >= 2 ln(2k/beta)/(n e)`,
      `tau >= 8 (e k tanh(e/2) + 4 e sqrt(k ln(16k/beta)/tau))`;
    - Gaussian of deviation `1/(n sqrt(2r))`: `tau >= (2/n) sqrt(ln(4k/beta)/r)`,
      `tau >= 8 (k r + 2 sqrt(k r (ln sqrt(pi k r) + 8 ln(16k/beta)/tau)))`.

    The thesis prints the last line without the 8 before `ln(16k/beta)/tau`; the transfer theorem at (tau/2, beta/(2k))
    needs it. `method="paper"` gives that smaller, unproved number, not certified. For Laplace noise both methods agree.

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
        "best" the corrected program; "paper" as printed (Gaussian: not certified).

    Returns
    -------
    Width
        Time: about 0.1 ms.

    Examples
    --------
    >>> round(dfh(6400, 640, 0.05).value, 9)
    1.739185549
    >>> round(dfh(6400, 640, 0.05, noise="laplace").value, 9)
    2.40786961
    >>> print(dfh(6400, 640, 0.05, method="paper").certified)
    False
    """
    n, questions, beta = door(n, questions, beta, noise)
    variant = check.choice("method", method, ("best", "paper"))
    k, size = questions, math.log(16 * questions) - math.log(beta)
    laplace_tail, gaussian_tail = math.log(2 * k) - math.log(beta), math.log(4 * k) - math.log(beta)

    def laplace(tau: float) -> bool:
        e = 2 * laplace_tail / (n * tau)
        return tau >= 8 * (e * k * math.tanh(e / 2) + 4 * e * math.sqrt(k * size / tau))

    factor = 1.0 if variant == "paper" else 8.0

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
    certified = variant == "best" or noise == "laplace"
    return Width(tau, sigma, noise, "interval.dfh", variant, n, k, beta, certified=certified, tuning=tuning)


__all__ = ["dfh"]
