"""Every answerer by name, so that one attack can be set on all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.experiments.answerers.base import Answerer, Design
from holdfast.noise import Source

Make = Callable[[Design, Source], Answerer]
_REGISTRY: dict[str, Entry] = {}


@dataclass(frozen=True)
class Entry:
    """One answerer: its name, what it does, what it needs, and whether a theorem backs its intervals.

    `make(design, source)` builds a fresh one. It raises `GuaranteeUnavailable` where the design buys nothing.
    """

    name: str
    title: str
    certified: bool
    needs_guess: bool
    make: Make

    def to_dict(self) -> dict[str, Any]:
        """Plain data for listings."""
        return {
            "name": self.name,
            "title": self.title,
            "certified": self.certified,
            "needs_guess": self.needs_guess,
        }


def add(name: str, title: str, make: Make, *, certified: bool = True, needs_guess: bool = False) -> None:
    """Register an answerer under the name that users type."""
    if name in _REGISTRY:
        raise ValueError(f"two answerers are registered as {name}")
    _REGISTRY[name] = Entry(name, title, certified, needs_guess, make)


def answerers() -> dict[str, Entry]:
    """Every answerer by name, in the order in which tables show them.

    Examples
    --------
    >>> "naive" in answerers()
    True
    """
    from holdfast.experiments.answerers import adapters  # noqa: F401  (fills the registry)

    return dict(_REGISTRY)


def answerer(name: str) -> Entry:
    """The answerer called `name`.

    Examples
    --------
    >>> answerer("naive").certified
    False
    """
    known = answerers()
    return known[check.choice("against", name, known)]


__all__ = ["Entry", "Make", "add", "answerer", "answerers"]
