"""Models that were made to learn more than their score, or to draw at random, are refused before they see a row."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.errors import InvalidParameter

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from holdfast.guard.scoring.onnx.admission import admitted
from holdfast.guard.scoring.onnx.packing import Wanted
from holdfast.guard.scoring.onnx.session import Session


def made(nodes: list[Any], held: list[Any] | None = None) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        held or [],
    )
    kept: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    ).SerializeToString()
    return kept


def array(name: str, value: Any) -> Any:
    return numpy_helper.from_array(np.asarray(value), name)


def wanted() -> Wanted:
    return Wanted({"a": "number", "b": "number"}, 4, None, 0, 2.0, 1 << 30)


def in_a_thread(work: Callable[[], Any]) -> Any:
    """The runtime makes its thread take numbers that are nearly zero for zero, for good: not that of all tests."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def predicted(content: bytes) -> list[Any]:
    session = Session(content, wanted())
    fed = session.fed({"a": np.arange(4.0), "b": np.arange(4.0)})
    return [session.row(fed, i) for i in range(4)]


def test_a_dropout_that_draws_is_refused_and_one_that_does_not_is_taken() -> None:
    ratio = array("r", np.float32(0.5))
    with pytest.raises(InvalidParameter, match="Dropout"):
        admitted(made([helper.make_node("Dropout", ["x", "r", "t"], ["y"])], [ratio, array("t", True)]))
    for names in (["x"], ["x", "r"], ["x", "r", ""]):
        content, _ = admitted(made([helper.make_node("Dropout", names, ["y"])], [ratio]))
        assert in_a_thread(lambda content=content: predicted(content)) == [0.0, 1.0, 2.0, 3.0]


def test_an_input_that_holds_its_own_value_is_no_input() -> None:
    """The runtime would not ask for it, and the check of shapes goes by it as a constant: it must stay one."""
    shadowed = [helper.make_node("Identity", ["x"], ["y"])]
    content, _ = admitted(made(shadowed, [array("x", np.ones((1, 2), np.float32))]))
    with pytest.raises(InvalidParameter, match="must have at least one input"):
        in_a_thread(lambda: Session(content, wanted()))


@pytest.mark.parametrize("through", ["Identity", "Abs", "Round"])
def test_a_size_that_goes_by_the_row_is_refused_however_it_is_passed_on(through: str) -> None:
    nodes = [
        helper.make_node(through, ["x"], ["a"]),
        helper.make_node("Cast", ["a"], ["i"], to=TensorProto.INT64),
        helper.make_node("Squeeze", ["i"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["z"]),
        helper.make_node("Size", ["z"], ["n"]),
        helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT),
    ]
    with pytest.raises(InvalidParameter, match="a ConstantOfShape whose output shape depends on the values of a row"):
        admitted(made(nodes))


def test_a_tensor_that_names_a_file_is_refused_without_saying_where_its_data_are() -> None:
    tensor = array("w", np.ones(2, np.float32))
    tensor.external_data.add(key="location", value="/etc/passwd")  # and no data_location
    with pytest.raises(InvalidParameter, match="external data"):
        admitted(made([helper.make_node("Add", ["x", "w"], ["y"])], [tensor]))


def test_arithmetic_here_still_knows_numbers_that_are_nearly_zero() -> None:
    assert np.float64(5e-324) * np.float64(1.0) > 0
    assert float("5e-324") * float("1.0") > 0
