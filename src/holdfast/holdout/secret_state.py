"""The stored form of a holdout with secret state: what must be saved, and what is accepted back."""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Seeded, Source


def source_state(source: Source) -> dict[str, Any] | None:
    """Return what must be saved of a source: nothing of `Secure`, the generator of `Seeded`."""
    if source.secure:
        return None
    if isinstance(source, Seeded):
        return source.state()
    raise InvalidParameter(
        f"source must be Secure or Seeded so that its state can be saved, got a {type(source).__name__}"
    )


def read_state(state: Any, kind: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return a stored state of the right kind with the right fields; no message shows what it holds.

    Examples
    --------
    >>> read_state({"kind": "ladder", "secret": True, "asked": 3}, "ladder", ("asked",))["asked"]
    3
    >>> read_state({"kind": "ladder"}, "thresholdout", ())
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: state must be what thresholdout.state() gave
    """
    if not isinstance(state, dict) or state.get("kind") != kind or set(state) != {"kind", "secret", *fields}:
        raise InvalidParameter(f"state must be what {kind}.state() gave")
    return state
