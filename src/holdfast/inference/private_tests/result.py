"""What a private test says: statistic, p-value, decision, cost, and how its level is known."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast.accounting.costs import Cost
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Level = Literal["exact", "asymptotic", "empirical"]
LEVELS: tuple[Level, ...] = ("exact", "asymptotic", "empirical")


@dataclass(frozen=True)
class TestResult:
    """The outcome of one private test. Everything in it follows from the noisy counts, so publishing it costs
    nothing more.

    Attributes
    ----------
    test : str
        Which test, by the name of its function and what was chosen, e.g. "projected GOF".
    statistic, p_value, critical_value : float or None
        None where the test is inconclusive. A p-value is never NaN, and never 0: where it is too small for a double it
        is rounded up to the smallest ordinary one, 2.2e-308.
    alpha : float
        The level asked for.
    reject : bool or None
        Whether the null is rejected; None where the test is inconclusive, which counts as "fail to reject".
    null_returned : str or None
        Why the test is inconclusive (the rule of thumb that fired), None otherwise.
    cost : Cost or None
        What was spent; None for a test that is not private.
    level : {"exact", "asymptotic", "empirical"}
        How `P(reject | null) <= alpha` is known: by a proof at this n, by a limit theorem, or by measurement only.
    warnings : tuple of str
        Why this setting is one where the level is known to fail, or what else a reader must know.
    n : int
        Number of records; public.
    details : Mapping
        What the test has to show next to: degrees of freedom, weights, replicates, noise, estimates, released counts.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP
    >>> spent = ZCDP(0.00125)
    >>> found = TestResult("projected GOF", 0.954, 0.812, 7.815, 0.05, False, None, spent, "asymptotic", (), 1000)
    >>> print(found)
    projected GOF: fail to reject at 0.05 (p = 0.812)
      statistic 0.954, critical value 7.815; n = 1000
      level asymptotic; cost ZCDP(rho=0.00125)
    >>> found.to_dict()["cost"]
    {'kind': 'zcdp', 'rho': 0.00125}
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever its name makes pytest think

    test: str
    statistic: float | None
    p_value: float | None
    critical_value: float | None
    alpha: float
    reject: bool | None
    null_returned: str | None
    cost: Cost | None
    level: Level
    warnings: tuple[str, ...]
    n: int
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arguments.choice("level", self.level, LEVELS)
        if self.null_returned is None:
            if self.p_value is None or not 0 <= self.p_value <= 1:
                raise InvalidParameter("p_value must be a number in [0, 1] unless the test is inconclusive")
            if self.reject is None:
                raise InvalidParameter("reject must be True or False unless the test is inconclusive")
        elif self.p_value is not None or self.reject is not None:
            raise InvalidParameter("p_value and reject must be None for an inconclusive test")
        if self.p_value is not None:
            object.__setattr__(self, "p_value", max(self.p_value, sys.float_info.min))
        object.__setattr__(self, "warnings", tuple(self.warnings))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    @property
    def inconclusive(self) -> bool:
        """Whether the test was inconclusive, because a rule of thumb for its validity was not met. Then nothing is
        rejected.
        """
        return self.null_returned is not None

    @property
    def decision(self) -> str:
        """The decision of the test in words."""
        return "inconclusive" if self.reject is None else "reject" if self.reject else "fail to reject"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "test": self.test,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "critical_value": self.critical_value,
            "alpha": self.alpha,
            "reject": self.reject,
            "decision": self.decision,
            "null_returned": self.null_returned,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "level": self.level,
            "warnings": list(self.warnings),
            "n": self.n,
            "details": {key: _plain(value) for key, value in self.details.items()},
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view does not pickle, so the details travel as a plain dict.
        values = [getattr(self, entry.name) for entry in fields(self)]
        return type(self), (*values[:-1], dict(self.details))

    def __str__(self) -> str:
        if self.null_returned is not None:
            lines = [f"{self.test}: inconclusive, so not rejected at {self.alpha:g}: {self.null_returned}"]
        else:
            lines = [f"{self.test}: {self.decision} at {self.alpha:g} (p = {self.p_value:.4g})"]
        numbers = [f"statistic {self.statistic:.6g}"] if self.statistic is not None else []
        numbers += [f"critical value {self.critical_value:.6g}"] if self.critical_value is not None else []
        lines.append(", ".join(numbers) + f"; n = {self.n}" if numbers else f"n = {self.n}")
        lines.append(f"level {self.level}; " + ("not private" if self.cost is None else f"cost {self.cost}"))
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n  ".join(lines)


def _plain(value: Any) -> Any:
    """Arrays as lists, numpy numbers as Python's, mappings and sequences piece by piece."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value.to_dict() if hasattr(value, "to_dict") else value
