"""What an experiment depends on is found from import statements: enough of it, and not everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast_papers import sources as module
from holdfast_papers.registry import experiments
from holdfast_papers.sources import Sources, sources


def test_every_module_that_running_loads_is_among_the_sources() -> None:
    """Run an experiment in a fresh interpreter and compare with what was read from the text."""
    code = (
        "import sys; from holdfast_papers.max_information import p_value_sensitivity as e\n"
        "from holdfast_papers.registry import Settings\n"
        "e.run(Settings(quick=True)); print(' '.join(m for m in sys.modules if m.startswith('holdfast')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= sources("holdfast_papers.max_information.p_value_sensitivity").modules


def test_a_lazy_name_is_followed_to_its_home_alone() -> None:
    found = sources("holdfast_papers.max_information.golay").modules
    assert "holdfast_papers.max_information.codes" in found
    assert not {name for name in found if name.startswith(("holdfast.guard", "holdfast.server", "holdfast.cli"))}


def test_a_figure_depends_on_the_module_that_describes_it() -> None:
    assert experiments()["rogers-figure-6"].home == "holdfast_papers.private_tests.figures"
    assert experiments()["dwork-figure-2"].home == "holdfast_papers.dwork.figures"
    for entry in experiments().values():
        assert not {m for m in sources(entry.home).modules if m.startswith(("holdfast.server", "holdfast.cli"))}


def test_one_character_changes_the_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {name: tmp_path / f"{name}.py" for name in ("a", "b")}
    for file in files.values():
        file.write_text("x = 1\n")
    monkeypatch.setattr(module, "_path", lambda name: files.get(name))
    both = Sources(frozenset(files), frozenset())
    before = both.fingerprint
    assert both.fingerprint == before
    files["b"].write_text("x = 2\n")
    assert both.fingerprint != before
    files["b"].write_text("x = 1\n")
    assert both.fingerprint == before
    assert Sources(frozenset(files), frozenset({"numpy"})).fingerprint != before
