"""Fixtures that tests of several packages share, and which tests run in one process."""

import gc
import os
import tempfile
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from tests.services.mariadb import mariadb, mariadb_name
from tests.services.postgres import postgres_server, postgres_url
from tests.services.spark import spark_connect, spark_master, spark_session
from tests.services.stores import _store_address, bucket, web_folder

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

__all__ = [
    "_store_address",
    "bucket",
    "mariadb",
    "mariadb_name",
    "postgres_server",
    "postgres_url",
    "spark_connect",
    "spark_master",
    "spark_session",
    "web_folder",
]

LONGEST = ("tests/test_docs.py", "tests/data/test_spark_sample.py", "tests/test_packaging.py", "tests/test_types.py")
"""Files that begin first: one that begins last would leave the other processes idle while it ends."""


_REMEMBERED = tempfile.TemporaryDirectory(prefix="holdfast-remembered-")


def pytest_configure(config: pytest.Config) -> None:
    """Know the marker that keeps tests of one service in one process, also where tests run without pytest-xdist."""
    config.addinivalue_line("markers", "xdist_group(name): run in one process with the others of this group")
    # What is remembered of files is forgotten with the tests, and no test meets what others remembered before.
    config.add_cleanup(_REMEMBERED.cleanup)
    os.environ["HOLDFAST_CACHE"] = _REMEMBERED.name


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, each in its own order."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay: looking for garbage among them, now and whenever a test asks for it, would find none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadScopeScheduling":
    """Hand out whole files, or the groups that `xdist_group` names, so that what their tests share is made once."""
    from tests.scheduling import Files

    config.option.loadscopereorder = False
    return Files(config, log)
