"""What a submitted model must be before it sees a row. Everything here goes by the model alone, so it may be said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.errors import InvalidParameter

# --- Operators --------------------------------------------------------------------------------------------------------
# Operators that a submitted model may use: their time and memory go by shapes, never by what a row holds.
#
# So no control flow (`If`, `Loop`, `Scan`), nothing random, nothing whose result is as large as the values say
# (`NonZero`, `Unique`, `Compress`), nothing that reads or writes, and none of a custom domain. Some operators take a
# shape as an input: that input must not depend on the row. None may end the process by what a row holds: `Div` and
# `Mod` divide floating-point numbers only.

#: Names that the domains of the standard go by.
STANDARD = ("", "ai.onnx")
LEARNING = "ai.onnx.ml"

_ELEMENTWISE = """Abs Acos Acosh Add And Asin Asinh Atan Atanh Cast Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor
    Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min
    Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum
    Tan Tanh ThresholdedRelu Where Xor"""
_ALONG_AXES = """ArgMax ArgMin BatchNormalization CumSum Gemm InstanceNormalization LayerNormalization LogSoftmax
    LpNormalization MatMul ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare Softmax TopK Conv AveragePool MaxPool GlobalAveragePool GlobalMaxPool"""
_MOVING = """Concat Constant ConstantOfShape Dropout Expand Flatten Gather GatherElements OneHot Range Reshape Shape
    Size Slice Split Squeeze Tile Transpose Unsqueeze"""

ALLOWED: dict[str, frozenset[str]] = {
    "": frozenset(f"{_ELEMENTWISE} {_ALONG_AXES} {_MOVING}".split()),
    LEARNING: frozenset(
        """ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder LinearClassifier
        LinearRegressor Normalizer OneHotEncoder SVMClassifier SVMRegressor Scaler TreeEnsembleClassifier
        TreeEnsembleRegressor ZipMap""".split()
    ),
}
"""Operators by domain."""

SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "OneHot": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Unsqueeze": (1,),
} | {name: (1,) for name in ALLOWED[""] if name.startswith("Reduce")}
"""Which inputs of an operator say how large its result is."""

SHAPES_ONLY = frozenset(("Shape", "Size"))
"""Operators whose result goes by the shape of their input, whatever it holds."""

DIVIDING = frozenset(("Div", "Mod"))
"""Operators that end the process where the least whole number is divided by -1."""

TREES = frozenset(("TreeEnsembleClassifier", "TreeEnsembleRegressor"))


# --- Admission --------------------------------------------------------------------------------------------------------

MOST_NODES = 20_000
DEEPEST = 1000
"""Steps in one tree: the runtime walks by recursion, and a longer path overflows its stack."""


def admitted(content: bytes) -> tuple[bytes, int]:
    """Return the model written anew with nothing in it but what was checked, and its longest walk through trees.

    Raises `InvalidParameter` where it is no model, reaches outside itself, uses an operator whose time or memory may go
    by what a row holds, or divides whole numbers of a row, which ends the process for one pair of them.
    """
    import onnx

    try:
        model = onnx.ModelProto.FromString(content)
    except Exception:  # the parser's own errors
        raise InvalidParameter("the model must be an ONNX file, and this file cannot be read as one") from None
    graph = model.graph
    if not graph.node or not graph.output:
        raise InvalidParameter("the model must be an ONNX file with a graph that has nodes and outputs")
    if len(graph.node) > MOST_NODES:
        raise InvalidParameter(f"the model must have at most {MOST_NODES} nodes, got {len(graph.node)}")
    if model.functions or model.training_info:
        raise InvalidParameter(
            "the model must have no functions of its own and no training information; export it with its functions "
            "inlined"
        )
    for tensor in _tensors(graph):
        if tensor.external_data or tensor.data_location:
            raise InvalidParameter("the model must contain its weights, because external data files are not read")
    for node in graph.node:
        _check_node(node)
    depends = _check_shapes(graph)
    _check_divisions(model, depends)
    walk = sum(_longest_walk(node) for node in graph.node if node.op_type in TREES)
    model.ClearField("metadata_props")
    return model.SerializeToString(), walk


def _check_node(node: Any) -> None:
    domain = "" if node.domain in STANDARD else node.domain
    if node.op_type not in ALLOWED.get(domain, ()):
        where = f" of {_shown(domain)}" if domain else ""
        raise InvalidParameter(
            f"the model must use only operators that this leaderboard allows, got {_shown(node.op_type)}{where}"
        )
    if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:  # in training it draws at random
        raise InvalidParameter(
            "the model must be exported for inference, and it has a Dropout with an input for training"
        )
    for attribute in node.attribute:
        if attribute.HasField("g") or attribute.graphs:
            raise InvalidParameter("the model must have no nested graphs, such as the body of a loop or a condition")


def _tensors(graph: Any) -> Iterator[Any]:
    """Every tensor that a model may hold values in."""
    yield from graph.initializer
    sparse = list(graph.sparse_initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            if attribute.HasField("sparse_tensor"):
                sparse.append(attribute.sparse_tensor)
            sparse.extend(attribute.sparse_tensors)
    for one in sparse:
        yield one.values
        yield one.indices


def _check_shapes(graph: Any) -> set[str]:
    """Refuse shapes that depend on the row: follow what does, node by node. Returns the values that do."""
    held = {one.name for one in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
    of_the_row = {one.name for one in graph.input} - held
    seen = of_the_row | held | {""}
    for node in graph.node:
        if not set(node.input) <= seen:
            raise InvalidParameter("the model must have its nodes in order, each after the nodes whose outputs it uses")
        seen.update(node.output)
        depends = [name in of_the_row for name in node.input]
        for place in SHAPE_INPUTS.get(node.op_type, ()):
            if place < len(depends) and depends[place]:
                raise InvalidParameter(
                    f"the model must not have a {node.op_type} whose output shape depends on the values of a row"
                )
        if any(depends) and node.op_type not in SHAPES_ONLY:
            of_the_row.update(name for name in node.output if name)
    return of_the_row


def _check_divisions(model: Any, of_the_row: set[str]) -> None:
    """Refuse to divide whole numbers that depend on the row: the least one divided by -1 ends the process.

    A type that cannot be inferred counts as whole. Numbers that depend on no row may be divided: what they do, they
    do on made-up rows too.
    """
    import onnx

    dividing = [one for one in model.graph.node if one.op_type in DIVIDING and of_the_row.intersection(one.input)]
    if not dividing:
        return
    types = _types(model)
    floats = {getattr(onnx.TensorProto, name) for name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16")}
    for node in dividing:
        if any(types.get(name) not in floats for name in node.input):
            raise InvalidParameter(
                f"the model must not use {node.op_type} on whole numbers of a row, because a division of whole "
                "numbers can end its process; cast the numbers to floating-point first"
            )


def _types(model: Any) -> dict[str, int]:
    """The type of each value as far as it follows from the operators, whatever the model says of its own types."""
    import onnx

    plain = onnx.ModelProto()
    plain.CopyFrom(model)
    del plain.graph.value_info[:]
    for one in plain.graph.output:
        one.ClearField("type")
    versions = {one.domain: one.version for one in model.opset_import}
    try:
        for node in plain.graph.node:
            if node.domain == LEARNING:  # most have no inference, but a type that is always the same
                outputs = onnx.defs.get_schema(node.op_type, versions.get(LEARNING, 1), LEARNING).outputs
                for name, formal in zip(node.output, outputs, strict=False):
                    if formal.types == {"tensor(float)"}:
                        value = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
                        plain.graph.value_info.append(value)
        graph = onnx.shape_inference.infer_shapes(plain).graph
    except Exception:  # of the library: many kinds, without a common one
        raise InvalidParameter(
            "the model must have types that ONNX can infer, because it has divisions, whose inputs must not be whole "
            "numbers"
        ) from None
    types = {one.name: one.type.tensor_type.elem_type for one in (*graph.value_info, *graph.input, *graph.output)}
    return types | {one.name: one.data_type for one in graph.initializer}


def _longest_walk(node: Any) -> int:
    """Steps from the roots to the deepest leaves, all trees of a node together: what a row may cost at most."""
    given = {attribute.name: list(attribute.ints) for attribute in node.attribute if attribute.ints}
    trees, nodes = given.get("nodes_treeids", []), given.get("nodes_nodeids", [])
    true, false = given.get("nodes_truenodeids", []), given.get("nodes_falsenodeids", [])
    if not len(trees) == len(nodes) == len(true) == len(false):
        raise InvalidParameter("the model must have decision trees whose lists of attributes have the same length")
    modes = next((list(one.strings) for one in node.attribute if one.name == "nodes_modes"), [])
    below: dict[tuple[int, int], tuple[int, ...]] = {}
    for i, name in enumerate(zip(trees, nodes, strict=True)):
        leaf = i < len(modes) and modes[i] == b"LEAF"
        below[name] = () if leaf else (true[i], false[i])
    depth: dict[tuple[int, int], int] = {}
    for name in below:
        _measure(name, below, depth)
    deepest: dict[int, int] = {}
    for (tree, _), steps in depth.items():
        deepest[tree] = max(deepest.get(tree, 0), steps)
    if max(deepest.values(), default=0) > DEEPEST:
        raise InvalidParameter(f"the model must have decision trees that are at most {DEEPEST} levels deep")
    return sum(deepest.values())


def _measure(
    root: tuple[int, int], below: dict[tuple[int, int], tuple[int, ...]], depth: dict[tuple[int, int], int]
) -> None:
    """Fill in the depth below a node; a circle is refused, because a walk on it does not end."""
    waiting, above = [root], set()
    while waiting:
        name = waiting[-1]
        open_ = [(name[0], child) for child in below.get(name, ()) if (name[0], child) not in depth]
        if name in depth or not open_ or name not in below:
            waiting.pop()
            above.discard(name)
            depth.setdefault(
                name, 1 + max((depth.get((name[0], child), 0) for child in below.get(name, ())), default=0)
            )
            continue
        above.add(name)
        if any(child in above for child in open_):
            raise InvalidParameter(
                "the model must have decision trees without cycles, and in one of its trees a node leads back to itself"
            )
        waiting += open_


def _shown(name: str) -> str:
    """A name from outside, short and printable."""
    return repr("".join(letter for letter in name[:60] if letter.isprintable()))
