"""Nothing secret leaves: no exact sum, no noisy threshold, in anything that a guard says; no way to seed its noise."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
import holdfast.guard
import holdfast.guard.questions
from holdfast.accounting import PureDP
from holdfast.cli.main import run
from holdfast.data.statistics import UNIT
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard import Guard, Policy, check, claim, compare, histogram, mean, select, test, validate
from holdfast.guard.ledger.export import to_csv, to_json
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.verify import open_rows
from holdfast.noise import Seeded

N = 7919


def rows() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {"x": rng.random(N), "c": rng.choice(["a", "b", "c"], N, p=[0.5, 0.3, 0.2])}


def questions() -> list[Any]:
    return [
        mean("x", 0, 1),
        mean("x * x", 0, 2, 0.5),
        check("x", 0.5, low=0, high=1),
        check("x", 0.9, low=0, high=1),
        claim("x", at_least=0.4, low=0, high=1),
        compare("x", "x * x", margin=0.1, low=0, high=1),
        validate("x < 0.9", 0.5),
        histogram("c", categories=["a", "b"]),
        select({"low": "x", "high": "x / 2"}, low=0, high=1),
        test("gof", ["c"], categories=[["a", "b", "c"]], p0=[0.5, 0.3, 0.2]),
        mean("x", 0, 1, spend=PureDP(9.0)),  # refused
        mean("nothing"),  # wrong
        check("x", 0.5, low=0, high=1, tolerance=1e-9),  # too narrow, or not allowed
    ]


POLICIES = [
    Policy(privacy=PureDP(0.2), spend=PureDP(0.01)),
    Policy(
        privacy=PureDP(0.2),
        spend=PureDP(0.01),
        holdout="thresholdout",
        threshold=0.1,
        overfits=4,
        holdout_spend=PureDP(0.1),
    ),
]


def texts(value: int, divisor: int) -> list[str]:
    """The ways in which an exact number could be written: the sum, and the mean with eight digits or more."""
    return [str(value), repr(value / divisor)[:10]] if value > 10**6 else []


def whole(number: str, text: str) -> bool:
    """Whether a number stands in a text by itself: seven digits of it are part of some hash or fraction by chance."""
    return re.search(rf"(?<![\w.]){number}(?!\w)", text) is not None


@pytest.mark.parametrize("policy", POLICIES, ids=["looks", "thresholdout"])
def test_nothing_that_a_guard_says_holds_an_exact_sum_or_a_noisy_threshold(
    policy: Policy, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: Any, monkeypatch: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    secrets: set[str] = set()
    thresholds: set[str] = set()
    sample = hf.data.table(rows(), engine="numpy")
    genuine = sample.measure

    def listened(statistics: Any) -> Any:
        found = genuine(statistics)
        for one in found:
            for value in one:
                secrets.update(texts(int(value), N * UNIT))
        said.append(repr(statistics) + str(statistics))
        return found

    monkeypatch.setattr(sample, "measure", listened)
    ledger = tmp_path / "ledger.db"
    store = open_store(ledger)
    guard = Guard.open(store, sample, policy)
    said: list[str] = [repr(guard), repr(sample), str(guard.describe())]
    for question in questions():
        for call in (guard.estimate, guard.ask):
            try:
                found: Any = call(question)
                said += [repr(found), str(found), json.dumps(found.to_dict())]
            except HoldfastError as error:
                said += [repr(error), str(error), repr(error.__cause__), repr(error.__context__)]
        state = guard.ledger.look(lambda view: view.secret("thresholdout"))
        if state is not None:
            thresholds.add(str(state["noisy_threshold"]))
    said += [repr(guard.ledger), str(guard.describe()), str(guard.remaining())]
    said += [repr(entry) + json.dumps(entry.to_dict()) for entry in guard.ledger.entries()]
    with open_rows(ledger) as rows_of:
        said += ["".join(to_json(rows_of))]
        said += ["".join(to_csv(rows_of))]
    said += [record.getMessage() for record in caplog.records]
    for words in (["guard", "show"], ["guard", "log"], ["verify"]):
        for form in ([], ["--json"]):
            assert run([*words, str(ledger), *form]) == 0
    captured = capsys.readouterr()
    said += [captured.out, captured.err]
    store.close()
    assert len(secrets) >= 6
    everything = "\n".join(said)
    assert len(everything) > 10_000
    assert [secret for secret in secrets if secret in everything] == []
    assert [secret for secret in thresholds if whole(secret, everything)] == []


def test_the_search_would_find_a_sum_that_was_shown() -> None:
    total = int(np.floor(rows()["x"] * UNIT).sum())
    shown = f"the mean is {total / (N * UNIT)}"
    assert any(text in shown for text in texts(total, N * UNIT))
    assert whole("1677721", "{'noisy_threshold': 1677721}")
    assert not whole("1677721", "at 0.1677721, hash 1677721e")


def test_prepared_and_bound_questions_hide_what_they_hold() -> None:
    sample = hf.data.table(rows(), engine="numpy")
    policy = POLICIES[0]
    for question in questions()[:10]:
        bound = question.bind(sample.schema, N, policy)
        measured = sample.measure(bound.statistics)
        exact = [text for one in measured for value in one for text in texts(int(value), N * UNIT)]
        assert not any(text in repr(bound) + repr(bound.statistics) for text in exact)


def public_functions(thing: Any) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(thing):
        if not name.startswith("_") and callable(value):
            yield name, value


def test_there_is_no_way_to_give_a_guard_a_source_of_noise() -> None:
    """Every public callable of the guard and of its questions: none takes a source, a seed or a generator."""
    words = ("source", "seed", "rng", "generator", "random", "draws", "noise")
    seen = 0
    for module in (holdfast.guard, holdfast.guard.questions, holdfast.guard.leaderboard, holdfast.guard.coherence):
        for name in module.__all__:
            thing = getattr(module, name)
            if name in ("BoundQuestion", "Situation", "Settled"):  # what answers are made of inside the ledger's lock
                continue
            if inspect.ismodule(thing):  # a module, whose names are no callables of the guard
                continue
            for inner, function in [(name, thing), *public_functions(thing)]:
                try:
                    parameters = inspect.signature(function).parameters
                except (TypeError, ValueError):
                    continue
                seen += 1
                assert not [p for p in parameters if any(word in p for word in words)], f"{name}.{inner}"
    assert seen > 60
    for made in Guard.open, Guard.__init__, Guard.ask, Guard.ask_all:
        with pytest.raises(TypeError):
            made(source=Seeded(1))  # type: ignore[call-arg]
    for kind in ("mean", "check", "select", "test"):
        with pytest.raises(InvalidParameter):
            hf.guard.Question.from_dict({"kind": kind, "expression": "x < 1", "source": Seeded(1)})


def test_a_guard_draws_from_the_operating_system() -> None:
    """Two guards over the same rows, each seeded the same everywhere one could, answer differently."""
    np.random.seed(3)  # noqa: NPY002
    answers, asked = set(), [mean("x", 0, 1), mean("x * x", 0, 1)]  # two each: one number may come twice by chance
    for _ in range(3):
        np.random.seed(3)  # noqa: NPY002
        found = Guard.open(None, hf.data.table(rows(), engine="numpy"), POLICIES[0]).ask_all(asked)
        answers.add(tuple(answer.value for answer in found))
    assert len(answers) == 3


def test_modules_of_the_guard_never_name_the_seeded_source() -> None:
    folder = Path(holdfast.guard.__file__).parent
    modules = list(folder.rglob("*.py"))
    assert len(modules) > 40
    assert not [path for path in modules if "Seeded" in path.read_text("utf-8")]
