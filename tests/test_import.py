"""`import holdfast` stays light: it loads no package of its own until one is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import holdfast as hf


def _modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_import_is_light() -> None:
    loaded = _modules_after("import holdfast")
    assert not {m for m in loaded if m.split(".")[0] in {"numpy", "scipy", "typer", "rich", "altair", "opendp"}}


def test_packages_come_on_first_use() -> None:
    loaded = _modules_after("import holdfast as hf; hf.bounds; hf.noise; hf.accounting; hf.mechanisms")
    assert "holdfast.mechanisms" in loaded
    assert "scipy.stats" not in loaded
    assert not {m for m in loaded if m.split(".")[0] in {"typer", "rich", "altair", "opendp"}}


def test_asking_for_one_holdout_or_correction_loads_no_other() -> None:
    loaded = _modules_after("import holdfast as hf; hf.ReusableHoldout; hf.inference.AfterLooking; hf.plan")
    assert "holdfast.inference.after_looking.record" in loaded
    assert not {
        m for m in loaded if m.startswith(("holdfast.inference.private_tests", "holdfast.holdout.thresholdout"))
    }
    assert not {m for m in loaded if m.startswith(("scipy.stats", "sklearn", "pandas", "altair", "optuna", "typer"))}


def test_every_name_of_the_lazy_packages_is_there() -> None:
    for package in (hf, hf.bounds, hf.holdout, hf.inference, hf.correlated, hf.coherence, hf.data, hf.guard, hf.client):
        for name in package.__all__:
            assert getattr(package, name) is not None
        assert set(package.__all__) <= set(dir(package))
    assert callable(hf.inference.answer_plan)
    assert callable(hf.inference.online.Saffron)
    assert callable(hf.holdout.metrics.auc)


def test_names_that_live_in_a_package_are_pointed_to() -> None:
    for package, names in hf._ELSEWHERE.items():
        for name in set(names()) - {"mean"}:  # which is at the top, too
            assert hasattr(getattr(hf, package), name)
            with pytest.raises(AttributeError, match=rf"it is holdfast\.\w+\.{name}$"):
                getattr(hf, name)


def test_every_kind_of_question_is_pointed_to_and_asked_for_by_nothing_else() -> None:
    assert set(hf._ELSEWHERE["guard"]()) >= set(hf.guard.Question.kinds())
    assert "holdfast.guard" not in _modules_after("import holdfast; hasattr(holdfast, '__wrapped__')")


def test_unknown_name_is_an_attribute_error() -> None:
    done = subprocess.run([sys.executable, "-c", "import holdfast; holdfast.nothing"], capture_output=True, text=True)
    assert "AttributeError" in done.stderr
