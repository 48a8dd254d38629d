"""What an answer depends on: a theorem's id, its parameters and the assumption it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Guarantee:
    """The theorem behind an answer.

    Examples
    --------
    >>> print(Guarantee("mechanism.laplace", {"epsilon": 0.5}, "neighbours replace one row"))
    mechanism.laplace (epsilon=0.5); neighbours replace one row
    """

    theorem: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    assumption: str = "rows independent"
    certified: bool = True

    def __str__(self) -> str:
        inside = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        text = self.theorem + (f" ({inside})" if inside else "") + (f"; {self.assumption}" if self.assumption else "")
        return text if self.certified else text + "; not certified"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "theorem": self.theorem,
            "parameters": dict(self.parameters),
            "assumption": self.assumption,
            "certified": self.certified,
        }
