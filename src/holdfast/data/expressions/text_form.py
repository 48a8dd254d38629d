"""A tree as text, always in the same way: with brackets around everything, so that precedence needs no thought."""

from __future__ import annotations

from holdfast.data.expressions import tree
from holdfast.data.expressions.parse import WORD, WORDS


def to_text(node: tree.Node) -> str:
    """The text that `parse` reads back as the same tree.

    Examples
    --------
    >>> from holdfast.data.expressions.parse import parse
    >>> to_text(parse("a+1 > 2*b or not c is null"))
    '(((a + 1.0) > (2.0 * b)) or (not (c is null)))'
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
        case tree.Arithmetic(sign, left, right) | tree.Comparison(sign, left, right):
            return f"({to_text(left)} {sign} {to_text(right)})"
        case tree.Minus(operand):
            return f"(- {to_text(operand)})"
        case tree.Between(operand, low, high):
            return f"({to_text(operand)} between {to_text(low)} and {to_text(high)})"
        case tree.In(operand, values):
            return f"({to_text(operand)} in ({', '.join(map(to_text, values))}))"
        case tree.IsNull(operand):
            return f"({to_text(operand)} is null)"
        case tree.Not(operand):
            return f"(not {to_text(operand)})"
        case tree.And(operands):
            return f"({' and '.join(map(to_text, operands))})"
        case tree.Or(operands):
            return f"({' or '.join(map(to_text, operands))})"
        case tree.Case(branches, otherwise):
            parts = [f"when {to_text(condition)} then {to_text(result)}" for condition, result in branches]
            return f"case {' '.join(parts)} else {to_text(otherwise)} end"
        case tree.Call(name, arguments):
            return f"{name}({', '.join(map(to_text, arguments))})"


__all__ = ["to_text"]
