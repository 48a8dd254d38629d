from __future__ import annotations

import json
import math

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.strict_json import read_json, to_json


def test_infinity_is_strict_json_that_reads_as_infinity() -> None:
    text = to_json({"up": math.inf, "down": [-math.inf], "name": "inf"})
    assert "Infinity" not in text
    assert json.loads(text) == {"up": math.inf, "down": [-math.inf], "name": "inf"}


def test_numpy_scalars_and_big_integers() -> None:
    assert json.loads(to_json({"a": np.float64(0.5), "b": np.int64(3), "c": 10**30})) == {"a": 0.5, "b": 3, "c": 10**30}


def test_what_every_parser_reads_alike_is_read() -> None:
    assert read_json(b'{"a": [1, 2.5, "\\u00e9", null, true]}') == {"a": [1, 2.5, "\u00e9", None, True]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'{"a": NaN}', "NaN is no JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'["\\ud800"]', "half a character"),
        (b'{"\\u0000": 1}', "NUL"),
        (b"\xff", "UTF-8"),
        (b"{", "no JSON"),
        (b"[" * 200_000, "nested too deeply"),
    ],
)
def test_what_parsers_read_differently_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        read_json(text)
