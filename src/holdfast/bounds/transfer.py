"""Worst-output transfer bounds: what looks and private steps cost together, in any order.

A transfer bound `(k, beta)` says that a bad event of probability at most `p` on fresh rows, for every fixed
transcript, has probability at most `2**k p + beta` after the analysis. It is all that p-values and intervals need. A
look with `M` possible outcomes costs `log2 M` bits and no `beta`, which is Bonferroni's price, and it composes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from holdfast.bounds.approximate_dp import smallest_bits
from holdfast.bounds.currency import MaxInformation, Scope, Transfer, corrected, exponent
from holdfast.bounds.max_information import LOG2E, product_nats
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.parameters import (
    AnyFailureProbability,
    Bits,
    Delta,
    Domain,
    Epsilon,
    FailureProbabilityOrZero,
    GroupProportion,
    MaxInformationBits,
    OpenFailureProbability,
    PValue,
    Slack,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Method = Literal["best", "plus", "sharp", "paper"]


@theorem(
    "transfer.interleaved",
    statement="transfer bound for looks with 2^bits outcomes and private steps, interleaved in any order",
    source="Holdfast, docs/max-information.md (change of measure; reviewed)",
    conditions="rows independent; private steps are (epsilon, delta)-DP for every value of the noiseless steps; no "
    "hidden state",
    unit="bits",
    provenance="derived",
)
def interleaved(
    bits: Bits,
    epsilon: Annotated[Epsilon, "The epsilon of all private steps together."],
    n: UnboundedRows,
    beta: FailureProbabilityOrZero,
    delta: Annotated[Delta, "The delta; each bit of a noiseless step halves the delta that is still admissible."] = 0.0,
    method: Annotated[Method, "The line for the private steps; only 'best' with a positive delta."] = "best",
) -> Transfer:
    """Bound what an analysis costs that mixes looks of `bits` bits in all with (epsilon, delta)-DP steps: any order.

    `K^beta <= bits + k_DP(beta / 2**bits)`, with any product-scope bound `k_DP` for the private steps. Proof: replace
    every look by a uniform guess from its alphabet. The result is one private interaction, and every real transcript
    is at most `2**bits` times as likely as the guessed one, for every sample. Derived, reviewed.

    This is **not** max-information: with `epsilon = 0` it would say that a one-bit output has at most one bit, yet a
    bit that fires with probability 0.02 has 4.64 bits at `beta = 0.01`. `to_max_information` converts.

    Conditions: (i) on every path the alphabet sizes of the noiseless steps multiply to at most `2**bits`, everything
    shown included (errors, "none", a data-dependent stop); (ii) the private steps together are (epsilon, delta)-DP
    whatever the noiseless steps answer, which is what a privacy filter promises, so its caps go here; (iii) looks see
    the sample and the transcript, not a noisy threshold or a generator's state.

    Returns
    -------
    Transfer
        `bits = inf` where there is no bound: roughly when `n delta >= beta / 2**bits`. Scope "product", or "any" for
        looks alone (`epsilon = delta = 0`).

    Examples
    --------
    >>> round(interleaved(4, 0.005, 10_000, 0.01).bits, 6)
    5.04866
    >>> round(interleaved(4, 0.001, 10_000, 0.01, delta=1e-12).bits, 4)
    4.6888
    >>> interleaved(40, 0.001, 10_000, 0.01, delta=1e-12).bits
    inf
    """
    slack = (-math.log(beta) if beta else math.inf) + bits * math.log(2)
    parameters = {"look_bits": bits, "epsilon": epsilon, "delta": delta, "n": n}
    if delta == 0:
        private = product_nats(epsilon, n, slack, method) * LOG2E
    elif method != "best":
        raise InvalidParameter(f"method must be best when delta is positive, got {method!r}")
    else:
        private, tuning = smallest_bits(epsilon, delta, n, slack) if beta else (math.inf, {})
        parameters |= tuning
    total = up(bits + private, 8) if private else bits
    scope: Scope = "product" if epsilon or delta else "any"  # a bare look needs nothing of the rows
    return Transfer(total, beta, scope, "transfer.interleaved", "derived", parameters)


@theorem(
    "transfer.realised-bits",
    statement="bits charged to one transcript by what it really used, when beta was shared out over classes in advance",
    source="Holdfast, docs/max-information.md (reviewed)",
    conditions="pure privacy, rows independent, prefix-free looks; beta and shares (sum at most 1) fixed in advance",
    unit="bits",
    provenance="derived",
)
def realised_bits(
    bits: Annotated[Bits, "The realised bits of the noiseless steps."],
    epsilon: Annotated[Epsilon, "The first level of the fixed grid that is not below the realised epsilon."],
    n: UnboundedRows,
    beta: OpenFailureProbability,
    share: Annotated[GroupProportion, "The part of beta that this class may use."] = 1.0,
) -> float:
    """Return `b + k_epsilon(share beta / 2**b)` for a transcript that realised `b` bits and level `epsilon`.

    Rejecting at `(alpha - beta) 2**-exponent` keeps false discoveries below `alpha` over all transcripts, if one
    `beta` and the shares of all classes (realised bits and level of a fixed grid of epsilons) were fixed in advance
    and the shares sum to at most 1. Only `beta` is shared out, the main term is not. Realised bits are the sum of the
    logarithms of alphabet sizes on the path, or of code lengths in a prefix-free code fixed by the past. The epsilon
    of each step must be fixed by the transcript before that step: chosen as you go, but never from the rows
    themselves. `RealisedPlan` keeps the shares. Derived, reviewed.

    Examples
    --------
    >>> round(realised_bits(2, 0.005, 10_000, 0.01, share=0.25), 6)
    3.04866
    """
    return interleaved(bits, epsilon, n, down(beta * share, 1)).bits


@dataclass(frozen=True)
class RealisedPlan:
    """Shares of `beta` for realised amounts, fixed before the first look.

    Parameters
    ----------
    n : int
        The number of rows.
    beta : float
        The failure probability for all transcripts together.
    shares : Mapping
        `(bits, epsilon)` to share, for every class that may occur; they sum to at most 1. The epsilons are the fixed
        grid.

    Examples
    --------
    >>> plan = RealisedPlan(10_000, 0.02, {(0.0, 0.005): 0.5, (4.0, 0.005): 0.25, (8.0, 0.005): 0.25})
    >>> round(plan.log2_level(0.05, bits=3.0, epsilon=0.001), 4)
    -10.1859
    """

    n: int
    beta: float
    shares: Mapping[tuple[float, float], float]

    def __post_init__(self) -> None:
        arguments.whole("n", self.n, at_least=1)
        arguments.probability("beta", self.beta)
        total = math.fsum(arguments.probability("share", share, one=True) for share in self.shares.values())
        if not self.shares or total > 1 + 1e-12:
            raise InvalidParameter(f"shares must sum to at most 1, got {total}")
        for bits, epsilon in self.shares:
            arguments.real("bits", bits, at_least=0)
            arguments.real("epsilon", epsilon, at_least=0)
        object.__setattr__(self, "shares", MappingProxyType(dict(self.shares)))  # a copy that nobody can change

    def exponent(self, bits: float, epsilon: float) -> float:
        """Return the bits charged to a transcript: those of the cheapest class that covers it, `inf` if none does.

        Which classes cover a transcript depends on the transcript alone, so the cheapest may be taken: assigning every
        transcript to one class that covers it is a partition that was fixed in advance.
        """
        bits = arguments.real("bits", bits, at_least=0)
        epsilon = arguments.real("epsilon", epsilon, at_least=0)
        covering = ((b, e, c) for (b, e), c in self.shares.items() if b >= bits and e >= epsilon)
        return min((realised_bits(b, e, self.n, self.beta, c) for b, e, c in covering), default=math.inf)

    def log2_level(self, alpha: float, bits: float, epsilon: float) -> float:
        """Return the base-2 logarithm of the level at which this transcript's test must reject; `-inf` for never."""
        return corrected(arguments.probability("alpha", alpha), self.exponent(bits, epsilon), self.beta)[1]


@theorem(
    "transfer.to-max-information",
    statement="the max-information bound that a transfer bound implies at failure probability beta + slack",
    source="Holdfast, docs/max-information.md (convexity; reviewed)",
    conditions="0 < slack <= 1/4; same scope as the transfer bound",
    unit="bits",
    provenance="derived",
)
def to_max_information(
    bits: MaxInformationBits,
    beta: FailureProbabilityOrZero,
    slack: Annotated[Slack, Domain("The additional failure probability.", at_most=0.25)],
) -> MaxInformation:
    """Convert a transfer bound: `I_inf^(beta + slack) <= bits + log2(1/(4 slack))`.

    Proof: cut the distribution of the output given the sample down to `m(z) = 2**bits nu(z)`, which loses `beta`. The
    loss of what is left against `K` times the true marginal `p(z)` is convex in numbers between 0 and `m(z)`, so it is
    at most `sum_z p(z) (1 - K p(z)/m(z))_+ <= sum_z m(z)/(4K) = 2**bits/(4K)`, which is `slack` at `K = 2**bits/(4
    slack)`. Derived, reviewed.

    Examples
    --------
    >>> round(to_max_information(1.0, 0.0, 0.01).bits, 6)
    5.643856
    """
    return Transfer(bits, beta, "product", "transfer").as_max_information(slack)


@theorem(
    "transfer.event",
    statement="probability, after the analysis, of an event that has probability at most p on fresh rows",
    source="Dwork et al. 2015 Theorem 13; Rogers et al. 2016 section 1.3.1",
    conditions="(k, beta) is a max-information or transfer bound; p bounds the event for every fixed output",
    unit="probability",
)
def event(
    p: Annotated[PValue, "The event's probability on fresh rows, the largest over fixed outputs."],
    k_bits: MaxInformationBits,
    beta: AnyFailureProbability,
) -> float:
    """Return `min(1, 2**k p + beta)`.

    Examples
    --------
    >>> round(event(1e-4, 5, 0.01), 6)
    0.0132
    """
    k_bits = exponent("k_bits", k_bits, beta)
    if k_bits == math.inf:
        return 1.0
    if p == 0:
        return beta
    if k_bits == 0:
        return min(1.0, up(p + beta, 1)) if beta else p
    if math.log2(p) + k_bits >= 0:
        return 1.0
    whole = math.floor(k_bits)  # apart from the fraction, so that no digit of a large exponent is lost
    mantissa, power = math.frexp(p)  # and p apart from its power, so that a subnormal p loses none either
    return min(1.0, up(math.ldexp(mantissa * 2.0 ** (k_bits - whole), power + whole) + beta))
