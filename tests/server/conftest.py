"""One server for the tests of this folder; tests that stop or break theirs start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.live import Live, running


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    with running(failures=10_000) as server:
        yield server
