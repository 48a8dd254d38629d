"""Fixtures that tests of several packages share."""

from tests.services.postgres import postgres_server, postgres_url
from tests.services.spark import spark_session

__all__ = ["postgres_server", "postgres_url", "spark_session"]
