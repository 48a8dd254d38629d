"""Spark as it is run: clusters behind addresses, Spark Connect, workers without a Python of ours, and jobs counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import holdfast as hf
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.data import kept
from tests.data.expressions.odd_rows import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: pyspark leaves sockets to be collected.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings(
        "ignore:unclosed <socket:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
import holdfast as hf
from holdfast.data.statistics import Count
path, session = sys.argv[1:]
sample = hf.data.table(path, engine="spark", session=session)
print(sample.fingerprint(), *(int(one[0]) for one in sample.measure([Count("x > 2"), Count("x > 5")])))
"""
CONNECTED = """
import sys
from random import Random
from secrets import token_hex
import holdfast as hf
from pyspark.sql import SparkSession
from holdfast.data.statistics import Count
from holdfast.errors import HoldfastError
from tests.data import kept
from tests.data.expressions.odd_rows import SCHEMA, rows

path, address = sys.argv[1:]

def tried(work):
    try:
        work()
        return "answered"
    except HoldfastError as error:
        return type(error).__name__

made = rows(Random(1), 200)
reference = hf.data.table(kept.arrow(made), schema=SCHEMA)
sample = hf.data.table(path, engine="spark", session=address, schema=SCHEMA)
asked = kept.questions(Random(2), 8)
print(sample.engine, sample.n, sample.fingerprint() == reference.fingerprint())
print(sample.measure(asked) == reference.measure(asked))
# Nobody here can watch a file of the server: the digests notice what is written there.
kept.parquet(path, [row | {"x": 1.0 if row["x"] is None else row["x"]} for row in made])
print(tried(lambda: sample.measure([Count("x > 2")])))

session = SparkSession.builder.remote(address).getOrCreate()
session.createDataFrame([(float(at), "a") for at in range(20)], "x double, s string").write.saveAsTable("people")
sample = hf.data.table(address, table="people")
print(int(sample.measure([Count("x > 5 and s = 'a'")])[0][0]))
session.sql("insert into people values (1.0D, 'a')")
print(tried(lambda: sample.measure([Count("x > 5")])), tried(sample.fingerprint))
session.sql("drop table people")
print(tried(lambda: sample.measure([Count("x > 5")])))
print(tried(lambda: hf.data.table(address)))
"""


def program(text: str, path: Path, session: str, **changed: str) -> str:
    """What a new process says of a file through a session of its own, with no `PYSPARK_PYTHON`."""
    left = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "SPARK_HOME")}
    environment = {**left, "SPARK_LOCAL_IP": "127.0.0.1", **changed}
    done = subprocess.run(
        [sys.executable, "-c", text, str(path), session], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-1500:]
    return done.stdout.strip()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"x": [float(at) for at in range(10)]}).write_parquet(path)
    return path


def test_a_connect_server_says_what_the_others_say(spark_connect: str, tmp_path: Path) -> None:
    path = kept.parquet(tmp_path / "rows.parquet", rows(Random(1), 200))
    said = program(CONNECTED, path, spark_connect, PYTHONPATH=str(ROOT)).splitlines()
    unavailable = "SampleUnavailable"
    assert said[:3] == ["spark 200 True", "True", unavailable]
    assert said[3:] == ["14", f"{unavailable} {unavailable}", unavailable, "InvalidParameter"]


def test_a_cluster_behind_an_address(spark_master: str, file: Path) -> None:
    reference = hf.data.table(file).fingerprint()
    assert program(PROGRAM, file, spark_master, PYSPARK_PYTHON=sys.executable) == f"{reference} 7 4"


def test_workers_of_this_machine_run_this_python(file: Path, tmp_path: Path) -> None:
    """What is called python3 here has no Holdfast: it is not asked."""
    wrong = tmp_path / "bin" / "python3"
    wrong.parent.mkdir()
    wrong.write_text("#!/bin/sh\nexit 1\n")
    wrong.chmod(0o755)
    said = program(PROGRAM, file, "local[1]", PATH=f"{wrong.parent}:{os.environ['PATH']}")
    assert said == f"{hf.data.table(file).fingerprint()} 7 4"


def test_one_session_in_a_process(spark_session: SparkSession, file: Path) -> None:
    with pytest.raises(
        InvalidParameter,
        match="session must belong to the same cluster as the Spark session that",
    ):
        hf.data.table(file, engine="spark", session="spark://127.0.0.1:1")
    with pytest.raises(InvalidParameter, match="session must be a Spark session, or an address such as spark://"):
        hf.data.table(file, engine="spark", session="ftp://there")


def jobs(session: SparkSession, work: Any) -> int:
    """How many jobs a piece of work starts."""
    name = f"count-{token_hex(4)}"
    session.sparkContext.setJobGroup(name, name)
    work()
    session.sparkContext.setJobGroup("none", "none")
    return len(session.sparkContext.statusTracker().getJobIdsForGroup(name))


def test_jobs_of_a_question(spark_session: SparkSession, file: Path) -> None:
    """The figures of docs/scale.md."""
    sample = hf.data.table(file, engine="spark", session=spark_session)
    many = [FixedSum(f"x + {at}", 0.0, 100.0) for at in range(64)]
    more = [Count(f"x > {at}") for at in range(86)]
    counted = {
        "one": jobs(spark_session, lambda: sample.measure([Count("x > 2")])),
        "sixty-four": jobs(spark_session, lambda: sample.measure(many)),
        "a hundred and fifty": jobs(spark_session, lambda: sample.measure([*many, *more])),
        "fingerprint": jobs(spark_session, sample.fingerprint),
    }
    assert counted == {"one": 3, "sixty-four": 3, "a hundred and fifty": 5, "fingerprint": 2}


@pytest.mark.parametrize("change", ["changed", "exchanged", "appended", "removed", "dropped", "truncated", "added"])
def test_changed_rows_of_a_frame_are_found(spark_session: SparkSession, tmp_path: Path, change: str) -> None:
    """No file is watched behind a frame: what every statement adds up tells."""
    folder, asked = tmp_path / "people", [Count("x > 1 and y = 1"), Count("x > 2")]
    folder.mkdir()
    place, rows = folder / "a.parquet", pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0], "z": [7, 8, 9]})
    rows.write_parquet(place)
    frame = spark_session.read.parquet(str(folder))
    with hf.data.table(frame) as sample:
        for _ in range(2):  # the second time what is known of these columns is compared
            assert sample.measure(asked) == [(1,), (1,)]
        if change == "dropped":
            place.unlink()
        elif change == "truncated":
            os.truncate(place, place.stat().st_size // 2)
        else:
            others = {
                "changed": rows.with_columns(z=pl.Series([7, 8, 0])),
                "exchanged": rows.with_columns(y=pl.Series([1, 0, 0])),
                "appended": pl.concat([rows, rows[:1]]),
                "removed": rows[:2],
                "added": rows,
            }
            others[change].write_parquet(folder / "b.parquet" if change == "added" else place)
        if change == "changed":  # in a column that nobody asked about: what is asked is answered as before
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                sample.measure([Count("z > 8")])
        elif change != "added":  # a frame lists its files once
            with pytest.raises(SampleUnavailable):
                sample.measure(asked)
        if change == "added":
            assert sample.measure(asked) == [(1,), (1,)]
        else:
            with pytest.raises(SampleUnavailable):
                sample.fingerprint()
