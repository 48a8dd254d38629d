"""Columns as a model sees them, whatever holds them; and models that are refused by their form alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

import holdfast as hf
from holdfast.data.fingerprint import Texts
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.onnx.admission import MOST_NODES, admitted
from holdfast.guard.scoring.onnx.model import Model, _free, model_in
from holdfast.guard.scoring.onnx.packing import Wanted, feature, joined, pack, read_lines, unpack
from tests.guard.scoring.onnx import models
from tests.guard.scoring.onnx.models import FLOAT, helper, linear, model, node

WANTED = Wanted({"age": "number"}, 2, None, None, 1.0, 1 << 30)


def test_a_model_that_is_only_tried_comes_without_columns() -> None:
    assert unpack(pack(WANTED, b"a model\nof two lines", None)) == (WANTED, b"a model\nof two lines", None)


@pytest.mark.parametrize("answer", [b"[0.5,\n", b"\xff\n", b"[" * 100_000 + b"\n", b"{}\n", b"[1, 2, 3]\n", b"1 2\n"])
def test_a_line_that_is_no_prediction_is_an_error(answer: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        read_lines(b"ready\n" + answer)


def test_texts_travel_each_once_and_are_cut() -> None:
    long = "\U0001f332" * 5000
    texts = np.array(["b", long, "", "b", "a"] * 2000, dtype=object)
    column = feature((Texts.of(list(texts)), None))
    assert column[1] == long[:1000]
    wanted = Wanted({"s": "text"}, len(texts), None, None, 1.0, 1 << 30)
    packed = pack(wanted, b"", {"s": column})
    assert len(packed) < 200_000
    columns = unpack(packed)[2]
    assert columns is not None
    assert columns["s"].tolist() == column.tolist()


@pytest.mark.parametrize("engine", ["polars", "numpy"])
def test_missing_values_and_texts_come_as_a_model_reads_them(engine: Any) -> None:
    rows = {
        "i": [1, None, 3],
        "x": [0.5, None, 2.5],
        "s": ["b", None, "a"],
        "b": [True, None, False],
        "whole": [4, 5, 6],
    }
    (held,) = hf.data.table(rows, engine=engine).batches(list(rows))
    assert feature(held["s"]).tolist() == ["b", "", "a"]
    assert feature(held["whole"]).tolist() == [4, 5, 6]
    for name, first, last in (("i", 1.0, 3.0), ("x", 0.5, 2.5), ("b", 1.0, 0.0)):
        found = feature(held[name]).tolist()
        assert found[::2] == [first, last]
        assert np.isnan(found[1])


def test_parts_are_joined_in_order() -> None:
    gone = np.array([True, False])
    texts, missing = joined([(Texts.of(["a", "b"]), None), (Texts.of(["b", "c"]), gone)])
    assert missing is not None
    assert missing.tolist() == [False, False, True, False]
    assert feature((texts, missing)).tolist() == ["a", "b", "", "c"]
    assert feature(joined([(Texts.of(["a"]), None), (Texts.of(["b", "a"]), None)])).tolist() == ["a", "b", "a"]
    numbers = feature(joined([(np.array([1.0, 2.0]), gone), (np.array([3.0]), None)])).tolist()
    assert np.isnan(numbers[0])
    assert numbers[1:] == [2.0, 3.0]


@pytest.mark.parametrize(
    ("taken", "kind", "free"),
    [({0, 1, 3}, "integer", 2), (set(), "integer", 0), ({"nobody 0"}, "text", "nobody 1"), ({5}, "integer", 0)],
)
def test_a_key_that_no_row_has(taken: set[Any], kind: Any, free: Any) -> None:
    assert _free(taken, kind) == free


def changed(**fields: Any) -> bytes:
    made = onnx.ModelProto.FromString(linear())
    for name, values in fields.items():
        getattr(made, name).extend(values)
    return bytes(made.SerializeToString())


def with_a_graph_inside() -> bytes:
    inner = helper.make_graph([node("Identity", ["x"])], "g", [], [helper.make_tensor_value_info("y", FLOAT, None)])
    made = onnx.ModelProto.FromString(model([node("Relu", ["x"])]))
    made.graph.node[0].attribute.append(helper.make_attribute("body", inner))
    return bytes(made.SerializeToString())


def with_sparse_external_data() -> bytes:
    values = helper.make_tensor("v", FLOAT, [1], [1.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0]), [2])
    made = onnx.ModelProto.FromString(
        model([node("Constant", [], ["c"], sparse_value=sparse), node("Add", ["x", "c"])])
    )
    tensor = made.graph.node[0].attribute[0].sparse_tensor.values
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "/etc/shadow"
    return bytes(made.SerializeToString())


def with_uneven_trees() -> bytes:
    made = onnx.ModelProto.FromString(models.tree(3))
    for attribute in made.graph.node[0].attribute:
        if attribute.name == "nodes_truenodeids":
            attribute.ints.pop()
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (model([node("Relu", ["x"])] * (MOST_NODES + 1)), f"at most {MOST_NODES} nodes, got {MOST_NODES + 1}"),
        (changed(functions=[onnx.FunctionProto(name="f")]), "no functions of its own and no training information"),
        (changed(training_info=[onnx.TrainingInfoProto()]), "no functions of its own and no training information"),
        (with_a_graph_inside(), "the model must have no nested graphs, such as the body of a loop or a"),
        (with_sparse_external_data(), "external data"),
        (with_uneven_trees(), "trees whose lists of attributes have the same length"),
    ],
    ids=["nodes", "functions", "training", "graph", "sparse", "trees"],
)
def test_models_that_are_refused_by_their_form(content: bytes, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said) as caught:
        admitted(content)
    assert "shadow" not in str(caught.value)


def test_a_sample_of_keys_and_labels_has_nothing_for_a_model_to_see() -> None:
    sample = hf.data.table({"id": [1, 2], "y": [True, False]})
    board = hf.guard.Board("b", key="id", label="y", metric="brier", models=True)
    with pytest.raises(InvalidParameter, match="this data set has no column that a model may use"):
        Model(linear(), sample.schema, 2, hf.guard.Policy(questions=5, boards=[board]))


def test_a_model_in_a_file_is_tried_and_shows_its_size_alone(tmp_path: Any) -> None:
    sample = hf.data.table({"id": [1, 2], "a": [1.0, 2.0], "b": [1.0, 2.0], "y": [True, False]})
    board = hf.guard.Board("b", key="id", label="y", metric="brier", models=True)
    policy = hf.guard.Policy(questions=5, boards=[board])
    path = tmp_path / "model.onnx"
    path.write_bytes(linear())
    made = model_in(path, sample.schema, 2, policy)
    assert made.digest == Model(linear(), sample.schema, 2, policy).digest
    assert repr(made) == f"Model({made.digest[:12]}..., {len(linear())} bytes)"
    path.write_bytes(linear((1.0, 2.0, 3.0)))
    with pytest.raises(InvalidParameter, match="its input has 3"):
        model_in(path, sample.schema, 2, policy)
