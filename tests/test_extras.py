"""A missing package is named with the extra that brings it, at every door that needs one, and always in one way."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from holdfast.core.extras import named_extras
from holdfast.errors import NotInstalled

DOORS = [
    (
        "sqlglot",
        "tables",
        "import holdfast.data.expressions.parsing",
        "hf.data.expressions.parsing.parse('age + 1 < 3')",
    ),
    ("polars", "tables", "", "hf.data.table({'age': [1, 2]})"),
    ("cryptography", "guard", "", "Guard.open(None, hf.data.table({'age': [1, 2]}), Policy(questions=5))"),
    ("sqlalchemy", "guard", "", "Guard.open('never.db', hf.data.table({'age': [1, 2]}), Policy(questions=5))"),
    ("psycopg", "postgres", "", "hf.data.table('postgresql://nowhere/db', table='people')"),
    ("obstore", "stores", "", "hf.data.table('s3://bucket/people.parquet')"),
    ("pymysql", "mysql", "", "hf.data.table('mysql://nobody@127.0.0.1:9/none', table='people')"),
    ("pyspark", "spark", "", "hf.data.table('/tmp', engine='spark')"),
    ("narwhals", "frames", "", "hf.correlated.Panel({}, group='who')"),
    ("httpx", "client", "", "hf.connect('https://holdfast.example.org', token='hf_0')"),
    ("sklearn", "sklearn", "", "hf.coherence.learners.Estimator('sklearn.tree.DecisionTreeClassifier').fresh()"),
    ("altair", "plots", "", "hf.plan(1000, 10, 2).plot([10])"),
    ("altair", "plots", "", "hf.inference.private_tests.power_chart({})"),
    ("torch", "gpu", "import holdfast.inference.private_tests.gpu", "hf.inference.private_tests.gpu._torch()"),
    ("sqlalchemy", "guard", "", "assert run(['guard', 'list', 'ledger.db']) == 1"),
    ("sqlalchemy", "guard", "", "assert run(['verify', 'ledger.db']) == 1"),
]
"""Package, the extra that brings it, what is imported before the package is hidden, and what needs it."""

PROGRAM = """
import json, os, sys
import holdfast as hf
from holdfast.cli.main import run
from holdfast.guard import Guard, Policy

class Hidden:
    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

doors = json.loads(sys.argv[1])
loaded = {door[0] for door in doors} & {name.partition(".")[0] for name in sys.modules}
assert not loaded, f"{loaded} cannot be hidden any more"
for package, extra, before, needs in doors:
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        continue
    try:
        exec(before)
        sys.meta_path.insert(0, Hidden(package))
        exec(needs)
    except hf.errors.NotInstalled as error:
        assert isinstance(error, ModuleNotFoundError) and error.name == package
        print(f"holdfast: {error}", file=sys.stderr)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(0)
"""
"""Imports what all of them need once, none of the packages among it, and tries each door in a process of its own."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each door said."""
    folder = tmp_path_factory.mktemp("extras")
    (folder / "ledger.db").write_bytes(b"SQLite format 3\0")
    words = [sys.executable, "-c", PROGRAM, json.dumps(DOORS)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=True)
    return done.stderr.splitlines()


@pytest.mark.parametrize("door", range(len(DOORS)), ids=[needs for *_, needs in DOORS])
def test_the_extra_is_named(door: int, said: list[str]) -> None:
    package, extra, _, _ = DOORS[door]
    assert len(said) == len(DOORS), said
    needed = f"holdfast: the package {package} is needed here and is not installed"
    assert said[door] == f"{needed}; install it with `pip install 'holdfast[{extra}]'`"


def test_the_door_inside_knows_better() -> None:
    """A part that needs one extra calls another that needs a second: what is missing is the second's."""
    with pytest.raises(NotInstalled, match=r"holdfast\[tables\]"), named_extras("gpu"), named_extras():
        raise ModuleNotFoundError("No module named 'sqlglot'", name="sqlglot")


@pytest.mark.parametrize("missing", ["nobody_knows", "holdfast.nowhere", None])
def test_a_package_of_no_extra_is_left_as_it_is(missing: str | None) -> None:
    error = ModuleNotFoundError("it is not there", name=missing)
    with pytest.raises(ModuleNotFoundError) as caught, named_extras():
        raise error
    assert caught.value is error
    for extra in (None, "gpu"):
        with pytest.raises(ModuleNotFoundError) as caught, named_extras(extra):
            raise ModuleNotFoundError("a part of this package", name="holdfast.nowhere")
        assert not isinstance(caught.value, NotInstalled)
