"""Fixtures that tests of several packages share."""

from tests.services.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
