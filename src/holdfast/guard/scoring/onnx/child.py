"""The process of a model, `python -m holdfast.guard.scoring.onnx.child`: it tries a model, or predicts for given rows.

Trying comes first and sees made-up rows alone, so it may say what is wrong. Predicting says nothing but predictions.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from holdfast.guard import apart

REFUSED = 3
ANSWER = 256 << 20
"""Bytes of an answer, at most."""
_TRIED = 64
_STEP = 50e-9  # seconds for one step down a tree, generously
_SHARE = 0.5  # of the time, which a model may be expected to take: what is not foreseen must fit too


def main() -> int:
    """Read, work, answer."""
    channel = apart.answer_channel()
    alone = apart.cut_off()
    content = sys.stdin.buffer.read()
    head = json.loads(content[: content.index(b"\n")])
    apart.limit(head["memory"], seconds=head["seconds"], answer=ANSWER)
    from holdfast.errors import InvalidParameter
    from holdfast.guard.scoring.onnx.packing import unpack
    from holdfast.guard.scoring.onnx.session import Session

    wanted, model, columns = unpack(content)
    del content
    try:
        checked, walk = _admitted(model)
        session = Session(checked, wanted)
        if columns is None:
            answer: Any = _tried(session, wanted, walk) | {"alone": alone}
        else:
            answer = session.predictions(columns)
        status = 0
    except InvalidParameter as error:
        answer, status = {"detail": str(error)[:500]}, REFUSED
    _write(channel, json.dumps(answer).encode())
    return status


def _admitted(model: bytes) -> tuple[bytes, int]:
    from holdfast.guard.scoring.onnx.admission import admitted

    return admitted(model)


def _tried(session: Any, wanted: Any, walk: int) -> dict[str, Any]:
    """Ask the model about made-up rows: whether it answers at all, and how long it takes."""
    from holdfast.errors import InvalidParameter
    from holdfast.guard.scoring.onnx.session import words

    fed = session.fed(_made_up(wanted.features))
    answered, first = 0, ""
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
        raise InvalidParameter(f"the model answers no row: {first}")
    row = (time.perf_counter() - begun) / _TRIED + walk * _STEP
    most = wanted.seconds * _SHARE
    if row * wanted.rows > most:
        raise InvalidParameter(
            f"the model must take less time: {wanted.rows:,} rows would take {row * wanted.rows:.1f} s, and {most:g} s "
            "are allowed"
        )
    return {"seconds": row * wanted.rows}


def _made_up(features: Any) -> Any:
    """Rows that nobody has: zeros, ones, large, small and in between, missing values last."""
    import numpy as np

    ladder = [0.0, 1.0, -1.0, 0.5, 100.0, -100.0, 1e6, 1e-3]
    made: dict[str, Any] = {}
    for place, (name, kind) in enumerate(features.items()):
        if kind == "text":
            made[name] = np.array([("", "a", "no", "1")[(i * (place + 1)) % 4] for i in range(_TRIED)])
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
