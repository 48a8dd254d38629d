"""Small changes to a module's syntax tree, each of which a test ought to notice.

A mutant is one change at one place. The changes are those of the usual tools (an operator for its neighbour, a number
one larger, a sign lost, `and` for `or`, a statement left out) and some that matter in this library: a bound rounded to
the unsafe side, `min` for `max`, `floor` for `ceil`, `log1p` for `log`, a refusal or a check left out.

Not changed: text (messages, docstrings, statements of theorems), apart from text that is compared, looked up or used as
a key; annotations; imports; the arguments of decorators; `__all__`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
    ast.MatMult: ast.Mult,
}

_PAIRS = (
    ("up", "down"),
    ("float_up", "float_down"),
    ("digits_up", "digits_down"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("any", "all"),
    ("cdf", "sf"),
    ("logcdf", "logsf"),
    ("cumsum", "cumprod"),
    ("ROUND_CEILING", "ROUND_FLOOR"),
)

#: Names of functions, methods and constants that stand for their opposite, and a few that stand for a near relation.
NAMES: dict[str, str] = {
    **dict(_PAIRS),
    **{b: a for a, b in _PAIRS},
    "log1p": "log",
    "expm1": "exp",
    "log2": "log",
}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what was there and what stands there instead.

    `spans` are the lines (first and last) by which tests are chosen, the narrowest first: those of the place itself and
    of its statement; for a default the function's body; none for what runs when the module is imported.
    """

    name: str
    kind: str
    function: str
    spans: tuple[tuple[int, int], ...]
    line: int
    was: str
    becomes: str


_Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, str, Callable[[], None]]


def mutants(path: str, source: str) -> list[Mutant]:
    """List the mutants of a module, in an order that depends on the source alone."""
    return [mutant for mutant, _ in _all(path, ast.parse(source))]


def mutated(path: str, source: str, name: str) -> ast.Module:
    """Parse the module and make one of the changes that `mutants` lists."""
    tree = ast.parse(source)
    for mutant, change in _all(path, tree):
        if mutant.name == name:
            change()
            return ast.fix_missing_locations(tree)
    raise KeyError(name)


def _all(path: str, tree: ast.Module) -> Iterator[tuple[Mutant, Callable[[], None]]]:
    used: dict[str, int] = {}
    for place in _places(tree, (), None, tree):
        node = place.node
        for kind, becomes, change in _changes(place):
            at = f"{path}:{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}:{kind}"
            used[at] = used.get(at, 0) + 1
            name = at if used[at] == 1 else f"{at}.{used[at]}"
            yield (
                Mutant(
                    name=name,
                    kind=kind,
                    function=".".join(place.scope) or "(module)",
                    spans=_spans(place),
                    line=_lines(node)[0],
                    was=_short(f"if {ast.unparse(node.test)}" if isinstance(node, ast.If) else ast.unparse(node)),
                    becomes=_short(becomes),
                ),
                change,
            )


def _spans(place: _Place) -> tuple[tuple[int, int], ...]:
    body = place.function
    if body is None:
        return ()
    own = _lines(place.node)
    if own[0] < body.body[0].lineno:  # a default is read when the function is defined, whichever test came first
        return ((body.body[0].lineno, body.end_lineno or body.lineno),)
    return tuple(dict.fromkeys((own, _lines(place.statement))))


def _lines(node: ast.AST) -> tuple[int, int]:
    first: int = getattr(node, "lineno", 1)
    last: int = getattr(node, "end_lineno", None) or first
    body = getattr(node, "body", None)
    if isinstance(node, ast.stmt) and isinstance(body, list):  # of a compound statement only its head
        last = max(first, body[0].lineno - 1)
    return first, last


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 110 else text[:107] + "..."


@dataclass(frozen=True)
class _Place:
    """A node, what holds it, and the function around it."""

    node: ast.AST
    parent: ast.AST
    put: Callable[[ast.AST], None]
    scope: tuple[str, ...]
    function: _Function | None
    statement: ast.AST


def _places(
    parent: ast.AST, scope: tuple[str, ...], function: _Function | None, statement: ast.AST
) -> Iterator[_Place]:
    for field, value in ast.iter_fields(parent):
        if field in {"annotation", "returns", "decorator_list", "type_comment"}:
            continue
        if isinstance(value, ast.AST):
            yield from _place(value, parent, _setter(parent, field), scope, function, statement)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield from _place(item, parent, _item_setter(value, index), scope, function, statement)


def _place(
    node: ast.AST,
    parent: ast.AST,
    put: Callable[[ast.AST], None],
    scope: tuple[str, ...],
    function: _Function | None,
    statement: ast.AST,
) -> Iterator[_Place]:
    if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.expr_context) or _named_all(node):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
        statement = node
    yield _Place(node, parent, put, scope, function, statement)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from _places(node, (*scope, node.name), node, statement)
    elif isinstance(node, ast.ClassDef):
        yield from _places(node, (*scope, node.name), function, statement)
    else:
        yield from _places(node, scope, function, statement)


def _named_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)


def _setter(parent: ast.AST, field: str) -> Callable[[ast.AST], None]:
    return lambda new: setattr(parent, field, new)


def _item_setter(items: list[ast.AST], index: int) -> Callable[[ast.AST], None]:
    def put(new: ast.AST) -> None:
        items[index] = new

    return put


def _changes(place: _Place) -> Iterator[Change]:
    node = place.node
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        yield from _operators(node)
        yield from _statements(node, place)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and-or", ast.unparse(ast.BoolOp(other, node.values)), _set(node, "op", other)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield "sign", ast.unparse(node.operand), lambda: place.put(node.operand)
    elif isinstance(node, ast.Constant):
        yield from _constants(node, place)
    elif isinstance(node, ast.Name | ast.Attribute):
        yield from _opposites(node)
    elif isinstance(node, ast.Call):
        yield from _keywords(node)
    else:
        yield from _statements(node, place)


def _set(node: ast.AST, field: str, value: object) -> Callable[[], None]:
    return lambda: setattr(node, field, value)


def _comparisons(node: ast.Compare) -> Iterator[Change]:
    for index, operator in enumerate(node.ops):
        ops = list(node.ops)
        ops[index] = COMPARISONS[type(operator)]()
        yield "compare", ast.unparse(ast.Compare(node.left, ops, node.comparators)), _set(node, "ops", ops)


def _text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _operators(node: ast.BinOp | ast.AugAssign) -> Iterator[Change]:
    other = ARITHMETIC[type(node.op)]()
    if isinstance(node, ast.AugAssign):
        yield "arithmetic", ast.unparse(ast.AugAssign(node.target, other, node.value)), _set(node, "op", other)
    elif not _text(node.left) and not _text(node.right):
        yield "arithmetic", ast.unparse(ast.BinOp(node.left, other, node.right)), _set(node, "op", other)


def _constants(node: ast.Constant, place: _Place) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", repr(not value), _set(node, "value", not value)
    elif isinstance(value, int | float):
        yield "constant", repr(value + 1), _set(node, "value", value + 1)
        if value not in (0, 1) and isinstance(value, float):
            yield "constant", repr(value * 1.01), _set(node, "value", value * 1.01)
    elif isinstance(value, str) and (
        isinstance(place.parent, ast.Compare | ast.Subscript)
        or (isinstance(place.parent, ast.Dict) and node in place.parent.keys)
    ):
        yield "text", repr(value + "XX"), _set(node, "value", value + "XX")


def _opposites(node: ast.Name | ast.Attribute) -> Iterator[Change]:
    if not isinstance(node.ctx, ast.Load):
        return
    name = node.id if isinstance(node, ast.Name) else node.attr
    if name in NAMES:
        other = NAMES[name]
        if isinstance(node, ast.Name):
            yield "opposite", other, _set(node, "id", other)
        else:
            yield "opposite", f"{ast.unparse(node.value)}.{other}", _set(node, "attr", other)


def _keywords(node: ast.Call) -> Iterator[Change]:
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is None or _text(keyword.value):
            continue
        kept = node.keywords[:index] + node.keywords[index + 1 :]
        yield "keyword", ast.unparse(ast.Call(node.func, node.args, kept)), _set(node, "keywords", kept)


def _statements(node: ast.AST, place: _Place) -> Iterator[Change]:
    def instead(kind: str, new: ast.stmt) -> Change:
        return kind, ast.unparse(new), lambda: place.put(ast.copy_location(new, node))

    if isinstance(node, ast.Raise):
        yield instead("raise", ast.Pass())
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or isinstance(node, ast.AugAssign):
        yield instead("left-out", ast.Pass())
    elif isinstance(node, ast.Return) and not (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield instead("return", ast.Return(ast.Constant(None)))
    elif isinstance(node, ast.Break):
        yield instead("loop", ast.Continue())
    elif isinstance(node, ast.Continue):
        yield instead("loop", ast.Break())
    elif isinstance(node, ast.If):
        never, always = ast.Constant(False), ast.Constant(True)
        yield "condition", "if False", _set(node, "test", never)
        if not isinstance(node.body[0], ast.Raise):
            yield "condition", "if True", _set(node, "test", always)
