"""A missing package is named with the extra that brings it, at every door of the guard."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
except ImportError as error:
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
    ],
)
def test_the_extra_is_named(package: str, extra: str, code: str) -> None:
    program = "import holdfast.data.expressions.parsing\n" if package == "sqlglot" else ""
    program += HIDDEN.format(package=package, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{package} is not installed: `pip install 'holdfast[{extra}]'`\n"
