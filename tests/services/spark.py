"""A Spark session for tests: in this machine only, two threads, no web page, quiet."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Spark says through log4j what it cannot find and guesses; none of it is about the tests.
_QUIET = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c: %m%n
"""


@cache
def session() -> SparkSession:
    """One session for this process; it ends with the process."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    folder = tempfile.mkdtemp(prefix="holdfast-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    logging = os.path.join(folder, "log4j2.properties")
    with open(logging, "w") as file:
        file.write(_QUIET)
    made = (
        SparkSession.builder.master("local[2]")
        .appName("holdfast-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile=file:{logging} -XX:TieredStopAtLevel=1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", os.path.join(folder, "warehouse"))
        .config("spark.local.dir", folder)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("ERROR")
    return made


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """One session for this test process."""
    yield session()
    session().stop()
