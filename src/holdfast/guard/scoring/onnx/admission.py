"""What a submitted model must be before it sees a row. Everything here goes by the model alone, so it may be said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.onnx.operators import ALLOWED, SHAPE_INPUTS, SHAPES_ONLY, STANDARD, TREES

MOST_NODES = 20_000
DEEPEST = 1000
"""Steps in one tree: the runtime walks by recursion, and a longer path overflows its stack."""


def admitted(content: bytes) -> tuple[bytes, int]:
    """The model written anew with nothing in it but what was checked, and its longest walk through trees.

    Raises `InvalidParameter` where it is no model, reaches outside itself, or uses an operator whose time or memory
    may go by what a row holds.
    """
    import onnx

    try:
        model = onnx.ModelProto.FromString(content)
    except Exception:  # the parser's own errors
        raise InvalidParameter("the model must be an ONNX file, and cannot be read") from None
    graph = model.graph
    if not graph.node or not graph.output:
        raise InvalidParameter("the model must be an ONNX file with a graph that has nodes and outputs")
    if len(graph.node) > MOST_NODES:
        raise InvalidParameter(f"the model must have at most {MOST_NODES} nodes, got {len(graph.node)}")
    if model.functions or model.training_info:
        raise InvalidParameter("the model must have no functions of its own and no training information: inline them")
    for tensor in _tensors(graph):
        if tensor.external_data or tensor.data_location:
            raise InvalidParameter("the model must hold its weights itself: external data are not read")
    for node in graph.node:
        _check_node(node)
    _check_shapes(graph)
    walk = sum(_longest_walk(node) for node in graph.node if node.op_type in TREES)
    model.ClearField("metadata_props")
    return model.SerializeToString(), walk


def _check_node(node: Any) -> None:
    domain = "" if node.domain in STANDARD else node.domain
    if node.op_type not in ALLOWED.get(domain, ()):
        where = f" of {_shown(domain)}" if domain else ""
        raise InvalidParameter(f"the model must use operators that are allowed here, got {_shown(node.op_type)}{where}")
    if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:  # in training it draws at random
        raise InvalidParameter("the model must be exported for inference: a Dropout has an input for training")
    for attribute in node.attribute:
        if attribute.HasField("g") or attribute.graphs:
            raise InvalidParameter("the model must have no graphs inside its nodes")


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


def _check_shapes(graph: Any) -> None:
    """Refuse shapes that depend on the row: follow what does, node by node."""
    held = {one.name for one in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
    of_the_row = {one.name for one in graph.input} - held
    seen = of_the_row | held | {""}
    for node in graph.node:
        if not set(node.input) <= seen:
            raise InvalidParameter("the model must have its nodes in order, each after those it takes from")
        seen.update(node.output)
        depends = [name in of_the_row for name in node.input]
        for place in SHAPE_INPUTS.get(node.op_type, ()):
            if place < len(depends) and depends[place]:
                raise InvalidParameter(f"the model must not make the shape of a {node.op_type} depend on the row")
        if any(depends) and node.op_type not in SHAPES_ONLY:
            of_the_row.update(name for name in node.output if name)


def _longest_walk(node: Any) -> int:
    """Steps from the roots to the deepest leaves, all trees of a node together: what a row may cost at most."""
    given = {attribute.name: list(attribute.ints) for attribute in node.attribute if attribute.ints}
    trees, nodes = given.get("nodes_treeids", []), given.get("nodes_nodeids", [])
    true, false = given.get("nodes_truenodeids", []), given.get("nodes_falsenodeids", [])
    if not len(trees) == len(nodes) == len(true) == len(false):
        raise InvalidParameter("the model must have trees whose lists are as long as each other")
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
        raise InvalidParameter(f"the model must have trees at most {DEEPEST} steps deep")
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
            raise InvalidParameter("the model must have trees that end: one leads back to itself")
        waiting += open_


def _shown(name: str) -> str:
    """A name from outside, short and printable."""
    return repr("".join(letter for letter in name[:60] if letter.isprintable()))


__all__ = ["DEEPEST", "MOST_NODES", "admitted"]
