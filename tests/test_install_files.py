"""What installs Holdfast without a clone: metadata, container, compose file, workflow and community files."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

import holdfast as hf
from holdfast.server.settings import Settings

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with continued lines joined and without comments."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line)]


def _environment() -> dict[str, str]:
    (given,) = (rest for word, rest in _instructions() if word == "ENV")
    return dict(pair.split("=", 1) for pair in shlex.split(given))


def test_every_step_of_the_dockerfile_names_what_is_there() -> None:
    steps = _instructions()
    assert steps[0] == ("FROM", "python:3.12-slim")
    for word, rest in steps:
        if word == "COPY":
            assert all((ROOT / name).exists() for name in rest.split()[:-1]), rest
    (install,) = (rest for word, rest in steps if word == "RUN" and "pip install" in rest)
    (extras,) = re.findall(r"'\.\[([a-z,]+)\]'", install)
    assert {"server", "postgres"} <= set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    copied = " ".join(rest for word, rest in steps if word == "COPY")
    for needed in (PROJECT["readme"], *PROJECT["license-files"], "constraints.txt", "src"):
        assert needed in copied.split()
    assert ("USER", "holdfast") in steps


def test_settings_of_the_containers_are_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    server = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["server"]
    names = {*_environment(), *server["environment"]}
    assert {name.removeprefix("HOLDFAST_SERVER_").lower() for name in names} <= set(Settings.model_fields)
    for name, value in (_environment() | server["environment"]).items():
        monkeypatch.setenv(name, value.replace("${HOLDFAST_DATABASE_PASSWORD}", "secret"))
    settings = Settings()
    assert str(settings.ledger).startswith("postgresql://holdfast:")
    assert settings.shutdown_seconds < 30
    assert server["stop_grace_period"] == "30s"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What the image starts, as it starts it, on a folder and a port of this test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inside = {name: value.replace("/var/lib/holdfast", str(tmp_path)) for name, value in _environment().items()}
    environment = os.environ | inside | {"HOLDFAST_SERVER_PORT": str(port), "HOLDFAST_SERVER_HOST": "127.0.0.1"}
    command = json.loads(next(rest for word, rest in _instructions() if word == "CMD"))
    assert command[0] == "holdfast"
    started = [sys.executable, "-m", "holdfast", *command[1:]]
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen(started, env=environment, stdout=said, stderr=subprocess.STDOUT)
    try:
        yield environment | {"said": str(tmp_path / "said")}
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15)


def test_the_image_starts_a_server_that_its_health_check_finds(server: dict[str, str]) -> None:
    check = next(rest for word, rest in _instructions() if word == "HEALTHCHECK")
    words = json.loads(check.partition("CMD ")[2])
    deadline = time.monotonic() + 60
    while subprocess.run([sys.executable, *words[1:]], env=server, capture_output=True).returncode:
        assert time.monotonic() < deadline, Path(server["said"]).read_text()
        time.sleep(0.2)
    assert re.search(r"^hf_\w+", Path(server["said"]).read_text(), flags=re.MULTILINE), "the first steward's token"
    wrong = server | {"HOLDFAST_SERVER_PORT": "1"}
    assert subprocess.run([sys.executable, *words[1:]], env=wrong, capture_output=True).returncode == 1


def test_the_database_of_the_compose_file_is_the_one_that_the_server_is_told() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    database, ledger = services["database"]["environment"], services["server"]["environment"]["HOLDFAST_SERVER_LEDGER"]
    assert ledger == f"postgresql://{database['POSTGRES_USER']}:${{HOLDFAST_DATABASE_PASSWORD}}@database/" + str(
        database["POSTGRES_DB"]
    )
    assert all(port.startswith("127.0.0.1:") for port in services["server"]["ports"])


def test_the_metadata_is_complete() -> None:
    assert {"name", "version", "description", "readme", "requires-python", "license", "keywords"} <= set(PROJECT)
    assert Version(PROJECT["version"]) == Version(hf.__version__)
    kinds = {classifier.split(" :: ")[0] for classifier in PROJECT["classifiers"]}
    expected = {
        "Development Status",
        "Intended Audience",
        "Operating System",
        "Programming Language",
        "Topic",
        "Typing",
    }
    assert expected <= kinds


def test_the_workflow_runs_make_test() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yaml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make test"]
    versions = [Version(version) for version in job["strategy"]["matrix"]["python"]]
    assert min(versions) == Version(PROJECT["requires-python"].removeprefix(">="))


def test_citation_and_devcontainer_agree_with_the_project() -> None:
    citation: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    target = container["postCreateCommand"].removeprefix("make .venv")
    assert f"$(VENV){target}:" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("name", ["SECURITY.md", "CITATION.cff", *sorted(p.name for p in ROOT.glob(".github/**/*.md"))])
def test_nobody_is_invented(name: str) -> None:
    """No address, name or contact that is nobody's."""
    (path,) = [*ROOT.glob(name), *ROOT.glob(f".github/**/{name}")]
    assert not re.search(r"[\w.]+@[\w.]+|https?://", path.read_text())
