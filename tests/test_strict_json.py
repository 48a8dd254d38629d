from __future__ import annotations

import json
import math
from collections import OrderedDict
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import strict_json
from holdfast.core.strict_json import (
    is_read_alike,
    read_canonical_json,
    read_json,
    read_plain,
    to_canonical_json,
    to_json,
)
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
        (b'["\\ud800"]', "surrogate pair"),
        (b'{"\\u0000": 1}', "NUL"),
        (b"\xff", "UTF-8"),
        (b"{", "not JSON"),
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


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(value=_PLAIN)
def test_a_canonical_text_is_read_as_python_reads_it(value: object) -> None:
    text = to_canonical_json(value)
    assert repr(read_canonical_json(text)) == repr(json.loads(text))
    if is_read_alike(text):
        assert repr(read_plain(text)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "[1e-8]",
        "[0.00001]",
        "[10000000000000000.0]",
        '{"a":1e16}',
        "[1E5]",
        "[1.0e+16]",
        "[-0]",
        "[1.50]",
        '["\x7f"]',
        '["\u00e9"]',
        '["\\/"]',
        '["\\u0041"]',
        '["\\u00E9"]',
        '{"b":1,"a":2}',
        '{"a":1,"a":1}',
        '{"a": 1}',
        "[NaN]",
        "[Infinity]",
        "[1] ",
        '{"x:1e-08,y":1e-8}',
        "",
    ],
)
def test_what_is_not_canonical_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for parser in (strict_json.orjson, None):
        monkeypatch.setattr(strict_json, "orjson", parser)
        with pytest.raises(ValueError):
            read_canonical_json(text)


@pytest.mark.parametrize("value", [1e-5, 1e-4, 9.999e-5, 1e15, 1e16, 1.5e-300, 2**63, 2**64, 10**30, -0.0, math.inf])
def test_numbers_at_the_edges_are_read(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_canonical_json({"in": [value], "at": value})
    for parser in (strict_json.orjson, None):
        monkeypatch.setattr(strict_json, "orjson", parser)
        assert repr(read_canonical_json(text)) == repr(json.loads(text))


def test_the_fast_parser_takes_what_ledgers_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing would be faster, and no other test would notice."""
    monkeypatch.setattr(strict_json, "to_canonical_json", None)
    text = '{"log_share":-3136.684222,"widening":1.998305965145164e-08}'
    assert read_canonical_json(text) == {"log_share": -3136.684222, "widening": 1.998305965145164e-08}
