"""Row expressions over NumPy columns: a whole array an operation, with a mask where values are NULL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.data.expressions import lowering, tree
from holdfast.data.expressions.checking import Expression
from holdfast.data.expressions.python_rows import SPELT, evaluate_call, in_bucket
from holdfast.data.schema import Column
from holdfast.errors import InvalidParameter

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Values:
    """One value per row: doubles, truth values or texts, and where they are NULL (None: nowhere).

    What the array holds in NULL rows has no meaning, but is a legal value. Secret: no repr shows it.
    """

    array: Array
    null: Mask | None = None

    def __repr__(self) -> str:
        return f"Values({self.array.shape[0] if self.array.ndim else 1} rows)"


def read(column: Column, held: npt.ArrayLike, null: npt.ArrayLike | None = None) -> Values:
    """Return what the language sees of an array.

    Parameters
    ----------
    column : Column
        Name and kind.
    held : array
        One value per row, of a type of that kind. A text column is an array of Python strings or of NumPy strings; None
        in it is NULL. Dates and timestamps are `datetime64`, in UTC where they have a zone; NaT is NULL.
    null : array of bool, optional
        Further rows that are NULL.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.data.schema import Column
    >>> read(Column("x", "number"), np.array([1.0, np.nan, 1e40])).null
    array([False,  True,  True])
    """
    array = np.asarray(held)
    kinds = {"number": "fiu", "integer": "iu", "boolean": "b", "text": "OUT"}.get(column.kind, "M")
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise InvalidParameter(
            f"column {column.name!r} must be a one-dimensional array of kind {column.kind}, got {array.ndim} "
            f"dimensions of {array.dtype}"
        )
    missing = None if null is None else np.asarray(null, dtype=np.bool_)
    if column.kind == "boolean":
        return Values(array, missing)
    if column.kind == "text":
        return _read_text(column, array, missing)
    if column.kind in lowering.TIMED:
        return _read_times(column, array, missing)
    numbers = array.astype(np.float64)
    if column.kind == "number":
        inside = (numbers >= -tree.LARGEST) & (numbers <= tree.LARGEST)
        missing = _either(missing, None if inside.all() else ~inside)
        numbers[~inside | (np.abs(numbers) < tree.SMALLEST)] = 0.0
    elif missing is not None:
        numbers[missing] = 0.0
    return Values(numbers, missing)


def _read_times(column: Column, array: Array, missing: Mask | None) -> Values:
    numbers = times(array, column.kind).astype(np.float64)
    is_date = column.kind == "date"
    low, high = (lowering.FIRST_DAY, lowering.LAST_DAY) if is_date else (lowering.FIRST_MOMENT, lowering.AFTER_MOMENTS)
    gone = np.isnat(array) | (numbers < low) | (numbers > high)
    missing = _either(missing, gone if gone.any() else None)
    numbers[gone if missing is None else gone | missing] = 0.0
    return Values(numbers if is_date else np.minimum(numbers, lowering.LAST_MOMENT), missing)


def times(array: Array, kind: str) -> npt.NDArray[np.int64]:
    """Days of dates, microseconds of timestamps, since 1970; NaT is some number.

    Examples
    --------
    >>> times(np.array(["1970-01-03"], dtype="datetime64[D]"), "date")
    array([2])
    """
    return array.astype(f"datetime64[{'D' if kind == 'date' else 'us'}]").astype(np.int64)


def _read_text(column: Column, array: Array, missing: Mask | None) -> Values:
    texts = array.astype(object)
    none = np.array([text is None for text in texts], dtype=np.bool_)
    missing = _either(missing, none if none.any() else None)
    if missing is not None:
        texts = texts.copy()
        texts[missing] = ""
    if not all(isinstance(text, str) for text in texts):
        raise InvalidParameter(f"column {column.name!r} must hold texts")
    return Values(texts, missing)


def evaluate(expression: Expression, columns: Mapping[str, Values], n: int) -> Values:
    """Return the value of an expression in every row of columns that `read` has been through.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Column, Schema
    >>> x = read(Column("x", "number"), np.array([1.0, 4.0, np.nan]))
    >>> found = evaluate(expression("x / 2 > 1", Schema({"x": "number"})), {"x": x}, 3)
    >>> found.array[:2], found.null
    (array([False,  True]), array([False, False,  True]))
    """
    evaluated = _Evaluator(expression, columns).of(expression.node)
    array = np.broadcast_to(evaluated.array, (n,))
    return Values(array, None if evaluated.null is None else np.broadcast_to(evaluated.null, (n,)))


class _Evaluator:
    def __init__(self, expression: Expression, columns: Mapping[str, Values]) -> None:
        self.facts, self.columns = expression.facts, columns
        self.found: dict[tree.Node, Values] = {}

    def of(self, node: tree.Node) -> Values:
        known = self.found.get(node)
        if known is None:
            known = self.found[node] = self._find(node)
        return known

    def _find(self, node: tree.Node) -> Values:
        if (form := lowering.lowered(node, lambda part: self.facts[part].kind)) is not None:
            return self.of(form)
        match node:
            case tree.Retyped(operand):
                return self.of(operand)
            case tree.Name(column):
                return self.columns[column]
            case tree.Number(value):
                return Values(np.float64(value))  # type: ignore[arg-type]
            case tree.Truth(value):
                return Values(np.bool_(value))  # type: ignore[arg-type]
            case tree.Text(value):
                return Values(_text(value))
            case tree.Arithmetic("/", left, right):
                above, below = self.of(left), self.of(right)
                zero = below.array == 0.0
                quotient = above.array / np.where(zero, 1.0, below.array)
                return Values(quotient, _either(above.null, below.null, zero if np.any(zero) else None))
            case tree.Arithmetic(sign, left, right):
                one, other = self.of(left), self.of(right)
                work = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
                return Values(work(one.array, other.array), _either(one.null, other.null))
            case tree.Minus(operand):
                inner = self.of(operand)
                return Values(0.0 - inner.array, inner.null)
            case tree.Comparison(sign, left, right):
                return _compare(sign, self.of(left), self.of(right))
            case tree.Between(operand, low, high):
                middle = self.of(operand)
                return _all([_compare("<=", self.of(low), middle), _compare("<=", middle, self.of(high))])
            case tree.In(operand, values):
                inner = self.of(operand)
                return Values(np.isin(inner.array, [value.value for value in values]), inner.null)
            case tree.IsNull(operand):
                inner = self.of(operand)
                return Values(np.zeros(inner.array.shape, np.bool_) if inner.null is None else inner.null)
            case tree.Bucket(operand, salt, below):
                inner = self.of(operand)
                distinct, places = np.unique(inner.array, return_inverse=True)
                drawn = np.array([in_bucket(value, salt, below) for value in distinct.tolist()], dtype=np.bool_)
                inside = drawn[places.ravel()] if distinct.size else np.zeros(0, np.bool_)
                return Values(inside if inner.null is None else np.where(inner.null, below > 255, inside))
            case tree.Not(operand):
                inner = self.of(operand)
                return Values(~inner.array, inner.null)
            case tree.And(operands):
                return _all([self.of(part) for part in operands])
            case tree.Or(operands):
                # a or b is not (not a and not b), in three-valued logic too.
                parts = [self.of(part) for part in operands]
                both = _all([Values(~part.array, part.null) for part in parts])
                return Values(~both.array, both.null)
            case tree.Case(branches, otherwise):
                return self._case(branches, otherwise, node)
            case tree.Call(name, arguments):
                return self._call(name, [self.of(argument) for argument in arguments])
        raise AssertionError(
            "a checked expression has only nodes that are handled here, so this is a defect of Holdfast"
        )

    def _case(self, branches: tuple[tuple[tree.Node, tree.Node], ...], otherwise: tree.Node, case: tree.Node) -> Values:
        blank = {"boolean": np.bool_(False), "text": _text("")}.get(str(self.facts[case].kind), np.float64(0.0))

        def result(node: tree.Node) -> Values:
            return Values(blank, np.bool_(True)) if isinstance(node, tree.Null) else self.of(node)  # type: ignore[arg-type]

        chosen = result(otherwise)
        for condition, branch in reversed(branches):
            test, here = self.of(condition), result(branch)
            true = test.array if test.null is None else test.array & ~test.null
            null = None
            if here.null is not None or chosen.null is not None:
                null = np.where(true, _mask(here), _mask(chosen))
            chosen = Values(np.where(true, here.array, chosen.array), null)
        return chosen

    def _call(self, name: str, parts: list[Values]) -> Values:
        first, null = parts[0], _either(*(part.null for part in parts))
        match name:
            case "abs":
                return Values(np.abs(first.array), null)
            case "floor":
                return Values(np.floor(first.array), null)
            case "ceil":
                return Values(np.ceil(first.array), null)
            case "sign":
                return Values(np.sign(first.array), null)
            case "sqrt":
                below = first.array < 0.0
                return Values(np.sqrt(np.where(below, 0.0, first.array)), _either(null, below if below.any() else None))
            case "least":
                return Values(reduce(np.minimum, [part.array for part in parts]), null)
            case "greatest":
                return Values(reduce(np.maximum, [part.array for part in parts]), null)
            case "clip":
                return Values(np.clip(first.array, parts[1].array, parts[2].array), null)
            case "coalesce":
                return reduce(_first, parts)
            case "concat":
                joined = reduce(np.add, [part.array for part in parts])
                return Values(_text(joined) if isinstance(joined, str) else joined, null)
        return _by_distinct(name, parts, null)


def _first(one: Values, other: Values) -> Values:
    if one.null is None:
        return one
    null = None if other.null is None else one.null & other.null
    return Values(np.where(one.null, other.array, one.array), null)


def _by_distinct(name: str, parts: list[Values], null: Mask | None) -> Values:
    """A function of text by the interpreter, once for each different text."""
    texts, others = parts[0].array, [part.array.item() for part in parts[1:]]
    rows = np.atleast_1d(texts)
    memory: dict[str, Any] = {}
    for text in rows:
        if text not in memory:
            memory[text] = evaluate_call(name, [text, *others])
    results = [memory[text] for text in rows]
    if name in ("lower", "upper", "substring", "trim"):
        array: Array = np.empty(len(results), dtype=object)
        array[:] = results
    elif name == "number":
        spelt = np.array([SPELT.match(text) is None for text in rows], dtype=np.bool_)
        null = _either(null, spelt.reshape(texts.shape))
        array = np.array([0.0 if result is None else result for result in results], dtype=np.float64)
    else:
        array = np.array(results, dtype=np.float64 if name == "length" else np.bool_)
    return Values(array.reshape(texts.shape), null)


def _text(value: str) -> Array:
    array: Array = np.empty((), dtype=object)
    array[()] = value
    return array


def _mask(values: Values) -> Any:
    return np.bool_(False) if values.null is None else values.null


def _either(*masks: Mask | None) -> Mask | None:
    known = [mask for mask in masks if mask is not None]
    return reduce(np.logical_or, known) if known else None


def _all(parts: list[Values]) -> Values:
    """Conjunction: false where any is false, else NULL where any is NULL."""
    if all(part.null is None for part in parts):
        return Values(reduce(np.logical_and, [part.array for part in parts]))
    true = reduce(np.logical_and, [part.array & ~_mask(part) for part in parts])
    false = reduce(np.logical_or, [~part.array & ~_mask(part) for part in parts])
    return Values(true, ~(true | false))


def _compare(sign: str, one: Values, other: Values) -> Values:
    work = {
        "=": np.equal,
        "<>": np.not_equal,
        "<": np.less,
        "<=": np.less_equal,
        ">": np.greater,
        ">=": np.greater_equal,
    }[sign]
    compared = work(one.array, other.array)
    return Values(np.asarray(compared, dtype=np.bool_), _either(one.null, other.null))
