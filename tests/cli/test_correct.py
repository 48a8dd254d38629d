"""`holdfast correct` as a person runs it: exit status, words and JSON."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from holdfast.accounting import Bits, PureDP
from holdfast.cli.main import run
from holdfast.inference import AfterLooking


def said(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    status = run(["correct", *line.split()])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_real_process() -> None:
    words = ["correct", "--n", "1000", "--p", "0.001", "--spent", "pure-dp:0.02", "--candidates", "100"]
    done = subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "adjusted p" in done.stdout
    assert "Bonferroni" in done.stdout
    assert "pure privacy" in done.stdout
    assert done.stderr == ""


def test_json_is_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "--n 1000 --p 0.001 --spent pure-dp:0.02 --spent bits:2 --candidates 50 --json")
    assert status == 0
    found = json.loads(out)
    expected = AfterLooking(1000).record(PureDP(0.02)).record(Bits(2)).correct(0.001)
    assert found["adjusted"] == expected.adjusted
    assert found["level"]["value"] == expected.level.value
    assert found["spent"] == ["pure-dp:0.02", "bits:2"]
    assert found["bonferroni"] == pytest.approx(0.001)
    assert found["route"] == "looks and pure privacy, interleaved"


def test_nothing_spent_and_no_p(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "--n 10 --json")
    assert status == 0
    assert json.loads(out)["level"]["value"] == 0.05
    assert json.loads(out)["p"] is None
    assert "Name what was run with --spent" in json.loads(out)["note"]
    assert said(capsys, "--n 10 --p 0.2")[0] == 0


def test_nothing_spent_is_not_called_a_correction(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "--n 1000 --p 0.001")
    assert status == 0
    words = " ".join(out.split())
    assert "No correction: an ordinary test" in words
    assert "Correction after looking" not in words
    assert "verdict reject, if the test was chosen before looking" in words
    assert "nothing was corrected" in words
    words = " ".join(said(capsys, "--n 1000 --p 0.001 --spent bits:1")[1].split())
    assert "Correction after looking" in words
    assert "verdict reject corrected level" in words


def test_nulls(capsys: pytest.CaptureFixture[str]) -> None:
    product = json.loads(said(capsys, "--n 100 --spent pure-dp:0.05 --json")[1])["level"]["value"]
    anything = json.loads(said(capsys, "--n 100 --spent pure-dp:0.05 --nulls any --json")[1])["level"]["value"]
    assert anything < product


@pytest.mark.parametrize(
    "line",
    [
        "--n 10000 --p 0.0001 --spent bits:40 --spent approx-dp:0.001,1e-12",
        "--n 1000 --spent approx-dp:0.1,0.01",
        "--n 100000 --spent pure-dp:1",
        "--n 1000 --nulls any --spent approx-dp:0.1,1e-9",
    ],
)
def test_impossible_is_status_3_in_plain_words(capsys: pytest.CaptureFixture[str], line: str) -> None:
    status, _, err = said(capsys, line)
    assert status == 3
    assert "p-value" in err
    assert err.count("\n") == 1


def test_unsound_order(capsys: pytest.CaptureFixture[str]) -> None:
    line = "--n 10000 --p 0.0001 --spent bits:4 --spent approx-dp:0.001,1e-12"
    status, out, _ = said(capsys, line)
    assert status == 0
    assert "no max-information in this order" in out
    status, _, err = said(capsys, f"{line} --currency max-information")
    assert status == 3
    assert "Theorem 3.9" in err
    assert "0.001585" in err
    right = "--n 10000 --p 0.0001 --spent approx-dp:0.001,1e-12 --spent bits:4 --currency max-information"
    status, out, _ = said(capsys, right)
    assert status == 0
    assert "max-information" in out


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("--n 0", "n must"),
        ("--n 10 --p 1.5", "p must"),
        ("--n 10 --p -0.5", "p must"),
        ("--n 10 --alpha 0", "alpha must"),
        ("--n 10 --spent pure-dp", "a cost must be written"),
        ("--n 10 --spent dp:1", "a cost must be written"),
        ("--n 10 --spent pure-dp:x", "a cost must be written"),
        ("--n 10 --spent pure-dp:1,2", "a cost must be written"),
        ("--n 10 --spent pure-dp:-1", "epsilon"),
        ("--n 10 --spent bits:-1", "bits"),
        ("--n 10 --spent approx-dp:0.1,2", "delta"),
        ("--n 10 --nulls iid", "nulls must"),
        ("--n 10 --candidates 0", "candidates must"),
        ("--n 10 --currency euro", "currency must"),
        ("--n 10 --spent pure-dp:0.1 --neighbours add-remove", "PureDP(epsilon=0.2)"),
        ("--p 0.1", "--n"),
    ],
)
def test_wrong_usage_is_status_2(capsys: pytest.CaptureFixture[str], line: str, word: str) -> None:
    status, out, err = said(capsys, line)
    assert status == 2
    assert word in err
    assert out == ""
