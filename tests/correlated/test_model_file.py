"""Models from plain data: every kind is read, written data read back the same, mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.correlated.model_file import _OTHER_NAMES, KINDS, model_from_dict, read_model
from holdfast.errors import HoldfastError, InvalidParameter

STEP = [[0.9, 0.1], [0.4, 0.6]]
KERNEL = [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]
TABLES = {"a": [[], [0.5, 0.5]], "b": [["a"], [[0.9, 0.1], [0.2, 0.8]]], "h": [["b"], [[0.7, 0.3], [0.3, 0.7]]]}

HUGE = 10**400  # a whole number that no double holds, as JSON and TOML may give one
SPARSE: dict[str, Any] = {"model": "gaussian field", "n": 2, "rows": [0, 1], "columns": [0, 1], "values": [1, 1]}
HISTORY: dict[str, Any] = {"model": "chain", "history": [0, 1], "states": 2, "n": 5}
HIDDEN: dict[str, Any] = {"model": "hidden chain", "transition": STEP, "emission": STEP, "n": 5}

MODELS: list[dict[str, Any]] = [
    {"model": "chain", "transition": STEP, "n": 50},
    {"model": "chain", "transition": STEP, "n": 50, "start": [1, 0], "respect_support": False},
    {"model": "interval chain", "low": [[0.8, 0.1], [0.3, 0.5]], "high": [[0.9, 0.2], [0.5, 0.7]], "n": 30},
    {"model": "inhomogeneous chain", "steps": [STEP, [[0.7, 0.3], [0.2, 0.8]]], "start": [0.5, 0.5]},
    {"model": "class", "n": 40, "models": [{"transition": STEP}, {"transition": [[0.8, 0.2], [0.3, 0.7]]}]},
    {"model": "order chain", "kernel": KERNEL, "n": 40},
    {"model": "hidden chain", "transition": [[0.8, 0.2], [0.2, 0.8]], "emission": [[0.7, 0.3], [0.3, 0.7]], "n": 40},
    {"model": "blocks", "sizes": [4, 3, 1]},
    {"model": "bayesian network", "tables": TABLES, "hidden": ["h"]},
    {"model": "markov network", "sizes": {"a": 2, "b": 2}, "factors": [[["a", "b"], [[2, 1], [1, 2]]]]},
    {"model": "ising", "n": 4, "couplings": [[0, 1, 0.1], [1, 2, 0.1], [2, 3, -0.1]], "field": 0.5},
    {"model": "gaussian field", "covariance": [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]]},
    {"model": "gaussian field", "precision": [[2, -1], [-1, 2]]},
    {"model": "gaussian field", "autoregression": [0.5, 0.1], "n": 20, "deviation": 2},
]


@pytest.mark.parametrize("plain", MODELS, ids=lambda plain: str(plain["model"]))
def test_what_is_written_is_read_back(plain: dict[str, Any]) -> None:
    model = model_from_dict(plain)
    again = model_from_dict(json.loads(json.dumps(model.to_dict())))
    assert again.to_dict() == model.to_dict()
    assert again.n == model.n
    assert again.noise_scale(2.0) == pytest.approx(model.noise_scale(2.0), rel=1e-12)


def test_every_kind_is_tried() -> None:
    assert {plain["model"] for plain in MODELS} == set(KINDS)


def test_names_of_kinds_are_forgiving() -> None:
    for name in ("interval-chain", "Interval_Chain", " interval  chain "):
        assert model_from_dict(MODELS[2] | {"model": name}).n == 30


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("autoregressive", '; for a first-order autoregression write {"model": "gaussian field", "n": 1000'),
        ("AR(1)", '; for a first-order autoregression write {"model": "gaussian field", "n": 1000'),
        ("Markov-chain", '; for a Markov chain write {"model": "chain"'),
        ("chian", "got 'chian'; did you mean 'chain'?"),
        ("hidden chains", "got 'hidden chains'; did you mean 'hidden chain'?"),
        ("spreadsheet", "got 'spreadsheet'"),
    ],
)
def test_an_unknown_kind_is_told_what_to_write(kind: str, hint: str) -> None:
    with pytest.raises(InvalidParameter, match="model must be one of chain, ") as refused:
        model_from_dict({"model": kind, "n": 5})
    assert hint in str(refused.value)


def test_what_is_told_to_write_can_be_read() -> None:
    for names, _, example in _OTHER_NAMES:
        assert model_from_dict(example).n > 1
        assert not set(names) & set(KINDS)


def test_blocks_by_size_and_by_labels() -> None:
    assert model_from_dict({"model": "blocks", "size": 3, "count": 5}).epsilon_dp(1.5) == pytest.approx(0.5)

    def column(file: str, name: str) -> list[Any]:
        assert (file, name) == ("people.csv", "home")
        return ["x", "y", "x", "z", "x"]

    model = model_from_dict({"model": "blocks", "labels": {"file": "people.csv", "column": "home"}}, column)
    assert model.to_dict()["sizes"] == [3, 1, 1]
    with pytest.raises(InvalidParameter, match="no reader of files"):
        model_from_dict({"model": "blocks", "labels": {"file": "people.csv", "column": "home"}})
    with pytest.raises(InvalidParameter, match="one label is missing"):
        model_from_dict({"model": "blocks", "labels": ["a", None]})


def test_public_history_by_state_names() -> None:
    rng, path = np.random.default_rng(5), [0]
    for u in rng.random(4000):
        path.append(int(u < (0.1, 0.6)[path[-1]]))
    by_number = {"model": "chain", "history": path, "states": 2, "n": 500, "confidence": 0.95}
    words = ["on" if state else "off" for state in path]
    by_name = by_number | {"history": {"file": "h.csv", "column": "state"}, "states": ["off", "on"]}
    found, named = model_from_dict(by_number), model_from_dict(by_name, lambda file, name: words)
    assert found.to_dict() == named.to_dict()
    assert found.to_dict()["confidence"] == 0.95
    # two meters in one file: the step from the last reading of one to the first of the other is no step
    columns = {"state": ["0", "1", "0", "0"], "meter": ["a", "b", "a", "b"]}
    where = {"file": "h.csv", "column": "state", "group": "meter"}
    both = {"model": "chain", "history": where, "states": 2, "n": 5}
    paths = {"model": "chain", "history": [[0, 0], [1, 0]], "states": 2, "n": 5}
    assert model_from_dict(both, lambda file, name: columns[name]).to_dict() == model_from_dict(paths).to_dict()
    with pytest.raises(InvalidParameter, match="declared states"):
        model_from_dict(by_number | {"history": [0, 1, 2]})


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ([1, 2], "a model must be an object"),
        ({"n": 5}, "model must be one of chain"),
        ({"model": "chian"}, "model must be one of chain"),
        ({"model": "chain", "transition": STEP}, "n is missing"),
        ({"model": "chain", "n": 5}, "must have exactly one of transition, history, got none"),
        ({"model": "chain", "transition": STEP, "n": 5, "lenght": 3}, "has no 'lenght'; it has"),
        ({"model": "chain", "transition": [[0.9, 0.2], [0.4, 0.6]], "n": 5}, "row 0 must sum to 1"),
        ({"model": "chain", "transition": STEP, "n": 5, "respect_support": "yes"}, "must be true or false"),
        ({"model": "blocks", "sizes": [2, 0]}, "sizes[1] must be a whole number, at least 1"),
        ({"model": "blocks", "sizes": [2, 2], "n": 5}, "n must be 4"),
        ({"model": "blocks", "sizes": [2], "labels": ["a"]}, "got sizes, labels"),
        ({"model": "class", "models": [{"transition": STEP}]}, "models[0]: n is missing"),
        (
            {"model": "class", "n": 3, "models": [{"model": "gaussian field", "autoregression": 0.5}]},
            "has no Markov quilts",
        ),
        ({"model": "bayesian network", "nodes": [{"name": "a"}]}, "nodes[0] must be an object with name, table"),
        (
            {"model": "bayesian network", "nodes": [{"name": "a", "table": [1.0]}] * 2},
            "'a' is the name of another node too",
        ),
        (
            {"model": "bayesian network", "tables": {"a": [["b"], [[0.5, 0.5]] * 2], "b": [["a"], [[0.5, 0.5]] * 2]}},
            "no directed cycle, got a -> b -> a",
        ),
        ({"model": "markov network", "sizes": {"a": 2, "b": 2}, "factors": []}, "must be connected, got 2 parts"),
        ({"model": "ising", "n": 3, "couplings": [[0, 1]]}, "couplings[0] must be a list of two records"),
        (
            {"model": "ising", "n": 3, "couplings": [[0, 1, 0.1], [1, 0, 0.2]]},
            "couplings[1] must be a pair that no other entry has",
        ),
        ({"model": "gaussian field", "precision": [[1, 2], [2, 1]]}, "precision must be positive definite"),
        ({"model": "gaussian field", "covariance": [[1, 2], [2, 1]]}, "covariance must be positive definite"),
        ({"model": "gaussian field", "autoregression": 0.5}, "n is missing"),
        ({"model": "gaussian field", "precision": [[1.0]], "n": 2}, "n must be 1"),
        ({"model": "gaussian field", "n": 2, "rows": [1], "columns": [0], "values": [1]}, "upper triangle"),
        (
            SPARSE | {"rows": [0, 2]},
            "rows, columns and values must be lists of the same length, and rows and columns whole numbers below 2",
        ),
        (SPARSE | {"rows": [0]}, "rows, columns and values must be lists of the same length"),
        (
            SPARSE | {"rows": [0.5, 1]},
            "rows, columns and values must be lists of the same length, and rows and columns whole",
        ),
        (SPARSE | {"rows": [0, 10**30]}, "rows, columns and values must be lists of the same length"),
        (SPARSE | {"values": ["much", 1]}, "rows, columns and values must be lists of the same length"),
        ({"model": "chain", "transition": STEP, "n": 5, "start": {"a": 1}}, "start must be a list of probabilities"),
        ({"model": "chain", "transition": [[HUGE]], "n": 5}, "transition must be a square matrix of numbers"),
        ({"model": "chain", "transition": STEP, "n": 5, "start": [HUGE, 0]}, "start must be a list of probabilities"),
        (HISTORY | {"history": "0101"}, "history must be a list of paths, or an object with file and column"),
        (HISTORY | {"history": []}, "history must be a list of paths, or an object with file and column"),
        (HISTORY | {"history": [[0, 1], 5]}, "history must be one path, or a list of paths and nothing else"),
        (HISTORY | {"history": [0, 1, None]}, "history must have declared states only (0, 1), got 'None'"),
        (HISTORY | {"history": {"file": "h.csv"}}, "history must give column and file as texts"),
        (HISTORY | {"history": {"file": 1, "column": "a"}}, "history must give column and file as texts"),
        (HISTORY | {"states": ["on", "on"]}, "states must not have the same state twice"),
        ({"model": "class", "models": "chains"}, "models must be a list of models"),
        ({"model": "class", "models": [5]}, "models[0] must be an object with a field model"),
        (
            {"model": "inhomogeneous chain", "steps": [STEP], "start": [0.5, 0.5], "n": 5},
            "n must be 2, which is the number of steps plus one",
        ),
        ({"model": "order chain", "kernel": "kernel", "n": 5}, "kernel must have r + 1 axes of one length"),
        ({"model": "order chain", "kernel": [[HUGE]], "n": 5}, "kernel must have r + 1 axes of one length"),
        ({"model": "order chain", "kernel": [[-1, 2], [0, 1]], "n": 5}, "kernel must have probabilities in [0, 1]"),
        (HIDDEN | {"emission": "x"}, "emission must be a matrix with one row for each of the 2 hidden states"),
        (HIDDEN | {"emission": [[HUGE], [1]]}, "emission must be a matrix with one row for each of the 2"),
        (HIDDEN | {"emission": [[-1, 2], [0, 1]]}, "emission must have probabilities in [0, 1]"),
        ({"model": "blocks", "sizes": 5}, "sizes must be a list, or an object with file and column"),
        ({"model": "blocks", "labels": "abc"}, "labels must be a list, or an object with file and column"),
        ({"model": "blocks", "labels": {"file": "people.csv"}}, "labels must give column and file as texts"),
        ({"model": "bayesian network", "nodes": "a"}, "nodes must be a list of objects with name, parents and table"),
        ({"model": "bayesian network", "nodes": [{"name": ["a"], "table": [1]}]}, "nodes[0] must have a text as its"),
        ({"model": "bayesian network", "tables": {"a": [5, [1.0]]}}, "tables['a'] must be a list of names of nodes"),
        (
            {"model": "bayesian network", "tables": {"a": [[["b"]], [1.0]]}},
            "tables['a'] must be a list of names of nodes",
        ),
        ({"model": "bayesian network", "tables": {"a": [[], [HUGE]]}}, "tables['a'] must be a table of finite"),
        ({"model": "bayesian network", "tables": TABLES, "hidden": 5}, "hidden must be a list of names of nodes"),
        ({"model": "bayesian network", "tables": TABLES, "hidden": [["h"]]}, "hidden must be a list of names of nodes"),
        ({"model": "markov network", "sizes": {"a": 2}, "factors": 5}, "factors must be a list of pairs"),
        (
            {"model": "markov network", "sizes": {"a": 2}, "factors": [[5, [1, 2]]]},
            "factors[0] must be a list of names of nodes",
        ),
        (
            {"model": "ising", "n": 2, "couplings": [[0, 1, 0.1]], "field": HUGE},
            "field must be one number or a list of 2 numbers",
        ),
        ({"model": "gaussian field", "precision": [[HUGE]]}, "precision must be a square symmetric matrix of numbers"),
    ],
)
def test_mistakes_are_named(plain: Any, words: str) -> None:
    with pytest.raises(HoldfastError) as caught:
        model_from_dict(plain)
    assert isinstance(caught.value, InvalidParameter)
    assert words in str(caught.value)


def test_files(tmp_path: Path) -> None:
    toml, other = tmp_path / "m.toml", tmp_path / "m.json"
    toml.write_text('model = "blocks"\nsizes = [2, 3]\n')
    other.write_text('{"model": "blocks", "sizes": [2, 3]}')
    assert read_model(toml).to_dict() == read_model(other).to_dict()
    other.write_text('{"model": ')
    with pytest.raises(InvalidParameter, match="must be JSON"):
        read_model(other)
    toml.write_text("model = blocks")
    with pytest.raises(InvalidParameter, match="must be TOML"):
        read_model(toml)
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read_model(tmp_path / "none.json")
