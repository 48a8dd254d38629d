"""Fixtures that tests of several packages share."""

import pytest

from tests.services.postgres import postgres_server, postgres_url
from tests.services.spark import spark_session

__all__ = ["postgres_server", "postgres_url", "spark_session"]


def pytest_configure(config: pytest.Config) -> None:
    """Know the marker that keeps tests of one service in one process, also where tests run without pytest-xdist."""
    config.addinivalue_line("markers", "xdist_group(name): run in one process with the others of this group")
