"""The row-expression language: small, total, and the same to the last bit on every engine."""

from holdfast.data.expressions.checking import Expression, checked, expression
from holdfast.data.expressions.parsing import parse, to_text
from holdfast.data.expressions.tree import from_json, to_json

__all__ = ["Expression", "checked", "expression", "from_json", "parse", "to_json", "to_text"]
