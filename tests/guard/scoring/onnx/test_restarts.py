"""Models that end their process: refused where that can be seen, and else a prediction still goes by its own row."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks import killed_scorer
from onnx import ModelProto, TensorProto, helper
from scipy.stats import binom

import holdfast as hf
from holdfast.core import sandbox
from holdfast.core.sandbox import Done
from holdfast.data.engines import numpy_sample
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.questions.score import ONE_IN
from holdfast.guard.replay import GuardReplay
from holdfast.guard.scoring.ladder import Rungs
from holdfast.guard.scoring.onnx import model as submitted
from holdfast.guard.scoring.onnx import packing
from holdfast.guard.scoring.onnx.admission import admitted
from holdfast.guard.scoring.onnx.model import Limits, Model, Predicting, predict, try_model, wanted
from holdfast.guard.scoring.onnx.packing import unpack
from holdfast.guard.scoring.onnx.session import Session
from tests.guard.scoring.onnx.models import linear, model, node

TWO = {"a": "number", "b": "number"}
PATIENT = Limits(seconds=60.0)
TRIGGER = 7.0
LEAST = {np.int64: np.iinfo(np.int64).min, np.int32: np.iinfo(np.int32).min}


def dividing(operator: str = "Div", kind: Any = np.int64) -> bytes:
    """Predicts b. On the way it divides the least whole number by -1 at the trigger, which ends its process."""
    nodes = [
        node("Split", ["x", "halves"], ["a", "b"], axis=1),
        node("Equal", ["a", "trigger"], ["here"]),
        node("Where", ["here", "least", "one"], ["above"]),
        node("Where", ["here", "minus", "one"], ["below"]),
        node(operator, ["above", "below"], ["whole"]),
        node("Cast", ["whole"], ["q"], to=TensorProto.FLOAT),
        node("Mul", ["q", "nothing"], ["zero"]),
        node("Add", ["b", "zero"], ["y"]),
    ]
    weights = {
        "halves": np.array([1, 1], np.int64),
        "trigger": np.float32(TRIGGER),
        "least": kind(LEAST[kind]),
        "minus": kind(-1),
        "one": kind(1),
        "nothing": np.float32(0),
    }
    return model(nodes, weights=weights)


# What can be seen in the model is refused.


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("operator", ["Div", "Mod"])
def test_whole_numbers_of_a_row_are_not_divided(operator: str, kind: Any) -> None:
    with pytest.raises(InvalidParameter, match=f"must not use {operator} on whole numbers of a row.*cast the numbers"):
        admitted(dividing(operator, kind))


def test_whole_numbers_are_found_whatever_the_model_says_of_them() -> None:
    """An input of whole numbers, a type that the model states wrongly, and one that nothing tells."""
    whole = helper.make_tensor_value_info("x", TensorProto.INT64, ["rows", 2])
    by_input = model([node("Div", ["x", "x"], ["q"]), node("Cast", ["q"], ["y"], to=1)], inputs=[whole])
    lying = ModelProto.FromString(dividing())
    for name in ("above", "below", "whole"):
        lying.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    direct = ModelProto.FromString(model([node("Cast", ["x"], ["i"], to=7), node("Div", ["i", "i"], ["y"])]))
    for content in (by_input, lying.SerializeToString(), direct.SerializeToString()):
        with pytest.raises(InvalidParameter, match="whole numbers of a row"):
            admitted(content)


def test_numbers_with_a_point_and_whole_numbers_of_no_row_are_divided() -> None:
    ratio = [
        node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0]),
        node("Div", ["s", "x"], ["d"]),
        node("Cast", ["d"], ["double"], to=TensorProto.DOUBLE),
        node("Mod", ["double", "double"], ["m"], fmod=1),
        node("Cast", ["m"], ["y"], to=TensorProto.FLOAT),
    ]
    assert admitted(model(ratio))[1] == 0
    shapes = [node("Shape", ["x"], ["s"]), node("Div", ["s", "two"], ["h"]), node("Mul", ["h", "two"], ["t"])]
    nodes = [*shapes, node("Concat", ["minus", "two"], ["shape"], axis=0), node("Reshape", ["x", "shape"])]
    held = {"two": np.array([2], np.int64), "minus": np.array([-1], np.int64)}
    assert admitted(model(nodes, weights=held))[1] == 0


def test_a_model_may_not_make_much_of_a_long_text() -> None:
    """What a hidden row's text takes is bounded by what made-up texts took: here 160 megabytes and more."""
    text = helper.make_tensor_value_info("s", TensorProto.STRING, ["rows", 1])
    nodes = [
        node("Tile", ["s", "times"], ["many"]),
        node("Slice", ["many", "zero", "one", "axis"], ["first"]),
        node("LabelEncoder", ["first"], ["y"], domain="ai.onnx.ml", keys_strings=["a"], values_floats=[1.0]),
    ]
    ends = {"zero": np.array([0], np.int64), "one": np.array([1], np.int64), "axis": np.array([1], np.int64)}
    content = model(nodes, inputs=[text], weights=ends | {"times": np.array([1, 40_000], np.int64)})
    with pytest.raises(InvalidParameter, match="128 MB are allowed for one row"):
        try_model(content, wanted({"s": "text"}, 10, limits=Limits(seconds=60.0, memory=1 << 29)))


def test_a_row_has_its_own_time_on_the_processor() -> None:
    assert sandbox.run("tests.guard.scoring.onnx.hanging", b"busy", seconds=60).status == -signal.SIGPROF


# What cannot be seen costs the row that does it, and no other.


@pytest.mark.parametrize(
    ("done", "found"),
    [
        (Done(0, b"ready\n1.0\n2.0\n"), [1.0, 2.0]),
        (Done(0, b"ready\n1.0\n2.0\n3.0\n"), None),
        (Done(0, b"ready\n1.0\n[]\n"), None),
        (Done(0, b"ready\n1.0\n{\n"), None),
        (Done(-9, b""), None),
        (Done(1, b"re"), None),
        (Done(-8, b"ready\n"), [None, None]),
        (Done(None, b""), None),
        (Done(-signal.SIGXCPU, b"ready\n1.0\n"), None),
        (Done(3, b'{"detail": "no"}'), None),
        (Done(4, b"ready\n1.0\n"), None),
    ],
)
def test_what_comes_back_is_read_strictly(monkeypatch: pytest.MonkeyPatch, done: Done, found: Any) -> None:
    monkeypatch.setattr(submitted, "sandbox", SimpleNamespace(run=lambda *_, **__: done))
    monkeypatch.setattr(submitted, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    assert predict(b"", wanted(TWO, 2), {"a": np.zeros(2), "b": np.zeros(2)}) == found


def test_a_row_that_dies_behind_others_is_tried_first_in_a_fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rows before it did to the process must not cost it its prediction."""
    sizes = []

    def run(_: str, given: bytes, *, seconds: float) -> Done:
        columns = packing.unpack(given)[2]
        assert columns is not None
        rows = columns["a"]
        sizes.append(len(rows))
        survives = rows[:2]  # this process ends at the third row it sees, whatever it is
        lines = b"".join(packing.line_of(float(one)) for one in survives)
        return Done(0 if len(rows) <= 2 else -11, packing.READY + lines)

    monkeypatch.setattr(submitted, "sandbox", SimpleNamespace(run=run))
    monkeypatch.setattr(submitted, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    rows = np.arange(7.0)
    assert predict(b"", wanted(TWO, 7), {"a": rows, "b": rows}) == rows.tolist()
    assert sizes == [7, 5, 3, 1]


# What a board says of such a run.


def board(**more: Any) -> tuple[Any, Any]:
    made = hf.guard.Board("b", key="id", label="y", metric="accuracy", models=True, **more)
    return hf.guard.Policy(questions=20, boards=[made]), hf.data.table(
        {"id": list(range(400)), "a": [0.0] * 400, "b": [1.0] * 400, "y": [1.0] * 400}
    )


@pytest.mark.parametrize("rule", ["intervals", "ladder"])
def test_a_run_that_could_not_be_finished_is_not_certified_and_is_paid_for(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, sample = board(rule=rule)
    store = open_store(None)
    guard = hf.Guard.open(store, sample, policy)
    guess = 0.9 if rule == "intervals" else None
    ends = iter([None, [1.0] * 400, [0.0] * 400])
    monkeypatch.setattr(Predicting, "some", lambda *_: next(ends))
    monkeypatch.setattr(Predicting, "wait", lambda _: None)
    unfinished, finished, failed = (
        guard.ask(hf.guard.score("b", Model(linear((1.0, bias)), sample.schema, 400, policy), guess))
        for bias in (1.0, 2.0, 3.0)
    )
    assert (unfinished.value, unfinished.interval, unfinished.passed) == (None, None, False)
    assert not unfinished.guarantee.certified
    assert "could not be evaluated on all rows" in unfinished.guarantee.assumption
    assert unfinished.details["finished"] is False
    assert str(unfinished).startswith("Your model could not be evaluated on all rows. There is no score.")
    assert finished.guarantee.certified, "the failure was counted, so what comes later holds"
    assert finished.interval[0] > 0.6
    weights = [entry.body["message"]["log_weight"] for entry in guard.ledger.entries() if entry.kind == "answered"]
    assert weights[0] == -math.log(ONE_IN)
    shown = weights[1 if rule == "ladder" else 2]
    assert shown < math.log1p(-1 / ONE_IN) < 0, "all that a failed model can show adds up to at most one"
    if rule == "ladder":
        assert shown == pytest.approx(math.log1p(-1 / ONE_IN) - math.log(Rungs.of(policy.board("b")).count))
    assert verify_store(store, replay=GuardReplay).ok
    places = guard.leaderboard("b", every=True).places
    assert sum(place.value is not None for place in places) == len(places) - (1 if rule == "intervals" else 2)
    assert failed.passed is (rule == "ladder")


def test_rows_that_come_some_at_a_time_are_predicted_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is given more than it should be, all have one limit of time, and a failure is that of the whole."""
    given: list[tuple[int, float]] = []

    def run(_: str, content: bytes, *, seconds: float) -> Done:
        columns = unpack(content)[2]
        assert columns is not None
        given.append((len(columns["a"]), seconds))
        return Done(0, packing.READY + b"".join(b"%d\n" % (value > 0.5) for value in columns["a"]))

    monkeypatch.setattr(submitted, "sandbox", SimpleNamespace(run=run))
    monkeypatch.setattr(submitted, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    monkeypatch.setattr(submitted, "ROWS", 100)
    monkeypatch.setattr(numpy_sample, "_ROWS", 50)
    a = np.random.default_rng(1).random(420)
    rows = {"id": np.arange(420), "a": a, "b": np.ones(420), "y": a > 0.5}
    policy, _ = board()
    (named,) = policy.boards
    sample = hf.data.table(rows, engine="numpy")
    made = Model(dividing(), sample.schema, 420, policy, limits=PATIENT).make(sample, named)
    assert made is not None
    assert made.values.tolist() == (a > 0.5).tolist()
    assert [count for count, _ in given] == [100, 100, 100, 100, 20]
    assert all(later < earlier <= PATIENT.seconds for (_, earlier), (_, later) in pairwise(given))
    monkeypatch.setattr(submitted.sandbox, "run", lambda *_, **__: Done(None, b""))
    assert Model(dividing(), sample.schema, 420, policy, limits=PATIENT).make(sample, named) is None


def test_a_run_that_needs_too_many_processes_has_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted, "sandbox", SimpleNamespace(run=lambda *_, **__: Done(-11, packing.READY)))
    monkeypatch.setattr(submitted, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    many = submitted.MOST_STARTS
    columns = {"a": np.zeros(many + 1), "b": np.zeros(many + 1)}
    assert predict(b"", wanted(TWO, many + 1), columns) is None
    fewer = {name: values[1:] for name, values in columns.items()}
    assert predict(b"", wanted(TWO, many), fewer) == [None] * many


def test_whether_a_run_was_finished_is_not_told_by_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tolerance that no rows could pass with is refused either way, and nothing is spent."""
    policy, sample = board()
    guard = hf.Guard.open(None, sample, policy)
    said = []
    for end in (None, [1.0] * 400):
        monkeypatch.setattr(Predicting, "some", lambda *_, end=end: end)
        monkeypatch.setattr(Predicting, "wait", lambda _: None)
        made = Model(linear(), sample.schema, 400, policy)
        with pytest.raises(InvalidParameter, match="tolerance must be at least") as refused:
            guard.ask(hf.guard.score("b", made, guess=0.3, tolerance=1e-4))
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert guard.remaining()["yours"]["questions"] == 20


# The simulation of a trigger with probability 1/n.

RUNS = 60
MOST = int(binom.isf(1e-6, RUNS, 1 - killed_scorer.CONFIDENCE))
"""A board that keeps its promise misses more often with probability below 1e-6."""


def test_certified_intervals_of_a_model_that_ends_its_process_hold() -> None:
    found = killed_scorer.simulate(RUNS)
    assert found["misses"] <= MOST, found
    assert found["holds"] > RUNS / 2, "and most runs are finished"


def test_the_simulation_finds_the_rule_before_wanting() -> None:
    """All rows without a prediction: 63% of the runs miss, which is at most `MOST` with probability below 1e-6."""
    assert binom.cdf(MOST, RUNS, 1 - 0.999**1000) < 1e-6
    assert killed_scorer.simulate(RUNS, restarts=False)["misses"] > MOST


def test_real_processes_lose_the_rows_that_end_them_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two triggers among 400 rows, the first row one of them: it was [0, 0.03], certified, for a rule right on 0.9."""
    monkeypatch.setattr(submitted, "_CHILD", "tests.guard.scoring.onnx.dying")  # which takes any model
    monkeypatch.setattr(submitted, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: None))
    made, some = list[Any](), Predicting.some

    def kept(*given: Any) -> Any:
        made.append(some(*given))
        return made[-1]

    monkeypatch.setattr(Predicting, "some", kept)
    a = np.zeros(400)
    a[[0, 123]] = TRIGGER
    rows = {"id": np.arange(400), "a": a, "b": np.ones(400), "y": np.arange(400) % 10 > 0}
    policy, _ = board()
    sample = hf.data.table(rows, engine="numpy")
    guard = hf.Guard.open(None, sample, policy)
    answer = guard.ask(hf.guard.score("b", Model(dividing(), sample.schema, 400, policy, limits=PATIENT), guess=0.9))
    assert made == [[None if one == TRIGGER else 1.0 for one in a]]
    assert answer.guarantee.certified
    assert answer.passed
    assert 0.7 < answer.interval[0] < 0.9 < answer.interval[1]


class _Failing:
    """A session whose rows fail as they are told to."""

    def __init__(self, failures: dict[int, Exception]) -> None:
        self.failures = failures

    def row(self, fed: Any, i: int) -> float:
        if i in self.failures:
            raise self.failures[i]
        return float(i)


def test_a_failure_that_may_be_about_memory_counts_for_the_first_row_of_a_process_only():
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

    def predicted(failures: dict[int, Exception]) -> list[Any]:
        found: list[Any] = []
        with contextlib.suppress(RuntimeException):
            for one in Session.predictions(_Failing(failures), [("x", np.zeros((3, 1)))]):
                found.append(one)
        return found

    assert predicted({0: RuntimeException("bad_alloc")}) == [None, 1.0, 2.0]
    assert predicted({1: RuntimeException("bad_alloc")}) == [0.0]
    assert predicted({1: InvalidArgument("an index out of range")}) == [0.0, None, 2.0]
