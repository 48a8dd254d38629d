"""A ledger of max-information with its one-way order: private steps, then everything else.

The ledger is a value: every method returns a new one. Private steps are composed as private steps and converted once,
for independent rows. After the first look the posterior is no longer a product, so from then on only bounds over every
law are added. What the order forbids may still have a transfer bound, which has no order: `transfer` prices the same
entries that way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from holdfast import check
from holdfast.bounds.approximate_dp import approx_dp
from holdfast.bounds.currency import ORDER_RULE, MaxInformation, Transfer, compose
from holdfast.bounds.description_length import description_length
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.bounds.max_information import general_line
from holdfast.bounds.search import smallest, spaced
from holdfast.bounds.transfer import interleaved
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict


@dataclass(frozen=True)
class MaxInformationLedger:
    """What was released about `n` rows, in order, and what it costs in max-information.

    Budgets and alphabets are caps fixed before each step; a budget that depends on the transcript needs a privacy
    filter, and its caps go here.

    Parameters
    ----------
    n : int
        The number of rows.
    private : tuple
        `(epsilon, delta)` of the private steps that came first.
    later : tuple
        What came after: `("look", bits)`, `("pure-dp", epsilon)` or `("bound", MaxInformation)`.
    unsound : bool
        Whether an entry was forced in against the order rule; then there is no finite bound.

    Examples
    --------
    >>> ledger = MaxInformationLedger(10_000).with_private(0.001, 1e-12).with_look(4)
    >>> bound = ledger.max_information(0.025)
    >>> round(bound.bits, 4), bound.scope
    (7.8498, 'product')
    >>> round(ledger.transfer(0.025).bits, 4)
    4.5359
    >>> ledger.with_private(0.001, 1e-12)
    Traceback (most recent call last):
        ...
    holdfast.errors.LedgerConflict: an approximately private step cannot be added after a look: a bound for independent
    rows ...
    """

    n: int
    private: tuple[tuple[float, float], ...] = ()
    later: tuple[tuple[Literal["look", "pure-dp", "bound"], float | MaxInformation], ...] = ()
    unsound: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check.whole("n", self.n, at_least=1))

    @property
    def phase(self) -> Literal["private", "general"]:
        """Which phase it is in: "private" until the first look, "general" from then on, and no way back."""
        return "general" if self.later else "private"

    @property
    def epsilon(self) -> float:
        """The sum of the private phase's epsilons, rounded up."""
        return float_up(sum((decimal_fraction(e) for e, _ in self.private), decimal_fraction(0)))

    @property
    def delta(self) -> float:
        """The sum of the private phase's deltas, rounded up."""
        return float_up(sum((decimal_fraction(d) for _, d in self.private), decimal_fraction(0)))

    def with_private(self, epsilon: float, delta: float = 0.0, *, unsafe: bool = False) -> MaxInformationLedger:
        """Add an (epsilon, delta)-DP step; after a look a pure one costs `log2(e) epsilon n`, others are refused."""
        epsilon = check.real("epsilon", epsilon, at_least=0)
        delta = check.probability("delta", delta, zero=True)
        if self.phase == "private":
            return replace(self, private=(*self.private, (epsilon, delta)))
        if delta == 0:
            return replace(self, later=(*self.later, ("pure-dp", epsilon)))
        if not unsafe:
            raise LedgerConflict(f"an approximately private step cannot be added after a look: {ORDER_RULE}")
        return replace(self, unsound=True)

    def with_look(self, bits: float) -> MaxInformationLedger:
        """Add an output that takes at most `2**bits` values, whatever it is computed from."""
        return replace(self, later=(*self.later, ("look", check.real("bits", bits, at_least=0))))

    def with_bound(self, bound: MaxInformation, *, unsafe: bool = False) -> MaxInformationLedger:
        """Add a step by its max-information over every law; one for independent rows is refused."""
        if not isinstance(bound, MaxInformation):
            raise InvalidParameter(f"bound must be a MaxInformation, got a {type(bound).__name__}")
        if bound.scope == "product" and not unsafe:
            raise LedgerConflict(f"this bound cannot be added to a ledger: {ORDER_RULE}")
        return replace(self, later=(*self.later, ("bound", bound)), unsound=self.unsound or bound.scope == "product")

    def max_information(self, beta: float) -> MaxInformation:
        """Return the sum of all entries at `beta`, shared out over the stages as well as it can be.

        Neighbouring looks are one look with the product of their alphabets. The private phase and the looks share
        `beta`; bounds added by hand keep theirs.
        """
        beta = check.probability("beta", beta)
        if self.unsound:
            return MaxInformation(math.inf, beta, "product", "forced against the order rule")
        groups, fixed = self._general()
        left = beta - math.fsum(bound.beta for bound in fixed)
        if left <= 0:
            raise GuaranteeUnavailable(f"the entries' own failure probabilities leave nothing of beta = {beta:g}")
        spends = self.epsilon > 0 or self.delta > 0

        def stages(share: float) -> list[MaxInformation]:
            first = [approx_dp(self.epsilon, self.delta, self.n, share * left)] if spends else []
            each = (1 - share) * left / len(groups) if groups else 0.0
            return first + [description_length(bits, each) for bits in groups]

        share = 1.0 if not groups else 0.0
        if groups and spends:
            x, _ = smallest(lambda x: sum(b.bits for b in stages(_logistic(x))), spaced(-16.0, 8.0, 25))
            share = _logistic(x)
        steps = stages(share) + fixed
        total = compose(*steps) if steps else MaxInformation(0.0, 0.0, "any")
        scope: Literal["product", "any"] = "product" if spends else "any"
        return MaxInformation(total.bits, beta, scope, "max-information ledger", "derived", {"share": share})

    def transfer(self, beta: float) -> Transfer:
        """Return the order-free transfer bound of the same entries, `transfer.interleaved`."""
        if self.unsound or any(kind == "bound" for kind, _ in self.later):
            raise GuaranteeUnavailable("only looks and private steps can be priced as a transfer bound")
        bits = math.fsum(float(v) for kind, v in self.later if kind == "look" and not isinstance(v, MaxInformation))
        late = [
            decimal_fraction(v) for kind, v in self.later if kind == "pure-dp" and not isinstance(v, MaxInformation)
        ]
        epsilon = float_up(sum(late, decimal_fraction(self.epsilon)))
        return interleaved(bits, epsilon, self.n, beta, self.delta)

    def _general(self) -> tuple[list[float], list[MaxInformation]]:
        """Bits of each run of looks, and the bounds that bring their own beta."""
        groups: list[float] = []
        fixed: list[MaxInformation] = []
        previous = ""
        for kind, entry in self.later:
            if isinstance(entry, MaxInformation):
                fixed.append(entry)
            elif kind == "pure-dp":
                fixed.append(
                    MaxInformation(general_line(entry, self.n), 0.0, "any", "max-information.pure-dp", "paper")
                )
            elif previous == "look":
                groups[-1] += entry
            else:
                groups.append(entry)
            previous = kind
        return groups, fixed


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


__all__ = ["MaxInformationLedger"]
