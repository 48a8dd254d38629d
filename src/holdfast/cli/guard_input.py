"""What the guard's commands read: policies, samples, stores and questions' options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import InvalidParameter, LedgerUnavailable

if TYPE_CHECKING:
    from holdfast.data.sample import Sample
    from holdfast.guard.ledger.store import Store
    from holdfast.guard.policy import Policy


def store_at(where: str, *, create: bool = False) -> Store:
    """Open a store, or say what is missing."""
    from holdfast.guard.ledger.store import open_store

    try:
        return open_store(where, create=create)
    except LedgerUnavailable as error:
        if create or "://" in where or (Path(where).exists() and Path(where).stat().st_size):
            raise
        raise LedgerUnavailable(f"{error}; `holdfast guard open LEDGER SAMPLE` begins one") from None


def open_sample(where: str, row_key: str | None = None) -> Sample:
    """Open a file of rows, or say what is missing."""
    from holdfast.data.tables import table

    return table(where, row_key=row_key)


def read_policy(path: Path) -> dict[str, Any]:
    """A policy file: one JSON object."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise InvalidParameter(f"--policy must be a file with one JSON object, {path.name} is not") from None
    if not isinstance(found, dict):
        raise InvalidParameter(f"--policy must be a file with one JSON object, {path.name} is not")
    return found


def policy_of(path: Path | None, options: dict[str, Any], analysts: Sequence[str]) -> Policy | None:
    """The policy of a file and of options that were given; None where neither was, for a sample that has one."""
    from holdfast.guard.policy import Policy

    plain = {} if path is None else read_policy(path)
    for name, value in options.items():
        if value is not None:
            plain[name] = cost_of(f"--{name}", value) if name in ("privacy", "spend") else value
    if analysts:
        plain["analysts"] = dict(_share(text) for text in analysts)
    return Policy.from_dict(plain) if plain or path is not None else None


def cost_of(name: str, text: str) -> dict[str, Any]:
    """`pure-dp:0.1` or `zcdp:0.01` as plain data.

    Examples
    --------
    >>> cost_of("--spend", "pure-dp:0.1")
    {'kind': 'pure-dp', 'epsilon': 0.1}
    """
    from holdfast.inference.spent import parse

    try:
        return parse(text).to_dict()
    except InvalidParameter as error:
        raise InvalidParameter(f"{name}: {error}") from None


def _share(text: str) -> tuple[str, float]:
    name, equals, share = text.rpartition("=")
    try:
        if equals and name:
            return name, float(share)
    except ValueError:
        pass
    raise InvalidParameter(f"--analyst must be NAME=SHARE, got {text!r}")


__all__ = ["cost_of", "open_sample", "policy_of", "read_policy", "store_at"]
