"""Models that are sent to a server: whether it takes them now, and reading one before any row is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar

from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.onnx.evaluation import Limits, available
from holdfast.guard.scoring.onnx.model import Model
from holdfast.guard.standing import Standing
from holdfast.server import logs
from holdfast.server.errors import Problem, retry_after
from holdfast.server.roles import Caller
from holdfast.server.settings import Settings

if TYPE_CHECKING:
    from holdfast.server.state import Server

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
        raise QuestionRefused(f"models may not be submitted to the board {board.name!r}; send predictions")
    if not settings.models_at_once or not available():
        raise QuestionRefused("this server evaluates no models; send predictions")
    if _at_work >= settings.models_at_once:
        wait = retry_after(settings.model_seconds / 2)
        raise Problem("overloaded", "another model is being evaluated; send this one again", headers=wait)
    with Turn() as taken:
        yield taken


def read_model(server: Server, place: Path, made: Submitted) -> Model:
    """The model in a file, tried on made-up rows. What is wrong with it is told: no hidden row was touched."""
    settings = server.settings
    if place.stat().st_size > settings.max_model:
        raise InvalidParameter(f"the model must have at most {settings.max_model} bytes")
    standing = server.guards.ledger(made.guard, made.caller).look(Standing.of)
    limits = Limits(settings.model_seconds, settings.model_memory_mb << 20, settings.max_model)
    model = Model(
        place.read_bytes(),
        standing.schema,
        standing.n,
        standing.policy,
        output=made.output,
        place=made.entry,
        limits=limits,
    )
    tried = model.tried()
    logs.say("model", digest=model.digest[:16], network="none" if tried.alone else "not cut off")
    return model


__all__ = ["MEDIA_TYPE", "Submitted", "Turn", "answer_grid", "read_model", "turn"]
