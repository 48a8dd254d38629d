"""A Spark cluster for tests: a master here and two workers, each a process of its own, on the loopback interface.

Spark's own `local-cluster` master starts them; it needs a folder that looks like an installation, where it also writes
what workers say, so it gets one of links to the installed package.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.services.ports import free_port

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
def session(java: str = _JAVA) -> SparkSession:
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

    options = f"-Dlog4j2.configurationFile=file:{logging} {java}"
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


_KEEPER = """
folder=$1; shift
"$@" </dev/null & server=$!
read -r _; kill $server; wait $server; rm -rf "$folder"
"""
"""Ends a server of Java and clears up as soon as its own standard input closes."""


@contextmanager
def started(port: int, *arguments: str, python: str | None = sys.executable) -> Iterator[None]:
    """A process of Spark that listens on a port of the loopback interface, for as long as the block lasts."""
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="holdfast-spark-server-"))
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
    }
    environment |= {"SPARK_WORKER_DIR": str(folder), "JAVA_TOOL_OPTIONS": _JAVA}
    environment.pop("PYSPARK_PYTHON", None)
    if python is not None:
        environment["PYSPARK_PYTHON"] = python
    with (folder / "log").open("wb") as log:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", str(folder), str(home / "bin" / arguments[0]), *arguments[1:]],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
        )
    try:
        end = time.monotonic() + 120
        while True:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if keeper.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Spark did not start: {(folder / 'log').read_text()[-500:]}")
            time.sleep(0.1)
        yield
    finally:
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark_connect() -> Iterator[str]:
    """The address of a server of Spark Connect."""
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": port,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "768m",
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with started(port, "spark-submit", "--master", "local[1]", *words, "--class", server, "spark-internal"):
        yield f"sc://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def spark_master() -> Iterator[str]:
    """The address of a cluster of one master and one worker, each a process of its own."""
    port, worker = free_port(), free_port()
    master = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    some = ("--host", "127.0.0.1", "--port", str(worker), "--webui-port", "0", "-c", "1", "-m", "1g")
    with (
        started(port, "spark-class", "org.apache.spark.deploy.master.Master", *master),
        started(worker, "spark-class", "org.apache.spark.deploy.worker.Worker", *some, f"spark://127.0.0.1:{port}"),
    ):
        yield f"spark://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """One session for this test process."""
    yield session()
    session().stop()
