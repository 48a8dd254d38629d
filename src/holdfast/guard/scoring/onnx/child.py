"""The process of a model, `python -m holdfast.guard.scoring.onnx.child`: it tries a model, or predicts for given rows.

Trying comes first and sees made-up rows alone, so it may say what is wrong. Predicting returns only predictions,
each as soon as it is made: if the process ends, it is known which row it was at.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from holdfast.core import sandbox

REFUSED, NO_ROOM = 3, 4
"""Exit statuses: the model may not be run, or the rows together take more room than there is."""
ANSWER = 256 << 20
"""Bytes of an answer, at most."""
_TRIED = 64
_WIDE = "\U0001f332"  # a letter of four bytes
_STEP = 50e-9  # seconds for one step down a tree, generously
_SHARE = 0.5  # of the time, which a model may be expected to take: what is not foreseen must fit too
_ROW_TIME = 1 / 8  # of the time, which one row may take on the processor before it is given up
_LOADED = 1 / 2  # of the memory, which the model and all rows may take before the first row is evaluated
_ROW_MEMORY = 1 / 4  # of the memory, which a made-up row may take: a hidden one then has twice that at least


def main() -> int:
    """Read, work, answer."""
    channel = sandbox.answer_channel()
    alone = sandbox.cut_off()
    content = sys.stdin.buffer.read()
    head = json.loads(content[: content.index(b"\n")])
    sandbox.limit(head["memory"], seconds=head["seconds"], answer=ANSWER)
    from holdfast.errors import InvalidParameter
    from holdfast.guard.scoring.onnx.packing import unpack
    from holdfast.guard.scoring.onnx.session import Session

    wanted, model, columns = unpack(content)
    del content
    try:
        checked, walk = _admitted(model)
        session = Session(checked, wanted)
        if columns is not None:
            return _predict(channel, session, wanted, columns)
        answer, status = _tried(session, wanted, walk) | {"alone": alone}, 0
    except InvalidParameter as error:
        answer, status = {"detail": str(error)[:500]}, REFUSED
    _write(channel, json.dumps(answer).encode())
    return status


def _predict(channel: int, session: Any, wanted: Any, columns: Any) -> int:
    """Write a line once everything is loaded, and then one for each row, before the next is looked at."""
    from holdfast.guard.scoring.onnx.packing import READY, line_of

    fed = session.fed(columns)
    if sandbox.address_space()[0] > wanted.memory * _LOADED:
        return NO_ROOM
    try:
        _write(channel, READY)
        sandbox.alarm(wanted.seconds * _ROW_TIME)
        for prediction in session.predictions(fed):
            _write(channel, line_of(prediction))
            sandbox.alarm(wanted.seconds * _ROW_TIME)
    except OSError:  # all predictions together are longer than an answer may be
        return NO_ROOM
    return 0


def _admitted(model: bytes) -> tuple[bytes, int]:
    from holdfast.guard.scoring.onnx.admission import admitted

    return admitted(model)


def _tried(session: Any, wanted: Any, walk: int) -> dict[str, Any]:
    """Ask the model about made-up rows: whether it answers at all, and how long it takes."""
    from holdfast.errors import InvalidParameter
    from holdfast.guard.scoring.onnx.session import words

    fed = session.fed(_made_up(wanted.features))
    answered, first = 0, ""
    loaded, _ = sandbox.address_space()
    begun = time.perf_counter()
    for i in range(_TRIED):
        try:
            session.row(fed, i)
            answered += 1
        except InvalidParameter:
            raise
        except MemoryError:
            raise
        except Exception as error:  # of the runtime: on one made-up row it is no matter, on all of them it is
            first = first or words(error)
    if not answered:
        raise InvalidParameter(f"the model gave no prediction for any made-up row on which it was tried: {first}")
    if sandbox.address_space()[1] - loaded > wanted.memory * _ROW_MEMORY:
        raise InvalidParameter(
            f"the model must use less memory; at most {int(wanted.memory * _ROW_MEMORY) >> 20} MB are allowed for one "
            "row"
        )
    row = (time.perf_counter() - begun) / _TRIED + walk * _STEP
    most = wanted.seconds * _SHARE
    if row * wanted.rows > most:
        raise InvalidParameter(
            f"the model must be faster: {wanted.rows:,} rows would take {row * wanted.rows:.1f} s, and at most "
            f"{most:g} s are allowed"
        )
    return {"seconds": row * wanted.rows}


def _made_up(features: Any) -> Any:
    """Rows that nobody has: zeros, ones, large, small and in between, missing values last.

    Texts get longer by doubling, up to the longest that a model may see: what a model makes of one cannot outgrow the
    memory between two rows unnoticed.
    """
    import numpy as np

    from holdfast.guard.scoring.onnx.packing import LONGEST

    lengths = [min(2**step, LONGEST) for step in range(LONGEST.bit_length() + 1)]
    long = [_WIDE * length for length in lengths]
    ladder = [0.0, 1.0, -1.0, 0.5, 100.0, -100.0, 1e6, 1e-3]
    made: dict[str, Any] = {}
    for place, (name, kind) in enumerate(features.items()):
        if kind == "text":
            texts = [("", "a", "no", "1")[(i * (place + 1)) % 4] for i in range(_TRIED)]
            made[name] = np.array([*texts[: -len(long)], *long], dtype=object)
        else:
            values = np.array([ladder[(i * (place + 3) + i // 8) % 8] for i in range(_TRIED)])
            values[0], values[-1] = 0.0, np.nan
            made[name] = np.abs(values) > 0.6 if kind == "boolean" else values
    return made


def _write(channel: int, answer: bytes) -> None:
    while answer:
        answer = answer[os.write(channel, answer) :]


if __name__ == "__main__":
    sys.exit(main())
