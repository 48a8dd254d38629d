"""A digest of a sample's content: the same rows have the same one, in any order, under any name, on any engine.

Each row becomes four 64-bit numbers by a keyed mixing of its values, column by column in order of their names, and the
numbers are added up over the rows modulo `2**64`. So rows can stream by in any order, and parts can be added, also
parts that different machines read.

One changed value changes the digest for certain where it is a number, a truth value or a missing value: given the rest
of the row, each of the four is a bijection of the value, and a missing value stands for a different number in each. A
changed text, a changed row or any other accident is missed with probability about `2**-256`.

It finds a sample again. It is no defence against an owner who builds other rows with the same sums: the keys are
public, and sums of this kind can be matched with effort. An owner who changes rows needs no such trick anyway.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.schema import Column, Schema
from holdfast.strict_json import to_canonical_json

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Texts of a batch, each different one once: `distinct[codes[i]]` is the text of row `i`."""

    codes: NDArray[Any]
    distinct: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, values: Sequence[Any] | NDArray[Any]) -> Texts:
        """From one text a row; None stands for the empty text."""
        seen: dict[str, int] = {}
        codes = [seen.setdefault("" if value is None else value, len(seen)) for value in values]
        return cls(np.array(codes, dtype=np.int64), list(seen))


Held = tuple[NDArray[Any] | Texts, NDArray[np.bool_] | None]
"""Values of one column in one batch, and where they are missing."""
Batch = Mapping[str, Held]

LANES = 4
_BLOCK = 1 << 14
"""Rows that are mixed together: their numbers stay in the processor's cache."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@dataclass(frozen=True)
class Content:
    """What rows add up to; contents of parts are added.

    Time: some tens of nanoseconds a value; memory that of a batch.

    Examples
    --------
    >>> schema = Schema({"age": "integer", "sex": "text"})
    >>> def rows(*order):
    ...     age, sex = np.array([23, 35])[list(order)], np.array(["f", "m"], dtype=object)[list(order)]
    ...     return Content.of(schema, {"age": (age, None), "sex": (Texts.of(sex), None)})
    >>> rows(0, 1) == rows(1, 0) == rows(0) + rows(1), rows(0, 1) == rows(0, 0)
    (True, False)
    >>> len(rows(0, 1).digest(schema))
    64
    """

    sums: tuple[int, ...] = (0,) * LANES
    n: int = 0

    @classmethod
    def of(cls, schema: Schema, batch: Batch) -> Content:
        """The content of a batch with the columns of a schema."""
        columns = sorted(schema, key=lambda column: column.name)
        words = [(column, *_words(column, batch[column.name])) for column in columns]
        rows = len(batch[columns[0].name][0])
        sums = [0] * LANES
        for start in range(0, rows, _BLOCK):
            part = slice(start, min(start + _BLOCK, rows))
            for lane in range(LANES):
                state = np.full(part.stop - part.start, _key(f"lane {lane}"), dtype=np.uint64)
                for column, found, missing in words:
                    key, none = _keys(lane, column.name)
                    term = (found[lane] if isinstance(found, list) else found)[part] + key
                    term *= _ODD
                    if missing is not None:
                        term[missing[part]] = none
                    state ^= term
                    mix(state)
                sums[lane] += int(state.sum(dtype=np.uint64))
        return cls(tuple(one % 2**64 for one in sums), rows)

    def __add__(self, other: Content) -> Content:
        sums = ((one + two) % 2**64 for one, two in zip(self.sums, other.sums, strict=True))
        return Content(tuple(sums), self.n + other.n)

    def digest(self, schema: Schema) -> str:
        """64 hexadecimal digits. Names and kinds of the columns are part of it, order and declared values are not."""
        columns = sorted([column.name, column.kind] for column in schema)
        named = {"columns": columns, "n": self.n, "sums": [f"{one:016x}" for one in self.sums]}
        return hashlib.sha256(to_canonical_json(named).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Content(n={self.n})"


def mix(values: Words) -> None:
    """A bijection of 64-bit numbers, in place, that spreads every bit (Steele, Lea and Flood 2014, Stafford's 13th)."""
    shifted = values >> _30
    values ^= shifted
    values *= _FIRST
    np.right_shift(values, _27, out=shifted)
    values ^= shifted
    values *= _SECOND
    np.right_shift(values, _31, out=shifted)
    values ^= shifted


def key_hashes(column: Column, held: Held) -> Words:
    """One 64-bit hash a row that is not missing: the same for the same key whatever its column is called.

    A whole number is the same key in a column of numbers: to declare it otherwise must not hide shared rows.
    """
    found, missing = _words(column, held)
    if column.kind == "number" and not isinstance(found, list):
        numbers = found.view(np.float64)
        whole = (np.abs(numbers) < 2.0**63) & (np.floor(numbers) == numbers)
        found = np.where(whole, np.where(whole, numbers, 0.0).astype(np.int64).view(np.uint64), found)
    hashed = (found[0] if isinstance(found, list) else found) ^ _key("row key")
    mix(hashed)
    return hashed if missing is None else hashed[~missing]


def _words(column: Column, held: Held) -> tuple[Words | list[Words], NDArray[np.bool_] | None]:
    """Equal for equal values whatever an engine handed over, a number for all lanes or one each: NaN is missing."""
    values, missing = held
    if isinstance(values, Texts):
        hashed = _text_hashes(values.distinct)
        return [hashed[lane][values.codes] for lane in range(LANES)], missing
    if column.kind == "boolean":
        return values.astype(np.bool_).astype(np.uint64), missing
    if column.kind == "integer":
        return values.astype(np.int64).view(np.uint64), missing
    numbers = values.astype(np.float64) + 0.0  # minus zero becomes zero
    nan = np.isnan(numbers)
    if nan.any():
        missing = nan if missing is None else missing | nan
    return numbers.view(np.uint64), missing


def _text_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """256 bits of a strong hash of each text, as one row of 64-bit numbers a lane."""
    hashed = b"".join(hashlib.blake2b(text.encode("utf-8"), digest_size=8 * LANES).digest() for text in texts)
    return np.ascontiguousarray(np.frombuffer(hashed, dtype="<u8").astype(np.uint64).reshape(len(texts), LANES).T)


@cache
def _key(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little"))


@cache
def _keys(lane: int, name: str) -> tuple[np.uint64, np.uint64]:
    return _key(f"{lane} {name}"), _key(f"{lane} {name} is missing")


__all__ = ["LANES", "Batch", "Content", "Held", "Texts", "Words", "key_hashes", "mix"]
