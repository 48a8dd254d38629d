"""What `holdfast serve` prints before it serves."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from holdfast.cli import serve
from holdfast.cli.main import run
from holdfast.server import Settings

TOKEN = "hf_" + "0123456789abcdef" + "_" + 4 * "0123456789abcdef"


@pytest.mark.parametrize("columns", [200, 80, 40])
def test_the_token_is_printed_whole(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is shown once: folded at the edge of the terminal, it could not be copied."""
    monkeypatch.setenv("COLUMNS", str(columns))
    serve._show(Settings(), TOKEN, None, False)
    assert TOKEN in capsys.readouterr().out.splitlines()


def test_a_token_in_a_file_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    serve._show(Settings(), TOKEN, Path("token.txt"), False)
    told = capsys.readouterr().out
    assert "token.txt" in told
    assert TOKEN not in told


def test_an_option_and_its_setting_have_one_name() -> None:
    """`--signing-key` is `HOLDFAST_SERVER_SIGNING_KEY`: who knows the one knows the other."""
    of_the_start_alone = {"new_steward", "token_file", "as_json"}
    taken = inspect.signature(serve.serve).parameters
    for name in set(taken) - of_the_start_alone:
        assert name in Settings.model_fields
        assert "--" + name.replace("_", "-") in taken[name].default.param_decls[0].split("/")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file in it would be answered as one that is not allowed. Nothing is made before the refusal."""
    place = tmp_path / "absent"
    assert run(["serve", "--folder", str(tmp_path / "records"), "--allow-folder", str(place)]) == 2
    assert (
        capsys.readouterr().err
        == f"holdfast: allow_folder must be a folder that exists, and there is no folder at {place}\n"
    )
    assert not (tmp_path / "records").exists()
