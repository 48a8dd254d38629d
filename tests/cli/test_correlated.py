"""`holdfast correlated`: tables, JSON, files next to the model, and honest exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run

METER = {"model": "chain", "n": 30_000, "transition": [[0.9, 0.1], [0.4, 0.6]]}


@pytest.fixture
def model(tmp_path: Path) -> Any:
    def write(plain: Any, name: str = "model.json") -> str:
        path = tmp_path / name
        path.write_text(plain if isinstance(plain, str) else json.dumps(plain))
        return str(path)

    return write


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_json_of_a_chain(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlated", model(METER), "--json", "--tau", "0.1", "--questions", "1000", "--sensitivity", "2"]) == 0
    found = said(capsys)
    privacy, holdout, planned = found["privacy"], found["holdout"], found["algorithm_1"]
    assert privacy["epsilon_dp"] == pytest.approx(0.0752422952, abs=1e-10)
    assert privacy["noise_scale"] == pytest.approx(2 * 13.29039734, abs=1e-7)
    assert privacy["influence"] == privacy["quilt"]["influence"] == pytest.approx(0.152746, abs=1e-6)
    assert privacy["quilt"]["size"] == 11
    assert holdout["effective_n"] == pytest.approx(10_000)
    assert holdout["rule"] == "stationary chain by its gap"
    assert holdout["half_width"] < holdout["after_failures"] < 0.1
    assert planned["feasible"] is True
    assert planned["value"] > 10**6
    assert found["feasible"] is True
    assert found["refusal"] is None


def test_table_for_people(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    toml = 'model = "chain"\nn = 30_000\ntransition = [[0.9, 0.1], [0.4, 0.6]]\n'
    assert run(["correlated", model(toml, "meter.toml"), "--tau", "0.1"]) == 0
    text = capsys.readouterr().out
    for words in (
        "Markov chain of 30000 records, 2 states, stationary start",
        "0.0752423 (surcharge sharp)",
        "11 records count together",
        "13.2904 for sensitivity 1",
        "10,000 independent records (stationary chain by its gap)",
        "Algorithm 1, every answer within 0.1",
        "which no data can certify",
    ):
        assert words in text


def test_levels_both_ways(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(METER)
    assert run(["correlated", path, "--json", "--epsilon", "0.5", "--surcharge", "two"]) == 0
    there = said(capsys)["privacy"]
    assert 1 / there["epsilon_dp"] == pytest.approx(35.51744662, abs=1e-6)  # vector V17
    level = repr(there["epsilon_dp"])
    assert run(["correlated", path, "--json", "--epsilon-dp", level, "--surcharge", "two"]) == 0
    assert said(capsys)["privacy"]["epsilon_bdp"] == pytest.approx(0.5, rel=1e-9)


def test_labels_and_history_lie_beside_the_model(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model("person,home\n1,a\n2,b\n3,a\n4,a\n", "people.csv")
    path = model({"model": "blocks", "labels": {"file": "people.csv", "column": "home"}})
    assert run(["correlated", path, "--json"]) == 0
    assert said(capsys)["privacy"]["epsilon_dp"] == pytest.approx(1 / 3)
    steps = "".join("off\non\n" if i % 3 else "off\noff\non\non\n" for i in range(2000))
    model("state\n" + steps, "public.csv")
    history = {"file": "public.csv", "column": "state"}
    path = model({"model": "chain", "n": 1000, "states": ["off", "on"], "history": history, "confidence": 0.9})
    assert run(["correlated", path, "--json"]) == 0
    found = said(capsys)
    assert found["notes"] == ["the bounds hold with probability 0.9 over the public history"]
    assert 1 < found["privacy"]["quilt"]["size"] < 1000
    assert run(["correlated", model({"model": "blocks", "labels": {"file": "people.csv", "column": "family"}})]) == 2
    assert "got 'family'; the source has 'person', 'home'" in capsys.readouterr().err
    assert run(["correlated", model({"model": "blocks", "labels": {"file": "none.csv", "column": "a"}})]) == 1
    assert "none.csv does not exist or cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "plain",
    [
        {"model": "class", "n": 1000, "models": [{"transition": METER["transition"]}] * 2},
        {"model": "interval chain", "n": 500, "low": [[0.8, 0.1], [0.3, 0.5]], "high": [[0.9, 0.2], [0.5, 0.7]]},
        {"model": "order chain", "n": 400, "kernel": [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]},
        {"model": "hidden chain", "n": 400, "transition": [[0.8, 0.2], [0.2, 0.8]], "emission": [[0.7, 0.3]] * 2},
        {"model": "blocks", "sizes": [3, 4]},
        {"model": "ising", "n": 3, "couplings": [[0, 1, 0.02], [1, 2, 0.02]]},
        {"model": "gaussian field", "n": 200, "autoregression": 0.5},
        {"model": "gaussian field", "precision": [[2, -1, 0], [-1, 2, -1], [0, -1, 2]]},
    ],
    ids=lambda plain: str(plain["model"]),
)
def test_every_kind_has_both_forms(plain: Any, model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlated", model(plain), "--json"]) == 0
    found = said(capsys)
    assert found["privacy"]["noise_scale"] >= 1
    assert run(["correlated", model(plain)]) == 0
    assert found["model"] in " ".join(capsys.readouterr().out.split())  # a narrow terminal breaks lines


def test_names_of_a_network(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [
        {"name": "ann", "table": [0.5, 0.5]},
        {"name": "bob", "parents": ["ann"], "table": [[0.55, 0.45], [0.45, 0.55]]},
        {"name": "cid", "parents": ["bob"], "table": [[0.55, 0.45], [0.45, 0.55]]},
    ]
    path = model({"model": "bayesian network", "nodes": nodes})
    assert run(["correlated", path, "--epsilon", "3", "--record", "ann"]) == 0
    text = capsys.readouterr().out
    assert "quilt of record ann" in text
    assert "{bob}; the record counts alone" in text
    assert run(["correlated", path, "--record", "zoe"]) == 2
    assert "got 'zoe'" in capsys.readouterr().err


def test_infeasible_is_status_3_in_plain_words(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = model({"model": "blocks", "size": 4, "count": 250})
    assert run(["correlated", path, "--tau", "0.1", "--questions", "1000", "--json"]) == 3
    caught = capsys.readouterr()
    assert json.loads(caught.out)["feasible"] is False
    assert caught.err.startswith("holdfast: 1,000 records of this model do not certify 0.1: the certified holdout")
    assert "would need about 17,375 records; Algorithm 1 needs 5,851,719 records" in caught.err
    assert caught.err.count("\n") == 1


def test_zero_probabilities_propose_blocks(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = model({"model": "chain", "n": 100, "transition": [[0, 1], [1, 0]], "start": [0.5, 0.5]})
    assert run(["correlated", path]) == 0
    text = capsys.readouterr().out
    assert "declare blocks of records" in text
    assert "empty; 100 records count together" in text
    assert "0.5 or more at 100 questions: nothing is said" in text
    assert run(["correlated", path, "--tau", "0.2"]) == 3
    assert "more of one block are worth no more: declare blocks" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("plain", "options", "words"),
    [
        ({"model": "blocks", "sizes": [50]}, ["--tau", "1e-9"], "no number of records is enough"),
        (
            {"model": "gaussian field", "n": 100, "autoregression": 0.5},
            ["--tau", "1e-9"],
            "more than 10^18 independent",
        ),
        ({"model": "gaussian field", "n": 100, "autoregression": 0.5}, ["--epsilon-dp", "1"], "Releases: "),
    ],
)
def test_what_cannot_be_had_is_printed_with_the_rest(
    plain: Any, options: list[str], words: str, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["correlated", model(plain), *options])
    out = capsys.readouterr().out
    assert words in out
    assert "All of this is relative to the declared model" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--epsilon", "0"], "--epsilon must be a number in (0, inf), got 0.0"),
        (["--epsilon-dp", "-1"], "--epsilon-dp must be a number in (0, inf), got -1.0"),
        (["--epsilon", "1", "--epsilon-dp", "1"], "cannot be given together"),
        (["--surcharge", "one"], "surcharge must be one of sharp, two, paper, got 'one'"),
        (["--sensitivity", "0"], "sensitivity must be"),
        (["--budget", "3"], "--budget must be given together with --tau"),
        (["--tau", "2"], "tau must be"),
        (["--questions", "0"], "questions must be a whole number, at least 1"),
        (["--confidence", "1"], "confidence must"),
        (["--record", "30000"], "record must be a whole number, at least 0 and at most 29999, got 30000"),
        (["--record", "x"], "record must be a whole number from 0 to 29999, got 'x'"),
        (["--colour"], "No such option"),
    ],
)
def test_wrong_usage_is_status_2(
    options: list[str], words: str, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["correlated", model(METER), *options]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert words in caught.err
    assert caught.err.count("\n") == 1


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({**METER, "transition": [[0.9, 0.2], [0.4, 0.6]]}, "transition: row 0 must sum to 1 within 1e-12, got 1.1"),
        ({"model": "gaussian field", "precision": [[1, 2], [2, 1]]}, "precision must be positive definite"),
        ({"model": "markov network", "sizes": {"a": 2, "b": 2}, "factors": []}, "network must be connected"),
        ({"model": "tree"}, "model must be one of chain, class"),
        ("{", "must be JSON"),
    ],
)
def test_wrong_models_are_status_2(plain: Any, words: str, model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlated", model(plain)]) == 2
    assert words in capsys.readouterr().err


def test_no_model_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["correlated"]) == 2
    assert "MODEL" in capsys.readouterr().err
    assert run(["correlated", str(tmp_path / "none.toml")]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every `$ holdfast correlated ...` on the page, with what follows it up to the end of the block."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "120")
    blocks = (root / "docs" / "correlated.md").read_text().split("```console\n")[1:]
    assert len(blocks) >= 3
    for block in blocks:
        command, _, shown = block.split("```")[0].partition("\n")
        run(command.removeprefix("$ holdfast ").split())
        caught = capsys.readouterr()
        assert (caught.out + caught.err).split() == shown.split(), command
