"""`holdfast test` as a person runs it: every command, JSON, pictures, exit status, wrong input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.cli import count_input
from holdfast.errors import InvalidParameter
from tests.cli.private_test_words import S4, found, said


def test_real_process() -> None:
    words = ["test", "gof", "--counts", "5200,1500,1700,1600", "--p0", S4, "--rho", "0.1"]
    done = subprocess.run([sys.executable, "-m", "holdfast", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "projected GOF" in done.stdout
    assert "reject at 0.05" in done.stdout
    assert "ZCDP(rho=0.1)" in done.stdout
    assert done.stderr == ""


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "--help")
    assert status == 0
    for name in ("gof", "independence", "gwas", "local-gof", "local-independence", "all-pairs", "which"):
        assert name in out
        assert said(capsys, name, "--help")[0] == 0


@pytest.mark.parametrize(
    "method", ["projected", "nonprojected", "asymptotic", "monte-carlo", "monte-carlo-projected", None]
)
def test_gof_by_every_method(capsys: pytest.CaptureFixture[str], method: str | None) -> None:
    words = ["gof", "--counts", "5200,1500,1700,1600", "--p0", S4, "--rho", "0.1"]
    read = found(capsys, *words, *(["--method", method] if method else []))
    assert read["reject"] is True
    assert read["cost"] == {"kind": "zcdp", "rho": 0.1}
    assert read["n"] == 10_000
    assert len(read["details"]["noisy_counts"]) == 4
    assert "counts" not in read


def test_laplace_is_monte_carlo_and_exact(capsys: pytest.CaptureFixture[str]) -> None:
    read = found(capsys, "gof", "--counts", "250,251,249,250", "--epsilon", "1", "--m", "99")
    assert read["level"] == "exact"
    assert read["details"]["m"] == 99
    assert read["cost"]["epsilon"] == 1.0


@pytest.mark.parametrize(
    "method",
    ["projected", "nonprojected", "asymptotic", "asymptotic-printed", "monte-carlo", "monte-carlo-projected"],
)
def test_independence_by_every_method(capsys: pytest.CaptureFixture[str], method: str) -> None:
    read = found(capsys, "independence", "--counts", "300,200;150,350", "--rho", "0.1", "--method", method)
    assert read["reject"] is True
    assert 0 <= read["p_value"] <= 0.05


def test_both_margins_public_needs_the_unit(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["independence", "--counts", "300,200;150,350", "--rho", "0.1", "--public-margins", "both"]
    status, _, err = said(capsys, *words)
    assert status == 2
    assert "swap" in err
    assert found(capsys, *words, "--unit", "swap")["details"]["noise"]["unit"] == "swap"


@pytest.mark.parametrize("method", ["projected", "output-perturbation"])
def test_gwas(capsys: pytest.CaptureFixture[str], method: str) -> None:
    read = found(capsys, "gwas", "--counts", "1250,833;625,833;625,834", "--rho", "0.5", "--method", method)
    assert read["reject"] is True
    assert read["cost"]["rho"] == 0.5


@pytest.mark.parametrize("kind", ["randomized-response", "bit-flip", "laplace", "gaussian", None])
def test_local_tests_of_counts(capsys: pytest.CaptureFixture[str], kind: str | None) -> None:
    budget = ["--rho", "2"] if kind == "gaussian" else ["--epsilon", "3"]
    more = [*budget, *(["--randomizer", kind] if kind else [])]
    read = found(capsys, "local-gof", "--counts", "5200,1500,1700,1600", *more)
    assert read["reject"] is True
    assert read["details"]["local"] is True
    assert found(capsys, "local-independence", "--counts", "3000,2000;1500,3500", *more)["reject"] is True


def test_local_answers_as_they_arrived(capsys: pytest.CaptureFixture[str]) -> None:
    answers = ["--answers", "2900,2350,2420,2330", "--epsilon", "1", "--randomizer", "randomized-response"]
    read = found(capsys, "local-gof", *answers, "--p0", S4)
    assert read["statistic"] == pytest.approx(58.20594747, rel=1e-8)  # spec TV-32
    pair = ["--answers", "2700,2480;2390,2430", "--epsilon", "1", "--randomizer", "randomized-response"]
    assert found(capsys, "local-independence", *pair)["statistic"] == pytest.approx(5.644289729, rel=1e-7)  # TV-33
    bits = ["--answers", "5010,4180,4230,4150", "--n", "10000", "--epsilon", "1", "--randomizer", "bit-flip"]
    assert found(capsys, "local-gof", *bits, "--p0", S4)["statistic"] == pytest.approx(1.34748342, rel=1e-7)  # TV-35
    for wrong in (["--answers", "1,2"], ["--answers", "5,4", "--randomizer", "bit-flip"]):
        status, _, err = said(capsys, "local-gof", *wrong, "--epsilon", "1")
        assert status == 2
        assert ("must name the randomizer" if "--randomizer" not in wrong else "must be given") in err


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json"])
def test_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"null.{suffix}"
    read = found(capsys, "gof", "--counts", "260,240,250,250", "--rho", "0.1", "--plot", str(path))
    assert read["plot"] == str(path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    "words",
    [
        ["gof", "--counts", "260,240,250,250", "--rho", "0.1", "--method", "asymptotic"],
        ["gof", "--counts", "960,240,250,250", "--epsilon", "1"],
        ["gof", "--counts", "260,240,250,250", "--epsilon", "1", "--method", "monte-carlo"],
        ["independence", "--counts", "300,200;250,250", "--rho", "0.1"],
        ["independence", "--counts", "300,200;250,250", "--rho", "0.1", "--method", "asymptotic"],
        ["independence", "--counts", "300,200;250,250", "--epsilon", "1"],
        ["independence", "--counts", "300,200;250,250", "--epsilon", "1", "--method", "monte-carlo"],
        ["gwas", "--counts", "250,167;125,167;125,166", "--rho", "0.5"],
        ["gwas", "--counts", "250,167;125,167;125,166", "--rho", "0.5", "--method", "output-perturbation"],
        ["local-gof", "--counts", "260,240,250,250", "--epsilon", "1"],
        ["local-gof", "--counts", "260,240,250,250", "--epsilon", "1", "--randomizer", "laplace"],
        ["local-independence", "--counts", "300,200;250,250", "--epsilon", "1", "--randomizer", "laplace"],
    ],
)
def test_every_test_can_be_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "null.json"
    assert found(capsys, *words, "--plot", str(path))["plot"] == str(path)
    drawn = json.loads(path.read_text())
    assert "critical value" in json.dumps(drawn)
    density = [row["density"] for data in drawn["datasets"].values() for row in data if "density" in row]
    assert density
    assert min(density) >= 0


def test_a_picture_without_a_place_is_refused_before_the_release(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("null.gif", "nowhere/null.svg"):
        status, out, err = said(capsys, "gof", "--counts", "5,5", "--rho", "1", "--plot", str(tmp_path / name))
        assert status == 2
        assert out == ""
        assert "--plot must be" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gof", "--counts=-3,5,9", "--rho", "1"], "counts must be whole numbers, at least 0"),
        (["gof", "--counts", "2.5,5,9", "--rho", "1"], "counts must be whole numbers, at least 0"),
        (["gof", "--counts", "5,ten", "--rho", "1"], "--counts must be numbers"),
        (["gof", "--counts", "nan,5", "--rho", "1"], "--counts must be numbers|whole numbers"),
        (["gof", "--counts", "12", "--rho", "1"], "at least two cells"),
        (["gof", "--counts", "0,0", "--rho", "1"], "at least one record"),
        (["gof", "--counts", "5,9", "--p0", "0.5,0.4", "--rho", "1"], "p0 must sum to 1"),
        (["gof", "--counts", "5,9", "--p0", "1,0", "--rho", "1"], "p0"),
        (["gof", "--counts", "5,9", "--p0", "1/3,1/3,1/3", "--rho", "1"], "one entry per cell"),
        (["gof", "--counts", "5,9", "--rho", "0"], "rho must be a number in"),
        (["gof", "--counts", "5,9", "--epsilon", "0"], "epsilon must be a number in"),
        (["gof", "--counts", "5,9"], "either --epsilon or --rho, and not both"),
        (["gof", "--counts", "5,9", "--rho", "1", "--epsilon", "1"], "either --epsilon or --rho, and not both"),
        (["independence", "--counts", "5,9;7,8"], "either --epsilon or --rho, and not both"),
        (["gof", "--counts", "5,9", "--rho", "1", "--alpha", "2"], "alpha"),
        (["gof", "--counts", "5,9", "--rho", "1", "--method", "guess"], "method"),
        (["gof", "--counts", "5,9", "--epsilon", "1", "--method", "projected"], "Gaussian noise"),
        (["gof", "--counts", "5,9", "--epsilon", "1", "--m", "9"], "m must be at least 19"),
        (["gof", "--rho", "1"], "give --counts, or a file"),
        (["gof", "x.csv", "--counts", "5,9", "--rho", "1"], "not both"),
        (["independence", "--counts", "5,9", "--rho", "1"], "rows of equal length"),
        (["independence", "--counts", "5,9;1", "--rho", "1"], "rows of equal length"),
        (["independence", "--counts", "5;9", "--rho", "1"], "two rows and two columns"),
        (["independence", "--rho", "1"], "give --counts, or a file"),
        (["gwas", "--counts", "5,9;3,4", "--rho", "1"], "and 2 columns .cases and controls"),
        (["gwas", "--counts", "5,0;3,0;4,0", "--rho", "1", "--method", "output-perturbation"], "at least one case"),
        (["gwas", "--counts", "5,9;3,4;1,2"], "--rho"),
        (
            ["local-gof", "--answers", "nan,9", "--epsilon", "1", "--randomizer", "randomized-response"],
            "--answers must be finite",
        ),
        (["local-gof", "--answers", "5,9", "--counts", "5,9", "--epsilon", "1"], "not both"),
        (["local-gof", "--counts", "5,9", "--n", "14", "--epsilon", "1"], "--n must be left out without --answers"),
        (["local-independence", "--answers", "5,9;1,2", "--counts", "5,9;1,2", "--epsilon", "1"], "not both"),
        (["which", "--n", "100", "--table", "0.5,0.4;0.2,0.1", "--rho", "1"], "p must be .* sum of 1.2"),
        (["which", "--n", "100", "--table", "0.5,nan;0.2,0.1", "--rho", "1"], "got nan"),
        (["which", "--n", "0", "--d", "3", "--rho", "1"], "n must be a whole number, at least 1"),
        (["which", "--n", "0", "--shape", "2,2", "--rho", "1"], "n must be a whole number, at least 1"),
        (["which", "--n", "100", "--d", "3", "--rho", "1", "--alpha", "5"], "alpha must be a number in"),
        (["which", "--n", "100", "--shape", "2,2", "--rho", "1", "--alpha", "5"], "alpha must be a number in"),
        (["local-gof", "--counts", "5,9"], "either --epsilon or --rho, and not both"),
        (["local-gof", "--counts", "5,9", "--epsilon", "1", "--randomizer", "coin"], "--randomizer must be one of"),
        (["which", "--n", "100", "--rho", "1"], "--d or --p0"),
        (["which", "--n", "100", "--d", "1", "--rho", "1"], "d must be"),
        (["which", "--n", "100", "--d", "3", "--shape", "2,2", "--rho", "1"], "--d or --p0"),
        (["which", "--n", "100", "--d", "3"], "either --epsilon or --rho, and not both"),
        (["which", "--n", "100", "--d", "3", "--rho", "1", "--effect", "40"], "effect must be smaller"),
        (["which", "--n", "100", "--shape", "2", "--rho", "1"], "--shape must be two numbers"),
        (
            ["which", "--n", "100", "--shape", "2,2", "--rho", "1", "--p1", "0.5,0.5"],
            "--p1 must be left out for a test of independence",
        ),
        (["unheard"], "No such command"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    import re

    status, out, err = said(capsys, *words)
    assert status == 2, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert re.search(message, err), err


def test_inconclusive_is_status_3_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ["gof", "--counts", "2,1,0", "--p0", "0.2,0.4,0.4", "--rho", "1"]  # n of 3: an expected count below 1
    read = found(capsys, *tiny, status=3)
    assert read["p_value"] is None
    assert read["reject"] is None
    assert read["cost"]["rho"] == 0
    assert "below 1" in read["null_returned"]
    status, out, err = said(capsys, *tiny)
    assert status == 3
    assert "inconclusive" in out
    assert 'method="monte-carlo" is exact here' in err
    # an exact test of three records has an answer
    assert found(capsys, *tiny, "--method", "monte-carlo")["level"] == "exact"
    empty_row = ["independence", "--counts", "500,500;0,0", "--rho", "10"]
    read = found(capsys, *empty_row, status=3)
    assert read["null_returned"]
    assert read["cost"]["rho"] == 10
    # no picture of nothing
    assert found(capsys, *empty_row, "--plot", "nothing.svg", status=3)["plot"] is None
    assert not Path("nothing.svg").exists()


def test_which_test_for_me(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "power.json"
    words = ["which", "--n", "20000", "--p0", S4, "--p1", "0.51,0.16333333333,0.16333333333,0.16333333334"]
    read = found(capsys, *words, "--rho", "0.00125", "--plot", str(picture))
    assert read["recommended"] == "projected GOF"
    powers = {test["test"]: test["power"] for test in read["tests"]}
    assert powers["projected GOF"] == pytest.approx(0.597, abs=0.005)
    assert powers["classical GOF"] > powers["projected GOF"] > powers["nonprojected GOF"]
    assert {test["trust"] for test in read["tests"]} == {"central", "local", "none"}
    (drawn,) = json.loads(picture.read_text())["datasets"].values()
    assert len(drawn) == 13 * len(read["tests"])
    status, out, _ = said(capsys, "which", "--n", "5000", "--shape", "2x2", "--epsilon", "0.5")
    assert status == 0
    assert "MC projected independence" in out
    assert "left out: its limit needs Gaussian noise" in out


def test_which_test_with_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["which", "--n", "2000", "--d", "2", "--epsilon", "0.5", "--target", "0.8"]
    status, out, _ = said(capsys, *words)
    assert status == 0
    assert "n for 0.8" in out
    read = found(capsys, *words)
    assert read["recommended"] == "binomial (two-sided)"
    best = read["tests"][0]
    assert best["n_needed"] < 2000
    assert best["budget_needed"] < 0.5
    status, out, _ = said(capsys, "which", "--n", "5000", "--table", "0.26,0.24;0.24,0.26", "--rho", "0.00125")
    assert "0.598" in out


def test_parsing() -> None:
    assert count_input.numbers("x", "1/4, 3") == [0.25, 3]
    with pytest.raises(InvalidParameter, match="x must be numbers"):
        count_input.numbers("x", "1/0")
    with pytest.raises(InvalidParameter, match="different"):
        count_input.words("x", "a,a")
