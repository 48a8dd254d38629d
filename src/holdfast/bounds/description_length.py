"""Max-information of an output that takes few values, and of one that can be described in few bits given its coins."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem

Method = Literal["best", "sharp", "paper"]
_METHODS = ("best", "sharp", "paper")


@theorem(
    "max-information.description-length",
    statement="approximate max-information of an output that takes at most 2^bits values",
    source="Dwork et al. 2015 Theorem 17, Rogers et al. 2016 section 3.2 (printed); exact value derived",
    conditions="every law of the sample; beta > 0; everything shown counts, errors and refusals too",
    unit="bits",
    provenance="mixed",
)
def description_length(bits: float, beta: float, method: Method = "best") -> MaxInformation:
    """Bound the approximate max-information of an output with at most `2**bits` values, over every law of the sample.

    With `M = 2**bits`:

    - "paper": `log2(M/beta)`.
    - "sharp": `log2(M/(4 beta))` for `beta <= 1/2` and `log2(M (1-beta))` above. Derived, reviewed.
    - "best": `log2 max((M-1)/(4 beta), M (1-beta))` for `beta < 1/2` and `log2(M (1-beta))` above. Exact: for whole
      `M` some output attains it. Derived, reviewed; the attaining output is in the tests.

    For p-values and intervals a transfer bound is far cheaper: `bits` and no failure probability
    (`holdfast.bounds.transfer`).

    Parameters
    ----------
    bits : float
        The base-2 logarithm of the number of possible outputs, at least 0.
    beta : float
        The failure probability, in [0, 1).
    method : str
        "best" (default), "sharp" or "paper".

    Returns
    -------
    MaxInformation
        Scope "any". The bits may be negative: one possible output gives `log2(1 - beta)`.

    Examples
    --------
    >>> round(description_length(10, 0.01, method="paper").bits, 6)
    16.643856
    >>> round(description_length(10, 0.01).bits, 6)
    14.642447
    >>> round(description_length(1, 0.01).bits, 6)
    4.643856
    """
    bits = check.real("bits", bits, at_least=0)
    beta = check.probability("beta", beta, zero=True)
    check.choice("method", method, _METHODS)
    exponent = (
        _printed(bits, beta) if method == "paper" else _sharp(bits, beta) if method == "sharp" else _exact(bits, beta)
    )
    provenance: Literal["paper", "derived"] = "paper" if method == "paper" else "derived"
    return MaxInformation(
        exponent, beta, "any", "max-information.description-length", provenance, {"alphabet_bits": bits}
    )


@theorem(
    "max-information.randomized-description-length",
    statement="approximate max-information of an output that takes at most 2^bits values for every fixing of its coins",
    source="Dwork et al. 2015 Theorem 30, corrected; exact form derived",
    conditions="every law of the sample; coins independent of the sample; beta > 0",
    unit="bits",
    provenance="mixed",
)
def randomized_description_length(bits: float, beta: float, method: Method = "best") -> MaxInformation:
    """Bound the approximate max-information of an output of randomized description length `bits`.

    The number is that of `description_length`. Proof: show the coins as well, which post-processing may hide again.
    They are independent of the sample, so the lost mass is the average over the coins of the lost mass for fixed
    coins, and each of those obeys the bound for at most `2**bits` values. The paper prints `log2(|Y|/beta)`, where
    `|Y|` may be far larger than `2**bits`; its proof gives `bits + log2(1/beta)`, which is "paper" here.

    Parameters
    ----------
    bits : float
        Randomized description length, at least 0.
    beta : float
        The failure probability, in [0, 1).
    method : str
        "best" (default), "sharp" or "paper".

    Examples
    --------
    >>> round(randomized_description_length(20, 1e-3, method="paper").bits, 6)
    29.965784
    """
    found = description_length(bits, beta, method)
    source = "max-information.randomized-description-length"
    return MaxInformation(found.bits, found.beta, found.scope, source, found.provenance, found.parameters)


@theorem(
    "max-information.to-description-length",
    statement="randomized description length of a computation close to one with max-information k",
    source="Dwork et al. 2015 Theorems 32 and 33 (rejection sampling), the number of draws rounded up",
    conditions="max-information at beta = 0; beta in (0, 1)",
    unit="bits",
    provenance="mixed",
)
def to_description_length(k_bits: float, beta: float, method: Literal["best", "paper"] = "best") -> float:
    """Return how many bits describe, up to statistical distance `beta`, an output with max-information `k`.

    Draw `t = ceil(2^k ln(1/beta))` outputs from the reference law as public coins and name the accepted one: `log2 t`
    bits. "paper" prints `k + log2 ln(1/beta)`, which forgets that the number of draws is whole; "best" rounds it up.

    Parameters
    ----------
    k_bits : float
        Max-information at failure probability 0, at least 0.
    beta : float
        The statistical distance, in (0, 1).
    method : str
        "best" (default) or "paper".

    Examples
    --------
    >>> round(to_description_length(14.42695041, 0.01, method="paper"), 6)
    16.630205
    >>> round(to_description_length(1.321928095, 0.01), 6)
    3.584963
    """
    k_bits = check.real("k_bits", k_bits, at_least=0)
    beta = check.probability("beta", beta)
    check.choice("method", method, ("best", "paper"))
    log2_draws = k_bits + math.log2(-math.log(beta))
    if method == "paper":
        return up(log2_draws)
    if log2_draws > 50:  # one draw more changes nothing that a float can show
        return up(log2_draws + 2.0**-49)
    return up(math.log2(max(1, math.ceil(up(2.0**log2_draws, 16)))))


def _printed(bits: float, beta: float) -> float:
    return up(bits - math.log2(beta)) if beta else math.inf


def _sharp(bits: float, beta: float) -> float:
    if beta > 0.5:
        return up(bits + math.log1p(-beta) / math.log(2))
    return up(bits - 2 - math.log2(beta)) if beta else math.inf


def _exact(bits: float, beta: float) -> float:
    jensen = bits + math.log1p(-beta) / math.log(2)
    if bits == 0 or beta >= 0.5:
        return up(jensen)
    if not beta:
        return math.inf
    others = bits + math.log(-math.expm1(-bits * math.log(2))) / math.log(2)  # log2(M - 1)
    return up(max(others - 2 - math.log2(beta), jensen))


__all__ = ["Method", "description_length", "randomized_description_length", "to_description_length"]
