"""The systemd unit of the documentation names options and variables that exist, and systemd can read it."""

from __future__ import annotations

import configparser
import inspect
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.cli.serve import serve
from holdfast.server.settings import Settings

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
UNIT = EXAMPLES / "holdfast.service"


def test_the_unit_starts_the_server_with_options_that_it_has() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read(UNIT)
    words = shlex.split(unit["Service"]["ExecStart"])
    known = {text for one in inspect.signature(serve).parameters.values() for text in one.default.param_decls}
    assert words[1] == "serve"
    assert {word for word in words if word.startswith("--")} <= known
    assert int(unit["Service"]["TimeoutStopSec"]) > Settings().shutdown_seconds


def test_its_settings_are_the_servers() -> None:
    lines = [line for line in (EXAMPLES / "settings").read_text().splitlines() if line and not line.startswith("#")]
    given = dict(line.removeprefix("HOLDFAST_SERVER_").split("=", 1) for line in lines)
    Settings(**{name.lower(): value for name, value in given.items()})


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_reads_the_unit() -> None:
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(UNIT)], capture_output=True, text=True, check=False
    )
    # Where Holdfast is not installed in /opt, systemd says so; that is all it may say about the unit.
    wrong = [line for line in said.stderr.splitlines() if UNIT.name in line and "is not executable" not in line]
    assert wrong == []
