"""What an audit can notice of a learner or curator that looks at more than it was given.

Three cases are noticed: a callable that holds the audited data (in its closure, attributes, defaults or the global
names it uses); a predictor that asks for a column outside its lens; and a predictor whose answer for a row depends on
the rows that are predicted with it, for example because it fits a scaler on them. A learner that reads the data from
a file, or keeps an altered copy of it, is not noticed: nothing here is proof that nobody peeked.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance import TOLERANCE
from holdfast.coherence.failures import OutOfRange, Peeked
from holdfast.coherence.table import Table
from holdfast.errors import InvalidParameter

Predictor = Callable[[Table], Any]

_SAMPLE = 200
#: Batches of another size may differ by rounding; a scaler fitted on other rows differs by far more.
_SAME = 1e-6
_DEPTH = 4
_DISTINCT = 20  # a column of a few codes may equal an innocent array


class _Through(Table):
    """A table that knows which columns the lens hides, to tell looking outside it from a misspelt name."""

    hidden: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name in self.hidden:
            raise Peeked(
                f"the predictor asked for column {name!r}, which its lens does not show; it may use only the columns "
                "of the lens"
            )
        return super().__getitem__(name)


def predict(predictor: Predictor, seen: Table, names: Iterable[str], rng: np.random.Generator) -> NDArray[np.float64]:
    """Predictions for all rows, checked: one a row, in [-1, 1], each a function of its own row."""
    if not callable(predictor):
        raise InvalidParameter("a learner must return a predictor: a function from a table to one number per row")
    hidden = frozenset(names) - set(seen.names)
    predictions = checked(predictor(_through(seen.copy(), hidden)), seen.rows)  # a copy: it may change what it is given
    some = rng.permutation(seen.rows)[:_SAMPLE]
    again = checked(predictor(_through(seen.take(some), hidden)), some.size)
    if np.abs(predictions[some] - again).max(initial=0) > _SAME:
        raise Peeked(
            "the prediction for a row changes with the other rows that are predicted with it; the predictor must "
            "learn from the report only"
        )
    return predictions


def checked(values: Any, rows: int) -> NDArray[np.float64]:
    """One prediction per row in [-1, 1]; anything else is refused.

    Examples
    --------
    >>> checked([1.0, -10], 2)
    Traceback (most recent call last):
    ...
    holdfast.coherence.failures.OutOfRange: predictions must lie in [-1, 1], and 1 of 2 do not; turn a probability p
    into 2p - 1 and a label into -1 or 1
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OutOfRange("predictions must be numbers in [-1, 1]") from error
    if array.shape != (rows,):
        raise OutOfRange(f"predictions must be one number for each of {rows} rows, got shape {array.shape}")
    inside = np.abs(array) <= 1 + TOLERANCE  # NaN is not
    if not inside.all():
        gone = int(np.isnan(array).sum())
        raise OutOfRange(
            f"predictions must lie in [-1, 1], and {int((~inside).sum())} of {rows} do not"
            + (f", {gone} of them missing" if gone else "")
            + "; turn a probability p into 2p - 1 and a label into -1 or 1"
        )
    return np.clip(array, -1.0, 1.0)


def check_holds_no_data(who: str, function: Any, table: Table, data: Any) -> None:
    """Refuse a curator or learner that holds the audited data itself."""
    if hasattr(function, "for_rows"):  # predictions given: one number per row by design
        return
    for where, thing in _held(function, "", _DEPTH, set()):
        if thing is data or thing is table or _is_column(thing, table):
            raise InvalidParameter(
                f"{who} holds the data under audit ({where or 'itself'}), so it could read the half that was not "
                "released; let it use only what it is given"
            )


def _is_column(thing: Any, table: Table) -> bool:
    """Whether an array of all rows is a column of numbers with many distinct values, itself or a copy."""
    if not isinstance(thing, np.ndarray) or thing.ndim < 1 or thing.shape[0] != table.rows:
        return False
    for values in table.columns.values():
        if np.may_share_memory(thing, values) and np.shares_memory(thing, values):
            return True
        numbers = thing.shape == values.shape and thing.dtype.kind in "iuf" and values.dtype.kind in "iuf"
        if numbers and np.array_equal(thing, values, equal_nan=True) and np.unique(values).size > _DISTINCT:
            return True
    return False


def _held(thing: Any, where: str, depth: int, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Everything a callable holds, a few levels deep, with the name it goes by."""
    if id(thing) in seen or isinstance(thing, (types.ModuleType, type, str, bytes, int, float)):
        return
    seen.add(id(thing))
    yield where, thing
    if isinstance(thing, np.ndarray):
        return
    yield from ((where, values) for values in _columns(thing))
    if depth == 0 or isinstance(thing, Table):
        return
    inner: list[tuple[str, Any]] = []
    if isinstance(thing, functools.partial):
        inner += [("an argument of partial", value) for value in (*thing.args, *thing.keywords.values())]
        inner.append((where, thing.func))
    elif isinstance(thing, types.MethodType):
        inner += [(where, thing.__self__), (where, thing.__func__)]
    elif isinstance(thing, types.FunctionType):
        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False):
            try:
                inner.append((f"variable {name!r}", cell.cell_contents))
            except ValueError:  # a name that is not bound yet
                continue
        inner += [("a default argument", value) for value in (thing.__defaults__ or ())]
        inner += [("a default argument", value) for value in (thing.__kwdefaults__ or {}).values()]
        used = _names(thing.__code__) & set(thing.__globals__)
        inner += [(f"global name {name!r}", thing.__globals__[name]) for name in sorted(used)]
    elif isinstance(thing, dict):
        inner += [(where, value) for value in thing.values()]
    elif isinstance(thing, (list, tuple)) and len(thing) <= 1000:
        inner += [(where, value) for value in thing]
    elif hasattr(thing, "__dict__"):
        inner += [(f"attribute {name!r}", value) for name, value in vars(thing).items()]
    for name, value in inner:
        yield from _held(value, name, depth - 1, seen)


def _columns(thing: Any) -> Iterator[NDArray[Any]]:
    """The columns of a table or data frame: so that a copy of the data is noticed in whatever form."""
    if isinstance(thing, Table):
        yield from thing.columns.values()
    elif hasattr(thing, "columns") and hasattr(thing, "shape") and hasattr(thing, "__getitem__"):
        try:
            yield from Table.of(thing).columns.values()
        except Exception:  # whatever a foreign object raises that only looks like a data frame
            return


def _names(code: types.CodeType) -> set[str]:
    """Names that a function uses, those of functions inside it included."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*inner)


def fingerprint(report: Any) -> str:
    """Return a SHA-256 of the report, or of its type where it cannot be written down."""
    digest = hashlib.sha256()
    if isinstance(report, Table):
        for name, values in report.columns.items():
            digest.update(name.encode())
            digest.update(pickle.dumps(values.tolist()) if values.dtype.kind == "O" else values.tobytes())
        return digest.hexdigest()
    try:
        digest.update(pickle.dumps(report))
    except Exception:  # whatever a foreign object raises when it is pickled
        digest.update(type(report).__name__.encode())
    return digest.hexdigest()


def _through(seen: Table, hidden: frozenset[str]) -> Table:
    view = _Through(seen.columns, seen.rows, seen.booleans)
    object.__setattr__(view, "hidden", hidden)
    return view
