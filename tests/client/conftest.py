"""One server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.live import Live, running


@pytest.fixture(scope="session")
def live() -> Iterator[Live]:
    with running() as server:
        yield server
