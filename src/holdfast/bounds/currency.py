"""The two currencies in which a release is charged, kept apart by their types.

`MaxInformation` compares the joint distribution of sample and output with the product of its own marginals. `Transfer`
lets the reference distribution of the output be chosen freely, so it is smaller, has a simpler calculus, and suffices
for p-values, intervals and every other claim of the form "whatever was released, the bad event was unlikely on fresh
rows". A transfer bound must not be used where the true marginal of the output is meant, such as a bound on mutual
information.

Both say: an event of probability at most `p` on fresh rows, for every fixed output, has probability at most
`2**bits * p + beta` after the release.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from holdfast.bounds.numerics.exact import down, total, up
from holdfast.bounds.parameters import Domain
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter, LedgerConflict

Scope = Annotated[
    Literal["product", "any"],
    "Which distributions of the sample the bound holds for: 'product' needs independent rows.",
]
Provenance = Literal["paper", "derived"]
B = TypeVar("B", "MaxInformation", "Transfer")

ORDER_RULE = (
    "a bound for independent rows may only come first: given what was released before, the rows are no longer "
    "independent. Theorem 3.9 of Rogers, Roth, Smith and Thakkar (2016) has a short output followed by an "
    "approximately private one that together return the whole sample. Run the private steps first, or price the "
    "whole interaction with transfer.interleaved"
)


@dataclass(frozen=True)
class Bound:
    """What `MaxInformation` and `Transfer` have in common; use one of those.

    Parameters
    ----------
    bits : float
        The exponent; `inf` where there is no bound.
    beta : float
        The failure probability. 1 or more is vacuous, and is kept so that a printed formula can be shown as it is.
    scope : str
        "product": rows independent. "any": every distribution of the sample.
    source : str
        The theorem's id or its place.
    provenance : str
        "paper" as printed, "derived" ours.
    parameters : Mapping
        The free parameters at which the theorem was used.
    """

    bits: float
    beta: float
    scope: Scope = "product"
    source: str = ""
    provenance: Provenance = "derived"
    parameters: Mapping[str, float] = field(default_factory=dict, compare=False)
    currency: ClassVar[str] = ""

    def __post_init__(self) -> None:
        beta = arguments.real("beta", self.beta, at_least=0, infinite=True)
        object.__setattr__(self, "beta", beta)
        object.__setattr__(self, "bits", exponent("bits", self.bits, beta))
        arguments.choice("scope", self.scope, ("product", "any"))
        arguments.choice("provenance", self.provenance, ("paper", "derived"))

    @property
    def value(self) -> float:
        """The bits."""
        return self.bits

    def is_vacuous(self, alpha: float) -> bool:
        """Say whether nothing is left at level `alpha`: `beta` uses it up, or there are no finite bits.

        Examples
        --------
        >>> MaxInformation(3.0, 0.01).is_vacuous(0.05), MaxInformation(3.0, 0.05).is_vacuous(0.05)
        (False, True)
        """
        return math.isinf(self.log2_level(alpha))

    def log2_level(self, alpha: float) -> float:
        """Return the base-2 logarithm of the level at which a test must reject to keep `alpha`; `-inf` when vacuous.

        Examples
        --------
        >>> round(MaxInformation(3.0, 0.01).log2_level(0.05), 6)
        -7.643856
        """
        return corrected(arguments.probability("alpha", alpha), self.bits, self.beta)[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "currency": self.currency,
            "bits": self.bits,
            "beta": self.beta,
            "scope": self.scope,
            "source": self.source,
            "provenance": self.provenance,
            "parameters": dict(self.parameters),
        }

    def __str__(self) -> str:
        rows = "independent rows" if self.scope == "product" else "any distribution of the sample"
        text = f"{self.currency} {self.bits:.6g} bits at beta {self.beta:.6g}, {rows}"
        return text + (f" ({self.source})" if self.source else "")


@dataclass(frozen=True)
class MaxInformation(Bound):
    """A bound on approximate max-information: `I_inf^beta(sample; output) <= bits`.

    Examples
    --------
    >>> print(MaxInformation(1.5, 0.01, source="max-information.pure-dp"))
    max-information 1.5 bits at beta 0.01, independent rows (max-information.pure-dp)
    """

    currency: ClassVar[str] = "max-information"

    def as_transfer(self) -> Transfer:
        """Read it as a transfer bound, which it implies (the reference distribution is the output's own marginal).

        Examples
        --------
        >>> MaxInformation(1.5, 0.01).as_transfer().bits
        1.5
        """
        return Transfer(self.bits, self.beta, self.scope, self.source, self.provenance, self.parameters)

    def then(self, later: MaxInformation, *, unsafe: bool = False) -> MaxInformation:
        """Compose with a later step; see `compose`."""
        return compose(self, later, unsafe=unsafe)


@dataclass(frozen=True)
class Transfer(Bound):
    """A worst-output transfer bound: some distribution `nu` on outputs has `sum (joint - 2**bits * prior * nu)_+ <=
    beta`.

    Enough for p-values, intervals and low-sensitivity tails. Not a bound on max-information.

    Examples
    --------
    >>> sixteen_way_look = Transfer(4.0, 0.0, "any")
    >>> print(sixteen_way_look)
    transfer 4 bits at beta 0, any distribution of the sample
    """

    currency: ClassVar[str] = "transfer"

    def as_max_information(self, slack: float) -> MaxInformation:
        """Pay `log2(1/(4 slack))` bits and `slack` more failure probability for a max-information bound.

        `slack` is in (0, 1/4]. Derived, reviewed; see `holdfast.bounds.transfer.to_max_information`.

        Examples
        --------
        >>> bound = Transfer(1.0, 0.0, "any").as_max_information(0.01)
        >>> round(bound.bits, 6), bound.beta
        (5.643856, 0.01)
        """
        slack = arguments.real("slack", slack, above=0, at_most=0.25)
        bits = up(self.bits - 2 - math.log2(slack))
        beta = up(self.beta + slack, 1) if self.beta else slack
        source = f"{self.source} + log2(1/(4 slack))".lstrip(" +")
        return MaxInformation(bits, beta, self.scope, source, "derived", dict(self.parameters) | {"slack": slack})

    def then(self, later: Transfer, *, unsafe: bool = False) -> Transfer:
        """Compose with a later step; see `compose`."""
        return compose(self, later, unsafe=unsafe)


def compose(first: B, *later: B, unsafe: bool = False) -> B:
    """Add up bounds of adaptively chosen steps, in the order in which they ran: `(sum bits, sum beta)`.

    Rogers, Roth, Smith and Thakkar (2016), Theorem A.3 (Dwork et al. 2015, Theorem 15) for bounds over every
    distribution, and their section 1.3.1 for a first step bounded over product distributions. A later step's bound must
    hold for every output of the steps before it, and over **every** distribution of the sample, because the posterior
    is not a product. So only the first bound may have scope "product"; the result has the first one's scope. Transfer
    bounds compose by the same argument, and are not mixed with max-information: call `as_transfer` first. Printed in
    words; proof derived and reviewed.

    Parameters
    ----------
    first : MaxInformation or Transfer
        The bound of the first step.
    *later : MaxInformation or Transfer
        The bounds of the later steps, of the same currency.
    unsafe : bool
        Return `bits = inf` for an order that no theorem covers, instead of raising.

    Raises
    ------
    LedgerConflict
        For a product-scope bound that does not come first.

    Examples
    --------
    >>> private = MaxInformation(0.68, 0.005, "product")
    >>> look = MaxInformation(9.64, 0.02, "any")
    >>> print(compose(private, look))
    max-information 10.32 bits at beta 0.025, independent rows
    >>> compose(look, private, unsafe=True).bits
    inf
    """
    steps: list[Bound] = [first, *later]
    kinds = {type(step) for step in steps}
    if len(kinds) > 1 or not kinds <= {MaxInformation, Transfer}:
        names = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidParameter(
            f"the bounds to compose must all be MaxInformation or all be Transfer, got {names}; "
            "MaxInformation.as_transfer() converts a max-information bound to a transfer bound"
        )
    misplaced = [i for i, step in enumerate(later, start=2) if step.scope == "product"]
    if misplaced and not unsafe:
        raise LedgerConflict(f"step {misplaced[0]} of {len(steps)} cannot be added: {ORDER_RULE}")
    if not later:
        return first
    bits = math.inf if misplaced else up(total([step.bits for step in steps]), 1)
    beta = up(total([step.beta for step in steps]), 1)
    provenance: Provenance = "paper" if all(step.provenance == "paper" for step in steps) else "derived"
    source = ", then ".join(step.source for step in steps if step.source)
    return type(first)(bits, beta, first.scope, source, provenance)


@theorem(
    "max-information.composition",
    statement="max-information of adaptively chosen steps together: the bits add up, and so do the betas",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem A.3 (Dwork et al. 2015 Theorem 15) and section 1.3.1",
    conditions="only the first bound may be for independent rows; later ones hold over every distribution and "
    "earlier output",
    unit="bits",
    provenance="mixed",
)
def composition(
    bits: Annotated[
        Sequence[float], Domain("The bits of each step, in the order in which they ran.", typical=(0.68, 9.64))
    ],
    betas: Annotated[
        Sequence[float], Domain("The failure probability of each step.", at_least=0, typical=(0.01, 0.02))
    ],
    scope: Annotated[Scope, "What the first bound holds for."] = "product",
    later_scope: Annotated[Scope, "What the later bounds hold for; 'product' is refused."] = "any",
) -> MaxInformation:
    """Compose the max-information bounds of several steps in order; `compose` on bound objects does the same.

    Raises
    ------
    LedgerConflict
        When a later bound is for independent rows only.

    Examples
    --------
    >>> bound = composition([0.6767, 9.6439], [0.0054, 0.02])
    >>> round(bound.bits, 4), round(bound.beta, 4)
    (10.3206, 0.0254)
    """
    if len(bits) != len(betas):
        raise InvalidParameter(f"bits and betas must have the same length, got {len(bits)} and {len(betas)}")
    scopes = [scope] + [later_scope] * (len(bits) - 1)
    return compose(*(MaxInformation(k, beta, s) for k, beta, s in zip(bits, betas, scopes, strict=True)))


def exponent(name: str, bits: float, beta: float) -> float:
    """Check an exponent: no distribution of sample and output has one below `log2(1 - beta)`, so a smaller number is a
    mistake.

    Examples
    --------
    >>> exponent("bits", -0.1, 0.1)
    -0.1
    """
    bits = arguments.real(name, bits, above=-math.inf, infinite=True)
    floor = math.log1p(-beta) / math.log(2) if beta < 1 else -math.inf
    if bits < floor - 1e-9:
        raise InvalidParameter(f"{name} must be at least log2(1 - beta) = {floor:.6g}, got {bits}")
    return bits


def corrected(alpha: float, bits: float, beta: float) -> tuple[float, float]:
    """Return `(alpha - beta) / 2**bits` and its base-2 logarithm, both rounded down: 0 and `-inf` when vacuous.

    The one place where a level is corrected. Arguments are not checked. The value is 0 below the floating range, where
    the logarithm still tells.

    Examples
    --------
    >>> level, log2_level = corrected(0.05, 3.0, 0.01)
    >>> round(level, 9), round(log2_level, 6)
    (0.005, -7.643856)
    """
    if beta >= alpha or bits == math.inf:
        return 0.0, -math.inf
    left = alpha - beta
    if beta and left > 2 * sys.float_info.min:  # below, the difference of two doubles is exact
        left = down(left, 1)
    log2_left = math.log2(left)
    log2_level = min(0.0, log2_left - bits - 2 * math.ulp(max(abs(log2_left), abs(bits))))
    if bits == 0:
        return left, log2_level
    whole = math.floor(bits)  # apart from the fraction, so that no digit of a large exponent is lost
    return min(1.0, down(math.ldexp(left / 2.0 ** (bits - whole), -whole))), log2_level
