"""Without the package that it works with, an integration says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

PACKAGES = [
    ("sklearn", "sklearn"),
    ("optuna", "optuna"),
    ("inspect_ai", "inspect"),
    ("lm_eval", "lm-eval"),
    ("mlflow", "mlflow"),
]


@pytest.mark.parametrize(("package", "extra"), PACKAGES)
def test_a_missing_package_is_named_with_its_extra(package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import holdfast.integrations.{package}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    needed = f"holdfast.errors.NotInstalled: the package {package} is needed here and is not installed"
    said = f"{needed}; install it with `pip install 'holdfast[{extra}]'`"
    assert found.stderr.splitlines()[-1] == said


def test_an_error_of_another_package_is_left_as_it_is() -> None:
    code = "import sys; sys.modules['holdfast.holdout.reusable'] = None; import holdfast.integrations.sklearn"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "holdfast[sklearn]" not in found.stderr
