"""A ledger of max-information with its one-way order: private steps, then everything else.

The ledger is a value: every method returns a new one. Private steps are composed as private steps and converted once,
for independent rows. After the first look the posterior is no longer a product, so from then on only bounds over every
distribution are added. What the order forbids may still have a transfer bound, which has no order: enter it with
`unsafe=True`, which leaves no finite max-information, and let `transfer` price it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.bounds.approximate_dp import approx_dp
from holdfast.bounds.currency import ORDER_RULE, MaxInformation, Transfer, compose
from holdfast.bounds.max_information import description_length, general_line
from holdfast.bounds.numerics.exact import decimal_sum, float_up
from holdfast.bounds.numerics.search import smallest, spaced
from holdfast.bounds.transfer import interleaved
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict

Entry = (
    tuple[Literal["look"], float]
    | tuple[Literal["private"], tuple[float, float]]
    | tuple[Literal["bound"], MaxInformation]
)


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
        What came after: `("look", bits)`, `("private", (epsilon, delta))` or `("bound", MaxInformation)`.

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
    holdfast.errors.LedgerConflict: an approximately private step cannot be added after a noiseless step: a bound for
    independent rows ...
    """

    n: int
    private: tuple[tuple[float, float], ...] = ()
    later: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", arguments.whole("n", self.n, at_least=1))

    @property
    def phase(self) -> Literal["private", "general"]:
        """Which phase it is in: "private" until the first look, "general" from then on, and no way back."""
        return "general" if self.later else "private"

    @property
    def unsound(self) -> bool:
        """Whether an entry was forced in against the order rule; then no finite max-information is known."""
        return any(
            entry.scope == "product" if isinstance(entry, MaxInformation) else isinstance(entry, tuple) and entry[1] > 0
            for _, entry in self.later
        )

    @property
    def epsilon(self) -> float:
        """The sum of the private phase's epsilons, rounded up."""
        return float_up(decimal_sum([epsilon for epsilon, _ in self.private]))

    @property
    def delta(self) -> float:
        """The sum of the private phase's deltas, rounded up."""
        return float_up(decimal_sum([delta for _, delta in self.private]))

    def with_private(self, epsilon: float, delta: float = 0.0, *, unsafe: bool = False) -> MaxInformationLedger:
        """Add an (epsilon, delta)-DP step; after a noiseless step a pure one costs `log2(e) epsilon n`, others are
        refused.

        With `unsafe` a refused one is entered all the same: `max_information` is then infinite, `transfer` prices it.
        """
        epsilon = arguments.real("epsilon", epsilon, at_least=0)
        delta = arguments.probability("delta", delta, zero=True)
        if self.phase == "private":
            return replace(self, private=(*self.private, (epsilon, delta)))
        if delta > 0 and not unsafe:
            raise LedgerConflict(f"an approximately private step cannot be added after a noiseless step: {ORDER_RULE}")
        return replace(self, later=(*self.later, ("private", (epsilon, delta))))

    def with_look(self, bits: float) -> MaxInformationLedger:
        """Add an output that takes at most `2**bits` values, whatever it is computed from."""
        return replace(self, later=(*self.later, ("look", arguments.real("bits", bits, at_least=0))))

    def with_bound(self, bound: MaxInformation, *, unsafe: bool = False) -> MaxInformationLedger:
        """Add a step by its max-information over every distribution; one for independent rows is refused."""
        if not isinstance(bound, MaxInformation):
            raise InvalidParameter(f"bound must be a MaxInformation, got a {type(bound).__name__}")
        if bound.scope == "product" and not unsafe:
            raise LedgerConflict(f"this bound cannot be added to a ledger: {ORDER_RULE}")
        return replace(self, later=(*self.later, ("bound", bound)))

    def max_information(self, beta: float) -> MaxInformation:
        """Return the sum of all entries at `beta`, shared out over the stages as well as it can be.

        Neighbouring looks are one look with the product of their alphabets. The private phase and the noiseless steps
        share `beta`; bounds added by hand keep theirs.
        """
        beta = arguments.probability("beta", beta)
        if self.unsound:
            return MaxInformation(math.inf, beta, "product", "forced against the order rule")
        groups, fixed = self._general()
        left = beta - math.fsum(bound.beta for bound in fixed)
        if left <= 0:
            raise GuaranteeUnavailable(
                f"the failure probabilities of the recorded steps already use up beta = {beta:g}; give a larger beta"
            )
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
        """Return the order-free transfer bound of looks and private steps, `transfer.interleaved`, late steps included.

        Examples
        --------
        >>> ledger = MaxInformationLedger(10_000).with_look(4).with_private(0.001, 1e-12, unsafe=True)
        >>> ledger.max_information(0.025).bits, round(ledger.transfer(0.025).bits, 4)
        (inf, 4.5359)
        """
        epsilons, deltas = [self.epsilon], [self.delta]
        bits = []
        for _, entry in self.later:
            if isinstance(entry, MaxInformation):
                raise GuaranteeUnavailable(
                    "this ledger has a step that is neither noiseless nor private, and only those two kinds can be "
                    "converted to a transfer bound"
                )
            if isinstance(entry, tuple):
                epsilons.append(entry[0])
                deltas.append(entry[1])
            else:
                bits.append(entry)
        delta = float_up(decimal_sum(deltas))
        if delta >= 1:
            raise GuaranteeUnavailable(
                f"the deltas of the private steps sum to {delta:g}, but a transfer bound needs a sum below 1"
            )
        return interleaved(float_up(decimal_sum(bits)), float_up(decimal_sum(epsilons)), self.n, beta, delta)

    def _general(self) -> tuple[list[float], list[MaxInformation]]:
        """Bits of each run of looks, and the bounds that bring their own beta."""
        groups: list[float] = []
        fixed: list[MaxInformation] = []
        previous = ""
        for kind, entry in self.later:
            if isinstance(entry, MaxInformation):
                fixed.append(entry)
            elif isinstance(entry, tuple):
                bits = general_line(entry[0], self.n)
                fixed.append(MaxInformation(bits, 0.0, "any", "max-information.pure-dp", "paper"))
            elif previous == "look":
                groups[-1] = float_up(decimal_sum([groups[-1], entry]))
            else:
                groups.append(entry)
            previous = kind
        return groups, fixed


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
