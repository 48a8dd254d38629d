"""One server for the tests of this folder; tests that stop or break theirs start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.live import Live, running


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server that allows one folder, with one file in it."""
    allowed = tmp_path_factory.mktemp("allowed")
    (allowed / "allowed.csv").write_text("a,b\n1,2\n5,6\n")
    with running(allow_folder=(allowed,), failures=10_000) as server:
        yield server
