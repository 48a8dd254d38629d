"""The running totals of a guard: privacy for the whole and for each analyst, and the progress of questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast.accounting import Cost, Filter, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.accounting.increments import pure_rho
from holdfast.bounds.exact import decimal_sum, float_up
from holdfast.errors import BudgetExhausted
from holdfast.guard.policy import Policy
from holdfast.guard.progress import Progress

WHOLE = "whole"
"""The account of all analysts together."""
ANALYSTS = "analysts"
"""The account that lists who has asked, so that an override can carry their accounts over."""


def account_of(analyst: str) -> str:
    """The name of an analyst's account."""
    return f"analyst:{analyst}"


@dataclass(frozen=True)
class Account:
    """What one party has used: questions, and privacy. Immutable; `charge` returns the account after it.

    `filter` is None where nothing private may be asked, or where an odometer only counts; then `spent` holds the sum in
    the unit of the policy's privacy.
    """

    progress: Progress
    filter: Filter | None
    spent: Cost | None

    @classmethod
    def fresh(cls, policy: Policy, analyst: str | None = None) -> Account:
        """An account that nothing was asked on; a holdout's whole run is charged to the whole from the start."""
        unit = None if policy.privacy is None or policy.accounting == "filter" else type(policy.privacy)(0.0)  # type: ignore[call-arg]
        kept = policy.filter(analyst)
        if analyst is None and policy.holdout_spend is not None:
            unit = None if unit is None else _plus(unit, policy.holdout_spend)
            if kept is not None:
                kept.spend(policy.holdout_spend)
        return cls(Progress(), kept, unit)

    def charge(self, cost: Cost | None, most: int | None, who: str) -> Account:
        """Let one more question in, or raise `BudgetExhausted`; this account is left as it was."""
        if most is not None and self.progress.admitted >= most:
            raise BudgetExhausted(f"all {most} questions that {who} may ask were asked")
        kept, spent = self.filter, self.spent
        if cost is not None and kept is not None:
            kept = Filter.from_dict(kept.to_dict())
            try:
                kept.spend(cost)
            except BudgetExhausted as error:
                raise BudgetExhausted(f"{who}: {error}") from None
        if cost is not None and spent is not None:
            spent = _plus(spent, cost)
        return Account(self.progress.admit(), kept, spent)

    def settle(self, passed: bool = True, shown: int = 1) -> Account:
        """Count one answer."""
        return Account(self.progress.settle(passed, shown), self.filter, self.spent)

    def remaining(self, most: int | None) -> dict[str, Any]:
        """What is left: questions where they are capped, privacy where it is."""
        left: dict[str, Any] = {} if most is None else {"questions": max(0, most - self.progress.admitted)}
        if self.filter is not None:
            left |= {k: v for k, v in self.filter.remaining().items() if k != "delta"}
        if self.spent is not None:
            left["spent"] = self.spent.to_dict()
        return left

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back exactly."""
        return {
            "progress": self.progress.to_dict(),
            "filter": None if self.filter is None else self.filter.to_dict(),
            "spent": None if self.spent is None else self.spent.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Account:
        """Read an account back."""
        return cls(
            Progress.from_dict(plain["progress"]),
            None if plain["filter"] is None else Filter.from_dict(plain["filter"]),
            None if plain["spent"] is None else Cost.from_dict(plain["spent"]),
        )


def read(
    get: Callable[[str], Mapping[str, Any] | None], policy: Policy, analyst: str | None = None
) -> tuple[str, Account]:
    """The account of an analyst, or of the whole, from wherever accounts are kept; fresh if there is none yet."""
    name = WHOLE if analyst is None else account_of(analyst)
    stored = get(name)
    return name, Account.fresh(policy, analyst) if stored is None else Account.from_dict(stored)


def _plus(spent: Cost, cost: Cost) -> Cost:
    """The sum in the unit of `spent`, rounded up. A pure cost has a rho; rho has no pure epsilon."""
    match spent, cost:
        case PureDP(before), PureDP(epsilon):
            return PureDP(float_up(decimal_sum([before, epsilon])))
        case ZCDP(before), ZCDP(rho):
            return ZCDP(float_up(decimal_sum([before, rho])))
        case ZCDP(before), PureDP(epsilon):
            return ZCDP(float_up(decimal_sum([before]) + Fraction(pure_rho(epsilon))))
    raise BudgetExhausted(f"an odometer of {spent.kind} cannot hold {cost!r}")


__all__ = ["ANALYSTS", "WHOLE", "Account", "account_of", "read"]
