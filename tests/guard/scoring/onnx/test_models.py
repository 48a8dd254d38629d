"""Models without a server: what is refused before a row is read, and what a model can do to those who run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.core import sandbox
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.scoring.onnx import model as submitted
from holdfast.guard.scoring.onnx.admission import admitted
from holdfast.guard.scoring.onnx.model import Limits, Model, predict, try_model, usable_as, wanted
from tests.guard.scoring.onnx import models
from tests.guard.scoring.onnx.models import FLOAT, helper, linear, model, node

TWO = {"a": "number", "b": "number"}
N = 400
PATIENT = Limits(seconds=60.0)


def tried(content: bytes, features: dict[str, str] | None = None, rows: int = N, **more: Any) -> Any:
    return try_model(content, wanted(TWO if features is None else features, rows, **more))


def refused(content: bytes, words: str, **more: Any) -> None:
    with pytest.raises(InvalidParameter, match=words):
        tried(content, **more)


# What goes by the model alone: checked here, without a process.


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "nodes and outputs"),
        (b"not a model", "cannot be read"),
        (models.external("/etc/passwd"), "external data"),
        (models.external("../../ledger.db"), "external data"),
        (models.looping(), "'Loop'"),
        (model([node("NonZero", ["x"])]), "'NonZero'"),
        (model([node("RandomNormalLike", ["x"])]), "'RandomNormalLike'"),
        (model([node("Mine", ["x"], domain="my.own")], opsets=[helper.make_opsetid("my.own", 1)]), "'Mine' of"),
        (model([node("Expand", ["x", "s"]), node("Cast", ["x"], ["s"], to=7)]), "in order"),
        (model([node("Cast", ["x"], ["s"], to=7), node("Reshape", ["x", "s"])]), "Reshape whose output shape"),
        (
            model([node("Cast", ["x"], ["s"], to=7), node("ConstantOfShape", ["s"])]),
            "ConstantOfShape whose output shape",
        ),
        (models.tree(5, circle=True), "leads back"),
        (models.tree(2000), "levels deep"),
    ],
    ids=lambda value: value if isinstance(value, str) else "model",
)
def test_models_that_are_not_admitted(content: bytes, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        admitted(content)


def test_shapes_may_go_by_shapes() -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Mul", ["x", "x"], ["z"]), node("Reshape", ["z", "s"], ["y"])]
    assert admitted(model(nodes))[1] == 0
    assert admitted(models.tree(30))[1] == 31


def test_external_data_hidden_in_an_attribute_is_found() -> None:
    from onnx import ModelProto, TensorProto

    made = ModelProto.FromString(
        model(
            [
                node("Constant", [], ["c"], value=helper.make_tensor("t", FLOAT, [2], [1.0, 2.0])),
                node("Add", ["x", "c"]),
            ]
        )
    )
    tensor = made.graph.node[0].attribute[0].t
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/shadow"
    with pytest.raises(InvalidParameter, match="external data"):
        admitted(made.SerializeToString())


# What a process is needed for: made-up rows only.


def test_an_honest_model_is_tried() -> None:
    found = tried(linear())
    assert 0 < found.seconds < 1


@pytest.mark.parametrize(
    ("content", "more", "words"),
    [
        (linear((1.0, 2.0, 3.0)), {}, "its input has 3"),
        (linear(), {"features": {"a": "number", "b": "text"}}, "a separate input of texts"),
        (linear(), {"output": "z"}, "output must be the name of one of the model's outputs: y"),
        (linear(), {"place": 1}, "entry must be a position below"),
        (model([node("Identity", ["x"])]), {}, "one value per row, and has 2"),
        (
            model([node("Gather", ["x", "i"])], weights={"i": np.array([99], np.int64)}),
            {},
            "gave no prediction for any|cannot be loaded",
        ),
        (
            model([node("Relu", ["p"])], inputs=[helper.make_tensor_value_info("p", FLOAT, ["n", 1])]),
            {},
            "inputs with the names of columns|its input has 1",
        ),
        (
            model([node("Relu", ["x"])], inputs=[helper.make_tensor_value_info("x", FLOAT, [8, 2])]),
            {},
            "must not be fixed",
        ),
        (model([node("Relu", ["x"])], inputs=[helper.make_tensor_value_info("x", FLOAT, [2])]), {}, "two dimensions"),
        (linear(), {"rows": 10**9}, "must be faster"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_do_not_fit_are_refused_with_words(content: bytes, more: dict[str, Any], words: str) -> None:
    refused(content, words, **more)


def test_a_model_that_eats_memory_harms_nobody() -> None:
    huge = model(
        [node("ConstantOfShape", ["s"], ["z"]), node("ReduceSum", ["z"], ["r"], keepdims=0), node("Add", ["x", "r"])],
        weights={"s": np.array([1 << 34], np.int64)},
    )
    refused(huge, "cannot be loaded|gave no prediction for any|more than", place=0)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Predictions as soon as they are there, under a limit that no machine needs; the waits that were left out."""
    left_out: list[float] = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=left_out.append)
    monkeypatch.setattr(submitted, "time", clock)
    return left_out


def test_predictions_are_those_of_the_runtime_and_go_by_their_row_alone(waits: list[float]) -> None:
    rng = np.random.default_rng(3)
    columns = {"a": rng.normal(size=50), "b": rng.normal(size=50)}
    told = wanted(TWO, 50, limits=PATIENT)
    begun = time.monotonic()
    found = predict(linear((1.5, -2.0), 0.25), told, columns)
    (wait,) = waits
    assert 0 < PATIENT.seconds - wait <= time.monotonic() - begun  # it would have waited for the rest of its time
    expected = np.float32(1.5) * columns["a"].astype(np.float32) - np.float32(2) * columns["b"].astype(np.float32)
    np.testing.assert_allclose(np.array(found, float), expected + 0.25, rtol=1e-5)
    # A model that adds up over the rows of a batch sees one row at a time.
    across = model([node("ReduceSum", ["x"], ["y"], keepdims=0)])
    summed = predict(across, told, columns)
    np.testing.assert_allclose(np.array(summed, float), columns["a"] + columns["b"], rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("waits")
def test_a_row_that_fails_has_no_prediction_and_the_others_do_not_notice() -> None:
    # y = x / x: not a number where a row is 0; and a look-up that is out of bounds for large rows.
    columns = {"a": np.array([0.0, 1.0, np.nan, 5.0]), "b": np.zeros(4)}
    told = wanted(TWO, 4, place=0, limits=PATIENT)
    assert predict(model([node("Div", ["x", "x"])]), told, columns) == [None, 1.0, None, 1.0]
    lookup = model(
        [node("Cast", ["x"], ["i"], to=7), node("Gather", ["w", "i"])], weights={"w": np.array([7, 8], np.float32)}
    )
    told = wanted(TWO, 3, place=0, limits=PATIENT)
    assert predict(lookup, told, {"a": np.array([0.0, 1.0, 40.0]), "b": np.zeros(3)}) == [7.0, 8.0, None]


def test_a_model_that_fails_as_a_whole_has_no_end_in_the_same_time_as_one_that_works() -> None:
    told = wanted(TWO, 3, limits=Limits(seconds=2.0))

    def timed(content: bytes) -> tuple[list[Any] | None, float]:
        begun = time.monotonic()
        return predict(content, told, {"a": np.ones(3), "b": np.ones(3)}), time.monotonic() - begun

    unreadable, endless, overflowing = b"junk", models.looping(), models.tree(20_000)
    with ThreadPoolExecutor(4) as threads:  # at once: they mostly wait
        *failed, worked = threads.map(timed, (unreadable, endless, overflowing, linear()))
    assert [found for found, _ in failed] == [None] * 3
    assert all(2.0 <= took < 7 for _, took in (*failed, worked))


# The process itself.


def test_the_process_sees_no_secret_and_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_secret")
    done = sandbox.run("tests.guard.scoring.onnx.probing", b"", seconds=60)
    assert done.status == 0
    lines = done.answer.decode().splitlines()
    assert lines[0] == "printed elsewhere: no"
    assert lines[1] == "files here: 0"
    if lines[2] == "network cut: True":
        assert lines[3] == "reached: no"
    assert lines[4:6] == ["large file: no", "much memory: no"]
    assert "HOLDFAST_TOKEN" not in lines[6:]
    assert set(lines[6:]) <= {"PYTHONPATH", "LC_CTYPE", *sandbox.ONE_THREAD}


def test_a_process_that_hangs_or_dies_is_ended_and_told_apart() -> None:
    begun = time.monotonic()
    assert sandbox.run("tests.guard.scoring.onnx.hanging", b"", seconds=1.5).status is None
    assert time.monotonic() - begun < 10
    assert sandbox.run("tests.guard.scoring.onnx.hanging", b"die", seconds=60).status == -signal.SIGSEGV
    until = time.monotonic() + 60
    while subprocess.run(["pgrep", "-f", "tests.guard.scoring.onnx.hanging"], capture_output=True, check=False).stdout:
        assert time.monotonic() < until, "what it started is ended with it"  # which hanged for ten minutes


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_it_works_for_somebody_without_rights() -> None:
    code = (
        "import os, sys; os.setuid(65534)\n"
        "from holdfast.guard.scoring.onnx.model import try_model, wanted\n"
        "content = sys.stdin.buffer.read()\n"
        "print(try_model(content, wanted({'a': 'number', 'b': 'number'}, 10)).seconds < 5)\n"
    )
    probe = subprocess.run(
        [sys.executable, "-c", "import os; os.setuid(65534); import numpy"],
        capture_output=True,
        cwd="/tmp",
        check=False,
    )
    if probe.returncode:
        pytest.skip("this interpreter is not readable for others")
    done = subprocess.run([sys.executable, "-c", code], input=linear(), capture_output=True, cwd="/tmp", check=False)
    assert done.stdout == b"True\n", done.stderr.decode()[-500:]


# As a submission.


def rows(**more: Any) -> Any:
    made = {"id": list(range(N)), "a": [float(i % 7) for i in range(N)], "b": [1.0] * N}
    return hf.data.table(made | {"y": [i % 7 > 3 for i in range(N)]} | more)


@pytest.mark.usefixtures("waits")
def test_what_the_ledger_says_of_a_model_goes_by_the_model() -> None:
    board = hf.guard.Board("b", key="id", label="y", metric="brier", models=True)
    policy = hf.guard.Policy(questions=20, boards=[board])
    questions = []
    for changed in (False, True):  # the same submissions over rows that differ in every feature
        sample = rows(a=[9.0] * N) if changed else rows()
        guard = hf.Guard.open(None, sample, policy)
        made = Model(linear((0.1, 0.1)), sample.schema, N, policy, limits=PATIENT)
        guard.ask(hf.guard.score("b", made, guess=0.2))
        (entry,) = [one for one in guard.ledger.entries() if one.kind == "answered"]
        questions.append((entry.question, entry.body["question"]))
        assert guard.ask(hf.guard.score("b", made, guess=0.2)).repeated
    assert questions[0] == questions[1]


def test_boards_take_models_where_they_say_so() -> None:
    board = hf.guard.Board("b", key="id", label="y", metric="brier")
    policy = hf.guard.Policy(questions=20, boards=[board])
    sample = rows()
    guard = hf.Guard.open(None, sample, policy)
    made = Model(linear(), sample.schema, N, policy)
    with pytest.raises(QuestionRefused, match="does not accept models; submit predictions instead"):
        guard.ask(hf.guard.score("b", made, guess=0.2))
    assert guard.remaining()["yours"]["questions"] == 20
    with pytest.raises(InvalidParameter, match="1 to 10 bytes"):
        Model(b"x" * 100, sample.schema, N, policy, limits=Limits(size=10))


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("boolean", 1, True),
        ("boolean", 2, None),
        ("boolean", True, True),
        ("integer", 2.5, None),
        ("integer", 1e300, None),
        ("integer", -3, -3),
        ("number", True, 1.0),
        ("number", 10**400, None),
        ("number", float("nan"), None),
        ("number", "0.5", None),
        ("text", "a", "a"),
        ("text", "a\0", None),
        ("text", 1, None),
    ],
)
def test_what_a_board_can_use(kind: Any, value: Any, found: Any) -> None:
    assert usable_as(kind, value) == found
