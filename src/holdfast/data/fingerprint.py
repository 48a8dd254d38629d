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
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.core.strict_json import to_canonical_json
from holdfast.data.schema import Column, Schema
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    import pyarrow as pa


# --- Fingerprint ------------------------------------------------------------------------------------------------------

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Texts of a batch, each different one once: `distinct[codes[i]]` is the text of row `i`."""

    codes: NDArray[Any]
    distinct: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def hashes(self) -> Words:
        """256 bits of a strong hash of each different text, as one row of 64-bit numbers a lane."""
        hashed = b"".join(
            hashlib.blake2b(text.encode("utf-8"), digest_size=8 * LANES).digest() for text in self.distinct
        )
        lanes = np.frombuffer(hashed, dtype="<u8").astype(np.uint64).reshape(len(self.distinct), LANES)
        return np.ascontiguousarray(lanes.T)

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
BLOCK = 1 << 15
"""Numbers that are mixed together: they stay in the processor's cache."""
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
        """Return the content of a batch with the columns of a schema."""
        columns = sorted(schema, key=lambda column: column.name)
        terms = [_Terms.of(column, batch[column.name]) for column in columns]
        rows = len(batch[columns[0].name][0])
        starts = np.array([[key_of(f"lane {lane}")] for lane in range(LANES)])
        sums = np.zeros(LANES, dtype=np.uint64)
        buffer = np.empty((2, BLOCK), dtype=np.uint64)
        for start in range(0, rows, BLOCK // LANES):
            part = slice(start, min(start + BLOCK // LANES, rows))
            state, spare = buffer[:, : LANES * (part.stop - start)].reshape(2, LANES, -1)
            state[:] = starts
            for column in terms:
                column.terms(part, spare)
                state ^= spare
                mix(state, spare)
            sums += state.sum(axis=1, dtype=np.uint64)
        return cls(tuple(sums.tolist()), rows)

    def __add__(self, other: Content) -> Content:
        sums = ((one + two) % 2**64 for one, two in zip(self.sums, other.sums, strict=True))
        return Content(tuple(sums), self.n + other.n)

    def digest(self, schema: Schema) -> str:
        """64 hexadecimal digits. Names and kinds of the columns are part of it, order and declared values are not."""
        columns = sorted([column.name, column.kind] for column in schema)
        named = {"columns": columns, "n": self.n, "sums": [f"{one:016x}" for one in self.sums]}
        return digest_of(to_canonical_json(named))

    def __repr__(self) -> str:
        return f"Content(n={self.n})"


def digest_of(text: str) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def mix(values: Words, spare: Words | None = None) -> None:
    """A bijection of 64-bit numbers, in place, that spreads every bit (Steele, Lea and Flood 2014, Stafford's 13th).

    `spare` has room for as many numbers, where there is some.
    """
    shifted = np.right_shift(values, _30, out=spare)
    values ^= shifted
    values *= _FIRST
    np.right_shift(values, _27, out=shifted)
    values ^= shifted
    values *= _SECOND
    np.right_shift(values, _31, out=shifted)
    values ^= shifted


@dataclass(frozen=True, eq=False, repr=False)
class _Terms:
    """What the values of one column in a batch add to the state of their rows, in each lane."""

    column: Column
    values: NDArray[Any]
    """The values, or which of the different texts each row has."""
    missing: NDArray[np.bool_] | None
    texts: Words | None
    """The terms of the different texts, as one row a lane."""

    @classmethod
    def of(cls, column: Column, held: Held) -> Self:
        values, missing = held
        if isinstance(values, Texts):
            terms = values.hashes * _ODD + _keys(column.name)[0]
            return cls(column, values.codes.astype(np.intp, copy=False), missing, terms)
        return cls(column, values, missing, None)

    def terms(self, part: slice, found: Words) -> None:
        """Put the terms of some rows into `found`, as one row a lane."""
        keys, none = _keys(self.column.name)
        values, missing = self.values[part], None if self.missing is None else self.missing[part]
        if self.texts is not None:
            for lane, terms in enumerate(self.texts):
                terms.take(values, out=found[lane], mode="clip")
        else:
            numbers, missing = words(self.column, values, missing)
            np.add(numbers * _ODD, keys, out=found)  # (word + key) * _ODD, of which one product serves all lanes
        if missing is not None:
            np.copyto(found, none, where=missing)


def words(
    column: Column, values: NDArray[Any], missing: NDArray[np.bool_] | None
) -> tuple[Words, NDArray[np.bool_] | None]:
    """A number for each value of a column that is no text, equal for equal values whatever an engine handed over."""
    if column.kind == "boolean":
        return values.astype(np.bool_).astype(np.uint64), missing
    if column.kind != "number":
        return values.astype(np.int64, copy=False).view(np.uint64), missing
    numbers = values.astype(np.float64, copy=False) + 0.0  # minus zero becomes zero
    nan = np.isnan(numbers)
    if nan.any():
        missing = nan if missing is None else missing | nan
    return numbers.view(np.uint64), missing


@cache
def key_of(name: str) -> np.uint64:
    """Return a fixed 64-bit number for a name."""
    return np.uint64(int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little"))


@cache
def _keys(name: str) -> tuple[Words, Words]:
    """What is added in each lane to each word of a column, and what stands for a missing one; one row a lane."""
    added = np.array([[key_of(f"{lane} {name}")] for lane in range(LANES)]) * _ODD
    return added, np.array([[key_of(f"{lane} {name} is missing")] for lane in range(LANES)])


# --- Column digests ---------------------------------------------------------------------------------------------------
# Digests of single columns: they find the same rows again where other columns were added, left out or renamed.
#
# Each value is hashed to 64 bits; the hashes and their squares are added up over the rows modulo `2**64`. So a digest
# is blind to the order of the rows and to the column's name, and parts can be added, also parts that different machines
# read. A whole number is the same value in a column of integers, of numbers and of texts that write it in decimal
# digits: to store it otherwise must not hide it.
#
# Which columns tell. Two samples of one size may have a column in common although they share no row: both hold a sex, a
# running number, or every class the same number of times. A digest is kept only of an *informative* column:
#
# - it has at least `LEAST` different values (that many cells of a table of hashes are occupied, which takes as many
#   different values);
# - it is not numbered by design: `a, a + s, a + 2 s, ...` in any order, `a + i % k`, or `a + i // m`;
# - it is not balanced by design: a moderate number of values (up to about 2,000), each equally often.
#
# Then the same values in two samples mean the same rows. Let `k` values occur in independent rows, the i-th `N_i`
# times, nearly Poisson with mean `m_i`. Two samples agree in it with probability `exp(-2 m_i) I0(2 m_i)`, and it occurs
# at all with probability `1 - exp(-m_i)`; so agreement costs each value that occurs, in expectation, a factor of at
# most `max_m (exp(-2 m) I0(2 m))**(1 / (1 - exp(-m))) < 0.165`. That the sizes agree gives back a factor of at most
# `sqrt(4 pi n) + 1`. With 32 values that is below 1e-19 for any number of rows that a sample may have. Hashes that
# agree by accident add about `2**-64`.
#
# What is not found: the same rows where a row was changed, dropped or added (a row key finds those), and a column that
# was rounded, scaled, or written as a text in another way than plain decimal digits.

LEAST = 32
"""Different values from which on a column tells."""
CELLS = 1 << 10
_CELL_BITS = np.uint64(54)
_MOST_BALANCED = CELLS * 7 // 8
"""Occupied cells up to which a column that has every value equally often is taken to be balanced by design."""
_SURELY_FITS = 18
"""Digits of a whole number that 64 bits hold."""
_DECIMAL = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")
_TOP = 2**64


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """Values of a column in a batch in their canonical form, where they are not missing.

    `words` has a number for each row, or for each different text; then `counts` says how often it occurs.
    `whole` says which of them are whole numbers, whose words they are.
    """

    words: Words
    whole: NDArray[np.bool_] | bool
    counts: NDArray[np.int64] | None = None


def canonical(column: Column, held: Held) -> Values:
    """Equal numbers for equal values, whatever kind of column they are stored in.

    Examples
    --------
    >>> as_numbers = canonical(Column("x", "number"), (np.array([7.0, 0.5]), None))
    >>> as_texts = canonical(Column("x", "text"), (Texts.of(["7", "0.5"]), None))
    >>> as_numbers.words.tolist() == as_texts.words.tolist(), as_texts.whole.tolist()
    (True, [True, False])
    """
    values, missing = held
    if isinstance(values, Texts):
        return _texts(values, missing)
    if column.kind == "number":
        numbers = values.astype(np.float64, copy=False)
        return _numbers(numbers if missing is None else numbers[~missing])
    canonical_words, _ = words(column, values, missing)
    return Values(canonical_words if missing is None else canonical_words[~missing], True)


def _numbers(numbers: NDArray[np.float64]) -> Values:
    """Minus zero is zero, and NaN is missing."""
    if not np.equal(np.rint(numbers), numbers).any():  # the usual case, and quicker
        nan = np.isnan(numbers)
        bits = (numbers[~nan] if nan.any() else numbers).view(np.uint64)
        return Values(bits, not bits.size)
    with np.errstate(invalid="ignore"):
        as_whole = numbers.astype(np.int64)
    whole = as_whole.astype(np.float64) == numbers  # what does not fit became -2**63, which it is not
    many = np.count_nonzero(whole)
    if many == len(whole):
        return Values(as_whole.view(np.uint64), True)
    nan = np.isnan(numbers)
    if nan.any():
        numbers, as_whole, whole = numbers[~nan], as_whole[~nan], whole[~nan]
    bits = numbers.view(np.uint64)
    if many:
        bits = np.where(whole, as_whole.view(np.uint64), bits)
    return Values(bits, whole)


def _texts(texts: Texts, missing: NDArray[np.bool_] | None) -> Values:
    codes = texts.codes if missing is None else texts.codes[~missing]
    counts = np.bincount(codes, minlength=len(texts.distinct)).astype(np.int64)
    hashes, whole = texts.hashes[0].copy(), np.zeros(len(texts.distinct), dtype=np.bool_)
    places: list[int] = []
    numbers: list[int] = []
    for at, text in enumerate(texts.distinct):
        if text.isdecimal() and text.isascii() and len(text) <= _SURELY_FITS:
            places.append(at)
            numbers.append(int(text))
        elif text[:1] in "+-0123456789" and _DECIMAL.fullmatch(text):
            number = float(text)
            as_whole = int(text) if "." not in text else int(number) if number.is_integer() else None
            if as_whole is None:
                hashes[at] = np.float64(number).view(np.uint64)
            elif -(2**63) <= as_whole < 2**63:  # beyond, it stays the text that it is
                places.append(at)
                numbers.append(as_whole)
    hashes[places], whole[places] = np.array(numbers, dtype=np.int64).view(np.uint64), True
    there = counts > 0
    return Values(hashes[there], whole[there], counts[there])


@dataclass(frozen=True, eq=False, repr=False)
class ColumnSummary:
    """What the values of one column add up to, and what tells whether they are informative."""

    sums: tuple[int, int] = (0, 0)
    present: int = 0
    missing: int = 0
    low: int | None = None
    """The least and greatest value; None unless all are whole numbers."""
    high: int | None = None
    whole: bool = True
    cells: NDArray[np.int64] = field(default_factory=lambda: np.zeros(CELLS, dtype=np.int64))
    """How many rows have a hash of each cell; once too many are occupied for a balanced column, no more are counted."""

    @classmethod
    def of(cls, column: Column, held: Held) -> Self:
        """Return the summary of one batch."""
        first = second = present = 0
        low, high, whole = _TOP, -_TOP, True
        cells = np.zeros(CELLS, dtype=np.int64)
        for values in _blocks(column, held):
            hashed = _hashed(values.words)
            one, two = _add(hashed, values.counts)
            first, second = first + one, second + two
            if np.count_nonzero(cells) < _MOST_BALANCED:
                cells += np.bincount((hashed >> _CELL_BITS).view(np.int64), values.counts, CELLS).astype(np.int64)
            present += len(hashed) if values.counts is None else int(values.counts.sum())
            whole = whole and bool(np.all(values.whole))
            if whole and len(hashed):
                numbers = values.words.view(np.int64)
                low, high = min(low, int(numbers.min())), max(high, int(numbers.max()))
        has_ends = whole and present > 0
        return cls(
            (first % _TOP, second % _TOP),
            present,
            len(held[0]) - present,
            low if has_ends else None,
            high if has_ends else None,
            whole,
            cells,
        )

    def __add__(self, other: ColumnSummary) -> ColumnSummary:
        whole = self.whole and other.whole
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        return ColumnSummary(
            ((self.sums[0] + other.sums[0]) % _TOP, (self.sums[1] + other.sums[1]) % _TOP),
            self.present + other.present,
            self.missing + other.missing,
            min(lows) if whole and lows else None,
            max(highs) if whole and highs else None,
            whole,
            self.cells + other.cells,
        )

    def is_informative(self) -> bool:
        """Return whether another sample of this size that has the same values has them from the same rows."""
        occupied = self.cells[self.cells > 0]
        if len(occupied) < LEAST or self.is_numbered():
            return False
        least = int(occupied.min())
        return not (least > 1 and len(occupied) < _MOST_BALANCED and not (occupied % least).any())

    def is_numbered(self) -> bool:
        """Return whether the values are those of a running number: equally spaced, in turn, or in blocks.

        Time: at most that of one more pass over the column, without reading it.
        """
        if self.low is None or self.high is None or self.high == self.low:
            return False
        count, values = self.present, self.high - self.low + 1
        if (values - 1) % (count - 1) == 0 and self._is((values - 1) // (count - 1), count, 1, 0):
            return True
        if values >= count:
            return False
        block = -(-count // values)
        return self._is(1, values, count // values, count % values) or (
            block * (values - 1) < count and self._is(1, values, block, count - block * values, last=True)
        )

    def _is(self, step: int, values: int, each: int, more: int, last: bool = False) -> bool:
        """Whether these are `values` numbers from `low` on, `each` times.

        The first `more` of them occur once more; or with `last` the last one occurs `more` times more.
        """
        assert self.low is not None
        first = second = 0
        for start in range(0, values, BLOCK):
            places = np.arange(start, min(start + BLOCK, values), dtype=np.int64)
            counts = np.full(len(places), each, dtype=np.int64)
            counts += np.where(places == values - 1, more, 0) if last else places < more
            numbers = (np.uint64(self.low % _TOP) + places.view(np.uint64) * np.uint64(step)).astype(np.uint64)
            one, two = _add(_hashed(numbers), counts)
            first, second = first + one, second + two
        return (first % _TOP, second % _TOP) == self.sums

    def digest(self) -> str:
        """64 hexadecimal digits, a function of the values and how often each occurs. Salt it before it is stored."""
        content = {"present": self.present, "missing": self.missing, "sums": [f"{one:016x}" for one in self.sums]}
        return digest_of(to_canonical_json(content))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as a worker hands it over."""
        return {
            "sums": list(self.sums),
            "present": self.present,
            "missing": self.missing,
            "low": self.low,
            "high": self.high,
            "whole": self.whole,
            "cells": self.cells.tolist(),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read it back."""
        cells = np.array(plain["cells"], dtype=np.int64)
        return cls(**{**plain, "sums": (plain["sums"][0], plain["sums"][1]), "cells": cells})


def summaries(schema: Schema, batch: Batch) -> dict[str, ColumnSummary]:
    """Return the summaries of a batch, by column; truth values have none, because they never tell.

    Examples
    --------
    >>> ages = {"age": (np.arange(50) ** 2, None)}
    >>> summaries(Schema({"age": "integer"}), ages)["age"].is_informative()
    True
    """
    return {c.name: ColumnSummary.of(c, batch[c.name]) for c in schema if c.kind != "boolean"}


def added(one: Mapping[str, ColumnSummary], other: Mapping[str, ColumnSummary]) -> dict[str, ColumnSummary]:
    """Return the summaries of both parts together."""
    return {name: one[name] + other[name] if name in one else other[name] for name in {**one, **other}}


def _blocks(column: Column, held: Held) -> Iterator[Values]:
    """The values a block at a time, so that they stay in the processor's cache; texts at once, each different one."""
    values, missing = held
    if isinstance(values, Texts):
        yield canonical(column, held)
        return
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        yield canonical(column, (values[part], None if missing is None else missing[part]))


def _hashed(values: Words) -> Words:
    hashed = values ^ key_of("column value")
    mix(hashed)
    return hashed


def _add(hashed: Words, counts: NDArray[np.int64] | None) -> tuple[int, int]:
    times = hashed if counts is None else hashed * counts.view(np.uint64)
    return int(times.sum(dtype=np.uint64)), int(np.einsum("i,i->", times, hashed))


# --- Overlap ----------------------------------------------------------------------------------------------------------
# Whether two samples share rows, from small sketches of their row keys.
#
# A key is hashed to 64 bits; a sketch keeps the `SIZE` smallest different hashes and the bound below which it kept all.
# Below the smaller bound of two sketches both kept a key or one of the samples does not have it, so a hash that both
# kept there is a shared key (or a coincidence of 64 bits, about `2**-40` for two samples).
#
# What is found. The `SIZE` smallest hashes of the union of both samples lie below both bounds, and they are a random
# `SIZE` of its `u` keys. So `s` shared keys are missed with probability at most `C(u - s, SIZE) / C(u, SIZE)`, which is
# below `exp(-SIZE s / u)`: below 1.3e-9 where half a percent of the keys are shared. Samples of at most `SIZE` keys in
# all are compared exactly. A sample that shares a dozen rows among millions is not found.

SIZE = 4096
_EVERYTHING = 2**64 - 1


@dataclass(frozen=True)
class Sketch:
    """The smallest hashes of a sample's keys, in order; `below` is the bound up to which all are kept.

    Examples
    --------
    >>> Sketch((1, 5), 9).overlaps(Sketch((5, 7), 8)), Sketch((1, 5), 9).overlaps(Sketch((5, 7), 4))
    (True, False)
    """

    hashes: tuple[int, ...] = field(default=(), repr=False)
    below: int = _EVERYTHING

    @classmethod
    def of(cls, column: Column, held: Held, size: int = SIZE) -> Self:
        """Return the sketch of one batch of keys. Missing keys are left out."""
        return cls._smallest(np.unique(key_hashes(column, held)), _EVERYTHING, size)

    def merged(self, other: Self, size: int = SIZE) -> Self:
        """Return the sketch of both batches together."""
        below = min(self.below, other.below)
        both = np.unique(np.array(self.hashes + other.hashes, dtype=np.uint64))
        return self._smallest(both[both <= np.uint64(below)], below, size)

    @classmethod
    def _smallest(cls, hashes: Words, below: int, size: int) -> Self:
        if hashes.size > size:
            hashes = hashes[:size]
            below = int(hashes[-1])
        return cls(tuple(hashes.tolist()), below)

    @property
    def is_complete(self) -> bool:
        """Whether it holds the hashes of all keys."""
        return self.below == _EVERYTHING

    def overlaps(self, other: Sketch) -> bool:
        """Return whether a key is seen in both."""
        limit = min(self.below, other.below)
        return any(one <= limit for one in set(self.hashes) & set(other.hashes))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. Hashes of keys can be guessed back where keys can: it is as public as the list of keys."""
        return {"hashes": [f"{one:016x}" for one in self.hashes], "below": f"{self.below:016x}"}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read a sketch back."""
        try:
            return cls(tuple(int(one, 16) for one in plain["hashes"]), int(plain["below"], 16))
        except (KeyError, TypeError, ValueError):
            raise InvalidParameter("a stored sketch of row keys must have the fields hashes and below") from None


def sketch(column: Column, batches: Iterable[Batch], size: int = SIZE) -> Sketch:
    """Sketch a column of keys as it streams by.

    Examples
    --------
    >>> people = [{"id": (np.arange(10), None)}, {"id": (np.arange(5, 15), None)}]
    >>> len(sketch(Column("id", "integer"), people).hashes)
    15
    """
    whole = Sketch()
    for batch in batches:
        whole = whole.merged(Sketch.of(column, batch[column.name], size), size)
    return whole


def key_hashes(column: Column, held: Held) -> Words:
    """64-bit hashes of the keys that are not missing: the same for the same key whatever its column is called.

    A whole number is the same key in a column of numbers, and so is the text that writes it in decimal digits: to
    declare or store it otherwise must not hide shared rows.
    """
    hashed = canonical(column, held).words ^ key_of("row key")
    mix(hashed)
    return hashed


# --- Arrow batches ----------------------------------------------------------------------------------------------------
# Arrow columns as fingerprints read them.


def batch(schema: Schema, columns: Any, part: pa.RecordBatch) -> Batch:
    """Return the named columns of an Arrow batch or table, each as its declared kind."""
    return {name: held(schema[name], part.column(name)) for name in columns}


def held(column: Column, array: Any) -> Held:
    """One Arrow column; texts are hashed once for each different one, so they come as codes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values, missing = held(Column("s", "text"), pa.array(["a", None, "a"]))
    >>> values.codes, values.distinct, missing
    (array([0, 0, 0], dtype=int32), ['a'], array([False,  True, False]))
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    missing = _numpy(pc.is_null(array), np.bool_) if array.null_count else None
    if column.kind == "text":
        coded = array if _is_coded(array) else _plain_texts(array).dictionary_encode()
        return Texts(_numpy(coded.indices, np.int32, missing), coded.dictionary.to_pylist() or [""]), missing
    if pa.types.is_temporal(array.type):
        return _times(array, missing), missing
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())  # by way of its digits: Arrow's own doubles are not the nearest ones
    type_, kind = _TYPES.get(column.kind, _TYPES["integer"])
    # Not safe: whole numbers above 2**53 become the nearest double, as in questions.
    return _numpy(array.cast(type_, safe=kind is np.int64), kind, missing), missing


def _is_coded(array: Any) -> bool:
    """Whether texts come as codes already, as Parquet files hold them, of far fewer different texts than rows."""
    import pyarrow as pa

    type_ = array.type
    return bool(
        pa.types.is_dictionary(type_)
        and pa.types.is_int32(type_.index_type)
        and pa.types.is_string(type_.value_type)
        and not array.dictionary.null_count
        and len(array.dictionary) <= len(array) // 8
    )


def _plain_texts(array: Any) -> Any:
    """Texts as themselves; whole numbers as texts that write them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type) or pa.types.is_integer(array.type):
        return pc.cast(array, pa.large_string())
    return array


_TYPES: dict[str, tuple[str, Any]] = {
    "boolean": ("bool", np.bool_),
    "integer": ("int64", np.int64),
    "number": ("double", np.float64),
}


def _times(array: Any, missing: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Days of dates, microseconds of timestamps; parts of a microsecond are dropped."""
    import pyarrow as pa

    if pa.types.is_date32(array.type):
        return _numpy(array, np.int32, missing).astype(np.int64)
    counts = _numpy(array, np.int64, missing)
    match array.type.unit:
        case "s":
            return counts * 1_000_000
        case "ms":
            return counts * 1_000
        case "ns":
            return counts // 1_000
    return counts


def _numpy(array: Any, kind: Any, missing: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """The values of an Arrow array, 0 where they are missing. Arrow's own ways to NumPy import pandas first."""
    first, size = array.offset, len(array)
    if not size:
        return np.empty(0, kind)
    if kind is np.bool_:
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        values = np.unpackbits(bits, count=first + size, bitorder="little")[first:].astype(np.bool_)
    else:
        values = np.frombuffer(array.buffers()[1], kind, first + size)[first:]
    return values if missing is None else np.where(missing, np.zeros(1, kind), values)
