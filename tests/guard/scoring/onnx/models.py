"""Models for tests, honest and hostile, made with the `onnx` package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def model(
    nodes: Sequence[Any],
    *,
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    columns: int | str = 2,
    weights: dict[str, Any] | None = None,
    **more: Any,
) -> bytes:
    """A model of one input `x` with `columns` columns and one output `y`, unless told otherwise."""
    given = [helper.make_tensor_value_info("x", FLOAT, ["rows", columns])] if inputs is None else inputs
    made = [helper.make_tensor_value_info("y", FLOAT, None)] if outputs is None else outputs
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", list(given), list(made), held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3), *more.pop("opsets", ())]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8, **more).SerializeToString())


def linear(weights: Sequence[float] = (1.0, 2.0), bias: float = 0.0) -> bytes:
    """y = w x + b."""
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"])
    held = {"w": np.array(weights, np.float32).reshape(-1, 1), "b": np.array([bias], np.float32)}
    return model([node], columns=len(weights), weights=held)


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str] = ("y",), **more: Any) -> Any:
    """A node."""
    return helper.make_node(kind, list(inputs), list(outputs), **more)


def external(where: str) -> bytes:
    """A linear model whose weights lie in a file elsewhere."""
    made = onnx.ModelProto.FromString(linear())
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", where), ("offset", "0"), ("length", "8")):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    return bytes(made.SerializeToString())


def looping(times: int = 10**12) -> bytes:
    """A model that runs forever."""
    body = helper.make_graph(
        [node("Identity", ["go"], ["again"]), node("Identity", ["v"], ["w"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", FLOAT, None),
        ],
    )
    held = {"n": np.array(times, np.int64), "yes": np.array(True)}
    return model([node("Loop", ["n", "yes", "x"], body=body)], weights=held)


def tree(depth: int, *, circle: bool = False) -> bytes:
    """A regression tree that is one long path: a row with x0 > depth walks all of it."""
    nodes = 2 * depth + 1
    inner = range(0, 2 * depth, 2)
    modes = ["BRANCH_GT" if i in inner else "LEAF" for i in range(nodes)]
    true = [i + 2 if i in inner else 0 for i in range(nodes)]
    if circle:
        true[inner[-1]] = 0
    made = node(
        "TreeEnsembleRegressor",
        ["x"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0] * nodes,
        nodes_nodeids=list(range(nodes)),
        nodes_featureids=[0] * nodes,
        nodes_modes=modes,
        nodes_values=[float(i // 2) for i in range(nodes)],
        nodes_truenodeids=true,
        nodes_falsenodeids=[i + 1 if i in inner else 0 for i in range(nodes)],
        target_treeids=[0] * (depth + 1),
        target_nodeids=[i for i in range(nodes) if i not in inner],
        target_ids=[0] * (depth + 1),
        target_weights=[float(i) for i in range(depth + 1)],
    )
    return model([made])
