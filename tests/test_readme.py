"""What the README shows, run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from holdfast.cli.main import run
from holdfast_papers.registry import select

README = (Path(__file__).parent.parent / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


NUMBER = r"-?\d+(?:\.\d+)?"


def test_python_examples_run_and_print_the_numbers_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = _blocks("python")
    assert blocks
    names: dict[str, object] = {}  # a reader types them one after the other
    compared = 0
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        said = [line.partition("  # ")[2] for line in block.splitlines() if line.startswith("print(")]
        for shown, line in zip(said, printed, strict=False):
            numbers = re.findall(NUMBER, shown)
            compared += len(numbers)
            for told, found in zip(numbers, re.findall(NUMBER, line), strict=False):
                assert round(float(found), len(told.partition(".")[2])) == float(told), (shown, line)
            assert len(re.findall(NUMBER, line)) >= len(numbers)
    assert compared >= 12
    assert "mechanism.laplace" in printed[-1]


def _commands() -> list[str]:
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("holdfast")]


@pytest.mark.parametrize("line", _commands())
def test_commands_run_and_print_what_is_said(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, said = line.partition("#")
    words = shlex.split(command)[1:]
    if words[0] == "reproduce":  # its quick run has a test of its own
        assert [e.name for e in select(words[1:])] == words[1:]
        return
    assert run([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    if numbers := re.findall(r"\d+\.?\d*", said):
        places = len(numbers[0].partition(".")[2])
        assert round(printed["value"], places) == float(numbers[0])
