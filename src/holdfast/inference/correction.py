"""What a correction says: the adjusted p-value, the corrected level, the route taken and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.p_value import Level


@dataclass(frozen=True)
class Correction:
    """One p-value corrected for everything that was run before the test was chosen.

    `rejected` says whether the ordinary p-value is at most `level`. That is the adjusted one being at most `alpha`, but
    for what two numerical searches leave: both stay on the safe side, so that a p-value within a per cent of the level
    may have an adjusted value just below `alpha` and not be rejected. Either rule is valid, and both together: every
    route and every beta rejects when `p <= u`, and such regions are nested. `p` and `adjusted` are None where only a
    level was asked for.

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> from holdfast.inference import AfterLooking
    >>> print(AfterLooking(1000).record(PureDP(0.02)).correct(0.001))
    adjusted p 0.003081 (ordinary 0.001): rejected at 0.05
      reject when the ordinary p is at most 0.02193 (pure privacy)
      rests on p-value.level-after-pure-dp (epsilon=0.02, n=1000); rows independent, neighbours replace one row
    """

    alpha: float
    level: Level
    route: str
    guarantee: Guarantee
    p: float | None = None
    adjusted: float | None = None

    @property
    def rejected(self) -> bool | None:
        """Whether the null is rejected at `alpha`; None without a p-value."""
        return None if self.p is None else self.p <= self.level.value

    @property
    def hopeless(self) -> bool:
        """Whether no p-value that a computer can hold rejects."""
        return self.level.value == 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "p": self.p,
            "adjusted": self.adjusted,
            "alpha": self.alpha,
            "level": self.level.to_dict(),
            "rejected": self.rejected,
            "route": self.route,
            "guarantee": self.guarantee.to_dict(),
        }

    def __str__(self) -> str:
        lines = []
        if self.p is not None:
            verdict = "rejected" if self.rejected else "not rejected"
            lines.append(f"adjusted p {self.adjusted:.4g} (ordinary {self.p:.4g}): {verdict} at {self.alpha:g}")
        if self.level.is_vacuous:
            lines.append(f"no p-value rejects at {self.alpha:g} after what was run ({self.route})")
        elif self.hopeless:
            where = f"2**{self.level.log2_level:.1f}"
            lines.append(f"reject when the ordinary p is at most {where}, below any float ({self.route})")
        else:
            lines.append(f"reject when the ordinary p is at most {self.level.value:.4g} ({self.route})")
        lines.append(f"rests on {self.guarantee}")
        return "\n  ".join(lines)


__all__ = ["Correction"]
