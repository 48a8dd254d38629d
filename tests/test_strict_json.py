from __future__ import annotations

import json
import math
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest

from holdfast.core.strict_json import read_json, to_canonical_json, to_json
from holdfast.errors import InvalidParameter


def test_infinity_is_strict_json_that_reads_as_infinity() -> None:
    text = to_json({"up": math.inf, "down": [-math.inf], "name": "inf"})
    assert "Infinity" not in text
    assert json.loads(text) == {"up": math.inf, "down": [-math.inf], "name": "inf"}


def test_numpy_scalars_and_big_integers() -> None:
    assert json.loads(to_json({"a": np.float64(0.5), "b": np.int64(3), "c": 10**30})) == {"a": 0.5, "b": 3, "c": 10**30}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({2: "b", 10: "a"}, '{"10":"a","2":"b"}'),
        ({"in": [{-1: 0, -10: 0}]}, '{"in":[{"-1":0,"-10":0}]}'),
        ({1.5: 0, -1.0: 0}, '{"-1.0":0,"1.5":0}'),
        ({5e20: 0, 1e22: 0}, '{"1e+22":0,"5e+20":0}'),
        ({True: 0}, '{"True":0}'),
        ({False: 0}, '{"False":0}'),
        ({None: 0}, '{"None":0}'),
        ({1: "first", "1": "last"}, '{"1":"last"}'),
        ({np.int64(2): np.int64(1), 10: math.inf}, '{"10":1e999,"2":1}'),
        ({"2": 0, "10": "x", "true": 1}, '{"10":"x","2":0,"true":1}'),
        ({"b": (1, None), "a": {"z": True, "y": 0.1}}, '{"a":{"y":0.1,"z":true},"b":[1,null]}'),
    ],
)
def test_keys_are_ordered_as_they_are_written_whatever_they_were(value: object, text: str) -> None:
    """What is hashed is checked by reading it and writing it again: that must give the same text."""
    assert to_canonical_json(value) == text
    assert to_canonical_json(json.loads(text)) == text
    assert json.loads(to_json(value)) == json.loads(text)


def test_no_number_and_things_that_are_no_data_are_refused() -> None:
    for value in (math.nan, [np.float64("nan")], {"a": [1, {"b": math.nan}]}, {1}, b"x", {"a": object()}):
        with pytest.raises((TypeError, ValueError)):
            to_json(value)
        with pytest.raises((TypeError, ValueError)):
            to_canonical_json(value)


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


class Row(tuple):
    """A tuple of a kind of its own."""

    __slots__ = ()


def test_mappings_and_lists_of_any_kind_are_plain() -> None:
    wanted = {"1": [math.inf, 2], "more": {"up": [-math.inf]}}
    given = MappingProxyType({1: Row([np.float64(math.inf), np.int64(2)]), "more": OrderedDict(up=Row([-math.inf]))})
    assert json.loads(to_json(given)) == wanted
    assert to_canonical_json({"a": None, "b": True, "c": math.inf, "d": "x"}) == to_canonical_json(
        MappingProxyType({"d": "x", "c": np.float64(math.inf), "b": True, "a": None})
    )
    for simple in (None, True, 7, "text"):
        assert json.loads(to_json(Row([math.inf, simple]))) == [math.inf, simple]
    assert to_json(np.float64(math.inf)) == to_json(math.inf)
