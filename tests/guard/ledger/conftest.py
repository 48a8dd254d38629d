"""A store of each kind, fresh for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.guard.ledger.memory import MemoryStore
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.store import Store
from tests.guard.ledger.stores import KINDS

Reopen = Callable[..., Store]


@pytest.fixture(params=KINDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """Address of a store that is not there yet."""
    if request.param == "memory":
        return None
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def durable_where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Parametrised indirectly with sqlite or postgres."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def opened(where: str | None, tmp_path: Path) -> Iterator[Reopen]:
    """Opens the store, as often as a test likes; a store in memory is one object for all."""
    made: list[Store] = []

    def reopen(**options: Any) -> Store:
        if where is None and made and isinstance(made[0], MemoryStore):
            return made[0]
        if where is not None and where.startswith("postgresql"):
            options = {"key": tmp_path / "key.pem"} | options
        made.append(open_store(where, **options))
        return made[-1]

    yield reopen
    for store in made:
        store.close()


@pytest.fixture
def store(opened: Reopen) -> Store:
    return opened()
