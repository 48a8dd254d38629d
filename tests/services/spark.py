"""A Spark cluster for tests: a master here and two workers, each a process of its own, on the loopback interface.

Spark's own `local-cluster` master starts them; it needs a folder that looks like an installation, where it also writes
what workers say, so it gets one of links to the installed package.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
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


_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that starts quickly and computes slowly, which suits tests."""


@cache
def session() -> SparkSession:
    """One session for this process, with two workers of one core; they end with the process."""
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="holdfast-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    logging = folder / "log4j2.properties"
    logging.write_text(_QUIET)
    home, installed = folder / "home", Path(pyspark.__file__).parent
    home.mkdir()
    for part in ("bin", "jars"):
        (home / part).symlink_to(installed / part)
    os.environ["SPARK_HOME"] = str(home)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    options = f"-Dlog4j2.configurationFile=file:{logging} {_JAVA}"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": options,
        "spark.executor.memory": "768m",
        "spark.executor.extraJavaOptions": options,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("holdfast-tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """One session for this test process."""
    yield session()
    session().stop()
