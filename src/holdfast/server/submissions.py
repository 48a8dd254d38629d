"""Submissions as they are sent: predictions in texts and files, and models, read before anything is charged."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from holdfast.core import sandbox
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.scoring import files
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.files import table_in
from holdfast.guard.scoring.onnx.model import Limits, Model, available
from holdfast.guard.scoring.tally import prediction_kind
from holdfast.guard.state import GuardState
from holdfast.server import observability
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, retry_after
from holdfast.server.settings import Settings

if TYPE_CHECKING:
    from holdfast.server.state import Server


# --- Models -----------------------------------------------------------------------------------------------------------
# Models that are sent to a server: whether it takes them now, and reading one before any row is.

MEDIA_TYPE = "application/onnx"
_at_work = 0
"""Places that are taken. Only the event loop takes one, so that none is taken between looking and taking."""
_mutex = threading.Lock()
_AFTER, _AFTER_ROW = 1.0, 1e-5  # seconds, generously
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Submitted:
    """Whose model it is, and what of it is the prediction."""

    guard: str
    caller: Caller
    output: str | None
    entry: int | None


class Turn:
    """A place among the models at work: taken until the request and every thread that works for it have ended.

    A request that runs out of time leaves its thread behind, and the process of the model with it.
    """

    def __init__(self) -> None:
        self._users = 0

    def __enter__(self) -> Self:
        global _at_work
        with _mutex:
            _at_work += not self._users
            self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        global _at_work
        with _mutex:
            self._users -= 1
            _at_work -= not self._users

    def during(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something, and keep the place until it returns."""
        with self:
            return function(*args, **kwargs)


def answer_grid(settings: Settings, n: int) -> float:
    """Seconds after which the answer to a model leaves, whatever became of it.

    Evaluating takes `model_seconds`. Reading what it predicted and joining it to the labels goes by how many rows have
    a prediction, which is not to be seen by the clock; neither is that its process had to be ended.
    """
    return max(settings.answer_grid, settings.model_seconds + _AFTER + n * _AFTER_ROW)


@contextmanager
def turn(settings: Settings, board: Board) -> Iterator[Turn]:
    """Take a place among the models at work in this worker, or say why there is none. No thread waits for one."""
    if not board.models:
        raise QuestionRefused(f"the board {board.name!r} does not accept models; submit predictions instead")
    if not settings.models_at_once or not available():
        raise QuestionRefused("this server does not evaluate models; submit predictions instead")
    if _at_work >= settings.models_at_once:
        wait = retry_after(settings.model_seconds / 2)
        raise Problem("overloaded", "another model is being evaluated; send this one again", headers=wait)
    with Turn() as taken:
        yield taken


def read_model(server: Server, place: Path, made: Submitted) -> Model:
    """Return the model in a file, tried on made-up rows. What is wrong with it is told: no hidden row was touched."""
    settings = server.settings
    if place.stat().st_size > settings.max_model:
        raise InvalidParameter(f"the file of the model must have at most {settings.max_model} bytes")
    standing = server.guards.ledger(made.guard, made.caller).look(GuardState.of)
    limits = Limits(settings.model_seconds, settings.model_memory_mb << 20, settings.max_model)
    model = Model(
        place.read_bytes(),
        standing.schema,
        standing.explored,
        standing.policy,
        output=made.output,
        place=made.entry,
        limits=limits,
    )
    tried = model.tried()
    observability.say("model", digest=model.digest[:16], network="none" if tried.alone else "not cut off")
    return model


# --- Submitted --------------------------------------------------------------------------------------------------------
# Predictions as they are sent: small texts are read here, larger ones and Parquet in a process with limits.
#
# What comes back from that process is two columns in Arrow's form. The file is deleted as soon as it was read; the
# ledger keeps a digest.

FORMATS = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/json": "json",
}
"""What may be sent, by media type."""
_REFUSED = 3
_SPARE = 10_000


async def read_on(server: Server, place: Path, format_: str, board: Board, schema: Schema, n: int) -> Any:
    """`read_predictions`, on a guard's thread where it is quick, and else among the few that have a process."""
    run = server.work if _is_quick(place, format_, server.settings) else server.read
    return await run(read_predictions, place, format_, board, schema, n, server.settings)


def _is_quick(place: Path, format_: str, settings: Settings) -> bool:
    return format_ != "parquet" and place.stat().st_size <= settings.max_body


def read_predictions(place: Path, format_: str, board: Board, schema: Schema, n: int, settings: Settings) -> Any:
    """Return the predictions in a file, as `Score` takes them.

    More than four for each row of the sample, and ten thousand, are refused: whoever sends so many asks about keys that
    are not there.

    Raises
    ------
    InvalidParameter
        Damaged, too large once unpacked, or without the two columns. Decided by the file alone.
    """
    kinds = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
    most = 4 * n + _SPARE
    if _is_quick(place, format_, settings):
        predictions = files.read(place.read_bytes(), format_, board.key, *kinds)
        if len(predictions["keys"]) > most:
            raise files.too_many(most)
        return predictions
    wanted = {
        "place": str(place.resolve()),
        "format": format_,
        "key": board.key,
        "kinds": kinds,
        "most": most,
        "memory_mb": settings.memory_mb,
        "bytes": settings.max_upload,
    }
    done = sandbox.run("holdfast.server.submissions", json.dumps(wanted).encode(), seconds=settings.upload_seconds)
    if done.status is None:
        raise InvalidParameter("the predictions could not be read within the time limit of this server")
    if done.status == _REFUSED:
        raise InvalidParameter(str(json.loads(done.answer)["detail"]))
    if done.status != 0:
        raise InvalidParameter(
            "the predictions could not be read: the file is damaged, or it is larger than allowed after decompression"
        )
    import pyarrow as pa

    table = pa.ipc.open_stream(done.answer).read_all()
    columns = [_column(table.column(at).combine_chunks()) for at in (0, 1)]
    return {"keys": columns[0], "predictions": columns[1]}


def _column(array: Any) -> Any:
    import pyarrow as pa

    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    return array.to_numpy(zero_copy_only=False) if is_number else array.to_pylist()


def _child() -> int:
    channel = sandbox.answer_channel()
    sandbox.cut_off()
    wanted = json.loads(sys.stdin.buffer.read())
    sandbox.limit(wanted["memory_mb"] << 20)
    try:
        kinds = wanted["kinds"][0], wanted["kinds"][1]
        table = table_in(Path(wanted["place"]), wanted["format"], wanted["key"], kinds, wanted["most"])
        content, status = _arrow(table), 0
        if (
            len(content) > wanted["bytes"]
        ):  # what a server is to hold is as large as what it takes, not what it unfolds to
            raise InvalidParameter(f"the file must have at most {wanted['bytes']} bytes after decompression")
    except InvalidParameter as error:
        content, status = json.dumps({"detail": str(error)}).encode(), _REFUSED
    with os.fdopen(channel, "wb") as out:
        out.write(content)
    return status


def _arrow(found: Any) -> bytes:
    """A frame as an Arrow stream."""
    import polars as pl
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    arrow = found.to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_stream(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    return bytes(sink.getvalue())


if __name__ == "__main__":
    sys.exit(_child())
