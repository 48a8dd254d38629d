"""A missing package is named with the extra that brings it, at every door that needs one, and always in one way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import NotInstalled
from holdfast.extras import named_extras

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import holdfast as hf
from holdfast.guard import Guard, Policy
try:
    {code}
except hf.errors.NotInstalled as error:
    assert isinstance(error, ModuleNotFoundError) and error.name == {package!r}
    print(error)
"""


@pytest.mark.parametrize(
    ("package", "extra", "code"),
    [
        ("sqlglot", "tables", "hf.data.expressions.parsing.parse('age + 1 < 3')"),
        ("polars", "tables", "hf.data.table({'age': [1, 2]})"),
        ("cryptography", "guard", "Guard.open(None, hf.data.table({'age': [1, 2]}), Policy(questions=5))"),
        ("sqlalchemy", "guard", "Guard.open('never.db', hf.data.table({'age': [1, 2]}), Policy(questions=5))"),
        ("psycopg", "postgres", "hf.data.table('postgresql://nowhere/db', table='people')"),
        ("pyspark", "spark", "hf.data.table('/tmp', engine='spark')"),
        ("narwhals", "frames", "hf.correlated.Panel({}, group='who')"),
        ("httpx", "client", "hf.connect('https://holdfast.example.org', token='hf_0')"),
        ("sklearn", "sklearn", "hf.coherence.learners.Estimator('sklearn.tree.DecisionTreeClassifier').fresh()"),
        ("altair", "plots", "hf.plan(1000, 10, 2).plot([10])"),
        ("altair", "plots", "hf.inference.private_tests.power_chart({})"),
        ("torch", "gpu", "hf.inference.private_tests.gpu._torch()"),
    ],
)
def test_the_extra_is_named(package: str, extra: str, code: str) -> None:
    program = {
        "sqlglot": "import holdfast.data.expressions.parsing\n",
        "torch": "import holdfast.inference.private_tests.gpu\n",
    }.get(package, "")
    program += HIDDEN.format(package=package, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{package} is not installed: `pip install 'holdfast[{extra}]'`\n"


@pytest.mark.parametrize("words", [["guard", "list", "ledger.db"], ["verify", "ledger.db"]])
def test_a_command_names_it_too(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "ledger.db").write_bytes(b"SQLite format 3\0")
    code = f"sys.exit(__import__('holdfast.cli.main', fromlist=['run']).run({words}))"
    program = HIDDEN.format(package="sqlalchemy", code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "holdfast: sqlalchemy is not installed: `pip install 'holdfast[guard]'`\n",
    )


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
