"""A tree as text, always in the same way, with the brackets that precedence needs."""

from __future__ import annotations

from holdfast.data.expressions import tree
from holdfast.data.expressions.parsing import WORD, WORDS

#: From the loosest to the tightest: or, and, not, comparison, sum, product, minus, and what needs no brackets.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _MINUS, _CLOSED = range(8)


def to_text(node: tree.Node) -> str:
    """The text of a tree. `parse` reads it back as the same tree, unless it nests deeper than text may.

    Examples
    --------
    >>> from holdfast.data.expressions.parsing import parse
    >>> to_text(parse("((a+1) > 2*b) or not (c is null)"))
    'a + 1.0 > 2.0 * b or not c is null'
    """
    match node:
        case tree.Name(column):
            return column if WORD.match(column) and column.lower() not in WORDS else f'"{column}"'
        case tree.Number(value):
            return repr(value)
        case tree.Text(value):
            return "'" + value.replace("'", "''") + "'"
        case tree.Truth(value):
            return "true" if value else "false"
        case tree.Null():
            return "null"
        case tree.Arithmetic(sign, left, right):
            own = _level(node)
            return f"{_inside(left, own)} {sign} {_inside(right, own + 1)}"
        case tree.Minus(operand):
            return f"- {_inside(operand, _CLOSED)}"
        case tree.Comparison(sign, left, right):
            return f"{_inside(left, _SUM)} {sign} {_inside(right, _SUM)}"
        case tree.Between(operand, low, high):
            return f"{_inside(operand, _SUM)} between {_inside(low, _SUM)} and {_inside(high, _SUM)}"
        case tree.In(operand, values):
            return f"{_inside(operand, _SUM)} in ({', '.join(map(to_text, values))})"
        case tree.IsNull(operand):
            return f"{_inside(operand, _SUM)} is null"
        case tree.Not(operand):
            return f"not {_inside(operand, _COMPARE)}"
        case tree.And(operands):
            return " and ".join(_inside(part, _NOT) for part in operands)
        case tree.Or(operands):
            return " or ".join(_inside(part, _AND) for part in operands)
        case tree.Case(branches, otherwise):
            parts = [f"when {to_text(condition)} then {to_text(result)}" for condition, result in branches]
            return f"case {' '.join(parts)} else {to_text(otherwise)} end"
        case tree.Call(name, arguments):
            return f"{name}({', '.join(map(to_text, arguments))})"


def _inside(node: tree.Node, level: int) -> str:
    return to_text(node) if _level(node) >= level else f"({to_text(node)})"


def _level(node: tree.Node) -> int:
    match node:
        case tree.Or():
            return _OR
        case tree.And():
            return _AND
        case tree.Not():
            return _NOT
        case tree.Comparison() | tree.Between() | tree.In() | tree.IsNull():
            return _COMPARE
        case tree.Arithmetic("+" | "-"):
            return _SUM
        case tree.Arithmetic():
            return _PRODUCT
        case tree.Minus():
            return _MINUS
        case tree.Number(value) if value < 0:
            return _MINUS
        case _:
            return _CLOSED


__all__ = ["to_text"]
