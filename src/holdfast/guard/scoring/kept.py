"""Predictions that are kept until the final of a contest: compressed into a text, as a secret of the ledger.

A final compares submissions on rows that none of them was scored on, so it needs the predictions again. They are what
an analyst sent, and nothing of a row is in them. They are kept under their digest: the same predictions are kept once.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.transaction import View
from holdfast.guard.scoring.predictions import Predictions

PREFIX = "submission:"
"""How the names of these secrets begin."""
MOST = 64 << 20
"""Letters that one compressed submission may have."""


def name_of(digest: str) -> str:
    """Return the name of the secret that keeps the predictions with this digest."""
    return f"{PREFIX}{digest[:32]}"


def is_kept(view: View, digest: str) -> bool:
    """Return whether the predictions with this digest were kept."""
    return view.secret(name_of(digest)) is not None


def kept_in(view: View, digest: str) -> Predictions | None:
    """Return the predictions with this digest; None where they were not kept, as those of a model are not."""
    packed = view.secret(name_of(digest))
    return None if packed is None else unpack(packed, digest)


def pack(given: Predictions) -> dict[str, Any]:
    """Predictions as plain data that `unpack` reads back exactly.

    Examples
    --------
    >>> from holdfast.guard.scoring.predictions import predictions
    >>> sent = predictions({3: 0.5, 1: 0.25}, "id", "integer", "number")
    >>> unpack(pack(sent), sent.digest).values
    array([0.25, 0.5 ])
    """
    keys, values = _packed(given.keys), _packed(given.values)
    if len(keys["data"]) + len(values["data"]) > MOST:
        raise InvalidParameter(
            f"predictions must be at most {MOST >> 20} MiB after compression, because this leaderboard stores them "
            "until the final of the contest; send numbers with fewer digits, or leave out keys that no row has"
        )
    return {"keys": keys, "values": values, "count": given.count}


def unpack(packed: Mapping[str, Any], digest: str) -> Predictions:
    """Predictions that were compressed."""
    return Predictions(_unpacked(packed["keys"]), _unpacked(packed["values"]), digest, int(packed["count"]))


def _packed(column: NDArray[Any]) -> dict[str, str]:
    if column.dtype.kind == "O":
        kind, data = "text", json.dumps(column.tolist()).encode()
    else:
        kind = {"b": "?", "i": "<i8", "f": "<f8"}[column.dtype.kind]
        data = np.ascontiguousarray(column, dtype=kind).tobytes()
    return {"kind": kind, "data": base64.b64encode(zlib.compress(data, 6)).decode()}


def _unpacked(packed: Mapping[str, str]) -> NDArray[Any]:
    data = zlib.decompress(base64.b64decode(packed["data"]))
    if packed["kind"] != "text":
        return np.frombuffer(data, dtype=packed["kind"]).copy()
    texts = json.loads(data)
    column = np.empty(len(texts), dtype=object)
    column[:] = texts
    return column
