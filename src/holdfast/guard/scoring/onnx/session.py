"""A model in ONNX Runtime, asked about one row at a time, so that no prediction can depend on another row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.onnx.packing import LONGEST, Columns, Prediction, Wanted

_NUMBERS: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_TEXT = "tensor(string)"


class Session:
    """A model that was admitted.

    It takes either one input of shape (1, columns), with the columns in order, or an input of shape (1, 1) for each
    column, under its name. It gives one prediction per row. It is for a process of its own: from then on the thread
    that made it takes numbers that are nearly zero for zero, in all its arithmetic.
    """

    def __init__(self, model: bytes, wanted: Wanted) -> None:
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 4
        # Memory that one row needed is given back before the next, so that no row has less because of another.
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        # Numbers that are nearly zero take many times as long, which would be seen from outside.
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except MemoryError:
            raise
        except Exception as error:  # of the runtime: many kinds, without a common one
            raise InvalidParameter(f"the model cannot be loaded: {words(error)}") from None
        self._session.disable_fallback()
        self._wanted = wanted
        self._inputs = self._laid_out()
        names = [one.name for one in self._session.get_outputs()]
        if wanted.output is not None and wanted.output not in names:
            raise InvalidParameter(f"output must be the name of one of the model's outputs: {', '.join(names)[:200]}")
        self._output = names[0] if wanted.output is None else wanted.output

    def _laid_out(self) -> list[tuple[str, Any, list[str]]]:
        """For each input of the model its name, the type of its values, and the columns that go into it."""
        given, features = self._session.get_inputs(), dict(self._wanted.features)
        if not given:
            raise InvalidParameter("the model must have at least one input that has no default value")
        whole = len(given) == 1 and (len(features) > 1 or given[0].name not in features)
        if not whole and {one.name for one in given} - set(features):
            raise InvalidParameter(
                f"the model must have either one input with {len(features)} columns, or inputs with the names of "
                f"columns: {', '.join(features)[:400]}"
            )
        layout = []
        for one in given:
            columns = list(features) if whole else [one.name]
            texts = [name for name in columns if features[name] == "text"]
            if one.type == _TEXT:
                if len(texts) < len(columns):
                    raise InvalidParameter("the model must take columns of numbers as numbers, and not as texts")
                kind: Any = object
            elif one.type not in _NUMBERS:
                raise InvalidParameter(
                    "the model must have inputs of numbers with 32 or 64 bits, truth values, or texts"
                )
            elif texts:
                raise InvalidParameter(
                    "the model must have a separate input of texts for each of these text columns: "
                    f"{', '.join(texts)[:200]}"
                )
            else:
                kind = _NUMBERS[one.type]
            shape = list(one.shape)
            if len(shape) != 2 or (shape[0] not in (None, 1) and not isinstance(shape[0], str)):
                raise InvalidParameter(
                    "the model must take batches of rows: each input must have two dimensions, and the first (the "
                    "number of rows) must not be fixed"
                )
            if isinstance(shape[1], int) and shape[1] != len(columns):
                raise InvalidParameter(
                    f"the model must have an input with {len(columns)} columns, and its input has {shape[1]}"
                )
            layout.append((one.name, kind, columns))
        return layout

    def fed(self, columns: Columns) -> list[tuple[str, NDArray[Any]]]:
        """Return the columns as the inputs of the model, a line per row."""
        return [
            (name, np.stack([_as(columns[column], kind) for column in inside], axis=1))
            for name, kind, inside in self._inputs
        ]

    def row(self, fed: list[tuple[str, NDArray[Any]]], i: int) -> Prediction:
        """Return the prediction for one row; what the runtime raises comes through."""
        (found,) = self._session.run([self._output], {name: values[i : i + 1] for name, values in fed})
        return self._scalar(found)

    def predictions(self, fed: list[tuple[str, NDArray[Any]]]) -> Iterator[Prediction]:
        """A prediction for each row in turn; a row that the model fails on has none, and the others do not notice.

        A failure may be for want of memory that rows before it took and the system did not get back. So a failure that
        is not of the row's own making counts only for the first row of a process; for a later one it comes through, and
        ends the process, so that the row is tried again as the first of a fresh one.
        """
        for i in range(len(fed[0][1])):
            try:
                prediction = self.row(fed, i)
            except MemoryError:
                raise
            except Exception as error:  # of the runtime: many kinds, without a common one
                if i and not _is_of_the_row_alone(error):
                    raise
                prediction = None
            yield prediction

    def _scalar(self, found: Any) -> Prediction:
        flat = np.asarray(found)
        if flat.dtype == object and flat.size and not isinstance(flat.reshape(-1)[0], str):
            raise InvalidParameter("the output must be a tensor, and this one is not; give the name of another output")
        flat = flat.reshape(-1)
        place = self._wanted.place
        if place is None and flat.size != 1:
            raise InvalidParameter(
                f"the output {self._output!r:.60} must have one value per row, and has {flat.size}; give entry, the "
                "position of the value to use"
            )
        if place is not None and not -flat.size <= place < flat.size:
            raise InvalidParameter(
                f"entry must be a position below {flat.size}, the number of values per row of this output"
            )
        value = flat[0 if place is None else place]
        if isinstance(value, str):
            return value if len(value) <= LONGEST and "\0" not in value else None
        plain = value.item()
        return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def _is_of_the_row_alone(error: Exception) -> bool:
    """Whether a failure follows from the row's values, and not from the state of the process.

    An output of a wrong shape does, and so does what an operator itself refuses ("invalid argument", an index out of
    range, say). Everything else, such as "bad_alloc", may be about memory.
    """
    from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

    return isinstance(error, (InvalidArgument, InvalidParameter)) and "alloc" not in str(error)


def _as(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    if kind is object:
        return values.astype(object)
    if kind in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            return values.astype(kind)
    # A missing whole number or truth value is 0: there is no other to say it with.
    return np.asarray(np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).astype(kind))


def words(error: Exception) -> str:
    """The first line of what the runtime said, printable. Only ever about the model: never after it has seen rows."""
    line = (str(error).strip().splitlines() or [""])[0]
    return "".join(letter for letter in line[:300] if letter.isprintable())
